//! The error of the coupling from probe runs at several macro-steps, and the macro-step for a wanted error.
//!
//! With y(h) = y + e·hᵖ, p and e come from runs at h, h/2 and h/4 (Richardson & Gaunt 1927), as for
//! [error bars](crate::error_bars()).

use serde::Serialize;

use crate::doctor::probe::Course;

/// Least order that is believed: chaotic runs, and events that move, have order 0.
const LEAST_ORDER: f64 = 0.4;
/// Greatest order that is used for larger steps than those that were run: a greater one is the start of an instability.
const GREATEST_ORDER: f64 = 4.0;
/// Order if none was observed: held inputs have it.
const USUAL_ORDER: f64 = 1.0;
/// Macro-steps for a wanted error over the one that was looked at, at most: further away nothing is known.
const FURTHEST: f64 = 64.0;
/// A signal is at rest if its RMS value is below this part of the largest RMS value in the system. A choice.
const AT_REST: f64 = 1e-12;

/// The error of one signal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SignalError {
    /// `component.variable`.
    pub variable: String,
    /// RMS error over the RMS value of the signal.
    pub relative_error: f64,
    /// Observed order of convergence; `None` if the runs show none.
    pub order: Option<f64>,
}

/// The error that depends on the macro-step.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Accuracy {
    /// Simulated time that was looked at, s, from the start.
    pub window: f64,
    /// The greatest relative error of a signal; `None` if nothing moves.
    pub relative_error: Option<f64>,
    /// The signal with it.
    pub worst: Option<String>,
    /// Its order.
    pub order: Option<f64>,
    /// All signals that move.
    pub signals: Vec<SignalError>,
}

impl Accuracy {
    /// The macro-step, s, for a relative error, if one of `step` has this error. At most 64 times as long, and `None` if it would have
    /// to be more than 64 times shorter: so far away the order says nothing.
    #[must_use]
    pub fn step_for(&self, wanted: f64, step: f64) -> Option<f64> {
        let error = self.relative_error?;
        if error == 0.0 {
            return None;
        }
        let order = self.order.unwrap_or(USUAL_ORDER).min(GREATEST_ORDER);
        let ratio = (wanted / error).powf(order.recip());
        (ratio * FURTHEST >= 1.0).then(|| step * ratio.min(FURTHEST))
    }
}

impl Accuracy {
    /// Of a course with points `every` so often, against a finer one, without an order.
    pub(crate) fn of_difference(
        course: &Course,
        every: usize,
        fine: &Course,
        of_fine: usize,
        window: f64,
    ) -> Self {
        let scales: Vec<f64> = (0..fine.names.len())
            .map(|signal| rms(fine, signal))
            .collect();
        let greatest = scales.iter().copied().fold(0.0, f64::max);
        let mut signals = Vec::new();
        for (signal, name) in fine.names.iter().enumerate() {
            let scale = scales[signal];
            if scale <= AT_REST * greatest || scale == 0.0 || !moves(fine, signal) {
                continue;
            }
            let rows = course.rows.iter().step_by(every);
            let rows = rows.zip(fine.rows.iter().step_by(of_fine));
            let error = root_mean_square(rows.map(|(a, b)| a[signal] - b[signal]));
            signals.push(SignalError {
                variable: name.clone(),
                relative_error: error / scale,
                order: None,
            });
        }
        Self::worst_of(signals, None, window)
    }

    fn worst_of(signals: Vec<SignalError>, order: Option<f64>, window: f64) -> Self {
        let worst = signals
            .iter()
            .max_by(|a, b| a.relative_error.total_cmp(&b.relative_error));
        Self {
            window,
            relative_error: worst.map(|worst| worst.relative_error),
            worst: worst.map(|worst| worst.variable.clone()),
            order: worst.and_then(|worst| worst.order.or(order)),
            signals,
        }
    }
}

