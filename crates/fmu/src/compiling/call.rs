//! Calls of the compiler that make the library of an FMU.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::Compiler;
use super::sources::{FileSet, Sources};
use crate::elf::Binary;
use crate::limited_command;

/// Options that every call has. The last one removes the prefix that sources give to the names of their functions for
/// static linking, if their headers support it (`fmi2Functions.h`, since 2.0.1).
pub(super) const OPTIONS: [&str; 4] = ["-fPIC", "-O2", "-w", "-DFMI2_OVERRIDE_FUNCTION_PREFIX"];

/// Options of the call that makes the library.
const LINKING: [&str; 2] = ["-shared", "-Wl,--no-undefined"];

/// Options of a call that makes one object of several files.
const JOINING: [&str; 2] = ["-r", "-nostdlib"];

/// Libraries that C sources use without saying so.
pub(super) const LIBRARIES: [&str; 3] = ["-lm", "-lpthread", "-ldl"];

/// The function that only co-simulation has.
const STEP: &str = "fmi2DoStep";

/// What the FMU SDK, and what is made with it, has to be told to be a slave for co-simulation.
const CO_SIMULATION: &str = "FMI_COSIMULATION";

/// Errors of a compiler that are shown.
const SHOWN: usize = 3;

/// The compiler on the sources of an FMU.
pub(super) struct Call<'a> {
    pub(super) compiler: &'a Compiler,
    pub(super) work: &'a Path,
    pub(super) sources: &'a Sources,
    pub(super) library: &'a Path,
    /// Identifier of the model.
    pub(super) model: &'a str,
    /// A definition that the sources need and nothing names.
    pub(super) definition: Option<&'static str>,
    /// Functions with the name of the model before theirs, which get their own as well.
    pub(super) aliases: Vec<(String, String)>,
    /// When the time for this FMU is over.
    pub(super) deadline: Instant,
}

/// Why no library was made.
pub(super) struct Failure {
    /// For people.
    pub(super) reason: String,
    /// All messages of the compiler.
    messages: String,
}

impl Failure {
    /// Whether a header of this name was not found.
    pub(super) fn lacks(&self, header: &str) -> bool {
        let mut lines = self.messages.lines();
        lines.any(|line| line.contains(header) && line.contains("No such file or directory"))
    }
}

