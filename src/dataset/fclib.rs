//! FCLIB's files, the frictional contact community's exchange format: local and global problems in 3D and 2D, with guesses
//! and solutions. The layout is that of fclib.h 3.1.
//!
//! ```text
//! local    u = W r + V λ + q,      Vᵀ r + R λ + s = 0
//! global   M v = H r + G λ + f,    Gᵀ v + b = 0,      u = Hᵀ v + w
//! ```
//!
//! Per contact (N, T1, T2) or (N, T) with Coulomb's law of coefficient mu between u and r. A global problem is condensed,
//! `W = Hᵀ M⁻¹ H` and so on, which needs M to be positive definite. Files are not trusted, fclib's own reader does; stored
//! solutions and guesses are handed over and believed by nobody: in files made by Siconos they are mostly 0.

use super::hdf5::{Address, Values, Writer};
use super::problem::{MatrixRows, Recorded};
use super::source::{Fields, Found};
use crate::error::{Error, Result, Status};
use crate::multibody::{Formulation, Formulator, Frame, Shape};
use crate::problem::{Operator, Problem};
use nalgebra::{DMatrix, DVector};
use std::collections::BTreeMap;
use std::path::Path;

/// M is inverted block by block; a larger block is refused, and so is a W of more entries.
const MOST_BLOCK_ROWS: usize = 2000;
const MOST_CONDENSED: usize = 1 << 24;
/// Texts are at most this long.
const MOST_TEXT: u64 = 1 << 16;

/// A matrix as FCLIB stores it; kept as it is, so that writing gives back what was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FclibMatrix {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries of triplets, or -1 for compressed columns, -2 for compressed rows.
    pub kind: i32,
    /// Column of each triplet, or where the columns or rows begin.
    pub p: Vec<i32>,
    /// Row of each triplet or of each entry by columns; column of each entry by rows.
    pub i: Vec<i32>,
    /// Entries.
    pub x: Vec<f64>,
}

/// A guess or a solution. Fields that a kind of problem does not have are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FclibSolution {
    /// Generalised velocities, global problems only.
    pub v: Vec<f64>,
    /// Local velocities.
    pub u: Vec<f64>,
    /// Local impulses.
    pub r: Vec<f64>,
    /// Multipliers of the equalities.
    pub l: Vec<f64>,
}

/// The equations.
#[derive(Clone, Debug, PartialEq)]
pub enum FclibEquations {
    /// With equalities (V, R, s), or without.
    Local {
        /// W.
        w: FclibMatrix,
        /// q.
        q: Vec<f64>,
        /// V, R, s.
        equalities: Option<(FclibMatrix, FclibMatrix, Vec<f64>)>,
    },
    /// With equalities (G, b), or without.
    Global {
        /// M.
        m: FclibMatrix,
        /// H.
        h: FclibMatrix,
        /// f.
        f: Vec<f64>,
        /// w.
        w: Vec<f64>,
        /// G, b.
        equalities: Option<(FclibMatrix, Vec<f64>)>,
    },
}

/// The content of an FCLIB file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fclib {
    /// 2 or 3, rows per contact.
    pub dimension: usize,
    /// Local or global.
    pub equations: FclibEquations,
    /// Coefficients of friction, one per contact.
    pub mu: Vec<f64>,
    /// Title, description, mathematical remarks; perhaps empty.
    pub info: [String; 3],
    /// The stored solution, if any.
    pub solution: Option<FclibSolution>,
    /// The stored guesses.
    pub guesses: Vec<FclibSolution>,
}

const INFO: [&str; 3] = ["title", "description", "math_info"];