/// From courses at h, h/2 and h/4; without the last one the order is taken as `order`, or as one.
pub(crate) fn accuracy(
    [course, half]: [&Course; 2],
    quarter: Option<&Course>,
    order: Option<f64>,
    window: f64,
) -> Accuracy {
    let finest = quarter.unwrap_or(half);
    let scale = finest
        .names
        .iter()
        .enumerate()
        .map(|(signal, _)| rms(finest, signal));
    let scales: Vec<f64> = scale.collect();
    let greatest = scales.iter().copied().fold(0.0, f64::max);
    let mut signals = Vec::new();
    for (signal, name) in course.names.iter().enumerate() {
        let scale = scales[signal];
        if scale <= AT_REST * greatest || scale == 0.0 || !moves(finest, signal) {
            continue;
        }
        let near = difference(course, half, 1, signal);
        let observed = quarter.and_then(|quarter| {
            let fine = difference(half, quarter, 2, signal);
            let order = (near / fine).log2();
            (order.is_finite() && order >= LEAST_ORDER).then_some(order)
        });
        let ratio = observed
            .or(order)
            .unwrap_or(USUAL_ORDER)
            .min(GREATEST_ORDER)
            .exp2();
        signals.push(SignalError {
            variable: name.clone(),
            relative_error: near * ratio / (ratio - 1.0) / scale,
            order: observed,
        });
    }
    Accuracy::worst_of(signals, order, window)
}

/// The best that is known of the solution: y(h) continued to h = 0 by the order of each signal, from courses at 2h and h, at
/// the same points.
pub(crate) fn reference([coarse, fine]: [&Course; 2], accuracy: &Accuracy) -> Course {
    let rows = fine.rows.iter().zip(&coarse.rows);
    let rows = rows.map(|(fine_row, coarse_row)| {
        let values = fine_row.iter().zip(coarse_row).enumerate();
        let continued = values.map(|(signal, (value, coarse))| {
            let mut known = accuracy.signals.iter();
            let known = known.find(|known| known.variable == fine.names[signal]);
            match known.and_then(|known| known.order) {
                Some(order) => {
                    let ratio = order.min(GREATEST_ORDER).exp2();
                    value + (value - coarse) / (ratio - 1.0)
                }
                None => *value,
            }
        });
        continued.collect()
    });
    Course {
        rows: rows.collect(),
        ..fine.clone()
    }
}

/// The greatest error of a signal relative to its root of the mean square, of a course against a reference at the same points.
pub(crate) fn error_against(course: &Course, every: usize, reference: &Course) -> f64 {
    let scales: Vec<f64> = (0..reference.names.len())
        .map(|s| rms(reference, s))
        .collect();
    let greatest = scales.iter().copied().fold(0.0, f64::max);
    let errors = scales.iter().enumerate().map(|(signal, scale)| {
        if *scale <= AT_REST * greatest || *scale == 0.0 || !moves(reference, signal) {
            return 0.0;
        }
        let rows = reference.rows.iter().zip(course.rows.iter().step_by(every));
        root_mean_square(rows.map(|(a, b)| a[signal] - b[signal])) / scale
    });
    errors.fold(0.0, f64::max)
}

/// Whether the signal is not constant.
pub(crate) fn moves(course: &Course, signal: usize) -> bool {
    let mut rows = course.rows.iter();
    rows.any(|row| row[signal] != course.rows[0][signal])
}

pub(crate) fn rms(course: &Course, signal: usize) -> f64 {
    root_mean_square(course.rows.iter().map(|row| row[signal]))
}

/// Root of the mean square of the difference of a course and a finer one, at the points of h; `of_h` is how many points
/// of the coarser one lie in h.
fn difference(coarse: &Course, fine: &Course, of_h: usize, signal: usize) -> f64 {
    let coarse = coarse.rows.iter().step_by(of_h);
    let fine = fine.rows.iter().step_by(2 * of_h);
    root_mean_square(coarse.zip(fine).map(|(a, b)| a[signal] - b[signal]))
}

pub(crate) fn root_mean_square(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = values
        .clone()
        .fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    if greatest == 0.0 || !greatest.is_finite() {
        return greatest;
    }
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += (value / greatest).powi(2);
        count += 1;
    }
    greatest * (sum / f64::from(count.max(1))).sqrt()
}
