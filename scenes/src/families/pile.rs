//! Piles: bodies thrown together, three contacts each, normals as they come.

use super::stack::rubbing;
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Draft, Planted};
use crate::random::Random;

/// Friction follows the impulses; 1 to 12 bodies, coefficients from 0 to 2.
pub fn coupled(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let draft = draft(&mut random);
    let habits = rubbing(&draft, &mut random);
    draft.plant(&habits, &mut random)
}

fn draft(random: &mut Random) -> Draft {
    let mut scene = Mechanism::default();
    let mu = random.pick(&[0.0, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0]);
    let count = random.between(1, 12);
    for k in 0..count as i32 {
        let (place, mass) = (random.point(1.0), random.scale(0.5, 20.0));
        let body = scene.add_turned(place, mass, random);
        for _ in 0..3 {
            let other = if k > 0 && random.chance(0.6) { random.below(k as usize) as i32 } else { WORLD };
            let near = random.point(0.5);
            let (point, normal) = (std::array::from_fn(|c| place[c] + near[c]), random.direction());
            scene.add_contact([other, body], point, normal, Some(mu));
        }
    }
    scene.draft()
}
