//! Two to four rows along one direction: g, c g, ..., some free and some that push.

use super::varied;
use crate::mechanism::{Mechanism, FREE, PUSH, WORLD};
use crate::planted::{Habits, Planted};
use crate::random::Random;

/// Rows of real numbers.
pub fn real(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let scale = random.pick(&[0.1, 1.0, 1.0, 10.0]);
    let g = [0; 3].map(|_| scale * random.signed());
    let factor = |random: &mut Random| {
        let factor = random.scale(0.1, 10.0);
        random.pick(&[factor, -factor, 0.1, 3.0, -1.0])
    };
    make(&mut random, g, factor)
}

/// Rows of small whole numbers.
pub fn integer(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut g = [0; 3].map(|_| random.between(0, 6) as f64 - 3.0);
    if g == [0.0; 3] {
        g[0] = 1.0;
    }
    make(&mut random, g, |random| random.pick(&[1.0, 2.0, 3.0, -1.0, -2.0, 5.0]))
}

fn make(random: &mut Random, g: [f64; 3], factor: impl Fn(&mut Random) -> f64) -> Planted {
    let mut scene = Mechanism::default();
    let mass = if random.chance(0.5) { 1.0 } else { random.scale(0.1, 10.0) };
    let body = scene.add_box([0.0; 3], mass, [1.0; 3]);
    let more = random.pick(&[1, 1, 1, 2, 3]);
    for k in 0..=more {
        let c = if k == 0 { 1.0 } else { factor(random) };
        let most = random.range(0.1, 2.0);
        let bounds = match k {
            0 => FREE,
            1 => random.pick(&[PUSH, PUSH, PUSH, (f64::NEG_INFINITY, 0.0), (-most, most)]),
            _ => random.pick(&[PUSH, FREE, (-most, most)]),
        };
        let mut entries = [0.0; 12];
        (0..3).for_each(|k| entries[6 + k] = c * g[k]);
        scene.add_row([WORLD, body], entries, bounds);
    }
    let habits = Habits {
        at_bound: random.pick(&[0.5, 1.0]),
        graze: random.pick(&[0.0, 0.2]),
        by_mass: random.chance(0.5),
        ..Habits::default()
    };
    varied(scene.draft(), random).plant(&habits, random)
}
