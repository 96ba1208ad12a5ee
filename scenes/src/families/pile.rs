//! Piles: bodies thrown together, three contacts each, normals as they come.

use super::contacts::{plant, roughness, Masses, Rubbing};
use crate::mechanism::{along, Mechanism, WORLD};
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
    // Balls touch where the normal meets their surface, other bodies anywhere.
    let balls = random.chance(0.5);
    let most = random.pick(&[2, 6, 12, 24]);
    let count = random.between(1, most);
    for k in 0..count as i32 {
        let (place, mass) = (random.point(1.0), masses.draw(k + 1 == count as i32, &mut random));
        let body =
            if balls { scene.add_box(place, mass, [1.0; 3]) } else { scene.add_turned(place, mass, &mut random) };
        for _ in 0..3 {
            let other = if k > 0 && random.chance(0.6) { random.below(k as usize) as i32 } else { WORLD };
            let (near, normal) = (random.point(0.5), random.direction());
            let point = if balls { along(place, 0.5, normal) } else { along(place, 1.0, near) };
            scene.add_contact([other, body], point, normal, mu);
        }
    }
    plant(scene, rubbing, &mut random)
}
