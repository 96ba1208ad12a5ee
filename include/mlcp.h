/*
 * libmlcp: contact and friction, solved step by step, with the error in joules.
 *
 *     w = A x + b,   lo <= x <= hi,   w >= 0 where x = lo,  w <= 0 where x = hi,  w = 0 between
 *
 * x: impulses (N s, N m s)   w: velocities (m/s, rad/s)   A = J M^-1 J^T + C, symmetric positive semidefinite, may be singular
 *
 * Create, set, solve, read, destroy:
 *
 *     double A[] = {2, 1, 1, 2}, b[] = {-1, -1}, lo[] = {0, 0}, hi[] = {INFINITY, INFINITY}, x[2];
 *     mlcp_problem *problem; mlcp_solver *solver; mlcp_report report;
 *     mlcp_report_init(&report, sizeof report);
 *     if (mlcp_problem_create(&problem) != MLCP_STATUS_OK || mlcp_solver_create(NULL, &solver) != MLCP_STATUS_OK) return 1;
 *     mlcp_problem_set_dense(problem, 2, A, 4, 2, MLCP_TRIANGLE_FULL);
 *     mlcp_problem_set_b(problem, b, 2);
 *     mlcp_problem_set_bounds(problem, lo, 2, hi, 2);
 *     if (mlcp_solver_solve(solver, problem, NULL, 0, x, 2, &report) != MLCP_STATUS_OK) puts(mlcp_last_error());
 *     printf("%s: x = %g, %g N s, wrong by %g J\n", mlcp_outcome_name(report.outcome), x[0], x[1], report.energy_error);
 *     mlcp_solver_destroy(solver); mlcp_problem_destroy(problem);
 *
 * A problem (mlcp_problem) is refilled every step; a solver (mlcp_solver) keeps its memory between steps. Calls return an
 * mlcp_status: was the call legal? mlcp_last_error() has the sentence. What a solve achieved is in its mlcp_report. The
 * library never exits or aborts, prints nothing (but Rust's message should a defect in it be caught), keeps no globals,
 * and writes no output of a call that fails.
 *
 * Chapters: version and errors, problem, settings, solve, report, measures, friction cones, diagnosis and projection,
 * frames, recordings, ALI3-P.
 *
 * Generated from src/ffi by cbindgen and build.rs; do not edit. Licence: MIT OR Apache-2.0.
 */

#ifndef MLCP_H
#define MLCP_H

#include <stddef.h>
#include <stdint.h>

#define MLCP_VERSION_MAJOR 0
#define MLCP_VERSION_MINOR 1
#define MLCP_VERSION_PATCH 0

/* mlcp_settings.choice: return the last iterate instead of the best. */
#define MLCP_CHOICE_LAST (-1)

/*
 * An enum of exactly 32 bits, which passes to and from int32_t without a cast or a warning: in C++ its underlying type is
 * int32_t (C++11), in C its name is int32_t and its constants are int.
 */
#ifdef __cplusplus
#define MLCP_ENUM(name) enum name : int32_t
#else
#define MLCP_ENUM(name) typedef int32_t name; enum
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and errors ---- */

// Was the call legal? Says nothing about how well a problem was solved: that is the outcome.
//
// Numbers are part of the ABI and never reused. `mlcp_last_error()` has the sentence to each.
MLCP_ENUM(mlcp_status) {
    // The call did what it says.
    MLCP_STATUS_OK = 0,
    // A pointer that may not be NULL is NULL.
    MLCP_STATUS_NULL_ARGUMENT = 1,
    // A length does not fit the problem, or a size overflows.
    MLCP_STATUS_INVALID_SIZE = 2,
    // A number is NaN, infinite or out of range where that is not allowed.
    MLCP_STATUS_INVALID_VALUE = 3,
    // A row, column or body index is out of range or out of order.
    MLCP_STATUS_INVALID_INDEX = 4,
    // The solver or measure cannot treat this problem.
    MLCP_STATUS_UNSUPPORTED = 5,
    // A row has a diagonal a_ii <= 0, so it has no effective mass and no energy.
    MLCP_STATUS_NO_ENERGY = 6,
    // The matrix is singular where its inverse is needed.
    MLCP_STATUS_SINGULAR = 7,
    // Something must be set first, or does not go with what was set.
    MLCP_STATUS_INVALID_STATE = 8,
    // The handle is in use: a call from inside its own callback, or from another thread.
    MLCP_STATUS_BUSY = 9,
    // Memory could not be had.
    MLCP_STATUS_OUT_OF_MEMORY = 10,
    // A defect in libmlcp was caught at the boundary; the handle only accepts destroy.
    MLCP_STATUS_INTERNAL = 11,
    // A file cannot be opened, read or written, or is not what it claims to be.
    MLCP_STATUS_FILE = 12,
};

// Version of the library, for example "0.1.0". Static text. Any thread. Since 0.1.
const char *mlcp_version(void);

// Name of an mlcp_status, "unknown" for any other number. Static text. Any thread. Since 0.1.
const char *mlcp_status_name(int32_t status);

// Sentence of the last call on this thread that did not return MLCP_STATUS_OK; empty if none.
//
// It names the argument, the index and the value. Valid until the next failing call on this thread; never NULL; do
// not free it. Any thread; allocates nothing. Since 0.1.
const char *mlcp_last_error(void);

/* ---- Problem ---- */

// Which entries of a dense matrix the caller filled. Numbers are part of the ABI.
MLCP_ENUM(mlcp_triangle) {
    // All of them.
    MLCP_TRIANGLE_FULL = 0,
    // Only j <= i; the matrix is symmetric. ODE fills its matrices so.
    MLCP_TRIANGLE_LOWER = 1,
};

// How friction bounds depend on normal impulses. Numbers are part of the ABI.
MLCP_ENUM(mlcp_friction_mode) {
    // Bounds follow the current iterate.
    MLCP_FRICTION_MODE_COUPLED = 0,
    // Bounds are evaluated once, at the normal impulses given by `mlcp_problem_set_frozen_normals`.
    MLCP_FRICTION_MODE_FROZEN = 1,
};

// Problem of one step: find x and w with w = A x + b, lo <= x <= hi, and w complementary (w >= 0 at lo, <= 0 at hi, 0
// between). Units are the caller's: with impulses in N s and velocities in m/s all energies are joules.
//
// Refill it every step: a set_dense, set_csr or set_jacobian starts a new problem with b = 0, all rows free and no
// friction. Memory is kept, so a refill no larger than an earlier one allocates nothing. A call that fails leaves the
// problem as it was. Threads may read and solve one problem at the same time; changing it meanwhile answers BUSY.
typedef struct mlcp_problem mlcp_problem;

// Create an empty problem.
//
// out_problem: receives the handle, to be given to mlcp_problem_destroy. Any thread. Allocates the handle. Since 0.1.
mlcp_status mlcp_problem_create(mlcp_problem **out_problem);

// Destroy a problem; NULL is ignored.
//
// A problem that is being solved is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_problem_destroy(mlcp_problem *problem);

// Take memory for Jacobian problems of up to `rows` rows on `bodies` bodies, so that no refill up to that size
// allocates. Optional: refills grow the memory by themselves.
//
// Returns OUT_OF_MEMORY or INVALID_SIZE if so large a memory cannot be had. Since 0.1.
mlcp_status mlcp_problem_reserve(mlcp_problem *problem, size_t rows, size_t bodies);

// Start a problem with a dense matrix A of n rows.
//
// a: row i begins at a[i * row_stride] and has n entries; a_len counts doubles and must reach the last entry. With
// MLCP_TRIANGLE_LOWER only entries j <= i are read and mirrored, as ODE fills its matrices; with MLCP_TRIANGLE_FULL all
// are read, and A need not be symmetric for solvers that allow it. Entries must be finite. The data are copied.
// Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_dense(mlcp_problem *problem,
                                   size_t n,
                                   const double *a,
                                   size_t a_len,
                                   size_t row_stride,
                                   int32_t triangle);

// Start a problem with a sparse matrix A of n rows in compressed row storage.
//
// row_start: n + 1 offsets, the first 0, the last equal to the number of entries. columns, values: one per entry;
// columns rise strictly within each row, from 0. The lower and the upper triangle must be stored. Values must be
// finite. Copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_csr(mlcp_problem *problem,
                                 size_t n,
                                 const int32_t *row_start,
                                 size_t row_start_len,
                                 const int32_t *columns,
                                 size_t columns_len,
                                 const double *values,
                                 size_t values_len);

// Start a problem with two-body constraint rows: A = J M^-1 J^T + C, never formed.
//
// inverse_mass: 12 doubles per body: three inverse masses (1/kg, one per world axis), then the inverse inertia in world
// axes, 3 by 3 by rows (1/(kg m^2)), symmetric positive semidefinite; zeros for an immovable body.
// jacobian: 12 doubles per row: linear and angular part on the first body, then on the second.
// bodies: two body numbers per row, -1 for the world. compliance: C, one per row, >= 0 (velocity per impulse; a spring of
// stiffness k gives 1/(k h^2), a CFM in ODE's sense cfm/h); NULL with length 0 for none. All finite; copied.
// Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE (also where a_ii = J M^-1 J^T + C of a row overflows). Since 0.1.
mlcp_status mlcp_problem_set_jacobian(mlcp_problem *problem,
                                      const double *inverse_mass,
                                      size_t inverse_mass_len,
                                      const double *jacobian,
                                      size_t jacobian_len,
                                      const int32_t *bodies,
                                      size_t bodies_len,
                                      const double *compliance,
                                      size_t compliance_len);

// Set b of w = A x + b: the rows' velocities (m/s, rad/s) without any impulse. Engines that write A x = b + w (Bullet,
// ODE, DART) pass -b.
//
// b: one finite double per row; copied. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_b(mlcp_problem *problem, const double *b, size_t b_len);

// Set b of a Jacobian problem from the bodies' motion: b = J (v + h M^-1 f) + violation / h.
//
// h: step in seconds, > 0. velocities: six per body, linear (m/s) then angular (rad/s), at the beginning of the step.
// forces: six per body, force (N) then torque (N m), gravity included; NULL with length 0 for none. violation: one per
// row, the constraint's value (m, rad; negative: penetration), of which each step removes all: scale it to remove less;
// NULL with length 0 for none. Returns INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_motion(mlcp_problem *problem,
                                    double h,
                                    const double *velocities,
                                    size_t velocities_len,
                                    const double *forces,
                                    size_t forces_len,
                                    const double *violation,
                                    size_t violation_len);

