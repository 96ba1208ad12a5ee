//! Files that are not trusted: every size is compared with what its neighbours imply and with the length of the file
//! before anything is read. Nothing here walks a tree, so a group that contains itself does no harm.

use crate::error::{Error, Status};
use hdf5_pure::{AttrValue, Dataset, File, Group};
use std::io::Read;
use std::path::Path;

/// Larger files are refused.
const MOST_FILE_BYTES: u64 = 64 << 30;

/// Smaller files are read into memory at once, which is several times faster than piece by piece.
const WHOLE_FILE_BYTES: u64 = 256 << 20;

/// No array of a step that a solver can treat is larger.
const MOST_ARRAY_BYTES: u64 = 1 << 30;

/// Deflate cannot shrink data by more than this; a filtered array that claims more is a lie.
const MOST_COMPRESSION: u64 = 1032;

/// The end of a sentence that begins with the file's name.
pub(super) type Found<T> = std::result::Result<T, String>;

/// An open file.
pub(super) enum Opened {
    /// HDF5: its root group.
    Hdf5(Fields),
    /// Numbers as text.
    Text(String),
}

/// Open a file, if it is one.
pub(super) fn open(path: &Path) -> Found<Opened> {
    let found = std::fs::metadata(path).map_err(|e| format!("cannot be opened: {e}"))?;
    let bytes = found.len();
    if !found.is_file() {
        return Err("is not a file".into());
    }
    if bytes == 0 {
        return Err("is empty, not an HDF5 file".into());
    }
    if bytes > MOST_FILE_BYTES {
        return Err(format!("has {bytes} bytes, more than the {MOST_FILE_BYTES} that are read"));
    }
    if bytes <= WHOLE_FILE_BYTES && is_text(path) {
        let text = std::fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
        return String::from_utf8(text).map(Opened::Text).map_err(|_| "is neither HDF5 nor a text".into());
    }
    let opened = if bytes > WHOLE_FILE_BYTES { File::open_streaming(path) } else { File::open(path) };
    let file = opened.map_err(|e| format!("cannot be read as HDF5: {e}"))?;
    // The reader opens a truncated file and would fail in the middle of it, or not at all.
    let end = file.superblock().eof_address;
    if end > bytes {
        return Err(format!("is truncated: it has {bytes} of its {end} bytes"));
    }
    Ok(Opened::Hdf5(Fields { group: file.root(), bytes }))
}

fn is_text(path: &Path) -> bool {
    let mut beginning = [0; 64];
    let read = std::fs::File::open(path).and_then(|mut f| f.read(&mut beginning));
    read.is_ok_and(|n| beginning[..n].trim_ascii_start().first().is_some_and(u8::is_ascii_digit))
}

/// The name of a file as far as it fits into a sentence.
pub(super) fn short_name(path: &Path) -> String {
    const MOST: usize = 60;
    let shown = path.display().to_string();
    let letters = shown.chars().count();
    match letters > MOST {
        true => format!("…{}", shown.chars().skip(letters - MOST).collect::<String>()),
        false => shown,
    }
}

/// A refusal that names the file.
pub(super) fn refuse(name: &str, what: &str) -> Error {
    // Texts from elsewhere may have several lines; a sentence has one.
    let words: Vec<&str> = what.split_whitespace().collect();
    Error::new(Status::File, format_args!("{name}: {}", words.join(" ")))
}

fn as_number(value: &AttrValue) -> Option<f64> {
    match *value {
        AttrValue::F64(v) => Some(v),
        AttrValue::F32(v) => Some(f64::from(v)),
        AttrValue::I64(v) => Some(v as f64),
        AttrValue::I32(v) => Some(f64::from(v)),
        AttrValue::I8(v) => Some(f64::from(v)),
        AttrValue::U8(v) => Some(f64::from(v)),
        AttrValue::U32(v) => Some(f64::from(v)),
        AttrValue::U64(v) => Some(v as f64),
        _ => None,
    }
}

/// The members of one group.
#[derive(Clone)]
pub(super) struct Fields {
    group: Group,
    bytes: u64,
}

impl Fields {
    /// The subgroups, sorted by name.
    pub fn groups(&self) -> Found<Vec<(String, Fields)>> {
        let found = self.group.iter_groups().map_err(|e| format!("cannot be listed: {e}"))?;
        let mut groups: Vec<_> = found.map(|(name, group)| (name, Fields { group, bytes: self.bytes })).collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
        groups.dedup_by(|a, b| a.0 == b.0);
        Ok(groups)
    }

    /// Names of the datasets here.
    pub fn datasets(&self) -> Found<Vec<String>> {
        self.group.datasets().map_err(|e| format!("cannot be listed: {e}"))
    }

    /// A number attribute of a dataset, if there is one.
    pub fn dataset_number(&self, field: &str, name: &str) -> Option<f64> {
        as_number(&self.group.dataset(field).ok()?.attrs().ok()?.remove(name)?)
    }

