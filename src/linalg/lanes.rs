//! Two doubles at once: the arithmetic of the row kernels.
//!
//! Beside `src/ffi` the one place with `unsafe`. A row's dot product reads what its neighbour's update has just written.
//! Left to itself the compiler makes vectors of one and scalars of the other, the processor must then wait for the
//! stores, and a sweep takes more than twice as long. Here loads and stores have one width, which every x86-64 has, so
//! nothing is detected at run time: four lanes, or the shorter instructions of AVX2, gained no more than timings vary.
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
}

impl std::ops::Add for Two {
    type Output = Two;
    #[inline(always)]
    fn add(self, other: Two) -> Two {
        Two(ops::add(self.0, other.0))
    }
}

impl std::ops::Mul for Two {
    type Output = Two;
    #[inline(always)]
    fn mul(self, other: Two) -> Two {
        Two(ops::mul(self.0, other.0))
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

/// Ask for the cache line at `place`, which will be read later. Changes nothing, waits for nothing.
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

/// Processors with vectors of eight doubles; only [`Wide::find`] makes one, so whoever has one may use them.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Wide(());

// SAFETY, for all of it: a `Wide` exists only where the processor has these instructions; loads and stores need no
// alignment, and masks keep them inside their references.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::super::eights::{Kernel, Lanes, Octet};
    use super::Wide;
    use std::arch::x86_64::*;

    /// The first six of eight lanes.
    const SIX: __mmask8 = 0b11_1111;

    impl Wide {
        /// If the processor has them.
        #[inline]
        pub fn find() -> Option<Wide> {
            let has = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("bmi2");
            has.then_some(Wide(()))
        }

        /// Run a kernel compiled for them.
        #[inline]
        pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
            #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512dq,avx512vl")]
            #[inline]
            fn compiled<K: Kernel>(kernel: K, wide: Wide) -> K::Output {
                #[repr(align(64))]
                struct Line(#[allow(dead_code)] u8);
                // What there is no register for goes to the stack, which is aligned only if a variable asks for it.
                std::hint::black_box(&Line(0));
                kernel.run(wide)
            }
            unsafe { compiled(kernel, self) }
        }
    }

    impl Wide {
        /// Six numbers that were not written lately; what is beyond is zero.
        #[inline(always)]
        fn row(self, from: &[f64; 6]) -> __m512d {
            unsafe { _mm512_maskz_loadu_pd(SIX, from.as_ptr()) }
        }

        /// The first and third quarters of both.
        #[inline(always)]
        fn even(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_shuffle_f64x2::<0b10_00_10_00>(p, q) }
        }

        /// The second and fourth quarters of both.
        #[inline(always)]
        fn odd(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_shuffle_f64x2::<0b11_01_11_01>(p, q) }
        }

        /// Four numbers each.
        #[inline(always)]
        fn pair(self, p: &[f64; 4], q: &[f64; 4]) -> __m512d {
            unsafe {
                let p = _mm512_castpd256_pd512(_mm256_loadu_pd(p.as_ptr()));
                _mm512_insertf64x4::<1>(p, _mm256_loadu_pd(q.as_ptr()))
            }
        }

        /// The lower halves of both plus their upper halves.
        #[inline(always)]
        fn fold(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe {
                let lower = _mm512_insertf64x4::<1>(p, _mm512_castpd512_pd256(q));
                _mm512_add_pd(lower, _mm512_shuffle_f64x2::<0b11_10_11_10>(p, q))
            }
        }

