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

/// The bounds of a trio's second and third rows follow nothing.
pub(super) const FREE: u8 = 0;
/// They follow the first row's impulse.
pub(super) const COUPLED: u8 = 1;
/// They follow what the first row's impulse was once.
pub(super) const FROZEN: u8 = 2;

/// What visits of quads read and change.
pub(super) struct Quads<'a, L> {
    lanes: L,
    relaxation: f64,
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
    set_changes: F,
}

impl<F: Copy> Sums<F> {
    pub fn new<L: Lanes<Four = F>>(lanes: L) -> Self {
        Sums { change: lanes.all(0.0), energy: lanes.all(0.0), set_changes: lanes.all(0.0) }
    }

    /// Tell the sweep.
    #[inline(always)]
    pub fn close<L: Lanes<Four = F>>(self, lanes: L, swept: &mut Swept) {
        let sum = |v: Quad| (v[0] + v[1]) + (v[2] + v[3]);
        swept.change += sum(lanes.store(self.change));
        swept.energy += sum(lanes.store(self.energy));
        swept.set_changes += sum(lanes.store(self.set_changes)) as usize;
    }
}

/// A row's twelve entries.
#[inline(always)]
fn fours(row: &Row) -> &[Quad; 3] {
    row.k.as_chunks().0.first_chunk().expect("twelve entries")
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

    /// Visit the trios that begin at these rows, `BACK`wards or in their order. `RUBS`: how their second and third rows
    /// take their bounds from the first. False: something overflowed, and nothing has changed.
    #[inline(always)]
    pub fn visit<const BACK: bool, const RUBS: u8>(
        &mut self,
        quad: &[u32; 4],
        notes: &[Quad; 6],
        sums: &mut Sums<L::Four>,
    ) -> bool {
        let lanes = self.lanes;
        let at = [quad[0] as usize, quad[1] as usize, quad[2] as usize, quad[3] as usize];
        let bodies = [self.bodies(at[0]), self.bodies(at[1]), self.bodies(at[2]), self.bodies(at[3])];
        let dot = self.velocities(at, bodies);
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
            if RUBS != FREE && s > 0 {
                let half = if RUBS == COUPLED { lanes.mul(width[s], new[0]) } else { width[s] };
                let reach = lanes.at_least(half, lanes.all(0.0));
                lo = lanes.at_least(lo, lanes.mul(reach, lanes.all(-1.0)));
                hi = lanes.at_most(hi, reach);
            }
            new[s] = lanes.at_most(lanes.at_least(target, lo), hi);
            delta[s] = lanes.sub(new[s], old[s]);
            change = lanes.add(change, lanes.mul(lanes.mul(a, delta[s]), delta[s]));
            energy = lanes.add(energy, lanes.mul(lanes.mul(a, new[s]), new[s]));
            set_changes = lanes.add(set_changes, lanes.crossed(old[s], new[s], lo, hi));
        }
        // Left to itself the compiler adds up behind the branch, for which everything would go through memory.
        let added = std::hint::black_box(Sums { change, energy, set_changes });
        if !lanes.are_below_infinity(change) {
            return false;
        }
        *sums = added;
        let new = [lanes.store(new[0]), lanes.store(new[1]), lanes.store(new[2])];
        self.change::<0>(at[0], bodies[0], [new[0][0], new[1][0], new[2][0]], delta);
        self.change::<1>(at[1], bodies[1], [new[0][1], new[1][1], new[2][1]], delta);
        self.change::<2>(at[2], bodies[2], [new[0][2], new[1][2], new[2][2]], delta);
        self.change::<3>(at[3], bodies[3], [new[0][3], new[1][3], new[2][3]], delta);
        true
    }

    /// `K y` of four trios: of their first rows, of their second and of their third ones.
    #[inline(always)]
    fn velocities(&self, at: [usize; 4], bodies: [[usize; 2]; 4]) -> [L::Four; TRIO] {
        let (p, q) = (self.products(at[0], bodies[0]), self.products(at[1], bodies[1]));
        let (r, s) = (self.products(at[2], bodies[2]), self.products(at[3], bodies[3]));
        let p = [p, q, r, s];
        [
            self.lanes.sums([p[0][0], p[1][0], p[2][0], p[3][0]]),
            self.lanes.sums([p[0][1], p[1][1], p[2][1], p[3][1]]),
            self.lanes.sums([p[0][2], p[1][2], p[2][2], p[3][2]]),
        ]
    }

    /// Of a trio's rows: four numbers each, whose sum is `K y`.
    #[inline(always)]
    fn products(&self, i: usize, bodies: [usize; 2]) -> [L::Four; TRIO] {
        let lanes = self.lanes;
        let rows = three(self.rows, i);
        let y = self.twelve(bodies);
        let mut out = y;
        for s in 0..TRIO {
            let k = fours(&rows[s]);
            let outer = lanes.add(lanes.mul(lanes.load(&k[0]), y[0]), lanes.mul(lanes.load(&k[2]), y[2]));
            out[s] = lanes.add(outer, lanes.mul(lanes.load(&k[1]), y[1]));
        }
        out
    }

    /// The bodies of the row at i.
    #[inline(always)]
    fn bodies(&self, i: usize) -> [usize; 2] {
        let [first, second] = three(self.rows, i)[0].body;
        [first as usize, second as usize]
    }

    /// y of a row's two bodies, in the order of its entries: four of the first, two of each, four of the second.
    #[inline(always)]
    fn twelve(&self, bodies: [usize; 2]) -> [L::Four; 3] {
        let lanes = self.lanes;
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.y[bodies[0]], self.y[bodies[1]]);
        [lanes.load(&[a, b, c, d]), lanes.join(Two::load(&[e, f]), Two::load(&[g, h])), lanes.load(&[i, j, k, l])]
    }

    /// The new x of the trio in a lane, and `y ← y + Kᵀ δ`.
    #[inline(always)]
    fn change<const LANE: usize>(&mut self, i: usize, bodies: [usize; 2], new: [f64; TRIO], delta: [L::Four; TRIO]) {
        let lanes = self.lanes;
        self.x[i..i + TRIO].copy_from_slice(&new);
        let rows = three(self.rows, i);
        let mut y = self.twelve(bodies);
        for s in 0..TRIO {
            let (k, delta) = (fours(&rows[s]), lanes.spread::<LANE>(delta[s]));
            for c in 0..3 {
                y[c] = lanes.add(y[c], lanes.mul(lanes.load(&k[c]), delta));
            }
        }
        // In the pieces in which they are read, or the next visit waits until they are all in the cache.
        let [first, second] = lanes.split(y[1]);
        if let Some((four, two)) = self.y[bodies[0]].split_first_chunk_mut() {
            *four = lanes.store(y[0]);
            if let Some(two) = two.first_chunk_mut() {
                first.store(two);
            }
        }
        if let Some((two, four)) = self.y[bodies[1]].split_first_chunk_mut() {
            second.store(two);
            if let Some(four) = four.first_chunk_mut() {
                *four = lanes.store(y[2]);
            }
        }
    }
}

/// The first, second and third rows' numbers of four trios.
#[inline(always)]
fn columns<L: Lanes>(lanes: L, v: &[f64], at: [usize; 4]) -> [L::Four; TRIO] {
    let (p, q) = (lanes.load(four(v, at[0])), lanes.load(four(v, at[1])));
    let (r, s) = (lanes.load(four(v, at[2])), lanes.load(four(v, at[3])));
    let [first, second, third, _] = lanes.columns([p, q, r, s]);
    [first, second, third]
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
