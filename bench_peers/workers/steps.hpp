/*
 * What the recorders of consecutive steps share: `worker SCENE SKIP FILE` steps a scene at 60 Hz, solved by libmlcp, and
 * keeps the problems of STEPS steps after the first SKIP, one per step, with their solutions.
 */
#ifndef STEPS_HPP
#define STEPS_HPP

#include "mlcp.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

const int STEPS = 31;
const double STEP = 1.0 / 60.0;

/* Every body has a mass of its own, if only in the ninth digit: that is how it is known again in the next step. */
inline double own_mass(double mass)
{
    static int count = 0;
    return mass * (1.0 + 1e-9 * ++count);
}

/* Up to 5 mm to either side, the same in every run. */
inline double out_of_line()
{
    static unsigned random = 12345;
    random = random * 1664525u + 1013904223u;
    return 0.01 * ((random >> 8) / double(1 << 24) - 0.5);
}

/*
 * The wall of the corpus: 12 courses of three bricks of 1 m and two of 1.5 m in turn, 0.5 m high and deep, 10 kg per metre,
 * so far apart in a course that they only touch those above and below, and, as bricks are, some millimetres out of line.
 * add(mass, length, x, y, height) makes a brick.
 */
template <class Add> void build_bricks(Add add)
{
    const double gap = 0.03;
    for (int course = 0; course < 12; course++) {
        const int bricks = course % 2 ? 2 : 3;
        const double length = 3.0 / bricks;
        for (int k = 0; k < bricks; k++) {
            const double x = (k - 0.5 * (bricks - 1)) * (length + gap) + out_of_line(), y = out_of_line();
            add(own_mass(10.0 * length), length, x, y, 0.25 + 0.5 * course);
        }
    }
}

class Recording {
public:
    Recording(int skip, const char *path) : skip_(skip)
    {
        mlcp_recorder_options options = mlcp_recorder_options();
        options.struct_size = sizeof options;
        options.when_full = MLCP_WHEN_FULL_WAIT;
        check(mlcp_recorder_create(path, &options, &recorder_));
    }
    ~Recording()
    {
        check(mlcp_recorder_flush(recorder_));
        mlcp_recorder_destroy(recorder_);
    }
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;

    void begin(int step) { step_ = step; }
    int end() const { return skip_ + STEPS; }

    /* Keep the problem of this step: the first, if there are several, as ODE's islands are. */
    void keep(const mlcp_problem *problem, const double *x, size_t n, const mlcp_report *report)
    {
        if (step_ < skip_ || step_ == kept_) {
            return;
        }
        kept_ = step_;
        char name[32];
        std::snprintf(name, sizeof name, "s%03d", step_);
        check(mlcp_recorder_append_problem(recorder_, name, problem, x, n, report));
    }

private:
    mlcp_recorder *recorder_ = nullptr;
    int skip_, step_ = 0, kept_ = -1;

    static void check(mlcp_status status)
    {
        if (status != MLCP_STATUS_OK) {
            std::fprintf(stderr, "steps: %s\n", mlcp_last_error());
            std::exit(1);
        }
    }
};

#endif
