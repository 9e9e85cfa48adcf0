//! Rows of a run as bytes that survive it, until they are a file of columns.
//!
//! A header with the columns, then rows. Each row has its length and a check, so that a reader knows whole ones from what a
//! process that was killed, a full disk or a power loss has left. All numbers are little-endian.

use crc32fast::Hasher;

use crate::row_buffer::RowBuffer;
use crate::sink::{Cell, Column, ColumnType};

/// The first bytes of a file. Neither text nor a file of doubles begins so.
pub(crate) const MAGIC: [u8; 8] = *b"\x01gyrrows";

/// The form that this program writes, and the only one that it reads.
const VERSION: u32 = 1;

/// Bytes before the contents of the header: magic, version, length and check of the contents.
pub(crate) const HEADER_HEAD: usize = MAGIC.len() + 3 * size_of::<u32>();

/// Bytes of a row before its time: the length of time and cells, and the check.
pub(crate) const ROW_HEAD: usize = 2 * size_of::<u32>();

/// Rows begin at a multiple of so many bytes if they have no booleans and no texts: whole words are copied faster.
const ALIGNMENT: usize = size_of::<u64>();

/// Longest contents of a header that are read.
const LONGEST_HEADER: usize = 256 << 20;

/// The facts in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpoolHeader {
    /// The columns after the time.
    pub(crate) columns: Vec<Column>,
    /// Texts by their keys.
    pub(crate) metadata: Vec<(String, String)>,
}

/// How cells become bytes.
#[derive(Debug, Default)]
pub(crate) struct SpoolRows {
    /// Texts of the header by their keys.
    pub(crate) metadata: Vec<(String, String)>,
    kinds: Vec<ColumnType>,
    /// Columns before the first one that is not of reals.
    reals: usize,
    /// The least length of a row, and what a check begins with then: to make it again takes as long as a short row.
    prepared: ([u8; 4], Hasher),
}

