//! Islands: found right, solved apart as well as together, and with the same bits on any number of threads.

// The executor crosses the C interface.
#![allow(unsafe_code)]

use crate::common::{Form, Random, RowProblem};
use mlcp::auto::Reason;
use mlcp::ffi::*;
use mlcp::problem::{Islands, Operator};
use mlcp::{Engine, Outcome, Problem, Settings, SolverKind, Status};
use std::os::raw::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 64 columns of one to six boxes.
fn columns(seed: u64) -> RowProblem {
    let mut whole = RowProblem::default();
    let mut random = Random::new(seed);
    for k in 0..64 {
        let height = 1 + (random.below(6));
        let column = RowProblem::boxes(seed + k, height, height, 0.5);
        let (bodies, rows) = ((whole.inverse_mass.len() / 12) as i32, whole.b.len() as i32);
        whole.inverse_mass.extend(column.inverse_mass);
        whole.rows.extend(column.rows);
        whole.bodies.extend(column.bodies.iter().map(|&b| if b < 0 { b } else { b + bodies }));
        whole.findex.extend(column.findex.iter().map(|&f| if f < 0 { f } else { f + rows }));
        for (to, from) in [
            (&mut whole.b, column.b),
            (&mut whole.lo, column.lo),
            (&mut whole.hi, column.hi),
            (&mut whole.mu, column.mu),
        ] {
            to.extend(from);
        }
    }
    whole
}

fn settings(threads: usize) -> Settings {
    Settings { threads, ..Settings::default() }
}

#[test]
fn islands_are_what_rows_are_chained_to() {
    let mut islands = Islands::default();
    for seed in 0..300u64 {
        let mut random = Random::new(seed);
        let options = crate::common::rows::Options {
            bodies: 1 + random.below(12),
            rows: 1 + random.below(16),
            ..crate::common::rows::Options::default()
        };
        let scene = RowProblem::random(seed, options);
        let n = scene.len();
        // By hand: spread numbers along the entries of A until nothing changes.
        let a = scene.dense();
        let mut number: Vec<usize> = (0..n).collect();
        loop {
            let before = number.clone();
            for i in 0..n {
                for j in 0..n {
                    let linked = scene.findex.get(i).is_some_and(|&f| f == j as i32);
                    if a[i * n + j] != 0.0 || linked {
                        let least = number[i].min(number[j]);
                        (number[i], number[j]) = (least, least);
                    }
                }
            }
            if number == before {
                break;
            }
        }
        for form in [Form::Csr, Form::Jacobian] {
            let problem = scene.fill(form, None);
            islands.find(&problem).unwrap();
            let mut seen = 0;
            for k in 0..islands.len() {
                let rows = islands.rows(k);
                assert!(rows.windows(2).all(|p| p[0] < p[1]));
                seen += rows.len();
                // A may have no entry where bodies are shared at right angles: then islands are coarser.
                let mine: Vec<usize> = rows.iter().map(|&i| number[i as usize]).collect();
                for i in 0..n {
                    let inside = rows.contains(&(i as u32));
                    assert!(inside || !mine.contains(&number[i]), "seed {seed} {form:?}: row {i} is torn off");
                }
                if form == Form::Csr {
                    assert!(mine.iter().all(|&m| m == mine[0]), "seed {seed}: two islands in one");
                }
            }
            assert_eq!(seen, n);
        }
    }
}

#[test]
fn a_part_is_the_same_problem() {
    let scene = columns(7);
    for form in [Form::Csr, Form::Jacobian] {
        let frozen: Vec<f64> = (0..scene.len()).map(|i| 0.01 * i as f64).collect();
        for frozen_at in [None, Some(&frozen[..])] {
            let whole = scene.fill(form, frozen_at);
            let mut islands = Islands::default();
            islands.find(&whole).unwrap();
            assert_eq!(islands.len(), 64);
            let mut part = Problem::new();
            let x: Vec<f64> = (0..scene.len()).map(|i| ((i * 37) % 11) as f64).collect();
            let mut w = vec![0.0; scene.len()];
            whole.multiply(&x, &mut w, &mut Vec::new()).unwrap();
            for k in 0..islands.len() {
                let rows = islands.rows(k);
                part.select(&whole, &islands, k).unwrap();
                let mine: Vec<f64> = rows.iter().map(|&i| x[i as usize]).collect();
                let mut w_part = vec![0.0; rows.len()];
                part.multiply(&mine, &mut w_part, &mut Vec::new()).unwrap();
                for (p, &i) in rows.iter().enumerate() {
                    assert_eq!(w_part[p].to_bits(), w[i as usize].to_bits());
                    assert_eq!(part.bounds_of(p, &mine), whole.bounds_of(i as usize, &x));
                }
            }
        }
    }
}

