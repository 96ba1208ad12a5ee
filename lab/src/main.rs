//! Experiments with libmlcp: replay recorded problems, compare solvers, draw what happened.

mod natural;
mod paper;
mod plot;
mod problems;
mod replay;
// Scenes that the library's tests and benches use too.
#[allow(dead_code)]
mod rigid;
mod scenes;
mod table;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "mlcp-lab", version, about = "Experiments with libmlcp's contact and friction solvers.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Paper(paper::Paper),
    Replay(replay::Replay),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Paper(paper) => paper.run(),
        Command::Replay(replay) => replay.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("mlcp-lab: {sentence}");
            ExitCode::from(2)
        }
    }
}
