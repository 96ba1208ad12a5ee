//! The forklift at several instants, seen from its right and a little from above: flat faces, the far ones drawn first.

use super::forklift::{wheels, Shape, SHAPES};
use crate::natural::{at, Bodies, Point, Vector};
use std::fmt::Write;

/// Metres of ground that a picture shows, and points per metre.
const WIDTH: f64 = 7.2;
const HEIGHT: f64 = 5.2;
const SCALE: f64 = 42.0;
/// Pictures in a row.
const COLUMNS: usize = 3;
/// Direction of sight: turned about the vertical, then down, in radians.
const AZIMUTH: f64 = 0.55;
const ELEVATION: f64 = 0.22;
/// Corners of a wheel drawn as a polygon.
const ROUND: usize = 20;

/// Right and up on the paper, and away from the eye.
fn project(p: Vector) -> (f64, f64, f64) {
    let (s, c) = AZIMUTH.sin_cos();
    let (right, away) = (c * p.x + s * p.y, c * p.y - s * p.x);
    let (down, level) = ELEVATION.sin_cos();
    (right, level * p.z + down * away, level * away - down * p.z)
}

struct Face {
    corners: Vec<Vector>,
    colour: [f64; 3],
}

impl Face {
    fn depth(&self) -> f64 {
        self.corners.iter().map(|p| project(*p).2).sum::<f64>() / self.corners.len() as f64
    }

    /// Faces that look up are lighter.
    fn fill(&self) -> String {
        let normal = (self.corners[1] - self.corners[0]).cross(&(self.corners[2] - self.corners[0]));
        let light = 0.72 + 0.28 * normal.normalize().dot(&Vector::new(0.3, -0.4, 0.87)).abs();
        let [r, g, b] = self.colour.map(|c| (255.0 * c * light).round() as u8);
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

fn faces_of_box(bodies: &Bodies<'_>, shape: &Shape, faces: &mut Vec<Face>) {
    let corner = |k: usize| {
        let pick = |axis: usize| if k >> axis & 1 == 0 { shape.low[axis] } else { shape.high[axis] };
        bodies.position(Point { body: shape.body, at: Vector::new(pick(0), pick(1), pick(2)) })
    };
    for [a, b, c, d] in [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]] {
        faces.push(Face { corners: vec![corner(a), corner(b), corner(c), corner(d)], colour: shape.colour });
    }
}

fn faces_of_wheel(bodies: &Bodies<'_>, (body, radius, half): (usize, f64, f64), faces: &mut Vec<Face>) {
    let rim = |k: usize, side: f64| {
        let (s, c) = (std::f64::consts::TAU * k as f64 / ROUND as f64).sin_cos();
        bodies.position(Point { body, at: Vector::new(radius * c, side * half, radius * s) })
    };
    for side in [-1.0, 1.0] {
        faces.push(Face { corners: (0..ROUND).map(|k| rim(k, side)).collect(), colour: [0.36, 0.38, 0.42] });
    }
    for k in 0..ROUND {
        let corners = vec![rim(k, -1.0), rim(k + 1, -1.0), rim(k + 1, 1.0), rim(k, 1.0)];
        faces.push(Face { corners, colour: [0.22, 0.23, 0.25] });
    }
}

/// One picture per pose, `(time, positions)`.
pub fn draw(title: &str, poses: &[(f64, Vec<f64>)]) -> String {
    let rows = poses.len().div_ceil(COLUMNS);
    let (width, height) = (WIDTH * SCALE, HEIGHT * SCALE + 26.0);
    let (whole, tall) = (width * COLUMNS.min(poses.len()) as f64 + 20.0, height * rows as f64 + 50.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole:.0}\" height=\"{tall:.0}\" \
         viewBox=\"0 0 {whole:.0} {tall:.0}\" font-family=\"sans-serif\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"20\" y=\"26\" font-size=\"16\">{title}</text>\n"
    );
    for (k, (t, q)) in poses.iter().enumerate() {
        let (left, top) = (10.0 + width * (k % COLUMNS) as f64, 40.0 + height * (k / COLUMNS) as f64);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"14\">t = {t:.2} s</text>",
            left + 12.0,
            top + 16.0
        );
        picture(&mut out, q, left, top + 22.0);
    }
    out.push_str("</svg>\n");
    out
}

fn picture(out: &mut String, q: &[f64], left: f64, top: f64) {
    let zeros = vec![0.0; q.len()];
    let bodies = at(q, &zeros);
    let chassis = bodies.axis(0, 0);
    let ground = Vector::new(chassis.x, chassis.y, 0.0);
    let centre = project(ground);
    let place = |p: Vector| {
        let (x, y, _) = project(p);
        (left + SCALE * (x - centre.0 + 0.5 * WIDTH - 0.6), top + SCALE * (HEIGHT - 1.1 - (y - centre.1)))
    };
    // A metre grid of pavement, fixed to the world.
    let _ = writeln!(out, "<g stroke=\"#ddd\" stroke-width=\"1\">");
    for k in -2..=3 {
        let on = |a: f64, b: f64| place(Vector::new(ground.x.round() + a, ground.y.round() + b, 0.0));
        for (from, to) in
            [(on(k as f64, -2.0), on(k as f64, 2.0)), (on(-2.0, k.min(2) as f64), on(3.0, k.min(2) as f64))]
        {
            let _ = writeln!(
                out,
                "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
                from.0, from.1, to.0, to.1
            );
        }
    }
    let _ = writeln!(out, "</g>");
    let mut faces = Vec::new();
    SHAPES.iter().for_each(|shape| faces_of_box(&bodies, shape, &mut faces));
    wheels().for_each(|wheel| faces_of_wheel(&bodies, wheel, &mut faces));
    faces.sort_by(|a, b| b.depth().total_cmp(&a.depth()));
    for face in &faces {
        let mut points = String::new();
        for (x, y) in face.corners.iter().map(|p| place(*p)) {
            let _ = write!(points, "{x:.1},{y:.1} ");
        }
        let _ = writeln!(
            out,
            "<polygon points=\"{}\" fill=\"{}\" stroke=\"#333\" stroke-width=\"0.5\" stroke-linejoin=\"round\"/>",
            points.trim_end(),
            face.fill()
        );
    }
}
