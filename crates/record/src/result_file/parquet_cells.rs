//! The cells of Parquet's types.

use std::collections::BTreeMap;

use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_schema::DataType;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::ColumnDescriptor;

use super::arrow_and_parquet::decimal;
use super::arrow_cells::{self, of_second};
use crate::sink::ColumnType;

/// The key of the metadata in which programs with Arrow keep their types; Parquet has no durations.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// What the numbers of a column stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Meaning {
    /// Themselves, or texts.
    Plain,
    /// Whole numbers without a sign.
    Unsigned,
    /// Two bytes of each float.
    Half,
    /// Whole numbers, or their bytes, with as many decimal places.
    Decimal(i32),
    /// As many to a second.
    Duration(f64),
    /// As many to a second, from 1970 on: only of the column of the times.
    Date(f64),
}

impl Meaning {
    /// The number that a whole number of the file stands for, except of dates.
    pub(super) fn of_integer(self, value: i64) -> f64 {
        match self {
            Self::Unsigned => value as u64 as f64,
            Self::Decimal(scale) => decimal(value, scale),
            Self::Duration(of_second) | Self::Date(of_second) => value as f64 / of_second,
            Self::Plain | Self::Half => value as f64,
        }
    }

    /// The number that bytes stand for.
    pub(super) fn of_bytes(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::Half, [low, high]) => half(u16::from_le_bytes([*low, *high])),
            (Self::Decimal(scale), [first, ..]) if bytes.len() <= 16 => {
                // The sign is in the first of the bytes.
                let mut whole = [if first.leading_ones() > 0 { 0xff } else { 0 }; 16];
                whole[16 - bytes.len()..].copy_from_slice(bytes);
                decimal(i128::from_be_bytes(whole), scale)
            }
            _ => f64::NAN,
        }
    }
}

/// A float of 16 bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match i32::from(bits >> 10 & 0x1f) {
        0 => fraction * f64::exp2(-24.0),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
    }
}

/// The types of Arrow that a file names, by column.
pub(super) fn arrow_types(metadata: &[(String, String)]) -> BTreeMap<String, DataType> {
    let schema = metadata.iter().find(|(key, _)| key == ARROW_SCHEMA);
    let schema = schema.and_then(|(_, text)| BASE64_STANDARD.decode(text).ok());
    let schema = schema.and_then(|bytes| try_schema_from_ipc_buffer(&bytes).ok());
    let fields = schema.map(|schema| schema.fields().clone());
    let fields = fields.iter().flat_map(|fields| fields.iter());
    fields
        .map(|field| (field.name().clone(), field.data_type().clone()))
        .collect()
}

/// The kind of a column, and what its numbers stand for.
///
/// # Errors
/// The type, if it cannot be read.
pub(super) fn kind(
    column: &ColumnDescriptor,
    arrow_type: Option<&DataType>,
) -> Result<(ColumnType, Meaning), String> {
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    let physical = column.physical_type();
    if column.max_rep_level() > 0 {
        return Err("list or map".to_owned());
    }
    match arrow_type {
        Some(DataType::Duration(unit)) => {
            return Ok((ColumnType::Real, Meaning::Duration(of_second(*unit))));
        }
        Some(DataType::Timestamp(..)) | None => {}
        Some(other) if arrow_cells::kind(other).is_none() => return Err(other.to_string()),
        Some(_) => {}
    }
    // In 16 bytes.
    let is_short = column.type_precision() <= 38 && column.type_length() <= 16;
    let plain = |kind| Ok((kind, Meaning::Plain));
    let date = |of_second| Ok((ColumnType::Real, Meaning::Date(of_second)));
    match (logical, converted) {
        (Some(LogicalType::Decimal(of)), _) if is_short => {
            return Ok((ColumnType::Real, Meaning::Decimal(of.scale)));
        }
        (None, ConvertedType::DECIMAL) if is_short => {
            return Ok((ColumnType::Real, Meaning::Decimal(column.type_scale())));
        }
        (Some(LogicalType::Float16), _) => return Ok((ColumnType::Real, Meaning::Half)),
        (Some(LogicalType::Timestamp(of)), _) => {
            return date(match of.unit {
                TimeUnit::MILLIS => 1e3,
                TimeUnit::MICROS => 1e6,
                TimeUnit::NANOS => 1e9,
            });
        }
        (None, ConvertedType::TIMESTAMP_MILLIS) => return date(1e3),
        (None, ConvertedType::TIMESTAMP_MICROS) => return date(1e6),
        (Some(LogicalType::Integer(of)), _) if !of.is_signed => {
            return Ok((ColumnType::Integer, Meaning::Unsigned));
        }
        (
            None,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => return Ok((ColumnType::Integer, Meaning::Unsigned)),
        (
            None
            | Some(
                LogicalType::String
                | LogicalType::Enum
                | LogicalType::Json
                | LogicalType::Integer(_)
                | LogicalType::Unknown,
            ),
            ConvertedType::NONE
            | ConvertedType::UTF8
            | ConvertedType::ENUM
            | ConvertedType::JSON
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => {}
        (Some(other), _) => {
            let name = format!("{other:?}");
            return Err(name.split('(').next().unwrap_or_default().to_owned());
        }
        (None, other) => return Err(other.to_string()),
    }
    match physical {
        Type::BOOLEAN => plain(ColumnType::Boolean),
        Type::INT32 | Type::INT64 => plain(ColumnType::Integer),
        Type::FLOAT | Type::DOUBLE => plain(ColumnType::Real),
        Type::BYTE_ARRAY => plain(ColumnType::String),
        Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => Err(physical.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_two_bytes() {
        for (bits, number) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_625e-5),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x3555, 0.333_251_953_125),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), number, "{bits:x}");
        }
        assert!(half(0x7e00).is_nan() && half(0x8000).is_sign_negative());
    }

    #[test]
    fn decimal_numbers_are_the_nearest_doubles() {
        let of = Meaning::Decimal(2);
        assert_eq!(of.of_integer(1234), 12.34);
        assert_eq!(of.of_bytes(&[0xff, 0x85]), -1.23);
        assert_eq!(of.of_bytes(&[0x7f; 16]), 1.694_739_631_331_732_8e36);
        assert_eq!(Meaning::Decimal(-3).of_integer(7), 7000.0);
        assert_eq!(
            Meaning::Unsigned.of_integer(-1),
            18_446_744_073_709_551_615.0
        );
    }
}