// Set the bounds lo <= x <= hi (N s, N m s).
//
// Only an infinite bound (INFINITY, HUGE_VAL) is absent: translate your engine's number for it, such as Bullet's 1e10
// and FLT_MAX. Finite bounds of any size hold. lo and hi infinite: a joint; lo = hi: a fixed row, any w is right; a
// new problem has only free rows. On a friction row the bounds must contain 0 and cap the coupled ones. Copied.
// Returns INVALID_SIZE, INVALID_VALUE (NaN, lo = +inf, hi = -inf, lo > hi, or finite bounds whose distance hi - lo
// overflows). Since 0.1.
mlcp_status mlcp_problem_set_bounds(mlcp_problem *problem,
                                    const double *lo,
                                    size_t lo_len,
                                    const double *hi,
                                    size_t hi_len);

// Couple friction rows to normal rows: |x_i| <= mu_i max(x_f, 0) with f = findex[i].
//
// findex: per row its normal row, or -1 (or the row itself) for none; rows in any order; a normal row may not be a
// friction row. mu: >= 0, +inf allowed; read on friction rows only. mode: MLCP_FRICTION_MODE_COUPLED, bounds follow
// the impulses, and errors are measured with the bounds evaluated at the x measured; or MLCP_FRICTION_MODE_FROZEN,
// bounds are evaluated once at the impulses given to mlcp_problem_set_frozen_normals. Copied. Returns INVALID_SIZE,
// INVALID_INDEX, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_friction(mlcp_problem *problem,
                                      const int32_t *findex,
                                      size_t findex_len,
                                      const double *mu,
                                      size_t mu_len,
                                      int32_t mode);

// Give the normal impulses at which frozen friction bounds are evaluated, for example last step's;
// mlcp_solver_freeze_friction finds them as ODE's and Bullet's Dantzig solvers do.
//
// x: one finite double per row, of which normal rows are read. Returns INVALID_STATE if friction is coupled,
// INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_set_frozen_normals(mlcp_problem *problem, const double *x, size_t x_len);

// Number of rows; 0 for NULL or a problem that is being changed. Since 0.1.
size_t mlcp_problem_rows(const mlcp_problem *problem);

// Read the diagonal of A, one entry per row: inverse effective masses, 1/kg or 1/(kg m^2).
//
// out_diagonal: exactly one double per row. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_problem_get_diagonal(const mlcp_problem *problem, double *out_diagonal, size_t out_diagonal_len);

// Compute the bounds in force when the impulses are x, friction evaluated; on a cone's tangent rows minus and plus the
// radius.
//
// x, out_lo, out_hi: one double per row. Returns INVALID_SIZE, INVALID_VALUE, INVALID_STATE (frozen friction without
// normals). Since 0.1.
mlcp_status mlcp_problem_get_bounds(const mlcp_problem *problem,
                                    const double *x,
                                    size_t x_len,
                                    double *out_lo,
                                    size_t out_lo_len,
                                    double *out_hi,
                                    size_t out_hi_len);

// Compute w = A x + b, in m/s or rad/s.
//
// x, out_w: one double per row, not overlapping. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_get_w(const mlcp_problem *problem,
                               const double *x,
                               size_t x_len,
                               double *out_w,
                               size_t out_w_len);

// Compute the velocity changes of the bodies, M^-1 J^T x: add them to the velocities after a solve.
//
// x: one double per row. out_velocity_change: six per body, linear (m/s) then angular (rad/s). Returns INVALID_STATE
// for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_problem_get_velocity_change(const mlcp_problem *problem,
                                             const double *x,
                                             size_t x_len,
                                             double *out_velocity_change,
                                             size_t out_velocity_change_len);

/* ---- Settings ---- */

// The solvers. Numbers are part of the ABI.
//
// The comment of each says the limits that hold where mlcp_settings has 0. Where check_interval is 1 every iteration is
// measured, whatever mlcp_settings says.
MLCP_ENUM(mlcp_solver_kind) {
    // The solvers that suit the problem, one after the other, until one has solved it; the default.
    // max_iterations none, check_interval 1, stall_window 100.
    MLCP_SOLVER_KIND_AUTO = 0,
    // Block principal pivoting (Judice & Pires 1994) with an adaptive proximal term: exact, for symmetric A.
    // max_iterations 200, check_interval 1, stall_window 100.
    MLCP_SOLVER_KIND_BPP = 1,
    // Projected Gauss-Seidel, with relaxation: projected SOR.
    // max_iterations 1000, check_interval 32, stall_window 8.
    MLCP_SOLVER_KIND_PGS = 2,
    // Dantzig and Keller's principal pivoting, row by row: dense, for symmetric A.
    // max_iterations 20000, check_interval 16, stall_window 1000.
    MLCP_SOLVER_KIND_DANTZIG = 3,
    // Lemke's complementary pivoting: dense, A need not be symmetric nor its diagonal positive; tells rays.
    // max_iterations none, check_interval 64, stall_window none.
    MLCP_SOLVER_KIND_LEMKE = 4,
    // Semismooth Newton on the Fischer-Burmeister function: dense, A need not be symmetric nor its diagonal positive.
    // max_iterations 200, check_interval 1, stall_window 100.
    MLCP_SOLVER_KIND_FISCHER_NEWTON = 5,
    // Semismooth Newton on the min map: dense, A need not be symmetric nor its diagonal positive.
    // max_iterations 200, check_interval 1, stall_window 100.
    MLCP_SOLVER_KIND_MIN_MAP_NEWTON = 6,
    // Projected Jacobi with a safe relaxation.
    // max_iterations 4000, check_interval 32, stall_window 8.
    MLCP_SOLVER_KIND_JACOBI = 7,
    // Symmetric projected Gauss-Seidel: a sweep forward and one backward.
    // max_iterations 1000, check_interval 16, stall_window 16.
    MLCP_SOLVER_KIND_SYMMETRIC_PGS = 8,
    // Gauss-Seidel by contact: a normal row and its friction rows are solved together.
    // max_iterations 1000, check_interval 32, stall_window 8.
    MLCP_SOLVER_KIND_BLOCK_PGS = 9,
    // Spectral projected gradient (Birgin, Martinez, Raydan 2000), for symmetric A.
    // max_iterations 1000, check_interval 16, stall_window 16.
    MLCP_SOLVER_KIND_SPG = 10,
    // Accelerated projected gradient (Mazhar et al. 2015), for symmetric A.
    // max_iterations 1000, check_interval 16, stall_window 16.
    MLCP_SOLVER_KIND_APGD = 11,
    // Nonsmooth nonlinear conjugate gradients on Gauss-Seidel sweeps (Silcowitz-Hansen et al. 2010).
    // max_iterations 1000, check_interval 16, stall_window 16.
    MLCP_SOLVER_KIND_NNCG = 12,
    // Gradient projection with MINRES on the free rows (Heyn 2013), for symmetric A.
    // max_iterations 1000, check_interval 1, stall_window 50.
    MLCP_SOLVER_KIND_GP_MINRES = 13,
    // Gauss-Seidel sweeps with subspace minimisation (Silcowitz-Hansen et al. 2010), for symmetric A.
    // max_iterations 1000, check_interval 1, stall_window 50.
    MLCP_SOLVER_KIND_PGS_SM = 14,
    // Primal-dual interior point method (predictor-corrector, proximal): exact, for symmetric A.
    // max_iterations 400, check_interval 1, stall_window 200.
    MLCP_SOLVER_KIND_INTERIOR_POINT = 15,
    // Proximal semismooth Newton method on the dual, with exact line search: exact, for symmetric A.
    // max_iterations 200, check_interval 1, stall_window 100.
    MLCP_SOLVER_KIND_PROX_NEWTON = 16,
    // Projected fixed point on boxes and exact friction cones, all rows at once.
    // max_iterations 4000, check_interval 32, stall_window 8.
    MLCP_SOLVER_KIND_PROX = 17,
    // Projected Gauss-Seidel by contact on boxes and exact friction cones.
    // max_iterations 1000, check_interval 32, stall_window 8.
    MLCP_SOLVER_KIND_PROX_GS = 18,
    // Nonsmooth Newton method of Alart and Curnier on boxes and exact friction cones; A need not be symmetric.
    // max_iterations 1000, check_interval 1, stall_window 250.
    MLCP_SOLVER_KIND_ALART_CURNIER = 19,
    // Primal active set method (Lawson & Hanson 1974) on a dense tableau: exact, for small problems with symmetric A.
    // max_iterations 100, check_interval 1, stall_window 20.
    MLCP_SOLVER_KIND_ACTIVE_SET = 20,
};

// Settings of a solve. Fill the struct with mlcp_settings_init, then change fields.
typedef struct mlcp_settings {
    // Size of this struct in bytes, set by mlcp_settings_init.
    size_t struct_size;
    // Solver to use: an mlcp_solver_kind. Default MLCP_SOLVER_KIND_AUTO.
    int32_t solver;
    // Iterate to return: the best under this mlcp_measure (default MLCP_MEASURE_ENERGY), or MLCP_CHOICE_LAST.
    int32_t choice;
    // Iteration budget, of all solvers together. 0: each solver's default, which stands with its mlcp_solver_kind.
    int32_t max_iterations;
    // Sweeps between exact error measurements. 0: the solver's default, which stands with its
    // mlcp_solver_kind; pivots and Newton steps, whose default is 1, are measured always.
    int32_t check_interval;
    // Consecutive measurements (not iterations) without progress after which a solver counts as stalled, whatever
    // max_iterations allows. 0: the solver's default, which stands with its mlcp_solver_kind.
    int32_t stall_window;
    // Iteration records kept for mlcp_solver_get_history; longer runs are thinned evenly. 0: none. Default 128.
    int32_t history_capacity;
    // Wall-clock budget in seconds, also checked inside long factorisations. 0: no limit.
    double time_limit;
    // Energy error, in joules, at which a solve has converged. Default 1e-18. 0: only the relative test counts.
    double energy_tolerance;
    // Fraction of the energy error at x = clamp(0), no unit, at which a solve has converged. Default 1e-10. 0: only
    // the absolute test counts.
    double relative_tolerance;
    // Natural residual, in N s or m/s, at which a solve has converged if a row has no energy (a_ii <= 0). Default
    // 1e-10.
    double residual_tolerance;
    // Fraction, no unit, by which the energy error must fall within stall_window measurements. Default 0.01.
    double stall_decrease;
    // Relaxation of the sweeps, in (0, 2), no unit. Default 1; above 1 over-relaxes (projected SOR).
    double relaxation;
    // Threads on which MLCP_SOLVER_KIND_AUTO solves islands side by side, the calling thread included. 0 or 1: the
    // calling thread alone. The answer has the same bits for any number, unless time is limited. See
    // mlcp_solver_set_executor.
    int32_t threads;
} mlcp_settings;

// Short name of an mlcp_solver_kind, such as "bpp"; "unknown" for any other number. Static text. Any thread. Since 0.1.
const char *mlcp_solver_kind_name(int32_t kind);

