//! Results of a simulation: writes rows, reads them back, and compares results.
//!
//! The recorder of a run and all that reads results call it. It knows no system and no unit, and a damaged file is an
//! error, never a panic.
//!
//! A run pushes rows into a [`RowSink`]; [`create_sink`] picks one by the file extension. [`read_table`] reads a
//! result, or an input file, into a [`Table`]; [`compare`] measures how far two tables are apart. [`ResultFile`] reads
//! chosen columns of a result of any size, block by block, and [`Decimated`] keeps of them as much as a picture can
//! show.
//!
//! The feature `parquet`, on by default, reads and writes Parquet and Arrow IPC besides CSV; it is the larger part of
//! the time that this crate takes to compile. [`convert`] makes a result of one form of one of another.

#![forbid(unsafe_code)]

#[cfg(feature = "parquet")]
mod arrow_writer;
#[cfg(feature = "parquet")]
mod columnar;
#[cfg(feature = "parquet")]
mod columnar_form;
#[cfg(feature = "parquet")]
mod columnar_sink;
mod compare;
#[cfg(feature = "parquet")]
mod conversion;
mod csv_reader;
mod csv_rows;
mod csv_sink;
mod decimated;
mod decimating_sink;
mod descriptor;
#[cfg(feature = "parquet")]
mod group_writer;
mod heading;
mod lookup;
mod memory_sink;
#[cfg(feature = "parquet")]
mod parquet_writer;
mod part_file;
mod physical_unit;
mod queued_sink;
mod read_error;
#[cfg(feature = "parquet")]
mod real_pages;
mod result_file;
mod row_buffer;
mod row_encoding;
mod row_text;
mod sink;
mod sinks;
#[cfg(feature = "parquet")]
mod spool;
#[cfg(feature = "parquet")]
mod spool_reader;
mod table;
mod table_reader;

#[cfg(feature = "parquet")]
pub use columnar::{CellValues, Cells, ColumnarWriter, TableHead};
#[cfg(feature = "parquet")]
pub use columnar_form::{ColumnarForm, PARQUET};
#[cfg(feature = "parquet")]
pub use columnar_sink::ColumnarSink;
pub use compare::{ColumnComparison, Comparison, Tolerance, compare};
#[cfg(feature = "parquet")]
pub use conversion::{ConversionError, convert};
pub use csv_reader::{parse_csv, place_of_cell, read_csv};
pub use csv_rows::number_of_cell;
pub use csv_sink::{CsvSink, Output};
pub use decimated::{ALL_TIMES, Decimated, DecimatedColumn, Decimator, Extreme};
pub use decimating_sink::DecimatingSink;
pub use heading::is_heading;
pub use lookup::{Interpolation, is_same_time, row_at};
pub use memory_sink::{
    ColumnValues, MemoryRows, MemorySink, ParameterValue, Recorded, RecordedColumn,
};
#[cfg(feature = "parquet")]
pub use parquet_writer::ParquetWriter;
pub use part_file::{PartFile, is_same, rows_path, write_whole};
pub use physical_unit::conversion_between;
pub use queued_sink::QueuedSink;
pub use read_error::{CsvError, ReadTableError};
pub use result_file::{Block, Blocks, ResultFile};
pub use row_encoding::{DoublesHeader, count_rows};
pub use sink::{Cell, Column, ColumnType, RecordError, RowSink};
pub use sinks::{SINKS, SinkInfo, create_sink, finish_rows, is_csv, is_stream, is_written_by_rows};
pub use table::{RenameError, Series, Table, Values};
pub use table_reader::{read_columns, read_table, read_table_with};
