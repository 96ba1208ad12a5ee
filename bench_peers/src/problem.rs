//! The problems: recorded ones from HDF5, generated walls, a plain file for the workers, and the judge.

use hdf5_pure::{AttrValue, File, Group};
use std::io::Write;
use std::path::Path;

/// Two-body rows: A = J M⁻¹ Jᵀ + diag(compliance).
pub struct Rows {
    /// 12 per row.
    pub jacobian: Vec<f64>,
    /// 12 per body: three inverse masses, then the inverse inertia by rows.
    pub inverse_mass: Vec<f64>,
    /// 1 per row.
    pub compliance: Vec<f64>,
    /// 2 per row, -1 for the world.
    pub bodies: Vec<i32>,
}

impl Rows {
    /// A in compressed rows, both triangles.
    pub fn matrix(&self) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let mut of_body = vec![vec![]; self.inverse_mass.len() / 12];
        for (k, &body) in self.bodies.iter().enumerate().filter(|(_, &body)| body >= 0) {
            of_body[body as usize].push(k);
        }
        let (mut row_start, mut columns, mut values) = (vec![0], vec![], vec![]);
        for i in 0..self.compliance.len() {
            let mut entries = std::collections::BTreeMap::from([(i, self.compliance[i])]);
            for k in [2 * i, 2 * i + 1] {
                let Ok(body) = usize::try_from(self.bodies[k]) else { continue };
                let (inverse, own) = (&self.inverse_mass[12 * body..][..12], &self.jacobian[6 * k..][..6]);
                // M⁻¹ Jᵀ of this half; the inverse inertia is symmetric.
                let spin = |c: usize| (0..3).map(|d| inverse[3 + 3 * c + d] * own[3 + d]).sum::<f64>();
                let moved: [f64; 6] = std::array::from_fn(|c| if c < 3 { inverse[c] * own[c] } else { spin(c - 3) });
                for &other in &of_body[body] {
                    let product = (0..6).map(|c| moved[c] * self.jacobian[6 * other + c]).sum::<f64>();
                    *entries.entry(other / 2).or_insert(0.0) += product;
                }
            }
            for (j, value) in entries.into_iter().filter(|(_, v)| *v != 0.0) {
                columns.push(j as i32);
                values.push(value);
            }
            row_start.push(columns.len() as i32);
        }
        (row_start, columns, values)
    }
}

/// w = A x + b, lo <= x <= hi; friction bounds are numbers already, unless they are coupled.
pub struct Problem {
    /// As in the file, or made from the size.
    pub name: String,
    /// Offsets of A's rows.
    pub row_start: Vec<i32>,
    /// Columns of A's entries.
    pub columns: Vec<i32>,
    /// A's entries, both triangles.
    pub values: Vec<f64>,
    /// Velocities without impulses.
    pub b: Vec<f64>,
    /// Lower bounds.
    pub lo: Vec<f64>,
    /// Upper bounds.
    pub hi: Vec<f64>,
    /// Where A comes from, if known.
    pub rows: Option<Rows>,
    /// Joules per unit of x·w: dt² where the engine works in forces and accelerations.
    pub joules: f64,
    /// Each row's normal row, or -1, and coefficient of friction; empty if there is none.
    pub friction: (Vec<i32>, Vec<f64>),
    /// Does friction follow the impulses, `|x_i| <= mu_i x_n`? Else its bounds are in `lo` and `hi`.
    pub coupled: bool,
}

impl Problem {
    /// Let friction follow the impulses.
    pub fn couple(&mut self) {
        self.coupled = true;
        for i in (0..self.n()).filter(|&i| self.friction.0[i] >= 0) {
            (self.lo[i], self.hi[i]) = (f64::NEG_INFINITY, f64::INFINITY);
        }
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.b.len()
    }

