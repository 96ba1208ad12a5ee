//! Any rows between bodies of very different masses.

use super::varied;
use crate::mechanism::{Mechanism, FREE, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Two to six bodies, masses from 1 to 1e6 kg, joints, contacts and motors between any two.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let count = random.between(2, 6);
    for _ in 0..count {
        let (place, mass) = (random.point(1.0), random.scale(1.0, 1e6));
        scene.add_turned(place, mass, &mut random);
    }
    for _ in 0..random.between(1, 3 * count) {
        let first = random.below(count) as i32;
        let second = random.below(count) as i32;
        let pair = [if second == first { WORLD } else { second }, first];
        let (point, axis) = (random.point(1.0), random.direction());
        let most = random.scale(0.01, 1e4);
        match random.below(6) {
            0 => scene.add_ball(pair, point),
            1 => scene.add_hinge(pair, point, axis),
            2 => drop(scene.add_angular(pair, axis, random.pick(&[PUSH, (-most, most), FREE]))),
            _ => drop(scene.add_contact(pair, point, axis, None)),
        }
    }
    let habits = Habits {
        at_bound: random.pick(&[0.3, 0.6]),
        by_mass: random.chance(0.5),
        impulse: random.pick(&[1.0, 100.0]),
        ..Habits::default()
    };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
