//! A proposal beside the given system, before it is made.

use gyrator_system::SystemFile;
use serde::Serialize;

use crate::accuracy::{accuracy, error_against, reference};
use crate::probe::{ProbeFailure, Prober};

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
    let truth = reference([&half, &quarter], &known);
    let (of_proposed, every) = match factor >= 1.0 {
        true => (steps as f64 / factor, factor),
        false => (steps as f64 / factor, factor.recip()),
    };
    let found = prober.run(proposed, factor, of_proposed.floor() as usize, None)?;
    let every = every.round() as usize;
    let proposed = match factor > 1.0 {
        // Fewer points than the reference has.
        true => {
            let mut fewer = truth.clone();
            fewer.rows = truth.rows.iter().step_by(every).cloned().collect();
            error_against(&found, 1, &fewer)
        }
        false => error_against(&found, every, &truth),
    };
    Ok(Verification {
        window,
        given: course.map(|course| error_against(&course, 1, &truth)),
        proposed,
    })
}
