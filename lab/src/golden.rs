//! `mlcp-lab golden`: a hash of every answer on recorded problems, to tell whether a change keeps every bit.

use crate::replay::progress;
use mlcp::dataset::{self, Dataset, Recorded};
use mlcp::multibody::set_exact_cones;
use mlcp::{Engine, FrictionMode, Outcome, Problem, Settings, SolverKind, Triangle};
use mlcp_scenes::trial::Form;
use mlcp_scenes::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// The first columns of a line: what is solved.
const KEYS: [&str; 3] = ["problem", "form", "friction"];

/// Iteration budget of the solves by `auto` that run to their end: all but some that have no solution or none that is found.
const LONGEST: usize = 300;

/// Iteration budgets of the solves by `auto` that are cut off early.
const LIMITS: [usize; 2] = [3, 10];

/// Iteration budget of the solvers that are run by name.
const NAMED_LIMIT: usize = 40;

/// Largest part of an impulse by which a warm start made of a solution is moved.
const SHAKE: f64 = 0.01;

/// Hash the answers to recorded problems, or compare them with the hashes of an earlier build.
///
/// For changes that are meant to keep every bit of every answer. Each problem is solved in every form it can be handed over in,
/// with frozen friction, coupled friction and friction cones where it has them: by auto from x = 0 and from a warm start,
/// 300 iterations at most, and cut off after 3 and after 10; and, as two-body rows or else compressed rows, by every other
/// solver, cut off after 40. A hash stands for the bits of the impulses; outcome and iterations stand before it. No solve has
/// a time limit. The hashes hold for x86-64 with AVX2 and FMA; elsewhere factorisations round differently. Exit code 1 when
/// an answer differs, with the first that does; 2 when a file or an option is bad.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("task").required(true).args(["write", "check"])))]
pub struct Golden {
    /// Write the hashes, separated by tabs, one line per problem, form and friction
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Compare with the hashes of this file
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Problem files [default: tests/data/engines.h5 and tests/data/outside.h5]
    #[arg(value_name = "PROBLEMS")]
    files: Vec<PathBuf>,
    /// Only problems whose name matches this pattern, such as 'ode_wall*' (* any text, ? one character, [ab] a set)
    #[arg(long, value_name = "GLOB", default_value = "*")]
    problem: String,
    /// Threads that solve problems side by side; the hashes are the same for any number [default: one per core]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
}

/// Lines of cells by what is solved, in the order of solving.
type Lines = Vec<(Vec<String>, Vec<String>)>;

impl Golden {
    /// Run the command; false when an answer differs, an error is one sentence.
    pub fn run(&self) -> Result<bool, String> {
        let mut expected = self.check.as_deref().map(Expected::read).transpose()?;
        let problems = self.problems()?;
        // Where not all problems are asked for, only what is said about those counts.
        if let (Some(expected), true) = (&mut expected, self.problem != "*" || !self.files.is_empty()) {
            expected.lines.retain(|(key, _)| problems.iter().any(|p| p.name == key[0]));
        }
        let lines = self.solve(&problems)?;
        if let Some(path) = &self.write {
            std::fs::write(path, text(&lines)).map_err(|e| format!("{}: cannot be written: {e}", path.display()))?;
            println!("{} lines of {} problems: {}", lines.len(), problems.len(), path.display());
        }
        let Some(expected) = expected else { return Ok(true) };
        let differences = expected.compare(&lines);
        match differences.first() {
            None => {
                println!("every answer has the expected bits: {} lines of {} problems", lines.len(), problems.len())
            }
            Some(first) => {
                println!("{first}");
                println!("{} answer(s) differ, the first is above", differences.len());
            }
        }
        Ok(differences.is_empty())
    }

    fn problems(&self) -> Result<Vec<Recorded>, String> {
        let pattern = glob::Pattern::new(&self.problem).map_err(|e| format!("--problem '{}': {e}", self.problem))?;
        let usual = ["engines.h5", "outside.h5"].map(|name| Path::new("tests/data").join(name));
        let files = if self.files.is_empty() { &usual[..] } else { &self.files };
        let mut problems = Vec::new();
        for path in files {
            let file = Dataset::open(path).map_err(|e| e.to_string())?;
            for k in (0..file.problems()).filter(|&k| file.problem_name(k).is_some_and(|n| pattern.matches(n))) {
                problems.push(file.problem(k).map_err(|e| e.to_string())?);
            }
        }
        match problems.is_empty() {
            true => Err(format!("no problem matches '{}'", self.problem)),
            false => Ok(problems),
        }
    }

