//! The scenes of `mlcp-lab paper budget`, each stepped by any solver, and how far off it is in the end.

use super::spheres;
use crate::scenes::brick_wall::BrickWall;
use crate::scenes::driving::Forklift;
use crate::scenes::pile::Stepper;
use mlcp::dataset::Recorded;
use mlcp::{Problem, Report, Settings};
use mlcp_scenes::rigid::Vector;

/// A run of a scene.
pub struct Run {
    /// How its solves went.
    pub reports: Vec<Report>,
    /// The worst brick's drift or the deepest penetration, m.
    pub worst: f64,
    /// Where the chassis was after each step.
    pub path: Vec<Vector>,
}

/// Is shown each step's problem and solution.
type Watch<'a> = &'a mut dyn FnMut(&Problem, &[f64]);

/// A scene.
pub struct Scene {
    /// In the figures.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Number of them.
    pub steps: usize,
    /// How the figure calls what is off.
    pub off_title: &'static str,
    /// Settings, warm starts, steps.
    pub run: fn(Settings, bool, usize, Watch<'_>) -> mlcp::Result<Run>,
    /// How far off a run is, beside the reference's, m.
    pub off: fn(&Run, &Run) -> f64,
}

/// A run without limits, and some of its steps.
pub struct Kept {
    /// The run.
    pub reference: Run,
    /// Problems, each with the impulses of the step before.
    pub problems: Vec<(Problem, Vec<f64>)>,
}

/// All of them; the wall first.
pub const SCENES: [Scene; 3] = [
    Scene {
        name: "brick wall",
        about: "the brick wall with coupled friction, h = 1/60 s",
        steps: 180,
        off_title: "drift of the worst brick [m]",
        run: wall,
        off: |run, _| run.worst,
    },
    Scene {
        name: "balls in a box",
        about: "40 balls that fall into the box, h = 10 ms",
        steps: 150,
        off_title: "deepest penetration [m]",
        run: balls,
        off: |run, _| run.worst,
    },
    Scene {
        name: "forklift",
        about: "the forklift, h = 1/60 s",
        steps: 240,
        off_title: "RMS deviation from the reference [m]",
        run: forklift,
        off: deviation,
    },
];

impl Scene {
    /// Step it without limits, and keep some thirty steps, the last included.
    pub fn reference(&self, steps: usize) -> mlcp::Result<Kept> {
        let every = steps.div_ceil(30);
        let (mut kept, mut before, mut step) = (Vec::new(), Vec::new(), 0);
        let mut watch = |problem: &Problem, x: &[f64]| {
            step += 1;
            if usize::is_multiple_of(steps - step, every) {
                let mut copy = Recorded::default();
                copy.capture(problem, None);
                kept.push((copy, before.clone()));
            }
            before = x.to_vec();
        };
        let reference = (self.run)(Settings::default(), false, steps, &mut watch)?;
        let mut problems = Vec::new();
        for (recorded, before) in kept {
            let mut problem = Problem::new();
            recorded.fill(&mut problem, None, recorded.friction())?;
            problems.push((problem, before));
        }
        Ok(Kept { reference, problems })
    }
}

fn wall(settings: Settings, warm: bool, steps: usize, watch: Watch<'_>) -> mlcp::Result<Run> {
    let mut wall = BrickWall::with(12, settings)?;
    wall.warm = warm;
    let mut reports = Vec::new();
    for _ in 0..steps {
        reports.push(wall.step_coupled()?);
        let (problem, x) = wall.solved();
        watch(problem, x);
    }
    Ok(Run { reports, worst: wall.drift(), path: Vec::new() })
}

fn balls(settings: Settings, warm: bool, steps: usize, watch: Watch<'_>) -> mlcp::Result<Run> {
    let (mut pile, mut stepper) = (spheres::scene(40), Stepper::with(settings)?);
    stepper.warm = warm;
    let mut run = Run { reports: Vec::new(), worst: 0.0, path: Vec::new() };
    for _ in 0..steps {
        let frame = pile.frame()?;
        run.worst = frame.contacts().gap.iter().fold(run.worst, |most, gap| most.max(-gap));
        pile.advance(&frame, &mut stepper)?;
        run.reports.extend(stepper.report());
        let (problem, x) = stepper.solved();
        watch(problem, x);
    }
    Ok(run)
}

fn forklift(settings: Settings, warm: bool, steps: usize, watch: Watch<'_>) -> mlcp::Result<Run> {
    let mut forklift = Forklift::new(settings)?;
    forklift.warm = warm;
    let mut run = Run { reports: Vec::new(), worst: 0.0, path: Vec::new() };
    for _ in 0..steps {
        run.reports.push(forklift.step()?);
        run.path.push(forklift.position());
        let (problem, x) = forklift.solved();
        watch(problem, x);
    }
    Ok(run)
}

/// Root mean square over the steps.
fn deviation(run: &Run, reference: &Run) -> f64 {
    let squares: f64 = run.path.iter().zip(&reference.path).map(|(p, q)| (p - q).norm_squared()).sum();
    (squares / run.path.len().max(1) as f64).sqrt()
}
