//! Belts and motors: rows with narrow boxes, around zero and beside it.

use super::varied;
use crate::mechanism::{across, along, Mechanism, FREE, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// One to four boxes on a belt: corners that push, rows along the belt with boxes of 1e-6 to 10 N s, motors on hinges.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for k in 0..random.between(1, 4) {
        let place = [2.0 * k as f64, 0.5, 0.0];
        let mass = random.scale(0.5, 50.0);
        let body = scene.add_box(place, mass, [1.0; 3]);
        let pair = [WORLD, body];
        for corner in 0..4 {
            let at = [(corner % 2) as f64 - 0.5, -0.5, (corner / 2) as f64 - 0.5];
            let point = along(place, 1.0, at);
            scene.add_contact(pair, point, [0.0, 1.0, 0.0], None);
            for axis in across([0.0, 1.0, 0.0]) {
                let bounds = narrow(&mut random);
                scene.add_linear(pair, point, axis, bounds);
            }
        }
        if random.chance(0.5) {
            let axis = [0.0, 0.0, 1.0];
            let bounds = narrow(&mut random);
            scene.add_hinge(pair, place, axis);
            scene.add_angular(pair, axis, bounds);
        }
        if random.chance(0.2) {
            scene.add_angular(pair, [0.0, 1.0, 0.0], FREE);
        }
    }
    let habits = Habits { at_bound: random.pick(&[0.4, 0.8]), by_mass: random.chance(0.5), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}

fn narrow(random: &mut Random) -> (f64, f64) {
    let width = random.scale(1e-6, 10.0);
    let middle = if random.chance(0.7) { 0.0 } else { random.signed() };
    (middle - width, middle + width)
}
