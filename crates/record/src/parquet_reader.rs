//! Reading a Parquet file into a table.

use std::fs::File;
use std::path::Path;

use parquet::column::reader::ColumnReader;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use crate::table::{Series, Table, Values};
use crate::table_reader::ReadTableError;

/// Reads a Parquet file of plain columns: numbers, booleans as 0 and 1, texts. Its column `time`
/// never decreases. A missing number is NaN, a missing text is empty.
///
/// # Errors
///
/// [`ReadTableError::Parquet`].
pub fn read_parquet(path: &Path) -> Result<Table, ReadTableError> {
    let fail = |message: String| ReadTableError::content(path, message);
    let mut columns = read_parquet_columns(path)?;
    let time = columns.iter().position(|column| column.name == "time");
    let time = time.map(|place| columns.remove(place).values);
    let Some(Values::Numbers(time)) = time else {
        return Err(fail("there is no column `time` of numbers".to_owned()));
    };
    let is_time = time.iter().all(|time| time.is_finite()) && time.is_sorted();
    if !is_time {
        return Err(fail("the times must be finite and not decrease".to_owned()));
    }
    Ok(Table {
        time,
        series: columns,
    })
}

/// All columns, whatever they are called.
pub(crate) fn read_parquet_columns(path: &Path) -> Result<Vec<Series>, ReadTableError> {
    let fail = |message: String| ReadTableError::content(path, message);
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let read = std::panic::catch_unwind(|| read_columns(file));
    // The `parquet` crate panics on some files that are damaged.
    let read = read.map_err(|_| fail("the file is damaged".to_owned()))?;
    read.map_err(|error| fail(error.to_string()))
}

fn read_columns(file: File) -> Result<Vec<Series>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns = Vec::new();
    for (index, column) in schema.columns().iter().enumerate() {
        let mut values = Values::Numbers(Vec::new());
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            append(group.get_column_reader(index)?, rows, &mut values)?;
        }
        columns.push(Series {
            name: column.path().parts().join("."),
            values,
        });
    }
    Ok(columns)
}

fn append(column: ColumnReader, rows: usize, values: &mut Values) -> Result<(), ParquetError> {
    let numbers: Vec<f64> = match column {
        ColumnReader::BoolColumnReader(mut c) => {
            numbers(&mut c, rows, |value| f64::from(u8::from(*value)))?
        }
        ColumnReader::Int32ColumnReader(mut c) => numbers(&mut c, rows, |value| f64::from(*value))?,
        ColumnReader::Int64ColumnReader(mut c) => numbers(&mut c, rows, |value| *value as f64)?,
        ColumnReader::FloatColumnReader(mut c) => numbers(&mut c, rows, |value| f64::from(*value))?,
        ColumnReader::DoubleColumnReader(mut c) => numbers(&mut c, rows, |value| *value)?,
        ColumnReader::ByteArrayColumnReader(mut c) => {
            let cells = cells(&mut c, rows)?;
            let text = |cell: Option<parquet::data_type::ByteArray>| {
                // The data of an empty `ByteArray` cannot be asked for.
                cell.map_or_else(String::new, |bytes| {
                    String::from_utf8_lossy(bytes.data()).into_owned()
                })
            };
            let texts = cells.into_iter().map(text);
            match values {
                Values::Text(all) => all.extend(texts),
                Values::Numbers(_) => *values = Values::Text(texts.collect()),
            }
            return Ok(());
        }
        _ => {
            let message = "columns of this type are not supported".to_owned();
            return Err(ParquetError::NYI(message));
        }
    };
    if let Values::Numbers(all) = values {
        all.extend(numbers);
    }
    Ok(())
}

type Reader<T> = parquet::column::reader::ColumnReaderImpl<T>;

fn numbers<T: DataType>(
    column: &mut Reader<T>,
    rows: usize,
    number: impl Fn(&T::T) -> f64,
) -> Result<Vec<f64>, ParquetError> {
    let cells = cells(column, rows)?;
    let number = |cell: &Option<T::T>| cell.as_ref().map_or(f64::NAN, &number);
    Ok(cells.iter().map(number).collect())
}

fn cells<T: DataType>(
    column: &mut Reader<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    column.read_records(rows, Some(&mut levels), None, &mut values)?;
    // A column that must have values has no levels.
    if levels.is_empty() {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    let cell = |level: &i16| if *level > 0 { values.next() } else { None };
    Ok(levels.iter().map(cell).collect())
}
