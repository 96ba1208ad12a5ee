//! Friction problems in Siconos' own text format, as its `frictionContact_printInFilename` and its global sister write
//! them: numbers between white space, and FCLIB's problems in all but name.
//!
//! ```text
//! local    dimension contacts W q mu              u = W r + q
//! global   dimension contacts M H f w mu          M v = H r + f,  u = Hᵀ v + w
//! matrix   storage rows columns, then by storage
//!   0      rows columns, all entries by columns
//!   1      blocks, block rows, block columns; where block rows and columns end; two lengths, where the blocks of each
//!          row begin, the column of each block; each block's number and its entries by columns
//!   2      origin, a line about CSparse, a line with the sizes, and the entries as CSparse lists them
//! ```

use super::fclib::{Fclib, FclibEquations, FclibMatrix};
use super::source::Found;

/// Read and check a file's problem. Errors are the end of a sentence.
pub(super) fn read(text: &str) -> Found<Fclib> {
    let mut scan = Scan { rest: text, most: text.len() };
    let dimension = match scan.count("dimension")? {
        d @ (2 | 3) => d,
        d => return Err(format!("has the dimension {d}, not 2 or 3")),
    };
    let contacts = scan.count("number of contacts")?;
    let rows = contacts.checked_mul(dimension).ok_or("has too many contacts")?;
    let m = scan.matrix("first matrix")?;
    if m.rows != m.columns {
        return Err(format!("has a first matrix of {} by {} entries, it must be square", m.rows, m.columns));
    }
    // Nothing names the kind. A global problem has a second matrix where a local one has q.
    let mut ahead = scan;
    let second = ahead.matrix("second matrix").and_then(|h| match (h.rows, h.columns) == (m.rows, rows) {
        true => Ok(h),
        false => Err(format!("has a second matrix of {} by {}, expected {} by {rows}", h.rows, h.columns, m.rows)),
    });
    let (equations, mut scan) = match second {
        Ok(h) => {
            let (f, w) = (ahead.numbers("f", m.rows)?, ahead.numbers("w", rows)?);
            (FclibEquations::Global { m, h, f, w, equalities: None }, ahead)
        }
        Err(_) if m.rows == rows => {
            (FclibEquations::Local { q: scan.numbers("q", rows)?, w: m, equalities: None }, scan)
        }
        Err(e) => return Err(e),
    };
    let mu = scan.numbers("mu", contacts)?;
    if let Some(k) = mu.iter().position(|m| *m < 0.0) {
        return Err(format!("has {} for mu[{k}], which must be >= 0", mu[k]));
    }
    let info = ["read from Siconos' text format".to_string(), String::new(), String::new()];
    Ok(Fclib { dimension, equations, mu, info, solution: None, guesses: Vec::new() })
}

/// What is left of a text. Nothing is believed to be larger than the text is long, so that no number takes memory.
#[derive(Clone, Copy)]
struct Scan<'a> {
    rest: &'a str,
    most: usize,
}

impl<'a> Scan<'a> {
    fn word(&mut self) -> Found<&'a str> {
        let rest = self.rest.trim_start();
        let (word, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        self.rest = rest;
        match word {
            "" => Err("ends too early".to_string()),
            word => Ok(word),
        }
    }

