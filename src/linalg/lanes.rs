//! Two doubles at once: the arithmetic of the row kernels.
//!
//! Beside `src/ffi` and `memory` the one place with `unsafe`. A row's dot product reads what its neighbour's update has
//! just written. Left to itself the compiler makes vectors of one and scalars of the other, the processor must then wait
//! for the stores, and a sweep takes more than twice as long. Here loads and stores have one width, which every x86-64 has,
//! so nothing is detected at run time: four lanes, or the shorter instructions of AVX2, gained no more than timings vary.
//! Nowhere are a product and a sum rounded as one, and other machines do the same on plain numbers in the same order:
//! same bits everywhere.

#![allow(unsafe_code)]

/// Two doubles.
#[derive(Clone, Copy)]
pub struct Two(pub(super) ops::Two);

impl Two {
    /// The same number twice.
    #[inline(always)]
    pub fn both(v: f64) -> Two {
        Two(ops::both(v))
    }

    /// Read two numbers.
    #[inline(always)]
    pub fn load(from: &[f64; 2]) -> Two {
        Two(ops::load(from))
    }

    /// Write them.
    #[inline(always)]
    pub fn store(self, to: &mut [f64; 2]) {
        ops::store(self.0, to);
    }

    /// `self + p * q`, rounded twice.
    #[inline(always)]
    pub fn add_product(self, p: Two, q: Two) -> Two {
        Two(ops::add(self.0, ops::mul(p.0, q.0)))
    }

    /// The sum of both.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        ops::sum(self.0)
    }

    /// As [`at_least`].
    #[inline(always)]
    pub fn at_least(self, least: Two) -> Two {
        Two(ops::each_larger(self.0, least.0))
    }

    /// As [`at_most`].
    #[inline(always)]
    pub fn at_most(self, most: Two) -> Two {
        Two(ops::each_smaller(self.0, most.0))
    }

    /// The first number of each.
    #[inline(always)]
    pub fn firsts(self, other: Two) -> Two {
        Two(ops::firsts(self.0, other.0))
    }

    /// The last number of each.
    #[inline(always)]
    pub fn lasts(self, other: Two) -> Two {
        Two(ops::lasts(self.0, other.0))
    }

    /// Ones where only one of `self` and `other` lies between `least` and `most`, zeros elsewhere.
    #[inline(always)]
    pub fn crossed(self, other: Two, least: Two, most: Two) -> Two {
        Two(ops::crossed(self.0, other.0, least.0, most.0))
    }

    /// Is none of them larger than the largest number, or NaN?
    #[inline(always)]
    pub fn are_below_infinity(self) -> bool {
        ops::are_below_infinity(self.0)
    }
}

impl std::ops::Add for Two {
    type Output = Two;
    #[inline(always)]
    fn add(self, other: Two) -> Two {
        Two(ops::add(self.0, other.0))
    }
}

impl std::ops::Sub for Two {
    type Output = Two;
    #[inline(always)]
    fn sub(self, other: Two) -> Two {
        Two(ops::sub(self.0, other.0))
    }
}

impl std::ops::Mul for Two {
    type Output = Two;
    #[inline(always)]
    fn mul(self, other: Two) -> Two {
        Two(ops::mul(self.0, other.0))
    }
}

impl std::ops::Div for Two {
    type Output = Two;
    #[inline(always)]
    fn div(self, other: Two) -> Two {
        Two(ops::div(self.0, other.0))
    }
}

/// `v` or, if that is larger or v is NaN, `least`: one instruction without a branch.
#[inline(always)]
pub fn at_least(v: f64, least: f64) -> f64 {
    ops::larger(v, least)
}

/// `v` or, if that is smaller or v is NaN, `most`.
#[inline(always)]
pub fn at_most(v: f64, most: f64) -> f64 {
    ops::smaller(v, most)
}

/// Ask for the cache line at `place`, which will be read soon, in the second cache: the first is too small to keep what
/// comes that early, and waits for few lines at a time. Changes nothing, waits for nothing.
#[inline(always)]
pub fn fetch<T>(place: &T) {
    ops::fetch(std::ptr::from_ref(place).cast());
}

