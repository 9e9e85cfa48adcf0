//! Notes that say the same of several components, as one line for people. Programs get all of them.

use crate::numbers::some;

/// The notes in their order. Those that differ in the name of the component they begin with are one, with a count.
pub(crate) fn folded(notes: &[&str], components: &[&str]) -> Vec<String> {
    let mut kinds: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for &note in notes {
        let named = components
            .iter()
            .find_map(|name| Some((*name, after(note, name)?)));
        let known = named.and_then(|(name, rest)| {
            let mut kinds = kinds.iter_mut();
            Some((
                name,
                kinds.find(|(_, kind, names)| !names.is_empty() && *kind == rest)?,
            ))
        });
        match (known, named) {
            (Some((name, (.., names))), _) => names.push(name.to_owned()),
            (None, Some((name, rest))) => kinds.push((note, rest, vec![name.to_owned()])),
            (None, None) => kinds.push((note, note, Vec::new())),
        }
    }
    let text = |(first, _, names): (&str, &str, Vec<String>)| match names.len() {
        0 | 1 => first.to_owned(),
        count => format!("{first} ({count} components: {})", some(&names)),
    };
    kinds.into_iter().map(text).collect()
}

/// What follows the name of a component at the beginning of a note.
fn after<'a>(note: &'a str, name: &str) -> Option<&'a str> {
    let quoted = || note.strip_prefix(&*format!("`{name}`"));
    let plain = note
        .strip_prefix(name)
        .filter(|rest| rest.starts_with(": "));
    plain.or_else(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_one_kind_are_one_line_with_a_count() {
        let notes = [
            "a: is late",
            "file: is old",
            "b: is late",
            "`a` shares",
            "b: is early",
            "c: is late",
            "d: is late",
        ];
        assert_eq!(
            folded(&notes, &["a", "b", "c", "d"]),
            [
                "a: is late (4 components: a, b, c, …)",
                "file: is old",
                "`a` shares",
                "b: is early"
            ]
        );
        assert_eq!(folded(&["a: x", "ab: x"], &["a"]), ["a: x", "ab: x"]);
    }
}
