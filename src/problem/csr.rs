//! A in compressed rows, columns rising within each row.

use super::check::{alike, finite, length};
use super::dense::Triangle;
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};

/// A square matrix in compressed rows.
#[derive(Debug, Default)]
pub struct Csr {
    row_start: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Scratch of the symmetry check.
    unread: Vec<usize>,
}

/// Refuse anything that is not n well-formed rows.
pub(super) fn check(n: usize, row_start: &[i32], columns: &[i32], values: &[f64]) -> Result<()> {
    let invalid = |status, sentence: std::fmt::Arguments<'_>| Err(Error::new(status, sentence));
    if n > i32::MAX as usize {
        return invalid(Status::InvalidSize, format_args!("n is {n}, more rows than 32-bit columns can name"));
    }
    length("row_start", row_start.len(), n + 1)?;
    length("values", values.len(), columns.len())?;
    if row_start[0] != 0 {
        return invalid(Status::InvalidIndex, format_args!("row_start[0] is {}, it must be 0", row_start[0]));
    }
    if let Some(i) = (0..n).find(|&i| row_start[i + 1] < row_start[i]) {
        return invalid(
            Status::InvalidIndex,
            format_args!("row_start[{}] is {}, less than the offset before it", i + 1, row_start[i + 1]),
        );
    }
    if row_start[n] as usize != columns.len() {
        return invalid(
            Status::InvalidIndex,
            format_args!("row_start[{n}] is {}, but columns has length {}", row_start[n], columns.len()),
        );
    }
    for i in 0..n {
        let mut last = -1;
        for k in row_start[i] as usize..row_start[i + 1] as usize {
            let j = columns[k];
            if j < 0 || j as usize >= n {
                return invalid(Status::InvalidIndex, format_args!("columns[{k}] is {j}, outside 0..{n}"));
            }
            if j <= last {
                return invalid(
                    Status::InvalidIndex,
                    format_args!("columns[{k}] is {j}, row {i} must list its columns in rising order"),
                );
            }
            last = j;
        }
    }
    finite("values", values)
}

impl Csr {
    /// Copy a checked matrix.
    pub(super) fn reserve(&mut self, rows: usize, entries: usize) -> Result<()> {
        reserve(&mut self.row_start, rows + 1)?;
        reserve(&mut self.unread, rows + 1)?;
        reserve(&mut self.columns, entries)?;
        reserve(&mut self.values, entries)
    }

    pub(super) fn fill(&mut self, row_start: &[i32], columns: &[i32], values: &[f64]) -> Result<()> {
        self.reserve(row_start.len() - 1, columns.len())?;
        self.row_start.clear();
        self.columns.clear();
        self.values.clear();
        self.row_start.extend(row_start.iter().map(|&k| k as usize));
        self.columns.extend(columns.iter().map(|&j| j as u32));
        self.values.extend_from_slice(values);
        Ok(())
    }

    /// Take the entries of a checked square array that are not zero, and the diagonal.
    pub(super) fn gather(&mut self, n: usize, a: &[f64], row_stride: usize, triangle: Triangle) -> Result<()> {
        let rows = || (0..n).map(|i| (i, &a[i * row_stride..][..if triangle == Triangle::Lower { i + 1 } else { n }]));
        let stored = |i: usize, j: usize, v: f64| v != 0.0 || i == j;
        let mirrored = |i: usize, j: usize| triangle == Triangle::Lower && j < i;
        refill(&mut self.row_start, n + 1, 0)?;
        for (i, row) in rows() {
            for (j, _) in row.iter().enumerate().filter(|&(j, &v)| stored(i, j, v)) {
                self.row_start[i + 1] += 1;
                self.row_start[j + 1] += usize::from(mirrored(i, j));
            }
        }
        for i in 0..n {
            self.row_start[i + 1] += self.row_start[i];
        }
        let next = &mut self.unread;
        next.clear();
        next.extend_from_slice(&self.row_start[..n]);
        refill(&mut self.columns, self.row_start[n], 0)?;
        refill(&mut self.values, self.row_start[n], 0.0)?;
        // A mirrored entry of row j comes from a later row i, so columns rise.
        for (i, row) in rows() {
            for (j, &v) in row.iter().enumerate().filter(|&(j, &v)| stored(i, j, v)) {
                let mirror = mirrored(i, j).then_some((j, i));
                for (row, column) in std::iter::once((i, j)).chain(mirror) {
                    self.columns[next[row]] = column as u32;
                    self.values[next[row]] = v;
                    next[row] += 1;
                }
            }
        }
        Ok(())
    }

