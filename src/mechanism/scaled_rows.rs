//! Constraint rows on one scale: each divided by the root of its effective mass, so that units and row scaling vanish.
//!
//! Of a Jacobian problem they are the whitened rows `K = J L` with length 1 (compliance left aside: it cures a redundancy,
//! it does not remove it). A dense or CSR problem only knows `A = K Kᵀ`; its scaled rows `A_ij / sqrt(a_ii a_jj)` depend on
//! each other exactly as those of K do.

use crate::error::Result;
use crate::linalg::{BlockRow, BLOCK};
use crate::memory::reserve;
use crate::problem::{Operator, Problem};

/// Sparse rows in blocks of six columns.
#[derive(Default)]
pub(super) struct ScaledRows {
    /// The problem's rows they come from, rising.
    pub rows: Vec<u32>,
    /// `sqrt(a_ii)` of each, without compliance; 0: nothing that this row acts on can move.
    pub scale: Vec<f64>,
    start: Vec<u32>,
    blocks: Vec<u32>,
    values: Vec<[f64; BLOCK]>,
    /// Number of column blocks.
    pub width: usize,
    /// Are they rows of K, rather than of A?
    pub whitened: bool,
}

impl ScaledRows {
    /// Take the chosen rows of a problem.
    pub fn fill(&mut self, problem: &Problem, chosen: impl Fn(usize) -> bool) -> Result<()> {
        let n = problem.len();
        reserve(&mut self.rows, n)?;
        reserve(&mut self.scale, n)?;
        reserve(&mut self.start, n + 1)?;
        self.rows.clear();
        self.rows.extend((0..n).filter(|&i| chosen(i)).map(|i| i as u32));
        self.scale.clear();
        self.blocks.clear();
        self.values.clear();
        self.start.clear();
        self.start.push(0);
        self.whitened = matches!(problem.operator(), Operator::Jacobian(_));
        self.width = if self.whitened { problem.bodies() } else { self.rows.len().div_ceil(BLOCK) };
        match problem.operator() {
            Operator::Jacobian(jacobian) => {
                for k in 0..self.rows.len() {
                    self.push_whitened(jacobian, self.rows[k] as usize)?;
                }
            }
            Operator::Dense(a) => {
                let list: Vec<usize> = self.rows.iter().map(|&i| i as usize).collect();
                for &i in &list {
                    let row = a.row(i);
                    let entries = list.iter().enumerate().filter(|(_, &j)| row[j] != 0.0).map(|(c, &j)| (c, j, row[j]));
                    self.push_matrix_row(problem.diagonal(), i, entries)?;
                }
            }
            Operator::Csr(a) => {
                let mut place = vec![u32::MAX; n];
                for (c, &i) in self.rows.iter().enumerate() {
                    place[i as usize] = c as u32;
                }
                for k in 0..self.rows.len() {
                    let i = self.rows[k] as usize;
                    let inside = a.row(i).filter(|&(j, v)| place[j] != u32::MAX && v != 0.0);
                    let entries = inside.map(|(j, v)| (place[j] as usize, j, v));
                    self.push_matrix_row(problem.diagonal(), i, entries)?;
                }
            }
        }
        Ok(())
    }

    fn push_whitened(&mut self, jacobian: &crate::problem::Jacobian, i: usize) -> Result<()> {
        let row = &jacobian.rows()[i];
        let length = row.k.iter().fold(0.0f64, |sum, k| sum.hypot(*k));
        self.scale.push(length);
        if length > 0.0 {
            for half in 0..2 {
                let values: [f64; BLOCK] = std::array::from_fn(|c| row.k[BLOCK * half + c] / length);
                if (row.body[half] as usize) < self.width && values.iter().any(|v| *v != 0.0) {
                    self.push_block(row.body[half], values)?;
                }
            }
        }
        self.start.push(self.blocks.len() as u32);
        Ok(())
    }

    /// `entries`: place among the chosen rows, row number, value.
    fn push_matrix_row(
        &mut self,
        diagonal: &[f64],
        i: usize,
        entries: impl Iterator<Item = (usize, usize, f64)>,
    ) -> Result<()> {
        let scale = diagonal[i].max(0.0).sqrt();
        self.scale.push(scale);
        let begin = self.blocks.len();
        for (c, j, v) in entries.filter(|&(_, j, _)| scale > 0.0 && diagonal[j] > 0.0) {
            let block = (c / BLOCK) as u32;
            if self.blocks.len() == begin || self.blocks.last() != Some(&block) {
                self.push_block(block, [0.0; BLOCK])?;
            }
            let last = self.values.len() - 1;
            self.values[last][c % BLOCK] = v / (scale * diagonal[j].sqrt());
        }
        self.start.push(self.blocks.len() as u32);
        Ok(())
    }

    fn push_block(&mut self, block: u32, values: [f64; BLOCK]) -> Result<()> {
        if self.blocks.len() == self.blocks.capacity() {
            let more = 2 * self.blocks.len() + 64;
            reserve(&mut self.blocks, more)?;
            reserve(&mut self.values, more)?;
        }
        self.blocks.push(block);
        self.values.push(values);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn row(&self, k: usize) -> BlockRow<'_> {
        let range = self.start[k] as usize..self.start[k + 1] as usize;
        BlockRow { blocks: &self.blocks[range.clone()], values: &self.values[range] }
    }

    pub fn dot(&self, k: usize, u: &[f64]) -> f64 {
        let row = self.row(k);
        row.blocks
            .iter()
            .zip(row.values)
            .map(|(&block, values)| values.iter().zip(&u[BLOCK * block as usize..]).map(|(v, u)| v * u).sum::<f64>())
            .sum()
    }

    /// `u += s k_kᵀ`.
    pub fn add(&self, k: usize, s: f64, u: &mut [f64]) {
        let row = self.row(k);
        for (&block, values) in row.blocks.iter().zip(row.values) {
            for (u, v) in u[BLOCK * block as usize..].iter_mut().zip(values) {
                *u += s * v;
            }
        }
    }

    /// Which blocks meet in a row, as a sorted symmetric pattern without diagonals.
    pub fn graph(&self) -> (Vec<u32>, Vec<u32>) {
        let mut pairs: Vec<u64> = Vec::new();
        let mut last: &[u32] = &[];
        for k in 0..self.len() {
            let blocks = self.row(k).blocks;
            // The rows of one joint meet the same bodies.
            if blocks == last {
                continue;
            }
            last = blocks;
            for &p in blocks {
                pairs.extend(blocks.iter().filter(|&&q| q != p).map(|&q| u64::from(p) << 32 | u64::from(q)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let mut start = vec![0u32; self.width + 1];
        for pair in &pairs {
            start[(pair >> 32) as usize + 1] += 1;
        }
        for p in 0..self.width {
            start[p + 1] += start[p];
        }
        (start, pairs.into_iter().map(|pair| pair as u32).collect())
    }
}
