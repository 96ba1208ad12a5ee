//! Problem files: one group `/problems/<name>` per step.
//!
//! ```text
//! A/{indptr, indices, data}     compressed rows; or none where jacobian stands
//! b, lo, hi                     w = A x + b, lo <= x <= hi; absent bounds are IEEE infinities, finite ones hold
//! findex                        -1, or the normal row of a friction row
//! mu                            friction coefficients; without it friction rows have -mu, mu in lo, hi
//! jacobian (n, 12), bodies (n, 2; -1 the world), inverse_mass (bodies, 12), compliance (n)
//! cones (k, 3), cone_mu (k)     rows (normal, two tangents) and coefficients of contacts with exact friction
//! x0, x_ref, x                  the engine's warm start, a reference solution (coupled friction), a recorded solution
//! engine_solutions/<solver>     what the engine's own solvers found, with an attribute ok
//! frozen_normals                impulses at which friction bounds were frozen
//! ```
//!
//! Attributes: `meta` (JSON with `units` "impulse" or "force" and `dt`), and in files of this library `units`,
//! `friction`, `name` of solver and errors of `x`. Joules need x·dt and w·dt where units are forces.

use super::hdf5::{Address, Attribute, Values, Writer};
use super::source::{Fields, Found};
use crate::error::Result;
use crate::problem::{FrictionMode, Operator, Problem, Triangle};

/// n² doubles of a dense matrix stay below 1 GiB.
const MOST_DENSE_ROWS: usize = 11_000;

/// How to hand a recorded matrix over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Compressed rows.
    Csr,
    /// Two-body rows, where recorded.
    Jacobian,
    /// All entries.
    Dense,
}

/// Two-body rows: A = J M⁻¹ Jᵀ + diag(compliance).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JacobianRows {
    /// 12 per body.
    pub inverse_mass: Vec<f64>,
    /// 12 per row.
    pub rows: Vec<f64>,
    /// 2 per row, -1 for the world.
    pub bodies: Vec<i32>,
    /// 1 per row, if recorded.
    pub compliance: Option<Vec<f64>>,
}

/// Compressed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatrixRows {
    /// n + 1 offsets into `columns` and `values`.
    pub row_start: Vec<i32>,
    /// Columns, rising within each row.
    pub columns: Vec<i32>,
    /// Entries.
    pub values: Vec<f64>,
}

/// What a solver of the engine's own found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineSolution {
    /// Name of the solver.
    pub name: String,
    /// Did it report success?
    pub ok: bool,
    /// Its impulses, as they were, NaN included.
    pub x: Vec<f64>,
}

/// One recorded problem, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Name of its group.
    pub name: String,
    /// A, if recorded; else there is a Jacobian.
    pub matrix: Option<MatrixRows>,
    /// Two-body rows, if recorded.
    pub jacobian: Option<JacobianRows>,
    /// w = A x + b.
    pub b: Vec<f64>,
    /// Lower bounds; on friction rows the cap, mostly -inf.
    pub lo: Vec<f64>,
    /// Upper bounds; on friction rows the cap, mostly +inf.
    pub hi: Vec<f64>,
    /// Normal row of each friction row, else -1.
    pub findex: Vec<i32>,
    /// Friction coefficients of the friction rows, else 0.
    pub mu: Vec<f64>,
    /// Rows of the contacts with exact friction, three each: normal and two tangents.
    pub cones: Vec<i32>,
    /// Their coefficients of friction.
    pub cone_mu: Vec<f64>,
    /// The engine's warm start, if recorded.
    pub x0: Option<Vec<f64>>,
    /// A reference solution with coupled friction, if recorded; not unique where A is rank-deficient.
    pub x_ref: Option<Vec<f64>>,
    /// The solution recorded with the problem, if any.
    pub x: Option<Vec<f64>>,
    /// Impulses at which friction was frozen, if it was.
    pub frozen_normals: Option<Vec<f64>>,
    /// What the engine's own solvers found, if recorded.
    pub engine_solutions: Vec<EngineSolution>,
    /// Joules per unit of x·w: 1 for impulses and velocities, dt² for forces and accelerations.
    pub joules: f64,
    /// The step in seconds, if recorded.
    pub step: Option<f64>,
    /// Are these forces and accelerations, not impulses and velocities?
    pub units_are_forces: bool,
}

