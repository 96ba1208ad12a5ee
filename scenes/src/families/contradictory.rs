//! Problems without a solution: joints that ask for different things of one degree of freedom.

use super::{chain, door, redundant};
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::Planted;
use crate::random::Random;

/// Free rows only: a body hung on more hinges than it needs, each of which wants it elsewhere.
pub fn joints(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let mut scene = Mechanism::default();
    for k in 0..random.between(1, 3) as i32 {
        let (place, mass) = (random.point(1.0), random.scale(0.5, 50.0));
        let body = scene.add_turned(place, mass, &mut random);
        for _ in 0..random.between(2, 3) {
            let (point, axis) = (random.point(1.0), random.direction());
            scene.add_hinge([if k > 0 { k - 1 } else { WORLD }, body], point, axis);
        }
    }
    let planted = scene.draft().plant(&Default::default(), &mut random);
    contradict(planted, 1.0, &mut random)
}

/// Every kind of bound, and a b that is no more in reach than it happens to be.
pub fn bounded(seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let makers: [fn(u64) -> Planted; 3] = [door::with_gaps, chain::make, redundant::real];
    let planted = random.pick(&makers)(random.next());
    contradict(planted, random.pick(&[0.1, 0.5, 1.0]), &mut random)
}

/// Push some of the free rows apart; the planted solution is none any more.
fn contradict(mut planted: Planted, share: f64, random: &mut Random) -> Planted {
    for i in 0..planted.len() {
        if planted.lo[i] == f64::NEG_INFINITY && planted.hi[i] == f64::INFINITY && random.chance(share) {
            planted.b[i] += random.signed();
        }
    }
    planted.solution = None;
    planted.is_solvable = false;
    planted
}
