//! `mlcp-lab paper brick-wall`: three measures along a hundred Gauss-Seidel sweeps on every step of a standing wall
//! (Enzenhöfer et al., section 5.2).

use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::brick_wall::BrickWall;
use crate::scenes::step_problem::StepProblem;
use mlcp::{Choice, Engine, Measure, Problem, Settings, SolverKind};
use std::fmt::Write;

/// The paper's three measures.
pub const MEASURES: [(Measure, &str, &str); 3] = [
    (Measure::FischerBurmeister, "Fischer-Burmeister", "error [mixed units]"),
    (Measure::Natural, "natural residual", "error [mixed units]"),
    (Measure::Energy, "energy", "error [J]"),
];
const STEPS: usize = 500;
const ITERATIONS: usize = 100;
const ROWS: usize = 12;

/// Sweeps that do not stop before their number is reached.
pub fn unstopped(solver: SolverKind, iterations: usize, measure: Measure) -> Settings {
    Settings {
        solver,
        choice: Choice::Best(measure),
        max_iterations: iterations,
        energy_tolerance: 0.0,
        relative_tolerance: 0.0,
        residual_tolerance: 0.0,
        check_interval: 1,
        stall_window: 10 * iterations + 1000,
        stall_decrease: 0.0,
        history_capacity: iterations + 1,
        ..Settings::default()
    }
}

/// Errors of every iterate from zero, the starting point first.
fn curve(step: &StepProblem, measure: Measure, iterations: usize) -> mlcp::Result<Vec<f64>> {
    let mut problem = Problem::new();
    step.fill(&mut problem)?;
    let mut engine = Engine::new(unstopped(SolverKind::Pgs, iterations, measure))?;
    engine.solve(&problem, None, None)?;
    let mut errors: Vec<f64> = engine.history().iter().map(|r| r.error).collect();
    let last = errors.last().copied().unwrap_or(0.0);
    errors.resize(iterations + 1, last);
    Ok(errors)
}

