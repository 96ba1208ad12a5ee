/*
 * mlcp_joints.hpp: which joints of an engine are too many, and who they depend on. The common part of the engine adapters'
 * diagnose() (mlcp_bullet.hpp, mlcp_ode.hpp), which fill it. C++11, header only; needs mlcp.h.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_JOINTS_HPP
#define MLCP_JOINTS_HPP

#include "mlcp.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace mlcp {

/* One row of an engine's joint. */
template <class Joint, class Body> struct JointRow {
    Joint joint;
    int index; /* number of the joint, as the adapter's diagnose() counts them */
    int row;   /* of the joint, 0 first */
    Body body1, body2; /* body2 may be null, or a body that cannot move: the world */
};

/* A row that others already enforce. */
template <class Joint, class Body> struct RedundantRow {
    typedef JointRow<Joint, Body> Who;
    Who who;
    double conflict;              /* m/s or rad/s by which its velocity contradicts the others; about 0 if it agrees */
    std::vector<Who> depends_on;  /* rows that together say the same; empty if nothing the row acts on can move */
    std::vector<double> coefficient; /* J_who = sum of coefficient times J_depends_on */
};

/* What the bilateral rows of a world, all islands together, amount to. Limits, motors and contacts are not looked at. */
template <class Joint, class Body> struct JointDiagnosis {
    int rows, rank;               /* bilateral rows, and how many of them are independent */
    bool consistent;              /* can all rows hold at once? */
    double contradiction;         /* J of velocity that no motion of the bodies can undo: what the joints fight over */
    double condition;             /* of the kept rows, the worst island's */
    double closest_kept, farthest_dropped; /* how clear the verdict is: see mlcp_findings */
    std::vector<RedundantRow<Joint, Body>> redundant; /* in the engine's order: earlier joints stay, later ones are named */
    std::string error;            /* why there is no diagnosis, or not of all islands; empty if there is */

    JointDiagnosis()
        : rows(0), rank(0), consistent(true), contradiction(0.0), condition(1.0), closest_kept(1.0), farthest_dropped(0.0)
    {
    }

    /* One line per redundant row; name(joint, index) returns what a reader calls the joint. */
    template <class Name> std::string text(Name name) const
    {
        std::string all = error.empty() ? std::string() : error + "\n";
        for (std::size_t i = 0; i < redundant.size(); i++) {
            const RedundantRow<Joint, Body> &r = redundant[i];
            all += title(r.who, name) + (r.depends_on.empty() ? " moves nothing" : " follows from ");
            for (std::size_t k = 0; k < r.depends_on.size(); k++) {
                all += (k == 0 ? "" : k + 1 == r.depends_on.size() ? " and " : ", ") + title(r.depends_on[k], name);
            }
            char conflict[64] = "";
            if (!consistent && std::fabs(r.conflict) > 1e-9) {
                std::snprintf(conflict, sizeof conflict, ", contradicting by %.3g", r.conflict);
            }
            all += std::string(conflict) + "\n";
        }
        return all;
    }

private:
    template <class Name> static std::string title(const JointRow<Joint, Body> &who, Name name)
    {
        return std::string(name(who.joint, who.index)) + " row " + std::to_string(who.row);
    }
};

namespace detail {

/* Diagnose a problem and add what was found; `who(row)` names a row of it. */
template <class Joint, class Body, class Who>
bool add_diagnosis(const mlcp_problem *problem, std::size_t n, JointDiagnosis<Joint, Body> &out, Who who)
{
    mlcp_diagnosis *diagnosis = nullptr;
    mlcp_findings found;
    std::vector<std::int32_t> role(n), on(n);
    std::vector<double> conflict(n), coefficient(n);
    bool done = mlcp_findings_init(&found, sizeof found) == MLCP_STATUS_OK
                && mlcp_diagnosis_create(&diagnosis) == MLCP_STATUS_OK
                && mlcp_problem_diagnose(problem, nullptr, 0, 0.0, diagnosis, &found) == MLCP_STATUS_OK
                && mlcp_diagnosis_get_roles(diagnosis, role.data(), n) == MLCP_STATUS_OK
                && mlcp_diagnosis_get_conflict(diagnosis, conflict.data(), n) == MLCP_STATUS_OK;
    for (std::size_t i = 0; done && i < n; i++) {
        if (role[i] != MLCP_ROW_ROLE_REDUNDANT) {
            continue;
        }
        RedundantRow<Joint, Body> row = {who(i), conflict[i], {}, {}};
        std::size_t count = 0;
        done = mlcp_diagnosis_get_dependency(diagnosis, i, on.data(), n, coefficient.data(), n, &count) == MLCP_STATUS_OK;
        for (std::size_t k = 0; done && k < count; k++) {
            row.depends_on.push_back(who(static_cast<std::size_t>(on[k])));
            row.coefficient.push_back(coefficient[k]);
        }
        out.redundant.push_back(row);
    }
    if (done) {
        out.rows += static_cast<int>(found.considered);
        out.rank += static_cast<int>(found.rank);
        out.consistent = out.consistent && found.is_consistent != 0;
        out.contradiction += found.contradiction;
        out.condition = std::fmax(out.condition, found.condition);
        out.closest_kept = std::fmin(out.closest_kept, found.closest_kept);
        out.farthest_dropped = std::fmax(out.farthest_dropped, found.farthest_dropped);
    } else {
        out.error = mlcp_last_error();
    }
    mlcp_diagnosis_destroy(diagnosis);
    return done;
}

} // namespace detail
} // namespace mlcp

#endif
