//! Tables of fmi-cross-check and of Reference-FMUs: comma-separated, time first.

use std::path::{Path, PathBuf};

use gyrator_record::{Series, Table, Values};

/// Why a table was not read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, with its line.
    pub message: String,
}

/// Reads a table.
///
/// # Errors
/// [`TableError`] with the line.
pub fn read_table(path: &Path) -> Result<Table, TableError> {
    let bytes = std::fs::read(path).map_err(|error| TableError {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    parse_table(&bytes, path)
}

/// Reads a table; `path` names it in errors. Text needs no quotes, unlike in our own results:
/// a column with a cell that is neither number nor boolean is one of text.
///
/// # Errors
/// [`TableError`] with the line.
pub fn parse_table(bytes: &[u8], path: &Path) -> Result<Table, TableError> {
    read(bytes).map_err(|message| TableError {
        path: path.to_owned(),
        message,
    })
}

fn read(bytes: &[u8]) -> Result<Table, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    if names.len() < 2 {
        return Err("there are no columns but the time, or no commas between them".to_owned());
    }
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        for (column, cell) in columns.iter_mut().zip(&record) {
            column.push(cell.to_owned());
        }
    }
    let mut columns = columns.into_iter();
    let time = columns.next().unwrap_or_default();
    let time = numbers(&time).ok_or("the first column must be the time, in numbers")?;
    if time.is_empty() {
        return Err("there are no rows".to_owned());
    }
    let falls = |pair: &[f64]| pair[1] < pair[0] || !(pair[0].is_finite() && pair[1].is_finite());
    if let Some(row) = time.windows(2).position(falls) {
        return Err(format!(
            "line {}: the time goes back to {}",
            row + 3,
            time[row + 1]
        ));
    }
    let series = names
        .iter()
        .skip(1)
        .zip(columns)
        .map(|(name, cells)| Series {
            name: name.to_owned(),
            values: match numbers(&cells) {
                Some(numbers) => Values::Numbers(numbers),
                None => Values::Text(cells),
            },
        });
    Ok(Table {
        time,
        series: series.collect(),
    })
}

fn numbers(cells: &[String]) -> Option<Vec<f64>> {
    let number = |cell: &String| match cell.as_str() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        text => text.parse().ok(),
    };
    cells.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_booleans_and_text() {
        let table = read(b"\"time\",\"a[1,2]\",b, c\n0, 1.5,true,Set me!\n0,2,false,x\n").unwrap();
        assert_eq!(table.time, [0.0, 0.0]);
        assert_eq!(
            table.column("a[1,2]").unwrap().numbers(),
            Some(&[1.5, 2.0][..])
        );
        assert_eq!(table.column("b").unwrap().numbers(), Some(&[1.0, 0.0][..]));
        assert!(table.column("c").unwrap().numbers().is_none());
    }

    #[test]
    fn tables_that_cannot_be() {
        for (text, words) in [
            ("", "no columns"),
            ("time;a\n0;1\n", "no columns"),
            ("time,a\n", "no rows"),
            ("time,a\nx,1\n", "in numbers"),
            ("time,a\n0,1\n1,1\n0.5,1\n", "line 4"),
            ("time,a\n0,1,2\n", "record"),
        ] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
