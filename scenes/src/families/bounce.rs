//! Impacts with restitution: fast bodies on more corners than needed, b shifted by what bounces back.

use super::varied;
use crate::mechanism::{along, Mechanism, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// One to four boxes, hinged in a row now and then, each on four to eight corners; velocities of 5 to 50 m/s.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let linked = random.chance(0.5);
    for k in 0..random.between(1, 4) as i32 {
        let mass = random.scale(0.5, 50.0);
        let place = [1.2 * k as f64, 0.5, 0.0];
        let body = scene.add_box(place, mass, [1.0; 3]);
        if k > 0 && linked {
            let axis = if random.chance(0.5) { [0.0, 0.0, 1.0] } else { random.direction() };
            let point = along(place, -0.6, [1.0, 0.0, 0.0]);
            (0..random.between(1, 2))
                .for_each(|hinge| scene.add_hinge([k - 1, body], along(point, 0.5 * hinge as f64, axis), axis));
        }
        let corners = random.between(4, 8);
        for corner in 0..corners {
            let sides = [corner & 1, 2 * (corner >> 2 & 1), corner >> 1 & 1];
            let at = [sides[0] as f64 - 0.5, 0.5 * sides[1] as f64 - 0.5, sides[2] as f64 - 0.5];
            scene.add_contact([WORLD, body], along(place, 1.0, at), [0.0, 1.0, 0.0], None);
        }
    }
    let speed = random.scale(5.0, 50.0);
    let habits = Habits { at_bound: 0.4, graze: random.pick(&[0.0, 0.3]), speed, by_mass: true, ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
