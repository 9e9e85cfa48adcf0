//! An FMU as the rules see it: the entries of its archive and the text of its description.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use gyrator_fmu::Limits;
use zip::{CompressionMethod, ZipArchive};

/// Name of the description in the archive.
pub(crate) const DESCRIPTION: &str = "modelDescription.xml";

/// An entry of an archive.
#[derive(Debug, Clone)]
pub struct ArchiveEntry {
    /// Name as written.
    pub raw: String,
    /// Name with `/` between its parts and none at its end.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it is a symbolic link.
    pub is_link: bool,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
    /// Whether it is stored or deflated, all that FMI 2.0 allows.
    pub is_readable: bool,
    /// Version of the ZIP format needed to read it, times ten.
    pub version_needed: u16,
    pub(crate) index: usize,
}

/// The archive of an FMU.
#[derive(Debug)]
pub struct Contents {
    zip: RefCell<ZipArchive<BufReader<File>>>,
    /// Entries, in the order of the archive.
    pub entries: Vec<ArchiveEntry>,
    /// Whether two entries have the same name, byte by byte.
    pub has_duplicates: bool,
    limits: Limits,
    /// Bytes that an entry may have, as for a run.
    budget: u64,
}

/// The file to be validated.
#[derive(Debug)]
pub struct Subject {
    /// The file.
    pub path: PathBuf,
    /// Its entries, or why it is not an archive; `None` for a description without an FMU.
    pub archive: Option<Result<Contents, String>>,
    /// The description as text; `None` if there is none to be read.
    pub text: Option<String>,
    /// Errors in its encoding.
    pub encoding: Vec<gyrator_fmu::Warning>,
}

impl Subject {
    /// Reads an FMU, or a description alone if the name ends in `.xml`.
    ///
    /// # Errors
    /// If the file cannot be read. Another file than an FMU is not an error here, but a finding.
    pub fn read(path: &Path, limits: Limits) -> io::Result<Self> {
        if path.extension().is_some_and(|ending| ending == "xml") {
            let bytes = std::fs::read(path)?;
            return Ok(Self::of_description(path, &bytes));
        }
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let archive = Contents::read(file, File::open(path)?, limits);
        let bytes = archive
            .as_ref()
            .ok()
            .and_then(|contents| contents.description().ok());
        let of_description = bytes.map(|bytes| Self::of_description(path, &bytes));
        Ok(Self {
            archive: Some(archive),
            ..of_description.unwrap_or_else(|| Self {
                path: path.to_owned(),
                archive: None,
                text: None,
                encoding: Vec::new(),
            })
        })
    }

    /// A description without an FMU around it.
    #[must_use]
    pub fn of_description(path: &Path, bytes: &[u8]) -> Self {
        let mut encoding = Vec::new();
        let text = gyrator_fmu::decode_description(bytes, &mut encoding);
        Self {
            path: path.to_owned(),
            archive: None,
            // Offsets are reported without a byte order mark.
            text: Some(text.trim_start_matches('\u{feff}').to_owned()),
            encoding,
        }
    }

    /// The entries, if the file is an archive.
    #[must_use]
    pub fn contents(&self) -> Option<&Contents> {
        self.archive.as_ref()?.as_ref().ok()
    }
}

