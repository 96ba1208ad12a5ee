//! `mlcp-lab paper isolines`: lines of equal error of one row in the plane of impulse and velocity (Enzenhöfer et al.,
//! Figs. 1, 2 and 4).

use super::brick_wall::MEASURES;
use super::section::{Context, Section};
use crate::plot::Chart;
use mlcp::Measure;
use std::fmt::Write;

/// Inverse effective mass, kg⁻¹; the slope of the dashed lines.
const A: f64 = 1.0;
/// The plane reaches this far from the origin.
const REACH: f64 = 3.0;
const LEVELS: [f64; 5] = [0.1, 0.3, 0.6, 1.0, 1.5];

/// A row: name, bounds, and its solutions as a line.
struct Row {
    name: &'static str,
    lo: f64,
    hi: f64,
    solutions: Vec<(f64, f64)>,
}

fn rows() -> [Row; 2] {
    let contact = vec![(0.0, REACH), (0.0, 0.0), (REACH, 0.0)];
    let friction = vec![(-1.0, REACH), (-1.0, 0.0), (1.0, 0.0), (1.0, -REACH)];
    [
        Row { name: "contact, 0 ≤ x", lo: 0.0, hi: f64::INFINITY, solutions: contact },
        Row { name: "friction, -1 ≤ x ≤ 1 N s", lo: -1.0, hi: 1.0, solutions: friction },
    ]
}

/// Where `f` crosses a level between neighbours of a grid: segments, cell by cell (marching squares), joined to lines.
fn isoline(f: impl Fn(f64, f64) -> f64, level: f64, cells: i32) -> Vec<Vec<(f64, f64)>> {
    let place = |k: i32| REACH * (2.0 * f64::from(k) / f64::from(cells) - 1.0);
    let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
    for (i, j) in (0..cells).flat_map(|i| (0..cells).map(move |j| (i, j))) {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| (place(i), place(j)));
        let heights = corners.map(|(x, w)| f(x, w) - level);
        let mut crossings = Vec::new();
        for k in 0..4 {
            let (p, q, a, b) = (corners[k], corners[(k + 1) % 4], heights[k], heights[(k + 1) % 4]);
            if (a < 0.0) != (b < 0.0) {
                let t = a / (a - b);
                crossings.push((p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1)));
            }
        }
        for pair in crossings.chunks_exact(2) {
            join(&mut lines, pair[0], pair[1]);
        }
    }
    lines
}

/// Put a segment at the end of a line that it continues, or begin one.
fn join(lines: &mut Vec<Vec<(f64, f64)>>, p: (f64, f64), q: (f64, f64)) {
    let same = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs() < 1e-9;
    for line in lines.iter_mut().rev() {
        let end = line[line.len() - 1];
        if same(end, p) || same(end, q) {
            return line.push(if same(end, p) { q } else { p });
        }
        if same(line[0], p) || same(line[0], q) {
            let other = if same(line[0], p) { q } else { p };
            return line.insert(0, other);
        }
    }
    lines.push(vec![p, q]);
}

