//! Diagnosis, projection and stepper, called wrongly.

use super::fixture::*;
use super::Row;
use libc::c_void;
use mlcp::ffi::*;
use mlcp::Status::{self, *};
use std::mem::size_of;
use std::ptr::{null, null_mut};

/// Run a call on a diagnosis of the fixture's dense problem (its one bilateral row).
fn with_diagnosis(f: &mut Fixture, call: impl FnOnce(&mut Fixture, *mut mlcp_diagnosis) -> Status) -> Status {
    let mut d = null_mut();
    unsafe {
        ok(mlcp_diagnosis_create(&mut d));
        ok(mlcp_problem_diagnose(f.p, null(), 0, 0.0, d, null_mut()));
        let status = call(f, d);
        // It still knows what it knew.
        let mut roles = [7; N];
        ok(mlcp_diagnosis_get_roles(d, roles.as_mut_ptr(), N));
        assert_eq!(roles, [0, 0, 1]);
        mlcp_diagnosis_destroy(d);
        status
    }
}

fn with_projection(f: &mut Fixture, call: impl FnOnce(&mut Fixture, *mut mlcp_projection) -> Status) -> Status {
    let mut p = null_mut();
    unsafe {
        ok(mlcp_projection_create(0.0, &mut p));
        let status = call(f, p);
        mlcp_projection_destroy(p);
        status
    }
}

/// What the functions of the model below do: 0 as they should, 1 give up, 2 write NaN; and 3: step from inside.
struct Mood {
    kind: i32,
    stepper: *mut mlcp_ali3p,
    inner: Status,
}

unsafe extern "C" fn spring(
    _t: f64,
    q: *const f64,
    _v: *const f64,
    out: *mut f64,
    len: usize,
    user: *mut c_void,
) -> i32 {
    let mood = unsafe { &mut *(user as *mut Mood) };
    assert_eq!(len, 2);
    unsafe {
        *out = -*q;
        *out.add(1) = if mood.kind == 2 { f64::NAN } else { -*q.add(1) };
        if mood.kind == 3 {
            mood.inner = mlcp_ali3p_step(mood.stepper, INF, null_mut());
            mlcp_ali3p_destroy(mood.stepper);
        }
    }
    i32::from(mood.kind == 1)
}

/// A floor under the first coordinate; in its moods as `spring`.
unsafe extern "C" fn floor(
    _t: f64,
    q: *const f64,
    gap: *mut f64,
    normal: *mut f64,
    _tangent: *mut f64,
    _friction: *mut f64,
    contacts: usize,
    coordinates: usize,
    user: *mut c_void,
) -> i32 {
    let mood = unsafe { &mut *(user as *mut Mood) };
    assert_eq!((contacts, coordinates), (1, 2));
    unsafe {
        *gap = if mood.kind == 5 { f64::NAN } else { *q };
        *normal = 1.0;
    }
    i32::from(mood.kind == 4)
}

