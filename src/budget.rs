//! A cheap token that tells long work how much time is left.

use std::time::{Duration, Instant};

/// The deadline of a solve, if it has one. Steps that may take long ask [`Budget::spent`] now and then.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// None: nobody asks how long it takes.
    start: Option<Instant>,
    deadline: Option<Instant>,
}

impl Budget {
    /// Start the clock; `seconds` = 0 means no limit.
    pub fn start(seconds: f64) -> Self {
        let start = Instant::now();
        // A limit beyond what the clock can represent is no limit.
        let limit = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0);
        Budget { start: Some(start), deadline: limit.and_then(|d| start.checked_add(d)) }
    }

    /// No limit.
    pub fn unlimited() -> Self {
        Budget::start(0.0)
    }

    /// No limit, and no look at the clock, which takes as long as a hundred operations.
    pub fn untimed() -> Self {
        Budget { start: None, deadline: None }
    }

    /// Is there a deadline, and has it passed?
    pub fn spent(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Seconds until the deadline, if there is one; 0 when it has passed.
    pub fn remaining(&self) -> Option<f64> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// Seconds since the start; 0 if it was not noted.
    pub fn seconds(&self) -> f64 {
        self.start.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}
