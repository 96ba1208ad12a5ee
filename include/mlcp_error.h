/*
 * mlcp_error.h: how wrong is your solver's answer, in joules? Header only, nothing to link but the C library (-lm).
 *
 * For engines that keep their own solver and want to measure it. Your problem, in libmlcp's signs:
 *
 *     w = A x + b,   lo <= x <= hi,   w >= 0 where x = lo,  w <= 0 where x = hi,  w = 0 between
 *
 * x: impulses (N s, N m s)   w: velocities (m/s, rad/s)   A = J M^-1 J^T (+ compliance)   diagonal: a_ii of A (1/kg)
 *
 * w must be A x + b of the x that is measured, with friction bounds evaluated at that x. If your engine stores forces and
 * accelerations, multiply x, lo, hi and w by the step h first. If it writes A x = b + w, only the sign of b differs; w is
 * the same.
 *
 *     double joules = mlcp_error_energy(n, diagonal, x, w, lo, hi, NULL);
 *     if (joules < 0.0) row = mlcp_error_check(n, diagonal, x, w, lo, hi);    // the first row that makes no sense
 *     double more = mlcp_error_energy_round_off(n, diagonal, w, abs_sum, n + 1, joules);  // what round-off may hide
 *
 * Every function on arrays
 *   - reads n values per array and returns the sum over rows, added in row order;
 *   - writes each row's error to out_row_errors (n doubles), unless that is NULL;
 *   - answers MLCP_ERROR_INVALID (-1.0), and writes nothing, if mlcp_error_check would name a row. It never returns NaN;
 *   - has a twin with the suffix _f32 that reads float arrays. Values are widened one by one; the result stays double.
 * Only an infinite bound (HUGE_VAL) is absent; translate your engine's number for it, such as Bullet's 1e10 on contacts.
 * Any thread; no allocation; no state.
 *
 * A contact with exact Coulomb friction: its normal row as a row, its two tangent rows together, with
 *     joules = mlcp_error_energy_disc(diagonal, x, w, mlcp_error_disc_radius(mu, x_n));
 *
 * Which measure? Energy. It is zero exactly at a solution, and neither units nor row scaling change the order of two
 * answers. Fischer-Burmeister, natural, merit and penalized add N s to m/s: a unit change can turn their verdict around.
 *
 * The functions repeat the formulas of the library (mlcp.h) and give the same bits, on targets with true double
 * arithmetic (not x87) and without -ffast-math.
 *
 * C99, C11, C++17. Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_ERROR_H
#define MLCP_ERROR_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Result of a sum when a row is invalid. Errors are never negative, so `< 0.0` is the test. */
#define MLCP_ERROR_INVALID (-1.0)

/* Result of mlcp_error_check when every row is valid. */
#define MLCP_ERROR_NO_ROW SIZE_MAX

/* Weight of the penalised measure that Chen, Chen and Kanzow found to work best. */
#define MLCP_ERROR_LAMBDA 0.95

/*
 * Round a product before it is added to something. Where the CPU can fuse the two, gcc in GNU mode and clang with
 * -ffp-contract=fast would do so, and the last bits would depend on the compiler.
 */
#if defined(__GNUC__) && (!defined(__x86_64__) || defined(__FMA__))
#define MLCP_ERROR_ROUND(value) __asm__("" : "+m"(value))
#else
#define MLCP_ERROR_ROUND(value) ((void)0)
#endif

/* The larger and the smaller of two values. A NaN is ignored, as by fmax and fmin; these are always inlined. */
static inline double mlcp_error_max(double p, double q) { return p > q || !(q <= q) ? p : q; }
static inline double mlcp_error_min(double p, double q) { return p < q || !(q <= q) ? p : q; }

/*
 * The Fischer-Burmeister function p + q - sqrt(p^2 + q^2) for q >= 0; p = +inf gives its limit q. Each branch takes the
 * larger argument out: no cancellation, no overflow.
 */
