//! The rows of tables 4 to 9 of Sadjina & Pedersen (2019).

use crate::assembly::{REFINED, REFINEMENT, STALE};
use crate::benchmark::{MeasureError, Progress};
use crate::quarter_car_run::{
    Correction, Coupling, Cut, Ecco, MEAN_POWER, Outcome, PLAIN, POWER_ERROR, RESIDUAL_ENERGY,
    RESIDUAL_INTEGRATED, STEPS,
};
use crate::role::Cast;
use crate::row::{Bar, Metric, Row};

const PAPER: &str = "Sadjina & Pedersen 2019, tables 4 to 9";
const SOURCE: &str =
    "independent reproduction of Sadjina & Pedersen 2019, forward Euler, 256 micro-steps";

/// A figure of the reproduction, and how far variants that the paper leaves open move it.
type Figure = (f64, f64);

/// A figure of the paper that nobody could reproduce, and why.
type NotReproduced = (Metric, f64, &'static str);

/// A row of the paper's tables.
struct TableRow {
    case: &'static str,
    configuration: &'static str,
    /// The tolerance r of ECCO; `None` where the step is 1 ms.
    tolerance: Option<f64>,
    power_error: Figure,
    residual_energy: Figure,
    steps: Figure,
    /// The second number is half of the last digit that the paper prints.
    mean_power: Option<Figure>,
    not_reproduced: &'static [NotReproduced],
}

const NEPCE: &str = "nepce";
const MODIFIED: &str = "nepce-feedthrough";
const ECCO: &str = "ecco";
const ECCO_NEPCE: &str = "ecco, nepce";
const ECCO_MODIFIED: &str = "ecco, nepce-feedthrough";

const OTHER_SOLUTION: &str = "not reproduced: P mean and dE of the same run agree; the exact solution behind it may be another";
const LAST_DIGIT: &str = "not reproduced: the tolerance r is printed to two digits, which moves steps and dE by 1.4 % either way";
const FILTER: &str = "not reproduced: the paper leaves open how the error is filtered, which moves this figure from 0.26 to 0.33";
const FILTER_STEPS: &str =
    "not reproduced: the paper leaves open how the error is filtered, which moves the steps by 5 %";
const ROUNDING: &str = "not reproduced: 0.15 on the edge of rounding to 0.1";

/// A row with equal steps.
const fn constant(
    case: &'static str,
    configuration: &'static str,
    power_error: Figure,
    residual_energy: Figure,
    steps: f64,
    mean_power: Figure,
) -> TableRow {
    TableRow {
        case,
        configuration,
        tolerance: None,
        power_error,
        residual_energy,
        steps: (steps, 0.0),
        mean_power: Some(mean_power),
        not_reproduced: &[],
    }
}

/// A row of ECCO without correction, which the paper does not have.
const fn ecco_alone(
    case: &'static str,
    tolerance: f64,
    power_error: f64,
    residual_energy: f64,
    steps: f64,
) -> TableRow {
    TableRow {
        case,
        configuration: ECCO,
        tolerance: Some(tolerance),
        power_error: (power_error, 0.03 * power_error),
        residual_energy: (residual_energy, 0.03 * residual_energy),
        steps: (steps, 0.02 * steps),
        mean_power: None,
        not_reproduced: &[],
    }
}

/// The row with ECCO, `steps` away from its number of steps at most.
const fn ecco(
    row: TableRow,
    tolerance: f64,
    steps: f64,
    not_reproduced: &'static [NotReproduced],
) -> TableRow {
    let centre = row.steps.0;
    TableRow {
        tolerance: Some(tolerance),
        steps: (centre, steps),
        not_reproduced,
        ..row
    }
}

/// The row with figures that nobody could reproduce.
const fn but(row: TableRow, not_reproduced: &'static [NotReproduced]) -> TableRow {
    TableRow {
        not_reproduced,
        ..row
    }
}

#[rustfmt::skip]
const ROWS: &[TableRow] = &[
    but(constant("lin1", STALE.name, (0.92, 0.03), (6.30, 0.03), 4000.0, (0.389, 0.05)), &[(POWER_ERROR, 1.0, OTHER_SOLUTION)]),
    but(constant("lin1", NEPCE, (0.19, 0.02), (3.205, 0.02), 4000.0, (0.006, 0.005)), &[(POWER_ERROR, 0.14, OTHER_SOLUTION)]),
    but(constant("lin1", MODIFIED, (0.12, 0.015), (3.203, 0.02), 4000.0, (0.006, 0.005)), &[(POWER_ERROR, 0.11, OTHER_SOLUTION)]),
    ecco_alone("lin1", 1.6e-6, 0.328, 1.136, 5452.0),
    ecco(constant("lin1", ECCO_NEPCE, (0.080, 0.01), (0.80, 0.04), 3900.0, (-0.045, 0.005)), 1.6e-6, 120.0,
        &[(RESIDUAL_ENERGY, 0.83, LAST_DIGIT), (STEPS, 3930.0, LAST_DIGIT)]),
    ecco(constant("lin1", ECCO_MODIFIED, (0.050, 0.008), (0.815, 0.04), 3900.0, (-0.041, 0.005)), 1.6e-6, 120.0,
        &[(POWER_ERROR, 0.06, OTHER_SOLUTION), (STEPS, 4002.0, LAST_DIGIT)]),

    constant("lin2", STALE.name, (10.35, 0.15), (22.4, 0.1), 4000.0, (-189.1, 0.5)),
    constant("lin2", NEPCE, (3.75, 0.12), (10.57, 0.1), 4000.0, (-187.6, 0.5)),
    constant("lin2", MODIFIED, (2.7, 0.15), (10.1, 0.1), 4000.0, (-187.5, 0.5)),
    ecco_alone("lin2", 1.4e-6, 0.781, 0.456, 4822.0),
    ecco(constant("lin2", ECCO_NEPCE, (0.28, 0.06), (0.32, 0.04), 3900.0, (-187.4, 0.25)), 1.4e-6, 250.0,
        &[(RESIDUAL_ENERGY, 0.4, FILTER), (STEPS, 3921.0, FILTER_STEPS)]),
    ecco(constant("lin2", ECCO_MODIFIED, (0.195, 0.03), (0.26, 0.04), 3900.0, (-187.4, 0.25)), 1.4e-6, 250.0,
        &[(RESIDUAL_ENERGY, 0.4, FILTER), (STEPS, 3958.0, FILTER_STEPS)]),

    constant("nl1", STALE.name, (1.25, 0.06), (4.73, 0.03), 2000.0, (0.591, 0.05)),
    constant("nl1", NEPCE, (0.47, 0.06), (2.944, 0.02), 2000.0, (0.147, 0.05)),
    but(constant("nl1", MODIFIED, (0.46, 0.07), (2.95, 0.03), 2000.0, (0.153, 0.05)), &[(MEAN_POWER, 0.1, ROUNDING)]),
    ecco_alone("nl1", 4.7e-6, 0.500, 1.266, 2497.0),
    ecco(constant("nl1", ECCO_NEPCE, (0.21, 0.02), (1.00, 0.04), 1987.0, (-0.123, 0.05)), 4.7e-6, 50.0, &[]),
    ecco(constant("nl1", ECCO_MODIFIED, (0.195, 0.02), (1.00, 0.04), 2013.0, (-0.112, 0.05)), 4.6e-6, 50.0, &[]),

    constant("nl2", STALE.name, (22.7, 0.5), (44.0, 0.3), 2000.0, (-381.0, 0.5)),
    constant("nl2", NEPCE, (13.6, 0.3), (29.8, 0.2), 2000.0, (-377.4, 0.5)),
    constant("nl2", MODIFIED, (11.2, 0.4), (29.2, 0.4), 2000.0, (-377.3, 0.5)),
    ecco_alone("nl2", 2.6e-5, 5.58, 4.51, 2240.0),
    ecco(constant("nl2", ECCO_NEPCE, (3.85, 0.4), (3.85, 0.2), 1990.0, (-376.7, 0.5)), 2.6e-5, 50.0, &[]),
    ecco(constant("nl2", ECCO_MODIFIED, (3.0, 0.3), (3.8, 0.2), 1997.0, (-376.4, 0.5)), 2.7e-5, 50.0, &[]),
];

impl TableRow {
    fn coupling(&self, cut: &Cut) -> Coupling {
        let correction = match self.configuration {
            NEPCE | ECCO_NEPCE => Correction::Nepce(Some(cut.alpha)),
            MODIFIED | ECCO_MODIFIED => Correction::WithFeedthrough(cut.alpha),
            _ => Correction::Off,
        };
        Coupling {
            correction,
            ecco: self.tolerance.map(|tolerance| Ecco {
                tolerance,
                indicator: "signed",
                overshoot: true,
                reject_above: None,
            }),
            ..PLAIN
        }
    }

    fn rows(&self, outcome: &Outcome) -> Vec<Row> {
        let measured = [
            (POWER_ERROR, outcome.power.error(), Some(self.power_error)),
            (
                RESIDUAL_ENERGY,
                outcome.residual_energy.abs(),
                Some(self.residual_energy),
            ),
            (RESIDUAL_INTEGRATED, outcome.residual_integrated.abs(), None),
            (STEPS, outcome.steps, Some(self.steps)),
            (MEAN_POWER, outcome.power.mean, self.mean_power),
        ];
        let row = |(metric, measured, figure): (Metric, f64, Option<Figure>)| {
            let row = Row::new(metric, measured);
            match figure {
                Some((figure, distance)) => row.against(figure, Bar::Absolute(distance), SOURCE),
                None => row,
            }
        };
        let beside = |(metric, figure, why): &NotReproduced| {
            let measured = measured.iter().find(|(of, ..)| of == metric);
            let measured = measured.map_or(f64::NAN, |(_, measured, _)| *measured);
            Row::new(*metric, measured)
                .beside(*figure, PAPER)
                .note(*why)
        };
        let judged = measured.iter().copied().map(row);
        judged
            .chain(self.not_reproduced.iter().map(beside))
            .collect()
    }
}

/// Runs the rows of a case.
pub(crate) fn measure(cast: &Cast, cut: &Cut, progress: &Progress<'_>) -> Result<(), MeasureError> {
    measure_rows(cast, cut, progress, |_| true)
}

/// Runs the rows of a case with equal steps, and smaller ones. Whether somebody else's FMU can have
/// its step changed is not known.
pub(crate) fn measure_foreign(
    cast: &Cast,
    cut: &Cut,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    measure_rows(cast, cut, progress, |row| row.tolerance.is_none())?;
    let step = PLAIN.step / REFINEMENT;
    let outcome = cut.run(cast, &Coupling { step, ..PLAIN })?;
    progress.add(REFINED.name, [Row::new(POWER_ERROR, outcome.power.error())]);
    Ok(())
}

fn measure_rows(
    cast: &Cast,
    cut: &Cut,
    progress: &Progress<'_>,
    is_meant: impl Fn(&TableRow) -> bool,
) -> Result<(), MeasureError> {
    let of_case = ROWS.iter().filter(|row| row.case == cut.name);
    for row in of_case.filter(|row| is_meant(row)) {
        let outcome = cut.run(cast, &row.coupling(cut))?;
        progress.add(row.configuration, row.rows(&outcome));
    }
    Ok(())
}
