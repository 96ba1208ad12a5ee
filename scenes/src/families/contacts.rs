//! What scenes of contacts with friction have in common: masses, coefficients, and how a solution is drawn.

use crate::mechanism::Mechanism;
use crate::planted::{Draft, Habits, Planted};
use crate::random::Random;
use crate::rows::Matrix;

/// How contacts rub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rubbing {
    /// No friction rows.
    Smooth,
    /// Friction bounds frozen at the planted impulses.
    Frozen,
    /// Friction follows the impulses.
    Coupled,
    /// As coupled friction, under gravity and without a planted solution.
    Falling,
}

/// Draws the masses of a scene.
pub struct Masses {
    typical: f64,
    ratio: f64,
    has_giant: bool,
}

impl Masses {
    /// All alike, within a ratio of 10 or 1e6, and now and then one body a million times as heavy.
    pub fn new(random: &mut Random) -> Masses {
        let has_giant = random.chance(0.2);
        Masses { typical: random.scale(0.1, 100.0), ratio: random.pick(&[1.0, 1.0, 10.0, 1e6]), has_giant }
    }

    /// The mass of one more body, kg.
    pub fn draw(&self, is_last: bool, random: &mut Random) -> f64 {
        let spread = self.ratio.sqrt();
        let own = if spread > 1.0 { self.typical * random.scale(1.0 / spread, spread) } else { self.typical };
        if is_last && self.has_giant {
            1e6 * own
        } else {
            own
        }
    }
}

/// The coefficient of a scene's contacts, or none where nothing rubs.
pub fn roughness(rubbing: Rubbing, random: &mut Random) -> Option<f64> {
    let mu = random.pick(&[0.0, 0.1, 0.3, 0.5, 0.8, 0.8, 1.0, 1.0, 1.5, 2.0, 2.0, f64::INFINITY]);
    // As rough as can be: rare enough to leave the counts to the others.
    let mu = if mu.is_infinite() && random.chance(0.8) { 1.0 } else { mu };
    (rubbing != Rubbing::Smooth).then_some(mu)
}

/// Plant impulses in a scene of contacts.
pub fn plant(scene: Mechanism, rubbing: Rubbing, random: &mut Random) -> Planted {
    if rubbing == Rubbing::Falling {
        return fall(scene, random);
    }
    let mut draft = scene.draft();
    if random.chance(0.2) {
        draft = draft.shuffled(random);
    }
    let habits = habits(&draft, random);
    let planted = draft.plant(&habits, random);
    if rubbing == Rubbing::Frozen {
        planted.frozen()
    } else {
        planted
    }
}

/// Let a scene fall for a step of 1/60 s: b is what gravity and the bodies' velocities make of it.
fn fall(scene: Mechanism, random: &mut Random) -> Planted {
    let draft = scene.draft();
    let Matrix::Rows(rows) = &draft.matrix else { unreachable!("two-body rows") };
    let speed = random.pick(&[0.0, 0.2, 1.0]);
    let mut velocity: Vec<f64> = (0..6 * rows.body_count()).map(|_| speed * random.signed()).collect();
    velocity.iter_mut().skip(1).step_by(6).for_each(|v| *v -= 9.81 / 60.0);
    let b = (0..rows.len()).map(|i| rows.row_velocity(i, &velocity)).collect();
    let mut planted = draft.with_b(b);
    planted.is_solvable = false;
    planted
}

/// Velocities row by row, or those of bodies that rest, slide over each other, or move in any way.
fn habits(draft: &Draft, random: &mut Random) -> Habits {
    let Matrix::Rows(rows) = &draft.matrix else { return Habits::default() };
    let share = random.pick(&[0.0, 0.3, 0.7]);
    let kind = random.below(4);
    let twist = |_| {
        let moves = random.chance(share);
        let (v, spin) = (random.point(1.0), random.point(1.0));
        match kind {
            2 if moves => [v[0], 0.0, v[2], 0.0, 0.0, 0.0],
            3 if moves => [v[0], v[1], v[2], spin[0], spin[1], spin[2]],
            _ => [0.0; 6],
        }
    };
    let motion: Vec<f64> = (0..rows.body_count()).flat_map(twist).collect();
    Habits {
        at_bound: random.pick(&[0.2, 0.4, 0.6]),
        graze: random.pick(&[0.0, 0.1, 0.3]),
        speed: random.pick(&[0.3, 1.0, 5.0]),
        by_mass: random.chance(0.4),
        impulse: random.pick(&[1.0, 10.0]),
        motion: if kind < 2 { Vec::new() } else { motion },
    }
}
