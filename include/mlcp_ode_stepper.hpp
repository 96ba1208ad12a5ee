/*
 * mlcp_ode_stepper.hpp: stepping ODE with libmlcp through ODE's documented interface only, for builds that hide their
 * symbols. Included by mlcp_ode.hpp.
 *
 *     mlcp::ode::Stepper stepper(world);
 *     stepper.add_joint(hinge);                         // once, right after the joint was set up
 *     stepper.add_contact(contact, body1, body2);       // every step, in place of dJointCreateContact and dJointAttach
 *     stepper.step(1.0 / 60);                           // in place of dWorldStep
 *
 * Contacts, ball, hinge, slider, fixed, universal and hinge-2 joints and angular motors in user mode are supported, their
 * limits and motors included. Joints that were not added are left to ODE, which solves them by themselves after ours.
 *
 * Licence: MIT OR Apache-2.0.
 */
#include "mlcp_ode.hpp"

#ifndef MLCP_ODE_STEPPER_HPP
#define MLCP_ODE_STEPPER_HPP

#include "mlcp_ode_joint.hpp"

namespace mlcp {
namespace ode {

/* Steps a world through ODE's documented interface. It must not outlive the world; add and remove joints as they come. */
class Stepper {
public:
    explicit Stepper(dWorldID world, const Options &options = Options()) : solver_(options), world_(world) {}

    /*
     * Let libmlcp solve this joint from now on. Call it when anchors and axes have just been set: some of what ODE
     * remembers from then cannot be asked later. Returns false for a joint that is attached to nothing or of a type not
     * supported; ODE goes on solving it, by itself.
     */
    bool add_joint(dJointID joint)
    {
        if ((!dJointGetBody(joint, 0) && !dJointGetBody(joint, 1)) || !detail::AddedJoint::supported(joint)) {
            return false;
        }
        remove_joint(joint);
        joints_.push_back(detail::AddedJoint(joint));
        return true;
    }

