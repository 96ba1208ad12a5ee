//! `mlcp-lab soak`: problems whose solution is known, any number of them, every answer measured again from outside.

mod library;
mod single;
mod tally;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use library::Library;
use mlcp::SolverKind;
use mlcp_scenes::families::FAMILIES;
use mlcp_scenes::trial::{cases, judge, Demand, Form};
use mlcp_scenes::{Family, Start};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tally::{Case, Tally};

/// Solve generated problems whose solution is known and count what is wrong with the answers.
///
/// Every problem is made around a planted solution, from a seed that is printed when anything is wrong. An answer is unsolved
/// when its error, computed here with exact sums, is above 1e-9 of the error at x = 0 and above what round-off can make of the
/// planted solution. Counted as well: "converged" that is not true, impulses outside their bounds to the last bit, errors above
/// those of the start, and converged answers that do not come back unchanged when they are the start. Exit code 1 when anything
/// is wrong, 2 when an option is.
#[derive(clap::Args)]
pub struct Soak {
    /// Families, separated by commas, or all
    #[arg(long, value_name = "NAME,…", default_value = "all", visible_alias = "family", help = family_help())]
    families: String,
    /// Problems of each family, in every form; large ones get a tenth
    #[arg(long, value_name = "N", default_value = "1000")]
    problems: u64,
    /// The first seed; the others follow it
    #[arg(long, value_name = "S", default_value = "0")]
    first: u64,
    /// Only this seed, and tell all about it; for one family
    #[arg(long, value_name = "S", conflicts_with = "first", conflicts_with = "problems")]
    seed: Option<u64>,
    /// The solver
    #[arg(long, value_name = "NAME", default_value = "auto")]
    solver: String,
    /// Forms to hand problems over in, separated by commas: jacobian, csr, dense, lower, or all
    #[arg(long, value_name = "NAME,…", default_value = "all")]
    forms: String,
    /// Where solves start, separated by commas: cold, near, scaled, shuffled, foreign, huge, or all
    #[arg(long, value_name = "NAME,…", default_value = "cold")]
    starts: String,
    /// Threads that solve problems side by side [default: one per core]
    #[arg(long, value_name = "T")]
    threads: Option<usize>,
    /// Name up to this many unsolved problems of each family, and the solvers that solve them alone from x = 0
    #[arg(long, value_name = "K", default_value = "5")]
    show: usize,
    /// Solved when the error is at most this fraction of that at x = 0
    #[arg(long, value_name = "FRACTION", default_value = "1e-9")]
    energy_rel: f64,
}

fn family_help() -> String {
    let list: Vec<String> = FAMILIES.iter().map(|f| format!("{} ({})", f.name, f.about)).collect();
    format!("Families, separated by commas, or all: {}", list.join("; "))
}

/// What every thread needs to know.
struct Plan {
    families: Vec<Family>,
    forms: Vec<Form>,
    starts: Vec<Start>,
    solver: SolverKind,
    demand: Demand,
    threads: usize,
}

impl Soak {
    /// Run the command; true when nothing was wrong, an error is one sentence.
    pub fn run(&self) -> Result<bool, String> {
        let plan = self.plan()?;
        if let Some(seed) = self.seed {
            let [family] = plan.families[..] else { return Err("--seed needs one family: --family NAME".into()) };
            return single::tell(&plan, family, seed);
        }
        let mut tallies = Vec::new();
        let whole: u64 = plan.families.iter().map(|f| self.count(f)).sum();
        let progress = Progress::new(whole);
        let last = self.first + self.problems - 1;
        progress.line(&format!(
            "seeds {}..={last}, solver {}, {} threads",
            self.first,
            plan.solver.name(),
            plan.threads
        ));
        for family in &plan.families {
            let tally = self.family(&plan, *family, &progress);
            progress.line(&tally.line());
            for line in single::who_solves(&plan, &tally, self.show) {
                progress.line(&line);
            }
            tallies.push(tally);
        }
        progress.bar.finish_and_clear();
        let written = tally::table(&mut io::stdout().lock(), &tallies);
        match written {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => return Err(format!("standard output: {e}")),
            _ => {}
        }
        Ok(tallies.iter().all(Tally::is_clean))
    }

