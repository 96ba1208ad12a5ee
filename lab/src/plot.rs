//! Pictures as SVG, written by hand: a few lines and words need no library, and SVG text needs no fonts here.

pub use crate::chart::{charts, Chart};

use crate::table::{Goal, Row};
use std::fmt::Write;

/// The errors of one iterate.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// 0 is the starting point.
    pub iteration: usize,
    /// Energy error in joules; NaN where a row has no energy.
    pub energy: f64,
    /// Fischer-Burmeister residual.
    pub fischer_burmeister: f64,
    /// Natural residual.
    pub natural: f64,
}

/// A solver's way through a problem.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the solver.
    pub solver: &'static str,
    /// Every iterate.
    pub samples: Vec<Sample>,
    /// Energy error in joules that counts as solved.
    pub tolerance: f64,
}

/// Okabe and Ito's colours, which colour-blind readers can tell apart.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];

/// One dash pattern per round of colours.
const DASHES: [&str; 3] = ["", "7 3", "2 3"];

/// Errors below this are drawn at it: 0 has no logarithm.
pub(crate) const FLOOR: f64 = 1e-30;

/// Axes show at most this many decades, so that one exact 0 does not squeeze everything else.
const MOST_DECADES: f64 = 24.0;

/// More points than this cannot be told apart in a panel.
const MOST_POINTS: usize = 1500;

const LEGEND_WIDTH: f64 = 150.0;

/// Where a panel lies, and its ranges in axis coordinates (logarithms where the axis is logarithmic).
pub(crate) struct Panel {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Panel {
    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |v: f64, (a, b): (f64, f64)| ((v - a) / (b - a)).clamp(0.0, 1.0);
        (self.left + self.width * share(x, self.x), self.top + self.height * (1.0 - share(y, self.y)))
    }

    /// Frame, grid, tick labels, titles.
    pub(crate) fn axes(
        &self,
        out: &mut String,
        x_ticks: &[(f64, String)],
        y_ticks: &[(f64, String)],
        titles: [&str; 3],
    ) {
        let [title, x_title, y_title] = titles;
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        for (v, label) in x_ticks {
            let (x, _) = self.at(*v, self.y.0);
            line(out, (x, self.top), (x, bottom), "#e4e4e4");
            text(out, x, bottom + 17.0, "middle", 12, label);
        }
        for (v, label) in y_ticks {
            let (_, y) = self.at(self.x.0, *v);
            line(out, (self.left, y), (right, y), "#e4e4e4");
            text(out, self.left - 7.0, y + 4.0, "end", 12, label);
        }
        let _ = writeln!(
            out,
            r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" fill="none" stroke="#444"/>"##,
            self.left, self.top, self.width, self.height
        );
        let middle = self.left + self.width / 2.0;
        text(out, middle, self.top - 10.0, "middle", 14, title);
        text(out, middle, bottom + 38.0, "middle", 13, x_title);
        let (x, y) = (self.left - 52.0, self.top + self.height / 2.0);
        let _ = writeln!(
            out,
            r#"<text x="{x:.1}" y="{y:.1}" font-size="13" text-anchor="middle" transform="rotate(-90 {x:.1} {y:.1})">{}</text>"#,
            escape(y_title)
        );
    }

    fn curve(&self, out: &mut String, points: &[(f64, f64)], style: usize, with_dots: bool) {
        let mut path = String::new();
        for &(x, y) in points {
            let (x, y) = self.at(x, y);
            let _ = write!(path, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(out, r#"<polyline points="{}" {}/>"#, path.trim_end(), stroke(style));
        if with_dots {
            for &(x, y) in points {
                let (x, y) = self.at(x, y);
                let _ = writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.6" fill="{}"/>"#, colour(style));
            }
        }
    }
}

fn colour(style: usize) -> &'static str {
    COLOURS[style % COLOURS.len()]
}

pub(crate) fn stroke(style: usize) -> String {
    let dash = DASHES[style / COLOURS.len() % DASHES.len()];
    format!(r#"fill="none" stroke="{}" stroke-width="1.8" stroke-dasharray="{dash}""#, colour(style))
        .replace(r#" stroke-dasharray="""#, "")
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(
        out,
        r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}"/>"#,
        from.0, from.1, to.0, to.1
    );
}

pub(crate) fn text(out: &mut String, x: f64, y: f64, anchor: &str, size: u32, words: &str) {
    let _ = writeln!(
        out,
        r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}">{}</text>"#,
        escape(words)
    );
}

/// Text for SVG and HTML: names come from files and may hold anything; control characters are not allowed in XML at all.
pub fn escape(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

pub(crate) fn document(width: f64, height: f64, title: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" fill=\"#222\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n",
        escape(title)
    )
}

fn legend(out: &mut String, left: f64, top: f64, names: &[String]) {
    for (style, name) in names.iter().enumerate() {
        let y = top + 20.0 * style as f64;
        let _ = writeln!(
            out,
            r#"<line x1="{left:.1}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}" {}/>"#,
            left + 28.0,
            stroke(style)
        );
        text(out, left + 35.0, y + 4.0, "start", 13, name);
    }
}

/// 10^k as people write it.
fn power(k: i32) -> String {
    let digits = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c as u32 - '0' as u32).unwrap_or(c),
    };
    format!("10{}", k.to_string().chars().map(digits).collect::<String>())
}

