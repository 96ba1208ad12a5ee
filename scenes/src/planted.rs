//! A problem whose solution is known because it was chosen first.

use crate::oracle::{Number, Wide};
use crate::random::Random;
use crate::rows::{Matrix, Rows};

/// How friction bounds follow normal impulses.
#[derive(Clone, Debug, PartialEq)]
pub enum Friction {
    /// `|x_i| <= mu_i max(x_n, 0)` at the x in question.
    Coupled,
    /// The bounds are those at these impulses, whatever x is.
    Frozen(Vec<f64>),
}

/// One problem, `w = A x + b`, `lo <= x <= hi`, complementary, and the solution it was made around.
#[derive(Clone, Debug)]
pub struct Planted {
    /// A.
    pub matrix: Matrix,
    /// What the velocities would be without impulses.
    pub b: Vec<f64>,
    /// Lower bounds; -inf on friction rows, or their cap.
    pub lo: Vec<f64>,
    /// Upper bounds; +inf on friction rows, or their cap.
    pub hi: Vec<f64>,
    /// The normal row of each friction row, else -1; empty without friction.
    pub findex: Vec<i32>,
    /// The coefficient of each friction row; empty without friction.
    pub mu: Vec<f64>,
    /// How friction rows are read.
    pub friction: Friction,
    /// The planted impulses and velocities; none where no solution is known.
    pub solution: Option<Solution>,
    /// Is it known that there is a solution?
    pub is_solvable: bool,
}

/// Impulses, and velocities that go with them.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    /// Impulses within their bounds.
    pub x: Vec<f64>,
    /// Velocities complementary to them.
    pub w: Vec<f64>,
}

impl Planted {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.lo.len()
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.lo.is_empty()
    }

    /// The normal row that friction row `i` hangs on.
    pub fn normal_of(&self, i: usize) -> Option<usize> {
        self.findex.get(i).and_then(|&f| usize::try_from(f).ok()).filter(|&f| f != i)
    }

    /// Does any row take its bounds from another?
    pub fn has_friction(&self) -> bool {
        (0..self.len()).any(|i| self.normal_of(i).is_some())
    }

    /// Bounds of row `i` when the impulses are `x`.
    pub fn bounds_at(&self, i: usize, x: &[f64]) -> (f64, f64) {
        let Some(normal) = self.normal_of(i) else { return (self.lo[i], self.hi[i]) };
        let normals = match &self.friction {
            Friction::Coupled => x,
            Friction::Frozen(normals) => normals,
        };
        let reach = reach(self.mu[i], normals[normal]);
        (self.lo[i].max(-reach), self.hi[i].min(reach))
    }

    /// x = 0, moved into the bounds.
    pub fn rest(&self) -> Vec<f64> {
        self.clamped(&vec![0.0; self.len()])
    }

    /// Impulses moved into the bounds that hold there: normal rows first, then the rows that hang on them.
    pub fn clamped(&self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        for friction in [false, true] {
            for i in (0..x.len()).filter(|&i| self.normal_of(i).is_some() == friction) {
                let (lo, hi) = self.bounds_at(i, &x);
                x[i] = x[i].max(lo).min(hi);
            }
        }
        x
    }

    /// The first row whose impulse lies outside its bounds, to the last bit.
    pub fn outside(&self, x: &[f64]) -> Option<usize> {
        (0..x.len()).find(|&i| {
            let (lo, hi) = self.bounds_at(i, x);
            !(lo <= x[i] && x[i] <= hi)
        })
    }

    /// The problem with A as a matrix and the same solution planted anew.
    pub fn as_dense(&self) -> Planted {
        let mut dense = self.clone();
        if let Matrix::Rows(rows) = &self.matrix {
            dense.matrix = Matrix::Dense(rows.dense());
            dense.plant_again();
        }
        dense
    }

    /// Choose b anew so that the solution holds for the matrix as it stands, to the last bit of b.
    pub fn plant_again(&mut self) {
        if let Some(solution) = &self.solution {
            let product = self.matrix.product::<Wide>(&solution.x);
            for (i, ax) in product.iter().enumerate() {
                let mut b = ax.times(-1.0);
                b.add_product(solution.w[i], 1.0);
                self.b[i] = b.to_f64();
            }
        }
    }

    /// The problem in other units: row i and its w times `s_i`, its impulse and bounds over it, and all velocities and
    /// impulses times `factor`. The solution stays one.
    pub fn in_units(self, s: &[f64], factor: f64) -> Planted {
        let Planted { matrix, lo, hi, findex, mu, friction, solution, b, is_solvable } = self;
        let scale = |v: &[f64]| v.iter().zip(s).map(|(v, s)| factor * (v / s)).collect::<Vec<f64>>();
        let times = |v: &[f64]| v.iter().zip(s).map(|(v, s)| factor * (v * s)).collect::<Vec<f64>>();
        let (lo, hi, b) = (scale(&lo), scale(&hi), times(&b));
        let draft = Draft { matrix, lo, hi, findex, mu }.rows_scaled(s);
        let Draft { matrix, lo, hi, findex, mu } = draft;
        let mut planted = Planted { matrix, lo, hi, findex, mu, friction, b, solution: None, is_solvable };
        planted.solution = solution.map(|old| Solution { x: planted.clamped(&scale(&old.x)), w: times(&old.w) });
        planted.plant_again();
        planted
    }

    /// Friction bounds frozen at the planted impulses.
    pub fn frozen(mut self) -> Planted {
        if let Some(solution) = &self.solution {
            self.friction = Friction::Frozen(solution.x.clone());
        }
        self
    }

    /// One world of several: none of them touches another.
    pub fn join(parts: &[Planted]) -> Planted {
        let mut rows = Rows::default();
        let mut all =
            Planted { matrix: Matrix::Dense(Vec::new()), solution: Some(Solution::default()), ..Planted::empty() };
        for part in parts {
            let shift = all.len() as i32;
            if let Matrix::Rows(other) = &part.matrix {
                rows.append(other);
            }
            all.b.extend(&part.b);
            all.lo.extend(&part.lo);
            all.hi.extend(&part.hi);
            all.findex.extend((0..part.len()).map(|i| part.normal_of(i).map_or(-1, |f| f as i32 + shift)));
            all.mu.extend((0..part.len()).map(|i| part.mu.get(i).copied().unwrap_or(0.0)));
            if let (Some(all), Some(part)) = (&mut all.solution, &part.solution) {
                all.x.extend(&part.x);
                all.w.extend(&part.w);
            }
        }
        all.matrix = Matrix::Rows(rows);
        all
    }

    fn empty() -> Planted {
        Planted {
            matrix: Matrix::Dense(Vec::new()),
            b: Vec::new(),
            lo: Vec::new(),
            hi: Vec::new(),
            findex: Vec::new(),
            mu: Vec::new(),
            friction: Friction::Coupled,
            solution: None,
            is_solvable: true,
        }
    }
}

