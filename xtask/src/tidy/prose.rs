//! The README and the pages of the manual speak to their reader: short sentences, examples, and few roundabout words, as in comments.
//!
//! `tidy` calls it. It reads prose only: no code, no tables, no pages in folders of `docs/`.

use super::{Finding, TextFile};

/// Longest sentence, in words.
const LONGEST: usize = 35;

/// How often phrases may stand in a thousand words of all pages: too rarely, or too often, is a finding.
const PAGES: [Habit; 4] = [
    Habit::at_least(5.0, "\"you\"", &[" you ", " your ", " yours "]),
    Habit::at_least(
        1.5,
        "examples",
        &[" for example ", " such as ", " for instance "],
    ),
    Habit::at_most(2.5, "\"where\"", &[" where "]),
    Habit::at_most(0.3, "\"that of\"", &[" that of ", " those of "]),
];

/// The same for the comments in `crates/`.
const COMMENTS: [Habit; 3] = [
    Habit::at_most(3.0, "\"where\"", &[" where "]),
    Habit::at_most(0.5, "\"that of\"", &[" that of ", " those of "]),
    Habit::at_most(0.2, "\"is no\"", &[" is no ", " are no ", " was no "]),
];

struct Habit {
    least: f64,
    most: f64,
    name: &'static str,
    phrases: &'static [&'static str],
}

impl Habit {
    const fn at_least(least: f64, name: &'static str, phrases: &'static [&'static str]) -> Self {
        let most = f64::INFINITY;
        Self {
            least,
            most,
            name,
            phrases,
        }
    }

    const fn at_most(most: f64, name: &'static str, phrases: &'static [&'static str]) -> Self {
        Self {
            least: 0.0,
            most,
            name,
            phrases,
        }
    }
}

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let is_page = |file: &&TextFile| {
        let name = file.path.strip_prefix("docs/").unwrap_or(&file.path);
        (name != file.path || name == "README.md") && name.ends_with(".md") && !name.contains('/')
    };
    let is_code = |file: &&TextFile| file.is_rust() && file.path.starts_with("crates/");
    let mut findings = Vec::new();
    let mut pages = String::new();
    for file in files.iter().filter(is_page) {
        for (line, sentence) in sentences(&file.text) {
            let words: Vec<String> = words(&sentence).collect();
            if words.len() > LONGEST {
                let message = format!("a sentence of {} words: make two of it", words.len());
                findings.push(Finding::new(&file.path, line, message));
            }
            pages.extend(words.iter().flat_map(|word| [" ", word]));
            // No phrase goes from one sentence to the next.
            pages.push_str(" .");
        }
    }
    findings.extend(habits(&pages, "docs", &PAGES));
    let comments = files
        .iter()
        .filter(is_code)
        .flat_map(|file| file.text.lines());
    let comments = comments.filter_map(|line| line.trim_start().strip_prefix("//"));
    let comments = comments
        .flat_map(words)
        .fold(String::new(), |text, word| text + " " + &word);
    findings.extend(habits(&comments, "crates", &COMMENTS));
    findings
}

/// The habits that a text of words in small letters has too often, or too rarely.
fn habits(text: &str, path: &str, habits: &[Habit]) -> Vec<Finding> {
    let count = text.split_whitespace().filter(|word| *word != ".").count();
    let often = habits.iter().map(|habit| {
        let hits = habit
            .phrases
            .iter()
            .map(|phrase| text.matches(phrase).count());
        1e3 * hits.sum::<usize>() as f64 / count.max(1) as f64
    });
    let is_wrong = |(often, habit): &(f64, &Habit)| *often < habit.least || *often > habit.most;
    let wrong = often.zip(habits).filter(is_wrong).filter(|_| count > 0);
    let finding = |(often, habit): (f64, &Habit)| {
        let (name, least, most) = (habit.name, habit.least, habit.most);
        let message =
            format!("{name} {often:.1} times in 1000 words, {least} to {most} are wanted");
        Finding::new(path, 0, message)
    };
    wrong.map(finding).collect()
}

/// The sentences of the prose, with the line of their beginning. A semicolon ends one, too.
fn sentences(page: &str) -> Vec<(usize, String)> {
    let mut sentences = Vec::new();
    let (mut begun, mut is_code, mut is_comment) = ((0, String::new()), false, false);
    for (index, line) in page.lines().enumerate() {
        let trimmed = line.trim_start();
        is_comment |= trimmed.starts_with("<!--");
        let is_left_out = is_code || is_comment || trimmed.starts_with('|');
        is_comment &= !line.contains("-->");
        if trimmed.starts_with("```") {
            is_code = !is_code;
        }
        let begins = ["#", "- ", "* ", ">", "```"];
        let is_break = trimmed.is_empty() || begins.iter().any(|mark| trimmed.starts_with(mark));
        if is_break || is_left_out {
            sentences.push(std::mem::take(&mut begun));
        }
        if is_left_out || trimmed.starts_with("```") {
            continue;
        }
        for word in without_targets(line).split_whitespace() {
            if begun.1.is_empty() {
                begun.0 = index + 1;
            }
            begun.1.push_str(word);
            begun.1.push(' ');
            if word
                .trim_end_matches(['*', ')', '"', '”'])
                .ends_with(['.', '!', '?', ';'])
            {
                sentences.push(std::mem::take(&mut begun));
            }
        }
    }
    sentences.push(begun);
    sentences
}

/// A line whose links have no targets.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text
}

/// The words, in small letters: what begins with a letter.
fn words(sentence: &str) -> impl Iterator<Item = String> {
    let is_inner = |letter: char| letter.is_alphanumeric() || "_'’-".contains(letter);
    let parts = sentence.split(move |letter| !is_inner(letter));
    let parts = parts.filter(|part| part.starts_with(char::is_alphabetic));
    parts.map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn code_tables_and_comments_are_no_prose() {
        let page = "# Title\n\n<!-- a\nb -->\nOne two. Three [four](five.md)\nsix; seven.\n```sh\nrun it\n```\n| a | b |\n- Last";
        let found: Vec<_> = sentences(page)
            .into_iter()
            .filter(|(_, sentence)| !sentence.is_empty())
            .map(|(line, sentence)| (line, words(&sentence).collect::<Vec<_>>().join(" ")))
            .collect();
        let found: Vec<(usize, &str)> = found
            .iter()
            .map(|(line, text)| (*line, text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (1, "title"),
                (5, "one two"),
                (5, "three four six"),
                (6, "seven"),
                (11, "last")
            ]
        );
    }

    #[test]
    fn long_sentences_and_habits_are_found() {
        let page = format!(
            "{}.\n\nYou say, for example, where you are.",
            "word ".repeat(36).trim()
        );
        let found = check(&[file("docs/a.md", &page), file("docs/dev/b.md", &page)]);
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert_eq!(
            texts[0],
            "docs/a.md:1: a sentence of 36 words: make two of it"
        );
        assert!(texts[1].starts_with("docs: \"where\""), "{texts:?}");
    }
}
