//! Doors: bodies on hinges, more of them than a door needs, with limits, motors and contacts.

use super::varied;
use crate::mechanism::{along, Mechanism, FREE, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Limits and contacts open, by gaps that close at some speed within a step, or touching.
pub fn with_gaps(seed: u64) -> Planted {
    make(seed, 0.7, 0.1)
}

/// Every limit and contact touching: w = 0 wherever a row may push.
pub fn touching(seed: u64) -> Planted {
    make(seed, 0.3, 1.0)
}

fn make(seed: u64, at_bound: f64, graze: f64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for _ in 0..random.between(1, 3) {
        add_door(&mut scene, 0.5, &mut random);
    }
    let by_mass = random.chance(0.7);
    let habits = Habits { at_bound, graze, speed: random.pick(&[0.3, 1.0, 6.0]), by_mass, ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}

/// One more body with all that a door may have, hung on the world or, with probability `hung`, on the body before.
pub fn add_door(scene: &mut Mechanism, hung: f64, random: &mut Random) {
    let (place, mass) = (random.point(1.0), random.scale(0.5, 50.0));
    let body = scene.add_turned(place, mass, random);
    let other = if body > 0 && random.chance(hung) { body - 1 } else { WORLD };
    let axis = if random.chance(0.4) { [0.0, 0.0, 1.0] } else { random.direction() };
    let first = random.point(1.0);
    let pair = [other, body];
    for k in 0..random.between(1, 3) {
        scene.add_hinge(pair, along(first, 0.7 * k as f64, axis), axis);
    }
    if random.chance(0.6) {
        // One limit or two; the second one turns the other way.
        scene.add_angular(pair, axis, PUSH);
        if random.chance(0.5) {
            scene.add_angular(pair, axis.map(|c| -c), PUSH);
        }
    }
    if random.chance(0.4) {
        let most = random.scale(0.01, 10.0);
        scene.add_angular(pair, axis, (-most, most));
    }
    for _ in 0..random.between(0, 4) {
        // On the axis the hinges hold what the contact holds; off it the door may swing away.
        let on_axis = random.chance(0.4);
        let point = if on_axis { along(first, random.range(-1.0, 2.0), axis) } else { random.point(1.0) };
        let normal = random.direction();
        scene.add_contact([WORLD, body], point, normal, None);
    }
    if random.chance(0.1) {
        scene.add_angular(pair, axis, FREE);
    }
}