impl Recorded {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.b.len()
    }

    /// The normal row of friction row `i`; a row that names itself has none.
    pub fn normal_of(&self, i: usize) -> Option<usize> {
        usize::try_from(self.findex[i]).ok().filter(|&f| f != i)
    }

    /// Does any row take its bounds from another, cones aside?
    pub fn has_friction(&self) -> bool {
        (0..self.rows()).any(|i| self.normal_of(i).is_some())
    }

    /// How the friction was read when the problem was recorded; coupled where the file does not say.
    pub fn friction(&self) -> FrictionMode {
        match self.frozen_normals {
            Some(_) => FrictionMode::Frozen,
            None => FrictionMode::Coupled,
        }
    }

    /// The form to use when `wanted` is asked for, or by default; what was not recorded or is too large becomes another.
    pub fn form(&self, wanted: Option<Form>) -> Form {
        let other = if self.matrix.is_some() { Form::Csr } else { Form::Jacobian };
        match wanted {
            None | Some(Form::Jacobian) if self.jacobian.is_some() => Form::Jacobian,
            Some(Form::Dense) if self.matrix.is_some() && self.rows() <= MOST_DENSE_ROWS => Form::Dense,
            _ => other,
        }
    }

    /// Refill a problem in [`Recorded::form`]`(form)`. [`FrictionMode::Frozen`] takes the recorded frozen normals, else
    /// those of `x_ref`; with neither they must be set afterwards.
    pub fn fill(&self, problem: &mut Problem, form: Option<Form>, friction: FrictionMode) -> Result<()> {
        let n = self.rows();
        match (self.form(form), &self.jacobian, &self.matrix) {
            (Form::Jacobian, Some(j), _) => {
                problem.set_jacobian(&j.inverse_mass, &j.rows, &j.bodies, j.compliance.as_deref())?
            }
            (Form::Dense, _, Some(m)) => problem.set_dense(n, &m.dense(), n, Triangle::Full)?,
            (_, _, Some(m)) => problem.set_csr(n, &m.row_start, &m.columns, &m.values)?,
            _ => problem.set_csr(0, &[0], &[], &[])?,
        }
        problem.set_b(&self.b)?;
        problem.set_bounds(&self.lo, &self.hi)?;
        if self.has_friction() {
            problem.set_friction(&self.findex, &self.mu, friction)?;
            let normals = self.frozen_normals.as_ref().or(self.x_ref.as_ref());
            if let (FrictionMode::Frozen, Some(x)) = (friction, normals) {
                problem.set_frozen_normals(x)?;
            }
        }
        problem.set_cones(&self.cones, &self.cone_mu)
    }
}

