//! Blocks of 6 by 6, one per body or pair of bodies, and what a factorisation does with them.
//!
//! Columns are padded with zeros to eight numbers, so that they are whole vectors wherever there are vectors: two of four
//! numbers, or one of eight. A product of blocks then takes 36 or 72 instructions, and no call.

use pulp::Simd;

/// Rows and columns of a block.
pub(super) const B: usize = 6;
/// A column with its padding.
const STRIDE: usize = 8;

/// Six numbers of a body, and two zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Column(pub [f64; STRIDE]);

impl Column {
    pub fn of(six: &[f64; B]) -> Self {
        let [a, b, c, d, e, f] = *six;
        Column([a, b, c, d, e, f, 0.0, 0.0])
    }

    pub fn negated(self) -> Self {
        Column(self.0.map(|v| -v))
    }
}

/// A block by columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Block([Column; B]);

impl Block {
    /// A multiple of the identity.
    pub fn diagonal(value: f64) -> Self {
        let mut block = Block::default();
        for j in 0..B {
            block.0[j].0[j] = value;
        }
        block
    }

    /// Add numbers given by columns.
    #[inline(always)]
    pub fn add(&mut self, columns: impl Fn(usize) -> [f64; B]) {
        for (j, column) in self.0.iter_mut().enumerate() {
            for (entry, value) in column.0.iter_mut().zip(columns(j)) {
                *entry += value;
            }
        }
    }

    /// Add the transpose of numbers given by columns.
    #[inline(always)]
    pub fn add_transposed(&mut self, columns: impl Fn(usize) -> [f64; B]) {
        for i in 0..B {
            let row = columns(i);
            for (column, value) in self.0.iter_mut().zip(row) {
                column.0[i] += value;
            }
        }
    }

    pub fn transposed(&self) -> Block {
        let mut block = Block::default();
        block.add_transposed(|j| *self.0[j].0.first_chunk().expect("six of eight"));
        block
    }
}

/// The vectors of a column.
#[inline(always)]
fn vectors<S: Simd>(column: &Column) -> &[S::f64s] {
    S::as_simd_f64s(&column.0).0
}

#[inline(always)]
fn vectors_mut<S: Simd>(column: &mut Column) -> &mut [S::f64s] {
    S::as_mut_simd_f64s(&mut column.0).0
}

/// `to -= factor from`.
#[inline(always)]
fn subtract<S: Simd>(simd: S, to: &mut Column, factor: f64, from: &Column) {
    let factor = simd.splat_f64s(factor);
    for (to, from) in vectors_mut::<S>(to).iter_mut().zip(vectors::<S>(from)) {
        *to = simd.negate_mul_add_e_f64s(factor, *from, *to);
    }
}

#[inline(always)]
fn scale<S: Simd>(simd: S, column: &mut Column, factor: f64) {
    let factor = simd.splat_f64s(factor);
    for v in vectors_mut::<S>(column) {
        *v = simd.mul_f64s(factor, *v);
    }
}

/// `C -= A Bᵀ`.
#[inline(always)]
pub(super) fn subtract_product<S: Simd>(simd: S, c: &mut Block, a: &Block, b: &Block) {
    let width = vectors::<S>(&a.0[0]).len();
    for v in 0..width {
        let a = [0, 1, 2, 3, 4, 5].map(|k| vectors::<S>(&a.0[k])[v]);
        for j in 0..B {
            let sum = &mut vectors_mut::<S>(&mut c.0[j])[v];
            let mut difference = *sum;
            for k in 0..B {
                difference = simd.negate_mul_add_e_f64s(a[k], simd.splat_f64s(b.0[k].0[j]), difference);
            }
            *sum = difference;
        }
    }
}

#[inline(always)]
pub(super) fn negate<S: Simd>(simd: S, block: &mut Block) {
    for column in &mut block.0 {
        scale(simd, column, -1.0);
    }
}

