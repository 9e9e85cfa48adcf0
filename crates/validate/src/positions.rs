//! Lines and columns of many places in one text.

use std::cell::OnceCell;

use gyrator_fmu::Position;
use gyrator_fmu::xml::position;

/// Bytes between two places whose lines and columns are kept, and most bytes that a look-up reads.
const STRIDE: usize = 4096;

/// Lines and columns of byte offsets: the text is read once, and [`STRIDE`] bytes of it for each offset.
pub(crate) struct Positions<'t> {
    text: &'t str,
    /// Offsets, one a [`STRIDE`], with their positions.
    marks: OnceCell<Vec<(usize, Position)>>,
}

impl<'t> Positions<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self {
            text,
            marks: OnceCell::new(),
        }
    }

    /// Line and column of a byte offset.
    pub(crate) fn at(&self, offset: usize) -> Position {
        let (from, before) = self.mark_before(offset);
        let offset = self.text.floor_char_boundary(offset).max(from);
        after(before, &self.text[from..offset])
    }

    /// The last mark that does not lie behind an offset.
    fn mark_before(&self, offset: usize) -> (usize, Position) {
        let marks = self.marks.get_or_init(|| self.mark());
        let place = (offset / STRIDE).min(marks.len() - 1);
        marks[place]
    }

    fn mark(&self) -> Vec<(usize, Position)> {
        let mut last = (0, Position { line: 1, column: 1 });
        let mut marks = vec![last];
        for end in (STRIDE..self.text.len()).step_by(STRIDE) {
            let end = self.text.floor_char_boundary(end);
            last = (end, after(last.1, &self.text[last.0..end]));
            marks.push(last);
        }
        marks
    }
}

/// The position at the end of a text that begins at `start`.
fn after(start: Position, text: &str) -> Position {
    let end = position(text, text.len());
    let column = match end.line {
        1 => start.column.saturating_add(end.column - 1),
        _ => end.column,
    };
    Position {
        line: start.line.saturating_add(end.line - 1),
        column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also if a mark would fall into a character, behind the end, and in lines of any length.
    #[test]
    fn r65_positions_are_those_of_a_count_from_the_beginning() {
        let short = "ä€𝄞\n".repeat(2 * STRIDE / 10 + 7);
        let long = format!("{}\n{}", "é".repeat(3 * STRIDE / 2), "x".repeat(STRIDE));
        for text in [short.as_str(), &long, "", "\n", "one line"] {
            let positions = Positions::new(text);
            let near_marks = (0..4).flat_map(|mark| mark * STRIDE..mark * STRIDE + 9);
            for offset in near_marks.chain((0..text.len() + 200).step_by(199)) {
                assert_eq!(positions.at(offset), position(text, offset), "{offset}");
            }
        }
    }

    /// However long the text, and also if it is one line.
    #[test]
    fn r65_a_look_up_reads_a_bounded_part_of_the_text() {
        for line in ["x", "x\n"] {
            let text = line.repeat(10 * STRIDE);
            let positions = Positions::new(&text);
            for offset in 0..text.len() {
                let (from, _) = positions.mark_before(offset);
                assert!(from <= offset && offset - from <= STRIDE, "{offset}");
            }
        }
    }
}
