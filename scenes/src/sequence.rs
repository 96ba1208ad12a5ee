//! Scenes stepped in time: the solver's impulses move the bodies, contacts come and go, the last step's impulses are the
//! next step's start.

use crate::families::add_door;
use crate::mechanism::{along, Mechanism, WORLD};
use crate::planted::{Draft, Planted};
use crate::random::Random;
use crate::rows::{Matrix, Rows};

/// Seconds of a step.
const H: f64 = 1.0 / 60.0;
/// Metres per second gained in a step.
const FALL: f64 = 9.81 * H;
/// A contact joins the problem below this gap, m.
const NEAR: f64 = 0.02;

/// A scene in motion. Rows keep their directions, as those of a linkage that hardly turns; gaps open and close.
pub struct Sequence {
    draft: Draft,
    /// Six velocities per body.
    velocity: Vec<f64>,
    /// Distance left to every row that only pushes, m; infinite where there is none.
    gap: Vec<f64>,
    /// Last impulse of every row, 0 where it had none.
    last: Vec<f64>,
    /// Rows of the problem at hand.
    rows: Vec<usize>,
    random: Random,
}

impl Sequence {
    /// A body on a ball joint, doors, or boxes on the ground with coupled friction; by seed.
    pub fn new(seed: u64) -> Sequence {
        let mut random = Random::new(seed);
        let mut scene = Mechanism::default();
        match seed % 3 {
            0 => jointed(&mut scene, &mut random),
            1 => (0..random.between(1, 3)).for_each(|_| add_door(&mut scene, 0.5, &mut random)),
            _ => boxes(&mut scene, &mut random),
        }
        let bodies = scene.bodies();
        let draft = scene.draft();
        let n = draft.lo.len();
        let pushes = |i: usize| draft.lo[i] == 0.0 && draft.hi[i] == f64::INFINITY;
        let gap = (0..n).map(|i| if pushes(i) && random.chance(0.7) { 0.05 * random.unit() } else { 0.0 }).collect();
        let velocity = (0..6 * bodies).map(|_| 0.5 * random.signed()).collect();
        let mut sequence = Sequence { draft, velocity, gap, last: vec![0.0; n], rows: Vec::new(), random };
        sequence.choose();
        sequence
    }

    /// Take the rows of joints, and of contacts that are near.
    fn choose(&mut self) {
        let near = |i: usize| self.gap[i] < NEAR;
        let stands = |i: usize| usize::try_from(self.draft.findex[i]).map_or(near(i), near);
        self.rows = (0..self.gap.len()).filter(|&i| stands(i)).collect();
    }

    /// The problem of this step. Bodies that stop dead break no row, so that it has a solution.
    pub fn problem(&self) -> Planted {
        let Matrix::Rows(all) = &self.draft.matrix else { unreachable!("two-body rows") };
        let rows: Rows = all.reordered(&self.rows);
        let b = self.rows.iter().enumerate();
        let b = b.map(|(k, &i)| rows.row_velocity(k, &self.velocity) + self.gap[i] / H).collect();
        let place = |row: i32| self.rows.iter().position(|&i| i as i32 == row).map_or(-1, |k| k as i32);
        let pick = |v: &[f64]| self.rows.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let draft = Draft {
            matrix: Matrix::Rows(rows),
            lo: pick(&self.draft.lo),
            hi: pick(&self.draft.hi),
            findex: self.rows.iter().map(|&i| place(self.draft.findex[i])).collect(),
            mu: pick(&self.draft.mu),
        };
        draft.with_b(b)
    }

    /// The last step's impulses on the rows of this one.
    pub fn start(&self) -> Vec<f64> {
        self.rows.iter().map(|&i| self.last[i]).collect()
    }

    /// Move on with these impulses.
    pub fn advance(&mut self, x: &[f64]) {
        let Matrix::Rows(all) = &self.draft.matrix else { unreachable!("two-body rows") };
        self.last.fill(0.0);
        self.rows.iter().zip(x).for_each(|(&i, &x)| self.last[i] = x);
        let change = all.velocity_change(&self.last);
        self.velocity.iter_mut().zip(&change).for_each(|(v, dv)| *v += dv);
        for i in 0..self.gap.len() {
            if self.draft.lo[i] == 0.0 && self.draft.hi[i] == f64::INFINITY {
                self.gap[i] = (self.gap[i] + H * all.row_velocity(i, &self.velocity)).max(0.0);
            }
        }
        for v in self.velocity.chunks_exact_mut(6) {
            v[1] -= FALL;
            if self.random.chance(0.1) {
                let kick = self.random.point(0.5);
                (0..3).for_each(|c| v[c] += kick[c]);
            }
        }
        self.choose();
    }
}

fn jointed(scene: &mut Mechanism, random: &mut Random) {
    let (joint, place, mass) = (random.point(1.0), random.point(1.0), random.scale(0.2, 50.0));
    let body = scene.add_turned(place, mass, random);
    scene.add_ball([WORLD, body], joint);
    for _ in 0..random.between(1, 3) {
        let point = if random.chance(0.7) { joint } else { random.point(1.0) };
        let normal = random.direction();
        scene.add_contact([WORLD, body], point, normal, None);
    }
}

fn boxes(scene: &mut Mechanism, random: &mut Random) {
    let mu = random.pick(&[0.3, 0.6, 1.0]);
    for k in 0..random.between(1, 4) as i32 {
        let place = [0.0, 0.5 + k as f64, 0.0];
        let mass = random.scale(1.0, 20.0);
        let body = scene.add_box(place, mass, [1.0; 3]);
        for corner in 0..4 {
            let at = [(corner % 2) as f64 - 0.5, -0.5, (corner / 2) as f64 - 0.5];
            scene.add_contact([k - 1, body], along(place, 1.0, at), [0.0, 1.0, 0.0], Some(mu));
        }
    }
}
