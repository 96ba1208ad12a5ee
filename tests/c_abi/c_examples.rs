//! The C and C++ examples compile without a warning under gcc and clang, link with the shared and the static library,
//! print what they promise, and are clean under valgrind.

use crate::toolchain::{compile, library_dir, root, run, run_ok, COMPILERS};
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    crate::toolchain::scratch("c_examples", name)
}

/// What a Rust staticlib needs on Linux, as `rustc --print native-static-libs` says.
const STATIC_LIBS: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// An example, the arguments it is run with, and what it must print.
struct Example {
    file: &'static str,
    args: &'static [&'static str],
    prints: &'static [&'static str],
}

const ROD: Example = Example {
    file: "01_rod.c",
    args: &[],
    prints: &[
        "published pair, w = (-0.2981, 0)     energy 4.96e-02 J",
        "the same pair, exact masses          energy 6.31e-02 J",
        "energy 3.573e-02 J",
        "natural = 0.4000",
        "x = (0.329533, 0.062867) N s, w = 0 m/s",
        "converged",
    ],
};

// A second instead of 2 ms: how far the solver gets must not depend on how busy the machine is.
const GAME_LOOP: Example = Example {
    file: "02_game_loop.c",
    args: &["--time-limit", "10"],
    prints: &["600 steps of 1/60 s, 33 bodies", "time limit 0", "allocations   0 after the warm-up", "ok\n"],
};

const CALLBACK: Example = Example {
    file: "03_callback.c",
    args: &[],
    prints: &["a solve inside the solve: busy", "stopped after", "history: "],
};

const MEASURE: Example = Example {
    file: "04_measure_your_solver.c",
    args: &[],
    prints: &[
        "    0  5.000e-01 J   contact below box 0",
        "Fischer-Burmeister, m         0.2981     0.4509   P",
        "Fischer-Burmeister, mm      298.1000   247.3538   Q",
        "natural residual, m           0.2981     0.3490   P",
        "natural residual, mm        298.1000   247.2519   Q",
        "energy, J                    0.04443    0.03573   Q",
        "energy, mJ                   44.4318    35.7334   Q",
    ],
};

const RECORD: Example = Example { file: "07_record.c", args: &["/dev/null/no.h5"], prints: &[] };

const RECORD_COST: Example = Example {
    file: "07_record_cost.c",
    args: &["--steps", "120", "--balls", "15", "--rounds", "1"],
    prints: &["recording adds ", "120 frames", "120 of 120 frames with their solutions read back bit for bit", "ok\n"],
};

const REPLAY: Example = Example { file: "08_replay.c", args: &[], prints: &[] };

const CPP: Example = Example {
    file: "05_cpp.cpp",
    args: &[],
    prints: &[
        "stopped after",
        "in ball on plate, normal",
        "refused: b has length 3, expected 12 (invalid size)",
        "thrown: the callback had enough",
    ],
};

const CONES: Example = Example {
    file: "06_cones.c",
    args: &[],
    prints: &[
        "mu m g h = 0.1177 N s against it",
        // The corner of the square: 45 degrees and a root of two too much.
        "ipm              0.1665 N s    15.000 deg off",
        "prox             0.1177 N s     0.000 deg off",
        "prox-gs          0.1177 N s     0.000 deg off",
        "alart-curnier    0.1177 N s     0.000 deg off",
        "bpp does not treat friction cones",
    ],
};

const FOURBAR: Example = Example {
    file: "fourbar.c",
    args: &[],
    prints: &[
        "20 rows, rank 17, 3 redundant; consistent",
        "redundant: z of rocker-ground, depends on -1.00 z of ground-crank",
        "redundant: turn about x of rocker-ground, depends on -1.00 turn about x of ground-crank",
        "redundant: turn about y of rocker-ground, depends on -1.00 turn about y of ground-crank",
        "constraints hold to 1e-14 m, out of plane nothing moves: yes",
    ],
};

const PENDULUM: Example = Example {
    file: "pendulum_ali3p.c",
    args: &[],
    prints: &["exact 2.36784 s", "energy drift below 1e-4 J", "accelerations below 1e-10"],
};

