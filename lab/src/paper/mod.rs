//! `mlcp-lab paper`: the papers' experiments, run again. One file each; an experiment is a function that returns a
//! [`Section`], and this writes its tables, its figures and one page for all.

mod bricard;
mod bricard_motion;
mod brick_wall;
mod budget;
mod budget_scenes;
mod convergence;
mod document;
mod driving;
mod facets;
mod forklift;
mod hand;
mod hand_recording;
mod hand_steps;
mod islands;
mod isolines;
mod logs;
mod report;
mod rod;
mod rollover;
mod rollover_view;
mod section;
mod spheres;
mod units;

use section::{Context, Section};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One experiment: its name, what it is, how to run it.
type Experiment = (&'static str, &'static str, fn(&Context) -> Result<Section, String>);

/// All of them, in the order of the page.
const ALL: &[Experiment] = &[
    ("isolines", "lines of equal error of three measures (Enzenhöfer et al., Figs. 1, 2, 4)", isolines::run),
    ("rod", "every number of the rod on two contacts, and the errata (Enzenhöfer et al., §5.1)", rod::run),
    ("units", "which iterate is the best, in four ways of writing the same problem", units::run),
    ("brick-wall", "three measures along Gauss-Seidel on a standing wall (Enzenhöfer et al., §5.2)", brick_wall::run),
    ("forklift", "a forklift drives a circle with too few pivots (Enzenhöfer et al., §5.3)", driving::run),
    ("hand", "a hand grasps a hose in ODE: the 10th and the 40th sweep (Lu et al., section 6.1)", hand::run),
    ("spheres", "15 balls in a box: Lemke, and PGS with CFM (Lu et al., section 6.2)", spheres::run),
    ("logs", "40 logs pile up: Lemke, Fischer-Newton, interior point, prox (Lu et al., section 6.3)", logs::run),
    ("facets", "4 to 64 facets against the exact friction cone (beyond Lu et al.)", facets::run),
    ("budget", "three scenes with 0.2 to 4 ms per step: last iterate, best iterate, auto", budget::run),
    ("islands", "64 towers in one problem: together and apart, on one thread and two", islands::run),
    ("bricard", "Bricard's mechanism with redundant constraints (González et al., Fig. 2)", bricard::run),
    (
        "rollover",
        "a forklift rolls over: ALI3-P with variable step and penalty (Dopico et al., Figs. 5-7)",
        rollover::run,
    ),
];

fn names() -> String {
    ALL.iter().map(|(name, about, _)| format!("\n  {name:12}{about}")).collect()
}

/// Run experiments of the papers again: CSV, SVG, and report.html with verdicts.
#[derive(clap::Args)]
#[command(after_help = format!("Experiments:{}\n  {:12}every one", names(), "all"))]
pub struct Paper {
    /// Name of an experiment, or "all"
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder for the files; made if missing
    #[arg(long, value_name = "DIR", default_value = "mlcp-paper")]
    out: PathBuf,
    /// Smaller versions that take seconds; their numbers are not the paper's
    #[arg(long)]
    short: bool,
    /// Write reproduction.md and figures/ into this folder as well; with "all" only
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
}

impl Paper {
    /// Run it.
    pub fn run(&self) -> Result<(), String> {
        let chosen: Vec<&Experiment> = ALL.iter().filter(|e| self.name == "all" || self.name == e.0).collect();
        if chosen.is_empty() {
            let known: Vec<&str> = ALL.iter().map(|e| e.0).collect();
            return Err(format!("no experiment '{}'; there are {}, and all", self.name, known.join(", ")));
        }
        if self.docs.is_some() && (self.name != "all" || self.short) {
            return Err("--docs needs all experiments, in full".to_string());
        }
        // Before the work, not after it.
        fs::create_dir_all(&self.out).map_err(|e| format!("{}: {e}", self.out.display()))?;
        let mut sections = Vec::new();
        for &&(name, _, run) in &chosen {
            let section = run(&Context::new(name, self.short, &self.out)).map_err(|e| format!("{name}: {e}"))?;
            say(&report::lines(name, &section));
            for (file, csv) in &section.tables {
                write(&self.out, &format!("{file}.csv"), csv)?;
            }
            for figure in &section.figures {
                write(&self.out, &format!("{}.svg", figure.name), &figure.svg)?;
            }
            sections.push((name, section));
        }
        write(&self.out, "report.html", &report::page(&sections))?;
        match &self.docs {
            Some(folder) => write_docs(folder, &sections),
            None => Ok(()),
        }
    }
}

/// Write the project's own page and its figures; delete those that the page of a former run showed. Other pages keep
/// figures in the same folder.
fn write_docs(folder: &Path, sections: &[(&str, Section)]) -> Result<(), String> {
    let figures = folder.join("figures");
    fs::create_dir_all(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
    let former = fs::read_to_string(folder.join("reproduction.md")).unwrap_or_default();
    for old in fs::read_dir(&figures).into_iter().flatten().flatten() {
        if former.contains(&format!("](figures/{})", old.file_name().to_string_lossy())) {
            fs::remove_file(old.path()).map_err(|e| format!("{}: {e}", old.path().display()))?;
        }
    }
    for figure in sections.iter().flat_map(|s| &s.1.figures) {
        write(&figures, &format!("{}.svg", figure.name), &figure.svg)?;
    }
    write(folder, "reproduction.md", &document::document(sections, "figures"))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    say(&format!("wrote {}\n", path.display()));
    Ok(())
}

/// Tell the terminal. The files are what counts: whoever closes the pipe, such as head, has seen enough.
fn say(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