/// Contacts through C: a mass on a spring is stopped by the floor; a function that gives up or writes NaN stops the step.
#[test]
fn contacts_through_c() {
    let mood = Box::into_raw(Box::new(Mood { kind: 0, stepper: null_mut(), inner: Ok }));
    let (mut m, mut s) = (model(mood), null_mut());
    m.contacts = 1;
    m.evaluate_contacts = Some(floor);
    unsafe {
        ok(mlcp_ali3p_create(&m, null(), &mut s));
        ok(mlcp_ali3p_set_contact_solver(s, null()));
        ok(mlcp_ali3p_set_state(s, 0.0, [0.001, 0.0].as_ptr(), 2, [-1.0, 0.0].as_ptr(), 2));
        for (kind, status) in [(4, InvalidState), (5, InvalidValue)] {
            (*mood).kind = kind;
            assert_eq!(mlcp_ali3p_step(s, 1.0, null_mut()), status);
        }
        (*mood).kind = 0;
        let (mut t, mut q, mut v, mut impulses) = (0.0, [0.0; 2], [0.0; 2], [0.0; 3]);
        ok(mlcp_ali3p_get_state(s, &mut t, q.as_mut_ptr(), 2, v.as_mut_ptr(), 2, null_mut(), 0, null_mut(), 0));
        assert_eq!((t, q, v), (0.0, [0.001, 0.0], [-1.0, 0.0]));
        let mut report: mlcp_ali3p_report = std::mem::zeroed();
        ok(mlcp_ali3p_report_init(&mut report, size_of::<mlcp_ali3p_report>()));
        let mut most = 0.0f64;
        while t < 0.01 {
            ok(mlcp_ali3p_step(s, 0.01, &mut report));
            ok(mlcp_ali3p_get_state(s, &mut t, q.as_mut_ptr(), 2, v.as_mut_ptr(), 2, null_mut(), 0, null_mut(), 0));
            ok(mlcp_ali3p_get_contact_impulses(s, impulses.as_mut_ptr(), 3));
            most = most.max(impulses[0]);
        }
        assert!(q[0].abs() < 1e-3 && v[0].abs() < 1e-2 && (most - 1.0).abs() < 1e-2, "{q:?} {v:?} {most}");
        mlcp_ali3p_destroy(s);
        drop(Box::from_raw(mood));
    }
}

fn model(user: *mut Mood) -> mlcp_ali3p_model {
    const START: [i32; 3] = [0, 1, 2];
    const COLUMNS: [i32; 2] = [0, 1];
    const MASS: [f64; 2] = [1.0, 2.0];
    unsafe {
        let mut model: mlcp_ali3p_model = std::mem::zeroed();
        ok(mlcp_ali3p_model_init(&mut model, size_of::<mlcp_ali3p_model>()));
        model.coordinates = 2;
        model.user_data = user as *mut c_void;
        model.mass = mlcp_model_matrix {
            row_start: START.as_ptr(),
            row_start_len: 3,
            columns: COLUMNS.as_ptr(),
            columns_len: 2,
            values: MASS.as_ptr(),
            values_len: 2,
            evaluate: None,
        };
        model.forces.evaluate = Some(spring);
        model
    }
}

fn step_settings() -> mlcp_ali3p_settings {
    unsafe {
        let mut settings: mlcp_ali3p_settings = std::mem::zeroed();
        ok(mlcp_ali3p_settings_init(&mut settings, size_of::<mlcp_ali3p_settings>()));
        settings
    }
}

/// Create a stepper from a spoiled model.
fn create(spoil: impl FnOnce(&mut mlcp_ali3p_model)) -> Status {
    let mut m = model(null_mut());
    spoil(&mut m);
    let mut stepper = null_mut();
    let status = unsafe { mlcp_ali3p_create(&m, null(), &mut stepper) };
    assert!(stepper.is_null() || status == Ok);
    status
}

fn create_with(spoil: impl FnOnce(&mut mlcp_ali3p_settings)) -> Status {
    let (m, mut s, mut stepper) = (model(null_mut()), step_settings(), null_mut());
    spoil(&mut s);
    unsafe { mlcp_ali3p_create(&m, &s, &mut stepper) }
}

/// A call on a stepper that has a state, with its functions in a mood; afterwards the state is what it was.
fn with_stepper(kind: i32, call: impl FnOnce(*mut mlcp_ali3p) -> Status) -> Status {
    // Behind a pointer, as the functions of the model see it.
    let mood = Box::into_raw(Box::new(Mood { kind: 0, stepper: null_mut(), inner: Ok }));
    let (m, mut s) = (model(mood), null_mut());
    unsafe {
        ok(mlcp_ali3p_create(&m, null(), &mut s));
        (*mood).stepper = s;
        ok(mlcp_ali3p_set_state(s, 0.5, [1.0, 0.0].as_ptr(), 2, [0.0, 1.0].as_ptr(), 2));
        (*mood).kind = kind;
        let status = call(s);
        let (mut t, mut q) = (0.0, [0.0; 2]);
        ok(mlcp_ali3p_get_state(s, &mut t, q.as_mut_ptr(), 2, null_mut(), 0, null_mut(), 0, null_mut(), 0));
        assert_eq!((t, q), (0.5, [1.0, 0.0]));
        mlcp_ali3p_destroy(s);
        drop(Box::from_raw(mood));
        status
    }
}

