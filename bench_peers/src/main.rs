//! libmlcp beside other solvers: the same problems, the same required error, one run, one core.
//!
//! `run.sh` builds the workers and calls `bench-peers race DIR`. A worker is a program for one or more solvers, called as
//! `worker SOLVER FILE`; workers/worker.h says what it reads and prints. To add a peer: a worker, and a line in `race::FIELD`.

mod machine;
mod plot;
mod problem;
#[cfg(any(feature = "clarabel", feature = "osqp"))]
mod qp;
mod race;
mod report;
mod scale;
mod walls;
mod warm;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        #[cfg(feature = "clarabel")]
        ["clarabel", file] => qp::clarabel(&problem::read_plain(Path::new(file))),
        #[cfg(feature = "osqp")]
        ["osqp", file] => qp::osqp(&problem::read_plain(Path::new(file))),
        ["race", dir, corpus, docs] => {
            let (dir, options) = (Path::new(dir), race::Options::new());
            let mut race = race::run(dir, Path::new(corpus), &options);
            let warm = warm::run(dir, &options);
            race.load[1] = machine::load();
            if let Err(e) = report::write(&race, &warm, dir, Path::new(docs)) {
                eprintln!("bench-peers: {e}");
                return ExitCode::FAILURE;
            }
        }
        ["scale", dir, docs] => {
            if let Err(e) = scale::run(Path::new(dir), Path::new(docs)) {
                eprintln!("bench-peers: {e}");
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("bench-peers race DIR CORPUS DOCS | scale DIR DOCS | clarabel FILE | osqp FILE; see run.sh");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
