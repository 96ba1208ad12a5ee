//! Solutions of small problems by trying every assignment of rows to {lower bound, free, upper bound}.
//!
//! Shares no code with the library: its own elimination, its own check. 3ⁿ assignments, so n <= 8.

/// A row's place in an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Lower,
    Free,
    Upper,
}

/// A solution and the assignment that gave it.
#[derive(Clone, Debug)]
pub struct Solution {
    pub x: Vec<f64>,
    pub w: Vec<f64>,
    pub places: Vec<Place>,
}

/// Round-off allowed in the conditions, as a fraction of each row's own terms, after scaling to a unit diagonal. Elimination with full pivoting on blocks
/// of up to 8 rows of well-scaled test matrices (condition below 1e3) errs by less than 1e-13; 1e-9 leaves room for the
/// nearly singular blocks of rank-deficient ones and is far below the sizes the generators draw (1e-2 .. 10).
const TOLERANCE: f64 = 1e-9;

/// Every solution of `w = A x + b, lo <= x <= hi, w complementary`, one per assignment that has one. Rank-deficient
/// free blocks contribute one of their solutions (free variables at zero or at the nearest place inside the bounds).
pub fn solutions(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64]) -> Vec<Solution> {
    search(n, a, b, lo, hi, usize::MAX)
}

/// Any one solution, if there is one.
pub fn solution(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64]) -> Option<Solution> {
    search(n, a, b, lo, hi, 1).pop()
}

/// Works on rows scaled to a unit diagonal, so that mass ratios do not decide what counts as round-off.
fn search(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64], most: usize) -> Vec<Solution> {
    assert!(n <= 8, "3^{n} assignments are too many");
    let s: Vec<f64> = (0..n).map(|i| if a[i * n + i] > 0.0 { a[i * n + i].sqrt().recip() } else { 1.0 }).collect();
    let scaled: Vec<f64> = (0..n * n).map(|k| s[k / n] * a[k] * s[k % n]).collect();
    let times = |v: &[f64]| (0..n).map(|i| v[i] * s[i]).collect::<Vec<f64>>();
    let over = |v: &[f64]| (0..n).map(|i| v[i] / s[i]).collect::<Vec<f64>>();
    let mut found = Vec::new();
    let mut places = vec![Place::Free; n];
    visit(0, n, &scaled, &times(b), &over(lo), &over(hi), &mut places, &mut found, most);
    for solution in &mut found {
        solution.x = times(&solution.x);
        solution.w = over(&solution.w);
    }
    found
}

#[allow(clippy::too_many_arguments)]
fn visit(
    at: usize,
    n: usize,
    a: &[f64],
    b: &[f64],
    lo: &[f64],
    hi: &[f64],
    places: &mut Vec<Place>,
    found: &mut Vec<Solution>,
    most: usize,
) {
    if found.len() >= most {
        return;
    }
    if at == n {
        found.extend(try_places(n, a, b, lo, hi, places));
        return;
    }
    let mut options = Vec::with_capacity(3);
    if lo[at] < hi[at] {
        options.push(Place::Free);
    }
    if lo[at].is_finite() {
        options.push(Place::Lower);
    }
    if hi[at].is_finite() && lo[at] < hi[at] {
        options.push(Place::Upper);
    }
    for place in options {
        places[at] = place;
        visit(at + 1, n, a, b, lo, hi, places, found, most);
    }
}

fn try_places(n: usize, a: &[f64], b: &[f64], lo: &[f64], hi: &[f64], places: &[Place]) -> Option<Solution> {
    let mut x: Vec<f64> = (0..n)
        .map(|i| match places[i] {
            Place::Lower => lo[i],
            Place::Upper => hi[i],
            // Where a free variable of a singular block may stay.
            Place::Free => 0f64.max(lo[i]).min(hi[i]),
        })
        .collect();
    let free: Vec<usize> = (0..n).filter(|&i| places[i] == Place::Free).collect();
    let m = free.len();
    let block: Vec<f64> = free.iter().flat_map(|&i| free.iter().map(move |&j| a[i * n + j])).collect();
    let rhs: Vec<f64> = free.iter().map(|&i| -b[i] - (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>()).collect();
    let step = eliminate(m, block, rhs)?;
    for (&i, d) in free.iter().zip(&step) {
        x[i] += d;
    }
    let w: Vec<f64> = (0..n).map(|i| b[i] + (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>()).collect();
    let solved = (0..n).all(|i| {
        let w_scale = b[i].abs() + (0..n).map(|j| (a[i * n + j] * x[j]).abs()).sum::<f64>();
        let x_scale = x.iter().fold(1e-3f64, |s, v| s.max(v.abs()));
        let inside = x[i] >= lo[i] - TOLERANCE * x_scale && x[i] <= hi[i] + TOLERANCE * x_scale;
        let w_ok = match places[i] {
            Place::Free => w[i].abs() <= TOLERANCE * w_scale,
            _ if lo[i] == hi[i] => true,
            Place::Lower => w[i] >= -TOLERANCE * w_scale,
            Place::Upper => w[i] <= TOLERANCE * w_scale,
        };
        inside && w_ok
    });
    solved.then(|| Solution { x, w, places: places.to_vec() })
}

/// Solve a small square system by elimination with full pivoting; on a singular but consistent one, the solution with
/// zeros in the columns left over. None: inconsistent.
pub fn eliminate(n: usize, mut a: Vec<f64>, mut r: Vec<f64>) -> Option<Vec<f64>> {
    let size = a.iter().fold(0f64, |s, v| s.max(v.abs()));
    let reach = r.iter().fold(0f64, |s, v| s.max(v.abs()));
    let mut order: Vec<usize> = (0..n).collect();
    let mut rank = n;
    for k in 0..n {
        let (p, q) = (k..n)
            .flat_map(|i| (k..n).map(move |j| (i, j)))
            .max_by(|s, t| a[s.0 * n + s.1].abs().total_cmp(&a[t.0 * n + t.1].abs()))?;
        // What remains is cancellation noise of n products.
        if a[p * n + q].abs() <= 1e-12 * size {
            rank = k;
            break;
        }
        for j in 0..n {
            a.swap(k * n + j, p * n + j);
        }
        r.swap(k, p);
        for i in 0..n {
            a.swap(i * n + k, i * n + q);
        }
        order.swap(k, q);
        for i in k + 1..n {
            let f = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= f * a[k * n + j];
            }
            r[i] -= f * r[k];
        }
    }
    if (rank..n).any(|i| r[i].abs() > TOLERANCE * reach) {
        return None;
    }
    let mut x = vec![0.0; n];
    for k in (0..rank).rev() {
        let rest: f64 = (k + 1..rank).map(|j| a[k * n + j] * x[order[j]]).sum();
        x[order[k]] = (r[k] - rest) / a[k * n + k];
    }
    Some(x)
}

/// `½ xᵀAx + bᵀx`, which a solution minimises over the bounds for symmetric positive semidefinite A.
pub fn objective(n: usize, a: &[f64], b: &[f64], x: &[f64]) -> f64 {
    (0..n).map(|i| x[i] * (b[i] + 0.5 * (0..n).map(|j| a[i * n + j] * x[j]).sum::<f64>())).sum()
}
