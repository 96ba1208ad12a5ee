//! Problem files: HDF5, one group `/problems/<name>` per recorded step.
//!
//! Each holds `A/{indptr,indices,data}` (compressed rows), `b` with w = A x + b, `lo`, `hi` (on friction rows -mu, mu),
//! `findex` (-1, or the normal row), and perhaps `jacobian`, `bodies`, `inverse_mass`, `compliance`, `x0`, `x_ref` and an
//! attribute `meta` (JSON: `units`, `dt`).
//!
//! A file is not trusted: every size is compared with what the other fields imply and with the length of the file
//! before anything is read, and every error names file, problem and field in one sentence.

use hdf5_pure::{AttrValue, Dataset, File, Group};
use mlcp::{FrictionMode, Problem, Triangle};
use std::fmt;
use std::path::Path;

/// Whole files are read into memory.
const MOST_FILE_BYTES: u64 = 4 << 30;

/// No array of a problem that a step solver can treat is larger.
const MOST_ARRAY_BYTES: u64 = 1 << 30;

/// Deflate cannot shrink data by more than this; a filtered array that claims more is a lie.
const MOST_COMPRESSION: u64 = 1032;

/// n² doubles of a dense matrix stay below 1 GiB.
const MOST_DENSE_ROWS: usize = 11_000;

/// Why a file could not be used, in one sentence.
#[derive(Debug)]
pub struct FileError(String);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Texts from elsewhere may have several lines; a sentence has one.
        for (i, part) in self.0.split_whitespace().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

type Result<T> = std::result::Result<T, FileError>;

/// How to hand the matrix to the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Compressed rows.
    Csr,
    /// Two-body rows, where recorded.
    Jacobian,
    /// All entries.
    Dense,
}

/// Two-body rows: A = J M⁻¹ Jᵀ + diag(compliance).
#[derive(Clone, Debug)]
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

/// One recorded problem, checked.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Name of its group.
    pub name: String,
    /// n + 1 offsets into `columns` and `values`.
    pub row_start: Vec<i32>,
    /// Columns, rising within each row.
    pub columns: Vec<i32>,
    /// Entries.
    pub values: Vec<f64>,
    /// w = A x + b.
    pub b: Vec<f64>,
    /// Lower bounds; on friction rows -inf.
    pub lo: Vec<f64>,
    /// Upper bounds; on friction rows +inf.
    pub hi: Vec<f64>,
    /// Normal row of each friction row, else -1.
    pub findex: Vec<i32>,
    /// Friction coefficients of the friction rows, else 0.
    pub mu: Vec<f64>,
    /// Two-body rows, if recorded.
    pub jacobian: Option<JacobianRows>,
    /// The engine's warm start, if recorded.
    pub x0: Option<Vec<f64>>,
    /// A reference solution with coupled friction, if recorded; not unique where A is rank-deficient.
    pub x_ref: Option<Vec<f64>>,
    /// Joules per unit of x·w: 1 for impulses and velocities, dt² for forces and accelerations.
    pub joules: f64,
}

impl Recorded {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.b.len()
    }

    /// Does any row take its bounds from another?
    pub fn has_friction(&self) -> bool {
        (0..self.rows()).any(|i| normal_of(&self.findex, i).is_some())
    }

    /// The form to use when `wanted` is asked for, or by default; what was not recorded or is too large becomes CSR.
    pub fn form(&self, wanted: Option<Form>) -> Form {
        match wanted {
            None | Some(Form::Jacobian) if self.jacobian.is_some() => Form::Jacobian,
            Some(Form::Dense) if self.rows() <= MOST_DENSE_ROWS => Form::Dense,
            _ => Form::Csr,
        }
    }

    /// The library's problem. [`FrictionMode::Frozen`] takes the normals of `x_ref` and needs one.
    pub fn fill(&self, form: Form, friction: FrictionMode) -> mlcp::Result<Problem> {
        let mut problem = Problem::new();
        match (form, &self.jacobian) {
            (Form::Jacobian, Some(j)) => {
                problem.set_jacobian(&j.inverse_mass, &j.rows, &j.bodies, j.compliance.as_deref())?
            }
            (Form::Dense, _) => problem.set_dense(self.rows(), &self.dense(), self.rows(), Triangle::Full)?,
            _ => problem.set_csr(self.rows(), &self.row_start, &self.columns, &self.values)?,
        }
        problem.set_b(&self.b)?;
        problem.set_bounds(&self.lo, &self.hi)?;
        if self.has_friction() {
            problem.set_friction(&self.findex, &self.mu, friction)?;
            if let (FrictionMode::Frozen, Some(x)) = (friction, &self.x_ref) {
                problem.set_frozen_normals(x)?;
            }
        }
        Ok(problem)
    }

    /// The library's problem with every pair of friction rows of one normal and one coefficient as a friction cone; none
    /// if there is no such pair. Other friction rows stay coupled.
    pub fn fill_cones(&self, form: Form) -> mlcp::Result<Option<Problem>> {
        let mut followers = vec![Vec::new(); self.rows()];
        for i in 0..self.rows() {
            if let Some(normal) = normal_of(&self.findex, i) {
                followers[normal].push(i);
            }
        }
        let mut other = self.clone();
        let (mut rows, mut mu) = (Vec::new(), Vec::new());
        for (normal, pair) in followers.iter().enumerate() {
            if let [p, q] = pair[..] {
                if self.mu[p] == self.mu[q] {
                    rows.extend([normal as i32, p as i32, q as i32]);
                    mu.push(self.mu[p]);
                    (other.findex[p], other.findex[q]) = (-1, -1);
                }
            }
        }
        if mu.is_empty() {
            return Ok(None);
        }
        let mut problem = other.fill(form, FrictionMode::Coupled)?;
        problem.set_cones(&rows, &mu)?;
        Ok(Some(problem))
    }

    /// All entries by rows.
    fn dense(&self) -> Vec<f64> {
        let n = self.rows();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for k in self.row_start[i] as usize..self.row_start[i + 1] as usize {
                a[i * n + self.columns[k] as usize] = self.values[k];
            }
        }
        a
    }
}

