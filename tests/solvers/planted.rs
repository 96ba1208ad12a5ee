//! Problems made around a solution, thousands of them, in every form, from good and bad starts; every answer is measured again
//! from outside, with exact sums. `make soak` runs more of them.
//!
//! Each failure is printed with the command that tells all about it.

#[path = "../../lab/src/soak/library.rs"]
#[allow(dead_code)]
mod library;

use library::{fill, Library};
use mlcp::{Engine, Outcome, Problem, Settings, SolverKind};
use mlcp_scenes::families::FAMILIES;
use mlcp_scenes::trial::{cases, judge, Demand, Form, Verdict};
use mlcp_scenes::{Family, Planted, Random, Sequence, Start};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Families with seeds that are not solved yet, how many of their first thousand (of large ones hundred) problems at most, from
/// x = 0 and from other starts. Coupled friction is not monotone: no method is proved to solve all of it. Numbers may only fall.
const UNSOLVED: &[(&str, usize, usize)] = &[
    // Seed 79 of each, which no other solver solves either.
    ("wall", 1, 0),
    ("pile", 1, 1),
];

/// Families in which an answer given back as start is not kept yet, and in how many problems at most.
const NOT_KEPT: &[(&str, usize, usize)] = &[];

/// What went wrong with one solve.
struct Case {
    family: Family,
    seed: u64,
    form: Form,
    start: Start,
    verdict: Verdict,
}

impl Case {
    /// A line with the command that shows it.
    fn line(&self) -> String {
        let v = &self.verdict;
        let wrong = [
            (v.unsolved, "unsolved"),
            (v.falsely_converged, "falsely converged"),
            (v.outside.is_some(), "outside its bounds"),
            (v.worse_than_start, "worse than the start"),
            (v.start_not_kept, "answer not kept"),
        ];
        let wrong: Vec<&str> = wrong.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
        format!(
            "{}, error {:.1e} of that at x = 0: mlcp-lab soak --family {} --seed {} --forms {} --starts {}",
            wrong.join(", "),
            v.relative(),
            self.family.name,
            self.seed,
            self.form.name(),
            self.start.name(),
        )
    }
}

/// Seeds tried of a family: large ones get a tenth.
fn count(family: &Family, problems: u64) -> u64 {
    if family.is_large {
        problems.div_ceil(10)
    } else {
        problems
    }
}

/// Call `work` for each item, on all cores.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&mut Library, &T) -> Vec<R> + Sync) -> Vec<R> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = std::thread::available_parallelism().map_or(1, |c| c.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut solver = Library::new(SolverKind::Auto, Demand::default());
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let more = work(&mut solver, item);
                    found.lock().unwrap().extend(more);
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Every bad case of the first seeds of some families, by family and seed.
fn bad_cases(families: &[Family], problems: u64, starts: &[Start]) -> Vec<Case> {
    let seeds: Vec<(Family, u64)> =
        families.iter().flat_map(|f| (0..count(f, problems)).map(move |seed| (*f, seed))).collect();
    let mut bad = on_all_cores(&seeds, |solver, &(family, seed)| {
        let planted = (family.make)(seed);
        let other = (family.make)(seed + 1);
        let mut bad = Vec::new();
        for (form, problem) in cases(&planted, &Form::ALL) {
            for &start in starts {
                let x = start.impulses(&problem, &other, seed);
                let verdict = judge(solver, &problem, form, x.as_deref(), Demand::default());
                if verdict.is_bad() {
                    bad.push(Case { family, seed, form, start, verdict });
                }
            }
        }
        bad
    });
    let place = |c: &Case| FAMILIES.iter().position(|f| f.name == c.family.name);
    bad.sort_by_key(|c| (place(c), c.seed, c.form as usize, c.start as usize));
    bad
}

