//! When to run and how exactly: the options file of fmi-cross-check.

use std::path::{Path, PathBuf};

use gyrator_fmu::ModelDescription;
use serde::{Deserialize, Serialize};

/// Time span, step and tolerances of a run. Missing values come from the FMU's default experiment.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Experiment {
    /// `StartTime`, s.
    pub start: Option<f64>,
    /// `StopTime`, s.
    pub stop: Option<f64>,
    /// `StepSize`, s; 0 in the file, which leaves it open, is `None`.
    pub step: Option<f64>,
    /// `RelTol`.
    pub relative_tolerance: Option<f64>,
    /// `AbsTol`, in the unit of each variable.
    pub absolute_tolerance: Option<f64>,
}

/// Why an options file was not read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct OptionsError {
    /// The file.
    pub path: PathBuf,
    /// Description of the error.
    pub message: String,
}

impl Experiment {
    /// Reads an options file: `name, value` in each line.
    ///
    /// # Errors
    /// If it cannot be read, lacks one of the four that the rules demand, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, OptionsError> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Self::parse(&text))
            .map_err(|message| OptionsError {
                path: path.to_owned(),
                message,
            })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter_map(|line| line.split_once(','));
        let values: Vec<(&str, &str)> = lines
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        let number = |name: &str| {
            let found = values.iter().find(|(known, _)| *known == name);
            let parse = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
            found
                .map(|(_, text)| parse(text).ok_or_else(|| format!("{name} is {text:?}")))
                .transpose()
        };
        let needed = |name: &str| number(name)?.ok_or_else(|| format!("there is no {name}"));
        let (start, stop) = (needed("StartTime")?, needed("StopTime")?);
        let step = needed("StepSize")?;
        if start >= stop {
            return Err(format!("StartTime {start} is not before StopTime {stop}"));
        }
        if step < 0.0 || step > stop - start {
            return Err(format!(
                "StepSize {step} is not between 0 and the span of the run"
            ));
        }
        Ok(Self {
            start: Some(start),
            stop: Some(stop),
            step: Some(step).filter(|step| *step > 0.0),
            relative_tolerance: Some(needed("RelTol")?),
            absolute_tolerance: number("AbsTol")?,
        })
    }

    /// Start, stop and step of the run: missing values are as the FMU recommends, or
    /// else lead to the end of the reference in 1000 steps.
    #[must_use]
    pub fn complete(&self, model: &ModelDescription, end: f64) -> (f64, f64, f64) {
        let default = model.default_experiment;
        let start = self.start.or(default.start_time).unwrap_or(0.0);
        let stop = self.stop.or(default.stop_time).unwrap_or(end);
        let is_step = |step: &f64| step.is_finite() && *step > 0.0;
        let step = self.step.or(default.step_size).filter(is_step);
        (start, stop, step.unwrap_or((stop - start) / 1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_cross_check() {
        let text = "StartTime, 0.0\nStopTime,10\nStepSize, 0.0\nRelTol, 1e-4\nSolverType, x\n";
        let read = Experiment::parse(text).unwrap();
        assert_eq!(
            (read.start, read.stop, read.step),
            (Some(0.0), Some(10.0), None)
        );
        assert_eq!(read.relative_tolerance, Some(1e-4));
        assert_eq!(read.absolute_tolerance, None);
    }

    #[test]
    fn options_that_cannot_be() {
        for (text, words) in [
            ("StartTime,0\nStopTime,1\nStepSize,0\n", "no RelTol"),
            (
                "StartTime,1\nStopTime,1\nStepSize,0\nRelTol,1",
                "not before",
            ),
            ("StartTime,0\nStopTime,1\nStepSize,2\nRelTol,1", "span"),
            ("StartTime,0\nStopTime,x\nStepSize,2\nRelTol,1", "\"x\""),
            ("", "no StartTime"),
        ] {
            let error = Experiment::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
