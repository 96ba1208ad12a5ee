//! Recordings: what is written comes back to the bit, also after a kill, and others read it too.

use crate::common::corpus::{self, Friction};
use crate::common::frames::{random_frame, stack};
use crate::common::Random;
use mlcp::dataset::{Dataset, Recorded, Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::{Formulation, Formulator, Frame, Response};
use mlcp::{Engine, FrictionMode, Problem, Settings, Status};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder.join(name)
}

fn waiting(engine: &str) -> RecorderOptions {
    RecorderOptions { queue: 8, when_full: WhenFull::Wait, engine: engine.into(), ..RecorderOptions::default() }
}

/// A tool of hdf5-tools, where it is installed.
fn tool(name: &str, args: &[&str], file: &Path) -> Option<String> {
    let output = match Command::new(name).args(args).arg(file).output() {
        Ok(output) => output,
        Err(_) => {
            println!("{name} is not installed: not looked at");
            return None;
        }
    };
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && complained.is_empty(), "{name}: {complained}\n{said}");
    Some(said.into_owned())
}

#[test]
fn frames_come_back_bit_for_bit() {
    let path = scratch("frames.h5");
    let mut random = Random::new(5);
    let sizes = [(1, 0, 0), (3, 2, 4), (12, 5, 30), (12, 5, 0), (0, 0, 0), (40, 0, 7)];
    let mut frames: Vec<Frame> = sizes
        .iter()
        .map(|&(b, j, c)| match b {
            0 => {
                let mut f = Frame::new();
                f.set_step(0.1, 0.0).unwrap();
                f
            }
            b => random_frame(&mut random, b, j, c),
        })
        .collect();
    // The same again: every field is a link to the one before.
    frames.push(frames[5].clone());
    let recorder = Recorder::create(&path, &waiting("test")).unwrap();
    for frame in &frames {
        assert!(recorder.append_frame(frame, None, None).unwrap());
    }
    recorder.flush().unwrap();
    assert_eq!(recorder.counts().written, frames.len() as u64);
    drop(recorder);
    let file = Dataset::open(&path).unwrap();
    assert_eq!((file.frames(), file.problems()), (frames.len(), 0));
    assert_eq!(file.attribute("engine").as_deref(), Some("test"));
    for (k, frame) in frames.iter().enumerate() {
        let mut read = Frame::new();
        file.frame(k, &mut read).unwrap();
        assert_eq!(&read, frame, "frame {k}");
        assert_eq!(file.frame_solution(k).unwrap(), None);
    }
    let mut untouched = frames[0].clone();
    assert_eq!(file.frame(99, &mut untouched).unwrap_err().status(), Status::InvalidIndex);
    assert_eq!(untouched, frames[0]);
    // A reader that shares no line with this library.
    if let Some(said) = tool("h5ls", &["-r"], &path) {
        assert!(said.contains("/frames/00000002/contacts/normals") && said.contains("{30, 3}"), "{said}");
    }
    if let Some(said) = tool("h5dump", &[], &path) {
        assert!(said.contains("kg m^2, body axes") && said.contains("HARDLINK"), "{said}");
    }
}

#[test]
fn solutions_come_with_their_errors() {
    let path = scratch("solutions.h5");
    let frame = stack(3.0);
    let recorder = Recorder::create(&path, &waiting("")).unwrap();
    let (mut formulator, mut problem, mut response) = (Formulator::new(), Problem::new(), Response::default());
    let names = ["box", "polyhedral:6", "mixed", "mixed:circumscribed:4"];
    let mut solutions = Vec::new();
    for name in names {
        let formulation: Formulation = name.parse().unwrap();
        formulator.fill(&frame, formulation, &mut problem).unwrap();
        let solver = match name {
            "box" => mlcp::SolverKind::InteriorPoint,
            "mixed" => mlcp::SolverKind::MinMapNewton,
            _ => mlcp::SolverKind::Lemke,
        };
        let mut engine = Engine::new(Settings { solver, ..Settings::default() }).unwrap();
        let report = *engine.solve(&problem, None, None).unwrap();
        println!("{name}: {report:?}");
        assert!(recorder.append_frame(&frame, Some((formulation, engine.x())), Some(&report)).unwrap());
        formulator.respond(&frame, formulation, engine.x(), &mut response).unwrap();
        solutions.push((formulation, engine.x().to_vec(), response.clone(), report));
    }
    let short = recorder.append_frame(&frame, Some((Formulation::BOX, &[0.0; 3])), None).unwrap_err();
    assert!(short.status() == Status::InvalidSize && short.message().contains("z has length 3"), "{short}");
    drop(recorder);
    let file = Dataset::open(&path).unwrap();
    assert_eq!(file.frames(), names.len());
    for (k, (formulation, z, response, report)) in solutions.iter().enumerate() {
        let read = file.frame_solution(k).unwrap().expect("a solution");
        assert_eq!((&read.formulation, &read.z, &read.velocities), (formulation, z, &response.velocities));
        assert_eq!((&read.states, read.iterations), (&response.states, report.iterations));
        assert_eq!((read.solver.as_str(), read.seconds), (report.solver.name(), report.seconds));
        let bits = |e: &mlcp::multibody::FrameErrors| {
            [e.total, e.normal, e.magnitude, e.direction, e.energy].map(f64::to_bits)
        };
        assert_eq!(bits(&read.errors), bits(&response.errors));
        assert!(read.errors.total < 1e-12 && read.errors.normal < 1e-12, "{formulation}: {:?}", read.errors);
    }
}

