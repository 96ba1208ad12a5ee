//! What went wrong in a family, counted.

use mlcp_scenes::trial::{Form, Verdict};
use mlcp_scenes::{Family, Start};
use std::io::{self, Write};

/// Cases kept to be named; the counts go on.
const KEPT: usize = 1000;

/// One problem in one form.
#[derive(Clone, Debug)]
pub struct Case {
    /// The seed it is made of.
    pub seed: u64,
    /// How it was handed over.
    pub form: Form,
    /// Where the solve began.
    pub start: Start,
    /// No solution is known, and another solver alone found less than this one.
    pub beaten: bool,
    /// What was found.
    pub verdict: Verdict,
}

/// Counts of one family.
pub struct Tally {
    /// Which family.
    pub family: Family,
    /// Solves judged: problems times forms.
    pub solves: u64,
    unsolved: [u64; 4],
    falsely_converged: u64,
    outside: u64,
    worse: u64,
    beaten: u64,
    not_kept: u64,
    slowest: (f64, u64),
    /// Seconds from each kind of start, summed.
    by_start: [f64; Start::ALL.len()],
    /// Cases with anything wrong, the worst first once sorted.
    pub bad: Vec<Case>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(family: Family) -> Tally {
        Tally {
            family,
            solves: 0,
            unsolved: [0; 4],
            falsely_converged: 0,
            outside: 0,
            worse: 0,
            beaten: 0,
            not_kept: 0,
            slowest: (0.0, 0),
            by_start: [0.0; Start::ALL.len()],
            bad: Vec::new(),
        }
    }

    /// Count one more.
    pub fn add(&mut self, case: Case) {
        let v = &case.verdict;
        self.solves += 1;
        self.unsolved[case.form as usize] += u64::from(v.unsolved);
        self.falsely_converged += u64::from(v.falsely_converged);
        self.outside += u64::from(v.outside.is_some());
        self.worse += u64::from(v.worse_than_start);
        self.beaten += u64::from(case.beaten);
        self.not_kept += u64::from(v.start_not_kept);
        self.by_start[case.start as usize] += v.seconds;
        if v.seconds > self.slowest.0 {
            self.slowest = (v.seconds, case.seed);
        }
        if (v.is_bad() || case.beaten) && self.bad.len() < KEPT {
            self.bad.push(case);
        }
    }

    /// Count another thread's.
    pub fn merge(&mut self, other: Tally) {
        self.solves += other.solves;
        self.unsolved.iter_mut().zip(other.unsolved).for_each(|(mine, more)| *mine += more);
        self.falsely_converged += other.falsely_converged;
        self.outside += other.outside;
        self.worse += other.worse;
        self.beaten += other.beaten;
        self.not_kept += other.not_kept;
        self.by_start.iter_mut().zip(other.by_start).for_each(|(mine, more)| *mine += more);
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
        self.bad.extend(other.bad);
    }

    /// The unsolved first, then by error.
    pub fn sort(&mut self) {
        let key = |c: &Case| (c.verdict.unsolved, c.verdict.relative());
        self.bad.sort_by(|p, q| key(q).0.cmp(&key(p).0).then(key(q).1.total_cmp(&key(p).1)).then(p.seed.cmp(&q.seed)));
    }

    /// Was nothing wrong?
    pub fn is_clean(&self) -> bool {
        self.unsolved.iter().sum::<u64>()
            + self.falsely_converged
            + self.outside
            + self.worse
            + self.beaten
            + self.not_kept
            == 0
    }

    /// The start that takes longest in all, and its time over that of x = 0; a dash where only one kind was tried.
    fn slowest_start(&self) -> String {
        let cold = self.by_start[Start::Cold as usize];
        let others = Start::ALL.into_iter().filter(|&s| s != Start::Cold);
        let slowest = others.max_by(|&s, &t| self.by_start[s as usize].total_cmp(&self.by_start[t as usize]));
        match slowest.map(|s| (s, self.by_start[s as usize])) {
            Some((start, seconds)) if seconds > 0.0 && cold > 0.0 => format!("{} {:.2}", start.name(), seconds / cold),
            _ => "-".into(),
        }
    }

    fn cells(&self) -> [String; COLUMNS] {
        let unsolved: u64 = self.unsolved.iter().sum();
        let letters = "jcdl".chars().zip(self.unsolved).filter(|(_, count)| *count > 0);
        let by_form: Vec<String> = letters.map(|(letter, count)| format!("{letter} {count}")).collect();
        let mut worst: Vec<u64> = Vec::new();
        for case in &self.bad {
            if !worst.contains(&case.seed) && worst.len() < 4 {
                worst.push(case.seed);
            }
        }
        let mut seeds = worst.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        if seeds.is_empty() {
            seeds.push('-');
        }
        let unsolved = if unsolved == 0 { "0".into() } else { format!("{unsolved} ({})", by_form.join(", ")) };
        [
            self.family.name.to_string(),
            self.solves.to_string(),
            unsolved,
            self.falsely_converged.to_string(),
            self.outside.to_string(),
            self.worse.to_string(),
            self.beaten.to_string(),
            self.not_kept.to_string(),
            format!("{:.2} ({})", 1e3 * self.slowest.0, self.slowest.1),
            self.slowest_start(),
            seeds,
        ]
    }

    /// One line for the log.
    pub fn line(&self) -> String {
        let cells = self.cells();
        format!(
            "{}: {} solves, {} unsolved, {} falsely converged, {} outside, {} worse than the start, {} beaten, {} starts not kept",
            cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7]
        )
    }
}

const COLUMNS: usize = 11;

const HEADER: [&str; COLUMNS] = [
    "family",
    "solves",
    "unsolved",
    "false",
    "outside",
    "worse",
    "beaten",
    "not_kept",
    "slowest[ms] (seed)",
    "start/cold",
    "worst_seeds",
];

/// Write a line per family.
pub fn table(out: &mut impl Write, tallies: &[Tally]) -> io::Result<()> {
    let rows: Vec<[String; COLUMNS]> =
        std::iter::once(HEADER.map(String::from)).chain(tallies.iter().map(Tally::cells)).collect();
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    for row in &rows {
        let line: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
    }
    writeln!(
        out,
        "unsolved by form: j two-body rows, c compressed rows, d dense, l lower triangle; false: \"converged\" that is not; \
         worse: than the start or x = 0; beaten: no solution is known and another solver found less; not_kept: a converged answer as start is changed or takes iterations; \
         start/cold: the slowest kind of start and its time over that of x = 0, all problems together."
    )
}
