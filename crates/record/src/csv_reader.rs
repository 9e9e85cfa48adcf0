//! Reading comma-separated values into a table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use csv::StringRecord;

use crate::table::{Series, Table, Values};

/// Why a CSV file was not read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The content is not a table of numbers over time.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The path as it was given.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The error, and how to correct it.
        message: String,
    },
}

/// Reads comma-separated values: names in the first line, the time in the column `time` or else in
/// the first; see [`parse_csv`].
///
/// # Errors
///
/// [`CsvError`] with the line.
pub fn read_csv(path: &Path) -> Result<Table, CsvError> {
    let bytes = std::fs::read(path).map_err(|source| CsvError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse_csv(&bytes, path)
}

/// Reads comma-separated values (RFC 4180; lines may end in a line feed alone; a byte-order mark,
/// empty lines and spaces around cells are skipped); `path` names them in errors.
///
/// Times never decrease. Numbers are decimal or `NaN`, `inf`, `-inf`; `true` and `false` are read
/// as 1 and 0. A column is text if all its cells are quoted and one is no number, or if its first
/// cell is not empty, not quoted and not a number.
///
/// Results of Ecos get the names that its systems and ours have: the column `a::x[REAL]` is read
/// as `a.x`, and the count of iterations before the time is left out.
///
/// # Errors
///
/// [`CsvError::Content`] with the line.
pub fn parse_csv(bytes: &[u8], path: &Path) -> Result<Table, CsvError> {
    read_table(bytes).map_err(|(line, message)| CsvError::Content {
        path: path.to_owned(),
        line,
        message,
    })
}

/// Line and column, both from 1, of the cell that holds a value: that of `row`, from 0, in the column that is read
/// as `name`. The column counts characters. `None` where the file is no CSV file that can be read again.
#[must_use]
pub fn place_of_cell(path: &Path, name: &str, row: usize) -> Option<(usize, usize)> {
    if !path.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let mut rows = Rows::new(text.strip_prefix('\u{feff}').unwrap_or(&text));
    let names = read_names(&mut rows).ok()?;
    let is_of_ecos = is_of_ecos(&names);
    let mut known = names.into_iter();
    let cell = known.position(|known| Builder::new(known, is_of_ecos).name == name)?;
    for _ in 0..=row {
        rows.next().ok().filter(|is_row| *is_row)?;
    }
    rows.place(cell)
}

pub(crate) const NOT_TEXT: &str = "this is not UTF-8 text; `iconv -f LATIN1 -t UTF-8 FILE > NEW.csv` converts it, with its encoding in place of LATIN1";

/// The line and its error.
pub(crate) type Wrong = (usize, String);

fn read_table(bytes: &[u8]) -> Result<Table, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (1 + count_lines(before), NOT_TEXT.to_owned())
    })?;
    let mut rows = Rows::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let names = read_names(&mut rows)?;
    let is_of_ecos = is_of_ecos(&names);
    let of_time = names.iter().position(|name| name == "time").unwrap_or(0);
    let builders = names.into_iter().map(|name| Builder::new(name, is_of_ecos));
    let mut builders: Vec<Builder> = builders.collect();
    let mut time = Vec::new();
    while rows.next()? {
        let fail = |message| (rows.line, message);
        read_row(&rows, &mut builders).map_err(fail)?;
        let now = builders[of_time].numbers.last().copied();
        let now = now.unwrap_or(f64::NAN);
        check_time(now, time.last()).map_err(fail)?;
        time.push(now);
    }
    builders.remove(of_time);
    let series = builders.into_iter().map(Builder::finish).collect();
    let mut table = Table { time, series };
    if is_of_ecos {
        table.series.remove(0);
    }
    Ok(table)
}

pub(crate) fn is_of_ecos(names: &[String]) -> bool {
    names.iter().take(2).eq(["iterations", "time"])
}

pub(crate) fn check_time(now: f64, last: Option<&f64>) -> Result<(), String> {
    match last {
        _ if !now.is_finite() => Err("the time is not a finite number".to_owned()),
        Some(last) if now < *last => Err(format!(
            "the time {now} comes after {last}; times must not decrease"
        )),
        _ => Ok(()),
    }
}

pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Walks over the rows of a text.
pub(crate) struct Rows<'a> {
    text: &'a str,
    reader: csv::Reader<&'a [u8]>,
    record: StringRecord,
    /// Whether each cell of the row stands in quotes.
    quoted: Vec<bool>,
    /// Line of the row.
    pub(crate) line: usize,
    /// The row as it stands in the text.
    row: &'a str,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut builder = csv::ReaderBuilder::new();
        let builder = builder.has_headers(false).flexible(true);
        Self {
            text,
            reader: builder.from_reader(text.as_bytes()),
            record: StringRecord::new(),
            quoted: Vec::new(),
            line: 1,
            row: "",
        }
    }

    /// Goes to the next row. False if there is none.
    pub(crate) fn next(&mut self) -> Result<bool, Wrong> {
        let position = self.reader.position().clone();
        let place = |position: &csv::Position| usize::try_from(position.byte()).unwrap_or(0);
        let is_row = self.reader.read_record(&mut self.record);
        let is_row = is_row.map_err(|error| (self.line, error.to_string()))?;
        if !is_row {
            return Ok(false);
        }
        let raw = &self.text[place(&position)..place(self.reader.position())];
        let row = raw.trim_start_matches(['\r', '\n']);
        let empty_lines = count_lines(&raw.as_bytes()[..raw.len() - row.len()]);
        self.line = usize::try_from(position.line()).unwrap_or(0) + empty_lines;
        self.row = row;
        self.find_quotes(row)
            .map_err(|message| (self.line, message.to_owned()))?;
        Ok(true)
    }

    /// Finds the cells in quotes: the `csv` crate does not report them, and accepts misplaced quotes.
    fn find_quotes(&mut self, mut row: &str) -> Result<(), &'static str> {
        self.quoted.clear();
        for cell in &self.record {
            let is_quoted = row.starts_with('"');
            let quotes = if is_quoted {
                2 + cell.matches('"').count()
            } else {
                0
            };
            let Some((raw, rest)) = row.split_at_checked(cell.len() + quotes) else {
                return Err("a double quote is not closed");
            };
            let is_end = rest.is_empty() || rest.starts_with([',', '\r', '\n']);
            if !is_end || is_quoted && !raw.ends_with('"') {
                return Err("text follows a closing double quote; quotes within are doubled");
            }
            self.quoted.push(is_quoted);
            row = rest.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    /// The cells, and whether they stand in quotes; without the spaces around those that do not.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&str, bool)> {
        let cells = self.record.iter().zip(&self.quoted);
        cells.map(|(cell, quoted)| (if *quoted { cell } else { cell.trim() }, *quoted))
    }

    /// Line and column of the first character of a cell.
    fn place(&self, cell: usize) -> Option<(usize, usize)> {
        let mut start = 0;
        for (before, is_quoted) in self.record.iter().zip(&self.quoted).take(cell) {
            let quotes = match is_quoted {
                true => 2 + before.matches('"').count(),
                false => 0,
            };
            start += before.len() + quotes + 1;
        }
        let before = self.row.get(..start)?;
        let of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.line + count_lines(before.as_bytes());
        Some((line, 1 + before[of_line..].chars().count()))
    }

    fn is_last(&self) -> bool {
        let end = usize::try_from(self.reader.position().byte()).unwrap_or(0);
        self.text[end..].trim_start_matches(['\r', '\n']).is_empty()
    }

    /// Refuses a row of another length than the names have; `may_be_cut` where the text ends with the file.
    pub(crate) fn check_length(&self, expected: usize, may_be_cut: bool) -> Result<(), String> {
        let found = self.record.len();
        if found == expected {
            return Ok(());
        }
        let is_cut = may_be_cut && found < expected && self.is_last();
        let cut = if is_cut {
            "; was the file cut off?"
        } else {
            ""
        };
        Err(format!("{found} cells for {expected} columns{cut}"))
    }
}

