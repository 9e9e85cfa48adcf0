//! The cells of Arrow's types.

use arrow_array::cast::AsArray as _;
use arrow_array::temporal_conversions as per_second;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, OffsetSizeTrait};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::arrow::damaged;
use super::arrow_and_parquet::{decimal, since_first};
use crate::sink::ColumnType;
use crate::table::Values;

/// How many of a unit of time make a second.
pub(super) fn of_second(unit: TimeUnit) -> f64 {
    match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => per_second::MILLISECONDS as f64,
        TimeUnit::Microsecond => per_second::MICROSECONDS as f64,
        TimeUnit::Nanosecond => per_second::NANOSECONDS as f64,
    }
}

/// The kind of a column that can be read.
pub(super) fn kind(data_type: &DataType) -> Option<ColumnType> {
    match data_type {
        // Of the type Null all values are missing.
        DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Duration(_)
        | DataType::Null => Some(ColumnType::Real),
        DataType::Boolean => Some(ColumnType::Boolean),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(ColumnType::String),
        DataType::Dictionary(_, of) if !matches!(**of, DataType::Dictionary(..)) => kind(of),
        other if other.is_decimal() => Some(ColumnType::Real),
        other if other.is_integer() => Some(ColumnType::Integer),
        _ => None,
    }
}

/// Whether a column has another unit of time than its name may say.
pub(super) fn is_of_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Duration(_) | DataType::Timestamp(..))
}

/// The cells of a column: a missing number is NaN, a missing text is empty.
pub(super) fn values(column: &dyn Array) -> Result<Values, ArrowError> {
    Ok(Values::Numbers(match column.data_type() {
        DataType::Float64 => numbers::<Float64Type>(column, |value| value),
        DataType::Float32 => numbers::<Float32Type>(column, f64::from),
        DataType::Float16 => numbers::<Float16Type>(column, f64::from),
        DataType::Int8 => numbers::<Int8Type>(column, f64::from),
        DataType::Int16 => numbers::<Int16Type>(column, f64::from),
        DataType::Int32 => numbers::<Int32Type>(column, f64::from),
        DataType::Int64 => numbers::<Int64Type>(column, |value| value as f64),
        DataType::UInt8 => numbers::<UInt8Type>(column, f64::from),
        DataType::UInt16 => numbers::<UInt16Type>(column, f64::from),
        DataType::UInt32 => numbers::<UInt32Type>(column, f64::from),
        DataType::UInt64 => numbers::<UInt64Type>(column, |value| value as f64),
        DataType::Decimal32(_, scale) => decimals::<Decimal32Type>(column, *scale),
        DataType::Decimal64(_, scale) => decimals::<Decimal64Type>(column, *scale),
        DataType::Decimal128(_, scale) => decimals::<Decimal128Type>(column, *scale),
        DataType::Decimal256(_, scale) => decimals::<Decimal256Type>(column, *scale),
        DataType::Duration(unit) => {
            let seconds = |value: i64| value as f64 / of_second(*unit);
            match unit {
                TimeUnit::Second => numbers::<DurationSecondType>(column, seconds),
                TimeUnit::Millisecond => numbers::<DurationMillisecondType>(column, seconds),
                TimeUnit::Microsecond => numbers::<DurationMicrosecondType>(column, seconds),
                TimeUnit::Nanosecond => numbers::<DurationNanosecondType>(column, seconds),
            }
        }
        DataType::Boolean => {
            let cell =
                |cell: Option<bool>| cell.map_or(f64::NAN, |value| f64::from(u8::from(value)));
            column.as_boolean().iter().map(cell).collect()
        }
        DataType::Null => vec![f64::NAN; column.len()],
        DataType::Utf8 => return Ok(texts::<i32>(column)),
        DataType::LargeUtf8 => return Ok(texts::<i64>(column)),
        DataType::Utf8View => {
            let cells = column.as_string_view().iter();
            return Ok(Values::Text(cells.map(text).collect()));
        }
        DataType::Dictionary(..) => return of_dictionary(column),
        _ => return Err(damaged()),
    }))
}

/// The times of a column, s; timestamps count from the first one of the file.
pub(super) fn times(column: &dyn Array, first: &mut Option<i64>) -> Result<Vec<f64>, ArrowError> {
    let DataType::Timestamp(unit, _) = column.data_type() else {
        let Values::Numbers(times) = values(column)? else {
            return Err(damaged());
        };
        return Ok(times);
    };
    let seconds = |value| since_first(value, first) / of_second(*unit);
    Ok(match unit {
        TimeUnit::Second => numbers::<TimestampSecondType>(column, seconds),
        TimeUnit::Millisecond => numbers::<TimestampMillisecondType>(column, seconds),
        TimeUnit::Microsecond => numbers::<TimestampMicrosecondType>(column, seconds),
        TimeUnit::Nanosecond => numbers::<TimestampNanosecondType>(column, seconds),
    })
}

fn numbers<T: ArrowPrimitiveType>(
    column: &dyn Array,
    mut number: impl FnMut(T::Native) -> f64,
) -> Vec<f64> {
    let cells = column.as_primitive::<T>();
    cells
        .iter()
        .map(|cell| cell.map_or(f64::NAN, &mut number))
        .collect()
}

/// The doubles that are nearest to decimal numbers.
fn decimals<T: ArrowPrimitiveType>(column: &dyn Array, scale: i8) -> Vec<f64>
where
    T::Native: std::fmt::Display,
{
    numbers::<T>(column, |value| decimal(value, scale.into()))
}

fn text(cell: Option<&str>) -> String {
    cell.unwrap_or_default().to_owned()
}

fn texts<O: OffsetSizeTrait>(column: &dyn Array) -> Values {
    let cells = column.as_string::<O>().iter();
    Values::Text(cells.map(text).collect())
}

fn of_dictionary(column: &dyn Array) -> Result<Values, ArrowError> {
    let dictionary = column.as_any_dictionary_opt().ok_or_else(damaged)?;
    let known = values(&**dictionary.values())?;
    let is_missing = |row: usize| column.is_null(row);
    // Without values there are no keys.
    let keys = match known.is_empty() {
        true => vec![0; column.len()],
        false => dictionary.normalized_keys(),
    };
    let places = (keys.into_iter().enumerate()).map(|(row, key)| (!is_missing(row)).then_some(key));
    Ok(match known {
        Values::Numbers(known) => {
            let number = |key: Option<usize>| key.and_then(|key| known.get(key).copied());
            Values::Numbers(places.map(|key| number(key).unwrap_or(f64::NAN)).collect())
        }
        Values::Text(known) => {
            let text = |key: Option<usize>| key.and_then(|key| known.get(key).cloned());
            Values::Text(places.map(|key| text(key).unwrap_or_default()).collect())
        }
    })
}