// Find the solver with a short name such as "bpp", for tools.
//
// name: a NUL-terminated text. out_kind: receives an mlcp_solver_kind. Returns INVALID_VALUE for a name that is none.
// Any thread; allocates nothing. Since 0.1.
mlcp_status mlcp_solver_kind_from_name(const char *name, int32_t *out_kind);

// Fill `settings` with the defaults.
//
// struct_size: pass sizeof(mlcp_settings). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_settings_init(mlcp_settings *settings, size_t struct_size);

/* ---- Solve ---- */

// See "Report".
typedef struct mlcp_iteration mlcp_iteration;

// Function called after every iteration, the starting point included; a non-zero answer stops the solve. It runs on
// the solving thread, may read other handles, and must neither throw nor longjmp. Calls on the solver itself, and
// changes to the problem being solved, answer MLCP_STATUS_BUSY.
typedef int32_t (*mlcp_callback)(const mlcp_iteration *iteration, void *user_data);

// Piece of work for an mlcp_executor. It returns nothing and may be called on any thread, each index once.
typedef void (*mlcp_task)(void *task_data, int32_t index);

// Thread pool of the caller: calls task(task_data, k) for k = 0 ... count - 1, on any threads, in any order, and
// returns when all calls have returned.
typedef void (*mlcp_executor)(void *user_data, int32_t count, mlcp_task task, void *task_data);

// Solver with its memory. It serves one thread at a time; use one per thread. Its reports are about its last solve.
typedef struct mlcp_solver mlcp_solver;

// Create a solver.
//
// settings: NULL for the defaults, or a struct filled by mlcp_settings_init. out_solver: receives the handle, to be
// given to mlcp_solver_destroy. Returns INVALID_SIZE, INVALID_VALUE naming the field. Any thread. Allocates. Since 0.1.
mlcp_status mlcp_solver_create(const mlcp_settings *settings, mlcp_solver **out_solver);

// Destroy a solver; NULL is ignored.
//
// A solver that is solving (a call from its own callback) is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_solver_destroy(mlcp_solver *solver);

// See "Report".
typedef struct mlcp_report mlcp_report;

// Solve a problem and return the best iterate.
//
// x0: starting impulses (N s), one per row, for example last step's; NULL with length 0 to start from x = clamp(0). It is
// moved into the bounds first. out_x: receives one finite impulse per row, never worse than the start under the chosen
// measure; may be the same buffer as x0. out_report: NULL, or a struct initialised by mlcp_report_init.
// Returns MLCP_STATUS_OK also when the tolerance was not reached: what was achieved is the report's outcome and errors.
// Else UNSUPPORTED, NO_ENERGY, INVALID_STATE, INVALID_SIZE, INVALID_VALUE (also where w overflows at clamp(0)), BUSY; out_x
// and out_report are then untouched.
// Allocates only when a problem is larger than any before, in rows, bodies, entries of A or, beyond 128 bodies or a matrix
// of 770 rows, fill of its factor, and when MLCP_SOLVER_KIND_AUTO first turns to a solver; the matrix kernels take one
// buffer per thread, at its first large factorisation. Since 0.1.
mlcp_status mlcp_solver_solve(mlcp_solver *solver,
                              const mlcp_problem *problem,
                              const double *x0,
                              size_t x0_len,
                              double *out_x,
                              size_t out_x_len,
                              mlcp_report *out_report);

// Ask whether a kind of solver can treat a problem.
//
// kind: an mlcp_solver_kind. Returns MLCP_STATUS_OK if it can; UNSUPPORTED or NO_ENERGY with a sentence why not;
// INVALID_VALUE for an unknown kind. Allocates the solver it asks. Since 0.1.
mlcp_status mlcp_solver_supports(int32_t kind, const mlcp_problem *problem);

// Change the settings; takes effect with the next solve. Another solver kind starts with fresh memory.
//
// settings: filled by mlcp_settings_init. Returns INVALID_SIZE, INVALID_VALUE naming the field; the old settings then
// stay. Since 0.1.
mlcp_status mlcp_solver_set_settings(mlcp_solver *solver, const mlcp_settings *settings);

// Set the function called after every iteration; NULL for none.
//
// user_data is passed through and never read; it must live as long as it is set. Since 0.1.
mlcp_status mlcp_solver_set_callback(mlcp_solver *solver, mlcp_callback callback, void *user_data);

// Let islands be solved on the caller's threads: mlcp_settings.threads tasks at a time. NULL: on threads made for it.
//
// user_data is passed through and never read; it must live as long as it is set. A task takes one island after the
// other until none is left; an executor that calls only some of the tasks makes the solve slower, not wrong. An
// executor must not return while a task still runs: the task would write to freed memory. Since 0.1.
mlcp_status mlcp_solver_set_executor(mlcp_solver *solver, mlcp_executor executor, void *user_data);

// Freeze friction as ODE's and Bullet's Dantzig solvers do: solve the problem with every friction row at zero, then
// evaluate the friction bounds at the normal impulses found. The next mlcp_solver_solve then solves the problem that
// those solvers solve.
//
// problem: with friction mode MLCP_FRICTION_MODE_FROZEN, else INVALID_STATE; without friction rows nothing happens to
// it. x0, out_x, out_report and the returned status are as for mlcp_solver_solve, for the solve without friction;
// out_x is a good x0 for the next solve. On an error the problem stays unchanged. Since 0.1.
mlcp_status mlcp_solver_freeze_friction(mlcp_solver *solver,
                                        mlcp_problem *problem,
                                        const double *x0,
                                        size_t x0_len,
                                        double *out_x,
                                        size_t out_x_len,
                                        mlcp_report *out_report);

// Read the settings in force.
//
// out_settings: a struct initialised by mlcp_settings_init. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_settings(const mlcp_solver *solver, mlcp_settings *out_settings);

/* ---- Report ---- */

// How a solve ended. Numbers are part of the ABI.
MLCP_ENUM(mlcp_outcome) {
    // No solve has been run.
    MLCP_OUTCOME_NONE = 0,
    // The energy error, measured at the returned x, is within tolerance.
    MLCP_OUTCOME_CONVERGED = 1,
    // The solver can do no better: round-off, an inconsistent problem, or no progress over the stall window.
    MLCP_OUTCOME_STALLED = 2,
    // The iteration budget is spent.
    MLCP_OUTCOME_ITERATION_LIMIT = 3,
    // The time budget is spent.
    MLCP_OUTCOME_TIME_LIMIT = 4,
    // The callback asked to stop.
    MLCP_OUTCOME_STOPPED = 5,
    // The path of a complementary pivoting method ended in a ray. For monotone A and exact arithmetic that means no
    // solution; in floating point it is a strong hint.
    MLCP_OUTCOME_RAY = 6,
    // Of a stage, not of a whole solve: it made way for the next one, as its plan has it.
    MLCP_OUTCOME_HANDED_OVER = 7,
};

// Result of a solve. Errors are measured at the returned x, with w = A x + b computed afresh. x and w are finite; an
// error too large for a double reads +inf, and no error reads NaN.
struct mlcp_report {
    // Size of this struct in bytes, set by mlcp_report_init.
    size_t struct_size;
    // Outcome of the solve: an mlcp_outcome.
    int32_t outcome;
    // Solver that was asked for: an mlcp_solver_kind.
    int32_t solver;
    // Solver that found the returned x: an mlcp_solver_kind; the one asked for if x is the starting point.
    int32_t best_solver;
    // Number of solvers that ran, one after the other: see mlcp_solver_get_stage. 0: the start was good enough.
    int32_t stages;
    // Friction mode of the problem: an mlcp_friction_mode.
    int32_t friction_mode;
    // Measure that decided on convergence: MLCP_MEASURE_ENERGY, or MLCP_MEASURE_NATURAL if a row has no energy.
    int32_t judge;
    // Number of times the bounds of coupled friction were moved for a solver that does not move them itself.
    int32_t friction_updates;
    // Rows of the problem.
    int32_t rows;
    // Iterations done.
    int32_t iterations;
    // Iteration the returned x comes from; 0: the starting point.
    int32_t best_iteration;
    // Number of times the error was measured.
    int32_t measurements;
    // Changes of rows between bound and free, added up over all iterations.
    int32_t set_changes;
    // Wall-clock time in seconds.
    double seconds;
    // Energy error in joules; +inf if a row has no energy.
    double energy_error;
    // Energy error over energy_scale, no unit. 0 when the error is 0.
    double relative_energy_error;
    // Energy error at x = clamp(0), the problem's own scale, in joules.
    double energy_scale;
    // Energy error at the starting point, moved into its bounds, in joules. A start worse than x = clamp(0) is not used.
    double initial_energy_error;
    // Fischer-Burmeister residual; mixes N s and m/s.
    double fischer_burmeister;
    // Natural residual; mixes N s and m/s.
    double natural;
    // Half the squared Fischer-Burmeister residual; mixed units.
    double merit;
    // Penalised Fischer-Burmeister residual; mixed units.
    double penalized;
    // Duality gap in joules; +inf where a row without a bound on that side moves.
    double duality_gap;
    // Islands, solved apart from each other. 0: islands were not looked for, as with few rows, a good start, little
    // time or another solver than auto.
    int32_t islands;
    // Bound of what round-off in the computed w = A x + b adds to the error that decided: the true energy error of x
    // is at most energy_error + round_off, in joules. Where judge is MLCP_MEASURE_NATURAL, the true natural residual
    // is at most natural + round_off, in N s or m/s.
    double round_off;
};

// Record of one iteration, for a callback and mlcp_solver_get_history. x and w are finite: a solver whose iterate
// overflows is stalled, and the best iterate is shown in its place. An error or change too large for a double reads
// +inf.
struct mlcp_iteration {
    // Size of this struct in bytes.
    size_t struct_size;
    // Number of the iteration; 0: the starting point.
    int32_t iteration;
    // Flag, 1: the errors were measured at this iterate; 0: they are copied from the last iterate that was measured.
    int32_t measured;
    // Rows that changed between bound and free.
    int32_t set_changes;
    // Solver at work: an mlcp_solver_kind; at the starting point the one of the settings.
    int32_t solver;
    // Energy error in joules.
    double energy_error;
    // Error under the measure that chooses the returned iterate.
    double error;
    // Least value of error so far.
    double best_error;
    // Energy of this iteration's change of x, 1/2 sum a_ii dx_i^2, in joules.
    double change;
    // Seconds since the solve began.
    double seconds;
    // Impulses, n of them. Valid during the callback only; NULL in the history.
    const double *x;
    // Velocities A x + b, n of them, if measured is 1. Valid during the callback only; NULL in the history.
    const double *w;
    // Length of x and w.
    size_t n;
};

