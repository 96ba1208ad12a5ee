//! Which solvers treat a problem, in which order, and why.
//!
//! A named solver is a plan of one stage. `auto` looks at the problem and puts first what is fastest where it succeeds,
//! then what succeeds where that does not. Each stage begins at the best iterate so far. The plan ends with the stage
//! that meets the tolerance, or when two methods have come to a rest at the same error: then there is no less.

use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};
use std::ffi::CStr;

/// Why a solver has its place in a plan. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// The caller named this solver.
    #[default]
    Requested = 0,
    /// Time is limited: sweeps first, so that something better than the start can be returned soon.
    TimeLimit = 1,
    /// A is symmetric: pivots are exact, and few from a good start.
    Pivots = 2,
    /// Pivots go astray on redundant contacts and coupled friction; an interior point method is least disturbed by them.
    Redundant = 3,
    /// A second try from the best point so far, with more steps allowed without progress.
    Polish = 4,
    /// Earlier solvers did not converge: a solver with another kind of step.
    LastResort = 5,
    /// A is not symmetric, or a row has no effective mass: complementary pivots on a small problem.
    General = 6,
    /// A is not symmetric, or a row has no effective mass: Newton's method, on a large problem or after pivots.
    GeneralNewton = 7,
    /// Contacts are exact cones: Newton's method on their projections.
    Cones = 8,
    /// The cones are too many for Newton's method, or it did not settle: prox sweeps.
    ConeSweeps = 9,
    /// Few rows: an active set method on a dense tableau.
    Small = 10,
    /// The problem falls into islands, and each is solved by auto's plan for it alone.
    Islands = 11,
    /// The start is nearly good enough, as the last step's impulses often are: a few sweeps.
    GoodStart = 12,
    /// Time is limited and the problem falls into islands: sweeps over those of the largest energy error.
    WorstIslands = 13,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 14] = [
        Reason::Requested,
        Reason::TimeLimit,
        Reason::Pivots,
        Reason::Redundant,
        Reason::Polish,
        Reason::LastResort,
        Reason::General,
        Reason::GeneralNewton,
        Reason::Cones,
        Reason::ConeSweeps,
        Reason::Small,
        Reason::Islands,
        Reason::GoodStart,
        Reason::WorstIslands,
    ];

    /// The reason as a sentence.
    pub fn text(self) -> &'static CStr {
        match self {
            Reason::Requested => c"the caller named this solver",
            Reason::TimeLimit => c"time is limited: sweeps first, so that a point better than the start exists soon",
            Reason::Pivots => c"A is symmetric: pivots are exact, and few from a good start",
            Reason::Redundant => c"pivots did not settle: an interior point method suffers least from redundancy",
            Reason::Polish => c"a second try from the best point so far, with more steps allowed without progress",
            Reason::LastResort => c"earlier solvers did not converge: a solver with another kind of step",
            Reason::General => c"A is not symmetric or a row has no effective mass: complementary pivots",
            Reason::GeneralNewton => c"A is not symmetric or a row has no effective mass: Newton's method",
            Reason::Cones => c"contacts are exact cones: Newton's method on their projections",
            Reason::ConeSweeps => c"the cones are too many for Newton's method, or it did not settle: prox sweeps",
            Reason::Small => c"few rows: an active set method on a dense tableau",
            Reason::Islands => c"the problem falls into islands: auto on each of them",
            Reason::GoodStart => c"the start is nearly good enough: a few sweeps, unless they do not converge",
            Reason::WorstIslands => c"time is limited: sweeps over the islands with the largest energy error",
        }
    }
}

/// One solver of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Which solver.
    pub solver: SolverKind,
    /// Why.
    pub reason: Reason,
    /// Iterations it may take.
    pub iterations: usize,
}

/// Most stages of a plan.
pub const MAX_STAGES: usize = 8;

