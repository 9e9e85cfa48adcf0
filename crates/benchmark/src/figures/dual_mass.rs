//! Chen et al. (2021), figures 7 to 10.

use super::TIME;
use crate::benchmark::MeasureError;
use crate::dual_mass::{figure_course, figure_reference};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const FORCE: &str = "coupling force, N";

/// Name, title and couplings of each figure; those that are out of all bounds would hide the others.
const FIGURES: [(&str, &str, &[&str]); 4] = [
    (
        "chen2021-fig07",
        "Dual mass, weakly damped",
        &["hold, stale", "h-infinity, stale", "one-sided, fresh"],
    ),
    (
        "chen2021-fig08",
        "Dual mass, strongly damped",
        &["hold, stale", "h-infinity, stale", "one-sided, fresh"],
    ),
    (
        "chen2021-fig09",
        "Dual mass, stiff, small mass 1",
        &["hold, stale", "h-infinity, stale", "one-sided, fresh"],
    ),
    (
        "chen2021-fig10",
        "Dual mass, stiff, small mass 2",
        &["hold, fresh", "h-infinity, stale", "one-sided, fresh"],
    ),
];

/// All figures: the force around the first pulse.
pub(crate) fn figures(_: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let chart = |(index, (name, title, methods)): (usize, _)| {
        let chart = Chart::new(name, title, TIME, FORCE)
            .source("counterpart of Chen et al. 2021, figs 7 to 10; pulses of 200 ms")
            .between(0.9, 2.5);
        let methods: &[&'static str] = methods;
        let chart = methods.iter().try_fold(chart, |chart, method| {
            let course = figure_course(index, method)?;
            Ok::<_, MeasureError>(chart.line(Line::new(*method, course)))
        })?;
        Ok(chart.line(Line::reference("as a whole", figure_reference(index))))
    };
    FIGURES.into_iter().enumerate().map(chart).collect()
}
