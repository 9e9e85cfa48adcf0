//! Parquet files: the chosen columns, side by side through each group of rows.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::statistics::Statistics;

use super::arrow_and_parquet::{guarded, metadata_units, since_first, unreadable, unreadable_date};
use super::parquet_cells::{Meaning, arrow_types, kind};
use super::{Block, Contents, Form, Stream};
use crate::heading::{TimeColumn, time_of_columns};
use crate::read_error::ReadTableError;
use crate::sink::{Column, ColumnType};
use crate::table::{Series, Values};

/// Rows of a block: of a few columns, the processor's caches hold as many.
const ROWS: usize = 1 << 14;

/// One column of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Leaf {
    place: usize,
    kind: ColumnType,
    meaning: Meaning,
    /// Definition level of cells that have a value.
    level: i16,
    range: Option<(f64, f64)>,
}

#[derive(Debug)]
struct ParquetFile {
    path: PathBuf,
    time: Leaf,
    leaves: Vec<Leaf>,
    rows: Option<u64>,
}

/// Does something with a file. The `parquet` crate panics on some files that are damaged.
fn try_with<R>(
    path: &Path,
    action: impl FnOnce() -> Result<R, ParquetError>,
) -> Result<R, ReadTableError> {
    let damaged = || Err(ParquetError::General("the file is damaged".to_owned()));
    let outcome = guarded(action).unwrap_or_else(damaged);
    outcome.map_err(|error| {
        let mut message = match error {
            ParquetError::General(message) => message,
            other => other.to_string(),
        };
        if message.contains("Disabled feature") {
            message += "; write the file with compression=\"snappy\" or \"lz4\", or without";
        }
        ReadTableError::content(path, message)
    })
}

pub(super) fn open(path: &Path, time_column: Option<&str>) -> Result<Contents, ReadTableError> {
    let fail = |message| ReadTableError::content(path, message);
    let reader = reader(path)?;
    let (mut columns, mut leaves) = try_with(path, || read_schema(&reader))?;
    let mut of_time = time_of_columns(&columns, time_column).map_err(fail)?;
    columns.remove(of_time.place);
    let time = leaves.remove(of_time.place);
    if matches!(time.meaning, Meaning::Duration(_) | Meaning::Date(_)) {
        // Its type says the unit.
        of_time = TimeColumn::at(of_time.place);
    }
    refuse_dates(&columns, &leaves).map_err(fail)?;
    let metadata = metadata(&reader);
    metadata_units(&mut columns, &metadata);
    for (column, leaf) in columns.iter_mut().zip(&leaves) {
        if matches!(leaf.meaning, Meaning::Duration(_)) {
            column.unit = Some("s".to_owned());
        }
    }
    let rows = u64::try_from(reader.metadata().file_metadata().num_rows()).ok();
    Ok(Contents {
        columns,
        metadata,
        time: of_time,
        rows,
        form: Box::new(ParquetFile {
            path: path.to_owned(),
            time,
            leaves,
            rows,
        }),
    })
}

fn refuse_dates(columns: &[Column], leaves: &[Leaf]) -> Result<(), String> {
    let is_date = |(_, leaf): &(_, &Leaf)| matches!(leaf.meaning, Meaning::Date(_));
    match columns.iter().zip(leaves).find(is_date) {
        Some((column, _)) => Err(unreadable_date(&column.name)),
        None => Ok(()),
    }
}

/// All columns, whatever they are called.
pub(super) fn columns(path: &Path) -> Result<Vec<Series>, ReadTableError> {
    let reader = reader(path)?;
    try_with(path, || {
        let (columns, leaves) = read_schema(&reader)?;
        refuse_dates(&columns, &leaves).map_err(ParquetError::General)?;
        let mut scratch = Scratch::default();
        let read = |(column, leaf): (Column, Leaf)| {
            let mut values = Values::none(leaf.kind);
            for group in 0..reader.num_row_groups() {
                let group = reader.get_row_group(group)?;
                let mut cells = group.get_column_reader(leaf.place)?;
                let mut block = Values::none(leaf.kind);
                while scratch.read(&mut cells, leaf, &mut block)? > 0 {
                    values.append(&block);
                }
            }
            let name = column.name;
            let unit = column.unit;
            Ok(Series { name, unit, values })
        };
        columns.into_iter().zip(leaves).map(read).collect()
    })
}

