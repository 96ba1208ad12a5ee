/*
 * Read an FCLIB file with libfclib, solve it with one of Siconos' solvers: solve FILE local|global SOLVER'S-NUMBER
 *
 * Prints what the driver returned, then per row of the contacts velocity and impulse, u = W r + q computed here.
 */
#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <GlobalFrictionContactProblem.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <fclib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An fclib_matrix, whatever its kind, entry by entry. */
static NumericsMatrix *matrix(const struct fclib_matrix *a, int dense)
{
    NumericsMatrix *m = NM_create(dense ? NM_DENSE : NM_SPARSE, a->m, a->n);
    if (!dense) {
        NM_triplet_alloc(m, a->nzmax);
    }
    if (a->nz >= 0) {
        for (int k = 0; k < a->nz; k++) {
            NM_entry(m, a->i[k], a->p[k], a->x[k]);
        }
        return m;
    }
    for (int major = 0; major < (a->nz == -1 ? a->n : a->m); major++) {
        for (int k = a->p[major]; k < a->p[major + 1]; k++) {
            NM_entry(m, a->nz == -1 ? a->i[k] : major, a->nz == -1 ? major : a->i[k], a->x[k]);
        }
    }
    return m;
}

static SolverOptions *options_of(int solver)
{
    SolverOptions *options = solver_options_create(solver);
    options->dparam[SICONOS_DPARAM_TOL] = 1e-13;
    options->iparam[SICONOS_IPARAM_MAX_ITER] = 20000;
    return options;
}

static void print(int info, int rows, const double *u, const double *r)
{
    printf("info %d\n", info);
    for (int i = 0; i < rows; i++) {
        printf("%.17g %.17g\n", u[i], r[i]);
    }
}

static int solve_local(const char *path, int solver)
{
    struct fclib_local *l = fclib_read_local(path);
    if (l == NULL || l->V != NULL) {
        return 1;
    }
    const int n = l->W->m, contacts = n / l->spacedim;
    /* Newton's method and ADMM want a sparse matrix, sweeps a dense one. */
    const int dense = solver == SICONOS_FRICTION_3D_NSGS || solver == SICONOS_FRICTION_3D_PROX;
    NumericsMatrix *w = matrix(l->W, dense);
    FrictionContactProblem *p = frictionContactProblem_new_with_data(l->spacedim, contacts, w, l->q, l->mu);
    double *r = calloc((size_t)n + 1, sizeof *r), *u = calloc((size_t)n + 1, sizeof *u);
    double *q = calloc((size_t)n + 1, sizeof *q);
    memcpy(q, l->q, (size_t)n * sizeof *q);
    const int info = fc3d_driver(p, r, u, options_of(solver));
    memcpy(u, q, (size_t)n * sizeof *u);
    NM_gemv(1.0, w, r, 1.0, u);
    print(info, n, u, r);
    return 0;
}

static int solve_global(const char *path, int solver)
{
    struct fclib_global *g = fclib_read_global(path);
    if (g == NULL || g->G != NULL) {
        return 1;
    }
    const int n = g->H->n, dof = g->M->m;
    GlobalFrictionContactProblem *p = globalFrictionContactProblem_new();
    p->dimension = g->spacedim;
    p->numberOfContacts = n / g->spacedim;
    p->M = matrix(g->M, 0);
    p->H = matrix(g->H, 0);
    p->q = g->f;
    p->b = g->w;
    p->mu = g->mu;
    double *r = calloc((size_t)n + 1, sizeof *r), *u = calloc((size_t)n + 1, sizeof *u);
    double *v = calloc((size_t)dof + 1, sizeof *v);
    const int info = gfc3d_driver(p, r, u, v, options_of(solver));
    memcpy(u, g->w, (size_t)n * sizeof *u);
    NM_tgemv(1.0, p->H, v, 1.0, u);
    print(info, n, u, r);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "solve FILE local|global SOLVER\n");
        return 2;
    }
    const int solver = atoi(argv[3]);
    return strcmp(argv[2], "local") == 0 ? solve_local(argv[1], solver) : solve_global(argv[1], solver);
}
