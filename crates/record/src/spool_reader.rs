//! Reads rows that a run has left. Nothing in the file is believed before it is checked.

use std::io::{self, Read};

use crate::columnar::{CellValues, Cells};
use crate::sink::ColumnType;
use crate::spool::{Fields, HEADER_HEAD, ROW_HEAD, SpoolHeader, SpoolRows, number};

/// Bytes that are read at a time.
const PIECE: usize = 256 * 1024;

/// Longest row that is read, bytes: a longer one is a length that was damaged.
const LONGEST: usize = 1 << 30;

/// Why rows cannot be read, or not any further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpoolError {
    /// The error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has no rows, or none any more.
    #[error("{0}")]
    Content(String),
}

/// Whole rows, one block after the other. Bytes after the last whole row are left out if they are the beginning of one.
pub(crate) struct SpoolReader<R> {
    source: R,
    header: SpoolHeader,
    layout: SpoolRows,
    /// Bytes from `offset` of the file on.
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    filled: usize,
    /// Bytes of the buffer that belong to rows that were returned.
    used: usize,
    offset: u64,
    rows: u64,
    is_checked: bool,
}

impl<R: Read> SpoolReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// [`SpoolError`], for example if the header is not whole: nothing was recorded then.
    pub(crate) fn new(mut source: R) -> Result<Self, SpoolError> {
        let mut head = [0; HEADER_HEAD];
        let cut = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                SpoolError::Content("its header is cut short, and there is no row".to_owned())
            }
            _ => error.into(),
        };
        source.read_exact(&mut head).map_err(cut)?;
        let length = SpoolHeader::length(&head).map_err(SpoolError::Content)?;
        // Memory is taken for bytes that are there.
        let mut contents = Vec::new();
        source
            .by_ref()
            .take(length as u64)
            .read_to_end(&mut contents)?;
        if contents.len() < length {
            return Err(cut(io::ErrorKind::UnexpectedEof.into()));
        }
        let header = SpoolHeader::parse(&head, &contents);
        let header =
            header.ok_or_else(|| SpoolError::Content("its header is damaged".to_owned()))?;
        Ok(Self {
            source,
            layout: SpoolRows::new(&header.columns),
            header,
            buffer: Vec::new(),
            filled: 0,
            used: 0,
            offset: (HEADER_HEAD + length) as u64,
            rows: 0,
            is_checked: true,
        })
    }

    /// Takes rows for what they say: they come from a run in this process, as it makes them.
    pub(crate) fn of_a_run(mut self) -> Self {
        self.is_checked = false;
        self
    }

    pub(crate) fn comes_from_a_run(&self) -> bool {
        !self.is_checked
    }

    pub(crate) fn header(&self) -> &SpoolHeader {
        &self.header
    }

    /// Number of rows that were returned, and the bytes of the file up to the end of the last one.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.rows, self.offset + self.used as u64)
    }

    /// Counts the rows up to the end, or to a damaged one: their number, the bytes up to the end of the last one, and whether there
    /// are none after it.
    pub(crate) fn count(mut self) -> (u64, u64, bool) {
        let outcome = loop {
            match self.read(usize::MAX, &mut []) {
                Ok((0, _)) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        let (rows, end) = self.position();
        (rows, end, outcome.is_ok() && self.torn() == 0)
    }

    /// Bytes after the last whole row, when all rows were returned.
    pub(crate) fn torn(&self) -> u64 {
        (self.filled - self.used) as u64
    }

    /// Appends the next rows, at most `most` of them, to time and columns; returns their number and bytes, 0 after the last row.
    ///
    /// # Errors
    ///
    /// [`SpoolError`], with the place of a damaged row; the rows before it were returned by earlier calls.
    pub(crate) fn read(
        &mut self,
        most: usize,
        cells: &mut [Cells],
    ) -> Result<(usize, usize), SpoolError> {
        let begin = loop {
            let rest = &self.buffer[self.used..self.filled];
            let is_whole = rest.len() >= ROW_HEAD && {
                let length = number(rest) as usize;
                self.is_length(length)? && rest.len() >= ROW_HEAD + length
            };
            if is_whole {
                break self.used;
            }
            if !self.fill()? {
                return Ok((0, 0));
            }
        };
        if let Some(length) = self.layout.length_of_reals() {
            let count = self.read_reals(begin, length, most, cells);
            return match count {
                0 => Err(self.damaged()),
                _ => Ok((count, self.used - begin)),
            };
        }
        let mut starts = Vec::with_capacity(PIECE / self.layout.length().0);
        let mut end = begin;
        while starts.len() < most {
            let Some(head) = self.buffer[..self.filled].get(end..end + ROW_HEAD) else {
                break;
            };
            let next = end + ROW_HEAD + number(head) as usize;
            if next > self.filled {
                break;
            }
            let contents = &self.buffer[end + ROW_HEAD..next];
            let length = [head[0], head[1], head[2], head[3]];
            let is_right =
                !self.is_checked || self.layout.check(length, contents) == number(&head[4..]);
            if !is_right || !self.layout.fits(contents) {
                break;
            }
            starts.push(end + ROW_HEAD);
            end = next;
        }
        if starts.is_empty() {
            return Err(self.damaged());
        }
        self.layout.append(&self.buffer, &starts, cells);
        self.used = end;
        self.rows += starts.len() as u64;
        Ok((starts.len(), end - begin))
    }

    /// As [`read`](Self::read) from this place of the buffer on, if all cells are reals, so that time and cells of each row have this
    /// `length`; returns the number of rows.
    fn read_reals(
        &mut self,
        begin: usize,
        length: usize,
        most: usize,
        cells: &mut [Cells],
    ) -> usize {
        let rest = &self.buffer[begin..self.filled];
        let whole = ROW_HEAD + length;
        let rows = rest.chunks_exact(whole).take(most);
        let right = rows.take_while(|row| {
            let (head, contents) = row.split_at(ROW_HEAD);
            let own = [head[0], head[1], head[2], head[3]];
            number(head) as usize == length
                && (!self.is_checked || self.layout.check(own, contents) == number(&head[4..]))
        });
        let count = right.count();
        for (place, cells) in cells.iter_mut().enumerate() {
            let offset = ROW_HEAD + place * size_of::<f64>();
            if let CellValues::Real(values) = cells.values_mut()
                && offset < whole
            {
                let rows = rest[..count * whole].chunks_exact(whole);
                values.extend(rows.map(|row| {
                    let bytes = row[offset..].first_chunk();
                    bytes.map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes))
                }));
            }
        }
        self.used = begin + count * whole;
        self.rows += count as u64;
        count
    }

    /// Whether a row can be so long.
    fn is_length(&self, length: usize) -> Result<bool, SpoolError> {
        let (least, is_fixed) = self.layout.length();
        match length == least || !is_fixed && (least..LONGEST).contains(&length) {
            true => Ok(true),
            false => Err(self.damaged()),
        }
    }

    fn damaged(&self) -> SpoolError {
        let (rows, place) = self.position();
        SpoolError::Content(format!(
            "row {rows}, at byte {place}, is damaged; the rows before it can be read where the file is cut there \
             (truncate -s {place} FILE)"
        ))
    }

    /// Reads more bytes; false at the end.
    fn fill(&mut self) -> Result<bool, SpoolError> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.offset += self.used as u64;
        self.used = 0;
        // Longer rows make it grow as their bytes come.
        if self.buffer.len() < self.filled + PIECE / 2 {
            self.buffer.resize(self.filled + PIECE, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl SpoolRows {
    /// Whether these are time and cells of one row, and nothing else.
    fn fits(&self, contents: &[u8]) -> bool {
        let fixed = size_of::<f64>() * (1 + self.leading_reals());
        let Some(others) = contents.get(fixed..) else {
            return false;
        };
        let mut fields = Fields(others);
        let is_whole = self.others().iter().all(|kind| match kind {
            ColumnType::Boolean => fields.byte().is_some_and(|byte| byte < 2),
            ColumnType::String => fields.text().is_some(),
            _ => fields.bytes::<8>().is_some(),
        });
        is_whole && fields.0.is_empty()
    }

    /// Appends rows that [fit](Self::fits) and begin at these places, column by column.
    fn append(&self, bytes: &[u8], starts: &[usize], cells: &mut [Cells]) {
        let reals = 1 + self.leading_reals();
        for (place, cells) in cells.iter_mut().take(reals).enumerate() {
            if let CellValues::Real(values) = cells.values_mut() {
                let offset = place * size_of::<f64>();
                let value = |start: &usize| {
                    let bytes = bytes[start + offset..].first_chunk();
                    bytes.map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes))
                };
                values.extend(starts.iter().map(value));
            }
        }
        if self.others().is_empty() {
            return;
        }
        for start in starts {
            let mut fields = Fields(&bytes[start + reals * size_of::<f64>()..]);
            for cells in cells.iter_mut().skip(reals) {
                match cells.values_mut() {
                    CellValues::Real(values) => {
                        values.push(fields.bytes().map_or(f64::NAN, f64::from_le_bytes));
                    }
                    CellValues::Integer(values) => {
                        values.push(fields.bytes().map_or(0, i64::from_le_bytes));
                    }
                    CellValues::Boolean(values) => values.push(fields.byte() == Some(1)),
                    CellValues::Text(values) => {
                        values.push(fields.text().unwrap_or_default().to_owned());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columnar::with_time;
    use crate::csv_sink::CsvSink;
    use crate::row_encoding::count_rows;
    use crate::sink::{Cell, Column, RowSink as _};

    /// NaN with a payload, and numbers that are seldom.
    const REALS: [u64; 6] = [
        0x7ff8_0000_dead_beef,
        0xfff0_0000_0000_0000,
        0x8000_0000_0000_0000,
        1,
        0x7ff4_0000_0000_0001,
        0x3fb9_9999_9999_999a,
    ];
    const TEXTS: [&str; 3] = ["", "ü, \"\n", "a much longer text than the others are"];

    fn columns(has_texts: bool) -> Vec<Column> {
        let metre = Some("m".to_owned());
        let mut columns = vec![
            Column {
                unit: metre,
                ..Column::new("a.x", ColumnType::Real)
            },
            Column::new("a.n", ColumnType::Integer),
            Column::new("a.on", ColumnType::Boolean),
            Column::new("a.mode", ColumnType::Enumeration),
        ];
        if has_texts {
            columns.push(Column::new("a.text", ColumnType::String));
            columns.push(Column::new("bond.b.power", ColumnType::Real));
        }
        columns
    }

    fn row(number: usize, has_texts: bool) -> Vec<Cell<'static>> {
        let real = f64::from_bits(REALS[number % REALS.len()]);
        let mut cells = vec![
            Cell::Real(real),
            Cell::Integer(i64::MIN + number as i64),
            Cell::Boolean(number % 3 == 1),
            Cell::Integer(number as i64),
        ];
        if has_texts {
            cells.push(Cell::String(TEXTS[number % TEXTS.len()]));
            cells.push(Cell::Real(-real));
        }
        cells
    }

    /// The file, and the place after its header and after each row.
    fn file(rows: usize, has_texts: bool) -> (Vec<u8>, Vec<usize>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let mut sink = CsvSink::for_columns(Shared(&mut bytes), "rows");
        sink.keep("gyrator.parameters", "{}".to_owned());
        sink.begin(&columns(has_texts)).unwrap();
        ends.push(sink.output().0.len());
        for number in 0..rows {
            let cells = row(number, has_texts);
            sink.row(number as f64, &mut cells.into_iter()).unwrap();
            sink.flush().unwrap();
            ends.push(sink.output().0.len());
        }
        sink.finish().unwrap();
        drop(sink);
        (bytes, ends)
    }

    #[derive(Debug)]
    struct Shared<'a>(&'a mut Vec<u8>);

    impl io::Write for Shared<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl crate::Output for Shared<'_> {
        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.0.truncate(length as usize);
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// All rows, in blocks of at most `most`, and the bytes after them.
    fn read(bytes: &[u8], most: usize) -> Result<(Vec<Cells>, u64), String> {
        let mut reader = SpoolReader::new(bytes).map_err(|error| error.to_string())?;
        let columns = with_time(&reader.header().columns);
        let mut cells: Vec<Cells> = columns
            .iter()
            .map(|column| Cells::new(column.kind))
            .collect();
        loop {
            let read = reader.read(most, &mut cells);
            let (rows, _) = read.map_err(|error| error.to_string())?;
            assert!(rows <= most);
            if rows == 0 {
                return Ok((cells, reader.torn()));
            }
        }
    }

    fn expected(rows: usize, has_texts: bool) -> Vec<Cells> {
        let columns = with_time(&columns(has_texts));
        let mut cells: Vec<Cells> = columns
            .iter()
            .map(|column| Cells::new(column.kind))
            .collect();
        for number in 0..rows {
            let time = std::iter::once(Cell::Real(number as f64));
            let row = time.chain(row(number, has_texts));
            cells
                .iter_mut()
                .zip(row)
                .for_each(|(cells, cell)| assert!(cells.push(cell)));
        }
        cells
    }

    /// NaN is not equal to itself.
    fn bits(cells: &[Cells]) -> Vec<Vec<String>> {
        let text = |cells: &Cells| match cells.values() {
            CellValues::Real(values) => values.iter().map(|v| v.to_bits().to_string()).collect(),
            CellValues::Integer(values) => values.iter().map(i64::to_string).collect(),
            CellValues::Boolean(values) => values.iter().map(bool::to_string).collect(),
            CellValues::Text(values) => values.clone(),
        };
        cells.iter().map(text).collect()
    }

    #[test]
    fn a_file_that_is_cut_anywhere_has_its_whole_rows() {
        for has_texts in [false, true] {
            let (bytes, ends) = file(7, has_texts);
            let rows = bits(&expected(7, has_texts));
            for length in 0..=bytes.len() {
                let found = read(&bytes[..length], 3);
                let Some(whole) = ends.iter().rposition(|end| *end <= length) else {
                    let error = found.unwrap_err();
                    let known = ["its header is cut short", "not a file of rows"];
                    assert!(known.iter().any(|text| error.contains(text)), "{error}");
                    assert_eq!(count_rows(&bytes[..length]).0, 0);
                    continue;
                };
                let (cells, torn) = found.unwrap();
                let first = rows.iter().map(|column| column[..whole].to_vec());
                assert_eq!(bits(&cells), first.collect::<Vec<_>>());
                assert_eq!(torn, (length - ends[whole]) as u64);
                let counted = (whole as u64, ends[whole] as u64, torn == 0);
                assert_eq!(count_rows(&bytes[..length]), counted);
            }
        }
    }

    #[test]
    fn a_damaged_row_is_named() {
        let (mut bytes, ends) = file(5, true);
        bytes[ends[3] + 20] ^= 1;
        let error = read(&bytes, 100).unwrap_err();
        let place = format!("row 3, at byte {}, is damaged", ends[3]);
        assert!(error.contains(&place), "{error}");
        assert_eq!(count_rows(&bytes[..]), (3, ends[3] as u64, false));
        // A power loss may leave zeros.
        bytes[ends[2]..].fill(0);
        let error = read(&bytes, 100).unwrap_err();
        assert!(error.contains("row 2, at byte "), "{error}");
    }

    #[test]
    fn another_version_is_refused() {
        let (mut bytes, _) = file(1, false);
        bytes[8] = 2;
        let error = read(&bytes, 1).unwrap_err();
        assert!(error.contains("version 2"), "{error}");
        let error = read(b"time,x\n0,1\n2,3\n4,5\n6,7\n", 1).unwrap_err();
        assert!(error.contains("not a file of rows"), "{error}");
    }

    #[test]
    fn the_header_has_types_units_and_parameters() {
        let (bytes, _) = file(0, true);
        let reader = SpoolReader::new(&bytes[..]).unwrap();
        let header = reader.header();
        assert_eq!(header.columns, columns(true));
        let parameters = ("gyrator.parameters".to_owned(), "{}".to_owned());
        assert_eq!(header.metadata, [parameters]);
    }

    proptest! {
        /// Each wrong byte is found: all rows that are read were written.
        #[test]
        fn wrong_bytes_are_found(place in any::<prop::sample::Index>(), change in 1_u8.., has_texts in any::<bool>()) {
            let (mut bytes, ends) = file(9, has_texts);
            let place = place.index(bytes.len());
            bytes[place] ^= change;
            let whole = ends.iter().rposition(|end| *end <= place).unwrap_or(0);
            match read(&bytes, 4) {
                Err(error) => prop_assert!(!error.is_empty()),
                Ok((cells, torn)) => {
                    // A length that leads beyond the end.
                    prop_assert!(torn > 0);
                    let rows = bits(&expected(9, has_texts));
                    let first = rows.iter().map(|column| column[..whole].to_vec());
                    prop_assert_eq!(bits(&cells), first.collect::<Vec<_>>());
                }
            }
        }
    }
}
