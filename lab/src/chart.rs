//! Charts of the papers' experiments: panels in rows of two, one legend above them, curves that keep their style from panel
//! to panel.

use crate::plot::{decades, document, stroke, text, Panel};
use std::collections::HashSet;
use std::fmt::Write;

/// Curves over one pair of axes.
#[derive(Default)]
pub struct Chart {
    /// Above the panel.
    pub title: &'static str,
    /// Below it.
    pub x_title: &'static str,
    /// Beside it.
    pub y_title: &'static str,
    /// Is the upright axis logarithmic? Then what is not positive is left out.
    pub log: bool,
    /// Is the level one?
    pub x_log: bool,
    /// Is a metre as long in both directions?
    pub equal: bool,
    /// Names and points. The same name has the same style in every chart of a picture.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
    /// Thin lines behind them, without names.
    pub backdrop: Vec<Vec<(f64, f64)>>,
}

/// Ends of an axis, and where its ticks are.
type Axis = ((f64, f64), Vec<(f64, String)>);

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
const PITCH: f64 = 520.0;
const LINE: f64 = 22.0;

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
}

/// Round ticks of a linear axis.
fn linear((mut low, mut high): (f64, f64)) -> Axis {
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    let span = (high - low).max(1e-12);
    let rough = 10f64.powf((span / 6.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * rough).into_iter().find(|s| span / s <= 6.0).unwrap_or(span);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let count = ((high - low) / step).round() as i32;
    let digits = (-step.log10().floor()).max(0.0) as usize;
    // No minus before a zero.
    let name = |v: f64| format!("{:.digits$}", if v.abs() < 0.5 * step { 0.0 } else { v });
    let ticks = (0..=count).map(|k| low + step * f64::from(k)).map(|v| (v, name(v))).collect();
    ((low, high.max(low + 1e-12)), ticks)
}

/// Whole decades where there are many, else ticks at 1, 2 and 5.
fn logarithmic((low, high): (f64, f64)) -> Axis {
    if low >= high || high > 300.0 * low {
        return decades([low, high].into_iter());
    }
    let marks: Vec<f64> = (-20..20).flat_map(|d| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(d))).collect();
    let first = marks.iter().rposition(|m| *m <= low * 1.001).unwrap_or(0);
    let last = marks.iter().position(|m| *m >= high * 0.999).unwrap_or(marks.len() - 1);
    let name = |m: f64| match m {
        m if m < 1e-3 => format!("{m:.0e}"),
        m if m < 1.0 => format!("{m:.*}", -m.log10().floor() as usize),
        m => format!("{m:.0}"),
    };
    let ticks = marks[first..=last].iter().map(|&m| (m.log10(), name(m)));
    ((marks[first].log10(), marks[last].log10()), ticks.collect())
}

impl Chart {
    /// A point in the coordinates of the axes; none if it has no place on them.
    fn place(&self, &(x, y): &(f64, f64)) -> Option<(f64, f64)> {
        let on = |v: f64, log: bool| if log { Some(v.log10()).filter(|_| v > 0.0) } else { Some(v) };
        Some((on(x, self.x_log)?, on(y, self.log)?)).filter(|p| p.0.is_finite() && p.1.is_finite())
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || {
            let all = self.curves.iter().map(|c| &c.1).chain(&self.backdrop).flatten();
            all.filter(|p| self.place(p).is_some())
        };
        let axis = |(low, high), log: bool| if log { logarithmic((low, high)) } else { linear((low, high)) };
        let (mut x, mut y) = (ends(points().map(|p| p.0)), ends(points().map(|p| p.1)));
        if self.equal {
            // Widen the shorter one about its middle.
            let per_pixel = ((x.1 - x.0) / WIDTH).max((y.1 - y.0) / HEIGHT) * 1.08;
            let about = |(a, b): (f64, f64), pixels: f64| {
                (0.5 * (a + b) - 0.5 * per_pixel * pixels, 0.5 * (a + b) + 0.5 * per_pixel * pixels)
            };
            (x, y) = (about(x, WIDTH), about(y, HEIGHT));
            let inside = |(ends, (_, ticks)): ((f64, f64), Axis)| {
                (ends, ticks.into_iter().filter(|(v, _)| *v >= ends.0 && *v <= ends.1).collect())
            };
            return (inside((x, linear(x))), inside((y, linear(y))));
        }
        (axis(x, self.x_log), axis(y, self.log))
    }

