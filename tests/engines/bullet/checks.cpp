/*
 * What mlcp_bullet.hpp promises, one check per name: checks NAME [STEPS]. Built by tests/engines/bullet.rs against Bullet in float and
 * in double; prints what it saw, ends with 1 at the first promise broken.
 */
#include "bullet_world.h"
#include "mlcp_bullet.hpp"

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <BulletDynamics/Featherstone/btMultiBodyMLCPConstraintSolver.h>
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace mlcp::bullet;

#define EXPECT(condition)                                                                                                \
    do {                                                                                                                 \
        if (!(condition)) {                                                                                              \
            std::printf("line %d: not so: %s\n", __LINE__, #condition);                                                  \
            std::exit(1);                                                                                                \
        }                                                                                                                \
    } while (0)

static const double STEP = 1.0 / 60.0;
static const bool DOUBLE = sizeof(btScalar) == sizeof(double);

/* ---- Allocations: this program's malloc family stands in front of the C library's ---- */

static bool counting = false;
static long allocations = 0;

extern "C" {
void *__libc_malloc(std::size_t size);
void *__libc_calloc(std::size_t count, std::size_t size);
void *__libc_realloc(void *old, std::size_t size);
void *__libc_memalign(std::size_t alignment, std::size_t size);

void *malloc(std::size_t size) noexcept { return allocations += counting, __libc_malloc(size); }
void *calloc(std::size_t count, std::size_t size) noexcept { return allocations += counting, __libc_calloc(count, size); }
void *realloc(void *old, std::size_t size) noexcept { return allocations += counting, __libc_realloc(old, size); }
int posix_memalign(void **out, std::size_t alignment, std::size_t size) noexcept
{
    allocations += counting;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
}

/// Counts in the adapter's part of a step, gather, solve and write-back, and not in Bullet's.
class Counting : public ConstraintSolver {
public:
    explicit Counting(const Options &options) : ConstraintSolver(options) {}

protected:
    btScalar solveGroupCacheFriendlyIterations(btCollisionObject **bodies, int body_count, btPersistentManifold **manifolds,
                                               int manifold_count, btTypedConstraint **joints, int joint_count,
                                               const btContactSolverInfo &info, btIDebugDraw *drawer) override
    {
        counting = true;
        const btScalar result = ConstraintSolver::solveGroupCacheFriendlyIterations(
            bodies, body_count, manifolds, manifold_count, joints, joint_count, info, drawer);
        counting = false;
        return result;
    }
};

/* ---- Scenes and runs ---- */

static Options measure_only()
{
    Options options;
    options.measure_only = true;
    return options;
}

static double largest_difference(const BulletWorld &a, const BulletWorld &b)
{
    double most = 0.0;
    for (std::size_t i = 0; i < a.bodies().size(); i++) {
        const btVector3 difference =
            a.bodies()[i]->getWorldTransform().getOrigin() - b.bodies()[i]->getWorldTransform().getOrigin();
        most = std::fmax(most, double(difference.length()));
    }
    return most;
}

static bool finite(const BulletWorld &world, std::size_t from = 0)
{
    bool all = true;
    for (std::size_t i = from; i < world.bodies().size(); i++) {
        const btVector3 &p = world.bodies()[i]->getWorldTransform().getOrigin(), &v = world.bodies()[i]->getLinearVelocity(),
                        &w = world.bodies()[i]->getAngularVelocity();
        for (int k = 0; k < 3; k++) {
            all = all && std::isfinite(double(p[k])) && std::isfinite(double(v[k])) && std::isfinite(double(w[k]));
        }
    }
    return all;
}

/* ---- Checks ---- */

/// The 12-row wall with CFM 0 stands, where btDantzigSolver gives up on every step.
static void wall(int steps)
{
    ConstraintSolver solver;
    BulletWorld world(&solver);
    build_wall(world, 12);
    double drift = 0.0, error = 0.0, overhead = 0.0, solving = 0.0;
    int converged = 0, rows = 0;
    for (int i = 0; i < steps; i++) {
        world.step(STEP);
        const Report &report = solver.report();
        drift = std::fmax(drift, world.drift());
        error = std::fmax(error, report.energy_error);
        overhead += report.gather_seconds + report.write_seconds;
        solving += report.solve_seconds;
        converged += report.outcome == MLCP_OUTCOME_CONVERGED;
        rows = std::max(rows, report.rows);
        EXPECT(report.groups == 1 && report.skipped_rows == 0 && std::isfinite(report.energy_error));
        EXPECT(report.energy_error <= report.energy_scale);
    }
    std::printf("libmlcp: drift %.2e m, kinetic energy %.2e J, fallbacks %ld, converged %d of %d, worst step %.1e J\n", drift,
                world.kinetic_energy(), solver.num_fallbacks(), converged, steps, error);
    std::printf("%d rows, solve %.2f ms per step, gather and write-back %.2f %% of it\n", rows, 1e3 * solving / steps,
                100.0 * overhead / solving);
    EXPECT(solver.num_fallbacks() == 0);
    EXPECT(drift <= 2e-3);
    EXPECT(world.kinetic_energy() <= 1e-4);
    EXPECT(rows >= 500 && overhead <= 0.1 * solving);

    btDantzigSolver dantzig;
    btMLCPSolver dense(&dantzig);
    BulletWorld other(&dense);
    build_wall(other, 12);
    for (int i = 0; i < steps; i++) {
        other.step(STEP);
    }
    std::printf("btDantzigSolver: %d fallbacks in %d steps\n", dense.getNumFallbacks(), steps);
    EXPECT(dense.getNumFallbacks() == steps);
}

static double chain_error(btConstraintSolver *solver, int sweeps)
{
    BulletWorld world(solver);
    build_chain(world, 12, 100.0);
    world.info().m_numIterations = sweeps;
    double most = 0.0;
    for (int i = 0; i < 120; i++) {
        world.step(STEP);
        most = std::fmax(most, joint_error(world));
    }
    return most;
}

/// A chain with a mass ratio of 100: as exact as btDantzigSolver, where 2000 sweeps are not.
static void chain(int)
{
    btDantzigSolver dantzig;
    btMLCPSolver exact(&dantzig);
    btSequentialImpulseConstraintSolver impulses;
    ConstraintSolver solver;
    MlcpSolver interface;
    btMLCPSolver dense(&interface);
    const double reference = chain_error(&exact, 10), ours = chain_error(&solver, 10), hook = chain_error(&dense, 10);
    const double swept = chain_error(&impulses, 2000);
    std::printf("largest hinge gap: btDantzigSolver %.6e m, libmlcp %.6e m, dense hook %.6e m, 2000 sweeps %.6e m\n", reference,
                ours, hook, swept);
    EXPECT(exact.getNumFallbacks() == 0 && solver.num_fallbacks() == 0 && dense.getNumFallbacks() == 0);
    EXPECT(std::fabs(ours - reference) <= 0.01 * reference);
    EXPECT(std::fabs(hook - reference) <= 0.01 * reference);
    EXPECT(std::fabs(swept - reference) > 0.01 * reference);
}

static double soft_depth(btConstraintSolver *solver)
{
    BulletWorld world(solver);
    world.ground();
    btRigidBody *box = world.box(10.0, 1.0, 1.0, 1.0, btVector3(0, btScalar(0.5), 0));
    box->setContactStiffnessAndDamping(2000, 200);
    for (int i = 0; i < 300; i++) {
        world.step(STEP);
    }
    return 0.5 - double(box->getWorldTransform().getOrigin().y());
}

/// Row CFM: a box of 10 kg on four contacts of 2000 N/m sinks in by m g / (4 k).
static void soft_contact(int)
{
    ConstraintSolver solver;
    const double depth = soft_depth(&solver), expected = 10.0 * 9.81 / (4.0 * 2000.0);
    std::printf("depth %.6f m, m g / (4 k) = %.6f m\n", depth, expected);
    EXPECT(std::fabs(depth - expected) <= 0.01 * expected);
}

/// Rolling friction c: the sphere slows down by c g / (1.4 r) and stops after v^2 / (2 a).
static void rolling_sphere(int)
{
    ConstraintSolver solver;
    BulletWorld world(&solver);
    world.ground()->setFriction(1);
    btRigidBody *sphere = world.add(new btSphereShape(btScalar(0.5)), 1.0, btVector3(0, btScalar(0.5), 0));
    sphere->setFriction(1);
    sphere->setRollingFriction(btScalar(0.05));
    sphere->setSpinningFriction(btScalar(0.05));
    sphere->setLinearVelocity(btVector3(1, 0, 0));
    sphere->setAngularVelocity(btVector3(0, 1, -2)); // rolling, and spinning about the vertical
    for (int i = 0; i < 180; i++) {
        world.step(STEP);
    }
    const double way = double(sphere->getWorldTransform().getOrigin().x()), expected = 1.0 / (2.0 * 0.05 * 9.81 / (1.4 * 0.5));
    const double speed = double(sphere->getLinearVelocity().length() + sphere->getAngularVelocity().length());
    std::printf("stopped at %.4f m (expected %.4f m), speed %.1e, rows %d\n", way, expected, speed, solver.report().rows);
    EXPECT(speed < 1e-4);
    EXPECT(std::fabs(way - expected) <= 0.03 * expected); // half a step's way is 0.008 m
}

/// Coulomb friction: v = v0 - mu g t.
static void sliding_box(int)
{
    const char *const names[3] = {"coupled", "frozen", "two directions"};
    for (int mode = 0; mode < 3; mode++) {
        Options options;
        options.friction = mode == 1 ? MLCP_FRICTION_MODE_FROZEN : MLCP_FRICTION_MODE_COUPLED;
        ConstraintSolver solver(options);
        BulletWorld world(&solver);
        world.info().m_solverMode |= mode == 2 ? SOLVER_USE_2_FRICTION_DIRECTIONS : 0;
        world.ground()->setFriction(1);
        btRigidBody *box = world.box(5.0, 1.0, 0.2, 1.0, btVector3(0, btScalar(0.1), 0));
        box->setFriction(btScalar(0.25));
        box->setLinearVelocity(btVector3(3, 0, 0));
        for (int i = 0; i < 60; i++) {
            world.step(STEP);
        }
        const double speed = double(box->getLinearVelocity().x()), expected = 3.0 - 0.25 * 9.81;
        std::printf("%s: %.5f m/s after 1 s, Coulomb %.5f m/s\n", names[mode], speed, expected);
        // Two directions make a pyramid, stronger than the cone where a box turns a little.
        EXPECT(std::fabs(speed - expected) <= (mode == 2 ? 0.02 : 0.01) * expected);
    }
}

/// After warm-up nothing of ours allocates, with contacts, joints, both friction modes and split impulse.
static void no_allocation(int)
{
    for (int mode = 0; mode < 2; mode++) {
        Options options;
        options.friction = mode ? MLCP_FRICTION_MODE_FROZEN : MLCP_FRICTION_MODE_COUPLED;
        options.budget_ms = 1e4; // the settings are then handed over anew for every solve
        Counting solver(options);
        BulletWorld world(&solver);
        build_wall(world, 8);
        build_chain(world, 5, 10.0);
        world.bodies()[1]->translate(btVector3(0, btScalar(-0.1), 0)); // deep enough for split impulse
        long before = 0;
        for (int i = 0; i < 90; i++) {
            before = i == 60 ? allocations : before;
            world.step(STEP);
        }
        std::printf("%s: %ld allocations in 60 steps of warm-up, %ld in 30 more\n", mode ? "frozen" : "coupled", before,
                    allocations - before);
        EXPECT(before > 0 && allocations == before);
        EXPECT(solver.num_fallbacks() == 0);
        allocations = 0;
    }
}

/// The last step's impulses of contacts, friction and joints save iterations; reset() forgets them.
static void warm_start(int)
{
    int iterations[2][2] = {{0, 0}, {0, 0}};
    for (int warm = 0; warm < 2; warm++) {
        for (int scene = 0; scene < 2; scene++) {
            Options options;
            options.warm_start = warm == 1;
            options.settings.solver = MLCP_SOLVER_KIND_PGS; // sweeps gain the most, and count it
            options.settings.max_iterations = 20000;
            options.settings.relative_tolerance = 1e-6;
            options.settings.check_interval = 1;
            ConstraintSolver solver(options);
            BulletWorld world(&solver);
            if (scene == 0) {
                build_wall(world, 3);
            } else {
                build_chain(world, 5, 10.0);
            }
            for (int i = 0; i < 10; i++) {
                world.step(STEP);
                iterations[warm][scene] += i > 0 ? solver.report().iterations : 0;
            }
        }
    }
    std::printf("sweeps in 9 steps, cold and warm: wall %d and %d, chain %d and %d\n", iterations[0][0], iterations[1][0],
                iterations[0][1], iterations[1][1]);
    EXPECT(4 * iterations[1][0] < 3 * iterations[0][0] && 2 * iterations[1][1] < iterations[0][1]);

    ConstraintSolver solver;
    BulletWorld world(&solver);
    build_chain(world, 5, 10.0);
    double start = 0.0;
    Options options;
    options.callback = [](const mlcp_iteration *iteration, void *data) -> int32_t {
        if (iteration->iteration == 0) {
            *static_cast<double *>(data) = std::fabs(iteration->x[0]) + std::fabs(iteration->x[1]);
        }
        return 0;
    };
    options.callback_data = &start;
    EXPECT(solver.set_options(options));
    world.step(STEP);
    EXPECT(start == 0.0);
    world.step(STEP);
    EXPECT(start > 0.0);
    solver.reset();
    world.step(STEP);
    EXPECT(start == 0.0);
}

/// Split impulse moves a deep box out without giving it speed.
static void split_impulse(int)
{
    for (int split = 0; split < 2; split++) {
        ConstraintSolver solver;
        BulletWorld world(&solver);
        world.info().m_splitImpulse = split;
        world.ground();
        btRigidBody *box = world.box(1.0, 1.0, 1.0, 1.0, btVector3(0, btScalar(0.3), 0));
        double fastest = 0.0;
        for (int i = 0; i < 120; i++) {
            world.step(STEP);
            fastest = std::fmax(fastest, double(box->getLinearVelocity().length()));
        }
        const double depth = 0.5 - double(box->getWorldTransform().getOrigin().y());
        std::printf("split %s: fastest %.4f m/s, depth at the end %.4f m\n", split ? "on" : "off", fastest, depth);
        EXPECT(solver.num_fallbacks() == 0);
        EXPECT(depth < 0.041 && depth > -0.3);
        EXPECT(split ? fastest < 0.5 : fastest > 1.0); // 0.2 m pushed out by an ERP of 0.2 are 2.4 m/s
    }
}

/// Measuring changes nothing in what Bullet does, to the last bit, and sees an error.
static void measuring(int)
{
    btSequentialImpulseConstraintSolver plain;
    ConstraintSolver solver(measure_only());
    BulletWorld a(&plain), b(&solver);
    build_wall(a, 6);
    build_wall(b, 6);
    for (int i = 0; i < 60; i++) {
        a.step(STEP);
        b.step(STEP);
        const Report &report = solver.report();
        EXPECT(report.outcome == MLCP_OUTCOME_NONE && report.iterations == 0);
        EXPECT(report.energy_error > 0.0 && report.energy_error <= 10.0 * report.energy_scale);
        EXPECT(report.worst_error > 0.0 && report.worst_error <= report.energy_error * (1.0 + 1e-12));
        EXPECT(report.worst_kind == RowKind::contact && report.worst_body_a && report.worst_body_b && !report.worst_joint);
    }
    EXPECT(largest_difference(a, b) == 0.0 && solver.num_fallbacks() == 0);

    // The same through the dense hook: btDantzigSolver and, wrapped, btDantzigSolver measured.
    btDantzigSolver dantzig;
    MlcpSolver wrapped(measure_only(), &dantzig);
    btMLCPSolver first(&dantzig), second(&wrapped);
    BulletWorld c(&first), d(&second);
    build_chain(c, 5, 100.0);
    build_chain(d, 5, 100.0);
    for (int i = 0; i < 60; i++) {
        c.step(STEP);
        d.step(STEP);
        if (i == 0) {
            std::printf("dense: %d rows, error %.1e of %.1e J\n", wrapped.report().rows, wrapped.report().energy_error,
                        wrapped.report().energy_scale);
        }
    }
    EXPECT(largest_difference(c, d) == 0.0 && wrapped.num_fallbacks() == 0);

    // Joints are named: one that cannot hold.
    ConstraintSolver one_sweep(measure_only());
    BulletWorld e(&one_sweep);
    build_chain(e, 5, 100.0);
    e.info().m_numIterations = 1;
    e.step(STEP);
    EXPECT(one_sweep.report().worst_kind == RowKind::joint && one_sweep.report().worst_joint);
    EXPECT(one_sweep.report().worst_body_a == &one_sweep.report().worst_joint->getRigidBodyA());
}

/// Frozen friction is what btDantzigSolver computes; coupled friction is something else.
static void frozen_is_dantzig(int)
{
    btDantzigSolver dantzig;
    btMLCPSolver engine(&dantzig);
    Options options;
    ConstraintSolver coupled(options);
    options.friction = MLCP_FRICTION_MODE_FROZEN;
    ConstraintSolver frozen(options);
    btConstraintSolver *solvers[3] = {&engine, &frozen, &coupled};
    std::unique_ptr<BulletWorld> worlds[3];
    for (int k = 0; k < 3; k++) {
        worlds[k].reset(new BulletWorld(solvers[k]));
        worlds[k]->ground();
        const double at[4][3] = {{0, 0.5, 0}, {1.02, 0.5, 0.01}, {0.5, 0.5, 0.9}, {0.51, 1.4, 0.3}};
        for (int i = 0; i < 4; i++) {
            const btVector3 place{btScalar(at[i][0]), btScalar(at[i][1]), btScalar(at[i][2])};
            worlds[k]->add(new btSphereShape(btScalar(0.5)), 1.0 + i, place)->setAngularVelocity(btVector3(0, 0, btScalar(5)));
        }
    }
    for (int i = 0; i < 40; i++) {
        for (int k = 0; k < 3; k++) {
            worlds[k]->step(STEP);
        }
    }
    const double same = largest_difference(*worlds[0], *worlds[1]), other = largest_difference(*worlds[0], *worlds[2]);
    std::printf("after 40 steps from btDantzigSolver: frozen %.1e m, coupled %.1e m\n", same, other);
    EXPECT(engine.getNumFallbacks() == 0);
    EXPECT(same <= (DOUBLE ? 1e-6 : 1e-3) && other > 10.0 * same);
}

static btScalar multibody_height(btMLCPSolverInterface *interface, int &fallbacks)
{
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher(&configuration);
    btDbvtBroadphase broadphase;
    btMultiBodyMLCPConstraintSolver solver(interface);
    btMultiBodyDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
    world.setGravity(btVector3(0, btScalar(-9.81), 0));
    btBoxShape plate(btVector3(10, 1, 10));
    btRigidBody ground(btRigidBody::btRigidBodyConstructionInfo(0, nullptr, &plate));
    btTransform below;
    below.setIdentity();
    below.setOrigin(btVector3(0, -1, 0));
    ground.setWorldTransform(below);
    world.addRigidBody(&ground);

    // A base with one hinged link, both spheres, falling on the ground.
    btSphereShape sphere(btScalar(0.3));
    btVector3 inertia;
    sphere.calculateLocalInertia(1, inertia);
    btMultiBody body(1, 1, inertia, false, false);
    body.setBasePos(btVector3(0, btScalar(0.5), 0));
    body.setupRevolute(0, 1, inertia, -1, btQuaternion::getIdentity(), btVector3(0, 0, 1), btVector3(btScalar(0.4), 0, 0),
                       btVector3(btScalar(0.4), 0, 0));
    body.finalizeMultiDof();
    world.addMultiBody(&body);
    btMultiBodyLinkCollider base(&body, -1), link(&body, 0);
    base.setCollisionShape(&sphere);
    link.setCollisionShape(&sphere);
    body.setBaseCollider(&base);
    body.getLink(0).m_collider = &link;
    world.addCollisionObject(&base, btBroadphaseProxy::DefaultFilter, btBroadphaseProxy::StaticFilter);
    world.addCollisionObject(&link, btBroadphaseProxy::DefaultFilter, btBroadphaseProxy::StaticFilter);
    for (int i = 0; i < 90; i++) {
        world.stepSimulation(btScalar(STEP), 0);
    }
    fallbacks = solver.getNumFallbacks();
    const btScalar height = base.getWorldTransform().getOrigin().y();
    world.removeCollisionObject(&link);
    world.removeCollisionObject(&base);
    world.removeMultiBody(&body);
    world.removeRigidBody(&ground);
    return height;
}

/// The dense hook inside Featherstone's solver.
static void multibody(int)
{
    MlcpSolver solver;
    btDantzigSolver dantzig;
    int ours = 0, theirs = 0;
    const double height = double(multibody_height(&solver, ours)), reference = double(multibody_height(&dantzig, theirs));
    std::printf("rests at %.5f m (btDantzigSolver %.5f m), fallbacks %d and %d, last error %.1e J\n", height, reference, ours,
                theirs, solver.report().energy_error);
    EXPECT(ours == 0 && std::fabs(height - 0.3) < 0.01 && std::fabs(height - reference) < 1e-3);
}

struct Watch {
    int calls, stop_after;
};
static int32_t watch(const mlcp_iteration *, void *data)
{
    Watch &w = *static_cast<Watch *>(data);
    return ++w.calls >= w.stop_after;
}

/// Options that are refused, budgets, callback, recorder.
static void options(int)
{
    ConstraintSolver solver;
    Options wrong;
    wrong.settings.relaxation = 7.0;
    EXPECT(!solver.set_options(wrong) && std::strstr(solver.error(), "relaxation"));
    wrong = Options();
    wrong.budget_ms = std::nan("");
    EXPECT(!solver.set_options(wrong) && std::strstr(solver.error(), "budget_ms"));
    EXPECT(solver.options().budget_ms == 0.0);

    Options given;
    Watch calls = {0, 1000000};
    int records = 0;
    double recorded = 0.0;
    given.callback = watch;
    given.callback_data = &calls;
    given.recorder = [&](const mlcp_problem *problem, const double *x, std::size_t n, const mlcp_report &report) {
        records++;
        EXPECT(mlcp_problem_rows(problem) == n && static_cast<std::size_t>(report.rows) == n);
        EXPECT(mlcp_problem_measure(problem, MLCP_MEASURE_ENERGY, x, n, nullptr, 0, &recorded) == MLCP_STATUS_OK);
    };
    EXPECT(solver.set_options(given));
    BulletWorld world(&solver);
    build_wall(world, 8);
    for (int i = 0; i < 5; i++) {
        world.step(STEP);
    }
    EXPECT(records == 5 && calls.calls >= solver.report().iterations && recorded == solver.report().energy_error);

    given.warm_start = false;
    given.recorder = nullptr;
    calls.calls = 0;
    calls.stop_after = 2;
    EXPECT(solver.set_options(given));
    world.step(STEP);
    std::printf("callback: %s after %d iterations\n", solver.report().outcome_name(), solver.report().iterations);
    EXPECT(calls.calls == 2 && solver.report().outcome == MLCP_OUTCOME_STOPPED);

    given.callback = nullptr;
    given.budget_ms = 1e-3;
    EXPECT(solver.set_options(given));
    world.step(STEP);
    std::printf("budget: %s, error %.1e J\n", solver.report().outcome_name(), solver.report().energy_error);
    EXPECT(solver.report().outcome == MLCP_OUTCOME_TIME_LIMIT && finite(world));

    given.budget_ms = 0.0;
    given.settings.max_iterations = 1;
    EXPECT(solver.set_options(given));
    world.step(STEP);
    EXPECT(solver.report().iterations <= 1 && finite(world) && solver.num_fallbacks() == 0);
}

/// One body full of NaN does not spoil its neighbours; locked axes stay locked; a refused solve falls back to Bullet.
static void bad_input(int)
{
    ConstraintSolver solver;
    BulletWorld world(&solver);
    world.ground();
    btRigidBody *bad = world.box(1.0, 1.0, 1.0, 1.0, btVector3(0, btScalar(0.5), 0));
    world.box(1.0, 1.0, 1.0, 1.0, btVector3(0, btScalar(1.5), 0));
    btRigidBody *locked = world.box(1.0, 1.0, 1.0, 1.0, btVector3(0, btScalar(2.5), 0));
    locked->setLinearFactor(btVector3(0, 1, 0));
    locked->setAngularFactor(btVector3(0, 0, 0));
    locked->setLinearVelocity(btVector3(0, 0, 0));
    world.step(STEP);
    EXPECT(solver.report().skipped_rows == 0 && finite(world));
    locked->applyCentralImpulse(btVector3(1, 0, 0));
    world.step(STEP);
    EXPECT(locked->getLinearVelocity().x() == btScalar(0) && locked->getAngularVelocity().length() == btScalar(0));
    bad->setLinearVelocity(btVector3(btScalar(std::nan("")), 0, 0));
    world.step(STEP);
    std::printf("%d rows skipped, %d solved\n", solver.report().skipped_rows, solver.report().rows);
    EXPECT(solver.report().skipped_rows > 0 && solver.report().rows > 0 && solver.num_fallbacks() == 0);
    EXPECT(finite(world, 2));

    // While another solver reads the problem it cannot be refilled: that step is Bullet's, and is counted.
    const mlcp_problem *seen = nullptr;
    Options recording;
    recording.recorder = [&](const mlcp_problem *problem, const double *, std::size_t, const mlcp_report &) { seen = problem; };
    ConstraintSolver busy(recording);
    BulletWorld shared(&busy);
    build_wall(shared, 2);
    shared.step(STEP);
    mlcp_solver *other = nullptr;
    EXPECT(mlcp_solver_create(nullptr, &other) == MLCP_STATUS_OK);
    mlcp_callback step = [](const mlcp_iteration *, void *data) -> int32_t {
        static_cast<BulletWorld *>(data)->step(STEP);
        return 1;
    };
    EXPECT(mlcp_solver_set_callback(other, step, &shared) == MLCP_STATUS_OK);
    std::vector<double> x(mlcp_problem_rows(seen));
    EXPECT(mlcp_solver_solve(other, seen, nullptr, 0, x.data(), x.size(), nullptr) == MLCP_STATUS_OK);
    mlcp_solver_destroy(other);
    std::printf("fallbacks %ld: %s\n", busy.num_fallbacks(), busy.error());
    EXPECT(busy.num_fallbacks() == 1 && busy.report().fallbacks == 1 && busy.error()[0] && finite(shared));
    shared.step(STEP);
    EXPECT(busy.num_fallbacks() == 1 && busy.report().fallbacks == 0);
}

/// A door on three hinges and a four-bar: diagnose names the joints that are too many, and leaves the world as it was.
static void diagnosis(int)
{
    ConstraintSolver solver;
    BulletWorld world(&solver);
    btRigidBody *door = world.box(20.0, 0.9, 2.0, 0.05, btVector3(btScalar(0.45), 1, 0));
    for (int i = 0; i < 3; i++) {
        const btVector3 pivot(btScalar(-0.45), btScalar(-0.7 + 0.7 * i), 0);
        world.join(new btHingeConstraint(*door, pivot, btVector3(0, 1, 0)));
    }
    const btVector3 centres[3] = {btVector3(10, btScalar(0.5), 0), btVector3(11, 1, 0), btVector3(12, btScalar(0.5), 0)};
    btRigidBody *bars[3];
    for (int i = 0; i < 3; i++) {
        bars[i] = world.box(1.0, i == 1 ? 2.0 : 0.1, i == 1 ? 0.1 : 1.0, 0.1, centres[i]);
    }
    const btVector3 axis(0, 0, 1);
    world.join(new btHingeConstraint(*bars[0], btVector3(10, 0, 0) - centres[0], axis))->setLimit(-1, 1);
    world.join(new btHingeConstraint(*bars[0], *bars[1], btVector3(10, 1, 0) - centres[0], btVector3(10, 1, 0) - centres[1], axis, axis));
    world.join(new btHingeConstraint(*bars[1], *bars[2], btVector3(12, 1, 0) - centres[1], btVector3(12, 1, 0) - centres[2], axis, axis));
    world.join(new btHingeConstraint(*bars[2], btVector3(12, 0, 0) - centres[2], axis))->enableAngularMotor(true, 1, 1);
    btJointFeedback feedback;
    feedback.m_appliedForceBodyA.setValue(7, 8, 9);
    world.joints()[1]->setJointFeedback(&feedback);
    world.joints()[1]->internalSetAppliedImpulse(btScalar(0.25));
    door->setLinearVelocity(btVector3(0, 0, btScalar(0.1)));

    const Diagnosis found = diagnose(world.world(), STEP);
    const std::string text = found.text([](const btTypedConstraint *, int index) { return "hinge " + std::to_string(index); });
    std::printf("%d rows, rank %d, condition %.1e, kept %.1e, dropped %.1e\n%s", found.rows, found.rank, found.condition,
                found.closest_kept, found.farthest_dropped, text.c_str());
    EXPECT(found.error.empty() && found.rows == 35 && found.rank == 5 + 17);
    EXPECT(found.closest_kept > 1e-3 && found.farthest_dropped < (DOUBLE ? 1e-12 : 1e-6));
    int count[7] = {0};
    for (const auto &r : found.redundant) {
        EXPECT(r.who.joint == world.world().getConstraint(r.who.index) && r.who.row >= 0 && r.who.row < 5);
        EXPECT(r.who.body1 == &r.who.joint->getRigidBodyA() && r.who.body2 == &r.who.joint->getRigidBodyB());
        EXPECT(!r.depends_on.empty());
        for (const auto &on : r.depends_on) { // of its own mechanism, and before it
            EXPECT((on.index < 3) == (r.who.index < 3) && (on.index < r.who.index || (on.index == r.who.index && on.row < r.who.row)));
        }
        count[r.who.index]++;
    }
    EXPECT(count[0] == 0 && count[1] == 5 && count[2] == 5 && count[3] == 0 && count[4] == 0 && count[5] == 0 && count[6] == 3);
    // As it was.
    EXPECT(feedback.m_appliedForceBodyA.x() == 7 && world.joints()[1]->internalGetAppliedImpulse() == btScalar(0.25));
    EXPECT(door->getLinearVelocity().z() == btScalar(0.1) && world.drift() == 0.0);
    BulletWorld same(&solver);
    EXPECT(diagnose(same.world(), STEP).rows == 0);
    for (int i = 0; i < 20; i++) { // and it still steps
        world.step(STEP);
        diagnose(world.world(), STEP);
    }
    EXPECT(finite(world) && joint_error(world) < 1e-3 && solver.num_fallbacks() == 0);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*check)(int);
    } checks[] = {{"wall", wall}, {"chain", chain}, {"soft_contact", soft_contact}, {"rolling_sphere", rolling_sphere},
                  {"sliding_box", sliding_box}, {"no_allocation", no_allocation}, {"warm_start", warm_start}, {"split_impulse", split_impulse},
                  {"measuring", measuring}, {"frozen_is_dantzig", frozen_is_dantzig}, {"multibody", multibody},
                  {"options", options}, {"diagnosis", diagnosis}, {"bad_input", bad_input}};
    for (const auto &entry : checks) {
        if (argc > 1 && std::strcmp(argv[1], entry.name) == 0) {
            entry.check(argc > 2 ? std::atoi(argv[2]) : 500);
            std::printf("%s in %s: ok\n", entry.name, DOUBLE ? "double" : "float");
            return 0;
        }
    }
    std::printf("no such check\n");
    return 2;
}