    /* Before dJointDestroy, or to give the joint back to ODE. */
    void remove_joint(dJointID joint)
    {
        for (std::size_t i = 0; i < joints_.size(); i++) {
            if (joints_[i].joint == joint) {
                joints_.erase(joints_.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }

    /* A contact for the next step only. One of the bodies may be null: the world. */
    void add_contact(const dContact &contact, dBodyID body1, dBodyID body2)
    {
        if (body1 || body2) {
            const Contact added = {contact, body1, body2};
            contacts_.push_back(added);
        }
    }

    /* One step of h seconds, in place of dWorldStep; returns what that returns. Then the contacts are forgotten. */
    int step(dReal h)
    {
        solver_.begin();
        const detail::Clock::time_point start = detail::Clock::now();
        find_islands();
        const std::size_t parts = item_of_.size();
        detail::Workspace *const workspace = solver_.take();
        double solving = 0.0;
        for (std::size_t first = 0; first < parts;) {
            std::size_t last = first;
            while (last < parts && root(item_body_[item_of_[last]]) == root(item_body_[item_of_[first]])) {
                last++;
            }
            read(workspace->island, first, last, h);
            const detail::Clock::time_point before = detail::Clock::now();
            if (workspace->island.rows() > 0) {
                solver_.solve(*workspace);
            }
            solving += detail::seconds_since(before);
            apply(workspace->island, h);
            first = last;
        }
        solver_.give_back(workspace);
        solver_.add_adapter_seconds(detail::seconds_since(start) - solving);
        return move(h);
    }

    /* Diagnose the joints and contacts added, as a step of h seconds would see them; nothing moves. */
    Diagnosis diagnose(dReal h)
    {
        Diagnosis found;
        find_islands();
        detail::Workspace *const workspace = solver_.take();
        for (std::size_t first = 0, last = 0; first < item_of_.size(); first = last) {
            while (last < item_of_.size() && root(item_body_[item_of_[last]]) == root(item_body_[item_of_[first]])) {
                last++;
            }
            read(workspace->island, first, last, h);
            if (workspace->island.rows() > 0) {
                solver_.diagnose(*workspace, found);
            }
        }
        solver_.give_back(workspace);
        return found;
    }

    const Report &report() const { return solver_.report(); }
    const Options &options() const { return solver_.options(); }
    void set_options(const Options &options) { solver_.set_options(options); }

private:
    struct Contact {
        dContact contact;
        dBodyID body1, body2;
    };
    typedef std::pair<dBodyID, std::int32_t> Numbered;

    /* Items are joints, then contacts. */
    std::size_t items() const { return joints_.size() + contacts_.size(); }
    dBodyID item_body(std::size_t item, int side) const
    {
        if (item < joints_.size()) {
            return side ? joints_[item].body2 : joints_[item].body1;
        }
        const Contact &c = contacts_[item - joints_.size()];
        return side ? c.body2 : c.body1;
    }

    bool active(std::size_t item) const
    {
        if (item < joints_.size() && !dJointIsEnabled(joints_[item].joint)) {
            return false;
        }
        const dBodyID a = item_body(item, 0), b = item_body(item, 1);
        return (a && !dBodyIsKinematic(a)) || (b && !dBodyIsKinematic(b));
    }

    std::int32_t number(dBodyID body) const
    {
        return std::lower_bound(sorted_.begin(), sorted_.end(), Numbered(body, 0))->second;
    }

    std::size_t root(std::size_t body) const
    {
        while (parent_[body] != static_cast<std::int32_t>(body)) {
            body = parent_[body];
        }
        return body;
    }

    /* Number the bodies by first mention, join what constraints join, wake islands with a body awake, sort items by island. */
    void find_islands()
    {
        sorted_.clear();
        for (std::size_t i = 0; i < items(); i++) {
            for (int side = 0; side < 2 && active(i); side++) {
                if (item_body(i, side)) {
                    sorted_.push_back(Numbered(item_body(i, side), static_cast<std::int32_t>(sorted_.size())));
                }
            }
        }
        std::sort(sorted_.begin(), sorted_.end());
        sorted_.erase(std::unique(sorted_.begin(), sorted_.end(),
                                  [](const Numbered &a, const Numbered &b) { return a.first == b.first; }),
                      sorted_.end());
        by_mention_.assign(sorted_.begin(), sorted_.end());
        std::sort(by_mention_.begin(), by_mention_.end(),
                  [](const Numbered &a, const Numbered &b) { return a.second < b.second; });
        parent_.resize(by_mention_.size());
        awake_.assign(by_mention_.size(), 0);
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            std::lower_bound(sorted_.begin(), sorted_.end(), Numbered(by_mention_[k].first, 0))->second =
                static_cast<std::int32_t>(k);
            parent_[k] = static_cast<std::int32_t>(k);
        }
        item_of_.clear();
        item_body_.assign(items(), 0);
        for (std::size_t i = 0; i < items(); i++) {
            if (active(i)) {
                const dBodyID a = item_body(i, 0), b = item_body(i, 1);
                const std::int32_t na = number(a ? a : b);
                item_body_[i] = na;
                item_of_.push_back(i);
                if (a && b) {
                    const std::size_t ra = root(na), rb = root(number(b));
                    parent_[std::max(ra, rb)] = static_cast<std::int32_t>(std::min(ra, rb));
                }
            }
        }
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            if (dBodyIsEnabled(by_mention_[k].first)) {
                awake_[root(k)] = 1;
            }
        }
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            if (awake_[root(k)] && !dBodyIsEnabled(by_mention_[k].first)) {
                dBodyEnable(by_mention_[k].first);
            }
        }
        item_of_.erase(std::remove_if(item_of_.begin(), item_of_.end(),
                                      [this](std::size_t i) { return !awake_[root(item_body_[i])]; }),
                       item_of_.end());
        std::sort(item_of_.begin(), item_of_.end(), [this](std::size_t i, std::size_t j) {
            const std::size_t a = root(item_body_[i]), b = root(item_body_[j]);
            return a != b ? a < b : i < j;
        });
    }

