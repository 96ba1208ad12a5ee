// diagnose() names the joints of a world that are too many; nothing moves, and Stepper sees the same.
#include "scenes.hpp"

#include <algorithm>

using namespace scenes;
typedef mlcp::ode::Diagnosis Diagnosis;

static dJointID hinge(World &w, dBodyID a, dBodyID b, double x, double y, double z, double ax, double ay, double az)
{
    const dJointID joint = dJointCreateHinge(w.world, nullptr);
    dJointAttach(joint, a, b);
    dJointSetHingeAnchor(joint, x, y, z);
    dJointSetHingeAxis(joint, ax, ay, az);
    w.joints.push_back(joint);
    return joint;
}

// Every redundant row belongs to a joint in `allowed` and depends on joints that are attached to the same mechanism.
static std::vector<int> redundant_rows(const Diagnosis &found, const World &w)
{
    std::vector<int> count(w.joints.size(), 0);
    for (const auto &r : found.redundant) {
        const std::size_t who = std::find(w.joints.begin(), w.joints.end(), r.who.joint) - w.joints.begin();
        EXPECT(who < w.joints.size());
        EXPECT(r.who.row >= 0 && r.who.row < 5 && r.who.body1 == dJointGetBody(r.who.joint, 0));
        EXPECT(!r.depends_on.empty() && r.depends_on.size() == r.coefficient.size());
        for (const auto &on : r.depends_on) {
            EXPECT(std::find(w.joints.begin(), w.joints.end(), on.joint) != w.joints.end());
            EXPECT(on.joint != r.who.joint || on.row < r.who.row);
        }
        count[who]++;
    }
    return count;
}

static Diagnosis of_stepper(const World &w)
{
    mlcp::ode::Stepper stepper(w.world);
    for (dJointID joint : w.joints) {
        stepper.add_joint(joint);
    }
    return stepper.diagnose(H);
}

static void expect(const World &w, const Diagnosis &found, int rows, int rank, bool consistent)
{
    EXPECT(found.error.empty());
    EXPECT(found.rows == rows && found.rank == rank && found.consistent == consistent);
    EXPECT(static_cast<int>(found.redundant.size()) == rows - rank);
    EXPECT(found.closest_kept > 1e-3 && found.farthest_dropped < 1e-9);
    int sum = 0;
    for (int count : redundant_rows(found, w)) {
        sum += count;
    }
    EXPECT(sum == rows - rank);
}

static void door()
{
    World w;
    const dBodyID leaf = w.box(20.0, 0.9, 0.05, 2.0, 0.45, 0, 1.0, false);
    for (int i = 0; i < 3; i++) {
        hinge(w, leaf, nullptr, 0, 0, 0.3 + 0.7 * i, 0, 0, 1);
    }
    dBodyAddForce(leaf, 1, 2, 3);
    const Diagnosis found = mlcp::ode::diagnose(w.world, H);
    expect(w, found, 15, 5, true);
    expect(w, of_stepper(w), 15, 5, true);
    // One hinge stays whole, two are too many from the first row to the last.
    std::vector<int> count = redundant_rows(found, w);
    std::sort(count.begin(), count.end());
    EXPECT(count[0] == 0 && count[1] == 5 && count[2] == 5);
    const dReal *p = dBodyGetPosition(leaf), *f = dBodyGetForce(leaf), *v = dBodyGetLinearVel(leaf);
    EXPECT(p[0] == 0.45 && p[1] == 0 && p[2] == 1.0 && f[0] == 1 && f[1] == 2 && f[2] == 3 && v[2] == 0);
    const std::string text = found.text([](dJointID, int index) { return "hinge " + std::to_string(index); });
    std::printf("%s", text.c_str());
    EXPECT(std::count(text.begin(), text.end(), '\n') == 10 && text.find("follows from hinge") != std::string::npos);
}

// A planar four-bar of 3D hinges, ground included: twenty rows, of which three are too many; beside it a loose chain, an
// island of its own with nothing to complain about.
static void four_bar()
{
    World w;
    const dBodyID left = w.box(1, 0.1, 0.1, 1, 0, 0, 0.5, false), top = w.box(1, 2, 0.1, 0.1, 1, 0, 1, false),
                  right = w.box(1, 0.1, 0.1, 1, 2, 0, 0.5, false);
    hinge(w, left, nullptr, 0, 0, 0, 0, 1, 0);
    hinge(w, left, top, 0, 0, 1, 0, 1, 0);
    hinge(w, top, right, 2, 0, 1, 0, 1, 0);
    hinge(w, right, nullptr, 2, 0, 0, 0, 1, 0);
    ode_world::build_chain(w, 3, 1.0, true); // motors and limits are not looked at
    expect(w, mlcp::ode::diagnose(w.world, H), 35, 32, true);
    expect(w, of_stepper(w), 35, 32, true);
    // Out of plane the joints now disagree, by what ODE's error reduction makes of a millimetre.
    dBodySetPosition(right, 2, 0.001, 0.5);
    const Diagnosis bent = mlcp::ode::diagnose(w.world, H);
    EXPECT(bent.rank >= 32 && bent.error.empty());
}

static void nothing_to_say()
{
    World w;
    const Diagnosis empty = mlcp::ode::diagnose(w.world, H);
    EXPECT(empty.rows == 0 && empty.rank == 0 && empty.consistent && empty.redundant.empty() && empty.error.empty());
    ode_world::build_chain(w, 5, 10.0, true);
    const Diagnosis chain = mlcp::ode::diagnose(w.world, H);
    EXPECT(chain.rows == 25 && chain.rank == 25 && chain.redundant.empty() && chain.condition > 1.0);
    EXPECT(chain.text([](dJointID, int) { return "?"; }).empty());
    // The world still steps as if nobody had looked.
    World same;
    ode_world::build_chain(same, 5, 10.0, true);
    for (int k = 0; k < 20; k++) {
        mlcp::ode::diagnose(w.world, H);
        dWorldStep(w.world, H);
        dWorldStep(same.world, H);
        EXPECT(difference(w, same) == 0.0);
    }
}

int main()
{
    dInitODE();
    door();
    four_bar();
    nothing_to_say();
    dCloseODE();
    std::printf("ok\n");
    return 0;
}
