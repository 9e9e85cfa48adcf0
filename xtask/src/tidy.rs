//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy checks.
//!
//! Every rule is a function from the tracked files to findings, one file a rule, so that its tests
//! need no checkout.

mod conformance_table;
mod front_texts;
mod imports;
mod machine_paths;
mod manifests;
mod methods;
mod module_names;
mod prose;
mod sizes;
mod unsafe_code;

use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;

/// One tracked text file.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl TextFile {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// True for files that only tests use: anything below a folder `tests`, and `tests.rs` beside a module.
    fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    }

    /// Lines before the module of tests, which ends a file (clippy's `items_after_test_module`).
    fn lines_before_tests(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_start = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].contains('{')
        };
        let start = lines.windows(2).position(is_start);
        start.unwrap_or(lines.len())
    }
}

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 if the rule is about the whole file.
    pub line: usize,
    /// Description of the violation, with advice.
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Checks every tracked file below `root` and returns what is wrong, sorted by place.
///
/// # Errors
///
/// When git cannot list the files, or one cannot be read.
pub fn findings(root: &Path) -> io::Result<Vec<Finding>> {
    let files = tracked_files(root)?;
    let mut findings = unsafe_code::check(&files, unsafe_code::FILES);
    findings.extend(module_names::check(&files));
    findings.extend(sizes::check(&files));
    findings.extend(imports::check(&files, imports::EXCEPTIONS));
    findings.extend(methods::check(&files, "crates/master/src/"));
    findings.extend(manifests::check(&files));
    findings.extend(front_texts::check(&files));
    findings.extend(machine_paths::check(&files));
    findings.extend(conformance_table::check(&files));
    findings.extend(prose::check(&files));
    findings.sort();
    Ok(findings)
}

/// Prints the findings and a summary; true if there are none.
///
/// # Errors
///
/// As [`findings`].
pub fn run(root: &Path) -> io::Result<bool> {
    let findings = findings(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: no findings"),
        1 => println!("tidy: 1 finding"),
        many => println!("tidy: {many} findings"),
    }
    Ok(findings.is_empty())
}

/// The files that git tracks and that are text, sorted by path.
fn tracked_files(root: &Path) -> io::Result<Vec<TextFile>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()?;
    if !listed.status.success() {
        let reason = String::from_utf8_lossy(&listed.stderr).trim().to_owned();
        return Err(io::Error::other(format!(
            "git ls-files in {}: {reason}",
            root.display()
        )));
    }
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut files = Vec::new();
    for path in names.split('\0').filter(|name| !name.is_empty()) {
        match std::fs::read(root.join(path)) {
            Ok(bytes) => {
                // Binary files have no machine_paths and no lines.
                if let Ok(text) = String::from_utf8(bytes) {
                    files.push(TextFile {
                        path: path.to_owned(),
                        text,
                    });
                }
            }
            // Deleted, and not yet committed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io::Error::new(error.kind(), format!("{path}: {error}"))),
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[cfg(test)]
fn file(path: &str, text: &str) -> TextFile {
    TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}