/// The normal row of friction row `i`; a row that names itself has none.
fn normal_of(findex: &[i32], i: usize) -> Option<usize> {
    usize::try_from(findex[i]).ok().filter(|&f| f != i)
}

/// An open problem file.
pub struct ProblemFile {
    path: String,
    bytes: u64,
    problems: Group,
    names: Vec<String>,
}

impl ProblemFile {
    /// Open a file and list its problems.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let fail = |what: String| FileError(format!("{shown}: {what}"));
        let found = std::fs::metadata(path).map_err(|e| fail(format!("cannot be opened: {e}")))?;
        let bytes = found.len();
        if !found.is_file() {
            return Err(fail("is not a file".into()));
        }
        if bytes == 0 {
            return Err(fail("is empty, not an HDF5 file".into()));
        }
        if bytes > MOST_FILE_BYTES {
            return Err(fail(format!("has {bytes} bytes, more than the {MOST_FILE_BYTES} this program reads")));
        }
        let file = File::open(path).map_err(|e| fail(format!("cannot be read as HDF5: {e}")))?;
        // The reader opens a truncated file and would fail in the middle of it, or not at all.
        let end = file.superblock().eof_address;
        if end > bytes {
            return Err(fail(format!("is truncated: it has {bytes} of its {end} bytes")));
        }
        let problems = file.group("problems").map_err(|e| fail(format!("has no group /problems: {e}")))?;
        let mut names = problems.groups().map_err(|e| fail(format!("/problems cannot be listed: {e}")))?;
        names.sort();
        names.dedup();
        Ok(ProblemFile { path: shown, bytes, problems, names })
    }

    /// Names of the problems, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Read and check one problem.
    pub fn read(&self, name: &str) -> Result<Recorded> {
        let fail = |what: String| FileError(format!("{}: problem {name}: {what}", self.path));
        let group = self.problems.group(name).map_err(|e| fail(format!("cannot be opened: {e}")))?;
        Fields { group, bytes: self.bytes }.problem(name).map_err(fail)
    }
}

/// The arrays of one problem. Errors are the end of a sentence that begins with file and problem.
struct Fields {
    group: Group,
    bytes: u64,
}

impl Fields {
    fn problem(&self, name: &str) -> std::result::Result<Recorded, String> {
        let here = self.group.datasets().map_err(|e| format!("cannot be listed: {e}"))?;
        let has = |field: &str| here.iter().any(|d| d == field);
        let b = self.doubles("b", None)?;
        let n = b.len();
        let optional = |field: &str| if has(field) { self.doubles(field, Some(n)).map(Some) } else { Ok(None) };
        let row_start = self.integers("A/indptr", n + 1)?;
        let entries = usize::try_from(row_start[n]).map_err(|_| format!("A/indptr ends with {}", row_start[n]))?;
        let jacobian = if has("jacobian") {
            Some(JacobianRows {
                rows: self.doubles("jacobian", n.checked_mul(12))?,
                bodies: self.integers("bodies", 2 * n)?,
                inverse_mass: self.doubles("inverse_mass", None)?,
                compliance: optional("compliance")?,
            })
        } else {
            None
        };
        let mut recorded = Recorded {
            name: name.to_string(),
            columns: self.integers("A/indices", entries)?,
            values: self.doubles("A/data", Some(entries))?,
            row_start,
            lo: self.doubles("lo", Some(n))?,
            hi: self.doubles("hi", Some(n))?,
            findex: self.integers("findex", n)?,
            mu: vec![0.0; n],
            jacobian,
            x0: optional("x0")?,
            x_ref: optional("x_ref")?,
            joules: self.joules()?,
            b,
        };
        for (field, x) in [("x0", &recorded.x0), ("x_ref", &recorded.x_ref)] {
            if let Some((i, v)) = x.iter().flatten().enumerate().find(|(_, v)| !v.is_finite()) {
                return Err(format!("{field}[{i}] is {v}, it must be finite"));
            }
        }
        split_friction(&mut recorded)?;
        // The library's own checks see to the rest: matrix, NaN, bounds, friction rows.
        let says = |e: mlcp::Error| in_file_terms(e.message());
        recorded.fill(Form::Csr, FrictionMode::Coupled).map_err(says)?;
        recorded.fill(Form::Jacobian, FrictionMode::Coupled).map_err(says)?;
        Ok(recorded)
    }