/// Sweeps from a start that is nearly good enough.
const FEW_SWEEPS: usize = 4;
/// Sweeps over cones that come first when time is limited.
const FIRST_SWEEPS: usize = 256;
/// Pivots before the interior point method takes over: those that settle do so soon.
const FIRST_PIVOTS: usize = 5;
/// The same where friction bounds move, which takes both of them longer.
const FIRST_PIVOTS_COUPLED: usize = 24;
/// The same when time is limited and sweeps come next.
const HASTY_PIVOTS: usize = 48;
/// Interior point steps where friction bounds move: those that arrive do so soon, and on many bodies they are dear.
const FEW_INTERIOR_STEPS: usize = 40;
/// Pivots with tied friction that come after them, each for less than a step of theirs.
const TIED_PIVOTS: usize = 2000;
/// Passes over the islands: one, unless time is limited.
const ISLAND_PASSES: usize = 1000;
/// Pivots along Lemke's paths: a friction wall of 252 rows took 26,785 (`mlcp-lab replay tests/data/outside.h5 --friction
/// coupled`), paths that end nowhere take the rest.
const COMPLEMENTARY_PIVOTS: usize = 100_000;
/// Sweeps that come last.
const LAST_SWEEPS: usize = 1000;
/// Newton steps on the projections that come last.
const LAST_STEPS: usize = 200;
/// Up to this many rows a dense tableau or Jacobian matrix is cheap.
const SMALL: usize = 300;
/// The largest order of a dense LU factorisation.
const LARGE: usize = 2000;
/// Up to this many rows a dense tableau beats every factorisation.
const FEW: usize = 128;
/// Steps of the active set method: the second already has little to do, friction bounds may take some more.
const FIRST_STEPS: usize = 24;
/// Below this many rows pivots are done before sweeps have warmed up.
pub const TINY: usize = 64;

/// Is a dense LU factorisation, over the rows or six times the bodies, a matter of less than a second?
fn takes_dense_lu(problem: &Problem) -> bool {
    let bodies = if problem.bodies() > 0 { 6 * problem.bodies() } else { usize::MAX };
    problem.len().min(bodies) <= LARGE
}

/// The stages, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    stages: [Stage; MAX_STAGES],
    len: usize,
    /// What a smaller problem of this sort would begin with, and one with less time.
    spare: [Option<SolverKind>; 3],
}

impl Plan {
    /// The plan for a problem; an island was swept already if time is limited.
    pub fn new(problem: &Problem, settings: &Settings, is_island: bool) -> Self {
        let mut plan = Plan::default();
        let in_haste = settings.time_limit > 0.0 && problem.len() > TINY;
        if settings.solver != SolverKind::Auto {
            plan.push(settings.solver, Reason::Requested, settings.iterations(settings.solver));
        } else if problem.has_cones() {
            plan.cones(problem, in_haste && !is_island);
        } else if problem.is_symmetric() && problem.has_energy() {
            plan.mechanical(problem, in_haste, is_island);
        } else {
            plan.general(problem);
        }
        plan
    }

    /// Each island by itself.
    pub fn islands(problem: &Problem, settings: &Settings) -> Self {
        let mut plan = Plan::default();
        if settings.time_limit > 0.0 && problem.has_energy() {
            if problem.has_cones() {
                plan.push(SolverKind::ProxGs, Reason::TimeLimit, FIRST_SWEEPS);
            } else {
                plan.push(SolverKind::Nncg, Reason::WorstIslands, usize::MAX);
            }
        }
        plan.push(SolverKind::Auto, Reason::Islands, ISLAND_PASSES);
        plan
    }

    /// There is only time for a few sweeps: let them be plain ones, which cost less and gain as much at first.
    pub fn sweep_plainly(&mut self) {
        for stage in &mut self.stages[..self.len] {
            if (stage.solver, stage.reason) == (SolverKind::Nncg, Reason::TimeLimit) {
                stage.solver = SolverKind::Pgs;
            }
        }
    }

    /// May it pay to look for islands?
    pub fn may_split(problem: &Problem, settings: &Settings) -> bool {
        settings.solver == SolverKind::Auto && problem.len() > TINY
    }