/// Dashed lines `w = a x + b` through the plane.
fn equation_lines() -> Vec<Vec<(f64, f64)>> {
    let line = |b: f64| {
        let (from, to) = ((-REACH).max((-REACH - b) / A), REACH.min((REACH - b) / A));
        vec![(from, A * from + b), (to, A * to + b)]
    };
    [-3.0, -1.5, 0.0, 1.5, 3.0].map(line).to_vec()
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let cells = if context.short { 40 } else { 120 };
    let bar = context.progress(MEASURES.len());
    let mut section = Section::new(
        "Lines of equal error",
        "Enzenhöfer et al. 2019, §3-4, Figs. 1, 2, 4, 5",
        "One row with a = 1 kg⁻¹ in the plane of impulse x and velocity w. Thin grey: w = a x + b.",
    );
    claims(&mut section);
    let mut csv = String::from("measure,row,level,line,x_Ns,w_m_per_s\n");
    for (measure, name, _) in MEASURES {
        let unit = if measure == Measure::Energy { " J" } else { "" };
        let mut charts = Vec::new();
        for row in rows() {
            let mut curves = vec![("solutions".to_string(), row.solutions.clone())];
            for level in LEVELS {
                let error = |x: f64, w: f64| measure.row(A, x, w, row.lo, row.hi);
                for (k, line) in isoline(error, level, cells).into_iter().enumerate() {
                    for (x, w) in &line {
                        let _ = writeln!(csv, "{name},\"{}\",{level},{k},{x},{w}", row.name);
                    }
                    curves.push((format!("{level}{unit}"), line));
                }
            }
            let (title, x_title, y_title) = (row.name, "x [N s]", "w [m/s]");
            let backdrop = equation_lines();
            charts.push(Chart { title, x_title, y_title, curves, backdrop, ..Chart::default() });
        }
        let figure = match measure {
            Measure::FischerBurmeister => "Fig. 1",
            Measure::Natural => "Fig. 2",
            _ => "Fig. 4",
        };
        let title = format!("{name}: lines of equal error ({figure})");
        let file = format!("isolines_{}", name.split([' ', '-']).next().unwrap_or(name).to_lowercase());
        section.figure(&file, &title, "Left a contact, right a friction row; zero on the line of solutions.", &charts);
        bar.inc(1);
    }
    bar.finish_and_clear();
    section.table("isolines", csv);
    Ok(section)
}

/// Distance of a point from the row's solutions.
fn distance(row: &Row, x: f64, w: f64) -> f64 {
    let to = |p: (f64, f64), q: (f64, f64)| {
        let (dx, dw) = (q.0 - p.0, q.1 - p.1);
        let t = (((x - p.0) * dx + (w - p.1) * dw) / (dx * dx + dw * dw)).clamp(0.0, 1.0);
        (x - p.0 - t * dx).hypot(w - p.1 - t * dw)
    };
    row.solutions.windows(2).map(|s| to(s[0], s[1])).fold(f64::INFINITY, f64::min)
}

fn claims(section: &mut Section) {
    let (mut on_line, mut off_line) = (0.0f64, f64::INFINITY);
    for (measure, ..) in MEASURES {
        for row in rows() {
            for (i, j) in (-29..30).flat_map(|i| (-29..30).map(move |j| (f64::from(i) / 10.0, f64::from(j) / 10.0))) {
                let error = measure.row(A, i, j, row.lo, row.hi);
                if distance(&row, i, j) < 1e-12 {
                    on_line = on_line.max(error);
                } else {
                    off_line = off_line.min(error);
                }
            }
        }
    }
    let measured = format!("on the line at most {on_line:.1e}, off it at least {off_line:.1e}, on a grid of 59 × 59");
    section.claim(
        "each error is zero on the line of solutions and only there",
        measured,
        on_line == 0.0 && off_line > 0.0,
    );
    let ratio = |m: Measure| m.row(A, -2.0, -2.0 * A, 0.0, f64::INFINITY) / m.row(A, -1.0, -A, 0.0, f64::INFINITY);
    let [f, n, e] = MEASURES.map(|(m, ..)| ratio(m));
    let measured =
        format!("twice as far from the corner: energy × {e:.3}, Fischer-Burmeister × {f:.3}, natural × {n:.3}");
    let holds = (e - 4.0).abs() < 1e-12 && (f - 2.0).abs() < 1e-12 && (n - 2.0).abs() < 1e-12;
    section.claim("energy grows quadratically along w = a x + b, the others linearly", measured, holds);
    // Fig. 5: 2 kg, 0.3 N s down or up.
    let (a, push) = (0.5, 0.3);
    let energy = |x: f64, w: f64| Measure::Energy.row(a, x, w, 0.0, f64::INFINITY);
    let cases = [energy(push, 0.0), energy(0.0, -a * push), energy(-push, 0.0), energy(0.0, a * push)];
    let kinetic = 0.5 * a * push * push;
    let measured =
        format!("2 kg, 0.3 N s: a {:.4}, b {:.4}, c {:.4}, d {:.4} J", cases[0], cases[1], cases[2], cases[3]);
    let holds = cases.iter().zip([0.0, kinetic, kinetic, 0.0]).all(|(c, k)| (c - k).abs() < 1e-15);
    section.claim("point mass (Fig. 5): a, d have no error; b has w²/2a, c has ½ a x²", measured, holds);
}
