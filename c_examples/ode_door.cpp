/*
 * A door of 20 kg hangs on three hinges. One would hold it: ten of fifteen rows are too many, and an exact solver meets a
 * singular matrix. diagnose() names them. With the upper hinge mounted 2 cm off the line of the others the door has six
 * independent rows, so it cannot turn any more, and diagnose() says where the hinges contradict each other.
 *
 *     g++ -std=c++11 -O2 c_examples/ode_door.cpp -Iinclude -Ltarget/release -lmlcp -lode
 *     ./a.out
 */
#include "mlcp_ode.hpp"

#include <cstdio>

int main()
{
    const char *const names[3] = {"lower hinge", "middle hinge", "upper hinge"};
    bool as_expected = true;
    dInitODE();
    for (int crooked = 0; crooked < 2; crooked++) {
        const dWorldID world = dWorldCreate();
        const dBodyID door = dBodyCreate(world);
        dMass mass;
        dMassSetBoxTotal(&mass, 20.0, 0.9, 0.05, 2.0);
        dBodySetMass(door, &mass);
        dBodySetPosition(door, 0.45, 0.0, 1.0);
        dJointID hinges[3];
        for (int i = 0; i < 3; i++) {
            hinges[i] = dJointCreateHinge(world, nullptr);
            dJointAttach(hinges[i], door, nullptr);
            dJointSetHingeAnchor(hinges[i], 0.0, 0.0, 0.3 + 0.7 * i);
            dJointSetHingeAxis(hinges[i], 0.0, 0.0, 1.0);
        }
        if (crooked) { /* let ODE remember the anchor where the door will not be */
            dBodySetPosition(door, 0.45, 0.02, 1.0);
            dJointSetHingeAnchor(hinges[2], 0.0, 0.0, 1.7);
            dBodySetPosition(door, 0.45, 0.0, 1.0);
        }
        const mlcp::ode::Diagnosis found = mlcp::ode::diagnose(world, 1.0 / 60);
        std::printf("%s: %d rows, %d independent, %s", crooked ? "\nupper hinge 2 cm off" : "well hung", found.rows, found.rank,
                    found.consistent ? "in agreement" : "fighting over ");
        if (!found.consistent) {
            std::printf("%.2g J", found.contradiction);
        }
        std::printf("\n%s", found.text([&](dJointID joint, int) { return names[joint == hinges[0] ? 0 : joint == hinges[1] ? 1 : 2]; })
                                .c_str());
        as_expected = as_expected && found.error.empty() && found.rank == 5 + crooked && found.consistent == !crooked;
        dWorldDestroy(world);
    }
    dCloseODE();
    return as_expected ? 0 : 1;
}
