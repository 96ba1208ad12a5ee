//! What a warm start is worth: consecutive steps of a scene, each from the impulses of the step before.

use crate::problem::{recorded, Problem, Rows};
use crate::race::{command, heat, ours, peer, Attempt, Contestant, Heat, Options};
use crate::walls;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Cold, warm, and the engine's own exact solver, which knows no warm start.
const FIELD: [Contestant; 3] =
    [ours("libmlcp auto", "auto"), ours("libmlcp auto, warm", "auto-warm"), peer("ODE Dantzig", "ode", "dantzig")];

/// Scenes that an engine steps: name, worker, the worker's name for it, steps before the first that counts. Walls of 12
/// courses settle at step 20 and stand at step 200.
const SCENES: [(&str, &str, &str, &str); 8] = [
    ("steps_bullet_wall12_2dir_s020", "steps_bullet", "wall_2dir", "20"),
    ("steps_bullet_wall12_2dir_s200", "steps_bullet", "wall_2dir", "200"),
    ("steps_bullet_wall12_s020", "steps_bullet", "wall", "20"),
    ("steps_bullet_pile24_s020", "steps_bullet", "pile", "20"),
    ("steps_ode_wall12_s020", "steps_ode", "wall", "20"),
    ("steps_ode_wall12_s200", "steps_ode", "wall", "200"),
    ("steps_ode_wall12_cfm0_s020", "steps_ode", "wall_cfm0", "20"),
    ("steps_ode_wall12_cfm0_s200", "steps_ode", "wall_cfm0", "200"),
];

/// Steps of a generated wall; the first only starts the second.
const STEPS: usize = 31;

/// A row continues the nearest one of the step before on the same bodies, if its Jacobian has moved no more than this.
const NEAR: f64 = 0.2;

/// Consecutive steps of a scene.
pub struct Series {
    name: String,
    /// All steps but the first.
    heats: Vec<Heat>,
    /// Share of the rows that continue one of the step before.
    continued: f64,
    /// Error at the start of each step, as a fraction of that at x = clamp(0).
    starts: Vec<f64>,
    /// Does friction follow the impulses?
    coupled: bool,
}

/// Run all scenes that are asked for and can be had.
pub fn run(dir: &Path, options: &Options) -> Vec<Series> {
    let mut all = vec![];
    for (name, worker, scene, skip) in SCENES.iter().filter(|(name, ..)| options.wants(name)) {
        let (program, file) = (dir.join("workers").join(worker), dir.join("steps.h5"));
        let done = Command::new(&program).args([scene, skip]).arg(&file).stdout(Stdio::null()).status();
        if done.is_ok_and(|status| status.success()) {
            let mut steps = recorded(&file);
            all.push(series(dir, name, &steps, options));
            steps.iter_mut().for_each(Problem::couple);
            all.push(series(dir, &format!("{name}, coupled"), &steps, options));
        } else {
            println!("missing: {name}");
        }
        let _ = std::fs::remove_file(file);
    }
    for (kind, compliance) in [("rigid", 0.0), ("soft", 1e-5)] {
        let steps = walls::pushed(6, 6, compliance, STEPS);
        let name = format!("steps_wall_{kind}_n{}", steps[0].n());
        if options.wants(&name) {
            all.push(series(dir, &name, &steps, options));
        }
    }
    all
}