#[test]
fn problems_come_back_in_every_form() {
    let path = scratch("problems.h5");
    let recorder = Recorder::create(&path, &waiting("")).unwrap();
    let mut expected = Vec::new();
    for p in corpus::load().into_iter().filter(|p| p.n < 80) {
        for &form in p.forms() {
            for friction in [Friction::Coupled, Friction::FrozenAtReference] {
                let problem = p.fill(form, friction);
                let name = format!("{}_{form:?}_{friction:?}", p.name);
                assert!(recorder.append_problem(&name, &problem, Some(&p.x_ref), None).unwrap());
                let mut recorded = Recorded { name: name.clone(), ..Recorded::default() };
                recorded.capture(&problem, Some(&p.x_ref));
                expected.push((recorded, problem));
            }
        }
    }
    let bad = recorder.append_problem("a/b", &expected[0].1, None, None).unwrap_err();
    assert!(bad.message().contains("name"), "{bad}");
    recorder.append_problem("", &expected[0].1, None, None).unwrap();
    drop(recorder);
    let file = Dataset::open(&path).unwrap();
    assert_eq!(file.problems(), expected.len() + 1);
    let number = format!("{:08}", expected.len());
    assert_eq!(file.problem_name(0), Some(number.as_str()));
    expected.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    for (k, (recorded, problem)) in expected.iter().enumerate() {
        let read = file.problem(k + 1).unwrap();
        assert_eq!(&read, recorded);
        // And as a problem: the same numbers to the bit at any x.
        let mut again = Problem::new();
        read.fill(&mut again, None, read.friction()).unwrap();
        let n = problem.len();
        let x: Vec<f64> = read.x.iter().flatten().map(|x| 0.7 * x + 0.01).collect();
        let values = |p: &Problem| {
            let (mut w, mut lo, mut hi) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
            p.multiply(&x, &mut w, &mut Vec::new()).unwrap();
            p.bounds_at(&x, &mut lo, &mut hi);
            [w, lo, hi].concat().into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let dense = recorded.name.contains("_Dense_");
        // A dense problem comes back as compressed rows, whose sums run in another order.
        assert!(dense || values(&again) == values(problem), "{}", recorded.name);
        assert_eq!(
            again.friction().mode(),
            if again.friction().is_set() { problem.friction().mode() } else { FrictionMode::Coupled }
        );
    }
    tool("h5dump", &["-H"], &path);
}

/// More frames than one page of links holds, and more pages than readers follow one after another.
#[test]
fn pages_of_links_are_merged() {
    let path = scratch("pages.h5");
    let recorder = Recorder::create(&path, &waiting("")).unwrap();
    let frame = random_frame(&mut Random::new(1), 2, 1, 1);
    const FRAMES: usize = 25_000;
    for _ in 0..FRAMES {
        assert!(recorder.append_frame(&frame, None, None).unwrap());
    }
    drop(recorder);
    let file = Dataset::open(&path).unwrap();
    assert_eq!(file.frames(), FRAMES);
    for k in [0, 1, 163, 164, FRAMES / 2, FRAMES - 1] {
        let mut read = Frame::new();
        file.frame(k, &mut read).unwrap();
        assert_eq!(read, frame);
    }
    // libhdf5 finds the last as well; listing all takes it long.
    tool("h5ls", &[], &path.join(format!("frames/{:08}", FRAMES - 1)));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_full_queue_drops_and_counts() {
    let path = scratch("full.h5");
    let options = RecorderOptions { queue: 2, ..RecorderOptions::default() };
    let recorder = Recorder::create(&path, &options).unwrap();
    let frame = random_frame(&mut Random::new(3), 60, 20, 100);
    let kept = (0..2000).filter(|_| recorder.append_frame(&frame, None, None).unwrap()).count() as u64;
    recorder.flush().unwrap();
    let counts = recorder.counts();
    assert_eq!((counts.written, counts.dropped, counts.queued), (kept, 2000 - kept, 0));
    assert!(counts.dropped > 0, "nothing was dropped: the writer is faster than a copy?");
    drop(recorder);
    assert_eq!(Dataset::open(&path).unwrap().frames() as u64, kept);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), counts.bytes);
}

