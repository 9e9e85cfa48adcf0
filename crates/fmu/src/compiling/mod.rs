//! Libraries from the C sources that an FMU carries (FMI 2.0.5 section 2.3).
//!
//! The sources are compiled as FMI says: all files that the description lists, with `sources` as the
//! working directory of their `#include`s. The headers of FMI are the FMU's own where it has them, and
//! ours else. Nothing is written into the archive.

mod sources;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::description::CoSimulation;
use crate::elf::Binary;
use crate::leftovers::OwnDirectory;
use crate::library::REQUIRED_FUNCTIONS;
use crate::limited_command;
use crate::platform;
use sources::Sources;

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

/// Options that every compiler call has. A prefix that sources give to the names of their functions for
/// static linking is taken off where their headers allow it (`fmi2Functions.h`, since 2.0.1).
const OPTIONS: [&str; 6] = [
    "-shared",
    "-fPIC",
    "-O2",
    "-w",
    "-DFMI2_OVERRIDE_FUNCTION_PREFIX",
    "-Wl,--no-undefined",
];

/// Libraries that C sources use without saying so.
const LIBRARIES: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

/// How long a compiler may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Errors of a compiler that are shown.
const SHOWN: usize = 3;

/// The C compiler of the system, for FMUs that have sources and no library for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Program, as `cc`.
    pub program: String,
    /// Options after ours, as `-I`, `-D` or `-l`.
    pub flags: Vec<String>,
    /// How long it may take for one FMU.
    pub time_limit: Duration,
}

impl Default for Compiler {
    /// `cc` without options, for at most 5 min: an FMU of Dymola with 165 source files takes 10 s.
    fn default() -> Self {
        Self {
            program: "cc".to_owned(),
            flags: Vec::new(),
            time_limit: Duration::from_secs(300),
        }
    }
}

impl Compiler {
    /// A number of the compiler, its version and its options that no others have, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        let mut command = Command::new(&self.program);
        let version = limited_command::run(command.arg("--version"), VERSION_LIMIT);
        let version = version.map(|output| output.output).unwrap_or_default();
        let mut hash = Sha256::new();
        let parts = [env!("CARGO_PKG_VERSION"), &self.program, &version];
        let headers = HEADERS.iter().map(|(_, text)| *text);
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

    /// Makes the library of an FMU in `directory`, where its other files lie.
    ///
    /// # Errors
    /// Why there is none, for people.
    pub(crate) fn build(
        &self,
        archive: &mut Archive,
        model: &CoSimulation,
        directory: &Path,
    ) -> Result<(), String> {
        let io = |error: std::io::Error| format!("the sources cannot be compiled: {error}");
        let work = OwnDirectory::new().map_err(io)?;
        let unpacked = archive.unpack_if(sources::is_source, work.path());
        unpacked.map_err(|error| error.to_string())?;
        let sources = Sources::of(&model.source_files, work.path())?;
        let headers = work.path().join("fmi2-headers");
        std::fs::create_dir_all(&headers).map_err(io)?;
        for (name, text) in HEADERS {
            std::fs::write(headers.join(name), text).map_err(io)?;
        }
        let folder = directory.join("binaries").join(platform::usual_folder());
        std::fs::create_dir_all(&folder).map_err(io)?;
        let library = folder.join(format!("{}.{}", model.model_identifier, platform::ENDING));
        let mut call = Call {
            compiler: self,
            work: work.path(),
            sources: &sources,
            library: &library,
            aliases: Vec::new(),
        };
        call.make()?;
        call.aliases = aliases(&library, &model.model_identifier);
        if !call.aliases.is_empty() {
            call.make()?;
        }
        let defined = Binary::read(&library).map(|binary| binary.defined);
        let is_missing = |name: &&&str| defined.as_ref().is_some_and(|all| !all.contains(**name));
        match REQUIRED_FUNCTIONS.iter().find(is_missing) {
            Some(name) => Err(format!("its sources compile, but do not define {name}")),
            None => Ok(()),
        }
    }
}

