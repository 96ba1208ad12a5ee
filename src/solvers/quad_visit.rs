//! Four trios visited side by side (`quads.rs`).
//!
//! The trios know nothing of each other, so that everything is done for four at once, and a trio's two bodies are read and
//! written once for its three rows. The rows of a trio are visited one after the other, but all velocities are found first;
//! what an earlier row does to a later one comes from their couplings:
//!
//! ```text
//! w_s = K_s y + Σ_(r before s) A_sr δ_r + c_s x_s + b_s,      then  y ← y + Σ_s K_sᵀ δ_s
//! ```
//! That is the same visit row by row, up to round-off.

use super::quads::TRIO;
use super::row_sweep::RowSweep;
use super::sweep::Swept;
use crate::linalg::{Lanes, Quad, Two};
use crate::problem::Row;

/// What visits of quads read and change.
pub(super) struct Quads<'a, L> {
    lanes: L,
    relaxation: f64,
    /// What the normal impulse is held between where it bounds others: everything, or one and one if the bounds are frozen.
    fixed: f64,
    most: f64,
    rows: &'a [Row],
    b: &'a [f64],
    compliance: &'a [f64],
    lo: &'a [f64],
    hi: &'a [f64],
    /// Of rows whose bounds follow others; any numbers if there are none.
    width: &'a [f64],
    x: &'a mut [f64],
    y: &'a mut [[f64; 6]],
}

/// What the visits of a chunk's quads did, lane by lane.
pub(super) struct Sums<F> {
    change: F,
    energy: F,
    set_changes: usize,
}

impl<F: Copy> Sums<F> {
    pub fn new<L: Lanes<Four = F>>(lanes: L) -> Self {
        Sums { change: lanes.all(0.0), energy: lanes.all(0.0), set_changes: 0 }
    }

    /// Tell the sweep.
    #[inline(always)]
    pub fn close<L: Lanes<Four = F>>(self, lanes: L, swept: &mut Swept) {
        let sum = |v: Quad| (v[0] + v[1]) + (v[2] + v[3]);
        swept.change += sum(lanes.store(self.change));
        swept.energy += sum(lanes.store(self.energy));
        swept.set_changes += self.set_changes;
    }
}

/// Six numbers of a body.
#[derive(Clone, Copy)]
struct Six<F>(F, Two);

#[inline(always)]
fn six<L: Lanes>(lanes: L, v: &[f64; 6]) -> Six<L::Four> {
    let [a, b, c, d, e, f] = *v;
    Six(lanes.load(&[a, b, c, d]), Two::load(&[e, f]))
}

/// A row's two halves.
#[inline(always)]
fn halves(row: &Row) -> &[[f64; 6]] {
    row.k.as_chunks().0
}

impl<'a, L: Lanes> Quads<'a, L> {
    /// All slices get one length, so that a row that is in one of them is known to be in the others.
    #[inline(always)]
    pub fn new(lanes: L, rows: &'a mut RowSweep<'_>) -> Self {
        let RowSweep { problem, jacobian, relaxation, bounds, y, x } = rows;
        let n = x.len();
        let ((lo, hi), width) = (bounds.own(), bounds.width());
        Quads {
            lanes,
            relaxation: *relaxation,
            fixed: if bounds.is_coupled() { f64::NEG_INFINITY } else { 1.0 },
            most: if bounds.is_coupled() { f64::INFINITY } else { 1.0 },
            rows: &jacobian.rows()[..n],
            b: &problem.b()[..n],
            compliance: &jacobian.compliance()[..n],
            lo: &lo[..n],
            hi: &hi[..n],
            width: if bounds.has_friction() { &width[..n] } else { &lo[..n] },
            x: &mut x[..n],
            y: y.as_chunks_mut().0,
        }
    }
    /// The impulses.
    #[inline(always)]
    pub fn x(&self) -> &[f64] {
        self.x
    }

