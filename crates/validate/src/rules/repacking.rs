//! An FMU with another GUID.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::document::Document;
use crate::subject::{DESCRIPTION, Subject};

/// Writes a copy of the FMU whose description has another GUID; `None` where it has none.
pub(super) fn with_another_guid(fmu: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let subject = Subject::read(fmu, gyrator_fmu::Limits::default())?;
    let Some(text) = subject.text.as_deref().and_then(changed) else {
        return Ok(None);
    };
    let mut archive = ZipArchive::new(BufReader::new(File::open(fmu)?))?;
    let target = folder.join("stranger.fmu");
    let mut writer = ZipWriter::new(File::create(&target)?);
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index)?;
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        if name == DESCRIPTION {
            writer.start_file(DESCRIPTION, SimpleFileOptions::default())?;
            writer.write_all(text.as_bytes())?;
        } else {
            writer.raw_copy_file(entry)?;
        }
    }
    writer.finish()?;
    Ok(Some(target))
}

/// The description with another GUID, in UTF-8.
fn changed(text: &str) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let guid = document.attribute(document.root(), "guid")?;
    let value = guid.value.as_ref();
    let place = text[guid.offset..].find(value)? + guid.offset;
    let is_written = !value.is_empty();
    let (before, after) = (&text[..place], text.get(place + value.len()..)?);
    let text = format!("{before}{{00000000-0000-4000-8000-000000000000}}{after}");
    // What was declared before does not hold any more.
    let body = match text.strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>")?.1,
        None => &text,
    };
    is_written.then(|| format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{body}"))
}

#[cfg(test)]
mod tests {
    use super::changed;

    #[test]
    fn only_the_guid_is_another_one() {
        let text = "<?xml version='1.0' encoding='ISO-8859-1'?>\n<a modelName='ä' guid='x'/>";
        assert_eq!(
            changed(text).as_deref(),
            Some(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a modelName='ä' \
                 guid='{00000000-0000-4000-8000-000000000000}'/>"
            )
        );
        assert_eq!(changed("<a guid=''/>"), None);
        assert_eq!(changed("<a/>"), None);
    }
}
