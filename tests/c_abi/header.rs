//! The headers: mlcp.h is what the build generates and what the library exports; all three stand alone in their
//! languages; mlcp_error.h gives the same bits as the library.

use crate::toolchain::{compile, library_dir, root, run_ok, COMPILERS};
use mlcp::metrics::{
    duality_gap_row, energy_row, fischer_burmeister_row, merit_row, natural_row, penalized_row, Disc, DEFAULT_LAMBDA,
};
use mlcp::{Measure, Settings, SolverKind};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn scratch(name: &str) -> PathBuf {
    crate::toolchain::scratch("header", name)
}

fn header() -> String {
    fs::read_to_string(root().join("include/mlcp.h")).expect("include/mlcp.h")
}

/// Names of the functions that mlcp.h declares.
fn declared() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let text = header();
    let code = text.lines().map(|l| l.split("//").next().unwrap_or("")).filter(|l| !l.starts_with([' ', '/']));
    for line in code {
        if let Some(end) = line.find('(') {
            let begin = line[..end].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
            if line[begin..end].starts_with("mlcp_") {
                names.insert(line[begin..end].to_string());
            }
        }
    }
    assert!(names.len() > 30, "the header was not understood: {names:?}");
    names
}

#[test]
fn committed_header_is_the_generated_one() {
    let generated = fs::read_to_string(concat!(env!("OUT_DIR"), "/mlcp.h")).expect("written by build.rs");
    assert!(generated == header(), "include/mlcp.h is stale: run `MLCP_WRITE_HEADER=1 cargo build` and commit it");
}

/// The limits that hold where settings say 0 stand with each solver in the header.
#[test]
fn the_header_has_every_solvers_default_limits() {
    let text = header();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let settings = Settings::default();
    for kind in SolverKind::ALL {
        let ending = format!(" = {},", kind as i32);
        let at = |l: &&str| l.starts_with("MLCP_SOLVER_KIND_") && l.ends_with(&ending);
        let k = lines.iter().position(at).unwrap_or_else(|| panic!("{} is not in mlcp.h", kind.name()));
        let or_none = |number: usize| if number == usize::MAX { "none".to_string() } else { number.to_string() };
        let (iterations, window) = (or_none(kind.default_iterations()), or_none(settings.stall_window(kind)));
        let interval = settings.interval(kind);
        let wanted = format!("// max_iterations {iterations}, check_interval {interval}, stall_window {window}.");
        assert_eq!(lines[k - 1], wanted, "{}", kind.name());
    }
}

/// Where a C programmer looks: the chapters, and what stands in each among others.
const CHAPTERS: [(&str, &[&str]); 11] = [
    ("Version and errors", &["mlcp_version", "mlcp_status", "mlcp_last_error"]),
    ("Problem", &["mlcp_problem_create", "mlcp_problem_set_jacobian", "mlcp_problem_set_friction"]),
    ("Settings", &["mlcp_settings", "mlcp_solver_kind", "mlcp_settings_init"]),
    ("Solve", &["mlcp_solver_create", "mlcp_solver_solve", "mlcp_callback", "mlcp_executor"]),
    ("Report", &["mlcp_report", "mlcp_outcome_name", "mlcp_iteration", "mlcp_solver_get_stage"]),
    ("Measures", &["mlcp_measure", "mlcp_problem_measure", "mlcp_energy_error", "mlcp_duality_gap"]),
    ("Friction cones", &["mlcp_problem_set_cones"]),
    ("Diagnosis and projection", &["mlcp_findings", "mlcp_problem_diagnose", "mlcp_projection_create"]),
    ("Frames", &["mlcp_bodies", "mlcp_frame_create", "mlcp_contact_state"]),
    ("Recordings", &["mlcp_recorder_create", "mlcp_dataset_open", "mlcp_frame_solution"]),
    ("ALI3-P: mechanisms through time", &["mlcp_evaluate", "mlcp_ali3p_model", "mlcp_ali3p_step"]),
];

