//! Every threshold of `auto` and of the rules by which a stage ends.
//!
//! Each says its unit and what it does. Evidence: `mlcp-lab replay tests/data/engines.h5 tests/data/outside.h5 --friction
//! coupled` (what is solved, by which stages), `make soak` (what is not), `make bench-peers` (time), each run with another value
//! of the constant; where one of them shows a constant best it is named.

/// Rows. Below this pivots are done before sweeps have warmed up, and looking for islands does not pay: `make bench-peers`,
/// n < 100.
pub const TINY: usize = 64;
/// Rows. Up to this a dense tableau beats every factorisation: `make bench-peers`.
pub const FEW: usize = 128;
/// Rows. Up to this a dense tableau of all rows may be had as a later resort: 0.7 MB, and 20 µs a pivot.
pub const SMALL: usize = 300;
/// Rows, or six times the bodies. The largest dense LU factorisation that takes less than a second.
pub const LARGE: usize = 2000;

/// Sweeps from a start that is nearly good enough: `make bench-peers`, warm series.
pub const FEW_SWEEPS: usize = 4;
/// Sweeps over cones that come first when time is limited.
pub const FIRST_SWEEPS: usize = 256;
/// Active set steps: the second already has little to do, moving friction bounds may take some more.
pub const FIRST_STEPS: usize = 24;
/// Pivots before the interior point method takes over: those that settle do so soon. `make bench-peers`, walls.
pub const FIRST_PIVOTS: usize = 5;
/// Pivots before the interior point method takes over where friction bounds move, which slows down either.
pub const FIRST_PIVOTS_COUPLED: usize = 24;
/// Pivots where friction bounds move, time is limited and sweeps come next.
pub const HASTY_PIVOTS: usize = 48;
/// Interior point steps where friction bounds move: those that arrive do so soon, and on many bodies a step is dear.
pub const FEW_INTERIOR_STEPS: usize = 40;
/// Pivots along Lemke's paths. A friction wall of 252 rows took 26,785: `mlcp-lab replay tests/data/outside.h5 --friction coupled
/// --solver lemke`.
pub const COMPLEMENTARY_PIVOTS: usize = 100_000;
/// Pivots with tied friction, each for less than an interior point step: `mlcp-lab replay` on rattling walls.
pub const TIED_PIVOTS: usize = 2000;
/// Measurements without progress that count as a stall of tied pivots: they rest while impulses drift between redundant
/// contacts, and then go on.
pub const TIED_WINDOW: usize = 1000;
/// Sweeps that come last.
pub const LAST_SWEEPS: usize = 1000;
/// Newton steps that come last.
pub const LAST_STEPS: usize = 200;
/// Passes over the islands: one, unless time is limited.
pub const ISLAND_PASSES: usize = 1000;

/// Fraction. Errors of two methods at rest that differ by no more are the least there is: nothing else is tried.
pub const AGREE: f64 = 0.01;
/// Share of a limited time. If less is left once the start has been measured, islands are not looked for, and sweeps are plain.
pub const LOOK_SHARE: f64 = 0.9;
/// Share of a limited time for sweeps over cones that come first.
pub const FIRST_SHARE: f64 = 0.25;
/// Sweeps after which it is asked for the first time whether pivots fit into the time left.
pub const FIRST_LOOK: usize = 8;
/// Share of what pivots would cost. If they fit, sweeps still come first for that long: pivots that fail leave nothing behind.
pub const FIRST_PART: f64 = 0.125;
/// Share of a limited time after which pivots that have found nothing better make way.
pub const VAIN_SHARE: f64 = 0.5;
/// Factor by which an island may exceed its share of the time: half a solution is worth little.
pub const ISLAND_PATIENCE: f64 = 4.0;

/// Fraction. Pivots that settle change at most this share of the rows of the step before; where friction bounds move, they
/// leave at most this share of the error within [`HALVING_STEPS`].
pub const FEWER: f64 = 0.5;
/// Share of all rows: as few changes as that are no sign of cycling.
pub const FEW_CHANGES: f64 = 1.0 / 32.0;
/// Steps for each halving of the error where friction bounds move.
pub const HALVING_STEPS: usize = 8;
/// Factor on the tolerance. Nearer than that, pivots with moving friction bounds need not find the way, and where contacts are
/// redundant they lose it: after [`STEPS_WHEN_NEAR`] their friction is tied.
pub const NEAR: f64 = 1e6;
/// Steps before friction is tied near a solution.
pub const STEPS_WHEN_NEAR: usize = 3;

/// Fraction. A method that began warm should leave at most this share of the error, again and again.
pub const GAIN: f64 = 0.25;
/// Steps that a warm method has for each such gain: `make soak STARTS=all`.
pub const WARM_STEPS: usize = 10;
/// Steps of a warm method of which one costs as much as all of a cold solve.
pub const WARM_STEPS_IF_DEAR: usize = 1;
/// Factor on the tolerance. A start is nearly good enough when its error is at most that.
pub const WITHIN_REACH: f64 = 30.0;

/// Share of the tolerance. Friction bounds are moved on when the error under the old ones is below it.
pub const FROZEN_SHARE: f64 = 0.1;
/// Times that friction bounds are moved for a solver that does not follow them: those that settle do so in some ten.
pub const BOUND_MOVES: usize = 200;