fn reader(path: &Path) -> Result<SerializedFileReader<File>, ReadTableError> {
    let file = File::open(path);
    let file = file.map_err(|error| ReadTableError::content(path, error.to_string()))?;
    try_with(path, || {
        let reader = SerializedFileReader::new(file)?;
        let groups = reader.metadata().row_groups().iter();
        let chunks = groups.flat_map(RowGroupMetaData::columns);
        let mut places = chunks.map(|chunk| {
            let dictionary = chunk.dictionary_page_offset();
            let start = dictionary.unwrap_or_else(|| chunk.data_page_offset());
            (start, chunk.compressed_size())
        });
        // The crate panics on these.
        if places.any(|(start, length)| start < 0 || length < 0) {
            return Err(ParquetError::General("the file is damaged".to_owned()));
        }
        Ok(reader)
    })
}

fn metadata(reader: &SerializedFileReader<File>) -> Vec<(String, String)> {
    let entries = reader.metadata().file_metadata().key_value_metadata();
    let entries = entries.into_iter().flatten();
    let pair = |entry: &parquet::file::metadata::KeyValue| {
        entry.value.clone().map(|value| (entry.key.clone(), value))
    };
    entries.filter_map(pair).collect()
}

/// The columns; one that cannot be read is an error.
fn read_schema(
    reader: &SerializedFileReader<File>,
) -> Result<(Vec<Column>, Vec<Leaf>), ParquetError> {
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let types = arrow_types(&metadata(reader));
    let mut known = (Vec::new(), Vec::new());
    for (place, column) in schema.columns().iter().enumerate() {
        let parts = column.path().parts();
        let arrow_type = match parts {
            [name] => types.get(name),
            _ => None,
        };
        let (kind, meaning) = kind(column, arrow_type).map_err(|of_type| {
            let name = parts.first().map_or("", |name| name);
            ParquetError::General(unreadable(name, of_type))
        })?;
        known.0.push(Column::new(parts.join("."), kind));
        let range = (meaning == Meaning::Plain).then(|| range(reader, place));
        known.1.push(Leaf {
            place,
            kind,
            meaning,
            level: column.max_def_level(),
            range: range.flatten(),
        });
    }
    Ok(known)
}

/// By the statistics of all groups of rows.
fn range(reader: &SerializedFileReader<File>, place: usize) -> Option<(f64, f64)> {
    let groups = reader.metadata().row_groups().iter();
    let ranges = groups.map(|group| of_statistics(group.columns().get(place)?.statistics()?));
    ranges.reduce(|all, group| {
        let ((least, greatest), group) = (all?, group?);
        Some((least.min(group.0), greatest.max(group.1)))
    })?
}

fn of_statistics(statistics: &Statistics) -> Option<(f64, f64)> {
    let number = |boolean: &bool| f64::from(u8::from(*boolean));
    let (least, greatest) = match statistics {
        Statistics::Boolean(known) => (number(known.min_opt()?), number(known.max_opt()?)),
        Statistics::Int32(known) => ((*known.min_opt()?).into(), (*known.max_opt()?).into()),
        Statistics::Int64(known) => (*known.min_opt()? as f64, *known.max_opt()? as f64),
        Statistics::Float(known) => ((*known.min_opt()?).into(), (*known.max_opt()?).into()),
        Statistics::Double(known) => (*known.min_opt()?, *known.max_opt()?),
        _ => return None,
    };
    (least <= greatest).then_some((least, greatest))
}