    /* Rows and bodies of the island that is items first..last of item_of_. */
    void read(detail::Island &island, std::size_t first, std::size_t last, double h)
    {
        island.clear();
        local_.assign(by_mention_.size(), -1);
        for (std::size_t k = first; k < last; k++) {
            const std::size_t i = item_of_[k];
            detail::Rows rows(world_, h, item_body(i, 0), item_body(i, 1));
            const bool is_joint = i < joints_.size();
            if (is_joint) {
                joints_[i].rows(rows);
            } else {
                const Contact &c = contacts_[i - joints_.size()];
                rows.contact(world_, c.contact, !c.body1);
            }
            const Constraint constraint = {is_joint ? joints_[i].joint : nullptr, rows.body1, rows.body2, 0, 0};
            const std::size_t row =
                island.add_rows(constraint, rows.count, local(island, rows.body1), local(island, rows.body2), 0.0);
            std::copy(&rows.jacobian[0][0], &rows.jacobian[0][0] + 12 * rows.count, island.jacobian.begin() + 12 * row);
            for (int m = 0; m < rows.count; m++) {
                island.rhs_cfm[2 * (row + m)] = rows.rhs[m];
                island.rhs_cfm[2 * (row + m) + 1] = rows.cfm[m];
                island.lo_hi[2 * (row + m)] = rows.lo[m];
                island.lo_hi[2 * (row + m) + 1] = rows.hi[m];
                island.findex[row + m] = rows.findex[m];
            }
        }
        island.read_bodies(world_, h);
        island.finish_rows(h);
    }

    std::int32_t local(detail::Island &island, dBodyID body)
    {
        if (!body) {
            return -1;
        }
        std::int32_t &at = local_[number(body)];
        if (at < 0) {
            at = static_cast<std::int32_t>(island.bodies.size());
            island.bodies.push_back(body);
        }
        return at;
    }

    /* Impulses become forces on the bodies for the coming dWorldStep, and feedback. */
    void apply(const detail::Island &island, double h)
    {
        for (std::size_t c = 0; c < island.constraints.size(); c++) {
            const Constraint &constraint = island.constraints[c];
            dJointFeedback f;
            island.feedback(constraint, h, f);
            dBodyAddForce(constraint.body1, f.f1[0], f.f1[1], f.f1[2]);
            dBodyAddTorque(constraint.body1, f.t1[0], f.t1[1], f.t1[2]);
            if (constraint.body2) {
                dBodyAddForce(constraint.body2, f.f2[0], f.f2[1], f.f2[2]);
                dBodyAddTorque(constraint.body2, f.t2[0], f.t2[1], f.t2[2]);
            }
            dJointFeedback *const wanted = constraint.joint ? dJointGetFeedback(constraint.joint) : nullptr;
            if (wanted) {
                *wanted = f;
            }
        }
    }

    /* ODE moves the bodies, our joints out of the way. */
    int move(dReal h)
    {
        switched_.clear();
        for (std::size_t i = 0; i < joints_.size(); i++) {
            if (dJointIsEnabled(joints_[i].joint)) {
                dJointDisable(joints_[i].joint);
                switched_.push_back(joints_[i].joint);
            }
        }
        const int result = dWorldStep(world_, h);
        for (std::size_t i = 0; i < switched_.size(); i++) {
            dJointEnable(switched_[i]);
        }
        /* A body that ODE has just put to sleep did not move: its impulses are void. Awake neighbours keep it awake. */
        for (std::size_t k = 0; k < by_mention_.size(); k++) {
            const dBodyID body = by_mention_[k].first;
            if (awake_[root(k)] && !dBodyIsEnabled(body)) {
                dBodySetForce(body, 0, 0, 0);
                dBodySetTorque(body, 0, 0, 0);
            }
        }
        contacts_.clear();
        return result;
    }

    Solver solver_;
    dWorldID world_;
    std::vector<detail::AddedJoint> joints_;
    std::vector<Contact> contacts_;
    std::vector<Numbered> sorted_, by_mention_;
    std::vector<std::int32_t> parent_, local_, item_body_;
    std::vector<char> awake_;
    std::vector<std::size_t> item_of_;
    std::vector<dJointID> switched_;
};

} // namespace ode
} // namespace mlcp

#endif
