//! Sparse Cholesky factorisation A = L Lᵀ in dense panels, left-looking.
//!
//! Reference: Ng & Peyton 1993 (supernodes). Contact matrices fall into cliques, the rows of all contacts of a body, so their
//! factors consist of dense panels, and all but a fraction of the work is products of those, in registers. Three stages,
//! each in memory that is kept: [`PanelCholesky::analyse`] orders the pattern (`panel_pattern.rs`), and a pattern equal to
//! the last one is not analysed again; [`PanelCholesky::fill`] and [`PanelCholesky::set_diagonal`] bring in the numbers;
//! [`PanelCholesky::factor`]. Cost: the sum of squared column counts; where few numbers have changed,
//! [`PanelCholesky::fill_changed`] leaves out what would have the same bits as before.

use super::block_pattern::{reserve_ahead, NONE};
use super::panel_pattern::{mark_rows, Panel, PanelPattern, Run, PAD};
use super::stale::Stale;
use super::Failure;
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::Budget;
use pulp::{Arch, Simd, WithSimd};

/// Memory for a full factor is taken ahead up to this many numbers: 770 rows.
const AHEAD: usize = 600_000;
/// Columns multiplied at once.
const STRIP: usize = 4;
/// Columns of a product kept at once.
const CHUNK: usize = 32;
/// Numbers of a dot product that are summed apart.
const LANES: usize = 4;

/// A symmetric positive definite matrix and its factor.
pub struct PanelCholesky {
    pattern: PanelPattern,
    values: Vec<f64>,
    stale: Stale,
    /// Work: a product, places of rows, lists of panels by the panel they update next, and their next run.
    product: Vec<f64>,
    local: Vec<u32>,
    head: Vec<u32>,
    link: Vec<u32>,
    next: Vec<u32>,
    x: Vec<f64>,
    flops: f64,
    /// Which vector instructions there are.
    arch: Arch,
}

impl Default for PanelCholesky {
    fn default() -> Self {
        PanelCholesky {
            pattern: PanelPattern::default(),
            values: Vec::new(),
            stale: Stale::default(),
            product: Vec::new(),
            local: Vec::new(),
            head: Vec::new(),
            link: Vec::new(),
            next: Vec::new(),
            x: Vec::new(),
            flops: 0.0,
            arch: Arch::new(),
        }
    }
}

impl PanelCholesky {
    /// Take memory for patterns of up to n rows and so many entries. In small systems any fill then fits; in larger ones
    /// it is only known with the pattern.
    pub fn reserve(&mut self, n: usize, entries: usize) -> Result<()> {
        for v in [&mut self.local, &mut self.head, &mut self.link, &mut self.next] {
            reserve(v, n)?;
        }
        self.stale.reserve(n)?;
        reserve(&mut self.x, n)?;
        reserve(&mut self.product, (n + PAD).saturating_mul(CHUNK))?;
        let full = n.saturating_mul(n + PAD);
        let fill = if full <= AHEAD { full } else { 0 };
        reserve(&mut self.values, fill)?;
        self.pattern.reserve(n, entries, fill / 2)
    }

