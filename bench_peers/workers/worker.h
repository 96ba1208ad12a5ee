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

/* 0 ... n - 1 in an order that looks like none, the same in every run. */
static inline int32_t *worker_order(int n)
{
    int32_t *order = (int32_t *)calloc((size_t)n + 1, sizeof(int32_t));
    uint32_t state = 12345;
    for (int i = 0; i < n; i++) {
        int at;
        state = state * 1664525u + 1013904223u;
        at = (int)((state >> 8) % (uint32_t)(i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

static inline int worker_by_column(const void *p, const void *q)
{
    return (*(const int32_t *const *)p)[0] - (*(const int32_t *const *)q)[0];
}

/*
 * The same problem with rows and bodies in another order. Solved between two timed solves, it lets nothing of the one be of
 * use in the other: no analysed pattern, and no branch that the processor has learned to foresee.
 */
static inline worker_problem worker_shuffled(const worker_problem *p)
{
    const int n = p->n, bodies = p->bodies;
    int32_t *rows = worker_order(n), *places = (int32_t *)calloc((size_t)n + 1, 4), *names = worker_order(bodies);
    const int32_t **sorted = (const int32_t **)calloc((size_t)n + 1, sizeof *sorted);
    int32_t *columns = (int32_t *)calloc((size_t)p->entries + 1, 4);
    worker_problem s = *p;
    for (int i = 0; i < n; i++) {
        places[rows[i]] = i;
    }
    s.row_start = (int32_t *)calloc((size_t)n + 1, 4);
    s.columns = (int32_t *)calloc((size_t)p->entries + 1, 4);
    s.values = (double *)calloc((size_t)p->entries + 1, 8);
    s.b = (double *)calloc((size_t)n + 1, 8);
    s.lo = (double *)calloc((size_t)n + 1, 8);
    s.hi = (double *)calloc((size_t)n + 1, 8);
    s.jacobian = (double *)calloc(12 * (size_t)n + 1, 8);
    s.inverse_mass = (double *)calloc(12 * (size_t)bodies + 1, 8);
    s.compliance = (double *)calloc((size_t)n + 1, 8);
    s.body_pairs = (int32_t *)calloc(2 * (size_t)n + 1, 4);
    for (int k = 0; k < p->entries; k++) {
        columns[k] = places[p->columns[k]];
    }
    for (int i = 0; i < n; i++) {
        const int old = rows[i], begin = p->row_start[old], count = p->row_start[old + 1] - begin;
        for (int k = 0; k < count; k++) {
            sorted[k] = &columns[begin + k];
        }
        qsort(sorted, (size_t)count, sizeof *sorted, worker_by_column);
        for (int k = 0; k < count; k++) {
            s.columns[s.row_start[i] + k] = *sorted[k];
            s.values[s.row_start[i] + k] = p->values[sorted[k] - columns];
        }
        s.row_start[i + 1] = s.row_start[i] + count;
        s.b[i] = p->b[old];
        s.lo[i] = p->lo[old];
        s.hi[i] = p->hi[old];
        for (int half = 0; half < 2 && bodies > 0; half++) {
            const int body = p->body_pairs[2 * old + half];
            s.body_pairs[2 * i + half] = body < 0 ? body : names[body];
        }
        if (bodies > 0) {
            memcpy(s.jacobian + 12 * i, p->jacobian + 12 * old, 12 * sizeof(double));
            s.compliance[i] = p->compliance[old];
        }
    }
    for (int k = 0; k < bodies; k++) {
        memcpy(s.inverse_mass + 12 * names[k], p->inverse_mass + 12 * k, 12 * sizeof(double));
    }
    if (p->normals) {
        s.normals = (int32_t *)calloc((size_t)n + 1, 4);
        s.mu = (double *)calloc((size_t)n + 1, 8);
        for (int i = 0; i < n; i++) {
            const int normal = p->normals[rows[i]];
            s.normals[i] = normal < 0 ? normal : places[normal];
            s.mu[i] = p->mu[rows[i]];
        }
    }
    free(rows);
    free(places);
    free(names);
    free(sorted);
    free(columns);
    return s;
}

static double worker_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * Best time of several calls of solve(data): repeated until they took 30 ms together, 500 at most, within 0.4 s.
 * before(data), which may be NULL, is called between them and not timed.
 */
static double worker_time(int (*solve)(void *), void (*before)(void *), void *data, int *claim)
{
    const double begin = worker_seconds();
    double best = HUGE_VAL, total = 0.0;
    for (int k = 0; k < 500 && total < 0.03 && (k == 0 || worker_seconds() - begin < 0.4); k++) {
        if (before && k > 0) {
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