impl Recorded {
    /// Become the copy of a problem, in the memory there is, with a solution if there is one.
    pub fn capture(&mut self, problem: &Problem, x: Option<&[f64]>) {
        let n = problem.len();
        match problem.operator() {
            Operator::Jacobian(j) => {
                self.matrix = None;
                let rows = self.jacobian.get_or_insert_default();
                rows.inverse_mass.clear();
                rows.inverse_mass.extend_from_slice(j.inverse_mass());
                rows.rows.clear();
                rows.rows.extend(j.given_rows().iter().flatten());
                rows.bodies.clear();
                let number = |&body: &u32| if body as usize == j.bodies() { -1 } else { body as i32 };
                rows.bodies.extend(j.rows().iter().flat_map(|r| r.body.iter().map(number)));
                let compliance = rows.compliance.get_or_insert_default();
                compliance.clear();
                compliance.extend_from_slice(j.compliance());
            }
            Operator::Csr(_) => {
                self.jacobian = None;
                self.matrix.get_or_insert_default().collect(n, |i, push| problem.for_each_entry(i, push));
            }
            Operator::Dense(a) => {
                self.jacobian = None;
                let entries = |i: usize, push: &mut dyn FnMut(usize, f64)| {
                    let stored = |&(j, &v): &(usize, &f64)| v != 0.0 || j == i;
                    a.row(i).iter().enumerate().filter(stored).for_each(|(j, &v)| push(j, v));
                };
                self.matrix.get_or_insert_default().collect(n, entries);
            }
        }
        let friction = problem.friction();
        copy(&mut self.b, problem.b().iter().copied());
        copy(&mut self.lo, (0..n).map(|i| problem.own_bounds(i).0));
        copy(&mut self.hi, (0..n).map(|i| problem.own_bounds(i).1));
        copy(&mut self.mu, (0..n).map(|i| friction.mu_of(i)));
        copy(&mut self.findex, (0..n).map(|i| friction.normal_of(i).map_or(-1, |f| f as i32)));
        let cones = problem.cones().list();
        copy(&mut self.cones, cones.iter().flat_map(|c| [c.normal, c.tangents[0], c.tangents[1]].map(|r| r as i32)));
        copy(&mut self.cone_mu, cones.iter().map(|c| c.mu));
        copy_some(&mut self.x, x);
        copy_some(&mut self.frozen_normals, Some(friction.frozen_at()).filter(|f| !f.is_empty()));
        (self.x0, self.x_ref, self.step) = (None, None, None);
        self.engine_solutions.clear();
        (self.joules, self.units_are_forces) = (1.0, false);
    }

    /// Add the problem to a file.
    pub(super) fn write(&self, to: &mut Writer, attributes: &[Attribute<'_>]) -> Address {
        let n = self.rows();
        let (impulse, velocity) = match self.units_are_forces {
            true => ("N or N m", "m/s^2 or rad/s^2"),
            false => ("N s or N m s", "m/s or rad/s"),
        };
        let mut links = Vec::new();
        if let Some(m) = &self.matrix {
            let entries = m.values.len();
            let members = [
                ("indptr", to.dataset(&[n + 1], Values::Integers(&m.row_start), "")),
                ("indices", to.dataset(&[entries], Values::Integers(&m.columns), "")),
                ("data", to.dataset(&[entries], Values::Doubles(&m.values), "1/kg or 1/(kg m^2)")),
            ];
            let shape = [("shape", Values::Integers(&[n as i32, n as i32]))];
            links.push(("A", to.group(&members, &shape)));
        }
        if let Some(j) = &self.jacobian {
            let bodies = j.inverse_mass.len() / 12;
            links.push(("jacobian", to.dataset(&[n, 12], Values::Doubles(&j.rows), "")));
            links.push(("bodies", to.dataset(&[n, 2], Values::Integers(&j.bodies), "")));
            let unit = "1/kg, 1/(kg m^2)";
            links.push(("inverse_mass", to.dataset(&[bodies, 12], Values::Doubles(&j.inverse_mass), unit)));
            if let Some(c) = &j.compliance {
                links.push(("compliance", to.dataset(&[n], Values::Doubles(c), "1/kg or 1/(kg m^2)")));
            }
        }
        for (name, values, unit) in [
            ("b", Some(&self.b), velocity),
            ("lo", Some(&self.lo), impulse),
            ("hi", Some(&self.hi), impulse),
            ("mu", Some(&self.mu), "1"),
            ("x0", self.x0.as_ref(), impulse),
            ("x_ref", self.x_ref.as_ref(), impulse),
            ("x", self.x.as_ref(), impulse),
            ("frozen_normals", self.frozen_normals.as_ref(), impulse),
        ] {
            if let Some(values) = values {
                links.push((name, to.dataset(&[n], Values::Doubles(values), unit)));
            }
        }
        if !self.cone_mu.is_empty() {
            let count = self.cone_mu.len();
            links.push(("cones", to.dataset(&[count, 3], Values::Integers(&self.cones), "")));
            links.push(("cone_mu", to.dataset(&[count], Values::Doubles(&self.cone_mu), "1")));
        }
        links.push(("findex", to.dataset(&[n], Values::Integers(&self.findex), "")));
        let size = [n as i32];
        let mut all = vec![("n", Values::Integers(&size))];
        all.push(("units", Values::Text(if self.units_are_forces { "force" } else { "impulse" })));
        if let Some(step) = &self.step {
            all.push(("step_seconds", Values::Doubles(std::slice::from_ref(step))));
        }
        all.extend_from_slice(attributes);
        to.group(&links, &all)
    }
}

fn copy<T>(to: &mut Vec<T>, from: impl Iterator<Item = T>) {
    to.clear();
    to.extend(from);
}

fn copy_some(to: &mut Option<Vec<f64>>, from: Option<&[f64]>) {
    match from {
        Some(from) => copy(to.get_or_insert_default(), from.iter().copied()),
        None => *to = None,
    }
}

impl MatrixRows {
    /// The entries of a problem's matrix, also of one that is never formed.
    pub fn of(problem: &Problem) -> MatrixRows {
        let mut rows = MatrixRows::default();
        rows.collect(problem.len(), |i, push| problem.for_each_entry(i, push));
        rows
    }

