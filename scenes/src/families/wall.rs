//! Brick walls: every second course shifted by half a brick, four contacts where bricks overlap.

use super::contacts::{plant, roughness, Masses, Rubbing};
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::Planted;
use crate::random::Random;

/// Friction follows the impulses.
pub fn coupled(seed: u64) -> Planted {
    make(seed, Rubbing::Coupled)
}

/// Friction bounds are frozen at the planted impulses.
pub fn frozen(seed: u64) -> Planted {
    make(seed, Rubbing::Frozen)
}

/// Friction follows the impulses; bodies fall, and what stops them is not known.
pub fn falling(seed: u64) -> Planted {
    make(seed, Rubbing::Falling)
}

/// No friction.
pub fn smooth(seed: u64) -> Planted {
    make(seed, Rubbing::Smooth)
}

fn make(seed: u64, rubbing: Rubbing) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    let masses = Masses::new(&mut random);
    let mu = roughness(rubbing, &mut random);
    let (width, height) = (random.between(1, 4), random.between(1, 5));
    let most = random.between(1, 19).min(width * height);
    let mut below: Vec<(i32, f64)> = Vec::new();
    for course in 0..height {
        let mut here = Vec::new();
        for k in (0..width).take(most - scene.bodies()) {
            let x = k as f64 + 0.5 * (course % 2) as f64;
            let y = 0.4 * course as f64;
            let mass = masses.draw(scene.bodies() + 1 == most, &mut random);
            let body = scene.add_box([x, y + 0.2, 0.0], mass, [1.0, 0.4, 0.5]);
            here.push((body, x));
            let mut supports: Vec<(i32, f64)> = below.iter().copied().filter(|s| (s.1 - x).abs() < 0.99).collect();
            if course == 0 {
                supports.push((WORLD, x));
            }
            for (other, at) in supports {
                for px in [(x - 0.5f64).max(at - 0.5), (x + 0.5f64).min(at + 0.5)] {
                    for pz in [-0.25, 0.25] {
                        scene.add_contact([other, body], [px, y, pz], [0.0, 1.0, 0.0], mu);
                    }
                }
            }
        }
        below = here;
    }
    plant(scene, rubbing, &mut random)
}
