//! Prox Gauss-Seidel on boxes and exact friction cones: contact by contact.
//!
//! ```text
//! for every contact:  x_n ← clamp( x_n - r_n w_n ),  x_t ← P( x_t - r_t w_t ),  w = B x + c,  until they stand
//! for every other row:  x_i ← clamp( x_i - ω w_i / a_ii )
//! ```
//! B is the contact's 3 by 3 block of A, c what the other rows do to it, P the projection onto the disc of radius mu x_n.
//! Reference: Jourdan, Alart & Jean 1998; Studer 2009 for the prox form and r. A contact that opens or sticks is solved
//! exactly, by elimination; one that slides by the prox iteration above on its own block. Each contact keeps a factor
//! t of its own, `r_n = t / B_nn`, `r_t = t / |B_tt|`, which halves when its iteration does not contract and recovers
//! when it does.
//!
//! Cost per step: a sweep over A (`sweep.rs`) and some hundred flops a sliding contact; blocks are formed at the start.
//! It wins when a rough answer will do: a few dozen sweeps give the right pattern of stick and slip. It fails as all
//! sweeps do: high mass ratios, tall stacks and long chains need sweeps that grow with the condition number.

use super::sweep::{Rows, Sweeper, Swept, Visitor, ROUND_OFF};
use super::{require_positive_diagonal, Progress, Solver, State};
use crate::error::Result;
use crate::memory::{refill, reserve};
use crate::problem::{project_disc, Cone, Part, Problem};
use crate::settings::{Settings, SolverKind};
use crate::Budget;

/// Prox iterations inside a contact.
const INNER: usize = 30;
/// They end when the change has fallen to this share of the first one's, in energy.
const INNER_SHARE: f64 = 1e-16;
/// A pivot below this fraction of its diagonal: the block is singular.
const SINGULAR: f64 = 1e-12;
/// The factor t: where it begins, how far it may fall, how it recovers.
const FACTOR: f64 = 1.0;
const FACTOR_MIN: f64 = 1e-2;
const RECOVER: f64 = 1.1;

#[derive(Default)]
pub(super) struct ProxGs(ContactSweeps);

impl Solver for ProxGs {
    fn check(&self, problem: &Problem) -> Result<()> {
        require_positive_diagonal(problem, SolverKind::ProxGs)
    }

    fn follows_friction(&self, _: &Problem) -> bool {
        true
    }

    fn treats_cones(&self) -> bool {
        true
    }

    fn reserve(&mut self, problem: &Problem) -> Result<()> {
        self.0.reserve(problem)
    }

    fn start(&mut self, problem: &Problem, state: &mut State, settings: &Settings) -> Result<()> {
        self.0.start(problem, &state.x, settings.relaxation)
    }

    fn step(&mut self, problem: &Problem, state: &mut State, _: &Budget) -> Result<Progress> {
        let swept = self.0.sweep(problem, &mut state.x);
        state.w_is_exact = false;
        state.change = swept.change;
        state.set_changes = swept.set_changes;
        Ok(if swept.change <= ROUND_OFF * swept.energy { Progress::Stalled } else { Progress::Continue })
    }
}

/// Sweeps by contact, also for solvers that fall back on them.
#[derive(Default)]
pub(super) struct ContactSweeps {
    sweeper: Sweeper,
    relaxation: f64,
    contacts: Vec<Contact>,
}

/// A contact's block of A, and its factor t.
#[derive(Clone, Copy, Default)]
struct Contact {
    block: [[f64; 3]; 3],
    factor: f64,
}

impl ContactSweeps {
    pub fn reserve(&mut self, problem: &Problem) -> Result<()> {
        reserve(&mut self.contacts, problem.len() / 3)?;
        self.sweeper.reserve(problem)
    }

