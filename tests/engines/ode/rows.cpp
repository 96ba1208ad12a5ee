// The rows that Stepper makes through ODE's documented interface are those of ODE's own getInfo2: random joints, poses,
// limits, motors and surfaces. And stepping with them gives dWorldStep's trajectories.
#include "scenes.hpp"

using namespace scenes;
namespace detail = mlcp::ode::detail;

static unsigned long long state = 1;

static double uniform(double low, double high)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * static_cast<double>(state >> 11) / 9007199254740992.0;
}
static bool chance(double p)
{
    return uniform(0, 1) < p;
}

static void random_pose(dBodyID b)
{
    dQuaternion q = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
    dNormalize4(q);
    dBodySetQuaternion(b, q);
    dBodySetPosition(b, uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
    dBodySetLinearVel(b, uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
    dBodySetAngularVel(b, uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
}

static void random_direction(dVector3 v)
{
    do {
        for (int k = 0; k < 3; k++) {
            v[k] = uniform(-1, 1);
        }
        v[3] = 0;
    } while (dCalcVectorLength3(v) < 0.1);
    dNormalize3(v);
}

static void random_limit_motor(dJointID j, void (*set)(dJointID, int, dReal), int group)
{
    if (chance(0.5)) {
        const double low = uniform(-2, 1), high = chance(0.2) ? low : low + uniform(0, 2);
        set(j, dParamLoStop + group, low);
        set(j, dParamHiStop + group, high);
        set(j, dParamStopERP + group, uniform(0, 1));
        set(j, dParamStopCFM + group, uniform(0, 0.01));
        set(j, dParamBounce + group, chance(0.5) ? uniform(0, 1) : 0.0);
    }
    if (chance(0.5)) {
        set(j, dParamVel + group, chance(0.2) ? 0.0 : uniform(-1, 1));
        set(j, dParamFMax + group, uniform(0.1, 5));
        set(j, dParamCFM + group, uniform(0, 0.01));
        set(j, dParamFudgeFactor + group, uniform(0, 1));
    }
}

static dJointID random_joint(dWorldID world, int kind, dBodyID a, dBodyID b)
{
    dJointID j = nullptr;
    dVector3 v, u;
    const double x = uniform(-1, 1), y = uniform(-1, 1), z = uniform(-1, 1);
    random_direction(v);
    do {
        random_direction(u);
    } while (std::fabs(dCalcVectorDot3(u, v)) > 0.8);
    switch (kind) {
    case 0:
        dJointAttach(j = dJointCreateBall(world, nullptr), a, b);
        dJointSetBallAnchor(j, x, y, z);
        dJointSetBallParam(j, dParamERP, uniform(0, 1));
        dJointSetBallParam(j, dParamCFM, uniform(0, 0.01));
        break;
    case 1:
        dJointAttach(j = dJointCreateHinge(world, nullptr), a, b);
        dJointSetHingeAnchor(j, x, y, z);
        dJointSetHingeAxis(j, v[0], v[1], v[2]);
        random_limit_motor(j, &dJointSetHingeParam, 0);
        break;
    case 2:
        dJointAttach(j = dJointCreateSlider(world, nullptr), a, b);
        dJointSetSliderAxis(j, v[0], v[1], v[2]);
        random_limit_motor(j, &dJointSetSliderParam, 0);
        break;
    case 3:
        dJointAttach(j = dJointCreateFixed(world, nullptr), a, b);
        dJointSetFixed(j);
        dJointSetFixedParam(j, dParamERP, uniform(0, 1));
        dJointSetFixedParam(j, dParamCFM, uniform(0, 0.01));
        break;
    case 4:
        dJointAttach(j = dJointCreateUniversal(world, nullptr), a, b);
        dJointSetUniversalAnchor(j, x, y, z);
        dJointSetUniversalAxis1(j, v[0], v[1], v[2]);
        dJointSetUniversalAxis2(j, u[0], u[1], u[2]);
        random_limit_motor(j, &dJointSetUniversalParam, 0);
        random_limit_motor(j, &dJointSetUniversalParam, dParamGroup);
        break;
    case 5:
        dJointAttach(j = dJointCreateHinge2(world, nullptr), a, b);
        dJointSetHinge2Anchor(j, x, y, z);
        dJointSetHinge2Axes(j, v, u);
        dJointSetHinge2Param(j, dParamSuspensionERP, uniform(0, 1));
        dJointSetHinge2Param(j, dParamSuspensionCFM, uniform(0, 0.01));
        random_limit_motor(j, &dJointSetHinge2Param, 0);
        random_limit_motor(j, &dJointSetHinge2Param, dParamGroup);
        break;
    default:
        dJointAttach(j = dJointCreateAMotor(world, nullptr), a, b);
        dJointSetAMotorNumAxes(j, 3);
        for (int i = 0; i < 3; i++) {
            random_direction(v);
            dJointSetAMotorAxis(j, i, a && b ? static_cast<int>(uniform(0, 3)) : static_cast<int>(uniform(0, 2)), v[0], v[1], v[2]);
            dJointSetAMotorAngle(j, i, uniform(-2, 2));
            random_limit_motor(j, &dJointSetAMotorParam, i * dParamGroup);
        }
    }
    return j;
}

static dContact random_contact()
{
    dContact c;
    std::memset(&c, 0, sizeof c);
    static const int MODES[] = {dContactMu2,     dContactAxisDep, dContactFDir1,     dContactBounce,    dContactSoftERP,
                                dContactSoftCFM, dContactMotion1, dContactMotion2,   dContactMotionN,   dContactSlip1,
                                dContactSlip2,   dContactRolling, dContactApprox1_1, dContactApprox1_2, dContactApprox1_N};
    for (int mode : MODES) {
        c.surface.mode |= chance(0.5) ? mode : 0;
    }
    dReal *const mus[] = {&c.surface.mu, &c.surface.mu2, &c.surface.rho, &c.surface.rho2, &c.surface.rhoN};
    for (dReal *mu : mus) {
        *mu = chance(0.2) ? 0.0 : chance(0.2) ? dInfinity : uniform(0, 2);
    }
    c.surface.bounce = uniform(0, 1);
    c.surface.bounce_vel = uniform(-0.2, 1);
    c.surface.soft_erp = uniform(0, 1);
    c.surface.soft_cfm = uniform(0, 0.01);
    c.surface.motion1 = uniform(-1, 1);
    c.surface.motion2 = uniform(-1, 1);
    c.surface.motionN = uniform(-1, 1);
    c.surface.slip1 = uniform(0, 0.1);
    c.surface.slip2 = uniform(0, 0.1);
    c.geom.depth = uniform(0, 0.1);
    random_direction(c.geom.normal);
    dVector3 other;
    random_direction(other);
    dCalcVectorCross3(c.fdir1, c.geom.normal, other);
    dNormalize3(c.fdir1);
    for (int k = 0; k < 3; k++) {
        c.geom.pos[k] = uniform(-1, 1);
    }
    return c;
}

struct Forces {
    double f[12];
};
static Forces take_forces(dBodyID a, dBodyID b)
{
    Forces out;
    const dBodyID both[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        std::copy(dBodyGetForce(both[i]), dBodyGetForce(both[i]) + 3, &out.f[6 * i]);
        std::copy(dBodyGetTorque(both[i]), dBodyGetTorque(both[i]) + 3, &out.f[6 * i + 3]);
        dBodySetForce(both[i], 0, 0, 0);
        dBodySetTorque(both[i], 0, 0, 0);
    }
    return out;
}

static double gap(double a, double b)
{
    return a == b ? 0.0 : std::fabs(a - b);
}

// ODE's rows of a joint beside ours; returns the largest difference.
static double compare(dJointID joint, const detail::Rows &ours, dBodyID a, dBodyID b, const Forces &pushed, double erp, double cfm)
{
    double jacobian[72] = {0}, rhs_cfm[12], lo_hi[12];
    int findex[6];
    detail::Joint *const layout = detail::joint_layout(joint);
    for (int i = 0; i < 6; i++) {
        rhs_cfm[2 * i] = 0;
        rhs_cfm[2 * i + 1] = cfm;
        lo_hi[2 * i] = -dInfinity;
        lo_hi[2 * i + 1] = dInfinity;
        findex[i] = -1;
    }
    detail::Joint::Info1 info = {0, 0};
    layout->getInfo1(&info);
    layout->getInfo2(1 / H, erp, 12, jacobian, jacobian + 6, 2, rhs_cfm, lo_hi, findex);
    const Forces wanted = take_forces(a, b);
    EXPECT(layout->node[0].body == ours.body1 && layout->node[1].body == ours.body2);
    // ODE keeps rows of zeros for friction whose coefficient is 0.
    int m = info.m;
    while (m > ours.count && std::count(jacobian + 12 * (m - 1), jacobian + 12 * m, 0.0) == 12) {
        m--;
    }
    EXPECT(m == ours.count);
    double most = 0.0;
    for (int i = 0; i < m; i++) {
        for (int k = 0; k < 12; k++) {
            most = std::fmax(most, gap(jacobian[12 * i + k], ours.jacobian[i][k]));
        }
        most = std::fmax(most, gap(rhs_cfm[2 * i], ours.rhs[i]) * H); // 1/h is in it
        most = std::fmax(most, gap(rhs_cfm[2 * i + 1], ours.cfm[i]));
        most = std::fmax(most, gap(lo_hi[2 * i], ours.lo[i]));
        most = std::fmax(most, gap(lo_hi[2 * i + 1], ours.hi[i]));
        EXPECT(findex[i] == ours.findex[i]);
    }
    for (int k = 0; k < 12; k++) {
        most = std::fmax(most, gap(wanted.f[k], pushed.f[k]));
    }
    return most;
}

static void random_rows()
{
    static const char *const NAMES[] = {"ball", "hinge", "slider", "fixed", "universal", "hinge-2", "angular motor", "contact"};
    for (int kind = 0; kind < 8; kind++) {
        World w;
        const dBodyID a = w.box(1, 1, 1, 1, 0, 0, 0, false), b = w.box(2, 1, 1, 1, 0, 0, 0, false);
        dWorldStep(w.world, 1e-9); // ODE's locks exist after the first step
        double most = 0.0;
        for (int n = 0; n < 2000; n++) {
            state = static_cast<unsigned long long>(kind) * 100000 + n + 1;
            uniform(0, 1);
            const double erp = uniform(0, 1), cfm = uniform(0, 0.01);
            dWorldSetERP(w.world, erp);
            dWorldSetCFM(w.world, cfm);
            dWorldSetContactMaxCorrectingVel(w.world, chance(0.5) ? dInfinity : uniform(0, 2));
            dWorldSetContactSurfaceLayer(w.world, uniform(0, 0.02));
            random_pose(a);
            random_pose(b);
            take_forces(a, b);
            const int way = kind == 5 ? 0 : static_cast<int>(uniform(0, 3));
            const dBodyID first = way == 2 ? nullptr : a, second = way == 0 ? b : way == 1 ? nullptr : a;
            detail::Rows rows(w.world, H, first, second);
            if (kind == 7) {
                const dContact contact = random_contact();
                const dJointID joint = dJointCreateContact(w.world, nullptr, &contact);
                dJointAttach(joint, first, second);
                rows.contact(w.world, contact, !first);
                most = std::fmax(most, compare(joint, rows, a, b, take_forces(a, b), erp, cfm));
                dJointDestroy(joint);
                continue;
            }
            const dJointID joint = random_joint(w.world, kind, first, second);
            EXPECT(detail::AddedJoint::supported(joint));
            const detail::AddedJoint added(joint);
            random_pose(a);
            random_pose(b);
            detail::Rows moved(w.world, H, first, second);
            added.rows(moved);
            most = std::fmax(most, compare(joint, moved, a, b, take_forces(a, b), erp, cfm));
            dJointDestroy(joint);
        }
        std::printf("%-14s 2000 random ones: rows differ from ODE's by %.1e\n", NAMES[kind], most);
        EXPECT(most < 1e-12);
    }
}

// A world whose contacts go to a Stepper.
struct PublicWorld : World {
    mlcp::ode::Stepper stepper;

    PublicWorld() : stepper(world, like_ode()) {}
    void contact(const dContact &c, dBodyID body1, dBodyID body2) override { stepper.add_contact(c, body1, body2); }
    bool step()
    {
        collide();
        return stepper.step(H) == 1 && stepper.report().failures == 0;
    }
};

static void same_as_ode(const char *name, const std::function<void(World &)> &build)
{
    World ode;
    PublicWorld ours;
    build(ode);
    build(ours);
    for (dJointID j : ours.joints) {
        EXPECT(ours.stepper.add_joint(j));
    }
    double most = 0.0;
    for (int k = 0; k < 200; k++) {
        ode.collide();
        dWorldStep(ode.world, H);
        EXPECT(ours.step());
        most = std::fmax(most, difference(ode, ours));
    }
    std::printf("Stepper, %-22s differs from dWorldStep by %.1e after 200 steps\n", name, most);
    EXPECT(most <= 1e-9 && ode_world::lcp_failures() == 0);
}

static void refusals()
{
    PublicWorld w;
    const dBodyID a = w.box(1, 1, 1, 1, 0, 0, 1), b = w.box(1, 1, 1, 1, 2, 0, 1);
    const dJointID piston = dJointCreatePiston(w.world, nullptr), loose = dJointCreateBall(w.world, nullptr);
    dJointAttach(piston, a, b);
    dJointSetPistonAnchor(piston, 1, 0, 1);
    EXPECT(!w.stepper.add_joint(piston)); // of a type that is left to ODE
    EXPECT(!w.stepper.add_joint(loose));  // on nothing
    EXPECT(w.step());                     // a world without a single row of ours
    EXPECT(w.stepper.report().rows == 0);
}

int main()
{
    dInitODE();
    random_rows();
    same_as_ode("heavy chain", [](World &w) { ode_world::build_chain(w, 5, 20.0, true); });
    same_as_ode("zoo on the floor", [](World &w) {
        w.floor();
        dWorldSetCFM(w.world, 1e-5);
        build_zoo(w, true);
    });
    same_as_ode("wall in disorder", [](World &w) {
        w.floor();
        dWorldSetCFM(w.world, 1e-5);
        ode_world::build_wall(w, 5, 20.0, false, 0.02);
    });
    refusals();
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
