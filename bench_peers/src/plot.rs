//! Two pictures as SVG, both with logarithmic axes: performance profile and time against size.

use std::fmt::Write;

/// A named line through points, or the points alone.
pub struct Series {
    /// In the legend.
    pub name: String,
    /// In axis units, not logarithms.
    pub points: Vec<(f64, f64)>,
}

/// What is on the axes.
pub struct Axes {
    /// Above the picture.
    pub title: &'static str,
    /// Under it.
    pub x: &'static str,
    /// At its left.
    pub y: &'static str,
    /// Is y logarithmic, too?
    pub log_y: bool,
}

/// Okabe and Ito's colours, which colour-blind readers can tell apart.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333"];
const DASHES: [&str; 3] = ["", "7 3", "2 3"];
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 360.0;

/// Draw the series; x is logarithmic.
pub fn draw(axes: &Axes, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| s.points.iter().copied());
    let logs = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, 0f64), |(l, h), v| (l.min(v), h.max(v)));
        if low.is_finite() && high > 0.0 {
            (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0))
        } else {
            (0.0, 1.0)
        }
    };
    let x = logs(&mut all().map(|p| p.0));
    let y = if axes.log_y { logs(&mut all().map(|p| p.1)) } else { (0.0, 1.0) };
    let at = |(px, py): (f64, f64)| {
        let v = if axes.log_y { py.log10() } else { py };
        (LEFT + WIDTH * (px.log10() - x.0) / (x.1 - x.0), TOP + HEIGHT * (1.0 - (v - y.0) / (y.1 - y.0)))
    };
    let mut out = String::new();
    let total = LEFT + WIDTH + 190.0;
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="460" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{LEFT}" y="24" font-size="15">{}</text>
<text x="{}" y="445" text-anchor="middle">{}</text>
<text transform="translate(18 {}) rotate(-90)" text-anchor="middle">{}</text>"##,
        axes.title,
        LEFT + WIDTH / 2.0,
        axes.x,
        TOP + HEIGHT / 2.0,
        axes.y
    );
    let decades = |(a, b): (f64, f64)| (a as i32..=b as i32).map(|e| 10f64.powi(e));
    for v in decades(x) {
        let (px, bottom) = (at((v, 1.0)).0, TOP + HEIGHT);
        grid(&mut out, [px, TOP, px, bottom]);
        let _ = writeln!(out, r#"<text x="{px:.1}" y="{:.1}" text-anchor="middle">{v}</text>"#, bottom + 17.0);
    }
    let marks: Vec<f64> = if axes.log_y { decades(y).collect() } else { vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0] };
    for v in marks {
        let py = at((1.0, v)).1;
        grid(&mut out, [LEFT, py, LEFT + WIDTH, py]);
        let _ = writeln!(out, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{v}</text>"#, LEFT - 7.0, py + 4.0);
    }
    for (k, s) in series.iter().enumerate() {
        let (colour, dash) = (COLOURS[k % 7], DASHES[k / 7 % 3]);
        let style = format!(r#"fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}""#);
        let points: Vec<String> = s.points.iter().map(|p| at(*p)).map(|(a, b)| format!("{a:.1},{b:.1}")).collect();
        let _ = writeln!(out, r#"<polyline points="{}" {style}/>"#, points.join(" "));
        if axes.log_y {
            for (a, b) in s.points.iter().map(|p| at(*p)) {
                let _ = writeln!(out, r#"<circle cx="{a:.1}" cy="{b:.1}" r="3" fill="{colour}"/>"#);
            }
        }
        let (lx, ly) = (LEFT + WIDTH + 14.0, TOP + 10.0 + 19.0 * k as f64);
        let _ = writeln!(
            out,
            r#"<path d="M{lx} {ly}h26" {style}/><text x="{}" y="{}">{}</text>"#,
            lx + 32.0,
            ly + 4.0,
            s.name
        );
    }
    out.push_str("</svg>\n");
    out
}

fn grid(out: &mut String, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(out, r##"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="#e4e4e4"/>"##);
}
