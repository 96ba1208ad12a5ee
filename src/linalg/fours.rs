//! Four doubles at once, for kernels that treat four things side by side.
//!
//! A [`Kernel`] is written once, over [`Lanes`], and compiled twice: for processors with 256-bit vectors, found out when
//! it runs, and in pairs ([`Two`]) for all others. Both do the same operations in the same order, and nowhere are a product
//! and a sum rounded as one: same bits everywhere.

use super::lanes::Two;

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
    /// One of the four numbers four times.
    fn spread<const LANE: usize>(self, v: Self::Four) -> Self::Four;
    /// `p + q`.
    fn add(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p - q`.
    fn sub(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p q`.
    fn mul(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// `p / q`.
    fn div(self, p: Self::Four, q: Self::Four) -> Self::Four;
    /// As [`super::at_least`].
    fn at_least(self, v: Self::Four, least: Self::Four) -> Self::Four;
    /// As [`super::at_most`].
    fn at_most(self, v: Self::Four, most: Self::Four) -> Self::Four;
    /// Two and two.
    fn join(self, first: Two, last: Two) -> Self::Four;
    /// The first two and the last two.
    fn split(self, v: Self::Four) -> [Two; 2];
    /// The sum of each.
    fn sums(self, v: [Self::Four; 4]) -> Self::Four;
    /// The columns of four rows.
    fn columns(self, rows: [Self::Four; 4]) -> [Self::Four; 4];
    /// Ones where only one of `p` and `q` lies between `least` and `most`, zeros elsewhere.
    fn crossed(self, p: Self::Four, q: Self::Four, least: Self::Four, most: Self::Four) -> Self::Four;
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

/// Four rows times x. What stands first comes in last: who has just found it need not wait for the others.
#[inline(always)]
pub fn products<L: Lanes>(lanes: L, rows: [&[Quad]; 4], x: &[Quad]) -> L::Four {
    let mut sums = [lanes.all(0.0); 4];
    let mut whole = rows;
    for r in 0..4 {
        whole[r] = &rows[r][..x.len()];
    }
    for c in (0..x.len()).rev() {
        let x = lanes.load(&x[c]);
        for r in 0..4 {
            sums[r] = lanes.add(sums[r], lanes.mul(lanes.load(&whole[r][c]), x));
        }
    }
    lanes.sums(sums)
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
        fn spread<const LANE: usize>(self, v: __m256d) -> __m256d {
            match LANE {
                0 => self.avx2._mm256_permute4x64_pd::<0b00_00_00_00>(v),
                1 => self.avx2._mm256_permute4x64_pd::<0b01_01_01_01>(v),
                2 => self.avx2._mm256_permute4x64_pd::<0b10_10_10_10>(v),
                _ => self.avx2._mm256_permute4x64_pd::<0b11_11_11_11>(v),
            }
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
        fn join(self, first: Two, last: Two) -> __m256d {
            self.avx._mm256_insertf128_pd::<1>(self.avx._mm256_castpd128_pd256(first.0), last.0)
        }
        #[inline(always)]
        fn split(self, v: __m256d) -> [Two; 2] {
            [Two(self.avx._mm256_castpd256_pd128(v)), Two(self.avx._mm256_extractf128_pd::<1>(v))]
        }
        #[inline(always)]
        fn sums(self, v: [__m256d; 4]) -> __m256d {
            let (p, q) = (self.avx._mm256_hadd_pd(v[0], v[1]), self.avx._mm256_hadd_pd(v[2], v[3]));
            let halves = (self.avx._mm256_permute2f128_pd::<0x20>(p, q), self.avx._mm256_permute2f128_pd::<0x31>(p, q));
            self.avx._mm256_add_pd(halves.0, halves.1)
        }
        #[inline(always)]
        fn columns(self, rows: [__m256d; 4]) -> [__m256d; 4] {
            let avx = self.avx;
            let (p, q) = (avx._mm256_unpacklo_pd(rows[0], rows[1]), avx._mm256_unpacklo_pd(rows[2], rows[3]));
            let (r, s) = (avx._mm256_unpackhi_pd(rows[0], rows[1]), avx._mm256_unpackhi_pd(rows[2], rows[3]));
            [
                avx._mm256_permute2f128_pd::<0x20>(p, q),
                avx._mm256_permute2f128_pd::<0x20>(r, s),
                avx._mm256_permute2f128_pd::<0x31>(p, q),
                avx._mm256_permute2f128_pd::<0x31>(r, s),
            ]
        }
        #[inline(always)]
        fn crossed(self, p: __m256d, q: __m256d, least: __m256d, most: __m256d) -> __m256d {
            let avx = self.avx;
            let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(p, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(p, most));
            let before = avx._mm256_and_pd(above, below);
            let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(q, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(q, most));
            let after = avx._mm256_and_pd(above, below);
            avx._mm256_and_pd(avx._mm256_xor_pd(before, after), avx._mm256_set1_pd(1.0))
        }
        #[inline(always)]
        fn are_below_infinity(self, v: __m256d) -> bool {
            let most = self.avx._mm256_set1_pd(f64::MAX);
            self.avx._mm256_movemask_pd(self.avx._mm256_cmp_pd::<_CMP_LE_OQ>(v, most)) == 0b1111
        }
    }
}

/// Two pairs, which every processor has.
#[derive(Clone, Copy)]
pub struct Plain;

impl Lanes for Plain {
    type Four = [Two; 2];

    #[inline(always)]
    fn load(self, from: &Quad) -> [Two; 2] {
        [Two::load(&[from[0], from[1]]), Two::load(&[from[2], from[3]])]
    }
    #[inline(always)]
    fn store(self, v: [Two; 2]) -> Quad {
        let mut to = [[0.0; 2]; 2];
        v[0].store(&mut to[0]);
        v[1].store(&mut to[1]);
        [to[0][0], to[0][1], to[1][0], to[1][1]]
    }
    #[inline(always)]
    fn all(self, v: f64) -> [Two; 2] {
        [Two::both(v); 2]
    }
    #[inline(always)]
    fn spread<const LANE: usize>(self, v: [Two; 2]) -> [Two; 2] {
        let two = v[LANE / 2];
        [if LANE % 2 == 1 { two.lasts(two) } else { two.firsts(two) }; 2]
    }
    #[inline(always)]
    fn add(self, p: [Two; 2], q: [Two; 2]) -> [Two; 2] {
        [p[0] + q[0], p[1] + q[1]]
    }
    #[inline(always)]
    fn sub(self, p: [Two; 2], q: [Two; 2]) -> [Two; 2] {
        [p[0] - q[0], p[1] - q[1]]
    }
    #[inline(always)]
    fn mul(self, p: [Two; 2], q: [Two; 2]) -> [Two; 2] {
        [p[0] * q[0], p[1] * q[1]]
    }
    #[inline(always)]
    fn div(self, p: [Two; 2], q: [Two; 2]) -> [Two; 2] {
        [p[0] / q[0], p[1] / q[1]]
    }
    #[inline(always)]
    fn at_least(self, v: [Two; 2], least: [Two; 2]) -> [Two; 2] {
        [v[0].at_least(least[0]), v[1].at_least(least[1])]
    }
    #[inline(always)]
    fn at_most(self, v: [Two; 2], most: [Two; 2]) -> [Two; 2] {
        [v[0].at_most(most[0]), v[1].at_most(most[1])]
    }
    #[inline(always)]
    fn join(self, first: Two, last: Two) -> [Two; 2] {
        [first, last]
    }
    #[inline(always)]
    fn split(self, v: [Two; 2]) -> [Two; 2] {
        v
    }
    #[inline(always)]
    fn sums(self, v: [[Two; 2]; 4]) -> [Two; 2] {
        [sums_of_two(v[0], v[1]), sums_of_two(v[2], v[3])]
    }
    #[inline(always)]
    fn columns(self, rows: [[Two; 2]; 4]) -> [[Two; 2]; 4] {
        let [p, q, r, s] = rows;
        [
            [p[0].firsts(q[0]), r[0].firsts(s[0])],
            [p[0].lasts(q[0]), r[0].lasts(s[0])],
            [p[1].firsts(q[1]), r[1].firsts(s[1])],
            [p[1].lasts(q[1]), r[1].lasts(s[1])],
        ]
    }
    #[inline(always)]
    fn crossed(self, p: [Two; 2], q: [Two; 2], least: [Two; 2], most: [Two; 2]) -> [Two; 2] {
        [p[0].crossed(q[0], least[0], most[0]), p[1].crossed(q[1], least[1], most[1])]
    }
    #[inline(always)]
    fn are_below_infinity(self, v: [Two; 2]) -> bool {
        v[0].are_below_infinity() & v[1].are_below_infinity()
    }
}

/// The sums of four and of four more.
#[inline(always)]
fn sums_of_two(p: [Two; 2], q: [Two; 2]) -> Two {
    (p[0].firsts(q[0]) + p[0].lasts(q[0])) + (p[1].firsts(q[1]) + p[1].lasts(q[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on numbers that turn around among themselves and between the lanes.
    struct All(Quad, Quad, usize);

    impl Kernel for All {
        type Output = (Vec<Quad>, Vec<bool>);

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Self::Output {
            let (p, q) = (lanes.load(&self.0), lanes.load(&self.1));
            let s = lanes.all(self.0[self.2]);
            let two = Two::load(&[self.1[1], self.0[2]]);
            let mut out = vec![lanes.add(p, q), lanes.sub(p, q), lanes.mul(p, q), lanes.div(p, q)];
            out.extend([lanes.at_least(p, q), lanes.at_most(p, q), lanes.sums([p, q, s, q])]);
            out.extend([lanes.join(two, lanes.split(p)[1]), lanes.join(lanes.split(q)[1], lanes.split(p)[0])]);
            out.extend(lanes.columns([p, q, s, p]));
            out.extend([lanes.spread::<0>(p), lanes.spread::<1>(p), lanes.spread::<2>(p), lanes.spread::<3>(p)]);
            out.extend([lanes.crossed(p, q, lanes.all(-1.0), s), lanes.crossed(q, s, p, lanes.all(2.0))]);
            let below = vec![lanes.are_below_infinity(p), lanes.are_below_infinity(q)];
            (out.into_iter().map(|v| lanes.store(v)).collect(), below)
        }
    }

    /// Pairs and fours give the same bits, at the edges too.
    #[test]
    fn plain_numbers_agree() {
        let edges = [0.0, -0.0, 1.5, -2.25, 1e-300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1];
        for k in 0..edges.len() * edges.len() {
            let at = |k: usize| edges[k % edges.len()];
            let (p, q) = ([at(k), at(k + 1), at(k / 3), 0.7], [at(k / edges.len()), at(k + 4), 1.0 / 3.0, at(k / 7)]);
            let (out, below) = with_lanes(All(p, q, k % 4));
            let (want, want_below) = All(p, q, k % 4).run(Plain);
            assert_eq!(below, want_below, "{p:?} {q:?}");
            for (v, w) in out.iter().flatten().zip(want.iter().flatten()) {
                assert!(v.to_bits() == w.to_bits() || (v.is_nan() && w.is_nan()), "{v} {w}: {p:?} {q:?}");
            }
        }
    }
}
