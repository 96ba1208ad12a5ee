//! A Gauss-Seidel sweep over Jacobian rows at the speed of memory.
//!
//! The visits of two neighbouring rows mostly share a body, so each waits for the other's update to reach `y`, and
//! then for its own dot product: some sixty cycles in which nothing else happens. So contacts that share no moving body are
//! visited four by four (`quads.rs`, `quad_visit.rs`). Of what is left over, and in small problems, a row looks two rows
//! ahead. Its dot product is taken before the last two updates are in `y`, and what they would have added comes from the
//! couplings `A_i,i-1` and `A_i,i-2`, found once at the start:
//!
//! ```text
//! w_i = K_i y + A_i,i-1 δ_i-1 + A_i,i-2 δ_i-2 + c_i x_i + b_i,    y = Kᵀ(δ_1 ... δ_i-3 and all before)
//! ```
//! That is the same as row by row, up to round-off; from one row to the next only a product, a difference and
//! the bounds are waited for. `make bench-scale` compares it with reading the same bytes, `tests/instructions.rs` counts
//! what it executes.
//!
//! Rows are visited in chunks, at whose end all changes go into `y`: then sweeps may follow each other chunk by chunk
//! (`wave.rs`), and have the same bits whether they do or not.

use super::quad_visit::{Quads, Sums, COUPLED, FREE, FROZEN};
use super::quads::{Part, Plan, QUAD_ROWS, TRIO};
use super::sweep::Swept;
use super::wave::{self, Wave};
use crate::linalg::{at_least, at_most, fetch, with_lanes, Kernel, Lanes};
use crate::problem::{FrictionBounds, Jacobian, Problem, Row};
use std::ops::Range;

/// Rows that a visit looks ahead.
const AHEAD: usize = 2;
/// Rows whose numbers share a cache line.
const LINE: usize = 8;
/// Rows from a visit to what is fetched meanwhile: beyond the rows that the next quads are made of, which takes the memory's
/// time, and so near that the second cache keeps them.
const LEAD: usize = 96;

/// `[A_i,i-1, A_i,i-2]` of every row i of a list, where i - 1 is the row before it on the list; zero where there is none.
pub(super) fn find_couplings_along(list: &[u32], jacobian: &Jacobian, couplings: &mut [[f64; AHEAD]]) {
    let mut behind: [Option<&Row>; AHEAD] = [None; AHEAD];
    for (&i, coupling) in list.iter().zip(couplings) {
        let row = &jacobian.rows()[i as usize];
        *coupling = behind.map(|other| other.map_or(0.0, |other| row.coupling(other)));
        behind = [Some(row), behind[0]];
    }
}

/// The rows of a rising list, if they follow each other without a gap.
pub(super) fn as_range(list: &[u32]) -> Option<Range<usize>> {
    let (first, last) = (*list.first()? as usize, *list.last()? as usize);
    (last - first + 1 == list.len()).then_some(first..last + 1)
}

/// Sweeps about to run.
pub(super) struct RowSweep<'a> {
    pub problem: &'a Problem,
    pub jacobian: &'a Jacobian,
    pub relaxation: f64,
    pub bounds: FrictionBounds<'a>,
    /// `Kᵀx`.
    pub y: &'a mut [f64],
    pub x: &'a mut [f64],
}