#[test]
fn chapters_come_in_the_order_of_use() {
    let text = header();
    let mut parts = text.split("\n/* ---- ");
    let before = parts.next().expect("a beginning");
    assert!(!before.contains("mlcp_status mlcp_"), "a declaration stands before the first chapter");
    let (headings, bodies): (Vec<_>, Vec<_>) = parts.map(|p| p.split_once(" ---- */\n").expect("a heading")).unzip();
    assert_eq!(headings, CHAPTERS.map(|(heading, _)| heading));
    for ((heading, names), body) in CHAPTERS.iter().zip(bodies) {
        let code: Vec<&str> = body.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
        for name in *names {
            let defines = |l: &&str| {
                [
                    format!("MLCP_ENUM({name}) {{"),
                    format!("struct {name} {{"),
                    format!("{name}("),
                    format!("(*{name})("),
                ]
                .iter()
                .any(|d| l.contains(d))
            };
            assert!(code.iter().any(defines), "{name} is not in \"{heading}\"");
        }
    }
}

/// The lines of the example in mlcp.h's first comment.
fn example() -> String {
    let text = header();
    let lines = text.lines().skip_while(|l| *l != " * Create, set, solve, read, destroy:").skip(2);
    lines.map_while(|l| l.strip_prefix(" *     ")).flat_map(|l| [l, "\n"]).collect()
}

#[test]
fn the_example_at_the_top_solves() {
    let lines = example();
    assert_eq!(lines.lines().count(), 10, "{lines}");
    let search = format!("-L{}", library_dir().display());
    for (compiler, standard, ending) in
        COMPILERS.iter().flat_map(|c| [(c.c, "-std=c99", "c"), (c.cpp, "-std=c++11", "cpp")])
    {
        let (source, binary) = (scratch(&format!("example.{ending}")), scratch("example"));
        let includes = "#include \"mlcp.h\"\n#include <math.h>\n#include <stdio.h>\n";
        fs::write(&source, format!("{includes}int main(void)\n{{\n{lines}return 0;\n}}\n")).expect("write");
        compile(compiler, &[standard], &source, &binary, &[&search, "-lmlcp", "-lm"]);
        let no_args: [&str; 0] = [];
        let printed = run_ok(binary.to_str().expect("UTF-8 path"), no_args);
        assert!(printed.starts_with("converged: x = 0.333333, 0.333333 N s"), "{printed}");
    }
}

/// Every enum of mlcp.h as a parameter, a variable, a constant and an int32_t.
#[test]
fn enums_and_int32_convert_without_a_warning() {
    let text = header();
    let enums: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("MLCP_ENUM(")?.strip_suffix(") {")).collect();
    assert!(enums.len() >= 13, "{enums:?}");
    let mut source = String::from("#include \"mlcp.h\"\n#include \"mlcp_error.h\"\n");
    source += "int32_t take(int32_t number);\nint32_t take(int32_t number) { return number; }\n";
    for name in &enums {
        source += &format!(
            "int32_t from_{name}({name} value);\nint32_t from_{name}({name} value) {{ return take(value); }}\n"
        );
    }
    source += r#"