    /// The judge: energy error of x in joules, from A alone (Enzenhöfer et al. 2019, eqs. 15-22). Infinite for an x that
    /// has not n finite numbers.
    pub fn energy(&self, x: &[f64]) -> f64 {
        if x.len() != self.n() || x.iter().any(|v| !v.is_finite()) {
            return f64::INFINITY;
        }
        let mut total = 0.0;
        for i in 0..self.n() {
            let (mut w, mut a) = (self.b[i], 0.0);
            for k in self.row_start[i] as usize..self.row_start[i + 1] as usize {
                let j = self.columns[k] as usize;
                w += self.values[k] * x[j];
                if i == j {
                    a = self.values[k];
                }
            }
            let (lo, hi) = self.bounds(i, x);
            // An impulse beyond its bound costs what it adds; a velocity that should not be there its kinetic energy, or
            // the energy of the impulse that would excuse it.
            let beyond = (x[i] - hi).max(lo - x[i]).max(0.0);
            let slack = (if w > 0.0 { x[i] - lo } else { hi - x[i] }).max(0.0);
            total += (0.5 * a * beyond * beyond).max((0.5 * w * w / a).min(0.5 * a * slack * slack));
        }
        if total.is_finite() {
            total * self.joules
        } else {
            f64::INFINITY
        }
    }

    /// Bounds of a row at these impulses.
    fn bounds(&self, i: usize, x: &[f64]) -> (f64, f64) {
        let (normal, mu) = &self.friction;
        if !self.coupled || normal[i] < 0 {
            return (self.lo[i], self.hi[i]);
        }
        let most = mu[i] * x[normal[i] as usize].max(0.0);
        (-most, most)
    }

    /// Energy error at x = 0, moved into the bounds, in joules: what there is to do.
    pub fn scale(&self) -> f64 {
        self.energy(&(0..self.n()).map(|i| 0f64.max(self.lo[i]).min(self.hi[i])).collect::<Vec<_>>())
    }

    /// The file that workers read: n, entries, bodies (0 without rows), then the arrays, little-endian; friction, if it is
    /// coupled, at its end.
    pub fn write_plain(&self, path: &Path) -> std::io::Result<()> {
        let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
        let none = Rows { jacobian: vec![], inverse_mass: vec![], compliance: vec![], bodies: vec![] };
        let rows = self.rows.as_ref().unwrap_or(&none);
        let head = [self.n() as i32, self.values.len() as i32, (rows.inverse_mass.len() / 12) as i32];
        for part in [&head[..], &self.row_start, &self.columns] {
            part.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
        }
        let numbers = [&self.values, &self.b, &self.lo, &self.hi, &rows.jacobian, &rows.inverse_mass, &rows.compliance];
        for part in numbers {
            part.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
        }
        rows.bodies.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
        if self.coupled {
            self.friction.0.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
            self.friction.1.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))?;
        }
        out.flush()
    }
}

/// What `write_plain` wrote, without the two-body rows.
#[cfg(any(feature = "clarabel", feature = "osqp"))]
pub fn read_plain(path: &Path) -> Problem {
    let raw = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut at = 0;
    let mut take = |size: usize, count: usize| {
        let part = &raw[at..at + size * count];
        at += size * count;
        part.chunks_exact(size)
    };
    let int = |v: &[u8]| i32::from_le_bytes(v.try_into().expect("four bytes"));
    let real = |v: &[u8]| f64::from_le_bytes(v.try_into().expect("eight bytes"));
    let head: Vec<usize> = take(4, 3).map(|v| int(v) as usize).collect();
    let (n, entries) = (head[0], head[1]);
    Problem {
        name: String::new(),
        row_start: take(4, n + 1).map(int).collect(),
        columns: take(4, entries).map(int).collect(),
        values: take(8, entries).map(real).collect(),
        b: take(8, n).map(real).collect(),
        lo: take(8, n).map(real).collect(),
        hi: take(8, n).map(real).collect(),
        rows: None,
        joules: 1.0,
        friction: (vec![], vec![]),
        coupled: false,
    }
}

/// Every problem of a file, with friction frozen at the normal impulses of the recorded reference.
pub fn recorded(path: &Path) -> Vec<Problem> {
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let group = file.group("problems").expect("a group /problems");
    let mut names = group.groups().expect("a list of problems");
    names.sort();
    names.iter().map(|name| read(name, &group.group(name).expect(name))).collect()
}