/// Refuses a header whose names other characters than commas separate.
pub(crate) fn check_separator(text: &str) -> Result<(), Wrong> {
    let header = text.trim_start_matches(['\r', '\n']);
    let line = 1 + count_lines(&text.as_bytes()[..text.len() - header.len()]);
    let header = header.lines().next().unwrap_or_default();
    let (separators, written) = match separator(header) {
        Some(';') => ("semicolons", ";"),
        Some('\t') => ("tabs", "\\t"),
        _ => return Ok(()),
    };
    // Where commas are not between the columns, they may be in the numbers.
    let message = format!(
        "{separators} separate the columns; write commas between them and points in the numbers, as \
         `tr ',{written}' '.,' < FILE > NEW.csv` does"
    );
    Err((line, message))
}

/// The character after the first name of a header, where it can be no other than a separator.
fn separator(header: &str) -> Option<char> {
    let (first, rest) = match header.strip_prefix('"') {
        Some(header) => header.split_once('"')?,
        None => header.split_at(header.find([',', ';', '\t'])?),
    };
    let is_certain = first.trim() == "time" || !header.contains(',');
    rest.chars().next().filter(|_| is_certain)
}

pub(crate) fn read_names(rows: &mut Rows<'_>) -> Result<Vec<String>, Wrong> {
    check_separator(rows.text)?;
    if !rows.next()? {
        let message = "the file is empty; its first line must name the columns";
        return Err((1, message.to_owned()));
    }
    let names: Vec<String> = rows.cells().map(|(name, _)| name.to_owned()).collect();
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        return Err((rows.line, format!("there are two columns `{name}`")));
    }
    Ok(names)
}

pub(crate) fn read_row(rows: &Rows<'_>, builders: &mut [Builder]) -> Result<(), String> {
    for ((cell, is_quoted), builder) in rows.cells().zip(builders.iter_mut()) {
        builder.push(cell, is_quoted)?;
    }
    rows.check_length(builders.len(), true)
}

/// A column while it is read.
pub(crate) struct Builder {
    name: String,
    numbers: Vec<f64>,
    /// The cells as they stand in the file, as long as the column may be text.
    texts: Vec<String>,
    /// Whether the cells need no quotes to be text.
    is_bare_text: bool,
    is_text: bool,
}

impl Builder {
    pub(crate) fn new(name: String, is_of_ecos: bool) -> Self {
        let (variable, of_type) = match name.rsplit_once('[') {
            Some((variable, of_type)) if is_of_ecos => (variable, of_type),
            _ => (name.as_str(), ""),
        };
        let name = match variable.split_once("::") {
            Some((component, variable)) if is_of_ecos => format!("{component}.{variable}"),
            _ => variable.to_owned(),
        };
        let is_bare_text = of_type == "STR]";
        Self {
            name,
            numbers: Vec::new(),
            texts: Vec::new(),
            is_bare_text,
            is_text: is_bare_text,
        }
    }

    fn push(&mut self, text: &str, is_quoted: bool) -> Result<(), String> {
        let number = parse_number(text);
        let is_bare = !is_quoted && number.is_none() && !text.is_empty();
        self.is_bare_text |= is_bare && self.numbers.is_empty();
        let may_be_text = self.is_bare_text || is_quoted && self.texts.len() == self.numbers.len();
        self.is_text |= number.is_none();
        if self.is_text && !may_be_text {
            return Err(not_a_number(&self.name, text));
        }
        self.numbers.push(number.unwrap_or(f64::NAN));
        if may_be_text {
            self.texts.push(text.to_owned());
        } else {
            self.texts = Vec::new();
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Series {
        let values = if self.is_text {
            Values::Text(self.texts)
        } else {
            Values::Numbers(self.numbers)
        };
        Series {
            name: self.name,
            values,
        }
    }
}

pub(crate) fn not_a_number(name: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return format!("a cell of column `{name}` is empty; write nan where a number is missing");
    }
    format!("`{text}` in column `{name}` is not a number; every cell of a text column is quoted")
}

/// Numbers as C and Rust write them; words of boolean columns count as 1 and 0.
pub(crate) fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    is("true")
        .then_some(1.0)
        .or_else(|| is("false").then_some(0.0))
}
