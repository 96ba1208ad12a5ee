//! Eight doubles at once, for kernels that treat eight things side by side.
//!
//! A [`Kernel`] is written once, over [`Lanes`], and compiled three times: for processors with 512-bit vectors (`lanes.rs`)
//! and with 256-bit ones, found out when it runs, and on plain numbers for all others. All do the same operations in the
//! same order, and nowhere are a product and a sum rounded as one: same bits everywhere.

use super::lanes::{at_least, at_most};

/// Eight doubles.
pub type Octet = [f64; 8];

/// What processors do with eight doubles, and with the six and twelve numbers of bodies and rows.
pub trait Lanes: Copy {
    /// Eight doubles, where they are computed with.
    type Eight: Copy;
    /// Six doubles.
    type Six: Copy;
    /// Twelve products on their way to their sum.
    type Products: Copy;

    /// Read eight numbers.
    fn load(self, from: &Octet) -> Self::Eight;
    /// Write them.
    fn store(self, v: Self::Eight) -> Octet;
    /// The same number eight times.
    fn all(self, v: f64) -> Self::Eight;
    /// `p + q`.
    fn add(self, p: Self::Eight, q: Self::Eight) -> Self::Eight;
    /// `p - q`.
    fn sub(self, p: Self::Eight, q: Self::Eight) -> Self::Eight;
    /// `p q`.
    fn mul(self, p: Self::Eight, q: Self::Eight) -> Self::Eight;
    /// `p / q`.
    fn div(self, p: Self::Eight, q: Self::Eight) -> Self::Eight;
    /// As [`at_least`].
    fn at_least(self, v: Self::Eight, least: Self::Eight) -> Self::Eight;
    /// As [`at_most`].
    fn at_most(self, v: Self::Eight, most: Self::Eight) -> Self::Eight;
    /// `p` where `sign` is above zero, else `q`.
    fn where_above(self, sign: Self::Eight, p: Self::Eight, q: Self::Eight) -> Self::Eight;
    /// How many lie between `least` and `most` in one of `p` and `q` only.
    fn crossed(self, p: Self::Eight, q: Self::Eight, least: Self::Eight, most: Self::Eight) -> usize;
    /// Is none of them larger than the largest number, or NaN?
    fn are_below_infinity(self, v: Self::Eight) -> bool;

    /// The first three columns of eight rows.
    fn columns(self, rows: [&[f64; 4]; 8]) -> [Self::Eight; 3];

    /// Read six numbers.
    fn six(self, from: &[f64; 6]) -> Self::Six;
    /// Write them.
    fn store_six(self, v: Self::Six, to: &mut [f64; 6]);
    /// `v + k x`.
    fn add_multiple(self, v: Self::Six, k: &[f64; 6], x: f64) -> Self::Six;
    /// `k p` and `l q`, entry by entry.
    fn products(self, k: &[f64; 6], l: &[f64; 6], p: Self::Six, q: Self::Six) -> Self::Products;
    /// The sum of each, in the order of `plain_sum` in this file.
    fn sums(self, v: [Self::Products; 8]) -> Self::Eight;
}

