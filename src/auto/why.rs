//! Why a stage stands in a plan, as text for the caller. Nothing asks for it to decide anything.

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