// Why a solver has its place in a plan. Numbers are part of the ABI.
MLCP_ENUM(mlcp_reason) {
    // The caller named this solver.
    MLCP_REASON_REQUESTED = 0,
    // Time is limited: sweeps first, so that something better than the start can be returned soon.
    MLCP_REASON_TIME_LIMIT = 1,
    // A is symmetric: pivots are exact, and few from a good start.
    MLCP_REASON_PIVOTS = 2,
    // Pivots go astray on redundant contacts and coupled friction; an interior point method is least disturbed by them.
    MLCP_REASON_REDUNDANT = 3,
    // A second try from the best point so far, with more steps allowed without progress.
    MLCP_REASON_POLISH = 4,
    // Earlier solvers did not converge: a solver with another kind of step.
    MLCP_REASON_LAST_RESORT = 5,
    // A is not symmetric, or a row has no effective mass: complementary pivots on a small problem.
    MLCP_REASON_GENERAL = 6,
    // A is not symmetric, or a row has no effective mass: Newton's method, on a large problem or after pivots.
    MLCP_REASON_GENERAL_NEWTON = 7,
    // Contacts are exact cones: Newton's method on their projections.
    MLCP_REASON_CONES = 8,
    // The cones are too many for Newton's method, or it did not settle: prox sweeps.
    MLCP_REASON_CONE_SWEEPS = 9,
    // Few rows: an active set method on a dense tableau.
    MLCP_REASON_SMALL = 10,
    // The problem falls into islands, and each is solved by auto's plan for it alone.
    MLCP_REASON_ISLANDS = 11,
    // The start is nearly good enough, as the last step's impulses often are: a few sweeps.
    MLCP_REASON_GOOD_START = 12,
    // Time is limited and the problem falls into islands: sweeps over those of the largest energy error.
    MLCP_REASON_WORST_ISLANDS = 13,
};

// Record of one solver within a solve, for mlcp_solver_get_stage: what ran, why, and with which result.
typedef struct mlcp_stage {
    // Size of this struct in bytes.
    size_t struct_size;
    // Solver that ran: an mlcp_solver_kind.
    int32_t solver;
    // Reason why it ran: an mlcp_reason; mlcp_reason_text has the sentence.
    int32_t reason;
    // Outcome of this solver: an mlcp_outcome.
    int32_t outcome;
    // Iterations it took.
    int32_t iterations;
    // Wall-clock time in seconds. The first stage counts from the solve's start, the last to its end, so they add up.
    double seconds;
    // Energy error at which this solver began, in joules; the natural residual, in N s or m/s, where a row has no
    // energy.
    double initial_energy_error;
    // Least energy error that this solver found, in joules (natural residual where a row has no energy); +inf if it
    // measured none.
    double energy_error;
} mlcp_stage;

// Name of an mlcp_outcome, "unknown" for any other number. Static text. Any thread. Since 0.1.
const char *mlcp_outcome_name(int32_t outcome);

// Prepare a report to be filled by mlcp_solver_solve or mlcp_solver_get_report.
//
// struct_size: pass sizeof(mlcp_report); a program built with an older header keeps its smaller struct and gets what
// that has. Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_report_init(mlcp_report *report, size_t struct_size);

// Read the last solve's report again.
//
// out_report: a struct initialised by mlcp_report_init. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_report(const mlcp_solver *solver, mlcp_report *out_report);

// Read the velocities w = A x + b of the last solve, in m/s or rad/s.
//
// out_w: exactly one double per row of that solve. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_w(const mlcp_solver *solver, double *out_w, size_t out_w_len);

// Read the energy error of every row of the last solve, in joules (natural residuals where a row has no energy); the
// sum is the report's error.
//
// out_row_errors: exactly one double per row of that solve. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_row_errors(const mlcp_solver *solver, double *out_row_errors, size_t out_row_errors_len);

// Read which rows have the largest energy errors of the last solve, worst first.
//
// out_rows, out_errors: room for the row numbers and their errors in joules, of equal length. out_count: receives how many
// were written; rows without error are left out. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_worst_rows(const mlcp_solver *solver,
                                       int32_t *out_rows,
                                       size_t out_rows_len,
                                       double *out_errors,
                                       size_t out_errors_len,
                                       size_t *out_count);

// Prepare a record to be filled by mlcp_solver_get_history.
//
// struct_size: pass sizeof(mlcp_iteration). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_iteration_init(mlcp_iteration *iteration, size_t struct_size);

// Number of records in the last solve's history; 0 for NULL or a solver in use. Since 0.1.
size_t mlcp_solver_history_len(const mlcp_solver *solver);

// Read one record of the last solve's history; index 0 is the starting point.
//
// out_iteration: a struct initialised by mlcp_iteration_init. Returns INVALID_INDEX, INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_history(const mlcp_solver *solver, size_t index, mlcp_iteration *out_iteration);

// Sentence that says why a solver ran; "unknown" for a number that is no mlcp_reason. Static text. Any thread.
// Since 0.1.
const char *mlcp_reason_text(int32_t reason);

// Prepare a record to be filled by mlcp_solver_get_stage.
//
// struct_size: pass sizeof(mlcp_stage). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_stage_init(mlcp_stage *stage, size_t struct_size);

// Number of solvers that the last solve ran, one after the other; 0 for NULL or a solver in use. Since 0.1.
size_t mlcp_solver_stages_len(const mlcp_solver *solver);

// Read which solver the last solve ran as its stage `index`, why and with which result. MLCP_SOLVER_KIND_AUTO may run
// several.
//
// out_stage: a struct initialised by mlcp_stage_init. Returns INVALID_INDEX, INVALID_SIZE. Since 0.1.
mlcp_status mlcp_solver_get_stage(const mlcp_solver *solver, size_t index, mlcp_stage *out_stage);

/* ---- Measures ---- */

// A measure of error. Numbers are part of the ABI.
MLCP_ENUM(mlcp_measure) {
    // Energy error of Enzenhoefer et al. 2019, in joules. Invariant to units and row scaling.
    MLCP_MEASURE_ENERGY = 0,
    // Fischer-Burmeister residual; adds N·s to m/s.
    MLCP_MEASURE_FISCHER_BURMEISTER = 1,
    // Natural (minimum map) residual; adds N·s to m/s.
    MLCP_MEASURE_NATURAL = 2,
    // Half the squared Fischer-Burmeister residual, the total error of Lu et al. 2013.
    MLCP_MEASURE_MERIT = 3,
    // Penalised Fischer-Burmeister residual of Chen, Chen and Kanzow, lambda = 0.95.
    MLCP_MEASURE_PENALIZED = 4,
    // Duality gap, in joules: for symmetric A and feasible x a certified bound on the energy above the optimum.
    MLCP_MEASURE_DUALITY_GAP = 5,
    // Energy error with the exact effective mass 1/(A^-1)_ii in place of 1/a_ii; needs an invertible A.
    MLCP_MEASURE_ENERGY_EXACT_MASS = 6,
};

// Measure how wrong x is, for any x: this library's, another solver's, or a guess.
//
// w = A x + b is computed here; friction bounds are evaluated at x, or frozen. measure: an mlcp_measure; energies and
// the duality gap are joules, the others mix units. out_row_errors: one double per row, or NULL with length 0.
// out_total: receives the sum. Returns NO_ENERGY (an energy with a_ii <= 0 in a row), SINGULAR (exact mass),
// INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Allocates only on first use at a size. Since 0.1.
mlcp_status mlcp_problem_measure(const mlcp_problem *problem,
                                 int32_t measure,
                                 const double *x,
                                 size_t x_len,
                                 double *out_row_errors,
                                 size_t out_row_errors_len,
                                 double *out_total);

// Tell whether x obeys the problem: every impulse is within its bounds, bit for bit.
//
// Friction rows must be within the bounds evaluated at x, or within the frozen ones; a cone's tangents within its
// disc, t1*t1 + t2*t2 <= (mu*n)*(mu*n) in doubles, squares rounded one by one. An x returned by mlcp_solver_solve
// always obeys. An x with NaN does not; x need not be finite. out_contains: receives 1 or 0. Returns NULL_ARGUMENT,
// INVALID_SIZE, INVALID_STATE (frozen friction without normals). Any thread; allocates nothing. Since 0.1.
mlcp_status mlcp_problem_contains(const mlcp_problem *problem, const double *x, size_t x_len, int32_t *out_contains);

// Energy error of impulses x with velocities w = A x + b, in joules (Enzenhoefer et al. 2019).
//
//   e_i = max( a/2 (x-hi)+^2, a/2 (lo-x)+^2, min(w+^2/(2a), a/2 (x-lo)+^2), min(w-^2/(2a), a/2 (hi-x)+^2) )
//
// with a = diagonal[i], the diagonal of A; zero exactly at a solution; invariant to the choice of units and to row
// scaling. diagonal, x, w, lo, hi: n doubles each; diagonal > 0; only infinite bounds are absent. out_row_errors: n
// doubles, or NULL. out_total: receives the sum. Rows with bounds only are measured; mlcp_problem_measure measures
// friction cones. Returns NO_ENERGY (diagonal <= 0), INVALID_VALUE. Any thread; allocates nothing. Since 0.1.
mlcp_status mlcp_energy_error(size_t n,
                              const double *diagonal,
                              const double *x,
                              const double *w,
                              const double *lo,
                              const double *hi,
                              double *out_row_errors,
                              double *out_total);

// Duality gap, sum over rows of w+ (x-lo) + w- (hi-x), in joules.
//
// For symmetric A and x within its bounds it bounds from above how far the energy 1/2 x^T A x + b^T x lies above its
// minimum; +inf where w pushes towards an absent bound. Arguments as for mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_duality_gap(size_t n,
                             const double *x,
                             const double *w,
                             const double *lo,
                             const double *hi,
                             double *out_row_errors,
                             double *out_total);

// Fischer-Burmeister residual, sum over rows of max(|phi(hi-x, w-)|, |phi(x-lo, w+)|), phi(p, q) = p + q - sqrt(p^2+q^2).
//
// The sum adds impulses to velocities: its value depends on the units chosen. Arguments as for mlcp_energy_error.
// Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_fischer_burmeister_error(size_t n,
                                          const double *x,
                                          const double *w,
                                          const double *lo,
                                          const double *hi,
                                          double *out_row_errors,
                                          double *out_total);

// Natural residual, sum over rows of max(|min(hi-x, w-)|, |min(x-lo, w+)|).
//
// Impulses and velocities are mixed: the value depends on the units chosen. Arguments as for mlcp_energy_error.
// Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_natural_error(size_t n,
                               const double *x,
                               const double *w,
                               const double *lo,
                               const double *hi,
                               double *out_row_errors,
                               double *out_total);

// Half the squared Fischer-Burmeister residual, the total error of Lu et al. 2013; mixed units.
//
// Arguments as for mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_merit_error(size_t n,
                             const double *x,
                             const double *w,
                             const double *lo,
                             const double *hi,
                             double *out_row_errors,
                             double *out_total);

