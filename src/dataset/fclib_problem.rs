//! FCLIB's problems as ours, and ours as FCLIB's. A global problem is condensed, `W = Hᵀ M⁻¹ H` and so on, which needs M
//! to be positive definite.

use super::fclib::{Fclib, FclibEquations, FclibMatrix, FclibSolution};
use super::problem::{MatrixRows, Recorded};
use crate::error::{Error, Result, Status};
use crate::multibody::{Formulation, Formulator, Frame, Shape};
use crate::problem::{Operator, Problem};
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeMap;

/// M is inverted block by block; a larger block is refused, and so is a W of more entries.
const MOST_BLOCK_ROWS: usize = 2000;
const MOST_CONDENSED: usize = 1 << 24;

/// (row, column, value).
type Entries = Vec<(usize, usize, f64)>;

impl Fclib {
    /// The file's problem with rows u (three or two per contact), then the equalities, which are free. Contacts in space
    /// have exact cones; in the plane a friction row hangs on its normal row, which is as exact.
    pub fn to_recorded(&self, name: &str) -> Result<Recorded> {
        let (entries, b) = match &self.equations {
            FclibEquations::Local { w, q, equalities } => {
                let (mut entries, mut b) = (w.entries(), q.clone());
                if let Some((v, r, s)) = equalities {
                    let n = w.rows;
                    entries.extend(v.entries().into_iter().flat_map(|(i, j, x)| [(i, n + j, x), (n + j, i, x)]));
                    entries.extend(r.entries().into_iter().map(|(i, j, x)| (n + i, n + j, x)));
                    b.extend(s);
                }
                (entries, b)
            }
            FclibEquations::Global { m, h, f, w, equalities } => condense(m, h, f, w, equalities.as_ref())?,
        };
        let n = b.len();
        let matrix = FclibMatrix::from_entries(n, n, entries);
        let (contacts, d) = (self.mu.len(), self.dimension);
        let is = |i: usize| (i < contacts * d).then_some(i % d);
        let hangs = |i: usize| d == 2 && is(i) == Some(1);
        let with = |u: &FclibSolution| Some([&u.r[..], &u.l[..]].concat()).filter(|x| x.len() == n);
        Ok(Recorded {
            name: name.to_string(),
            matrix: Some(MatrixRows { row_start: matrix.p, columns: matrix.i, values: matrix.x }),
            b,
            lo: (0..n).map(|i| if is(i) == Some(0) { 0.0 } else { f64::NEG_INFINITY }).collect(),
            hi: vec![f64::INFINITY; n],
            findex: (0..n).map(|i| if hangs(i) { i as i32 - 1 } else { -1 }).collect(),
            mu: (0..n).map(|i| if hangs(i) { self.mu[i / d] } else { 0.0 }).collect(),
            cones: if d == 3 { (0..3 * contacts as i32).collect() } else { Vec::new() },
            cone_mu: if d == 3 { self.mu.clone() } else { Vec::new() },
            x0: self.guesses.first().and_then(with),
            x: self.solution.as_ref().and_then(with),
            joules: 1.0,
            ..Recorded::default()
        })
    }

    /// A global FCLIB problem of a frame: M v = H r + G λ + f with v the velocities of the movable bodies. Joints must be
    /// free rows, and nothing compliant.
    pub fn from_frame(frame: &Frame, formulator: &mut Formulator) -> Result<Fclib> {
        let refuse = |why: &str| Err(Error::new(Status::Unsupported, format_args!("the frame {why}")));
        let (bodies, constraints, contacts) = (frame.bodies(), frame.constraints(), frame.contacts());
        if constraints.lo.iter().chain(constraints.hi).any(|b| b.is_finite()) {
            return refuse("has a constraint with bounds, which FCLIB does not know");
        }
        if constraints.compliance.iter().chain(contacts.compliance).any(|c| *c != 0.0) {
            return refuse("has compliant rows, which FCLIB does not know");
        }
        if contacts.mu.iter().any(|m| !m.is_finite()) {
            return refuse("has infinite friction, which FCLIB does not know");
        }
        let mixed = Formulation { shape: Shape::Box, mixed: true };
        let mut problem = Problem::new();
        formulator.fill(frame, mixed, &mut problem)?;
        let dof = 6 * bodies.masses.len();
        let mut place = Vec::new();
        let mut movable = 0;
        for mass in bodies.masses {
            place.extend((0..6).map(|c| mass.is_finite().then_some(movable + c)));
            movable += if mass.is_finite() { 6 } else { 0 };
        }
        let Operator::Csr(a) = problem.operator() else { return refuse("has no mixed form") };
        let (joints, rows) = (constraints.lo.len(), 3 * contacts.gap.len());
        let [mut m, mut h, mut g] = [Vec::new(), Vec::new(), Vec::new()];
        let mut f = vec![0.0; movable];
        let mut rest = problem.b()[dof..].to_vec();
        for i in 0..problem.len() {
            match i.checked_sub(dof) {
                None => {
                    if let Some(row) = place[i] {
                        f[row] = -problem.b()[i];
                        let inside = a.row(i).filter(|(j, _)| *j < dof);
                        m.extend(inside.filter_map(|(j, x)| Some((row, place[j]?, x))));
                    }
                }
                Some(k) => {
                    for (j, x) in a.row(i) {
                        match place.get(j) {
                            Some(Some(column)) if k < joints => g.push((*column, k, x)),
                            Some(Some(column)) => h.push((*column, k - joints, x)),
                            // A body that nothing moves goes on as it does: its row of M is the identity, b is -v.
                            Some(None) => rest[k] -= x * problem.b()[j],
                            None => {}
                        }
                    }
                }
            }
        }
        let equalities = (joints > 0).then(|| (FclibMatrix::from_entries(movable, joints, g), rest[..joints].to_vec()));
        Ok(Fclib {
            dimension: 3,
            equations: FclibEquations::Global {
                m: FclibMatrix::from_entries(movable, movable, m),
                h: FclibMatrix::from_entries(movable, rows, h),
                f,
                w: rest[joints..].to_vec(),
                equalities,
            },
            mu: contacts.mu.to_vec(),
            info: ["frame".to_string(), "written by libmlcp".to_string(), String::new()],
            solution: None,
            guesses: Vec::new(),
        })
    }

