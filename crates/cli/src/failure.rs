//! Why the program ends early: messages for a person, and the exit code.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use gyrator::error::{Cause, LoadError, LoadErrorKind};
use gyrator::{RunError, StartError};
use gyrator_record::RecordError;
use gyrator_system::{Problem, Problems, Severity, Source, SystemFile, closest, toml_file};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

use crate::exit::Exit;
use crate::input_kind::{self, Refusal, Wanted};
use crate::screen;

/// Advice if a call did not return in time.
pub(crate) const MORE_TIME: &str = "give it more time with --timeout SECONDS, 0 for no limit";

/// Problems shown of one file; the rest is counted.
const SHOWN: usize = 25;

/// A failure, with the exit code of the program for it.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    messages: Vec<Message>,
}

/// One message: where, what, what to do.
#[derive(Debug, Clone)]
pub struct Message {
    text: String,
    rule: Option<&'static str>,
    /// Further facts, a line each.
    details: Vec<String>,
    help: Option<String>,
    severity: Severity,
    place: Option<(NamedSource<Arc<String>>, Range<usize>)>,
}

impl Message {
    /// An error without a place.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            rule: None,
            details: Vec::new(),
            help: None,
            severity: Severity::Error,
            place: None,
        }
    }

    fn from_problem(problem: &Problem, source: &Source) -> Self {
        Self {
            text: match problem.span {
                Some(_) => problem.message.clone(),
                None => format!("{}: {}", source.path.display(), problem.message),
            },
            rule: Some(problem.rule),
            details: Vec::new(),
            help: problem.help.clone(),
            severity: problem.severity,
            place: problem.span.as_ref().map(|span| in_file(source, span)),
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
        let message = Self {
            text: screen::harmless(&self.text),
            help: self.advice().map(screen::harmless),
            ..self.clone()
        };
        let mut text = String::new();
        match handler.render_report(&mut text, &message) {
            Ok(()) => text,
            // The place is not in the text: the message itself counts.
            Err(fmt::Error) => self.render_plain(),
        }
    }

    fn render_plain(&self) -> String {
        let (head, message) = (self.head(), screen::harmless(&self.text));
        let mut text = if screen::has_colours() {
            format!("\x1b[1;31m{head}:\x1b[0m {message}\n")
        } else {
            format!("{head}: {message}\n")
        };
        let help = self.advice().map(|help| format!("help: {help}"));
        for line in self.details.iter().cloned().chain(help) {
            text.push_str(&format!("  {}\n", screen::harmless(&line)));
        }
        text
    }

    /// The text after the file and line that it is about.
    fn line(&self) -> String {
        let Some((file, span)) = &self.place else {
            return self.text.clone();
        };
        let before = file.inner().get(..span.start).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        format!("{}:{line}: {}", file.name(), self.text)
    }

    /// Advice: the same for a thing that the system forbids wherever it shows.
    fn advice(&self) -> Option<&str> {
        const FILES: &str = "raise the limit on open files (ulimit -n)";
        let lacks_files =
            self.text.contains("Too many open files") && !self.text.contains("ulimit -n");
        self.help.as_deref().or(lacks_files.then_some(FILES))
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
        self.advice()
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
    pub fn new(exit: Exit, message: Message) -> Self {
        Self {
            exit,
            messages: vec![message],
        }
    }

    /// A failure with the message of an error.
    pub fn of(exit: Exit, error: &dyn fmt::Display) -> Self {
        Self::new(exit, Message::error(error.to_string()))
    }

    /// A file or folder that must be a new one, and could not be made.
    pub(crate) fn not_created(path: &Path, error: &std::io::Error) -> Self {
        let path = path.display();
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            let text = format!("{path} exists already");
            return Self::usage(text).help("choose another name, or delete it");
        }
        Self::new(Exit::Failed, Message::error(format!("{path}: {error}")))
    }

    /// Wrong use of the command.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::new(Exit::Usage, Message::error(text))
    }

    /// A file that cannot be written; `name` begins with what it is, such as `the summary out.json`.
    pub fn not_written(name: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::of(Exit::Failed, &format!("cannot write {name}: {error}"))
    }

    /// Adds a detail to the last message.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.details.push(detail.into());
        }
        self
    }

    /// Adds advice to the last message.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.help = Some(help.into());
        }
        self
    }

    /// Adds advice to the last message, if there is some.
    pub(crate) fn advised(self, advice: Option<impl Into<String>>) -> Self {
        match advice {
            Some(advice) => self.help(advice),
            None => self,
        }
    }

    /// Adds to the text of the last message.
    pub(crate) fn add(mut self, text: &str) -> Self {
        if let Some(last) = self.messages.last_mut() {
            last.text.push_str(text);
        }
        self
    }

    /// The text of the first message.
    pub(crate) fn text(&self) -> &str {
        self.messages.first().map_or("", |message| &message.text)
    }

    /// The texts of all messages, a line each, with their places in files.
    pub(crate) fn texts(&self) -> String {
        let lines: Vec<String> = self.messages.iter().map(Message::line).collect();
        lines.join("\n")
    }

    /// Writes all messages to the standard error.
    pub fn print(&self) {
        let texts: Vec<String> = self.messages.iter().map(Message::render).collect();
        screen::coloured_message(&texts.join("\n"));
    }
}

/// The file in which a place stands, and the place in it.
fn in_file(source: &Source, span: &Range<usize>) -> (NamedSource<Arc<String>>, Range<usize>) {
    let (path, bytes) = source.file_at(span.start);
    let place = span.start - bytes.start..span.end - bytes.start;
    let (text, place) = screen::near(&screen::harmless_source(&source.text[bytes]), place);
    let text = Arc::new(text);
    let file = NamedSource::new(screen::harmless(&path.display().to_string()), text);
    (file.with_language("TOML"), place)
}

