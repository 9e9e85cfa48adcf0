//! Why the program ends early: messages for a person, and the exit code.

use std::fmt;
use std::sync::Arc;

use gyrator::{LoadError, RunError, StartError};
use gyrator_record::RecordError;
use gyrator_system::{Problem, Problems, Severity, toml_file};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

use crate::exit::Exit;
use crate::screen;

/// Problems shown of one file; the rest is counted.
const SHOWN: usize = 25;

/// What went wrong, and how the program ends for it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the program ends.
    pub(crate) exit: Exit,
    messages: Vec<Message>,
}

/// One message: where, what, what to do.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    text: String,
    rule: Option<&'static str>,
    /// What else there is to know, a line each.
    details: Vec<String>,
    help: Option<String>,
    severity: Severity,
    place: Option<(NamedSource<Arc<String>>, std::ops::Range<usize>)>,
}

impl Message {
    /// An error without a place.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rule: None,
            details: Vec::new(),
            help: None,
            severity: Severity::Error,
            place: None,
        }
    }

    fn from_problem(problem: &Problem, source: &NamedSource<Arc<String>>) -> Self {
        Self {
            text: match problem.span {
                Some(_) => problem.message.clone(),
                None => format!("{}: {}", source.name(), problem.message),
            },
            rule: Some(problem.rule),
            details: Vec::new(),
            help: problem.help.clone(),
            severity: problem.severity,
            place: problem.span.clone().map(|span| (source.clone(), span)),
        }
    }

    /// The message as it is shown: with the lines of the file that it is about, if it is about some.
    fn render(&self) -> String {
        if self.place.is_none() {
            return self.render_plain();
        }
        let theme = if screen::has_colours() {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(screen::width())
            .with_context_lines(1)
            .with_links(false);
        let mut text = String::new();
        match handler.render_report(&mut text, self) {
            Ok(()) => text,
            // The place is not in the text: the message itself counts.
            Err(fmt::Error) => self.render_plain(),
        }
    }

    fn render_plain(&self) -> String {
        let head = self.head();
        let mut text = if screen::has_colours() {
            format!("\x1b[1;31m{head}:\x1b[0m {}\n", self.text)
        } else {
            format!("{head}: {}\n", self.text)
        };
        let help = self.help.iter().map(|help| format!("help: {help}"));
        for line in self.details.iter().cloned().chain(help) {
            text.push_str(&format!("  {line}\n"));
        }
        text
    }

    /// `error[unknown-key]`, a word that other programs can look for.
    fn head(&self) -> String {
        match self.rule {
            Some(rule) => format!("{}[{rule}]", self.severity),
            None => self.severity.to_string(),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Message {}

impl Diagnostic for Message {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.head()))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.place
            .as_ref()
            .map(|(source, _)| source as &dyn miette::SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, span) = self.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::underline(
            span.clone(),
        ))))
    }
}

impl Failure {
    /// A failure with one message.
    pub(crate) fn new(exit: Exit, message: Message) -> Self {
        Self {
            exit,
            messages: vec![message],
        }
    }

    /// Wrong use of the command.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, Message::error(text))
    }

    /// Adds a detail to the last message.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.details.push(detail.into());
        }
        self
    }

    /// Adds advice to the last message.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.help = Some(help.into());
        }
        self
    }

    /// Writes all messages to the standard error.
    pub(crate) fn print(&self) {
        let texts: Vec<String> = self.messages.iter().map(Message::render).collect();
        screen::message(&texts.join("\n"));
    }
}

/// The problems of a file as messages, errors and warnings in the order of the text.
pub(crate) fn messages(problems: &Problems) -> Vec<Message> {
    let source = &problems.source;
    let named = NamedSource::new(
        source.path.display().to_string(),
        Arc::new(source.text.clone()),
    )
    .with_language("TOML");
    let mut list: Vec<&Problem> = problems.list.iter().collect();
    list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    let shown = list.into_iter().take(SHOWN);
    let mut messages: Vec<_> = shown
        .map(|problem| Message::from_problem(problem, &named))
        .collect();
    if let Some(hidden) = problems
        .list
        .len()
        .checked_sub(SHOWN)
        .filter(|hidden| *hidden > 0)
    {
        messages.push(Message::error(format!(
            "and {hidden} more problems in {}",
            source.path.display()
        )));
    }
    messages
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self {
            exit: Exit::InvalidInput,
            messages: messages(&problems),
        }
    }
}

impl From<toml_file::ReadError> for Failure {
    fn from(error: toml_file::ReadError) -> Self {
        match error {
            toml_file::ReadError::Problems(problems) => problems.into(),
            other => Self::new(Exit::InvalidInput, Message::error(other.to_string())),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Invalid(problems) => problems.into(),
            StartError::Load(errors) => {
                let is_invalid = errors.iter().all(|error| error.is_invalid);
                let exit = if is_invalid {
                    Exit::InvalidInput
                } else {
                    Exit::NotLoaded
                };
                let messages = errors.iter().map(|error| Message::error(load_error(error)));
                Self {
                    exit,
                    messages: messages.collect(),
                }
            }
            StartError::Run(error) => error.into(),
        }
    }
}

/// The FMU's own messages may name the component already.
fn load_error(error: &LoadError) -> String {
    let LoadError {
        component, message, ..
    } = error;
    if message.starts_with(&format!("{component}: ")) {
        message.clone()
    } else {
        error.to_string()
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let RunError::Fault(mut fault) = error else {
            return Self::new(Exit::Failed, Message::error(error.to_string()));
        };
        let log = fault.unit.log.take();
        let failure = Self::new(Exit::Failed, Message::error(fault.to_string()));
        match log {
            Some(log) => failure.detail(format!("its last log line: {log}")),
            None => failure,
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let exit = match error {
            RecordError::UnknownEnding { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Self::new(exit, Message::error(error.to_string()))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(
            Exit::Failed,
            Message::error(format!("cannot write: {error}")),
        )
    }
}