fn series(dir: &Path, name: &str, steps: &[Problem], options: &Options) -> Series {
    // Those that cannot be called, or do not know coupled friction, stay in the table, unsolved.
    let knows = |c: &Contestant| c.ours || !steps[0].coupled;
    let call = |c: &Contestant| command(dir, c).filter(|_| knows(c)).unwrap_or(("false".into(), vec![]));
    let calls: Vec<_> = FIELD.iter().map(call).collect();
    let file = dir.join("problem.bin");
    let beside = |end: &str| dir.join(format!("problem.bin.{end}"));
    let (mut heats, mut starts, mut rows, mut continued) = (vec![], vec![], 0, 0);
    // Impulses that the step before began with, and found.
    let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
    for k in 1..steps.len() {
        let (before, now) = (&steps[k - 1], &steps[k]);
        let from = origins(before, now);
        rows += now.n();
        continued += from.iter().flatten().count();
        let (began, found) = last.take().unwrap_or_else(|| {
            // The first step is solved cold, by the first of the field.
            before.write_plain(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let first = heat(before, &calls[..1], &file, options);
            (vec![0.0; before.n()], impulses(&first, 0).unwrap_or(vec![0.0; before.n()]))
        });
        let start: Vec<f64> = from.iter().map(|i| i.map_or(0.0, |(i, sign)| sign * found[i])).collect();
        let bytes: Vec<u8> = began.iter().chain(&start).flat_map(|v| v.to_le_bytes()).collect();
        now.write_plain(&file)
            .and_then(|()| before.write_plain(&beside("last")))
            .and_then(|()| std::fs::write(beside("start"), bytes))
            .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let heat = heat(now, &calls, &file, options);
        starts.push(now.energy(&start) / heat.scale);
        last = impulses(&heat, 1).map(|found| (start, found));
        heats.push(heat);
    }
    [&file, &beside("last"), &beside("start")].iter().for_each(|f| drop(std::fs::remove_file(f)));
    let continued = continued as f64 / rows.max(1) as f64;
    let series = Series { name: name.into(), heats, continued, starts, coupled: steps[0].coupled };
    println!("{}", series.line());
    series
}

/// What a contestant found.
fn impulses(heat: &Heat, contestant: usize) -> Option<Vec<f64>> {
    heat.entries[contestant].attempts.first().map(|a| a.x.clone())
}

/// For each row of a step the row of the step before that it continues, and 1, or -1 where it points the other way now. What
/// an engine knows by the identity of its contacts is found from the rows here; not all engines know it, and it is not timed.
fn origins(before: &Problem, now: &Problem) -> Vec<Option<(usize, f64)>> {
    let (Some(old), Some(new)) = (&before.rows, &now.rows) else { return vec![None; now.n()] };
    let old: Vec<_> = (0..before.n()).map(|i| identity(old, i)).collect();
    let mut taken = vec![false; old.len()];
    let mut find = |i: usize| {
        let (bodies, row) = identity(new, i);
        let two_sided = now.lo[i] < 0.0;
        let distance =
            |(j, sign): (usize, f64)| (0..12).map(|c| (row[c] - sign * old[j].1[c]).powi(2)).sum::<f64>().sqrt();
        let same = (0..old.len()).filter(|&j| !taken[j] && old[j].0 == bodies && (before.lo[j] < 0.0) == two_sided);
        let both = same.flat_map(|j| [(j, 1.0), (j, -1.0)]).filter(|(_, sign)| two_sided || *sign > 0.0);
        let nearest = both.min_by(|p, q| distance(*p).total_cmp(&distance(*q))).filter(|j| distance(*j) <= NEAR)?;
        taken[nearest.0] = true;
        Some(nearest)
    };
    (0..now.n()).map(&mut find).collect()
}

/// A row's bodies, in an order of their own, and its Jacobian in that order. Engines renumber bodies as they like; here every
/// body has a mass of its own, to be known by; and in a generated wall, where they all weigh the same, the numbers stay.
fn identity(rows: &Rows, i: usize) -> ([(u64, i32); 2], [f64; 12]) {
    let distinct = rows.inverse_mass.len() < 24 || rows.inverse_mass[0] != rows.inverse_mass[12];
    let body = |side: usize| match rows.bodies[2 * i + side] {
        k if k < 0 => (0, -1),
        k if distinct => (rows.inverse_mass[12 * k as usize].to_bits(), 0),
        k => (1, k),
    };
    let (first, second) = (body(0), body(1));
    let half = |side: usize, c: usize| rows.jacobian[12 * i + 6 * side + c];
    let swap = usize::from(second < first);
    let row = std::array::from_fn(|c| half((c / 6) ^ swap, c % 6));
    (if swap == 1 { [second, first] } else { [first, second] }, row)
}

impl Series {
    /// A contestant's times on the steps that it solves.
    fn seconds(&self, contestant: usize) -> Vec<f64> {
        let solved = |h: &Heat| h.entries[contestant].solved(h.required).map(|a| a.seconds);
        self.heats.iter().filter_map(solved).collect()
    }

    /// How many times as long as the warm solve another one takes, on the steps that both solve.
    fn gain(&self, contestant: usize) -> Option<f64> {
        let seconds = |h: &Heat, c: usize| h.entries[c].solved(h.required).map(|a| a.seconds);
        let both = self.heats.iter().filter_map(|h| Some((seconds(h, contestant)?, seconds(h, 1)?)));
        let (other, warm): (Vec<f64>, Vec<f64>) = both.unzip();
        Some(median(&other)? / median(&warm)?)
    }

    /// A line of the table.
    fn line(&self) -> String {
        let [cold, warm, peer] = [0, 1, 2].map(|c| self.seconds(c));
        let all = self.heats.len();
        let (least, most) = self.heats.iter().fold((usize::MAX, 0), |(a, b), h| (a.min(h.n), b.max(h.n)));
        let rows = if least < most { format!("{least}-{most}") } else { format!("{most}") };
        let ms = |times: &[f64]| median(times).map_or("-".into(), |t| format!("{:.3}", 1e3 * t));
        let gain = |contestant| self.gain(contestant).map_or("-".into(), |r| format!("{r:.1}"));
        let mut solved = [&cold, &warm, &peer].map(|times| format!("{}/{all}", times.len()));
        if self.coupled {
            solved[2] = "-".into(); // not asked
        }
        format!(
            "| {} | {rows} | {:.0} % | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.name,
            100.0 * self.continued,
            median(&self.starts).map_or("-".into(), |s| format!("{s:.0e}")),
            solved[0],
            ms(&cold),
            solved[1],
            ms(&warm),
            gain(0),
            solved[2],
            ms(&peer),
            gain(2),
        )
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| 0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]))
}

