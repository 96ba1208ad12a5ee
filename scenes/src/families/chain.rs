//! Chains of bodies, each on two or three hinges about one axis: five rows would do, ten or fifteen stand there.

use super::varied;
use crate::mechanism::{along, Mechanism, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Two to eight links, mass ratios to 1e4, limits at some joints and contacts at some links.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let heavy = random.pick(&[1.0, 100.0, 1e4]);
    let mut end = random.point(1.0);
    for k in 0..random.between(2, 8) as i32 {
        let mass = if random.chance(0.3) { heavy } else { 1.0 };
        let (start, lever) = (end, random.direction());
        let body = scene.add_turned(along(end, 0.5, lever), mass, &mut random);
        let axis = random.direction();
        let pair = [k - 1, body];
        for hinge in 0..random.between(1, 3) {
            scene.add_hinge(pair, along(start, 0.3 * hinge as f64, axis), axis);
        }
        if random.chance(0.4) {
            scene.add_angular(pair, axis, PUSH);
        }
        end = along(end, 1.0, lever);
        if random.chance(0.4) {
            let point = if random.chance(0.5) { end } else { scene.place(body) };
            let normal = random.direction();
            scene.add_contact([WORLD, body], point, normal, None);
        }
        if random.chance(0.3) {
            // Between the two that the hinge joins, where it joins them.
            let normal = random.direction();
            scene.add_contact(pair, along(start, random.signed(), axis), normal, None);
        }
    }
    let habits = Habits { at_bound: 0.6, by_mass: random.chance(0.7), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