int all(mlcp_status status, mlcp_outcome outcome, mlcp_reason reason, mlcp_solver_kind kind, mlcp_contact_state state, int32_t k);
int all(mlcp_status status, mlcp_outcome outcome, mlcp_reason reason, mlcp_solver_kind kind, mlcp_contact_state state, int32_t k)
{
    const char *names[] = {
        mlcp_status_name(status), mlcp_status_name(k), mlcp_status_name(MLCP_STATUS_FILE),
        mlcp_status_name(mlcp_problem_create(NULL)), mlcp_status_name(k > 1 ? MLCP_STATUS_OK : MLCP_STATUS_BUSY),
        mlcp_outcome_name(outcome), mlcp_outcome_name(k), mlcp_outcome_name(MLCP_OUTCOME_RAY),
        mlcp_reason_text(reason), mlcp_reason_text(k), mlcp_reason_text(MLCP_REASON_CONES),
        mlcp_solver_kind_name(kind), mlcp_solver_kind_name(k), mlcp_solver_kind_name(MLCP_SOLVER_KIND_BPP),
        mlcp_contact_state_name(state), mlcp_contact_state_name(k), mlcp_contact_state_name(MLCP_CONTACT_STATE_OPEN),
    };
    mlcp_settings settings;
    mlcp_report report;
    double total = 0.0;
    status = mlcp_settings_init(&settings, sizeof settings);
    settings.solver = kind;
    settings.choice = k > 1 ? MLCP_MEASURE_ENERGY : MLCP_MEASURE_NATURAL;
    report.outcome = outcome;
    status = mlcp_problem_measure(NULL, settings.choice, NULL, 0, NULL, 0, &total);
    return status == MLCP_STATUS_OK && report.outcome == MLCP_OUTCOME_CONVERGED && names[0] != names[1];
}
"#;
    let flags = ["-Wconversion", "-Wsign-conversion", "-Wfloat-equal", "-Wdouble-promotion", "-Wshadow", "-c"];
    for standard in ["c99", "c11", "c17", "c2x", "c++11", "c++14", "c++17", "c++20"] {
        let is_cpp = standard.contains("++");
        let file = scratch(if is_cpp { "enums.cpp" } else { "enums.c" });
        fs::write(&file, &source).expect("write");
        for compiler in &COMPILERS {
            let mut all = vec![format!("-std={standard}")];
            all.extend(flags.map(String::from));
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            compile(if is_cpp { compiler.cpp } else { compiler.c }, &all, &file, &scratch("enums.o"), &[]);
        }
    }
}

#[test]
fn version_macros_are_the_package_version() {
    let text = header();
    let part = |name: &str| {
        let start = format!("#define MLCP_VERSION_{name} ");
        text.lines().find_map(|l| l.strip_prefix(&start)).unwrap_or_else(|| panic!("no {start}")).trim().to_string()
    };
    assert_eq!([part("MAJOR"), part("MINOR"), part("PATCH")].join("."), env!("CARGO_PKG_VERSION"));
}

#[test]
fn exports_are_the_declared_functions_and_nothing_else() {
    let library = library_dir().join("libmlcp.so");
    let printed = run_ok("nm", ["-D", "--defined-only", "--format=posix", library.to_str().expect("UTF-8 path")]);
    let exported: BTreeSet<String> = printed
        .lines()
        .filter_map(|l| l.split_whitespace().next())
        .map(|name| name.split('@').next().unwrap().to_string())
        .collect();
    let declared = declared();
    let missing: Vec<_> = declared.difference(&exported).collect();
    let extra: Vec<_> = exported.difference(&declared).collect();
    assert!(missing.is_empty(), "declared in mlcp.h but not exported: {missing:?}");
    assert!(extra.is_empty(), "exported but not declared in mlcp.h: {extra:?}");
}

#[test]
fn cpp_wrapper_covers_every_function() {
    let wrapper = fs::read_to_string(root().join("include/mlcp.hpp")).expect("include/mlcp.hpp");
    // Texts for numbers and back: nothing to wrap.
    let plain = ["mlcp_status_name", "mlcp_solver_kind_name", "mlcp_solver_kind_from_name", "mlcp_contact_state_name"];
    let missing: Vec<_> = declared()
        .into_iter()
        .filter(|f| {
            !plain.contains(&f.as_str()) && !wrapper.contains(&format!("{f}("))
            // The measures are passed on by name.
            && !wrapper.contains(&format!("{f},"))
        })
        .collect();
    assert!(missing.is_empty(), "not in mlcp.hpp: {missing:?}");
}

