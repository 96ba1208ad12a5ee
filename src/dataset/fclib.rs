//! FCLIB's files, the frictional contact community's exchange format: local and global problems in 3D and 2D, with guesses
//! and solutions. The layout is that of fclib.h 3.1.
//!
//! ```text
//! local    u = W r + V λ + q,      Vᵀ r + R λ + s = 0
//! global   M v = H r + G λ + f,    Gᵀ v + b = 0,      u = Hᵀ v + w
//! ```
//!
//! Per contact (N, T1, T2) or (N, T) with Coulomb's law of coefficient mu between u and r. Files are not trusted, as
//! fclib's own reader does; stored solutions and guesses are handed over and believed by nobody: in files made by Siconos
//! they are mostly 0. `fclib_problem.rs` has the way from and to our problems.

use super::hdf5::{Address, Values, Writer};
use super::source::{Fields, Found};
use crate::error::{Error, Result, Status};
use std::path::Path;

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
    pub(super) fn from_entries(rows: usize, columns: usize, mut entries: Vec<(usize, usize, f64)>) -> FclibMatrix {
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
}
