//! Output to the terminal. A reader that goes away ends nothing but the text.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use gyrator_record::write_whole;
use gyrator_worker::Worker;
use indicatif::ProgressBar;
use serde::Serialize;

/// The progress bar on show, which messages must not tear apart.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Shows or removes the progress bar around which messages are written.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// Whether a character could do anything to a terminal, or show a text in another order than its own
/// (the bidirectional controls of Unicode Standard Annex 9).
fn is_harmful(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

/// Bytes of a text that are shown: more come from files that are not text for people.
const MOST: usize = 8000;
/// Bytes of a text that is too long that are shown, of its begin and of its end.
const ENDS: usize = 1000;

/// A text that is not too long to be read: of a long one the begin and the end.
fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST {
        return Cow::Borrowed(text);
    }
    let begin = &text[..text.floor_char_boundary(ENDS)];
    let end = &text[text.ceil_char_boundary(text.len() - ENDS)..];
    let left_out = text.len() - begin.len() - end.len();
    Cow::Owned(format!("{begin} [… {left_out} bytes …] {end}"))
}

/// A text of an FMU or a file as it may be shown: not too long, without [harmful](is_harmful) characters, and with its
/// further lines indented, so that none passes for a message.
pub(crate) fn harmless(text: &str) -> String {
    let text = shortened(text.trim_end());
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\n    "),
            other if is_harmful(other) => {}
            other => shown.push(other),
        }
    }
    shown
}

/// A text of a file whose lines are quoted: each [harmful](is_harmful) character is replaced by one of
/// as many bytes, so that all places stay where they are.
pub(crate) fn harmless_source(text: &str) -> String {
    let shown = |character: char| match (character, character.len_utf8()) {
        ('\r', _) => ' ',
        (other, _) if !is_harmful(other) => other,
        (_, 1) => '?',
        (_, 2) => '\u{b7}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.chars().map(shown).collect()
}

/// A text of a file and a place in it, with what is near the place of lines that are too long to be read.
pub(crate) fn near(text: &str, place: Range<usize>) -> (String, Range<usize>) {
    let mut shown = String::new();
    let (mut begin, mut end) = (place.start, place.end);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, after) = (at, at + line.len());
        at = after;
        let content = line.trim_end_matches('\n');
        let (mut from, mut to) = (0, content.len());
        if content.len() > MOST {
            let middle = place.start.clamp(start, start + content.len()) - start;
            let is_here = (start..after).contains(&place.start);
            let middle = if is_here { middle } else { 0 };
            from = content.floor_char_boundary(middle.saturating_sub(ENDS));
            to = content.ceil_char_boundary((middle + ENDS).min(content.len()));
        }
        let placed = |old: usize| shown.len() + old.clamp(start + from, start + to) - start - from;
        if (start..after).contains(&place.start) {
            begin = placed(place.start);
        }
        if (start..=after).contains(&place.end) {
            end = placed(place.end);
        }
        shown.push_str(&content[from..to]);
        shown.push_str(&line[content.len()..]);
    }
    (shown, begin..end.max(begin))
}

/// A value as JSON for programs, indented.
///
/// # Errors
/// A value that JSON has no form for.
pub fn json(value: &(impl Serialize + ?Sized)) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Writes a text to the standard output, without control characters that names in it may have.
/// Other programs get the bidirectional ones: in JSON they are not control characters.
///
/// # Errors
/// An error of the operating system, unless the reader has gone: `gyrator list | head` does not fail.
pub fn print(text: &str) -> io::Result<()> {
    let is_shown = is_printed_on_terminal();
    let is_left_out = |c: char| is_harmful(c) && (is_shown || c.is_control());
    write_out(&text.replace(is_left_out, ""))
}

/// Whether the standard output is a terminal.
fn is_printed_on_terminal() -> bool {
    match Worker::current() {
        Some(worker) => worker.output().is_terminal(),
        None => io::stdout().is_terminal(),
    }
}

