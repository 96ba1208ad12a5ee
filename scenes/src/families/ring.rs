//! Closed loops: rings of bodies on hinges whose axes are parallel, three rows more than independent ones.

use super::varied;
use crate::mechanism::{across, along, cross, Mechanism, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Rings of three to eight bars, one of them held by the world or none, with limits, motors and contacts at the joints.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let count = random.between(3, 8) as i32;
    let axis = if random.chance(0.5) { [0.0, 0.0, 1.0] } else { random.direction() };
    let [p, q] = across(axis);
    let corner = |k: i32| {
        let angle = std::f64::consts::TAU * k as f64 / count as f64;
        along(p.map(|c| c * angle.cos()), angle.sin(), q)
    };
    let grounded = random.chance(0.6);
    for k in 0..count {
        let middle = along(corner(k).map(|c| 0.5 * c), 0.5, corner(k + 1));
        let mass = random.scale(0.5, 20.0);
        scene.add_turned(middle, mass, &mut random);
    }
    for k in 0..count {
        let before = if k == 0 { count - 1 } else { k - 1 };
        let pair = if grounded && k == 0 { [WORLD, k] } else { [before, k] };
        scene.add_hinge(pair, corner(k), axis);
        if random.chance(0.3) {
            scene.add_angular(pair, axis, PUSH);
        }
        if random.chance(0.2) {
            let most = random.scale(0.01, 10.0);
            scene.add_angular(pair, axis, (-most, most));
        }
        if random.chance(0.3) {
            let any = random.direction();
            let normal = random.pick(&[axis, cross(axis, p), any]);
            scene.add_contact(pair, corner(k), normal, None);
        }
    }
    let habits = Habits { at_bound: 0.6, by_mass: random.chance(0.7), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
