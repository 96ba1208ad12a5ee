//! Recording from inside a game loop.
//!
//! The caller's thread copies a frame into a slot of a bounded queue, which allocates nothing once the slots have grown
//! to the scene; a thread of the recorder's own computes the errors and writes. When the queue is full, a frame is
//! dropped and counted, or the caller waits, as it chose.

use super::frame::{self, Memory};
use super::hdf5::{GrowingGroup, Values, Writer};
use super::problem::Recorded;
use super::{SCHEMA, VERSION};
use crate::error::{Error, Result, Status};
use crate::memory::refill;
use crate::multibody::{Formulation, Formulator, Frame, Response};
use crate::problem::Problem;
use crate::solve::Report;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// The writer looks for frames this often while they come, so that appending one need not wake it: on a busy machine the
/// woken thread would take the caller's core. After so many looks in vain it sleeps until it is woken.
const PAUSE: Duration = Duration::from_millis(4);
const PATIENCE: u32 = 250;

/// What to do when the queue is full. Numbers are part of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Forget the new frame and count it.
    #[default]
    Drop = 0,
    /// Wait for the writer.
    Wait = 1,
}

/// What a recorder may be told.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Frames that may wait for the writer; at least 1.
    pub queue: usize,
    /// What to do when that many wait.
    pub when_full: WhenFull,
    /// Make every frame survive a power cut, not only a killed process; several times slower.
    pub sync: bool,
    /// Who records; kept as an attribute.
    pub engine: String,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        RecorderOptions { queue: 64, when_full: WhenFull::Drop, sync: false, engine: String::new() }
    }
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Frames and problems in the file.
    pub written: u64,
    /// Forgotten because the queue was full.
    pub dropped: u64,
    /// Waiting for the writer.
    pub queued: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Something to be written.
#[derive(Debug, Default)]
struct Slot {
    /// A problem, not a frame?
    is_problem: bool,
    name: String,
    frame: Frame,
    problem: Recorded,
    formulation: Option<Formulation>,
    z: Vec<f64>,
    report: Option<Report>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Slot>,
    queue: VecDeque<Slot>,
    counts: RecorderCounts,
    /// The writer holds a slot.
    busy: bool,
    /// The writer sleeps until it is woken.
    asleep: bool,
    closing: bool,
    failed: Option<Error>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// A panic elsewhere leaves counts and queues whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wait for a change, or for as long as the writer leaves frames alone.
    fn pause<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(guard, PAUSE).unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Records frames and problems to a file. Dropping it writes what is queued and closes the file.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    when_full: WhenFull,
}

/// The writer's side.
struct Scribe {
    writer: Writer,
    frames: GrowingGroup,
    problems: GrowingGroup,
    memory: Memory,
    formulator: Formulator,
    response: Response,
    frame_count: u64,
    problem_count: u64,
}