impl SpoolHeader {
    /// Appends the header.
    pub(crate) fn push(&self, buffer: &mut RowBuffer) {
        let mut contents = Vec::new();
        contents.extend((self.columns.len() as u32).to_le_bytes());
        for Column { name, kind, unit } in &self.columns {
            contents.push(letter(*kind));
            push_text(&mut contents, name);
            contents.push(u8::from(unit.is_some()));
            unit.iter().for_each(|unit| push_text(&mut contents, unit));
        }
        contents.extend((self.metadata.len() as u32).to_le_bytes());
        for (key, text) in &self.metadata {
            push_text(&mut contents, key);
            push_text(&mut contents, text);
        }
        let length = (HEADER_HEAD + contents.len()).next_multiple_of(ALIGNMENT);
        contents.resize(length - HEADER_HEAD, 0);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        buffer.extend_from_slice(&(contents.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&crc32fast::hash(&contents).to_le_bytes());
        buffer.extend_from_slice(&contents);
    }

    /// The length of the contents, by the bytes before them.
    ///
    /// # Errors
    ///
    /// A sentence about the file.
    pub(crate) fn length(head: &[u8; HEADER_HEAD]) -> Result<usize, String> {
        if !is_spool(head) {
            return Err("this is not a file of rows that a run has left".to_owned());
        }
        let version = number(&head[MAGIC.len()..]);
        if version != VERSION {
            return Err(format!(
                "its form is version {version}, and this program reads version {VERSION}: convert it with the version of \
                 gyrator that has written it"
            ));
        }
        let length = number(&head[MAGIC.len() + 4..]) as usize;
        match length <= LONGEST_HEADER {
            true => Ok(length),
            false => Err("its header is damaged".to_owned()),
        }
    }

    /// Reads the contents after their head.
    pub(crate) fn parse(head: &[u8; HEADER_HEAD], contents: &[u8]) -> Option<Self> {
        if crc32fast::hash(contents) != number(&head[HEADER_HEAD - 4..]) {
            return None;
        }
        let mut bytes = Fields(contents);
        let count = bytes.number()?;
        // Each takes some bytes: no count leads to more memory than there are bytes.
        let columns = (0..count).map(|_| {
            let kind = kind(bytes.byte()?)?;
            let name = bytes.text()?.to_owned();
            let unit = match bytes.byte()? {
                0 => None,
                1 => Some(bytes.text()?.to_owned()),
                _ => return None,
            };
            Some(Column { name, kind, unit })
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let count = bytes.number()?;
        let pairs = (0..count).map(|_| Some((bytes.text()?.to_owned(), bytes.text()?.to_owned())));
        let metadata = pairs.collect::<Option<Vec<_>>>()?;
        let header = Self { columns, metadata };
        (bytes.0.len() < ALIGNMENT).then_some(header)
    }
}

impl SpoolRows {
    /// For rows of these columns.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let mut rows = Self::default();
        rows.begin(columns);
        rows
    }

    /// Learns the columns.
    pub(crate) fn begin(&mut self, columns: &[Column]) {
        self.kinds = columns.iter().map(|column| column.kind).collect();
        let reals = self.kinds.iter();
        self.reals = reals.take_while(|kind| **kind == ColumnType::Real).count();
        let length = (self.length().0 as u32).to_le_bytes();
        self.prepared = (length, check_of(length));
    }

    /// Appends the header of a file of rows of these columns.
    pub(crate) fn push_header(&self, buffer: &mut RowBuffer, columns: &[Column]) {
        let (columns, metadata) = (columns.to_vec(), self.metadata.clone());
        SpoolHeader { columns, metadata }.push(buffer);
    }

    /// Columns before the first one that is not of reals.
    pub(crate) fn leading_reals(&self) -> usize {
        self.reals
    }

    /// The types of the columns after the [leading reals](Self::leading_reals).
    pub(crate) fn others(&self) -> &[ColumnType] {
        &self.kinds[self.reals..]
    }

    /// The least length of time and cells, and whether every row has it.
    pub(crate) fn length(&self) -> (usize, bool) {
        let least = |kind: &ColumnType| match kind {
            ColumnType::Boolean => 1,
            ColumnType::String => size_of::<u32>(),
            _ => size_of::<f64>(),
        };
        let length = self.kinds.iter().map(least).sum::<usize>();
        let is_fixed = !self.kinds.contains(&ColumnType::String);
        (size_of::<f64>() + length, is_fixed)
    }

    /// The check of a row by the bytes of its length, time and cells.
    #[inline]
    pub(crate) fn check(&self, length: [u8; 4], contents: &[u8]) -> u32 {
        let mut hasher = match &self.prepared {
            (usual, prepared) if *usual == length => prepared.clone(),
            _ => check_of(length),
        };
        hasher.update(contents);
        hasher.finalize()
    }

    /// The length of time and cells of every row, if all cells are reals.
    pub(crate) fn length_of_reals(&self) -> Option<usize> {
        (self.others().is_empty()).then(|| size_of::<f64>() * (1 + self.reals))
    }

    /// Appends a row: reals, then cells of any type; returns the number of cells after the time.
    #[inline]
    pub(crate) fn push_row(
        &self,
        buffer: &mut RowBuffer,
        time: f64,
        reals: &[f64],
        others: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> usize {
        let begin = buffer.len();
        let direct = reals.len().min(self.reals);
        // The head is written when the row is complete.
        let length = ROW_HEAD + size_of::<f64>() * (1 + direct);
        let (room, _) = buffer.room(length)[..length].as_chunks_mut();
        room[ROW_HEAD / size_of::<f64>()] = time.to_le_bytes();
        let room = &mut room[1 + ROW_HEAD / size_of::<f64>()..];
        for (target, number) in room.iter_mut().zip(&reals[..direct]) {
            *target = number.to_le_bytes();
        }
        buffer.advance(length);
        let mut found = direct;
        let rest = reals[direct..].iter().copied().map(Cell::Real);
        for cell in rest.chain(others) {
            if let Some(kind) = self.kinds.get(found) {
                push_cell(buffer, *kind, cell);
            }
            found += 1;
        }
        let row = buffer.tail_mut(begin);
        let (head, contents) = row.split_at_mut(ROW_HEAD);
        // A row of 4 GiB is read as a damaged one.
        let length = (contents.len() as u32).to_le_bytes();
        head[..4].copy_from_slice(&length);
        head[4..].copy_from_slice(&self.check(length, contents).to_le_bytes());
        found
    }
}

/// Whether a file begins as one of rows does.
pub(crate) fn is_spool(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The beginning of the check of a row whose time and cells have this length.
fn check_of(length: [u8; 4]) -> Hasher {
    Hasher::new_with_initial(u32::from_le_bytes(length))
}

/// Number of whole rows at the beginning of a block, and their bytes, by their lengths alone.
pub(crate) fn whole_rows(block: &[u8]) -> (u64, u64) {
    let (mut rows, mut end) = (0, 0);
    while let Some(head) = block.get(end..end + ROW_HEAD) {
        let next = end + ROW_HEAD + number(head) as usize;
        if next > block.len() {
            break;
        }
        (rows, end) = (rows + 1, next);
    }
    (rows, end as u64)
}

/// The first four bytes as a number.
pub(crate) fn number(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn push_cell(buffer: &mut RowBuffer, kind: ColumnType, cell: Cell<'_>) {
    match kind {
        ColumnType::Real => buffer.push_doubles(&[cell.as_real()]),
        ColumnType::Integer | ColumnType::Enumeration => {
            buffer.extend_from_slice(&cell.as_integer().to_le_bytes());
        }
        ColumnType::Boolean => buffer.push(u8::from(cell.as_integer() != 0)),
        ColumnType::String => {
            let text = match cell {
                Cell::String(text) => text,
                // The recorder gives each column cells of its type.
                _ => "",
            };
            buffer.extend_from_slice(&(text.len() as u32).to_le_bytes());
            buffer.extend_from_slice(text.as_bytes());
        }
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text.as_bytes());
}

const KINDS: [(u8, ColumnType); 5] = [
    (b'r', ColumnType::Real),
    (b'i', ColumnType::Integer),
    (b'b', ColumnType::Boolean),
    (b's', ColumnType::String),
    (b'e', ColumnType::Enumeration),
];

fn letter(kind: ColumnType) -> u8 {
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(_, known)| *known == kind);
    found.map_or(0, |(letter, _)| *letter)
}

fn kind(letter: u8) -> Option<ColumnType> {
    let mut kinds = KINDS.iter();
    let found = kinds.find(|(known, _)| *known == letter);
    found.map(|(_, kind)| *kind)
}

/// Bytes from which the fields are taken in turn; `None` if they end too early or make no sense.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = self.number()? as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
}
