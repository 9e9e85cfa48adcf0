//! The cost of a run of a program: CPU time, or instructions.
//!
//! Why CPU time, and why by slope: docs/dev/speed.md.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tiny::compile;

/// A program with its arguments.
#[derive(Debug, Clone)]
pub(super) struct Call(pub(super) Vec<OsString>);

impl Call {
    pub(super) fn new(program: impl Into<OsString>) -> Self {
        Self(vec![program.into()])
    }

    pub(super) fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.0.push(argument.into());
        self
    }

    pub(super) fn arguments<const COUNT: usize>(mut self, arguments: [&str; COUNT]) -> Self {
        self.0.extend(arguments.map(OsString::from));
        self
    }

    /// The call by itself.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(self.0.first().map_or("".as_ref(), OsString::as_os_str));
        command.args(self.0.iter().skip(1));
        command
    }

    fn name(&self) -> String {
        self.0
            .first()
            .map_or(String::new(), |program| program.display().to_string())
    }
}

/// The quantity that is counted, of a program and all processes that it starts.
#[derive(Debug)]
pub(super) enum Meter {
    /// User and system time, s: by a small program that starts it.
    CpuTime { program: PathBuf, file: PathBuf },
    /// Instructions, by callgrind, which writes a file for each process.
    Instructions { folder: PathBuf },
}

/// A run of a program that has succeeded.
#[derive(Debug)]
pub(super) struct Measured {
    /// Seconds, or instructions.
    pub(super) cost: f64,
    /// Its standard output.
    pub(super) printed: String,
}

impl Meter {
    pub(super) fn cpu_time(root: &Path, work: &Path) -> Result<Self, String> {
        let program = work.join("cpu_time");
        compile(&root.join("xtask/bench/cpu_time.c"), &program, &[], &[])?;
        let file = work.join("cpu_time.txt");
        Ok(Self::CpuTime { program, file })
    }

    pub(super) fn instructions(work: &Path) -> Self {
        Self::Instructions {
            folder: work.join("callgrind"),
        }
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// A program that does not start, or fails: with its messages.
    pub(super) fn measure(&self, call: &Call) -> Result<Measured, String> {
        let mut command = self.command()?;
        let outcome = command.args(&call.0).output();
        let done = outcome.map_err(|error| format!("{}: {error}", call.name()))?;
        if !done.status.success() {
            return Err(format!(
                "{} failed ({}):\n{}",
                call.name(),
                done.status,
                String::from_utf8_lossy(&done.stderr).trim()
            ));
        }
        Ok(Measured {
            cost: self.cost()?,
            printed: String::from_utf8_lossy(&done.stdout).into_owned(),
        })
    }

    /// The program that starts the measured one.
    fn command(&self) -> Result<Command, String> {
        match self {
            Self::CpuTime { program, file } => {
                let mut command = Command::new(program);
                command.arg(file);
                Ok(command)
            }
            Self::Instructions { folder } => {
                let is_there = folder.exists();
                let made = if is_there {
                    fs::remove_dir_all(folder)
                } else {
                    Ok(())
                };
                let made = made.and_then(|()| fs::create_dir_all(folder));
                made.map_err(|error| format!("{}: {error}", folder.display()))?;
                let mut output = OsString::from("--callgrind-out-file=");
                output.push(folder.join("%p"));
                let mut command = Command::new("valgrind");
                command.args(["--quiet", "--tool=callgrind", "--trace-children=yes"]);
                command.arg(output);
                Ok(command)
            }
        }
    }

    fn cost(&self) -> Result<f64, String> {
        match self {
            Self::CpuTime { file, .. } => {
                let text = read(file)?;
                let seconds = text.trim().parse();
                seconds.map_err(|_| format!("{}: {text:?} is no time", file.display()))
            }
            Self::Instructions { folder } => {
                let files = fs::read_dir(folder);
                let files = files.map_err(|error| format!("{}: {error}", folder.display()))?;
                let mut sum = None;
                for file in files.flatten() {
                    let path = file.path();
                    let total = total(&read(&path)?);
                    let total = total.ok_or_else(|| format!("{}: no total", path.display()))?;
                    *sum.get_or_insert(0.0) += total;
                }
                sum.ok_or_else(|| format!("callgrind has left no file in {}", folder.display()))
            }
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The instructions of a file of callgrind: of all its parts.
fn total(text: &str) -> Option<f64> {
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    let mut sum = None;
    for total in totals {
        let total: f64 = total.trim().parse().ok()?;
        *sum.get_or_insert(0.0) += total;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(folder: &Path) -> Meter {
        Meter::cpu_time(&crate::root(), folder).unwrap()
    }

    #[test]
    fn callgrinds_totals_are_added_up() {
        assert_eq!(
            total("fn=a\n1 2\ntotals: 40\n\nfn=b\ntotals: 2\n"),
            Some(42.0)
        );
        assert_eq!(total("fn=a\n1 2\n"), None);
        assert_eq!(total("totals: x\n"), None);
    }

    #[test]
    fn the_cpu_time_is_that_of_all_processes_also_of_those_that_outlive_their_parents() {
        let folder = tempfile::tempdir().unwrap();
        let meter = meter(folder.path());
        // The inner shell goes on when the outer one has ended.
        let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let behind = format!("sh -c '{count}' >/dev/null 2>&1 & echo started");
        let idle = meter
            .measure(&Call::new("sh").arguments(["-c", "echo started"]))
            .unwrap();
        let busy = meter
            .measure(&Call::new("sh").arguments(["-c", &behind]))
            .unwrap();
        assert_eq!(
            (idle.printed.trim(), busy.printed.trim()),
            ("started", "started")
        );
        // The CPU time of work, which no other program changes by this much.
        assert!(
            busy.cost > 2.0 * idle.cost + 0.01,
            "{} and {}",
            busy.cost,
            idle.cost
        );
    }

    #[test]
    fn a_program_that_fails_is_no_measurement() {
        let folder = tempfile::tempdir().unwrap();
        let meter = meter(folder.path());
        let failing = Call::new("sh").arguments(["-c", "echo reason >&2; exit 3"]);
        let error = meter.measure(&failing).unwrap_err();
        assert!(error.contains("reason") && error.contains('3'), "{error}");
        let killed = Call::new("sh").arguments(["-c", "kill -9 $$"]);
        assert!(meter.measure(&killed).unwrap_err().contains("137"));
        let error = meter.measure(&Call::new("no-such-program")).unwrap_err();
        assert!(error.contains("no-such-program"), "{error}");
    }
}
