//! Bricard's mechanism swings as it should once its redundancy is cured, and locks if it is not (González et al.,
//! Fig. 2). The period is known from the energy alone, over the one freedom the mechanism has.

#[path = "../../lab/src/paper/bricard_motion.rs"]
#[allow(dead_code)]
mod bricard_motion;
use bricard_motion::{Cure, Run, Sample};
use nalgebra::{DMatrix, DVector, Matrix3, Rotation3, Unit, Vector3};

type Vector = Vector3<f64>;

const CORNERS: [[f64; 3]; 6] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]];
const AXES: [[f64; 3]; 6] =
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];

/// Centres and orientations of the five bars, and by how much the chain of hinges misses its end.
fn chain(angle: &[f64; 6]) -> (Vec<(Vector, Matrix3<f64>)>, DVector<f64>) {
    let (mut turn, mut at, mut bars) = (Matrix3::identity(), Vector::zeros(), Vec::new());
    for k in 0..6 {
        turn *= Rotation3::from_axis_angle(&Unit::new_normalize(Vector::from(AXES[k])), angle[k]).into_inner();
        if k < 5 {
            let bar = turn * (Vector::from(CORNERS[k + 1]) - Vector::from(CORNERS[k]));
            bars.push((at + bar / 2.0, turn));
            at += bar;
        }
    }
    let miss = at - Vector::from(CORNERS[5]);
    let skew = [turn[(2, 1)] - turn[(1, 2)], turn[(0, 2)] - turn[(2, 0)], turn[(1, 0)] - turn[(0, 1)]];
    (bars, DVector::from_iterator(6, miss.iter().copied().chain(skew)))
}

/// The other five angles that close the chain for a given first one, by Gauss and Newton from a guess nearby.
fn close(angle: &mut [f64; 6]) {
    for _ in 0..40 {
        let (_, miss) = chain(angle);
        let mut jacobian = DMatrix::zeros(6, 5);
        for k in 0..5 {
            let mut shifted = [*angle; 2];
            shifted[0][k + 1] += 1e-6;
            shifted[1][k + 1] -= 1e-6;
            jacobian.set_column(k, &((chain(&shifted[0]).1 - chain(&shifted[1]).1) / 2e-6));
        }
        let step = jacobian.svd(true, true).solve(&-miss, 1e-7).unwrap();
        (0..5).for_each(|k| angle[k + 1] += step[k]);
        if step.amax() < 1e-13 {
            break;
        }
    }
    assert!(chain(angle).1.amax() < 1e-12);
}

/// Period of the swing from rest at theta = 0 to rest at theta = -pi and back: `2 ∫ dθ / θ̇` with `½ I(θ) θ̇² = -V(θ)`.
fn period() -> f64 {
    const N: usize = 300;
    let inertia = |bar: usize| {
        let along = Vector::from(CORNERS[bar + 1]) - Vector::from(CORNERS[bar]);
        along.map(|d| if d == 0.0 { 1.0 / 12.0 + 0.0001 } else { 0.0002 })
    };
    let mut angle = [0.0; 6];
    let mut total = 0.0;
    let height = |bars: &[(Vector, Matrix3<f64>)]| bars.iter().map(|b| b.0.y).sum::<f64>();
    let top = height(&chain(&[0.0; 6]).0);
    for k in 0..N {
        let phi = std::f64::consts::PI * (k as f64 + 0.5) / N as f64;
        let theta = -0.5 * std::f64::consts::PI * (1.0 - phi.cos());
        let at = |shift: f64, angle: &mut [f64; 6]| {
            angle[0] = theta + shift;
            close(angle);
            chain(angle).0
        };
        let before = at(-1e-4, &mut angle);
        let after = at(1e-4, &mut angle);
        let here = at(0.0, &mut angle);
        let mut moment = 0.0;
        for bar in 0..5 {
            let speed = (after[bar].0 - before[bar].0) / 2e-4;
            // In the bar's own axes.
            let spin = here[bar].1.transpose() * (after[bar].1 - before[bar].1) / 2e-4;
            let spin = Vector::new(spin[(2, 1)], spin[(0, 2)], spin[(1, 0)]);
            moment += speed.norm_squared() + spin.dot(&inertia(bar).component_mul(&spin));
        }
        let rate = (2.0 * 9.81 * (top - height(&here)) / moment).sqrt();
        total += 0.5 * std::f64::consts::PI * phi.sin() / rate;
    }
    2.0 * total * std::f64::consts::PI / N as f64
}

