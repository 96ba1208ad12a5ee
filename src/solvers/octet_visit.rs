//! Eight trios visited side by side (`octets.rs`).
//!
//! The trios know nothing of each other, so that everything is done for eight at once, and a trio's two bodies are read and
//! written once for its three rows. The rows of a trio are visited one after the other, but all velocities are found first;
//! what an earlier row does to a later one comes from their couplings:
//!
//! ```text
//! w_s = K_s y + Σ_(r before s) A_sr δ_r + c_s x_s + b_s,      then  y ← y + Σ_s K_sᵀ δ_s
//! ```
//! That is the same visit row by row, up to round-off.

use super::octets::{EIGHT, TRIO};
use super::row_sweep::RowSweep;
use super::sweep::Swept;
use crate::linalg::{Lanes, Octet};
use crate::problem::Row;

/// What visits of octets read and change.
pub(super) struct Octets<'a, L> {
    lanes: L,
    relaxation: f64,
    /// One if bounds follow impulses, else zero.
    coupled: f64,
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

/// What the visits of a chunk's octets did, lane by lane.
pub(super) struct Sums<F> {
    change: F,
    energy: F,
    set_changes: usize,
}

impl<F: Copy> Sums<F> {
    pub fn new<L: Lanes<Eight = F>>(lanes: L) -> Self {
        Sums { change: lanes.all(0.0), energy: lanes.all(0.0), set_changes: 0 }
    }

    /// Tell the sweep.
    #[inline(always)]
    pub fn close<L: Lanes<Eight = F>>(self, lanes: L, swept: &mut Swept) {
        let sum = |v: Octet| ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
        swept.change += sum(lanes.store(self.change));
        swept.energy += sum(lanes.store(self.energy));
        swept.set_changes += self.set_changes;
    }
}

/// A row's two halves.
#[inline(always)]
fn halves(row: &Row) -> (&[f64; 6], &[f64; 6]) {
    let (halves, _) = row.k.as_chunks();
    (&halves[0], &halves[1])
}

impl<'a, L: Lanes> Octets<'a, L> {
    /// All slices get one length, so that a row that is in one of them is known to be in the others.
    #[inline(always)]
    pub fn new(lanes: L, rows: &'a mut RowSweep<'_>) -> Self {
        let RowSweep { problem, jacobian, relaxation, bounds, y, x } = rows;
        let n = x.len();
        let ((lo, hi), width) = (bounds.own(), bounds.width());
        Octets {
            lanes,
            relaxation: *relaxation,
            coupled: f64::from(u8::from(bounds.is_coupled())),
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
        octet: &[u32; EIGHT],
        notes: &[Octet; 6],
        sums: &mut Sums<L::Eight>,
    ) -> bool {
        let lanes = self.lanes;
        let [a, b, c, d, e, f, g, h] = *octet;
        let at = [a as usize, b as usize, c as usize, d as usize, e as usize, f as usize, g as usize, h as usize];
        let n = self.x.len();
        let dot = self.velocities(at);
        let (lo, hi) = (columns(lanes, &self.lo[..n], at), columns(lanes, &self.hi[..n], at));
        let width = columns(lanes, &self.width[..n], at);
        let (old, b) = (columns(lanes, &self.x[..n], at), columns(lanes, &self.b[..n], at));
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
                // No branch: with one the compiler takes the rows apart and keeps what is read too early in memory.
                let normal = lanes.where_above(lanes.all(self.coupled), new[0], lanes.all(1.0));
                let reach = lanes.at_least(lanes.mul(width[s], normal), lanes.all(0.0));
                lo = lanes.at_least(lo, lanes.mul(reach, lanes.all(-1.0)));
                hi = lanes.at_most(hi, reach);
            }
            // Lanes that only fill the octet have a diagonal of zero and stay as they are.
            new[s] = lanes.where_above(a, lanes.at_most(lanes.at_least(target, lo), hi), old[s]);
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
        // In this order: where a trio stands several times, the last is the one that was visited.
        self.change(at[0], [new[0][0], new[1][0], new[2][0]], [delta[0][0], delta[1][0], delta[2][0]]);
        self.change(at[1], [new[0][1], new[1][1], new[2][1]], [delta[0][1], delta[1][1], delta[2][1]]);
        self.change(at[2], [new[0][2], new[1][2], new[2][2]], [delta[0][2], delta[1][2], delta[2][2]]);
        self.change(at[3], [new[0][3], new[1][3], new[2][3]], [delta[0][3], delta[1][3], delta[2][3]]);
        self.change(at[4], [new[0][4], new[1][4], new[2][4]], [delta[0][4], delta[1][4], delta[2][4]]);
        self.change(at[5], [new[0][5], new[1][5], new[2][5]], [delta[0][5], delta[1][5], delta[2][5]]);
        self.change(at[6], [new[0][6], new[1][6], new[2][6]], [delta[0][6], delta[1][6], delta[2][6]]);
        self.change(at[7], [new[0][7], new[1][7], new[2][7]], [delta[0][7], delta[1][7], delta[2][7]]);
        true
    }

