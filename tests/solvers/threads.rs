//! One problem, many threads: solvers of their own give the bits of a sequential solve, and changes meanwhile are
//! refused or succeed, but never tear.

// Handles cross threads as raw pointers, as they do in C.
#![allow(unsafe_code)]

use crate::common::corpus::{self, Form, Friction};
use crate::common::RowProblem;
use mlcp::ffi::*;
use mlcp::{Engine, Settings, SolverKind, Status};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Barrier;

const THREADS: usize = 4;

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// A `Problem` is shared by reference; every thread has an engine.
#[test]
fn shared_problem_gives_sequential_bits() {
    let mut chosen = corpus::load();
    // Small enough to be quick, of both engines and with friction.
    chosen.retain(|p| p.n <= 160);
    for p in chosen.iter().step_by(3) {
        for &form in p.forms() {
            let problem = p.fill(form, Friction::Coupled);
            for kind in SolverKind::ALL {
                let solve = || {
                    let settings = Settings { solver: kind, max_iterations: 60, ..Settings::default() };
                    let mut engine = Engine::new(settings).unwrap();
                    let report = *engine.solve(&problem, p.x0.as_deref(), None).unwrap();
                    (
                        bits(engine.x()),
                        bits(engine.w()),
                        report.iterations,
                        report.energy_error.to_bits(),
                        report.outcome,
                    )
                };
                let alone = solve();
                let barrier = Barrier::new(THREADS);
                let together: Vec<_> = std::thread::scope(|scope| {
                    let run = || {
                        barrier.wait();
                        solve()
                    };
                    let handles: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
                    handles.into_iter().map(|h| h.join().unwrap()).collect()
                });
                for (k, result) in together.iter().enumerate() {
                    assert!(*result == alone, "{} {form:?} {} differs on thread {k}", p.name, kind.name());
                }
            }
        }
    }
}

/// A C handle as threads share it.
#[derive(Clone, Copy)]
struct Shared(*mut mlcp_problem);
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Shared {
        let mut p = null_mut();
        assert_eq!(unsafe { mlcp_problem_create(&mut p) }, Status::Ok);
        Shared(p)
    }

    /// The handle; a method, so that closures take the whole of `self`, which may cross threads.
    fn handle(self) -> *mut mlcp_problem {
        self.0
    }

    /// The first status that is not OK.
    fn refill(self, scene: &RowProblem) -> Status {
        let (n, s) = (scene.len(), scene);
        let mut status = unsafe {
            mlcp_problem_set_jacobian(
                self.0,
                s.inverse_mass.as_ptr(),
                s.inverse_mass.len(),
                s.rows.as_ptr(),
                s.rows.len(),
                s.bodies.as_ptr(),
                s.bodies.len(),
                null(),
                0,
            )
        };
        if status == Status::Ok {
            status = unsafe { mlcp_problem_set_b(self.0, s.b.as_ptr(), n) };
        }
        status
    }
}

fn solver() -> *mut mlcp_solver {
    let mut s = null_mut();
    assert_eq!(unsafe { mlcp_solver_create(null(), &mut s) }, Status::Ok);
    s
}

/// Readers of every kind at once: they take turns for scratch memory, but never refuse each other.
#[test]
fn readers_do_not_disturb_each_other() {
    let problem = Shared::new();
    let scene = RowProblem::boxes(1, 4, 2, 0.5);
    let n = scene.len();
    assert_eq!(problem.refill(&scene), Status::Ok);
    let x: Vec<f64> = (0..n).map(|i| 0.01 * i as f64).collect();
    let read = || {
        let (mut w, mut rows, mut total) = (vec![0.0; n], vec![0.0; n], 0.0);
        let mut change = vec![0.0; 24];
        unsafe {
            assert_eq!(mlcp_problem_get_w(problem.handle(), x.as_ptr(), n, w.as_mut_ptr(), n), Status::Ok);
            assert_eq!(
                mlcp_problem_measure(problem.handle(), 0, x.as_ptr(), n, rows.as_mut_ptr(), n, &mut total),
                Status::Ok
            );
            assert_eq!(
                mlcp_problem_get_velocity_change(problem.handle(), x.as_ptr(), n, change.as_mut_ptr(), 24),
                Status::Ok
            );
            assert_eq!(mlcp_problem_rows(problem.handle()), n);
        }
        (bits(&w), bits(&rows), bits(&change), total.to_bits())
    };
    let alone = read();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..200).for_each(|_| assert!(read() == alone)));
        }
    });
    unsafe { mlcp_problem_destroy(problem.handle()) };
}

