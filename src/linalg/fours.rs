//! Four doubles at once, for kernels that treat four things side by side.
//!
//! A [`Kernel`] is written once, over [`Lanes`], and compiled twice: for processors with 256-bit vectors, found out when
//! it runs, and on plain numbers for all others. Both do the same operations in the same order, and nowhere are a product
//! and a sum rounded as one: same bits everywhere.

use super::lanes::{at_least, at_most, Two};

/// Four doubles.
pub type Quad = [f64; 4];

/// What processors do with four doubles.
pub trait Lanes: Copy {
    /// Four doubles, where they are computed with.
    type Four: Copy;

    /// Read four numbers.
    fn load(self, from: &Quad) -> Self::Four;
    /// Write them.
    fn store(self, v: Self::Four) -> Quad;
    /// The same number four times.
    fn all(self, v: f64) -> Self::Four;
    /// `p + q`.
    fn add(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p - q`.
    fn sub(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p q`.
    fn mul(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p / q`.
    fn div(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// As [`at_least`].
    fn at_least(self, v: Self::Four, least: Self::Four) -> Self::Four;
    /// As [`at_most`].
    fn at_most(self, v: Self::Four, most: Self::Four) -> Self::Four;
    /// The first two plus `two`, the others plus zero.
    fn add_two(self, v: Self::Four, two: Two) -> Self::Four;
    /// The sum of each.
    fn sums(self, v: [Self::Four; 4]) -> Self::Four;
    /// The first three columns of four rows.
    fn columns(self, rows: [Self::Four; 4]) -> [Self::Four; 3];
    /// How many lie between `least` and `most` in one of `p` and `q` only.
    fn crossed(self, p: Self::Four, q: Self::Four, least: Self::Four, most: Self::Four) -> usize;
    /// Is none of them larger than the largest number, or NaN?
    fn are_below_infinity(self, v: Self::Four) -> bool;
}

/// What is compiled for every kind of processor. `run` is to be `inline(always)`, and so is all it calls that computes with
/// four; closures cannot be, so that there are none. Only where all is one function, the instructions are known.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// Do it.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Run a kernel with the best instructions there are.
#[inline]
pub fn with_lanes<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        struct Call<K>(pulp::x86::V3, K);
        impl<K: Kernel> pulp::NullaryFnOnce for Call<K> {
            type Output = K::Output;
            #[inline(always)]
            fn call(self) -> K::Output {
                self.1.run(self.0)
            }
        }
        return v3.vectorize(Call(v3, kernel));
    }
    kernel.run(Plain)
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use super::{Lanes, Quad, Two};
    use pulp::x86::V3;
    use std::arch::x86_64::{__m256d, _CMP_GT_OQ, _CMP_LE_OQ, _CMP_LT_OQ};

    impl Lanes for V3 {
        type Four = __m256d;

        #[inline(always)]
        fn load(self, from: &Quad) -> __m256d {
            pulp::cast(*from)
        }
        #[inline(always)]
        fn store(self, v: __m256d) -> Quad {
            pulp::cast(v)
        }
        #[inline(always)]
        fn all(self, v: f64) -> __m256d {
            self.avx._mm256_set1_pd(v)
        }
        #[inline(always)]
        fn add(self, p: __m256d, q: __m256d) -> __m256d {
            self.avx._mm256_add_pd(p, q)
        }
        #[inline(always)]
        fn sub(self, p: __m256d, q: __m256d) -> __m256d {
            self.avx._mm256_sub_pd(p, q)
        }
        #[inline(always)]
        fn mul(self, p: __m256d, q: __m256d) -> __m256d {
            self.avx._mm256_mul_pd(p, q)
        }
        #[inline(always)]
        fn div(self, p: __m256d, q: __m256d) -> __m256d {
            self.avx._mm256_div_pd(p, q)
        }
        #[inline(always)]
        fn at_least(self, v: __m256d, least: __m256d) -> __m256d {
            self.avx._mm256_max_pd(v, least)
        }
        #[inline(always)]
        fn at_most(self, v: __m256d, most: __m256d) -> __m256d {
            self.avx._mm256_min_pd(v, most)
        }
        #[inline(always)]
        fn add_two(self, v: __m256d, two: Two) -> __m256d {
            self.avx._mm256_add_pd(v, self.avx._mm256_zextpd128_pd256(two.0))
        }
        #[inline(always)]
        fn sums(self, v: [__m256d; 4]) -> __m256d {
            let (p, q) = (self.avx._mm256_hadd_pd(v[0], v[1]), self.avx._mm256_hadd_pd(v[2], v[3]));
            let halves = (self.avx._mm256_permute2f128_pd::<0x20>(p, q), self.avx._mm256_permute2f128_pd::<0x31>(p, q));
            self.avx._mm256_add_pd(halves.0, halves.1)
        }
        #[inline(always)]
        fn columns(self, rows: [__m256d; 4]) -> [__m256d; 3] {
            let avx = self.avx;
            let (p, q) = (avx._mm256_unpacklo_pd(rows[0], rows[1]), avx._mm256_unpacklo_pd(rows[2], rows[3]));
            let (r, s) = (avx._mm256_unpackhi_pd(rows[0], rows[1]), avx._mm256_unpackhi_pd(rows[2], rows[3]));
            [
                avx._mm256_permute2f128_pd::<0x20>(p, q),
                avx._mm256_permute2f128_pd::<0x20>(r, s),
                avx._mm256_permute2f128_pd::<0x31>(p, q),
            ]
        }
        #[inline(always)]
        fn crossed(self, p: __m256d, q: __m256d, least: __m256d, most: __m256d) -> usize {
            let avx = self.avx;
            let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(p, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(p, most));
            let before = avx._mm256_and_pd(above, below);
            let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(q, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(q, most));
            let after = avx._mm256_and_pd(above, below);
            avx._mm256_movemask_pd(avx._mm256_xor_pd(before, after)).count_ones() as usize
        }
        #[inline(always)]
        fn are_below_infinity(self, v: __m256d) -> bool {
            let most = self.avx._mm256_set1_pd(f64::MAX);
            self.avx._mm256_movemask_pd(self.avx._mm256_cmp_pd::<_CMP_LE_OQ>(v, most)) == 0b1111
        }
    }
}

/// Plain numbers.
#[derive(Clone, Copy)]
pub struct Plain;

#[inline(always)]
fn each(p: Quad, q: Quad, op: impl Fn(f64, f64) -> f64) -> Quad {
    [op(p[0], q[0]), op(p[1], q[1]), op(p[2], q[2]), op(p[3], q[3])]
}

impl Lanes for Plain {
    type Four = Quad;

    #[inline(always)]
    fn load(self, from: &Quad) -> Quad {
        *from
    }
    #[inline(always)]
    fn store(self, v: Quad) -> Quad {
        v
    }
    #[inline(always)]
    fn all(self, v: f64) -> Quad {
        [v; 4]
    }
    #[inline(always)]
    fn add(self, p: Quad, q: Quad) -> Quad {
        each(p, q, |p, q| p + q)
    }
    #[inline(always)]
    fn sub(self, p: Quad, q: Quad) -> Quad {
        each(p, q, |p, q| p - q)
    }
    #[inline(always)]
    fn mul(self, p: Quad, q: Quad) -> Quad {
        each(p, q, |p, q| p * q)
    }
    #[inline(always)]
    fn div(self, p: Quad, q: Quad) -> Quad {
        each(p, q, |p, q| p / q)
    }
    #[inline(always)]
    fn at_least(self, v: Quad, least: Quad) -> Quad {
        each(v, least, at_least)
    }
    #[inline(always)]
    fn at_most(self, v: Quad, most: Quad) -> Quad {
        each(v, most, at_most)
    }
    #[inline(always)]
    fn add_two(self, v: Quad, two: Two) -> Quad {
        let mut pair = [0.0; 2];
        two.store(&mut pair);
        self.add(v, [pair[0], pair[1], 0.0, 0.0])
    }
    #[inline(always)]
    fn sums(self, v: [Quad; 4]) -> Quad {
        v.map(|v| (v[0] + v[1]) + (v[2] + v[3]))
    }
    #[inline(always)]
    fn columns(self, rows: [Quad; 4]) -> [Quad; 3] {
        [0, 1, 2].map(|c| rows.map(|row| row[c]))
    }
    #[inline(always)]
    fn crossed(self, p: Quad, q: Quad, least: Quad, most: Quad) -> usize {
        let between = |v: f64, c: usize| v > least[c] && v < most[c];
        (0..4).filter(|&c| between(p[c], c) != between(q[c], c)).count()
    }
    #[inline(always)]
    fn are_below_infinity(self, v: Quad) -> bool {
        v.iter().all(|&v| v <= f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on numbers that turn around among themselves and between the lanes.
    struct All(Quad, Quad, usize);

    impl Kernel for All {
        type Output = (Vec<Quad>, Vec<usize>);

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Self::Output {
            let (p, q) = (lanes.load(&self.0), lanes.load(&self.1));
            let s = lanes.all(self.0[self.2]);
            let two = Two::load(&[self.1[1], self.0[2]]);
            let mut out = vec![lanes.add(p, q), lanes.sub(p, q), lanes.mul(p, q), lanes.div(p, q)];
            out.extend([lanes.at_least(p, q), lanes.at_most(p, q), lanes.add_two(p, two), lanes.sums([p, q, s, q])]);
            out.extend(lanes.columns([p, q, s, p]));
            let counts = vec![
                lanes.crossed(p, q, lanes.all(-1.0), s),
                lanes.crossed(q, s, p, lanes.all(2.0)),
                usize::from(lanes.are_below_infinity(p)),
                usize::from(lanes.are_below_infinity(q)),
            ];
            (out.into_iter().map(|v| lanes.store(v)).collect(), counts)
        }
    }

    /// Plain numbers and vectors give the same bits, at the edges too.
    #[test]
    fn plain_numbers_agree() {
        let edges = [0.0, -0.0, 1.5, -2.25, 1e-300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1];
        for k in 0..edges.len() * edges.len() {
            let at = |k: usize| edges[k % edges.len()];
            let (p, q) = ([at(k), at(k + 1), at(k / 3), 0.7], [at(k / edges.len()), at(k + 4), 1.0 / 3.0, at(k / 7)]);
            let (out, counts) = with_lanes(All(p, q, k % 4));
            let (want, want_counts) = All(p, q, k % 4).run(Plain);
            assert_eq!(counts, want_counts, "{p:?} {q:?}");
            for (v, w) in out.iter().flatten().zip(want.iter().flatten()) {
                assert!(v.to_bits() == w.to_bits() || (v.is_nan() && w.is_nan()), "{v} {w}: {p:?} {q:?}");
            }
        }
    }
}