    /// A local FCLIB problem of a recorded one: contacts of a normal and one or two friction rows each, and free rows.
    /// `order` of the result tells which row of the recorded problem each row of FCLIB's is.
    pub fn from_recorded(recorded: &Recorded) -> Result<(Fclib, Vec<usize>)> {
        let refuse = |i: usize, why: &str| {
            Err(Error::new(Status::Unsupported, format_args!("row {i} of {}: {why}", recorded.name)))
        };
        let n = recorded.rows();
        let mut tangents: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut coefficient = recorded.mu.clone();
        for i in 0..n {
            if let Some(f) = recorded.normal_of(i) {
                tangents.entry(f).or_default().push(i);
            }
        }
        for (rows, &mu) in recorded.cones.chunks_exact(3).zip(&recorded.cone_mu) {
            let [normal, a, b] = [rows[0] as usize, rows[1] as usize, rows[2] as usize];
            tangents.entry(normal).or_default().extend([a, b]);
            (coefficient[a], coefficient[b]) = (mu, mu);
        }
        let dimension = 1 + tangents.values().map(Vec::len).max().unwrap_or(2);
        let (mut order, mut mu) = (Vec::new(), Vec::new());
        for (&normal, rows) in &tangents {
            if rows.len() + 1 != dimension || dimension > 3 {
                return refuse(normal, "FCLIB wants one or two friction rows on every normal row, always as many");
            }
            if recorded.lo[normal] != 0.0 || recorded.hi[normal] < f64::INFINITY {
                return refuse(normal, "a normal row of FCLIB has the bounds 0 and infinity");
            }
            if rows.iter().any(|&t| coefficient[t] != coefficient[rows[0]] || !coefficient[t].is_finite()) {
                return refuse(normal, "FCLIB wants one finite coefficient of friction");
            }
            order.push(normal);
            order.extend(rows);
            mu.push(coefficient[rows[0]]);
        }
        let contact_rows = order.len();
        let mut used = vec![false; n];
        order.iter().for_each(|&i| used[i] = true);
        for i in (0..n).filter(|&i| !used[i]) {
            if recorded.lo[i] > f64::NEG_INFINITY || recorded.hi[i] < f64::INFINITY {
                return refuse(i, "FCLIB has no rows with bounds but contacts");
            }
            order.push(i);
        }
        let Some(matrix) = &recorded.matrix else {
            return Err(Error::new(Status::Unsupported, format_args!("{} has no matrix", recorded.name)));
        };
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(k, &i)| place[i] = k);
        let [mut w, mut v, mut r] = [Vec::new(), Vec::new(), Vec::new()];
        for i in 0..n {
            for k in matrix.row_start[i] as usize..matrix.row_start[i + 1] as usize {
                let (row, column, x) = (place[i], place[matrix.columns[k] as usize], matrix.values[k]);
                match (row < contact_rows, column < contact_rows) {
                    (true, true) => w.push((row, column, x)),
                    (true, false) => v.push((row, column - contact_rows, x)),
                    (false, false) => r.push((row - contact_rows, column - contact_rows, x)),
                    // The transpose of V.
                    (false, true) => {}
                }
            }
        }
        let b: Vec<f64> = order.iter().map(|&i| recorded.b[i]).collect();
        let rest = n - contact_rows;
        let split = |x: &Vec<f64>| {
            let x: Vec<f64> = order.iter().map(|&i| x[i]).collect();
            FclibSolution {
                v: Vec::new(),
                u: vec![0.0; contact_rows],
                r: x[..contact_rows].into(),
                l: x[contact_rows..].into(),
            }
        };
        let equalities = (rest > 0).then(|| {
            let v = FclibMatrix::from_entries(contact_rows, rest, v);
            (v, FclibMatrix::from_entries(rest, rest, r), b[contact_rows..].to_vec())
        });
        let equations = FclibEquations::Local {
            w: FclibMatrix::from_entries(contact_rows, contact_rows, w),
            q: b[..contact_rows].to_vec(),
            equalities,
        };
        let info = [recorded.name.clone(), "written by libmlcp".to_string(), String::new()];
        let guesses: Vec<_> = recorded.x0.iter().map(split).collect();
        Ok((Fclib { dimension, equations, mu, info, solution: recorded.x.as_ref().map(split), guesses }, order))
    }
}