    pub fn start(&mut self, problem: &Problem, x: &[f64], relaxation: f64) -> Result<()> {
        self.relaxation = relaxation;
        let cones = problem.cones().list();
        refill(&mut self.contacts, cones.len(), Contact::default())?;
        for (contact, cone) in self.contacts.iter_mut().zip(cones) {
            let rows = rows_of(cone);
            contact.block = rows.map(|i| rows.map(|j| problem.operator().entry(i, j)));
            contact.factor = FACTOR;
        }
        self.sweeper.start(problem, x, relaxation)
    }

    /// x was changed by other means than a sweep.
    pub fn moved(&mut self, problem: &Problem, x: &[f64]) -> Result<()> {
        self.sweeper.moved(problem, x)
    }

    pub fn sweep(&mut self, problem: &Problem, x: &mut [f64]) -> Swept {
        let ContactSweeps { sweeper, relaxation, contacts } = self;
        sweeper.visit(problem, Visit { problem, relaxation: *relaxation, contacts, x })
    }
}

fn rows_of(cone: &Cone) -> [usize; 3] {
    [cone.normal, cone.tangents[0], cone.tangents[1]]
}

/// A pass over the rows in their order; a contact is visited at its normal row.
struct Visit<'a> {
    problem: &'a Problem,
    relaxation: f64,
    contacts: &'a mut [Contact],
    x: &'a mut [f64],
}

impl Visitor for Visit<'_> {
    fn rows(mut self, mut all: impl Rows) -> Swept {
        let mut swept = Swept::default();
        for i in 0..self.x.len() {
            match self.problem.cones().part(i) {
                Part::None => self.row(i, &mut all, &mut swept),
                Part::Normal(k) => self.contact(k, &mut all, &mut swept),
                Part::First(_) | Part::Second(_) => {}
            }
        }
        swept
    }
}

impl Visit<'_> {
    fn row(&mut self, i: usize, all: &mut impl Rows, swept: &mut Swept) {
        let w = all.velocity(i, self.x) + self.problem.b()[i];
        let (lo, hi) = self.problem.bounds_of(i, self.x);
        let new = (self.x[i] - self.relaxation * w / self.problem.diagonal()[i]).max(lo).min(hi);
        self.put(i, new, all, swept);
    }

    fn contact(&mut self, k: usize, all: &mut impl Rows, swept: &mut Swept) {
        let cone = self.problem.cones().list()[k];
        let rows = rows_of(&cone);
        let old = rows.map(|i| self.x[i]);
        let block = &self.contacts[k].block;
        let mut local = Local { block, c: [0.0; 3], mu: cone.mu, bounds: self.problem.bounds_of(rows[0], self.x) };
        for p in 0..3 {
            local.c[p] = all.velocity(rows[p], self.x) + self.problem.b()[rows[p]] - dot(&block[p], &old);
        }
        let mut factor = self.contacts[k].factor;
        let mut new = local.open().or_else(|| local.stick()).unwrap_or_else(|| local.slide(old, &mut factor));
        self.contacts[k].factor = factor;
        if self.relaxation != 1.0 {
            for p in 0..3 {
                new[p] = old[p] + self.relaxation * (new[p] - old[p]);
            }
            new = local.clamp(new);
        }
        if new.iter().all(|v| v.is_finite()) {
            for p in 0..3 {
                self.put(rows[p], new[p], all, swept);
            }
        }
    }

    fn put(&mut self, i: usize, new: f64, all: &mut impl Rows, swept: &mut Swept) {
        let (a, old) = (self.problem.diagonal()[i], self.x[i]);
        let delta = new - old;
        // Not finite: the row overflowed, and x stays as it is.
        if delta != 0.0 && delta.is_finite() {
            self.x[i] = new;
            all.changed(i, delta);
            swept.change += 0.5 * a * delta * delta;
            let (lo, hi) = self.problem.bounds_of(i, self.x);
            swept.set_changes += usize::from((old > lo && old < hi) != (new > lo && new < hi));
        }
        swept.energy += a * self.x[i] * self.x[i];
    }
}