/// Whole decades around some errors, with labelled ticks.
pub(crate) fn decades(values: impl Iterator<Item = f64>) -> ((f64, f64), Vec<(f64, String)>) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    // An exact 0 lies on the lower edge and does not move it.
    for v in values.filter(|v| v.is_finite() && *v > 0.0).map(|v| v.max(FLOOR).log10()) {
        (low, high) = (low.min(v), high.max(v));
    }
    if low > high {
        (low, high) = (-1.0, 0.0);
    }
    (low, high) = (low.floor(), high.ceil());
    low = low.max(high - MOST_DECADES).min(high - 1.0);
    let step = (((high - low) / 8.0).ceil() as i32).max(1);
    let ticks = (low as i32..=high as i32).filter(|k| k % step == 0).map(|k| (f64::from(k), power(k))).collect();
    ((low, high), ticks)
}

/// The iteration axis: linear, or log(1 + k) where one solver takes far more steps than another.
fn iterations(most: usize) -> (bool, (f64, f64), Vec<(f64, String)>) {
    if most <= 60 {
        let step = [1, 2, 5, 10].into_iter().find(|s| most / s <= 8).unwrap_or(10);
        let ticks = (0..=most).step_by(step).map(|k| (k as f64, k.to_string())).collect();
        return (false, (0.0, most.max(1) as f64), ticks);
    }
    let marks = std::iter::once(0).chain((0..12).flat_map(|d| [1, 3].map(|m| m * 10usize.pow(d))));
    let ticks = marks.take_while(|&k| k <= most).map(|k| ((1.0 + k as f64).log10(), k.to_string())).collect();
    (true, (0.0, (1.0 + most as f64).log10()), ticks)
}

/// A trace short enough to draw; the last iterate is always kept.
fn thinned(samples: &[Sample]) -> Vec<Sample> {
    let step = samples.len().div_ceil(MOST_POINTS).max(1);
    let mut kept: Vec<Sample> = samples.iter().copied().step_by(step).collect();
    kept.extend(samples.last().filter(|_| samples.len() % step != 1 && step > 1));
    kept
}

/// A measure: title of its panel, name and unit of its axis, value.
type Measured = (&'static str, &'static str, fn(&Sample) -> f64);

