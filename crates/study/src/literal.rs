//! Values of keys, as a study file or a CSV file gives them.

use gyrator_system::{Value, toml_file};
use toml::Spanned as Placed;
use toml::de::DeValue;

use crate::cell::Cell;

/// A value of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// As TOML writes it.
    pub toml: String,
    /// As it stands in the table.
    pub cell: Cell,
}

impl Literal {
    /// A number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        Self::value(&Value::Real(number))
    }

    /// A scalar value.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        Self {
            toml: toml_file::literal(value),
            cell: match value {
                Value::Real(number) => Cell::Real(*number),
                Value::Integer(number) => Cell::Real(*number as f64),
                Value::Boolean(boolean) => Cell::Text(boolean.to_string()),
                Value::String(text) => Cell::Text(text.clone()),
            },
        }
    }

    /// A value of `text`; `None` for a list or a date, which no key accepts.
    pub(crate) fn of(value: &Placed<DeValue<'_>>, text: &str) -> Option<Self> {
        let toml = text.get(value.span())?.to_owned();
        let cell = match value.get_ref() {
            DeValue::Float(number) => Cell::Real(number.as_str().parse().ok()?),
            DeValue::Integer(number) => {
                let whole = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                Cell::Real(whole as f64)
            }
            DeValue::Boolean(boolean) => Cell::Text(boolean.to_string()),
            DeValue::String(text) => Cell::Text(text.to_string()),
            DeValue::Table(_) => Cell::Text(toml.split_whitespace().collect::<Vec<_>>().join(" ")),
            DeValue::Array(_) | DeValue::Datetime(_) => return None,
        };
        Some(Self { toml, cell })
    }
}