    fn draw(&self, out: &mut String, names: &[String], left: f64, top: f64) {
        let ((x, x_ticks), (y, y_ticks)) = self.axes();
        let panel = Panel { left, top, width: WIDTH, height: HEIGHT, x, y };
        panel.axes(out, &x_ticks, &y_ticks, [self.title, self.x_title, self.y_title]);
        let pixels = |points: &Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            points.iter().filter_map(|p| self.place(p)).map(|(x, y)| panel.at(x, y)).collect()
        };
        for points in &self.backdrop {
            polyline(out, &simplified(&pixels(points)), r##"fill="none" stroke="#999" stroke-width="0.4""##);
        }
        let curves: Vec<(usize, Vec<(f64, f64)>)> = self
            .curves
            .iter()
            .map(|(name, points)| (names.iter().position(|n| n == name).unwrap_or(0), pixels(points)))
            .collect();
        let covered: Vec<HashSet<(i32, i32)>> = curves.iter().map(|c| cells(&c.1)).collect();
        for (k, (style, points)) in curves.iter().enumerate() {
            // A curve that later ones would hide is broader than they are.
            let hides = |over: &HashSet<(i32, i32)>| 2 * covered[k].intersection(over).count() > covered[k].len();
            let over = covered[k + 1..].iter().filter(|c| hides(c)).count();
            let stroke = stroke(*style).replace("\"1.8\"", &format!("\"{}\"", 1.8 + 1.5 * over as f64));
            polyline(out, &simplified(points), &stroke);
        }
    }
}

/// Little squares that a curve runs through.
fn cells(points: &[(f64, f64)]) -> HashSet<(i32, i32)> {
    const SIDE: f64 = 2.0;
    let mut all = HashSet::new();
    for ends in points.windows(2) {
        let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
        let parts = ((bx - ax).hypot(by - ay) / SIDE).ceil().max(1.0);
        for k in 0..=parts as i32 {
            let t = f64::from(k) / parts;
            all.insert((((ax + t * (bx - ax)) / SIDE) as i32, ((ay + t * (by - ay)) / SIDE) as i32));
        }
    }
    all
}

/// Without the points that nobody would miss (Douglas and Peucker): none is farther than a sixth of a pixel from the line.
fn simplified(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const SEEN: f64 = 1.0 / 6.0;
    let mut keep = vec![false; points.len()];
    let mut open = vec![(0, points.len().saturating_sub(1))];
    while let Some((from, to)) = open.pop() {
        if points.is_empty() {
            break;
        }
        (keep[from], keep[to]) = (true, true);
        let ((ax, ay), (bx, by)) = (points[from], points[to]);
        let (dx, dy) = (bx - ax, by - ay);
        let square = dx * dx + dy * dy;
        let far = |k: usize| {
            let (px, py) = (points[k].0 - ax, points[k].1 - ay);
            let t = if square > 0.0 { ((px * dx + py * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
            (px - t * dx).hypot(py - t * dy)
        };
        let Some(most) = (from + 1..to).max_by(|&j, &k| far(j).total_cmp(&far(k))) else { continue };
        if far(most) > SEEN {
            open.extend([(from, most), (most, to)]);
        }
    }
    points.iter().zip(keep).filter(|(_, kept)| *kept).map(|(p, _)| *p).collect()
}

fn polyline(out: &mut String, points: &[(f64, f64)], stroke: &str) {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{x:.1},{y:.1} ");
    }
    let _ = writeln!(out, r#"<polyline points="{}" {stroke}/>"#, path.trim_end());
}

/// Names beside samples of their lines, one after the other; the height they take.
fn legend(out: &mut String, names: &[String], top: f64, width: f64) -> f64 {
    let (mut x, mut y) = (20.0, top);
    for (style, name) in names.iter().enumerate() {
        let long = 55.0 + 7.2 * name.chars().count() as f64;
        if x > 20.0 && x + long > width {
            (x, y) = (20.0, y + LINE);
        }
        let (from, to) = ((x, y), (x + 28.0, y));
        polyline(out, &[from, to], &stroke(style).replace("\"1.8\"", "\"2.4\""));
        text(out, x + 35.0, y + 4.0, "start", 13, name);
        x += long;
    }
    y - top + LINE
}

/// Charts in rows of two, with one legend.
pub fn charts(title: &str, charts: &[Chart]) -> String {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in charts.iter().flat_map(|c| &c.curves) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let width = 20.0 + PITCH * charts.len().clamp(1, 2) as f64;
    let mut body = String::new();
    text(&mut body, 20.0, 26.0, "start", 16, title);
    // One curve in one style needs no name.
    let below = if names.len() > 1 { legend(&mut body, &names, 50.0, width) } else { 0.0 };
    let top = 75.0 + below;
    let pitch = HEIGHT + 90.0;
    for (k, chart) in charts.iter().enumerate() {
        chart.draw(&mut body, &names, 80.0 + PITCH * (k % 2) as f64, top + pitch * (k / 2) as f64);
    }
    document(width, top + pitch * charts.len().div_ceil(2) as f64 - 30.0, title, &body)
}
