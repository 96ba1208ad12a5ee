//! `mlcp-lab paper hand`: a hand grasps a hose in ODE; how wrong is the 10th, how wrong the 40th Gauss-Seidel iterate over
//! the whole run (Lu et al., section 6.1)?

use super::hand_recording::{kept, recording};
use super::hand_steps::{steps, Step, LOOKS};
use super::section::{Context, Section};
use crate::plot::Chart;
use std::fmt::Write;

/// Run it.
pub fn run(context: &Context) -> Result<Section, String> {
    let file = if context.short { kept("Short version") } else { recording(&context.folder) };
    let steps = steps(context, &file.path).map_err(|e| e.to_string())?;
    if steps.is_empty() {
        return Err(format!("{}: no frames", file.path.display()));
    }
    let most = |f: fn(&Step) -> usize| steps.iter().map(f).max().unwrap_or(0);
    let setup = format!(
        "A stand-in for Gazebo's Atlas: a hand of five fingers with two limbs each, driven by motors of limited torque, comes \
         down on a hose of twelve capsules on a table, closes, and lifts its end by 0.25 m; 3 s, h = 1 ms, mu = 0.9. ODE's \
         QuickStep with 50 sweeps, Gazebo's default, simulates; through the adapter and the recorder every island's problem is kept, and the step with the gaps of its contacts and joints (c_examples/ode_hand.cpp). {}: {} steps, up to {} rows and {} \
         contacts. Then Gauss-Seidel sweeps from zero on each step, friction bounded by the iterate's own normal impulses. \
         Violation: root mean square of the rows' natural residuals, in mixed units as in the paper.",
        file.origin,
        steps.len(),
        most(|s| s.rows[0] + s.rows[1]),
        most(|s| s.contacts)
    );
    let mut section = Section::new("A hand grasps a hose in ODE", "Lu et al. 2013, section 6.1, Figs. 5 and 6", &setup);
    claims(&mut section, &steps);
    figures(&mut section, &steps);
    let mut csv = String::from(
        "t_s,rows,contacts,rms_10,rms_40,rms_400,energy_10_J,energy_40_J,energy_400_J,energy_best_of_40_J,\
         quickstep_rms,quickstep_energy_J,deepest_contact_m,rms_contact_m,largest_joint_gap_m,rms_joint_gap_m\n",
    );
    for s in &steps {
        let [a, b, c] = s.looks;
        let _ = writeln!(
            csv,
            "{:.4},{},{},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e},{:e}",
            s.time,
            s.rows[0] + s.rows[1],
            s.contacts,
            s.rms(a),
            s.rms(b),
            s.rms(c),
            a.energy,
            b.energy,
            c.energy,
            s.best,
            s.rms(s.engine),
            s.engine.energy,
            s.depth[0],
            s.depth[1],
            s.gap[0],
            s.gap[1]
        );
    }
    section.table("hand", csv);
    Ok(section)
}

/// Quartiles and the 95th hundredth.
fn quantiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_unstable_by(f64::total_cmp);
    [0.25, 0.5, 0.75, 0.95].map(|share| values[(share * (values.len() - 1) as f64).round() as usize])
}

fn claims(section: &mut Section, steps: &[Step]) {
    let of = |f: &dyn Fn(&Step) -> f64| quantiles(steps.iter().map(f).collect());
    let rms = [0, 1, 2].map(|k| of(&|s: &Step| s.rms(s.looks[k])));
    let energy = [0, 1, 2].map(|k| of(&|s: &Step| s.looks[k].energy));
    let below = |level: f64| {
        let held = steps.iter().filter(|s| s.rms(s.looks[1]) < level).count();
        100.0 * held as f64 / steps.len() as f64
    };
    let [points, turns] = [0, 1].map(|kind| of(&|s: &Step| s.rms_of(s.looks[1], kind))[1]);
    section.claim_or(
        "after 40 iterations the violations are mostly bounded by 1e-3 and 1e-4",
        format!(
            "RMS violation: median {:.1e}, 95 % of the steps below {:.1e}; below 1e-3 in {:.0} %, below 1e-4 in {:.0} %",
            rms[1][1],
            rms[1][3],
            below(1e-3),
            below(1e-4)
        ),
        below(1e-3) > 50.0,
        &format!(
            "Mixed units: rows that move points have a median of {points:.1e} (m/s, N s), rows that only turn {turns:.1e} (rad/s, \
             N m s), and fingers are light and quick to turn. The paper does not say how it weighs them."
        ),
    );
    let word = |q: [f64; 4]| format!("{:.1e}, {:.1e}, {:.1e}", q[0], q[1], q[2]);
    section.claim(
        "the errors of the 10th iterates lie to the right of those of the 40th",
        format!(
            "quartiles of the violation: 10th {}, 40th {}; of the energy error: 10th {} J, 40th {} J",
            word(rms[0]),
            word(rms[1]),
            word(energy[0]),
            word(energy[1])
        ),
        (0..3).all(|k| rms[0][k] > rms[1][k] && energy[0][k] > energy[1][k]),
    );
    let rose = steps.iter().filter(|s| s.rose).count();
    let worse = steps.iter().filter(|s| s.looks[1].energy > 1.01 * s.best).count();
    let share = |values: &dyn Fn(&Step) -> f64| steps.iter().map(values).sum::<f64>();
    section.claim(
        "keep the iterate with the least violation, not the last",
        format!(
            "an earlier iterate than the 40th is better by 1 % or more in {rose} of {} steps by violation, in {worse} by energy; \
             over the run the best by energy add up to {:.2e} J, the last to {:.2e} J",
            steps.len(),
            share(&|s| s.best),
            share(&|s| s.looks[1].energy)
        ),
        rose > 0 || worse > 0,
    );
    let (by_rms, by_energy) = (rms[1][1] / rms[2][1], energy[1][1] / energy[2][1]);
    section.claim_or(
        "many more than 40 iterations bring only a minor reduction",
        format!("400 iterations: the median violation is {by_rms:.1} times smaller, the median energy error {by_energy:.0} times"),
        by_rms < 2.0,
        "Gauss-Seidel goes on converging here, slowly: ten times the work buys what the ratios say. The paper gives no numbers \
         beyond 40.",
    );
    let deepest = steps.iter().map(|s| s.depth[0]).fold(0.0, f64::max);
    let widest = steps.iter().map(|s| s.gap[0]).fold(0.0, f64::max);
    section.claim(
        "accurate enough to appear correct, with no obvious interpenetrations",
        format!(
            "by QuickStep's 50 sweeps contacts are {:.2} mm deep at most, joints {:.2} mm apart; the hose is 40 mm thick",
            1e3 * deepest,
            1e3 * widest
        ),
        deepest < 4e-3 && widest < 4e-3,
    );
}