/// `A = Jᵀ M⁻¹ J` with J = (H, G), and `b = Jᵀ M⁻¹ f + (w, b)`. M falls into blocks, mostly one per body.
fn condense(
    m: &FclibMatrix,
    h: &FclibMatrix,
    f: &[f64],
    w: &[f64],
    equalities: Option<&(FclibMatrix, Vec<f64>)>,
) -> Result<(Entries, Vec<f64>)> {
    let mut b = w.to_vec();
    let mut columns = h.entries();
    if let Some((g, rest)) = equalities {
        columns.extend(g.entries().into_iter().map(|(i, j, x)| (i, h.columns + j, x)));
        b.extend(rest);
    }
    let mut entries = Vec::new();
    let mut by_row: Vec<Vec<(usize, f64)>> = vec![Vec::new(); m.rows];
    columns.into_iter().for_each(|(i, j, x)| by_row[i].push((j, x)));
    let (blocks, block_of) = blocks(m);
    let mut place = vec![0; m.rows];
    blocks.iter().for_each(|block| block.iter().enumerate().for_each(|(k, &i)| place[i] = k));
    let mut inside: Vec<Vec<(usize, usize, f64)>> = vec![Vec::new(); blocks.len()];
    m.entries().into_iter().for_each(|(i, j, x)| inside[block_of[i]].push((place[i], place[j], x)));
    let too_large = |n: usize, what: &str| {
        Err(Error::new(Status::Unsupported, format_args!("{what} {n}, too many to condense the problem")))
    };
    for (block, inside) in blocks.iter().zip(inside) {
        if block.len() > MOST_BLOCK_ROWS {
            return too_large(block.len(), "rows of M that hang together:");
        }
        let mut matrix = DMatrix::zeros(block.len(), block.len());
        inside.into_iter().for_each(|(i, j, x)| matrix[(i, j)] += x);
        let cholesky = matrix.cholesky().ok_or_else(|| {
            Error::new(Status::Singular, format_args!("M is not positive definite in row {}", block[0]))
        })?;
        // The columns of J that this block sees.
        let mut seen: BTreeMap<usize, DVector<f64>> = BTreeMap::new();
        for (k, &i) in block.iter().enumerate() {
            for &(j, x) in &by_row[i] {
                seen.entry(j).or_insert_with(|| DVector::zeros(block.len()))[k] += x;
            }
            if seen.len().saturating_mul(seen.len().max(block.len())) > MOST_CONDENSED {
                return too_large(seen.len(), "contact rows on one block of M:");
            }
        }
        if seen.len() * seen.len() + entries.len() > MOST_CONDENSED {
            return too_large(seen.len() * seen.len() + entries.len(), "entries of W:");
        }
        let free = cholesky.solve(&DVector::from_iterator(block.len(), block.iter().map(|&i| f[i])));
        for (&j, column) in &seen {
            b[j] += column.dot(&free);
            let solved = cholesky.solve(column);
            entries.extend(seen.iter().map(|(&i, other)| (i, j, other.dot(&solved))));
        }
    }
    Ok((entries, b))
}

/// Rows of M that hang together.
fn blocks(m: &FclibMatrix) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut root: Vec<usize> = (0..m.rows).collect();
    fn find(root: &mut [usize], mut i: usize) -> usize {
        while root[i] != i {
            root[i] = root[root[i]];
            i = root[i];
        }
        i
    }
    for (i, j, _) in m.entries() {
        let (i, j) = (find(&mut root, i), find(&mut root, j));
        root[i.max(j)] = i.min(j);
    }
    let (mut blocks, mut block_of) = (Vec::<Vec<usize>>::new(), vec![usize::MAX; m.rows]);
    for i in 0..m.rows {
        let r = find(&mut root, i);
        if block_of[r] == usize::MAX {
            block_of[r] = blocks.len();
            blocks.push(Vec::new());
        }
        block_of[i] = block_of[r];
        blocks[block_of[i]].push(i);
    }
    (blocks, block_of)
}