// Penalised Fischer-Burmeister residual of Chen, Chen and Kanzow: lambda phi(p, q) + (1 - lambda) p+ q+ in place of phi.
//
// lambda in (0, 1], usually 0.95. At an infinite bound only lambda phi counts. Mixed units. Other arguments as for
// mlcp_energy_error. Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_penalized_error(size_t n,
                                 const double *x,
                                 const double *w,
                                 const double *lo,
                                 const double *hi,
                                 double lambda,
                                 double *out_row_errors,
                                 double *out_total);

/* ---- Friction cones ---- */

// Declare contacts with exact Coulomb friction: |x_t| <= mu max(x_n, 0) for the two tangent rows t together, w_t opposing
// x_t at the rim of that disc and zero inside; x_n is complementary with its own w_n. Bounds follow the impulses.
//
// rows: three row numbers per contact: the normal row, with lo >= 0 (call mlcp_problem_set_bounds first), and two
// tangent rows at right angles, without bounds of their own; no row twice. mu: one per contact, >= 0, +inf allowed:
// the tangents are then free while the contact is closed. Replaces all earlier cones; rows_len and mu_len 0 for none.
// Rows coupled by mlcp_problem_set_friction stay coupled and may hang on a cone's normal row, but cannot be in a cone.
// The two tangent rows of a contact have one error, reported on the first of them. Solved by MLCP_SOLVER_KIND_AUTO,
// PROX, PROX_GS and ALART_CURNIER. Copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE, INVALID_STATE (a
// friction row). Since 0.1.
mlcp_status mlcp_problem_set_cones(mlcp_problem *problem,
                                   const int32_t *rows,
                                   size_t rows_len,
                                   const double *mu,
                                   size_t mu_len);

/* ---- Diagnosis and projection ---- */

// What a row is to the others. Numbers are part of the ABI.
MLCP_ENUM(mlcp_row_role) {
    // Not looked at: its impulse is at a bound, or may be.
    MLCP_ROW_ROLE_OUTSIDE = 0,
    // No other row can replace it.
    MLCP_ROW_ROLE_NEEDED = 1,
    // Kept, but some redundant row depends on it: either could go.
    MLCP_ROW_ROLE_SHARED = 2,
    // Depends on rows before it.
    MLCP_ROW_ROLE_REDUNDANT = 3,
};

// Findings of mlcp_problem_diagnose about the rows it looked at.
typedef struct mlcp_findings {
    // Size of this struct in bytes, set by mlcp_findings_init.
    size_t struct_size;
    // Rows of the problem.
    size_t rows;
    // Rows looked at: bilateral, or active at the given x.
    size_t considered;
    // Number of considered rows that are independent.
    size_t rank;
    // Number of redundant rows, considered - rank.
    size_t redundant;
    // Flag, 1: all rows can hold at once; 0: b contradicts itself.
    int32_t is_consistent;
    // Always 0.
    int32_t reserved;
    // Tolerance used, no unit.
    double tolerance;
    // Least part that was left of a kept row after the rows before it, no unit; 1: all of it. Near the tolerance: a
    // close call.
    double closest_kept;
    // Largest part that was left of a redundant row, no unit.
    double farthest_dropped;
    // Condition of the kept rows' A scaled to unit diagonal; beyond 80 rows a sharp estimate from below.
    double condition;
    // Energy of the part of b that no motion of the bodies can undo, in joules.
    double contradiction;
} mlcp_findings;

// Diagnosis of a problem's constraints, with its memory. It serves one thread at a time.
typedef struct mlcp_diagnosis mlcp_diagnosis;

// Projection with its memory. It serves one thread at a time.
typedef struct mlcp_projection mlcp_projection;

// Prepare findings to be filled by mlcp_problem_diagnose.
//
// struct_size: pass sizeof(mlcp_findings). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_findings_init(mlcp_findings *findings, size_t struct_size);

// Find out which rows of a problem are redundant, and whether they contradict each other.
//
// Rows are compared on one scale, each over the root of its effective mass, so neither units nor the scaling of rows
// matter. Earlier rows are kept, later ones that depend on them are redundant: put joints you trust first. Best with
// Jacobian rows (less than a second for 5,000 of them); a dense or CSR matrix tells distances only to the root of
// round-off. closest_kept and farthest_dropped tell whether the verdict is clear. Compliance of Jacobian rows is left
// aside. x: NULL with length 0 to look at the bilateral rows; or one impulse per row, to look at the rows active
// there, lo < x < hi. tolerance: what may be left of a redundant row, in [0, 1); 0: 1e-6. diagnosis: receives the
// result, for mlcp_diagnosis_get_... out_findings: initialised by mlcp_findings_init, or NULL. Returns UNSUPPORTED (A
// is not symmetric), INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Allocates. Since 0.1.
mlcp_status mlcp_problem_diagnose(const mlcp_problem *problem,
                                  const double *x,
                                  size_t x_len,
                                  double tolerance,
                                  mlcp_diagnosis *diagnosis,
                                  mlcp_findings *out_findings);

// Create an empty diagnosis.
//
// out_diagnosis: receives the handle, to be given to mlcp_diagnosis_destroy. Any thread. Allocates. Since 0.1.
mlcp_status mlcp_diagnosis_create(mlcp_diagnosis **out_diagnosis);

// Destroy a diagnosis; NULL is ignored. Since 0.1.
void mlcp_diagnosis_destroy(mlcp_diagnosis *diagnosis);

// Read the role of every row: an mlcp_row_role each.
//
// out_roles: one per row of the problem diagnosed. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_diagnosis_get_roles(const mlcp_diagnosis *diagnosis, int32_t *out_roles, size_t out_roles_len);

// Find the rows that a redundant row depends on: J_row = sum of coefficient times J_j over kept rows j before it.
//
// A row that is not redundant, or that acts on nothing that can move, depends on none. out_rows, out_coefficients: any
// number of entries, equal in length. out_count: receives the number of rows; call again with longer buffers if it
// exceeds theirs. Returns INVALID_INDEX (row), INVALID_SIZE. Allocates. Since 0.1.
mlcp_status mlcp_diagnosis_get_dependency(mlcp_diagnosis *diagnosis,
                                          size_t row,
                                          int32_t *out_rows,
                                          size_t out_rows_len,
                                          double *out_coefficients,
                                          size_t out_coefficients_len,
                                          size_t *out_count);

// Read the velocity by which each row of b contradicts the others, in m/s or rad/s; 0 everywhere if the rows agree.
//
// The contradiction is shared out so that its energy is least. out_conflict: one per row. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_diagnosis_get_conflict(const mlcp_diagnosis *diagnosis,
                                        double *out_conflict,
                                        size_t out_conflict_len);

// Compute a compliance for mlcp_problem_set_jacobian that cures the redundancy: `relative` over the effective mass of
// each row that takes part in a dependency, 0 for the other rows.
//
// relative: > 0, no unit; with 1e-6 a row yields by a millionth of the velocity it takes away. out_compliance: one per
// row. Returns INVALID_SIZE, INVALID_VALUE. Since 0.1.
mlcp_status mlcp_diagnosis_get_compliance(const mlcp_diagnosis *diagnosis,
                                          double relative,
                                          double *out_compliance,
                                          size_t out_compliance_len);

// Spread impulses over redundant bilateral rows: the least impulses (sum of a_ii x_i^2) that move the bodies as x does.
//
// Rows that were not looked at keep their impulses. x, out_x: one per row; may be the same buffer. Returns
// INVALID_STATE if the diagnosis was made at an x, INVALID_SIZE, INVALID_VALUE. Allocates. Since 0.1.
mlcp_status mlcp_diagnosis_spread_impulses(mlcp_diagnosis *diagnosis,
                                           const double *x,
                                           size_t x_len,
                                           double *out_x,
                                           size_t out_x_len);

// Create a projection.
//
// tolerance: singular values of the rows, scaled to length 1, well below it count as zero; in [1e-7, 1), 0: 1e-4. It
// should be no less than the violation, over the mechanism's size, that positions begin with. out_projection: receives
// the handle, to be given to mlcp_projection_destroy. Returns INVALID_VALUE. Any thread. Allocates. Since 0.1.
mlcp_status mlcp_projection_create(double tolerance, mlcp_projection **out_projection);

// Destroy a projection; NULL is ignored. Since 0.1.
void mlcp_projection_destroy(mlcp_projection *projection);

// Compute the displacements of least kinetic energy that take the rows' violations away: -M^-1 J^T (J M^-1 J^T)^+
// violation.
//
// Every row of the problem counts as bilateral; rows may be redundant. Move the bodies by the displacements, fill the
// problem anew and repeat until the violation is small enough: two or three times reach round-off. problem: a Jacobian
// problem. violation: one per row, m or rad. out_change: six per body, displacement (m) then rotation vector (rad).
// Returns INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Allocates only on first use at a
// size. Since 0.1.
mlcp_status mlcp_projection_correct_positions(mlcp_projection *projection,
                                              const mlcp_problem *problem,
                                              const double *violation,
                                              size_t violation_len,
                                              double *out_change,
                                              size_t out_change_len);

// Compute the change of velocities of least kinetic energy that makes J v = target: add it to the velocities.
//
// problem: a Jacobian problem; every row counts as bilateral and rows may be redundant. velocities: six per body, linear
// (m/s) then angular (rad/s). target: one per row, or NULL with length 0 for zeros. out_change: six per body. Returns
// INVALID_STATE for a dense or CSR problem, INVALID_SIZE, INVALID_VALUE. Allocates only on first use at a size. Since 0.1.
mlcp_status mlcp_projection_correct_velocities(mlcp_projection *projection,
                                               const mlcp_problem *problem,
                                               const double *velocities,
                                               size_t velocities_len,
                                               const double *target,
                                               size_t target_len,
                                               double *out_change,
                                               size_t out_change_len);

/* ---- Frames ---- */

// Bodies of a frame. Buffers given to mlcp_frame_set_bodies are read and stay the caller's; buffers from
// mlcp_frame_get_bodies stay the frame's.
typedef struct mlcp_bodies {
    // sizeof(mlcp_bodies).
    size_t struct_size;
    // Number of bodies.
    size_t count;
    // Number by which the engine knows each body, to follow it from frame to frame, one per body; NULL: 0, 1, 2 ...
    const int32_t *ids;
    // Masses, kg, > 0, one per body; +inf for a body that no impulse moves.
    const double *masses;
    // Inertia, kg m^2, 9 per body by rows, about the centre of mass in the body's axes; symmetric positive definite,
    // not looked at where the mass is infinite.
    const double *inertia;
    // Centres of mass in the world, m, 3 per body.
    const double *positions;
    // Rotations from the body's axes to the world's, w x y z, 4 per body; of length 1.
    const double *quaternions;
    // Velocities at the beginning of the step, m/s and rad/s, 6 per body, linear then angular, world axes.
    const double *velocities;
    // Forces, N and N m, 6 per body: all that act but constraints and contacts, gravity included.
    const double *forces;
} mlcp_bodies;

