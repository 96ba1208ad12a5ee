//! Frames: refilled, formulated, understood and recorded, step after step, without taking memory.

use super::common::frames::random_frame;
use super::common::Random;
use super::counting::count;
use mlcp::dataset::{Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::{Formulation, Formulator, Frame, Response};
use mlcp::Problem;

#[test]
fn frames_allocate_nothing_once_they_have_grown() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("allocations.h5");
    let options = RecorderOptions { queue: 3, when_full: WhenFull::Wait, ..RecorderOptions::default() };
    let mut random = Random::new(17);
    // The largest first; the others only differ.
    let frames: Vec<Frame> = [(9, 4, 12), (9, 4, 12), (5, 0, 3), (9, 2, 12), (1, 0, 0), (8, 4, 11)]
        .into_iter()
        .map(|(b, j, c)| random_frame(&mut random, b, j, c))
        .collect();
    for name in ["box", "cone", "mixed", "polyhedral:6", "mixed:cone"] {
        let formulation: Formulation = name.parse().unwrap();
        let recorder = Recorder::create(&path, &options).unwrap();
        let (mut frame, mut formulator) = (Frame::new(), Formulator::new());
        let (mut problem, mut response) = (Problem::new(), Response::default());
        let zs: Vec<Vec<f64>> = frames.iter().map(|f| vec![0.1; formulation.rows(f)]).collect();
        let mut step = |k: usize| {
            let (from, z) = (&frames[k], &zs[k]);
            frame.set_step(from.step(), from.time()).unwrap();
            frame.set_bodies(&from.bodies()).unwrap();
            frame.set_constraints(&from.constraints()).unwrap();
            frame.set_contacts(&from.contacts()).unwrap();
            formulator.fill(&frame, formulation, &mut problem).unwrap();
            formulator.respond(&frame, formulation, z, &mut response).unwrap();
            recorder.append_frame(&frame, Some((formulation, z)), None).unwrap();
        };
        // Every slot of the queue, and both problems that take turns, have seen every frame.
        for k in 0..frames.len() {
            (0..6).for_each(|_| step(k));
        }
        for round in 0..4 {
            for k in 0..frames.len() {
                count(|| step(k)).0.assert_none(&format!("{name}, round {round}, frame {k}"));
            }
        }
    }
}
