//! Results of a simulation: where rows go, how they are read back, how two results compare.
//!
//! A run pushes rows into a [`RowSink`]; [`create_sink`] picks one by the ending of the file's
//! name. [`read_table`] reads a result, or an input file, into a [`Table`]; [`compare`] measures how
//! far two tables are apart.

#![forbid(unsafe_code)]

mod compare;
mod csv_reader;
mod csv_sink;
mod memory_sink;
mod parquet_reader;
mod parquet_sink;
mod parquet_writer;
mod same_time;
mod sink;
mod table;

pub use compare::{ColumnComparison, Comparison, Tolerance, compare};
pub use csv_reader::{CsvError, parse_csv, read_csv};
pub use csv_sink::{CsvSink, Output};
pub use memory_sink::MemorySink;
pub use parquet_reader::{ReadTableError, read_parquet, read_table};
pub use parquet_sink::ParquetSink;
pub use parquet_writer::{Cells, ParquetWriter, write_whole};
pub use same_time::is_same_time;
pub use sink::{Cell, Column, Kind, RecordError, RowSink, SINKS, SinkInfo, create_sink};
pub use table::{Series, Table, Values};