fn write_out(text: &str) -> io::Result<()> {
    let written = match Worker::current() {
        Some(worker) => worker.output().write_all(text.as_bytes()),
        None => {
            let mut output = io::stdout().lock();
            let written = output.write_all(text.as_bytes());
            written.and_then(|()| output.flush())
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// A word with a colour on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Accent {
    /// What stands before the word.
    pub(crate) before: &'static str,
    pub(crate) word: String,
    /// The colour as ECMA-48 numbers it (`SGR`).
    pub(crate) colour: u8,
}

impl Accent {
    /// A text with the last such word in its colour.
    fn paint(&self, text: &str) -> String {
        let Self {
            before,
            word,
            colour,
        } = self;
        match text.rsplit_once(&format!("{before}{word}")) {
            Some((head, tail)) => format!("{head}{before}\x1b[1;{colour}m{word}\x1b[0m{tail}"),
            None => text.to_owned(),
        }
    }
}

/// As [`print`], or as a [`message`] if results take the standard output; on a terminal with the accent.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_beside(
    are_results_printed: bool,
    text: &str,
    accent: Option<&Accent>,
) -> io::Result<()> {
    let safe = || text.replace(is_harmful, "");
    match (are_results_printed, accent) {
        (true, Some(accent)) if has_colours() => coloured_message(&accent.paint(&safe())),
        (true, _) => message(text),
        (false, Some(accent)) if is_printed_on_terminal() && are_colours_wanted() => {
            return write_out(&accent.paint(&safe()));
        }
        (false, _) => return print(text),
    }
    Ok(())
}

/// Writes a file that is whole or, if that fails, is not changed.
///
/// # Errors
/// An error of the operating system.
pub fn file(path: &Path, text: &str) -> io::Result<()> {
    write_whole(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a text that ends in a line feed to the standard error, above the progress bar, without
/// control characters that names in it may have.
pub fn message(text: &str) {
    coloured_message(&text.replace(is_harmful, ""));
}

/// As [`message`], for a text whose control characters are colours.
pub(crate) fn coloured_message(text: &str) {
    // If even the standard error is closed, no reader is left.
    let write = || match Worker::current() {
        Some(worker) => worker.say(text),
        None => drop(io::stderr().lock().write_all(text.as_bytes())),
    };
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Columns to wrap text at: the terminal's within reason, 100 elsewhere.
pub(crate) fn width() -> usize {
    const ELSEWHERE: u16 = 100;
    let columns = io::stderr()
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(io::stderr()))
        .flatten()
        .map_or(ELSEWHERE, |(terminal_size::Width(columns), _)| columns);
    usize::from(columns.clamp(60, 120))
}

/// Whether messages may have colours: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn has_colours() -> bool {
    io::stderr().is_terminal() && are_colours_wanted()
}

/// Whether `NO_COLOR` (no-color.org) is not set.
fn are_colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape sequences, NUL, DEL, a control character of two bytes, and those that turn a text around.
    const HARMFUL: &str = "a\x1b[31m\0\x7f\u{9b}\u{61c}\u{202e}\u{2066}b";

    #[test]
    fn r66_no_control_character_reaches_a_terminal() {
        assert_eq!(harmless(HARMFUL), "a[31mb");
        assert_eq!(
            harmless("ä\t€\nerror: forged\r\n"),
            "ä\t€\n    error: forged"
        );
    }

    #[test]
    fn the_last_such_word_has_a_colour() {
        let accent = Accent {
            before: "coupling error: ",
            word: "small".to_owned(),
            colour: 32,
        };
        let text = "small\ncoupling error: small (below 1 %)\n";
        assert_eq!(
            accent.paint(text),
            "small\ncoupling error: \x1b[1;32msmall\x1b[0m (below 1 %)\n"
        );
        assert_eq!(
            accent.paint("coupling error: visible"),
            "coupling error: visible"
        );
    }

    #[test]
    fn long_texts_are_shown_in_part() {
        let long = "ä".repeat(1 << 20);
        let shown = harmless(&format!("begin {long} end"));
        assert!(shown.starts_with("begin ää") && shown.ends_with("ää end"));
        assert!(
            shown.len() < 2 * MOST && shown.contains("[… 2095"),
            "{}",
            shown.len()
        );
        // A place in a long line, behind one, and at the end of the text.
        let text = format!("a = 1\n{long}b = 2{long}\nc = 3");
        for part in ["a = 1", "b = 2", "c = 3"] {
            let start = text.find(part).unwrap();
            let (shown, place) = near(&text, start..start + part.len());
            assert_eq!(&shown[place], part);
            assert!(shown.len() < 3 * MOST && shown.lines().count() == 3);
        }
        let (shown, place) = near(&text, 6..6 + 2 * long.len());
        assert!(shown[place].chars().all(|c| c == 'ä'));
        assert_eq!(near("a\nb", 2..3), ("a\nb".to_owned(), 2..3));
        assert_eq!(near("a\n", 2..2).1, 2..2);
    }

    #[test]
    fn r66_quoted_lines_stay_as_long_as_they_are() {
        let shown = harmless_source(HARMFUL);
        assert_eq!(shown, "a?[31m??\u{b7}\u{b7}\u{fffd}\u{fffd}b");
        assert_eq!(shown.len(), HARMFUL.len());
        assert_eq!(
            harmless_source("a = 1\r\nb = \"ä€\"\n"),
            "a = 1 \nb = \"ä€\"\n"
        );
    }
}
