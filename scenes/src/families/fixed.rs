//! Impulses that are given: rows with lo = hi among redundant joints and contacts.

use super::varied;
use crate::mechanism::{Mechanism, FREE, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// A body or two on hinges, with contacts, in which one row in four has its impulse fixed, at 0 or elsewhere.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for k in 0..random.between(1, 2) as i32 {
        let (place, mass) = (random.point(1.0), random.scale(0.5, 20.0));
        let body = scene.add_turned(place, mass, &mut random);
        let pair = [if k > 0 { k - 1 } else { WORLD }, body];
        let axis = random.direction();
        let point = random.point(1.0);
        (0..random.between(1, 2)).for_each(|_| scene.add_hinge(pair, point, axis));
        scene.add_angular(pair, axis, random.pick(&[PUSH, FREE]));
        for _ in 0..random.between(0, 3) {
            let (normal, spot) = (random.direction(), random.point(1.0));
            scene.add_contact(pair, random.pick(&[point, spot]), normal, None);
        }
    }
    for row in 0..scene.len() {
        if random.chance(0.25) {
            let other = random.signed();
            let value = random.pick(&[0.0, other, 3.0]);
            let (lo, hi) = scene.bounds_mut(row);
            (*lo, *hi) = (value, value);
        }
    }
    let habits = Habits { at_bound: 0.6, by_mass: random.chance(0.5), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
