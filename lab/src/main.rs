//! Experiments with libmlcp: replay recorded problems, compare solvers, draw what happened.

mod plot;
mod replay;
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
    Replay(replay::Replay),
}

fn main() -> ExitCode {
    let Command::Replay(replay) = Arguments::parse().command;
    match replay.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("mlcp-lab: {sentence}");
            ExitCode::from(2)
        }
    }
}