/// A newer layout is refused, not misread; what a file does not have is read as its default: version, time, ids,
/// restitution, compliance, damping.
#[test]
fn versions_of_the_layout() {
    use hdf5_pure::{AttrValue, FileBuilder};
    let path = scratch("version.h5");
    let write = |version: Option<i32>| {
        let mut builder = FileBuilder::new();
        if let Some(version) = version {
            builder.set_attr("version", AttrValue::I32(version));
        }
        let mut frames = builder.create_group("frames");
        let mut frame = frames.create_group("0");
        let doubles = |group: &mut hdf5_pure::GroupBuilder, name: &str, values: &[f64]| {
            group.create_dataset(name).with_f64_data(values).with_shape(&[values.len() as u64]);
        };
        doubles(&mut frame, "step", &[0.01]);
        let mut bodies = frame.create_group("bodies");
        for (name, values) in [
            ("masses", &[2.0][..]),
            ("inertia", &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
            ("positions", &[0.0, 0.0, 0.5]),
            ("quaternions", &[1.0, 0.0, 0.0, 0.0]),
            ("velocities", &[0.0; 6]),
            ("forces", &[0.0; 6]),
        ] {
            doubles(&mut bodies, name, values);
        }
        frame.add_group(bodies.finish());
        let mut constraints = frame.create_group("constraints");
        for name in ["rows", "pairs"] {
            constraints.create_dataset(name).with_i32_data(&[]).with_shape(&[0]);
        }
        for name in ["jacobian", "bounds", "violation"] {
            doubles(&mut constraints, name, &[]);
        }
        frame.add_group(constraints.finish());
        let mut contacts = frame.create_group("contacts");
        contacts.create_dataset("pairs").with_i32_data(&[-1, 0]).with_shape(&[1, 2]);
        for (name, values) in
            [("gap", &[0.0][..]), ("mu", &[0.5]), ("normals", &[0.0, 0.0, 1.0]), ("points", &[0.0, 0.0, 0.0])]
        {
            doubles(&mut contacts, name, values);
        }
        frame.add_group(contacts.finish());
        frames.add_group(frame.finish());
        builder.add_group(frames.finish());
        builder.write(&path).unwrap();
    };
    for version in [None, Some(1)] {
        write(version);
        let file = Dataset::open(&path).unwrap();
        let mut frame = Frame::new();
        file.frame(0, &mut frame).unwrap();
        assert_eq!((frame.step(), frame.time(), frame.bodies().ids), (0.01, 0.0, &[0][..]));
        assert_eq!((frame.contacts().mu, frame.contacts().compliance), (&[0.5][..], &[0.0][..]));
    }
    write(Some(2));
    let error = Dataset::open(&path).err().expect("a newer layout is refused");
    assert!(error.status() == Status::File && error.message().contains("version 2 of the layout"), "{error}");
}

#[test]
fn files_that_cannot_be_written() {
    let missing = scratch("no/such/folder/x.h5");
    let error = Recorder::create(&missing, &RecorderOptions::default()).unwrap_err();
    assert!(error.status() == Status::File && error.message().contains("x.h5"), "{error}");
    let path = scratch("locked.h5");
    let first = Recorder::create(&path, &RecorderOptions::default()).unwrap();
    let error = Recorder::create(&path, &RecorderOptions::default()).unwrap_err();
    assert_eq!(error.status(), Status::File);
    drop(first);
    // An empty recording is one that opens.
    assert_eq!(Dataset::open(&path).unwrap().frames(), 0);
    let none = RecorderOptions { queue: 0, ..RecorderOptions::default() };
    assert_eq!(Recorder::create(&path, &none).unwrap_err().status(), Status::InvalidValue);
}

/// The process that is killed: records for ever, and tells how many frames are written.
#[test]
#[ignore = "run by a_killed_process_leaves_its_frames"]
fn record_until_killed() {
    let Ok(path) = std::env::var("MLCP_RECORD_TO") else { return };
    let recorder = Recorder::create(Path::new(&path), &waiting("")).unwrap();
    let mut random = Random::new(9);
    for k in 0.. {
        let frame = random_frame(&mut random, 20 + k % 5, 3, 30);
        recorder.append_frame(&frame, None, None).unwrap();
        println!("written {}", recorder.counts().written);
    }
}

#[test]
fn a_killed_process_leaves_its_frames() {
    use std::io::{BufRead, BufReader};
    for (round, lines) in [1usize, 3, 40, 170, 400].into_iter().enumerate() {
        let path = scratch(&format!("killed{round}.h5"));
        let _ = std::fs::remove_file(&path);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recording::record_until_killed", "--ignored", "--nocapture"])
            .env("MLCP_RECORD_TO", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut written = 0;
        for line in said.by_ref().filter(|l| l.starts_with("written ")).take(lines) {
            written = line[8..].parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let file = Dataset::open(&path).unwrap_or_else(|e| panic!("round {round}: {e}"));
        println!("round {round}: {written} were written when it was told to die, {} are there", file.frames());
        assert!(file.frames() as u64 >= written, "round {round}");
        let mut random = Random::new(9);
        for k in 0..file.frames() {
            let mut read = Frame::new();
            file.frame(k, &mut read).unwrap_or_else(|e| panic!("round {round}: {e}"));
            assert_eq!(read, random_frame(&mut random, 20 + k % 5, 3, 30), "round {round}, frame {k}");
        }
        tool("h5dump", &["-H"], &path);
    }
}
