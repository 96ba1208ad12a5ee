//! Where two boxes touch, face against face: the face of least penetration, and the other box's facing face clipped to
//! its sides. Boxes that lie on one another need no more; an edge that crosses an edge is seen as its end points.

use mlcp_scenes::rigid::{Body, Vector};

/// A point where two boxes touch.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// In the world.
    pub point: Vector,
    /// Unit vector from the first box to the second.
    pub normal: Vector,
    /// Distance along it; negative: they overlap.
    pub gap: f64,
}

/// Unit vector of face `f`, two per axis, in the world.
fn outward(body: &Body, f: usize) -> Vector {
    let mut axis = Vector::zeros();
    axis[f / 2] = if f.is_multiple_of(2) { 1.0 } else { -1.0 };
    body.rotation * axis
}

/// Least distance of the other box's corners from the plane of face `f`.
fn separation(body: &Body, half: Vector, f: usize, other: &Body, other_half: Vector) -> f64 {
    let normal = outward(body, f);
    let reach: f64 = (0..3).map(|k| other_half[k] * normal.dot(&outward(other, 2 * k)).abs()).sum();
    normal.dot(&(other.position - body.position)) - half[f / 2] - reach
}

/// Corners of face `f`, in order around it.
fn corners(body: &Body, half: Vector, f: usize) -> Vec<Vector> {
    let (axis, u, v) = (f / 2, (f / 2 + 1) % 3, (f / 2 + 2) % 3);
    let sign = if f.is_multiple_of(2) { 1.0 } else { -1.0 };
    let corner = |su: f64, sv: f64| {
        let mut c = Vector::zeros();
        (c[axis], c[u], c[v]) = (sign * half[axis], su * half[u], sv * half[v]);
        body.position + body.rotation * c
    };
    vec![corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)]
}

/// The part of a polygon with `normal·p <= reach` (Sutherland and Hodgman).
fn clip(polygon: &[Vector], normal: Vector, reach: f64) -> Vec<Vector> {
    let mut kept = Vec::new();
    for (k, &p) in polygon.iter().enumerate() {
        let q = polygon[(k + 1) % polygon.len()];
        let (dp, dq) = (normal.dot(&p) - reach, normal.dot(&q) - reach);
        if dp <= 0.0 {
            kept.push(p);
        }
        if (dp < 0.0 && dq > 0.0) || (dp > 0.0 && dq < 0.0) {
            kept.push(p + (q - p) * (dp / (dp - dq)));
        }
    }
    kept
}

/// Points of two boxes (with their half sizes) that are nearer than `margin`.
pub fn touching(first: (&Body, Vector), second: (&Body, Vector), margin: f64) -> Vec<Touch> {
    let (mut best, mut face, mut swapped) = (f64::NEG_INFINITY, 0, false);
    for (a, b, is_second) in [(first, second, false), (second, first, true)] {
        for f in 0..6 {
            let s = separation(a.0, a.1, f, b.0, b.1);
            // The first box's faces have a small advantage, so that equals do not alternate.
            if s > best + if is_second { 1e-6 } else { 0.0 } {
                (best, face, swapped) = (s, f, is_second);
            }
        }
    }
    if best > margin {
        return Vec::new();
    }
    let ((a, half), (b, other_half)) = if swapped { (second, first) } else { (first, second) };
    let normal = outward(a, face);
    let facing = (0..6).min_by(|&f, &g| normal.dot(&outward(b, f)).total_cmp(&normal.dot(&outward(b, g)))).unwrap_or(0);
    let mut polygon = corners(b, other_half, facing);
    for side in (0..6).filter(|f| f / 2 != face / 2) {
        let n = outward(a, side);
        polygon = clip(&polygon, n, n.dot(&a.position) + half[side / 2]);
    }
    let plane = normal.dot(&a.position) + half[face / 2];
    let towards_second = if swapped { -normal } else { normal };
    polygon
        .into_iter()
        .map(|p| (p, normal.dot(&p) - plane))
        .filter(|&(_, gap)| gap <= margin)
        .map(|(p, gap)| Touch { point: p - normal * (0.5 * gap), normal: towards_second, gap })
        .collect()
}

/// Corners of a box that are nearer than `margin` to the ground z = 0.
pub fn on_ground(body: &Body, half: Vector, margin: f64) -> Vec<Touch> {
    let all = [4, 5].into_iter().flat_map(|f| corners(body, half, f));
    all.filter(|c| c.z <= margin).map(|c| Touch { point: c, normal: Vector::z(), gap: c.z }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(x: f64, y: f64, z: f64) -> Body {
        Body::at_rest(Vector::new(x, y, z), 1.0, Vector::repeat(1.0))
    }

    #[test]
    fn stacked_boxes_touch_in_the_corners_of_their_overlap() {
        let half = Vector::repeat(0.5);
        let touches = touching((&cube(0.0, 0.0, 0.0), half), (&cube(0.5, 0.25, 1.01), half), 0.02);
        assert_eq!(touches.len(), 4);
        for t in &touches {
            assert!((t.gap - 0.01).abs() < 1e-12 && (t.normal - Vector::z()).norm() < 1e-12, "{t:?}");
            assert!((t.point.x - 0.25).abs() < 0.2501 && (t.point.y - 0.125).abs() < 0.3751, "{t:?}");
        }
        let swapped = touching((&cube(0.5, 0.25, 1.01), half), (&cube(0.0, 0.0, 0.0), half), 0.02);
        assert!(swapped.len() == 4 && swapped.iter().all(|t| (t.normal + Vector::z()).norm() < 1e-12));
        assert!(touching((&cube(0.0, 0.0, 0.0), half), (&cube(0.5, 0.25, 1.03), half), 0.02).is_empty());
        assert_eq!(on_ground(&cube(3.0, 0.0, 0.49), half, 0.0).len(), 4);
    }
}
