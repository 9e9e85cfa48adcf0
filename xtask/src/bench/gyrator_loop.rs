//! gyrator's own loop, through the command line: the time of a long run less that of a short one, so
//! that loading and start-up cancel.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::Case;
use super::tiny::Tiny;
use crate::programs;

/// Communication step of the benchmark, s.
const STEP_SIZE: f64 = 1e-3;

/// The short run has this fraction of the long run's steps.
const SHORT: usize = 10;

/// Steps of a run that is nothing but start and end.
const FEW_STEPS: usize = 10;

/// The release build of the command line.
#[derive(Debug)]
pub(super) struct GyratorLoop {
    program: PathBuf,
    work: PathBuf,
}

impl GyratorLoop {
    pub(super) fn build(root: &Path, target: &Path, work: &Path) -> Result<Self, String> {
        Ok(Self {
            program: programs::gyrator(root, target)?,
            work: work.to_owned(),
        })
    }

    /// Nanoseconds per unit and step, with the energy ledger on.
    pub(super) fn measure(&self, tiny: &Tiny, case: Case) -> Result<f64, String> {
        let long = case.steps();
        let short = long / SHORT;
        let seconds =
            self.seconds(tiny, case, long, &[])? - self.seconds(tiny, case, short, &[])?;
        Ok(seconds * 1e9 / ((long - short) * case.instances) as f64)
    }

    /// Wall time of a run that is nothing but start and end, ms; in a worker process or without.
    pub(super) fn start_and_end(&self, tiny: &Tiny, supervised: bool) -> Result<f64, String> {
        let case = Case {
            instances: 2,
            recording: true,
        };
        let options: &[&str] = if supervised {
            &[]
        } else {
            &["--no-supervisor"]
        };
        Ok(self.seconds(tiny, case, FEW_STEPS, options)? * 1e3)
    }

    /// Wall time of one whole run, s.
    fn seconds(
        &self,
        tiny: &Tiny,
        case: Case,
        steps: usize,
        options: &[&str],
    ) -> Result<f64, String> {
        let system = self.work.join("bench.toml");
        std::fs::write(&system, system_file(&tiny.fmu, case.instances, steps))
            .map_err(|error| format!("{}: {error}", system.display()))?;
        let summary = self.work.join("summary.json");
        let mut command = Command::new(&self.program);
        command
            .arg("run")
            .arg(&system)
            .args(["--progress", "never"])
            .args(options)
            .arg("--summary")
            .arg(&summary);
        if case.recording {
            command
                .arg("--output-file")
                .arg(self.work.join("gyrator.csv"));
        }
        let begin = Instant::now();
        let done = command
            .output()
            .map_err(|error| format!("gyrator run: {error}"))?;
        let seconds = begin.elapsed().as_secs_f64();
        if !done.status.success() {
            return Err(format!(
                "gyrator run failed:\n{}",
                String::from_utf8_lossy(&done.stderr)
            ));
        }
        let summary = std::fs::read_to_string(&summary)
            .map_err(|error| format!("{}: {error}", summary.display()))?;
        check_steps(&summary, steps)?;
        Ok(seconds)
    }
}

/// A run that did less than it was asked for is no measurement.
fn check_steps(summary: &str, expected: usize) -> Result<(), String> {
    let summary: serde_json::Value = serde_json::from_str(summary)
        .map_err(|error| format!("the summary of gyrator: {error}"))?;
    if summary["steps"].as_u64() == Some(expected as u64) {
        return Ok(());
    }
    Err(format!(
        "gyrator made {} steps instead of {expected}",
        summary["steps"]
    ))
}

/// Cross-coupled pairs, each a bond of two axes, so that the ledger has work for every connection.
fn system_file(fmu: &Path, instances: usize, steps: usize) -> String {
    let stop_time = steps as f64 * STEP_SIZE;
    let mut text = format!(
        "[experiment]\nstart_time = 0.0\nstop_time = {stop_time:?}\nstep_size = {STEP_SIZE:?}\n"
    );
    // Writing into a String cannot fail.
    for index in 0..instances {
        let _ = writeln!(
            text,
            "\n[components.fmu{index}]\nfmu = {:?}",
            fmu.display().to_string()
        );
    }
    for a in (0..instances).step_by(2) {
        let b = a + 1;
        let pairs = |from: usize, to: usize| {
            let pair = |axis: usize| {
                format!("{{ from = \"fmu{from}.y{axis}\", to = \"fmu{to}.u{axis}\" }}")
            };
            format!("[{}, {}]", pair(0), pair(1))
        };
        let (effort, flow) = (pairs(a, b), pairs(b, a));
        let _ = writeln!(
            text,
            "\n[[bonds]]\nname = \"pair{a}\"\neffort = {effort}\nflow = {flow}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_too_few_steps_does_not_count() {
        assert!(check_steps(r#"{"steps": 100}"#, 100).is_ok());
        assert!(check_steps(r#"{"steps": 99}"#, 100).is_err());
        assert!(check_steps("{}", 100).is_err());
    }

    #[test]
    fn every_input_is_fed_by_a_bond() {
        let text = system_file(Path::new("Tiny.fmu"), 4, 1000);
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["experiment"]["stop_time"].as_float(), Some(1.0));
        assert_eq!(table["components"].as_table().unwrap().len(), 4);
        assert_eq!(table["bonds"].as_array().unwrap().len(), 2);
        for unit in 0..4 {
            for axis in 0..2 {
                let fed = format!("to = \"fmu{unit}.u{axis}\"");
                assert_eq!(text.matches(&fed).count(), 1, "{fed}");
            }
        }
    }
}