/// Bars of a histogram over decades as one line, in percent of all.
fn histogram(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    /// Per decade.
    const BINS: f64 = 5.0;
    let places: Vec<i32> =
        values.filter(|v| *v > 0.0).map(|v| (v.log10() * BINS).floor() as i32).map(|b| b.max(-16 * 5)).collect();
    let (Some(&first), Some(&last)) = (places.iter().min(), places.iter().max()) else { return Vec::new() };
    let edge = |b: i32| 10f64.powf(f64::from(b) / BINS);
    let mut line = vec![(edge(first), 0.0)];
    for bin in first..=last {
        let share = 100.0 * places.iter().filter(|p| **p == bin).count() as f64 / places.len() as f64;
        line.extend([(edge(bin), share), (edge(bin + 1), share)]);
    }
    line.push((edge(last + 1), 0.0));
    line
}

fn figures(section: &mut Section, steps: &[Step]) {
    let names = ["10th iterate", "40th iterate", "400th iterate"];
    let over = |value: &dyn Fn(&Step) -> f64| steps.iter().map(|s| (s.time, value(s))).collect::<Vec<_>>();
    let spread = |value: &dyn Fn(&Step, usize) -> f64| {
        (0..LOOKS.len()).map(|k| (names[k].to_string(), histogram(steps.iter().map(|s| value(s, k))))).collect()
    };
    let chart = |title, x_title, curves| Chart {
        title,
        x_title,
        y_title: "steps per fifth of a decade [%]",
        x_log: true,
        curves,
        ..Chart::default()
    };
    let by_violation = spread(&|s, k| s.rms(s.looks[k]));
    let mut by_energy: Vec<(String, Vec<(f64, f64)>)> = spread(&|s, k| s.looks[k].energy);
    by_energy.push(("QuickStep's own".to_string(), histogram(steps.iter().map(|s| s.engine.energy))));
    section.figure(
        "hand_distribution",
        "How wrong is an iterate? All steps of the grasp",
        "Distributions over the run (Fig. 6): left the violation, in mixed units; right the energy error.",
        &[
            chart("constraint violation", "RMS violation [mixed units]", by_violation),
            chart("energy error", "energy error [J]", by_energy),
        ],
    );
    let lines = |value: &dyn Fn(&Step, usize) -> f64| {
        (0..LOOKS.len()).map(|k| (names[k].to_string(), over(&|s| value(s, k)))).collect::<Vec<_>>()
    };
    let millimetres = vec![
        ("deepest contact".to_string(), over(&|s| 1e3 * s.depth[0])),
        ("contacts, RMS".to_string(), over(&|s| 1e3 * s.depth[1])),
        ("largest joint gap".to_string(), over(&|s| 1e3 * s.gap[0])),
    ];
    let chart =
        |title, y_title, log, curves| Chart { title, x_title: "t [s]", y_title, log, curves, ..Chart::default() };
    section.figure(
        "hand_time",
        "The grasp: down until 0.6 s, grasp, up from 1.2 s",
        "Over time: left the violation of the iterates (Fig. 5), right what ODE's own stepping leaves of penetration and gaps.",
        &[
            chart("constraint violation", "RMS violation [mixed units]", true, lines(&|s, k| s.rms(s.looks[k]))),
            chart("as simulated by QuickStep", "length [mm]", false, millimetres),
        ],
    );
}