static inline double mlcp_error_phi(double p, double q)
{
    const double size = fabs(p);
    double ratio, square, root;
    if (p > DBL_MAX) {
        return q;
    }
    if (!(q > 0.0) || !(size > 0.0)) {
        return p - size;
    }
    ratio = size < q ? size / q : q / size;
    square = ratio * ratio;
    MLCP_ERROR_ROUND(square);
    root = sqrt(1.0 + square);
    if (p > 0.0) {
        return 2.0 * ((size < q ? size : q) / (1.0 + ratio + root)); /* (p+q)^2 - (p^2+q^2) = 2pq */
    }
    return size < q ? p * (1.0 + ratio / (1.0 + root)) : p * (1.0 + root - ratio);
}

/* ---- One row. Arguments must be valid as mlcp_error_row_is_valid says; they are not checked again. ---- */

/* Tell whether the numbers are a row: x, w finite; lo <= hi; lo < +inf, hi > -inf; a finite and > 0. 1: yes. */
static inline int mlcp_error_row_is_valid(double a, double x, double w, double lo, double hi)
{
    return a > 0.0 && a <= DBL_MAX && fabs(x) <= DBL_MAX && fabs(w) <= DBL_MAX && lo <= hi && lo <= DBL_MAX
           && hi >= -DBL_MAX;
}

/*
 * Energy error of a row in joules, a = a_ii > 0:
 *
 *     e = max( a/2 (x-hi)+^2, a/2 (lo-x)+^2, min(w+^2/(2a), a/2 (x-lo)+^2), min(w-^2/(2a), a/2 (hi-x)+^2) )
 *
 * An impulse beyond its bound costs the energy it adds. A velocity that should not be there costs its kinetic energy, or
 * the energy of the impulse that would excuse it, whichever is less.
 * Enzenhoefer, Peiret, Teichmann, Kovecses 2019, eqs. 15-22, doi 10.1115/1.4042690.
 */
static inline double mlcp_error_energy_row(double a, double x, double w, double lo, double hi)
{
    const double half_a = 0.5 * a;
    const double beyond = mlcp_error_max(mlcp_error_max(x - hi, 0.0), mlcp_error_max(lo - x, 0.0));
    /* Only one of w+ and w- is non-zero: the slack on the side that w may rest on. */
    const double slack = mlcp_error_max(w > 0.0 ? x - lo : hi - x, 0.0);
    const double kinetic = 0.5 * w * w / a;
    return mlcp_error_max(half_a * beyond * beyond, mlcp_error_min(kinetic, half_a * slack * slack));
}

/*
 * Fischer-Burmeister residual of a row, max(|phi(hi-x, w-)|, |phi(x-lo, w+)|) with phi(p, q) = p + q - sqrt(p^2 + q^2).
 * Adds N s to m/s, so it has no unit. Enzenhoefer et al. 2019, eqs. 5-6.
 */
static inline double mlcp_error_fischer_burmeister_row(double x, double w, double lo, double hi)
{
    const double upper = fabs(mlcp_error_phi(hi - x, mlcp_error_max(-w, 0.0)));
    const double lower = fabs(mlcp_error_phi(x - lo, mlcp_error_max(w, 0.0)));
    return mlcp_error_max(upper, lower);
}

/*
 * Natural residual of a row, max(|min(hi-x, w-)|, |min(x-lo, w+)|). N s or m/s, whichever is less. Enzenhoefer et al. 2019,
 * eqs. 8-9.
 */
static inline double mlcp_error_natural_row(double x, double w, double lo, double hi)
{
    const double upper = fabs(mlcp_error_min(hi - x, mlcp_error_max(-w, 0.0)));
    const double lower = fabs(mlcp_error_min(x - lo, mlcp_error_max(w, 0.0)));
    return mlcp_error_max(upper, lower);
}

/* Half the squared Fischer-Burmeister residual: the total error of Lu, Williams, Lacoursiere, Trinkle 2013. No unit. */
static inline double mlcp_error_merit_row(double x, double w, double lo, double hi)
{
    const double psi = mlcp_error_fischer_burmeister_row(x, w, lo, hi);
    double e = 0.5 * psi * psi;
    MLCP_ERROR_ROUND(e);
    return e;
}

static inline double mlcp_error_penalized_phi(double p, double q, double lambda)
{
    /* At an infinite bound there is no product to penalise: the condition is w = 0 alone. */
    double first = lambda * mlcp_error_phi(p, q);
    double second = p > DBL_MAX ? 0.0 : (1.0 - lambda) * mlcp_error_max(p, 0.0) * q;
    MLCP_ERROR_ROUND(first);
    MLCP_ERROR_ROUND(second);
    return first + second;
}

