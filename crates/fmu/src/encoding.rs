//! Bytes of `modelDescription.xml` to text.
//!
//! The standard wants UTF-8 (FMI 2.0.5 section 2.2), yet about half of the FMUs in use declare
//! ISO-8859-1. What is declared is decoded, with a warning.

use crate::warning::Warning;

/// Decodes the file. Never fails: bytes that fit no encoding are replaced, with a warning.
#[must_use]
pub fn decode(bytes: &[u8], warnings: &mut Vec<Warning>) -> String {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => {
            warnings.push(Warning::new(
                "modelDescription.xml starts with a byte order mark",
            ));
            decode_declared(rest, warnings)
        }
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes, warnings),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes, warnings),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes, warnings),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes, warnings),
        _ => decode_declared(bytes, warnings),
    }
}

fn decode_declared(bytes: &[u8], warnings: &mut Vec<Warning>) -> String {
    let declared = declared_encoding(bytes).unwrap_or_else(|| "UTF-8".to_owned());
    let name = declared.to_ascii_lowercase();
    let text = std::str::from_utf8(bytes);
    match name.as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => match text {
            Ok(text) => text.to_owned(),
            Err(error) => {
                warnings.push(Warning::new(format!(
                    "modelDescription.xml is not valid {declared} at byte {}; read as ISO-8859-1",
                    error.valid_up_to()
                )));
                latin1(bytes)
            }
        },
        "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" => {
            warnings.push(not_utf8(&declared));
            latin1(bytes)
        }
        "windows-1252" | "cp1252" => {
            warnings.push(not_utf8(&declared));
            bytes.iter().map(|byte| windows1252(*byte)).collect()
        }
        _ => {
            warnings.push(Warning::new(format!(
                "modelDescription.xml declares the encoding {declared:?}, which is not known; \
                 read as {}",
                if text.is_ok() { "UTF-8" } else { "ISO-8859-1" }
            )));
            text.map_or_else(|_| latin1(bytes), str::to_owned)
        }
    }
}

fn not_utf8(declared: &str) -> Warning {
    Warning::new(format!(
        "modelDescription.xml is encoded in {declared}, not in UTF-8"
    ))
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

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Windows-1252 differs from ISO-8859-1 in 0x80 to 0x9f only (table of the WHATWG encoding
/// standard; unassigned bytes stay control characters).
fn windows1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž',
        '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, warnings: &mut Vec<Warning>) -> String {
    warnings.push(Warning::new(
        "modelDescription.xml is encoded in UTF-16, not in UTF-8",
    ));
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
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