    /// Take the entries of n rows, as `entries` pushes them.
    fn collect(&mut self, n: usize, entries: impl Fn(usize, &mut dyn FnMut(usize, f64))) {
        self.columns.clear();
        self.values.clear();
        copy(&mut self.row_start, std::iter::once(0));
        for i in 0..n {
            entries(i, &mut |j, v| {
                self.columns.push(j as i32);
                self.values.push(v);
            });
            self.row_start.push(self.columns.len() as i32);
        }
    }

    /// All entries by rows.
    pub fn dense(&self) -> Vec<f64> {
        let n = self.row_start.len() - 1;
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for k in self.row_start[i] as usize..self.row_start[i + 1] as usize {
                a[i * n + self.columns[k] as usize] = self.values[k];
            }
        }
        a
    }
}

/// Read and check one problem. Errors are the end of a sentence.
pub(super) fn read(fields: &Fields, name: &str) -> Found<Recorded> {
    let b = fields.doubles("b", None)?;
    let n = b.len();
    let jacobian = if fields.has("jacobian") { Some(read_jacobian(fields, n)?) } else { None };
    let matrix = if jacobian.is_none() || fields.group("A").is_some() { Some(read_matrix(fields, n)?) } else { None };
    let (joules, step, units_are_forces) = units(fields)?;
    let coefficients = fields.optional("mu", n)?;
    let cone_mu = if fields.has("cones") { fields.doubles("cone_mu", None)? } else { Vec::new() };
    let cones = if fields.has("cones") { fields.integers("cones", cone_mu.len().checked_mul(3))? } else { Vec::new() };
    let mut recorded = Recorded {
        name: name.to_string(),
        matrix,
        jacobian,
        lo: fields.doubles("lo", Some(n))?,
        hi: fields.doubles("hi", Some(n))?,
        findex: fields.integers("findex", Some(n))?,
        mu: vec![0.0; n],
        cones,
        cone_mu,
        x0: fields.optional("x0", n)?,
        x_ref: fields.optional("x_ref", n)?,
        x: fields.optional("x", n)?,
        frozen_normals: fields.optional("frozen_normals", n)?,
        engine_solutions: engine_solutions(fields, n)?,
        joules,
        step,
        units_are_forces,
        b,
    };
    for (field, x) in [("x0", &recorded.x0), ("x_ref", &recorded.x_ref), ("x", &recorded.x)] {
        if let Some((i, v)) = x.iter().flatten().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(format!("{field}[{i}] is {v}, it must be finite"));
        }
    }
    if let Some((i, &f)) = recorded.findex.iter().enumerate().find(|(_, &f)| f < -1 || f as i64 >= n as i64) {
        return Err(format!("findex[{i}] is {f}, it must be -1 or a row below {n}"));
    }
    match coefficients {
        Some(mu) => recorded.mu = mu,
        None => split_friction(&mut recorded)?,
    }
    // The library's own checks see to the rest: matrix, NaN, bounds, friction rows.
    let mut problem = Problem::new();
    for form in [Form::Csr, Form::Jacobian] {
        let friction = recorded.friction();
        recorded.fill(&mut problem, Some(form), friction).map_err(|e| in_file_terms(e.message()))?;
    }
    Ok(recorded)
}

