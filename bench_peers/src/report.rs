//! What came of it: results.csv with every attempt, docs/performance.md, and two pictures.

use crate::plot::{draw, Axes, Series};
use crate::race::{Heat, Race, FLOOR, REQUIRED};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Write all files.
pub fn write(race: &Race, dir: &Path, docs: &Path) -> std::io::Result<()> {
    std::fs::write(dir.join("results.csv"), csv(race))?;
    std::fs::write(docs.join("performance-profile.svg"), profile(race))?;
    std::fs::write(docs.join("performance-scaling.svg"), scaling(race))?;
    std::fs::write(docs.join("performance.md"), page(race))?;
    println!("wrote {}, {}", dir.join("results.csv").display(), docs.join("performance.md").display());
    Ok(())
}

/// Seconds of a contestant on a problem, if solved.
fn seconds(heat: &Heat, contestant: usize) -> Option<f64> {
    heat.entries[contestant].solved(heat.required).map(|a| a.seconds)
}

fn csv(race: &Race) -> String {
    let mut out = String::from(
        "problem,n,solver,setting,seconds,claims,energy_error_J,relative_error,required_J,solved,ended,hash\n",
    );
    for h in &race.heats {
        for e in &h.entries {
            let name = race.field[e.contestant].name.replace(',', "");
            for a in &e.attempts {
                let relative = if a.energy == 0.0 { 0.0 } else { a.energy / h.scale };
                let _ = writeln!(
                    out,
                    "{},{},{name},{},{:.9},{},{:.3e},{relative:.3e},{:.3e},{},{},{:016x}",
                    h.problem,
                    h.n,
                    a.setting,
                    a.seconds,
                    u8::from(a.claims),
                    a.energy,
                    h.required,
                    u8::from(a.energy <= h.required),
                    u8::from(e.ended),
                    a.hash
                );
            }
            if e.attempts.is_empty() {
                let ended = u8::from(e.ended);
                let _ = writeln!(out, "{},{},{name},none,,0,inf,inf,{:.3e},0,{ended},", h.problem, h.n, h.required);
            }
        }
    }
    out
}

/// Dolan and Moré 2002: the share of problems solved within a factor of the fastest.
fn profile(race: &Race) -> String {
    let best: Vec<f64> = race
        .heats
        .iter()
        .map(|h| (0..race.field.len()).filter_map(|c| seconds(h, c)).fold(f64::INFINITY, f64::min))
        .collect();
    let series = race.field.iter().enumerate().map(|(c, contestant)| {
        let mut ratios: Vec<f64> = race.heats.iter().zip(&best).filter_map(|(h, b)| Some(seconds(h, c)? / b)).collect();
        ratios.sort_by(f64::total_cmp);
        let share = |k: usize| k as f64 / race.heats.len() as f64;
        let mut points = vec![];
        for (k, r) in ratios.iter().map(|r| r.min(1e4)).enumerate() {
            points.extend([(r, share(k)), (r, share(k + 1))]);
        }
        if !points.is_empty() {
            points.push((1e4, share(ratios.len())));
        }
        Series { name: contestant.name.into(), points }
    });
    let axes = Axes {
        title: "Share of problems solved within a factor of the fastest (Dolan and Moré)",
        x: "time / time of the fastest",
        y: "share of problems",
        log_y: false,
    };
    draw(&axes, &series.collect::<Vec<_>>())
}

/// Time against rows on the generated rigid walls.
fn scaling(race: &Race) -> String {
    let series = race.field.iter().enumerate().map(|(c, contestant)| {
        let walls = race.heats.iter().filter(|h| h.problem.starts_with("wall_rigid"));
        let points = walls.filter_map(|h| Some((h.n as f64, 1e3 * seconds(h, c)?))).collect();
        Series { name: contestant.name.into(), points }
    });
    let axes = Axes { title: "Generated rigid walls", x: "rows n", y: "ms to the required error", log_y: true };
    draw(&axes, &series.collect::<Vec<_>>())
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp())
}

fn factor(value: Option<f64>) -> String {
    value.map_or("-".into(), |v| format!("{v:.2}"))
}

/// First line of what a command prints.
fn version(command: &[&str]) -> String {
    let output = Command::new(command[0]).args(&command[1..]).output().map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_string()
}

fn page(race: &Race) -> String {
    let mut out = String::new();
    head(&mut out, race);
    summary(&mut out, race);
    slower(&mut out, race);
    times(&mut out, race);
    out
}

