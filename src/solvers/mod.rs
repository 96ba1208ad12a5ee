//! The solvers, one file each.
//!
//! A solver is [`Solver::start`] and [`Solver::step`]: one sweep, pivot or Newton step. It moves the iterate in
//! [`State`] and says whether it can go on; it does not count, time, measure or judge. [`crate::solve`] does that,
//! for all of them alike. To add one: a file here, a line in [`build`], and in `settings.rs` a number in [`SolverKind`]
//! and a line in its table. The compiler asks for the first two; tests that run every kind find the rest.

mod active_set;
mod alart_curnier;
mod apgd;
mod barrier;
mod block_pgs;
mod box_qp;
mod bpp;
mod cone_system;
mod coupled_system;
mod dantzig;
mod fischer_newton;
mod free_system;
mod gp_minres;
mod interior_point;
mod island_sweeps;
mod jacobi;
mod lemke;
mod lemke_path;
mod minmap_newton;
mod newton;
mod nncg;
mod pair_blocks;
mod pgs;
mod pgs_sm;
mod prox;
mod prox_gs;
mod prox_newton;
mod proximal;
mod quad_visit;
mod quads;
mod row_sweep;
mod scaled;
mod spg;
mod sweep;
mod symmetric_pgs;
mod wave;

pub use island_sweeps::{cost_of_pivots, IslandSweeps};
pub use sweep::visiting_order;

use crate::error::{Error, Result, Status};
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Most steps that a solver takes together.
pub const TOGETHER: usize = wave::SWEEPS;

/// The iterate, shared between a solver and the loop.
#[derive(Debug, Default)]
pub struct State {
    /// Impulses.
    pub x: Vec<f64>,
    /// Velocities; equal to A x + b where [`State::w_is_exact`] says so.
    pub w: Vec<f64>,
    /// Does `w` belong to this `x`?
    pub w_is_exact: bool,
    /// The error of the iterate that was measured last, in joules.
    pub energy: f64,
    /// Bounds to solve with. They stay while a solver runs; for solvers that do not follow friction by themselves the
    /// driver moves them between runs.
    pub lo: Vec<f64>,
    /// Upper bounds, likewise.
    pub hi: Vec<f64>,
    /// Energy of the last step's change, `½ Σ a_ii δx_i²` in joules: a sweep's own measure of its progress.
    pub change: f64,
    /// Rows that changed between lower bound, free and upper bound in the last step.
    pub set_changes: usize,
    /// Should a solver take steps that are dear and lead further: because others have failed, or because it is near already?
    pub patient: bool,
    /// Is the iterate a start that may be near a solution? Then what only prepares a cold start may be left out.
    pub is_near: bool,
    /// How many steps the next one may be at once, because nobody looks in between: [`Solver::together`] at most.
    pub at_once: usize,
    /// Energy and set changes of those steps, but for the last one. The loop has taken memory for [`TOGETHER`].
    pub earlier: Vec<(f64, usize)>,
}

/// What a step says about the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Continue,
    /// Another step would not change the iterate beyond round-off.
    Stalled,
    /// There is more to do, and others would do it for less.
    GivesWay,
    /// The path of a complementary pivoting method ends in a ray: the method has no answer, often there is none.
    Ray,
    /// The deadline passed inside the step; the iterate is the one before it.
    OutOfTime,
}

/// One method.
pub trait Solver: Send {
    /// Refuse what this solver cannot treat.
    fn check(&self, problem: &Problem) -> Result<()>;

    /// Does the solver move coupled friction bounds by itself? If not, the loop freezes them, and restarts the solver
    /// with new ones when it has solved for the old.
    fn follows_friction(&self, _: &Problem) -> bool {
        false
    }

    /// Does the solver know friction cones? If not, the loop refuses them.
    fn treats_cones(&self) -> bool {
        false
    }

    /// Take the memory that a problem of this size may need. Called even when the start is good enough, so that a later,
    /// smaller problem finds it.
    fn reserve(&mut self, problem: &Problem) -> Result<()>;

    /// Begin at `state.x`, which is finite, within its bounds, and has its exact `state.w`. Not called when the start
    /// is good enough.
    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()>;

    /// How many steps cost less together. The loop asks only after each so many whether the solver has arrived, whether
    /// it lets it take them at once or not.
    fn together(&self, _: &Problem) -> usize {
        1
    }

    /// Move the iterate once; or several times, if the loop allows it and that is cheaper.
    fn step(&mut self, problem: &Problem, state: &mut State, budget: &Budget) -> Result<Progress>;
}

/// A solver of the given kind, empty. None for `auto`, which is a plan of others.
pub fn build(kind: SolverKind) -> Option<Box<dyn Solver>> {
    Some(match kind {
        SolverKind::Auto => return None,
        SolverKind::Bpp => Box::<bpp::Bpp>::default(),
        SolverKind::Pgs => Box::<pgs::Pgs>::default(),
        SolverKind::Jacobi => Box::<jacobi::Jacobi>::default(),
        SolverKind::SymmetricPgs => Box::<symmetric_pgs::SymmetricPgs>::default(),
        SolverKind::BlockPgs => Box::<block_pgs::BlockPgs>::default(),
        SolverKind::Spg => Box::<spg::Spg>::default(),
        SolverKind::Apgd => Box::<apgd::Apgd>::default(),
        SolverKind::Nncg => Box::<nncg::Nncg>::default(),
        SolverKind::GpMinres => Box::<gp_minres::GpMinres>::default(),
        SolverKind::PgsSm => Box::<pgs_sm::PgsSm>::default(),
        SolverKind::ProxNewton => Box::<prox_newton::ProxNewton>::default(),
        SolverKind::InteriorPoint => Box::<interior_point::InteriorPoint>::default(),
        SolverKind::Dantzig => Box::<dantzig::Dantzig>::default(),
        SolverKind::Lemke => Box::<lemke::Lemke>::default(),
        SolverKind::FischerNewton => Box::<fischer_newton::FischerNewton>::default(),
        SolverKind::MinMapNewton => Box::<minmap_newton::MinMapNewton>::default(),
        SolverKind::Prox => Box::<prox::Prox>::default(),
        SolverKind::ProxGs => Box::<prox_gs::ProxGs>::default(),
        SolverKind::AlartCurnier => Box::<alart_curnier::AlartCurnier>::default(),
        SolverKind::ActiveSet => Box::<active_set::ActiveSet>::default(),
    })
}

/// Refuse a problem with a diagonal entry that is not positive: no row of it can be solved for its own impulse.
fn require_positive_diagonal(problem: &Problem, solver: SolverKind) -> Result<()> {
    match problem.diagonal().iter().position(|&a| a <= 0.0) {
        None => Ok(()),
        Some(i) => Err(Error::new(
            Status::NoEnergy,
            format_args!("diagonal[{i}] is {}: {} needs a_ii > 0 in every row", problem.diagonal()[i], solver.name()),
        )),
    }
}

/// Share of the way that a friction bound moves towards the one at the new impulses: the whole way oscillates on
/// contacts that share their load.
const DAMPING: f64 = 0.7;

/// A friction bound on its way from `old` to `new`; the last bits, and to or from infinity, it goes at once.
pub(crate) fn damped(old: f64, new: f64) -> f64 {
    let way = new - old;
    if way.is_finite() && way.abs() > 1e-10 * (old.abs() + new.abs()) {
        old + DAMPING * way
    } else {
        new
    }
}