#[test]
fn headers_stand_alone_and_together() {
    let cases: [(&str, &str, &[&str]); 5] = [
        ("mlcp_h", "#include \"mlcp.h\"\n", &["c99", "c11", "c++17", "c++20"]),
        ("mlcp_error_h", "#include \"mlcp_error.h\"\n", &["c99", "c11", "c++17", "c++20"]),
        ("mlcp_hpp", "#include \"mlcp.hpp\"\n", &["c++17", "c++20"]),
        (
            "both",
            "#include \"mlcp_error.h\"\n#include \"mlcp.h\"\n#include \"mlcp.h\"\n#include \"mlcp_error.h\"\n",
            &["c99", "c++17"],
        ),
        ("all", "#include \"mlcp.hpp\"\n#include \"mlcp_error.h\"\n#include \"mlcp.hpp\"\n", &["c++17", "c++20"]),
    ];
    for (name, text, standards) in cases {
        for standard in standards {
            let is_cpp = standard.contains("++");
            let source = scratch(&format!("{name}_{standard}.{}", if is_cpp { "cpp" } else { "c" }));
            // A file with nothing but includes is empty in the eyes of -Wpedantic.
            fs::write(&source, format!("{text}\nint nothing(void);\nint nothing(void) {{ return 0; }}\n"))
                .expect("write");
            for compiler in &COMPILERS {
                let tool = if is_cpp { compiler.cpp } else { compiler.c };
                compile(
                    tool,
                    &[&format!("-std={standard}"), "-Wconversion", "-Wshadow", "-c"],
                    &source,
                    &scratch("object.o"),
                    &[],
                );
            }
        }
    }
}

/// Rows to measure, column by column: diagonal, x, w, lo, hi.
type Columns = [Vec<f64>; 5];

/// A linear congruential generator (Knuth's MMIX constants); the upper bits are good enough here.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
    fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / (1u64 << 30) as f64
    }
    /// A number of either sign whose magnitude is spread over powers of ten.
    fn spread(&mut self, low: f64, high: f64) -> f64 {
        let magnitude = 10f64.powf(low + (high - low) * self.unit());
        if self.below(2) == 0 {
            magnitude
        } else {
            -magnitude
        }
    }
}

/// Rows of everyday size, whose sums mean something.
fn everyday(n: usize) -> Columns {
    let mut random = Lcg(20190401);
    let mut columns = Columns::default();
    for _ in 0..n {
        let (lo, hi) = match random.below(4) {
            0 => (0.0, f64::INFINITY),
            1 => (f64::NEG_INFINITY, f64::INFINITY),
            2 => (f64::NEG_INFINITY, 0.0),
            _ => {
                let half = random.unit();
                (-half, half)
            }
        };
        let x = match random.below(4) {
            0 if lo.is_finite() => lo,
            1 if hi.is_finite() => hi,
            _ => random.spread(-3.0, 1.0),
        };
        let w = if random.below(4) == 0 { 0.0 } else { random.spread(-4.0, 1.0) };
        for (column, value) in columns.iter_mut().zip([random.spread(-3.0, 3.0).abs(), x, w, lo, hi]) {
            column.push(value);
        }
    }
    columns
}

