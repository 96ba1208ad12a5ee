//! Which solvers treat a problem, in which order, and until when.
//!
//! A named solver is a plan of one stage. `auto` looks at the problem and puts first what is fastest where it succeeds,
//! then what succeeds where that does not. Each stage begins at the best iterate so far. The plan ends with the stage
//! that meets the tolerance, or when two methods have come to a rest at the same error: then there is no less.

use super::cost::*;
use super::Reason;
use crate::problem::Problem;
use crate::settings::{Settings, SolverKind};

/// One solver of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Which solver.
    pub solver: SolverKind,
    /// Why, for the caller.
    pub reason: Reason,
    /// Iterations it may take.
    pub iterations: usize,
    /// What it works on.
    pub work: Work,
    /// Does it begin at x = 0, though a better point is known? Where others have failed that point may be a trap.
    pub begins_cold: bool,
    /// When it ends beside the tolerance, the iterations and the solver's own word.
    pub rules: Rules,
}

/// What a stage works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// All rows.
    #[default]
    Whole,
    /// Each island by its own plan.
    Islands,
    /// The islands of the largest energy error, in place.
    WorstIslands,
}

/// When a stage ends, beside the tolerance, the iterations and the solver's own word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Only run from a start that is nearly good enough, and end as soon as the pace will not do.
    pub touches_up: bool,
    /// End when steps change as many rows as before, or gain too little where friction bounds move.
    pub settles: bool,
    /// Take steps that are dear and lead further.
    pub is_patient: bool,
    /// Measurements without progress that count as a stall; 0: the solver's own number.
    pub window: usize,
    /// Share of a limited time.
    pub share: Share,
}

/// When a stage leaves the rest of a limited time to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// It does not.
    #[default]
    All,
    /// After [`FIRST_SHARE`].
    First,
    /// As soon as it has cost a part of what pivots would, if they fit into the rest.
    BeforePivots,
    /// After [`VAIN_SHARE`] if it has found nothing better.
    UnlessVain,
}

/// Most stages of a plan.
pub const MAX_STAGES: usize = 10;

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
                plan.push(SolverKind::ProxGs, Reason::TimeLimit, FIRST_SWEEPS).rules.share = Share::First;
            } else {
                plan.push(SolverKind::Nncg, Reason::WorstIslands, usize::MAX).work = Work::WorstIslands;
            }
        }
        plan.push(SolverKind::Auto, Reason::Islands, ISLAND_PASSES).work = Work::Islands;
        plan
    }

    /// There is only time for a few sweeps: let them be plain ones, which cost less and gain as much at first.
    pub fn sweep_plainly(&mut self) {
        for stage in &mut self.stages[..self.len] {
            if stage.rules.share == Share::BeforePivots {
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
            self.push(SolverKind::Nncg, Reason::TimeLimit, usize::MAX).rules.share = Share::BeforePivots;
            self.spare[1] = Some(SolverKind::Pgs);
        }
        if problem.len() <= FEW {
            self.push(SolverKind::ActiveSet, Reason::Small, FIRST_STEPS).rules.share = Share::UnlessVain;
        } else {
            self.spare[0] = Some(SolverKind::ActiveSet);
            if !in_haste {
                self.push(SolverKind::Pgs, Reason::GoodStart, FEW_SWEEPS).rules.touches_up = true;
            }
        }
        let pivots = match (coupled, in_haste) {
            (false, _) => FIRST_PIVOTS,
            (true, false) => FIRST_PIVOTS_COUPLED,
            (true, true) => HASTY_PIVOTS,
        };
        let stage = self.push(SolverKind::Bpp, Reason::Pivots, pivots);
        (stage.rules.settles, stage.rules.share) = (true, Share::UnlessVain);
        if coupled && in_haste {
            // What comes after would not get far in the time; pivots that get nowhere leave theirs to sweeps.
            self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
        }
        if coupled {
            return self.coupled_rest(problem, in_haste);
        }
        self.push_whole(SolverKind::InteriorPoint, Reason::Redundant);
        self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
        if takes_dense_lu(problem) {
            self.push(SolverKind::AlartCurnier, Reason::LastResort, LAST_STEPS);
        }
        self.push_whole(SolverKind::Bpp, Reason::Polish).rules.is_patient = true;
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
        let stage = self.push(SolverKind::Bpp, Reason::Polish, pivots);
        (stage.rules.is_patient, stage.rules.window) = (true, TIED_WINDOW);
        if !in_haste {
            self.push(SolverKind::Nncg, Reason::LastResort, LAST_SWEEPS);
        }
        if takes_dense_lu {
            self.push(SolverKind::AlartCurnier, Reason::LastResort, LAST_STEPS);
            self.push_whole(SolverKind::InteriorPoint, Reason::LastResort);
            self.push_whole(SolverKind::AlartCurnier, Reason::LastResort).begins_cold = true;
        }
    }

    /// Contacts with exact friction cones.
    fn cones(&mut self, problem: &Problem, sweeps_first: bool) {
        if sweeps_first {
            self.push(SolverKind::ProxGs, Reason::TimeLimit, FIRST_SWEEPS).rules.share = Share::First;
        }
        let newton = takes_dense_lu(problem);
        if newton {
            self.push_whole(SolverKind::AlartCurnier, Reason::Cones);
        }
        self.push_whole(SolverKind::ProxGs, Reason::ConeSweeps);
        if newton {
            self.push_whole(SolverKind::AlartCurnier, Reason::Polish).rules.is_patient = true;
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

    fn push_whole(&mut self, solver: SolverKind, reason: Reason) -> &mut Stage {
        self.push(solver, reason, solver.default_iterations())
    }

    /// Add a stage over all rows without further rules; returns it for those.
    fn push(&mut self, solver: SolverKind, reason: Reason, iterations: usize) -> &mut Stage {
        debug_assert!(self.len < MAX_STAGES, "a plan has {MAX_STAGES} stages at most");
        let at = self.len.min(MAX_STAGES - 1);
        self.stages[at] = Stage { solver, reason, iterations, ..Stage::default() };
        self.len = at + 1;
        &mut self.stages[at]
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
