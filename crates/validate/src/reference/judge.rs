//! V-51 and V-52: holds a run against a reference.

use gyrator_fmu::{ModelDescription, TypeAttributes, Variability};
use gyrator_record::{Series, Table, Tolerance, is_same_time};

use super::{Reference, tube};
use crate::finding::{Finding, Severity};

/// Share of samples that may lie outside of the tube, as in fmi-cross-check.
const ALLOWED_OUTSIDE: f64 = 0.1;

/// Relative tolerance if the reference gives none. A choice: the usual default of solvers.
const USUAL_TOLERANCE: f64 = 1e-6;

/// A tolerance bounds the error of a step; the error of a run may be this many times larger. A choice.
const OF_A_RUN: f64 = 10.0;

/// Compares a run with its reference. Rule V-51 is the tube of fmi-cross-check. V-52 is the tolerance
/// of the reference, ten times `RelTol` of the largest value of each column (and ten times
/// `AbsTol`); events may lie one sample apart.
#[must_use]
pub fn compare(model: &ModelDescription, result: &Table, reference: &Reference) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut graded = |rule, severity, message: String| {
        let message = format!("{}: {message}", reference.name);
        findings.push(Finding::new(rule, severity, message));
    };
    let missing: Vec<&str> = reference
        .results
        .series
        .iter()
        .map(|series| series.name.as_str())
        .filter(|name| model.variable(name).is_none())
        .collect();
    if !missing.is_empty() {
        let severity = if reference.is_own {
            Severity::Note
        } else {
            Severity::Error
        };
        graded(
            51,
            severity,
            format!("the FMU has no variable {}", missing.join(", ")),
        );
    }
    let mut add = |rule, message| graded(rule, Severity::Error, message);
    let (_, stop, step) = reference.experiment.complete(model, f64::INFINITY);
    let end = result.time.last().copied().unwrap_or(f64::NEG_INFINITY);
    let wanted = reference
        .results
        .time
        .last()
        .copied()
        .unwrap_or(end)
        .min(stop);
    if end < wanted && !is_same_time(end, wanted, step.min(1.0)) {
        add(
            51,
            format!("the run ends at t = {end}, the reference at {wanted}"),
        );
    }
    for expected in &reference.results.series {
        let Some(numbers) = expected.numbers() else {
            continue;
        };
        let Some(found) = result.column(&expected.name) else {
            continue;
        };
        let is_continuous = is_continuous(model, &expected.name);
        let samples = (&result.time[..], found.numbers().unwrap_or_default());
        let share = tube::outliers(samples, (&reference.results.time, numbers), is_continuous);
        if share > ALLOWED_OUTSIDE {
            let percent = 100.0 * share;
            add(
                51,
                format!(
                    "{percent:.0} % of {} are outside of the tube",
                    expected.name
                ),
            );
        }
        if let Some(message) = beyond_tolerance(found, expected, result, reference) {
            add(52, message);
        }
    }
    findings
}

fn is_continuous(model: &ModelDescription, name: &str) -> bool {
    model.variable(name).is_some_and(|variable| {
        matches!(variable.kind, TypeAttributes::Real(_))
            && variable.variability == Variability::Continuous
    })
}

fn beyond_tolerance(
    found: &Series,
    expected: &Series,
    result: &Table,
    reference: &Reference,
) -> Option<String> {
    let experiment = reference.experiment;
    let relative = OF_A_RUN * experiment.relative_tolerance.unwrap_or(USUAL_TOLERANCE);
    let numbers = expected.numbers()?;
    let largest = numbers
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    let tolerance = Tolerance {
        relative: 0.0,
        absolute: relative * largest + OF_A_RUN * experiment.absolute_tolerance.unwrap_or(0.0),
        sample_shift: true,
    };
    let alone = |time: &[f64], series: &Series| Table {
        time: time.to_vec(),
        series: vec![series.clone()],
    };
    let result = alone(&result.time, found);
    // Rows after the end of the run are reported once.
    let end = result.time.last().copied().unwrap_or(f64::NEG_INFINITY);
    let rows = reference.results.time.partition_point(|time| *time <= end);
    let mut expected = alone(&reference.results.time[..rows], expected);
    if let gyrator_record::Values::Numbers(numbers) = &mut expected.series[0].values {
        numbers.truncate(rows);
    }
    let comparison = gyrator_record::compare(&result, &expected, &tolerance);
    let column = comparison.columns.first()?;
    (!column.holds()).then(|| format!("{column}; allowed {:.3e}", tolerance.absolute))
}