/// One call of the compiler, which makes the library.
struct Call<'a> {
    compiler: &'a Compiler,
    work: &'a Path,
    sources: &'a Sources,
    library: &'a Path,
    /// Functions with the name of the model before theirs, which get their own as well.
    aliases: Vec<(String, String)>,
}

impl Call<'_> {
    fn make(&self) -> Result<(), String> {
        let program = &self.compiler.program;
        let mut command = Command::new(program);
        command
            .current_dir(self.work)
            .env("LC_ALL", "C")
            .args(OPTIONS);
        let folders = self.sources.include_folders.iter();
        command.args(folders.map(|folder| format!("-I{folder}")));
        command.arg("-Ifmi2-headers").arg("-o").arg(self.library);
        let aliases = self.aliases.iter();
        command.args(aliases.map(|(name, prefixed)| format!("-Wl,--defsym={name}={prefixed}")));
        command
            .args(&self.sources.files)
            .args(&self.compiler.flags)
            .args(LIBRARIES);
        match limited_command::run(&mut command, self.compiler.time_limit) {
            Ok(output) if output.success => Ok(()),
            Ok(output) => Err(format!(
                "its sources do not compile with {program}: {}",
                errors(&output.messages)
            )),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Err(format!(
                "{program} did not compile its sources within {} s",
                self.compiler.time_limit.as_secs_f64()
            )),
            Err(error) => Err(format!(
                "{program} does not start: {error}; install a C compiler, or name one with the \
                 environment variable CC"
            )),
        }
    }
}

/// The functions of FMI that a library has only with the name of the model before their own.
fn aliases(library: &Path, model: &str) -> Vec<(String, String)> {
    let defined = Binary::read(library).unwrap_or_default().defined;
    let prefix = format!("{model}_");
    let names = defined.iter().filter_map(|symbol| {
        let name = symbol.strip_prefix(&prefix)?;
        let is_new = name.starts_with("fmi2") && !defined.contains(name);
        // Names become options of the linker, which has others.
        let is_plain = symbol
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_new && is_plain).then(|| (name.to_owned(), symbol.clone()))
    });
    names.collect()
}

/// The first errors among the messages of a compiler and a linker, with their places.
fn errors(messages: &str) -> String {
    const SIGNS: [&str; 4] = [
        "error:",
        "undefined reference",
        "cannot find",
        "multiple definition",
    ];
    let is_error = |line: &&str| SIGNS.iter().any(|sign| line.contains(sign));
    let all: Vec<&str> = messages.lines().map(str::trim).filter(is_error).collect();
    let mut shown: Vec<&str> = all.iter().take(SHOWN).copied().collect();
    if shown.is_empty() {
        shown.extend(
            messages
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .take(SHOWN),
        );
    }
    let more = match all.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let help = if messages.contains("No such file or directory") {
        "; folders of headers can be named with the environment variable CFLAGS (-I)"
    } else if messages.contains("undefined reference") {
        "; libraries can be named with the environment variable CFLAGS (-l)"
    } else {
        ""
    };
    format!("{}{more}{help}", shown.join("; "))
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
    // Those of a temporary file are for its owner alone.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_with_their_places() {
        let messages = "sources/a.c: In function 'f':\nsources/a.c:3:5: error: 'x' undeclared\n\
            sources/a.c:4:5: warning: odd\nsources/b.c:1:10: fatal error: c.h: No such file or directory\n";
        let text = errors(messages);
        assert!(
            text.starts_with("sources/a.c:3:5: error: 'x' undeclared; sources/b.c:1:10: fatal"),
            "{text}"
        );
        assert!(text.ends_with("CFLAGS (-I)"), "{text}");
        assert_eq!(errors("cc: odd\n"), "cc: odd");
    }
}
