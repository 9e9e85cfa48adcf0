//! The rows of a text whose cells are separated by commas, semicolons or tabs.

use std::borrow::Cow;

use crate::heading::place_of_time;

/// The line and its error.
pub(crate) type Wrong = (usize, String);

/// How a file separates its cells and writes its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    /// The decimal mark, once a number has shown it.
    decimal: Option<u8>,
}

impl Dialect {
    /// Comma-separated values, as this program writes them.
    const COMMAS: Self = Self {
        separator: b',',
        decimal: Some(b'.'),
    };

    /// The dialect of a text that begins with a header: of the separators that leave a column of times, the first one;
    /// else the first one that the header contains.
    pub(crate) fn of(text: &str, time_column: Option<&str>) -> Self {
        let others = [b';', b'\t'].map(|separator| Self {
            separator,
            decimal: None,
        });
        let dialects = [Self::COMMAS, others[0], others[1]];
        let names = dialects.map(|dialect| {
            let mut rows = Rows::new(text, dialect.separator);
            let is_row = rows.next().is_ok_and(|is_row| is_row);
            let cells = rows.cells().map(|(name, _)| name.to_owned());
            if is_row { cells.collect() } else { Vec::new() }
        });
        let find = |fits: &dyn Fn(&[String]) -> bool| names.iter().position(|names| fits(names));
        let found = find(&|names| place_of_time(names, time_column).is_ok());
        let found = found.or_else(|| find(&|names| names.len() > 1));
        dialects[found.unwrap_or(0)]
    }

    /// A number as C and Rust write it; the words of Boolean columns are 1 and 0. If commas do not separate the
    /// cells, they may be decimal marks, in all numbers of the file or in none.
    pub(crate) fn number(&mut self, text: &str) -> Option<f64> {
        let text = text.trim();
        if self.separator != b',' {
            for (mark, other) in [(b'.', b','), (b',', b'.')] {
                if text.as_bytes().contains(&mark) {
                    let number = text.replacen(char::from(mark), ".", 1).parse().ok()?;
                    let is_other = self.decimal == Some(other);
                    self.decimal.get_or_insert(mark);
                    return Some(number).filter(|_| !is_other);
                }
            }
        }
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        let boolean = || {
            is("true")
                .then_some(1.0)
                .or_else(|| is("false").then_some(0.0))
        };
        text.parse().ok().or_else(boolean)
    }
}

/// The number in a cell of comma-separated values, in quotes or without them.
#[must_use]
pub fn number_of_cell(text: &str) -> Option<f64> {
    let mut dialect = Dialect::COMMAS;
    dialect.number(text)
}

pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Walks over the rows of a text.
pub(crate) struct Rows<'a> {
    text: &'a str,
    separator: u8,
    /// Start of the next cell or row.
    at: usize,
    /// Line of it.
    next_line: usize,
    /// Line of the row.
    pub(crate) line: usize,
    /// Start of the row.
    start: usize,
    cells: Vec<Cell<'a>>,
}

struct Cell<'a> {
    /// Without quotes, or without the spaces around it.
    text: Cow<'a, str>,
    is_quoted: bool,
    start: usize,
}

impl Cell<'_> {
    fn is_nothing(&self) -> bool {
        self.text.is_empty() && !self.is_quoted
    }
}

impl<'a> Rows<'a> {
    pub(crate) fn new(text: &'a str, separator: u8) -> Self {
        Self {
            text,
            separator,
            at: 0,
            next_line: 1,
            line: 1,
            start: 0,
            cells: Vec::new(),
        }
    }

