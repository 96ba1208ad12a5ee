/*
 * A rod falls onto two contacts: the smallest problem that shows what the energy error is for.
 *
 * Example of Enzenhoefer, Peiret, Teichmann, Kovecses 2019, section 5.1 (doi 10.1115/1.4042690): a slender rod of 4 kg,
 * one contact at each end. A rod turns easily, so pushing one end up pushes the other end down: A_12 = -1/2.
 *
 *     cc -std=c99 -O2 c_examples/01_rod.c -Iinclude -Ltarget/release -lmlcp -lm
 */
#include "mlcp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Every call says whether it was legal; mlcp_last_error() has the sentence. */
#define CHECK(call)                                                                                                      \
    do {                                                                                                                 \
        mlcp_status status_ = (call);                                                                                    \
        if (status_ != MLCP_STATUS_OK) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, mlcp_status_name(status_), mlcp_last_error());       \
            exit(1);                                                                                                     \
        }                                                                                                                \
    } while (0)

enum { N = 2 };

int main(void)
{
    const double a[N * N] = {1.0, -0.5, -0.5, 1.0}; /* 1/kg */
    const double b[N] = {-0.2981, 0.1019};          /* m/s: end 1 approaches the ground, end 2 leaves it */
    const double lo[N] = {0.0, 0.0}, hi[N] = {INFINITY, INFINITY}; /* contacts push, they do not pull (N s) */
    const double diagonal[N] = {1.0, 1.0};
    /* The mass an end really feels, with the other contact closed, is (A^-1)_ii = 4/3 kg: its reciprocal replaces a_ii. */
    const double exact_diagonal[N] = {0.75, 0.75};

    /* A wrong answer, as the paper prints it: end 1 got no impulse, end 2 is pulled. */
    const double x[N] = {0.0, -0.1019}, published_w[N] = {-0.2981, 0.0};
    double joules, exact_joules, fb, natural;
    CHECK(mlcp_energy_error(N, diagonal, x, published_w, lo, hi, NULL, &joules));
    CHECK(mlcp_energy_error(N, exact_diagonal, x, published_w, lo, hi, NULL, &exact_joules));
    CHECK(mlcp_fischer_burmeister_error(N, x, published_w, lo, hi, NULL, &fb));
    CHECK(mlcp_natural_error(N, x, published_w, lo, hi, NULL, &natural));
    printf("How wrong is x = (0, -0.1019) N s?\n\n");
    printf("published pair, w = (-0.2981, 0)     energy %.2e J\n", joules);
    printf("  w1^2/2a for the end that falls through the ground, a/2 x2^2 for the end that is pulled.\n");
    printf("the same pair, exact masses          energy %.2e J\n", exact_joules);
    printf("  Each end was weighed alone, 1 kg. With the other contact closed it weighs (A^-1)_ii = 4/3 kg.\n");

    /* Now let the library compute w. */
    mlcp_problem *problem = NULL;
    double w[N], true_joules, true_exact;
    CHECK(mlcp_problem_create(&problem));
    CHECK(mlcp_problem_set_dense(problem, N, a, N * N, N, MLCP_TRIANGLE_FULL));
    CHECK(mlcp_problem_set_b(problem, b, N));
    CHECK(mlcp_problem_set_bounds(problem, lo, N, hi, N));
    CHECK(mlcp_problem_get_w(problem, x, N, w, N));
    CHECK(mlcp_problem_measure(problem, MLCP_MEASURE_ENERGY, x, N, NULL, 0, &true_joules));
    CHECK(mlcp_problem_measure(problem, MLCP_MEASURE_ENERGY_EXACT_MASS, x, N, NULL, 0, &true_exact));
    printf("true pair, w = A x + b = (%.5f, %g)  energy %.3e J (exact masses: %.3e J)\n", w[0], fabs(w[1]), true_joules,
           true_exact);
    printf("  The published w1 leaves out the coupling: pulling end 2 down by x2 also lifts end 1, by A_12 x2 = %.5f m/s.\n\n",
           a[1] * x[1]);
    printf("natural = %.4f, Fischer-Burmeister = %.4f\n", natural, fb);
    printf("  Natural is |w1| + |x2| = 0.2981 m/s + 0.1019 N s: metres per second added to newton seconds. The sum has no\n");
    printf("  unit, and in centimetres it would be another mixture. Fischer-Burmeister mixes the same two and counts the\n");
    printf("  pull twice: phi(p, 0) = p - |p| = 2p for p < 0. (The paper prints 0.2981 + 0.1019 = 0.4000 for it as well;\n");
    printf("  its own equation 5 gives %.4f.) Energies may be added.\n\n", fb);

    /* And the right answer. The defaults will do. */
    mlcp_solver *solver = NULL;
    mlcp_report report;
    double solution[N];
    CHECK(mlcp_report_init(&report, sizeof report));
    CHECK(mlcp_solver_create(NULL, &solver));
    CHECK(mlcp_solver_solve(solver, problem, NULL, 0, solution, N, &report));
    CHECK(mlcp_solver_get_w(solver, w, N));
    printf("solved by %s, %s after %d iterations\n", mlcp_solver_kind_name(report.solver),
           mlcp_outcome_name(report.outcome), (int)report.iterations);
    printf("x = (%.6f, %.6f) N s, w = 0 m/s (largest: %.0e)\n", solution[0], solution[1], fmax(fabs(w[0]), fabs(w[1])));
    printf("energy error %.1e J\n", report.energy_error);
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);

    /* The solution is x = A^-1 (-b), both contacts closed. */
    return report.outcome == MLCP_OUTCOME_CONVERGED && fabs(solution[0] - 0.329533) < 1e-6 ? 0 : 1;
}
