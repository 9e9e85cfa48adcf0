//! The files of the archive.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::PackError;

/// Contents by name.
pub(super) type Entries<'a> = BTreeMap<String, Cow<'a, [u8]>>;

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Cow<'static, [u8]>, PackError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Cow::Owned(bytes)),
        Err(source) => Err(PackError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// The first 128 bits of the SHA-256 hash of entries and texts, in the form of a GUID.
pub(super) fn guid(entries: &Entries<'_>, texts: &[String]) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for (name, bytes) in entries {
        add(name.as_bytes());
        add(bytes);
    }
    for text in texts {
        add(text.as_bytes());
    }
    let hash = hash.finalize();
    let digits: String = hash[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (a, b, c) = (&digits[..8], &digits[8..12], &digits[12..16]);
    let (d, e) = (&digits[16..20], &digits[20..]);
    format!("{{{a}-{b}-{c}-{d}-{e}}}")
}