fn run(cure: Cure) -> Vec<Sample> {
    let mut run = Run::new(cure, 1e-2).unwrap();
    (0..1000).map(|_| run.step().unwrap()).collect()
}

/// Largest |x| of each half swing, between the zeros of x, the unfinished last one left out.
fn amplitudes(samples: &[Sample]) -> Vec<f64> {
    let mut all = vec![0.0f64];
    for pair in samples.windows(2) {
        if pair[0].x * pair[1].x < 0.0 {
            all.push(0.0);
        }
        let last = all.last_mut().unwrap();
        *last = last.max(pair[1].x.abs());
    }
    all.pop();
    all
}

/// Mean time between zeros of x, doubled.
fn measured_period(samples: &[Sample]) -> f64 {
    let crossing = |pair: &[Sample]| {
        let share = pair[0].x / (pair[0].x - pair[1].x);
        (pair[0].x * pair[1].x < 0.0).then_some(pair[0].time + share * (pair[1].time - pair[0].time))
    };
    let zeros: Vec<f64> = samples.windows(2).filter_map(crossing).collect();
    2.0 * (zeros[zeros.len() - 1] - zeros[0]) / (zeros.len() - 1) as f64
}

#[test]
fn uncured_it_locks() {
    let samples = run(Cure::Plain);
    let furthest = samples.iter().map(|s| s.x).fold(1.0, f64::min);
    assert!(furthest > -0.9, "reached {furthest}");
    let largest = samples.iter().map(|s| s.violation).fold(0.0, f64::max);
    assert!((1e-5..1e-2).contains(&largest), "{largest:e}");
    // And ends up with hardly any swing left of the 29 J it began with.
    assert!(samples.last().unwrap().energy < -20.0);
}

#[test]
fn compliant_it_swings() {
    let samples = run(Cure::Compliant);
    let all = amplitudes(&samples);
    assert!(all.len() >= 8 && all.iter().all(|a| (0.99..1.01).contains(a)), "{all:?}");
    let (measured, exact) = (measured_period(&samples), period());
    println!("compliant: period {measured:.4} s, by energy {exact:.4} s");
    assert!((measured / exact - 1.0).abs() < 0.03, "{measured} {exact}");
}

/// Equations 2 and 3 as they stand, behind the semi-implicit Euler step: exact constraints, but a first-order loss.
#[test]
fn projected_it_swings_without_violation() {
    let samples = run(Cure::Projected);
    assert!(samples.iter().all(|s| s.violation <= 1e-12));
    let all = amplitudes(&samples);
    assert!(all.len() >= 8 && all[1] > 0.99 && all.iter().all(|a| *a > 0.9), "{all:?}");
    // It loses energy, and smaller swings are quicker.
    let (measured, exact) = (measured_period(&samples), period());
    println!("projected: period {measured:.4} s, by energy {exact:.4} s");
    assert!((measured / exact - 1.0).abs() < 0.08, "{measured} {exact}");
}

#[test]
fn projected_midpoint_keeps_amplitude_and_period() {
    let samples = run(Cure::Midpoint);
    assert!(samples.iter().all(|s| s.violation <= 1e-12));
    let all = amplitudes(&samples);
    assert!(all.len() >= 8 && all.iter().all(|a| (0.999..=1.0).contains(a)), "{all:?}");
    assert!(samples.iter().all(|s| s.energy.abs() < 0.5));
    let (measured, exact) = (measured_period(&samples), period());
    println!("projected, midpoint: period {measured:.4} s, by energy {exact:.4} s");
    assert!((measured / exact - 1.0).abs() < 0.01, "{measured} {exact}");
}