fn head(out: &mut String, race: &Race) {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    let peers = std::env::var("PEER_VERSIONS").unwrap_or_default();
    let busy = race.load.iter().any(|l| l.parse().is_ok_and(|l: f64| l > 1.5));
    let _ = write!(
        out,
        "# libmlcp beside its peers

Generated by `make bench-peers`; do not edit. {} problems (`PROBLEMS='{}'`), {}.

- Machine: {model}, {cores} cores; one core used. Load average {} before, {} after the run.
- Compilers: {}; {}.
- Peers: {peers}.
",
        race.heats.len(),
        race.patterns,
        version(&["date", "-u", "+%Y-%m-%d %H:%M UTC"]),
        race.load[0],
        race.load[1],
        version(&["cc", "--version"]),
        version(&["rustc", "--version"]),
    );
    if busy {
        out.push_str("- **The machine was busy with other work during this run: times are indicative only.**\n");
    }
    if !race.missing.is_empty() {
        let _ = writeln!(out, "- Missing, so not compared: {}.", race.missing.join(", "));
    }
    let _ = write!(
        out,
        "
Every solver gets the same problem: `w = A x + b` in a box, friction frozen at the reference's normal impulses, cold.
Solved means an energy error, computed from the recorded A by one function for all, of at most {REQUIRED:e} of that at
x = clamp(0), or of {FLOOR:e} J; what a solver says of itself does not count. Where nobody reaches that, because joints
contradict each other, solved means within 1.1 times the least error anybody reached; such problems are marked \\*. A
solver with a tolerance of its own runs at several, and its fastest run that is good enough counts. Times are the best of
several runs and include a solver's set-up: symbolic analysis, factorisation, copies. Handles and arenas that an engine
keeps between steps are kept. libmlcp is the shipped shared library, called through its C interface; it reads Jacobian
rows where they are known, or A only where the name says so. Bullet, ODE and ProxQP read A dense; Siconos a linear
complementarity problem made from it, which is not timed. PIQP, ProxQP and DAQP are called from Python, which adds some
microseconds. Each solver has {} s per problem for all of its runs. Every attempt, with a hash of its x, is in
`target/bench_peers/results.csv`.

![performance profile](performance-profile.svg)

![scaling](performance-scaling.svg)
",
        race.cap
    );
}

/// One line per solver.
fn summary(out: &mut String, race: &Race) {
    let name = race.field[0].name;
    let _ = write!(
        out,
        "
## Summary

\"Slower than\": geometric mean of this solver's time over that of {name}, on problems that both solve. \"Wrong\": claims
success at every setting it finished, but has not solved the problem.

| solver | solved | fastest | slower than {name}, n < 100 | n >= 100 | wrong |
|---|---|---|---|---|---|
"
    );
    for (c, contestant) in race.field.iter().enumerate() {
        let solved = race.heats.iter().filter(|h| seconds(h, c).is_some()).count();
        let fastest = race.heats.iter().filter(|h| {
            seconds(h, c).is_some_and(|t| (0..race.field.len()).all(|o| seconds(h, o).is_none_or(|other| t <= other)))
        });
        let ratio = |small: bool| {
            let heats = race.heats.iter().filter(|h| (h.n < 100) == small);
            factor(geometric_mean(&heats.filter_map(|h| Some(seconds(h, c)? / seconds(h, 0)?)).collect::<Vec<_>>()))
        };
        let wrong = race.heats.iter().filter(|h| {
            let entry = &h.entries[c];
            entry.solved(h.required).is_none() && !entry.attempts.is_empty() && entry.attempts.iter().all(|a| a.claims)
        });
        let (fastest, wrong, total) = (fastest.count(), wrong.count(), race.heats.len());
        let _ = writeln!(
            out,
            "| {} | {solved}/{total} | {fastest} | {} | {} | {wrong} |",
            contestant.name,
            ratio(true),
            ratio(false)
        );
    }
}

/// Where a peer that solves the problem is faster than the first of the field.
fn slower(out: &mut String, race: &Race) {
    let name = race.field[0].name;
    let mut list: Vec<(&Heat, &str, f64, Option<f64>)> = vec![];
    let (mut small, mut large) = (vec![], vec![]);
    let ode = race.field.iter().position(|c| c.name == "ODE Dantzig");
    for h in &race.heats {
        let peers = (0..race.field.len()).filter(|&c| !race.field[c].ours);
        let fastest = peers.filter_map(|c| Some((c, seconds(h, c)?))).min_by(|p, q| p.1.total_cmp(&q.1));
        let (Some((c, peer)), Some(own)) = (fastest, seconds(h, 0)) else { continue };
        if h.n < 100 { &mut small } else { &mut large }.push(peer / own);
        if own > peer {
            list.push((h, race.field[c].name, own / peer, ode.and_then(|o| seconds(h, o)).map(|t| own / t)));
        }
    }
    list.sort_by(|p, q| q.2.total_cmp(&p.2));
    let _ = write!(
        out,
        "
## Against the fastest peer

Geometric mean of the fastest peer's time, whichever solves the problem, over that of {name}: {} for n < 100, {} for n >= 100
({} and {} problems). {name} is slower than some peer that solves the problem on {} problems:

| problem | n | fastest peer | {name} takes times as long | as ODE Dantzig |
|---|---|---|---|---|
",
        factor(geometric_mean(&small)),
        factor(geometric_mean(&large)),
        small.len(),
        large.len(),
        list.len()
    );
    for (h, peer, ratio, against) in list {
        let _ = writeln!(out, "| {} | {} | {peer} | {ratio:.2} | {} |", h.problem, h.n, factor(against));
    }
}

/// Milliseconds of everyone on everything.
fn times(out: &mut String, race: &Race) {
    out.push_str("\n## Milliseconds to the required error\n\n");
    out.push_str("A dash means not solved; [c]: ended by the time cap or a crash.\n\n| problem | n |");
    race.field.iter().for_each(|c| write!(out, " {} |", c.name).expect("a string grows"));
    let _ = writeln!(out, "\n|---|---|{}", "---|".repeat(race.field.len()));
    for h in &race.heats {
        let _ = write!(out, "| {}{} | {} |", h.problem, if h.relaxed { " \\*" } else { "" }, h.n);
        for (c, e) in h.entries.iter().enumerate() {
            let text = match seconds(h, c) {
                Some(t) => format!("{:.3}", 1e3 * t),
                None if e.ended => "-".into(),
                None => "- [c]".into(),
            };
            let _ = write!(out, " {text} |");
        }
        out.push('\n');
    }
}