/*
 * Penalised Fischer-Burmeister residual: lambda phi(p, q) + (1 - lambda) p+ q+ in place of phi; lambda in (0, 1], usually
 * MLCP_ERROR_LAMBDA. No unit. Chen, Chen, Kanzow 1997; Lu et al. 2013, eq. 17.
 */
static inline double mlcp_error_penalized_row(double x, double w, double lo, double hi, double lambda)
{
    const double upper = fabs(mlcp_error_penalized_phi(hi - x, mlcp_error_max(-w, 0.0), lambda));
    const double lower = fabs(mlcp_error_penalized_phi(x - lo, mlcp_error_max(w, 0.0), lambda));
    return mlcp_error_max(upper, lower);
}

/*
 * Duality gap of a row in joules, w+ (x-lo) + w- (hi-x). For symmetric positive semidefinite A and x within its bounds,
 * the sum bounds how far 1/2 x^T A x + b^T x lies above its minimum. +inf where w pushes towards an absent bound.
 */
static inline double mlcp_error_duality_gap_row(double x, double w, double lo, double hi)
{
    const double slack = mlcp_error_max(w > 0.0 ? x - lo : hi - x, 0.0);
    /* 0 * inf is no gap at all. */
    double gap = w < 0.0 || w > 0.0 ? fabs(w) * slack : 0.0;
    MLCP_ERROR_ROUND(gap);
    return gap;
}

/* ---- Two tangent rows of a contact with exact Coulomb friction: one error for the pair. Arguments are checked. ---- */

/* Radius of the disc that holds the tangent impulses: mu max(x_n, 0), and 0 for an open contact however rough. */
static inline double mlcp_error_disc_radius(double mu, double x_n) { return x_n > 0.0 && mu > 0.0 ? mu * x_n : 0.0; }

/* x - P(x - w/a), P the projection onto the disc: how far x is from where it should go. 0: P does not act, it is w/a. */
static inline int mlcp_error_disc_way(double a, const double x[2], const double w[2], double radius, double out_way[2])
{
    double aim[2] = {x[0] - w[0] / a, x[1] - w[1] / a};
    double size = hypot(aim[0], aim[1]), nearest;
    int i;
    if (size <= radius) {
        return 0;
    }
    if (size > DBL_MAX) { /* too long for its length to be a number */
        for (i = 0; i < 2; i++) {
            aim[i] = mlcp_error_max(mlcp_error_min(0.25 * aim[i], 0.25 * DBL_MAX), -0.25 * DBL_MAX);
        }
        size = hypot(aim[0], aim[1]);
    }
    for (i = 0; i < 2; i++) {
        nearest = radius * (aim[i] / size);
        MLCP_ERROR_ROUND(nearest);
        out_way[i] = mlcp_error_max(mlcp_error_min(x[i] - nearest, DBL_MAX), -DBL_MAX); /* inf * 0 would be NaN */
    }
    return 1;
}

/* Tell whether the numbers are tangent rows: diagonal finite and > 0; x, w finite; radius >= 0, +inf allowed. 1: yes. */
static inline int mlcp_error_disc_is_valid(const double diagonal[2], const double x[2], const double w[2], double radius)
{
    return mlcp_error_row_is_valid(diagonal[0], x[0], w[0], 0.0, radius)
           && mlcp_error_row_is_valid(diagonal[1], x[1], w[1], 0.0, radius);
}

/*
 * Energy error of the two rows in joules, a/2 |x - P(x - w/a)|^2 with a the mean of the two diagonal entries: the same in
 * any tangent basis, and on a line the energy of a row with bounds -radius, radius. MLCP_ERROR_INVALID for bad numbers.
 */
static inline double mlcp_error_energy_disc(const double diagonal[2], const double x[2], const double w[2], double radius)
{
    const double a = 0.5 * (diagonal[0] + diagonal[1]);
    double way[2], p, q;
    if (!mlcp_error_disc_is_valid(diagonal, x, w, radius)) {
        return MLCP_ERROR_INVALID;
    }
    if (mlcp_error_disc_way(a, x, w, radius, way)) {
        p = 0.5 * a * way[0] * way[0];
        q = 0.5 * a * way[1] * way[1];
        MLCP_ERROR_ROUND(p);
        MLCP_ERROR_ROUND(q);
    } else {
        p = 0.5 * w[0] * w[0] / a;
        q = 0.5 * w[1] * w[1] / a;
    }
    return p + q;
}

