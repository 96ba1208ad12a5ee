//! `mlcp-lab paper bricard`: x of P2 and the violation over ten seconds, for each cure of the redundancy.

use super::bricard_motion::{Cure, Run, Sample};
use super::output::{draw, progress, write};
use crate::plot::Chart;
use std::fmt::Write;
use std::path::Path;

const CURES: [(Cure, &str); 4] = [
    (Cure::Plain, "plain"),
    (Cure::Compliant, "compliant"),
    (Cure::Projected, "projected"),
    (Cure::Midpoint, "projected, midpoint"),
];
const H: f64 = 1e-2;
const STEPS: usize = 1000;

/// Run it.
pub fn run(out: &Path) -> Result<(), String> {
    let bar = progress((STEPS * CURES.len()) as u64, "bricard");
    let mut runs = Vec::new();
    for (cure, name) in CURES {
        let mut run = Run::new(cure, H).map_err(|e| e.to_string())?;
        let mut samples = vec![run.sample()];
        for _ in 0..STEPS {
            samples.push(run.step().map_err(|e| e.to_string())?);
            bar.inc(1);
        }
        runs.push((name, samples));
    }
    bar.finish_and_clear();
    println!("{:22}{:>10}{:>10}{:>14}{:>14}", "10 s, h = 0.01 s", "least x", "last x", "worst |Phi|", "energy [J]");
    for (name, samples) in &runs {
        let least = samples.iter().map(|s| s.x).fold(f64::INFINITY, f64::min);
        // The largest x of the last two seconds: does it still swing?
        let last = samples[samples.len() - 200..].iter().map(|s| s.x).fold(-1.0, f64::max);
        let worst = samples.iter().map(|s| s.violation).fold(0.0, f64::max);
        println!("{name:22}{least:10.4}{last:10.4}{worst:14.1e}{:14.3}", samples[samples.len() - 1].energy);
    }
    let mut csv = String::from("cure,t_s,x_m,violation,energy_J\n");
    for (name, samples) in &runs {
        for s in samples {
            let _ = writeln!(csv, "{name},{},{},{:e},{}", s.time, s.x, s.violation, s.energy);
        }
    }
    write(out, "bricard.csv", &csv)?;
    let curves = |value: fn(&Sample) -> f64| {
        runs.iter()
            .map(|(name, samples)| (name.to_string(), samples.iter().map(|s| (s.time, value(s))).collect()))
            .collect()
    };
    let charts = [
        Chart { title: "x of P2", x_title: "t [s]", y_title: "x [m]", log: false, curves: curves(|s| s.x) },
        Chart { title: "violation", x_title: "t [s]", y_title: "|Φ|", log: true, curves: curves(|s| s.violation) },
        Chart { title: "energy", x_title: "t [s]", y_title: "E - E(0) [J]", log: false, curves: curves(|s| s.energy) },
    ];
    draw(out, "bricard.svg", "Bricard's mechanism, semi-implicit Euler, h = 10 ms", &charts)
}
