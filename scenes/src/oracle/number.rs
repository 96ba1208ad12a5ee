//! Numbers wider than a double: double-double for every day, dyadic rationals where nothing may be lost.

use num_bigint::{BigInt, Sign};

/// What sums of products of doubles need.
pub trait Number: Clone {
    /// Zero.
    fn zero() -> Self;
    /// Add the product of two doubles, exactly where the type can.
    fn add_product(&mut self, p: f64, q: f64);
    /// Add another number.
    fn add(&mut self, other: &Self);
    /// The product with a double.
    fn times(&self, factor: f64) -> Self;
    /// The nearest double.
    fn to_f64(&self) -> f64;
}

/// A sum of two doubles that do not overlap: about 106 bits. Overflows where a double does.
#[derive(Clone, Copy, Debug)]
pub struct Wide {
    high: f64,
    low: f64,
}

/// The rounded sum and what rounding lost (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Two halves of 26 bits (Veltkamp).
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

/// The rounded product and what rounding lost (Dekker), without a fused instruction.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

impl Wide {
    fn plus(self, high: f64, low: f64) -> Wide {
        let (sum, lost) = two_sum(self.high, high);
        let (low, more) = two_sum(self.low, low);
        let (sum, lost) = two_sum(sum, lost + low);
        let (high, low) = two_sum(sum, lost + more);
        Wide { high, low }
    }
}

impl Number for Wide {
    fn zero() -> Self {
        Wide { high: 0.0, low: 0.0 }
    }

    fn add_product(&mut self, p: f64, q: f64) {
        let (high, low) = two_product(p, q);
        *self = self.plus(high, low);
    }

    fn add(&mut self, other: &Self) {
        *self = self.plus(other.high, other.low);
    }

    fn times(&self, factor: f64) -> Self {
        let (high, low) = two_product(self.high, factor);
        let (high, low) = two_sum(high, low + self.low * factor);
        Wide { high, low }
    }

    fn to_f64(&self) -> f64 {
        self.high
    }
}

/// A rational whose denominator is a power of two: `mantissa · 2^exponent`. Sums and products of finite doubles are exact.
#[derive(Clone, Debug)]
pub struct Dyadic {
    mantissa: BigInt,
    exponent: i64,
}

/// A finite double as an integer and a power of two.
fn decode(v: f64) -> (i64, i64) {
    let bits = v.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64;
    assert!(exponent < 0x7ff, "{v} is no finite number");
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let mantissa = if exponent == 0 { fraction } else { fraction | (1 << 52) };
    (if v < 0.0 { -mantissa } else { mantissa }, exponent.max(1) - 1075)
}

impl Dyadic {
    fn plus(&mut self, mantissa: BigInt, exponent: i64) {
        if mantissa.sign() == Sign::NoSign {
            return;
        }
        if exponent >= self.exponent {
            self.mantissa += mantissa << (exponent - self.exponent) as u64;
        } else {
            self.mantissa = (std::mem::take(&mut self.mantissa) << (self.exponent - exponent) as u64) + mantissa;
            self.exponent = exponent;
        }
    }
}

impl Number for Dyadic {
    fn zero() -> Self {
        Dyadic { mantissa: BigInt::ZERO, exponent: 0 }
    }

    fn add_product(&mut self, p: f64, q: f64) {
        let ((p, pe), (q, qe)) = (decode(p), decode(q));
        self.plus(BigInt::from(i128::from(p) * i128::from(q)), pe + qe);
    }

    fn add(&mut self, other: &Self) {
        self.plus(other.mantissa.clone(), other.exponent);
    }

    fn times(&self, factor: f64) -> Self {
        let (mantissa, exponent) = decode(factor);
        Dyadic { mantissa: &self.mantissa * mantissa, exponent: self.exponent + exponent }
    }

    fn to_f64(&self) -> f64 {
        let (sign, size) = (self.mantissa.sign(), self.mantissa.magnitude());
        let surplus = size.bits().saturating_sub(64);
        let mut top: u64 = (size >> surplus).try_into().unwrap_or(u64::MAX);
        if surplus > 0 && size.trailing_zeros().unwrap_or(0) < surplus {
            // Rounding once: the bits left out only tell that there are some.
            top |= 1;
        }
        let value = scaled(top as f64, self.exponent + surplus as i64);
        if sign == Sign::Minus {
            -value
        } else {
            value
        }
    }
}

/// `v · 2^exponent`, in steps that neither overflow nor vanish on the way.
fn scaled(mut v: f64, mut exponent: i64) -> f64 {
    while exponent != 0 && v != 0.0 && v.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        v *= 2f64.powi(step as i32);
        exponent -= step;
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dyadic_sums_lose_nothing() {
        let mut sum = Dyadic::zero();
        for (p, q) in [(1e200, 1e100), (3.0, 1e-200), (-1e200, 1e100)] {
            sum.add_product(p, q);
        }
        assert_eq!(sum.to_f64(), 3e-200);
        assert_eq!(sum.times(-1e200).to_f64(), -3e-200 * 1e200);
        for v in [0.1, -7.5e-310, 1.0 / 3.0, 2f64.powi(-1074), f64::MAX, 1.0 + f64::EPSILON] {
            let mut one = Dyadic::zero();
            one.add_product(v, 1.0);
            assert_eq!(one.to_f64(), v);
        }
    }

    #[test]
    fn wide_sums_keep_a_hundred_bits() {
        let mut sum = Wide::zero();
        for (p, q) in [(1e15, 1.0), (0.1, 0.1), (-1e15, 1.0)] {
            sum.add_product(p, q);
        }
        let mut exact = Dyadic::zero();
        exact.add_product(0.1, 0.1);
        assert!((sum.to_f64() - exact.to_f64()).abs() < 1e-17);
    }
}
