/*
 * mlcp.hpp: libmlcp for C++17, header only. The documentation of every call is in mlcp.h; this file adds ownership,
 * lengths, exceptions and lambdas, and nothing else.
 *
 *     mlcp::Problem problem;
 *     problem.set_dense(2, a, 2);
 *     problem.set_b(b);
 *     problem.set_bounds(lo, hi);
 *     mlcp::Solver solver;
 *     std::vector<double> x(2);
 *     mlcp::Report report = solver.solve(problem, {}, x);
 *
 * Buffers are mlcp::View: pointer and length, made from std::vector, std::array, std::span, C arrays or a pair
 * (pointer, length). {} is an absent buffer. Views own nothing and are read during the call only.
 *
 * Errors: a call that is refused throws mlcp::Error. With MLCP_NO_EXCEPTIONS defined, or when the compiler runs with
 * -fno-exceptions, it returns its mlcp_status instead; the calls that return a value then exist only in the form with
 * an out parameter. Not reaching the tolerance is no error: see Report::outcome.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_HPP
#define MLCP_HPP

#include "mlcp.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

#if !defined(MLCP_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define MLCP_NO_EXCEPTIONS
#endif

#ifndef MLCP_NO_EXCEPTIONS
#include <exception>
#include <stdexcept>
#include <vector>
#endif

namespace mlcp {

/* ---- Errors ---- */

#ifndef MLCP_NO_EXCEPTIONS
/// A refused call: what() is the sentence that names the argument, the index and the value.
class Error : public std::runtime_error {
public:
    Error(mlcp_status status, const char *sentence) : std::runtime_error(sentence), status_(status) {}
    mlcp_status status() const noexcept { return status_; }

private:
    mlcp_status status_;
};

/// What a call returns: nothing, it throws. With MLCP_NO_EXCEPTIONS its mlcp_status.
using Result = void;
#else
using Result = mlcp_status;
#endif

namespace detail {

inline Result check(mlcp_status status)
{
#ifndef MLCP_NO_EXCEPTIONS
    if (status != MLCP_STATUS_OK) {
        throw Error(status, mlcp_last_error());
    }
#else
    return status;
#endif
}

} // namespace detail

/* ---- Buffers ---- */

