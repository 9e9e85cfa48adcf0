//! Cells as text, many at a time. A comma follows each; the comma of the last one becomes the end of the line.
//!
//! A text that is copied as soon as it is made waits until the memory has it. So eight texts are made, then eight are
//! copied: 20 ns a cell instead of 43. The sinks of rows call it; it never shortens a number. Figures and what was
//! dropped: docs/dev/speed.md.

use std::io::Write as _;

use crate::heading::seems_to_have_unit;
use crate::row_buffer::RowBuffer;
use crate::sink::Cell;

/// Doubles that are made text together. A text that is copied as soon as it is made waits until the memory has it and all that
/// was written before (measured: 43 instead of 15 ns a cell). So the first is copied when the last was made.
const BATCH: usize = 8;

/// The longest text of a double: `-1.2345678901234567e-308`.
const LONGEST: usize = 24;

/// Room for a text and its comma.
const ROOM: usize = LONGEST + 1;

/// Up to it, doubles are all whole numbers (2⁵³), and written without an exponent.
const WHOLE: u64 = 1 << 53;

/// Makes text of doubles, and remembers the text of earlier ones. A signal that rests, or is recorded twice, costs a fifth of one that
/// changes, and that one an eighth more (measured with twenty columns).
pub(crate) struct Texts {
    known: Vec<Known>,
    /// Texts of the batch in progress that were known before it; without a length if they were not.
    before: Box<[Known; BATCH]>,
    /// Bits of a hash that are not of a place.
    shift: u32,
}

/// A double and its text.
#[derive(Debug, Clone, Copy)]
struct Known {
    bits: u64,
    text: [u8; LONGEST],
    /// Of the text; or [`MADE`] and a place in the batch that is being made.
    length: u8,
}

/// Marks texts that are not yet copied.
const MADE: u8 = 1 << 7;

const ZERO: Known = {
    let mut text = [0; LONGEST];
    (text[0], text[1], text[2]) = (b'0', b'.', b'0');
    Known {
        bits: 0,
        text,
        length: 3,
    }
};

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Texts");
        debug.field("places", &self.known.len()).finish()
    }
}

impl Texts {
    /// For rows of so many columns.
    pub(crate) fn new(columns: usize) -> Self {
        let places = columns.saturating_mul(4).clamp(1 << 6, 1 << 14);
        let places = places.next_power_of_two();
        Self {
            known: vec![ZERO; places],
            before: Box::new([ZERO; BATCH]),
            shift: u64::BITS - places.ilog2(),
        }
    }

    /// Appends the time and doubles: `NaN`, `inf`, `-inf`, or the shortest decimal form that reads back as the same double.
    pub(crate) fn push_row(&mut self, buffer: &mut RowBuffer, time: f64, values: &[f64]) {
        let (first, rest) = values.split_at(values.len().min(BATCH - 1));
        let mut batch = [time; BATCH];
        batch[1..=first.len()].copy_from_slice(first);
        self.push_batch(buffer, &batch[..=first.len()]);
        for batch in rest.chunks(BATCH) {
            self.push_batch(buffer, batch);
        }
    }

