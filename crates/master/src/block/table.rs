//! Measured or computed series: the columns of a CSV or Parquet file over its column `time`.
//!
//! The file is read when the system is assembled and kept in memory. Texts, and numbers that are not
//! finite, are refused.

use std::path::Path;

use gyrator_record::{Interpolation, Values, read_table_with};

use super::{Block, BlockFacts, reached};
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};

/// The columns of a file over its column `time`.
struct Table {
    time: Vec<f64>,
    columns: Vec<(String, Vec<f64>)>,
    interpolation: Interpolation,
    outside: Outside,
}

/// Values before the first row and after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    Hold,
    Repeat,
    Refuse,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "table",
    summary: "columns of a CSV or Parquet file over its column `time`: each is an output of its name; two rows of one \
              time are a jump, whose later value holds at that time; a column that is 0 or 1 at any time may feed a Boolean",
    source: "as `gyrator simulate --input-file`",
    parameters: &[
        ParameterInfo {
            name: "file",
            summary: "path of the file, relative to the system file",
            kind: ParameterKind::File,
        },
        ParameterInfo {
            name: "interpolation",
            summary: "between rows: on the straight line, the value of the row before, or that of the row after",
            kind: ParameterKind::Word(&["linear", "hold", "next"]),
        },
        ParameterInfo {
            name: "outside",
            summary: "before the first and after the last row: the value of that row, the table once more, or an error",
            kind: ParameterKind::Word(&["hold", "repeat", "refuse"]),
        },
        ParameterInfo {
            name: "time_column",
            summary: "heading of the column of the times, if it is not `time` or `t`",
            kind: ParameterKind::Text(""),
        },
    ],
    facts: |arguments, ()| match arguments.word("interpolation") {
        "linear" => BlockFacts::SMOOTH,
        _ => BlockFacts::JUMPS,
    },
    build,
};

fn build(arguments: &Arguments) -> Result<Box<dyn Block>, String> {
    let path = Path::new(arguments.text("file"));
    let time_column = Some(arguments.text("time_column")).filter(|name| !name.is_empty());
    let table = read_table_with(path, time_column).map_err(|error| error.to_string())?;
    let (Some(first), Some(last)) = (table.time.first(), table.time.last()) else {
        return Err(format!("{}: there are no rows", path.display()));
    };
    let outside = match arguments.word("outside") {
        "repeat" if first == last => {
            let path = path.display();
            return Err(format!("{path}: a table of one instant cannot be repeated"));
        }
        "repeat" => Outside::Repeat,
        "refuse" => Outside::Refuse,
        _ => Outside::Hold,
    };
    let mut columns = Vec::new();
    for series in table.series {
        let name = series.name;
        let numbers = match series.values {
            Values::Numbers(numbers) => numbers,
            Values::Text(_) => {
                return Err(format!(
                    "{}: column `{name}` is text; a table has numbers",
                    path.display()
                ));
            }
        };
        if let Some(row) = numbers.iter().position(|number| !number.is_finite()) {
            let (path, number) = (path.display(), numbers[row]);
            return Err(format!(
                "{path}: column `{name}` is {number} at t = {} s",
                table.time[row]
            ));
        }
        columns.push((name, numbers));
    }
    if columns.is_empty() {
        return Err(format!("{}: there is no column but `time`", path.display()));
    }
    Ok(Box::new(Table {
        time: table.time,
        columns,
        interpolation: match arguments.word("interpolation") {
            "hold" => Interpolation::Hold,
            "next" => Interpolation::Next,
            _ => Interpolation::Linear,
        },
        outside,
    }))
}

impl Block for Table {
    fn outputs(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    fn is_switch(&self, output: usize) -> bool {
        let column = &self.columns[output].1;
        let is_between = |row: usize| {
            self.interpolation == Interpolation::Linear
                && self.time[row] != self.time[row + 1]
                && column[row] != column[row + 1]
        };
        column.iter().all(|value| *value == 0.0 || *value == 1.0)
            && !(0..column.len() - 1).any(is_between)
    }

    fn output(&self, output: usize, time: f64, _inputs: &[f64]) -> Result<f64, String> {
        let (first, last) = (self.time[0], self.time[self.time.len() - 1]);
        let is_outside = !reached(time, first) || !reached(last, time);
        let time = match self.outside {
            Outside::Repeat if is_outside => {
                let period = last - first;
                let begin = first + ((time - first) / period).round() * period;
                match reached(time, begin) && reached(begin, time) {
                    true => first,
                    false => first + (time - first).rem_euclid(period),
                }
            }
            Outside::Refuse if is_outside => {
                return Err(format!("the table has rows from t = {first} s to {last} s"));
            }
            _ => time,
        };
        Ok(self
            .interpolation
            .value(&self.time, &self.columns[output].1, time))
    }
}