const PUCK: Example = Example {
    file: "puck_ali3p.c",
    args: &[],
    prints: &["Coulomb's law 2.0387 m, heading 0.500000 rad of 0.500000", "energy never grew"],
};

/// Build an example; the name of the binary says how.
fn build(example: &Example, compiler: usize, shared: bool) -> PathBuf {
    let pair = &COMPILERS[compiler];
    let (tool, std) = if example.file.ends_with(".cpp") { (pair.cpp, "-std=c++17") } else { (pair.c, "-std=c99") };
    let out =
        scratch(&format!("{}_{}_{}", example.file.replace('.', "_"), pair.c, if shared { "shared" } else { "static" }));
    build_source(tool, &[std, "-O2"], &root().join("c_examples").join(example.file), &out, shared);
    out
}

fn build_source(tool: &str, flags: &[&str], source: &Path, out: &Path, shared: bool) {
    let dir = library_dir();
    let (search, archive) = (format!("-L{}", dir.display()), dir.join("libmlcp.a").display().to_string());
    let mut link: Vec<&str> = if shared { vec![&search, "-lmlcp", "-lm"] } else { vec![&archive] };
    if !shared {
        link.extend(STATIC_LIBS);
    }
    compile(tool, flags, source, out, &link);
}

/// Run a binary that must succeed and print the given pieces.
fn expect(binary: &Path, args: &[&str], prints: &[&str]) {
    let printed = run_ok(binary.to_str().expect("UTF-8 path"), args);
    for piece in prints {
        assert!(printed.contains(piece), "{} did not print {piece:?} but\n{printed}", binary.display());
    }
}

fn under_valgrind(binary: &Path, args: &[&str]) {
    let mut line = vec!["-q", "--error-exitcode=9", "--leak-check=full", binary.to_str().expect("UTF-8 path")];
    line.extend(args);
    run_ok("valgrind", line);
}

/// Every compiler, both ways of linking; then valgrind on one of them.
fn check(example: &Example, valgrind_args: &[&str]) {
    for compiler in 0..COMPILERS.len() {
        for shared in [true, false] {
            expect(&build(example, compiler, shared), example.args, example.prints);
        }
    }
    under_valgrind(&build(example, 0, true), valgrind_args);
}

#[test]
fn rod() {
    check(&ROD, &[]);
}

#[test]
fn game_loop() {
    check(&GAME_LOOP, &["--steps", "60", "--time-limit", "1"]);
}

#[test]
fn game_loop_with_pivoting() {
    let binary = scratch("game_loop_bpp");
    build_source("gcc", &["-std=c99", "-O2"], &root().join("c_examples").join(GAME_LOOP.file), &binary, true);
    expect(&binary, &["bpp", "--time-limit", "1"], &["bpp, 600 steps", "allocations   0 after the warm-up", "ok\n"]);
    under_valgrind(&binary, &["bpp", "--steps", "30", "--time-limit", "1"]);
}