    fn plan(&self) -> Result<Plan, String> {
        let families = chosen("family", &self.families, FAMILIES, |f| f.name)?;
        let forms = chosen("form", &self.forms, &Form::ALL, |f| f.name())?;
        let starts = chosen("start", &self.starts, &Start::ALL, |s| s.name())?;
        let solver = SolverKind::from_name(&self.solver).ok_or_else(|| {
            let known: Vec<_> = SolverKind::ALL.iter().map(|k| k.name()).collect();
            format!("no solver is named '{}'; known: {}", self.solver, known.join(", "))
        })?;
        if !(self.energy_rel >= 0.0 && self.energy_rel.is_finite()) {
            return Err(format!("--energy-rel is {}, it must be finite and >= 0", self.energy_rel));
        }
        if self.problems == 0 || self.threads == Some(0) {
            return Err("--problems and --threads must be at least 1".into());
        }
        let cores = std::thread::available_parallelism().map_or(1, |c| c.get());
        let demand = Demand { solved: self.energy_rel, converged: 0.1 * self.energy_rel, ..Demand::default() };
        Ok(Plan { families, forms, starts, solver, demand, threads: self.threads.unwrap_or(cores) })
    }

    fn count(&self, family: &Family) -> u64 {
        if family.is_large {
            self.problems.div_ceil(10)
        } else {
            self.problems
        }
    }

    /// All problems of one family, on all threads.
    fn family(&self, plan: &Plan, family: Family, progress: &Progress) -> Tally {
        let next = AtomicU64::new(0);
        let total = Mutex::new(Tally::new(family));
        let count = self.count(&family);
        std::thread::scope(|scope| {
            for _ in 0..plan.threads {
                scope.spawn(|| {
                    let mut mine = Tally::new(family);
                    let mut solver = Library::new(plan.solver, plan.demand);
                    loop {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        if k >= count {
                            break;
                        }
                        let seed = self.first + k;
                        one_seed(plan, family, seed, &mut solver, &mut mine);
                        progress.step(family.name);
                    }
                    total.lock().unwrap_or_else(|e| e.into_inner()).merge(mine);
                });
            }
        });
        let mut tally = total.into_inner().unwrap_or_else(|e| e.into_inner());
        tally.sort();
        tally
    }
}

/// One problem, in every form and from every start.
fn one_seed(plan: &Plan, family: Family, seed: u64, solver: &mut Library, tally: &mut Tally) {
    let planted = (family.make)(seed);
    let other = plan.starts.contains(&Start::Foreign).then(|| (family.make)(seed + 1));
    for (form, problem) in cases(&planted, &plan.forms) {
        for &start in &plan.starts {
            let x = start.impulses(&problem, other.as_ref().unwrap_or(&problem), seed);
            let verdict = judge(solver, &problem, form, x.as_deref(), plan.demand);
            let beaten = verdict.is_open() && single::is_beaten(&problem, form, &verdict, plan.demand);
            tally.add(Case { seed, form, start, beaten, verdict });
        }
    }
}

/// The things that a list of names, separated by commas, means; `all` is all of them.
fn chosen<T: Copy>(what: &str, names: &str, all: &[T], name: impl Fn(&T) -> &'static str) -> Result<Vec<T>, String> {
    if names == "all" {
        return Ok(all.to_vec());
    }
    let known = || all.iter().map(&name).collect::<Vec<_>>().join(", ");
    let find = |wanted: &str| all.iter().copied().find(|t| name(t) == wanted);
    let named = |n: &str| find(n).ok_or_else(|| format!("no {what} is named '{n}'; known: {}, all", known()));
    names.split(',').map(|n| named(n.trim())).collect()
}

/// A bar on a terminal, lines elsewhere; on standard error.
struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    last: Mutex<Instant>,
}

/// Between two lines where no bar can be drawn.
const QUIET: Duration = Duration::from_secs(30);

impl Progress {
    fn new(whole: u64) -> Progress {
        let is_terminal = io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(whole), target);
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, is_terminal, last: Mutex::new(Instant::now()) }
    }

    /// One more problem is done.
    fn step(&self, family: &'static str) {
        self.bar.inc(1);
        if self.is_terminal {
            self.bar.set_message(family);
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(|e| e.into_inner());
        if last.elapsed() >= QUIET {
            *last = Instant::now();
            let _ = writeln!(io::stderr(), "{}/{} {family}", self.bar.position(), self.bar.length().unwrap_or(0));
        }
    }

    /// A line beside the bar.
    fn line(&self, text: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "{text}");
        });
    }
}