/// Errors against iterations, one panel per measure, one curve per solver.
pub fn convergence(problem: &str, rows: usize, has_energy: bool, traces: &[Trace]) -> String {
    let mut measures: Vec<Measured> = vec![
        ("energy error", "energy error [J]", |s| s.energy),
        ("Fischer-Burmeister", "residual [mixed units]", |s| s.fischer_burmeister),
        ("natural residual", "residual [mixed units]", |s| s.natural),
    ];
    if !has_energy {
        // A row with a_ii <= 0 has no effective mass.
        measures.remove(0);
    }
    let most = traces.iter().flat_map(|t| &t.samples).map(|s| s.iteration).max().unwrap_or(1);
    let (is_log, x, x_ticks) = iterations(most);
    let (panel_width, pitch) = (300.0, 390.0);
    let height = 430f64.max(100.0 + 20.0 * traces.len() as f64);
    let mut body = String::new();
    text(&mut body, 20.0, 26.0, "start", 16, &format!("{problem}, {rows} rows"));
    for (i, (title, axis, value)) in measures.iter().enumerate() {
        // One problem has one scale, so the solvers share their tolerance; residuals in mixed units have none.
        let tolerance = traces.first().map(|t| t.tolerance).filter(|t| has_energy && i == 0 && *t > 0.0);
        let (y, y_ticks) = decades(traces.iter().flat_map(|t| &t.samples).map(value).chain(tolerance));
        let panel = Panel { left: 80.0 + pitch * i as f64, top: 70.0, width: panel_width, height: 300.0, x, y };
        let x_title = if is_log { "iteration (log scale)" } else { "iteration" };
        panel.axes(&mut body, &x_ticks, &y_ticks, [title, x_title, axis]);
        if let Some(tolerance) = tolerance.map(f64::log10) {
            let (from, to) = (panel.at(x.0, tolerance), panel.at(x.1, tolerance));
            line(&mut body, from, to, "#888");
            text(&mut body, to.0 - 4.0, to.1 - 4.0, "end", 11, "tolerance");
        }
        for (style, trace) in traces.iter().enumerate() {
            let samples = thinned(&trace.samples);
            let across = |s: &Sample| if is_log { (1.0 + s.iteration as f64).log10() } else { s.iteration as f64 };
            let up = |s: &Sample| value(s).max(FLOOR).log10();
            let points: Vec<(f64, f64)> =
                samples.iter().filter(|s| value(s).is_finite()).map(|s| (across(s), up(s))).collect();
            panel.curve(&mut body, &points, style, points.len() <= 40);
        }
    }
    let right = 80.0 + pitch * measures.len() as f64 - 70.0;
    let names: Vec<String> = traces.iter().map(|t| t.solver.to_string()).collect();
    legend(&mut body, right, 80.0, &names);
    if traces.is_empty() {
        text(&mut body, right, 84.0, "start", 13, "no solver supports it");
    }
    document(right + LEGEND_WIDTH, height, &format!("convergence on {problem}"), &body)
}

/// Dolan and Moré's performance profile of the time to tolerance: for each solver the share of problems it solved
/// within a factor of the fastest solver's time.
pub fn profile(rows: &[Row], solvers: &[&'static str], goal: Goal) -> String {
    let mut problems: Vec<&str> = rows.iter().map(|r| r.problem.as_str()).collect();
    problems.dedup();
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); solvers.len()];
    let mut counted = 0usize;
    for &problem in &problems {
        let times: Vec<Option<f64>> = solvers
            .iter()
            .map(|&s| rows.iter().find(|r| r.problem == problem && r.solver == s)?.solved_seconds(goal))
            .collect();
        // A problem nobody solved says nothing about who is faster.
        let Some(best) = times.iter().flatten().copied().reduce(f64::min) else { continue };
        counted += 1;
        for (list, time) in ratios.iter_mut().zip(times) {
            list.extend(time.map(|t| (t.max(1e-9) / best.max(1e-9)).log10()));
        }
    }
    let widest = ratios.iter().flatten().copied().fold(0.3, f64::max) * 1.05;
    let panel = Panel { left: 80.0, top: 70.0, width: 520.0, height: 320.0, x: (0.0, widest), y: (0.0, 1.04) };
    let within: &[u64] = if widest < 1.7 { &[1, 2, 5] } else { &[1] };
    let marks = (0..12).flat_map(|d| within.iter().map(move |m| m * 10u64.pow(d)));
    let x_ticks: Vec<(f64, String)> =
        marks.map(|m| ((m as f64).log10(), m.to_string())).take_while(|(at, _)| *at <= widest).collect();
    let y_ticks: Vec<(f64, String)> = (0..=5).map(|k| (f64::from(k) / 5.0, format!("{} %", 20 * k))).collect();
    let mut body = String::new();
    let title = format!("Time to {}: {counted} of {} problems were solved", goal.short(), problems.len());
    text(&mut body, 20.0, 26.0, "start", 16, &title);
    let axes = ["performance profile (Dolan-Moré)", "time / least time of any solver", "share of those problems"];
    panel.axes(&mut body, &x_ticks, &y_ticks, axes);
    let mut names = Vec::new();
    for (style, list) in ratios.iter_mut().enumerate() {
        list.sort_unstable_by(f64::total_cmp);
        let share = |k: usize| k as f64 / counted.max(1) as f64;
        let mut points = vec![(0.0, 0.0)];
        for (k, &ratio) in list.iter().enumerate() {
            points.extend([(ratio, share(k)), (ratio, share(k + 1))]);
        }
        points.push((widest, share(list.len())));
        panel.curve(&mut body, &points, style, false);
        names.push(format!("{} ({})", solvers[style], list.len()));
    }
    legend(&mut body, 620.0, 80.0, &names);
    let height = 450f64.max(100.0 + 20.0 * names.len() as f64);
    document(620.0 + LEGEND_WIDTH, height, "performance profile", &body)
}

/// A named list of numbers.
pub type Group = (String, Vec<f64>);