impl Recorder {
    /// Begin a recording; a file of that name is replaced.
    pub fn create(path: &Path, options: &RecorderOptions) -> Result<Recorder> {
        if options.queue == 0 || options.queue > 1 << 20 {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("queue is {}, it must be within 1..=1048576", options.queue),
            ));
        }
        if options.engine.len() > 200 || options.engine.contains('\0') {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("engine must have at most 200 bytes and no NUL"),
            ));
        }
        let scribe = Scribe::new(path, options).map_err(|e| refuse(path, &e))?;
        let mut state = State::default();
        state.counts.bytes = scribe.writer.bytes();
        state.free.extend((0..options.queue).map(|_| Slot::default()));
        state.queue.reserve(options.queue);
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (its, path) = (shared.clone(), path.to_owned());
        let thread = std::thread::Builder::new()
            .name("mlcp-recorder".into())
            .spawn(move || scribe.run(&its, &path))
            .map_err(|e| Error::new(Status::OutOfMemory, format_args!("no thread for the recorder: {e}")))?;
        Ok(Recorder { shared, thread: Some(thread), when_full: options.when_full })
    }

    /// Queue a frame, with the solution z of its problem in a formulation and the solver's report, if there are any.
    /// False: dropped, because the queue is full.
    pub fn append_frame(
        &self,
        frame: &Frame,
        solution: Option<(Formulation, &[f64])>,
        report: Option<&Report>,
    ) -> Result<bool> {
        if frame.step() <= 0.0 {
            return Err(Error::new(Status::InvalidState, format_args!("the frame has no step yet")));
        }
        if let Some((formulation, z)) = solution {
            let rows = formulation.rows(frame);
            if z.len() != rows {
                return Err(Error::new(
                    Status::InvalidSize,
                    format_args!("z has length {}, the frame as {formulation} has {rows} rows", z.len()),
                ));
            }
            check_finite("z", z)?;
        }
        self.append(|slot| {
            slot.is_problem = false;
            slot.frame.copy_from(frame)?;
            slot.formulation = solution.map(|s| s.0);
            let z = solution.map_or(&[][..], |s| s.1);
            refill(&mut slot.z, z.len(), 0.0)?;
            slot.z.copy_from_slice(z);
            slot.report = report.copied();
            Ok(())
        })
    }

    /// Queue a problem, with a solution and the solver's report, if there are any. An empty name becomes a number. False:
    /// dropped, because the queue is full.
    pub fn append_problem(
        &self,
        name: &str,
        problem: &Problem,
        x: Option<&[f64]>,
        report: Option<&Report>,
    ) -> Result<bool> {
        if name.len() > 200 || name.contains(['/', '\0']) || name == "." {
            return Err(Error::new(
                Status::InvalidValue,
                format_args!("name must have at most 200 bytes, no '/' and no NUL"),
            ));
        }
        if let Some(x) = x {
            if x.len() != problem.len() {
                return Err(Error::new(
                    Status::InvalidSize,
                    format_args!("x has length {}, expected {}", x.len(), problem.len()),
                ));
            }
            check_finite("x", x)?;
        }
        self.append(|slot| {
            slot.is_problem = true;
            slot.name.clear();
            slot.name.push_str(name);
            slot.problem.capture(problem, x);
            slot.report = report.copied();
            Ok(())
        })
    }

    fn append(&self, fill: impl FnOnce(&mut Slot) -> Result<()>) -> Result<bool> {
        let mut state = self.shared.lock();
        let mut slot = loop {
            if let Some(error) = state.failed {
                return Err(error);
            }
            match state.free.pop() {
                Some(slot) => break slot,
                None if self.when_full == WhenFull::Drop => {
                    state.counts.dropped += 1;
                    return Ok(false);
                }
                None => state = self.shared.wait(state),
            }
        };
        drop(state);
        let filled = fill(&mut slot);
        let mut state = self.shared.lock();
        match filled {
            Ok(()) => state.queue.push_back(slot),
            Err(_) => state.free.push(slot),
        }
        let urgent = state.asleep || state.free.len() <= state.queue.len();
        drop(state);
        if urgent {
            self.shared.changed.notify_all();
        }
        filled.map(|()| true)
    }

    /// How far the recording is.
    pub fn counts(&self) -> RecorderCounts {
        let state = self.shared.lock();
        RecorderCounts { queued: state.queue.len() as u64 + u64::from(state.busy), ..state.counts }
    }

    /// Wait until everything queued is in the file; an error is the writer's.
    pub fn flush(&self) -> Result<()> {
        self.shared.changed.notify_all();
        let mut state = self.shared.lock();
        while state.failed.is_none() && (!state.queue.is_empty() || state.busy) {
            state = self.shared.wait(state);
        }
        match state.failed {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the writer has been noted as a failure.
            let _ = thread.join();
        }
    }
}

fn refuse(path: &Path, error: &io::Error) -> Error {
    Error::new(Status::File, format_args!("{}: cannot be written: {error}", path.display()))
}

fn check_finite(name: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => {
            Err(Error::new(Status::InvalidValue, format_args!("{name}[{i}] is {}, it must be finite", values[i])))
        }
    }
}

/// Marks the recording as failed should the writer panic.
struct OnPanic<'a>(&'a Shared);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let sentence = format_args!("libmlcp panicked while recording; please report it");
            self.0.lock().failed = Some(Error::new(Status::Internal, sentence));
            self.0.changed.notify_all();
        }
    }
}