/// Print what is bad; panic where it is more than the lists above allow.
fn check(families: &[Family], bad: &[Case], warm: bool) {
    let mut wrong = Vec::new();
    for family in families {
        let mine: Vec<&Case> = bad.iter().filter(|c| c.family.name == family.name).collect();
        mine.iter().for_each(|c| println!("{}", c.line()));
        let allowed = |list: &[(&str, usize, usize)]| {
            list.iter().find(|(name, ..)| *name == family.name).map_or(0, |l| if warm { l.2 } else { l.1 })
        };
        let seeds = |is: fn(&Verdict) -> bool| {
            let mut seeds: Vec<u64> = mine.iter().filter(|c| is(&c.verdict)).map(|c| c.seed).collect();
            seeds.dedup();
            seeds
        };
        for (what, most, seeds) in [
            ("unsolved", allowed(UNSOLVED), seeds(|v| v.unsolved)),
            ("falsely converged", 0, seeds(|v| v.falsely_converged)),
            ("outside", 0, seeds(|v| v.outside.is_some())),
            ("worse than the start", 0, seeds(|v| v.worse_than_start)),
            ("not kept", allowed(NOT_KEPT), seeds(|v| v.start_not_kept)),
        ] {
            if seeds.len() > most {
                wrong.push(format!("{}: {} {what}, {most} allowed, seeds {seeds:?}", family.name, seeds.len()));
            } else if seeds.len() < most {
                println!("{}: only {} {what}, {most} allowed: lower it", family.name, seeds.len());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn families(is_coupled: bool) -> Vec<Family> {
    FAMILIES.iter().copied().filter(|f| f.is_coupled == is_coupled).collect()
}

const BAD_STARTS: [Start; 5] = [Start::Near, Start::Scaled, Start::Shuffled, Start::Foreign, Start::Huge];

#[test]
fn without_coupled_friction_every_problem_is_solved() {
    let families = families(false);
    check(&families, &bad_cases(&families, 1000, &[Start::Cold]), false);
}

#[test]
fn without_coupled_friction_no_start_keeps_from_a_solution() {
    let families = families(false);
    check(&families, &bad_cases(&families, 100, &BAD_STARTS), true);
}

#[test]
fn coupled_friction_is_solved_but_for_listed_numbers() {
    let families = families(true);
    check(&families, &bad_cases(&families, 1000, &[Start::Cold]), false);
}

#[test]
fn coupled_friction_is_solved_from_bad_starts_but_for_listed_numbers() {
    let families = families(true);
    check(&families, &bad_cases(&families, 400, &BAD_STARTS), true);
}

/// Steps in time, each from the last one's impulses: joints with contacts, doors, boxes with coupled friction.
#[test]
fn sequences_are_solved_step_by_step() {
    const STEPS: usize = 60;
    let seeds: Vec<u64> = (0..900).collect();
    let wrong = on_all_cores(&seeds, |solver, &seed| {
        let mut sequence = Sequence::new(seed);
        let mut wrong = Vec::new();
        for step in 0..STEPS {
            let problem = sequence.problem();
            let start = sequence.start();
            let forms = cases(&problem, if step % 10 == 0 { &Form::ALL } else { &[Form::Jacobian] });
            for (form, problem) in forms {
                let verdict = judge(solver, &problem, form, Some(&start), Demand::default());
                if verdict.is_bad() {
                    wrong.push(format!("sequence {seed} step {step} {}: {verdict:?}", form.name()));
                }
            }
            let answer = solver.try_solve(&problem, Form::Jacobian, Some(&start)).unwrap();
            sequence.advance(&answer.x);
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

/// Sixty mechanisms in one world, a third of them doors that are held by more hinges than they need.
fn sixty_islands(seed: u64) -> Planted {
    let others = ["joint-contact", "opposed", "ring", "conveyor"];
    let mut random = Random::new(seed);
    let parts: Vec<Planted> = (0..60)
        .map(|k| {
            let name = if k % 3 == 0 { "door" } else { random.pick(&others) };
            (Family::named(name).expect("a family").make)(random.next())
        })
        .collect();
    Planted::join(&parts)
}

#[test]
fn doors_among_sixty_islands_get_the_same_bits_on_any_number_of_threads() {
    for seed in 0..5 {
        let planted = sixty_islands(seed);
        for (form, planted) in cases(&planted, &[Form::Jacobian, Form::Csr]) {
            let mut solver = Library::new(SolverKind::Auto, Demand::default());
            let verdict = judge(&mut solver, &planted, form, None, Demand::default());
            assert!(!verdict.is_bad() && verdict.converged, "seed {seed} {form:?}: {verdict:?}");
            let mut problem = Problem::new();
            fill(&mut problem, &planted, form).unwrap();
            let solve = |threads| {
                let settings = Settings { threads, relative_tolerance: 1e-10, ..Settings::default() };
                let mut engine = Engine::new(settings).unwrap();
                let report = *engine.solve(&problem, None, None).unwrap();
                assert_eq!(report.outcome, Outcome::Converged, "seed {seed} {form:?} {threads} threads");
                assert!(report.islands >= 60, "seed {seed} {form:?}: {} islands", report.islands);
                engine.x().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
            };
            let one = solve(1);
            for threads in [2, 4] {
                assert_eq!(solve(threads), one, "seed {seed} {form:?}: {threads} threads");
            }
        }
    }
}
