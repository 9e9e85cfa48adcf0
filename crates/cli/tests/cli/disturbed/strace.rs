//! The calls of a program to the operating system, seen and made to fail by `strace`.
//!
//! A library that is loaded first would see only part of them: rustix makes its calls without the C
//! library.

use std::path::Path;
use std::process::Command;

/// The program under `strace`, with its options; the calls go to the file `trace`.
pub(super) fn under_strace(options: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command
        .args(["-qq", "-o", "trace"])
        .args(options)
        .args(["--", env!("CARGO_BIN_EXE_gyrator")])
        .args(arguments);
    command
}

/// Ends the study if `strace` is missing or is not allowed to do its work.
pub(super) fn require() {
    let mut version = Command::new("strace");
    version.args(["-qq", "-o", "/dev/null", "true"]);
    let works = version.status().is_ok_and(|status| status.success());
    assert!(
        works,
        "this study needs strace (Debian: apt install strace), and the right to trace processes"
    );
}

/// One call of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Process or thread; empty if only one was traced.
    pub(super) process: String,
    pub(super) name: String,
    /// The text between the parentheses.
    pub(super) arguments: String,
    /// The text after ` = `.
    pub(super) result: String,
}

/// Reads a trace; signals and the ends of processes are left out. A call that another one interrupts
/// stands where it ends.
pub(super) fn read(trace: &Path) -> Vec<Call> {
    let text = String::from_utf8_lossy(&std::fs::read(trace).unwrap()).into_owned();
    let mut unfinished: Vec<(String, String)> = Vec::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let (process, rest) = match line.split_once(char::is_whitespace) {
            Some((process, rest)) if process.bytes().all(|byte| byte.is_ascii_digit()) => {
                (process, rest.trim_start())
            }
            _ => ("", line),
        };
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            unfinished.push((process.to_owned(), begin.to_owned()));
            continue;
        }
        let mut whole = rest.to_owned();
        if let Some((_, end)) = rest
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            let place = unfinished.iter().position(|(other, _)| other == process);
            let begin = place.map(|place| unfinished.swap_remove(place).1);
            whole = begin.unwrap_or_default() + end;
        }
        calls.extend(parse(process, &whole));
    }
    calls
}

fn parse(process: &str, line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
    is_name.then(|| Call {
        process: process.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        result: result.to_owned(),
    })
}

#[test]
fn calls_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    let text = "7 openat(AT_FDCWD, \"a = b\", O_RDONLY) = 3\n\
                8 write(3, \"x\", 1 <unfinished ...>\n\
                7 +++ exited with 0 +++\n\
                8 <... write resumed>) = -1 ENOSPC (No space) (INJECTED)\n\
                8 --- SIGCHLD {si_signo=SIGCHLD} ---\n";
    std::fs::write(&path, text).unwrap();
    let call = |process: &str, name: &str, arguments: &str, result: &str| Call {
        process: process.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        result: result.to_owned(),
    };
    let expected = [
        call("7", "openat", "AT_FDCWD, \"a = b\", O_RDONLY", "3"),
        call(
            "8",
            "write",
            "3, \"x\", 1",
            "-1 ENOSPC (No space) (INJECTED)",
        ),
    ];
    assert_eq!(read(&path), expected);
}
