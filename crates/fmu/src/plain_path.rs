//! Paths that FMUs are given: as URIs, and if possible such that a URI has them as they are. Many FMUs do not decode theirs.

use std::path::{Path, PathBuf};

/// The directory for unpacking: the one for temporary files, if its name can stand in a URI as it is.
pub(crate) fn plain_directory() -> PathBuf {
    let usual = std::env::temp_dir();
    let fallback = Path::new("/tmp");
    let usual = std::path::absolute(&usual).unwrap_or(usual);
    if usual.to_str().is_some_and(is_plain) || !fallback.is_dir() {
        usual
    } else {
        fallback.into()
    }
}

/// Whether a path stands in a URI as it is.
pub(crate) fn is_plain(path: &str) -> bool {
    path.bytes().all(is_unreserved)
}

/// Bytes that may stand in the path of a URI (RFC 3986 sections 2.3 and 3.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
}

/// A `file:` URI of an absolute path (RFC 8089), percent-encoded.
pub(crate) fn file_uri(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') {
        "file://"
    } else {
        "file:///"
    });
    for (index, byte) in path.bytes().enumerate() {
        // The colon of a drive stays.
        if is_unreserved(byte) || (byte == b':' && index == 1) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c08_uri_of_a_plain_path() {
        assert_eq!(
            file_uri(Path::new("/tmp/a/resources")),
            "file:///tmp/a/resources"
        );
    }

    #[test]
    fn c08_r43_uri_is_percent_encoded() {
        assert_eq!(
            file_uri(Path::new("/a b/%20/ü")),
            "file:///a%20b/%2520/%C3%BC"
        );
        assert_eq!(file_uri(Path::new("C:\\x")), "file:///C:/x");
    }
}
