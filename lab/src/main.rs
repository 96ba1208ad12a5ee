//! Experiments with libmlcp: replay recorded problems, compare solvers, draw what happened.

mod chart;
mod convert;
mod info;
mod natural;
mod paper;
mod plot;
mod record;
mod replay;
// Scenes that the library's tests and benches use too.
mod report;
#[allow(dead_code)]
mod rigid;
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
        Command::Soak(soak) => {
            return match soak.run() {
                Ok(clean) => ExitCode::from(u8::from(!clean)),
                Err(sentence) => complain(&sentence),
            }
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => complain(&sentence),
    }
}

fn complain(sentence: &str) -> ExitCode {
    eprintln!("mlcp-lab: {sentence}");
    ExitCode::from(2)
}
