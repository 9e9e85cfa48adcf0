//! One system: its published methods, itself without a choice, and the reference of both.

use std::cell::OnceCell;

use gyrator::{RunOptions, System};
use gyrator_system::{Choice, Spanned, SystemFile, Value};

use crate::assembly::FRESH;
use crate::benchmark::MeasureError;
use crate::metrics::{greatest, rms};
use crate::recording::Recording;
use crate::role::RoleAssignment;

/// A system of a benchmark.
pub(super) struct Comparison {
    /// Name of the row.
    pub(super) name: &'static str,
    /// Recorded names of the compared signals.
    signals: Vec<String>,
    /// The published methods, each as a file.
    published: Vec<(&'static str, SystemFile)>,
    /// Step at which the units of the reference exchange values, s.
    inner_step: f64,
    reference: OnceCell<Vec<Vec<f64>>>,
}

impl Comparison {
    pub(super) fn new(
        name: &'static str,
        signals: Vec<String>,
        published: Vec<(&'static str, SystemFile)>,
        inner_step: f64,
    ) -> Self {
        let refined = |(name, file)| (name, with_inner_step(file, inner_step));
        Self {
            name,
            signals,
            published: published.into_iter().map(refined).collect(),
            inner_step,
            reference: OnceCell::new(),
        }
    }

    /// The published methods, and the first of them without a choice.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, SystemFile)> {
        let published = self.published.iter().cloned();
        let first = self.published.first();
        published.chain(first.map(|(_, file)| ("auto", untuned(file.clone()))))
    }

    /// The published method with the least error, its error, and the error of its file without any
    /// choice.
    pub(super) fn judge(
        &self,
        roles: &RoleAssignment,
    ) -> Result<(&'static str, f64, f64), MeasureError> {
        let mut best: Option<(&'static str, f64, &SystemFile)> = None;
        for (name, file) in &self.published {
            let error = self.error(roles, file.clone())?;
            if best.is_none_or(|(_, least, _)| error < least) {
                best = Some((*name, error, file));
            }
        }
        match best {
            Some((name, error, file)) => {
                Ok((name, error, self.error(roles, untuned(file.clone()))?))
            }
            None => Ok(("", f64::INFINITY, f64::INFINITY)),
        }
    }

    /// The error of the coupling; infinite if a run does not reach its end.
    fn error(&self, roles: &RoleAssignment, file: SystemFile) -> Result<f64, MeasureError> {
        let Some(recording) = record(roles, file.clone())? else {
            return Ok(f64::INFINITY);
        };
        let rows = recording.rows(&self.signals)?;
        let step = file
            .experiment
            .step_size
            .map_or(f64::NAN, |step| step.value);
        let every = (step / self.inner_step).round() as usize;
        let reference: Vec<&[f64]> = self
            .reference(roles)?
            .iter()
            .step_by(every)
            .map(Vec::as_slice)
            .collect();
        Ok(error(&rows, &reference))
    }

    fn reference(&self, roles: &RoleAssignment) -> Result<&[Vec<f64>], MeasureError> {
        if let Some(rows) = self.reference.get() {
            return Ok(rows);
        }
        let Some((_, file)) = self.published.first() else {
            return Ok(&[]);
        };
        let recording = record(roles, at_every_step(file.clone(), self.inner_step))?;
        let rows = recording.map_or(Ok(Vec::new()), |recording| recording.rows(&self.signals))?;
        Ok(self.reference.get_or_init(|| rows))
    }
}

/// The run of a file; `None` if it breaks off.
pub(super) fn record(
    roles: &RoleAssignment,
    file: SystemFile,
) -> Result<Option<Recording>, MeasureError> {
    let options = RunOptions {
        accept_not_finite: true,
        ..RunOptions::default()
    };
    match Recording::of_run(roles.start(&System::from_file(file)?, &options)?) {
        Ok(recording) => Ok(Some(recording)),
        Err(MeasureError::Run(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Root mean square, over the signals, of each one's rms error relative to its rms.
pub(super) fn error(rows: &[Vec<f64>], reference: &[&[f64]]) -> f64 {
    let signals = reference.first().map_or(0, |row| row.len());
    if rows.len() != reference.len() || signals == 0 {
        return f64::INFINITY;
    }
    let relative = |signal: usize| {
        let values = || reference.iter().map(|row| row[signal]);
        let errors = rows
            .iter()
            .zip(values())
            .map(|(row, value)| row[signal] - value);
        // A signal that stays at zero is compared as it is.
        let size = rms(values());
        rms(errors) / if size > 0.0 { size } else { 1.0 }
    };
    let error = rms((0..signals).map(relative));
    greatest([error].into_iter())
}

/// The file with all choices of the coupling left out.
pub(super) fn untuned(mut file: SystemFile) -> SystemFile {
    file.experiment.method = None;
    file.experiment.exchange = None;
    file.experiment.extrapolation = None;
    for component in &mut file.components {
        component.exchange = None;
        component.extrapolation = None;
    }
    for bond in &mut file.bonds {
        bond.correction = None;
    }
    file
}

/// All units with this inner step, s.
fn with_inner_step(mut file: SystemFile, step: f64) -> SystemFile {
    for component in &mut file.components {
        component.set_start_value("step_size", Value::Real(step));
    }
    file
}

/// Values are exchanged at every such step, s, with fresh outputs.
fn at_every_step(file: SystemFile, step: f64) -> SystemFile {
    let mut file = untuned(file);
    file.interface_models.clear();
    file.experiment.method = Some(Choice::new("jacobi"));
    file.experiment.step_size = Some(Spanned::unplaced(step));
    file.experiment.extrapolation = Some(Choice::new("hold"));
    file.experiment.exchange = Some(Spanned::unplaced(FRESH.exchange.to_owned()));
    for component in &mut file.components {
        component.step_size = Some(Spanned::unplaced(step));
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_signals_are_relative_to_their_size() {
        let reference: [&[f64]; 2] = [&[3.0, 0.5], &[-3.0, 0.5]];
        let rows = [vec![3.3, 0.5], vec![-3.3, 0.5]];
        let expected = (0.1_f64.powi(2) / 2.0).sqrt();
        assert!((error(&rows, &reference) - expected).abs() < 1e-12);
        assert_eq!(error(&rows[..1], &reference), f64::INFINITY);
        let wild = [vec![f64::NAN, 0.5], vec![1.0, 0.5]];
        assert_eq!(error(&wild, &reference), f64::INFINITY);
    }
}
