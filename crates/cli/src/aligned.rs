//! Plain tables with aligned columns.

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table for the terminal: two spaces between columns, no lines.
#[derive(Debug)]
pub struct Aligned {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Aligned {
    /// An empty table under these headings.
    pub fn new(headings: &[(&str, Align)]) -> Self {
        Self {
            columns: headings.iter().map(|(_, align)| *align).collect(),
            rows: vec![
                headings
                    .iter()
                    .map(|(heading, _)| (*heading).to_owned())
                    .collect(),
            ],
        }
    }

    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines, each indented by two spaces. Columns in which no row has anything are left out.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| self.width(column))
            .collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, align), width) in row.iter().zip(&self.columns).zip(&widths) {
                if *width == 0 {
                    continue;
                }
                let blank = " ".repeat(width.saturating_sub(cell.chars().count()));
                line.push_str("  ");
                match align {
                    Align::Left => line.extend([cell.as_str(), &blank]),
                    Align::Right => line.extend([blank.as_str(), cell]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Width of a column; 0 if it has nothing but its heading.
    fn width(&self, column: usize) -> usize {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        if cells().skip(1).all(String::is_empty) {
            return 0;
        }
        cells().map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_empty_ones_are_left_out() {
        let mut table = Aligned::new(&[
            ("name", Align::Left),
            ("note", Align::Left),
            ("J", Align::Right),
        ]);
        table.row(["a", "", "1.5"]);
        table.row(["longer", "", "20"]);
        assert_eq!(
            table.render(),
            "  name      J\n  a       1.5\n  longer   20\n"
        );
    }
}