/// What is compiled for every kind of processor. `run` is to be `inline(always)`, and so is all it calls that computes with
/// eight; closures cannot be, so that there are none. Only where all is one function, the instructions are known.
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
    {
        if let Some(wide) = super::lanes::Wide::find() {
            return wide.run(kernel);
        }
        if let Some(v3) = pulp::x86::V3::try_new() {
            return with_v3(v3, kernel);
        }
    }
    kernel.run(Plain)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn with_v3<K: Kernel>(v3: pulp::x86::V3, kernel: K) -> K::Output {
    struct Call<K>(pulp::x86::V3, K);
    impl<K: Kernel> pulp::NullaryFnOnce for Call<K> {
        type Output = K::Output;
        #[inline(always)]
        fn call(self) -> K::Output {
            self.1.run(self.0)
        }
    }
    v3.vectorize(Call(v3, kernel))
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use super::{Lanes, Octet};
    use pulp::x86::V3;
    use std::arch::x86_64::{__m128d, __m256d, _CMP_GT_OQ, _CMP_LE_OQ, _CMP_LT_OQ};

    /// Four and four.
    #[derive(Clone, Copy)]
    pub struct Eight(__m256d, __m256d);
    /// Four and two.
    #[derive(Clone, Copy)]
    pub struct Six(__m256d, __m128d);

    #[inline(always)]
    fn split(v: &[f64; 6]) -> Six {
        let [a, b, c, d, e, f] = *v;
        Six(pulp::cast([a, b, c, d]), pulp::cast([e, f]))
    }

    #[inline(always)]
    fn columns(v3: V3, rows: [&[f64; 4]; 4]) -> [__m256d; 3] {
        let avx = v3.avx;
        let (a, b): (__m256d, __m256d) = (pulp::cast(*rows[0]), pulp::cast(*rows[1]));
        let (c, d): (__m256d, __m256d) = (pulp::cast(*rows[2]), pulp::cast(*rows[3]));
        let (p, q) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpacklo_pd(c, d));
        let (r, s) = (avx._mm256_unpackhi_pd(a, b), avx._mm256_unpackhi_pd(c, d));
        [
            avx._mm256_permute2f128_pd::<0x20>(p, q),
            avx._mm256_permute2f128_pd::<0x20>(r, s),
            avx._mm256_permute2f128_pd::<0x31>(p, q),
        ]
    }

    #[inline(always)]
    fn sums(v3: V3, v: [__m256d; 4]) -> __m256d {
        let avx = v3.avx;
        let (p, q) = (avx._mm256_hadd_pd(v[0], v[1]), avx._mm256_hadd_pd(v[2], v[3]));
        avx._mm256_add_pd(avx._mm256_permute2f128_pd::<0x20>(p, q), avx._mm256_permute2f128_pd::<0x31>(p, q))
    }

    #[inline(always)]
    fn crossed(v3: V3, p: __m256d, q: __m256d, least: __m256d, most: __m256d) -> usize {
        let avx = v3.avx;
        let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(p, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(p, most));
        let before = avx._mm256_and_pd(above, below);
        let (above, below) = (avx._mm256_cmp_pd::<_CMP_GT_OQ>(q, least), avx._mm256_cmp_pd::<_CMP_LT_OQ>(q, most));
        let after = avx._mm256_and_pd(above, below);
        avx._mm256_movemask_pd(avx._mm256_xor_pd(before, after)).count_ones() as usize
    }

    #[inline(always)]
    fn select(v3: V3, sign: __m256d, p: __m256d, q: __m256d) -> __m256d {
        let above = v3.avx._mm256_cmp_pd::<_CMP_GT_OQ>(sign, v3.avx._mm256_setzero_pd());
        v3.avx._mm256_blendv_pd(q, p, above)
    }

    #[inline(always)]
    fn are_below_infinity(v3: V3, v: __m256d) -> bool {
        let most = v3.avx._mm256_set1_pd(f64::MAX);
        v3.avx._mm256_movemask_pd(v3.avx._mm256_cmp_pd::<_CMP_LE_OQ>(v, most)) == 0b1111
    }

    impl Lanes for V3 {
        type Eight = Eight;
        type Six = Six;
        type Products = __m256d;

        #[inline(always)]
        fn load(self, from: &Octet) -> Eight {
            let [a, b, c, d, e, f, g, h] = *from;
            Eight(pulp::cast([a, b, c, d]), pulp::cast([e, f, g, h]))
        }
        #[inline(always)]
        fn store(self, v: Eight) -> Octet {
            let ([a, b, c, d], [e, f, g, h]): ([f64; 4], [f64; 4]) = (pulp::cast(v.0), pulp::cast(v.1));
            [a, b, c, d, e, f, g, h]
        }
        #[inline(always)]
        fn all(self, v: f64) -> Eight {
            Eight(self.avx._mm256_set1_pd(v), self.avx._mm256_set1_pd(v))
        }
        #[inline(always)]
        fn add(self, p: Eight, q: Eight) -> Eight {
            Eight(self.avx._mm256_add_pd(p.0, q.0), self.avx._mm256_add_pd(p.1, q.1))
        }
        #[inline(always)]
        fn sub(self, p: Eight, q: Eight) -> Eight {
            Eight(self.avx._mm256_sub_pd(p.0, q.0), self.avx._mm256_sub_pd(p.1, q.1))
        }
        #[inline(always)]
        fn mul(self, p: Eight, q: Eight) -> Eight {
            Eight(self.avx._mm256_mul_pd(p.0, q.0), self.avx._mm256_mul_pd(p.1, q.1))
        }
        #[inline(always)]
        fn div(self, p: Eight, q: Eight) -> Eight {
            Eight(self.avx._mm256_div_pd(p.0, q.0), self.avx._mm256_div_pd(p.1, q.1))
        }
        #[inline(always)]
        fn at_least(self, v: Eight, least: Eight) -> Eight {
            Eight(self.avx._mm256_max_pd(v.0, least.0), self.avx._mm256_max_pd(v.1, least.1))
        }
        #[inline(always)]
        fn at_most(self, v: Eight, most: Eight) -> Eight {
            Eight(self.avx._mm256_min_pd(v.0, most.0), self.avx._mm256_min_pd(v.1, most.1))
        }
        #[inline(always)]
        fn where_above(self, sign: Eight, p: Eight, q: Eight) -> Eight {
            Eight(select(self, sign.0, p.0, q.0), select(self, sign.1, p.1, q.1))
        }
        #[inline(always)]
        fn crossed(self, p: Eight, q: Eight, least: Eight, most: Eight) -> usize {
            crossed(self, p.0, q.0, least.0, most.0) + crossed(self, p.1, q.1, least.1, most.1)
        }
        #[inline(always)]
        fn are_below_infinity(self, v: Eight) -> bool {
            are_below_infinity(self, v.0) & are_below_infinity(self, v.1)
        }
        #[inline(always)]
        fn columns(self, [a, b, c, d, e, f, g, h]: [&[f64; 4]; 8]) -> [Eight; 3] {
            let (p, q) = (columns(self, [a, b, c, d]), columns(self, [e, f, g, h]));
            [Eight(p[0], q[0]), Eight(p[1], q[1]), Eight(p[2], q[2])]
        }
        #[inline(always)]
        fn six(self, from: &[f64; 6]) -> Six {
            split(from)
        }
        #[inline(always)]
        fn store_six(self, v: Six, to: &mut [f64; 6]) {
            let ([a, b, c, d], [e, f]): ([f64; 4], [f64; 2]) = (pulp::cast(v.0), pulp::cast(v.1));
            *to = [a, b, c, d, e, f];
        }
        #[inline(always)]
        fn add_multiple(self, v: Six, k: &[f64; 6], x: f64) -> Six {
            let k = split(k);
            let four = self.avx._mm256_mul_pd(k.0, self.avx._mm256_set1_pd(x));
            let two = self.sse2._mm_mul_pd(k.1, self.sse2._mm_set1_pd(x));
            Six(self.avx._mm256_add_pd(v.0, four), self.sse2._mm_add_pd(v.1, two))
        }
        #[inline(always)]
        fn products(self, k: &[f64; 6], l: &[f64; 6], p: Six, q: Six) -> __m256d {
            let (k, l) = (split(k), split(l));
            let four = self.avx._mm256_add_pd(self.avx._mm256_mul_pd(k.0, p.0), self.avx._mm256_mul_pd(l.0, q.0));
            let two = self.sse2._mm_add_pd(self.sse2._mm_mul_pd(k.1, p.1), self.sse2._mm_mul_pd(l.1, q.1));
            self.avx._mm256_add_pd(four, self.avx._mm256_zextpd128_pd256(two))
        }
        #[inline(always)]
        fn sums(self, [a, b, c, d, e, f, g, h]: [__m256d; 8]) -> Eight {
            Eight(sums(self, [a, b, c, d]), sums(self, [e, f, g, h]))
        }
    }
}

