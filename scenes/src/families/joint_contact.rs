//! A body on a ball joint, and contacts that the joint keeps apart or that touch: one degree of freedom held twice.

use super::varied;
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// A body held by a ball joint to the world or to another body, with one to three contacts, mostly where the joint is.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let joint = random.point(1.0);
    let mass = random.scale(0.2, 50.0);
    let place = random.point(1.0);
    let body = scene.add_turned(place, mass, &mut random);
    let other = if random.chance(0.3) {
        let (place, mass) = (random.point(1.0), random.scale(0.2, 50.0));
        scene.add_turned(place, mass, &mut random)
    } else {
        WORLD
    };
    scene.add_ball([other, body], joint);
    for _ in 0..random.pick(&[1, 1, 1, 2, 3]) {
        let point = if random.chance(0.7) { joint } else { random.point(1.0) };
        let normal = if random.chance(0.3) { [0.0, 0.0, 1.0] } else { random.direction() };
        scene.add_contact([other, body], point, normal, None);
    }
    let habits = Habits {
        at_bound: random.pick(&[0.5, 1.0]),
        graze: random.pick(&[0.0, 0.3, 1.0]),
        speed: random.pick(&[1.0, 6.0]),
        by_mass: random.chance(0.7),
        ..Habits::default()
    };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
