//! The crane of Rodríguez et al. (2022) with the formulation of that paper, which is also this one's.

use gyrator_system::Value;

use super::{CYLINDER, MECHANICS};
use crate::assembly::{Assembly, Place, STALE};
use crate::benchmark::{MeasureError, Progress};
use crate::recording::Recording;
use crate::reference::{HydraulicCrane, Reference};
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

const GREATEST: Metric = Metric::greatest_error("s_max", "mm");
const CALM: Metric = Metric::figure("greatest variation of v in a second", "m/s");
const DIVERGES: Metric = Metric::figure("diverges", "");

/// Total variation of the rate from second to second: at 11.5 ms it bursts and recovers. At the
/// edge of stability growth and decay distinguish a force that is a tenth of a millisecond old from
/// one that is not.
const VARIATIONS: [Metric; 10] = [
    Metric::figure("variation of v, second 1", "m/s"),
    Metric::figure("variation of v, second 2", "m/s"),
    Metric::figure("variation of v, second 3", "m/s"),
    Metric::figure("variation of v, second 4", "m/s"),
    Metric::figure("variation of v, second 5", "m/s"),
    Metric::figure("variation of v, second 6", "m/s"),
    Metric::figure("variation of v, second 7", "m/s"),
    Metric::figure("variation of v, second 8", "m/s"),
    Metric::figure("variation of v, second 9", "m/s"),
    Metric::figure("variation of v, second 10", "m/s"),
];

/// Length and rate of the cylinder at the communication points.
struct Course {
    times: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

/// Ten seconds by steps of the mechanics and of the cylinder, s, with linear extrapolation.
fn run(roles: &RoleAssignment, step: f64, cylinder_step: f64) -> Result<Course, MeasureError> {
    let steps = (10.0 / step + 1e-9).floor();
    let mut assembly = Assembly::new(roles, step, steps * step);
    let mechanics = Place {
        name: "mechanics",
        role: &MECHANICS,
        step,
        inner_step: step,
        extrapolation: "linear",
        exchange: STALE.exchange,
    };
    assembly.add(mechanics, &[("actuators", Value::Integer(1))])?;
    let cylinder = Place {
        name: "cylinder",
        role: &CYLINDER,
        step: cylinder_step,
        inner_step: cylinder_step,
        ..mechanics
    };
    assembly.add(cylinder, &[])?;
    assembly.connect("mechanics.s1", "cylinder.s");
    let axis = [
        ("cylinder.f", "mechanics.f1"),
        ("mechanics.v1", "cylinder.v"),
    ];
    assembly.weighted_bond("piston", &[(axis, 1.0)]);
    let names = ["s1", "v1"].map(|port| assembly.variable(&format!("mechanics.{port}")));
    let recording = Recording::of(roles, assembly.into_file())?;
    Ok(Course {
        rows: recording.rows(&names)?,
        times: recording.times,
    })
}

impl Course {
    /// Greatest error of the length, mm.
    fn greatest_error(&self) -> Result<f64, MeasureError> {
        let crane = HydraulicCrane::table_5();
        let exact = crane.states_at(&self.times)?;
        let pairs = self.rows.iter().zip(&exact);
        let errors = pairs.map(|(row, exact)| 1e3 * (row[0] - crane.length(exact)).abs());
        Ok(errors.fold(0.0, f64::max))
    }

    /// Second by second; a step counts in the second in which it ends.
    fn variations(&self) -> [f64; 10] {
        let mut variations = [0.0; 10];
        for (pair, time) in self.rows.windows(2).zip(&self.times[1..]) {
            let second = (*time as usize).min(9);
            variations[second] += (pair[1][1] - pair[0][1]).abs();
        }
        variations
    }
}

pub(crate) fn measure(roles: &RoleAssignment, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let course = run(roles, 10e-3, 0.25e-3)?;
    progress.add(
        "ALI1, 10 ms",
        [BenchmarkRow::new(GREATEST, course.greatest_error()?)],
    );
    let variations = run(roles, 11.5e-3, 0.1e-3)?.variations();
    let rows = VARIATIONS.into_iter().zip(variations);
    progress.add(
        "ALI1, 11.5 ms",
        rows.map(|(metric, found)| BenchmarkRow::new(metric, found)),
    );
    let calm = run(roles, 11e-3, 0.1e-3)?.variations();
    let greatest = calm.into_iter().fold(0.0, f64::max);
    progress.add("ALI1, 11 ms", [BenchmarkRow::new(CALM, greatest)]);
    let diverges = match run(roles, 12e-3, 0.1e-3) {
        Ok(course) => course
            .variations()
            .into_iter()
            .any(|variation| variation > 100.0),
        Err(MeasureError::Run(_)) => true,
        Err(error) => return Err(error),
    };
    let word = if diverges { "yes" } else { "no" };
    progress.add("ALI1, 12 ms", [BenchmarkRow::new(DIVERGES, word)]);
    Ok(())
}
