//! Reading comma-separated values into a table.

use std::collections::BTreeSet;
use std::path::Path;

use crate::csv_rows::{Dialect, Rows, Wrong, count_lines};
use crate::heading::{Heading, names_and_units, place_of_time};
use crate::read_error::CsvError;
use crate::table::{Series, Table, Values};

/// Reads comma-separated values: names in the first line, and a column `time` or `t`; see [`parse_csv`].
///
/// # Errors
///
/// [`CsvError`] with the line.
pub fn read_csv(path: &Path) -> Result<Table, CsvError> {
    read_csv_with(path, None)
}

/// As [`read_csv`], with the name of the column of the times.
pub(crate) fn read_csv_with(path: &Path, time_column: Option<&str>) -> Result<Table, CsvError> {
    let bytes = std::fs::read(path).map_err(|source| CsvError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes, path, time_column)
}

/// Reads comma-separated values (RFC 4180; lines may end in a line feed alone; a byte-order mark, empty lines, spaces
/// around cells and separators at the end of lines are skipped); `path` names them in errors. Semicolons or tabs may
/// separate the cells instead; numbers may have decimal commas then.
///
/// The times are in the column `time`, or else `t`, in any case of letters, with a unit of time in brackets or
/// without. They never decrease. A unit in brackets at the end of another name, `x [m]`, is not part of the name. Numbers
/// are decimal or `NaN`, `inf`, `-inf`; `true` and `false` are read as 1 and 0. A column is text if all its cells are
/// quoted, and one of them is not a number or the times and their heading are not quoted. It is also text if its first cell is not empty,
/// not quoted and not a number. A heading that is quoted without need, as others are not, is a name without a unit.
///
/// Results of Ecos get the names that its systems and ours have: the column `a::x[REAL]` is read
/// as `a.x`, and the count of iterations before the time is left out.
///
/// # Errors
///
/// [`CsvError::Content`] with the line.
pub fn parse_csv(bytes: &[u8], path: &Path) -> Result<Table, CsvError> {
    parse(bytes, path, None)
}

fn parse(bytes: &[u8], path: &Path, time_column: Option<&str>) -> Result<Table, CsvError> {
    read_table(bytes, time_column).map_err(|(line, message)| CsvError::Content {
        path: path.to_owned(),
        line,
        message,
    })
}

/// Line and column, both from 1, of the cell that holds a value: the value of `row`, from 0, in the column that is read
/// as `name`. The column counts characters. `None` if the file is not a CSV file that can be read again.
#[must_use]
pub fn place_of_cell(
    path: &Path,
    time_column: Option<&str>,
    name: &str,
    row: usize,
) -> Option<(usize, usize)> {
    if !path.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut rows = Rows::new(text, Dialect::of(text, time_column).separator);
    let builders = builders(&read_names(&mut rows).ok()?);
    let cell = builders.iter().position(|known| known.name == name)?;
    for _ in 0..=row {
        rows.next().ok().filter(|is_row| *is_row)?;
    }
    rows.place(cell)
}

pub(crate) const NOT_TEXT: &str = "this is not UTF-8 text; `iconv -f LATIN1 -t UTF-8 FILE > NEW.csv` converts it, with its encoding in place of LATIN1";

fn read_table(bytes: &[u8], time_column: Option<&str>) -> Result<Table, Wrong> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        (1 + count_lines(before), NOT_TEXT.to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut dialect = Dialect::of(text, time_column);
    let mut rows = Rows::new(text, dialect.separator);
    let names = read_names(&mut rows)?;
    let of_time = place_of_time(&names, time_column).map_err(|message| (rows.line, message))?;
    check_memory(text, names.len()).map_err(|message| (rows.line, message))?;
    let mut builders = builders(&names);
    let mut time = Vec::new();
    while rows.next()? {
        let fail = |message| (rows.line, message);
        read_row(&rows, &mut builders, &mut dialect).map_err(fail)?;
        let now = builders[of_time.place].numbers.last().copied();
        let now = of_time.seconds(now.unwrap_or(f64::NAN));
        check_time(now, time.last()).map_err(fail)?;
        time.push(now);
    }
    let is_time_quoted = names[of_time.place].is_quoted || builders[of_time.place].is_quoted;
    builders.remove(of_time.place);
    let series = builders.into_iter();
    let series = series
        .map(|builder| builder.finish(is_time_quoted))
        .collect();
    let mut table = Table { time, series };
    if is_of_ecos(&names) {
        table.series.remove(0);
    }
    Ok(table)
}

