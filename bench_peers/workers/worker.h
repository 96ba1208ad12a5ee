/*
 * What every worker in C or C++ shares: reading a problem, timing a solve, printing the answer.
 *
 * A worker is called as `worker SOLVER FILE` and prints one line per setting it tries, at once, so that what it found
 * before the time cap is kept:   SETTING SECONDS CLAIM x_0 x_1 ...   CLAIM is what the solver says of itself, 1 or 0.
 * The problem is w = A x + b, lo <= x <= hi; infinities are IEEE ones. See write_plain in src/problem.rs for the file.
 */
#ifndef WORKER_H
#define WORKER_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int n, entries, bodies;
    int32_t *row_start, *columns;
    double *values, *b, *lo, *hi;
    /* Two-body rows, if bodies > 0. */
    double *jacobian, *inverse_mass, *compliance;
    int32_t *body_pairs;
    /* Coupled friction, or NULL: each row's normal row or -1, and its coefficient. */
    int32_t *normals;
    double *mu;
} worker_problem;

static void *worker_take(FILE *file, size_t size, size_t count)
{
    void *data = malloc(size * count + 1);
    if (!data || fread(data, size, count, file) != count) {
        fprintf(stderr, "the problem file is too short\n");
        exit(1);
    }
    return data;
}

static worker_problem worker_read(const char *path)
{
    worker_problem p;
    int32_t *head;
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    memset(&p, 0, sizeof p);
    head = (int32_t *)worker_take(file, 4, 3);
    p.n = head[0];
    p.entries = head[1];
    p.bodies = head[2];
    free(head);
    p.row_start = (int32_t *)worker_take(file, 4, (size_t)p.n + 1);
    p.columns = (int32_t *)worker_take(file, 4, (size_t)p.entries);
    p.values = (double *)worker_take(file, 8, (size_t)p.entries);
    p.b = (double *)worker_take(file, 8, (size_t)p.n);
    p.lo = (double *)worker_take(file, 8, (size_t)p.n);
    p.hi = (double *)worker_take(file, 8, (size_t)p.n);
    if (p.bodies > 0) {
        p.jacobian = (double *)worker_take(file, 8, 12 * (size_t)p.n);
        p.inverse_mass = (double *)worker_take(file, 8, 12 * (size_t)p.bodies);
        p.compliance = (double *)worker_take(file, 8, (size_t)p.n);
        p.body_pairs = (int32_t *)worker_take(file, 4, 2 * (size_t)p.n);
    }
    const int more = getc(file);
    if (more != EOF) {
        ungetc(more, file);
        p.normals = (int32_t *)worker_take(file, 4, (size_t)p.n);
        p.mu = (double *)worker_take(file, 8, (size_t)p.n);
    }
    fclose(file);
    return p;
}

/* All entries of A by rows of the given stride. */
static inline double *worker_dense(const worker_problem *p, size_t stride)
{
    double *a = (double *)calloc((size_t)p->n * stride + 1, sizeof(double));
    for (int i = 0; i < p->n; i++) {
        for (int k = p->row_start[i]; k < p->row_start[i + 1]; k++) {
            a[(size_t)i * stride + (size_t)p->columns[k]] = p->values[k];
        }
    }
    return a;
}

static double worker_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * Best time of several calls of solve(data): repeated until they took 30 ms together, 500 at most, within 0.4 s.
 * before(data), which may be NULL, is called before each and not timed.
 */
static double worker_time(int (*solve)(void *), void (*before)(void *), void *data, int *claim)
{
    const double begin = worker_seconds();
    double best = HUGE_VAL, total = 0.0;
    for (int k = 0; k < 500 && total < 0.03 && (k == 0 || worker_seconds() - begin < 0.4); k++) {
        if (before) {
            before(data);
        }
        const double start = worker_seconds();
        *claim = solve(data);
        const double spent = worker_seconds() - start;
        best = spent < best ? spent : best;
        total += spent;
    }
    return best;
}

static void worker_print(const char *setting, double seconds, int claim, int n, const double *x)
{
    printf("%s %.9g %d", setting, seconds, claim);
    for (int i = 0; i < n; i++) {
        printf(" %.17g", x[i]);
    }
    printf("\n");
    fflush(stdout);
}

#endif
