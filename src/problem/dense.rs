//! A as a square array, stored by rows.

use super::check::{alike, are_finite, product};
use crate::error::{Error, Result, Status};
use crate::linalg::{products, with_lanes, Kernel, Lanes};
use crate::memory::{reserve, resize};

/// Which entries of a dense matrix the caller filled. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// All of them.
    Full = 0,
    /// Only j <= i; the matrix is symmetric. ODE fills its matrices so.
    Lower = 1,
}

/// A square matrix by rows.
#[derive(Debug, Default)]
pub struct Dense {
    n: usize,
    a: Vec<f64>,
    /// A small matrix in the making, which may turn out not to be finite.
    next: Vec<f64>,
    /// Was only one triangle given?
    mirrored: bool,
}

/// Refuse a matrix that is too short.
pub(super) fn check_size(n: usize, a: &[f64], row_stride: usize) -> Result<()> {
    if row_stride < n {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("row_stride is {row_stride}, shorter than a row of n = {n}"),
        ));
    }
    // The last row need not be padded.
    let needed = if n == 0 { 0 } else { product("a", n - 1, row_stride)?.saturating_add(n) };
    if a.len() < needed {
        return Err(Error::new(
            Status::InvalidSize,
            format_args!("a has length {}, expected at least {needed}", a.len()),
        ));
    }
    Ok(())
}

/// Refuse a matrix that is not finite.
pub(super) fn check(n: usize, a: &[f64], row_stride: usize, triangle: Triangle) -> Result<()> {
    let row = |i: usize| &a[i * row_stride..][..if triangle == Triangle::Lower { i + 1 } else { n }];
    // One question for all rows; who fails it is looked for afterwards.
    if are_finite((0..n).map(row)) {
        return Ok(());
    }
    for i in 0..n {
        if let Some(j) = row(i).iter().position(|v| !v.is_finite()) {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("a[{i}][{j}] is {}, it must be finite", row(i)[j]),
            ));
        }
    }
    Ok(())
}

/// `w = A x`, four rows at a time.
struct Multiply<'a> {
    a: &'a Dense,
    x: &'a [f64],
    w: &'a mut [f64],
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Multiply { a, x, w } = self;
        let n = a.n;
        let (x4, tail) = x[..n].as_chunks::<4>();
        let (fours, rest) = w[..n].as_chunks_mut::<4>();
        for (four, rows) in fours.iter_mut().zip(a.a.chunks_exact(4 * n)) {
            let mut whole = [&x4[..0]; 4];
            for r in 0..4 {
                whole[r] = rows[r * n..][..n].as_chunks().0;
            }
            *four = lanes.store(products(lanes, whole, x4));
            for (j, x) in (n - tail.len()..n).zip(tail) {
                for r in 0..4 {
                    four[r] += rows[r * n + j] * x;
                }
            }
        }
        let done = n - rest.len();
        for (i, w) in (done..n).zip(rest) {
            *w = dot(a.row(i), x);
        }
    }
}

/// Write a lower triangle and mirror it, four by four. Was all of it finite?
struct Mirror<'a> {
    n: usize,
    a: &'a [f64],
    row_stride: usize,
    out: &'a mut [f64],
}

impl Kernel for Mirror<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> bool {
        let Mirror { n, a, row_stride, out } = self;
        // Only zero times a finite number is zero.
        let (zero, mut sums, mut rest) = (lanes.all(0.0), [lanes.all(0.0); 4], 0.0);
        let whole = n - n % 4;
        for i in (0..whole).step_by(4) {
            let (above, own) = out.split_at_mut(i * n);
            let (mut given, own) = ([&[][..]; 4], rows_of(own, n));
            for r in 0..4 {
                given[r] = &a[(i + r) * row_stride..][..i + r + 1];
            }
            for (j, columns) in above.chunks_exact_mut(4 * n).enumerate() {
                let mut block = [zero; 4];
                for r in 0..4 {
                    block[r] = lanes.load(&given[r].as_chunks().0[j]);
                    sums[r] = lanes.add(sums[r], lanes.mul(block[r], zero));
                    own[r].as_chunks_mut().0[j] = lanes.store(block[r]);
                }
                let block = lanes.columns(block);
                let columns = rows_of(columns, n);
                for c in 0..4 {
                    columns[c][i..i + 4].copy_from_slice(&lanes.store(block[c]));
                }
            }
            let mut block = [[0.0; 4]; 4];
            for r in 0..4 {
                for c in 0..=r {
                    let v = given[r][i + c];
                    (block[r][c], block[c][r]) = (v, v);
                }
            }
            for r in 0..4 {
                sums[r] = lanes.add(sums[r], lanes.mul(lanes.load(&block[r]), zero));
                own[r][i..i + 4].copy_from_slice(&block[r]);
            }
        }
        for i in whole..n {
            let given = &a[i * row_stride..][..i + 1];
            for (out, &v) in out.chunks_exact_mut(n).zip(given) {
                rest += 0.0 * v;
                out[i] = v;
            }
            out[i * n..][..i + 1].copy_from_slice(given);
        }
        lanes.store(lanes.sums(sums)) == [0.0; 4] && rest == 0.0
    }
}

