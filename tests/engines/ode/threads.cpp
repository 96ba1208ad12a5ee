// ODE's own threads step islands at the same time: bit for bit what one thread gives. With measure_only ODE's solver runs,
// which adds up forces in the order in which its threads come, so its result is printed, not compared.
#include "scenes.hpp"

using namespace scenes;

// ODE reports pairs in the order in which geoms have moved, and that is the order in which threads came. The solution of a
// step does not depend on it but for rounding and redundant contacts; so that bits can be compared, contacts are sorted.
struct SortedWorld : World {
    struct Found {
        int first, second, number;
        dContact contact;
        dBodyID body1, body2;

        bool operator<(const Found &o) const
        {
            return first != o.first ? first < o.first : second != o.second ? second < o.second : number < o.number;
        }
    };
    std::vector<Found> found;

    int index(dGeomID geom) const
    {
        const dBodyID body = dGeomGetBody(geom);
        return body ? static_cast<int>(std::find(bodies.begin(), bodies.end(), body) - bodies.begin()) : -1;
    }

    static void pair(void *data, dGeomID a, dGeomID b)
    {
        SortedWorld &self = *static_cast<SortedWorld *>(data);
        if (self.index(a) > self.index(b)) {
            std::swap(a, b);
        }
        const dBodyID body1 = dGeomGetBody(a), body2 = dGeomGetBody(b);
        if (body1 && body2 && dAreConnectedExcluding(body1, body2, dJointTypeContact)) {
            return;
        }
        dContact contacts_[8];
        const int n = dCollide(a, b, 8, &contacts_[0].geom, sizeof(dContact));
        for (int i = 0; i < n; i++) {
            contacts_[i].surface.mode = dContactApprox1;
            contacts_[i].surface.mu = self.mu;
            const Found one = {self.index(a), self.index(b), i, contacts_[i], body1, body2};
            self.found.push_back(one);
        }
    }

    void collide_sorted()
    {
        dJointGroupEmpty(contacts);
        found.clear();
        dSpaceCollide(space, this, &pair);
        std::sort(found.begin(), found.end());
        for (const Found &f : found) {
            contact(f.contact, f.body1, f.body2);
        }
    }
};

// 20 piles and the zoo: many islands, of different sizes.
static void build(World &w)
{
    w.floor();
    build_zoo(w, false);
    for (int pile = 0; pile < 20; pile++) {
        for (int i = 0; i < 1 + pile % 5; i++) {
            w.box(1.0 + i, 0.5, 0.4, 0.3, 3.0 * pile + 0.03 * i, 4.0, 0.16 + 0.32 * i);
        }
    }
}

static void run(SortedWorld &w, const mlcp::ode::Options &options, int threads, int steps, int *most_islands)
{
    dThreadingImplementationID threading = nullptr;
    dThreadingThreadPoolID pool = nullptr;
    if (threads > 1) {
        threading = dThreadingAllocateMultiThreadedImplementation();
        pool = dThreadingAllocateThreadPool(threads, 0, dAllocateFlagBasicData, nullptr);
        EXPECT(threading && pool);
        dThreadingThreadPoolServeMultiThreadedImplementation(pool, threading);
        dWorldSetStepIslandsProcessingMaxThreadCount(w.world, threads);
        dWorldSetStepThreadingImplementation(w.world, dThreadingImplementationGetFunctions(threading), threading);
    }
    build(w);
    {
        mlcp::ode::Solver solver(options);
        for (int k = 0; k < steps; k++) {
            w.collide_sorted();
            EXPECT(mlcp::ode::world_step(w.world, H, solver) == 1 && solver.report().failures == 0);
            *most_islands = std::max(*most_islands, solver.report().islands);
        }
    }
    if (threads > 1) {
        dThreadingImplementationShutdownProcessing(threading);
        dThreadingFreeThreadPool(pool);
        dWorldSetStepThreadingImplementation(w.world, nullptr, nullptr);
        dThreadingFreeImplementation(threading);
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? std::atoi(argv[1]) : 120;
    dInitODE();
    for (int measure = 0; measure < 2; measure++) {
        mlcp::ode::Options options;
        options.measure_only = measure == 1;
        SortedWorld one, two;
        int islands = 0;
        run(one, options, 1, steps, &islands);
        run(two, options, 2, steps, &islands);
        std::printf("%s: up to %d islands, two threads differ from one by %g\n", measure ? "measured" : "solved", islands,
                    difference(one, two));
        EXPECT(islands >= 20 && (measure || difference(one, two) == 0.0));
    }
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