    /// Joules per unit of x·w, from `meta`. Files without it are in impulses.
    fn joules(&self) -> std::result::Result<f64, String> {
        let text = match self.group.attrs().map_err(|e| format!("attributes cannot be read: {e}"))?.remove("meta") {
            None => return Ok(1.0),
            Some(AttrValue::String(s) | AttrValue::AsciiString(s) | AttrValue::VarLenString(s)) => s,
            Some(_) => return Err("attribute meta is not a text".into()),
        };
        let meta: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| format!("attribute meta is not JSON: {e}"))?;
        if meta.get("units").and_then(|u| u.as_str()) != Some("force") {
            return Ok(1.0);
        }
        match meta.get("dt").and_then(|d| d.as_f64()) {
            Some(dt) if dt > 0.0 && dt.is_finite() => Ok(dt * dt),
            _ => Err("attribute meta: dt must be a positive number where units are forces".into()),
        }
    }

    /// A dataset that may be read: its size fits its neighbours, the file and memory.
    fn dataset(&self, field: &str, expected: Option<usize>) -> std::result::Result<Dataset, String> {
        let wrong = |e: hdf5_pure::Error| format!("{field} cannot be read: {e}");
        let dataset = self.group.dataset(field).map_err(wrong)?;
        let shape = dataset.shape().map_err(wrong)?;
        let count = shape.iter().try_fold(1u64, |product, &d| product.checked_mul(d));
        let bytes = count.and_then(|c| c.checked_mul(dataset.element_size().ok()?.max(8)));
        let (Some(count), Some(bytes)) = (count, bytes) else {
            return Err(format!("{field} claims the shape {shape:?}, which overflows"));
        };
        if let Some(expected) = expected.filter(|&e| e as u64 != count) {
            return Err(format!("{field} has {count} entries, expected {expected}"));
        }
        // Integers of 4 bytes are read as 8, and filters compress.
        let packed = if dataset.is_chunked() { MOST_COMPRESSION } else { 2 };
        if bytes > MOST_ARRAY_BYTES || bytes / packed > self.bytes {
            return Err(format!("{field} claims {count} entries, more than a file of {} bytes can hold", self.bytes));
        }
        Ok(dataset)
    }

    fn doubles(&self, field: &str, expected: Option<usize>) -> std::result::Result<Vec<f64>, String> {
        let dataset = self.dataset(field, expected)?;
        dataset.read_f64().map_err(|e| format!("{field} cannot be read as numbers: {e}"))
    }

    fn integers(&self, field: &str, expected: usize) -> std::result::Result<Vec<i32>, String> {
        // 64-bit offsets are common in files and are not wrapped around here.
        let dataset = self.dataset(field, Some(expected))?;
        let wide = dataset.read_i64().map_err(|e| format!("{field} cannot be read as integers: {e}"))?;
        let narrow = |(i, v): (usize, i64)| i32::try_from(v).map_err(|_| format!("{field}[{i}] is {v}, out of range"));
        wide.into_iter().enumerate().map(narrow).collect()
    }
}

/// A sentence of the library with its names of the matrix's arrays replaced by those in the file.
fn in_file_terms(sentence: &str) -> String {
    let names = [("row_start[", "A/indptr["), ("columns[", "A/indices["), ("values[", "A/data[")];
    let named = names.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", sentence.strip_prefix(ours)?)));
    named.unwrap_or_else(|| sentence.to_string())
}

/// Turn the -mu, mu that friction rows have in place of bounds into coefficients.
fn split_friction(recorded: &mut Recorded) -> std::result::Result<(), String> {
    let n = recorded.rows();
    for i in 0..n {
        let f = recorded.findex[i];
        if f < -1 || f as i64 >= n as i64 {
            return Err(format!("findex[{i}] is {f}, it must be -1 or a row below {n}"));
        }
        if normal_of(&recorded.findex, i).is_some() {
            let (lo, hi) = (mlcp::problem::as_bound(recorded.lo[i]), mlcp::problem::as_bound(recorded.hi[i]));
            if lo != -hi || hi.is_nan() || hi < 0.0 {
                return Err(format!("lo[{i}] = {lo} and hi[{i}] = {hi} of a friction row are not -mu and mu"));
            }
            recorded.mu[i] = hi;
            (recorded.lo[i], recorded.hi[i]) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    }
    Ok(())
}