impl Form for ParquetFile {
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError> {
        let reader = reader(&self.path)?;
        let rows = u64::try_from(reader.metadata().file_metadata().num_rows()).ok();
        let (_, mut leaves) = try_with(&self.path, || read_schema(&reader))?;
        let of_time = self.time.place;
        leaves.retain(|leaf| leaf.place != of_time);
        if leaves != self.leaves || rows != self.rows {
            let message = "the file has changed since it was opened".to_owned();
            return Err(ReadTableError::content(&self.path, message));
        }
        Ok(Box::new(ParquetStream {
            path: self.path.clone(),
            reader,
            time: self.time,
            leaves: columns.iter().map(|column| self.leaves[*column]).collect(),
            group: 0,
            open: None,
            scratch: Scratch::default(),
        }))
    }

    fn range(&self, column: usize) -> Option<(f64, f64)> {
        self.leaves[column].range
    }
}

struct ParquetStream {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    time: Leaf,
    leaves: Vec<Leaf>,
    /// The group of rows that comes next.
    group: usize,
    /// Readers of the group that is being read: time, then the columns.
    open: Option<(ColumnReader, Vec<ColumnReader>)>,
    scratch: Scratch,
}

impl Stream for ParquetStream {
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError> {
        let path = self.path.clone();
        try_with(&path, || self.fill_rows(block))
    }
}

impl ParquetStream {
    fn fill_rows(&mut self, block: &mut Block) -> Result<bool, ParquetError> {
        loop {
            let (time, columns) = match &mut self.open {
                Some(open) => open,
                None if self.group < self.reader.num_row_groups() => {
                    let group = self.reader.get_row_group(self.group)?;
                    let time = group.get_column_reader(self.time.place)?;
                    let columns = self.leaves.iter();
                    let columns = columns.map(|leaf| group.get_column_reader(leaf.place));
                    let columns = columns.collect::<Result<_, _>>()?;
                    self.group += 1;
                    self.open.insert((time, columns))
                }
                None => return Ok(false),
            };
            block.time.clear();
            self.scratch
                .read_numbers(time, self.time, &mut block.time)?;
            block
                .columns
                .resize_with(columns.len(), || Values::Numbers(Vec::new()));
            let rows = block.time.len();
            for ((column, leaf), values) in
                columns.iter_mut().zip(&self.leaves).zip(&mut block.columns)
            {
                let found = self.scratch.read(column, *leaf, values)?;
                if found != rows {
                    let message = format!(
                        "row group {}: the columns have different lengths",
                        self.group - 1
                    );
                    return Err(ParquetError::General(message));
                }
            }
            if rows > 0 {
                return Ok(true);
            }
            self.open = None;
        }
    }
}

/// Values as the file has them, on their way to a block.
#[derive(Default)]
struct Scratch {
    levels: Vec<i16>,
    booleans: Vec<bool>,
    int32: Vec<i32>,
    int64: Vec<i64>,
    floats: Vec<f32>,
    doubles: Vec<f64>,
    texts: Vec<ByteArray>,
    fixed: Vec<FixedLenByteArray>,
    /// The first of the dates.
    first: Option<i64>,
}