impl Contents {
    /// `again` is the same file, opened once more.
    fn read(file: File, again: File, limits: Limits) -> Result<Self, String> {
        let mut head = Vec::new();
        let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            // A reason without the beginning is still one.
            let _ = (&again).take(64).read_to_end(&mut head);
            gyrator_fmu::why_unreadable(&error, &head)
        })?;
        let budget = limits.budget(again.metadata().map_or(0, |file| file.len()));
        let count = zip.len();
        if count as u64 > limits.entries {
            return Err(format!("{count} entries, {} are read", limits.entries));
        }
        let mut headers = Vec::with_capacity(count);
        let mut entries = Vec::with_capacity(count);
        for index in 0..count {
            let entry = zip.by_index_raw(index).map_err(|error| error.to_string())?;
            let raw = String::from_utf8_lossy(entry.name_raw()).into_owned();
            headers.push(entry.central_header_start());
            let method = entry.compression();
            entries.push(ArchiveEntry {
                name: clean(&raw),
                is_directory: raw.ends_with(['/', '\\']),
                is_link: entry.is_symlink(),
                is_encrypted: entry.encrypted(),
                is_readable: matches!(
                    method,
                    CompressionMethod::Stored | CompressionMethod::Deflated
                ),
                version_needed: 0,
                index,
                raw,
            });
        }
        let has_duplicates = zip.has_duplicate_names();
        read_versions(again, &mut entries, &headers).map_err(|error| error.to_string())?;
        Ok(Self {
            zip: RefCell::new(zip),
            entries,
            has_duplicates,
            limits,
            budget,
        })
    }

    /// The file of this name; directories do not count.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&ArchiveEntry> {
        let mut files = self.entries.iter().filter(|entry| !entry.is_directory);
        files.find(|entry| entry.name == name)
    }

    /// The bytes of an entry, if they can be had within `limit` bytes.
    ///
    /// # Errors
    /// Why not.
    pub fn bytes(&self, name: &str, limit: u64) -> Result<Vec<u8>, String> {
        let entry = self.file(name).ok_or("it is not there")?;
        let limit = limit.min(self.budget);
        read_entry(&mut *self.zip.borrow_mut(), entry.index, limit)
    }

    /// The description, or why it cannot be read.
    pub(crate) fn description(&self) -> Result<Vec<u8>, String> {
        self.bytes(DESCRIPTION, self.limits.description_size)
    }

    /// Folders under `binaries` that hold files, in alphabetical order.
    #[must_use]
    pub fn platforms(&self) -> Vec<&str> {
        let files = self.entries.iter().filter(|entry| !entry.is_directory);
        let mut folders: Vec<&str> = files
            .filter_map(|entry| {
                let (platform, _) = entry.name.strip_prefix("binaries/")?.split_once('/')?;
                Some(platform)
            })
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }
}

/// A name with `/` between its parts.
fn clean(raw: &str) -> String {
    let name = raw.replace('\\', "/");
    let name = name.trim_end_matches('/');
    if name == "." {
        // The root itself.
        return String::new();
    }
    name.strip_prefix("./").unwrap_or(name).to_owned()
}

/// Reads "version needed to extract" (APPNOTE 4.3.12), which the ZIP library does not provide.
fn read_versions(mut file: File, entries: &mut [ArchiveEntry], headers: &[u64]) -> io::Result<()> {
    const FIELD: u64 = 6;
    for (entry, header) in entries.iter_mut().zip(headers) {
        let mut bytes = [0; 2];
        file.seek(SeekFrom::Start(header.saturating_add(FIELD)))?;
        file.read_exact(&mut bytes)?;
        // The high byte names a system.
        entry.version_needed = u16::from(bytes[0]);
    }
    Ok(())
}

fn read_entry<R: Read + Seek>(
    zip: &mut ZipArchive<R>,
    index: usize,
    limit: u64,
) -> Result<Vec<u8>, String> {
    let entry = zip.by_index(index).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let mut limited = entry.take(limit.saturating_add(1));
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be unpacked: {error}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn r61_entries_are_limited_as_for_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.fmu");
        let mut zip = zip::ZipWriter::new(File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(DESCRIPTION, options).unwrap();
        zip.write_all(&vec![b' '; 100_000]).unwrap();
        zip.finish().unwrap();
        let described = |limits: Limits| {
            let subject = Subject::read(&path, limits).unwrap();
            subject.text.map(|text| text.len())
        };
        assert_eq!(described(Limits::default()), Some(100_000));
        let strict = Limits {
            ratio: 10,
            ratio_from: 1000,
            ..Limits::default()
        };
        assert_eq!(described(strict), None, "it unpacks to too much");
    }
}
