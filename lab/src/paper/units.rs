//! `mlcp-lab paper units`: the same iterates of the brick wall in metres, in millimetres and with rescaled rows: which one
//! does each measure call the best?

use super::brick_wall::{unstopped, MEASURES};
use super::section::{Context, Section};
use crate::plot::Chart;
use crate::scenes::brick_wall::BrickWall;
use crate::scenes::step_problem::StepProblem;
use mlcp::{Engine, Measure, Problem, SolverKind};
use std::fmt::Write;

/// Budgets of sweeps; after more of them the last is the best by any measure.
const BUDGETS: [usize; 11] = [2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50];
/// How a problem is written.
const WRITINGS: [&str; 4] = ["SI", "mm, g, s", "cm, t, s", "rows rescaled"];

/// The same problem, written in each way.
fn written(step: &StepProblem) -> [StepProblem; 4] {
    // A fixed, uneven choice between 1/8 and 8.
    let scale = |i: usize| 2f64.powi((i * 37 % 7) as i32 - 3);
    [step.clone(), step.in_units(1e3, 1e3), step.in_units(1e-3, 1e2), step.with_scaled_rows(scale)]
}

/// The iterate that a measure picks.
fn pick(step: &StepProblem, measure: Measure, iterations: usize) -> mlcp::Result<usize> {
    let mut problem = Problem::new();
    step.fill(&mut problem)?;
    let mut engine = Engine::new(unstopped(SolverKind::Pgs, iterations, measure))?;
    Ok(engine.solve(&problem, None, None)?.best_iteration)
}

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let steps = if context.short { 3 } else { 50 };
    let bar = context.progress(steps);
    let mut wall = BrickWall::new(12).map_err(|e| e.to_string())?;
    let mut csv = String::from("step,budget,measure,writing,picked_iterate\n");
    // Per measure and budget: how often another writing changed the choice; and the sum of the iterates picked.
    let mut changed = [[0usize; BUDGETS.len()]; 3];
    let mut sums = [[[0usize; WRITINGS.len()]; BUDGETS.len()]; 3];
    for step in 0..steps {
        let (problem, _) = wall.step().map_err(|e| e.to_string())?;
        let all = written(&problem);
        for (m, (measure, name, _)) in MEASURES.into_iter().enumerate() {
            for (k, budget) in BUDGETS.into_iter().enumerate() {
                let mut picks = [0; WRITINGS.len()];
                for (j, problem) in all.iter().enumerate() {
                    picks[j] = pick(problem, measure, budget).map_err(|e| e.to_string())?;
                    sums[m][k][j] += picks[j];
                    let _ = writeln!(csv, "{step},{budget},{name},\"{}\",{}", WRITINGS[j], picks[j]);
                }
                changed[m][k] += picks[1..].iter().filter(|&&p| p != picks[0]).count();
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let setup = format!(
        "Beyond the paper: Gauss-Seidel on {steps} steps of the brick wall, with budgets of {BUDGETS:?} sweeps, keeping the \
         best iterate by each measure; the same problems in metres and kilograms, in millimetres and grams, in centimetres \
         and tonnes, and with every row of J multiplied by a power of two between 1/8 and 8. The iterates are the same."
    );
    let mut section = Section::new("Units", "beyond Enzenhöfer et al. 2019, §3.3", &setup);
    let asked = steps * BUDGETS.len() * (WRITINGS.len() - 1);
    for (m, says) in [
        (2, "by energy the choice never changes"),
        (0, "by Fischer-Burmeister it depends on the units and on how rows are written"),
        (1, "by the natural residual as well"),
    ] {
        let count: usize = changed[m].iter().sum();
        let measured = format!("the choice differs from that in SI in {count} of {asked} cases");
        section.claim(says, measured, (count == 0) == (m == 2));
    }
    let starts = [0, 1].map(|m| if sums[m][2][0] == 0 { "always" } else { "not always" });
    let measured = format!(
        "10 sweeps, SI: Fischer-Burmeister {}, natural {}, energy picks {:.1}",
        starts[0],
        starts[1],
        sums[2][2][0] as f64 / steps as f64
    );
    let says =
        "a mixed measure may keep the starting point, no impulse at all, though every sweep lowers the energy error";
    section.claim(says, measured, sums[0][2][0] < sums[2][2][0] && sums[1][2][0] < sums[2][2][0]);
    let mean = |m: usize, k: usize, j: usize| sums[m][k][j] as f64 / steps as f64;
    let chart = |(m, (_, title, _)): (usize, (Measure, &'static str, &'static str))| {
        let line = |j: usize| BUDGETS.iter().enumerate().map(|(k, &b)| (b as f64, mean(m, k, j))).collect();
        let curves = WRITINGS.iter().enumerate().map(|(j, name)| (name.to_string(), line(j))).collect();
        let (x_title, y_title) = ("budget [sweeps]", "mean iterate picked");
        Chart { title, x_title, y_title, curves, ..Chart::default() }
    };
    let charts: Vec<Chart> = MEASURES.into_iter().enumerate().map(chart).collect();
    let caption =
        "The iterate that each measure keeps, mean over the steps; lines that part are choices made by the units.";
    section.figure("units", "Which iterate is the best? The same iterates, written in four ways", caption, &charts);
    section.table("units", csv);
    Ok(section)
}