/// A row may name a body that it does not move: then that one may be of another island, and counts as the world.
#[test]
fn a_body_that_is_only_named_stays_where_it_is() {
    let scene = columns(7);
    let mut named = columns(7);
    let count = named.inverse_mass.len() / 12;
    for (row, pair) in named.rows.chunks_exact_mut(12).zip(named.bodies.chunks_exact_mut(2)) {
        if let [a, -1] = *pair {
            row[6..].fill(0.0);
            pair[1] = (a + count as i32 / 2) % count as i32;
        }
    }
    assert_ne!(named.bodies, scene.bodies);
    let whole = named.fill(Form::Jacobian, None);
    let mut islands = Islands::default();
    islands.find(&whole).unwrap();
    assert_eq!(islands.len(), 64);
    let mut part = Problem::new();
    for k in 0..islands.len() {
        part.select(&whole, &islands, k).unwrap();
        let Operator::Jacobian(jacobian) = part.operator() else { panic!("not made of rows") };
        assert!(jacobian.rows().iter().all(|row| row.body[0] != row.body[1]), "island {k}");
    }
    let solution = |problem: &Problem| {
        let mut engine = Engine::new(settings(1)).unwrap();
        let report = *engine.solve(problem, None, None).unwrap();
        assert_eq!((report.outcome, report.islands), (Outcome::Converged, 64));
        engine.x().to_vec()
    };
    assert_eq!(solution(&whole), solution(&scene.fill(Form::Jacobian, None)));
}