/// One thread refills between two problems while others solve: each call succeeds or answers BUSY, and every solution
/// is that of one of the two, never of a mixture.
#[test]
fn refill_meanwhile_is_busy_or_whole() {
    let problem = Shared::new();
    let scenes = [RowProblem::boxes(1, 3, 3, 0.5), RowProblem::boxes(2, 3, 3, 0.5)];
    let n = scenes[0].len();
    // The answers to expect: those of b = 0 just after a matrix was set, and of the full problem.
    let mut expected = vec![vec![0u64; n]];
    for scene in &scenes {
        assert_eq!(problem.refill(scene), Status::Ok);
        let (s, mut x) = (solver(), vec![0.0; n]);
        assert_eq!(
            unsafe { mlcp_solver_solve(s, problem.handle(), null(), 0, x.as_mut_ptr(), n, null_mut()) },
            Status::Ok
        );
        expected.push(bits(&x));
        unsafe { mlcp_solver_destroy(s) };
    }
    let (done, solved, busy) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (s, mut x) = (solver(), vec![0.0; n]);
                while !done.load(Ordering::Relaxed) {
                    match unsafe { mlcp_solver_solve(s, problem.handle(), null(), 0, x.as_mut_ptr(), n, null_mut()) } {
                        Status::Ok => {
                            assert!(expected.contains(&bits(&x)), "a solution of no problem: {x:?}");
                            solved.fetch_add(1, Ordering::Relaxed);
                            // Readers that never pause would keep the writer out.
                            std::thread::yield_now();
                        }
                        Status::Busy => {
                            busy.fetch_add(1, Ordering::Relaxed);
                        }
                        other => panic!("{other:?}"),
                    }
                }
                unsafe { mlcp_solver_destroy(s) };
            });
        }
        scope.spawn(|| {
            for k in 0..200 {
                match problem.refill(&scenes[k % 2]) {
                    Status::Ok => {}
                    Status::Busy => {
                        busy.fetch_add(1, Ordering::Relaxed);
                        // Matrix and b must go together before the next round is judged.
                        while problem.refill(&scenes[k % 2]) != Status::Ok {
                            std::thread::yield_now();
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    println!("{} solves, {} times busy", solved.into_inner(), busy.into_inner());
    unsafe { mlcp_problem_destroy(problem.handle()) };
}

/// One solver used by two threads at once: one of them is told BUSY, and the solver survives it.
#[test]
fn one_solver_serves_one_thread_at_a_time() {
    struct One(*mut mlcp_solver);
    unsafe impl Sync for One {}
    let problem = Shared::new();
    let scene = RowProblem::boxes(3, 6, 3, 0.5);
    let n = scene.len();
    assert_eq!(problem.refill(&scene), Status::Ok);
    let one = One(solver());
    let mut alone = vec![0.0; n];
    assert_eq!(
        unsafe { mlcp_solver_solve(one.0, problem.handle(), null(), 0, alone.as_mut_ptr(), n, null_mut()) },
        Status::Ok
    );
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let one = &one;
                for _ in 0..200 {
                    let mut x = vec![0.0; n];
                    match unsafe {
                        mlcp_solver_solve(one.0, problem.handle(), null(), 0, x.as_mut_ptr(), n, null_mut())
                    } {
                        Status::Ok => assert!(bits(&x) == bits(&alone)),
                        Status::Busy => assert!(x.iter().all(|&v| v == 0.0), "a refused call wrote its output"),
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    unsafe {
        mlcp_solver_destroy(one.0);
        mlcp_problem_destroy(problem.handle());
    }
}

/// The forms' types may cross threads; a compile-time fact worth a line.
#[test]
fn types_are_send_and_sync() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<mlcp::Problem>();
    sync::<mlcp::Problem>();
    send::<Engine>();
    let _ = Form::ALL;
}
