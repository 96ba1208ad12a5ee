/*
 * Scenes of any size with analytic contacts, no simulation, and a stopwatch: what the workers of `make bench-scale` share.
 *
 * A worker is called as `worker SCENE ROWS` (SCENE: wall or spheres; about ROWS rows) and prints one line of
 * `name value` pairs; src/scale.rs reads them. Each contact has three rows: normal and two of friction.
 */
#ifndef SCALE_HPP
#define SCALE_HPP

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

const double GRAVITY = 9.81, STEP = 1.0 / 60.0, MU = 0.5;

struct Vec {
    double x, y, z;
};

inline Vec operator-(Vec p, Vec q) { return {p.x - q.x, p.y - q.y, p.z - q.z}; }
inline Vec operator*(double s, Vec p) { return {s * p.x, s * p.y, s * p.z}; }
inline Vec cross(Vec p, Vec q) { return {p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x}; }
inline Vec unit(Vec p) { return 1.0 / sqrt(p.x * p.x + p.y * p.y + p.z * p.z) * p; }

/* A body: where it is, its mass and its three principal inertias, along the axes. */
struct Body {
    Vec at;
    double mass;
    Vec inertia;
};

/* A contact of body b on body a (-1: the ground), with the normal from a to b. */
struct Contact {
    int a, b;
    Vec at, normal;
};

struct Scene {
    std::vector<Body> bodies;
    std::vector<Contact> contacts;
    size_t rows() const { return 3 * contacts.size(); }

    /* Bodies fall and draw together towards the foot of the scene, so that every contact has something to do: engines may
     * pass over the friction of contacts that bear nothing. */
    Vec velocity(const Body &b) const { return -0.1 * (b.at - Vec{0.5 * bodies.back().at.x, 0.5 * bodies.back().at.y, -10.0}); }
};

/* Courses of bricks of 1 x 0.5 x 0.4 m and 10 kg, every second one shifted by half a brick; overlaps touch at their corners. */
inline Scene wall(size_t rows)
{
    Scene scene;
    const int width = std::max(2, (int)sqrt((double)rows / 24.0)), height = std::max(2, (int)((double)rows / (24.0 * width)) + 1);
    for (int course = 0; course < height; course++) {
        for (int k = 0; k < width; k++) {
            const double x = k + 0.5 * (course % 2), z = 0.2 + 0.4 * course;
            const int id = (int)scene.bodies.size();
            scene.bodies.push_back({{x, 0, z}, 10.0, {10.0 * 0.41 / 12, 10.0 * 1.16 / 12, 10.0 * 1.25 / 12}});
            for (int j = k - 1; j <= k + 1; j++) {
                const double other = course == 0 ? x : j + 0.5 * ((course - 1) % 2);
                const int below = course == 0 ? -1 : id - width + j - k;
                if (course == 0 ? j != k : j < 0 || j >= width || fabs(other - x) > 0.9) {
                    continue;
                }
                for (double corner : {std::max(x, other) - 0.5, std::min(x, other) + 0.5}) {
                    for (double side : {-0.25, 0.25}) {
                        scene.contacts.push_back({below, id, {corner, side, z - 0.2}, {0, 0, 1}});
                    }
                }
            }
        }
    }
    return scene;
}

/* Spheres of 1 m and 1 kg, closely packed in square layers: four neighbours below, two at the side. */
inline Scene spheres(size_t rows)
{
    Scene scene;
    const int side = std::max(2, (int)cbrt((double)rows / 18.0)), height = std::max(2, (int)((double)rows / (17.0 * side * side)) + 1);
    const double rise = sqrt(0.5);
    for (int layer = 0; layer < height; layer++) {
        for (int i = 0; i < side; i++) {
            for (int j = 0; j < side; j++) {
                const double shift = 0.5 * (layer % 2);
                const Vec at = {i + shift, j + shift, 0.5 + rise * layer};
                const int id = (int)scene.bodies.size();
                scene.bodies.push_back({at, 1.0, {0.1, 0.1, 0.1}});
                const auto touch = [&](int other, Vec there) {
                    const Vec normal = unit(at - there);
                    scene.contacts.push_back({other, id, at - 0.5 * normal, normal});
                };
                if (layer == 0) {
                    touch(-1, {at.x, at.y, at.z - 1.0});
                }
                for (int k = 0; layer > 0 && k < 4; k++) {
                    const int p = i + k / 2 - 1 + layer % 2, q = j + k % 2 - 1 + layer % 2;
                    if (p >= 0 && q >= 0 && p < side && q < side) {
                        const int other = ((layer - 1) * side + p) * side + q;
                        touch(other, scene.bodies[(size_t)other].at);
                    }
                }
                if (j > 0) {
                    touch(id - 1, scene.bodies[(size_t)id - 1].at);
                }
                if (i > 0) {
                    touch(id - side, scene.bodies[(size_t)(id - side)].at);
                }
            }
        }
    }
    return scene;
}

inline Scene scene_of(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[1], "wall") != 0 && strcmp(argv[1], "spheres") != 0)) {
        fprintf(stderr, "wall|spheres ROWS\n");
        exit(1);
    }
    const size_t rows = strtoull(argv[2], NULL, 10);
    return strcmp(argv[1], "wall") == 0 ? wall(rows) : spheres(rows);
}

/* The processor time of this thread: a busy machine disturbs it less than the clock on the wall. */
inline double seconds()
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sweeps that are timed together: about a millisecond's worth, so that some of them find the machine undisturbed. */
inline int together(size_t rows) { return std::max(1, (int)(100000 / rows)); }

/* Repeat `call` for about a second, five times at least. */
inline void repeat(const std::function<void()> &call)
{
    const double start = seconds();
    for (int k = 0; k < 5 || (k < 100000 && seconds() - start < 1.0); k++) {
        call();
    }
}

/* Times at the end of each of many sweeps, and the least that `count` of them took, per sweep. */
struct Clock {
    std::vector<double> times;
    double best = HUGE_VAL;

    void tick() { times.push_back(seconds()); }
    void close(int count)
    {
        for (size_t k = 0; k + (size_t)count < times.size(); k += (size_t)count) {
            best = std::min(best, (times[k + (size_t)count] - times[k]) / count);
        }
        times.clear();
    }
};

#endif