/* Natural residual of the two rows, |x - P(x - w)|: N s or m/s, whichever is less. MLCP_ERROR_INVALID for bad numbers. */
static inline double mlcp_error_natural_disc(const double x[2], const double w[2], double radius)
{
    const double one[2] = {1.0, 1.0};
    double way[2];
    if (!mlcp_error_disc_is_valid(one, x, w, radius)) {
        return MLCP_ERROR_INVALID;
    }
    return mlcp_error_disc_way(1.0, x, w, radius, way) ? hypot(way[0], way[1]) : hypot(w[0], w[1]);
}

/* ---- All rows. Double and float arrays share one code, written as a macro. ---- */

/* x, w, lo and hi of row i as doubles, whatever the arrays hold. */
#define MLCP_ERROR_ROW (double)x[i], (double)w[i], (double)lo[i], (double)hi[i]

/* One sum: check all, then add in row order. Names n, x, w, lo, hi, out_row_errors are the caller's parameters. */
#define MLCP_ERROR_SUM(is_invalid, row_error)                                                                            \
    double total = 0.0;                                                                                                  \
    size_t i;                                                                                                            \
    if (is_invalid) {                                                                                                    \
        return MLCP_ERROR_INVALID;                                                                                       \
    }                                                                                                                    \
    for (i = 0; i < n; i++) {                                                                                            \
        const double e = row_error;                                                                                      \
        if (out_row_errors != NULL) {                                                                                    \
            out_row_errors[i] = e;                                                                                       \
        }                                                                                                                \
        total += e;                                                                                                      \
    }                                                                                                                    \
    return total

/* A measure that needs no diagonal. */
#define MLCP_ERROR_DEFINE_MEASURE(real, suffix, measure)                                                                 \
    static inline double mlcp_error_##measure##suffix(size_t n, const real *x, const real *w, const real *lo,            \
                                                      const real *hi, double *out_row_errors)                            \
    {                                                                                                                    \
        MLCP_ERROR_SUM(mlcp_error_check##suffix(n, NULL, x, w, lo, hi) != MLCP_ERROR_NO_ROW,                             \
                       mlcp_error_##measure##_row(MLCP_ERROR_ROW));                                                      \
    }

#define MLCP_ERROR_DEFINE_ALL(real, suffix)                                                                              \
    static inline size_t mlcp_error_check##suffix(size_t n, const real *diagonal, const real *x, const real *w,          \
                                                  const real *lo, const real *hi)                                        \
    {                                                                                                                    \
        size_t i;                                                                                                        \
        for (i = 0; i < n; i++) {                                                                                        \
            const double a = diagonal != NULL ? (double)diagonal[i] : 1.0;                                               \
            if (!mlcp_error_row_is_valid(a, MLCP_ERROR_ROW)) {                                                           \
                return i;                                                                                                \
            }                                                                                                            \
        }                                                                                                                \
        return MLCP_ERROR_NO_ROW;                                                                                        \
    }                                                                                                                    \
    static inline double mlcp_error_energy##suffix(size_t n, const real *diagonal, const real *x, const real *w,         \
                                                   const real *lo, const real *hi, double *out_row_errors)               \
    {                                                                                                                    \
        MLCP_ERROR_SUM(n != 0 && (diagonal == NULL || mlcp_error_check##suffix(n, diagonal, x, w, lo, hi)                \
                                                          != MLCP_ERROR_NO_ROW),                                         \
                       mlcp_error_energy_row((double)diagonal[i], MLCP_ERROR_ROW));                                      \
    }                                                                                                                    \
    static inline double mlcp_error_energy_round_off##suffix(size_t n, const real *diagonal, const real *w,              \
                                                             const real *abs_sum, size_t roundings, double energy)       \
    {                                                                                                                    \
        const double u = 0.5 * (sizeof(real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON);                      \
        const double mu = (double)roundings * u;                                                                         \
        double sum = 0.0;                                                                                                \
        size_t i;                                                                                                        \
        if (!(energy >= 0.0) || !(mu < 0.5)) {                                                                           \
            return MLCP_ERROR_INVALID;                                                                                   \
        }                                                                                                                \
        for (i = 0; i < n; i++) {                                                                                        \
            const double delta = mu / (1.0 - mu) * (double)abs_sum[i] + u * fabs((double)w[i]);                          \
            if (!(diagonal[i] > 0) || !(abs_sum[i] >= 0) || !(delta <= DBL_MAX)) {                                       \
                return MLCP_ERROR_INVALID;                                                                               \
            }                                                                                                            \
            sum += delta * (delta / (2.0 * (double)diagonal[i]));                                                        \
        }                                                                                                                \
        return 2.0 * sqrt(energy) * sqrt(sum) + sum;                                                                     \
    }                                                                                                                    \
    MLCP_ERROR_DEFINE_MEASURE(real, suffix, fischer_burmeister)                                                          \
    MLCP_ERROR_DEFINE_MEASURE(real, suffix, natural)                                                                     \
    MLCP_ERROR_DEFINE_MEASURE(real, suffix, merit)                                                                       \
    MLCP_ERROR_DEFINE_MEASURE(real, suffix, duality_gap)                                                                 \
    static inline double mlcp_error_penalized##suffix(size_t n, const real *x, const real *w, const real *lo,            \
                                                      const real *hi, double lambda, double *out_row_errors)             \
    {                                                                                                                    \
        MLCP_ERROR_SUM(!(lambda > 0.0 && lambda <= 1.0)                                                                  \
                           || mlcp_error_check##suffix(n, NULL, x, w, lo, hi) != MLCP_ERROR_NO_ROW,                      \
                       mlcp_error_penalized_row(MLCP_ERROR_ROW, lambda));                                                \
    }