    /// `K y` of eight trios: of their first rows, of their second and of their third ones.
    #[inline(always)]
    fn velocities(&self, at: [usize; EIGHT]) -> [L::Eight; TRIO] {
        // One by one: a loop over them would not be unrolled, and their products would go through memory.
        let (a, b, c, d) = (self.products(at[0]), self.products(at[1]), self.products(at[2]), self.products(at[3]));
        let (e, f, g, h) = (self.products(at[4]), self.products(at[5]), self.products(at[6]), self.products(at[7]));
        [
            self.lanes.sums([a[0], b[0], c[0], d[0], e[0], f[0], g[0], h[0]]),
            self.lanes.sums([a[1], b[1], c[1], d[1], e[1], f[1], g[1], h[1]]),
            self.lanes.sums([a[2], b[2], c[2], d[2], e[2], f[2], g[2], h[2]]),
        ]
    }

    /// Of a trio's rows: what adds up to `K y`.
    #[inline(always)]
    fn products(&self, i: usize) -> [L::Products; TRIO] {
        let lanes = self.lanes;
        let rows = three(self.rows, i);
        let p = lanes.six(&self.y[rows[0].body[0] as usize]);
        let q = lanes.six(&self.y[rows[0].body[1] as usize]);
        let ((k, l), (m, n), (o, r)) = (halves(&rows[0]), halves(&rows[1]), halves(&rows[2]));
        [lanes.products(k, l, p, q), lanes.products(m, n, p, q), lanes.products(o, r, p, q)]
    }

    /// A trio's new x, and `y ← y + Kᵀ δ`.
    #[inline(always)]
    fn change(&mut self, i: usize, new: [f64; TRIO], delta: [f64; TRIO]) {
        let lanes = self.lanes;
        self.x[i..i + TRIO].copy_from_slice(&new);
        let rows = three(self.rows, i);
        let y = &mut self.y[rows[0].body[0] as usize];
        let mut sum = lanes.six(y);
        for s in 0..TRIO {
            sum = lanes.add_multiple(sum, halves(&rows[s]).0, delta[s]);
        }
        lanes.store_six(sum, y);
        let y = &mut self.y[rows[0].body[1] as usize];
        let mut sum = lanes.six(y);
        for s in 0..TRIO {
            sum = lanes.add_multiple(sum, halves(&rows[s]).1, delta[s]);
        }
        lanes.store_six(sum, y);
    }
}

/// The first, second and third rows' numbers of eight trios.
#[inline(always)]
fn columns<L: Lanes>(lanes: L, v: &[f64], at: [usize; EIGHT]) -> [L::Eight; TRIO] {
    let [a, b, c, d, e, f, g, h] = at;
    lanes.columns([four(v, a), four(v, b), four(v, c), four(v, d), four(v, e), four(v, f), four(v, g), four(v, h)])
}

/// The three rows from i on.
#[inline(always)]
fn three(rows: &[Row], i: usize) -> &[Row; TRIO] {
    rows[i..i + TRIO].first_chunk().expect("three rows")
}

/// The four numbers from i on.
#[inline(always)]
fn four(v: &[f64], i: usize) -> &[f64; 4] {
    v[i..i + 4].first_chunk().expect("four numbers")
}
