//! Every solver on every problem, one process each, one after the other on one core.

use crate::machine::load;
use crate::problem::{recorded, Problem};
use crate::walls;
use std::path::Path;
use std::process::{Command, Stdio};

/// What counts as solved: this fraction of the energy error at x = clamp(0).
pub const REQUIRED: f64 = 1e-9;

/// Nothing needs to be better than this, in joules: some recorded steps have next to nothing to do.
pub const FLOOR: f64 = 1e-18;

/// A solver in the race.
pub struct Contestant {
    /// As in the tables.
    pub name: &'static str,
    /// Program that runs it: a file in DIR/workers, `qp.py`, or this program itself.
    worker: &'static str,
    /// The worker's name for it.
    solver: &'static str,
    /// Is it libmlcp?
    pub ours: bool,
}

pub const fn ours(name: &'static str, solver: &'static str) -> Contestant {
    Contestant { name, worker: "libmlcp", solver, ours: true }
}

pub const fn peer(name: &'static str, worker: &'static str, solver: &'static str) -> Contestant {
    Contestant { name, worker, solver, ours: false }
}

/// Who takes part. The first is the one that all are compared with.
pub const FIELD: [Contestant; 15] = [
    ours("libmlcp auto", "auto"),
    ours("libmlcp auto, A only", "auto-matrix"),
    ours("libmlcp bpp", "bpp"),
    ours("libmlcp ipm", "ipm"),
    ours("libmlcp pgs", "pgs"),
    peer("ODE Dantzig", "ode", "dantzig"),
    peer("Bullet Dantzig", "bullet", "dantzig"),
    peer("Bullet Lemke", "bullet", "lemke"),
    peer("Bullet PGS", "bullet", "pgs"),
    peer("Siconos Lemke", "siconos", "lemke"),
    peer("Clarabel", "bench-peers", "clarabel"),
    peer("OSQP", "bench-peers", "osqp"),
    peer("PIQP", "qp.py", "piqp"),
    peer("ProxQP", "qp.py", "proxqp"),
    peer("DAQP", "qp.py", "daqp"),
];

/// One setting of one solver on one problem.
#[derive(Clone)]
pub struct Attempt {
    /// Tolerance, sweeps, or "exact".
    pub setting: String,
    /// Best time of several.
    pub seconds: f64,
    /// What the solver says of itself.
    pub claims: bool,
    /// What the judge says, in joules.
    pub energy: f64,
    /// FNV-1a of the bits of x.
    pub hash: u64,
    /// The impulses.
    pub x: Vec<f64>,
}

/// A solver's attempts on a problem.
pub struct Entry {
    /// Index into `Race::field`.
    pub contestant: usize,
    /// In the order tried.
    pub attempts: Vec<Attempt>,
    /// Did the worker end by itself? If not, it was stopped at the time cap or crashed.
    pub ended: bool,
}

impl Entry {
    /// The fastest attempt within the required error; a solver's tolerance is its user's to choose, so all are tried.
    pub fn solved(&self, required: f64) -> Option<&Attempt> {
        self.attempts.iter().filter(|a| a.energy <= required).min_by(|p, q| p.seconds.total_cmp(&q.seconds))
    }

    /// The least error of any attempt.
    pub fn least(&self) -> f64 {
        self.attempts.iter().map(|a| a.energy).fold(f64::INFINITY, f64::min)
    }
}

/// All that happened on a problem.
pub struct Heat {
    /// Name of the problem.
    pub problem: String,
    /// Rows.
    pub n: usize,
    /// Energy error at x = clamp(0), in joules.
    pub scale: f64,
    /// Energy error that counts as solved, in joules.
    pub required: f64,
    /// Nobody reached `REQUIRED`: `required` is 1.1 times the least that anybody reached.
    pub relaxed: bool,
    /// One per contestant that is there.
    pub entries: Vec<Entry>,
}

/// The whole run.
pub struct Race {
    /// Those of the field that are there.
    pub field: Vec<&'static Contestant>,
    /// Those that are not.
    pub missing: Vec<&'static str>,
    /// One per problem.
    pub heats: Vec<Heat>,
    /// Seconds that a worker may take for a problem.
    pub cap: String,
    /// Which problems were asked for.
    pub patterns: String,
    /// Load averages before and after.
    pub load: [String; 2],
}

/// What the caller asks for in environment variables.
pub struct Options {
    /// PROBLEMS: globs.
    patterns: String,
    wanted: Vec<glob::Pattern>,
    /// CAP: seconds that a worker may take for a problem.
    cap: String,
    /// CORE: where workers run.
    core: String,
}

