//! Products with two-body rows: `y += Kᵀ x` and `w = K y`.
//!
//! Rows that follow each other on the same two bodies, those of a joint or of all contacts of a pair, are a *run*. A run's
//! velocities are read or written once, in three vectors of four, and its rows are taken four at a time.

use super::jacobian::{Row, ROW_LEN};
use crate::linalg::{with_lanes, Kernel, Lanes, Quad};

/// `y += Kᵀ x`, six numbers per body in y.
pub(super) fn push(rows: &[Row], x: &[f64], y: &mut [f64]) {
    with_lanes(Push { rows, x, y });
}

/// `w = K y`.
pub(super) fn pull(rows: &[Row], y: &[f64], w: &mut [f64]) {
    with_lanes(Pull { rows, y, w });
}

/// How many of the first rows are on the same bodies.
#[inline(always)]
fn run_of(rows: &[Row]) -> usize {
    let mut len = 1;
    while len < rows.len() && rows[len].body == rows[0].body {
        len += 1;
    }
    len
}

/// Twelve numbers as three vectors.
#[inline(always)]
fn three<L: Lanes>(lanes: L, v: &[f64; ROW_LEN]) -> [L::Four; 3] {
    let (four, _) = v.as_chunks::<4>();
    [lanes.load(&four[0]), lanes.load(&four[1]), lanes.load(&four[2])]
}

struct Push<'a> {
    rows: &'a [Row],
    x: &'a [f64],
    y: &'a mut [f64],
}

impl Kernel for Push<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (mut rows, mut x, (y, _)) = (self.rows, self.x, self.y.as_chunks_mut::<6>());
        while !rows.is_empty() {
            let len = run_of(rows);
            let mut sum = [lanes.all(0.0); 3];
            for (row, &x) in rows[..len].iter().zip(x) {
                let (k, x) = (three(lanes, &row.k), lanes.all(x));
                for c in 0..3 {
                    sum[c] = lanes.add(sum[c], lanes.mul(k[c], x));
                }
            }
            let sum = [lanes.store(sum[0]), lanes.store(sum[1]), lanes.store(sum[2])];
            for (sum, &body) in sum.as_flattened().as_chunks::<6>().0.iter().zip(&rows[0].body) {
                for (y, sum) in y[body as usize].iter_mut().zip(sum) {
                    *y += sum;
                }
            }
            (rows, x) = (&rows[len..], &x[len..]);
        }
    }
}

struct Pull<'a> {
    rows: &'a [Row],
    y: &'a [f64],
    w: &'a mut [f64],
}

impl Kernel for Pull<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (mut rows, (y, _), mut w) = (self.rows, self.y.as_chunks::<6>(), self.w);
        while !rows.is_empty() {
            let len = run_of(rows);
            let mut both = [0.0; ROW_LEN];
            both[..6].copy_from_slice(&y[rows[0].body[0] as usize]);
            both[6..].copy_from_slice(&y[rows[0].body[1] as usize]);
            let y = three(lanes, &both);
            let (run, rest) = rows.split_at(len);
            let (out, further) = w.split_at_mut(len);
            let ((fours, few), (out, last)) = (run.as_chunks::<4>(), out.as_chunks_mut::<4>());
            for (four, out) in fours.iter().zip(out) {
                let p = [products(lanes, &four[0], y), products(lanes, &four[1], y)];
                let q = [products(lanes, &four[2], y), products(lanes, &four[3], y)];
                *out = lanes.store(lanes.sums([p[0], p[1], q[0], q[1]]));
            }
            if !few.is_empty() {
                let mut p = [lanes.all(0.0); 4];
                for k in 0..few.len() {
                    p[k] = products(lanes, &few[k], y);
                }
                let sums: Quad = lanes.store(lanes.sums(p));
                last.copy_from_slice(&sums[..last.len()]);
            }
            (rows, w) = (rest, further);
        }
    }
}

/// Four numbers whose sum is `K_i y`.
#[inline(always)]
fn products<L: Lanes>(lanes: L, row: &Row, y: [L::Four; 3]) -> L::Four {
    let k = three(lanes, &row.k);
    lanes.add(lanes.add(lanes.mul(k[0], y[0]), lanes.mul(k[1], y[1])), lanes.mul(k[2], y[2]))
}
