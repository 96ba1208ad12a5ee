//! The error measures on plain arrays: for engines that want to know about their own solver.

use super::guard::{disjoint, guard, out, slice, slice_mut};
use crate::error::{Error, Result, Status};
use crate::metrics::{
    check_diagonal, duality_gap_row, energy_row, fischer_burmeister_row, merit_row, natural_row, penalized_row,
};

/// The arrays every measure reads, checked.
struct Arrays<'a> {
    x: &'a [f64],
    w: &'a [f64],
    lo: &'a [f64],
    hi: &'a [f64],
}

impl Arrays<'_> {
    unsafe fn new<'a>(n: usize, x: *const f64, w: *const f64, lo: *const f64, hi: *const f64) -> Result<Arrays<'a>> {
        let arrays = unsafe {
            Arrays { x: slice(x, n, "x")?, w: slice(w, n, "w")?, lo: slice(lo, n, "lo")?, hi: slice(hi, n, "hi")? }
        };
        let refuse = |name: &str, i: usize, value: f64| {
            Err(Error::new(Status::InvalidValue, format_args!("{name}[{i}] is {value}")))
        };
        for i in 0..n {
            if !arrays.x[i].is_finite() {
                return refuse("x", i, arrays.x[i]);
            }
            if !arrays.w[i].is_finite() {
                return refuse("w", i, arrays.w[i]);
            }
            let (lo, hi) = (arrays.lo[i], arrays.hi[i]);
            if lo.is_nan() || lo == f64::INFINITY {
                return refuse("lo", i, lo);
            }
            if hi.is_nan() || hi == f64::NEG_INFINITY {
                return refuse("hi", i, hi);
            }
            if lo > hi {
                return Err(Error::new(Status::InvalidValue, format_args!("lo[{i}] = {lo} lies above hi[{i}] = {hi}")));
            }
        }
        Ok(arrays)
    }

    /// Sum `row(i, x, w, lo, hi)` in order, writing the parts if they are wanted.
    unsafe fn sum(
        &self,
        out_row_errors: *mut f64,
        out_total: *mut f64,
        row: impl Fn(usize, f64, f64, f64, f64) -> f64,
    ) -> Result<()> {
        let n = if out_row_errors.is_null() { 0 } else { self.x.len() };
        for (name, input) in [("x", self.x), ("w", self.w), ("lo", self.lo), ("hi", self.hi)] {
            disjoint((input, name), (out_row_errors, n, "out_row_errors"))?;
            disjoint((input, name), (out_total, 1, "out_total"))?;
        }
        let rows = unsafe { slice_mut(out_row_errors, n, "out_row_errors") }?;
        disjoint((rows, "out_row_errors"), (out_total, 1, "out_total"))?;
        let out_total = unsafe { out(out_total, "out_total") }?;
        let mut total = 0.0;
        for i in 0..self.x.len() {
            let e = row(i, self.x[i], self.w[i], self.lo[i], self.hi[i]);
            if let Some(out) = rows.get_mut(i) {
                *out = e;
            }
            total += e;
        }
        *out_total = total;
        Ok(())
    }
}

/// Energy error of impulses x with velocities w = A x + b, in joules (Enzenhoefer et al. 2019).
///
///   e_i = max( a/2 (x-hi)+^2, a/2 (lo-x)+^2, min(w+^2/(2a), a/2 (x-lo)+^2), min(w-^2/(2a), a/2 (hi-x)+^2) )
///
/// with a = diagonal[i], the diagonal of A; zero exactly at a solution; invariant to the choice of units and to row
/// scaling. diagonal, x, w, lo, hi: n doubles each; diagonal > 0; only infinite bounds are absent. out_row_errors: n
/// doubles, or NULL. out_total: receives the sum. Rows with bounds only are measured; mlcp_problem_measure measures
/// friction cones. Returns NO_ENERGY (diagonal <= 0), INVALID_VALUE. Any thread; allocates nothing. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_energy_error(
    n: usize,
    diagonal: *const f64,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        let diagonal = slice(diagonal, n, "diagonal")?;
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        check_diagonal(diagonal)?;
        let rows = if out_row_errors.is_null() { 0 } else { n };
        disjoint((diagonal, "diagonal"), (out_row_errors, rows, "out_row_errors"))?;
        disjoint((diagonal, "diagonal"), (out_total, 1, "out_total"))?;
        arrays.sum(out_row_errors, out_total, |i, x, w, lo, hi| energy_row(diagonal[i], x, w, lo, hi))
    })
}

/// Fischer-Burmeister residual, sum over rows of max(|phi(hi-x, w-)|, |phi(x-lo, w+)|), phi(p, q) = p + q - sqrt(p^2+q^2).
///
/// The sum adds impulses to velocities: its value depends on the units chosen. Arguments as for mlcp_energy_error.
/// Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_fischer_burmeister_error(
    n: usize,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        arrays.sum(out_row_errors, out_total, |_, x, w, lo, hi| fischer_burmeister_row(x, w, lo, hi))
    })
}

/// Natural residual, sum over rows of max(|min(hi-x, w-)|, |min(x-lo, w+)|).
///
/// Impulses and velocities are mixed: the value depends on the units chosen. Arguments as for mlcp_energy_error.
/// Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_natural_error(
    n: usize,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        arrays.sum(out_row_errors, out_total, |_, x, w, lo, hi| natural_row(x, w, lo, hi))
    })
}

/// Half the squared Fischer-Burmeister residual, the total error of Lu et al. 2013; mixed units.
///
/// Arguments as for mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_merit_error(
    n: usize,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        arrays.sum(out_row_errors, out_total, |_, x, w, lo, hi| merit_row(x, w, lo, hi))
    })
}

/// Penalised Fischer-Burmeister residual of Chen, Chen and Kanzow: lambda phi(p, q) + (1 - lambda) p+ q+ in place of phi.
///
/// lambda in (0, 1], usually 0.95. At an infinite bound only lambda phi counts. Mixed units. Other arguments as for
/// mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_penalized_error(
    n: usize,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    lambda: f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        if !(lambda > 0.0 && lambda <= 1.0) {
            return Err(Error::new(Status::InvalidValue, format_args!("lambda is {lambda}, it must be in (0, 1]")));
        }
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        arrays.sum(out_row_errors, out_total, |_, x, w, lo, hi| penalized_row(x, w, lo, hi, lambda))
    })
}

/// Duality gap, sum over rows of w+ (x-lo) + w- (hi-x), in joules.
///
/// For symmetric A and x within its bounds it bounds from above how far the energy 1/2 x^T A x + b^T x lies above its
/// minimum; +inf where w pushes towards an absent bound. Arguments as for mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
#[no_mangle]
pub unsafe extern "C" fn mlcp_duality_gap(
    n: usize,
    x: *const f64,
    w: *const f64,
    lo: *const f64,
    hi: *const f64,
    out_row_errors: *mut f64,
    out_total: *mut f64,
) -> Status {
    guard(|| unsafe {
        let arrays = Arrays::new(n, x, w, lo, hi)?;
        arrays.sum(out_row_errors, out_total, |_, x, w, lo, hi| duality_gap_row(x, w, lo, hi))
    })
}
