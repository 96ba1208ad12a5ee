//! The pattern of a sparse Cholesky factor in panels: neighbouring columns with (almost) the same rows, stored as one
//! dense array each.
//!
//! Twins (`twins.rs`) are ordered as one (`block_pattern.rs`), and a column joins the panel of the one before it where that
//! stores few zeros.

use super::block_pattern::{reserve_ahead, BlockPattern, NONE};
use super::twins::Twins;
use crate::error::{Error, Result, Status};
use crate::memory::{refill, reserve};

/// Room below the columns of a panel, so that whole vectors may be read from any row.
pub(super) const PAD: usize = 8;
/// Columns join up to this width while the zeros they bring are at most this share of the panel.
const JOIN: [(usize, f64); 3] = [(16, 0.5), (48, 0.2), (256, 0.05)];

/// Neighbouring columns of L.
#[derive(Clone, Copy, Default)]
pub(super) struct Panel {
    /// First column, in the new order, and how many.
    pub first: usize,
    pub width: usize,
    /// Rows, the diagonal ones included.
    pub height: usize,
    /// Where its numbers begin, by columns `height + PAD` apart.
    pub at: usize,
    /// Where its runs begin; they end where the next panel's begin.
    pub runs: usize,
}

impl Panel {
    /// From one column to the next.
    pub fn stride(&self) -> usize {
        self.height + PAD
    }
}

/// Consecutive rows below a panel's diagonal which are columns of one later panel.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// First row, in the new order, and how many.
    pub row: u32,
    pub len: u32,
    /// Its row within the panel.
    pub at: u32,
    /// The later panel.
    pub panel: u32,
}

/// An ordered pattern.
#[derive(Default)]
pub(super) struct PanelPattern {
    /// Pattern as given.
    start: Vec<u32>,
    pub index: Vec<u32>,
    twins: Twins,
    blocks: BlockPattern,
    /// `order[new] = old` row and back.
    pub order: Vec<u32>,
    pub place: Vec<u32>,
    /// The panels, and one more that only says where the last one ends.
    pub panels: Vec<Panel>,
    pub runs: Vec<Run>,
    /// Where the numbers go: the entries of row i, numbered as in the pattern, with their places in L, are
    /// `entries[first_entry[i]..first_entry[i + 1]]`. Those whose mirror image is stored are left out.
    pub entries: Vec<(u32, u32)>,
    pub first_entry: Vec<u32>,
    pub diagonal: Vec<u32>,
    /// Work: place in L of every entry, first row of every block in the new order, panel of every block, place of rows
    /// within a panel.
    slot: Vec<u32>,
    block_row: Vec<u32>,
    panel_of: Vec<u32>,
    local: Vec<u32>,
}

impl PanelPattern {
    /// Take memory for patterns of up to n rows and so many entries; `fill`: entries of L, if known.
    pub fn reserve(&mut self, n: usize, entries: usize, fill: usize) -> Result<()> {
        self.twins.reserve(n, entries)?;
        self.blocks.reserve(n, entries, fill)?;
        let PanelPattern { order, place, diagonal, panel_of, local, .. } = self;
        for v in [order, place, diagonal, panel_of, local] {
            reserve(v, n)?;
        }
        for v in [&mut self.start, &mut self.first_entry, &mut self.block_row] {
            reserve(v, n + 1)?;
        }
        for v in [&mut self.index, &mut self.slot] {
            reserve(v, entries)?;
        }
        reserve(&mut self.entries, entries)?;
        reserve(&mut self.panels, n + 1)?;
        reserve(&mut self.runs, fill)
    }

    /// Is this the pattern that was analysed last?
    pub fn is(&self, start: &[u32], index: &[u32]) -> bool {
        self.start == start && self.index == index
    }

    /// No pattern is known from here on.
    pub fn forget(&mut self) {
        self.start.clear();
    }

    /// How many numbers the panels have.
    pub fn len(&self) -> usize {
        self.panels.last().map_or(0, |end| end.at)
    }

    /// The panel that row i is a column of.
    #[inline(always)]
    pub fn panel_of(&self, i: usize) -> usize {
        self.panel_of[self.blocks.place[self.twins.group[i] as usize] as usize] as usize
    }

