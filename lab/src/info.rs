//! `mlcp-lab info`: what is in a file.

use mlcp::dataset::{Dataset, FclibEquations};
use mlcp::multibody::Frame;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// A line of text; a string takes them all.
macro_rules! say {
    ($out:expr, $($text:tt)*) => {{
        let _ = writeln!($out, $($text)*);
    }};
}

/// Say what is in a recording, a problem file, an FCLIB file or a friction problem as Siconos' text.
#[derive(clap::Args)]
pub struct Info {
    /// The file
    file: PathBuf,
    /// Problems to list at most; 0: all
    #[arg(long, value_name = "N", default_value = "20")]
    most: usize,
}

/// A sparkline has this many marks at most.
const MARKS: usize = 80;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Marks on a logarithmic scale, the worst of each stretch: a dot where that is 0, a blank where there is no number.
pub fn sparkline(values: &[f64]) -> Option<String> {
    let most = values.iter().copied().filter(|v| !v.is_nan()).reduce(f64::max)?;
    let least = values.iter().copied().filter(|v| *v > 0.0).fold(most, f64::min);
    if most <= 0.0 {
        return Some("0 in all frames".to_string());
    }
    let (low, high) = (least.log10(), most.log10());
    let mark = |stretch: &[f64]| match stretch.iter().copied().filter(|v| !v.is_nan()).reduce(f64::max) {
        None => ' ',
        Some(v) if v <= 0.0 => '·',
        Some(v) => LEVELS[((7.99 * (v.log10() - low) / (high - low).max(1e-9)) as usize).min(7)],
    };
    let marks: String = values.chunks(values.len().div_ceil(MARKS).max(1)).map(mark).collect();
    Some(format!("{marks}  {least:.1e} to {most:.1e}"))
}

fn spread(name: &str, mut values: Vec<usize>) -> String {
    values.sort_unstable();
    match values[..] {
        [] => format!("{name:<16} -"),
        _ => format!("{name:<16} {:>7} {:>7} {:>7}", values[0], values[values.len() / 2], values[values.len() - 1]),
    }
}

impl Info {
    /// Run the command; an error is one sentence.
    pub fn run(&self) -> Result<(), String> {
        let mut text = String::new();
        self.describe(&mut text)?;
        match std::io::stdout().write_all(text.as_bytes()) {
            // Whoever closes the pipe, such as head, has seen enough.
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {e}")),
            _ => Ok(()),
        }
    }

    fn describe(&self, out: &mut String) -> Result<(), String> {
        let file = Dataset::open(&self.file).map_err(|e| e.to_string())?;
        say!(out, "{}", self.file.display());
        for name in ["schema", "library", "engine", "convention"] {
            if let Some(text) = file.attribute(name).filter(|t| !t.is_empty()) {
                say!(out, "  {name}: {text}");
            }
        }
        if let Some(fclib) = file.fclib() {
            let kind = match fclib.equations {
                FclibEquations::Local { .. } => "local",
                FclibEquations::Global { .. } => "global",
            };
            say!(
                out,
                "  {kind} friction problem in {}D, {} contacts, {} guesses",
                fclib.dimension,
                fclib.mu.len(),
                fclib.guesses.len()
            );
            // Texts that Siconos wrote begin with bytes that are none.
            let readable = |t: &String| t.replace(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER, "");
            fclib.info.iter().map(readable).filter(|t| !t.is_empty()).for_each(|t| say!(out, "  {t}"));
        }
        if file.frames() > 0 {
            self.frames(&file, out)?;
        }
        if file.problems() > 0 {
            self.problems(&file, out)?;
        }
        Ok(())
    }

    fn frames(&self, file: &Dataset, out: &mut String) -> Result<(), String> {
        let mut sizes: [Vec<usize>; 3] = Default::default();
        let mut errors: [Vec<f64>; 4] = Default::default();
        let mut solved: BTreeMap<String, usize> = BTreeMap::new();
        let (mut frame, mut span) = (Frame::new(), (f64::NAN, f64::NAN));
        for k in 0..file.frames() {
            file.frame(k, &mut frame).map_err(|e| e.to_string())?;
            sizes[0].push(frame.bodies().masses.len());
            sizes[1].push(frame.constraints().lo.len());
            sizes[2].push(frame.contacts().gap.len());
            span = (span.0.min(frame.time()), frame.time() + frame.step());
            let solution = file.frame_solution(k).map_err(|e| e.to_string())?;
            let known =
                solution.as_ref().map(|s| [s.errors.energy, s.errors.total, s.errors.normal, s.errors.friction()]);
            for (list, e) in errors.iter_mut().zip(known.unwrap_or([f64::NAN; 4])) {
                list.push(e);
            }
            if let Some(s) = solution {
                *solved.entry(format!("{} as {}", s.solver, s.formulation)).or_default() += 1;
            }
        }
        say!(out, "\n{} frames, {:.3} s to {:.3} s", file.frames(), span.0, span.1);
        say!(out, "{:<16} {:>7} {:>7} {:>7}", "", "least", "median", "most");
        for (name, values) in ["bodies", "constraint rows", "contacts"].into_iter().zip(sizes) {
            say!(out, "{}", spread(name, values));
        }
        for (how, count) in solved {
            say!(out, "solved by {how}: {count}");
        }
        for (name, values) in
            ["energy error [J]", "total error", "normal error", "friction [J]"].into_iter().zip(&errors)
        {
            if let Some(line) = sparkline(values) {
                say!(out, "{name:<16} {line}");
            }
        }
        Ok(())
    }

    fn problems(&self, file: &Dataset, out: &mut String) -> Result<(), String> {
        say!(out, "\n{} problems", file.problems());
        let longest = (0..file.problems()).filter_map(|k| file.problem_name(k)).map(str::len).max().unwrap_or(0).max(4);
        say!(out, "{:<longest$} {:>6} {:>9} {:>9} {:>8} x0 x_ref x", "name", "rows", "entries", "friction", "bodies");
        let most = if self.most == 0 { usize::MAX } else { self.most };
        for k in 0..file.problems().min(most) {
            let p = file.problem(k).map_err(|e| e.to_string())?;
            let dash = || "-".to_string();
            let entries = p.matrix.as_ref().map_or_else(dash, |m| m.values.len().to_string());
            let bodies = p.jacobian.as_ref().map_or_else(dash, |j| (j.inverse_mass.len() / 12).to_string());
            let friction = (0..p.rows()).filter(|&i| p.normal_of(i).is_some()).count() + 2 * p.cone_mu.len();
            let has = |x: &Option<Vec<f64>>| if x.is_some() { "+" } else { "-" };
            say!(
                out,
                "{:<longest$} {:>6} {entries:>9} {friction:>9} {bodies:>8} {:>2} {:>5} {}",
                p.name,
                p.rows(),
                has(&p.x0),
                has(&p.x_ref),
                has(&p.x)
            );
        }
        if file.problems() > most {
            say!(out, "... and {} more (--most 0)", file.problems() - most);
        }
        Ok(())
    }
}