impl FclibMatrix {
    fn read(parent: &Fields, name: &str, size: Option<(usize, usize)>) -> Found<FclibMatrix> {
        let fields = parent.group(name).ok_or_else(|| format!("has no group {name}"))?;
        let says = |e: String| format!("{name}/{e}");
        let one = |field: &str| Ok::<i32, String>(fields.integers(field, Some(1)).map_err(says)?[0]);
        let count = |field: &str| {
            let n = one(field)?;
            usize::try_from(n).map_err(|_| format!("{name}/{field} is {n}"))
        };
        let (rows, columns, most, kind) = (count("m")?, count("n")?, count("nzmax")?, one("nz")?);
        if let Some(size) = size.filter(|&s| s != (rows, columns)) {
            return Err(format!("{name} has {rows} by {columns} entries, expected {} by {}", size.0, size.1));
        }
        let (pointers, entries) = match kind {
            -1 => (columns + 1, most),
            -2 => (rows + 1, most),
            nz if nz >= 0 && nz as usize <= most => (nz as usize, nz as usize),
            nz => return Err(format!("{name}/nz is {nz}, with nzmax {most}")),
        };
        let matrix = FclibMatrix {
            rows,
            columns,
            kind,
            p: fields.integers("p", Some(pointers)).map_err(says)?,
            i: fields.integers("i", Some(entries)).map_err(says)?,
            x: fields.doubles("x", Some(entries)).map_err(says)?,
        };
        matrix.check().map_err(says)?;
        Ok(matrix)
    }

    fn check(&self) -> Found<()> {
        let below = |name: &str, list: &[i32], most: usize| match list.iter().position(|&v| v < 0 || v as usize >= most)
        {
            Some(k) => Err(format!("{name}[{k}] is {}, it must be below {most}", list[k])),
            None => Ok(()),
        };
        if self.kind >= 0 {
            below("p", &self.p, self.columns)?;
            below("i", &self.i, self.rows)?;
        } else {
            let rises = self.p.windows(2).all(|w| w[0] <= w[1]);
            if !rises || self.p[0] != 0 || self.p[self.p.len() - 1] as usize > self.i.len() {
                return Err("p does not rise from 0 to at most nzmax".to_string());
            }
            below("i", &self.i, if self.kind == -1 { self.rows } else { self.columns })?;
        }
        match self.x.iter().position(|v| !v.is_finite()) {
            Some(k) => Err(format!("x[{k}] is {}, it must be finite", self.x[k])),
            None => Ok(()),
        }
    }

    /// Entries (row, column, value); ones that stand twice add up.
    pub fn entries(&self) -> Vec<(usize, usize, f64)> {
        if self.kind >= 0 {
            return (0..self.x.len()).map(|k| (self.i[k] as usize, self.p[k] as usize, self.x[k])).collect();
        }
        let mut entries = Vec::new();
        for major in 0..self.p.len() - 1 {
            for k in self.p[major] as usize..self.p[major + 1] as usize {
                let minor = self.i[k] as usize;
                let (row, column) = if self.kind == -1 { (minor, major) } else { (major, minor) };
                entries.push((row, column, self.x[k]));
            }
        }
        entries
    }

    /// Compressed rows of entries, which are sorted and added up.
    fn from_entries(rows: usize, columns: usize, mut entries: Vec<(usize, usize, f64)>) -> FclibMatrix {
        entries.sort_by_key(|e| (e.0, e.1));
        let mut matrix = FclibMatrix { rows, columns, kind: -2, p: vec![0; rows + 1], ..FclibMatrix::default() };
        let mut last = None;
        for (row, column, value) in entries {
            match matrix.x.last_mut() {
                Some(x) if last == Some((row, column)) => *x += value,
                _ => {
                    matrix.i.push(column as i32);
                    matrix.x.push(value);
                    matrix.p[row + 1] += 1;
                }
            }
            last = Some((row, column));
        }
        for row in 0..rows {
            matrix.p[row + 1] += matrix.p[row];
        }
        matrix
    }

    fn write(&self, to: &mut Writer) -> Address {
        let number = |to: &mut Writer, n: i32| to.dataset(&[1], Values::Integers(&[n]), "");
        let links = [
            ("nzmax", number(to, self.x.len() as i32)),
            ("m", number(to, self.rows as i32)),
            ("n", number(to, self.columns as i32)),
            ("nz", number(to, self.kind)),
            ("p", to.dataset(&[self.p.len()], Values::Integers(&self.p), "")),
            ("i", to.dataset(&[self.i.len()], Values::Integers(&self.i), "")),
            ("x", to.dataset(&[self.x.len()], Values::Doubles(&self.x), "")),
        ];
        to.group(&links, &[])
    }
}

impl FclibSolution {
    fn read(fields: &Fields, sizes: [usize; 3]) -> Found<FclibSolution> {
        let [v, u, l] = sizes;
        let some = |name: &str, n: usize| if n == 0 { Ok(Vec::new()) } else { fields.doubles(name, Some(n)) };
        Ok(FclibSolution { v: some("v", v)?, u: some("u", u)?, r: some("r", u)?, l: some("l", l)? })
    }

