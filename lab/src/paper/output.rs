//! Files and progress of an experiment.

use crate::plot::{self, Chart};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::IsTerminal;
use std::path::Path;

/// A bar on a terminal, nothing elsewhere.
pub fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg:24} {bar:40} {percent:>3} %") {
        bar.set_style(style);
    }
    bar.set_message(what.to_string());
    bar
}

/// Write one file, making the folder first.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Charts side by side.
pub fn draw(folder: &Path, name: &str, title: &str, charts: &[Chart]) -> Result<(), String> {
    write(folder, name, &plot::charts(title, charts))
}