/// The number at this share of a sorted list.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, part) = (sorted[at.floor() as usize], at.fract());
    low + part * (sorted[at.ceil() as usize] - low)
}

/// Tukey's box plots on a logarithmic axis: quartiles, median, whiskers to 1.5 times the box, dots beyond.
pub fn boxes(title: &str, y_title: &str, groups: &[Group]) -> String {
    let (y, y_ticks) = decades(groups.iter().flat_map(|g| &g.1).copied());
    let pitch = 34.0;
    let longest = groups.iter().map(|g| g.0.len()).max().unwrap_or(0) as f64;
    let (width, height) = (pitch * groups.len().max(4) as f64, 320.0);
    let panel = Panel { left: 80.0, top: 60.0, width, height, x: (0.0, groups.len().max(4) as f64), y };
    let mut body = String::new();
    panel.axes(&mut body, &[], &y_ticks, [title, "", y_title]);
    for (k, (name, values)) in groups.iter().enumerate() {
        let middle = k as f64 + 0.5;
        let (x, _) = panel.at(middle, y.0);
        let bottom = panel.top + height + 12.0;
        let _ = writeln!(
            body,
            r#"<text x="{x:.1}" y="{bottom:.1}" font-size="12" text-anchor="end" transform="rotate(-60 {x:.1} {bottom:.1})">{}</text>"#,
            escape(name)
        );
        let mut logs: Vec<f64> = values.iter().filter(|v| v.is_finite()).map(|v| v.max(FLOOR).log10()).collect();
        if logs.is_empty() {
            continue;
        }
        logs.sort_unstable_by(f64::total_cmp);
        let [q1, q2, q3] = [0.25, 0.5, 0.75].map(|s| quantile(&logs, s));
        let reach = 1.5 * (q3 - q1);
        let inside = || logs.iter().copied().filter(|v| *v >= q1 - reach && *v <= q3 + reach);
        let (low, high) = (inside().fold(q1, f64::min), inside().fold(q3, f64::max));
        line(&mut body, panel.at(middle, low), panel.at(middle, high), "#555");
        let ((left, top), (right, under)) = (panel.at(middle - 0.3, q3), panel.at(middle + 0.3, q1));
        let _ = writeln!(
            body,
            r##"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="{}" fill-opacity="0.35" stroke="#333"/>"##,
            right - left,
            (under - top).max(1.0),
            colour(k)
        );
        line(&mut body, panel.at(middle - 0.3, q2), panel.at(middle + 0.3, q2), "#000");
        for v in logs.iter().filter(|v| **v < low || **v > high) {
            let (x, y) = panel.at(middle, *v);
            let _ = writeln!(body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="1.8" fill="{}"/>"#, colour(k));
        }
    }
    document(110.0 + width, 90.0 + height + 7.0 * longest, title, &body)
}

/// Errors against the number of the frame, one curve per group.
pub fn over_frames(title: &str, y_title: &str, groups: &[(String, Vec<(f64, f64)>)]) -> String {
    let all = || groups.iter().flat_map(|g| &g.1);
    let (y, y_ticks) = decades(all().map(|p| p.1));
    let last = all().fold(1.0f64, |m, p| m.max(p.0));
    let step = [1.0, 2.0, 5.0].into_iter().flat_map(|m| (0..9).map(move |d| m * 10f64.powi(d)));
    let step = step.filter(|s| last / s <= 8.0).fold(f64::INFINITY, f64::min);
    let x_ticks: Vec<(f64, String)> =
        (0..=(last / step) as usize).map(|k| (k as f64 * step, format!("{}", k as f64 * step))).collect();
    let panel = Panel { left: 80.0, top: 60.0, width: 620.0, height: 320.0, x: (0.0, last), y };
    let mut body = String::new();
    panel.axes(&mut body, &x_ticks, &y_ticks, [title, "frame", y_title]);
    for (style, (_, points)) in groups.iter().enumerate() {
        let step = points.len().div_ceil(MOST_POINTS).max(1);
        let known = points.iter().step_by(step).filter(|p| p.1.is_finite());
        let points: Vec<(f64, f64)> = known.map(|p| (p.0, p.1.max(FLOOR).log10())).collect();
        panel.curve(&mut body, &points, style, points.len() <= 40);
    }
    let names: Vec<String> = groups.iter().map(|g| g.0.clone()).collect();
    legend(&mut body, 720.0, 70.0, &names);
    let height = 440f64.max(90.0 + 20.0 * names.len() as f64);
    document(720.0 + 2.0 * LEGEND_WIDTH, height, title, &body)
}