impl RowSweep<'_> {
    /// Visit all rows as planned, or `BACK`wards.
    pub fn run<const BACK: bool>(self, plan: &Plan) -> Swept {
        with_lanes(Once::<BACK> { rows: self, plan })
    }

    /// So many sweeps as planned, in one pass over memory; `swept` is what each did.
    pub fn pass(self, plan: &Plan, wave: &Wave, swept: &mut [Swept]) {
        with_lanes(Pass { rows: self, plan, wave, swept });
    }

    /// Visit the rows of a rising list that has everything they are coupled to, with the couplings found along it.
    #[inline(never)]
    pub fn run_along(mut self, list: &[u32], couplings: &[[f64; AHEAD]]) -> Swept {
        let (couplings, n) = (couplings.iter().copied(), self.jacobian.rows().len());
        let mut swept = Swept::default();
        match as_range(list) {
            Some(rows) => self.visit((rows.start..rows.end.min(n)).zip(couplings), &mut swept),
            None => self.visit(list.iter().map(|&i| i as usize).zip(couplings), &mut swept),
        }
        swept.close()
    }

    /// Visit a chunk, and meanwhile `fetch` what comes later.
    #[inline(always)]
    fn chunk<L: Lanes, const BACK: bool>(
        &mut self,
        lanes: L,
        part: Part<'_>,
        swept: &mut Swept,
        fetch: &mut Fetch<'_>,
    ) {
        let rubbing = if self.bounds.has_friction() { part.rubbing } else { 0 };
        if BACK {
            self.others::<BACK>(&part, swept, fetch);
            self.quads::<L, BACK, FREE>(lanes, &part, rubbing..part.quads.len(), swept, fetch);
        }
        if self.bounds.is_coupled() {
            self.quads::<L, BACK, COUPLED>(lanes, &part, 0..rubbing, swept, fetch);
        } else {
            self.quads::<L, BACK, FROZEN>(lanes, &part, 0..rubbing, swept, fetch);
        }
        if !BACK {
            self.quads::<L, BACK, FREE>(lanes, &part, rubbing..part.quads.len(), swept, fetch);
            self.others::<BACK>(&part, swept, fetch);
        }
    }

    /// Visit those quads of a chunk; `RUBS`: how their bounds follow the trios' first rows.
    #[inline(always)]
    fn quads<L: Lanes, const BACK: bool, const RUBS: u8>(
        &mut self,
        lanes: L,
        part: &Part<'_>,
        which: Range<usize>,
        swept: &mut Swept,
        fetch: &mut Fetch<'_>,
    ) {
        let (list, notes) = (&part.quads[which.clone()], &part.notes[which]);
        let mut sums = Sums::new(lanes);
        let mut quads = Quads::new(lanes, self);
        for k in 0..list.len() {
            let k = if BACK { list.len() - 1 - k } else { k };
            fetch.after(QUAD_ROWS, quads.x());
            if !quads.visit::<BACK, RUBS>(&list[k], &notes[k], &mut sums) {
                self.carefully::<BACK>(&list[k], swept);
                quads = Quads::new(lanes, self);
            }
        }
        sums.close(lanes, swept);
    }

    /// Visit those rows of a chunk that are in no quad.
    #[inline(always)]
    fn others<const BACK: bool>(&mut self, part: &Part<'_>, swept: &mut Swept, fetch: &mut Fetch<'_>) {
        let Part { rest, couplings, .. } = part;
        fetch.after(rest.len(), self.x);
        let count = rest.len();
        let visits = (0..count).map(|k| {
            let k = if BACK { count - 1 - k } else { k };
            (rest[k] as usize, if BACK { [couplings[k + 1][0], couplings[k + 2][1]] } else { couplings[k] })
        });
        self.visit(visits, swept);
    }

    /// Visit the rows of a quad one by one: a row that overflows stays as it is.
    #[cold]
    #[inline(never)]
    fn carefully<const BACK: bool>(&mut self, quad: &[u32; 4], swept: &mut Swept) {
        for i in quad.iter().map(|&i| i as usize) {
            for s in 0..TRIO {
                let row = if BACK { i + TRIO - 1 - s } else { i + s };
                self.visit(std::iter::once((row, [0.0; AHEAD])), swept);
            }
        }
    }

    /// Visit rows, given with what each owes to the two before it. Behind the last one all changes are in y.
    #[inline(always)]
    fn visit(&mut self, visits: impl Iterator<Item = (usize, [f64; AHEAD])>, swept: &mut Swept) {
        let RowSweep { problem, jacobian, relaxation, bounds, y, x } = self;
        let rows = jacobian.rows();
        let n = rows.len();
        let (x, b, a) = (&mut x[..n], &problem.b()[..n], &problem.diagonal()[..n]);
        let compliance = &jacobian.compliance()[..n];
        // The two rows visited last, whose changes are not in y yet: the later first.
        let mut behind: [(&Row, f64); AHEAD] = match rows.first() {
            Some(row) => [(row, 0.0); AHEAD],
            None => return,
        };
        let mut sum = *swept;
        for (i, [near, far]) in visits {
            let (row, old, step) = (&rows[i], x[i], *relaxation / a[i]);
            let (lo, hi) = bounds.at(i, x);
            let own = old - step * (compliance[i] * old + b[i]);
            // In the order in which they come to be known: the last change comes in last.
            let target = ((own - (step * far) * behind[1].1) - step * row.dot(y)) - (step * near) * behind[0].1;
            let new = at_most(at_least(target, lo), hi);
            let mut delta = new - old;
            if delta.abs() <= f64::MAX {
                x[i] = new;
            } else {
                delta = overflowed();
            }
            behind[1].0.add(behind[1].1, y);
            behind = [(row, delta), behind[0]];
            sum.add(a[i], old, x[i], (lo, hi));
        }
        for (row, delta) in behind.into_iter().rev() {
            row.add(delta, y);
        }
        *swept = sum;
    }
}

/// One sweep.
struct Once<'a, const BACK: bool> {
    rows: RowSweep<'a>,
    plan: &'a Plan,
}