/// Pointer and length; View<const double> to read, View<double> to write.
template <class T> class View {
public:
    constexpr View() noexcept = default;
    constexpr View(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr View(T (&array)[N]) noexcept : data_(array), size_(N) {}

    /// From anything with data() and size() whose elements are T, up to const: vector, array, span, another View.
    template <class Container, class Element = std::remove_pointer_t<decltype(std::declval<Container &>().data())>,
              class = std::enable_if_t<std::is_convertible<Element (*)[], T (*)[]>::value>>
    constexpr View(Container &&container) noexcept : data_(container.data()), size_(container.size())
    {
        // A temporary may be read during the call, but what is written to it would be lost.
        static_assert(std::is_const<T>::value || std::is_lvalue_reference<Container>::value
                          || std::is_trivially_destructible<std::decay_t<Container>>::value,
                      "an output buffer must outlive the call");
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using In = View<const double>;
using Indices = View<const std::int32_t>;
using Out = View<double>;

/* ---- Structs that fill themselves. Should header and library disagree on a size, struct_size stays 0 and the call that
        gets the struct refuses it with MLCP_STATUS_INVALID_SIZE. ---- */

/// Settings with the defaults filled in.
struct Settings : mlcp_settings {
    Settings() : mlcp_settings() { mlcp_settings_init(this, sizeof(mlcp_settings)); }
};

/// What a solve achieved.
struct Report : mlcp_report {
    Report() : mlcp_report() { mlcp_report_init(this, sizeof(mlcp_report)); }
    const char *outcome_name() const noexcept { return mlcp_outcome_name(outcome); }
    bool converged() const noexcept { return outcome == MLCP_OUTCOME_CONVERGED; }
};

/// One record of a history.
struct Iteration : mlcp_iteration {
    Iteration() : mlcp_iteration() { mlcp_iteration_init(this, sizeof(mlcp_iteration)); }
};

/// One solver that a solve ran.
struct Stage : mlcp_stage {
    Stage() : mlcp_stage() { mlcp_stage_init(this, sizeof(mlcp_stage)); }
    const char *solver_name() const noexcept { return mlcp_solver_kind_name(solver); }
    const char *reason_text() const noexcept { return mlcp_reason_text(reason); }
    const char *outcome_name() const noexcept { return mlcp_outcome_name(outcome); }
};

/// A row and its energy error in joules.
struct WorstRow {
    std::int32_t row;
    double error;
};

/* ---- Problem ---- */

/// One step's problem, refilled every step. Move-only. A moved-from one is empty: its calls answer NULL_ARGUMENT.
class Problem {
public:
    /// Without exceptions a failure leaves the handle empty, see operator bool.
    Problem()
    {
        mlcp_problem *handle = nullptr;
        (void)detail::check(mlcp_problem_create(&handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The C handle, still owned by this object.
    mlcp_problem *get() const noexcept { return handle_.get(); }

    Result reserve(std::size_t rows, std::size_t bodies)
    {
        return detail::check(mlcp_problem_reserve(get(), rows, bodies));
    }
    Result set_dense(std::size_t n, In a, std::size_t row_stride, mlcp_triangle triangle = MLCP_TRIANGLE_FULL)
    {
        return detail::check(mlcp_problem_set_dense(get(), n, a.data(), a.size(), row_stride, triangle));
    }
    Result set_csr(std::size_t n, Indices row_start, Indices columns, In values)
    {
        return detail::check(mlcp_problem_set_csr(get(), n, row_start.data(), row_start.size(), columns.data(),
                                                  columns.size(), values.data(), values.size()));
    }
    Result set_jacobian(In inverse_mass, In jacobian, Indices bodies, In compliance = {})
    {
        return detail::check(mlcp_problem_set_jacobian(get(), inverse_mass.data(), inverse_mass.size(), jacobian.data(),
                                                       jacobian.size(), bodies.data(), bodies.size(), compliance.data(),
                                                       compliance.size()));
    }
    Result set_b(In b) { return detail::check(mlcp_problem_set_b(get(), b.data(), b.size())); }
    Result set_motion(double h, In velocities, In forces = {}, In violation = {})
    {
        return detail::check(mlcp_problem_set_motion(get(), h, velocities.data(), velocities.size(), forces.data(),
                                                     forces.size(), violation.data(), violation.size()));
    }
    Result set_bounds(In lo, In hi)
    {
        return detail::check(mlcp_problem_set_bounds(get(), lo.data(), lo.size(), hi.data(), hi.size()));
    }
    Result set_friction(Indices findex, In mu, mlcp_friction_mode mode = MLCP_FRICTION_MODE_COUPLED)
    {
        return detail::check(mlcp_problem_set_friction(get(), findex.data(), findex.size(), mu.data(), mu.size(), mode));
    }
    Result set_cones(Indices rows, In mu)
    {
        return detail::check(mlcp_problem_set_cones(get(), rows.data(), rows.size(), mu.data(), mu.size()));
    }
    Result set_frozen_normals(In x) { return detail::check(mlcp_problem_set_frozen_normals(get(), x.data(), x.size())); }

    std::size_t rows() const noexcept { return mlcp_problem_rows(get()); }
    Result get_diagonal(Out out) const { return detail::check(mlcp_problem_get_diagonal(get(), out.data(), out.size())); }
    Result get_bounds(In x, Out out_lo, Out out_hi) const
    {
        return detail::check(mlcp_problem_get_bounds(get(), x.data(), x.size(), out_lo.data(), out_lo.size(),
                                                     out_hi.data(), out_hi.size()));
    }
    Result get_w(In x, Out out_w) const
    {
        return detail::check(mlcp_problem_get_w(get(), x.data(), x.size(), out_w.data(), out_w.size()));
    }
    Result get_velocity_change(In x, Out out) const
    {
        return detail::check(mlcp_problem_get_velocity_change(get(), x.data(), x.size(), out.data(), out.size()));
    }
    Result contains(In x, bool &out_contains) const
    {
        int32_t contains = 0;
        const mlcp_status status = mlcp_problem_contains(get(), x.data(), x.size(), &contains);
        out_contains = contains != 0;
        return detail::check(status);
    }
    Result measure(mlcp_measure measure, In x, double &out_total, Out out_row_errors = {}) const
    {
        return detail::check(mlcp_problem_measure(get(), measure, x.data(), x.size(), out_row_errors.data(),
                                                  out_row_errors.size(), &out_total));
    }
#ifndef MLCP_NO_EXCEPTIONS
    double measure(mlcp_measure measure, In x) const
    {
        double total = 0.0;
        this->measure(measure, x, total);
        return total;
    }
#endif

private:
    struct Destroy {
        void operator()(mlcp_problem *handle) const noexcept { mlcp_problem_destroy(handle); }
    };
    std::unique_ptr<mlcp_problem, Destroy> handle_;
};

/* ---- Solver ---- */

/// Sees every iteration; true stops the solve.
using Callback = std::function<bool(const mlcp_iteration &)>;

/// A solver with its memory. Move-only; serves one thread at a time. Do not destroy or assign it from its own callback.
class Solver {
public:
    Solver() : Solver(static_cast<const mlcp_settings *>(nullptr)) {}
    explicit Solver(const mlcp_settings &settings) : Solver(&settings) {}

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The C handle, still owned by this object.
    mlcp_solver *get() const noexcept { return handle_.get(); }
    /// Can this kind of solver treat this problem? If not, mlcp_last_error() says why.
    static bool supports(mlcp_solver_kind kind, const Problem &problem) noexcept
    {
        return mlcp_solver_supports(kind, problem.get()) == MLCP_STATUS_OK;
    }

    Result set_settings(const mlcp_settings &settings)
    {
        return detail::check(mlcp_solver_set_settings(get(), &settings));
    }
    Result get_settings(Settings &out) const { return detail::check(mlcp_solver_get_settings(get(), &out)); }

    /// Any callable; an empty one removes it. An exception inside stops the solve and leaves solve() after the library
    /// has returned: nothing ever unwinds through the library. With MLCP_NO_EXCEPTIONS the callable must not throw.
    Result set_callback(Callback callback)
    {
        std::unique_ptr<Watcher> fresh;
        if (callback) {
            fresh.reset(new Watcher);
            fresh->callback = std::move(callback);
        }
        const mlcp_status status = mlcp_solver_set_callback(get(), fresh ? &Solver::call : nullptr, fresh.get());
        if (status == MLCP_STATUS_OK) {
            watcher_ = std::move(fresh);
        }
        return detail::check(status);
    }

    /// Solve islands on the caller's threads, settings.threads tasks at a time; nullptr: on threads made for it. The
    /// executor must not throw.
    Result set_executor(mlcp_executor executor, void *user_data)
    {
        return detail::check(mlcp_solver_set_executor(get(), executor, user_data));
    }

    /// x0 may be {} to start from zero, or the same buffer as out_x. out_report may be nullptr.
    Result solve(const Problem &problem, In x0, Out out_x, mlcp_report *out_report)
    {
        return solved(mlcp_solver_solve(get(), problem.get(), x0.data(), x0.size(), out_x.data(), out_x.size(),
                                        out_report));
    }
    /// Frozen friction as ODE's and Bullet's Dantzig solvers have it: bounds at the normal impulses found without. The
    /// other arguments are as for solve.
    Result freeze_friction(Problem &problem, In x0, Out out_x, mlcp_report *out_report)
    {
        return solved(mlcp_solver_freeze_friction(get(), problem.get(), x0.data(), x0.size(), out_x.data(), out_x.size(),
                                                  out_report));
    }
    Result get_report(Report &out) const { return detail::check(mlcp_solver_get_report(get(), &out)); }
    Result get_w(Out out_w) const { return detail::check(mlcp_solver_get_w(get(), out_w.data(), out_w.size())); }
    Result get_row_errors(Out out) const
    {
        return detail::check(mlcp_solver_get_row_errors(get(), out.data(), out.size()));
    }
    Result get_worst_rows(View<std::int32_t> out_rows, Out out_errors, std::size_t &out_count) const
    {
        return detail::check(mlcp_solver_get_worst_rows(get(), out_rows.data(), out_rows.size(), out_errors.data(),
                                                        out_errors.size(), &out_count));
    }
    std::size_t history_len() const noexcept { return mlcp_solver_history_len(get()); }
    Result get_history(std::size_t index, Iteration &out) const
    {
        return detail::check(mlcp_solver_get_history(get(), index, &out));
    }
    std::size_t stages_len() const noexcept { return mlcp_solver_stages_len(get()); }
    Result get_stage(std::size_t index, Stage &out) const
    {
        return detail::check(mlcp_solver_get_stage(get(), index, &out));
    }

#ifndef MLCP_NO_EXCEPTIONS
    Report solve(const Problem &problem, In x0, Out out_x)
    {
        Report report;
        solve(problem, x0, out_x, &report);
        return report;
    }
    Settings settings() const
    {
        Settings settings;
        get_settings(settings);
        return settings;
    }
    Report report() const
    {
        Report report;
        get_report(report);
        return report;
    }
    /// At most `most` rows with the largest energy errors, worst first.
    std::vector<WorstRow> worst_rows(std::size_t most) const
    {
        std::vector<std::int32_t> rows(most);
        std::vector<double> errors(most);
        std::size_t count = 0;
        get_worst_rows(rows, errors, count);
        std::vector<WorstRow> worst;
        for (std::size_t i = 0; i < count; i++) {
            worst.push_back({rows[i], errors[i]});
        }
        return worst;
    }
    std::vector<Iteration> history() const
    {
        std::vector<Iteration> records(history_len());
        for (std::size_t i = 0; i < records.size(); i++) {
            get_history(i, records[i]);
        }
        return records;
    }
    std::vector<Stage> stages() const
    {
        std::vector<Stage> stages(stages_len());
        for (std::size_t i = 0; i < stages.size(); i++) {
            get_stage(i, stages[i]);
        }
        return stages;
    }
#endif

private:
    /// What a solve returned, or what its callback threw.
    Result solved(mlcp_status status)
    {
#ifndef MLCP_NO_EXCEPTIONS
        // Only the outermost solve may take it: one that a callback tried on this solver was refused as BUSY.
        if (status != MLCP_STATUS_BUSY && watcher_ && watcher_->thrown) {
            std::rethrow_exception(std::exchange(watcher_->thrown, nullptr));
        }
#endif
        return detail::check(status);
    }

    explicit Solver(const mlcp_settings *settings)
    {
        mlcp_solver *handle = nullptr;
        (void)detail::check(mlcp_solver_create(settings, &handle));
        handle_.reset(handle);
    }

    /// Lives on the heap, so that its address survives a move of the Solver.
    struct Watcher {
        Callback callback;
#ifndef MLCP_NO_EXCEPTIONS
        std::exception_ptr thrown;
#endif
    };

    static std::int32_t call(const mlcp_iteration *iteration, void *user_data) noexcept
    {
        Watcher &watcher = *static_cast<Watcher *>(user_data);
#ifndef MLCP_NO_EXCEPTIONS
        try {
            return watcher.callback(*iteration) ? 1 : 0;
        } catch (...) {
            watcher.thrown = std::current_exception();
            return 1;
        }
#else
        return watcher.callback(*iteration) ? 1 : 0;
#endif
    }

    struct Destroy {
        void operator()(mlcp_solver *handle) const noexcept { mlcp_solver_destroy(handle); }
    };
    // Declared in this order so that the handle, which points at the watcher, is destroyed first.
    std::unique_ptr<Watcher> watcher_;
    std::unique_ptr<mlcp_solver, Destroy> handle_;
};

/* ---- Frames and recordings. Formulations are texts such as "polyhedral:8", nullptr is "box"; see mlcp_frame. ---- */

/// Structs whose struct_size is set; fill in the rest.
struct Bodies : mlcp_bodies {
    Bodies() : mlcp_bodies() { struct_size = sizeof(mlcp_bodies); }
};
struct Constraints : mlcp_constraints {
    Constraints() : mlcp_constraints() { struct_size = sizeof(mlcp_constraints); }
};
struct Contacts : mlcp_contacts {
    Contacts() : mlcp_contacts() { struct_size = sizeof(mlcp_contacts); }
};
struct FrameErrors : mlcp_frame_errors {
    FrameErrors() : mlcp_frame_errors() { struct_size = sizeof(mlcp_frame_errors); }
};
struct FrameSolution : mlcp_frame_solution {
    FrameSolution() : mlcp_frame_solution() { struct_size = sizeof(mlcp_frame_solution); }
};
struct RecorderOptions : mlcp_recorder_options {
    RecorderOptions() : mlcp_recorder_options() { struct_size = sizeof(mlcp_recorder_options); }
};
struct RecorderCounts : mlcp_recorder_counts {
    RecorderCounts() : mlcp_recorder_counts() { struct_size = sizeof(mlcp_recorder_counts); }
};

/// One time step as an engine knows it. Move-only.
class Frame {
public:
    Frame()
    {
        mlcp_frame *handle = nullptr;
        (void)detail::check(mlcp_frame_create(&handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The C handle, still owned by this object.
    mlcp_frame *get() const noexcept { return handle_.get(); }

    Result set_step(double step, double time) { return detail::check(mlcp_frame_set_step(get(), step, time)); }
    Result set_bodies(const mlcp_bodies &bodies) { return detail::check(mlcp_frame_set_bodies(get(), &bodies)); }
    Result set_constraints(const mlcp_constraints &c) { return detail::check(mlcp_frame_set_constraints(get(), &c)); }
    Result set_contacts(const mlcp_contacts &contacts) { return detail::check(mlcp_frame_set_contacts(get(), &contacts)); }

    Result get_step(double &step, double &time) const { return detail::check(mlcp_frame_get_step(get(), &step, &time)); }
    /// Pointers into the frame, valid until it is changed.
    Result get_bodies(mlcp_bodies &out) const { return detail::check(mlcp_frame_get_bodies(get(), &out)); }
    Result get_constraints(mlcp_constraints &out) const { return detail::check(mlcp_frame_get_constraints(get(), &out)); }
    Result get_contacts(mlcp_contacts &out) const { return detail::check(mlcp_frame_get_contacts(get(), &out)); }

    Result get_rows(const char *formulation, std::size_t &out_rows) const
    {
        return detail::check(mlcp_frame_get_rows(get(), formulation, &out_rows));
    }
    Result fill_problem(const char *formulation, Problem &problem)
    {
        return detail::check(mlcp_frame_fill_problem(get(), formulation, problem.get()));
    }
    /// Any of the outputs may be absent.
    Result get_response(const char *formulation, In z, Out out_velocities, Out out_impulses = {},
                        View<std::int32_t> out_states = {}, mlcp_frame_errors *out_errors = nullptr)
    {
        return detail::check(mlcp_frame_get_response(get(), formulation, z.data(), z.size(), out_velocities.data(),
                                                     out_velocities.size(), out_impulses.data(), out_impulses.size(),
                                                     out_states.data(), out_states.size(), out_errors));
    }

private:
    struct Destroy {
        void operator()(mlcp_frame *handle) const noexcept { mlcp_frame_destroy(handle); }
    };
    std::unique_ptr<mlcp_frame, Destroy> handle_;
};

/// Records to a file from inside a game loop; the destructor writes what is queued. Move-only.
class Recorder {
public:
    explicit Recorder(const char *path, const mlcp_recorder_options *options = nullptr)
    {
        mlcp_recorder *handle = nullptr;
        (void)detail::check(mlcp_recorder_create(path, options, &handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The C handle, still owned by this object.
    mlcp_recorder *get() const noexcept { return handle_.get(); }

    Result append_frame(const Frame &frame, const char *formulation = nullptr, In z = {},
                        const mlcp_report *report = nullptr)
    {
        return detail::check(
            mlcp_recorder_append_frame(get(), frame.get(), formulation, z.data(), z.size(), report));
    }
    Result append_problem(const char *name, const Problem &problem, In x = {}, const mlcp_report *report = nullptr)
    {
        return detail::check(mlcp_recorder_append_problem(get(), name, problem.get(), x.data(), x.size(), report));
    }
    Result flush() { return detail::check(mlcp_recorder_flush(get())); }
    Result get_counts(RecorderCounts &out) const { return detail::check(mlcp_recorder_get_counts(get(), &out)); }

private:
    struct Destroy {
        void operator()(mlcp_recorder *handle) const noexcept { mlcp_recorder_destroy(handle); }
    };
    std::unique_ptr<mlcp_recorder, Destroy> handle_;
};

/// An open file of frames and problems. Move-only.
class Dataset {
public:
    explicit Dataset(const char *path)
    {
        mlcp_dataset *handle = nullptr;
        (void)detail::check(mlcp_dataset_open(path, &handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /// The C handle, still owned by this object.
    mlcp_dataset *get() const noexcept { return handle_.get(); }

    std::size_t problems() const noexcept { return mlcp_dataset_problems(get()); }
    std::size_t frames() const noexcept { return mlcp_dataset_frames(get()); }
    const char *problem_name(std::size_t index) const noexcept { return mlcp_dataset_problem_name(get(), index); }
    Result load_problem(std::size_t index, Problem &problem, mlcp_friction_mode mode = MLCP_FRICTION_MODE_COUPLED)
    {
        return detail::check(mlcp_dataset_load_problem(get(), index, mode, problem.get()));
    }
    Result get_x(std::size_t index, mlcp_recorded_x which, Out out_x)
    {
        return detail::check(mlcp_dataset_get_x(get(), index, which, out_x.data(), out_x.size()));
    }
    Result load_frame(std::size_t index, Frame &frame) const
    {
        return detail::check(mlcp_dataset_load_frame(get(), index, frame.get()));
    }
    /// Pointers into the dataset, valid until the next call of this.
    Result get_solution(std::size_t index, FrameSolution &out)
    {
        return detail::check(mlcp_dataset_get_solution(get(), index, &out));
    }

private:
    struct Destroy {
        void operator()(mlcp_dataset *handle) const noexcept { mlcp_dataset_destroy(handle); }
    };
    std::unique_ptr<mlcp_dataset, Destroy> handle_;
};

/* ---- Mechanisms ---- */

/// What a diagnosis found.
struct Findings : mlcp_findings {
    Findings() : mlcp_findings() { mlcp_findings_init(this, sizeof(mlcp_findings)); }
};

/// Which constraints are redundant, and what to do about it. Move-only.
class Diagnosis {
public:
    Diagnosis()
    {
        mlcp_diagnosis *handle = nullptr;
        (void)detail::check(mlcp_diagnosis_create(&handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    mlcp_diagnosis *get() const noexcept { return handle_.get(); }

    /// x = {}: bilateral rows; otherwise the rows active at x. tolerance = 0: the default. out may be nullptr.
    Result run(const Problem &problem, In x, double tolerance, mlcp_findings *out)
    {
        return detail::check(mlcp_problem_diagnose(problem.get(), x.data(), x.size(), tolerance, get(), out));
    }
    Result get_roles(View<std::int32_t> out) const
    {
        return detail::check(mlcp_diagnosis_get_roles(get(), out.data(), out.size()));
    }
    Result get_dependency(std::size_t row, View<std::int32_t> out_rows, Out out_coefficients, std::size_t &out_count)
    {
        return detail::check(mlcp_diagnosis_get_dependency(get(), row, out_rows.data(), out_rows.size(),
                                                           out_coefficients.data(), out_coefficients.size(), &out_count));
    }
    Result get_conflict(Out out) const
    {
        return detail::check(mlcp_diagnosis_get_conflict(get(), out.data(), out.size()));
    }
    Result get_compliance(double relative, Out out) const
    {
        return detail::check(mlcp_diagnosis_get_compliance(get(), relative, out.data(), out.size()));
    }
    Result spread_impulses(In x, Out out_x)
    {
        return detail::check(mlcp_diagnosis_spread_impulses(get(), x.data(), x.size(), out_x.data(), out_x.size()));
    }

private:
    struct Destroy {
        void operator()(mlcp_diagnosis *handle) const noexcept { mlcp_diagnosis_destroy(handle); }
    };
    std::unique_ptr<mlcp_diagnosis, Destroy> handle_;
};

/// Compliance and share of the violation of a row that is a spring and damper.
inline Result spring_compliance(double stiffness, double damping, double h, double &out_compliance, double &out_share)
{
    return detail::check(mlcp_spring_compliance(stiffness, damping, h, &out_compliance, &out_share));
}

/// Positions and velocities back onto the motion that the constraints allow. Move-only.
class Projection {
public:
    explicit Projection(double tolerance = 0.0)
    {
        mlcp_projection *handle = nullptr;
        (void)detail::check(mlcp_projection_create(tolerance, &handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    mlcp_projection *get() const noexcept { return handle_.get(); }

    Result correct_positions(const Problem &problem, In violation, Out out_change)
    {
        return detail::check(mlcp_projection_correct_positions(get(), problem.get(), violation.data(), violation.size(),
                                                               out_change.data(), out_change.size()));
    }
    Result correct_velocities(const Problem &problem, In velocities, In target, Out out_change)
    {
        return detail::check(mlcp_projection_correct_velocities(get(), problem.get(), velocities.data(),
                                                                velocities.size(), target.data(), target.size(),
                                                                out_change.data(), out_change.size()));
    }

private:
    struct Destroy {
        void operator()(mlcp_projection *handle) const noexcept { mlcp_projection_destroy(handle); }
    };
    std::unique_ptr<mlcp_projection, Destroy> handle_;
};

/// A model without coordinates, to be filled.
struct Ali3pModel : mlcp_ali3p_model {
    Ali3pModel() : mlcp_ali3p_model() { mlcp_ali3p_model_init(this, sizeof(mlcp_ali3p_model)); }
};

/// Settings of a stepper with the defaults filled in.
struct Ali3pSettings : mlcp_ali3p_settings {
    Ali3pSettings() : mlcp_ali3p_settings() { mlcp_ali3p_settings_init(this, sizeof(mlcp_ali3p_settings)); }
};

/// What a step did.
struct Ali3pReport : mlcp_ali3p_report {
    Ali3pReport() : mlcp_ali3p_report() { mlcp_ali3p_report_init(this, sizeof(mlcp_ali3p_report)); }
    bool stepped() const noexcept { return outcome == MLCP_STEP_OUTCOME_STEPPED; }
};

/// A mechanism on its way through time. Move-only. The model's functions must not throw.
class Ali3p {
public:
    Ali3p(const mlcp_ali3p_model &model, const mlcp_ali3p_settings &settings)
    {
        mlcp_ali3p *handle = nullptr;
        (void)detail::check(mlcp_ali3p_create(&model, &settings, &handle));
        handle_.reset(handle);
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    mlcp_ali3p *get() const noexcept { return handle_.get(); }

    Result set_settings(const mlcp_ali3p_settings &settings)
    {
        return detail::check(mlcp_ali3p_set_settings(get(), &settings));
    }
    Result set_penalties(In penalties)
    {
        return detail::check(mlcp_ali3p_set_penalties(get(), penalties.data(), penalties.size()));
    }
    Result set_contact_solver(const mlcp_settings &settings)
    {
        return detail::check(mlcp_ali3p_set_contact_solver(get(), &settings));
    }
    Result get_contact_impulses(Out out_impulses) const
    {
        return detail::check(mlcp_ali3p_get_contact_impulses(get(), out_impulses.data(), out_impulses.size()));
    }
    Result set_state(double t, In q, In v)
    {
        return detail::check(mlcp_ali3p_set_state(get(), t, q.data(), q.size(), v.data(), v.size()));
    }
    Result step(double t_end, mlcp_ali3p_report *out) { return detail::check(mlcp_ali3p_step(get(), t_end, out)); }
    Result get_state(double &out_t, Out out_q, Out out_v = {}, Out out_a = {}, Out out_lambda = {}) const
    {
        return detail::check(mlcp_ali3p_get_state(get(), &out_t, out_q.data(), out_q.size(), out_v.data(), out_v.size(),
                                                  out_a.data(), out_a.size(), out_lambda.data(), out_lambda.size()));
    }
    Result project(double t, double tolerance, Out q, Out v, double &out_violation)
    {
        return detail::check(mlcp_ali3p_project(get(), t, tolerance, q.data(), q.size(), v.data(), v.size(),
                                                &out_violation));
    }

private:
    struct Destroy {
        void operator()(mlcp_ali3p *handle) const noexcept { mlcp_ali3p_destroy(handle); }
    };
    std::unique_ptr<mlcp_ali3p, Destroy> handle_;
};

/* ---- Errors of an x that anybody computed. All arrays have one length; out_row_errors may be {}. ---- */

namespace detail {

/// Are all arrays as long as x, and the row errors too unless they are absent?
inline mlcp_status same_length(std::size_t n, std::initializer_list<std::size_t> inputs, std::size_t row_errors)
{
    bool same = row_errors == n || row_errors == 0;
    for (std::size_t size : inputs) {
        same = same && size == n;
    }
    return same ? MLCP_STATUS_OK : MLCP_STATUS_INVALID_SIZE;
}

inline Result refuse_lengths()
{
#ifndef MLCP_NO_EXCEPTIONS
    throw Error(MLCP_STATUS_INVALID_SIZE, "the arrays of a measure differ in length");
#else
    return MLCP_STATUS_INVALID_SIZE;
#endif
}

using Measure = mlcp_status (*)(std::size_t, const double *, const double *, const double *, const double *, double *,
                                double *);

inline Result measure(Measure function, In x, In w, In lo, In hi, double &out_total, Out out_row_errors)
{
    if (same_length(x.size(), {w.size(), lo.size(), hi.size()}, out_row_errors.size()) != MLCP_STATUS_OK) {
        return refuse_lengths();
    }
    return check(function(x.size(), x.data(), w.data(), lo.data(), hi.data(), out_row_errors.data(), &out_total));
}

} // namespace detail

inline Result energy_error(In diagonal, In x, In w, In lo, In hi, double &out_total, Out out_row_errors = {})
{
    if (detail::same_length(x.size(), {diagonal.size(), w.size(), lo.size(), hi.size()}, out_row_errors.size())
        != MLCP_STATUS_OK) {
        return detail::refuse_lengths();
    }
    return detail::check(mlcp_energy_error(x.size(), diagonal.data(), x.data(), w.data(), lo.data(), hi.data(),
                                           out_row_errors.data(), &out_total));
}
inline Result fischer_burmeister_error(In x, In w, In lo, In hi, double &out_total, Out out_row_errors = {})
{
    return detail::measure(mlcp_fischer_burmeister_error, x, w, lo, hi, out_total, out_row_errors);
}
inline Result natural_error(In x, In w, In lo, In hi, double &out_total, Out out_row_errors = {})
{
    return detail::measure(mlcp_natural_error, x, w, lo, hi, out_total, out_row_errors);
}
inline Result merit_error(In x, In w, In lo, In hi, double &out_total, Out out_row_errors = {})
{
    return detail::measure(mlcp_merit_error, x, w, lo, hi, out_total, out_row_errors);
}
inline Result duality_gap(In x, In w, In lo, In hi, double &out_total, Out out_row_errors = {})
{
    return detail::measure(mlcp_duality_gap, x, w, lo, hi, out_total, out_row_errors);
}
inline Result penalized_error(In x, In w, In lo, In hi, double lambda, double &out_total, Out out_row_errors = {})
{
    if (detail::same_length(x.size(), {w.size(), lo.size(), hi.size()}, out_row_errors.size()) != MLCP_STATUS_OK) {
        return detail::refuse_lengths();
    }
    return detail::check(mlcp_penalized_error(x.size(), x.data(), w.data(), lo.data(), hi.data(), lambda,
                                              out_row_errors.data(), &out_total));
}

/// The library's version, for example "0.1.0"; compare it with the MLCP_VERSION_ macros of the header.
inline const char *version() noexcept { return mlcp_version(); }

} // namespace mlcp

#endif // MLCP_HPP
