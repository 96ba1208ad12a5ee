//! Brick walls: every second course shifted by half a brick, four contacts where bricks overlap.

use super::stack::rubbing;
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Draft, Planted};
use crate::random::Random;

/// Friction follows the impulses; 1 to 19 bricks, coefficients from 0 to 2.
pub fn coupled(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let draft = draft(&mut random);
    let habits = rubbing(&draft, &mut random);
    draft.plant(&habits, &mut random)
}

fn draft(random: &mut Random) -> Draft {
    let mut scene = Mechanism::default();
    let (width, height) = (random.between(1, 4), random.between(1, 5));
    let most = random.between(1, 19);
    let mu = random.pick(&[0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0]);
    let mut below: Vec<(i32, f64)> = Vec::new();
    for course in 0..height {
        let mut here = Vec::new();
        for k in (0..width).take(most.saturating_sub(scene.bodies())) {
            let x = k as f64 + 0.5 * (course % 2) as f64;
            let y = 0.4 * course as f64;
            let mass = if random.chance(0.5) { 10.0 } else { random.scale(5.0, 20.0) };
            let body = scene.add_box([x, y + 0.2, 0.0], mass, [1.0, 0.4, 0.5]);
            here.push((body, x));
            let mut supports: Vec<(i32, f64)> = below.iter().copied().filter(|s| (s.1 - x).abs() < 0.99).collect();
            if course == 0 {
                supports.push((WORLD, x));
            }
            for (other, at) in supports {
                for px in [(x - 0.5f64).max(at - 0.5), (x + 0.5f64).min(at + 0.5)] {
                    for pz in [-0.25, 0.25] {
                        scene.add_contact([other, body], [px, y, pz], [0.0, 1.0, 0.0], Some(mu));
                    }
                }
            }
        }
        below = here;
    }
    scene.draft()
}
