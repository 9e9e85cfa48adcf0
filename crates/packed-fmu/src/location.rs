//! The folder that a URI names.

use std::path::PathBuf;

/// The folder of `fmi2Instantiate`'s `fmuResourceLocation`: `file:///path`, `file:/path` (RFC 8089), or, as some importers
/// pass it, the path itself.
///
/// # Errors
/// Words for a location on another host, or with an escape that is not valid.
pub(crate) fn folder(location: &str) -> Result<PathBuf, String> {
    let refused = |why: &str| format!("the resource location {location:?} {why}");
    let Some(rest) = location.strip_prefix("file:") else {
        return Ok(PathBuf::from(location));
    };
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let start = rest.find('/').ok_or_else(|| refused("has no path"))?;
            let (host, path) = rest.split_at(start);
            if !matches!(host, "" | "localhost" | "127.0.0.1") {
                return Err(refused("is on another host"));
            }
            path
        }
    };
    let text = unescaped(path).ok_or_else(|| refused("has an invalid escape"))?;
    // file:///C:/folder
    let is_drive = text.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    Ok(PathBuf::from(if is_drive { &text[1..] } else { &text }))
}

/// Replaces `%20` and the like.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn uris_and_paths_name_folders() {
        for (location, path) in [
            ("file:///tmp/a%20b/resources", "/tmp/a b/resources"),
            ("file:/tmp/resources", "/tmp/resources"),
            ("file://localhost/tmp/%C3%A4", "/tmp/ä"),
            ("/tmp/50%/resources", "/tmp/50%/resources"),
        ] {
            assert_eq!(folder(location).unwrap().to_str(), Some(path));
        }
        for location in [
            "file://host/tmp",
            "file://",
            "file:///%zz",
            "file:///%+1",
            "file:///%f",
            "file:///%ff",
        ] {
            assert!(folder(location).is_err(), "{location}");
        }
    }
}