    /// All answers, problems side by side on several threads.
    fn solve(&self, problems: &[Recorded]) -> Result<Lines, String> {
        let cores = std::thread::available_parallelism().map_or(1, |c| c.get());
        let threads = self.threads.map_or(cores, |t| t as usize);
        let (next, bar) = (AtomicUsize::new(0), progress(problems.len()));
        let done = Mutex::new(BTreeMap::new());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some(recorded) = problems.get(k) else { break };
                    let lines = lines_of(recorded);
                    done.lock().unwrap_or_else(|e| e.into_inner()).insert(k, lines);
                    bar.set_message(recorded.name.clone());
                    bar.inc(1);
                });
            }
        });
        bar.finish_and_clear();
        let mut all = Vec::new();
        for lines in done.into_inner().unwrap_or_else(|e| e.into_inner()).into_values() {
            all.extend(lines?);
        }
        Ok(all)
    }
}

/// Names of the solves on a line: those of `auto`, then those of all other solvers.
fn solves() -> Vec<String> {
    let mut names = vec!["cold".to_string(), "warm".to_string()];
    names.extend(LIMITS.map(|limit| format!("limit{limit}")));
    names.extend(named_solvers().map(|kind| kind.name().to_string()));
    names
}

fn named_solvers() -> impl Iterator<Item = SolverKind> {
    SolverKind::ALL.into_iter().filter(|&kind| kind != SolverKind::Auto)
}

/// How friction is read.
#[derive(Clone, Copy, PartialEq)]
enum Law {
    /// There is none.
    None,
    Frozen,
    Coupled,
    Cones,
}

impl Law {
    fn name(self) -> &'static str {
        match self {
            Law::None => "none",
            Law::Frozen => "frozen",
            Law::Coupled => "coupled",
            Law::Cones => "cones",
        }
    }
}

/// Every answer to one problem.
fn lines_of(recorded: &Recorded) -> Result<Lines, String> {
    let say = |e: mlcp::Error| format!("{}: {e}", recorded.name);
    let laws = match recorded.has_friction() {
        false if recorded.cone_mu.is_empty() => vec![Law::None],
        false => vec![Law::Cones],
        true => vec![Law::Frozen, Law::Coupled, Law::Cones],
    };
    let is_frozen = recorded.x_ref.is_some() || recorded.frozen_normals.is_some();
    let first = if recorded.jacobian.is_some() { Form::Jacobian } else { Form::Csr };
    let (mut lines, mut problem) = (Vec::new(), Problem::new());
    for form in Form::ALL {
        for law in laws.iter().copied().filter(|&law| law != Law::Frozen || is_frozen) {
            let mode = if law == Law::Frozen { FrictionMode::Frozen } else { FrictionMode::Coupled };
            if !fill(recorded, &mut problem, form, mode).map_err(say)? {
                continue;
            }
            if law == Law::Cones && recorded.has_friction() && set_exact_cones(&mut problem).map_err(say)? == 0 {
                continue;
            }
            let mut cells = by_auto(recorded, &problem)?;
            for solver in named_solvers() {
                let settings = Settings { solver, max_iterations: NAMED_LIMIT, ..Settings::default() };
                cells.push(if form == first { answer(settings, &problem, None)?.0 } else { String::new() });
            }
            lines.push((vec![recorded.name.clone(), form.name().into(), law.name().into()], cells));
        }
    }
    Ok(lines)
}

