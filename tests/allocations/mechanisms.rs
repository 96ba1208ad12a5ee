//! Projection and ALI3-P: after the first few steps they take no memory.

use super::counting::count;
use mlcp::mechanism::ali3p::{ContactRows, Model, Pattern, StepSettings, Stepper, Structure};
use mlcp::mechanism::Projection;
use mlcp::{Problem, Result};
use mlcp_scenes::rigid::four_bar;

#[test]
fn projections_allocate_nothing() {
    let (mechanism, rows) = (four_bar(), four_bar().rows());
    let mut problem = Problem::new();
    problem.set_jacobian(&mechanism.inverse_mass(), &rows.jacobian, &rows.bodies, None).unwrap();
    let (mut projection, mut change) = (Projection::new(), vec![0.0; 18]);
    let mut both = || {
        projection.correct(&problem, &rows.violation, &mut change).unwrap();
        projection.velocity_change(&problem, &[1.0; 18], None, &mut change).unwrap();
    };
    both();
    count(both).0.assert_none("projection");
}

/// A double pendulum on hinged bars.
struct Pendulum;

impl Model for Pendulum {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(1.0);
        Ok(())
    }
    fn forces(&mut self, _: f64, _: &[f64], _: &[f64], out: &mut [f64]) -> Result<()> {
        (out[1], out[3]) = (-9.81, -9.81);
        Ok(())
    }
    fn constraints(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = q[0] * q[0] + q[1] * q[1] - 1.0;
        out[1] = (q[2] - q[0]).powi(2) + (q[3] - q[1]).powi(2) - 1.0;
        Ok(())
    }
    fn jacobian(&mut self, _: f64, q: &[f64], out: &mut [f64]) -> Result<()> {
        let (x, y) = (2.0 * (q[2] - q[0]), 2.0 * (q[3] - q[1]));
        out.copy_from_slice(&[2.0 * q[0], 2.0 * q[1], 0.0, 0.0, -x, -y, x, y]);
        Ok(())
    }
    fn constraint_acceleration(&mut self, _: f64, _: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        out[0] = 2.0 * (v[0] * v[0] + v[1] * v[1]);
        out[1] = 2.0 * ((v[2] - v[0]).powi(2) + (v[3] - v[1]).powi(2));
        Ok(())
    }
}

#[test]
fn steps_of_ali3p_allocate_nothing() {
    let structure = Structure {
        coordinates: 4,
        constraints: 2,
        contacts: 0,
        mass: Pattern::diagonal(4),
        stiffness: Pattern::empty(4),
        damping: Pattern::empty(4),
        jacobian: Pattern::full(2, 4),
    };
    let settings = StepSettings { variable_step: true, h_max: 1e-2, ..StepSettings::default() };
    let mut stepper = Stepper::new(structure, settings).unwrap();
    stepper.set_state(&mut Pendulum, 0.0, &[1.0, 0.0, 2.0, 0.0], &[0.0; 4]).unwrap();
    let mut steps = |n: usize| {
        for _ in 0..n {
            stepper.step(&mut Pendulum, f64::INFINITY).unwrap();
        }
    };
    steps(20);
    count(|| steps(200)).0.assert_none("200 steps");
}

/// A point on the floor, pushed along it.
struct Puck;

impl Model for Puck {
    fn mass(&mut self, _: f64, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(1.0);
        Ok(())
    }
    fn forces(&mut self, t: f64, _: &[f64], _: &[f64], out: &mut [f64]) -> Result<()> {
        (out[0], out[2]) = (6.0 * (10.0 * t).sin(), -9.81);
        Ok(())
    }
    fn constraints(&mut self, _: f64, _: &[f64], _: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn jacobian(&mut self, _: f64, _: &[f64], _: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn constraint_acceleration(&mut self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<()> {
        Ok(())
    }
    fn contacts(&mut self, _: f64, q: &[f64], out: &mut ContactRows) -> Result<()> {
        out.gap[0] = q[2];
        out.normal[2] = 1.0;
        (out.tangent[0], out.tangent[4]) = (1.0, 1.0);
        out.friction[0] = 0.5;
        Ok(())
    }
}

#[test]
fn steps_with_contacts_allocate_nothing() {
    let structure = Structure {
        coordinates: 3,
        constraints: 0,
        contacts: 1,
        mass: Pattern::diagonal(3),
        stiffness: Pattern::empty(3),
        damping: Pattern::empty(3),
        jacobian: Pattern::empty(0),
    };
    let mut stepper = Stepper::new(structure, StepSettings { h: 1e-2, ..StepSettings::default() }).unwrap();
    stepper.set_state(&mut Puck, 0.0, &[0.0; 3], &[0.0; 3]).unwrap();
    let mut steps = |n: usize| {
        for _ in 0..n {
            stepper.step(&mut Puck, f64::INFINITY).unwrap();
        }
    };
    steps(100);
    count(|| steps(200)).0.assert_none("200 steps with a contact");
}
