//! The requests of a page to its run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A request of a page to its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Hold the run at its next communication point.
    Pause,
    /// Go on.
    Resume,
    /// End the run at its next communication point; a second time, at once.
    Stop,
    /// Give a variable this value from the next macro-step on, whatever feeds it.
    Override {
        /// `component.variable`.
        variable: String,
        /// The value.
        value: CommandValue,
    },
    /// End all actions on a variable.
    Release {
        /// `component.variable`.
        variable: String,
    },
}

/// A value in a command: a number, a truth value, or the name of an enumeration's item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandValue {
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// The name of an item.
    Text(String),
}

impl fmt::Display for CommandValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

impl Command {
    /// Reads a command.
    ///
    /// # Errors
    /// One sentence: JSON that does not match a command.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| format!("this is not a command: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_nothing_else_is() {
        let read = |text: &str| Command::parse(text.as_bytes());
        assert_eq!(read(r#"{"command":"pause"}"#), Ok(Command::Pause));
        let text = r#"{"command":"override","variable":"a.u","value":2.5}"#;
        let command = Command::Override {
            variable: "a.u".to_owned(),
            value: CommandValue::Real(2.5),
        };
        assert_eq!(read(text), Ok(command.clone()));
        let written = serde_json::to_vec(&command).unwrap();
        assert_eq!(Command::parse(&written), Ok(command));
        for wrong in [
            "",
            "{}",
            "[]",
            r#"{"command":"delete"}"#,
            r#"{"command":"override","variable":"a.u"}"#,
            r#"{"command":"override","variable":"a.u","value":null}"#,
            r#"{"command":"override","variable":"a.u","value":1e999}"#,
            r#"{"command":"release","variable":"a.u","value":1}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