/// Every combination of special values, and rows of extreme size.
fn extreme(n: usize) -> Columns {
    let bounds = [
        f64::NEG_INFINITY,
        -1e300,
        -1e10,
        -9.999999999e9,
        -1.0,
        -1e-300,
        -0.0,
        0.0,
        5e-324,
        1e-8,
        1.0,
        9.999999999e9,
        1e10,
        1e300,
        f64::INFINITY,
    ];
    let values = [-1e300, -1e10, -1.0, -1e-160, -5e-324, -0.0, 0.0, 5e-324, 1e-160, 0.5, 1.0, 1e10, 1e300, f64::MAX];
    let diagonals = [5e-324, f64::MIN_POSITIVE, 1e-12, 1.0, 3.0, 1e12, 1e300, f64::MAX];
    let mut random = Lcg(7);
    let mut columns = Columns::default();
    while columns[0].len() < n {
        let (mut lo, mut hi) = (bounds[random.below(bounds.len())], bounds[random.below(bounds.len())]);
        if lo > hi {
            (lo, hi) = (hi, lo);
        }
        if lo == f64::INFINITY || hi == f64::NEG_INFINITY {
            continue;
        }
        let mut value = |near: [f64; 2]| match random.below(5) {
            0 | 1 if near[0].is_finite() => near[random.below(2)],
            2 => random.spread(-320.0, 300.0),
            _ => values[random.below(values.len())],
        };
        let near = if lo.is_finite() && hi.is_finite() { [lo, hi] } else { [f64::NAN; 2] };
        let (x, w) = (value(near), value([f64::NAN; 2]));
        let a = diagonals[random.below(diagonals.len())];
        for (column, v) in columns.iter_mut().zip([a, x, w, lo, hi]) {
            column.push(v);
        }
    }
    columns
}

/// The library's row errors, one list per measure in the order in which BITS writes them.
fn expected(columns: &Columns) -> Vec<Vec<f64>> {
    let [a, x, w, lo, hi] = columns;
    let all = |row: &dyn Fn(f64, f64, f64, f64, f64) -> f64| {
        (0..x.len()).map(|i| row(a[i], x[i], w[i], lo[i], hi[i])).collect::<Vec<_>>()
    };
    vec![
        all(&|a, x, w, lo, hi| energy_row(a, x, w, lo, hi)),
        all(&|_, x, w, lo, hi| fischer_burmeister_row(x, w, lo, hi)),
        all(&|_, x, w, lo, hi| natural_row(x, w, lo, hi)),
        all(&|_, x, w, lo, hi| merit_row(x, w, lo, hi)),
        all(&|_, x, w, lo, hi| penalized_row(x, w, lo, hi, DEFAULT_LAMBDA)),
        all(&|_, x, w, lo, hi| duality_gap_row(x, w, lo, hi)),
    ]
}

const NAMES: [&str; 6] = ["energy", "fischer_burmeister", "natural", "merit", "penalized", "duality_gap"];

/// Reads the columns, writes n row errors and a total per measure. Also holds the header against the library's own C
/// functions and the float twins against the same numbers widened; the exit status names what differs.
const BITS: &str = r#"
#include "mlcp.h"
#include "mlcp_error.h"
#include <stdio.h>
#include <string.h>
enum { N = ROWS };
static double d[5][N], rows[N], other[N], wide[5][N];
static float f[5][N];
static int differ(double total, double total2) { return memcmp(rows, other, sizeof rows) != 0 || memcmp(&total, &total2, sizeof total) != 0; }
#define PUT(total) do { if (fwrite(rows, sizeof *rows, N, out) != N || fwrite(&total, sizeof total, 1, out) != 1) return 3; } while (0)
#define MEASURE(function, library, code) do { \
    t = function(N, d[1], d[2], d[3], d[4], rows); PUT(t); \
    if (library(N, d[1], d[2], d[3], d[4], other, &u) != MLCP_STATUS_OK || differ(t, u)) return code; \
    t = function(N, wide[1], wide[2], wide[3], wide[4], rows); \
    u = function##_f32(N, f[1], f[2], f[3], f[4], other); \
    if (differ(t, u)) return code + 1; } while (0)