pub fn rows() -> Vec<Row> {
    [diagnosis(), projection(), stepper()].concat()
}

#[rustfmt::skip] // One row, one line.
fn diagnosis() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_findings_init", NullArgument, &["findings is NULL"], |_| unsafe { mlcp_findings_init(null_mut(), size_of::<mlcp_findings>()) }),
        ("mlcp_findings_init", InvalidSize, &["struct_size is 8"], |_| unsafe { mlcp_findings_init(&mut std::mem::zeroed(), 8) }),
        ("mlcp_diagnosis_create", NullArgument, &["out_diagnosis is NULL"], |_| unsafe { mlcp_diagnosis_create(null_mut()) }),
        ("mlcp_problem_diagnose", NullArgument, &["problem is NULL"], |f| with_diagnosis(f, |_, d| unsafe { mlcp_problem_diagnose(null(), null(), 0, 0.0, d, null_mut()) })),
        ("mlcp_problem_diagnose", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_problem_diagnose(f.p, null(), 0, 0.0, null_mut(), null_mut()) }),
        ("mlcp_problem_diagnose", NullArgument, &["x is NULL"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, null(), 3, 0.0, d, null_mut()) })),
        ("mlcp_problem_diagnose", InvalidSize, &["x has length 2", "3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, B.as_ptr(), 2, 0.0, d, null_mut()) })),
        ("mlcp_problem_diagnose", InvalidValue, &["x[1] is NaN"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, [0.0, NAN, 0.0].as_ptr(), 3, 0.0, d, null_mut()) })),
        ("mlcp_problem_diagnose", InvalidValue, &["tolerance is -1"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, null(), 0, -1.0, d, null_mut()) })),
        ("mlcp_problem_diagnose", InvalidValue, &["tolerance is NaN"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, null(), 0, NAN, d, null_mut()) })),
        ("mlcp_problem_diagnose", InvalidSize, &["out_findings.struct_size is 0"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_problem_diagnose(f.p, null(), 0, 0.0, d, &mut std::mem::zeroed()) })),
        ("mlcp_diagnosis_get_roles", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_diagnosis_get_roles(null(), f.out.rows.as_mut_ptr(), 3) }),
        ("mlcp_diagnosis_get_roles", NullArgument, &["out_roles is NULL"], |f| with_diagnosis(f, |_, d| unsafe { mlcp_diagnosis_get_roles(d, null_mut(), 3) })),
        ("mlcp_diagnosis_get_roles", InvalidSize, &["out_roles has length 2", "3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_roles(d, f.out.rows.as_mut_ptr(), 2) })),
        ("mlcp_diagnosis_get_dependency", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_diagnosis_get_dependency(null_mut(), 0, null_mut(), 0, null_mut(), 0, &mut f.out.count) }),
        ("mlcp_diagnosis_get_dependency", NullArgument, &["out_count is NULL"], |f| with_diagnosis(f, |_, d| unsafe { mlcp_diagnosis_get_dependency(d, 0, null_mut(), 0, null_mut(), 0, null_mut()) })),
        ("mlcp_diagnosis_get_dependency", NullArgument, &["out_rows is NULL"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_dependency(d, 0, null_mut(), 2, f.out.x.as_mut_ptr(), 2, &mut f.out.count) })),
        ("mlcp_diagnosis_get_dependency", InvalidSize, &["out_coefficients has length 1", "2"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_dependency(d, 0, f.out.rows.as_mut_ptr(), 2, f.out.x.as_mut_ptr(), 1, &mut f.out.count) })),
        ("mlcp_diagnosis_get_dependency", InvalidIndex, &["row is 3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_dependency(d, 3, null_mut(), 0, null_mut(), 0, &mut f.out.count) })),
        ("mlcp_diagnosis_get_conflict", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_diagnosis_get_conflict(null(), f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_diagnosis_get_conflict", NullArgument, &["out_conflict is NULL"], |f| with_diagnosis(f, |_, d| unsafe { mlcp_diagnosis_get_conflict(d, null_mut(), 3) })),
        ("mlcp_diagnosis_get_conflict", InvalidSize, &["out_conflict has length 4", "3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_conflict(d, f.out.x.as_mut_ptr(), 4) })),
        ("mlcp_diagnosis_get_compliance", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_diagnosis_get_compliance(null(), 1e-6, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_diagnosis_get_compliance", InvalidSize, &["out_compliance has length 4", "3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_compliance(d, 1e-6, f.out.x.as_mut_ptr(), 4) })),
        ("mlcp_diagnosis_get_compliance", InvalidValue, &["relative is 0"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_get_compliance(d, 0.0, f.out.x.as_mut_ptr(), 3) })),
        ("mlcp_diagnosis_spread_impulses", NullArgument, &["diagnosis is NULL"], |f| unsafe { mlcp_diagnosis_spread_impulses(null_mut(), B.as_ptr(), 3, f.out.x.as_mut_ptr(), 3) }),
        ("mlcp_diagnosis_spread_impulses", NullArgument, &["x is NULL"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_spread_impulses(d, null(), 3, f.out.x.as_mut_ptr(), 3) })),
        ("mlcp_diagnosis_spread_impulses", InvalidSize, &["out_x has length 2", "3"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_spread_impulses(d, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 2) })),
        ("mlcp_diagnosis_spread_impulses", InvalidValue, &["x[2] is inf"], |f| with_diagnosis(f, |f, d| unsafe { mlcp_diagnosis_spread_impulses(d, [0.0, 0.0, INF].as_ptr(), 3, f.out.x.as_mut_ptr(), 3) })),
        ("mlcp_spring_compliance", NullArgument, &["out_compliance is NULL"], |f| unsafe { mlcp_spring_compliance(1.0, 0.0, 0.1, null_mut(), &mut f.out.total) }),
        ("mlcp_spring_compliance", NullArgument, &["out_share is NULL"], |f| unsafe { mlcp_spring_compliance(1.0, 0.0, 0.1, &mut f.out.total, null_mut()) }),
        ("mlcp_spring_compliance", InvalidValue, &["h is 0"], |f| unsafe { mlcp_spring_compliance(1.0, 0.0, 0.0, &mut f.out.x[0], &mut f.out.total) }),
        ("mlcp_spring_compliance", InvalidValue, &["stiffness is NaN"], |f| unsafe { mlcp_spring_compliance(NAN, 0.0, 0.1, &mut f.out.x[0], &mut f.out.total) }),
        ("mlcp_spring_compliance", InvalidValue, &["damping is -1"], |f| unsafe { mlcp_spring_compliance(1.0, -1.0, 0.1, &mut f.out.x[0], &mut f.out.total) }),
        ("mlcp_spring_compliance", InvalidValue, &["stiffness is 0"], |f| unsafe { mlcp_spring_compliance(0.0, 0.0, 0.1, &mut f.out.x[0], &mut f.out.total) }),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn projection() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_projection_create", NullArgument, &["out_projection is NULL"], |_| unsafe { mlcp_projection_create(0.0, null_mut()) }),
        ("mlcp_projection_create", InvalidValue, &["tolerance is 1"], |_| unsafe { mlcp_projection_create(1.0, &mut null_mut()) }),
        ("mlcp_projection_create", InvalidValue, &["tolerance is NaN"], |_| unsafe { mlcp_projection_create(NAN, &mut null_mut()) }),
        ("mlcp_projection_correct_positions", NullArgument, &["projection is NULL"], |f| unsafe { mlcp_projection_correct_positions(null_mut(), f.j, B.as_ptr(), 2, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_projection_correct_positions", NullArgument, &["problem is NULL"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, null(), B.as_ptr(), 2, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_positions", NullArgument, &["violation is NULL"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.j, null(), 2, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_positions", NullArgument, &["out_change is NULL"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.j, B.as_ptr(), 2, null_mut(), 12) })),
        ("mlcp_projection_correct_positions", InvalidState, &["Jacobian"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.p, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_positions", InvalidSize, &["violation has length 3", "2"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.j, B.as_ptr(), 3, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_positions", InvalidSize, &["out_change has length 11", "12"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.j, B.as_ptr(), 2, f.out.x.as_mut_ptr(), 11) })),
        ("mlcp_projection_correct_positions", InvalidValue, &["violation[1] is NaN"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_positions(p, f.j, [0.0, NAN].as_ptr(), 2, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_velocities", NullArgument, &["projection is NULL"], |f| unsafe { mlcp_projection_correct_velocities(null_mut(), f.j, VELOCITY.as_ptr(), 12, null(), 0, f.out.x.as_mut_ptr(), 12) }),
        ("mlcp_projection_correct_velocities", NullArgument, &["target is NULL"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_velocities(p, f.j, VELOCITY.as_ptr(), 12, null(), 2, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_velocities", InvalidSize, &["velocities has length 6", "12"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_velocities(p, f.j, VELOCITY.as_ptr(), 6, null(), 0, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_velocities", InvalidSize, &["target has length 1", "2"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_velocities(p, f.j, VELOCITY.as_ptr(), 12, B.as_ptr(), 1, f.out.x.as_mut_ptr(), 12) })),
        ("mlcp_projection_correct_velocities", InvalidValue, &["velocities[0] is NaN"], |f| with_projection(f, |f, p| unsafe { mlcp_projection_correct_velocities(p, f.j, [NAN; 12].as_ptr(), 12, null(), 0, f.out.x.as_mut_ptr(), 12) })),
    ];
    rows
}

#[rustfmt::skip] // One row, one line.
fn stepper() -> Vec<Row> {
    let rows: Vec<Row> = vec![
        ("mlcp_ali3p_model_init", NullArgument, &["model is NULL"], |_| unsafe { mlcp_ali3p_model_init(null_mut(), size_of::<mlcp_ali3p_model>()) }),
        ("mlcp_ali3p_model_init", InvalidSize, &["struct_size is 8"], |_| unsafe { mlcp_ali3p_model_init(&mut std::mem::zeroed(), 8) }),
        ("mlcp_ali3p_settings_init", NullArgument, &["settings is NULL"], |_| unsafe { mlcp_ali3p_settings_init(null_mut(), 8) }),
        ("mlcp_ali3p_settings_init", InvalidSize, &["struct_size is 8"], |_| unsafe { mlcp_ali3p_settings_init(&mut std::mem::zeroed(), 8) }),
        ("mlcp_ali3p_report_init", NullArgument, &["report is NULL"], |_| unsafe { mlcp_ali3p_report_init(null_mut(), 8) }),
        ("mlcp_ali3p_report_init", InvalidSize, &["struct_size is 8"], |_| unsafe { mlcp_ali3p_report_init(&mut std::mem::zeroed(), 8) }),
        ("mlcp_ali3p_create", NullArgument, &["model is NULL"], |_| unsafe { mlcp_ali3p_create(null(), null(), &mut null_mut()) }),
        ("mlcp_ali3p_create", NullArgument, &["out_stepper is NULL"], |_| unsafe { mlcp_ali3p_create(&model(null_mut()), null(), null_mut()) }),
        ("mlcp_ali3p_create", InvalidSize, &["model.struct_size is 0"], |_| create(|m| m.struct_size = 0)),
        ("mlcp_ali3p_create", InvalidSize, &["model.coordinates"], |_| create(|m| m.coordinates = usize::MAX)),
        ("mlcp_ali3p_create", InvalidSize, &["model.mass.row_start has length 3", "4"], |_| create(|m| m.coordinates = 3)),
        ("mlcp_ali3p_create", InvalidIndex, &["model.mass.row_start"], |_| create(|m| m.mass.columns_len = 1)),
        ("mlcp_ali3p_create", InvalidIndex, &["model.mass.columns[1] is 7"], |_| create(|m| m.mass.columns = [0, 7].as_ptr())),
        ("mlcp_ali3p_create", InvalidSize, &["model.mass.values has length 1", "2"], |_| create(|m| m.mass.values_len = 1)),
        ("mlcp_ali3p_create", InvalidValue, &["model.mass.values[0] is NaN"], |_| create(|m| m.mass.values = [NAN, 1.0].as_ptr())),
        ("mlcp_ali3p_create", InvalidState, &["model.mass has both"], |_| create(|m| m.mass.evaluate = Some(spring))),
        ("mlcp_ali3p_create", NullArgument, &["model.mass is NULL"], |_| create(|m| m.mass.columns = null())),
        ("mlcp_ali3p_create", InvalidSize, &["model.jacobian.row_start has length 3", "2"], |_| create(|m| { m.constraints = 1; m.jacobian = m.mass; })),
        ("mlcp_ali3p_create", InvalidSize, &["model.constraint.values has length 2", "0"], |_| create(|m| { m.constraint.values = B.as_ptr(); m.constraint.values_len = 2; })),
        ("mlcp_ali3p_create", InvalidSize, &["settings.struct_size is 0"], |_| create_with(|s| s.struct_size = 0)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.h is 0"], |_| create_with(|s| s.h = 0.0)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.h is -1"], |_| create_with(|s| s.h = -1.0)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.variable_step is 2"], |_| create_with(|s| s.variable_step = 2)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.error is 9"], |_| create_with(|s| s.error = 9)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.max_iterations is -1"], |_| create_with(|s| s.max_iterations = -1)),
        ("mlcp_ali3p_create", InvalidValue, &["settings.spectral_radius is 2"], |_| create_with(|s| s.spectral_radius = 2.0)),
        ("mlcp_ali3p_set_settings", NullArgument, &["stepper is NULL"], |_| unsafe { mlcp_ali3p_set_settings(null_mut(), &step_settings()) }),
        ("mlcp_ali3p_set_settings", NullArgument, &["settings is NULL"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_settings(s, null()) })),
        ("mlcp_ali3p_set_settings", InvalidValue, &["settings.tolerance is NaN"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_settings(s, &mlcp_ali3p_settings { tolerance: NAN, ..step_settings() }) })),
        ("mlcp_ali3p_set_penalties", NullArgument, &["stepper is NULL"], |_| unsafe { mlcp_ali3p_set_penalties(null_mut(), null(), 0) }),
        ("mlcp_ali3p_set_penalties", InvalidSize, &["penalties has length 3", "0"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_penalties(s, B.as_ptr(), 3) })),
        ("mlcp_ali3p_create", InvalidState, &["model.contacts is 1"], |_| create(|m| m.contacts = 1)),
        ("mlcp_ali3p_create", InvalidState, &["model.contacts is 0"], |_| create(|m| m.evaluate_contacts = Some(floor))),
        ("mlcp_ali3p_create", InvalidSize, &["model.contacts is 18446744073709551615"], |_| create(|m| { m.contacts = usize::MAX; m.evaluate_contacts = Some(floor); })),
        ("mlcp_ali3p_set_contact_solver", NullArgument, &["stepper is NULL"], |_| unsafe { mlcp_ali3p_set_contact_solver(null_mut(), null()) }),
        ("mlcp_ali3p_set_contact_solver", InvalidState, &["no contacts"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_contact_solver(s, null()) })),
        ("mlcp_ali3p_set_contact_solver", InvalidSize, &["settings.struct_size is 0"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_contact_solver(s, &std::mem::zeroed()) })),
        ("mlcp_ali3p_get_contact_impulses", NullArgument, &["stepper is NULL"], |f| unsafe { mlcp_ali3p_get_contact_impulses(null(), f.out.x.as_mut_ptr(), 0) }),
        ("mlcp_ali3p_get_contact_impulses", InvalidSize, &["out_impulses has length 3", "0"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_get_contact_impulses(s, out.x.as_mut_ptr(), 3) }) }),
        ("mlcp_ali3p_set_state", NullArgument, &["stepper is NULL"], |_| unsafe { mlcp_ali3p_set_state(null_mut(), 0.0, B.as_ptr(), 2, B.as_ptr(), 2) }),
        ("mlcp_ali3p_set_state", NullArgument, &["q is NULL"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_state(s, 0.0, null(), 2, B.as_ptr(), 2) })),
        ("mlcp_ali3p_set_state", InvalidSize, &["v has length 3", "2"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_state(s, 0.0, B.as_ptr(), 2, B.as_ptr(), 3) })),
        ("mlcp_ali3p_set_state", InvalidValue, &["q[0] is NaN"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_set_state(s, 0.0, [NAN; 2].as_ptr(), 2, B.as_ptr(), 2) })),
        ("mlcp_ali3p_set_state", InvalidValue, &["forces[1] is NaN"], |_| with_stepper(2, |s| unsafe { mlcp_ali3p_set_state(s, 0.0, B.as_ptr(), 2, B.as_ptr(), 2) })),
        ("mlcp_ali3p_set_state", InvalidState, &["model.forces gave up with 1"], |_| with_stepper(1, |s| unsafe { mlcp_ali3p_set_state(s, 0.0, B.as_ptr(), 2, B.as_ptr(), 2) })),
        ("mlcp_ali3p_step", NullArgument, &["stepper is NULL"], |_| unsafe { mlcp_ali3p_step(null_mut(), 1.0, null_mut()) }),
        ("mlcp_ali3p_step", InvalidValue, &["t_end is 0.5"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_step(s, 0.5, null_mut()) })),
        ("mlcp_ali3p_step", InvalidValue, &["t_end is NaN"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_step(s, NAN, null_mut()) })),
        ("mlcp_ali3p_step", InvalidSize, &["out_report.struct_size is 0"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_step(s, 1.0, &mut std::mem::zeroed()) })),
        ("mlcp_ali3p_step", InvalidValue, &["forces[1] is NaN"], |_| with_stepper(2, |s| unsafe { mlcp_ali3p_step(s, 1.0, null_mut()) })),
        ("mlcp_ali3p_step", InvalidState, &["model.forces gave up with 1"], |_| with_stepper(1, |s| unsafe { mlcp_ali3p_step(s, 1.0, null_mut()) })),
        ("mlcp_ali3p_get_state", NullArgument, &["stepper is NULL"], |f| unsafe { mlcp_ali3p_get_state(null(), &mut f.out.total, null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), 0) }),
        ("mlcp_ali3p_get_state", NullArgument, &["out_t is NULL"], |_| with_stepper(0, |s| unsafe { mlcp_ali3p_get_state(s, null_mut(), null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), 0) })),
        ("mlcp_ali3p_get_state", InvalidSize, &["out_a has length 1", "2"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_get_state(s, &mut out.total, out.x.as_mut_ptr(), 2, null_mut(), 0, out.y.as_mut_ptr(), 1, null_mut(), 0) }) }),
        ("mlcp_ali3p_project", NullArgument, &["stepper is NULL"], |f| unsafe { mlcp_ali3p_project(null_mut(), 0.0, 1e-9, f.out.x.as_mut_ptr(), 2, f.out.y.as_mut_ptr(), 2, &mut f.out.total) }),
        ("mlcp_ali3p_project", NullArgument, &["out_violation is NULL"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_project(s, 0.0, 1e-9, out.x.as_mut_ptr(), 2, out.y.as_mut_ptr(), 2, null_mut()) }) }),
        ("mlcp_ali3p_project", InvalidSize, &["q has length 3", "2"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_project(s, 0.0, 1e-9, out.x.as_mut_ptr(), 3, out.y.as_mut_ptr(), 2, &mut out.total) }) }),
        ("mlcp_ali3p_project", InvalidValue, &["tolerance is 0"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_project(s, 0.0, 0.0, out.x.as_mut_ptr(), 2, out.y.as_mut_ptr(), 2, &mut out.total) }) }),
        ("mlcp_ali3p_project", InvalidValue, &["v overlaps q"], |f| { let out = &mut f.out; with_stepper(0, |s| unsafe { mlcp_ali3p_project(s, 0.0, 1e-9, out.x.as_mut_ptr(), 2, out.x.as_mut_ptr(), 2, &mut out.total) }) }),
    ];
    rows
}