/// Mean and standard deviation per iteration (eqs. 28 and 29).
fn statistics(curves: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let count = curves.len() as f64;
    let of = |k: usize| {
        let mean = curves.iter().map(|c| c[k]).sum::<f64>() / count;
        let squares: f64 = curves.iter().map(|c| (c[k] - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0).max(1.0)).sqrt())
    };
    (0..curves[0].len()).map(of).collect()
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let (steps, rows) = if context.short { (10, ROWS) } else { (STEPS, ROWS) };
    let bar = context.progress(steps);
    let mut wall = BrickWall::new(rows).map_err(|e| e.to_string())?;
    let mut curves: [Vec<Vec<f64>>; 3] = Default::default();
    let (mut largest, mut worst) = (0, 0.0f64);
    for _ in 0..steps {
        let (step, report) = wall.step().map_err(|e| e.to_string())?;
        (largest, worst) = (largest.max(step.b.len()), worst.max(report.relative_energy()));
        for (list, (measure, ..)) in curves.iter_mut().zip(MEASURES) {
            list.push(curve(&step, measure, ITERATIONS).map_err(|e| e.to_string())?);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let setup = format!(
        "{} bricks of 10 kg in {rows} rows of three and two, gaps of 10 mm, h = 1/60 s, box friction 0.5 with bounds from a \
         frictionless solve; {steps} steps by block principal pivoting, up to {largest} rows, worst relative energy error \
         {worst:.0e}; the bricks moved {:.1e} m at most. Then {ITERATIONS} Gauss-Seidel sweeps from zero on each problem.",
        wall.bricks(),
        wall.drift()
    );
    let mut section =
        Section::new("A brick wall under Gauss-Seidel", "Enzenhöfer et al. 2019, §5.2, Figs. 8-9", &setup);
    let means = curves.each_ref().map(|c| statistics(c));
    claims(&mut section, &means);
    figures(&mut section, &curves, &means);
    let mut csv = String::from(
        "iteration,fb_mean,fb_deviation,natural_mean,natural_deviation,energy_mean_J,energy_deviation_J\n",
    );
    for k in 0..=ITERATIONS {
        let [f, n, e] = means.each_ref().map(|m| m[k]);
        let _ = writeln!(csv, "{k},{:e},{:e},{:e},{:e},{:e},{:e}", f.0, f.1, n.0, n.1, e.0, e.1);
    }
    section.table("brick_wall", csv);
    Ok(section)
}

/// Where the mean is largest, from iteration 1 on.
fn peak(mean: &[(f64, f64)]) -> usize {
    (1..mean.len()).fold(1, |best, k| if mean[k].0 > mean[best].0 { k } else { best })
}

/// Decades per iteration over the last half.
fn slope(mean: &[(f64, f64)]) -> f64 {
    let (from, to) = (mean.len() / 2, mean.len() - 1);
    (mean[from].0 / mean[to].0).log10() / (to - from) as f64
}

fn claims(section: &mut Section, means: &[Vec<(f64, f64)>; 3]) {
    let [fb, natural, energy] = means;
    let rises = energy[1..].windows(2).filter(|w| w[1].0 > w[0].0 * (1.0 + 1e-12)).count();
    let measured = format!(
        "mean {:.2e} J after iteration 1, {:.2e} J after {ITERATIONS}; it rises in {rises} of {} steps",
        energy[1].0,
        energy[ITERATIONS].0,
        ITERATIONS - 1
    );
    section.claim("the energy error does not rise in the first iterations", measured, rises == 0);
    for (mean, name) in [(fb, "Fischer-Burmeister"), (natural, "natural residual")] {
        let at = peak(mean);
        let measured = format!(
            "mean {:.3} at 1, largest {:.3} at {at}, {:.3} at {ITERATIONS}",
            mean[1].0, mean[at].0, mean[ITERATIONS].0
        );
        let says = format!("the {name} error rises for about ten iterations, has a maximum, then falls");
        section.claim(says, measured, at > 1 && mean[ITERATIONS].0 < mean[at].0);
    }
    let [f, n, e] = means.each_ref().map(|m| slope(m));
    let measured =
        format!("decades per 100 iterations: energy {:.2}, FB {:.2}, natural {:.2}", 100.0 * e, 100.0 * f, 100.0 * n);
    section.claim("exponential decay, steeper for energy", measured, e > f && e > n && f > 0.0 && n > 0.0);
    let spread = |m: &[(f64, f64)]| m[1].1 / m[1].0;
    let measured = format!(
        "deviation / mean at iteration 1: energy {:.1e}, FB {:.1e}, natural {:.1e}",
        spread(energy),
        spread(fb),
        spread(natural)
    );
    section.claim(
        "all curves start from similar values",
        measured,
        [fb, natural, energy].iter().all(|m| spread(m) < 0.2),
    );
}

fn figures(section: &mut Section, curves: &[Vec<Vec<f64>>; 3], means: &[Vec<(f64, f64)>; 3]) {
    let points = |values: &[f64]| values.iter().enumerate().map(|(k, &v)| (k as f64, v)).collect::<Vec<_>>();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (k, (_, title, y_title)) in MEASURES.into_iter().enumerate() {
        let mean: Vec<f64> = means[k].iter().map(|m| m.0).collect();
        let above: Vec<f64> = means[k].iter().map(|m| m.0 + m.1).collect();
        // On a logarithmic axis what falls to zero and below has no place.
        let below: Vec<(f64, f64)> =
            points(&means[k].iter().map(|m| m.0 - m.1).collect::<Vec<_>>()).into_iter().filter(|p| p.1 > 0.0).collect();
        let named = vec![
            ("mean".to_string(), points(&mean)),
            ("mean + deviation".to_string(), points(&above)),
            ("mean - deviation".to_string(), below),
        ];
        let chart = Chart { title, x_title: "iteration", y_title, log: true, ..Chart::default() };
        left.push(Chart { curves: named, ..chart });
        // After the first iterations the curves are smooth: fewer points draw them.
        let sparse = |c: &Vec<f64>| points(c).into_iter().filter(|p| p.0 <= 15.0 || p.0 % 5.0 == 0.0).collect();
        // The others lie among them.
        let backdrop = curves[k].iter().step_by(5).map(sparse).collect();
        let chart = Chart { title, x_title: "iteration", y_title, log: true, ..Chart::default() };
        right.push(Chart { backdrop, curves: vec![("mean".to_string(), points(&mean))], ..chart });
    }
    let caption = "Mean over all steps, and one standard deviation around it (Fig. 9, left).";
    section.figure("brick_wall_mean", "Gauss-Seidel on the brick wall: mean and deviation", caption, &left);
    let caption = "One thin line for every fifth step (Fig. 9, right), and the mean.";
    section.figure("brick_wall_all", "Gauss-Seidel on the brick wall: step by step", caption, &right);
}