    /// Learn a symmetric pattern: row i has the rising columns `index[start[i]..start[i+1]]`; diagonals may be left out.
    /// All numbers are to be filled in next.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        if self.pattern.is(start, index) {
            self.stale.mark_all();
            return Ok(());
        }
        self.pattern.analyse(start, index)?;
        let done = self.take_memory();
        if done.is_err() {
            self.pattern.forget();
        }
        done
    }

    /// Memory for the numbers of the pattern.
    fn take_memory(&mut self) -> Result<()> {
        let PanelPattern { panels, order, .. } = &self.pattern;
        let (n, count) = (order.len(), panels.len() - 1);
        // Contacts come and go, and fill with them: take half as much again.
        reserve_ahead(&mut self.values, self.pattern.len())?;
        refill(&mut self.values, self.pattern.len(), 0.0)?;
        let tallest = panels[..count].iter().map(|p| p.height).max().unwrap_or(0);
        refill(&mut self.product, (tallest + PAD) * CHUNK, 0.0)?;
        refill(&mut self.x, n, 0.0)?;
        self.stale.begin(count)?;
        refill(&mut self.local, n, NONE)?;
        for v in [&mut self.head, &mut self.link, &mut self.next] {
            refill(v, count, NONE)?;
        }
        let cost = |p: &Panel| (0..p.width).map(|c| ((p.height - c) as f64).powi(2)).sum::<f64>();
        self.flops = panels[..count].iter().map(cost).sum();
        Ok(())
    }

    /// Multiplications and additions of one factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// Set the entries off the diagonal to `value(i, j, k)`, where (i, j) is the k-th of the analysed pattern and rows i and j
    /// are to be `kept`; all others to zero. Of two entries that mirror each other one is read.
    // Not inlined: its loop is worth all registers, wherever it is called from.
    #[inline(never)]
    pub fn fill(&mut self, kept: impl Fn(usize) -> bool, value: impl Fn(usize, usize, usize) -> f64) {
        let PanelPattern { index, entries, first_entry, .. } = &self.pattern;
        self.stale.mark_all();
        self.values.fill(0.0);
        for (i, range) in first_entry.windows(2).enumerate().filter(|(i, _)| kept(*i)) {
            for &(k, slot) in &entries[range[0] as usize..range[1] as usize] {
                let j = index[k as usize] as usize;
                if kept(j) {
                    self.values[slot as usize] = value(i, j, k as usize);
                }
            }
        }
    }

    /// Likewise, for a matrix that differs from the last one only in the rows and columns that are marked. Panels that do not
    /// depend on them stay as they were factored, and diagonal entries that are set there are passed over.
    #[inline]
    pub fn fill_changed(
        &mut self,
        changed: &[bool],
        kept: impl Fn(usize) -> bool,
        value: impl Fn(usize, usize, usize) -> f64,
    ) {
        let PanelCholesky { pattern, stale, values, .. } = self;
        let index = &pattern.index[..];
        let has_changed = |&(k, _): &(u32, u32)| changed[index[k as usize] as usize];
        let mark = |marks: &mut [bool]| {
            for i in 0..changed.len() {
                let mark = &mut marks[pattern.panel_of(i)];
                // A row that was not kept, and is not now, had and has no entries.
                *mark |= changed[i] || !*mark && kept(i) && pattern.entries_of(i).iter().any(has_changed);
            }
        };
        stale.mark(mark, |p| pattern.parent_of(p));
        if stale.is_all() {
            return self.fill(kept, value);
        }
        for (_, panel) in pattern.panels.windows(2).enumerate().filter(|(p, _)| stale.has(*p)) {
            values[panel[0].at..panel[1].at].fill(0.0);
        }
        for i in (0..changed.len()).filter(|&i| kept(i) && stale.has(pattern.panel_of(i))) {
            for &(k, slot) in pattern.entries_of(i) {
                let j = index[k as usize] as usize;
                if kept(j) {
                    values[slot as usize] = value(i, j, k as usize);
                }
            }
        }
    }

    /// Set entry (i, i).
    #[inline]
    pub fn set_diagonal(&mut self, i: usize, value: f64) {
        if self.stale.has(self.pattern.panel_of(i)) {
            self.values[self.pattern.diagonal[i] as usize] = value;
        }
    }

    /// Factor in place.
    pub fn factor(&mut self, budget: &Budget) -> std::result::Result<(), Failure> {
        let done = self.arch.dispatch(Factor { cholesky: self, budget });
        self.stale.finish(done.is_ok());
        done
    }

    /// Solve A x = b in place.
    pub fn solve(&mut self, x: &mut [f64]) {
        for (new, &old) in self.pattern.order.iter().enumerate() {
            self.x[new] = x[old as usize];
        }
        self.arch.dispatch(Solve { cholesky: self });
        for (new, &old) in self.pattern.order.iter().enumerate() {
            x[old as usize] = self.x[new];
        }
    }

    /// Panel t keeps its numbers, but the panels that updated it go on to their next runs, in the order they always do.
    fn pass(&mut self, t: usize) {
        let mut s = self.head[t];
        while s != NONE {
            let following = self.link[s as usize];
            let runs = self.pattern.runs_within(self.next[s as usize] as usize, s as usize, t);
            self.next[s as usize] = runs.end as u32;
            self.enlist(s as usize);
            s = following;
        }
        self.close(t);
    }

    /// Panel t is done.
    fn close(&mut self, t: usize) {
        self.next[t] = self.pattern.runs_of(t).start as u32;
        self.enlist(t);
    }

    /// Put a panel on the list of the panel its next run updates.
    fn enlist(&mut self, panel: usize) {
        let next = self.next[panel] as usize;
        if next < self.pattern.runs_of(panel).end {
            let target = self.pattern.runs[next].panel as usize;
            self.link[panel] = self.head[target];
            self.head[target] = panel as u32;
        }
    }
}

