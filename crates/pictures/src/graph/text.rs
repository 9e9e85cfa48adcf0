//! Texts of a picture: their widths, and names as no reader of XML takes them for anything else.

use unicode_width::UnicodeWidthChar as _;

/// Width of a character over the size of its font. Fixed-width fonts have 0.55 (Consolas) to 0.602 (DejaVu Sans Mono,
/// Menlo).
const ASPECT: f64 = 0.61;

/// Characters of a name that are shown; `inspect` and the titles of elements have all of them.
const LONGEST: usize = 36;

/// The width of a text in a font of this size, in pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let cells = text
        .chars()
        .map(|character| character.width().unwrap_or(1).max(1));
    cells.sum::<usize>() as f64 * ASPECT * size
}

/// The text without characters that turn its direction or that XML cannot hold.
pub(crate) fn harmless(text: &str) -> String {
    let is_harmful = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(character, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let replaced = text.chars().map(|character| match is_harmful(character) {
        true => '\u{fffd}',
        false => character,
    });
    replaced.collect()
}

/// A harmless text of which the middle is left out if it is long.
pub(crate) fn short(text: &str) -> String {
    let text = harmless(text);
    let count = text.chars().count();
    if count <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text
        .chars()
        .skip(count - (LONGEST - LONGEST / 2 - 1))
        .collect();
    format!("{head}…{tail}")
}

/// For text and attributes of XML and HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_only_text() {
        let name = "</text><script>alert('1')</script>&\u{202e}\u{0}\n\"";
        let shown = escaped(&harmless(name));
        assert!(!shown.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}', '\n']));
        assert!(shown.starts_with("&lt;/text&gt;&lt;script&gt;"));
    }

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("first.{}.last", "ü".repeat(500));
        let shown = short(&name);
        assert_eq!(shown.chars().count(), LONGEST);
        assert!(shown.starts_with("first.ü") && shown.ends_with("ü.last"));
        assert_eq!(short("x"), "x");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("漢", 10.0), 2.0 * width("x", 10.0));
        assert_eq!(
            width("e\u{301}", 10.0),
            2.0 * width("e", 10.0),
            "room at least"
        );
    }
}
