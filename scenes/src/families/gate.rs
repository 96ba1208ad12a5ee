//! One mechanism of hundreds of rows: doors hung on doors, beyond what is solved on a small dense tableau.

use super::door::add_door;
use super::varied;
use crate::mechanism::Mechanism;
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Eight to twenty bodies on hinges with limits, motors and contacts; 100 to 400 rows.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for _ in 0..random.between(8, 20) {
        add_door(&mut scene, 0.95, &mut random);
    }
    let habits =
        Habits { at_bound: 0.7, graze: random.pick(&[0.1, 1.0]), by_mass: random.chance(0.7), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}
