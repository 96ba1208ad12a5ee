//! Brick walls of any size with analytic contacts: the series behind the scaling plot, and steps of one that is pushed.

use crate::problem::{Problem, Rows};
use mlcp_scenes::scene::{self, Scene, STEP};

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

/// Rows of a contact of a wall: normal, two tangents.
const CONTACT: usize = 3;

/// The wall of `mlcp_scenes`, its rows from the top course down, pushed sideways a little (times `force`) so that friction has
/// something to do. Friction bounds are frozen at the load that a contact bears if every brick hands its own evenly down.
fn wall(width: usize, height: usize, compliance: f64, force: f64) -> Problem {
    let scene = scene::wall(width, height, 0.0);
    let mut rows =
        Rows { jacobian: vec![], inverse_mass: scene.inverse_mass.clone(), compliance: vec![], bodies: vec![] };
    let (mut b, mut lo, mut hi) = (vec![], vec![], vec![]);
    let mut load: Vec<f64> = scene.forces.chunks(6).map(|force| -force[2] * STEP).collect();
    // Top down, because loads are handed down; the brick at (course, k) is body course * width + k.
    for course in (0..height).rev() {
        for id in course * width..(course + 1) * width {
            let mine = contacts_on(&scene, id);
            let share = load[id] / (mine.len() / CORNERS) as f64;
            for (k, contact) in mine.into_iter().enumerate() {
                let below = scene.bodies[2 * contact];
                if below >= 0 && k % CORNERS == 0 {
                    load[below as usize] += share;
                }
                rows.jacobian.extend(&scene.rows[12 * contact..12 * (contact + CONTACT)]);
                rows.bodies.extend(&scene.bodies[2 * contact..2 * (contact + CONTACT)]);
                // Gravity closes the contacts of the lowest course; above it all bricks fall alike. The push grows with height.
                let ground = f64::from(below < 0);
                let push = force * 0.02 / height as f64 * if below < 0 { 1.0 } else { (course % 3) as f64 };
                b.extend([-9.81 * STEP * ground, push, 0.25 * push]);
                let friction = 0.25 * scene.mu[contact + 1] * share;
                lo.extend([0.0, -friction, -friction]);
                hi.extend([f64::INFINITY, friction, friction]);
            }
        }
    }
    rows.compliance = vec![compliance; b.len()];
    let (row_start, columns, values) = rows.matrix();
    let kind = if compliance > 0.0 { "soft" } else { "rigid" };
    let name = format!("wall_{kind}_n{}", b.len());
    let friction = (vec![], vec![]);
    Problem { name, row_start, columns, values, b, lo, hi, rows: Some(rows), joules: 1.0, friction, coupled: false }
}

/// Contacts of two bricks, or of a brick and the ground: the corners of their overlap.
const CORNERS: usize = 4;

/// First rows of the contacts on which a brick rests.
fn contacts_on(scene: &Scene, id: usize) -> Vec<usize> {
    (0..scene.rows()).step_by(CONTACT).filter(|&row| scene.bodies[2 * row + 1] == id as i32).collect()
}