/// Refuses a table that does not fit into the memory, as under a limit of the address space: a cell without memory would
/// end the program.
fn check_memory(text: &str, columns: usize) -> Result<(), String> {
    /// Bytes of a cell while columns grow: a number has 8, a text 24 besides its letters, and room is doubled.
    const NUMBER: usize = 32;
    const TEXT: usize = 96;
    let cells = count_lines(text.as_bytes()).saturating_mul(columns);
    let bytes = cells.saturating_mul(if text.contains('"') { TEXT } else { NUMBER });
    let mut room: Vec<u8> = Vec::new();
    let reserved = room.try_reserve_exact(bytes);
    // Else the compiler may leave out the room, and with it the answer.
    std::hint::black_box(&room);
    reserved.map_err(|_| {
        format!(
            "there is no memory for its rows, about {} MiB; allow more (`ulimit -v`), or shorten the table",
            bytes >> 20
        )
    })
}

pub(crate) fn is_of_ecos(names: &[Heading]) -> bool {
    let first = names.iter().take(2).map(|name| name.text.as_str());
    first.eq(["iterations", "time"])
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

/// Reads the header.
pub(crate) fn read_names(rows: &mut Rows<'_>) -> Result<Vec<Heading>, Wrong> {
    if !rows.next()? {
        let message = "the file is empty; its first line must name the columns";
        return Err((1, message.to_owned()));
    }
    rows.drop_trailing();
    // Some programs put all headings into quotes.
    let quotes_all = rows.cells().all(|(_, is_quoted)| is_quoted);
    let needs_quotes = |name: &str| {
        name.trim() != name || name.contains(['"', '\n', '\r', char::from(rows.separator())])
    };
    let headings = rows.cells().map(|(name, is_quoted)| Heading {
        text: name.to_owned(),
        is_name: is_quoted && !quotes_all && !needs_quotes(name),
        is_quoted,
    });
    let names: Vec<Heading> = headings.collect();
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(&name.text)) {
        let message = format!("there are two columns `{}`", name.text);
        return Err((rows.line, message));
    }
    Ok(names)
}

pub(crate) fn read_row(
    rows: &Rows<'_>,
    builders: &mut [Builder],
    dialect: &mut Dialect,
) -> Result<(), String> {
    for ((cell, is_quoted), builder) in rows.cells().zip(builders.iter_mut()) {
        builder.push(cell, is_quoted, dialect)?;
    }
    rows.check_length(builders.len(), true)
}

/// A column while it is read.
pub(crate) struct Builder {
    name: String,
    unit: Option<String>,
    numbers: Vec<f64>,
    /// The cells as they stand in the file, as long as the column may be text.
    texts: Vec<String>,
    /// Whether the cells need no quotes to be text.
    is_bare_text: bool,
    is_text: bool,
    /// Whether all cells so far stand in quotes.
    pub(crate) is_quoted: bool,
}

/// A builder for each column of a header.
pub(crate) fn builders(names: &[Heading]) -> Vec<Builder> {
    if is_of_ecos(names) {
        let names = names.iter();
        return names.map(|name| Builder::of_ecos(&name.text)).collect();
    }
    let named = names_and_units(names.iter().map(|name| (name.text.as_str(), name.is_name)));
    let builders = named
        .into_iter()
        .map(|(name, unit)| Builder::new(name, unit));
    builders.collect()
}

impl Builder {
    fn new(name: String, unit: Option<String>) -> Self {
        Self {
            name,
            unit,
            numbers: Vec::new(),
            texts: Vec::new(),
            is_bare_text: false,
            is_text: false,
            is_quoted: true,
        }
    }

    /// Of a column `component::variable[TYPE]`.
    fn of_ecos(heading: &str) -> Self {
        let (variable, of_type) = heading.rsplit_once('[').unwrap_or((heading, ""));
        let name = match variable.split_once("::") {
            Some((component, variable)) => format!("{component}.{variable}"),
            _ => variable.to_owned(),
        };
        let is_text = of_type == "STR]";
        Self {
            is_bare_text: is_text,
            is_text,
            ..Self::new(name, None)
        }
    }

    fn push(&mut self, text: &str, is_quoted: bool, dialect: &mut Dialect) -> Result<(), String> {
        let number = dialect.number(text);
        let is_bare = !is_quoted && number.is_none() && !text.is_empty();
        self.is_bare_text |= is_bare && self.numbers.is_empty();
        let may_be_text = self.is_bare_text || is_quoted && self.texts.len() == self.numbers.len();
        self.is_text |= number.is_none();
        self.is_quoted &= is_quoted;
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

    /// The column. Quotes mean text, unless the times or their heading are also in quotes.
    pub(crate) fn finish(self, is_time_quoted: bool) -> Series {
        let is_quoted = self.is_quoted && !self.texts.is_empty() && !is_time_quoted;
        let values = if self.is_text || is_quoted {
            Values::Text(self.texts)
        } else {
            Values::Numbers(self.numbers)
        };
        Series {
            name: self.name,
            unit: self.unit,
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
