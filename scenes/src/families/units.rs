//! Problems of other families in units of their own: rows and impulses larger or smaller by up to 1e6.

use super::{door, duplicates, joint_contact, redundant, two_rows};
use crate::planted::Planted;
use crate::random::Random;

/// One factor for all rows, or one for each.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let makers: [fn(u64) -> Planted; 5] =
        [joint_contact::make, door::with_gaps, redundant::real, two_rows::real, duplicates::make];
    let planted = random.pick(&makers)(random.next());
    let common = random.scale(1e-6, 1e6);
    let apart = random.chance(0.5);
    let s: Vec<f64> = (0..planted.len()).map(|_| if apart { random.scale(1e-6, 1e6) } else { common }).collect();
    let factor = random.pick(&[1.0, 1e-3, 1e3, 1e-6]);
    planted.in_units(&s, factor)
}
