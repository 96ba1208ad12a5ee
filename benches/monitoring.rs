//! What the monitor costs: `cargo bench --bench monitoring`.
//!
//! The same steps of the same solver three times: *bare* (start, then k steps, no driver), *unmonitored* (under the
//! driver, measured only at the start and the end, as any report needs) and *monitored* (default settings: measurement
//! at the default interval, best iterate, stop rules, history). Criterion times them; the table at the end repeats the
//! comparison with the three alternating, so that a change of the machine's speed hits all alike, and prints the
//! ratios of the medians.

use criterion::{criterion_group, Criterion};
use mlcp::solvers::{build, State};
use mlcp::{Budget, Engine, Problem, Settings, SolverKind};
use std::time::Instant;

#[path = "../tests/common/mod.rs"]
mod common;

use common::corpus::{self, Form, Friction};

/// A solve of fixed length, both ways.
struct Pair {
    name: String,
    problem: Problem,
    monitored: Engine,
    unmonitored: Engine,
    steps: usize,
    state: State,
    solver: Box<dyn mlcp::solvers::Solver>,
    settings: Settings,
}

impl Pair {
    fn new(name: &str, form: Form, solver: SolverKind, steps: usize) -> Pair {
        let recorded = corpus::load().into_iter().find(|p| p.name == name).expect("in the corpus");
        let problem = recorded.fill(form, Friction::FrozenAtReference);
        // As many steps as it takes; both sides then do just those.
        let converge = Settings { solver, max_iterations: steps, ..Settings::default() };
        let steps = Engine::new(converge)
            .and_then(|mut e| e.solve(&problem, None, None).map(|r| r.iterations))
            .expect("solved");
        let settings = Settings { max_iterations: steps, energy_tolerance: 0.0, relative_tolerance: 0.0, ..converge };
        let mut state = State::default();
        state.x.resize(problem.len(), 0.0);
        state.w.resize(problem.len(), 0.0);
        let monitored = Engine::new(settings).expect("legal settings");
        let never = Settings { check_interval: usize::MAX, ..settings };
        let unmonitored = Engine::new(never).expect("legal settings");
        let name = format!("{}_{form:?}_{name}", solver.name());
        Pair {
            name,
            problem,
            monitored,
            unmonitored,
            steps,
            state,
            solver: build(solver).expect("a named solver"),
            settings,
        }
    }

    fn bare(&mut self) -> f64 {
        self.state.x.fill(0.0);
        self.state.w.copy_from_slice(self.problem.b());
        self.solver.start(&self.problem, &mut self.state, &self.settings).expect("started");
        let budget = Budget::unlimited();
        for _ in 0..self.steps {
            self.solver.step(&self.problem, &mut self.state, &budget).expect("a step");
        }
        self.state.x[0]
    }

    fn unmonitored(&mut self) -> f64 {
        self.unmonitored.solve(&self.problem, None, None).expect("solved").energy_error
    }

    fn monitored(&mut self) -> f64 {
        self.monitored.solve(&self.problem, None, None).expect("solved").energy_error
    }
}

fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for name in ["bullet_pile24_s140_i0_n156", "bullet_wall12_s300_i0_n376", "ode_wall12_s001_i0_n555"] {
        for form in Form::ALL {
            pairs.push(Pair::new(name, form, SolverKind::Bpp, 0));
            pairs.push(Pair::new(name, form, SolverKind::Pgs, 320));
        }
    }
    pairs
}

fn monitoring(c: &mut Criterion) {
    for mut pair in pairs() {
        let mut group = c.benchmark_group(format!("monitoring/{}", pair.name));
        group.sample_size(10);
        group.bench_function("bare", |b| b.iter(|| pair.bare()));
        group.bench_function("unmonitored", |b| b.iter(|| pair.unmonitored()));
        group.bench_function("monitored", |b| b.iter(|| pair.monitored()));
        group.finish();
    }
}

fn table() {
    println!(
        "\n{:48} {:>5} {:>10} {:>12} {:>10} {:>10} {:>10}",
        "microseconds", "steps", "bare", "unmonitored", "monitored", "monitor", "driver"
    );
    for mut pair in pairs() {
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..150 {
            for turn in 0..3 {
                // Take turns in going first, too.
                let which = (turn + round) % 3;
                let start = Instant::now();
                std::hint::black_box(match which {
                    0 => pair.bare(),
                    1 => pair.unmonitored(),
                    _ => pair.monitored(),
                });
                times[which].push(start.elapsed().as_secs_f64());
            }
        }
        let [bare, without, with] = times.map(|mut t| {
            t.sort_by(f64::total_cmp);
            t[t.len() / 2] * 1e6
        });
        let percent = |p: f64, q: f64| 100.0 * (p / q - 1.0);
        println!(
            "{:48} {:5} {bare:10.1} {without:12.1} {with:10.1} {:+8.2} % {:+8.2} %",
            pair.name,
            pair.steps,
            percent(with, without),
            percent(with, bare)
        );
    }
}

criterion_group!(benches, monitoring);

fn main() {
    benches();
    // `cargo test --benches` only wants to know that it runs.
    if !std::env::args().any(|a| a == "--test") {
        table();
    }
}
