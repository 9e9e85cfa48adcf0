//! Problems of a description: collected, each with its place, and reported together.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that was read, kept so that problems can show their line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// The file of the text; a made-up name such as `<memory>` for a text without a file.
    pub path: PathBuf,
    /// The whole text, with the texts of included files after it.
    pub text: String,
    /// Offset of the text of each included file, and the path of the file.
    pub included: Vec<(usize, PathBuf)>,
}

impl Source {
    /// A text without included files.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
            included: Vec::new(),
        }
    }

    /// The file in which a byte of the text stands, and the bytes of that file in the text.
    pub fn file_at(&self, offset: usize) -> (&Path, Range<usize>) {
        let after = self.included.partition_point(|(start, _)| *start <= offset);
        let end = self
            .included
            .get(after)
            .map_or(self.text.len(), |(start, _)| start - 1);
        match after.checked_sub(1).map(|file| &self.included[file]) {
            Some((start, path)) => (path, *start..end),
            None => (&self.path, 0..end),
        }
    }

    /// The folder of the file in which a byte of the text stands.
    pub fn folder_at(&self, offset: usize) -> &Path {
        self.file_at(offset).0.parent().unwrap_or(Path::new(""))
    }

    /// The text of the file itself, without included ones.
    pub fn own_text(&self) -> &str {
        &self.text[self.file_at(0).1]
    }

    /// Line and column in its file, both from 1, of a byte offset; the column counts characters.
    /// An offset past the end counts as the end.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let file = self.file_at(offset).1;
        let before = &self.text[file.start..self.text.floor_char_boundary(offset).min(file.end)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        (line, 1 + before[line_start..].chars().count())
    }
}

/// A value and the bytes of the source that say it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Byte range in [`Source::text`]; `0..0` if the value does not come from a file.
    pub span: Range<usize>,
}

impl<T> Spanned<T> {
    /// A value with its place.
    pub fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }

    /// A value that stands in no text: made by code, or a default.
    pub fn unplaced(value: T) -> Self {
        Self { value, span: 0..0 }
    }
}

/// How bad a [`Problem`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The system runs; the user should know.
    Warning,
    /// The system cannot be run as described.
    Error,
}

/// One problem of a description: its place, its message and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A stable kebab-case word for the rule that is broken, such as `unknown-variable`.
    pub rule: &'static str,
    /// The problem, in one sentence.
    pub message: String,
    /// Advice on how to correct it.
    pub help: Option<String>,
    /// Byte range in the source; `None` if the problem is nowhere in particular.
    pub span: Option<Range<usize>>,
}

impl Problem {
    /// An error with its rule and message.
    pub fn error(rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            rule,
            message: message.into(),
            help: None,
            span: None,
        }
    }

    /// A warning with its rule and message.
    pub fn warning(rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(rule, message)
        }
    }

    /// Whether the system cannot be run with it.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The same problem, with its place. An empty range means that the place is not known.
    #[must_use]
    pub fn at(mut self, span: &Range<usize>) -> Self {
        self.span = (!span.is_empty()).then(|| span.clone());
        self
    }

    /// The same problem, with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same problem, with advice if there is some.
    #[must_use]
    pub fn advised(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

/// The problems of one description, with the text they point into.
#[derive(Debug, Clone, PartialEq)]
pub struct Problems {
    /// The text that was read.
    pub source: Arc<Source>,
    /// All problems found, in the order of the text.
    pub list: Vec<Problem>,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One problem a paragraph: `path:line:column: error: message [rule]`, then the advice. Of a long
/// list only the first are shown, and how many follow.
impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Longer lists are not read, and each problem costs a walk through the text.
        const SHOWN: usize = 100;
        for (index, problem) in self.list.iter().take(SHOWN).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let place = problem.span.as_ref().map_or(0, |span| span.start);
            write!(f, "{}:", self.source.file_at(place).0.display())?;
            if let Some(span) = &problem.span {
                let (line, column) = self.source.position(span.start);
                write!(f, "{line}:{column}:")?;
            }
            write!(
                f,
                " {}: {} [{}]",
                problem.severity, problem.message, problem.rule
            )?;
            if let Some(help) = &problem.help {
                write!(f, "\n  help: {help}")?;
            }
        }
        match self.list.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            hidden => write!(
                f,
                "\n{}: and {hidden} more problems",
                self.source.path.display()
            ),
        }
    }
}

impl std::error::Error for Problems {}

/// Advice on a `word` that is not known: the [closest] known one; `None` if none is close.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// The word of `known` that is closest to `word`; `None` if none is close.
///
/// Words that differ by few letters come first, `x2` before `x` for `x3`, whatever their case and
/// separators: `k_c` before `k` for `kc`.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |word: &str| word.to_lowercase().replace(['_', '-', ' '], "");
    let looked_for = letters(word);
    let judge = |candidate: &'a str| {
        let compared = letters(candidate);
        let edits = strsim::osa_distance(&looked_for, &compared);
        let length_changed = looked_for.chars().count() != compared.chars().count();
        let alike = strsim::jaro_winkler(word, candidate);
        let is_slip = edits <= 1 && looked_for.chars().count() > 1;
        ((edits, length_changed), alike, is_slip, candidate)
    };
    known
        .into_iter()
        .map(judge)
        .filter(|(_, alike, is_slip, _)| *alike > 0.75 || *is_slip)
        .min_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))
        .map(|(.., candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn few_letters_decide() {
        let variables = ["x", "v", "x2", "v2", "k", "k_c", "f", "step_size"];
        for (word, expected) in [
            ("x3", Some("x2")),
            ("kc", Some("k_c")),
            ("K_C", Some("k_c")),
            ("stepsize", Some("step_size")),
            ("step_sise", Some("step_size")),
            ("force", Some("f")),
            ("temperature", None),
            ("q", None),
        ] {
            assert_eq!(closest(word, variables), expected, "{word}");
        }
    }
}