// SAFETY, for all of them: x86-64 always has SSE2; loads and stores need no alignment, and their references are valid.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    pub type Two = __m128d;

    #[inline(always)]
    pub fn both(v: f64) -> Two {
        unsafe { _mm_set1_pd(v) }
    }
    #[inline(always)]
    pub fn load(from: &[f64; 2]) -> Two {
        unsafe { _mm_loadu_pd(from.as_ptr()) }
    }
    #[inline(always)]
    pub fn store(v: Two, to: &mut [f64; 2]) {
        unsafe { _mm_storeu_pd(to.as_mut_ptr(), v) }
    }
    #[inline(always)]
    pub fn add(p: Two, q: Two) -> Two {
        unsafe { _mm_add_pd(p, q) }
    }
    #[inline(always)]
    pub fn mul(p: Two, q: Two) -> Two {
        unsafe { _mm_mul_pd(p, q) }
    }
    #[inline(always)]
    pub fn sub(p: Two, q: Two) -> Two {
        unsafe { _mm_sub_pd(p, q) }
    }
    #[inline(always)]
    pub fn div(p: Two, q: Two) -> Two {
        unsafe { _mm_div_pd(p, q) }
    }
    #[inline(always)]
    pub fn each_larger(p: Two, q: Two) -> Two {
        unsafe { _mm_max_pd(p, q) }
    }
    #[inline(always)]
    pub fn each_smaller(p: Two, q: Two) -> Two {
        unsafe { _mm_min_pd(p, q) }
    }
    #[inline(always)]
    pub fn firsts(p: Two, q: Two) -> Two {
        unsafe { _mm_unpacklo_pd(p, q) }
    }
    #[inline(always)]
    pub fn lasts(p: Two, q: Two) -> Two {
        unsafe { _mm_unpackhi_pd(p, q) }
    }
    #[inline(always)]
    pub fn crossed(p: Two, q: Two, least: Two, most: Two) -> Two {
        unsafe {
            let before = _mm_and_pd(_mm_cmpgt_pd(p, least), _mm_cmplt_pd(p, most));
            let after = _mm_and_pd(_mm_cmpgt_pd(q, least), _mm_cmplt_pd(q, most));
            _mm_and_pd(_mm_xor_pd(before, after), _mm_set1_pd(1.0))
        }
    }
    #[inline(always)]
    pub fn are_below_infinity(v: Two) -> bool {
        unsafe { _mm_movemask_pd(_mm_cmple_pd(v, _mm_set1_pd(f64::MAX))) == 0b11 }
    }
    #[inline(always)]
    pub fn sum(v: Two) -> f64 {
        unsafe { _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v))) }
    }
    #[inline(always)]
    pub fn larger(p: f64, q: f64) -> f64 {
        unsafe { _mm_cvtsd_f64(_mm_max_sd(_mm_set_sd(p), _mm_set_sd(q))) }
    }
    #[inline(always)]
    pub fn smaller(p: f64, q: f64) -> f64 {
        unsafe { _mm_cvtsd_f64(_mm_min_sd(_mm_set_sd(p), _mm_set_sd(q))) }
    }
    #[inline(always)]
    pub fn fetch(place: *const i8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(place) }
    }
}

// Compiled for the tests everywhere, which compare the two.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
mod plain {
    pub type Two = [f64; 2];

