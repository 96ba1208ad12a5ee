//! Where a solve begins: at rest, near the solution, or at impulses that have nothing to do with the problem.

use crate::planted::Planted;
use crate::random::Random;

/// A kind of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// x = 0, moved into the bounds.
    Cold,
    /// The planted solution, each impulse off by up to a thousandth.
    Near,
    /// The planted solution times 1e3.
    Scaled,
    /// The planted impulses in random order.
    Shuffled,
    /// Impulses of another problem, as many as fit.
    Foreign,
    /// Random impulses of up to 1e12 N s.
    Huge,
}

impl Start {
    /// Every kind.
    pub const ALL: [Start; 6] = [Start::Cold, Start::Near, Start::Scaled, Start::Shuffled, Start::Foreign, Start::Huge];

    /// The name that tools print and read.
    pub fn name(self) -> &'static str {
        match self {
            Start::Cold => "cold",
            Start::Near => "near",
            Start::Scaled => "scaled",
            Start::Shuffled => "shuffled",
            Start::Foreign => "foreign",
            Start::Huge => "huge",
        }
    }

    /// The impulses to begin with; `other` is another problem of the family. Without a planted solution random impulses stand
    /// in for it.
    pub fn impulses(self, problem: &Planted, other: &Planted, seed: u64) -> Option<Vec<f64>> {
        let mut random = Random::new(seed ^ 0x5eed);
        let n = problem.len();
        let solution = |of: &Planted, random: &mut Random| match &of.solution {
            Some(solution) => solution.x.clone(),
            None => random.vector(of.len()),
        };
        let x = solution(problem, &mut random);
        match self {
            Start::Cold => None,
            Start::Near => Some(x.iter().map(|x| x * (1.0 + 1e-3 * random.signed())).collect()),
            Start::Scaled => Some(x.iter().map(|x| 1e3 * x).collect()),
            Start::Shuffled => Some(random.order(n).iter().map(|&i| x[i]).collect()),
            Start::Foreign => {
                let other = solution(other, &mut random);
                Some((0..n).map(|i| other.get(i % other.len().max(1)).copied().unwrap_or(0.0)).collect())
            }
            Start::Huge => Some((0..n).map(|_| random.signed() * random.scale(1.0, 1e12)).collect()),
        }
    }
}