/// A coordinate with neither mass nor a constraint: no acceleration can be found, and there is still no state.
#[test]
fn singular_masses_are_refused() {
    let mood = Box::into_raw(Box::new(Mood { kind: 0, stepper: null_mut(), inner: Ok }));
    let (mut m, mut s) = (model(mood), null_mut());
    let mass = [1.0, 0.0];
    m.mass.values = mass.as_ptr();
    unsafe {
        ok(mlcp_ali3p_create(&m, null(), &mut s));
        assert_eq!(mlcp_ali3p_set_state(s, 0.0, B.as_ptr(), 2, B.as_ptr(), 2), Singular);
        let sentence = std::ffi::CStr::from_ptr(mlcp_last_error()).to_str().unwrap();
        assert!(sentence.contains("singular") && sentence.contains("neither mass nor a constraint"), "{sentence}");
        assert_eq!(mlcp_ali3p_step(s, 1.0, null_mut()), InvalidState);
        mlcp_ali3p_destroy(s);
        drop(Box::from_raw(mood));
    }
}

/// A step asked for from inside a step is BUSY, and so is destruction; the step goes on.
#[test]
fn steppers_know_they_are_stepping() {
    // Behind a pointer, as the functions of the model see it.
    let mood = Box::into_raw(Box::new(Mood { kind: 0, stepper: null_mut(), inner: Ok }));
    let (m, mut s) = (model(mood), null_mut());
    unsafe {
        ok(mlcp_ali3p_create(&m, null(), &mut s));
        (*mood).stepper = s;
        ok(mlcp_ali3p_set_state(s, 0.0, [1.0, 0.0].as_ptr(), 2, [0.0, 1.0].as_ptr(), 2));
        (*mood).kind = 3;
        ok(mlcp_ali3p_step(s, 1.0, null_mut()));
        assert_eq!((*mood).inner, Busy);
        (*mood).kind = 0;
        // Two oscillators, of frequencies 1 and 1/sqrt 2, for a second.
        let mut t = 0.0;
        while t < 1.0 {
            ok(mlcp_ali3p_step(s, 1.0, null_mut()));
            ok(mlcp_ali3p_get_state(s, &mut t, null_mut(), 0, null_mut(), 0, null_mut(), 0, null_mut(), 0));
        }
        let mut q = [0.0; 2];
        ok(mlcp_ali3p_get_state(s, &mut t, q.as_mut_ptr(), 2, null_mut(), 0, null_mut(), 0, null_mut(), 0));
        let slow = 0.5f64.sqrt();
        assert!((q[0] - 1f64.cos()).abs() < 1e-6 && (q[1] - slow.sin() / slow).abs() < 1e-6, "{q:?}");
        mlcp_ali3p_destroy(s);
        drop(Box::from_raw(mood));
        mlcp_ali3p_destroy(null_mut());
        mlcp_projection_destroy(null_mut());
        mlcp_diagnosis_destroy(null_mut());
    }
}