/// One contact's problem `w = B x + c`, the normal first.
struct Local<'a> {
    block: &'a [[f64; 3]; 3],
    c: [f64; 3],
    mu: f64,
    /// Of the normal impulse.
    bounds: (f64, f64),
}

impl Local<'_> {
    /// No impulse at all, if the contact may open.
    fn open(&self) -> Option<[f64; 3]> {
        (self.bounds.0 == 0.0 && self.c[0] >= 0.0).then_some([0.0; 3])
    }

    /// No velocity at all, if the impulse for it is allowed.
    fn stick(&self) -> Option<[f64; 3]> {
        let x = eliminate(*self.block, self.c.map(|c| -c))?;
        let normal = x[0] > self.bounds.0 && x[0] <= self.bounds.1;
        (normal && x[1].hypot(x[2]) <= self.radius(x[0])).then_some(x)
    }

    fn radius(&self, normal: f64) -> f64 {
        if normal > 0.0 && self.mu > 0.0 {
            self.mu * normal
        } else {
            0.0
        }
    }

    fn clamp(&self, x: [f64; 3]) -> [f64; 3] {
        let normal = x[0].max(self.bounds.0).min(self.bounds.1);
        let [p, q] = project_disc([x[1], x[2]], self.radius(normal));
        [normal, p, q]
    }

    /// The prox iteration; the factor goes down when it does not contract, up when it does.
    fn slide(&self, start: [f64; 3], factor: &mut f64) -> [f64; 3] {
        let b = self.block;
        // The largest eigenvalue of the tangent block, or a little more.
        let reach = (0.5 * (b[1][1] - b[2][2])).hypot(0.5 * (b[1][2] + b[2][1]));
        let stiffness = 0.5 * (b[1][1] + b[2][2]) + reach;
        let mut x = start;
        let (mut first, mut last) = (f64::INFINITY, f64::INFINITY);
        for k in 0..INNER {
            let old = x;
            x[0] -= *factor * (dot(&b[0], &x) + self.c[0]) / b[0][0];
            x[0] = x[0].max(self.bounds.0).min(self.bounds.1);
            let w = [dot(&b[1], &x) + self.c[1], dot(&b[2], &x) + self.c[2]];
            let r = *factor / stiffness;
            let [p, q] = project_disc([x[1] - r * w[0], x[2] - r * w[1]], self.radius(x[0]));
            (x[1], x[2]) = (p, q);
            let change: f64 = (0..3).map(|i| b[i][i] * (x[i] - old[i]) * (x[i] - old[i])).sum();
            if k == 0 {
                first = change;
            }
            if change <= INNER_SHARE * first || change.is_nan() {
                break;
            }
            *factor = if change > last { (0.5 * *factor).max(FACTOR_MIN) } else { (RECOVER * *factor).min(FACTOR) };
            last = change;
        }
        x
    }
}

fn dot(row: &[f64; 3], x: &[f64; 3]) -> f64 {
    row[0] * x[0] + row[1] * x[1] + row[2] * x[2]
}

/// Solve a 3 by 3 system; none if a pivot is not positive, as in a singular block.
fn eliminate(mut a: [[f64; 3]; 3], mut r: [f64; 3]) -> Option<[f64; 3]> {
    let diagonal = [a[0][0], a[1][1], a[2][2]];
    for k in 0..3 {
        let pivot = a[k][k];
        if pivot.is_nan() || pivot <= SINGULAR * diagonal[k] {
            return None;
        }
        for p in k + 1..3 {
            let factor = a[p][k] / pivot;
            for q in k..3 {
                a[p][q] -= factor * a[k][q];
            }
            r[p] -= factor * r[k];
        }
    }
    for k in (0..3).rev() {
        for q in k + 1..3 {
            r[k] -= a[k][q] * r[q];
        }
        r[k] /= a[k][k];
    }
    Some(r)
}