impl Scribe {
    fn new(path: &Path, options: &RecorderOptions) -> io::Result<Scribe> {
        let version = [VERSION];
        let attributes = [
            ("schema", Values::Text(SCHEMA)),
            ("version", Values::Integers(&version)),
            ("library", Values::Text(concat!("libmlcp ", env!("CARGO_PKG_VERSION")))),
            ("engine", Values::Text(&options.engine)),
            (
                "convention",
                Values::Text("w = A x + b; lo <= x <= hi; SI units, see the attribute unit of each dataset"),
            ),
        ];
        let groups: [(&str, &[_]); 2] = [("frames", &[]), ("problems", &[])];
        let (writer, groups) = Writer::create(path, &attributes, &groups, options.sync)?;
        let mut groups = groups.into_iter();
        let (Some(frames), Some(problems)) = (groups.next(), groups.next()) else {
            return Err(io::Error::other("the groups were not made"));
        };
        Ok(Scribe {
            writer,
            frames,
            problems,
            memory: Memory::default(),
            formulator: Formulator::new(),
            response: Response::default(),
            frame_count: 0,
            problem_count: 0,
        })
    }

    fn run(mut self, shared: &Shared, path: &Path) {
        let _guard = OnPanic(shared);
        loop {
            let mut state = shared.lock();
            let mut looks = 0;
            let slot = loop {
                match state.queue.pop_front() {
                    Some(slot) => break slot,
                    None if state.closing => return,
                    None if looks < PATIENCE => {
                        looks += 1;
                        state = shared.pause(state);
                    }
                    None => {
                        state.asleep = true;
                        state = shared.wait(state);
                        state.asleep = false;
                    }
                }
            };
            state.busy = true;
            drop(state);
            let written = self.write(&slot);
            let mut state = shared.lock();
            state.busy = false;
            state.free.push(slot);
            state.counts.bytes = self.writer.bytes();
            match written {
                Ok(()) => state.counts.written += 1,
                Err(e) => state.failed = Some(refuse(path, &e)),
            }
            let stop = state.failed.is_some();
            drop(state);
            shared.changed.notify_all();
            if stop {
                return;
            }
        }
    }

    fn write(&mut self, slot: &Slot) -> io::Result<()> {
        if slot.is_problem {
            return self.write_problem(slot);
        }
        let solution = match slot.formulation {
            None => None,
            Some(formulation) => {
                let Scribe { formulator, response, .. } = self;
                let responded = formulator.respond(&slot.frame, formulation, &slot.z, response);
                // A frame without a meaning for its solution (infinite friction cut into facets) is kept without it.
                responded.is_ok().then_some((formulation, &slot.z[..], &self.response, slot.report.as_ref()))
            }
        };
        let group = frame::write(&mut self.writer, &mut self.memory, &slot.frame, solution);
        let name = format!("{:08}", self.frame_count);
        self.writer.commit(&mut self.frames, &name, group)?;
        self.frame_count += 1;
        Ok(())
    }

    fn write_problem(&mut self, slot: &Slot) -> io::Result<()> {
        let mut attributes = Vec::new();
        let (iterations, energy, natural, seconds);
        if let Some(r) = &slot.report {
            iterations = [i32::try_from(r.iterations).unwrap_or(i32::MAX)];
            (energy, natural, seconds) = ([r.energy_error], [r.natural], [r.seconds]);
            attributes.push(("solver", Values::Text(r.solver.name())));
            attributes.push(("outcome", Values::Text(r.outcome.name())));
            attributes.push(("iterations", Values::Integers(&iterations)));
            attributes.push(("energy_error", Values::Doubles(&energy)));
            attributes.push(("natural", Values::Doubles(&natural)));
            attributes.push(("seconds", Values::Doubles(&seconds)));
        }
        let group = slot.problem.write(&mut self.writer, &attributes);
        let name = if slot.name.is_empty() { format!("{:08}", self.problem_count) } else { slot.name.clone() };
        self.writer.commit(&mut self.problems, &name, group)?;
        self.problem_count += 1;
        Ok(())
    }
}