    fn write(&self, to: &mut Writer) -> Address {
        let mut links = Vec::new();
        for (name, values) in [("v", &self.v), ("u", &self.u), ("r", &self.r), ("l", &self.l)] {
            if !values.is_empty() {
                links.push((name, to.dataset(&[values.len()], Values::Doubles(values), "")));
            }
        }
        to.group(&links, &[])
    }
}

/// Does the file hold an FCLIB problem?
pub(super) fn is_fclib(root: &Fields) -> bool {
    ["fclib_local", "fclib_global", "fclib_global_rolling"].iter().any(|g| root.group(g).is_some())
}

/// Read and check a file's problem. Errors are the end of a sentence.
pub(super) fn read(root: &Fields) -> Found<Fclib> {
    let (fields, local) = match (root.group("fclib_local"), root.group("fclib_global")) {
        (Some(fields), _) => (fields, true),
        (None, Some(fields)) => (fields, false),
        _ => return Err("rolling friction is not supported".to_string()),
    };
    let dimension = match fields.integers("spacedim", Some(1))?[0] {
        d @ (2 | 3) => d as usize,
        d => return Err(format!("spacedim is {d}, it must be 2 or 3")),
    };
    let vectors = fields.group("vectors").ok_or("has no group vectors")?;
    let (equations, rows) = match local {
        true => read_local(&fields, &vectors)?,
        false => read_global(&fields, &vectors)?,
    };
    if rows % dimension != 0 {
        return Err(format!("has {rows} rows, not {dimension} per contact"));
    }
    let mu = vectors.doubles("mu", Some(rows / dimension))?;
    if let Some(k) = mu.iter().position(|m| m.is_nan() || *m < 0.0) {
        return Err(format!("vectors/mu[{k}] is {}, it must be >= 0", mu[k]));
    }
    let mut found = Fclib { dimension, equations, mu, info: Default::default(), solution: None, guesses: Vec::new() };
    if let Some(info) = fields.group("info") {
        for (text, name) in found.info.iter_mut().zip(INFO) {
            if info.has(name) {
                *text = info.string(name, MOST_TEXT)?;
            }
        }
    }
    let sizes = found.sizes();
    if let Some(solution) = root.group("solution") {
        found.solution = Some(FclibSolution::read(&solution, sizes).map_err(|e| format!("solution/{e}"))?);
    }
    if let Some(guesses) = root.group("guesses") {
        let count = guesses.integers("number_of_guesses", Some(1))?[0];
        for k in 1..=count {
            let guess = guesses.group(&k.to_string()).ok_or_else(|| format!("has no group guesses/{k}"))?;
            found.guesses.push(FclibSolution::read(&guess, sizes).map_err(|e| format!("guesses/{k}/{e}"))?);
        }
    }
    Ok(found)
}

fn finite(name: &str, values: Vec<f64>) -> Found<Vec<f64>> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(values),
        Some(k) => Err(format!("vectors/{name}[{k}] is {}, it must be finite", values[k])),
    }
}

fn read_local(fields: &Fields, vectors: &Fields) -> Found<(FclibEquations, usize)> {
    let w = FclibMatrix::read(fields, "W", None)?;
    let n = w.rows;
    if w.columns != n {
        return Err(format!("W has {n} by {} entries, it must be square", w.columns));
    }
    let equalities = match fields.group("V").is_some() {
        false => None,
        true => {
            let v = FclibMatrix::read(fields, "V", None)?;
            if v.rows != n {
                return Err(format!("V has {} rows, expected {n}", v.rows));
            }
            let r = FclibMatrix::read(fields, "R", Some((v.columns, v.columns)))?;
            let s = finite("s", vectors.doubles("s", Some(r.rows))?)?;
            Some((v, r, s))
        }
    };
    let q = finite("q", vectors.doubles("q", Some(n))?)?;
    Ok((FclibEquations::Local { w, q, equalities }, n))
}

