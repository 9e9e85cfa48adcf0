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
    /// Nothing
    Off,
    /// What FMUs report as errors
    Error,
    /// Also warnings
    Warn,
    /// All that FMUs log; asks them to log more than they must
    Info,
    /// Also what is of use in finding errors of gyrator
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
    // One is set already only where the program runs twice in a process.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Writes each event as a line `warning: left: message [category]`.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut parts = Parts::default();
        event.record(&mut parts);
        screen::message(&parts.line(*event.metadata().level()));
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
        // Control characters of an FMU's text do not reach the terminal.
        line.retain(|c| c == '\n' || c == '\t' || !c.is_control());
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