/// The first four rows of n numbers each.
#[inline(always)]
fn rows_of(rows: &mut [f64], n: usize) -> [&mut [f64]; 4] {
    let (first, rest) = rows.split_at_mut(n);
    let (second, rest) = rest.split_at_mut(n);
    let (third, rest) = rest.split_at_mut(n);
    [first, second, third, &mut rest[..n]]
}

/// How many entries off the diagonal are not zero.
pub(super) fn count(n: usize, a: &[f64], row_stride: usize, triangle: Triangle) -> usize {
    let count = |row: &[f64]| row.iter().filter(|&&v| v != 0.0).count();
    let row = |i: usize| &a[i * row_stride..][..n];
    let below: usize = (0..n).map(|i| count(&row(i)[..i])).sum();
    match triangle {
        Triangle::Lower => 2 * below,
        Triangle::Full => below + (0..n).map(|i| count(&row(i)[i + 1..])).sum::<usize>(),
    }
}

impl Dense {
    pub(super) fn reserve(&mut self, n: usize) -> Result<()> {
        reserve(&mut self.a, product("a", n, n)?)
    }

    /// Copy a checked matrix.
    pub(super) fn fill(&mut self, n: usize, a: &[f64], row_stride: usize, triangle: Triangle) -> Result<()> {
        self.reserve(n)?;
        self.n = n;
        self.mirrored = triangle == Triangle::Lower;
        match triangle {
            Triangle::Full => {
                self.a.clear();
                for i in 0..n {
                    self.a.extend_from_slice(&a[i * row_stride..][..n]);
                }
            }
            Triangle::Lower => {
                // Every entry is overwritten.
                self.a.resize(n * n, 0.0);
                with_lanes(Mirror { n, a, row_stride, out: &mut self.a });
            }
        }
        Ok(())
    }

    /// Copy a lower triangle, or refuse one that is not finite and change nothing.
    pub(super) fn fill_lower(&mut self, n: usize, a: &[f64], row_stride: usize) -> Result<()> {
        self.reserve(n)?;
        resize(&mut self.next, n * n, 0.0)?;
        if !with_lanes(Mirror { n, a, row_stride, out: &mut self.next }) {
            return check(n, a, row_stride, Triangle::Lower);
        }
        std::mem::swap(&mut self.a, &mut self.next);
        (self.n, self.mirrored) = (n, true);
        Ok(())
    }

    /// Become these rows and columns of another.
    pub(super) fn select(&mut self, whole: &Dense, rows: &[u32]) -> Result<()> {
        self.reserve(rows.len())?;
        self.n = rows.len();
        self.mirrored = whole.mirrored;
        self.a.clear();
        for &i in rows {
            let row = whole.row(i as usize);
            self.a.extend(rows.iter().map(|&j| row[j as usize]));
        }
        Ok(())
    }

    /// Is it surely symmetric to the last bit, because one triangle is a copy of the other?
    pub fn is_mirrored(&self) -> bool {
        self.mirrored
    }

    /// All rows, one after the other.
    #[inline]
    pub fn rows(&self) -> &[f64] {
        &self.a
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.a[i * self.n..(i + 1) * self.n]
    }

    /// `(A x)_i`.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        dot(self.row(i), x)
    }

    /// `w = A x`.
    pub(super) fn multiply(&self, x: &[f64], w: &mut [f64]) {
        with_lanes(Multiply { a: self, x, w });
    }

    /// Compared in square blocks, so that both triangles are read along cache lines.
    pub(super) fn is_symmetric(&self, diagonal: &[f64], tolerance: f64) -> bool {
        const BLOCK: usize = 32;
        let n = self.n;
        (0..n).step_by(BLOCK).all(|i0| {
            (0..=i0).step_by(BLOCK).all(|j0| {
                (i0..(i0 + BLOCK).min(n)).all(|i| {
                    (j0..(j0 + BLOCK).min(i))
                        .all(|j| alike(self.a[i * n + j], self.a[j * n + i], diagonal[i], diagonal[j], tolerance))
                })
            })
        })
    }
}

/// Dot product in four lanes; the compiler does not reorder a plain sum.
#[inline]
fn dot(p: &[f64], q: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (p4, q4) = (p.chunks_exact(4), q.chunks_exact(4));
    let tail: f64 = p4.remainder().iter().zip(q4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in p4.zip(q4) {
        for k in 0..4 {
            lanes[k] += a[k] * b[k];
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + tail
}