fn read_global(fields: &Fields, vectors: &Fields) -> Found<(FclibEquations, usize)> {
    let m = FclibMatrix::read(fields, "M", None)?;
    if m.columns != m.rows {
        return Err(format!("M has {} by {} entries, it must be square", m.rows, m.columns));
    }
    let h = FclibMatrix::read(fields, "H", None)?;
    if h.rows != m.rows {
        return Err(format!("H has {} rows, M has {}", h.rows, m.rows));
    }
    let equalities = match fields.group("G").is_some() {
        false => None,
        true => {
            let g = FclibMatrix::read(fields, "G", None)?;
            if g.rows != m.rows {
                return Err(format!("G has {} rows, M has {}", g.rows, m.rows));
            }
            let b = finite("b", vectors.doubles("b", Some(g.columns))?)?;
            Some((g, b))
        }
    };
    let f = finite("f", vectors.doubles("f", Some(m.rows))?)?;
    let w = finite("w", vectors.doubles("w", Some(h.columns))?)?;
    let rows = h.columns;
    Ok((FclibEquations::Global { m, h, f, w, equalities }, rows))
}

impl Fclib {
    /// Lengths of v, of u and r, and of l.
    fn sizes(&self) -> [usize; 3] {
        match &self.equations {
            FclibEquations::Local { w, equalities, .. } => {
                [0, w.rows, equalities.as_ref().map_or(0, |(v, ..)| v.columns)]
            }
            FclibEquations::Global { m, h, equalities, .. } => {
                [m.rows, h.columns, equalities.as_ref().map_or(0, |(g, _)| g.columns)]
            }
        }
    }

    /// Write an FCLIB file; one of that name is replaced.
    pub fn write(&self, path: &Path) -> Result<()> {
        Writer::write_whole(path, |to| self.write_to(to))
            .map_err(|e| Error::new(Status::File, format_args!("{}: cannot be written: {e}", path.display())))
    }

    fn write_to(&self, to: &mut Writer) -> Address {
        let mut links = vec![("spacedim", to.dataset(&[1], Values::Integers(&[self.dimension as i32]), ""))];
        let mut vectors = vec![("mu", &self.mu)];
        let name = match &self.equations {
            FclibEquations::Local { w, q, equalities } => {
                links.push(("W", w.write(to)));
                vectors.push(("q", q));
                if let Some((v, r, s)) = equalities {
                    links.extend([("V", v.write(to)), ("R", r.write(to))]);
                    vectors.push(("s", s));
                }
                "fclib_local"
            }
            FclibEquations::Global { m, h, f, w, equalities } => {
                links.extend([("M", m.write(to)), ("H", h.write(to))]);
                vectors.extend([("f", f), ("w", w)]);
                if let Some((g, b)) = equalities {
                    links.push(("G", g.write(to)));
                    vectors.push(("b", b));
                }
                "fclib_global"
            }
        };
        let members: Vec<_> =
            vectors.into_iter().map(|(n, v)| (n, to.dataset(&[v.len()], Values::Doubles(v), ""))).collect();
        links.push(("vectors", to.group(&members, &[])));
        if self.info.iter().any(|t| !t.is_empty()) {
            let texts = INFO.iter().zip(&self.info);
            let members: Vec<_> = texts.map(|(n, t)| (*n, to.dataset(&[], Values::Text(t), ""))).collect();
            links.push(("info", to.group(&members, &[])));
        }
        let mut root = vec![(name.to_string(), to.group(&links, &[]))];
        if let Some(solution) = &self.solution {
            root.push(("solution".to_string(), solution.write(to)));
        }
        if !self.guesses.is_empty() {
            let count = [self.guesses.len() as i32];
            let mut members = vec![("number_of_guesses".to_string(), to.dataset(&[1], Values::Integers(&count), ""))];
            members.extend(self.guesses.iter().enumerate().map(|(k, g)| ((k + 1).to_string(), g.write(to))));
            let members: Vec<_> = members.iter().map(|(n, a)| (n.as_str(), *a)).collect();
            root.push(("guesses".to_string(), to.group(&members, &[])));
        }
        let root: Vec<_> = root.iter().map(|(n, a)| (n.as_str(), *a)).collect();
        to.group(&root, &[])
    }

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
            if recorded.lo[normal] != 0.0 || recorded.hi[normal] < crate::problem::INFINITE_BOUND {
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
            if recorded.lo[i] > -crate::problem::INFINITE_BOUND || recorded.hi[i] < crate::problem::INFINITE_BOUND {
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
) -> Result<(Vec<(usize, usize, f64)>, Vec<f64>)> {
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
