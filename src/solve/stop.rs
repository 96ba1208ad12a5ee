//! Rules by which a stage ends or begins again, each a pure function of plain numbers.

use crate::auto::cost::*;
use crate::auto::Share;
use crate::solvers::cost_of_pivots;

/// A method from a start that is not its own: it gains soon, or it is lost.
pub(super) struct Warm {
    /// The least error when it last fell to [`GAIN`], and steps since.
    error: f64,
    steps: usize,
    patience: usize,
}

impl Warm {
    /// `is_dear`: a step costs as much as all of a cold solve.
    pub fn new(is_dear: bool, error: f64) -> Self {
        Warm { error, steps: 0, patience: if is_dear { WARM_STEPS_IF_DEAR } else { WARM_STEPS } }
    }

    /// Count a step; has the start led nowhere?
    pub fn leads_nowhere(&mut self, least: f64) -> bool {
        self.steps += 1;
        if least <= GAIN * self.error {
            (self.error, self.steps) = (least, 0);
        }
        self.steps >= self.patience
    }
}

/// Do pivots settle?
pub(super) struct Settling {
    /// Rows that the step before changed.
    changes: usize,
    /// The least error when it was last halved, and steps since.
    error: f64,
    steps: usize,
}

impl Settling {
    pub fn new(error: f64) -> Self {
        Settling { changes: usize::MAX, error, steps: 0 }
    }

    /// Begin to count steps again.
    pub fn restart(&mut self) {
        self.steps = 0;
    }

    /// Count a step that changed `now` of `rows` rows; are those too many to settle soon?
    pub fn cycles(&mut self, now: usize, rows: usize) -> bool {
        let before = std::mem::replace(&mut self.changes, now) as f64;
        let now = now as f64;
        now > FEWER * before && now > FEW_CHANGES * rows as f64
    }

    /// Count a step after which `least` is the least error; has it not been halved for too long?
    pub fn rests(&mut self, least: f64) -> bool {
        self.steps += 1;
        if least <= FEWER * self.error {
            (self.error, self.steps) = (least, 0);
        }
        self.steps >= HALVING_STEPS
    }
}

/// The error of the last sweep, to tell the pace.
pub(super) struct Pace(pub f64);

impl Pace {
    /// Note the error `now`: at the pace of the last sweep, will the `left` ones not do?
    pub fn is_too_slow(&mut self, now: f64, left: usize, tolerance: f64) -> bool {
        let pace = now / self.0;
        self.0 = now;
        now * pace.powi(left as i32) > tolerance
    }
}

/// How a stage within a time limit stands, times in seconds since the solve began.
pub(super) struct Clocked {
    pub now: f64,
    pub limit: f64,
    pub began: f64,
    pub sweeps: usize,
    pub rows: usize,
    pub bounds_move: bool,
    /// Has the stage found the best iterate so far?
    pub has_gained: bool,
}

impl Clocked {
    /// Should the stage leave the rest of the time to others?
    pub fn is_over(&self, share: Share) -> bool {
        let Clocked { now, limit, began, .. } = *self;
        match share {
            Share::All => false,
            Share::First => now >= FIRST_SHARE * limit,
            Share::UnlessVain => !self.has_gained && now >= VAIN_SHARE * limit,
            Share::BeforePivots => {
                let visit = (now - began) / (self.sweeps * self.rows) as f64;
                let pivots = cost_of_pivots(self.rows, self.bounds_move) * visit;
                now - began >= FIRST_PART * pivots && pivots <= limit - now
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_method_that_gains_goes_on() {
        let mut warm = Warm::new(false, 1.0);
        assert!((1..WARM_STEPS).all(|_| !warm.leads_nowhere(0.9)));
        // A quarter of the error in the last step that it has: it may take as many again.
        assert!(!warm.leads_nowhere(0.2));
        assert!((1..WARM_STEPS).all(|_| !warm.leads_nowhere(0.2)));
        assert!(warm.leads_nowhere(0.06));
    }

    #[test]
    fn one_dear_step_must_gain() {
        assert!(Warm::new(true, 1.0).leads_nowhere(0.3));
        assert!(!Warm::new(true, 1.0).leads_nowhere(0.25));
    }

    #[test]
    fn pivots_that_change_half_as_many_rows_settle() {
        let mut settling = Settling::new(1.0);
        assert!(!settling.cycles(400, 1000));
        assert!(!settling.cycles(200, 1000));
        assert!(settling.cycles(101, 1000));
        // Of 4,000 rows 101 are few.
        assert!(!settling.cycles(101, 4000));
        let mut settling = Settling::new(1.0);
        assert!(!settling.cycles(31, 1000) && !settling.cycles(31, 1000));
    }

    #[test]
    fn pivots_under_moving_bounds_halve_the_error() {
        let mut settling = Settling::new(1.0);
        assert!((1..HALVING_STEPS).all(|_| !settling.rests(0.6)));
        assert!(!settling.rests(0.5));
        assert!((1..HALVING_STEPS).all(|_| !settling.rests(0.4)));
        assert!(settling.rests(0.3));
    }

    #[test]
    fn sweeps_that_halve_the_error_three_times_reach_an_eighth() {
        assert!(!Pace(1.0).is_too_slow(0.5, 2, 0.125));
        assert!(Pace(1.0).is_too_slow(0.5, 2, 0.12));
        assert!(Pace(1.0).is_too_slow(1.1, 9, 0.5));
    }

    #[test]
    fn time_is_shared() {
        let half =
            Clocked { now: 0.5, limit: 1.0, began: 0.0, sweeps: 10, rows: 100, bounds_move: false, has_gained: false };
        assert!(!half.is_over(Share::All) && half.is_over(Share::First) && half.is_over(Share::UnlessVain));
        assert!(!Clocked { has_gained: true, ..half }.is_over(Share::UnlessVain));
        // A visit took 0.5 ms: pivots of 100 rows take 5000 of them, 2.5 s, and do not fit.
        assert!(!half.is_over(Share::BeforePivots));
        // With visits of 1 µs they take 5 ms and fit, and an eighth of that has gone.
        let fast = Clocked { now: 1e-3, sweeps: 10, ..half };
        assert!(fast.is_over(Share::BeforePivots));
        assert!(!Clocked { now: 5e-4, sweeps: 5, ..fast }.is_over(Share::BeforePivots));
    }
}