    /// Goes to the next row that is not empty. False if there is none.
    pub(crate) fn next(&mut self) -> Result<bool, Wrong> {
        self.cells.clear();
        let rest = &self.text[self.at..];
        let row = rest.trim_start();
        // The line of the row may begin with spaces, or with an empty cell before a tab.
        let empty = &rest[..rest.len() - row.len()];
        let empty = empty.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        self.next_line += count_lines(&rest.as_bytes()[..empty]);
        self.at += empty;
        (self.line, self.start) = (self.next_line, self.at);
        if row.is_empty() {
            return Ok(false);
        }
        loop {
            let cell = self.cell()?;
            self.cells.push(cell);
            if self.text.as_bytes().get(self.at) != Some(&self.separator) {
                return Ok(true);
            }
            self.at += 1;
        }
    }

    /// Reads a cell, up to the separator or the end of the line after it.
    fn cell(&mut self) -> Result<Cell<'a>, Wrong> {
        let rest = &self.text[self.at..];
        let skip_spaces = |text: &str| text.len() - self.without_spaces(text).len();
        let spaces = skip_spaces(rest);
        let start = self.at + spaces;
        let Some(quoted) = rest[spaces..].strip_prefix('"') else {
            let is_end = |byte: &u8| *byte == self.separator || matches!(byte, b'\n' | b'\r');
            let length = rest.bytes().position(|byte| is_end(&byte));
            let length = length.unwrap_or(rest.len());
            self.at += length;
            return Ok(Cell {
                text: Cow::Borrowed(rest[..length].trim()),
                is_quoted: false,
                start,
            });
        };
        let length = length_of_quoted(quoted);
        let length = length.ok_or((self.line, "a double quote is not closed".to_owned()))?;
        let text = &quoted[..length];
        let end = start + length + 2;
        let end = end + skip_spaces(&self.text[end..]);
        let next = self.text.as_bytes().get(end);
        if next.is_some_and(|byte| *byte != self.separator && !matches!(byte, b'\n' | b'\r')) {
            let message = "text follows a closing double quote; quotes within are doubled";
            return Err((self.line, message.to_owned()));
        }
        self.at = end;
        self.next_line += count_lines(text.as_bytes());
        let text = match text.contains('"') {
            true => Cow::Owned(text.replace("\"\"", "\"")),
            false => Cow::Borrowed(text),
        };
        Ok(Cell {
            text,
            is_quoted: true,
            start,
        })
    }

    fn without_spaces<'t>(&self, text: &'t str) -> &'t str {
        text.trim_start_matches(|c| c == ' ' || c == '\t' && self.separator != b'\t')
    }

    pub(crate) fn separator(&self) -> u8 {
        self.separator
    }

    /// The cells, and whether they are quoted; without the spaces around unquoted ones.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&str, bool)> {
        let cells = self.cells.iter();
        cells.map(|cell| (&*cell.text, cell.is_quoted))
    }

    /// Leaves out what follows the last separators of a header: nothing.
    pub(crate) fn drop_trailing(&mut self) {
        while self.cells.len() > 1 && self.cells.last().is_some_and(Cell::is_nothing) {
            self.cells.pop();
        }
    }

    /// Line and column of the first character of a cell.
    pub(crate) fn place(&self, cell: usize) -> Option<(usize, usize)> {
        let before = &self.text[self.start..self.cells.get(cell)?.start];
        let of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.line + count_lines(before.as_bytes());
        Some((line, 1 + before[of_line..].chars().count()))
    }

    /// Refuses a row of another length than the names have, unless only separators follow; `may_be_cut` if the text
    /// ends with the file.
    pub(crate) fn check_length(&self, expected: usize, may_be_cut: bool) -> Result<(), String> {
        let found = self.cells.len();
        let rest = self.cells.get(expected..);
        if rest.is_some_and(|rest| rest.iter().all(Cell::is_nothing)) {
            return Ok(());
        }
        let is_last = self.text[self.at..].trim_start().is_empty();
        let is_cut = may_be_cut && found < expected && is_last;
        let cut = if is_cut {
            "; was the file cut off?"
        } else {
            ""
        };
        Err(format!("{found} cells for {expected} columns{cut}"))
    }
}

/// Length of a text up to the quote that closes it.
fn length_of_quoted(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let quote = at + text[at..].find('"')?;
        if text.as_bytes().get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}
