//! Sections as a document of the project, with its figures beside it.

use super::section::{Section, Verdict};
use std::fmt::Write;

const BEGINNING: &str = "\
# The papers, run again

<!-- written by `make reproduction`; do not edit -->

    make reproduction                                         # runs everything and writes this page: some minutes
    cargo run --release -p mlcp-lab -- paper all              # the same as ./mlcp-paper/report.html, with tables as CSV
    cargo run --release -p mlcp-lab -- paper rod --out DIR    # one experiment; --help lists them
    cargo test -p mlcp-lab --test paper --test piles          # short versions

Each experiment puts what a paper says beside what was measured here. A statement is *reproduced*; or it *differs*, for a
reason that is given; or it *fails*. The experiments are in `lab/src/paper`, one file each, their scenes in
`lab/src/scenes`. The papers:

- Enzenhöfer, Peiret, Teichmann, Kövecses 2019, [doi 10.1115/1.4042690](https://doi.org/10.1115/1.4042690): the energy error.
- Lu, Williams, Lacoursière, Trinkle 2013: recordings, formulations, solvers compared.
- González et al. and Dopico et al.: redundant constraints and the ALI3-P stepper; see [mechanisms.md](mechanisms.md).

";

/// Text inside a cell of a table.
fn cell(words: &str) -> String {
    words.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('\n', " ")
}

/// The document; figures are looked for in `figures`.
pub fn document(sections: &[(&str, Section)], figures: &str) -> String {
    let mut out = String::from(BEGINNING);
    out += "| experiment | what | from | reproduced | differs | fails |\n|---|---|---|---|---|---|\n";
    for (name, section) in sections {
        let count = |verdict: Verdict| match section.claims.iter().filter(|c| c.verdict == verdict).count() {
            0 => String::new(),
            n => n.to_string(),
        };
        let [held, differs, fails] = [Verdict::Reproduced, Verdict::Differs, Verdict::Fails].map(count);
        let (title, source) = (cell(&section.title), cell(&section.source));
        let _ = writeln!(out, "| [`{name}`](#{name}) | {title} | {source} | {held} | {differs} | {fails} |");
    }
    for (name, section) in sections {
        let _ = write!(out, "\n## {name}\n\n**{}.** *{}.* {}\n\n", section.title, section.source, section.setup);
        let _ = writeln!(out, "| {} | measured here | verdict | why |\n|---|---|---|---|", section.stated());
        for c in &section.claims {
            let [says, measured, why] = [&c.says, &c.measured, &c.reason].map(|words| cell(words));
            let _ = writeln!(out, "| {says} | {measured} | {} | {why} |", c.verdict.name());
        }
        for figure in &section.figures {
            let _ = write!(out, "\n![{}]({figures}/{}.svg)\n\n*{}*\n", figure.caption, figure.name, figure.caption);
        }
    }
    out
}
