//! The manifest of FMI-LS-REF (1.0.0-alpha.1), which names files in an FMU and their roles.

use gyrator_fmu::xml::{Document, NotWellFormed};

use crate::subject::{Contents, Subject};

/// Name of the manifest in the archive.
const MANIFEST: &str = "extra/org.fmi-standard.fmi-ls-ref/fmi-ls-manifest.xml";

/// Largest manifest or table of results that is read, bytes.
pub(super) const LARGEST: u64 = 256 << 20;

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The files, in the order of the manifest.
    pub related: Vec<Related>,
}

/// A file that belongs to the FMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its address: a URI, relative to the manifest.
    pub source: String,
    /// Purpose, such as `result` or `experiment/smoke-test`.
    pub role: String,
    /// MIME type.
    pub kind: String,
    /// Text for people.
    pub description: String,
}

impl Manifest {
    /// The manifest of an FMU, if it has one, with its archive; or why it cannot be read.
    #[must_use]
    pub fn of(subject: &Subject) -> Option<Result<(&Contents, Self), String>> {
        let contents = subject.contents()?;
        contents.file(MANIFEST)?;
        let read = || {
            let bytes = contents.bytes(MANIFEST, LARGEST)?;
            let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
            Ok((contents, Self::parse(&text).map_err(|error| error.message)?))
        };
        Some(read())
    }

    /// Reads the text of a manifest.
    ///
    /// # Errors
    /// If it is not well-formed XML.
    pub fn parse(text: &str) -> Result<Self, NotWellFormed> {
        let document = Document::parse(text)?;
        let related = document.children_named(document.root(), "Related");
        let of = |node, name| document.value(node, name).unwrap_or_default().to_owned();
        Ok(Self {
            related: related
                .map(|node| Related {
                    source: of(node, "source"),
                    role: of(node, "role"),
                    kind: of(node, "type"),
                    description: of(node, "description"),
                })
                .collect(),
        })
    }

    /// Tables of results, with their descriptions and names in the archive.
    pub(super) fn results(&self) -> impl Iterator<Item = (&str, String)> {
        let is_table = |related: &&Related| {
            related.role == "result"
                && (related.kind == "text/csv" || related.source.ends_with(".csv"))
        };
        let results = self.related.iter().filter(is_table);
        results.filter_map(|related| Some((related.description.as_str(), related.entry()?)))
    }
}

impl Related {
    /// The name in the archive that the source leads to; `None` for one outside of the archive.
    #[must_use]
    pub fn entry(&self) -> Option<String> {
        let is_absolute = self.source.contains(':') || self.source.starts_with('/');
        if is_absolute || self.source.is_empty() {
            return None;
        }
        let (folder, _) = MANIFEST.rsplit_once('/')?;
        let mut parts: Vec<&str> = folder.split('/').collect();
        for part in self.source.split('/') {
            match part {
                "." | "" => {}
                ".." => {
                    parts.pop()?;
                }
                part => parts.push(part),
            }
        }
        Some(decoded(&parts.join("/")))
    }
}

/// Without percent-encoding (RFC 3986 section 2.1).
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(source: &str) -> Option<String> {
        let related = Related {
            source: source.to_owned(),
            role: String::new(),
            kind: String::new(),
            description: String::new(),
        };
        related.entry()
    }

    #[test]
    fn sources_are_relative_to_the_manifest() {
        let expected = |name: &str| Some(name.to_owned());
        let folder = "extra/org.fmi-standard.fmi-ls-ref";
        assert_eq!(entry("a_out.csv"), expected(&format!("{folder}/a_out.csv")));
        assert_eq!(
            entry("../../documentation/a%20b.txt"),
            expected("documentation/a b.txt")
        );
        assert_eq!(entry("./x/%zz"), expected(&format!("{folder}/x/%zz")));
        assert_eq!(entry("../../../x"), None);
        assert_eq!(entry("https://example.org/x"), None);
        assert_eq!(entry(""), None);
    }

    #[test]
    fn tables_of_results_are_found() {
        let text = "<fmiReferences><Related type='text/csv' source='a.csv' role='result'/>\
                    <Related source='b.mo' role='model'/><Label/></fmiReferences>";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(manifest.related.len(), 2);
        assert_eq!(manifest.results().count(), 1);
        assert!(Manifest::parse("<a>").is_err());
    }
}
