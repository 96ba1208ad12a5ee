// The same library in C++17: handles that clean up after themselves, exceptions, lambdas.
//
// A ball of 2 kg lands on a plate of 50 kg that stands on three legs, and skids: normal rows, friction rows, one solve.
//
//     c++ -std=c++17 -O2 c_examples/05_cpp.cpp -Iinclude -Ltarget/release -lmlcp -lm
#include "mlcp.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

constexpr int ball = 0, plate = 1, world = -1;

/// Contact rows in the form the library reads: 12 doubles and two bodies per row.
struct Rows {
    std::vector<double> jacobian, lo, hi, mu;
    std::vector<std::int32_t> bodies, findex;

    /// Add a contact at r1 from body 1's centre and r2 from body 2's; the normal is z, friction acts along x and y.
    void contact(int body1, std::array<double, 3> r1, int body2, std::array<double, 3> r2, double friction)
    {
        const auto normal = static_cast<std::int32_t>(lo.size());
        for (int k = 0; k < 3; k++) {
            const double n[3] = {k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0, k == 0 ? 1.0 : 0.0};
            push(n, r1, 1.0);
            push(n, r2, -1.0);
            bodies.insert(bodies.end(), {body1, body2});
            lo.push_back(k == 0 ? 0.0 : -HUGE_VAL);
            hi.push_back(HUGE_VAL);
            findex.push_back(k == 0 ? -1 : normal);
            mu.push_back(k == 0 ? 0.0 : friction);
        }
    }

private:
    void push(const double (&n)[3], const std::array<double, 3> &r, double sign)
    {
        const double row[6] = {n[0], n[1], n[2], r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]};
        for (double v : row) {
            jacobian.push_back(sign * v);
        }
    }
};

} // namespace

int main()
{
    try {
        Rows rows;
        rows.contact(ball, {0.0, 0.0, -0.1}, plate, {0.3, 0.2, 0.05}, 0.6);
        for (double angle : {0.0, 2.1, 4.2}) {
            rows.contact(plate, {std::cos(angle), std::sin(angle), -0.05}, world, {0.0, 0.0, 0.0}, 0.8);
        }
        // Inverse masses, then the inverse inertia by rows: 2/5 m r^2 for the ball, a round plate of radius 1 m.
        const std::vector<double> inverse_mass = {
            0.5, 0.5, 0.5, 125.0, 0.0, 0.0, 0.0, 125.0, 0.0, 0.0, 0.0, 125.0,
            0.02, 0.02, 0.02, 0.08, 0.0, 0.0, 0.0, 0.08, 0.0, 0.0, 0.0, 0.04};
        const double velocities[12] = {3.0, 0.0, -2.0, 0.0, 0.0, 0.0}; // the ball comes in at an angle, m/s
        const double gravity[12] = {0.0, 0.0, -2.0 * 9.81, 0.0, 0.0, 0.0, 0.0, 0.0, -50.0 * 9.81, 0.0, 0.0, 0.0};

        mlcp::Problem problem;
        problem.set_jacobian(inverse_mass, rows.jacobian, rows.bodies);
        problem.set_motion(1.0 / 60.0, velocities, gravity);
        problem.set_bounds(rows.lo, rows.hi);
        problem.set_friction(rows.findex, rows.mu);

        mlcp::Settings settings;
        settings.solver = MLCP_SOLVER_KIND_PGS;
        settings.check_interval = 1;
        mlcp::Solver solver(settings);
        int calls = 0;
        solver.set_callback([&calls](const mlcp_iteration &now) {
            calls++;
            return now.energy_error < 1e-6; // a microjoule is near enough here: stop
        });

        std::vector<double> x(problem.rows());
        const mlcp::Report report = solver.solve(problem, {}, x);
        std::printf("%s after %d sweeps, %d calls: %.2e J left of %.2e J\n", report.outcome_name(), report.iterations, calls,
                    report.energy_error, report.energy_scale);
        std::printf("the plate stops the ball with %.3f N s, friction along x: %.3f N s\n", x[0], x[1]);

        const char *const kinds[] = {"normal", "friction x", "friction y"};
        const char *const contacts[] = {"ball on plate", "leg 1", "leg 2", "leg 3"};
        for (const mlcp::WorstRow &worst : solver.worst_rows(3)) {
            std::printf("  %.1e J in %s, %s\n", worst.error, contacts[worst.row / 3], kinds[worst.row % 3]);
        }
        std::printf("history: %zu records; measured once more: %.2e J\n", solver.history().size(),
                    problem.measure(MLCP_MEASURE_ENERGY, x));

        // A refused call throws, and leaves the problem as it was.
        try {
            problem.set_b(std::array<double, 3>{1.0, 2.0, 3.0});
        } catch (const mlcp::Error &error) {
            std::printf("refused: %s (%s)\n", error.what(), mlcp_status_name(error.status()));
        }
        // An exception inside a callback ends the solve first, then arrives here.
        solver.set_callback([](const mlcp_iteration &) -> bool { throw std::runtime_error("the callback had enough"); });
        try {
            solver.solve(problem, {}, x);
        } catch (const std::runtime_error &error) {
            std::printf("thrown: %s\n", error.what());
        }
        return 0;
    } catch (const mlcp::Error &error) {
        std::fprintf(stderr, "%s: %s\n", mlcp_status_name(error.status()), error.what());
        return 1;
    }
}
