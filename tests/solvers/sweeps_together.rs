//! Problems larger than the caches are swept several times in one pass over memory. Nobody can tell from the results: bits,
//! records and iteration counts are those of sweeps one after the other, which is what an observer gets to see.

use crate::common::scenes::{wall, Fill, Scene};
use mlcp::{Choice, Engine, Iteration, Problem, Settings, SolverKind};

/// So many rows that sweeps are taken together.
const MANY: usize = 1 << 17;

/// The rows in another order: those within each block of so many exchange places.
fn shuffled(scene: &Scene, block: usize) -> Scene {
    let n = scene.rows();
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = 12345u64;
    for places in order.chunks_mut(block) {
        for k in (1..places.len()).rev() {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            places.swap(k, (random >> 33) as usize % (k + 1));
        }
    }
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as i32);
    let pick = |v: &[f64], each: usize| -> Vec<f64> {
        order.iter().flat_map(|&i| v[each * i..each * (i + 1)].iter().copied()).collect()
    };
    Scene {
        inverse_mass: scene.inverse_mass.clone(),
        velocities: scene.velocities.clone(),
        forces: scene.forces.clone(),
        rows: pick(&scene.rows, 12),
        bodies: order.iter().flat_map(|&i| [scene.bodies[2 * i], scene.bodies[2 * i + 1]]).collect(),
        compliance: pick(&scene.compliance, 1),
        lo: pick(&scene.lo, 1),
        hi: pick(&scene.hi, 1),
        findex: order.iter().map(|&i| usize::try_from(scene.findex[i]).map_or(-1, |f| place[f])).collect(),
        mu: pick(&scene.mu, 1),
    }
}

/// The ground as a body that nothing moves: every sweep acts on it, and no sweep waits for another because of it.
fn on_a_body(mut scene: Scene) -> Scene {
    let ground = (scene.inverse_mass.len() / 12) as i32;
    scene.inverse_mass.extend([0.0; 12]);
    scene.velocities.extend([0.0; 6]);
    scene.forces.extend([0.0; 6]);
    scene.bodies.iter_mut().filter(|b| **b < 0).for_each(|b| *b = ground);
    scene
}

/// What a solve tells, but for times.
fn solve(problem: &Problem, settings: Settings, observed: bool) -> (Vec<u64>, usize, f64, Vec<Iteration>) {
    let mut engine = Engine::new(settings).unwrap();
    let mut seen = 0;
    let mut observer = |_: &mlcp::solve::Observation<'_>| {
        seen += 1;
        false
    };
    let report = *engine.solve(problem, None, observed.then_some(&mut observer)).unwrap();
    assert_eq!(seen, if observed { report.iterations + 1 } else { 0 });
    let history = engine.history().iter().map(|&record| Iteration { seconds: 0.0, ..record }).collect();
    (engine.x().iter().map(|x| x.to_bits()).collect(), report.iterations, report.energy_error, history)
}

fn compare(name: &str, scene: &Scene, relaxation: f64) {
    assert!(scene.rows() > MANY, "{} rows", scene.rows());
    let mut problem = Problem::new();
    scene.fill(&mut problem);
    // Four are taken together: here some end with a measurement, some with the last iteration.
    let settings = Settings {
        solver: SolverKind::Pgs,
        choice: Choice::Last,
        relaxation,
        max_iterations: 11,
        check_interval: 6,
        relative_tolerance: 0.0,
        energy_tolerance: 0.0,
        ..Settings::default()
    };
    let together = solve(&problem, settings, false);
    let one_by_one = solve(&problem, settings, true);
    assert_eq!((together.1, one_by_one.1), (11, 11));
    assert!(together.0 == one_by_one.0, "{name}: other bits");
    assert_eq!(together.3, one_by_one.3, "{name}");
    assert!(together.3.iter().skip(1).all(|r| r.change > 0.0), "{name}: {:?}", together.3);
}

/// A tolerance that a sweep's change meets before the four are over: both look at the same iterate.
#[test]
fn arriving_before_the_last_of_them() {
    let mut problem = Problem::new();
    wall(80, 72, 0.0).fill(&mut problem);
    let settings = Settings { solver: SolverKind::Pgs, choice: Choice::Last, ..Settings::default() };
    let changes = solve(&problem, Settings { max_iterations: 8, ..settings }, false).3;
    let settings = Settings { energy_tolerance: changes[6].change, max_iterations: 40, ..settings };
    let (together, one_by_one) = (solve(&problem, settings, false), solve(&problem, settings, true));
    assert!(together.3[8].measured && (1..8).all(|k| !together.3[k].measured), "{:?}", together.3);
    assert!(together == one_by_one, "{} and {} iterations", together.1, one_by_one.1);
}

#[test]
fn as_a_wall_is_built() {
    compare("wall", &wall(80, 72, 1e-7), 1.0);
}

#[test]
fn on_a_ground_that_is_a_body() {
    compare("ground", &on_a_body(wall(72, 80, 0.0)), 1.3);
}

/// Friction rows before their normals, bodies met far apart.
#[test]
fn rows_mixed_with_their_neighbours() {
    compare("mixed", &shuffled(&wall(80, 72, 0.0), 3000), 1.0);
}

#[test]
fn rows_in_any_order() {
    compare("any", &shuffled(&wall(80, 72, 0.0), usize::MAX), 1.0);
}

/// With a time limit no more sweeps are taken together than fit: the last iterate is measured, and records are complete.
#[test]
fn within_a_time_limit() {
    let mut problem = Problem::new();
    wall(80, 72, 0.0).fill(&mut problem);
    let settings = Settings {
        solver: SolverKind::Pgs,
        time_limit: 0.2,
        relative_tolerance: 0.0,
        energy_tolerance: 0.0,
        max_iterations: 1_000_000,
        history_capacity: 1_000_000,
        ..Settings::default()
    };
    let mut engine = Engine::new(settings).unwrap();
    let report = *engine.solve(&problem, None, None).unwrap();
    assert_eq!(report.outcome, mlcp::Outcome::TimeLimit);
    let records: Vec<usize> = engine.history().iter().map(|r| r.iteration).collect();
    assert_eq!(records, (0..=report.iterations).collect::<Vec<_>>());
    assert!(engine.history().last().is_some_and(|r| r.measured));
    println!("{} sweeps in {:.3} s, limit {} s", report.iterations, report.seconds, settings.time_limit);
}
