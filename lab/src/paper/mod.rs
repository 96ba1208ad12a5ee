//! `mlcp-lab paper`: the papers' experiments, run again. One file each; every one writes CSV and SVG into a folder.

mod bricard;
mod bricard_motion;
mod forklift;
mod output;
mod rollover;

use std::path::PathBuf;

/// Run an experiment of one of the papers again and write its figures.
#[derive(clap::Args)]
pub struct Paper {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(clap::Subcommand)]
enum Experiment {
    /// Bricard's mechanism with redundant constraints: plain, compliant, projected (González et al., Fig. 2)
    Bricard(Out),
    /// A forklift rolls over: ALI3-P with variable step and penalty (Dopico et al., Figs. 5-7)
    Rollover(Out),
}

/// Where to write.
#[derive(clap::Args)]
pub struct Out {
    /// Folder for CSV and SVG files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Paper {
    /// Run it.
    pub fn run(&self) -> Result<(), String> {
        match &self.experiment {
            Experiment::Bricard(to) => bricard::run(&to.out),
            Experiment::Rollover(to) => rollover::run(&to.out),
        }
    }
}
