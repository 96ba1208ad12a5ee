/* What an outsider's first program may look like: one rod on two contacts. */
#include <math.h>
#include <mlcp.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const double a[4] = {1.0, -0.5, -0.5, 1.0}, b[2] = {-0.2981, 0.1019}, lo[2] = {0, 0}, hi[2] = {HUGE_VAL, HUGE_VAL};
    double x[2] = {0, 0};
    char version[32];
    mlcp_problem *problem = NULL;
    mlcp_solver *solver = NULL;
    int ok = mlcp_problem_create(&problem) == MLCP_STATUS_OK && mlcp_solver_create(NULL, &solver) == MLCP_STATUS_OK
             && mlcp_problem_set_dense(problem, 2, a, 4, 2, MLCP_TRIANGLE_FULL) == MLCP_STATUS_OK
             && mlcp_problem_set_b(problem, b, 2) == MLCP_STATUS_OK
             && mlcp_problem_set_bounds(problem, lo, 2, hi, 2) == MLCP_STATUS_OK
             && mlcp_solver_solve(solver, problem, NULL, 0, x, 2, NULL) == MLCP_STATUS_OK;
    mlcp_solver_destroy(solver);
    mlcp_problem_destroy(problem);
    sprintf(version, "%d.%d.%d", MLCP_VERSION_MAJOR, MLCP_VERSION_MINOR, MLCP_VERSION_PATCH);
    if (!ok || strcmp(version, mlcp_version()) != 0) {
        fprintf(stderr, "%s (header %s, library %s)\n", mlcp_last_error(), version, mlcp_version());
        return 1;
    }
    printf("mlcp %s: x = (%.6f, %.6f) N s\n", version, x[0], x[1]);
    return 0;
}