int main(int argc, char **argv)
{
    FILE *in = fopen(argc > 2 ? argv[1] : "", "rb"), *out = fopen(argc > 2 ? argv[2] : "", "wb");
    double t, u;
    if (in == NULL || out == NULL || fread(d, sizeof d, 1, in) != 1) return 3;
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < N; i++) {
            /* Finite doubles beyond float would become infinite, tiny diagonals zero: keep them in range. */
            double v = d[k][i] > 1e30 ? 1e30 : d[k][i] < -1e30 ? -1e30 : d[k][i];
            f[k][i] = (float)(k == 0 && v < 1e-30 ? 1e-30 : v);
            wide[k][i] = f[k][i];
        }
    }
    t = mlcp_error_energy(N, d[0], d[1], d[2], d[3], d[4], rows); PUT(t);
    if (mlcp_energy_error(N, d[0], d[1], d[2], d[3], d[4], other, &u) != MLCP_STATUS_OK || differ(t, u)) return 10;
    t = mlcp_error_energy(N, wide[0], wide[1], wide[2], wide[3], wide[4], rows);
    u = mlcp_error_energy_f32(N, f[0], f[1], f[2], f[3], f[4], other);
    if (differ(t, u)) return 11;
    MEASURE(mlcp_error_fischer_burmeister, mlcp_fischer_burmeister_error, 20);
    MEASURE(mlcp_error_natural, mlcp_natural_error, 30);
    MEASURE(mlcp_error_merit, mlcp_merit_error, 40);
    t = mlcp_error_penalized(N, d[1], d[2], d[3], d[4], MLCP_ERROR_LAMBDA, rows); PUT(t);
    if (mlcp_penalized_error(N, d[1], d[2], d[3], d[4], 0.95, other, &u) != MLCP_STATUS_OK || differ(t, u)) return 50;
    MEASURE(mlcp_error_duality_gap, mlcp_duality_gap, 60);
    return fclose(out) == 0 ? 0 : 3;
}
"#;

#[test]
fn error_header_gives_the_librarys_bits() {
    const ROWS: usize = 6000;
    let search = format!("-L{}", library_dir().display());
    // Optimised and not, ISO and GNU mode (which may fuse multiply and add), the fused instructions of this machine.
    let ways: [&[&str]; 4] = [
        &["-std=c99", "-O0"],
        &["-std=c11", "-O3"],
        &["-std=gnu11", "-O3", "-march=native"],
        &["-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast"],
    ];
    for (case, columns) in [("everyday", everyday(ROWS)), ("extreme", extreme(ROWS))] {
        let wanted = expected(&columns);
        let (input, output, source) =
            (scratch(&format!("{case}.in")), scratch(&format!("{case}.out")), scratch("bits.c"));
        fs::write(&input, columns.iter().flatten().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>()).expect("write");
        fs::write(&source, BITS.replace("ROWS", &ROWS.to_string())).expect("write");
        for compiler in &COMPILERS {
            for flags in ways {
                let binary = scratch("bits");
                compile(compiler.c, flags, &source, &binary, &[&search, "-lmlcp", "-lm"]);
                run_ok(binary.to_str().expect("UTF-8 path"), [&input, &output]);
                let bytes = fs::read(&output).expect("read");
                let found: Vec<f64> =
                    bytes.chunks_exact(8).map(|c| f64::from_ne_bytes(c.try_into().unwrap())).collect();
                assert_eq!(found.len(), NAMES.len() * (ROWS + 1));
                for (k, name) in NAMES.iter().enumerate() {
                    let (rows, total) = found[k * (ROWS + 1)..(k + 1) * (ROWS + 1)].split_at(ROWS);
                    for i in 0..ROWS {
                        let row: Vec<f64> = columns.iter().map(|c| c[i]).collect();
                        let (f, w) = (rows[i], wanted[k][i]);
                        assert!(
                            f.to_bits() == w.to_bits(),
                            "{name}, {case} row {i}, {} {flags:?}: (a, x, w, lo, hi) = {row:?} gives {f:e}, the library {w:e}",
                            compiler.c
                        );
                        assert!(!f.is_nan() && f >= 0.0, "{name} of {row:?} is {f}");
                    }
                    let sum = wanted[k].iter().fold(0.0, |sum, e| sum + e);
                    assert!(
                        total[0].to_bits() == sum.to_bits(),
                        "total of {name}, {case}: {:e} instead of {sum:e}",
                        total[0]
                    );
                    assert!(case != "everyday" || *name == "duality_gap" || sum.is_finite());
                }
            }
        }
    }
}

