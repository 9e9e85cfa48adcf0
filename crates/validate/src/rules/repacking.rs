//! An FMU with another GUID.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::path::{Path, PathBuf};

use gyrator_fmu::xml::Document;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::subject::{DESCRIPTION, Subject};

/// Writes a copy of the FMU whose description has another GUID; `None` if it has none.
pub(super) fn with_another_guid(fmu: &Path, folder: &Path) -> io::Result<Option<PathBuf>> {
    let subject = Subject::read(fmu, gyrator_fmu::Limits::default())?;
    let text = subject.text.as_deref().and_then(changed);
    let entry = subject
        .contents()
        .and_then(|contents| contents.file(DESCRIPTION));
    let (Some(text), Some(description)) = (text, entry) else {
        return Ok(None);
    };
    let mut archive = ZipArchive::new(BufReader::new(File::open(fmu)?))?;
    let target = folder.join("stranger.fmu");
    let mut writer = ZipWriter::new(File::create(&target)?);
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index)?;
        if index == description.index {
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
    if guid.value.is_empty() {
        return None;
    }
    // As it is written, which its value need not be: `&amp;` stands for `&`.
    let mark = text[guid.offset..].find(['"', '\''])? + guid.offset;
    let (before, quoted) = text.split_at(mark + 1);
    let after = &quoted[quoted.find(&text[mark..=mark])?..];
    let text = format!("{before}{{00000000-0000-4000-8000-000000000000}}{after}");
    // The declaration at the beginning does not hold any more.
    let body = match text.strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>")?.1,
        None => &text,
    };
    Some(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{body}"))
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
        for written in ["guid='g'", "guid = '&amp;'", "guid='\"'", "n='x' guid='x'"] {
            let text = format!("<a {written} x='x'/>");
            let (before, _) = written.rsplit_once('=').unwrap();
            let space = if written.contains("= ") { " " } else { "" };
            let expected = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\
                 <a {before}={space}'{{00000000-0000-4000-8000-000000000000}}' x='x'/>"
            );
            assert_eq!(changed(&text), Some(expected), "{written}");
        }
        assert_eq!(changed("<a guid=''/>"), None);
        assert_eq!(changed("<a/>"), None);
    }
}
