//! Bytes of an XML file, `modelDescription.xml` above all, to text.
//!
//! The standard requires UTF-8 (FMI 2.0.5 section 2.2), yet about half of the FMUs in use declare
//! ISO-8859-1. The declared encoding is decoded, with a warning.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::warning::Warning;

/// Decodes the file. Never fails: bytes that fit no encoding are replaced, with a warning. An
/// encoding is read as browsers read it: ISO-8859-1 as Windows-1252, which has more characters.
#[must_use]
pub fn decode(bytes: &[u8], warnings: &mut Vec<Warning>) -> String {
    decode_file("modelDescription.xml", bytes, warnings)
}

/// As [`decode`], for any XML file; warnings call it `file`.
#[must_use]
pub fn decode_file(file: &str, bytes: &[u8], warnings: &mut Vec<Warning>) -> String {
    let (encoding, mark) = match (Encoding::for_bom(bytes), bytes) {
        (Some(found), _) => found,
        (None, [b'<', 0, ..]) => (UTF_16LE, 0),
        (None, [0, b'<', ..]) => (UTF_16BE, 0),
        (None, _) => return decode_declared(file, bytes, warnings),
    };
    if encoding == UTF_8 {
        warnings.push(Warning::new(format!(
            "{file} starts with a byte order mark"
        )));
        return decode_declared(file, &bytes[mark..], warnings);
    }
    warnings.push(not_utf8(file, "UTF-16"));
    read_as(encoding, &bytes[mark..])
}

fn decode_declared(file: &str, bytes: &[u8], warnings: &mut Vec<Warning>) -> String {
    let declared = declared_encoding(bytes).unwrap_or_else(|| UTF_8.name().to_owned());
    // An encoding in which the declaration itself could not be read is not the file's.
    let encoding = Encoding::for_label(declared.as_bytes());
    let encoding = encoding.filter(|encoding| encoding.is_ascii_compatible());
    let is_ascii = declared.to_ascii_lowercase().ends_with("ascii");
    match (encoding, std::str::from_utf8(bytes)) {
        (Some(encoding), text) if encoding == UTF_8 || is_ascii => match text {
            Ok(text) => text.to_owned(),
            Err(error) => {
                warnings.push(Warning::new(format!(
                    "{file} is not valid {declared} at byte {}; read as {}",
                    error.valid_up_to(),
                    WINDOWS_1252.name()
                )));
                read_as(WINDOWS_1252, bytes)
            }
        },
        (Some(encoding), _) => {
            warnings.push(not_utf8(file, &declared));
            read_as(encoding, bytes)
        }
        (None, text) => {
            let encoding = if text.is_ok() { UTF_8 } else { WINDOWS_1252 };
            warnings.push(Warning::new(format!(
                "{file} declares the encoding {declared:?}, which is not known; \
                 read as {}",
                encoding.name()
            )));
            read_as(encoding, bytes)
        }
    }
}

fn read_as(encoding: &'static Encoding, bytes: &[u8]) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

fn not_utf8(file: &str, declared: &str) -> Warning {
    Warning::new(format!("{file} is encoded in {declared}, not in UTF-8"))
}

/// The value of `encoding` in `<?xml … ?>`.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let head = &bytes[start..bytes.len().min(start + 200)];
    let head = String::from_utf8_lossy(head);
    let declaration = head.strip_prefix("<?xml")?.split("?>").next()?;
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(value[1..].split(quote).next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, usize) {
        let mut warnings = Vec::new();
        let text = decode(bytes, &mut warnings);
        (text, warnings.len())
    }

    #[test]
    fn c02_utf8_passes_silently() {
        assert_eq!(decoded("<?xml version='1.0'?><ä/>".as_bytes()).1, 0);
    }

    #[test]
    fn c02_r07_latin1_is_decoded_as_declared() {
        let (text, warnings) =
            decoded(b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a b=\"\xb0\"/>");
        assert!(text.ends_with("<a b=\"°\"/>"), "{text}");
        assert_eq!(warnings, 1);
    }

    #[test]
    fn c02_r07_undeclared_latin1_is_read_with_a_warning() {
        let (text, warnings) = decoded(b"<?xml version=\"1.0\" encoding='utf-8'?><a b=\"\xb0\"/>");
        assert!(text.ends_with("<a b=\"°\"/>"), "{text}");
        assert_eq!(warnings, 1);
    }

    #[test]
    fn r07_windows_1252() {
        let (text, warnings) = decoded(b"<?xml encoding = 'Windows-1252'?>\x80\xe9\x9f");
        assert!(text.ends_with("€éŸ"), "{text}");
        assert_eq!(warnings, 1);
    }

    #[test]
    fn r07_byte_order_marks() {
        assert_eq!(decoded(b"\xef\xbb\xbf<a/>"), ("<a/>".to_owned(), 1));
        assert_eq!(decoded(b"\xff\xfe<\0a\0/\0>\0"), ("<a/>".to_owned(), 1));
        assert_eq!(decoded(b"\xfe\xff\0<\0a\0/\0>"), ("<a/>".to_owned(), 1));
        assert_eq!(decoded(b"<\0a\0/\0>\0"), ("<a/>".to_owned(), 1));
    }
}