fn read(name: &str, group: &Group) -> Problem {
    let f64s =
        |path: &str| group.dataset(path).and_then(|d| d.read_f64()).unwrap_or_else(|e| panic!("{name}/{path}: {e}"));
    let i32s =
        |path: &str| group.dataset(path).and_then(|d| d.read_i32()).unwrap_or_else(|e| panic!("{name}/{path}: {e}"));
    let there = group.datasets().expect(name);
    let has = |field: &str| there.iter().any(|d| d == field);
    let (mut lo, mut hi, findex) = (f64s("lo"), f64s("hi"), i32s("findex"));
    let reference = f64s(if has("x_ref") { "x_ref" } else { "x" });
    let coefficients = if has("mu") { f64s("mu") } else { hi.clone() };
    for i in 0..lo.len() {
        if findex[i] >= 0 && findex[i] as usize != i {
            let normal = reference[findex[i] as usize];
            // An infinite coefficient times no impulse is no friction.
            hi[i] = if normal > 0.0 { coefficients[i] * normal } else { 0.0 };
            lo[i] = -hi[i];
        }
    }
    let rows = has("jacobian").then(|| Rows {
        jacobian: f64s("jacobian"),
        inverse_mass: f64s("inverse_mass"),
        compliance: f64s("compliance"),
        bodies: i32s("bodies"),
    });
    let recorded = group.groups().expect(name).iter().any(|g| g == "A");
    let (row_start, columns, values) = match &rows {
        Some(rows) if !recorded => rows.matrix(),
        _ => (i32s("A/indptr"), i32s("A/indices"), f64s("A/data")),
    };
    let (name, b, joules) = (name.to_string(), f64s("b"), joules(name, group));
    Problem {
        name,
        row_start,
        columns,
        values,
        b,
        lo,
        hi,
        rows,
        joules,
        friction: (findex, coefficients),
        coupled: false,
    }
}

/// Joules per unit of x·w; without a word about it the file has impulses.
fn joules(name: &str, group: &Group) -> f64 {
    let meta = match group.attrs().expect(name).remove("meta") {
        Some(AttrValue::String(text) | AttrValue::AsciiString(text) | AttrValue::VarLenString(text)) => text,
        _ => return 1.0,
    };
    let dt: f64 = field(&meta, "dt").parse().unwrap_or_else(|e| panic!("{name}: dt: {e}"));
    if field(&meta, "units").contains("force") {
        dt * dt
    } else {
        1.0
    }
}

/// The value of a key in a flat JSON object.
fn field<'a>(json: &'a str, key: &str) -> &'a str {
    let quoted = format!("\"{key}\":");
    let at = json.find(&quoted).unwrap_or_else(|| panic!("no {key} in {json}"));
    let rest = json[at + quoted.len()..].trim_start();
    rest[..rest.find([',', '}']).unwrap_or(rest.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rod of README.md: two iterates whose errors can be computed by hand.
    #[test]
    fn the_judge_knows_the_rod() {
        let rod = Problem {
            name: "rod".into(),
            row_start: vec![0, 2, 4],
            columns: vec![0, 1, 0, 1],
            values: vec![1.0, -0.5, -0.5, 1.0],
            b: vec![-0.2981, 0.1019],
            lo: vec![0.0; 2],
            hi: vec![f64::INFINITY; 2],
            rows: None,
            joules: 1.0,
            friction: (vec![], vec![]),
            coupled: false,
        };
        let approaches = [0.2981f64, 0.2981 - 0.5 * 0.1019];
        assert!((rod.scale() - 0.5 * approaches[0].powi(2)).abs() < 1e-15);
        let pulled = 0.5 * approaches[1].powi(2) + 0.5 * 0.1019f64.powi(2);
        assert!((rod.energy(&[0.0, -0.1019]) - pulled).abs() < 1e-15);
        assert_eq!(rod.energy(&[f64::NAN, 0.0]), f64::INFINITY);
    }
}
