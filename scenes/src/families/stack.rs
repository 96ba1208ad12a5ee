//! Boxes on each other: four contacts between two of them, where three would do.

use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Draft, Habits, Planted};
use crate::random::Random;

/// Friction follows the impulses; coefficients from 0 to 2.
pub fn coupled(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let draft = draft(&mut random);
    let habits = rubbing(&draft, &mut random);
    draft.plant(&habits, &mut random)
}

fn draft(random: &mut Random) -> Draft {
    let mut scene = Mechanism::default();
    let ratio = random.pick(&[1.0, 10.0, 1e3, 1e6]);
    let mu = random.pick(&[0.0, 0.1, 0.3, 0.5, 0.8, 1.0, 1.0, 1.5, 2.0]);
    let size = [random.range(0.3, 1.0), random.range(0.2, 0.6), random.range(0.3, 1.0)];
    for k in 0..random.between(1, 10) as i32 {
        let mass = random.scale(1.0, ratio * 1.0001);
        let body = scene.add_box([0.0, (k as f64 + 0.5) * size[1], 0.0], mass, size);
        let below = if k == 0 { WORLD } else { k - 1 };
        for corner in 0..4 {
            let jitter = if random.chance(0.5) { 0.02 * random.signed() } else { 0.0 };
            let x = (0.5 + jitter) * [-size[0], size[0]][corner % 2];
            let z = (0.5 - jitter) * [-size[2], size[2]][corner / 2];
            scene.add_contact([below, body], [x, k as f64 * size[1], z], [0.0, 1.0, 0.0], Some(mu));
        }
    }
    scene.draft()
}

/// How contacts with friction are drawn: velocities row by row, or those of boxes that slide over each other.
pub fn rubbing(draft: &Draft, random: &mut Random) -> Habits {
    let crate::rows::Matrix::Rows(rows) = &draft.matrix else { return Habits::default() };
    let motion = if random.chance(0.5) {
        Vec::new()
    } else {
        let slide = |_| {
            let moves = random.chance(0.5);
            let v = random.point(1.0);
            if moves {
                [v[0], 0.0, v[2], 0.0, 0.0, 0.0]
            } else {
                [0.0; 6]
            }
        };
        (0..rows.body_count()).flat_map(slide).collect()
    };
    Habits {
        at_bound: random.pick(&[0.2, 0.4, 0.7]),
        graze: random.pick(&[0.0, 0.2]),
        speed: 1.0,
        by_mass: random.chance(0.7),
        motion,
    }
}