impl Options {
    /// What the environment has, else everything, 3 s and the first core.
    pub fn new() -> Self {
        let option =
            |name: &str, default: &str| std::env::var(name).ok().filter(|v| !v.is_empty()).unwrap_or(default.into());
        let patterns = option("PROBLEMS", "*");
        let parse = |p: &str| glob::Pattern::new(p).unwrap_or_else(|e| panic!("PROBLEMS: {p}: {e}"));
        let wanted = patterns.split_whitespace().map(parse).collect();
        Options { patterns, wanted, cap: option("CAP", "3"), core: option("CORE", "0") }
    }

    /// Is this problem asked for?
    pub fn wants(&self, name: &str) -> bool {
        self.wanted.iter().any(|w| w.matches(name))
    }
}

/// Run everything.
pub fn run(dir: &Path, corpus: &Path, options: &Options) -> Race {
    let mut problems = recorded(corpus);
    problems.extend(walls::series());
    problems.retain(|p| options.wants(&p.name));
    let (mut field, mut calls, mut missing) = (vec![], vec![], vec![]);
    for c in &FIELD {
        match command(dir, c) {
            Some(call) => {
                field.push(c);
                calls.push(call);
            }
            None => {
                println!("missing: {}", c.name);
                missing.push(c.name);
            }
        }
    }
    let before = load();
    let file = dir.join("problem.bin");
    let mut heats = vec![];
    for (k, p) in problems.iter().enumerate() {
        p.write_plain(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let heat = heat(p, &calls, &file, options);
        let time = |e: &Entry| e.solved(heat.required).map_or("-".into(), |a| format!("{:.3}", 1e3 * a.seconds));
        let times: Vec<_> = heat.entries.iter().map(time).collect();
        println!("{:3}/{} {:46} ms: {}", k + 1, problems.len(), p.name, times.join(" "));
        heats.push(heat);
    }
    let _ = std::fs::remove_file(file);
    let (cap, patterns) = (options.cap.clone(), options.patterns.clone());
    Race { field, missing, heats, cap, patterns, load: [before, load()] }
}

/// A program and its first arguments.
pub type Call = (String, Vec<String>);

/// Everyone on one problem, which is in `file`.
pub fn heat(p: &Problem, calls: &[Call], file: &Path, options: &Options) -> Heat {
    let scale = p.scale();
    let entry = |(contestant, (program, args)): (usize, &Call)| {
        let output = Command::new("taskset")
            .args(["-c", &options.core, "timeout", "-s", "KILL", &options.cap, program])
            .args(args)
            .arg(file)
            .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"].map(|v| (v, "1")))
            .stderr(Stdio::null())
            .output();
        let (text, ended) = output.map_or((vec![], false), |o| (o.stdout, o.status.success()));
        // Without its line end, a line is what the time cap left of one.
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
        Entry { contestant, attempts: lines.filter_map(|line| attempt(p, line)).collect(), ended }
    };
    let entries: Vec<Entry> = calls.iter().enumerate().map(entry).collect();
    let least = entries.iter().map(Entry::least).fold(f64::INFINITY, f64::min);
    let wanted = (REQUIRED * scale).max(FLOOR);
    let relaxed = least > wanted && least.is_finite();
    let required = if relaxed { 1.1 * least } else { wanted };
    Heat { problem: p.name.clone(), n: p.n(), scale, required, relaxed, entries }
}

/// One line of a worker's output; other lines, such as a solver's own chatter, are skipped.
fn attempt(p: &Problem, line: &str) -> Option<Attempt> {
    let mut words = line.split_whitespace();
    let setting = words.next()?.to_string();
    let seconds = words.next()?.parse().ok()?;
    let claims = words.next()? == "1";
    let x: Vec<f64> = words.map(|v| v.parse().unwrap_or(f64::NAN)).collect();
    let bytes = x.iter().flat_map(|v| v.to_bits().to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    Some(Attempt { setting, seconds, claims, energy: p.energy(&x), hash, x })
}

/// How to call a contestant, if its worker was built.
pub fn command(dir: &Path, c: &Contestant) -> Option<Call> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match c.worker {
        "bench-peers" if c.solver == "clarabel" && !cfg!(feature = "clarabel") => None,
        "bench-peers" if c.solver == "osqp" && !cfg!(feature = "osqp") => None,
        "bench-peers" => Some((text(&std::env::current_exe().ok()?), vec![c.solver.into()])),
        "qp.py" => {
            let python = dir.join("venv/bin/python");
            let module = if c.solver == "proxqp" { "proxsuite" } else { c.solver };
            let probe = Command::new(&python).args(["-c", &format!("import {module}")]).stderr(Stdio::null()).status();
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/workers/qp.py");
            probe.is_ok_and(|s| s.success()).then(|| (text(&python), vec![script.into(), c.solver.into()]))
        }
        worker => {
            let path = dir.join("workers").join(worker);
            path.exists().then(|| (text(&path), vec![c.solver.into()]))
        }
    }
}
