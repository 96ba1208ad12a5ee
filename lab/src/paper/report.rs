//! Sections as one self-contained page, and as lines on a terminal.

use super::section::{Section, Verdict};
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:1500px;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.35em .7em;text-align:left;\
vertical-align:top}th{background:#f3f3f3}figure{margin:1.5em 0}figure svg{max-width:100%;height:auto}\
figcaption{color:#555}.reproduced{color:#00684a}.differs{color:#9a5a00}.fails{color:#b00020;font-weight:bold}";

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn mark(verdict: Verdict) -> String {
    format!(r#"<span class="{0}">{0}</span>"#, verdict.name())
}

/// The page: a table of verdicts, then each section with its pictures in place.
pub fn page(sections: &[(&str, Section)]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>The papers, run again</title>\
         <style>{STYLE}</style></head><body>\n<h1>The papers, run again</h1>\n<p>Written by <code>mlcp-lab paper</code> of \
         libmlcp {}. Per experiment: what the paper says, what was measured here, and why they differ where they do.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    out += "<table><tr><th>experiment</th><th>from</th><th>statements</th><th>reproduced</th><th>verdict</th></tr>\n";
    for (name, section) in sections {
        let held = section.claims.iter().filter(|c| c.verdict == Verdict::Reproduced).count();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{name}\">{name}</a></td><td>{}</td><td>{}</td><td>{held}</td><td>{}</td></tr>",
            escape(&section.source),
            section.claims.len(),
            mark(section.verdict())
        );
    }
    out += "</table>\n";
    for (name, section) in sections {
        write_section(&mut out, name, section);
    }
    out += "</body></html>\n";
    out
}

fn write_section(out: &mut String, name: &str, section: &Section) {
    let _ = writeln!(out, "<h2 id=\"{name}\">{}</h2>", escape(&section.title));
    let _ = writeln!(out, "<p><em>{}.</em> {}</p>", escape(&section.source), escape(&section.setup));
    let stated = section.stated();
    let _ = writeln!(out, "<table><tr><th>{stated}</th><th>measured</th><th>verdict</th><th>reason</th></tr>");
    for c in &section.claims {
        let (says, measured) = (escape(&c.says), escape(&c.measured));
        let (verdict, reason) = (mark(c.verdict), escape(&c.reason));
        let _ = writeln!(out, "<tr><td>{says}</td><td>{measured}</td><td>{verdict}</td><td>{reason}</td></tr>");
    }
    *out += "</table>\n";
    for figure in &section.figures {
        // An XML declaration may stand only at the beginning of a document.
        let svg = &figure.svg[figure.svg.find("<svg").unwrap_or(0)..];
        let _ = writeln!(out, "<figure>{svg}<figcaption>{}</figcaption></figure>", escape(&figure.caption));
    }
}

/// The statements of a section, for a terminal.
pub fn lines(name: &str, section: &Section) -> String {
    let mut out = format!("{name}: {}\n", section.verdict().name());
    let whose = if section.stated() == "expected" { "expected:" } else { "paper:" };
    for c in &section.claims {
        let _ = writeln!(out, "  {:<11} {whose:<9} {}\n  {:11} here:     {}", c.verdict.name(), c.says, "", c.measured);
        if !c.reason.is_empty() {
            let _ = writeln!(out, "  {:11} why:      {}", "", c.reason);
        }
    }
    out
}
