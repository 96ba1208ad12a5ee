//! Boxes on each other: four contacts between two of them, where three would do.

use super::contacts::{plant, roughness, Masses, Rubbing};
use crate::mechanism::{Mechanism, WORLD};
use crate::planted::{Planted, Solution};
use crate::random::Random;

/// Friction follows the impulses.
pub fn coupled(seed: u64) -> Planted {
    make(seed, Rubbing::Coupled)
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
    let size = [random.range(0.3, 1.0), random.range(0.2, 0.6), random.range(0.3, 1.0)];
    let count = random.between(1, 10);
    let jitter = random.pick(&[0.0, 0.02]);
    let mut weights = Vec::new();
    for k in 0..count as i32 {
        let mass = masses.draw(k + 1 == count as i32, &mut random);
        weights.push(mass);
        let body = scene.add_box([0.0, (k as f64 + 0.5) * size[1], 0.0], mass, size);
        let below = if k == 0 { WORLD } else { k - 1 };
        for corner in 0..4 {
            let off = jitter * random.signed();
            let x = (0.5 + off) * [-size[0], size[0]][corner % 2];
            let z = (0.5 - off) * [-size[2], size[2]][corner / 2];
            scene.add_contact([below, body], [x, k as f64 * size[1], z], [0.0, 1.0, 0.0], mu);
        }
    }
    if jitter == 0.0 && random.chance(0.3) {
        return at_rest(scene, &weights, &mut random);
    }
    plant(scene, rubbing, &mut random)
}

/// Gravity alone: each box weighs on the four corners below, nothing moves, b is zero but on the ground.
fn at_rest(scene: Mechanism, weights: &[f64], random: &mut Random) -> Planted {
    let draft = scene.draft();
    let n = draft.lo.len();
    let (h, g) = (random.pick(&[1.0 / 60.0, 1e-3]), 9.81);
    let mut planted = draft.plant(&Default::default(), random);
    let mut x = vec![0.0; n];
    let normals: Vec<usize> = (0..n).filter(|&i| planted.normal_of(i).is_none()).collect();
    for (k, corners) in normals.chunks_exact(4).enumerate() {
        let above: f64 = weights[k..].iter().sum();
        corners.iter().for_each(|&i| x[i] = 0.25 * h * g * above);
    }
    planted.solution = Some(Solution { x, w: vec![0.0; n] });
    planted.plant_again();
    planted
}