/// The problems of a file as messages, errors and warnings in the order of the text.
pub(crate) fn messages(problems: &Problems) -> Vec<Message> {
    let source = &problems.source;
    let mut list: Vec<&Problem> = problems.list.iter().collect();
    list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    let shown = list.into_iter().take(SHOWN);
    let mut messages: Vec<_> = shown
        .map(|problem| Message::from_problem(problem, source))
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

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let Refusal { text, help } = refusal;
        let message = Message::error(text);
        Self::new(Exit::InvalidInput, Message { help, ..message })
    }
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
        let help = match &error {
            toml_file::ReadError::Io { path, .. } => advice_on_missing(path),
            toml_file::ReadError::NotText { .. } | toml_file::ReadError::Problems(_) => None,
        };
        match error {
            toml_file::ReadError::Problems(problems) => problems.into(),
            other => {
                let message = Message::error(other.to_string());
                Self::new(Exit::InvalidInput, Message { help, ..message })
            }
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::not_started(error, &SystemFile::new(""))
    }
}

impl Failure {
    /// A system that does not start; FMUs that do not load are shown where the file names them.
    pub(crate) fn not_started(error: StartError, system: &SystemFile) -> Self {
        let errors = match error {
            StartError::Invalid(problems) => return problems.into(),
            StartError::Run(error) => return error.into(),
            StartError::Several(errors, problems) => {
                return Self::of_file(&errors, &problems, system);
            }
            StartError::Load(errors) => errors,
            error => {
                return Self::of(Exit::InvalidInput, &error);
            }
        };
        let is_any = |kind| errors.iter().any(|error| error.kind == kind);
        let exit = if is_any(LoadErrorKind::Lost) {
            Exit::Crashed
        } else if is_any(LoadErrorKind::NotLoaded) || is_any(LoadErrorKind::HostLost) {
            Exit::NotLoaded
        } else {
            Exit::InvalidInput
        };
        let messages = errors
            .iter()
            .map(|error| not_loaded(error, system))
            .collect();
        Self { exit, messages }
    }

    /// FMUs that do not load and problems of the file that names them, in the order of the text.
    pub(crate) fn of_file(errors: &[LoadError], problems: &Problems, system: &SystemFile) -> Self {
        let of_errors = errors.iter().map(|error| not_loaded(error, system));
        let of_problems = messages(problems);
        let mut all: Vec<Message> = of_errors.chain(of_problems).collect();
        all.sort_by_key(|message| message.place.as_ref().map(|(_, span)| span.start));
        Self {
            exit: Exit::InvalidInput,
            messages: all,
        }
    }
}

fn not_loaded(error: &LoadError, system: &SystemFile) -> Message {
    let LoadError {
        component: name,
        message,
        ..
    } = error;
    // The FMU's own messages may name the component already.
    let text = if message.starts_with(&format!("{name}: ")) {
        message.clone()
    } else {
        error.to_string()
    };
    let mut components = system.components.iter();
    let fmu = components
        .find(|component| component.name.value == *name)
        .map(|component| &component.fmu);
    let refused = fmu.and_then(|fmu| input_kind::expect(&fmu.value, Wanted::Fmu).err());
    let (text, help) = match refused {
        Some(refused) => (format!("{name}: {}", refused.text), refused.help),
        None => (text, fmu.and_then(|fmu| advice_on_missing(&fmu.value))),
    };
    let is_written = |span: &Range<usize>| !span.is_empty();
    Message {
        rule: Some("fmu-not-loaded"),
        place: fmu
            .map(|fmu| fmu.span.clone())
            .filter(is_written)
            .map(|span| in_file(&system.source, &span)),
        help,
        ..Message::error(text)
    }
}

/// Whether a path has this ending.
pub(crate) fn is_named(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Where a path that leads nowhere was looked for, and the file there that may be meant.
pub(crate) fn advice_on_missing(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?;
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Some(format!("there is no folder {}", folder.display()));
    };
    let names: BTreeSet<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension() == path.extension())
        .collect();
    let missing = path.file_name()?.to_str()?;
    let looked_for = format!("it was looked for in {}", folder.display());
    let near = closest(missing, names.iter().map(String::as_str));
    Some(match near {
        Some(near) => format!("did you mean `{near}`? {looked_for}"),
        None => looked_for,
    })
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let RunError::Fault(mut fault) = error else {
            let exit = match error {
                RunError::NotSaved(_) | RunError::NotRestored(_) => Exit::InvalidInput,
                _ => Exit::Failed,
            };
            return Self::of(exit, &error);
        };
        let log = fault.unit.log.take();
        let exit = match fault.unit.cause {
            Cause::Lost | Cause::HostLost | Cause::Timeout => Exit::Crashed,
            Cause::Interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        };
        let mut failure = Self::of(exit, &fault);
        let has_reason = log.is_some();
        if let Some(log) = log {
            failure = failure.detail(format!("its last log line: {log}"));
        }
        match fault.unit.cause {
            Cause::Timeout => failure.help(MORE_TIME),
            // Some FMUs log even fatal errors only if all log lines are asked for.
            Cause::Error | Cause::Fatal if !has_reason => failure
                .help("the FMU logged no reason; --log-level info asks it for all that it logs"),
            _ => failure,
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let exit = match error {
            RecordError::UnknownEnding { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Self::of(exit, &error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::of(Exit::Failed, &format!("cannot write: {error}"))
    }
}