    /// Appends cells of any type; returns their number.
    pub(crate) fn push_cells<'c>(
        &mut self,
        buffer: &mut RowBuffer,
        cells: impl Iterator<Item = Cell<'c>>,
    ) -> usize {
        let (mut batch, mut waiting, mut count) = ([0.0; BATCH], 0, 0);
        for cell in cells {
            count += 1;
            if let Cell::Real(number) = cell {
                batch[waiting] = number;
                waiting += 1;
                if waiting < BATCH {
                    continue;
                }
            }
            self.push_batch(buffer, &batch[..waiting]);
            waiting = 0;
            self.push_other(buffer, cell);
        }
        self.push_batch(buffer, &batch[..waiting]);
        count
    }

    /// Appends a cell that is not a double.
    fn push_other(&mut self, buffer: &mut RowBuffer, cell: Cell<'_>) {
        match cell {
            Cell::Real(_) => return,
            Cell::Integer(number) if number.unsigned_abs() < WHOLE => {
                self.push_batch(buffer, &[number as f64]);
                // Without the point, the zero and the comma.
                buffer.truncate(buffer.len() - 3);
            }
            // Writing to memory does not fail.
            Cell::Integer(number) => drop(write!(buffer, "{number}")),
            Cell::Boolean(boolean) => buffer.push(if boolean { b'1' } else { b'0' }),
            Cell::String(text) => push_quoted(buffer, text),
        }
        buffer.push(b',');
    }

    /// Appends at most [`BATCH`] doubles.
    #[inline]
    fn push_batch(&mut self, buffer: &mut RowBuffer, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        let mut made: [zmij::Buffer; BATCH] = std::array::from_fn(|_| zmij::Buffer::new());
        let mut texts = [""; BATCH];
        for (index, (made, value)) in made.iter_mut().zip(values).enumerate() {
            let place = self.place(*value);
            let known = &mut self.known[place];
            let before = &mut self.before[index];
            before.length = 0;
            if known.bits != value.to_bits() {
                texts[index] = made.format(*value);
                (known.bits, known.length) = (value.to_bits(), MADE | index as u8);
            } else if known.length & MADE == 0 {
                *before = *known;
            } else {
                texts[index] = texts[usize::from(known.length & !MADE) % BATCH];
            }
        }
        let room = buffer.room(BATCH * ROOM);
        let mut end = 0;
        for (index, value) in values.iter().enumerate() {
            let room = &mut room[end..end + ROOM];
            let before = &self.before[index];
            let mut length = usize::from(before.length);
            if length > 0 {
                room[..LONGEST].copy_from_slice(&before.text);
            } else {
                let text = texts[index].as_bytes();
                length = text.len();
                let place = self.place(*value);
                let known = &mut self.known[place];
                (known.bits, known.length) = (value.to_bits(), length as u8);
                copy(text, room, &mut known.text);
            }
            room[length] = b',';
            end += length + 1;
        }
        buffer.advance(end);
    }

    /// The place of a double, if it is known.
    #[inline]
    fn place(&self, value: f64) -> usize {
        // 2⁶⁴ by the golden ratio, odd: as in Knuth, The Art of Computer Programming 3, section 6.4.
        (value.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
}

/// Copies a short text to two places, in pieces that may overlap: a loop over its bytes, or a call, costs more.
#[inline]
fn copy(text: &[u8], one: &mut [u8], other: &mut [u8; LONGEST]) {
    fn pieces<const N: usize>(text: &[u8], one: &mut [u8], other: &mut [u8]) -> Option<()> {
        let (first, last) = (text.first_chunk::<N>()?, text.last_chunk::<N>()?);
        let begin = text.len() - N;
        for target in [one, other] {
            target[..N].copy_from_slice(first);
            target[begin..begin + N].copy_from_slice(last);
        }
        Some(())
    }
    let copied = pieces::<16>(text, one, other)
        .or_else(|| pieces::<8>(text, one, other))
        .or_else(|| pieces::<4>(text, one, other));
    if copied.is_none() {
        one[..text.len()].copy_from_slice(text);
        other[..text.len()].copy_from_slice(text);
    }
}

/// Writes the name of a column: in quotes also if its end would else be read as a unit.
pub(crate) fn push_name(buffer: &mut RowBuffer, name: &str) {
    let needs_quotes =
        name.is_empty() || name.trim() != name || name.contains(['"', ',', '\n', '\r']);
    if needs_quotes || seems_to_have_unit(name) {
        push_quoted(buffer, name);
    } else {
        buffer.extend_from_slice(name.as_bytes());
    }
}

fn push_quoted(buffer: &mut RowBuffer, text: &str) {
    buffer.push(b'"');
    for (index, part) in text.split('"').enumerate() {
        if index > 0 {
            buffer.extend_from_slice(b"\"\"");
        }
        buffer.extend_from_slice(part.as_bytes());
    }
    buffer.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The text of each cell by itself, as it was made before texts were remembered.
    fn expected(time: f64, values: &[f64]) -> String {
        let numbers = std::iter::once(&time).chain(values);
        let texts = numbers.map(|number| format!("{},", zmij::Buffer::new().format(*number)));
        texts.collect()
    }

    fn number() -> impl Strategy<Value = f64> {
        // Few different ones, that come again and again, among any.
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            (-3_i8..3).prop_map(f64::from),
            (0_u8..9).prop_map(|number| f64::from(number) * 0.1),
            Just(-0.0),
        ]
    }

    proptest! {
        #[test]
        fn texts_are_those_of_each_cell_by_itself(
            rows in vec((number(), vec(number(), 0..40)), 1..20),
            columns in 0_usize..100,
        ) {
            let mut texts = Texts::new(columns);
            let mut buffer = RowBuffer::default();
            for (time, values) in rows {
                buffer.clear();
                texts.push_row(&mut buffer, time, &values);
                let found = String::from_utf8(buffer.as_slice().to_vec()).unwrap();
                prop_assert_eq!(&found, &expected(time, &values));
                buffer.clear();
                texts.push_row(&mut buffer, time, &[]);
                let count = texts.push_cells(&mut buffer, values.iter().copied().map(Cell::Real));
                prop_assert_eq!(count, values.len());
                prop_assert_eq!(buffer.as_slice(), found.as_bytes());
            }
        }

        #[test]
        fn whole_numbers_have_all_digits(numbers in vec(any::<i64>(), 1..20), small in vec(-9_i64..9, 1..20)) {
            let mut texts = Texts::new(4);
            let near = [i64::MIN, i64::MAX, 1 << 53, -(1 << 53), (1 << 53) - 1, 1 - (1 << 53)];
            let numbers: Vec<i64> = numbers.into_iter().chain(small).chain(near).collect();
            let mut buffer = RowBuffer::default();
            texts.push_cells(&mut buffer, numbers.iter().copied().map(Cell::Integer));
            let expected: String = numbers.iter().map(|number| format!("{number},")).collect();
            prop_assert_eq!(buffer.as_slice(), expected.as_bytes());
        }
    }
}