struct Factor<'a> {
    cholesky: &'a mut PanelCholesky,
    budget: &'a Budget,
}

impl WithSimd for Factor<'_> {
    type Output = std::result::Result<(), Failure>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let this = self.cholesky;
        this.head.fill(NONE);
        for t in 0..this.pattern.panels.len() - 1 {
            if !this.stale.has(t) {
                this.pass(t);
                continue;
            }
            let target = this.pattern.panels[t];
            mark_rows(&mut this.local, &target, &this.pattern.runs[this.pattern.runs_of(t)]);
            let mut s = this.head[t];
            while s != NONE {
                let following = this.link[s as usize];
                if !update(simd, this, s as usize, t, self.budget) {
                    return Err(Failure::OutOfTime(this.pattern.order[target.first] as usize));
                }
                this.enlist(s as usize);
                s = following;
            }
            let stop = |c: usize| this.pattern.order[target.first + c] as usize;
            let numbers = &mut this.values[target.at..][..target.width * target.stride()];
            for j in (0..target.width).step_by(STRIP) {
                if self.budget.spent() {
                    return Err(Failure::OutOfTime(stop(j)));
                }
                factor_strip(simd, &target, numbers, j).map_err(|c| Failure::NotPositive(stop(c)))?;
            }
            this.close(t);
        }
        Ok(())
    }
}

/// Take from panel t what panel s, an earlier one, contributes: the product of its rows from the next run on with those
/// that are t's columns. False: the deadline passed.
#[inline(always)]
fn update<S: Simd>(simd: S, this: &mut PanelCholesky, s: usize, t: usize, budget: &Budget) -> bool {
    let PanelCholesky { pattern, values, product, local, next, .. } = this;
    let (source, target) = (pattern.panels[s], pattern.panels[t]);
    let runs = &pattern.runs[next[s] as usize..pattern.runs_of(s).end];
    let within = pattern.runs_within(next[s] as usize, s, t).len();
    next[s] += within as u32;
    let first = runs[0].at as usize;
    let (rows, columns) = (source.height - first, (runs[within - 1].at + runs[within - 1].len) as usize - first);
    let (before, rest) = values.split_at_mut(target.at);
    let numbers = &before[source.at..][..source.width * source.stride()];
    let stride = rows + PAD;
    let mut k = 0;
    for j in 0..columns {
        if j % CHUNK == 0 {
            if j > 0 && budget.spent() {
                return false;
            }
            for j in (j..columns.min(j + CHUNK)).step_by(STRIP) {
                multiply(simd, numbers, source.stride(), first, j, rows, |c, i, vector| {
                    store(simd, &mut product[(j % CHUNK + c) * stride + i..], vector)
                });
            }
        }
        if j == (runs[k].at + runs[k].len) as usize - first {
            k += 1;
        }
        let column = &product[j % CHUNK * stride..][..rows];
        let to = local[runs[k].row as usize] as usize + j + first - runs[k].at as usize;
        let to = &mut rest[to * target.stride()..][..target.height];
        for down in &runs[k..] {
            let to = &mut to[local[down.row as usize] as usize..][..down.len as usize];
            for (to, from) in to.iter_mut().zip(&column[down.at as usize - first..]) {
                *to -= from;
            }
        }
    }
    true
}

