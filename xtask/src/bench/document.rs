//! The tables of docs/speed.md, which come from the benchmark alone.

use std::path::Path;

use super::rows::{self, Row};
use super::{HEADER, cells};

/// The page with a table below each marker, `<!-- bench PATTERN -->`.
const PAGE: &str = "docs/speed.md";

const MARKER: (&str, &str) = ("<!-- bench", "-->");

/// Puts measured rows, with their lines, into the tables of the page.
///
/// # Errors
/// A row of a table that neither the page has nor was measured, a file that cannot be read or written.
pub(super) fn update(root: &Path, measured: &[(Row, String)]) -> Result<(), String> {
    let path = root.join(PAGE);
    let of_page = |error: std::io::Error| format!("{PAGE}: {error}");
    let text = std::fs::read_to_string(&path).map_err(of_page)?;
    let updated = updated(&text, measured).map_err(|error| format!("{PAGE}: {error}"))?;
    if updated == text {
        return Ok(());
    }
    std::fs::write(&path, updated).map_err(of_page)
}

fn updated(text: &str, measured: &[(Row, String)]) -> Result<String, String> {
    let mut lines = text.lines().peekable();
    let mut output = Vec::new();
    while let Some(line) = lines.next() {
        output.push(line.to_owned());
        let Some(pattern) = pattern(line) else {
            continue;
        };
        let mut old = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            old.push(line);
        }
        output.extend(HEADER.lines().map(str::to_owned));
        for row in rows::table().into_iter().filter(|row| row.fits(pattern)) {
            let new = measured.iter().find(|(other, _)| *other == row);
            let new = new.map(|(_, line)| line.as_str());
            let kept = old
                .iter()
                .copied()
                .find(|line| line.starts_with(&cells(row)));
            let line = new.or(kept).ok_or_else(|| {
                format!(
                    "the table has `{row}`, which was not measured: leave --only out, or add it"
                )
            })?;
            output.push(line.to_owned());
        }
    }
    Ok(output.join("\n") + "\n")
}

/// The pattern of a marker.
fn pattern(line: &str) -> Option<&str> {
    line.strip_prefix(MARKER.0)?.strip_suffix(MARKER.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Speed\n\n<!-- bench plain copied 2 -->\n| old |\n\nMore.\n";

    fn row(words: &str) -> Row {
        rows::parse(words).unwrap()
    }

    #[test]
    fn the_table_below_a_marker_has_the_rows_of_its_pattern() {
        let measured = [
            (
                row("2,plain,copied,off"),
                "| 2 | plain | copied | off | 9.0 |".to_owned(),
            ),
            (row("10,plain,copied,off"), "| 10 | … |".to_owned()),
        ];
        let page = updated(TEXT, &measured).unwrap();
        let expected = format!(
            "# Speed\n\n<!-- bench plain copied 2 -->\n{HEADER}\n| 2 | plain | copied | off | 9.0 |\n\nMore.\n"
        );
        assert_eq!(page, expected);
        // Rows that were not measured stay.
        assert_eq!(updated(&page, &[]).unwrap(), expected);
    }

    #[test]
    fn a_table_that_would_lack_a_row_is_not_written() {
        let error = updated(TEXT, &[]).unwrap_err();
        assert!(
            error.contains("2 plain copied off") && error.contains("--only"),
            "{error}"
        );
    }

    #[test]
    fn the_page_has_tables_with_all_their_rows() {
        let text = std::fs::read_to_string(crate::root().join(PAGE)).unwrap();
        assert!(
            text.lines().any(|line| pattern(line).is_some()),
            "{PAGE} has no marker"
        );
        assert_eq!(updated(&text, &[]).unwrap(), text, "{PAGE}");
    }
}
