//! Bodies pinched between contacts: J and -J, each of which only pushes.

use super::varied;
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// One to three bodies with one to six pairs of opposed contacts, at one point or through two.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for k in 0..random.between(1, 3) as i32 {
        let (place, mass) = (random.point(1.0), random.scale(0.2, 50.0));
        let body = scene.add_turned(place, mass, &mut random);
        for _ in 0..random.between(1, 6) {
            let other = if k > 0 && random.chance(0.4) { k - 1 } else { WORLD };
            let (point, normal) = (random.point(1.0), random.direction());
            scene.add_contact([other, body], point, normal, None);
            // The far side of the body lies on the normal through the near one: the same lever, another rounding.
            let far = if random.chance(0.5) { point } else { crate::mechanism::along(point, random.signed(), normal) };
            scene.add_contact([other, body], far, normal.map(|c| -c), None);
        }
    }
    let habits = Habits { at_bound: random.pick(&[0.2, 0.5, 0.9]), by_mass: random.chance(0.5), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
