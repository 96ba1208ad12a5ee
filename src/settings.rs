//! What a caller may choose about a solve. One struct, checked once.

use crate::error::{Error, Result, Status};
use crate::metrics::Measure;
use std::ffi::CStr;

/// The solvers. Numbers are part of the ABI.
///
/// The comment of each says the limits that hold where mlcp_settings has 0. Where check_interval is 1 every iteration is
/// measured, whatever mlcp_settings says.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverKind {
    /// The solvers that suit the problem, one after the other, until one has solved it; the default.
    /// max_iterations none, check_interval 1, stall_window 100.
    #[default]
    Auto = 0,
    /// Block principal pivoting (Judice & Pires 1994) with an adaptive proximal term: exact, for symmetric A.
    /// max_iterations 200, check_interval 1, stall_window 100.
    Bpp = 1,
    /// Projected Gauss-Seidel, with relaxation: projected SOR.
    /// max_iterations 1000, check_interval 32, stall_window 8.
    Pgs = 2,
    /// Dantzig and Keller's principal pivoting, row by row: dense, for symmetric A.
    /// max_iterations 20000, check_interval 16, stall_window 1000.
    Dantzig = 3,
    /// Lemke's complementary pivoting: dense, A need not be symmetric nor its diagonal positive; tells rays.
    /// max_iterations none, check_interval 64, stall_window none.
    Lemke = 4,
    /// Semismooth Newton on the Fischer-Burmeister function: dense, A need not be symmetric nor its diagonal positive.
    /// max_iterations 200, check_interval 1, stall_window 100.
    FischerNewton = 5,
    /// Semismooth Newton on the min map: dense, A need not be symmetric nor its diagonal positive.
    /// max_iterations 200, check_interval 1, stall_window 100.
    MinMapNewton = 6,
    /// Projected Jacobi with a safe relaxation.
    /// max_iterations 4000, check_interval 32, stall_window 8.
    Jacobi = 7,
    /// Symmetric projected Gauss-Seidel: a sweep forward and one backward.
    /// max_iterations 1000, check_interval 16, stall_window 16.
    SymmetricPgs = 8,
    /// Gauss-Seidel by contact: a normal row and its friction rows are solved together.
    /// max_iterations 1000, check_interval 32, stall_window 8.
    BlockPgs = 9,
    /// Spectral projected gradient (Birgin, Martinez, Raydan 2000), for symmetric A.
    /// max_iterations 1000, check_interval 16, stall_window 16.
    Spg = 10,
    /// Accelerated projected gradient (Mazhar et al. 2015), for symmetric A.
    /// max_iterations 1000, check_interval 16, stall_window 16.
    Apgd = 11,
    /// Nonsmooth nonlinear conjugate gradients on Gauss-Seidel sweeps (Silcowitz-Hansen et al. 2010).
    /// max_iterations 1000, check_interval 16, stall_window 16.
    Nncg = 12,
    /// Gradient projection with MINRES on the free rows (Heyn 2013), for symmetric A.
    /// max_iterations 1000, check_interval 1, stall_window 50.
    GpMinres = 13,
    /// Gauss-Seidel sweeps with subspace minimisation (Silcowitz-Hansen et al. 2010), for symmetric A.
    /// max_iterations 1000, check_interval 1, stall_window 50.
    PgsSm = 14,
    /// Primal-dual interior point method (predictor-corrector, proximal): exact, for symmetric A.
    /// max_iterations 400, check_interval 1, stall_window 200.
    InteriorPoint = 15,
    /// Proximal semismooth Newton method on the dual, with exact line search: exact, for symmetric A.
    /// max_iterations 200, check_interval 1, stall_window 100.
    ProxNewton = 16,
    /// Projected fixed point on boxes and exact friction cones, all rows at once.
    /// max_iterations 4000, check_interval 32, stall_window 8.
    Prox = 17,
    /// Projected Gauss-Seidel by contact on boxes and exact friction cones.
    /// max_iterations 1000, check_interval 32, stall_window 8.
    ProxGs = 18,
    /// Nonsmooth Newton method of Alart and Curnier on boxes and exact friction cones; A need not be symmetric.
    /// max_iterations 1000, check_interval 1, stall_window 250.
    AlartCurnier = 19,
    /// Primal active set method (Lawson & Hanson 1974) on a dense tableau: exact, for small problems with symmetric A.
    /// max_iterations 100, check_interval 1, stall_window 20.
    ActiveSet = 20,
}