        /// Neighbours added: of p in the even places, of q in the odd ones.
        #[inline(always)]
        fn neighbours(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_add_pd(_mm512_unpacklo_pd(p, q), _mm512_unpackhi_pd(p, q)) }
        }
    }

    impl Lanes for Wide {
        type Eight = __m512d;
        type Six = __m512d;
        type Products = __m512d;

        #[inline(always)]
        fn load(self, from: &Octet) -> __m512d {
            unsafe { _mm512_loadu_pd(from.as_ptr()) }
        }
        #[inline(always)]
        fn store(self, v: __m512d) -> Octet {
            let mut to = [0.0; 8];
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), v) };
            to
        }
        #[inline(always)]
        fn all(self, v: f64) -> __m512d {
            unsafe { _mm512_set1_pd(v) }
        }
        #[inline(always)]
        fn add(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_add_pd(p, q) }
        }
        #[inline(always)]
        fn sub(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_sub_pd(p, q) }
        }
        #[inline(always)]
        fn mul(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_mul_pd(p, q) }
        }
        #[inline(always)]
        fn div(self, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_div_pd(p, q) }
        }
        #[inline(always)]
        fn at_least(self, v: __m512d, least: __m512d) -> __m512d {
            unsafe { _mm512_max_pd(v, least) }
        }
        #[inline(always)]
        fn at_most(self, v: __m512d, most: __m512d) -> __m512d {
            unsafe { _mm512_min_pd(v, most) }
        }
        #[inline(always)]
        fn where_above(self, sign: __m512d, p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(sign, _mm512_setzero_pd()), q, p) }
        }
        #[inline(always)]
        fn crossed(self, p: __m512d, q: __m512d, least: __m512d, most: __m512d) -> usize {
            unsafe {
                let (before, after) =
                    (_mm512_cmp_pd_mask::<_CMP_GT_OQ>(p, least), _mm512_cmp_pd_mask::<_CMP_GT_OQ>(q, least));
                let before = _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(before, p, most);
                let after = _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(after, q, most);
                (before ^ after).count_ones() as usize
            }
        }
        #[inline(always)]
        fn are_below_infinity(self, v: __m512d) -> bool {
            unsafe { _mm512_cmp_pd_mask::<_CMP_LE_OQ>(v, _mm512_set1_pd(f64::MAX)) == u8::MAX }
        }
        #[inline(always)]
        fn columns(self, rows: [&[f64; 4]; 8]) -> [__m512d; 3] {
            unsafe {
                let (a, b) = (self.pair(rows[0], rows[2]), self.pair(rows[1], rows[3]));
                let (c, d) = (self.pair(rows[4], rows[6]), self.pair(rows[5], rows[7]));
                let (p, q) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
                let (r, s) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
                [self.even(p, q), self.even(r, s), self.odd(p, q)]
            }
        }
        /// In two pieces, as they are written: a load may not be served by two stores that are still on their way.
        #[inline(always)]
        fn six(self, from: &[f64; 6]) -> __m512d {
            unsafe {
                let four = _mm512_zextpd256_pd512(_mm256_loadu_pd(from.as_ptr()));
                _mm512_insertf64x2::<2>(four, _mm_loadu_pd(from[4..].as_ptr()))
            }
        }
        #[inline(always)]
        fn store_six(self, v: __m512d, to: &mut [f64; 6]) {
            unsafe {
                _mm256_storeu_pd(to.as_mut_ptr(), _mm512_castpd512_pd256(v));
                _mm_storeu_pd(to[4..].as_mut_ptr(), _mm512_extractf64x2_pd::<2>(v));
            }
        }
        #[inline(always)]
        fn add_multiple(self, v: __m512d, k: &[f64; 6], x: f64) -> __m512d {
            unsafe { _mm512_add_pd(v, _mm512_mul_pd(self.row(k), _mm512_set1_pd(x))) }
        }
        #[inline(always)]
        fn products(self, k: &[f64; 6], l: &[f64; 6], p: __m512d, q: __m512d) -> __m512d {
            unsafe { _mm512_add_pd(_mm512_mul_pd(self.row(k), p), _mm512_mul_pd(self.row(l), q)) }
        }
        #[inline(always)]
        fn sums(self, v: [__m512d; 8]) -> __m512d {
            unsafe {
                // The last step takes them apart in this order.
                let (p, q) = (self.fold(v[0], v[2]), self.fold(v[1], v[3]));
                let (r, s) = (self.fold(v[4], v[6]), self.fold(v[5], v[7]));
                let (p, r) = (self.neighbours(p, q), self.neighbours(r, s));
                _mm512_add_pd(self.even(p, r), self.odd(p, r))
            }
        }
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
            }
        }
    }
}