// Bilateral constraints of a frame, limits and motors included.
typedef struct mlcp_constraints {
    // sizeof(mlcp_constraints).
    size_t struct_size;
    // Number of joints.
    size_t joints;
    // Number of rows of all joints together.
    size_t count;
    // Number of rows of each joint, one per joint; the sum is count.
    const int32_t *rows;
    // Places of each joint's bodies in the frame's list, 2 per joint; -1 for the world.
    const int32_t *pairs;
    // Jacobian, 12 per row: linear and angular part on the first body, then on the second.
    const double *jacobian;
    // Lower bounds, N s or N m s, one per row; -inf for none.
    const double *lo;
    // Upper bounds, N s or N m s, one per row; +inf for none.
    const double *hi;
    // Values of the constraints, m or rad, one per row; the step removes them.
    const double *violation;
    // Compliances, m/N or rad/(N m), >= 0, one per row; NULL: rigid.
    const double *compliance;
    // Damping of compliant rows, N s/m or N m s/rad, >= 0, one per row; NULL: none.
    const double *damping;
} mlcp_constraints;

// Contacts of a frame.
typedef struct mlcp_contacts {
    // sizeof(mlcp_contacts).
    size_t struct_size;
    // Number of contacts.
    size_t count;
    // Places of each contact's bodies in the frame's list, 2 per contact; -1 for the world.
    const int32_t *pairs;
    // Distances, m, one per contact; negative in penetration.
    const double *gap;
    // Coefficients of friction, >= 0, no unit, one per contact.
    const double *mu;
    // Normals, 3 per contact, of length 1, away from the first body of the pair.
    const double *normals;
    // Points of contact, m, 3 per contact, world axes, from the first body's centre of mass (the world's origin for
    // -1).
    const double *points;
    // Coefficients of restitution (Newton's), in [0, 1], one per contact; NULL: 0.
    const double *restitution;
    // Compliances, m/N, >= 0, one per contact; NULL: rigid.
    const double *compliance;
    // Damping of compliant contacts, N s/m, >= 0, one per contact; NULL: none.
    const double *damping;
} mlcp_contacts;

// What a contact does. Numbers are part of the ABI and of recordings.
MLCP_ENUM(mlcp_contact_state) {
    // No impulse.
    MLCP_CONTACT_STATE_OPEN = 0,
    // Pressed, and slower than 1e-6 m/s in the tangent plane.
    MLCP_CONTACT_STATE_STICK = 1,
    // Pressed and sliding.
    MLCP_CONTACT_STATE_SLIDE = 2,
};

// Errors of a frame's solution (Lu et al. 2013, section 5).
typedef struct mlcp_frame_errors {
    // sizeof(mlcp_frame_errors).
    size_t struct_size;
    // Half the squared Fischer-Burmeister residual of the formulation's problem; mixed units.
    double total;
    // Half the squared Fischer-Burmeister residual of the contacts' normal rows alone; mixed units.
    double normal;
    // Sum of |sliding speed (mu p_n - |friction|)|, in joules.
    double magnitude;
    // Sum of friction . velocity + |friction| |velocity|, in joules: 0 where friction opposes sliding.
    double direction;
    // Energy error of the formulation's problem in joules; NaN where a row has none.
    double energy;
} mlcp_frame_errors;

// Frame of one time step: bodies, bilateral constraints, contacts, step size. Everything is checked when it is set and
// kept to the bit; memory is kept, so that refilling a frame no larger than an earlier one allocates nothing. A call
// that fails leaves the frame as it was.
//
// The formulations of a frame are named by a text, NULL meaning "box":
//   "box"              friction |x_1|, |x_2| <= mu x_n, coupled
//   "cone"             friction |(x_1, x_2)| <= mu x_n, Coulomb's exact cone
//   "frozen-box"       the box, at normals given to mlcp_problem_set_frozen_normals
//   "polyhedral:N"     N facets, corners on the circle (Lu et al. 2013, eq. 19): not symmetric, zero diagonals
//   "circumscribed:N"  N facets, edges on the circle; N = 4 is the box
//   "mixed:..."        any of these, with the velocities at the end of the step as free rows before the impulses
typedef struct mlcp_frame mlcp_frame;

// Name of an mlcp_contact_state, "unknown" for any other number. Static text. Any thread. Since 0.1.
const char *mlcp_contact_state_name(int32_t state);

// Create an empty frame.
//
// out_frame: receives the handle, to be given to mlcp_frame_destroy. Any thread. Allocates the handle. Since 0.1.
mlcp_status mlcp_frame_create(mlcp_frame **out_frame);

// Destroy a frame; NULL is ignored. Pointers from mlcp_frame_get_... become invalid.
//
// A frame that is in use is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_frame_destroy(mlcp_frame *frame);

// Set the step size h > 0, s, and the time at the beginning of the step, s.
//
// Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_frame_set_step(mlcp_frame *frame, double step, double time);

// Begin a frame with its bodies; constraints and contacts of an earlier one are dropped.
//
// bodies: copied. Returns INVALID_SIZE (struct_size), INVALID_VALUE naming the field. Since 0.1.
mlcp_status mlcp_frame_set_bodies(mlcp_frame *frame, const mlcp_bodies *bodies);

// Replace a frame's constraints.
//
// constraints: copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE naming the field. Since 0.1.
mlcp_status mlcp_frame_set_constraints(mlcp_frame *frame, const mlcp_constraints *constraints);

// Replace a frame's contacts.
//
// contacts: copied. Returns INVALID_SIZE, INVALID_INDEX, INVALID_VALUE naming the field. Since 0.1.
mlcp_status mlcp_frame_set_contacts(mlcp_frame *frame, const mlcp_contacts *contacts);

// Read a frame's step size (0 until it is set) and time, in seconds.
//
// out_step, out_time: receive the step size and the time. Since 0.1.
mlcp_status mlcp_frame_get_step(const mlcp_frame *frame, double *out_step, double *out_time);

// Read a frame's bodies.
//
// out_bodies: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
mlcp_status mlcp_frame_get_bodies(const mlcp_frame *frame, mlcp_bodies *out_bodies);

// Read a frame's constraints.
//
// out_constraints: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
mlcp_status mlcp_frame_get_constraints(const mlcp_frame *frame, mlcp_constraints *out_constraints);

// Read a frame's contacts.
//
// out_contacts: receives pointers into the frame, valid until it is changed or destroyed. Since 0.1.
mlcp_status mlcp_frame_get_contacts(const mlcp_frame *frame, mlcp_contacts *out_contacts);

// Count the rows of a frame's problem in a formulation, which is the length of its solutions.
//
// formulation: a name, see mlcp_frame. out_rows: receives the number. Returns INVALID_VALUE. Since 0.1.
mlcp_status mlcp_frame_get_rows(const mlcp_frame *frame, const char *formulation, size_t *out_rows);

// Refill a problem with a frame's, in a formulation.
//
// Rows: first the constraints', then normal and two tangents of every contact, impulses in N s; facets and mixed forms
// have other rows. formulation: a name, see mlcp_frame. Returns INVALID_VALUE, INVALID_STATE (no step set),
// UNSUPPORTED (infinite friction has no facets). Uses memory of the frame, which therefore serves one thread at a
// time. Since 0.1.
mlcp_status mlcp_frame_fill_problem(mlcp_frame *frame, const char *formulation, mlcp_problem *problem);

// Compute what a solution of a frame's problem means for its bodies and contacts.
//
// formulation, z: as the problem was filled and solved. out_velocities: 6 per body, m/s and rad/s at the end of the step.
// out_impulses: one per constraint row, then normal and two tangents of every contact, N s. out_states: one per contact,
// an mlcp_contact_state. Each of the three may be NULL with length 0. out_errors: receives the errors, or NULL. Returns
// INVALID_SIZE, INVALID_VALUE, INVALID_STATE. Uses memory of the frame. Since 0.1.
mlcp_status mlcp_frame_get_response(mlcp_frame *frame,
                                    const char *formulation,
                                    const double *z,
                                    size_t z_len,
                                    double *out_velocities,
                                    size_t out_velocities_len,
                                    double *out_impulses,
                                    size_t out_impulses_len,
                                    int32_t *out_states,
                                    size_t out_states_len,
                                    mlcp_frame_errors *out_errors);

// Compute what makes a row an implicit spring and damper: x = -h (k phi_next + d w).
//
// stiffness: k >= 0 in N/m or N m/rad; infinite: rigid. damping: d >= 0 in N s/m or N m s/rad. h: step, s, > 0.
// out_compliance: receives 1/(h (h k + d)), velocity per impulse, for mlcp_problem_set_jacobian. out_share: receives
// h k / (h k + d); multiply the row's violation by it before mlcp_problem_set_motion. Returns INVALID_VALUE. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_spring_compliance(double stiffness,
                                   double damping,
                                   double h,
                                   double *out_compliance,
                                   double *out_share);

/* ---- Recordings ---- */

// What to do when the queue is full. Numbers are part of the ABI.
MLCP_ENUM(mlcp_when_full) {
    // Forget the new frame and count it.
    MLCP_WHEN_FULL_DROP = 0,
    // Wait for the writer.
    MLCP_WHEN_FULL_WAIT = 1,
};

// Recorder to an HDF5 file. Frames are copied into a bounded queue and written by a thread of the recorder's own; a
// killed process loses at most the queued frames, and the file still opens. Any thread may append.
typedef struct mlcp_recorder mlcp_recorder;

// Options of a recording. Zero in every field but struct_size: the defaults.
typedef struct mlcp_recorder_options {
    // sizeof(mlcp_recorder_options).
    size_t struct_size;
    // Number of frames that may wait for the writer. 0: 64.
    int32_t queue;
    // Action when the queue is full, an mlcp_when_full: MLCP_WHEN_FULL_DROP drops the new frame and counts it,
    // MLCP_WHEN_FULL_WAIT waits.
    int32_t when_full;
    // Flag, 1: every frame survives a power cut, which is slow; 0: frames survive a killed process only.
    int32_t sync;
    // Always 0.
    int32_t reserved;
    // Name of the engine, kept as an attribute of the file; NULL: none.
    const char *engine;
} mlcp_recorder_options;

// Progress of a recording.
typedef struct mlcp_recorder_counts {
    // sizeof(mlcp_recorder_counts).
    size_t struct_size;
    // Frames and problems in the file.
    uint64_t written;
    // Frames and problems dropped because the queue was full.
    uint64_t dropped;
    // Frames and problems waiting for the writer.
    uint64_t queued;
    // Size of the file in bytes.
    uint64_t bytes;
} mlcp_recorder_counts;

