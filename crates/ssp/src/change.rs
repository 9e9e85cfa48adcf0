//! What a connection makes of values, in the words of a system file.

use std::ops::Range;

use gyrator_system::{Connection, Problem, Spanned, Value};

use crate::conversion::Linear;

/// Values of an output, as text, and the values of the input in their place.
pub(crate) type Table = Vec<(Spanned<String>, Spanned<Value>)>;

/// What becomes of the values of an output on their way to an input.
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
        let gain = connection.gain.as_ref().map_or(1.0, |gain| gain.value);
        Self {
            linear: Linear {
                factor: gain,
                offset: 0.0,
            },
            table: None,
            converts_units: true,
        }
    }

    /// Lets a connection make the change; returns a problem where it cannot.
    pub(crate) fn apply(
        self,
        connection: &mut Connection,
        place: &Range<usize>,
    ) -> Option<Problem> {
        let Linear { factor, offset } = self.linear;
        connection.gain = (factor != 1.0).then(|| Spanned::new(factor, place.clone()));
        let message = if offset != 0.0 {
            "connections with an offset are not supported"
        } else if self.table.is_some() {
            "mappings of values on connections are not supported"
        } else if !self.converts_units {
            "connections that keep the unit are not supported"
        } else {
            return None;
        };
        Some(Problem::error("not-supported", message).at(place))
    }
}