/// Factor columns j.. of a panel, with those before them done. A failure names the column.
#[inline(always)]
fn factor_strip<S: Simd>(simd: S, panel: &Panel, numbers: &mut [f64], j: usize) -> std::result::Result<(), usize> {
    let (stride, height) = (panel.stride(), panel.height);
    let columns = STRIP.min(panel.width - j);
    let (done, strip) = numbers.split_at_mut(j * stride);
    if j > 0 {
        multiply(simd, done, stride, j, 0, height - j, |c, i, vector| {
            if c < columns {
                let to = &mut strip[c * stride + j + i..];
                let minus = simd.sub_f64s(load(simd, to), vector);
                store(simd, to, minus);
            }
        });
    }
    for c in 0..columns {
        let (column, later) = strip[c * stride..].split_at_mut(stride);
        let pivot = column[j + c];
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return Err(j + c);
        }
        let scale = 1.0 / pivot.sqrt();
        for l in &mut column[j + c..height] {
            *l *= scale;
        }
        for d in c + 1..columns {
            let factor = column[j + d];
            let to = &mut later[(d - c - 1) * stride + j + d..];
            for (to, l) in to.iter_mut().zip(&column[j + d..height]) {
                *to -= factor * l;
            }
        }
    }
    Ok(())
}

/// Rows first + j.. of some columns times their [`STRIP`] rows from first + j, transposed. `write` gets each vector of
/// the product with its column and row, both from j on; there are `rows` rows from `first` on, vectors may go beyond.
#[inline(always)]
fn multiply<S: Simd>(
    simd: S,
    numbers: &[f64],
    stride: usize,
    first: usize,
    j: usize,
    rows: usize,
    mut write: impl FnMut(usize, usize, S::f64s),
) {
    let mut i = j;
    while i < rows {
        if rows - i > S::F64_LANES {
            tile::<S, 2>(simd, numbers, stride, first + i, first + j, |c, r, v| write(c, i + r, v));
            i += 2 * S::F64_LANES;
        } else {
            tile::<S, 1>(simd, numbers, stride, first + i, first + j, |c, r, v| write(c, i + r, v));
            i += S::F64_LANES;
        }
    }
}

/// R vectors of rows from i on, times the rows from j on.
#[inline(always)]
fn tile<S: Simd, const R: usize>(
    simd: S,
    numbers: &[f64],
    stride: usize,
    i: usize,
    j: usize,
    mut write: impl FnMut(usize, usize, S::f64s),
) {
    let mut sum = [[simd.splat_f64s(0.0); STRIP]; R];
    for column in numbers.chunks_exact(stride) {
        let (left, _) = S::as_simd_f64s(&column[i..i + R * S::F64_LANES]);
        let right = &column[j..j + STRIP];
        for c in 0..STRIP {
            let factor = simd.splat_f64s(right[c]);
            for r in 0..R {
                sum[r][c] = simd.mul_add_e_f64s(left[r], factor, sum[r][c]);
            }
        }
    }
    for c in 0..STRIP {
        for r in 0..R {
            write(c, r * S::F64_LANES, sum[r][c]);
        }
    }
}

#[inline(always)]
fn load<S: Simd>(_: S, from: &[f64]) -> S::f64s {
    S::as_simd_f64s(&from[..S::F64_LANES]).0[0]
}

#[inline(always)]
fn store<S: Simd>(_: S, to: &mut [f64], vector: S::f64s) {
    S::as_mut_simd_f64s(&mut to[..S::F64_LANES]).0[0] = vector;
}

