//! The changes of values by a connection, in the words of a system file.

use std::ops::Range;

use gyrator_system::{Connection, Spanned, TypeConversion, Value};

use crate::conversion::Linear;

/// Values of an output, as text, and the values of the input in their place.
pub(crate) type Table = Vec<(Spanned<String>, Spanned<Value>)>;

/// The changes of an output's values on their way to an input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// After the conversion of units.
    pub(crate) linear: Linear,
    pub(crate) table: Option<Table>,
    /// Whether the engine converts between the units of the FMUs.
    pub(crate) converts_units: bool,
}

impl Change {
    /// The change that a connection makes.
    pub(crate) fn of(connection: &Connection) -> Self {
        let number = |number: &Option<Spanned<f64>>, neutral: f64| {
            number.as_ref().map_or(neutral, |number| number.value)
        };
        let convert = connection.convert.as_ref().map(|convert| &convert.value);
        Self {
            linear: Linear {
                factor: number(&connection.gain, 1.0),
                offset: number(&connection.offset, 0.0),
            },
            table: match convert {
                Some(TypeConversion::Table(table)) => Some(table.clone()),
                _ => None,
            },
            converts_units: connection.unit_conversion,
        }
    }

    /// Lets a connection make the change.
    pub(crate) fn apply(self, connection: &mut Connection, place: &Range<usize>) {
        let placed = |number: f64, neutral: f64| {
            (number != neutral).then(|| Spanned::new(number, place.clone()))
        };
        connection.gain = placed(self.linear.factor, 1.0);
        connection.offset = placed(self.linear.offset, 0.0);
        let table = self.table.map(TypeConversion::Table);
        connection.convert = table.map(|table| Spanned::new(table, place.clone()));
        connection.unit_conversion = self.converts_units;
    }
}