/*
 * Functions defined by the next two lines, here for double; the float twins end in _f32:
 *
 * The first invalid row, or MLCP_ERROR_NO_ROW. diagonal may be NULL: then only x, w, lo and hi are looked at.
 *     size_t mlcp_error_check(size_t n, const double *diagonal, const double *x, const double *w,
 *                             const double *lo, const double *hi);
 * Energy error in joules.
 *     double mlcp_error_energy(size_t n, const double *diagonal, const double *x, const double *w,
 *                              const double *lo, const double *hi, double *out_row_errors);
 * Bound of what round-off in w = A x + b adds to the energy error, in joules: the true error is at most energy plus it.
 * abs_sum[i] is |a_i1| |x_1| + ... + |a_in| |x_n|, roundings the terms of the longest row and one more. Where w comes
 * from two-body rows abs_sum is |J| M^-1 |J|^T |x| (+ compliance), roundings the rows on one body and 30 more. Needs
 * valid arguments of mlcp_error_energy; MLCP_ERROR_INVALID for a negative sum, a diagonal <= 0 or 2^52 roundings.
 *     double mlcp_error_energy_round_off(size_t n, const double *diagonal, const double *w, const double *abs_sum,
 *                                        size_t roundings, double energy);
 * Fischer-Burmeister, natural, merit: mixed units. Duality gap: joules.
 *     double mlcp_error_fischer_burmeister(size_t n, const double *x, const double *w,
 *                                          const double *lo, const double *hi, double *out_row_errors);
 *     double mlcp_error_natural     (arguments as for mlcp_error_fischer_burmeister)
 *     double mlcp_error_merit       (arguments as for mlcp_error_fischer_burmeister)
 *     double mlcp_error_duality_gap (arguments as for mlcp_error_fischer_burmeister)
 * Penalised Fischer-Burmeister: mixed units; also MLCP_ERROR_INVALID for a lambda outside (0, 1].
 *     double mlcp_error_penalized(size_t n, const double *x, const double *w, const double *lo, const double *hi,
 *                                 double lambda, double *out_row_errors);
 */
MLCP_ERROR_DEFINE_ALL(double, )
MLCP_ERROR_DEFINE_ALL(float, _f32)

#undef MLCP_ERROR_DEFINE_ALL
#undef MLCP_ERROR_DEFINE_MEASURE
#undef MLCP_ERROR_SUM
#undef MLCP_ERROR_ROW
#undef MLCP_ERROR_ROUND

#endif /* MLCP_ERROR_H */
