//! What an experiment hands back: statements of a paper beside what was measured, with figures and tables.

use crate::plot::{self, Chart};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// How a measurement stands to the paper's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Both agree.
    Reproduced,
    /// They do not, for a reason that is given.
    Differs,
    /// They do not, and should.
    Fails,
}

impl Verdict {
    /// As it stands in the report.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs => "differs",
            Verdict::Fails => "fails",
        }
    }
}

/// One statement.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What the paper says.
    pub says: String,
    /// What came out here.
    pub measured: String,
    /// How they compare.
    pub verdict: Verdict,
    /// Why they differ; empty where they do not.
    pub reason: String,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of the file, without ".svg".
    pub name: String,
    /// Below the picture.
    pub caption: String,
    /// The picture.
    pub svg: String,
}

/// An experiment's result.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Which paper and where in it.
    pub source: String,
    /// A few sentences on what was run.
    pub setup: String,
    /// Statements, in the paper's order.
    pub claims: Vec<Claim>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// Names of files, without ".csv", and their text.
    pub tables: Vec<(String, String)>,
}

impl Section {
    /// An empty one.
    pub fn new(title: &str, source: &str, setup: &str) -> Self {
        Section {
            title: title.to_string(),
            source: source.to_string(),
            setup: setup.to_string(),
            claims: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// A statement that must hold here too: reproduced, or it fails.
    pub fn claim(&mut self, says: impl Into<String>, measured: impl Into<String>, holds: bool) {
        let verdict = if holds { Verdict::Reproduced } else { Verdict::Fails };
        self.claims.push(Claim { says: says.into(), measured: measured.into(), verdict, reason: String::new() });
    }

    /// A statement that may differ for a known reason: reproduced if it holds, else the reason is told.
    pub fn claim_or(&mut self, says: &str, measured: impl Into<String>, holds: bool, reason: &str) {
        let (verdict, reason) = if holds { (Verdict::Reproduced, "") } else { (Verdict::Differs, reason) };
        self.claims.push(Claim {
            says: says.to_string(),
            measured: measured.into(),
            verdict,
            reason: reason.to_string(),
        });
    }

    /// Charts side by side.
    pub fn figure(&mut self, name: &str, title: &str, caption: &str, charts: &[Chart]) {
        let svg = plot::charts(title, charts);
        self.figures.push(Figure { name: name.to_string(), caption: caption.to_string(), svg });
    }

    /// A table as comma-separated values.
    pub fn table(&mut self, name: &str, csv: String) {
        self.tables.push((name.to_string(), csv));
    }

    /// Whose statements they are.
    pub fn stated(&self) -> &'static str {
        if self.source.starts_with("beyond") {
            "expected"
        } else {
            "the paper says"
        }
    }

    /// The worst of its statements.
    pub fn verdict(&self) -> Verdict {
        self.claims.iter().map(|c| c.verdict).max().unwrap_or(Verdict::Reproduced)
    }
}

/// What an experiment is given.
pub struct Context {
    /// Run a version of seconds, for tests.
    pub short: bool,
    /// Where the files go.
    pub folder: PathBuf,
    name: &'static str,
}

impl Context {
    /// For the experiment of this name.
    pub fn new(name: &'static str, short: bool, folder: &Path) -> Self {
        Context { short, folder: folder.to_path_buf(), name }
    }

    /// A bar on a terminal, nothing elsewhere.
    pub fn progress(&self, length: usize) -> ProgressBar {
        let bar = ProgressBar::new(length as u64);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{msg:24} {bar:40} {percent:>3} %") {
            bar.set_style(style);
        }
        bar.set_message(self.name);
        bar
    }
}
