/*
 * Measure your own solver, in joules, with one header and nothing to link.
 *
 *     cc -std=c99 -O2 c_examples/04_measure_your_solver.c -Iinclude -lm
 */
#include "mlcp_error.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Your solver: thirty lines of projected Gauss-Seidel, as in many engines ---- */

enum { N = 5 };

static void velocities(size_t n, const double *a, const double *b, const double *x, double *w)
{
    for (size_t i = 0; i < n; i++) {
        w[i] = b[i];
        for (size_t j = 0; j < n; j++) {
            w[i] += a[i * n + j] * x[j];
        }
    }
}

static void sweep(size_t n, const double *a, const double *b, const double *lo, const double *hi, double *x)
{
    for (size_t i = 0; i < n; i++) {
        double w = b[i];
        for (size_t j = 0; j < n; j++) {
            w += a[i * n + j] * x[j];
        }
        x[i] -= w / a[i * n + i];
        x[i] = x[i] < lo[i] ? lo[i] : x[i] > hi[i] ? hi[i] : x[i];
    }
}

/* A stack of five boxes of 1 kg lands at 1 m/s; row i is the contact below box i. */
static int watch_sweeps(void)
{
    double a[N * N] = {0.0}, b[N] = {-1.0, 0.0, 0.0, 0.0, 0.0};
    double diagonal[N], lo[N], hi[N], x[N] = {0.0}, w[N], rows[N];
    double before = 0.0, joules = 0.0;
    for (int i = 0; i < N; i++) {
        a[i * N + i] = diagonal[i] = i == 0 ? 1.0 : 2.0;
        if (i > 0) {
            a[i * N + i - 1] = a[(i - 1) * N + i] = -1.0;
        }
        lo[i] = 0.0;
        hi[i] = HUGE_VAL; /* absent; an engine's own number for infinity would be a bound like any other */
    }
    printf("sweep  energy error  worst row\n");
    for (int k = 0; k <= 64; k++) {
        if ((k & (k - 1)) == 0) {
            size_t worst = 0;
            velocities(N, a, b, x, w);
            /* ---- This is all it takes ---- */
            joules = mlcp_error_energy(N, diagonal, x, w, lo, hi, rows);
            if (joules < 0.0) {
                fprintf(stderr, "row %lu makes no sense\n", (unsigned long)mlcp_error_check(N, diagonal, x, w, lo, hi));
                exit(1);
            }
            for (size_t i = 0; i < N; i++) {
                worst = rows[i] > rows[worst] ? i : worst;
            }
            printf("%5d  %.3e J   contact below box %lu\n", k, joules, (unsigned long)worst);
            before = k == 0 ? joules : before;
        }
        sweep(N, a, b, lo, hi, x);
    }
    return joules < 1e-2 * before;
}

/* ---- Why joules? Two answers to the rod problem of 01_rod.c, judged in metres and in millimetres ---- */

typedef struct {
    double energy, fischer_burmeister, natural;
} verdict;

/*
 * Metres to millimetres the way engineers do it: newtons and seconds stay, so impulses keep their numbers (N s) and
 * velocities grow by 1000 (mm/s). A maps the one to the other, so it grows too; energies come out in N mm = mJ.
 */
static verdict judge(const double *x, double unit)
{
    const double a[4] = {1.0 * unit, -0.5 * unit, -0.5 * unit, 1.0 * unit}, b[2] = {-0.2981 * unit, 0.1019 * unit};
    const double diagonal[2] = {a[0], a[3]}, lo[2] = {0.0, 0.0}, hi[2] = {HUGE_VAL, HUGE_VAL};
    double w[2];
    verdict v;
    velocities(2, a, b, x, w);
    v.energy = mlcp_error_energy(2, diagonal, x, w, lo, hi, NULL);
    v.fischer_burmeister = mlcp_error_fischer_burmeister(2, x, w, lo, hi, NULL);
    v.natural = mlcp_error_natural(2, x, w, lo, hi, NULL);
    return v;
}

static const char *better(double p, double q) { return p < q ? "P" : "Q"; }

static int compare_units(void)
{
    /* P: no impulse at all. Q: a pivot later; end 2 is held back by a small pull, end 1 falls more slowly. */
    const double p[2] = {0.0, 0.0}, q[2] = {0.0, -0.1019};
    const verdict pm = judge(p, 1.0), qm = judge(q, 1.0), pmm = judge(p, 1000.0), qmm = judge(q, 1000.0);
    const char *fb_m = better(pm.fischer_burmeister, qm.fischer_burmeister);
    const char *fb_mm = better(pmm.fischer_burmeister, qmm.fischer_burmeister);
    const char *n_m = better(pm.natural, qm.natural), *n_mm = better(pmm.natural, qmm.natural);
    const char *e_m = better(pm.energy, qm.energy), *e_mm = better(pmm.energy, qmm.energy);

    printf("\ntwo iterates of the rod: P = (0, 0) N s, Q = (0, -0.1019) N s\n");
    printf("                                  P          Q   better\n");
    printf("Fischer-Burmeister, m       %8.4f   %8.4f   %s\n", pm.fischer_burmeister, qm.fischer_burmeister, fb_m);
    printf("Fischer-Burmeister, mm      %8.4f   %8.4f   %s\n", pmm.fischer_burmeister, qmm.fischer_burmeister, fb_mm);
    printf("natural residual, m         %8.4f   %8.4f   %s\n", pm.natural, qm.natural, n_m);
    printf("natural residual, mm        %8.4f   %8.4f   %s\n", pmm.natural, qmm.natural, n_mm);
    printf("energy, J                   %8.5f   %8.5f   %s\n", pm.energy, qm.energy, e_m);
    printf("energy, mJ                  %8.4f   %8.4f   %s\n", pmm.energy, qmm.energy, e_mm);
    printf("The first two add N s to m/s: with other units they prefer another answer. Energy cannot.\n");
    return fb_m[0] != fb_mm[0] && n_m[0] != n_mm[0] && e_m[0] == e_mm[0];
}

int main(void)
{
    const int converged = watch_sweeps(), flipped = compare_units();
    return converged && flipped ? 0 : 1;
}