impl<'a> Call<'a> {
    /// Makes the library with the names of FMI; the first function of `needed` that it lacks.
    pub(super) fn complete<'n>(&mut self, needed: &[&'n str]) -> Result<Option<&'n str>, Failure> {
        self.aliases.clear();
        self.make()?;
        self.aliases = aliases(self.library, self.model);
        if !self.aliases.is_empty() {
            self.make()?;
        }
        let defined = Binary::read(self.library).map(|binary| binary.defined);
        let is_missing = |name: &&&str| defined.as_ref().is_some_and(|all| !all.contains(**name));
        Ok(needed.iter().find(is_missing).copied())
    }

    /// Makes a library that lacks the function `name` in the ways that help most such sources: what users have to know about
    /// the one that does.
    pub(super) fn with_more(
        &mut self,
        name: &str,
        needed: &[&str],
        all: &'a Sources,
    ) -> Option<String> {
        if name == STEP {
            self.definition = Some(CO_SIMULATION);
            if matches!(self.complete(needed), Ok(None)) {
                return Some(format!(
                    "its sources define {STEP} with {CO_SIMULATION} only, which their description does not name: they were \
                     compiled with it"
                ));
            }
            self.definition = None;
        }
        if self.sources.sets != all.sets {
            self.sources = all;
            if matches!(self.complete(needed), Ok(None)) {
                return Some(format!(
                    "the source files that its description lists do not define {name}: all files in sources/ were compiled"
                ));
            }
        }
        None
    }

    /// Compiles and links all sources.
    fn make(&self) -> Result<(), Failure> {
        let aliases = self.aliases.iter();
        let aliases = aliases.map(|(name, prefixed)| format!("-Wl,--defsym={name}={prefixed}"));
        let is_cpp = self.sources.sets.iter().any(|set| set.is_cpp);
        let mut link = self.command(is_cpp);
        link.args(LINKING).arg("-o").arg(self.library).args(aliases);
        if let [set] = &self.sources.sets[..] {
            self.add(&mut link, set);
        } else {
            for (index, set) in self.sources.sets.iter().enumerate() {
                let object = format!("set-{index}.o");
                let mut command = self.command(set.is_cpp);
                command.args(JOINING).arg("-o").arg(&object);
                self.add(&mut command, set);
                let is_of_linker = |flag: &&String| {
                    ["-l", "-L", "-Wl,"]
                        .iter()
                        .any(|start| flag.starts_with(start))
                };
                let flags = self.compiler.flags.iter();
                command.args(flags.filter(|flag| !is_of_linker(flag)));
                self.run(&mut command, set.is_cpp)?;
                link.arg(object);
            }
        }
        link.args(&self.compiler.flags)
            .args(&self.sources.libraries)
            .args(LIBRARIES);
        self.run(&mut link, is_cpp)
    }

    fn command(&self, is_cpp: bool) -> Command {
        let mut command = Command::new(self.compiler.program_for(is_cpp));
        command
            .current_dir(self.work)
            .env("LC_ALL", "C")
            .args(OPTIONS);
        command
    }

    /// The files of a set, and how to compile them.
    fn add(&self, command: &mut Command, set: &FileSet) {
        let folders = set.include_folders.iter();
        command
            .args(&set.options)
            .args(self.definition.map(|name| format!("-D{name}")))
            .args(folders.map(|folder| format!("-I{folder}")))
            .arg("-Ifmi2-headers")
            .args(&set.files);
    }

    fn run(&self, command: &mut Command, is_cpp: bool) -> Result<(), Failure> {
        let program = self.compiler.program_for(is_cpp);
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (reason, messages) = match limited_command::run(command, left) {
            Ok(output) if output.success => return Ok(()),
            Ok(output) => {
                let mut errors = errors(&output.messages);
                if output.messages.contains("undefined")
                    && let Some(file) = &self.sources.foreign
                {
                    let _ = write!(errors, "; {file} was not compiled: it is neither C nor C++");
                }
                let reason = format!("its sources do not compile with {program}: {errors}");
                (reason, output.messages)
            }
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                let limit = self.compiler.time_limit.as_secs_f64();
                let reason = format!("{program} did not compile its sources within {limit} s");
                (reason, String::new())
            }
            Err(error) => {
                let (language, variable) = if is_cpp { ("C++", "CXX") } else { ("C", "CC") };
                let reason = format!(
                    "{program} does not start: {error}; install a {language} compiler, or name one with the \
                     environment variable {variable}"
                );
                (reason, String::new())
            }
        };
        Err(Failure { reason, messages })
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
    const SIGNS: [&str; 5] = [
        "error:",
        "undefined reference",
        "undefined symbol",
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
    format!("{}{more}{}", shown.join("; "), help(messages))
}

/// What can be done about these messages.
fn help(messages: &str) -> String {
    let missing = missing_libraries(messages);
    if !missing.is_empty() {
        let names = missing.join(", ");
        let (library, it) = match missing.len() {
            1 => ("library", "it"),
            _ => ("libraries", "them"),
        };
        return format!(
            "; its sources need the {library} {names}: install {it} with the files for developers, or name the folder with the              environment variable CFLAGS (-L)"
        );
    }
    if messages.contains("No such file or directory") {
        "; folders of headers can be named with the environment variable CFLAGS (-I)".to_owned()
    } else if messages.contains("undefined reference") || messages.contains("undefined symbol") {
        "; libraries can be named with the environment variable CFLAGS (-l)".to_owned()
    } else {
        String::new()
    }
}

/// The names of libraries that a linker has not found: `cannot find -lz` of GNU's, `unable to find library -lz` of LLVM's.
fn missing_libraries(messages: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let signs = ["cannot find -l", "unable to find library -l"];
        let rest = signs.iter().find_map(|sign| line.split_once(sign));
        let name = rest.and_then(|(_, rest)| rest.split([':', ' ']).next());
        found.extend(name.filter(|name| !found.contains(name)));
    }
    found
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
        let text = errors("a.c: undefined reference to `f'\n");
        assert!(text.ends_with("CFLAGS (-l)"), "{text}");
    }

    #[test]
    fn libraries_that_are_not_there_are_named() {
        for (messages, names) in [
            (
                "/usr/bin/ld: cannot find -lnever: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
                "the library never: install it ",
            ),
            (
                "/usr/bin/ld: cannot find -lone\n/usr/bin/ld: cannot find -ltwo: No such file or directory\n\
                 /usr/bin/ld: cannot find -lone\n",
                "the libraries one, two: install them ",
            ),
            (
                "ld.lld: error: unable to find library -lnever\n",
                "the library never: ",
            ),
        ] {
            let text = errors(messages);
            assert!(
                text.contains(names) && text.ends_with("CFLAGS (-L)"),
                "{text}"
            );
        }
    }
}
