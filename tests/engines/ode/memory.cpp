// Once warm, a step allocates nothing: not the adapter, not the library, not ODE on its behalf. And what the adapter itself
// takes, collecting rows and writing back, is little beside the solve.
#include "scenes.hpp"

#include <atomic>

static std::atomic<long> allocations(0);
extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *old, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);
void *malloc(std::size_t size) { return allocations++, __libc_malloc(size); }
void *calloc(std::size_t count, std::size_t size) { return allocations++, __libc_calloc(count, size); }
void *realloc(void *old, std::size_t size) { return allocations++, __libc_realloc(old, size); }
void *aligned_alloc(std::size_t alignment, std::size_t size) { return allocations++, __libc_memalign(alignment, size); }
int posix_memalign(void **out, std::size_t alignment, std::size_t size)
{
    allocations++;
    *out = __libc_memalign(alignment, size);
    return *out == nullptr ? 12 : 0;
}
}

using namespace scenes;

struct PublicWorld : World {
    mlcp::ode::Stepper stepper;
    explicit PublicWorld(const mlcp::ode::Options &options) : stepper(world, options) {}
    void contact(const dContact &c, dBodyID body1, dBodyID body2) override { stepper.add_contact(c, body1, body2); }
};

static void check(const char *name, mlcp::ode::Options options, bool stepper, double share)
{
    PublicWorld open(options);
    World closed;
    World &w = stepper ? open : closed;
    mlcp::ode::Solver solver(options);
    w.floor();
    dWorldSetCFM(w.world, 1e-5);
    ode_world::build_wall(w, 12, 20.0, false, 0.02);
    long during = 0;
    int most = 0;
    double solving = 0.0, adapting = 0.0;
    for (int k = 0; k < 100; k++) {
        w.collide();
        const long before = allocations;
        EXPECT((stepper ? open.stepper.step(H) : mlcp::ode::world_step(w.world, H, solver)) == 1);
        const mlcp::ode::Report &report = stepper ? open.stepper.report() : solver.report();
        EXPECT(report.failures == 0);
        // A wall that settles: until it has, a step may be larger than any before.
        if (k >= 50) {
            during += allocations - before;
            solving += report.solve_seconds;
            adapting += report.adapter_seconds;
        }
        most = std::max(most, report.rows);
    }
    std::printf("%-24s %d rows: %ld allocations in 50 steps; solving %.3f ms, adapter %.3f ms (%.1f %%)\n", name, most, during,
                solving / 50 * 1e3, adapting / 50 * 1e3, 100 * adapting / solving);
    EXPECT(during == 0 && most >= 500);
    EXPECT(share == 0.0 || adapting <= share * solving);
}

int main()
{
    dInitODE();
    EXPECT(mlcp::ode::available());
    mlcp::ode::Options options;
    check("world_step", options, false, 0.10);
    check("Stepper", options, true, 0.10);
    check("world_step, frozen", like_ode(), false, 0.0);
    options.measure_only = options.quick_step = true;
    check("measuring QuickStep", options, false, 0.0);
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
