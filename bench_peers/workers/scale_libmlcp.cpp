/*
 * libmlcp's pgs on Jacobian rows through the C interface. `sweep`: never measured between start and end; `iteration`: at the
 * default measuring interval; `read`: adding up as many doubles as a sweep reads; `bytes`: all memory of problem and solver.
 */
#include "mlcp.h"
#include "scale.hpp"

#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>

#include <numeric>

static void check(mlcp_status status)
{
    if (status != MLCP_STATUS_OK) {
        fprintf(stderr, "libmlcp: %s\n", mlcp_last_error());
        exit(1);
    }
}

/* What the visit of a contact in a quad reads per row: 12 entries, diagonal and coupling, x, b, compliance, two bounds, mu,
 * two bodies, a third of its place in the order. */
static const double ROW_BYTES = 8.0 * (12 + 2 + 6) + 4.0 * (2 + 1.0 / 3.0), BODY_BYTES = 48.0;

static double in_use()
{
    const struct mallinfo2 info = mallinfo2();
    return (double)(info.uordblks + info.hblkhd);
}

/* Ask for pages of 2 MiB inside a buffer. */
static void large_pages(void *begin, size_t size)
{
    const uintptr_t page = 1 << 21, from = (uintptr_t)begin;
    const uintptr_t first = (from + page - 1) / page * page, last = (from + size) / page * page;
    if (first < last) {
        madvise((void *)first, last - first, MADV_HUGEPAGE);
    }
}

static double sum(const std::vector<double> &v)
{
    double s[16] = {0};
    for (size_t k = 0; k + 16 <= v.size(); k += 16) {
        for (size_t l = 0; l < 16; l++) {
            s[l] += v[k + l];
        }
    }
    return std::accumulate(s, s + 16, 0.0);
}

struct Rows {
    std::vector<double> inverse_mass, jacobian, velocities, forces, lo, hi, mu;
    std::vector<int32_t> bodies, findex;

    explicit Rows(const Scene &scene)
    {
        for (const Body &b : scene.bodies) {
            const double i[12] = {1 / b.mass, 1 / b.mass, 1 / b.mass, 1 / b.inertia.x, 0, 0, 0, 1 / b.inertia.y, 0, 0, 0, 1 / b.inertia.z};
            inverse_mass.insert(inverse_mass.end(), i, i + 12);
            const double f[6] = {0, 0, -GRAVITY * b.mass, 0, 0, 0};
            forces.insert(forces.end(), f, f + 6);
            const Vec v = scene.velocity(b);
            velocities.insert(velocities.end(), {v.x, v.y, v.z, 0, 0, 0});
        }
        for (const Contact &c : scene.contacts) {
            const Vec n = c.normal, t = unit(fabs(n.x) < 0.7 ? cross(n, {1, 0, 0}) : cross(n, {0, 1, 0}));
            const int32_t normal = (int32_t)lo.size();
            for (const Vec &d : {n, t, cross(n, t)}) {
                add(scene, c.a, c.at, -1.0 * d);
                add(scene, c.b, c.at, d);
                bodies.insert(bodies.end(), {c.a, c.b});
                const bool is_normal = (int32_t)lo.size() == normal;
                lo.push_back(is_normal ? 0.0 : -HUGE_VAL);
                hi.push_back(HUGE_VAL);
                findex.push_back(is_normal ? -1 : normal);
                mu.push_back(is_normal ? 0.0 : MU);
            }
        }
    }

    void add(const Scene &scene, int body, Vec at, Vec d)
    {
        const Vec turn = body < 0 ? Vec{0, 0, 0} : cross(at - scene.bodies[(size_t)body].at, d);
        jacobian.insert(jacobian.end(), {d.x, d.y, d.z, turn.x, turn.y, turn.z});
    }
};

int main(int argc, char **argv)
{
    const Scene scene = scene_of(argc, argv);
    const Rows r(scene);
    const size_t n = r.lo.size(), nb = scene.bodies.size();
    std::vector<double> x(n);
    mlcp_problem *problem;
    mlcp_solver *solver;
    mlcp_settings settings;
    const double before = in_use();
    check(mlcp_problem_create(&problem));
    const auto fill = [&] {
        check(mlcp_problem_set_jacobian(problem, r.inverse_mass.data(), 12 * nb, r.jacobian.data(), 12 * n, r.bodies.data(), 2 * n,
                                        NULL, 0));
        check(mlcp_problem_set_motion(problem, STEP, r.velocities.data(), 6 * nb, r.forces.data(), 6 * nb, NULL, 0));
        check(mlcp_problem_set_bounds(problem, r.lo.data(), n, r.hi.data(), n));
        check(mlcp_problem_set_friction(problem, r.findex.data(), n, r.mu.data(), n, MLCP_FRICTION_MODE_COUPLED));
    };
    fill();
    check(mlcp_settings_init(&settings, sizeof settings));
    settings.solver = MLCP_SOLVER_KIND_PGS;
    settings.energy_tolerance = settings.relative_tolerance = 0.0;
    settings.history_capacity = 0;
    check(mlcp_solver_create(&settings, &solver));
    /* Seconds per iteration: a solve with `few + many` of them less one with `few`, the least of several runs each. */
    struct Pair {
        Clock less, more;
    };
    const auto timed = [&](Pair &pair, int few, int many, int interval) {
        settings.check_interval = interval;
        const auto solve = [&](int sweeps, Clock &clock) {
            mlcp_report report;
            settings.max_iterations = sweeps;
            check(mlcp_solver_set_settings(solver, &settings));
            check(mlcp_report_init(&report, sizeof report));
            clock.tick();
            check(mlcp_solver_solve(solver, problem, NULL, 0, x.data(), n, &report));
            clock.tick();
            clock.close(1);
            if (report.iterations != sweeps) {
                fprintf(stderr, "libmlcp: stopped after %d of %d sweeps\n", (int)report.iterations, sweeps);
                exit(1);
            }
        };
        repeat([&] {
            solve(few, pair.less);
            solve(few + many, pair.more);
        });
        return (pair.more.best - pair.less.best) / many;
    };
    std::vector<double> bytes;
    bytes.reserve((size_t)((ROW_BYTES * (double)n + BODY_BYTES * (double)nb) / 8.0));
    /* As the library does for its own. */
    large_pages(bytes.data(), 8 * bytes.capacity());
    bytes.resize(bytes.capacity(), 1.0);
    volatile double keep = 0.0;
    const int few = together(n);
    Clock reading, filling;
    const auto read = [&] {
        repeat([&] {
            reading.tick();
            for (int k = 0; k < few; k++) {
                keep = keep + sum(bytes);
            }
            reading.tick();
            reading.close(1);
        });
    };
    /* In turns, because a disturbance may last for a second. */
    Pair sweeping, iterating;
    double sweep = 0.0, iteration = 0.0;
    for (int round = 0; round < 3; round++) {
        read();
        sweep = timed(sweeping, 8, 32 * ((few + 31) / 32), 1 << 30);
        read();
        iteration = timed(iterating, 32, 64, 0);
    }
    const double memory = in_use() - before - 8.0 * (double)bytes.size();
    repeat([&] {
        filling.tick();
        fill();
        filling.tick();
        filling.close(1);
    });
    const double row = 1e9 / (double)n;
    printf("rows %zu bodies %zu sweep %.4g iteration %.4g read %.4g fill %.4g bytes %.5g\n", n, nb, sweep * row, iteration * row,
           reading.best / few * row, filling.best * row, memory / (double)n);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    return 0;
}