struct Solve<'a> {
    cholesky: &'a mut PanelCholesky,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let PanelCholesky { pattern, values, product, x, .. } = self.cholesky;
        let panels = pattern.panels.len() - 1;
        for p in 0..panels {
            let panel = pattern.panels[p];
            let runs = &pattern.runs[pattern.runs_of(p)];
            let own = panel.first..panel.first + panel.width;
            let z = &mut product[..panel.height];
            z[..panel.width].copy_from_slice(&x[own.clone()]);
            z[panel.width..].fill(0.0);
            let numbers = &values[panel.at..][..panel.width * panel.stride()];
            for (k, strip) in numbers.chunks(STRIP * panel.stride()).enumerate() {
                forward(&panel, strip, STRIP * k, z);
            }
            x[own].copy_from_slice(&z[..panel.width]);
            for Run { row, len, at, .. } in runs.iter().copied() {
                for (x, z) in x[row as usize..][..len as usize].iter_mut().zip(&z[at as usize..]) {
                    *x += z;
                }
            }
        }
        for p in (0..panels).rev() {
            let panel = pattern.panels[p];
            let own = panel.first..panel.first + panel.width;
            let z = &mut product[..panel.height];
            z[..panel.width].copy_from_slice(&x[own.clone()]);
            for Run { row, len, at, .. } in pattern.runs[pattern.runs_of(p)].iter().copied() {
                z[at as usize..][..len as usize].copy_from_slice(&x[row as usize..][..len as usize]);
            }
            let numbers = &values[panel.at..][..panel.width * panel.stride()];
            for (k, strip) in numbers.chunks(STRIP * panel.stride()).enumerate().rev() {
                backward(&panel, strip, STRIP * k, z);
            }
            x[own].copy_from_slice(&z[..panel.width]);
        }
    }
}

/// Solve for the rows of columns j.., and take what they contribute from the rows below.
#[inline(always)]
fn forward(panel: &Panel, strip: &[f64], j: usize, z: &mut [f64]) {
    let stride = panel.stride();
    let columns = strip.len() / stride;
    let (above, below) = z.split_at_mut(j + columns);
    let own = &mut above[j..];
    for c in 0..columns {
        let column = &strip[c * stride + j..][..columns];
        own[c] /= column[c];
        for d in c + 1..columns {
            own[d] -= column[d] * own[c];
        }
    }
    let rows = below.len();
    let column = |c: usize| &strip[c * stride + j + columns..][..rows];
    if let [x0, x1, x2, x3] = *own {
        let (c0, c1, c2, c3) = (column(0), column(1), column(2), column(3));
        for i in 0..rows {
            below[i] -= (c0[i] * x0 + c1[i] * x1) + (c2[i] * x2 + c3[i] * x3);
        }
    } else {
        for (c, x) in own.iter().enumerate() {
            for (z, l) in below.iter_mut().zip(column(c)) {
                *z -= l * x;
            }
        }
    }
}

/// The same with the transpose, from the rows below.
#[inline(always)]
fn backward(panel: &Panel, strip: &[f64], j: usize, z: &mut [f64]) {
    let stride = panel.stride();
    let columns = strip.len() / stride;
    let (above, below) = z.split_at_mut(j + columns);
    let own = &mut above[j..];
    let column = |c: usize| strip[c * stride + j + columns..][..below.len()].as_chunks::<LANES>();
    let (chunks, tail) = below.as_chunks::<LANES>();
    // Several lanes for each column; the compiler does not reorder a plain sum.
    let mut sums = [[0.0; LANES]; STRIP];
    if columns == STRIP {
        let lines = [column(0).0, column(1).0, column(2).0, column(3).0];
        for (i, z) in chunks.iter().enumerate() {
            for (sum, lines) in sums.iter_mut().zip(lines) {
                add_products(sum, &lines[i], z);
            }
        }
    } else {
        for (c, sum) in sums.iter_mut().enumerate().take(columns) {
            column(c).0.iter().zip(chunks).for_each(|(l, z)| add_products(sum, l, z));
        }
    }
    for (c, sum) in sums.iter_mut().enumerate().take(columns) {
        sum[0] += column(c).1.iter().zip(tail).map(|(l, z)| l * z).sum::<f64>();
    }
    for c in (0..columns).rev() {
        let column = &strip[c * stride + j..][..columns];
        let mut sum: f64 = sums[c].iter().sum();
        for d in c + 1..columns {
            sum += column[d] * own[d];
        }
        own[c] = (own[c] - sum) / column[c];
    }
}

#[inline(always)]
fn add_products(sum: &mut [f64; LANES], p: &[f64; LANES], q: &[f64; LANES]) {
    for k in 0..LANES {
        sum[k] += p[k] * q[k];
    }
}
