//! Names by the convention "structured" (2.2.9).

/// Why a name does not follow the convention, with its first part that does not and all after it.
pub(super) fn structured(name: &str) -> Result<(), &str> {
    let rest = match name.strip_prefix("der(") {
        Some(inner) => derivative(inner)?,
        None => identifier(name)?,
    };
    if rest.is_empty() { Ok(()) } else { Err(rest) }
}

/// Parses the text after `der(`; returns the rest.
fn derivative(text: &str) -> Result<&str, &str> {
    let rest = identifier(text)?;
    let rest = match rest.strip_prefix(',') {
        Some(order) => unsigned(order)?,
        None => rest,
    };
    rest.strip_prefix(')').ok_or(rest)
}

/// Parts with dots between; returns what follows.
fn identifier(text: &str) -> Result<&str, &str> {
    let mut rest = part(text)?;
    while let Some(next) = rest.strip_prefix('.') {
        rest = part(next)?;
    }
    Ok(rest)
}

/// One part with its indices.
fn part(text: &str) -> Result<&str, &str> {
    let rest = match text.strip_prefix('\'') {
        Some(quoted) => after_quote(quoted)?,
        None => {
            let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
            if !text.starts_with(is_letter) {
                return Err(text);
            }
            text.trim_start_matches(|c| is_letter(c) || c.is_ascii_digit())
        }
    };
    match rest.strip_prefix('[') {
        Some(indices) => after_indices(indices),
        None => Ok(rest),
    }
}

fn after_indices(text: &str) -> Result<&str, &str> {
    let mut rest = unsigned(text)?;
    while let Some(next) = rest.strip_prefix(',') {
        rest = unsigned(next)?;
    }
    rest.strip_prefix(']').ok_or(rest)
}

fn unsigned(text: &str) -> Result<&str, &str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < text.len() {
        Ok(rest)
    } else {
        Err(text)
    }
}

/// Parses a quoted name, not empty, after its opening quote; returns the rest.
fn after_quote(text: &str) -> Result<&str, &str> {
    let mut rest = text;
    loop {
        let Some(first) = rest.chars().next() else {
            return Err(rest);
        };
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '\'' if rest.len() < text.len() => return Ok(after),
            '\\' if after.starts_with(is_escaped) => &after[1..],
            _ if is_quotable(first) => after,
            _ => return Err(rest),
        };
    }
}

fn is_escaped(c: char) -> bool {
    matches!(
        c,
        '\'' | '"' | '?' | '\\' | 'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v'
    )
}

fn is_quotable(c: char) -> bool {
    c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '\\' | '`') || c == ' '
}

#[cfg(test)]
mod tests {
    use super::structured;

    #[test]
    fn names_of_the_convention() {
        for good in [
            "a",
            "_a1.b2[1].c[2,3]",
            "der(a.b)",
            "der(a[1],2)",
            "'a b.c'.d",
            r"'it\'s'",
            "'x'[1]",
        ] {
            assert_eq!(structured(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn other_names_are_reported_from_the_place_of_the_fault() {
        for (bad, from) in [
            ("", ""),
            ("1a", "1a"),
            ("a b", " b"),
            ("a..b", ".b"),
            ("a[]", "]"),
            ("a[1", ""),
            ("a[x]", "x]"),
            ("der(a", ""),
            ("der(a,b)", "b)"),
            ("der(a)b", "b"),
            ("''", "'"),
            ("'a", ""),
            (r"'\x'", r"\x'"),
            ("ä", "ä"),
            ("a-b", "-b"),
        ] {
            assert_eq!(structured(bad), Err(from), "{bad}");
        }
    }
}