/// Together is what a named solver does.
#[test]
fn apart_is_as_good_as_together() {
    for seed in 0..4 {
        for form in [Form::Csr, Form::Jacobian] {
            let problem = columns(seed).fill(form, None);
            let mut engine = Engine::new(settings(1)).unwrap();
            let report = *engine.solve(&problem, None, None).unwrap();
            assert_eq!(report.outcome, Outcome::Converged);
            assert_eq!(report.islands, 64);
            assert!(report.relative_energy() <= 1e-10, "{}", report.relative_energy());
            // A second step from the answer has nothing to do.
            let x = engine.x().to_vec();
            assert_eq!(engine.solve(&problem, Some(&x), None).unwrap().iterations, 0);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let problem = columns(1).fill(Form::Jacobian, None);
    let solve = |engine: &mut Engine| {
        assert_eq!(engine.solve(&problem, None, None).unwrap().outcome, Outcome::Converged);
        engine.x().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    let reference = solve(&mut Engine::new(settings(0)).unwrap());
    for threads in [1, 2, 3, 8, 1000] {
        let mut engine = Engine::new(settings(threads)).unwrap();
        for _ in 0..3 {
            assert_eq!(solve(&mut engine), reference, "{threads} threads");
        }
        // Backwards, one after the other, and not all of them.
        engine.set_executor(Some(Box::new(|count, task| (0..count).rev().step_by(2).for_each(task))));
        assert_eq!(solve(&mut engine), reference);
    }
}

/// Passes over the islands within a time limit that does not come into it, so that what happens does not depend on the clock.
fn passes(passes: usize, threads: usize) -> Settings {
    Settings { time_limit: 1e3, max_iterations: passes, ..settings(threads) }
}

/// One column hits the ground a hundred times faster than the rest. Returns its number, too.
fn unequal(form: Form) -> (Problem, Islands, usize) {
    let mut scene = columns(3);
    let mut islands = Islands::default();
    islands.find(&scene.fill(form, None)).unwrap();
    for &i in islands.rows(40) {
        scene.b[i as usize] *= 100.0;
    }
    (scene.fill(form, None), islands, 40)
}

#[test]
fn little_time_goes_to_the_largest_errors() {
    for form in [Form::Csr, Form::Jacobian] {
        let (problem, islands, fast) = unequal(form);
        let error = |engine: &Engine| islands.rows(fast).iter().map(|&i| engine.row_errors()[i as usize]).sum::<f64>();
        let mut engine = Engine::new(passes(1, 1)).unwrap();
        let report = *engine.solve(&problem, None, None).unwrap();
        assert_eq!((engine.stages()[0].solver, engine.stages()[0].reason), (SolverKind::Nncg, Reason::WorstIslands));
        // A pass has at most twice as many visits as there are rows. Two to each row leave much more.
        let all = Settings { solver: SolverKind::Pgs, max_iterations: 2, ..Settings::default() };
        let mut uniform = Engine::new(all).unwrap();
        let all = *uniform.solve(&problem, None, None).unwrap();
        assert!(report.energy_error < 0.1 * all.energy_error, "{form:?}: {report:?}, {all:?}");
        assert!(error(&engine) < 0.01 * error(&uniform), "{form:?}: {} and {}", error(&engine), error(&uniform));
    }
}

/// Hardly any time at all: then nobody looks for islands.
#[test]
fn no_time_returns_the_start_or_better() {
    let (problem, ..) = unequal(Form::Jacobian);
    let mut engine = Engine::new(Settings { time_limit: 1e-7, ..settings(1) }).unwrap();
    let report = *engine.solve(&problem, None, None).unwrap();
    assert!(report.energy_error <= report.energy_scale);
    assert_eq!((report.outcome, report.islands), (Outcome::TimeLimit, 0));
}

#[test]
fn sweeps_over_islands_lead_to_the_same_solution() {
    let frozen: Vec<f64> = (0..columns(5).len()).map(|i| 0.01 * (i % 7) as f64).collect();
    for form in [Form::Csr, Form::Jacobian] {
        for frozen_at in [None, Some(&frozen[..])] {
            let problem = columns(5).fill(form, frozen_at);
            let mut engine = Engine::new(settings(1)).unwrap();
            assert_eq!(engine.solve(&problem, None, None).unwrap().outcome, Outcome::Converged);
            let w = engine.w().to_vec();
            let mut engine = Engine::new(Settings { time_limit: 1e3, ..settings(1) }).unwrap();
            let report = *engine.solve(&problem, None, None).unwrap();
            assert_eq!((report.outcome, report.islands), (Outcome::Converged, 64));
            let first = engine.stages()[0];
            assert_eq!(first.reason, Reason::WorstIslands);
            // They give way to pivots early where there is time for them.
            assert!(first.energy_error < 1e-2 * first.initial_energy_error, "{form:?}: {first:?}");
            // With frozen bounds the problem is convex: impulses may differ, velocities may not.
            if frozen_at.is_some() {
                let fastest = w.iter().fold(0.0f64, |most, w| most.max(w.abs()));
                let off = w.iter().zip(engine.w()).fold(0.0f64, |most, (p, q)| most.max((p - q).abs()));
                assert!(off <= 1e-3 * fastest, "{form:?}: {off} of {fastest}");
            }
            // From its own answer there is nothing to do.
            let x = engine.x().to_vec();
            assert_eq!(engine.solve(&problem, Some(&x), None).unwrap().iterations, 0);
        }
    }
}

/// Rows listed in turn, one of each column: no island is a range of rows. So few columns hit the ground hard that they are
/// swept by themselves.
#[test]
fn scattered_islands_are_swept_like_ranges() {
    let mut scene = columns(2);
    let mut islands = Islands::default();
    islands.find(&scene.fill(Form::Jacobian, None)).unwrap();
    for &i in (0..islands.len()).step_by(5).flat_map(|k| islands.rows(k)) {
        scene.b[i as usize] *= 100.0;
    }
    let longest = (0..islands.len()).map(|k| islands.rows(k).len()).max().unwrap();
    let order: Vec<usize> = (0..longest)
        .flat_map(|p| (0..islands.len()).map(move |k| (k, p)))
        .filter_map(|(k, p)| islands.rows(k).get(p).map(|&i| i as usize))
        .collect();
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| place[from] = to);
    let mut scattered = RowProblem { inverse_mass: scene.inverse_mass.clone(), ..RowProblem::default() };
    for &i in &order {
        scattered.rows.extend(&scene.rows[12 * i..12 * i + 12]);
        scattered.bodies.extend(&scene.bodies[2 * i..2 * i + 2]);
        scattered.findex.push(if scene.findex[i] < 0 { -1 } else { place[scene.findex[i] as usize] as i32 });
        for (to, from) in [
            (&mut scattered.b, &scene.b),
            (&mut scattered.lo, &scene.lo),
            (&mut scattered.hi, &scene.hi),
            (&mut scattered.mu, &scene.mu),
        ] {
            to.push(from[i]);
        }
    }
    for form in [Form::Csr, Form::Jacobian] {
        let solve = |problem: &Problem| {
            let mut engine = Engine::new(passes(2, 1)).unwrap();
            (engine.solve(problem, None, None).unwrap().energy_error, engine.x().to_vec())
        };
        let (error, x) = solve(&scene.fill(form, None));
        let (other_error, other_x) = solve(&scattered.fill(form, None));
        let most = x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!((error - other_error).abs() <= 1e-6 * error, "{form:?}: {error} and {other_error}");
        assert!(x.iter().zip(&place).all(|(x, &to)| (x - other_x[to]).abs() <= 1e-9 * most), "{form:?}");
    }
}

#[test]
fn sweeps_over_islands_have_the_same_bits_again() {
    let (problem, ..) = unequal(Form::Jacobian);
    let solve = |engine: &mut Engine| {
        engine.solve(&problem, None, None).unwrap();
        engine.x().iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    let reference = solve(&mut Engine::new(passes(20, 1)).unwrap());
    for threads in [0, 1, 3] {
        let mut engine = Engine::new(passes(20, threads)).unwrap();
        for _ in 0..3 {
            assert_eq!(solve(&mut engine), reference, "{threads} threads");
        }
    }
}

static TASKS: AtomicUsize = AtomicUsize::new(0);

/// A pool that lives as long as a call.
unsafe extern "C" fn pool(user_data: *mut c_void, count: i32, task: mlcp_task, task_data: *mut c_void) {
    assert_eq!(user_data as usize, 42);
    let (task, data) = (task.unwrap(), task_data as usize);
    std::thread::scope(|scope| {
        for k in 0..count {
            scope.spawn(move || unsafe { task(data as *mut c_void, k) });
        }
    });
    TASKS.fetch_add(count as usize, Ordering::Relaxed);
}

#[test]
fn the_callers_pool_does_the_work() {
    let scene = columns(1);
    let n = scene.len();
    let solve = |threads: i32, executor: mlcp_executor| unsafe {
        let (mut problem, mut solver) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(mlcp_problem_create(&mut problem), Status::Ok);
        let status = mlcp_problem_set_jacobian(
            problem,
            scene.inverse_mass.as_ptr(),
            scene.inverse_mass.len(),
            scene.rows.as_ptr(),
            scene.rows.len(),
            scene.bodies.as_ptr(),
            scene.bodies.len(),
            std::ptr::null(),
            0,
        );
        assert_eq!(status, Status::Ok);
        assert_eq!(mlcp_problem_set_b(problem, scene.b.as_ptr(), n), Status::Ok);
        assert_eq!(mlcp_problem_set_bounds(problem, scene.lo.as_ptr(), n, scene.hi.as_ptr(), n), Status::Ok);
        let mut settings = std::mem::MaybeUninit::<mlcp_settings>::zeroed().assume_init();
        assert_eq!(mlcp_settings_init(&mut settings, size_of::<mlcp_settings>()), Status::Ok);
        settings.threads = threads;
        assert_eq!(mlcp_solver_create(&settings, &mut solver), Status::Ok);
        assert_eq!(mlcp_solver_set_executor(solver, executor, 42 as *mut c_void), Status::Ok);
        let mut x = vec![0.0; n];
        let mut report = std::mem::MaybeUninit::<mlcp_report>::zeroed().assume_init();
        assert_eq!(mlcp_report_init(&mut report, size_of::<mlcp_report>()), Status::Ok);
        let status = mlcp_solver_solve(solver, problem, std::ptr::null(), 0, x.as_mut_ptr(), n, &mut report);
        assert_eq!((status, report.outcome, report.islands), (Status::Ok, Outcome::Converged as i32, 64));
        mlcp_solver_destroy(solver);
        mlcp_problem_destroy(problem);
        x.iter().map(|x| x.to_bits()).collect::<Vec<u64>>()
    };
    let reference = solve(1, None);
    assert_eq!(solve(3, Some(pool)), reference);
    assert!(TASKS.load(Ordering::Relaxed) >= 3);
}