/// Refill a problem in exactly this form; false where it was not recorded.
fn fill(recorded: &Recorded, problem: &mut Problem, form: Form, mode: FrictionMode) -> mlcp::Result<bool> {
    let form_of_file = match form {
        Form::Jacobian => dataset::Form::Jacobian,
        Form::Csr => dataset::Form::Csr,
        Form::Dense | Form::Lower => dataset::Form::Dense,
    };
    if recorded.form(Some(form_of_file)) != form_of_file {
        return Ok(false);
    }
    recorded.fill(problem, Some(form_of_file), mode)?;
    if let (Form::Lower, Some(matrix)) = (form, &recorded.matrix) {
        // The matrix is set anew, and with it all that follows from it.
        let (n, mut a) = (recorded.rows(), matrix.dense());
        (0..n).for_each(|i| a[i * n + i + 1..(i + 1) * n].fill(f64::NAN));
        let mut lower = Problem::new();
        lower.set_dense(n, &a, n, Triangle::Lower)?;
        lower.set_b(&recorded.b)?;
        lower.set_bounds(&recorded.lo, &recorded.hi)?;
        if recorded.has_friction() {
            lower.set_friction(&recorded.findex, &recorded.mu, mode)?;
            let normals = recorded.frozen_normals.as_ref().or(recorded.x_ref.as_ref());
            if let (FrictionMode::Frozen, Some(x)) = (mode, normals) {
                lower.set_frozen_normals(x)?;
            }
        }
        lower.set_cones(&recorded.cones, &recorded.cone_mu)?;
        *problem = lower;
    }
    Ok(true)
}

/// The answers of `auto`: cold, warm, and cut off.
fn by_auto(recorded: &Recorded, problem: &Problem) -> Result<Vec<String>, String> {
    let to_the_end = Settings { max_iterations: LONGEST, ..Settings::default() };
    let (cold, x) = answer(to_the_end, problem, None)?;
    // Where neither a warm start nor a solution is recorded, the answer just found is moved.
    let start = recorded.x0.clone().unwrap_or_else(|| shaken(recorded.x_ref.as_ref().unwrap_or(&x)));
    let warm = answer(to_the_end, problem, Some(&start))?.0;
    let mut cells = vec![cold, warm];
    for limit in LIMITS {
        cells.push(answer(Settings { max_iterations: limit, ..Settings::default() }, problem, None)?.0);
    }
    Ok(cells)
}

/// Impulses moved a little, by the same random numbers everywhere.
fn shaken(x: &[f64]) -> Vec<f64> {
    let mut random = Random::new(x.len() as u64);
    x.iter().map(|v| v * (1.0 + SHAKE * random.signed())).collect()
}

/// One solve by an engine of its own: outcome, iterations, the hash of x, and x. A refused call is an answer as well.
fn answer(settings: Settings, problem: &Problem, start: Option<&[f64]>) -> Result<(String, Vec<f64>), String> {
    let mut engine = Engine::new(settings).map_err(|e| e.to_string())?;
    let report = match engine.solve(problem, start, None) {
        Ok(report) => *report,
        Err(e) => return Ok((format!("refused:{}", e.status() as i32), vec![0.0; problem.len()])),
    };
    let cell = format!("{}{}:{:08x}", letter(report.outcome), report.iterations, hash(engine.x()) as u32);
    Ok((cell, engine.x().to_vec()))
}

/// The outcomes and their letters in a cell.
const LETTERS: [(char, Outcome); 7] = [
    ('-', Outcome::None),
    ('c', Outcome::Converged),
    ('s', Outcome::Stalled),
    ('i', Outcome::IterationLimit),
    ('t', Outcome::TimeLimit),
    ('o', Outcome::Stopped),
    ('r', Outcome::Ray),
];

fn letter(outcome: Outcome) -> char {
    LETTERS.iter().find(|(_, o)| *o == outcome).map_or('?', |(letter, _)| *letter)
}

/// A cell in words.
fn told(cell: &str) -> String {
    let outcome = LETTERS.iter().find(|(letter, _)| cell.starts_with(*letter));
    match (outcome, cell.split_once(':')) {
        (_, Some(("refused", status))) => format!("refused with status {status}"),
        (Some((_, outcome)), Some((count, hash))) => {
            format!("{} after {} iterations, x {hash}", outcome.name(), &count[1..])
        }
        _ if cell.is_empty() => "not solved".to_string(),
        _ => format!("'{cell}'"),
    }
}

