//! A small generator of random numbers (splitmix64), so that a seed means the same numbers everywhere and for ever.

/// The state of the generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for every seed; neighbouring seeds give unrelated streams.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed ^ 0x9e37_79b9_7f4a_7c15);
        random.next();
        random
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Uniform in [from, to).
    pub fn range(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        self.range(-1.0, 1.0)
    }

    /// Log-uniform in [from, to).
    pub fn scale(&mut self, from: f64, to: f64) -> f64 {
        self.range(from.ln(), to.ln()).exp()
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Uniform in from..=to.
    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to + 1 - from)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// `n` numbers, uniform in [-1, 1).
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.signed()).collect()
    }

    /// One of a list.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// The numbers 0..n in random order.
    pub fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }

    /// A point uniform in the cube [-reach, reach)³.
    pub fn point(&mut self, reach: f64) -> [f64; 3] {
        [0; 3].map(|_| reach * self.signed())
    }

    /// A direction, uniform on the sphere.
    pub fn direction(&mut self) -> [f64; 3] {
        loop {
            let v = self.point(1.0);
            let square = v.iter().map(|c| c * c).sum::<f64>();
            if (0.01..1.0).contains(&square) {
                return v.map(|c| c / square.sqrt());
            }
        }
    }
}