    /// Visit the trios that begin at these rows, `BACK`wards or in their order. `RUBS`: their second and third rows take
    /// their bounds from the first. False: something overflowed, and nothing has changed.
    #[inline(always)]
    pub fn visit<const BACK: bool, const RUBS: bool>(
        &mut self,
        quad: &[u32; 4],
        notes: &[Quad; 6],
        sums: &mut Sums<L::Four>,
    ) -> bool {
        let lanes = self.lanes;
        let at = [quad[0] as usize, quad[1] as usize, quad[2] as usize, quad[3] as usize];
        let dot = self.velocities(at);
        // Once more, or each of them is asked again whether it has these rows.
        let n = self.x.len();
        let (lo, hi) = (columns(lanes, &self.lo[..n], at), columns(lanes, &self.hi[..n], at));
        let width = columns(lanes, &self.width[..n], at);
        let (old, b) = (columns(lanes, self.x, at), columns(lanes, &self.b[..n], at));
        let compliance = columns(lanes, &self.compliance[..n], at);
        let (mut new, mut delta) = (old, [lanes.all(0.0); TRIO]);
        let (mut change, mut energy, mut set_changes) = (sums.change, sums.energy, sums.set_changes);
        let order = if BACK { [2, 1, 0] } else { [0, 1, 2] };
        for turn in 0..TRIO {
            let s = order[turn];
            let a = lanes.load(&notes[s]);
            let step = lanes.div(lanes.all(self.relaxation), a);
            let own = lanes.add(lanes.mul(compliance[s], old[s]), b[s]);
            let mut target = lanes.sub(lanes.sub(old[s], lanes.mul(step, own)), lanes.mul(step, dot[s]));
            for &r in &order[..turn] {
                let coupling = lanes.load(&notes[s + r + 2]);
                target = lanes.sub(target, lanes.mul(lanes.mul(step, coupling), delta[r]));
            }
            let (mut lo, mut hi) = (lo[s], hi[s]);
            if RUBS && s > 0 {
                // Without a branch, at which the compiler would take the visit apart: most would go through memory.
                let normal = lanes.at_least(new[0], lanes.all(self.fixed));
                let normal = lanes.at_most(normal, lanes.all(self.most));
                let reach = lanes.at_least(lanes.mul(width[s], normal), lanes.all(0.0));
                lo = lanes.at_least(lo, lanes.mul(reach, lanes.all(-1.0)));
                hi = lanes.at_most(hi, reach);
            }
            new[s] = lanes.at_most(lanes.at_least(target, lo), hi);
            delta[s] = lanes.sub(new[s], old[s]);
            change = lanes.add(change, lanes.mul(lanes.mul(a, delta[s]), delta[s]));
            energy = lanes.add(energy, lanes.mul(lanes.mul(a, new[s]), new[s]));
            set_changes += lanes.crossed(old[s], new[s], lo, hi);
        }
        if !lanes.are_below_infinity(change) {
            return false;
        }
        *sums = Sums { change, energy, set_changes };
        let new = [lanes.store(new[0]), lanes.store(new[1]), lanes.store(new[2])];
        let delta = [lanes.store(delta[0]), lanes.store(delta[1]), lanes.store(delta[2])];
        self.change(at[0], [new[0][0], new[1][0], new[2][0]], [delta[0][0], delta[1][0], delta[2][0]]);
        self.change(at[1], [new[0][1], new[1][1], new[2][1]], [delta[0][1], delta[1][1], delta[2][1]]);
        self.change(at[2], [new[0][2], new[1][2], new[2][2]], [delta[0][2], delta[1][2], delta[2][2]]);
        self.change(at[3], [new[0][3], new[1][3], new[2][3]], [delta[0][3], delta[1][3], delta[2][3]]);
        true
    }

    /// `K y` of four trios: of their first rows, of their second and of their third ones.
    #[inline(always)]
    fn velocities(&self, at: [usize; 4]) -> [L::Four; TRIO] {
        let p = [self.products(at[0]), self.products(at[1]), self.products(at[2]), self.products(at[3])];
        [
            self.lanes.sums([p[0][0], p[1][0], p[2][0], p[3][0]]),
            self.lanes.sums([p[0][1], p[1][1], p[2][1], p[3][1]]),
            self.lanes.sums([p[0][2], p[1][2], p[2][2], p[3][2]]),
        ]
    }

    /// Of a trio's rows: four numbers each, whose sum is `K y`.
    #[inline(always)]
    fn products(&self, i: usize) -> [L::Four; TRIO] {
        let lanes = self.lanes;

        let rows = three(self.rows, i);
        let (p, q) = (six(lanes, &self.y[rows[0].body[0] as usize]), six(lanes, &self.y[rows[0].body[1] as usize]));
        let mut out = [lanes.all(0.0); TRIO];
        for s in 0..TRIO {
            let k = halves(&rows[s]);
            let (k, l) = (six(lanes, &k[0]), six(lanes, &k[1]));
            let most = lanes.add(lanes.mul(k.0, p.0), lanes.mul(l.0, q.0));
            out[s] = lanes.add_two(most, k.1 * p.1 + l.1 * q.1);
        }
        out
    }

    /// A trio's new x, and `y ← y + Kᵀ δ`.
    #[inline(always)]
    fn change(&mut self, i: usize, new: [f64; TRIO], delta: [f64; TRIO]) {
        let lanes = self.lanes;
        self.x[i..i + TRIO].copy_from_slice(&new);
        let rows = three(self.rows, i);

        for half in 0..2 {
            let y = &mut self.y[rows[0].body[half] as usize];
            let mut sum = six(lanes, y);
            for s in 0..TRIO {
                let k = six(lanes, &halves(&rows[s])[half]);
                sum.0 = lanes.add(sum.0, lanes.mul(k.0, lanes.all(delta[s])));
                sum.1 = sum.1.add_product(k.1, Two::both(delta[s]));
            }
            let [a, b, c, d] = lanes.store(sum.0);
            let mut rest = [0.0; 2];
            sum.1.store(&mut rest);
            *y = [a, b, c, d, rest[0], rest[1]];
        }
    }
}

/// The first, second and third rows' numbers of four trios.
#[inline(always)]
fn columns<L: Lanes>(lanes: L, v: &[f64], at: [usize; 4]) -> [L::Four; TRIO] {
    let (p, q) = (lanes.load(four(v, at[0])), lanes.load(four(v, at[1])));
    let (r, s) = (lanes.load(four(v, at[2])), lanes.load(four(v, at[3])));
    lanes.columns([p, q, r, s])
}

/// The three rows from i on.
#[inline(always)]
fn three(rows: &[Row], i: usize) -> &[Row; TRIO] {
    rows[i..i + TRIO].first_chunk().expect("three rows")
}

/// The four numbers from i on.
#[inline(always)]
fn four(v: &[f64], i: usize) -> &Quad {
    v[i..i + 4].first_chunk().expect("four numbers")
}
