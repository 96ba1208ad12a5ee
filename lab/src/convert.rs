//! `mlcp-lab convert`: between recordings, problem files and FCLIB.

use mlcp::dataset::{Dataset, Fclib, Recorded, Recorder, RecorderOptions, WhenFull};
use mlcp::multibody::{Formulation, Formulator, Frame};
use mlcp::Problem;
use std::path::{Path, PathBuf};

/// Kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// FCLIB's, one file per problem (local) or frame (global).
    Fclib,
    /// A file of problems, frames in the formulation asked for.
    Problems,
}

/// Write problems, frames or Siconos' texts as FCLIB files, or anything as a file of problems.
#[derive(clap::Args)]
pub struct Convert {
    /// A recording, a problem file, an FCLIB file or a friction problem as Siconos' text
    from: PathBuf,
    /// File to write, or with --to fclib a folder if there are several
    to_path: PathBuf,
    /// What to write
    #[arg(long = "to", value_enum)]
    to: Kind,
    /// Only problems whose name matches this pattern
    #[arg(long, value_name = "GLOB", default_value = "*")]
    problem: String,
    /// Only every k-th frame
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// How to write frames as problems
    #[arg(long, value_name = "NAME", default_value = "box")]
    formulation: String,
}

impl Convert {
    /// Run the command; an error is one sentence.
    pub fn run(&self) -> Result<(), String> {
        let say = |e: mlcp::Error| e.to_string();
        let pattern = glob::Pattern::new(&self.problem).map_err(|e| format!("--problem '{}': {e}", self.problem))?;
        let file = Dataset::open(&self.from).map_err(say)?;
        let problems: Vec<usize> =
            (0..file.problems()).filter(|&k| file.problem_name(k).is_some_and(|n| pattern.matches(n))).collect();
        let frames: Vec<usize> = (0..file.frames()).step_by(self.every as usize).collect();
        match self.to {
            Kind::Problems => self.to_problems(&file, &problems, &frames),
            Kind::Fclib => self.to_fclib(&file, &problems, &frames),
        }
    }

    fn to_problems(&self, file: &Dataset, problems: &[usize], frames: &[usize]) -> Result<(), String> {
        let say = |e: mlcp::Error| e.to_string();
        let formulation: Formulation = self.formulation.parse().map_err(say)?;
        let options =
            RecorderOptions { when_full: WhenFull::Wait, engine: "mlcp-lab convert".into(), ..Default::default() };
        let recorder = Recorder::create(&self.to_path, &options).map_err(say)?;
        let (mut problem, mut frame, mut formulator) = (Problem::new(), Frame::new(), Formulator::new());
        for &k in problems {
            let recorded = file.problem(k).map_err(say)?;
            recorded.fill(&mut problem, None, recorded.friction()).map_err(say)?;
            let x = recorded.x.as_ref().or(recorded.x_ref.as_ref());
            recorder.append_problem(&recorded.name, &problem, x.map(|x| &x[..]), None).map_err(say)?;
        }
        for &k in frames {
            file.frame(k, &mut frame).map_err(say)?;
            formulator.fill(&frame, formulation, &mut problem).map_err(say)?;
            let solution = file.frame_solution(k).map_err(say)?.filter(|s| s.formulation == formulation);
            let z = solution.as_ref().map(|s| &s.z[..]);
            recorder.append_problem(&format!("frame{k:08}"), &problem, z, None).map_err(say)?;
        }
        recorder.flush().map_err(say)?;
        println!("{}: {} problems", self.to_path.display(), recorder.counts().written);
        Ok(())
    }

    fn to_fclib(&self, file: &Dataset, problems: &[usize], frames: &[usize]) -> Result<(), String> {
        let say = |e: mlcp::Error| e.to_string();
        let several = problems.len() + frames.len() > 1;
        if several {
            std::fs::create_dir_all(&self.to_path).map_err(|e| format!("{}: {e}", self.to_path.display()))?;
        }
        let (mut written, mut refused) = (0, 0);
        let mut save = |name: &str, fclib: mlcp::Result<Fclib>| -> Result<(), String> {
            let path =
                if several { self.to_path.join(format!("{}.hdf5", file_name(name))) } else { self.to_path.clone() };
            match fclib.and_then(|f| f.write(&path)) {
                Ok(()) => written += 1,
                // One that FCLIB has no words for does not keep the others back.
                Err(e) if several && e.status() == mlcp::Status::Unsupported => {
                    eprintln!("note: {e}");
                    refused += 1;
                }
                Err(e) => return Err(e.to_string()),
            }
            Ok(())
        };
        for &k in problems {
            let recorded = file.problem(k).map_err(say)?;
            let fclib = match file.fclib() {
                Some(fclib) => Ok(fclib.clone()),
                None => with_matrix(recorded.clone()).and_then(|r| Fclib::from_recorded(&r)).map(|f| f.0),
            };
            save(&recorded.name, fclib)?;
        }
        let (mut frame, mut formulator) = (Frame::new(), Formulator::new());
        for &k in frames {
            file.frame(k, &mut frame).map_err(say)?;
            save(&format!("frame{k:08}"), Fclib::from_frame(&frame, &mut formulator))?;
        }
        println!("{}: {written} FCLIB problems, {refused} refused", self.to_path.display());
        Ok(())
    }
}

/// A problem that was recorded as Jacobian rows only, with its matrix.
fn with_matrix(mut recorded: Recorded) -> mlcp::Result<Recorded> {
    if recorded.matrix.is_none() {
        let mut problem = Problem::new();
        recorded.fill(&mut problem, None, recorded.friction())?;
        recorded.matrix = Some(mlcp::dataset::MatrixRows::of(&problem));
    }
    Ok(recorded)
}

fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let stem: String = name.chars().take(120).map(plain).collect();
    Path::new(&stem).file_name().map_or_else(|| "problem".into(), |s| s.to_string_lossy().into_owned())
}
