//! Libraries from the C sources that an FMU carries (FMI 2.0.5 section 2.3).
//!
//! The sources are compiled as FMI says: all files that the description lists, with `sources` as the
//! working directory of their `#include`s. The FMU's own headers of FMI are used if it has them,
//! otherwise ours. Nothing is written into the archive.

mod build_description;
mod call;
mod sources;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::description::ModelDescription;
use crate::functions::required_functions;
use crate::leftovers::OwnDirectory;
use crate::limited_command;
use crate::platform;
use crate::warning::Warning;
use call::{Call, LIBRARIES, OPTIONS};
use sources::Sources;
pub(crate) use sources::is_source_file;

/// Headers of FMI 2.0 for sources that come without them.
const HEADERS: [(&str, &str); 3] = [
    (
        "fmi2TypesPlatform.h",
        include_str!("headers/fmi2TypesPlatform.h"),
    ),
    (
        "fmi2FunctionTypes.h",
        include_str!("headers/fmi2FunctionTypes.h"),
    ),
    ("fmi2Functions.h", include_str!("headers/fmi2Functions.h")),
];

/// A header of the FMU SDK that many sources include and few FMUs have.
const MINMAX: (&str, &str) = ("minmax.h", include_str!("headers/minmax.h"));

/// The file, beside the library, with what users have to know about it: one line each.
const NOTES: &str = "compiling-notes.txt";

/// How long a compiler may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// The compilers of the system, for FMUs that have sources and no library for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Program for C, as `cc`.
    pub program: String,
    /// Program for C++, as `c++`.
    pub cpp_program: String,
    /// Options after ours, as `-I`, `-D` or `-l`.
    pub flags: Vec<String>,
    /// How long it may take for one FMU, in all its calls.
    pub time_limit: Duration,
}

impl Default for Compiler {
    /// `cc` and `c++` without options, for at most 5 min: an FMU of Dymola with 165 source files takes 10 s.
    fn default() -> Self {
        Self {
            program: "cc".to_owned(),
            cpp_program: "c++".to_owned(),
            flags: Vec::new(),
            time_limit: Duration::from_secs(300),
        }
    }
}

impl Compiler {
    /// A number of the compiler, its version and its options that no others have, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let [version, cpp_version] = [&self.program, &self.cpp_program].map(|program| {
            let mut command = Command::new(program);
            let version = limited_command::run(command.arg("--version"), VERSION_LIMIT);
            version.map(|output| output.output).unwrap_or_default()
        });
        let mut hash = Sha256::new();
        let parts = [
            env!("CARGO_PKG_VERSION"),
            &self.program,
            &version,
            &self.cpp_program,
            &cpp_version,
        ];
        let headers = HEADERS.iter().chain([&MINMAX]).map(|(_, text)| *text);
        let flags = self.flags.iter().map(String::as_str);
        for part in parts
            .into_iter()
            .chain(OPTIONS)
            .chain(LIBRARIES)
            .chain(headers)
            .chain(flags)
        {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let bytes = hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Makes the library of an FMU in `directory`, which has its other files.
    ///
    /// # Errors
    /// Why it failed, for people.
    pub(crate) fn build(
        &self,
        archive: &mut Archive,
        description: &ModelDescription,
        directory: &Path,
    ) -> Result<(), String> {
        let Some(model) = &description.co_simulation else {
            return Ok(());
        };
        let io = |error: std::io::Error| format!("the sources cannot be compiled: {error}");
        let work = OwnDirectory::new().map_err(io)?;
        let unpacked = archive.unpack_if(sources::is_source, work.path());
        unpacked.map_err(|error| error.to_string())?;
        let identifier = model.model_identifier.as_str();
        let sources = Sources::of(identifier, &model.source_files, work.path())?;
        let all = Sources::of(identifier, &[], work.path())?;
        let headers = work.path().join("fmi2-headers");
        std::fs::create_dir_all(&headers).map_err(io)?;
        for (name, text) in HEADERS {
            std::fs::write(headers.join(name), text).map_err(io)?;
        }
        let folder = directory.join("binaries").join(platform::usual_folder());
        std::fs::create_dir_all(&folder).map_err(io)?;
        let library = folder.join(format!("{identifier}.{}", platform::ENDING));
        let mut call = Call {
            compiler: self,
            work: work.path(),
            sources: &sources,
            library: &library,
            model: identifier,
            definition: None,
            aliases: Vec::new(),
            deadline: Instant::now() + self.time_limit,
        };
        let needed = required_functions(description);
        let mut notes = sources.notes.clone();
        let lacking = call.complete(&needed).or_else(|failure| {
            if !failure.lacks(MINMAX.0) || std::fs::write(headers.join(MINMAX.0), MINMAX.1).is_err() {
                return Err(failure);
            }
            notes.push(format!(
                "its sources lack the header {} of the FMU SDK: they were compiled with gyrator's, which has min and max",
                MINMAX.0
            ));
            call.complete(&needed)
        });
        if let Some(name) = lacking.map_err(|failure| failure.reason)? {
            let note = call.with_more(name, &needed, &all);
            notes.push(
                note.ok_or_else(|| format!("its sources compile, but do not define {name}"))?,
            );
        }
        if !notes.is_empty() {
            std::fs::write(directory.join(NOTES), notes.join("\n")).map_err(io)?;
        }
        Ok(())
    }

    /// The program for a language.
    fn program_for(&self, is_cpp: bool) -> &str {
        if is_cpp {
            &self.cpp_program
        } else {
            &self.program
        }
    }
}

/// What users have to know about the library that was compiled in `directory`.
pub(crate) fn notes(directory: &Path) -> Vec<Warning> {
    let text = std::fs::read_to_string(directory.join(NOTES)).unwrap_or_default();
    text.lines().map(Warning::new).collect()
}

/// Writes an FMU with a library for this machine: all entries of `source`, and the library.
///
/// # Errors
/// If the one cannot be read or the other not be written.
pub(crate) fn write_with(source: &Path, target: &Path, library: &Path) -> std::io::Result<()> {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    let mut given = std::fs::File::open(source)?;
    std::io::copy(&mut given, new.as_file_mut())?;
    // A temporary file has rights for its owner alone.
    new.as_file()
        .set_permissions(given.metadata()?.permissions())?;
    let mut archive = zip::ZipWriter::new_append(new.as_file_mut())?;
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    let entry = format!("binaries/{}/{name}", platform::usual_folder());
    archive.start_file(
        entry,
        options.compression_method(zip::CompressionMethod::Deflated),
    )?;
    std::io::copy(&mut std::fs::File::open(library)?, &mut archive)?;
    archive.finish()?;
    new.as_file().sync_all()?;
    new.persist(target).map_err(|error| error.error)?;
    Ok(())
}
