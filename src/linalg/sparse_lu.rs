//! Sparse LU factorisation with partial pivoting by faer, in memory that is kept; the order is found once per pattern.

use crate::error::{Error, Result, Status};
use crate::memory::refill;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::lu::{factorize_symbolic_lu, LuRef, LuSymbolicParams, NumericLu, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par};

/// A square matrix in compressed columns and its factors.
pub struct SparseLu {
    start: Vec<usize>,
    index: Vec<usize>,
    /// One value per entry of the pattern, to be filled by the caller.
    pub values: Vec<f64>,
    symbolic: Option<SymbolicLu<usize>>,
    numeric: NumericLu<usize, f64>,
    stack: MemBuffer,
    is_factored: bool,
}

impl Default for SparseLu {
    fn default() -> Self {
        SparseLu {
            start: Vec::new(),
            index: Vec::new(),
            values: Vec::new(),
            symbolic: None,
            numeric: NumericLu::new(),
            stack: MemBuffer::new(StackReq::EMPTY),
            is_factored: false,
        }
    }
}

impl SparseLu {
    /// Learn a pattern: column j has the rising rows `index[start[j]..start[j+1]]`.
    pub fn analyse(&mut self, start: &[usize], index: &[usize]) -> Result<()> {
        let n = start.len() - 1;
        refill(&mut self.start, start.len(), 0)?;
        refill(&mut self.index, index.len(), 0)?;
        self.start.copy_from_slice(start);
        self.index.copy_from_slice(index);
        refill(&mut self.values, index.len(), 0.0)?;
        self.is_factored = false;
        let no_memory = || Error::new(Status::OutOfMemory, format_args!("no memory to order {n} unknowns"));
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.start, None, &self.index);
        let symbolic = factorize_symbolic_lu(pattern, LuSymbolicParams::default()).map_err(|_| no_memory())?;
        let needed = symbolic
            .factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        self.stack = MemBuffer::try_new(needed).map_err(|_| no_memory())?;
        self.symbolic = Some(symbolic);
        Ok(())
    }

    /// Where entry (i, j) lives in `values`; it must be in the pattern.
    pub fn place(&self, i: usize, j: usize) -> usize {
        let column = self.start[j]..self.start[j + 1];
        column.start + self.index[column].binary_search(&i).expect("entry outside the analysed pattern")
    }

    /// Factor `values`. False: the matrix is singular or not finite.
    pub fn factor(&mut self) -> bool {
        let n = self.start.len() - 1;
        self.is_factored = false;
        if self.values.iter().any(|v| !v.is_finite()) {
            return false;
        }
        let Some(symbolic) = &self.symbolic else { return false };
        if n > 0 {
            let pattern = SymbolicSparseColMatRef::new_checked(n, n, &self.start, None, &self.index);
            let matrix = SparseColMatRef::new(pattern, &self.values);
            let stack = MemStack::new(&mut self.stack);
            if symbolic.factorize_numeric_lu(&mut self.numeric, matrix, Par::Seq, stack, Default::default()).is_err() {
                return false;
            }
        }
        self.is_factored = true;
        true
    }

    /// Solve A x = b in place. False: there are no factors, or the solution is not finite, as with a singular matrix.
    pub fn solve(&mut self, x: &mut [f64]) -> bool {
        let (true, Some(symbolic)) = (self.is_factored, &self.symbolic) else { return false };
        let n = x.len();
        if n > 0 {
            let factors = LuRef::new_unchecked(symbolic, &self.numeric);
            let stack = MemStack::new(&mut self.stack);
            let x = MatMut::from_column_major_slice_mut(x, n, 1);
            factors.solve_in_place_with_conj(Conj::No, x, Par::Seq, stack);
        }
        x.iter().all(|v| v.is_finite())
    }
}
