/*
 * mlcp_ode_inside.hpp: running inside ODE's own stepper, through symbols that ODE exports but does not document. The inside
 * of mlcp_ode.hpp, which includes it; nothing here is meant to be called. Where those symbols cannot be had it is empty.
 *
 * Licence: MIT OR Apache-2.0.
 */
#include "mlcp_ode.hpp"

#ifndef MLCP_ODE_INSIDE_HPP
#define MLCP_ODE_INSIDE_HPP

/* The undocumented stepper: ELF systems with a compiler that knows weak symbols. */
#if defined(__ELF__) && defined(__GNUC__) && !defined(MLCP_ODE_PUBLIC_ONLY)
#define MLCP_ODE_STEPPER 1
struct dxWorldProcessIslandsInfo;
struct dxStepperProcessingCallContext;
typedef void mlcp_ode_stepper_fn(const dxStepperProcessingCallContext *);
typedef std::size_t mlcp_ode_memory_fn(dxBody *const *, unsigned, dxJoint *const *, unsigned);
typedef unsigned mlcp_ode_calls2_fn(unsigned, unsigned);           /* 0.16.0 to 0.16.2 */
typedef unsigned mlcp_ode_calls3_fn(unsigned, unsigned, unsigned); /* 0.16.3 and later */
__attribute__((weak)) bool dxReallocateWorldProcessContext(dxWorld *, dxWorldProcessIslandsInfo &, dReal, mlcp_ode_memory_fn *);
__attribute__((weak)) bool dxProcessIslands(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *,
                                            mlcp_ode_calls2_fn *);
__attribute__((weak)) bool dxProcessIslands(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *,
                                            mlcp_ode_calls3_fn *);