/// What is known of a solver without building it.
struct Profile {
    kind: SolverKind,
    /// The short name that tools print and read.
    name: &'static CStr,
    /// Iterations when the caller does not say.
    iterations: usize,
    /// Iterations between two measurements when the caller does not say. Pivots and Newton steps hold their exact w
    /// and measuring is all but free; a sweep does not, and measuring costs about as much as sweeping.
    interval: usize,
    /// Measurements without progress that count as a stall when the caller does not say. Pivots may wander for long
    /// before an index set fits; sweeps that gained nothing over eight checks will not gain later.
    stall: usize,
}

/// One line per solver, in the order of their numbers.
#[rustfmt::skip]
const PROFILES: &[Profile] = &[
    Profile { kind: SolverKind::Auto, name: c"auto", iterations: usize::MAX, interval: 1, stall: 100 },
    Profile { kind: SolverKind::Bpp, name: c"bpp", iterations: 200, interval: 1, stall: 100 },
    Profile { kind: SolverKind::Pgs, name: c"pgs", iterations: 1000, interval: 32, stall: 8 },
    Profile { kind: SolverKind::Dantzig, name: c"dantzig", iterations: 20_000, interval: 16, stall: 1000 },
    Profile { kind: SolverKind::Lemke, name: c"lemke", iterations: usize::MAX, interval: 64, stall: usize::MAX },
    Profile { kind: SolverKind::FischerNewton, name: c"fischer-newton", iterations: 200, interval: 1, stall: 100 },
    Profile { kind: SolverKind::MinMapNewton, name: c"minmap-newton", iterations: 200, interval: 1, stall: 100 },
    Profile { kind: SolverKind::Jacobi, name: c"jacobi", iterations: 4000, interval: 32, stall: 8 },
    Profile { kind: SolverKind::SymmetricPgs, name: c"sgs", iterations: 1000, interval: 16, stall: 16 },
    Profile { kind: SolverKind::BlockPgs, name: c"block-pgs", iterations: 1000, interval: 32, stall: 8 },
    Profile { kind: SolverKind::Spg, name: c"spg", iterations: 1000, interval: 16, stall: 16 },
    Profile { kind: SolverKind::Apgd, name: c"apgd", iterations: 1000, interval: 16, stall: 16 },
    Profile { kind: SolverKind::Nncg, name: c"nncg", iterations: 1000, interval: 16, stall: 16 },
    Profile { kind: SolverKind::GpMinres, name: c"gp-minres", iterations: 1000, interval: 1, stall: 50 },
    Profile { kind: SolverKind::PgsSm, name: c"pgs-sm", iterations: 1000, interval: 1, stall: 50 },
    Profile { kind: SolverKind::InteriorPoint, name: c"ipm", iterations: 400, interval: 1, stall: 200 },
    Profile { kind: SolverKind::ProxNewton, name: c"prox-newton", iterations: 200, interval: 1, stall: 100 },
    Profile { kind: SolverKind::Prox, name: c"prox", iterations: 4000, interval: 32, stall: 8 },
    Profile { kind: SolverKind::ProxGs, name: c"prox-gs", iterations: 1000, interval: 32, stall: 8 },
    Profile { kind: SolverKind::AlartCurnier, name: c"alart-curnier", iterations: 1000, interval: 1, stall: 250 },
    Profile { kind: SolverKind::ActiveSet, name: c"active-set", iterations: 100, interval: 1, stall: 20 },
];

impl SolverKind {
    /// Every solver.
    pub const ALL: [SolverKind; PROFILES.len()] = {
        let mut all = [SolverKind::Auto; PROFILES.len()];
        let mut k = 0;
        while k < all.len() {
            all[k] = PROFILES[k].kind;
            assert!(all[k] as usize == k, "lines stand in the order of their numbers");
            k += 1;
        }
        all
    };

    fn profile(self) -> &'static Profile {
        &PROFILES[self as usize]
    }

    /// The solver's short name, as tools print and read it.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or("")
    }

    /// The same for C.
    pub fn c_name(self) -> &'static CStr {
        self.profile().name
    }

    /// Iterations when the caller does not say.
    pub fn default_iterations(self) -> usize {
        self.profile().iterations
    }

    /// Does the solver sweep: gain little by little from anywhere, and cost about as much to measure as to run? Others either
    /// arrive from a start or are lost.
    pub fn sweeps(self) -> bool {
        self.profile().interval > 1
    }

    /// The solver with this short name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The solver with this ABI number.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&k| k as i32 == number)
    }
}