impl<const BACK: bool> Kernel for Once<'_, BACK> {
    type Output = Swept;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Swept {
        let Once { mut rows, plan } = self;
        let n = rows.x.len();
        let count = wave::chunks(n);
        let mut swept = Swept::default();
        let mut fetch = Fetch::new(&rows, plan);
        for k in 0..count {
            let chunk = |k: usize| if BACK { count - 1 - k } else { k };
            if wave::fetches_ahead(n) {
                let next = (k + 1 < count).then(|| chunk(k + 1));
                // Backwards the last rows come first: they all have to be there.
                fetch.enter(chunk(k), next, if BACK { wave::CHUNK } else { LEAD });
            }
            rows.chunk::<L, BACK>(lanes, plan.part(chunk(k)), &mut swept, &mut fetch);
        }
        swept.close()
    }
}

/// Several sweeps.
struct Pass<'a> {
    rows: RowSweep<'a>,
    plan: &'a Plan,
    wave: &'a Wave,
    swept: &'a mut [Swept],
}

impl Kernel for Pass<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Pass { mut rows, plan, wave, swept } = self;
        let mut fetch = Fetch::new(&rows, plan);
        swept.fill(Swept::default());
        let mut visits = wave.visits(swept.len()).peekable();
        while let Some((sweep, chunk)) = visits.next() {
            fetch.enter(chunk, visits.peek().map(|&(_, next)| next), LEAD);
            rows.chunk::<L, false>(lanes, plan.part(chunk), &mut swept[sweep], &mut fetch);
        }
        for swept in swept {
            *swept = swept.close();
        }
    }
}

/// What comes from memory while rows are visited, so that neither waits for the other.
struct Fetch<'a> {
    problem: &'a Problem,
    jacobian: &'a Jacobian,
    bounds: FrictionBounds<'a>,
    plan: &'a Plan,
    /// Rows to be fetched, one for every visit: first these, then those.
    rows: Range<usize>,
    then: Range<usize>,
    visits: usize,
}

impl<'a> Fetch<'a> {
    fn new(sweep: &RowSweep<'a>, plan: &'a Plan) -> Self {
        let RowSweep { problem, jacobian, bounds, .. } = *sweep;
        Fetch { problem, jacobian, bounds, plan, rows: 0..0, then: 0..0, visits: 0 }
    }

    /// The visits of a chunk begin. Its first `lead` rows are there; the `next` one's come last.
    fn enter(&mut self, chunk: usize, next: Option<usize>, lead: usize) {
        let n = self.problem.len();
        let (rows, next) = (wave::rows_of(chunk, n), next.map_or(0..0, |next| wave::rows_of(next, n)));
        self.rows = (rows.start + lead).min(rows.end)..rows.end;
        self.then = next.start..(next.start + lead).min(next.end);
        self.visits = 0;
        self.turn();
        // What only visits one by one read.
        for i in self.plan.part(chunk).rest.iter().map(|&i| i as usize) {
            fetch(&self.problem.diagonal()[i]);
            self.bounds.fetch_normal(i);
        }
    }

    /// Go on with the next chunk's rows where the first ones end.
    #[inline(always)]
    fn turn(&mut self) {
        if self.rows.is_empty() {
            self.rows = std::mem::replace(&mut self.then, 0..0);
        }
    }

    /// So many visits take place.
    #[inline(always)]
    fn after(&mut self, visits: usize, x: &[f64]) {
        self.visits += visits;
        while self.visits >= LINE && !self.rows.is_empty() {
            self.visits -= LINE;
            let at = self.rows.start..(self.rows.start + LINE).min(self.rows.end);
            self.rows.start = at.end;
            self.turn();
            self.fetch(at, x);
        }
    }

    /// What visits of these rows read.
    #[inline(always)]
    fn fetch(&self, rows: Range<usize>, x: &[f64]) {
        let i = rows.start;
        // A row is about two cache lines long.
        for row in &self.jacobian.rows()[rows] {
            fetch(&row.k[0]);
            fetch(&row.k[LINE]);
        }
        let (order, notes) = self.plan.memory();
        fetch(&order[i]);
        fetch(&notes[i]);
        fetch(&notes[(i + LINE / 2).min(notes.len() - 1)]);
        fetch(&x[i]);
        fetch(&self.problem.b()[i]);
        fetch(&self.jacobian.compliance()[i]);
        self.bounds.fetch(i);
    }
}

/// The change of a row that overflowed: x stays as it is. Out of line, so that no sound row waits for the question.
#[cold]
#[inline(never)]
fn overflowed() -> f64 {
    0.0
}