    /// A subgroup, if there is one.
    pub fn group(&self, path: &str) -> Option<Fields> {
        self.group.group(path).ok().map(|group| Fields { group, bytes: self.bytes })
    }

    /// Is there a dataset of this path?
    pub fn has(&self, path: &str) -> bool {
        self.group.dataset(path).is_ok()
    }

    /// A text attribute, if there is one.
    pub fn text(&self, name: &str) -> Found<Option<String>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(
                AttrValue::String(s)
                | AttrValue::StringSized { value: s, .. }
                | AttrValue::AsciiString(s)
                | AttrValue::AsciiStringSized { value: s, .. }
                | AttrValue::VarLenString(s)
                | AttrValue::VarLenAsciiString(s),
            ) => Ok(Some(s)),
            Some(_) => Err(format!("attribute {name} is not a text")),
        }
    }

    /// A number attribute, if there is one.
    pub fn number(&self, name: &str) -> Found<Option<f64>> {
        match self.attribute(name)? {
            None => Ok(None),
            Some(value) => as_number(&value).map(Some).ok_or_else(|| format!("attribute {name} is not a number")),
        }
    }

    fn attribute(&self, name: &str) -> Found<Option<AttrValue>> {
        Ok(self.group.attrs().map_err(|e| format!("attributes cannot be read: {e}"))?.remove(name))
    }

    /// A dataset that may be read: its size fits its neighbours, the file and memory.
    fn dataset(&self, field: &str, expected: Option<usize>) -> Found<(Dataset, usize)> {
        let wrong = |e: hdf5_pure::Error| format!("{field} cannot be read: {e}");
        let dataset = self.group.dataset(field).map_err(wrong)?;
        let shape = dataset.shape().map_err(wrong)?;
        let count = shape.iter().try_fold(1u64, |product, &d| product.checked_mul(d));
        let bytes = count.and_then(|c| c.checked_mul(dataset.element_size().ok()?.max(8)));
        let (Some(count), Some(bytes)) = (count, bytes) else {
            return Err(format!("{field} claims the shape {shape:?}, which overflows"));
        };
        if let Some(expected) = expected.filter(|&e| e as u64 != count) {
            return Err(format!("{field} has {count} entries, expected {expected}"));
        }
        // Numbers of 1 to 4 bytes are read as 8, and filters compress.
        let packed = if dataset.is_chunked() { MOST_COMPRESSION } else { 8 };
        if bytes > MOST_ARRAY_BYTES || bytes / packed > self.bytes {
            return Err(format!("{field} claims {count} entries, more than a file of {} bytes can hold", self.bytes));
        }
        Ok((dataset, count as usize))
    }

    /// Doubles; `expected` many, if it is known how many there must be.
    pub fn doubles(&self, field: &str, expected: Option<usize>) -> Found<Vec<f64>> {
        let (dataset, count) = self.dataset(field, expected)?;
        let values = dataset.read_f64().map_err(|e| format!("{field} cannot be read as numbers: {e}"))?;
        match values.len() == count {
            true => Ok(values),
            false => Err(format!("{field} has {} entries, its shape says {count}", values.len())),
        }
    }

    /// Doubles that may be absent.
    pub fn optional(&self, field: &str, expected: usize) -> Found<Option<Vec<f64>>> {
        match self.has(field) {
            true => self.doubles(field, Some(expected)).map(Some),
            false => Ok(None),
        }
    }

    /// A single double.
    pub fn scalar(&self, field: &str) -> Found<f64> {
        Ok(self.doubles(field, Some(1))?[0])
    }

    /// Integers of any width that fit 32 bits.
    pub fn integers(&self, field: &str, expected: Option<usize>) -> Found<Vec<i32>> {
        // 64-bit offsets are common in files and are not wrapped around here.
        let (dataset, count) = self.dataset(field, expected)?;
        let wide = dataset.read_i64().map_err(|e| format!("{field} cannot be read as integers: {e}"))?;
        if wide.len() != count {
            return Err(format!("{field} has {} entries, its shape says {count}", wide.len()));
        }
        let narrow = |(i, v): (usize, i64)| i32::try_from(v).map_err(|_| format!("{field}[{i}] is {v}, out of range"));
        wide.into_iter().enumerate().map(narrow).collect()
    }

    /// A text of at most `most` bytes.
    pub fn string(&self, field: &str, most: u64) -> Found<String> {
        let wrong = |e: hdf5_pure::Error| format!("{field} cannot be read: {e}");
        let (dataset, _) = self.dataset(field, Some(1))?;
        match dataset.element_size().map_err(wrong)? {
            size if size > most => Err(format!("{field} has {size} bytes, more than {most}")),
            _ => Ok(dataset.read_string().map_err(wrong)?.pop().unwrap_or_default()),
        }
    }
}
