//! A proposal beside the given system, before it is made.

use gyrator_system::SystemFile;
use serde::Serialize;

use crate::accuracy::{accuracy, error_against, reference};
use crate::probe::{Course, ProbeFailure, Prober};

/// The coupling errors of the given system and of a proposal, measured alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// Simulated time of the runs, s.
    pub window: f64,
    /// The greatest relative error of a signal of the given system; `None` where it fails.
    pub given: Option<f64>,
    /// That of the proposal.
    pub proposed: f64,
}

/// Runs both over `steps` macro-steps, and compares them with the given system at half and a quarter of its macro-step,
/// continued to a macro-step of nothing. `factor` is the macro-step of the proposal over that of the given one.
pub(crate) fn verify(
    prober: &mut Prober<'_>,
    given: &SystemFile,
    (proposed, factor): (&SystemFile, f64),
    steps: usize,
    step: f64,
) -> Result<Verification, ProbeFailure> {
    let half = prober.run(given, 0.5, 2 * steps, None)?;
    let quarter = prober.run(given, 0.25, 4 * steps, None)?;
    let course = match prober.run(given, 1.0, steps, None) {
        Ok(course) => Some(course),
        Err(ProbeFailure::Failed(_)) => None,
        Err(failure) => return Err(failure),
    };
    let window = steps as f64 * step;
    let rough = accuracy(
        [course.as_ref().unwrap_or(&half), &half],
        None,
        None,
        window,
    );
    let known = match &course {
        Some(course) => accuracy([course, &half], Some(&quarter), None, window),
        None => rough,
    };
    let truth = reference([&half, &quarter], 2, &known);
    let of_proposed = (steps as f64 / factor * (1.0 + 1e-9)).floor() as usize;
    let found = prober.run(proposed, factor, of_proposed, None)?;
    let proposed = error_at_factor(&found, factor, &truth);
    Ok(Verification {
        window,
        given: course.map(|course| error_against(&course, 1, &truth)),
        proposed,
    })
}

/// The error of a course at so many times the macro-step of the reference, a whole number or the inverse of one.
pub(crate) fn error_at_factor(course: &Course, factor: f64, truth: &Course) -> f64 {
    if factor <= 1.0 {
        return error_against(course, factor.recip().round() as usize, truth);
    }
    // Fewer points than the reference has.
    let rows = truth.rows.iter().step_by(factor.round() as usize);
    let fewer = Course {
        rows: rows.cloned().collect(),
        ..truth.clone()
    };
    error_against(course, 1, &fewer)
}
