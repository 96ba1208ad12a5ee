//! Worlds of many small mechanisms that have nothing to do with each other.

use super::{conveyor, door, joint_contact, opposed, ring, two_rows};
use crate::planted::Planted;
use crate::random::Random;

/// Five to forty mechanisms, a third of them bodies held twice.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let makers: [fn(u64) -> Planted; 8] = [
        joint_contact::make,
        door::with_gaps,
        door::touching,
        two_rows::real,
        two_rows::integer,
        opposed::make,
        conveyor::make,
        ring::make,
    ];
    let count = random.between(5, 40);
    let parts: Vec<Planted> = (0..count).map(|_| random.pick(&makers)(random.next())).collect();
    Planted::join(&parts)
}