// Which x of a recorded problem. Numbers are part of the ABI.
MLCP_ENUM(mlcp_recorded_x) {
    // The engine's warm start.
    MLCP_RECORDED_X_START = 0,
    // A reference solution, with coupled friction.
    MLCP_RECORDED_X_REFERENCE = 1,
    // The solution recorded with the problem.
    MLCP_RECORDED_X_SOLUTION = 2,
};

// Solution recorded with a frame. Pointers belong to the dataset.
typedef struct mlcp_frame_solution {
    // sizeof(mlcp_frame_solution).
    size_t struct_size;
    // Formulation in which the frame was written as a problem, see mlcp_frame.
    const char *formulation;
    // Solution of the frame's problem in that formulation, z_len doubles.
    const double *z;
    // Length of z.
    size_t z_len;
    // Velocities at the end of the step, velocities_len doubles, 6 per body.
    const double *velocities;
    // Length of velocities.
    size_t velocities_len;
    // States of the contacts, an mlcp_contact_state each, states_len of them.
    const int32_t *states;
    // Length of states.
    size_t states_len;
    // Errors of the solution.
    mlcp_frame_errors errors;
    // Iterations of the solve; 0 where the solver did not say.
    int32_t iterations;
    // Always 0.
    int32_t reserved;
    // Seconds of the solve; 0 where the solver did not say.
    double seconds;
    // Name of the solver; empty where it did not say.
    const char *solver;
    // Name of an mlcp_outcome; empty where the solver did not say.
    const char *outcome;
} mlcp_frame_solution;

// An open file of frames and problems: a recording, a problem file or FCLIB's (HDF5), or a friction problem in Siconos'
// text format. Files are not trusted: what is corrupt, truncated or hostile is refused with a sentence, and takes no more
// memory than its length allows.
typedef struct mlcp_dataset mlcp_dataset;

// Begin a recording; a file of that name is replaced.
//
// path: of the file. options: NULL for the defaults. out_recorder: receives the handle, to be given to
// mlcp_recorder_destroy. Returns FILE (cannot be written, or another recorder has it), INVALID_SIZE, INVALID_VALUE. Any
// thread. Allocates; starts a thread. Since 0.1.
mlcp_status mlcp_recorder_create(const char *path, const mlcp_recorder_options *options, mlcp_recorder **out_recorder);

// End a recording: what is queued is written and the file closed. NULL is ignored.
//
// To learn whether the last frames could be written, call mlcp_recorder_flush first. A recorder that another thread is
// using is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_recorder_destroy(mlcp_recorder *recorder);

// Queue a frame, perhaps with a solution.
//
// formulation, z: how the frame's problem was filled (see mlcp_frame) and its solution; z NULL with length 0: none. The
// solution of a frame without rows has length 0 and is not NULL. The errors of the solution are computed by the writer.
// report: the solve's, or NULL. All copied. A full queue drops the frame and returns MLCP_STATUS_OK, or waits, as the
// options say; see mlcp_recorder_get_counts. Returns INVALID_SIZE, INVALID_VALUE, INVALID_STATE (the frame has no step),
// FILE if the writer failed earlier. Allocates nothing once the queue's slots have grown to the scene. Since 0.1.
mlcp_status mlcp_recorder_append_frame(mlcp_recorder *recorder,
                                       const mlcp_frame *frame,
                                       const char *formulation,
                                       const double *z,
                                       size_t z_len,
                                       const mlcp_report *report);

// Queue a problem, perhaps with a solution.
//
// name: of its group, without '/', at most 200 bytes; NULL: a number. Names should differ. x: one double per row, or NULL
// with length 0. report: the solve's, or NULL. All copied. A full queue is as for mlcp_recorder_append_frame. Returns
// INVALID_SIZE, INVALID_VALUE, FILE if the writer failed earlier. Since 0.1.
mlcp_status mlcp_recorder_append_problem(mlcp_recorder *recorder,
                                         const char *name,
                                         const mlcp_problem *problem,
                                         const double *x,
                                         size_t x_len,
                                         const mlcp_report *report);

// Wait until everything queued is in the file.
//
// Returns FILE, with the sentence, if the writer failed. Since 0.1.
mlcp_status mlcp_recorder_flush(mlcp_recorder *recorder);

// Read the progress of a recording.
//
// out_counts: struct_size set by the caller; receives the numbers. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_recorder_get_counts(const mlcp_recorder *recorder, mlcp_recorder_counts *out_counts);

// Open a file and list what is in it.
//
// path: of the file. out_dataset: receives the handle, to be given to mlcp_dataset_destroy. Returns FILE with a sentence.
// Any thread. Allocates; files up to 256 MiB are read into memory. Since 0.1.
mlcp_status mlcp_dataset_open(const char *path,
                              mlcp_dataset **out_dataset);

// Close a file; NULL is ignored. Pointers from the dataset become invalid.
//
// A dataset that another thread is using is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_dataset_destroy(mlcp_dataset *dataset);

// Number of problems in a file; 0 for NULL. Since 0.1.
size_t mlcp_dataset_problems(const mlcp_dataset *dataset);

// Number of frames in a file; 0 for NULL. Since 0.1.
size_t mlcp_dataset_frames(const mlcp_dataset *dataset);

// Name of a problem; problems are sorted by name.
//
// index: below mlcp_dataset_problems; else the empty text. Belongs to the dataset; never NULL. Since 0.1.
const char *mlcp_dataset_problem_name(const mlcp_dataset *dataset, size_t index);

// Refill a problem with a recorded one, as Jacobian rows where they were recorded, else as CSR.
//
// friction_mode: an mlcp_friction_mode; MLCP_FRICTION_MODE_FROZEN takes the recorded normals, else the normals of the
// reference solution; if the file has none, call mlcp_problem_set_frozen_normals. Returns INVALID_INDEX,
// INVALID_VALUE, FILE with a sentence that names the field. Allocates. Since 0.1.
mlcp_status mlcp_dataset_load_problem(mlcp_dataset *dataset,
                                      size_t index,
                                      int32_t friction_mode,
                                      mlcp_problem *problem);

// Read an x recorded with a problem.
//
// which: an mlcp_recorded_x. out_x: one double per row. Returns INVALID_STATE if none was recorded, INVALID_INDEX,
// INVALID_SIZE, INVALID_VALUE, FILE. Since 0.1.
mlcp_status mlcp_dataset_get_x(mlcp_dataset *dataset, size_t index, int32_t which, double *out_x, size_t out_x_len);

// Refill a frame with a recorded one.
//
// index: below mlcp_dataset_frames. Returns INVALID_INDEX, FILE with a sentence that names the field; the frame then
// stays as it was. Allocates. Since 0.1.
mlcp_status mlcp_dataset_load_frame(const mlcp_dataset *dataset, size_t index, mlcp_frame *frame);

// Read the solution recorded with a frame.
//
// out_solution: struct_size set by the caller; receives numbers, and pointers that are valid until the next call of this
// function with this dataset. Returns INVALID_STATE if none was recorded, INVALID_INDEX, INVALID_SIZE, FILE. Since 0.1.
mlcp_status mlcp_dataset_get_solution(mlcp_dataset *dataset,
                                      size_t index,
                                      mlcp_frame_solution *out_solution);

/* ---- ALI3-P: mechanisms through time ---- */

// What ends the Newton iteration and steers the step (Dopico et al., eqs. 11a, 11b). Numbers are part of the ABI.
MLCP_ENUM(mlcp_step_error) {
    // Norm of the change of positions.
    MLCP_STEP_ERROR_POSITION = 0,
    // Norm of the residual, `β h² / (1 - δ_m)` times that of the forces.
    MLCP_STEP_ERROR_RESIDUAL = 1,
};

// How a step ended. Numbers are part of the ABI.
MLCP_ENUM(mlcp_step_outcome) {
    // No step yet.
    MLCP_STEP_OUTCOME_NONE = 0,
    // The state has moved on.
    MLCP_STEP_OUTCOME_STEPPED = 1,
    // Newton's iteration did not converge, not with the smallest step allowed either; the state is unchanged.
    MLCP_STEP_OUTCOME_FAILED = 2,
};

// Function that evaluates a part of a model at time t (s), positions q and velocities v: it writes out_len numbers,
// which are zero before.
//
// q and v have one number per coordinate and are valid during the call only. A non-zero answer gives up the step; the
// stepper stays unchanged. It runs on the stepping thread and must neither throw nor longjmp. Calls on the stepper
// itself answer MLCP_STATUS_BUSY.
typedef int32_t (*mlcp_evaluate)(double t,
                                 const double *q,
                                 const double *v,
                                 double *out_values,
                                 size_t out_len,
                                 void *user_data);

// Function that evaluates the contacts of a model at time t (s) and positions q. A non-zero answer gives up the step,
// as for mlcp_evaluate.
//
// out_gap: one distance per contact, m, closed at <= 0; infinity (open) before. out_normal: per contact the
// gap's derivative, one number per coordinate. out_tangent: per contact two such rows, at right angles and equally
// scaled, that give the sliding velocity; one or two of them may stay zero. out_friction: one coefficient per contact.
// Rows and coefficients are zero before the call.
typedef int32_t (*mlcp_evaluate_contacts)(double t,
                                          const double *q,
                                          double *out_gap,
                                          double *out_normal,
                                          double *out_tangent,
                                          double *out_friction,
                                          size_t contacts,
                                          size_t coordinates,
                                          void *user_data);

// Sparse matrix of a model. All NULL and 0: zero. Without `evaluate` it is constant and `values` are given; with it
// `values` is NULL and evaluate writes one number per column listed. Copied by mlcp_ali3p_create.
typedef struct mlcp_model_matrix {
    // Offsets of the rows, rows + 1 of them, the first 0; NULL for a zero matrix.
    const int32_t *row_start;
    // Length of row_start.
    size_t row_start_len;
    // Column of every entry, rising within each row.
    const int32_t *columns;
    // Length of columns.
    size_t columns_len;
    // Constant entries, as many as columns; NULL if they are evaluated.
    const double *values;
    // Length of values.
    size_t values_len;
    // Writes the entries; NULL if they are constant.
    mlcp_evaluate evaluate;
} mlcp_model_matrix;

// Vector of a model. All NULL and 0: zero. Without `evaluate` it is constant. Copied by mlcp_ali3p_create.
typedef struct mlcp_model_vector {
    // Constant numbers; NULL if they are evaluated or zero.
    const double *values;
    // Length of values.
    size_t values_len;
    // Writes the numbers; NULL if they are constant or zero.
    mlcp_evaluate evaluate;
} mlcp_model_vector;

// Stepper that moves a mechanism through time. It serves one thread at a time. Steps allocate nothing after the first
// few.
typedef struct mlcp_ali3p mlcp_ali3p;