    /// Symmetric A with effective masses: what engines make.
    fn mechanical(&mut self, problem: &Problem, in_haste: bool, is_island: bool) {
        let coupled = problem.has_live_bounds();
        if in_haste && !is_island {
            // Until there is no time left, or pivots would fit into what is.
            self.push(SolverKind::Nncg, Reason::TimeLimit, usize::MAX);
            self.spare[1] = Some(SolverKind::Pgs);
        }
        if problem.len() <= FEW {
            self.push(SolverKind::ActiveSet, Reason::Small, FIRST_STEPS);
        } else {
            self.spare[0] = Some(SolverKind::ActiveSet);
            if !in_haste {
                self.push(SolverKind::Pgs, Reason::GoodStart, FEW_SWEEPS);
            }
        }
        match (coupled, in_haste) {
            (false, _) => self.push(SolverKind::Bpp, Reason::Pivots, FIRST_PIVOTS),
            (true, false) => self.push(SolverKind::Bpp, Reason::Pivots, FIRST_PIVOTS_COUPLED),
            (true, true) => {
                // What comes after would not get far in the time; pivots that get nowhere leave theirs to sweeps.
                self.push(SolverKind::Bpp, Reason::Pivots, HASTY_PIVOTS);
                self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
            }
        }
        if coupled {
            return self.coupled_rest(problem, in_haste);
        }
        self.push_whole(SolverKind::InteriorPoint, Reason::Redundant);
        self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
        if takes_dense_lu(problem) {
            self.push(SolverKind::AlartCurnier, Reason::LastResort, LAST_STEPS);
        }
        self.push_whole(SolverKind::Bpp, Reason::Polish);
    }

    /// What comes after pivots with moving friction bounds.
    fn coupled_rest(&mut self, problem: &Problem, in_haste: bool) {
        // Coupled friction makes the interior point method's system unsymmetric. Where bodies are known its factor is sparse.
        // Its path may turn round where contacts are redundant; what it has by then is a good start for tied pivots.
        let takes_dense_lu = takes_dense_lu(problem);
        if takes_dense_lu || problem.bodies() > 0 {
            self.push(SolverKind::InteriorPoint, Reason::Redundant, FEW_INTERIOR_STEPS);
        }
        if problem.len() <= SMALL {
            self.push(SolverKind::Lemke, Reason::LastResort, COMPLEMENTARY_PIVOTS);
        } else {
            self.spare[2] = Some(SolverKind::Lemke);
        }
        let pivots = if takes_dense_lu { TIED_PIVOTS } else { SolverKind::Bpp.default_iterations() };
        self.push(SolverKind::Bpp, Reason::Polish, pivots);
        if !in_haste {
            self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
        }
        if takes_dense_lu {
            self.push(SolverKind::AlartCurnier, Reason::LastResort, LAST_STEPS);
            self.push_whole(SolverKind::InteriorPoint, Reason::LastResort);
        }
    }

    /// Contacts with exact friction cones.
    fn cones(&mut self, problem: &Problem, sweeps_first: bool) {
        if sweeps_first {
            self.push(SolverKind::ProxGs, Reason::TimeLimit, FIRST_SWEEPS);
        }
        let newton = takes_dense_lu(problem);
        if newton {
            self.push_whole(SolverKind::AlartCurnier, Reason::Cones);
        }
        self.push_whole(SolverKind::ProxGs, Reason::ConeSweeps);
        if newton {
            self.push_whole(SolverKind::AlartCurnier, Reason::Polish);
        }
    }

    /// Everything else.
    fn general(&mut self, problem: &Problem) {
        let small = problem.len() <= SMALL;
        if small {
            self.push(SolverKind::Lemke, Reason::General, COMPLEMENTARY_PIVOTS);
        }
        self.push_whole(SolverKind::MinMapNewton, Reason::GeneralNewton);
        self.push_whole(SolverKind::FischerNewton, Reason::GeneralNewton);
        if !small {
            self.push(SolverKind::Lemke, Reason::LastResort, COMPLEMENTARY_PIVOTS);
        }
    }

    fn push_whole(&mut self, solver: SolverKind, reason: Reason) {
        self.push(solver, reason, solver.default_iterations());
    }

    fn push(&mut self, solver: SolverKind, reason: Reason, iterations: usize) {
        if self.len < MAX_STAGES {
            self.stages[self.len] = Stage { solver, reason, iterations };
            self.len += 1;
        }
    }

    /// The stages, in order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages[..self.len]
    }

    /// The solvers to take memory for: those of the stages, and what a smaller problem would begin with.
    pub fn solvers(&self) -> impl Iterator<Item = SolverKind> + '_ {
        self.stages().iter().map(|stage| stage.solver).chain(self.spare.into_iter().flatten())
    }
}