/// What the engine's own solvers found: datasets with an attribute `ok`.
fn engine_solutions(fields: &Fields, n: usize) -> Found<Vec<EngineSolution>> {
    let Some(group) = fields.group("engine_solutions") else { return Ok(Vec::new()) };
    let read = |name: String| {
        let x = group.doubles(&name, Some(n)).map_err(|e| format!("engine_solutions/{e}"))?;
        Ok(EngineSolution { ok: group.dataset_number(&name, "ok") == Some(1.0), x, name })
    };
    group.datasets()?.into_iter().map(read).collect()
}

fn read_matrix(fields: &Fields, n: usize) -> Found<MatrixRows> {
    let row_start = fields.integers("A/indptr", Some(n + 1))?;
    let entries = usize::try_from(row_start[n]).map_err(|_| format!("A/indptr ends with {}", row_start[n]))?;
    Ok(MatrixRows {
        columns: fields.integers("A/indices", Some(entries))?,
        values: fields.doubles("A/data", Some(entries))?,
        row_start,
    })
}

fn read_jacobian(fields: &Fields, n: usize) -> Found<JacobianRows> {
    Ok(JacobianRows {
        rows: fields.doubles("jacobian", n.checked_mul(12))?,
        bodies: fields.integers("bodies", n.checked_mul(2))?,
        inverse_mass: fields.doubles("inverse_mass", None)?,
        compliance: fields.optional("compliance", n)?,
    })
}

/// Joules per unit of x·w, the step, and whether units are forces. Files that do not say are in impulses.
fn units(fields: &Fields) -> Found<(f64, Option<f64>, bool)> {
    let (mut units, mut dt) = (fields.text("units")?, fields.number("step_seconds")?);
    if let Some(meta) = fields.text("meta")? {
        let meta = meta.trim();
        if !(meta.starts_with('{') && meta.ends_with('}')) {
            return Err("attribute meta is not a JSON object".into());
        }
        units = units.or(json_value(meta, "units").map(|u| u.trim_matches('"').to_string()));
        dt = json_value(meta, "dt").and_then(|d| d.parse().ok()).or(dt);
    }
    if units.as_deref() != Some("force") {
        return Ok((1.0, dt, false));
    }
    match dt {
        Some(dt) if dt > 0.0 && dt.is_finite() => Ok((dt * dt, Some(dt), true)),
        _ => Err("attribute meta: dt must be a positive number where units are forces".into()),
    }
}

/// The value of a key in a flat JSON object, quotes and all.
fn json_value<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    let quoted = format!("\"{key}\":");
    let rest = json[json.find(&quoted)? + quoted.len()..].trim_start();
    Some(rest[..rest.find([',', '}']).unwrap_or(rest.len())].trim())
}

/// A sentence of the library with its names of the matrix's arrays replaced by those in the file.
fn in_file_terms(sentence: &str) -> String {
    let names = [("row_start[", "A/indptr["), ("columns[", "A/indices["), ("values[", "A/data[")];
    let named = names.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", sentence.strip_prefix(ours)?)));
    named.unwrap_or_else(|| sentence.to_string())
}

/// Turn the -mu, mu that friction rows have in place of bounds into coefficients.
fn split_friction(recorded: &mut Recorded) -> Found<()> {
    for i in 0..recorded.rows() {
        if recorded.normal_of(i).is_some() {
            let (lo, hi) = (recorded.lo[i], recorded.hi[i]);
            if lo != -hi || hi.is_nan() || hi < 0.0 {
                return Err(format!("lo[{i}] = {lo} and hi[{i}] = {hi} of a friction row are not -mu and mu"));
            }
            recorded.mu[i] = hi;
            (recorded.lo[i], recorded.hi[i]) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    }
    Ok(())
}