__attribute__((weak)) void dxStepBody(dxBody *, dReal);
__attribute__((weak)) void dxStepIsland(const dxStepperProcessingCallContext *);
__attribute__((weak)) void dxQuickStepIsland(const dxStepperProcessingCallContext *);
__attribute__((weak)) std::size_t dxEstimateStepMemoryRequirements(dxBody *const *, unsigned, dxJoint *const *, unsigned);
__attribute__((weak)) std::size_t dxEstimateQuickStepMemoryRequirements(dxBody *const *, unsigned, dxJoint *const *, unsigned);
__attribute__((weak)) unsigned dxEstimateStepMaxCallCount(unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateStepMaxCallCount(unsigned, unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateQuickStepMaxCallCount(unsigned, unsigned);
__attribute__((weak)) unsigned dxEstimateQuickStepMaxCallCount(unsigned, unsigned, unsigned);

namespace mlcp {
namespace ode {
namespace detail {

/* ODE's internal layouts, the same in 0.16.0 to 0.16.6. Only ever pointed at. */
struct Object {
    virtual ~Object();
    dxWorld *world;
    Object *next, **tome;
    int tag;
    void *userdata;
};

struct Joint : Object {
    struct Info1 {
        std::uint8_t m, nub;
    };
    struct Node {
        dxJoint *joint;
        dxBody *body;
        Node *next;
    };
    unsigned flags;
    Node node[2];
    dJointFeedback *feedback;
    dReal lambda[6];

    virtual void getInfo1(Info1 *) = 0;
    virtual void getInfo2(dReal fps, dReal erp, int row_skip, dReal *j1, dReal *j2, int pair_skip, dReal *rhs_cfm,
                          dReal *lo_hi, int *findex) = 0;
};

struct IslandsInfo {
    std::size_t count;
    const unsigned *sizes;
    dxBody *const *bodies;
    dxJoint *const *joints;
};

struct Context {
    dxWorld *world;
    dReal h;
    void *arena, *final_releasee;
    dxBody *const *bodies;
    dxJoint *const *joints;
    unsigned body_count, joint_count, allowed_threads;
};

inline Joint *joint_layout(dJointID joint)
{
    return reinterpret_cast<Joint *>(joint);
}

/* A step under way. ODE hands its stepper the world only, so the calls are found by it. */
struct Call {
    dWorldID world;
    Solver *solver;
    bool quick;
    bool read_only; /* look at the islands, step nothing */
    std::mutex mutex;
    Call *next;

    Call(dWorldID world_, Solver *solver_) : world(world_), solver(solver_), quick(false), read_only(false), next(nullptr) {}
};

struct Calls {
    std::mutex mutex;
    Call *first;
    Calls() : first(nullptr) {}
};

inline Calls &calls()
{
    static Calls all;
    return all;
}

inline void enter(Call &call)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    call.next = calls().first;
    calls().first = &call;
}

inline void leave(Call &call)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    Call **link = &calls().first;
    while (*link != &call) {
        link = &(*link)->next;
    }
    *link = call.next;
}

inline Call *find_call(const dxWorld *world)
{
    std::lock_guard<std::mutex> lock(calls().mutex);
    Call *call = calls().first;
    while (call && call->world != world) {
        call = call->next;
    }
    return call;
}

/* All rows and bodies of an ODE island. keep_forces: forget the torques that motors at their stops add meanwhile. */
inline void read_island(Island &island, const Context &context, bool keep_forces)
{
    const dWorldID world = context.world;
    const double h = context.h, cfm = dWorldGetCFM(world), erp = dWorldGetERP(world);
    island.clear();
    island.bodies.assign(context.bodies, context.bodies + context.body_count);
    if (keep_forces) {
        island.saved_force.resize(6 * island.bodies.size());
    }
    for (std::size_t i = 0; i < island.bodies.size(); i++) {
        reinterpret_cast<Object *>(island.bodies[i])->tag = static_cast<int>(i);
        if (keep_forces) {
            std::copy(dBodyGetForce(island.bodies[i]), dBodyGetForce(island.bodies[i]) + 3, &island.saved_force[6 * i]);
            std::copy(dBodyGetTorque(island.bodies[i]), dBodyGetTorque(island.bodies[i]) + 3, &island.saved_force[6 * i + 3]);
        }
    }
    for (unsigned k = 0; k < context.joint_count; k++) {
        Joint *const joint = joint_layout(context.joints[k]);
        Joint::Info1 info = {0, 0};
        joint->getInfo1(&info);
        if (info.m == 0) {
            continue;
        }
        const Constraint constraint = {context.joints[k], joint->node[0].body, joint->node[1].body, 0, 0};
        const std::int32_t body1 = reinterpret_cast<Object *>(constraint.body1)->tag;
        const std::int32_t body2 = constraint.body2 ? reinterpret_cast<Object *>(constraint.body2)->tag : -1;
        const std::size_t first = island.add_rows(constraint, info.m, body1, body2, cfm);
        double *const row = &island.jacobian[12 * first];
        joint->getInfo2(1.0 / h, erp, 12, row, row + 6, 2, &island.rhs_cfm[2 * first], &island.lo_hi[2 * first],
                        &island.findex[first]);
    }
    island.read_bodies(world, h);
    island.finish_rows(h);
    for (std::size_t i = 0; keep_forces && i < island.bodies.size(); i++) {
        const double *const f = &island.saved_force[6 * i];
        dBodySetForce(island.bodies[i], f[0], f[1], f[2]);
        dBodySetTorque(island.bodies[i], f[3], f[4], f[5]);
    }
}

/* New velocities, positions and feedback from the impulses. */
inline void write_island(Workspace &workspace, const Context &context)
{
    Island &island = workspace.island;
    const bool moved = island.rows() > 0 && workspace.problem &&
                       mlcp_problem_get_velocity_change(workspace.problem, island.x.data(), island.rows(),
                                                        island.change.data(), island.change.size()) == MLCP_STATUS_OK;
    if (!moved) {
        std::fill(island.change.begin(), island.change.end(), 0.0);
    }
    for (std::size_t c = 0; c < island.constraints.size(); c++) {
        dJointFeedback *const feedback = joint_layout(island.constraints[c].joint)->feedback;
        if (feedback) {
            island.feedback(island.constraints[c], context.h, *feedback);
        }
    }
    for (std::size_t i = 0; i < island.bodies.size(); i++) {
        const dBodyID body = island.bodies[i];
        const double *const u = &island.motion[6 * i], *const d = &island.change[6 * i];
        dBodySetLinearVel(body, u[0] + d[0], u[1] + d[1], u[2] + d[2]);
        dBodySetAngularVel(body, u[3] + d[3], u[4] + d[4], u[5] + d[5]);
        dxStepBody(body, context.h);
        dBodySetForce(body, 0, 0, 0);
        dBodySetTorque(body, 0, 0, 0);
    }
}

/* ODE's stepper for one island, on whatever thread ODE chose. Nothing may be thrown through ODE. */
inline void step_island(const dxStepperProcessingCallContext *raw)
{
    const Context &context = *reinterpret_cast<const Context *>(raw);
    Call *const call = find_call(context.world);
    MLCP_ODE_TRY
    {
        const Clock::time_point start = Clock::now();
        Workspace *const workspace = call->solver->take();
        read_island(workspace->island, context, false);
        const double before = seconds_since(start);
        if (workspace->island.rows() > 0) {
            call->solver->solve(*workspace);
        }
        const Clock::time_point after = Clock::now();
        write_island(*workspace, context);
        call->solver->give_back(workspace);
        call->solver->add_adapter_seconds(before + seconds_since(after));
    }
    MLCP_ODE_CATCH { call->solver->fail("out of memory: an island was not stepped"); }
}

/* Read the island, then, unless it is only to be read, let ODE solve and step it. */
inline void measure_island(const dxStepperProcessingCallContext *raw)
{
    const Context &context = *reinterpret_cast<const Context *>(raw);
    Call *const call = find_call(context.world);
    MLCP_ODE_TRY
    {
        const Clock::time_point start = Clock::now();
        Workspace *const workspace = call->solver->take();
        read_island(workspace->island, context, true);
        {
            std::lock_guard<std::mutex> lock(call->mutex);
            call->solver->measuring().islands.push_back(workspace);
        }
        call->solver->add_adapter_seconds(seconds_since(start));
    }
    MLCP_ODE_CATCH { call->solver->fail("out of memory: an island was not measured"); }
    if (!call->read_only) {
        (call->quick ? &dxQuickStepIsland : &dxStepIsland)(raw);
    }
}

inline std::size_t own_memory(dxBody *const *, unsigned, dxJoint *const *, unsigned)
{
    return 256;
}

/* What ODE's solver needs, having lent every joint a feedback to write its forces to. */
inline std::size_t engine_memory(dxBody *const *bodies, unsigned body_count, dxJoint *const *joints, unsigned joint_count)
{
    enum { BLOCK = 256 };
    bool quick = false;
    if (body_count > 0) {
        Call *const call = find_call(reinterpret_cast<const Object *>(bodies[0])->world);
        Measuring &all = call->solver->measuring();
        quick = call->quick;
        MLCP_ODE_TRY
        {
            for (unsigned k = 0; k < joint_count; k++) {
                Joint *const joint = joint_layout(joints[k]);
                if (!joint->feedback) {
                    const std::size_t lent = all.borrowers.size();
                    if (lent == BLOCK * all.feedback.size()) {
                        all.feedback.push_back(std::unique_ptr<dJointFeedback[]>(new dJointFeedback[BLOCK]()));
                    }
                    all.borrowers.push_back(joints[k]);
                    joint->feedback = &all.feedback[lent / BLOCK][lent % BLOCK];
                }
            }
        }
        MLCP_ODE_CATCH { call->solver->fail("out of memory: some joints are not measured"); }
    }
    return (quick ? &dxEstimateQuickStepMemoryRequirements : &dxEstimateStepMemoryRequirements)(bodies, body_count, joints,
                                                                                               joint_count);
}

inline unsigned one_call(unsigned, unsigned)
{
    return 1;
}
inline unsigned one_call3(unsigned, unsigned, unsigned)
{
    return 1;
}

/* Which of the two signatures this ODE has: 0 for none. */
inline int stepper_version()
{
    typedef bool Process2(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *, mlcp_ode_calls2_fn *);
    typedef bool Process3(dxWorld *, const dxWorldProcessIslandsInfo &, dReal, mlcp_ode_stepper_fn *, mlcp_ode_calls3_fn *);
    if (std::strncmp(dODE_VERSION, "0.16.", 5) != 0 || &dxReallocateWorldProcessContext == nullptr || &dxStepBody == nullptr) {
        return 0;
    }
    if (static_cast<Process2 *>(&dxProcessIslands) != nullptr) {
        return 2;
    }
    return static_cast<Process3 *>(&dxProcessIslands) != nullptr ? 3 : 0;
}

inline bool process_islands(Call &call, const IslandsInfo &info, dReal h)
{
    const dxWorldProcessIslandsInfo &islands = reinterpret_cast<const dxWorldProcessIslandsInfo &>(info);
    const bool measure = call.solver->options().measure_only && !call.read_only;
    mlcp_ode_stepper_fn *const stepper = measure || call.read_only ? &measure_island : &step_island;
    if (stepper_version() == 2) {
        mlcp_ode_calls2_fn *const step = &dxEstimateStepMaxCallCount, *const quick = &dxEstimateQuickStepMaxCallCount;
        return dxProcessIslands(call.world, islands, h, stepper, !measure ? &one_call : call.quick ? quick : step);
    }
    mlcp_ode_calls3_fn *const step = &dxEstimateStepMaxCallCount, *const quick = &dxEstimateQuickStepMaxCallCount;
    return dxProcessIslands(call.world, islands, h, stepper, !measure ? &one_call3 : call.quick ? quick : step);
}

inline bool run(Call &call, dReal h)
{
    IslandsInfo info = {0, nullptr, nullptr, nullptr};
    const bool measure = call.solver->options().measure_only;
    call.quick = measure && call.solver->options().quick_step;
    return dxReallocateWorldProcessContext(call.world, reinterpret_cast<dxWorldProcessIslandsInfo &>(info), h,
                                           measure ? &engine_memory : &own_memory) &&
           process_islands(call, info, h);
}

/* ODE has stepped: recover its impulses from the feedback, measure them, take the feedback back. */
inline void measure_islands(Solver &solver, dReal h)
{
    Measuring &all = solver.measuring();
    for (std::size_t i = 0; i < all.islands.size(); i++) {
        Island &island = all.islands[i]->island;
        for (std::size_t c = 0; c < island.constraints.size(); c++) {
            const dJointFeedback *const feedback = joint_layout(island.constraints[c].joint)->feedback;
            if (feedback) {
                island.impulses_from(island.constraints[c], h, *feedback);
            }
        }
        if (island.rows() > 0) {
            solver.measure(*all.islands[i]);
        }
        solver.give_back(all.islands[i]);
    }
    for (std::size_t i = 0; i < all.borrowers.size(); i++) {
        joint_layout(all.borrowers[i])->feedback = nullptr;
    }
    all.islands.clear();
    all.borrowers.clear();
}

/* Two bodies on hinges, a limit and a motor: does one step give what dWorldStep gives? */
inline bool self_test()
{
    dReal result[2][14];
    for (int way = 0; way < 2; way++) {
        const dWorldID world = dWorldCreate();
        dWorldSetGravity(world, 0, 0, -9.81);
        dBodyID body[2];
        for (int i = 0; i < 2; i++) {
            dMass mass;
            dMassSetBoxTotal(&mass, 1 + i, 1, 0.2, 0.3);
            body[i] = dBodyCreate(world);
            dBodySetMass(body[i], &mass);
            dBodySetPosition(body[i], 0.5 + i, 0, 0);
            dBodySetAngularVel(body[i], 0.1, 0.2 + i, 0.3);
            const dJointID hinge = dJointCreateHinge(world, nullptr);
            dJointAttach(hinge, body[i], i > 0 ? body[0] : nullptr);
            dJointSetHingeAnchor(hinge, i, 0, 0);
            dJointSetHingeAxis(hinge, 0, 1, 0);
            dJointSetHingeParam(hinge, i > 0 ? dParamFMax : dParamHiStop, i > 0 ? 2.0 : -0.01);
            if (i > 0) {
                dJointSetHingeParam(hinge, dParamVel, 1);
            }
        }
        if (way == 0) {
            dWorldStep(world, 0.01);
        } else {
            Solver solver;
            Call call(world, &solver);
            enter(call);
            const bool stepped = run(call, 0.01) && solver.report().failures == 0 && solver.report().rows == 12;
            leave(call);
            if (!stepped) {
                dWorldDestroy(world);
                return false;
            }
        }
        for (int i = 0; i < 2; i++) {
            std::copy(dBodyGetPosition(body[i]), dBodyGetPosition(body[i]) + 3, &result[way][7 * i]);
            std::copy(dBodyGetQuaternion(body[i]), dBodyGetQuaternion(body[i]) + 4, &result[way][7 * i + 3]);
        }
        dWorldDestroy(world);
    }
    double difference = 0.0;
    for (int k = 0; k < 14; k++) {
        difference = std::fmax(difference, std::fabs(result[0][k] - result[1][k]));
    }
    return difference < 1e-9;
}

} // namespace detail

} // namespace ode
} // namespace mlcp
#endif

#endif