/// Reads (a1, a2, x1, x2, w1, w2, mu, x_n) per line of eight doubles, writes energy and natural residual.
const DISC_BITS: &str = r#"
#include "mlcp_error.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    FILE *in = fopen(argc > 2 ? argv[1] : "", "rb"), *out = fopen(argc > 2 ? argv[2] : "", "wb");
    double d[8], e[2];
    const double nan[2] = {NAN, 0.0};
    if (in == NULL || out == NULL) return 3;
    while (fread(d, sizeof d, 1, in) == 1) {
        const double radius = mlcp_error_disc_radius(d[6], d[7]);
        e[0] = mlcp_error_energy_disc(d, d + 2, d + 4, radius);
        e[1] = mlcp_error_natural_disc(d + 2, d + 4, radius);
        if (fwrite(e, sizeof e, 1, out) != 1) return 3;
        if (mlcp_error_energy_disc(d, nan, d + 4, 1.0) != MLCP_ERROR_INVALID) return 4;
        if (mlcp_error_energy_disc(nan, d + 2, d + 4, 1.0) != MLCP_ERROR_INVALID) return 5;
        if (mlcp_error_natural_disc(d + 2, nan, 1.0) != MLCP_ERROR_INVALID) return 6;
        if (mlcp_error_natural_disc(d + 2, d + 4, -1.0) != MLCP_ERROR_INVALID) return 7;
    }
    return fclose(out) == 0 ? 0 : 3;
}
"#;

#[test]
fn error_header_gives_the_librarys_bits_on_friction_cones() {
    let mut random = Lcg(11);
    let mut lines: Vec<[f64; 8]> = Vec::new();
    for k in 0..4000 {
        let range = if k % 4 == 0 { (-150.0, 150.0) } else { (-3.0, 2.0) };
        let mut line: [f64; 8] = std::array::from_fn(|_| random.spread(range.0, range.1));
        (line[0], line[1], line[6]) = (line[0].abs(), line[1].abs(), line[6].abs());
        match random.below(6) {
            0 => (line[4], line[5]) = (0.0, 0.0),
            1 => (line[2], line[3]) = (0.0, 0.0),
            2 => line[6] = f64::INFINITY,
            _ => {}
        }
        lines.push(line);
    }
    let (input, output, source) = (scratch("disc.in"), scratch("disc.out"), scratch("disc.c"));
    fs::write(&input, lines.iter().flatten().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>()).expect("write");
    fs::write(&source, DISC_BITS).expect("write");
    for compiler in &COMPILERS {
        for flags in [["-std=c99", "-O0"], ["-std=gnu11", "-O3"], ["-O3", "-march=native"]] {
            let binary = scratch("disc");
            compile(compiler.c, &flags, &source, &binary, &["-lm"]);
            run_ok(binary.to_str().expect("UTF-8 path"), [&input, &output]);
            let bytes = fs::read(&output).expect("read");
            let found: Vec<f64> = bytes.chunks_exact(8).map(|c| f64::from_ne_bytes(c.try_into().unwrap())).collect();
            assert_eq!(found.len(), 2 * lines.len());
            for (line, found) in lines.iter().zip(found.chunks_exact(2)) {
                let [a1, a2, x1, x2, w1, w2, mu, normal] = *line;
                let radius = if normal > 0.0 { mu * normal } else { 0.0 };
                let disc = Disc { diagonal: [a1, a2], x: [x1, x2], w: [w1, w2], radius };
                for (found, measure) in found.iter().zip([Measure::Energy, Measure::Natural]) {
                    let wanted = disc.error(measure);
                    assert!(found.to_bits() == wanted.to_bits(), "{measure:?} of {disc:?}: {found:e}, not {wanted:e}");
                }
            }
        }
    }
}