impl Scratch {
    /// Replaces the values by the next cells of a column; returns their number.
    fn read(
        &mut self,
        column: &mut ColumnReader,
        leaf: Leaf,
        values: &mut Values,
    ) -> Result<usize, ParquetError> {
        if leaf.kind != ColumnType::String {
            let mut numbers = match std::mem::replace(values, Values::Numbers(Vec::new())) {
                Values::Numbers(numbers) => numbers,
                Values::Text(_) => Vec::new(),
            };
            numbers.clear();
            self.read_numbers(column, leaf, &mut numbers)?;
            let found = numbers.len();
            *values = Values::Numbers(numbers);
            return Ok(found);
        }
        let mut texts = Vec::new();
        if let ColumnReader::ByteArrayColumnReader(column) = column {
            let mut is_text = true;
            let text = |cell: &ByteArray| {
                let text = std::str::from_utf8(cell.data());
                is_text &= text.is_ok();
                text.unwrap_or_default().to_owned()
            };
            let missing = String::new;
            let (levels, scratch) = (&mut self.levels, &mut self.texts);
            cells(
                column,
                leaf.level,
                (levels, scratch),
                &mut texts,
                missing,
                text,
            )?;
            if !is_text {
                let message = "a column has bytes that are no UTF-8 text; write it as string";
                return Err(ParquetError::General(message.to_owned()));
            }
        }
        let found = texts.len();
        *values = Values::Text(texts);
        Ok(found)
    }

    /// Appends the next cells of a column.
    fn read_numbers(
        &mut self,
        column: &mut ColumnReader,
        leaf: Leaf,
        all: &mut Vec<f64>,
    ) -> Result<(), ParquetError> {
        use ColumnReader as Of;
        let (level, missing, meaning) = (leaf.level, || f64::NAN, leaf.meaning);
        let levels = &mut self.levels;
        match column {
            Of::BoolColumnReader(c) => {
                let number = |value: &bool| f64::from(u8::from(*value));
                cells(c, level, (levels, &mut self.booleans), all, missing, number)
            }
            Of::Int32ColumnReader(c) => {
                let number = |value: &i32| match meaning {
                    Meaning::Unsigned => f64::from(value.cast_unsigned()),
                    _ => meaning.of_integer(i64::from(*value)),
                };
                cells(c, level, (levels, &mut self.int32), all, missing, number)
            }
            Of::Int64ColumnReader(c) => {
                let first = &mut self.first;
                let number = |value: &i64| match meaning {
                    Meaning::Plain => *value as f64,
                    Meaning::Date(of_second) => since_first(*value, first) / of_second,
                    _ => meaning.of_integer(*value),
                };
                cells(c, level, (levels, &mut self.int64), all, missing, number)
            }
            Of::FloatColumnReader(c) => {
                let number = |value: &f32| f64::from(*value);
                cells(c, level, (levels, &mut self.floats), all, missing, number)
            }
            Of::DoubleColumnReader(c) => {
                let number = |value: &f64| *value;
                cells(c, level, (levels, &mut self.doubles), all, missing, number)
            }
            Of::ByteArrayColumnReader(c) => {
                let number = |value: &ByteArray| meaning.of_bytes(value.data());
                cells(c, level, (levels, &mut self.texts), all, missing, number)
            }
            Of::FixedLenByteArrayColumnReader(c) => {
                let number = |value: &FixedLenByteArray| meaning.of_bytes(value.data());
                cells(c, level, (levels, &mut self.fixed), all, missing, number)
            }
            Of::Int96ColumnReader(_) => Ok(()),
        }
    }
}

/// Appends the next cells of a column: values, and a placeholder for each missing one.
fn cells<T: DataType, V>(
    column: &mut ColumnReaderImpl<T>,
    level: i16,
    (levels, values): (&mut Vec<i16>, &mut Vec<T::T>),
    all: &mut Vec<V>,
    missing: impl Fn() -> V,
    mut value: impl FnMut(&T::T) -> V,
) -> Result<(), ParquetError> {
    levels.clear();
    values.clear();
    column.read_records(ROWS, Some(levels), None, values)?;
    // A column that must have values has no levels.
    if level == 0 || levels.len() == values.len() {
        all.extend(values.iter().map(value));
        return Ok(());
    }
    let mut values = values.iter();
    let cell = |found: &i16| {
        let is_there = *found == level;
        let cell = is_there.then(|| values.next()).flatten();
        cell.map_or_else(&missing, &mut value)
    };
    all.extend(levels.iter().map(cell));
    Ok(())
}