/// The section of the page.
pub fn section(out: &mut String, all: &[Series]) {
    let _ = write!(
        out,
        "
## Warm start

Consecutive steps of 1/60 s, recorded in this run from worlds that Bullet and ODE step with libmlcp: walls of 12 courses, from
step 20, when they settle, and from step 200, when they stand, but for ODE's without CFM, which then rattles and loses
contacts; a pile of boxes that falls together, for contrast; and,
generated, walls that are pushed a little harder each time. Each step is solved cold, and warm: from the impulses that the
warm solve of the step before found, with the solver's handle as that solve left it. Rows of new contacts start at 0;
\"known\" is the share of rows that continue one of the step before, \"start\" the error there as a fraction of that at x = 0:
above 1 the impulses of the step before are a worse start than none. Friction is frozen as above, or coupled where the name
says so: it then follows the impulses. ODE's Dantzig, which knows neither a warm start nor coupled friction, gets the
same problems. The required error and what is timed are as above; times are medians over the steps that a solver
solves, ratios over those that both solve. Every step is in `target/bench_peers/warm.csv`.

| scene | n | known | start | cold solves | cold ms | warm solves | warm ms | cold / warm | ODE Dantzig solves | ODE Dantzig ms | ODE Dantzig / warm |
|---|---|---|---|---|---|---|---|---|---|---|---|
"
    );
    all.iter().for_each(|s| writeln!(out, "{}", s.line()).expect("a string grows"));
    let walls: Vec<&Series> = all.iter().filter(|s| s.name.contains("wall")).collect();
    for (base, what) in [(0, "cold"), (2, "ODE's Dantzig, where it solves")] {
        let gains: Vec<(f64, &str)> = walls.iter().filter_map(|s| Some((s.gain(base)?, s.name.as_str()))).collect();
        let Some((least, scene)) = gains.iter().min_by(|p, q| p.0.total_cmp(&q.0)) else { continue };
        let mean = (gains.iter().map(|g| g.0.ln()).sum::<f64>() / gains.len() as f64).exp();
        let _ = writeln!(
            out,
            "\nOn the walls warm is {mean:.0} times as fast as {what} (geometric mean of {} scenes); least on {scene}: {least:.1}.",
            gains.len()
        );
    }
    out.push_str(
        "
A solve that finds its start good enough, which is what most steps of a standing wall come to, only reads the problem and
measures the start. That takes about a quarter to a third of a cold solve that needs one factorisation, so a warm start is
worth most where cold needs many: redundant contacts, coupled friction.
",
    );
}

/// Every step.
pub fn csv(all: &[Series]) -> String {
    let mut out = String::from("scene,step,n,solver,seconds,energy_error_J,required_J,solved,hash\n");
    for s in all {
        for (k, h) in s.heats.iter().enumerate() {
            for e in &h.entries {
                let name = FIELD[e.contestant].name.replace(',', "");
                let line = |a: &Attempt| {
                    let (solved, required) = (u8::from(a.energy <= h.required), h.required);
                    format!("{:.9},{:.3e},{required:.3e},{solved},{:016x}", a.seconds, a.energy, a.hash)
                };
                let text = e.attempts.first().map_or(format!(",inf,{:.3e},0,", h.required), line);
                let _ = writeln!(out, "{},{},{},{name},{text}", s.name, k + 1, h.n);
            }
        }
    }
    out
}