    /// The first panel that a panel updates. All others that it updates are ancestors of that one.
    pub fn parent_of(&self, panel: usize) -> Option<usize> {
        self.runs[self.runs_of(panel)].first().map(|run| run.panel as usize)
    }

    /// The entries of the matrix that are in column i of L: their numbers and their places in L.
    #[inline(always)]
    pub fn entries_of(&self, i: usize) -> &[(u32, u32)] {
        &self.entries[self.first_entry[i] as usize..self.first_entry[i + 1] as usize]
    }

    /// The runs of a panel s from `next` on that are columns of panel t. Those are consecutive, but s need not have all of them.
    pub fn runs_within(&self, next: usize, s: usize, t: usize) -> std::ops::Range<usize> {
        let runs = &self.runs[next..self.runs_of(s).end];
        next..next + runs.iter().take_while(|run| run.panel as usize == t).count()
    }

    /// The runs of a panel.
    pub fn runs_of(&self, panel: usize) -> std::ops::Range<usize> {
        self.panels[panel].runs..self.panels[panel + 1].runs
    }

    /// Learn a symmetric pattern: row i has the rising columns `index[start[i]..start[i+1]]`; diagonals may be left out.
    pub fn analyse(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        self.forget();
        self.twins.find(start, index)?;
        if !self.blocks.is(&self.twins.start, &self.twins.index) {
            self.blocks.analyse(&self.twins.start, &self.twins.index)?;
        }
        self.place_rows(start.len() - 1)?;
        self.form_panels()?;
        self.list_runs()?;
        self.place_entries(start, index)?;
        reserve(&mut self.index, index.len())?;
        self.index.clear();
        self.index.extend_from_slice(index);
        reserve(&mut self.start, start.len())?;
        self.start.extend_from_slice(start);
        Ok(())
    }

    /// The rows of each block side by side.
    fn place_rows(&mut self, n: usize) -> Result<()> {
        let blocks = self.blocks.order.len();
        refill(&mut self.block_row, blocks + 1, 0)?;
        for (k, &old) in self.blocks.order.iter().enumerate() {
            self.block_row[k + 1] = self.block_row[k] + self.twins.size[old as usize];
        }
        refill(&mut self.order, n, 0)?;
        refill(&mut self.place, n, 0)?;
        // Each start moves to the next one's, and is moved back.
        for i in 0..n {
            let block = self.blocks.place[self.twins.group[i] as usize] as usize;
            let new = self.block_row[block];
            self.block_row[block] += 1;
            self.place[i] = new;
            self.order[new as usize] = i as u32;
        }
        self.block_row.copy_within(0..blocks, 1);
        self.block_row[0] = 0;
        Ok(())
    }

    /// Rows below block k's own.
    fn below(&self, k: usize) -> usize {
        let rows = &self.blocks.row[self.blocks.column[k]..self.blocks.column[k + 1]];
        rows.iter().map(|&r| (self.block_row[r as usize + 1] - self.block_row[r as usize]) as usize).sum()
    }

    fn form_panels(&mut self) -> Result<()> {
        let blocks = self.blocks.order.len();
        refill(&mut self.panel_of, blocks, 0)?;
        reserve(&mut self.panels, blocks + 1)?;
        self.panels.clear();
        let (mut k, mut at) = (0, 0usize);
        while k < blocks {
            let first = self.block_row[k] as usize;
            let size = |k: usize| (self.block_row[k + 1] - self.block_row[k]) as usize;
            let (mut width, mut below, mut zeros) = (size(k), self.below(k), 0);
            self.panel_of[k] = self.panels.len() as u32;
            while k + 1 < blocks && self.blocks.parent[k] as usize == k + 1 {
                let (more, rows) = (size(k + 1), self.below(k + 1));
                let joined = width + more;
                let stored = zeros + width * (more + rows).saturating_sub(below);
                let share = JOIN.iter().find(|(most, _)| joined <= *most).map_or(0.0, |(_, share)| *share);
                if stored as f64 > share * (joined * (joined + 2 * rows)) as f64 / 2.0 {
                    break;
                }
                (width, below, zeros) = (joined, rows, stored);
                k += 1;
                self.panel_of[k] = self.panels.len() as u32;
            }
            let panel = Panel { first, width, height: width + below, at, runs: 0 };
            at = panel.stride().checked_mul(width).and_then(|len| at.checked_add(len)).unwrap_or(usize::MAX);
            self.panels.push(panel);
            k += 1;
        }
        self.panels.push(Panel { at, ..Panel::default() });
        if at >= NONE as usize {
            return Err(Error::new(Status::OutOfMemory, format_args!("a sparse factor of {at} numbers is too large")));
        }
        Ok(())
    }

