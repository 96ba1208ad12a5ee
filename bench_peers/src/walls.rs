//! Brick walls of any size with analytic contacts: the series behind the scaling plot, and steps of one that is pushed.

use crate::problem::{Problem, Rows};

/// Bricks are 1 x 0.5 x 0.4 m and weigh 10 kg.
const MASS: f64 = 10.0;
const SIZE: [f64; 3] = [1.0, 0.5, 0.4];
const MU: f64 = 0.6;
const STEP: f64 = 1.0 / 60.0;

/// Walls of rising size, rigid (redundant: A has half its rank or less) and with a little compliance in every row.
pub fn series() -> Vec<Problem> {
    let sizes = [(1, 2), (2, 2), (3, 3), (4, 5), (6, 6), (8, 9), (12, 12)];
    let wall = |compliance| sizes.iter().map(move |&(width, height)| wall(width, height, compliance, 1.0));
    wall(0.0).chain(wall(1e-5)).collect()
}

/// Steps of a wall that is pushed a little harder each time.
pub fn pushed(width: usize, height: usize, compliance: f64, steps: usize) -> Vec<Problem> {
    (0..steps).map(|k| wall(width, height, compliance, 1.0 + 0.02 * k as f64)).collect()
}

/// `height` courses of `width` bricks, every second course shifted by half a brick, one step after being let go, pushed
/// sideways a little (times `force`) so that friction has something to do. Each overlap of two bricks touches at its four corners.
/// Friction bounds are frozen at the load that a contact bears if every brick hands its own evenly down.
fn wall(width: usize, height: usize, compliance: f64, force: f64) -> Problem {
    let mut rows = Rows { jacobian: vec![], inverse_mass: vec![], compliance: vec![], bodies: vec![] };
    let (mut b, mut lo, mut hi) = (vec![], vec![], vec![]);
    let inertia = |p: f64, q: f64| 12.0 / (MASS * (p * p + q * q));
    let [x, y, z] = SIZE;
    // Top down, because loads are handed down; the brick at (course, k) is body course * width + k.
    let mut load = vec![MASS * 9.81 * STEP; width * height];
    for course in (0..height).rev() {
        for k in 0..width {
            let id = course * width + k;
            let at = |course: usize, k: usize| k as f64 + 0.5 * (course % 2) as f64;
            let here = at(course, k);
            let supports: Vec<(i32, f64)> = if course == 0 {
                vec![(-1, here)]
            } else {
                let near = |&j: &usize| (at(course - 1, j) - here).abs() < 0.9;
                (0..width).filter(near).map(|j| (((course - 1) * width + j) as i32, at(course - 1, j))).collect()
            };
            let share = load[id] / supports.len() as f64;
            for (below, there) in supports {
                if below >= 0 {
                    load[below as usize] += share;
                }
                let (left, right) = (here.max(there) - 0.5, here.min(there) + 0.5);
                for corner in [left, right] {
                    for side in [-0.5 * y, 0.5 * y] {
                        let arms = [[corner - there, side, 0.5 * z], [corner - here, side, -0.5 * z]];
                        for axis in 0..3 {
                            add_row(&mut rows, [below, id as i32], arms, axis, compliance);
                        }
                        // Gravity closes the contacts of the lowest course; above it all bricks fall alike. The push
                        // grows with height.
                        let ground = f64::from(below < 0);
                        let push = force * 0.02 / height as f64 * if below < 0 { 1.0 } else { (course % 3) as f64 };
                        b.extend([-9.81 * STEP * ground, push, 0.25 * push]);
                        let friction = 0.25 * MU * share;
                        lo.extend([0.0, -friction, -friction]);
                        hi.extend([f64::INFINITY, friction, friction]);
                    }
                }
            }
        }
    }
    for _ in 0..width * height {
        rows.inverse_mass.extend([1.0 / MASS; 3]);
        rows.inverse_mass.extend([inertia(y, z), 0.0, 0.0, 0.0, inertia(x, z), 0.0, 0.0, 0.0, inertia(x, y)]);
    }
    let (row_start, columns, values) = rows.matrix();
    let kind = if compliance > 0.0 { "soft" } else { "rigid" };
    let name = format!("wall_{kind}_n{}", b.len());
    let friction = (vec![], vec![]);
    Problem { name, row_start, columns, values, b, lo, hi, rows: Some(rows), joules: 1.0, friction, coupled: false }
}

/// Velocity of the second body against the first at a point, along the normal z (axis 0), or x or y (1, 2).
fn add_row(rows: &mut Rows, pair: [i32; 2], arms: [[f64; 3]; 2], axis: usize, compliance: f64) {
    let d = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]][axis];
    for (arm, sign) in [(arms[0], -1.0), (arms[1], 1.0)] {
        rows.jacobian.extend(d.map(|v| sign * v));
        let cross = [arm[1] * d[2] - arm[2] * d[1], arm[2] * d[0] - arm[0] * d[2], arm[0] * d[1] - arm[1] * d[0]];
        rows.jacobian.extend(cross.map(|v| sign * v));
    }
    rows.bodies.extend(pair);
    rows.compliance.push(compliance);
}
