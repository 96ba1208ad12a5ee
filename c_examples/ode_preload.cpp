/*
 * libmlcp under an ODE program as it is: nothing recompiled, nothing relinked.
 *
 *     g++ -std=c++11 -O2 -shared -fPIC c_examples/ode_preload.cpp -Iinclude -Ltarget/release -lmlcp -ldl -o ode_preload.so
 *     LD_PRELOAD=./ode_preload.so LD_LIBRARY_PATH=target/release MLCP_ODE_VERBOSE=1 ./your_program
 *
 * It stands in front of dxSolveLCP, the function in which dWorldStep solves its contact and joint forces; dWorldQuickStep
 * does not use it. What libmlcp cannot solve goes to ODE's own solver. Works where ODE is a shared library (0.16, double
 * precision). Environment:
 *
 *     MLCP_ODE_FRICTION=coupled   friction within mu times the normal force itself; default: frozen, ODE's own rule
 *     MLCP_ODE_SOLVER=bpp         a solver by name; default: the library's
 *     MLCP_ODE_VERBOSE=1          a line on stderr at the end
 *
 * ODE asks for forces and does not say the step's length, so there are no joules here; mlcp_ode.hpp has them.
 */
#include "mlcp.h"

#include <ode/ode.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <vector>

static_assert(sizeof(dReal) == sizeof(double), "ode_preload.cpp needs a double precision ODE (dDOUBLE)");

class dxWorldProcessMemArena;
void dxSolveLCP(dxWorldProcessMemArena *arena, unsigned n, dReal *a, dReal *bx, dReal *w, unsigned nub, dReal *lohi, int *findex);

namespace {

typedef void SolveLcp(dxWorldProcessMemArena *, unsigned, dReal *, dReal *, dReal *, unsigned, dReal *, int *);
const char MANGLED[] = "_Z10dxSolveLCPP22dxWorldProcessMemArenajPdS1_S1_jS1_Pi";

std::atomic<long> solved(0), unconverged(0), handed_back(0);

/* ODE may solve islands on several threads: each has its own memory. */
struct Memory {
    mlcp_problem *problem;
    mlcp_solver *solver;
    bool coupled;
    std::vector<double> b, lo, hi, mu, x, w;

    Memory() : problem(nullptr), solver(nullptr)
    {
        const char *const friction = std::getenv("MLCP_ODE_FRICTION"), *const name = std::getenv("MLCP_ODE_SOLVER");
        coupled = friction && std::strcmp(friction, "coupled") == 0;
        mlcp_settings settings;
        mlcp_settings_init(&settings, sizeof settings);
        settings.history_capacity = 0;
        settings.energy_tolerance = 0.0; /* not joules */
        settings.relative_tolerance = 1e-18;
        if (name && mlcp_solver_kind_from_name(name, &settings.solver) != MLCP_STATUS_OK) {
            std::fprintf(stderr, "ode_preload: %s\n", mlcp_last_error());
        }
        if (mlcp_problem_create(&problem) != MLCP_STATUS_OK || mlcp_solver_create(&settings, &solver) != MLCP_STATUS_OK) {
            std::fprintf(stderr, "ode_preload: %s\n", mlcp_last_error());
        }
    }
    ~Memory()
    {
        mlcp_solver_destroy(solver);
        mlcp_problem_destroy(problem);
    }

    /* ODE: A x = b + w, A's lower triangle with rows padded to multiples of 4; b, x and lo, hi in pairs. */
    bool solve(unsigned n, const dReal *a, const dReal *bx, const dReal *lohi, const int *findex, mlcp_report *report)
    {
        const std::size_t stride = n > 1 ? (n + 3) / 4 * 4 : 1;
        bool friction = false;
        b.resize(n);
        lo.resize(n);
        hi.resize(n);
        mu.assign(n, 0.0);
        x.assign(n, 0.0);
        w.resize(n);
        for (unsigned i = 0; i < n; i++) {
            const bool coupled_row = findex && findex[i] >= 0;
            b[i] = -bx[2 * i];
            lo[i] = coupled_row ? -HUGE_VAL : lohi[2 * i];
            hi[i] = coupled_row ? HUGE_VAL : lohi[2 * i + 1];
            if (coupled_row) {
                mu[i] = std::fabs(lohi[2 * i + 1]);
                friction = true;
            }
        }
        if (mlcp_report_init(report, sizeof *report) != MLCP_STATUS_OK ||
            mlcp_problem_set_dense(problem, n, a, stride * (n - 1) + n, stride, MLCP_TRIANGLE_LOWER) != MLCP_STATUS_OK ||
            mlcp_problem_set_b(problem, b.data(), n) != MLCP_STATUS_OK ||
            mlcp_problem_set_bounds(problem, lo.data(), n, hi.data(), n) != MLCP_STATUS_OK) {
            return false;
        }
        const int mode = coupled ? MLCP_FRICTION_MODE_COUPLED : MLCP_FRICTION_MODE_FROZEN;
        if (friction && mlcp_problem_set_friction(problem, findex, n, mu.data(), n, mode) != MLCP_STATUS_OK) {
            return false;
        }
        if (friction && !coupled && /* first the normals without friction, then friction bounded by them */
            mlcp_solver_freeze_friction(solver, problem, nullptr, 0, x.data(), n, report) != MLCP_STATUS_OK) {
            return false;
        }
        return mlcp_solver_solve(solver, problem, x.data(), n, x.data(), n, report) == MLCP_STATUS_OK &&
               mlcp_problem_get_w(problem, x.data(), n, w.data(), n) == MLCP_STATUS_OK;
    }
};

struct Summary {
    ~Summary()
    {
        if (std::getenv("MLCP_ODE_VERBOSE")) {
            std::fprintf(stderr, "ode_preload: libmlcp %s solved %ld problems, %ld short of its tolerance; %ld left to ODE\n",
                         mlcp_version(), solved.load(), unconverged.load(), handed_back.load());
        }
    }
} summary;

} // namespace

void dxSolveLCP(dxWorldProcessMemArena *arena, unsigned n, dReal *a, dReal *bx, dReal *w, unsigned nub, dReal *lohi, int *findex)
{
    static thread_local Memory memory;
    mlcp_report report;
    if (n > 0 && memory.problem && memory.solver && memory.solve(n, a, bx, lohi, findex, &report)) {
        for (unsigned i = 0; i < n; i++) {
            bx[2 * i + 1] = memory.x[i];
            if (w) {
                w[i] = memory.w[i];
            }
        }
        solved++;
        unconverged += report.outcome != MLCP_OUTCOME_CONVERGED;
        return;
    }
    /* dlsym gives an object pointer; POSIX lets it be copied into a function pointer. */
    static void *const found = dlsym(RTLD_NEXT, MANGLED);
    SolveLcp *original;
    std::memcpy(&original, &found, sizeof original);
    handed_back++;
    if (original) {
        original(arena, n, a, bx, w, nub, lohi, findex);
    }
}
