//! Columns of a result in memory, which numpy and Arrow share.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use gyrator_record::{Cell, ColumnType};

/// A column with its values.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
}

impl Column {
    /// The type of the values in a result file.
    pub(crate) fn kind(&self) -> ColumnType {
        match &self.values {
            Values::Real(_) => ColumnType::Real,
            Values::Integer(_) => ColumnType::Integer,
            Values::Boolean(_) => ColumnType::Boolean,
            Values::Text(_) => ColumnType::String,
        }
    }

    /// The value of a row.
    pub(crate) fn cell(&self, row: usize) -> Cell<'_> {
        match &self.values {
            Values::Real(values) => Cell::Real(values[row]),
            Values::Integer(values) => Cell::Integer(values[row].into()),
            Values::Boolean(values) => Cell::Boolean(values[row] != 0),
            Values::Text(texts) => Cell::String(&texts[row]),
        }
    }
}

/// The values of a column. Clones share them.
#[derive(Clone)]
pub(crate) enum Values {
    Real(ScalarBuffer<f64>),
    /// Also numbers of the items of an enumeration.
    Integer(ScalarBuffer<i32>),
    /// A byte each, 0 or 1, as numpy keeps booleans.
    Boolean(ScalarBuffer<u8>),
    Text(Arc<Vec<String>>),
}

/// Types of columns that are not of reals, by the words of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Integer,
    Boolean,
}

impl Type {
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "integer" | "enumeration" => Some(Self::Integer),
            "boolean" => Some(Self::Boolean),
            _ => None,
        }
    }
}

impl Values {
    /// Numbers as values of a type. Where one is none of the type, they stay reals.
    pub(crate) fn of_numbers(numbers: Vec<f64>, kind: Option<Type>) -> Self {
        let is_whole = |number: &f64| f64::from(*number as i32) == *number;
        let is_bit = |number: &f64| *number == 0.0 || *number == 1.0;
        match kind {
            Some(Type::Integer) if numbers.iter().all(is_whole) => {
                let whole = numbers.iter().map(|number| *number as i32);
                Self::Integer(whole.collect::<Vec<_>>().into())
            }
            Some(Type::Boolean) if numbers.iter().all(is_bit) => {
                let bits = numbers.iter().map(|number| u8::from(*number != 0.0));
                Self::Boolean(bits.collect::<Vec<_>>().into())
            }
            _ => Self::Real(numbers.into()),
        }
    }

    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Real(_) => DataType::Float64,
            Self::Integer(_) => DataType::Int32,
            Self::Boolean(_) => DataType::Boolean,
            Self::Text(_) => DataType::Utf8,
        }
    }

    /// The values as Arrow has them: numbers are shared; booleans are packed to bits, texts are copied.
    pub(crate) fn arrow(&self) -> ArrayRef {
        match self {
            Self::Real(values) => Arc::new(Float64Array::new(values.clone(), None)),
            Self::Integer(values) => Arc::new(Int32Array::new(values.clone(), None)),
            Self::Boolean(values) => {
                let bits: BooleanArray = values.iter().map(|bit| Some(*bit != 0)).collect();
                Arc::new(bits)
            }
            Self::Text(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
        }
    }
}