#[test]
fn game_loop_within_its_time() {
    // Its physics depends on the clock here, its memory must not.
    let binary = scratch("game_loop_timed");
    build_source("gcc", &["-std=c99", "-O2"], &root().join("c_examples").join(GAME_LOOP.file), &binary, true);
    let no_args: [&str; 0] = [];
    let output = run(binary.to_str().expect("UTF-8 path"), no_args);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("allocations   0 after the warm-up"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn callback() {
    check(&CALLBACK, &[]);
}

#[test]
fn measure_your_solver() {
    check(&MEASURE, &[]);
    // It promises to need no library at all.
    let out = scratch("measure_alone");
    compile("gcc", &["-std=c99", "-O2", "-Wconversion"], &root().join("c_examples").join(MEASURE.file), &out, &["-lm"]);
    expect(&out, &[], MEASURE.prints);
}

/// Recorded by one program, replayed by another; the file is read by nothing but the library's own calls.
#[test]
fn record_and_replay() {
    for (compiler, pair) in COMPILERS.iter().enumerate() {
        for shared in [true, false] {
            let file = scratch(&format!("{}_{shared}.h5", pair.c));
            let path = file.to_str().expect("UTF-8 path");
            let args = [path, "--steps", "90", "--balls", "12", "--wait"];
            expect(&build(&RECORD, compiler, shared), &args, &["90 frames written, 0 dropped", "ok\n"]);
            let replay = build(&REPLAY, compiler, shared);
            expect(&replay, &[path, "9"], &["90 frames, 0 problems", "cone           alart-curnier    10/10", "ok\n"]);
        }
    }
    let file = scratch("cost.h5");
    let path = file.to_str().expect("UTF-8 path");
    for compiler in 0..COMPILERS.len() {
        expect(&build(&RECORD_COST, compiler, true), &[&[path], RECORD_COST.args].concat(), RECORD_COST.prints);
    }
    let record = build(&RECORD, 0, true);
    let nowhere = run(record.to_str().expect("UTF-8 path"), RECORD.args);
    assert!(!nowhere.status.success() && String::from_utf8_lossy(&nowhere.stderr).contains("cannot be written"));
    let file = scratch("valgrind.h5");
    let path = file.to_str().expect("UTF-8 path");
    under_valgrind(&record, &[path, "--steps", "20", "--balls", "5"]);
    under_valgrind(&build(&REPLAY, 0, true), &[path, "5"]);
}

#[test]
fn cpp() {
    check(&CPP, &[]);
}

#[test]
fn cones() {
    check(&CONES, &[]);
}

#[test]
fn fourbar() {
    check(&FOURBAR, &["50"]);
}

#[test]
fn pendulum_ali3p() {
    check(&PENDULUM, &["2"]);
}

#[test]
fn puck_ali3p() {
    check(&PUCK, &[]);
}

/// The parts of mlcp.hpp that the example does not show: moves, views, refused calls, each measure, the getters.
const WRAPPER: &str = r#"
#include "mlcp.hpp"
#include "mlcp_error.h"
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#define EXPECT(condition) do { if (!(condition)) { std::printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)
#ifdef MLCP_NO_EXCEPTIONS
#define OK(call) EXPECT((call) == MLCP_STATUS_OK)
#define REFUSED(call, why) EXPECT((call) == (why))
#else
#define OK(call) (call)
#define REFUSED(call, why) \
    do { bool thrown = false; try { call; } catch (const mlcp::Error &e) { thrown = e.status() == (why) && e.what()[0] != 0; } EXPECT(thrown); } while (0)
#endif

int main()
{
    static_assert(!std::is_copy_constructible<mlcp::Problem>::value && !std::is_copy_constructible<mlcp::Solver>::value, "");
    static_assert(std::is_nothrow_move_constructible<mlcp::Solver>::value, "");
    static_assert(!std::is_constructible<mlcp::Out, const std::vector<double> &>::value, "a const vector is no output");
    static_assert(!std::is_constructible<mlcp::In, const std::vector<float> &>::value, "floats are no doubles");

    mlcp::Problem first;
    EXPECT(first && first.rows() == 0);
    const double a[4] = {1.0, -0.5, -0.5, 1.0};
    const std::array<double, 2> b = {-0.2981, 0.1019};
    const std::vector<double> lo(2, 0.0), hi(2, HUGE_VAL);
    OK(first.reserve(2, 2));
    OK(first.set_dense(2, a, 2));
    mlcp::Problem problem = std::move(first);
    REFUSED(first.set_b(b), MLCP_STATUS_NULL_ARGUMENT);
    OK(problem.set_b(b));
    OK(problem.set_bounds(lo, hi));
    EXPECT(problem.rows() == 2);

    mlcp::Settings settings;
    settings.solver = MLCP_SOLVER_KIND_PGS;
    settings.check_interval = 1;
    mlcp::Solver before(settings);
    int calls = 0;
    OK(before.set_callback([&calls](const mlcp_iteration &) { calls++; return false; }));
    mlcp::Solver solver = std::move(before);
    std::vector<double> x(2), w(2), rows(2);
    mlcp::Report report;
    OK(solver.solve(problem, {}, x, &report));
    /* A relative energy error of 1e-10 leaves about its root in x. */
    EXPECT(report.converged() && calls == report.iterations + 1 && std::fabs(x[0] - 0.329533) < 1e-4);
    OK(solver.solve(problem, x, x, nullptr)); /* warm, in place */
    OK(solver.set_callback(nullptr));
    OK(solver.solve(problem, mlcp::In(), mlcp::Out(x.data(), x.size()), &report));

    mlcp::Settings read;
    OK(solver.get_settings(read));
    EXPECT(read.solver == MLCP_SOLVER_KIND_PGS);
    mlcp::Report again;
    OK(solver.get_report(again));
    EXPECT(again.energy_error == report.energy_error && std::strcmp(again.outcome_name(), "converged") == 0);
    OK(solver.get_w(w));
    OK(solver.get_row_errors(rows));
    std::int32_t worst[2];
    double errors[2];
    std::size_t count = 9;
    OK(solver.get_worst_rows(worst, errors, count));
    EXPECT(count <= 2 && solver.history_len() > 1);
    mlcp::Iteration record;
    OK(solver.get_history(0, record));
    EXPECT(record.iteration == 0);
    REFUSED(solver.get_history(100000, record), MLCP_STATUS_INVALID_INDEX);
    settings.relaxation = 7.0;
    REFUSED(solver.set_settings(settings), MLCP_STATUS_INVALID_VALUE);

    /* All measures, and the header-only ones beside them. */
    const double wrong[2] = {0.0, -0.1019};
    std::vector<double> diagonal(2), low(2), high(2);
    OK(problem.get_diagonal(diagonal));
    OK(problem.get_w(wrong, w));
    OK(problem.get_bounds(wrong, low, high));
    double total = 0.0, whole = 0.0;
    OK(mlcp::energy_error(diagonal, wrong, w, low, high, total, rows));
    EXPECT(total == mlcp_error_energy(2, diagonal.data(), wrong, w.data(), low.data(), high.data(), nullptr));
    OK(problem.measure(MLCP_MEASURE_ENERGY, wrong, whole, rows));
    EXPECT(whole == total && std::fabs(total - 3.573e-2) < 1e-5 && rows[0] + rows[1] == total);
    OK(mlcp::fischer_burmeister_error(wrong, w, low, high, total));
    EXPECT(total == mlcp_error_fischer_burmeister(2, wrong, w.data(), low.data(), high.data(), nullptr));
    OK(mlcp::natural_error(wrong, w, low, high, total));
    EXPECT(total == mlcp_error_natural(2, wrong, w.data(), low.data(), high.data(), nullptr));
    OK(mlcp::merit_error(wrong, w, low, high, total));
    EXPECT(total == mlcp_error_merit(2, wrong, w.data(), low.data(), high.data(), nullptr));
    OK(mlcp::penalized_error(wrong, w, low, high, 0.95, total));
    EXPECT(total == mlcp_error_penalized(2, wrong, w.data(), low.data(), high.data(), 0.95, nullptr));
    OK(mlcp::duality_gap(wrong, w, low, high, total));
    EXPECT(total == mlcp_error_duality_gap(2, wrong, w.data(), low.data(), high.data(), nullptr));
    REFUSED(mlcp::natural_error(wrong, w, low, std::vector<double>(3), total), MLCP_STATUS_INVALID_SIZE);
    REFUSED(mlcp::energy_error(std::vector<double>(2), wrong, w, low, high, total), MLCP_STATUS_NO_ENERGY);

    REFUSED(problem.set_cones(std::vector<std::int32_t>{2, 0, 1}, std::vector<double>{0.5}), MLCP_STATUS_INVALID_INDEX);
    OK(problem.set_cones({}, {}));

    /* The other forms of a problem. */
    const std::vector<std::int32_t> start = {0, 2, 4}, columns = {0, 1, 0, 1};
    OK(problem.set_csr(2, start, columns, a));
    std::vector<double> mass(12), row(24);
    mass[0] = mass[1] = mass[2] = row[0] = row[12 + 1] = 1.0;
    const std::int32_t bodies[4] = {0, -1, 0, -1}, findex[2] = {-1, 0};
    const double velocity[6] = {-1.0, 1.0}, mu[2] = {0.0, 0.5}, normals[2] = {2.0, 0.0};
    double change[6];
#if __cplusplus >= 202002L
    OK(problem.set_jacobian(std::span<const double>(mass), std::span<double>(row), bodies));
#else
    OK(problem.set_jacobian(mass, row, bodies));
#endif
    OK(problem.set_motion(0.01, velocity));
    OK(problem.set_friction(findex, mu, MLCP_FRICTION_MODE_FROZEN));
    OK(problem.set_frozen_normals(normals));
    OK(problem.get_bounds(normals, low, high));
    EXPECT(high[1] == 1.0);
    OK(solver.solve(problem, {}, x, nullptr));
    OK(problem.get_velocity_change(x, change));
    EXPECT(std::strcmp(mlcp::version(), mlcp_version()) == 0 && solver.get() != nullptr && problem.get() != nullptr);

    /* A frame: one ball on the ground, in two formulations; and a file that is not there. */
    const double heavy[1] = {2.0}, inertia[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, origin[3] = {0, 0, 0}, turn[4] = {1, 0, 0, 0};
    const double rest[6] = {0}, weight[6] = {0, 0, -20.0, 0, 0, 0}, up[3] = {0, 0, 1}, half[1] = {0.5};
    const std::int32_t ground[2] = {-1, 0};
    mlcp::Frame frame;
    mlcp::Bodies one;
    one.count = 1;
    one.masses = heavy;
    one.inertia = inertia;
    one.positions = origin;
    one.quaternions = turn;
    one.velocities = rest;
    one.forces = weight;
    mlcp::Contacts touch;
    touch.count = 1;
    touch.pairs = ground;
    touch.gap = origin;
    touch.mu = half;
    touch.normals = up;
    touch.points = origin;
    OK(frame.set_step(0.01, 0.0));
    OK(frame.set_bodies(one));
    OK(frame.set_contacts(touch));
    for (const char *formulation : {"box", "polyhedral:4"}) {
        std::size_t n = 0;
        OK(frame.get_rows(formulation, n));
        std::vector<double> z(n);
        std::int32_t state = -1;
        mlcp::FrameErrors left;
        mlcp::Settings lemke;
        lemke.solver = MLCP_SOLVER_KIND_LEMKE;
        mlcp::Solver pivots(lemke);
        OK(frame.fill_problem(formulation, problem));
        OK(pivots.solve(problem, {}, z, nullptr));
        OK(frame.get_response(formulation, z, change, {}, mlcp::View<std::int32_t>(&state, 1), &left));
        EXPECT(std::fabs(change[2]) < 1e-12 && state == MLCP_CONTACT_STATE_STICK && left.normal < 1e-20);
    }
    one.count = 0;
    OK(frame.get_bodies(one));
    EXPECT(one.count == 1 && one.masses[0] == 2.0);
    REFUSED(mlcp::Frame().fill_problem("box", problem), MLCP_STATUS_INVALID_STATE);
#ifndef MLCP_NO_EXCEPTIONS
    REFUSED(mlcp::Dataset("no such file.h5"), MLCP_STATUS_FILE);
    REFUSED(mlcp::Recorder("no/such/folder/x.h5"), MLCP_STATUS_FILE);
#endif
    std::printf("wrapper ok\n");
    return 0;
}
"#;

#[test]
fn cpp_wrapper_with_and_without_exceptions() {
    let source = scratch("wrapper.cpp");
    std::fs::write(&source, WRAPPER).expect("write the source");
    let ways: [&[&str]; 4] =
        [&["-std=c++17"], &["-std=c++20"], &["-std=c++17", "-DMLCP_NO_EXCEPTIONS"], &["-std=c++17", "-fno-exceptions"]];
    for compiler in &COMPILERS {
        for (i, flags) in ways.iter().enumerate() {
            let out = scratch(&format!("wrapper_{}_{i}", compiler.c));
            build_source(compiler.cpp, flags, &source, &out, true);
            expect(&out, &[], &["wrapper ok"]);
        }
    }
    under_valgrind(&scratch("wrapper_gcc_0"), &[]);
    under_valgrind(&scratch("wrapper_gcc_3"), &[]);
}