/// Which iterate a solve returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The iterate of least error under this measure.
    Best(Measure),
    /// The last iterate, as solvers without a monitor do.
    Last,
}

/// Everything a caller may choose about a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which solver.
    pub solver: SolverKind,
    /// Which iterate to return.
    pub choice: Choice,
    /// Iteration budget; 0: the solver's default.
    pub max_iterations: usize,
    /// Wall-clock budget in seconds; 0: none.
    pub time_limit: f64,
    /// Converged when the energy error is at most this many joules.
    pub energy_tolerance: f64,
    /// Converged when the energy error is at most this fraction of the energy error at x = clamp(0).
    pub relative_tolerance: f64,
    /// Where a row has no energy (a_ii <= 0): converged when the natural residual is at most this, in mixed units.
    pub residual_tolerance: f64,
    /// Sweeps between exact measurements; 0: the solver's default. Solvers that measure for free do so always.
    pub check_interval: usize,
    /// Stalled when this many measurements in a row did not lower the energy error by `stall_decrease`;
    /// 0: the solver's default.
    pub stall_window: usize,
    /// The fraction by which the energy error must fall within `stall_window` measurements, in [0, 1).
    pub stall_decrease: f64,
    /// Relaxation of the sweeps, in (0, 2).
    pub relaxation: f64,
    /// Iteration records kept; a longer run is thinned evenly. 0: no history.
    pub history_capacity: usize,
    /// Threads that solve islands side by side, the caller's among them; 0: only that. `auto` alone uses them.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            solver: SolverKind::Auto,
            choice: Choice::Best(Measure::Energy),
            max_iterations: 0,
            time_limit: 0.0,
            energy_tolerance: 1e-18,
            relative_tolerance: 1e-10,
            residual_tolerance: 1e-10,
            check_interval: 0,
            stall_window: 0,
            stall_decrease: 0.01,
            relaxation: 1.0,
            history_capacity: 128,
            threads: 0,
        }
    }
}

impl Settings {
    /// Refuse a field that is out of range, by name.
    pub fn validate(&self) -> Result<()> {
        let range = |name: &str, value: f64, ok: bool, want: &str| {
            if ok {
                Ok(())
            } else {
                Err(Error::new(Status::InvalidValue, format_args!("settings.{name} is {value}, it must be {want}")))
            }
        };
        let at_least_0 = |v: f64| v.is_finite() && v >= 0.0;
        range("time_limit", self.time_limit, at_least_0(self.time_limit), "finite and >= 0")?;
        range("energy_tolerance", self.energy_tolerance, at_least_0(self.energy_tolerance), "finite and >= 0")?;
        range("relative_tolerance", self.relative_tolerance, at_least_0(self.relative_tolerance), "finite and >= 0")?;
        range("residual_tolerance", self.residual_tolerance, at_least_0(self.residual_tolerance), "finite and >= 0")?;
        let fraction = self.stall_decrease >= 0.0 && self.stall_decrease < 1.0;
        range("stall_decrease", self.stall_decrease, fraction, "in [0, 1)")?;
        let open = self.relaxation > 0.0 && self.relaxation < 2.0;
        range("relaxation", self.relaxation, open, "in (0, 2)")
    }

    /// The iteration budget of a solver, or with [`SolverKind::Auto`] of all of a plan's together.
    pub fn iterations(&self, kind: SolverKind) -> usize {
        chosen(self.max_iterations, kind.default_iterations())
    }

    /// The stall window of a solver.
    pub fn stall_window(&self, kind: SolverKind) -> usize {
        chosen(self.stall_window, kind.profile().stall)
    }

    /// The measuring interval of a solver; where measuring is all but free every iterate is measured.
    pub fn interval(&self, kind: SolverKind) -> usize {
        match kind.profile().interval {
            1 => 1,
            by_default => chosen(self.check_interval, by_default),
        }
    }
}

/// What the caller says, unless that is 0.
fn chosen(by_caller: usize, by_default: usize) -> usize {
    if by_caller == 0 {
        by_default
    } else {
        by_caller
    }
}
