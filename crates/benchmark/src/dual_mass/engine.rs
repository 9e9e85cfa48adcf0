//! The dual mass as FMUs under the engine.

use rayon::prelude::*;

use super::coupling::{MACRO_STEP, errors};
use super::fmus::{FmuPool, Setup};
use super::methods::{Designs, METHODS, ONE_SIDED, PULSES, THRESHOLDS};
use super::system::{DualMass, MICRO_STEP};
use super::{COUNT, INACCURATE, UNSTABLE};
use crate::benchmark::{MeasureError, Progress};
use crate::metrics::{distance, greatest};
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};

const DIFFERENCE: Metric = Metric::figure("difference from the process, greatest", "");
const SMALL_ENOUGH: &str =
    "bar of this project: rounding, that oscillations of unstable systems amplify";

/// The systems of the figures and some random ones with all methods that the engine has.
pub(crate) fn measure_fmus(
    roles: &RoleAssignment,
    designs: &Designs,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    const SOME: usize = 2;
    const PULSE: usize = 200;
    let pool = FmuPool::new(roles);
    let mut systems = DualMass::FIGURES.to_vec();
    systems.extend(DualMass::random(SOME));
    for method in METHODS {
        let Some(setup) = Setup::of(method.name, MICRO_STEP) else {
            continue;
        };
        let coupling = method.coupling(designs);
        let difference = |system: &DualMass| {
            let course = pool.course(system, &setup, PULSE)?;
            let expected = coupling.clone().course(system, PULSE);
            Ok([0, 1].map(|variable| distance(&course, &expected, variable)))
        };
        let differences: Result<Vec<[f64; 2]>, MeasureError> =
            systems.par_iter().map(difference).collect();
        let row = BenchmarkRow::new(DIFFERENCE, greatest(differences?.into_iter().flatten()))
            .within(Bar::AtMost(1e-9), SMALL_ENOUGH);
        progress.add(method.name, [row]);
    }
    Ok(())
}

/// All random systems as FMUs with one-sided compensation, beside the same in one process.
pub(crate) fn measure_one_sided(
    roles: &RoleAssignment,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    /// Place of 200 ms in [`PULSES`].
    const PULSE: usize = 2;
    /// Place of 0.2 in [`THRESHOLDS`].
    const THRESHOLD: usize = 2;
    let pool = FmuPool::new(roles);
    let (pulse, limit) = (PULSES[PULSE], THRESHOLDS[THRESHOLD]);
    // A tenth of the macro-step is fine enough for the compensator; errors need each micro-step.
    let [fine, coarse] = [MICRO_STEP, 0.1 * MACRO_STEP].map(Setup::one_sided);
    let judge = |system: &DualMass| {
        let [velocity, force] = errors(
            &pool.course(system, &fine, pulse)?,
            &system.reference(pulse),
        );
        let is_accurate = velocity <= limit && force <= limit;
        Ok((pool.grows(system, &coarse)?, !is_accurate))
    };
    let systems = DualMass::random(COUNT);
    let judged: Result<Vec<(bool, bool)>, MeasureError> = systems.par_iter().map(judge).collect();
    let judged = judged?;
    let count = |is_meant: fn(&(bool, bool)) -> bool| {
        judged.iter().filter(|judged| is_meant(judged)).count() as f64
    };
    let unstable = BenchmarkRow::new(UNSTABLE, count(|judged| judged.0));
    let metric = Metric::figure(INACCURATE[PULSE][THRESHOLD], "");
    let inaccurate = BenchmarkRow::new(metric, count(|judged| judged.1));
    let rows = [unstable, inaccurate];
    progress.add(ONE_SIDED.name, rows);
    Ok(())
}
