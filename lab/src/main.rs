//! Experiments with libmlcp: replay recorded problems, compare solvers, draw what happened.

mod chart;
mod convert;
mod golden;
mod info;
mod natural;
mod paper;
mod plot;
mod record;
mod replay;
mod report;
mod scenes;
mod soak;
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
    Convert(convert::Convert),
    Golden(golden::Golden),
    Info(info::Info),
    Record(record::Record),
    Replay(replay::Replay),
    Soak(soak::Soak),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Paper(paper) => paper.run(),
        Command::Convert(convert) => convert.run(),
        Command::Info(info) => info.run(),
        Command::Record(record) => record.run(),
        Command::Replay(replay) => replay.run(),
        Command::Golden(golden) => return verdict(golden.run()),
        Command::Soak(soak) => return verdict(soak.run()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => complain(&sentence),
    }
}

/// Of a command that finds things right or wrong.
fn verdict(found: Result<bool, String>) -> ExitCode {
    match found {
        Ok(right) => ExitCode::from(u8::from(!right)),
        Err(sentence) => complain(&sentence),
    }
}

fn complain(sentence: &str) -> ExitCode {
    eprintln!("mlcp-lab: {sentence}");
    ExitCode::from(2)
}
