//! Which constraints are too many: rank, redundant rows, what each depends on, and whether they contradict each other.
//!
//! Rows are put on one scale (`scaled_rows.rs`) and taken in the caller's order (`basis.rs`). A row of which no more than
//! `tolerance` is left after its predecessors is redundant: the first rows stay, the later ones are named. All numbers
//! compared with tolerances are pure numbers, so neither units nor the scaling of rows move the verdict. Cost: one sparse
//! factorisation, in 6 columns per body or in the rows of the matrix.

use super::basis::Basis;
use crate::error::{Error, Result, Status};
use crate::memory::refill;
use crate::problem::Problem;

/// Default tolerance: Jacobian rows assembled in single precision are off by 1e-7, and the rounding of a matrix entry makes
/// distances of 1e-8. A matrix whose rows depend on others with large coefficients is given as much more as these say.
pub const TOLERANCE: f64 = 1e-6;
/// Coefficients below this fraction of the largest are round-off.
const COEFFICIENT: f64 = 1e-6;
/// A contradiction below this fraction of b is round-off.
const CONSISTENT: f64 = 1e-7;
/// Coefficients of the mixture of all redundant rows: less than this is round-off.
const TAKES_PART: f64 = 1e-6;
/// Conjugate gradients for the nearest consistent b.
const CG_STEPS: usize = 200;
const CG_TOLERANCE: f64 = 1e-13;

/// What a row is to the others. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowRole {
    /// Not looked at: its impulse is at a bound, or may be.
    Outside = 0,
    /// No other row can replace it.
    Needed = 1,
    /// Kept, but some redundant row depends on it: either could go.
    Shared = 2,
    /// Depends on rows before it.
    Redundant = 3,
}

/// What was found. Everything is about the rows looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Findings {
    /// Rows of the problem.
    pub rows: usize,
    /// Rows looked at: bilateral, or active at the given x.
    pub considered: usize,
    /// How many of them are independent.
    pub rank: usize,
    /// considered - rank.
    pub redundant: usize,
    /// The tolerance used.
    pub tolerance: f64,
    /// The least that was left of a kept row after the rows before it; 1: all. A value near the tolerance is a close call.
    pub closest_kept: f64,
    /// The most that was left of a redundant row.
    pub farthest_dropped: f64,
    /// Largest over smallest eigenvalue of the kept rows' A, scaled to unit diagonal; beyond 80 rows an estimate from below.
    pub condition: f64,
    /// 1/2 |part of b that no motion of the bodies can undo|², each row over its effective mass, in joules.
    pub contradiction: f64,
    /// Can all rows hold at once, up to round-off?
    pub is_consistent: bool,
}

/// The diagnosis of one problem, with its memory.
#[derive(Default)]
pub struct Diagnosis {
    basis: Basis,
    role: Vec<RowRole>,
    findings: Findings,
    /// Per problem row: the velocity by which it contradicts the others.
    conflict: Vec<f64>,
    /// Per problem row: a_ii without compliance.
    inverse_mass: Vec<f64>,
    bilateral_only: bool,
}

