//! Solves against the clock on a machine that others use too: one that had to wait for a core did not have its time, and
//! is done again.

use mlcp::{Engine, Problem, Report, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Tries at most; the last one is taken as it is, and counted.
const TRIES: usize = 5;
/// The share of the budget that may be lost.
const LOST: f64 = 0.05;

static DISTURBED: AtomicUsize = AtomicUsize::new(0);
static ALLOWED: AtomicUsize = AtomicUsize::new(0);

/// From now on tries in vain may take this many seconds together; then every solve has one.
pub fn allow(seconds: f64) {
    ALLOWED.store((1e6 * seconds) as usize, Ordering::Relaxed);
}

/// Solves of this process that had to wait in every try.
pub fn disturbed() -> usize {
    DISTURBED.load(Ordering::Relaxed)
}

/// How long this thread has waited for a core, where the system tells (Linux).
fn waited() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Solve; within a time limit, undisturbed if possible.
pub fn solve(engine: &mut Engine, problem: &Problem, start: Option<&[f64]>) -> Result<Report> {
    let limit = engine.settings().time_limit;
    if limit == 0.0 {
        return engine.solve(problem, start, None).copied();
    }
    let mut tries = 1;
    loop {
        let before = waited();
        let report = engine.solve(problem, start, None).copied()?;
        let lost = waited().zip(before).map_or(0.0, |(after, before)| (after - before).as_secs_f64());
        if lost <= LOST * limit {
            return Ok(report);
        }
        let allowed = ALLOWED.load(Ordering::Relaxed).saturating_sub((1e6 * report.seconds) as usize);
        ALLOWED.store(allowed, Ordering::Relaxed);
        if tries == TRIES || allowed == 0 {
            DISTURBED.fetch_add(1, Ordering::Relaxed);
            return Ok(report);
        }
        tries += 1;
        // A new slice of time.
        std::thread::yield_now();
    }
}