/// `mu max(x_n, 0)`, 0 for an open contact however rough.
fn reach(mu: f64, normal: f64) -> f64 {
    if normal > 0.0 {
        mu * normal
    } else {
        0.0
    }
}

/// A problem before a solution is planted: matrix, bounds and friction.
#[derive(Clone, Debug)]
pub struct Draft {
    /// A.
    pub matrix: Matrix,
    /// Lower bounds.
    pub lo: Vec<f64>,
    /// Upper bounds.
    pub hi: Vec<f64>,
    /// The normal row of each friction row, else -1.
    pub findex: Vec<i32>,
    /// The coefficient of each friction row, else 0.
    pub mu: Vec<f64>,
}

/// How a solution is drawn.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Probability that a row with a bound rests on it.
    pub at_bound: f64,
    /// Probability that a row at its bound has w = 0 as well.
    pub graze: f64,
    /// Size of velocities, m/s.
    pub speed: f64,
    /// Impulses are of size speed / a_ii where this is set, else of size `impulse`.
    pub by_mass: bool,
    /// Size of impulses, N s.
    pub impulse: f64,
    /// Velocities of the bodies after the step, six each: w follows them where rows may move; empty: w is drawn row by row.
    pub motion: Vec<f64>,
}

impl Default for Habits {
    fn default() -> Self {
        Habits { at_bound: 0.5, graze: 0.2, speed: 1.0, by_mass: true, impulse: 1.0, motion: Vec::new() }
    }
}

impl Draft {
    /// A draft of rows without bounds.
    pub fn free(matrix: Matrix) -> Draft {
        let n = matrix.len();
        Draft {
            matrix,
            lo: vec![f64::NEG_INFINITY; n],
            hi: vec![f64::INFINITY; n],
            findex: vec![-1; n],
            mu: vec![0.0; n],
        }
    }

