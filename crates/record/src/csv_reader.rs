//! Reading comma-separated values into a table.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::table::{Series, Table, Values};

/// Why a CSV file was not read.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path as it was given.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The content is not a table of numbers over time.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The path as it was given.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// Reads comma-separated values: names in the first line, the time in the first column; see
/// [`parse_csv`].
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

/// Reads comma-separated values (RFC 4180; lines may end in a line feed alone, a byte-order mark
/// is skipped); `path` names them in errors.
///
/// Times never decrease. Numbers are decimal or `NaN`, `inf`, `-inf`; `true` and `false` are read
/// as 1 and 0. A column whose cells are all quoted, and not all numbers, is a column of text.
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

/// The line, and what is wrong with it.
type Wrong = (usize, String);

fn read_table(bytes: &[u8]) -> Result<Table, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (1 + count_lines(before), "this is not UTF-8 text".to_owned())
    })?;
    let mut fields = Fields::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut builders = read_names(&mut fields)?;
    let mut time = Vec::new();
    while !fields.at_end() {
        let line = fields.line;
        read_row(&mut fields, &mut builders).map_err(|message| (line, message))?;
        let now = builders[0].numbers.last().copied().unwrap_or(f64::NAN);
        check_time(now, time.last()).map_err(|message| (line, message))?;
        time.push(now);
    }
    let series = builders.into_iter().skip(1).map(Builder::finish).collect();
    Ok(Table { time, series })
}

fn check_time(now: f64, last: Option<&f64>) -> Result<(), String> {
    if !now.is_finite() {
        return Err("the first column must be the time, a finite number".to_owned());
    }
    match last {
        Some(last) if now < *last => Err(format!(
            "the time {now} comes after {last}; times must not decrease"
        )),
        _ => Ok(()),
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn read_names(fields: &mut Fields<'_>) -> Result<Vec<Builder>, Wrong> {
    if fields.at_end() {
        return Err((
            1,
            "the file is empty; its first line must name the columns".to_owned(),
        ));
    }
    let mut builders = Vec::new();
    let mut seen = BTreeSet::new();
    loop {
        let field = fields.next().map_err(|message| (1, message))?;
        let name = if field.quoted {
            &field.text
        } else {
            field.text.trim()
        }
        .to_owned();
        if !seen.insert(name.clone()) {
            return Err((1, format!("there are two columns `{name}`")));
        }
        builders.push(Builder::new(name));
        if field.last {
            break;
        }
    }
    if builders.len() == 1 && builders[0].name.contains([';', '\t']) {
        return Err((1, "columns must be separated by commas".to_owned()));
    }
    Ok(builders)
}

fn read_row(fields: &mut Fields<'_>, builders: &mut [Builder]) -> Result<(), String> {
    let expected = builders.len();
    let mut found = 0;
    loop {
        let field = fields.next()?;
        let last = field.last;
        if let Some(builder) = builders.get_mut(found) {
            builder.push(field)?;
        }
        found += 1;
        if last {
            break;
        }
    }
    if found == expected {
        return Ok(());
    }
    let cut = if fields.at_end() {
        "; was the file cut off?"
    } else {
        ""
    };
    Err(format!("{found} cells for {expected} columns{cut}"))
}

/// A cell of the file.
struct Field<'a> {
    text: Cow<'a, str>,
    quoted: bool,
    /// Whether it ends its line.
    last: bool,
}

/// Walks over the cells of a text.
struct Fields<'a> {
    rest: &'a str,
    /// Line of `rest`.
    line: usize,
}

impl<'a> Fields<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
        }
    }

    /// Whether only empty lines are left.
    fn at_end(&self) -> bool {
        self.rest.bytes().all(|byte| byte == b'\n' || byte == b'\r')
    }

    fn next(&mut self) -> Result<Field<'a>, String> {
        if let Some(rest) = self.rest.strip_prefix('"') {
            return self.quoted(rest);
        }
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        let last = self.separator();
        let text = if last {
            text.strip_suffix('\r').unwrap_or(text)
        } else {
            text
        };
        Ok(Field {
            text: Cow::Borrowed(text),
            quoted: false,
            last,
        })
    }

    /// A cell whose opening quote is before `rest`.
    fn quoted(&mut self, mut rest: &'a str) -> Result<Field<'a>, String> {
        let mut text = Cow::Borrowed("");
        loop {
            let Some((part, after)) = rest.split_once('"') else {
                return Err("a double quote is not closed".to_owned());
            };
            self.line += count_lines(part.as_bytes());
            text += part;
            rest = after;
            match rest.strip_prefix('"') {
                Some(after) => rest = after,
                None => break,
            }
            text += "\"";
        }
        self.rest = rest.strip_prefix('\r').unwrap_or(rest);
        if !matches!(self.rest.bytes().next(), None | Some(b',' | b'\n')) {
            return Err(
                "text follows a closing double quote; quotes within are doubled".to_owned(),
            );
        }
        let last = self.separator();
        Ok(Field {
            text,
            quoted: true,
            last,
        })
    }

    /// Steps over a comma or the end of the line; true if it was the latter.
    fn separator(&mut self) -> bool {
        if let Some(rest) = self.rest.strip_prefix(',') {
            self.rest = rest;
            return false;
        }
        if let Some(rest) = self.rest.strip_prefix('\n') {
            self.rest = rest;
            self.line += 1;
        }
        true
    }
}

/// A column while it is read.
struct Builder {
    name: String,
    numbers: Vec<f64>,
    /// The cells as they stand in the file, as long as all of them were quoted.
    texts: Vec<String>,
    is_text: bool,
}

impl Builder {
    fn new(name: String) -> Self {
        Self {
            name,
            numbers: Vec::new(),
            texts: Vec::new(),
            is_text: false,
        }
    }

    fn push(&mut self, field: Field<'_>) -> Result<(), String> {
        let number = parse_number(&field.text);
        let may_be_text = field.quoted && self.texts.len() == self.numbers.len();
        if number.is_none() && !may_be_text || self.is_text && !field.quoted {
            return Err(self.not_a_number(&field));
        }
        self.is_text |= number.is_none();
        self.numbers.push(number.unwrap_or(f64::NAN));
        if may_be_text {
            self.texts.push(field.text.into_owned());
        } else {
            self.texts = Vec::new();
        }
        Ok(())
    }

    fn not_a_number(&self, field: &Field<'_>) -> String {
        let (name, text) = (&self.name, &field.text);
        if text.trim().is_empty() {
            return format!("a cell of column `{name}` is empty");
        }
        format!(
            "`{text}` in column `{name}` is not a number; every cell of a text column is quoted"
        )
    }

    fn finish(self) -> Series {
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

/// Numbers as C and Rust write them; words of boolean columns count as 1 and 0.
fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    is("true")
        .then_some(1.0)
        .or_else(|| is("false").then_some(0.0))
}