// Model of a mechanism in dependent coordinates: M q'' + Phi_q^T lambda = Q, Phi(q, t) = 0; Phi may be redundant.
typedef struct mlcp_ali3p_model {
    // Size of this struct in bytes, set by mlcp_ali3p_model_init.
    size_t struct_size;
    // Number of coordinates, n.
    size_t coordinates;
    // Number of constraints, m.
    size_t constraints;
    // Passed to every evaluate function and never read; must live as long as the stepper.
    void *user_data;
    // M, n by n, symmetric; the lower and the upper triangle are given.
    mlcp_model_matrix mass;
    // K = -dQ/dq, n by n; may be an approximation, or zero.
    mlcp_model_matrix stiffness;
    // C = -dQ/dv, n by n; may be an approximation, or zero.
    mlcp_model_matrix damping;
    // Phi_q, m by n.
    mlcp_model_matrix jacobian;
    // Q, all forces, velocity-dependent inertia included; n numbers.
    mlcp_model_vector forces;
    // Phi; m numbers.
    mlcp_model_vector constraint;
    // Phi_t, the partial derivative to time; m numbers; zero unless constraints depend on time.
    mlcp_model_vector constraint_rate;
    // The second time derivative of Phi without Phi_q q'', d(Phi_q)/dt v + d(Phi_t)/dt; m numbers.
    mlcp_model_vector constraint_acceleration;
    // Potential energy, J, one number, for the report only; may be left zero.
    mlcp_model_vector potential;
    // Contacts that may close, solved as an MLCP at the end of each step; 0: none, or all of them forces in Q.
    size_t contacts;
    // Function that writes the contacts; NULL if there are none.
    mlcp_evaluate_contacts evaluate_contacts;
} mlcp_ali3p_model;

// Settings of a stepper. Fill the struct with mlcp_ali3p_settings_init, then change fields.
typedef struct mlcp_ali3p_settings {
    // Size of this struct in bytes, set by mlcp_ali3p_settings_init.
    size_t struct_size;
    // Flag, 1: the step follows the error, h <- h (safety tolerance / e)^(1/3); 0: every step is h. Default 0.
    int32_t variable_step;
    // Flag, 1: penalties follow the step, alpha <- alpha (h_old / h_new)^2; 0: penalties stay. Default 1.
    int32_t variable_penalty;
    // Error that is compared with tolerance: an mlcp_step_error. Default MLCP_STEP_ERROR_POSITION.
    int32_t error;
    // Newton iterations of a try at most. Default 20.
    int32_t max_iterations;
    // Refinements of each projection at most. Default 50.
    int32_t max_projections;
    // Always 0.
    int32_t reserved;
    // First step, s. Default 1e-3.
    double h;
    // Least step, s, if it is variable. Default 1e-6.
    double h_min;
    // Largest step, s, if it is variable. Default 0.1. The rule watches Newton's iteration; this bounds the truncation.
    double h_max;
    // Spectral radius at infinite frequency of the generalised-alpha method, in [0, 1]; -1 (default): trapezoidal rule.
    double spectral_radius;
    // Error at which Newton's iteration ends and towards which the step is steered, in the units of q. Default 1e-8.
    double tolerance;
    // Largest |Phi_i| after a step, in the units of Phi. Default 1e-10. 0: whatever the iteration leaves.
    double constraint_tolerance;
    // Weight of the constraints beside the masses in the tangent of the first step, no unit; penalties are made from it
    // unless they are given. Default 1e4.
    double penalty;
    // Safety factor of the step control, in (0, 1]. Default 0.9.
    double safety;
    // Factor by which a step may exceed the step before, >= 1, no unit. Default 2.
    double growth;
} mlcp_ali3p_settings;

// Report of a step.
typedef struct mlcp_ali3p_report {
    // Size of this struct in bytes, set by mlcp_ali3p_report_init.
    size_t struct_size;
    // Outcome of the step: an mlcp_step_outcome.
    int32_t outcome;
    // Newton iterations of the last try.
    int32_t iterations;
    // Earlier tries of the step that did not converge.
    int32_t rejected;
    // Refinements of the projections.
    int32_t projections;
    // Time reached, s.
    double time;
    // Step taken, s; after a failure the last step tried.
    double h;
    // Step that will be tried next, s.
    double next_h;
    // Penalties divided by the penalties at the beginning, no unit.
    double penalty_scale;
    // Last error of Newton's iteration, as the settings choose.
    double error;
    // Largest |Phi_i|.
    double position_violation;
    // Largest |Phi_q v + Phi_t|.
    double velocity_violation;
    // Largest |second time derivative of Phi|.
    double acceleration_violation;
    // Kinetic energy, 1/2 v^T M v, J.
    double kinetic_energy;
    // Potential energy, as the model says, J.
    double potential_energy;
    // Contacts that were closed.
    size_t contacts;
    // Energy error of the contacts' solve, J.
    double contact_error;
    // Deepest penetration left, m.
    double penetration;
} mlcp_ali3p_report;

// Create a stepper for a mechanism: the index-3 augmented Lagrangian formulation with projections (ALI3-P).
//
// model: initialised by mlcp_ali3p_model_init and filled; copied, but for user_data. settings: NULL for the defaults, or
// initialised by mlcp_ali3p_settings_init. out_stepper: receives the handle, to be given to mlcp_ali3p_destroy. Returns
// INVALID_SIZE, INVALID_INDEX, INVALID_VALUE, INVALID_STATE naming the part. Any thread. Allocates. Since 0.1.
mlcp_status mlcp_ali3p_create(const mlcp_ali3p_model *model,
                              const mlcp_ali3p_settings *settings,
                              mlcp_ali3p **out_stepper);

// Destroy a stepper; NULL is ignored.
//
// A stepper that is stepping (a call from its own functions) is not destroyed; mlcp_last_error then says so. Since 0.1.
void mlcp_ali3p_destroy(mlcp_ali3p *stepper);

// Change the settings; the step begins anew with settings.h.
//
// settings: initialised by mlcp_ali3p_settings_init. Returns INVALID_SIZE, INVALID_VALUE naming the field; the old
// settings then stay. Since 0.1.
mlcp_status mlcp_ali3p_set_settings(mlcp_ali3p *stepper, const mlcp_ali3p_settings *settings);

// Give the penalties alpha for steps of settings.h; takes effect with the next mlcp_ali3p_set_state.
//
// penalties: one per constraint, > 0, N/m for a constraint in metres; NULL with length 0: made from the masses, which is
// the default. Returns INVALID_SIZE, INVALID_VALUE. Allocates. Since 0.1.
mlcp_status mlcp_ali3p_set_penalties(mlcp_ali3p *stepper,
                                     const double *penalties,
                                     size_t penalties_len);

// Choose how the contacts' problem is solved in each step.
//
// settings: NULL for the default, to round-off; or initialised by mlcp_settings_init. Returns INVALID_STATE if the
// model has no contacts, INVALID_SIZE, INVALID_VALUE naming the field; the old settings then stay. Since 0.1.
mlcp_status mlcp_ali3p_set_contact_solver(mlcp_ali3p *stepper, const mlcp_settings *settings);

// Read the contact impulses of the last step, N s: normal and two tangents per contact; 0 where it was open.
//
// out_impulses: three per contact. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_ali3p_get_contact_impulses(const mlcp_ali3p *stepper, double *out_impulses, size_t out_impulses_len);

// Begin at a time with positions and velocities that satisfy the constraints (mlcp_ali3p_project computes them from a
// guess); the accelerations and multipliers follow from the equations of motion.
//
// q, v: one finite number per coordinate. Returns SINGULAR (a coordinate with neither mass nor a constraint), INVALID_SIZE,
// INVALID_VALUE (also for what an evaluate function wrote), INVALID_STATE (one gave up); the state then stays. Since 0.1.
mlcp_status mlcp_ali3p_set_state(mlcp_ali3p *stepper,
                                 double t,
                                 const double *q,
                                 size_t q_len,
                                 const double *v,
                                 size_t v_len);

// Make one step, not beyond t_end.
//
// A variable step that does not converge is retried with smaller ones. Not converging is no error: the report's
// outcome says FAILED and the state is unchanged. t_end: s, may be infinite. out_report: initialised by
// mlcp_ali3p_report_init, or NULL. Returns INVALID_STATE (no state yet, or an evaluate function gave up),
// INVALID_VALUE (t_end, or NaN from an evaluate function), SINGULAR; the state is then unchanged. Since 0.1.
mlcp_status mlcp_ali3p_step(mlcp_ali3p *stepper, double t_end, mlcp_ali3p_report *out_report);

// Read the state. Buffers may be left out with NULL and length 0.
//
// out_t: receives the time, s. out_q, out_v, out_a: positions, velocities, accelerations, one per coordinate.
// out_lambda: multipliers, one per constraint: the reactions are -Phi_q^T lambda. Returns INVALID_SIZE. Since 0.1.
mlcp_status mlcp_ali3p_get_state(const mlcp_ali3p *stepper,
                                 double *out_t,
                                 double *out_q,
                                 size_t out_q_len,
                                 double *out_v,
                                 size_t out_v_len,
                                 double *out_a,
                                 size_t out_a_len,
                                 double *out_lambda,
                                 size_t out_lambda_len);

// Project positions onto Phi = 0 and velocities onto Phi_q v + Phi_t = 0, by the changes of least kinetic energy.
//
// The stepper's state is not touched. tolerance: largest |Phi_i| wanted, > 0. q, v: one per coordinate; changed in
// place. out_violation: receives the largest |Phi_i| reached, which contradictory constraints keep above the tolerance.
// Returns SINGULAR, INVALID_SIZE, INVALID_VALUE, INVALID_STATE; nothing is changed then. Allocates. Since 0.1.
mlcp_status mlcp_ali3p_project(mlcp_ali3p *stepper,
                               double t,
                               double tolerance,
                               double *q,
                               size_t q_len,
                               double *v,
                               size_t v_len,
                               double *out_violation);

// Make `model` one without coordinates: all matrices and vectors zero.
//
// struct_size: pass sizeof(mlcp_ali3p_model). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_ali3p_model_init(mlcp_ali3p_model *model, size_t struct_size);

// Fill `settings` with the defaults.
//
// struct_size: pass sizeof(mlcp_ali3p_settings). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_ali3p_settings_init(mlcp_ali3p_settings *settings,
                                     size_t struct_size);

// Prepare a report to be filled by mlcp_ali3p_step.
//
// struct_size: pass sizeof(mlcp_ali3p_report). Returns INVALID_SIZE for a size this library does not know. Any thread;
// allocates nothing. Since 0.1.
mlcp_status mlcp_ali3p_report_init(mlcp_ali3p_report *report, size_t struct_size);

#ifdef __cplusplus
} // extern "C"
#endif

#endif /* MLCP_H */
