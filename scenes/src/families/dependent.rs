//! Rows that are nearly, not quite, combinations of others.

use super::redundant::{bounded, gram};
use super::varied;
use crate::mechanism::{along, Mechanism, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// A body on a ball joint or two hinges that are 1e-4 to 1e-9 m off the place where they would be one, with contacts there.
pub fn mechanism(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let (place, mass) = (random.point(1.0), random.scale(0.5, 20.0));
    let body = scene.add_turned(place, mass, &mut random);
    let (joint, axis) = (random.point(1.0), random.direction());
    let apart = random.scale(1e-9, 1e-4);
    let near = |random: &mut Random| along(joint, apart, random.direction());
    if random.chance(0.5) {
        scene.add_ball([WORLD, body], joint);
        if random.chance(0.3) {
            let second = near(&mut random);
            scene.add_ball([WORLD, body], second);
        }
    } else {
        scene.add_hinge([WORLD, body], joint, axis);
        let (second, turned) = (near(&mut random), along(axis, apart, random.direction()));
        scene.add_hinge([WORLD, body], second, turned);
    }
    for _ in 0..random.between(1, 3) {
        let (point, normal) = (near(&mut random), random.direction());
        scene.add_contact([WORLD, body], point, normal, None);
    }
    let habits = Habits { at_bound: 0.7, by_mass: random.chance(0.7), ..Habits::default() };
    varied(scene.draft(), &mut random).plant(&habits, &mut random)
}

/// Copies of rows, off by 1e-4 to 1e-9 of their size: singular for some arithmetic, regular for other.
pub fn make(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let (base, rank) = (random.between(1, 6), random.between(2, 8));
    let mut rows: Vec<Vec<f64>> = (0..base).map(|_| random.vector(rank)).collect();
    for _ in 0..random.between(1, base) {
        let from = random.below(base);
        let apart = random.scale(1e-9, 1e-4);
        let row = rows[from].iter().map(|v| v + apart * random.signed()).collect();
        rows.push(row);
    }
    let n = rows.len();
    let draft = bounded(gram(n, rank, rows.concat()), &mut random);
    let habits = Habits { at_bound: random.pick(&[0.3, 0.6]), by_mass: random.chance(0.5), ..Habits::default() };
    draft.plant(&habits, &mut random)
}