    /// The rows of a panel are those of its last column.
    fn list_runs(&mut self) -> Result<()> {
        self.runs.clear();
        let mut last = 0;
        for p in 0..self.panels.len() - 1 {
            while last + 1 < self.panel_of.len() && self.panel_of[last + 1] as usize == p {
                last += 1;
            }
            let begin = self.runs.len();
            self.panels[p].runs = begin;
            let mut at = self.panels[p].width as u32;
            for &block in &self.blocks.row[self.blocks.column[last]..self.blocks.column[last + 1]] {
                let (row, end) = (self.block_row[block as usize], self.block_row[block as usize + 1]);
                let panel = self.panel_of[block as usize];
                match self.runs[begin..].last_mut() {
                    Some(run) if run.panel == panel && run.row + run.len == row => run.len += end - row,
                    _ => {
                        let run = Run { row, len: end - row, at, panel };
                        let len = self.runs.len();
                        reserve_ahead(&mut self.runs, len + 1)?;
                        self.runs.push(run);
                    }
                }
                at += end - row;
            }
            last += 1;
        }
        let runs = self.runs.len();
        if let Some(end) = self.panels.last_mut() {
            end.runs = runs;
        }
        Ok(())
    }

    /// Entry (i, j) of the matrix, with i before j in the new order, is in column i of L. An entry that the pattern has on
    /// one side only, as noise may, can be missing there; it counts as zero.
    fn place_entries(&mut self, start: &[u32], index: &[u32]) -> Result<()> {
        let n = self.order.len();
        refill(&mut self.slot, index.len(), NONE)?;
        refill(&mut self.diagonal, n, 0)?;
        refill(&mut self.local, n, NONE)?;
        for p in 0..self.panels.len() - 1 {
            let panel = self.panels[p];
            let runs = self.panels[p].runs..self.panels[p + 1].runs;
            mark_rows(&mut self.local, &panel, &self.runs[runs.clone()]);
            for c in 0..panel.width {
                let i = self.order[panel.first + c] as usize;
                let column = (panel.at + c * panel.stride()) as u32;
                self.diagonal[i] = column + c as u32;
                for k in start[i] as usize..start[i + 1] as usize {
                    let j = self.place[index[k] as usize] as usize;
                    if j > panel.first + c && self.local[j] != NONE {
                        self.slot[k] = column + self.local[j];
                    }
                }
            }
            self.local[panel.first..panel.first + panel.width].fill(NONE);
            for run in &self.runs[runs] {
                self.local[run.row as usize..(run.row + run.len) as usize].fill(NONE);
            }
        }
        reserve(&mut self.entries, index.len())?;
        refill(&mut self.first_entry, n + 1, 0)?;
        self.entries.clear();
        for i in 0..n {
            let row = start[i]..start[i + 1];
            self.entries.extend(row.map(|k| (k, self.slot[k as usize])).filter(|&(_, slot)| slot != NONE));
            self.first_entry[i + 1] = self.entries.len() as u32;
        }
        Ok(())
    }
}

/// Where the rows of a panel are within it.
pub(super) fn mark_rows(local: &mut [u32], panel: &Panel, runs: &[Run]) {
    for (c, local) in local[panel.first..panel.first + panel.width].iter_mut().enumerate() {
        *local = c as u32;
    }
    for run in runs {
        for (c, local) in local[run.row as usize..(run.row + run.len) as usize].iter_mut().enumerate() {
            *local = run.at + c as u32;
        }
    }
}