/// One bad number at a time: the header says -1 and the row, the library refuses, nothing is written.
const INVALID: &str = r#"
#include "mlcp.h"
#include "mlcp_error.h"
#include <stdio.h>
#define FAIL(k) do { printf("case %d, line %d\n", k, __LINE__); return 1; } while (0)
int main(void)
{
    const double nan = NAN, inf = HUGE_VAL;
    const struct { int column; double value; } bad[] = {
        {0, 0.0}, {0, -1.0}, {0, nan}, {0, inf}, {1, nan}, {1, inf}, {1, -inf}, {2, nan}, {2, inf}, {2, -inf},
        {3, nan}, {3, inf}, {3, 1e10}, {3, 6.0}, {4, nan}, {4, -inf}, {4, -1e10}, {4, -1.0},
    };
    const int cases = (int)(sizeof bad / sizeof *bad);
    for (int k = 0; k < cases; k++) {
        double d[5][3] = {{1, 1, 1}, {1, 2, 3}, {1, -1, 1}, {0, 0, 0}, {5, 5, 5}}, rows[3] = {-7, -7, -7}, t = -7;
        float f[5][3];
        if (mlcp_error_check(3, d[0], d[1], d[2], d[3], d[4]) != MLCP_ERROR_NO_ROW) FAIL(k);
        d[bad[k].column][2] = bad[k].value;
        for (int c = 0; c < 5; c++) for (int i = 0; i < 3; i++) f[c][i] = (float)d[c][i];
        if (mlcp_error_check(3, d[0], d[1], d[2], d[3], d[4]) != 2) FAIL(k);
        if (mlcp_error_check_f32(3, f[0], f[1], f[2], f[3], f[4]) != 2) FAIL(k);
        if (mlcp_error_energy(3, d[0], d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
        if (mlcp_error_energy_f32(3, f[0], f[1], f[2], f[3], f[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
        if (mlcp_energy_error(3, d[0], d[1], d[2], d[3], d[4], rows, &t) == MLCP_STATUS_OK) FAIL(k);
        if (bad[k].column > 0) {
            if (mlcp_error_natural(3, d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
            if (mlcp_error_merit(3, d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
            if (mlcp_error_penalized(3, d[1], d[2], d[3], d[4], 0.95, rows) != MLCP_ERROR_INVALID) FAIL(k);
            if (mlcp_error_duality_gap(3, d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
            if (mlcp_error_fischer_burmeister(3, d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
        }
        if (rows[0] != -7 || rows[2] != -7 || t != -7) FAIL(k);
        for (int i = 0; i < 3; i++) d[0][i] = d[1][i] = d[2][i] = d[3][i] = d[4][i] = 1;
        if (mlcp_error_penalized(3, d[1], d[2], d[3], d[4], k % 2 ? 0.0 : nan, rows) != MLCP_ERROR_INVALID) FAIL(k);
        if (mlcp_error_energy(3, NULL, d[1], d[2], d[3], d[4], rows) != MLCP_ERROR_INVALID) FAIL(k);
        if (mlcp_error_energy(0, NULL, NULL, NULL, NULL, NULL, NULL) != 0.0) FAIL(k);
    }
    return 0;
}
"#;

#[test]
fn error_header_refuses_what_the_library_refuses() {
    let (source, search) = (scratch("invalid.c"), format!("-L{}", library_dir().display()));
    fs::write(&source, INVALID).expect("write");
    for compiler in &COMPILERS {
        let binary = scratch("invalid");
        compile(compiler.c, &["-std=c99", "-O2"], &source, &binary, &[&search, "-lmlcp", "-lm"]);
        let no_args: [&str; 0] = [];
        run_ok(binary.to_str().expect("UTF-8 path"), no_args);
    }
}
