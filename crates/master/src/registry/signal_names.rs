//! Names of signals in a parameter: real outputs and differences of two, separated by commas.

/// A real output, or the difference of two, by names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalName<'a> {
    /// The output, as `component.variable`.
    pub output: &'a str,
    /// The output that is subtracted.
    pub less: Option<&'a str>,
}

impl<'a> SignalName<'a> {
    /// The names in a list: `a.x, b.y - a.z`. Names of FMI may hold commas, in brackets and between apostrophes.
    pub fn list(text: &'a str) -> Vec<Self> {
        let items = split(text, ",").into_iter();
        let items = items.filter(|item| !item.is_empty());
        items.map(Self::of).collect()
    }

    fn of(item: &'a str) -> Self {
        match split(item, " - ")[..] {
            [output, less] => Self {
                output,
                less: Some(less),
            },
            _ => Self {
                output: item,
                less: None,
            },
        }
    }

    /// The outputs that it names.
    pub fn outputs(&self) -> impl Iterator<Item = &'a str> {
        std::iter::once(self.output).chain(self.less)
    }
}

/// The parts of a text between separators that stand in no brackets and between no apostrophes.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut depth, mut is_quoted) = (0_usize, false);
    for (place, letter) in text.char_indices() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '[' if !is_quoted => depth += 1,
            ']' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !is_quoted && place >= start && text[place..].starts_with(separator) {
            parts.push(text[start..place].trim());
            start = place + separator.len();
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::SignalName;

    #[test]
    fn names_hold_commas_in_brackets_and_between_apostrophes() {
        let found = SignalName::list("a.x, b.y - a.z ,c.m[1, 2], d.'p, - q' - c.m[1 - 2, 3],");
        let expected = [
            ("a.x", None),
            ("b.y", Some("a.z")),
            ("c.m[1, 2]", None),
            ("d.'p, - q'", Some("c.m[1 - 2, 3]")),
        ];
        let expected = expected.map(|(output, less)| SignalName { output, less });
        assert_eq!(found, expected);
        for odd in ["", " , ", "'", "[", "]]", "a - b - c", " - ", "ä - ö"] {
            let names = SignalName::list(odd);
            assert!(names.len() <= 1, "{names:?}");
        }
    }
}