    /// Entries that there is memory for.
    pub fn room(&self) -> usize {
        self.columns.capacity()
    }

    /// Become these rows of another, whose entries are among themselves; `place` has the place of each.
    pub(super) fn select(&mut self, whole: &Csr, rows: &[u32], place: &[u32]) -> Result<()> {
        let entries = rows.iter().map(|&i| whole.row(i as usize).count()).sum();
        self.reserve(rows.len(), entries)?;
        self.row_start.clear();
        self.columns.clear();
        self.values.clear();
        self.row_start.push(0);
        for &i in rows {
            // A stored zero may lead to another island.
            for (j, value) in whole.row(i as usize).filter(|&(_, value)| value != 0.0) {
                self.columns.push(place[j]);
                self.values.push(value);
            }
            self.row_start.push(self.columns.len());
        }
        Ok(())
    }

    /// Offsets of the rows, n + 1 of them.
    pub fn row_start(&self) -> &[usize] {
        &self.row_start
    }

    /// Column of every entry.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Every entry.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Entries `(column, value)` of row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.row_start[i]..self.row_start[i + 1];
        self.columns[range.clone()].iter().zip(&self.values[range]).map(|(&j, &v)| (j as usize, v))
    }

    /// Entry (i, j), zero where none is stored.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let range = self.row_start[i]..self.row_start[i + 1];
        match self.columns[range.clone()].binary_search(&(j as u32)) {
            Ok(k) => self.values[range.start + k],
            Err(_) => 0.0,
        }
    }

    /// `(A x)_i`.
    #[inline]
    pub fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        let range = self.row_start[i]..self.row_start[i + 1];
        // In four lanes; the compiler does not reorder a plain sum, and would wait for every addition.
        let (columns, last_columns) = self.columns[range.clone()].as_chunks::<4>();
        let (values, last_values) = self.values[range].as_chunks::<4>();
        let mut lanes = [0.0; 4];
        for (j, v) in columns.iter().zip(values) {
            for k in 0..4 {
                lanes[k] += v[k] * x[j[k] as usize];
            }
        }
        let tail: f64 = last_columns.iter().zip(last_values).map(|(&j, v)| v * x[j as usize]).sum();
        (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + tail
    }

    /// `w = A x`.
    pub(super) fn multiply(&self, x: &[f64], w: &mut [f64]) {
        for (i, w) in w.iter_mut().enumerate() {
            *w = self.row_dot(i, x);
        }
    }

    /// One pass: rows come in order, so the next unread entry right of row j's diagonal must be the partner of (i, j).
    pub(super) fn is_symmetric(&mut self, diagonal: &[f64], tolerance: f64) -> bool {
        let Csr { row_start, columns, values, unread } = self;
        let n = diagonal.len();
        unread.clear();
        unread.extend((0..n).map(|i| {
            let row = row_start[i]..row_start[i + 1];
            row.start + columns[row].partition_point(|&j| j as usize <= i)
        }));
        // An entry without a partner pairs with zero.
        let alone = |k: usize, i: usize| {
            let j = columns[k] as usize;
            alike(values[k], 0.0, diagonal[i], diagonal[j], tolerance)
        };
        for i in 0..n {
            for k in (row_start[i]..row_start[i + 1]).take_while(|&k| (columns[k] as usize) < i) {
                let j = columns[k] as usize;
                while unread[j] < row_start[j + 1] && (columns[unread[j]] as usize) < i {
                    if !alone(unread[j], j) {
                        return false;
                    }
                    unread[j] += 1;
                }
                let partner = unread[j] < row_start[j + 1] && columns[unread[j]] as usize == i;
                let other = if partner { values[unread[j]] } else { 0.0 };
                if !alike(values[k], other, diagonal[i], diagonal[j], tolerance) {
                    return false;
                }
                unread[j] += usize::from(partner);
            }
        }
        (0..n).all(|i| (unread[i]..row_start[i + 1]).all(|k| alone(k, i)))
    }
}