/// Plain numbers.
#[derive(Clone, Copy)]
pub struct Plain;

#[inline(always)]
fn each(p: Octet, q: Octet, op: impl Fn(f64, f64) -> f64) -> Octet {
    std::array::from_fn(|l| op(p[l], q[l]))
}

/// Of six sums of two products: the way in which all kinds of lanes add them up.
#[inline(always)]
fn plain_sum(v: [f64; 6]) -> f64 {
    ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + 0.0) + (v[3] + 0.0))
}

impl Lanes for Plain {
    type Eight = Octet;
    type Six = [f64; 6];
    type Products = [f64; 6];

    #[inline(always)]
    fn load(self, from: &Octet) -> Octet {
        *from
    }
    #[inline(always)]
    fn store(self, v: Octet) -> Octet {
        v
    }
    #[inline(always)]
    fn all(self, v: f64) -> Octet {
        [v; 8]
    }
    #[inline(always)]
    fn add(self, p: Octet, q: Octet) -> Octet {
        each(p, q, |p, q| p + q)
    }
    #[inline(always)]
    fn sub(self, p: Octet, q: Octet) -> Octet {
        each(p, q, |p, q| p - q)
    }
    #[inline(always)]
    fn mul(self, p: Octet, q: Octet) -> Octet {
        each(p, q, |p, q| p * q)
    }
    #[inline(always)]
    fn div(self, p: Octet, q: Octet) -> Octet {
        each(p, q, |p, q| p / q)
    }
    #[inline(always)]
    fn at_least(self, v: Octet, least: Octet) -> Octet {
        each(v, least, at_least)
    }
    #[inline(always)]
    fn at_most(self, v: Octet, most: Octet) -> Octet {
        each(v, most, at_most)
    }
    #[inline(always)]
    fn where_above(self, sign: Octet, p: Octet, q: Octet) -> Octet {
        std::array::from_fn(|l| if sign[l] > 0.0 { p[l] } else { q[l] })
    }
    #[inline(always)]
    fn crossed(self, p: Octet, q: Octet, least: Octet, most: Octet) -> usize {
        let between = |v: f64, l: usize| v > least[l] && v < most[l];
        (0..8).filter(|&l| between(p[l], l) != between(q[l], l)).count()
    }
    #[inline(always)]
    fn are_below_infinity(self, v: Octet) -> bool {
        v.iter().all(|&v| v <= f64::MAX)
    }
    #[inline(always)]
    fn columns(self, rows: [&[f64; 4]; 8]) -> [Octet; 3] {
        [0, 1, 2].map(|c| rows.map(|row| row[c]))
    }
    #[inline(always)]
    fn six(self, from: &[f64; 6]) -> [f64; 6] {
        *from
    }
    #[inline(always)]
    fn store_six(self, v: [f64; 6], to: &mut [f64; 6]) {
        *to = v;
    }
    #[inline(always)]
    fn add_multiple(self, v: [f64; 6], k: &[f64; 6], x: f64) -> [f64; 6] {
        std::array::from_fn(|c| v[c] + k[c] * x)
    }
    #[inline(always)]
    fn products(self, k: &[f64; 6], l: &[f64; 6], p: [f64; 6], q: [f64; 6]) -> [f64; 6] {
        std::array::from_fn(|c| k[c] * p[c] + l[c] * q[c])
    }
    #[inline(always)]
    fn sums(self, v: [[f64; 6]; 8]) -> Octet {
        v.map(plain_sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation on numbers that turn around among themselves and between the lanes.
    struct All(Octet, Octet, usize);

    impl Kernel for All {
        type Output = (Vec<Octet>, Vec<usize>);

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> Self::Output {
            let All(u, v, k) = self;
            let (p, q) = (lanes.load(&u), lanes.load(&v));
            let s = lanes.all(u[k]);
            let mut out = vec![lanes.add(p, q), lanes.sub(p, q), lanes.mul(p, q), lanes.div(p, q)];
            out.extend([lanes.at_least(p, q), lanes.at_most(p, q), lanes.where_above(s, p, q)]);
            out.extend([lanes.where_above(p, s, q), lanes.where_above(q, p, s)]);
            let twice = [u, v].concat();
            let four: [&[f64; 4]; 8] = [0, 1, 2, 3, 4, 5, 6, 7].map(|l| twice[l..].first_chunk().unwrap());
            let six: [&[f64; 6]; 8] = [7, 6, 5, 4, 3, 2, 1, 0].map(|l| twice[l..].first_chunk().unwrap());
            out.extend(lanes.columns(four));
            let (y, z) = (lanes.six(six[0]), lanes.six(six[1]));
            let mut products = [lanes.products(six[0], six[1], y, z); 8];
            let mut sixes = Vec::new();
            for l in 0..8 {
                products[l] = lanes.products(six[l], six[(l + k) % 8], y, lanes.six(six[(l + 3) % 8]));
                let mut to = [0.0; 6];
                lanes.store_six(lanes.add_multiple(lanes.six(six[l]), six[(l + 1) % 8], v[l]), &mut to);
                sixes.push([to[0], to[1], to[2], to[3], to[4], to[5], 0.0, 0.0]);
            }
            out.push(lanes.sums(products));
            let counts = vec![
                lanes.crossed(p, q, lanes.all(-1.0), s),
                lanes.crossed(q, s, p, lanes.all(2.0)),
                usize::from(lanes.are_below_infinity(p)),
                usize::from(lanes.are_below_infinity(q)),
            ];
            (out.into_iter().map(|v| lanes.store(v)).chain(sixes).collect(), counts)
        }
    }

    fn compare(run: impl Fn(All) -> <All as Kernel>::Output) {
        let edges = [0.0, -0.0, 1.5, -2.25, 1e-300, -1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1];
        // First without what is not finite, because its sums are NaN.
        for count in [7, edges.len()] {
            for k in 0..count * count * count {
                let at = |k: usize| edges[k % count];
                let p = [at(k), at(k + 1), at(k / 3), 0.7, at(k + 2), at(k / 5), -0.1, at(k + 3)];
                let q = [at(k / count), at(k + 4), 1.0 / 3.0, at(k / 7), at(k / 2), at(k / 4 + 1), at(k / 9), 0.9];
                let (out, counts) = run(All(p, q, k % 8));
                let (want, want_counts) = All(p, q, k % 8).run(Plain);
                assert_eq!(counts, want_counts, "{p:?} {q:?}");
                for (v, w) in out.iter().flatten().zip(want.iter().flatten()) {
                    assert!(v.to_bits() == w.to_bits() || (v.is_nan() && w.is_nan()), "{v} {w}: {p:?} {q:?}");
                }
            }
        }
    }

    /// Plain numbers and vectors give the same bits, at the edges too.
    #[test]
    fn plain_numbers_agree() {
        compare(with_lanes);
    }

    /// So do those of 256 bits where there are wider ones.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrower_vectors_agree() {
        if let Some(v3) = pulp::x86::V3::try_new() {
            compare(|all| with_v3(v3, all));
        }
    }
}