    fn line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line
    }

    /// A size, or a place.
    fn count(&mut self, what: &str) -> Found<usize> {
        let word = self.word()?;
        let found = word.parse::<usize>().map_err(|_| format!("has '{}' for a {what}", shown(word)))?;
        match found <= self.most {
            true => Ok(found),
            false => Err(format!("has {found} for a {what}, more than its text can mean")),
        }
    }

    fn below(&mut self, what: &str, most: usize) -> Found<usize> {
        match self.count(what)? {
            k if k < most => Ok(k),
            k => Err(format!("has {k} for a {what}, it must be below {most}")),
        }
    }

    fn number(&mut self) -> Found<f64> {
        let word = self.word()?;
        match word.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!("has '{}' for a number", shown(word))),
        }
    }

    fn numbers(&mut self, what: &str, n: usize) -> Found<Vec<f64>> {
        (0..n).map(|_| self.number()).collect::<Found<_>>().map_err(|e| format!("{e} in {what}"))
    }

    fn counts(&mut self, what: &str, n: usize) -> Found<Vec<usize>> {
        (0..n).map(|_| self.count(what)).collect()
    }

    /// A word that must be there.
    fn expect(&mut self, expected: &str) -> Found<()> {
        match self.word()? {
            word if word == expected => Ok(()),
            word => Err(format!("has '{}' where '{expected}' should be", shown(word))),
        }
    }

    fn matrix(&mut self, what: &str) -> Found<FclibMatrix> {
        let says = |e: String| format!("{e} in its {what}");
        let storage = self.count("storage").map_err(says)?;
        let (rows, columns) = (self.count("number of rows")?, self.count("number of columns")?);
        let entries = match storage {
            0 => self.dense(rows, columns),
            1 => self.blocks(rows, columns),
            2 => self.listing(rows, columns),
            s => Err(format!("has the storage {s}, which names none")),
        };
        Ok(FclibMatrix::from_entries(rows, columns, entries.map_err(says)?))
    }

    fn dense(&mut self, rows: usize, columns: usize) -> Found<Vec<(usize, usize, f64)>> {
        let again = (self.count("number of rows")?, self.count("number of columns")?);
        if again != (rows, columns) {
            return Err(format!("has {rows} by {columns}, then {} by {} entries", again.0, again.1));
        }
        let mut entries = Vec::new();
        self.block(0..rows, 0..columns, &mut entries)?;
        Ok(entries)
    }

    /// Entries by columns; zeros are left out.
    fn block(
        &mut self,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        entries: &mut Vec<(usize, usize, f64)>,
    ) -> Found<()> {
        for j in columns {
            for i in rows.clone() {
                let x = self.number()?;
                if x != 0.0 {
                    entries.push((i, j, x));
                }
            }
        }
        Ok(())
    }

    fn blocks(&mut self, rows: usize, columns: usize) -> Found<Vec<(usize, usize, f64)>> {
        let (count, down, across) = (self.count("block")?, self.count("block row")?, self.count("block column")?);
        let row_ends = self.ends(down, rows)?;
        let column_ends = self.ends(across, columns)?;
        let (pointers, indices) = (self.count("number of pointers")?, self.count("number of blocks")?);
        if (pointers, indices) != (down + 1, count) {
            return Err(format!("has {pointers} pointers to {indices} blocks, expected {} to {count}", down + 1));
        }
        let begins = self.counts("pointer", pointers)?;
        if begins[0] != 0 || begins[down] != count || begins.windows(2).any(|w| w[0] > w[1]) {
            return Err(format!("has pointers that do not rise from 0 to {count}"));
        }
        let places: Vec<usize> = (0..count).map(|_| self.below("block column", across)).collect::<Found<_>>()?;
        let mut entries = Vec::new();
        for row in 0..down {
            for k in begins[row]..begins[row + 1] {
                if self.count("block")? != k {
                    return Err(format!("has no block {k} where it should be"));
                }
                let column = places[k];
                let (from, to) = (row_ends[row]..row_ends[row + 1], column_ends[column]..column_ends[column + 1]);
                self.block(from, to, &mut entries)?;
            }
        }
        Ok(entries)
    }

    /// 0, and where each of so many blocks ends.
    fn ends(&mut self, blocks: usize, last: usize) -> Found<Vec<usize>> {
        let mut ends = vec![0];
        ends.extend(self.counts("block's end", blocks)?);
        match ends.windows(2).all(|w| w[0] <= w[1]) && ends[blocks] == last {
            true => Ok(ends),
            false => Err(format!("has blocks that do not end at {last}")),
        }
    }

    fn listing(&mut self, rows: usize, columns: usize) -> Found<Vec<(usize, usize, f64)>> {
        self.count("origin")?;
        self.line();
        self.line();
        // "triplet: m-by-n, nzmax: k nnz: k" or "m-by-n, nzmax: k nnz: k, 1-norm: x", by rows with "csr" before it.
        let line = self.line().replace([',', ':'], " ");
        let mut words = line.split_whitespace().peekable();
        let kind = words.next_if(|w| ["triplet", "csr"].contains(w)).unwrap_or("csc");
        if words.next() != Some(&format!("{rows}-by-{columns}")) {
            return Err(format!("has no {rows}-by-{columns} in its list's first line"));
        }
        let mut entries = Vec::new();
        if kind == "triplet" {
            let count = words.skip_while(|w| *w != "nnz").nth(1).and_then(|n| n.parse::<usize>().ok());
            for _ in 0..count.ok_or("has no number of entries in its list's first line")? {
                let (i, j) = (self.below("row", rows)?, self.below("column", columns)?);
                self.expect(":")?;
                entries.push((i, j, self.number()?));
            }
            return Ok(entries);
        }
        let (majors, minors) = if kind == "csr" { (rows, columns) } else { (columns, rows) };
        for major in 0..majors {
            // "col 3 : locations 9 to 11": entries 9, 10, 11.
            self.word()?;
            if self.count("column")? != major {
                return Err(format!("has no list of column {major} where it should be"));
            }
            self.expect(":")?;
            self.expect("locations")?;
            let begin = self.count("location")?;
            self.expect("to")?;
            let word = self.word()?;
            let last: i64 = word.parse().map_err(|_| format!("has '{}' for a location", shown(word)))?;
            for _ in begin as i64..=last {
                let minor = self.below("place", minors)?;
                self.expect(":")?;
                let x = self.number()?;
                entries.push(if kind == "csr" { (major, minor, x) } else { (minor, major, x) });
            }
        }
        Ok(entries)
    }
}

/// A word as far as it fits into a sentence.
fn shown(word: &str) -> String {
    word.chars().take(20).filter(|c| !c.is_control()).collect()
}