/// A 64-bit hash of the bits of x: every bit of the hash depends on every bit before it.
fn hash(x: &[f64]) -> u64 {
    x.iter().fold(x.len() as u64, |hash, v| {
        let mixed = (hash ^ v.to_bits()).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// The file: a line of names, then one line per problem, form and friction.
fn text(lines: &Lines) -> String {
    let mut text = format!("{}\t{}\n", KEYS.join("\t"), solves().join("\t"));
    for (key, cells) in lines {
        let _ = writeln!(text, "{}\t{}", key.join("\t"), cells.join("\t"));
    }
    text
}

/// The hashes of an earlier build.
struct Expected {
    /// Names of the solves, as the file has them.
    solves: Vec<String>,
    lines: Lines,
}

impl Expected {
    fn read(path: &Path) -> Result<Expected, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| format!("{shown}: cannot be read: {e}"))?;
        let mut lines = text.lines().map(|line| line.split('\t').map(String::from).collect::<Vec<_>>());
        let names = lines.next().unwrap_or_default();
        if names.len() <= KEYS.len() || names[..KEYS.len()] != KEYS {
            return Err(format!("{shown}: the first line must name {} and the solves", KEYS.join(", ")));
        }
        let mut expected = Expected { solves: names[KEYS.len()..].to_vec(), lines: Vec::new() };
        for (k, mut line) in lines.enumerate() {
            if line.len() != names.len() {
                return Err(format!("{shown}: line {} has {} fields, expected {}", k + 2, line.len(), names.len()));
            }
            let cells = line.split_off(KEYS.len());
            expected.lines.push((line, cells));
        }
        Ok(expected)
    }

    /// One sentence per answer that differs, in the order of solving.
    fn compare(&self, lines: &Lines) -> Vec<String> {
        let names = solves();
        let mut differences: Vec<String> =
            names.iter().filter(|n| !self.solves.contains(n)).map(|n| missing(n)).collect();
        differences.extend(
            self.solves.iter().filter(|n| !names.contains(n)).map(|n| format!("nothing is called {n} any more")),
        );
        let mut expected: BTreeMap<&[String], &[String]> = self.lines.iter().map(|(k, c)| (&k[..], &c[..])).collect();
        for (key, cells) in lines {
            let Some(known) = expected.remove(&key[..]) else {
                differences.push(missing(&key.join(" ")));
                continue;
            };
            for (name, cell) in names.iter().zip(cells) {
                let Some(place) = self.solves.iter().position(|n| n == name) else { continue };
                if known[place] != *cell {
                    differences.push(format!(
                        "{} {name}: {}; expected {}",
                        key.join(" "),
                        told(cell),
                        told(&known[place])
                    ));
                }
            }
        }
        differences.extend(expected.keys().map(|key| format!("{}: is not solved any more", key.join(" "))));
        differences
    }
}

fn missing(what: &str) -> String {
    format!("{what}: no expected hash is known, write the file anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_changes_the_hash() {
        let x = [1.0, 2.0, 0.0];
        assert_ne!(hash(&x), hash(&[1.0, 2.0, -0.0]));
        assert_ne!(hash(&x), hash(&[1.0 + f64::EPSILON, 2.0, 0.0]));
        assert_ne!(hash(&x), hash(&x[..2]));
        assert_eq!(hash(&x), hash(&[1.0, 2.0, 0.0]));
    }

    #[test]
    fn the_first_difference_is_named() {
        let count = solves().len();
        let mut cells = vec!["c5:0123abcd".to_string(); count];
        let key = ["wall", "csr", "frozen"].map(String::from).to_vec();
        let lines = vec![(key.clone(), cells.clone())];
        let expected = Expected { solves: solves(), lines };
        assert!(expected.compare(&vec![(key.clone(), cells.clone())]).is_empty());
        cells[1] = "s7:0123abcd".to_string();
        let found = expected.compare(&vec![(key, cells)]);
        let told = "wall csr frozen warm: stalled after 7 iterations, x 0123abcd; \
                    expected converged after 5 iterations, x 0123abcd";
        assert_eq!(found, [told]);
        assert_eq!(expected.compare(&Vec::new()), ["wall csr frozen: is not solved any more"]);
    }
}