impl Diagnosis {
    /// Nothing diagnosed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Look at the bilateral rows of a problem, or with `x` at those active there: `lo < x < hi`. `tolerance`: 0 for the
    /// default, [`TOLERANCE`].
    pub fn run(&mut self, problem: &Problem, x: Option<&[f64]>, tolerance: f64) -> Result<Findings> {
        if !(0.0..1.0).contains(&tolerance) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("tolerance is {tolerance}, it must be in [0, 1), 0 for the default"),
            ));
        }
        if !problem.is_symmetric() {
            return Err(Error::new(Status::Unsupported, format_args!("the diagnosis needs a symmetric matrix")));
        }
        problem.check_ready()?;
        // From here on the old findings are gone.
        self.findings = Findings::default();
        self.role.clear();
        let zeros = vec![0.0; if x.is_none() { problem.len() } else { 0 }];
        let at = x.unwrap_or(&zeros);
        self.bilateral_only = x.is_none();
        let bilateral = x.is_none();
        self.basis.fill(problem, |i| {
            let (lo, hi) = problem.bounds_of(i, at);
            let free = lo == f64::NEG_INFINITY && hi == f64::INFINITY && problem.friction().normal_of(i).is_none();
            free || (!bilateral && lo < at[i] && at[i] < hi)
        })?;
        self.sort_out(problem.len(), if tolerance == 0.0 { TOLERANCE } else { tolerance })?;
        self.find_contradiction(problem.b())?;
        Ok(self.findings)
    }

    /// Rank and roles.
    fn sort_out(&mut self, n: usize, tolerance: f64) -> Result<()> {
        refill(&mut self.role, n, RowRole::Outside)?;
        refill(&mut self.inverse_mass, n, 0.0)?;
        let considered = self.basis.len();
        let mut found =
            Findings { rows: n, considered, tolerance, closest_kept: 1.0, condition: 1.0, ..Findings::default() };
        for k in 0..considered {
            let i = self.row(k);
            self.inverse_mass[i] = self.basis.rows.scale[k] * self.basis.rows.scale[k];
            let left = self.basis.insert(tolerance);
            if left > 0.0 {
                self.role[i] = RowRole::Needed;
                found.rank += 1;
                found.closest_kept = found.closest_kept.min(left);
            } else {
                self.role[i] = RowRole::Redundant;
                found.farthest_dropped = found.farthest_dropped.max(-left);
            }
        }
        found.redundant = considered - found.rank;
        if found.redundant > 0 {
            self.find_shared();
        }
        found.condition = self.basis.condition();
        self.findings = found;
        Ok(())
    }

    /// The problem's number of a row looked at.
    fn row(&self, k: usize) -> usize {
        self.basis.rows.rows[k] as usize
    }

    /// Kept rows that some redundant row depends on. The coefficients of a random mixture of all redundant rows are zero
    /// only where those of each are.
    fn find_shared(&mut self) {
        let mut mixture = vec![0.0; self.basis.len()];
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for weight in &mut mixture {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // In ±[1/2, 1).
            let size = 0.5 + 0.5 * (state >> 12) as f64 * 2f64.powi(-52);
            *weight = if state & 1 << 40 == 0 { size } else { -size };
        }
        self.basis.carry_back(&mut mixture);
        for (k, c) in mixture.iter().enumerate().filter(|(_, c)| c.abs() > TAKES_PART) {
            debug_assert!(c.is_finite());
            let i = self.row(k);
            self.role[i] = RowRole::Shared;
        }
    }

    /// b, each row over the root of its effective mass, less what a motion of the bodies can undo.
    fn find_contradiction(&mut self, b: &[f64]) -> Result<()> {
        refill(&mut self.conflict, b.len(), 0.0)?;
        if self.findings.redundant == 0 {
            self.findings.is_consistent = true;
            return Ok(());
        }
        let scaled = |k: usize| match self.basis.rows.scale[k] {
            0.0 => 0.0,
            scale => b[self.row(k)] / scale,
        };
        let given: Vec<f64> = (0..self.basis.len()).map(scaled).collect();
        let mut rest = given.clone();
        self.remove_range(&mut rest);
        let mut impossible = false;
        let (mut whole, mut energy, mut worst) = (0.0f64, 0.0, 0.0f64);
        for k in 0..self.basis.len() {
            let i = self.row(k);
            // A row that moves nothing, but should, has no mass to make an energy with.
            impossible |= self.basis.rows.scale[k] == 0.0 && b[i] != 0.0;
            self.conflict[i] = if self.basis.rows.scale[k] == 0.0 { b[i] } else { rest[k] * self.basis.rows.scale[k] };
            whole = whole.max(given[k].abs());
            worst = worst.max(rest[k].abs());
            energy += 0.5 * rest[k] * rest[k];
        }
        self.findings.contradiction = energy;
        self.findings.is_consistent = !impossible && worst <= CONSISTENT * whole;
        Ok(())
    }

    /// `r -= K K† r`: leave only what no motion of the bodies makes.
    ///
    /// With redundant rows `K_R = S K_B` of the kept ones, the nearest motion has row velocities y in the kept rows and
    /// `S y` in the others; `(I + SᵀS) (y - r_B) = Sᵀ (r_R - S r_B)` by conjugate gradients, which begin with the answer
    /// where r is consistent.
    fn remove_range(&mut self, r: &mut [f64]) {
        let redundant: Vec<bool> = (0..r.len()).map(|k| !self.basis.is_kept(k)).collect();
        let mut step = vec![0.0; r.len()];
        // In kept rows: the change of y. In the others: what is left of r.
        let mut spread = r.to_vec();
        self.basis.carry(&mut spread);
        let mut rest: Vec<f64> = (0..r.len()).map(|k| if redundant[k] { r[k] - spread[k] } else { 0.0 }).collect();
        let mut change = vec![0.0; r.len()];
        // residual = Sᵀ rest - change
        let mut residual = rest.clone();
        self.basis.carry_back(&mut residual);
        let whole: f64 = r.iter().map(|v| v * v).sum();
        let mut size: f64 = residual.iter().map(|v| v * v).sum();
        step.copy_from_slice(&residual);
        for _ in 0..CG_STEPS {
            if size <= CG_TOLERANCE * CG_TOLERANCE * whole {
                break;
            }
            let mut image = step.clone();
            self.basis.carry(&mut image);
            let mut back = image.clone();
            self.basis.carry_back(&mut back);
            let curvature: f64 = (0..r.len()).map(|k| step[k] * (step[k] + back[k])).sum();
            let length = size / curvature;
            for k in 0..r.len() {
                change[k] += length * step[k];
                rest[k] -= if redundant[k] { length * image[k] } else { 0.0 };
                residual[k] -= length * (step[k] + back[k]);
            }
            let next: f64 = residual.iter().map(|v| v * v).sum();
            step.iter_mut().zip(&residual).for_each(|(s, g)| *s = g + next / size * *s);
            size = next;
        }
        for k in 0..r.len() {
            r[k] = if redundant[k] { rest[k] } else { -change[k] };
        }
    }

    /// What the last run found.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The role of every row of the problem.
    pub fn roles(&self) -> &[RowRole] {
        &self.role
    }

    /// Per row the velocity (m/s, rad/s) of b that contradicts the other rows, in the least-squares sense of kinetic
    /// energy; 0 in rows not looked at.
    pub fn conflict(&self) -> &[f64] {
        &self.conflict
    }

    /// The rows that a redundant row depends on: `J_i = Σ c_j J_j`, kept rows only, with coefficients for the rows as
    /// given. Any other row: nothing.
    pub fn dependency(&mut self, row: usize) -> Result<Vec<(usize, f64)>> {
        if row >= self.role.len() {
            return Err(Error::new(
                Status::InvalidIndex,
                format_args!("row is {row}, the diagnosed problem has {} rows", self.role.len()),
            ));
        }
        let Ok(of) = self.basis.rows.rows.binary_search(&(row as u32)) else { return Ok(Vec::new()) };
        if self.role[row] != RowRole::Redundant || self.basis.rows.scale[of] == 0.0 {
            return Ok(Vec::new());
        }
        let mut coefficient = vec![0.0; self.basis.len()];
        coefficient[of] = 1.0;
        self.basis.carry_back(&mut coefficient);
        let most = coefficient.iter().fold(0.0f64, |most, c| most.max(c.abs()));
        let listed = (0..coefficient.len()).filter(|&k| coefficient[k].abs() > COEFFICIENT * most);
        let unscaled = |k: usize| coefficient[k] * self.basis.rows.scale[of] / self.basis.rows.scale[k];
        Ok(listed.map(|k| (self.row(k), unscaled(k))).collect())
    }

    /// A compliance for every row that takes part in a redundancy: `relative` times its inverse effective mass; 0 for
    /// the others. With 1e-6 a row yields by a millionth of the velocity it takes away.
    pub fn suggest_compliance(&self, relative: f64, out: &mut [f64]) -> Result<()> {
        if !(relative > 0.0 && relative.is_finite()) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("relative is {relative}, it must be positive and finite"),
            ));
        }
        for (i, c) in out.iter_mut().enumerate() {
            let takes_part = matches!(self.role[i], RowRole::Shared | RowRole::Redundant);
            *c = if takes_part { relative * self.inverse_mass[i] } else { 0.0 };
        }
        Ok(())
    }

    /// Spread bilateral impulses evenly: the x of least `Σ a_ii x_i²` that moves the bodies as the given one does. Rows
    /// that were not looked at keep theirs.
    pub fn least_impulses(&mut self, x: &mut [f64]) -> Result<()> {
        if !self.bilateral_only {
            return Err(Error::new(
                Status::InvalidState,
                format_args!("impulses can only be spread over bilateral rows: diagnose without x"),
            ));
        }
        if self.findings.redundant == 0 {
            return Ok(());
        }
        let given = |k: usize| x[self.row(k)] * self.basis.rows.scale[k];
        let mut rest: Vec<f64> = (0..self.basis.len()).map(given).collect();
        self.remove_range(&mut rest);
        for (k, r) in rest.iter().enumerate() {
            let i = self.row(k);
            x[i] = if self.basis.rows.scale[k] == 0.0 { 0.0 } else { x[i] - r / self.basis.rows.scale[k] };
        }
        Ok(())
    }
}
