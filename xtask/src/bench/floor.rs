//! The C loop: the least that any master can cost on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Case;
use super::tiny::{Tiny, compile};

/// The compiled C loop.
#[derive(Debug)]
pub(super) struct Floor {
    program: PathBuf,
    csv: PathBuf,
}

impl Floor {
    pub(super) fn build(root: &Path, work: &Path) -> Result<Self, String> {
        let program = work.join("floor");
        compile(&root.join("xtask/bench/floor.c"), &program, &[], &["-ldl"])?;
        Ok(Self {
            program,
            csv: work.join("floor.csv"),
        })
    }

    /// Nanoseconds per unit and step.
    pub(super) fn measure(&self, tiny: &Tiny, case: Case) -> Result<f64, String> {
        let steps = case.steps();
        let mut command = Command::new(&self.program);
        command.arg(&tiny.library).arg(Tiny::guid());
        command.args([case.instances.to_string(), steps.to_string()]);
        if case.recording {
            command.arg(&self.csv);
        }
        let done = command
            .output()
            .map_err(|error| format!("the C loop: {error}"))?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).trim().to_owned());
        }
        let seconds = seconds(&String::from_utf8_lossy(&done.stdout), steps)?;
        Ok(seconds * 1e9 / (steps * case.instances) as f64)
    }
}

/// Reads `SECONDS COUNTED`; the unit must have counted every step.
fn seconds(printed: &str, steps: usize) -> Result<f64, String> {
    let numbers: Vec<f64> = printed
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [seconds, counted] = numbers[..] else {
        return Err(format!(
            "the C loop printed {printed:?} instead of two numbers"
        ));
    };
    if counted == steps as f64 {
        return Ok(seconds);
    }
    Err(format!(
        "the C loop exchanged {counted} times in {steps} steps"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_skipped_an_exchange_does_not_count() {
        assert_eq!(seconds("0.5 100\n", 100), Ok(0.5));
        assert!(seconds("0.5 99\n", 100).is_err());
        assert!(seconds("killed", 100).is_err());
    }
}