    #[inline(always)]
    pub fn both(v: f64) -> Two {
        [v, v]
    }
    #[inline(always)]
    pub fn load(from: &[f64; 2]) -> Two {
        *from
    }
    #[inline(always)]
    pub fn store(v: Two, to: &mut [f64; 2]) {
        *to = v;
    }
    #[inline(always)]
    pub fn add(p: Two, q: Two) -> Two {
        [p[0] + q[0], p[1] + q[1]]
    }
    #[inline(always)]
    pub fn mul(p: Two, q: Two) -> Two {
        [p[0] * q[0], p[1] * q[1]]
    }
    #[inline(always)]
    pub fn sub(p: Two, q: Two) -> Two {
        [p[0] - q[0], p[1] - q[1]]
    }
    #[inline(always)]
    pub fn div(p: Two, q: Two) -> Two {
        [p[0] / q[0], p[1] / q[1]]
    }
    #[inline(always)]
    pub fn each_larger(p: Two, q: Two) -> Two {
        [larger(p[0], q[0]), larger(p[1], q[1])]
    }
    #[inline(always)]
    pub fn each_smaller(p: Two, q: Two) -> Two {
        [smaller(p[0], q[0]), smaller(p[1], q[1])]
    }
    #[inline(always)]
    pub fn firsts(p: Two, q: Two) -> Two {
        [p[0], q[0]]
    }
    #[inline(always)]
    pub fn lasts(p: Two, q: Two) -> Two {
        [p[1], q[1]]
    }
    #[inline(always)]
    pub fn crossed(p: Two, q: Two, least: Two, most: Two) -> Two {
        let between = |v: f64, c: usize| (v > least[c]) & (v < most[c]);
        [0, 1].map(|c| if between(p[c], c) != between(q[c], c) { 1.0 } else { 0.0 })
    }
    #[inline(always)]
    pub fn are_below_infinity(v: Two) -> bool {
        v[0] <= f64::MAX && v[1] <= f64::MAX
    }
    #[inline(always)]
    pub fn sum(v: Two) -> f64 {
        v[0] + v[1]
    }
    #[inline(always)]
    pub fn larger(p: f64, q: f64) -> f64 {
        if p > q {
            p
        } else {
            q
        }
    }
    #[inline(always)]
    pub fn smaller(p: f64, q: f64) -> f64 {
        if p < q {
            p
        } else {
            q
        }
    }
    #[inline(always)]
    pub fn fetch(_: *const i8) {}
}
#[cfg(not(target_arch = "x86_64"))]
use plain as ops;
#[cfg(target_arch = "x86_64")]
use sse2 as ops;

#[cfg(test)]
mod tests {
    use super::{ops, plain};

    /// Both ways give the same bits, at the edges too.
    #[test]
    fn plain_numbers_agree() {
        let edges = [0.0, -0.0, 1.5, -2.25, 1e-300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let same = |p: f64, q: f64| assert!(p.to_bits() == q.to_bits() || (p.is_nan() && q.is_nan()), "{p} {q}");
        for p in edges {
            for q in edges {
                same(ops::larger(p, q), plain::larger(p, q));
                same(ops::smaller(p, q), plain::smaller(p, q));
                let (v, w) = ([p, q], [q, 3.0]);
                let mut out = [0.0; 2];
                ops::store(ops::add(ops::load(&v), ops::mul(ops::load(&w), ops::both(q))), &mut out);
                let want = plain::add(plain::load(&v), plain::mul(plain::load(&w), plain::both(q)));
                (0..2).for_each(|k| same(out[k], want[k]));
                same(ops::sum(ops::load(&v)), plain::sum(v));
                let (a, b) = (ops::load(&v), ops::load(&w));
                for (out, want) in [
                    (ops::sub(a, b), plain::sub(v, w)),
                    (ops::div(a, b), plain::div(v, w)),
                    (ops::each_larger(a, b), plain::each_larger(v, w)),
                    (ops::each_smaller(a, b), plain::each_smaller(v, w)),
                    (ops::firsts(a, b), plain::firsts(v, w)),
                    (ops::lasts(a, b), plain::lasts(v, w)),
                    (ops::crossed(a, b, ops::both(-1.0), ops::both(p)), plain::crossed(v, w, [-1.0; 2], [p; 2])),
                    (ops::crossed(a, b, ops::both(q), ops::both(2.0)), plain::crossed(v, w, [q; 2], [2.0; 2])),
                ] {
                    let mut got = [0.0; 2];
                    ops::store(out, &mut got);
                    (0..2).for_each(|k| same(got[k], want[k]));
                }
                assert_eq!(ops::are_below_infinity(a), plain::are_below_infinity(v));
            }
        }
    }
}
