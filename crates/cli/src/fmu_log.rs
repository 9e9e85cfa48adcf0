//! Log lines of FMUs and of the engine, on the standard error.

use std::fmt::{self, Write as _};

use clap::ValueEnum;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::screen;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum LogLevel {
    /// None
    Off,
    /// Errors of FMUs
    Error,
    /// Also warnings
    Warn,
    /// All log lines; the FMUs are asked to log more than they must
    Info,
    /// Also messages for finding errors of gyrator itself
    Debug,
}

impl LogLevel {
    fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
        }
    }
}

/// Writes log lines to the standard error from now on.
pub(crate) fn start(level: LogLevel) {
    let subscriber = tracing_subscriber::registry().with(Lines.with_filter(level.filter()));
    // One is set already only if the program runs twice in a process.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writes each event as a line `warning: left: message [category]`.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut parts = Parts::default();
        event.record(&mut parts);
        // An FMU that calls something an error may go on anyway.
        let is_fmu = event.metadata().target() == "fmu" && parts.category != "gyrator";
        let says = if is_fmu { "the FMU says: " } else { "" };
        let line = parts.line(*event.metadata().level());
        screen::message(&format!("{says}{line}"));
    }
}

#[derive(Default)]
struct Parts {
    instance: String,
    category: String,
    message: String,
}

impl Parts {
    fn line(&self, level: tracing::Level) -> String {
        let word = match level {
            tracing::Level::ERROR => "error",
            tracing::Level::WARN => "warning",
            tracing::Level::INFO => "info",
            tracing::Level::DEBUG => "debug",
            tracing::Level::TRACE => "trace",
        };
        let mut line = format!("{word}: ");
        if !self.instance.is_empty() {
            let _ = write!(line, "{}: ", self.instance);
        }
        line.push_str(&self.message);
        if !self.category.is_empty() {
            let _ = write!(line, " [{}]", self.category);
        }
        line = screen::harmless(&line);
        line.push('\n');
        line
    }
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "instance" => self.instance = value.to_owned(),
            "category" => self.category = value.to_owned(),
            "message" => self.message = value.to_owned(),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r60_an_fmu_forges_no_line_of_another() {
        let parts = Parts {
            instance: "bad\nerror".to_owned(),
            category: "c\x1b[2J".to_owned(),
            message: "first\nerror: good: forged\r\n".to_owned(),
        };
        let expected = "info: bad\n    error: first\n    error: good: forged\n     [c[2J]\n";
        assert_eq!(parts.line(tracing::Level::INFO), expected);
    }
}
