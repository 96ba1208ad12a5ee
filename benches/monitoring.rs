//! What the monitor costs: `cargo bench --bench monitoring`.
//!
//! The same steps of the same solver, once bare (start, then k steps, nothing measured) and once under the driver with
//! default settings: measurement, best iterate, stop rules, history and report. Criterion times both; the table at the
//! end repeats the comparison with the two alternating, so that a change of the machine's speed hits both alike, and
//! prints the ratio of the medians.

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
    engine: Engine,
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
        let steps = Engine::new(converge).and_then(|mut e| e.solve(&problem, None, None).map(|r| r.iterations)).expect("solved");
        let settings = Settings { max_iterations: steps, energy_tolerance: 0.0, relative_tolerance: 0.0, ..converge };
        let mut state = State::default();
        state.x.resize(problem.len(), 0.0);
        state.w.resize(problem.len(), 0.0);
        let engine = Engine::new(settings).expect("legal settings");
        Pair { name: format!("{}_{form:?}_{name}", solver.name()), problem, engine, steps, state, solver: build(solver), settings }
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

    fn monitored(&mut self) -> f64 {
        self.engine.solve(&self.problem, None, None).expect("solved").energy_error
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
        group.bench_function("monitored", |b| b.iter(|| pair.monitored()));
        group.finish();
    }
}

fn table() {
    println!("\n{:56} {:>5} {:>10} {:>10} {:>8}", "what monitoring adds", "steps", "bare us", "with us", "percent");
    for mut pair in pairs() {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..60 {
            for (times, monitored) in times.iter_mut().zip([false, true]) {
                let start = Instant::now();
                std::hint::black_box(if monitored { pair.monitored() } else { pair.bare() });
                times.push(start.elapsed().as_secs_f64());
            }
        }
        let [bare, with] = times.map(|mut t| {
            t.sort_by(f64::total_cmp);
            t[t.len() / 2] * 1e6
        });
        println!("{:56} {:5} {bare:10.1} {with:10.1} {:7.2} %", pair.name, pair.steps, 100.0 * (with / bare - 1.0));
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