    /// Draw a solution, choose b to suit it.
    pub fn plant(self, habits: &Habits, random: &mut Random) -> Planted {
        let n = self.lo.len();
        let diagonal = self.matrix.diagonal();
        let Draft { matrix, lo, hi, findex, mu } = self;
        let mut planted = Planted { matrix, b: vec![0.0; n], lo, hi, findex, mu, ..Planted::empty() };
        let mut solution = Solution { x: vec![0.0; n], w: vec![0.0; n] };
        for friction in [false, true] {
            for i in (0..n).filter(|&i| planted.normal_of(i).is_some() == friction) {
                let bounds = planted.bounds_at(i, &solution.x);
                let reach =
                    if habits.by_mass && diagonal[i] > 0.0 { habits.speed / diagonal[i] } else { habits.impulse };
                let moves = match &planted.matrix {
                    Matrix::Rows(rows) if !habits.motion.is_empty() => Some(rows.row_velocity(i, &habits.motion)),
                    _ => None,
                };
                (solution.x[i], solution.w[i]) = draw(bounds, reach, moves, habits, random);
            }
        }
        planted.solution = Some(solution);
        planted.plant_again();
        planted
    }

    /// The problem with a given b, of which no solution is known.
    pub fn with_b(self, b: Vec<f64>) -> Planted {
        let Draft { matrix, lo, hi, findex, mu } = self;
        Planted { matrix, b, lo, hi, findex, mu, ..Planted::empty() }
    }

    /// Put rows into random order.
    pub fn shuffled(self, random: &mut Random) -> Draft {
        let n = self.lo.len();
        let order = random.order(n);
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = to);
        let pick = |v: &[f64]| order.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let matrix = match &self.matrix {
            Matrix::Rows(rows) => Matrix::Rows(rows.reordered(&order)),
            Matrix::Dense(a) => {
                Matrix::Dense(order.iter().flat_map(|&i| order.iter().map(move |&j| a[i * n + j])).collect())
            }
        };
        let moved = |&i: &usize| usize::try_from(self.findex[i]).map_or(-1, |f| place[f] as i32);
        let findex = order.iter().map(moved).collect();
        Draft { matrix, lo: pick(&self.lo), hi: pick(&self.hi), findex, mu: pick(&self.mu) }
    }

    /// Write each row in units of its own: rows and w times `s_i`, impulses and bounds over it. Friction rows share the factor of
    /// their normal row. Negative factors turn a row round; not for rows that friction hangs on.
    pub fn scaled(self, s: &[f64]) -> Draft {
        let mut draft = self.rows_scaled(s);
        for i in 0..s.len() {
            let (lo, hi) = (draft.lo[i] / s[i], draft.hi[i] / s[i]);
            (draft.lo[i], draft.hi[i]) = if s[i] > 0.0 { (lo, hi) } else { (hi, lo) };
        }
        draft
    }

    /// Scale the matrix alone.
    fn rows_scaled(mut self, s: &[f64]) -> Draft {
        let n = self.lo.len();
        match &mut self.matrix {
            Matrix::Rows(rows) => {
                for i in 0..n {
                    rows.rows[12 * i..12 * i + 12].iter_mut().for_each(|v| *v *= s[i]);
                    rows.compliance[i] *= s[i] * s[i];
                }
            }
            Matrix::Dense(a) => (0..n * n).for_each(|k| a[k] *= s[k / n] * s[k % n]),
        }
        self
    }
}

/// One row's impulse and velocity, complementary.
fn draw(bounds: (f64, f64), reach: f64, moves: Option<f64>, habits: &Habits, random: &mut Random) -> (f64, f64) {
    let (lo, hi) = bounds;
    let speed = |random: &mut Random| match moves {
        Some(v) => v.abs(),
        None if random.chance(habits.graze) => 0.0,
        None => habits.speed * random.range(0.01, 1.0),
    };
    if lo == hi {
        // Whatever w, the row is right.
        return (lo, moves.unwrap_or_else(|| habits.speed * random.signed()));
    }
    let (low, high) = (lo.is_finite(), hi.is_finite());
    let rests = match moves {
        Some(v) if v.abs() < 1e-9 => random.chance(habits.graze * habits.at_bound),
        Some(v) => (v > 0.0 && low) || (v < 0.0 && high),
        None => random.chance(habits.at_bound),
    };
    if (low || high) && rests {
        let lower = match moves {
            Some(v) if low && high => v > 0.0,
            _ if low && high => random.chance(0.5),
            _ => low,
        };
        return if lower { (lo, speed(random)) } else { (hi, -speed(random)) };
    }
    let x = match (low, high) {
        (true, true) => lo + (hi - lo) * random.range(0.05, 0.95),
        (true, false) => lo + reach * random.range(0.01, 1.0),
        (false, true) => hi - reach * random.range(0.01, 1.0),
        (false, false) => reach * random.signed(),
    };
    (x, 0.0)
}