/// The inverse, by Gauss and Jordan's elimination with pivots chosen within a column; not finite if there is none.
pub(super) fn inverse(block: &Block) -> Block {
    // By rows, with the identity beside them.
    let mut rows = [[0.0; 2 * B]; B];
    for i in 0..B {
        for j in 0..B {
            rows[i][j] = block.0[j].0[i];
        }
        rows[i][B + i] = 1.0;
    }
    for j in 0..B {
        let mut largest = j;
        for i in j + 1..B {
            largest = if rows[i][j].abs() > rows[largest][j].abs() { i } else { largest };
        }
        rows.swap(j, largest);
        let inverse = 1.0 / rows[j][j];
        let pivot = rows[j].map(|v| v * inverse);
        rows[j] = pivot;
        for i in (0..B).filter(|&i| i != j) {
            let factor = rows[i][j];
            for (entry, pivot) in rows[i].iter_mut().zip(pivot) {
                *entry -= factor * pivot;
            }
        }
    }
    let mut out = Block::default();
    out.add_transposed(|i| *rows[i].last_chunk().expect("the right half"));
    out
}

/// Cholesky's factor of the lower triangle, in its place; on the diagonal stand the reciprocals, above it zeros. False if a
/// pivot is not positive.
#[inline(always)]
pub(super) fn factor<S: Simd>(simd: S, block: &mut Block) -> bool {
    for j in 0..B {
        let pivot = block.0[j].0[j];
        if !(pivot > 0.0 && pivot <= f64::MAX) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        block.0[j].0[..j].fill(0.0);
        scale(simd, &mut block.0[j], inverse);
        let column = block.0[j];
        for l in j + 1..B {
            subtract(simd, &mut block.0[l], column.0[l], &column);
        }
        block.0[j].0[j] = inverse;
    }
    true
}

/// `X Lᵀ = X` with the factor of a diagonal block: X in its place.
#[inline(always)]
pub(super) fn divide<S: Simd>(simd: S, x: &mut Block, factor: &Block) {
    for j in 0..B {
        let (done, rest) = x.0.split_at_mut(j);
        for (k, done) in done.iter().enumerate() {
            subtract(simd, &mut rest[0], factor.0[k].0[j], done);
        }
        scale(simd, &mut rest[0], factor.0[j].0[j]);
    }
}

/// `L x = x` with the factor of a diagonal block.
#[inline(always)]
pub(super) fn forward<S: Simd>(simd: S, factor: &Block, x: &mut Column) {
    // In registers: in memory each number would wait for a store of the one before.
    let mut y = *x;
    for k in 0..B {
        let value = y.0[k] * factor.0[k].0[k];
        subtract(simd, &mut y, value, &factor.0[k]);
        y.0[k] = value;
    }
    *x = y;
}

/// `Lᵀ x = x` with the factor of a diagonal block.
#[inline(always)]
pub(super) fn backward(factor: &Block, x: &mut Column) {
    let mut y = *x;
    for k in (0..B).rev() {
        let column = &factor.0[k].0;
        let known: f64 = (k + 1..B).map(|i| column[i] * y.0[i]).sum();
        y.0[k] = (y.0[k] - known) * column[k];
    }
    *x = y;
}

/// `y -= A x`.
#[inline(always)]
pub(super) fn subtract_times<S: Simd>(simd: S, y: &mut Column, a: &Block, x: &Column) {
    for k in 0..B {
        subtract(simd, y, x.0[k], &a.0[k]);
    }
}

/// `y -= Σ Aᵀ x` over blocks with their x.
#[inline(always)]
pub(super) fn subtract_transposed<'a, S: Simd>(
    simd: S,
    y: &mut Column,
    terms: impl Iterator<Item = (&'a Block, &'a Column)> + Clone,
) {
    let width = vectors::<S>(y).len();
    for v in 0..width {
        let mut sums = [simd.splat_f64s(0.0); B];
        for (a, x) in terms.clone() {
            let x = vectors::<S>(x)[v];
            for k in 0..B {
                sums[k] = simd.mul_add_e_f64s(vectors::<S>(&a.0[k])[v], x, sums[k]);
            }
        }
        for k in 0..B {
            y.0[k] -= simd.reduce_sum_f64s(sums[k]);
        }
    }
}
