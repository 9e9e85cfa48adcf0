//! The largest macro-step that each configuration achieves (figs 9 and 15).

use fmu_models::{Crane, Throttle};
use rayon::prelude::*;

use super::run::FmuPool;
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{Bar, BenchmarkRow, Metric};

/// Smallest macro-step of the sweep, tenths of a millisecond.
pub(crate) const FIRST: u32 = 10;
/// Largest macro-step of the sweep, tenths of a millisecond.
const LAST: u32 = 100;
/// The residual energy takes off when it exceeds its linear growth from the smallest macro-step on
/// by this factor; it rises by ten to a hundred times within the next 0.2 to 0.4 ms.
const TAKE_OFF: f64 = 3.0;

const LARGEST: Metric = Metric::figure("largest H", "ms");
const BY_RUNGE_KUTTA: Metric = Metric::figure("largest H with Runge-Kutta 4", "ms");
const BY_TRAPEZOIDAL: Metric = Metric::figure("largest H with the trapezoidal rule", "ms");
const OVER_FORCE: Metric = Metric::figure("largest H, pressure over force", "ms");
const OVER_POLYNOMIALS: Metric = Metric::figure("largest H / best polynomial's", "");
const QUADRATIC_OVER: Metric = Metric::figure("largest H, p2 over IM", "ms");
const OVER_INDEX_3: Metric = Metric::figure("largest H, ALI1 over ALI3-P", "ms");

/// Twice the grid, and rounding.
const TOLERANCE: Bar = Bar::Absolute(0.2001);
/// Place of the interface model with ALI1 in [`METHODS`], behind the polynomials.
const INTERFACE_MODEL: usize = 3;

const BY_EULER: &str = "our figure by Euler; the solver has no practical effect, says Rahikainen et al. 2020, section 5";
const PRESSURES: &str =
    "pressures allow larger steps, says Rahikainen et al. 2020, section 4.2; bar: twice the grid";
const INTERFACE_MODELS: &str = "bar of this project; 1.6 to 2.3 by reference/crane_macro_steps.py";
const POLYNOMIALS: &str = "better on the single crane in most cases, says Rahikainen et al. 2020, section 4.1; bar: the grid";
const INDEX_1: &str =
    "ALI1 takes larger steps, says Rahikainen et al. 2020, section 4.1; bar: the grid";

/// A configuration of the mechanics and of the circuits' inputs, with its names for both couplings.
pub(crate) struct Method {
    pub(crate) names: [&'static str; 2],
    pub(crate) formulation: Formulation,
    pub(crate) prediction: Prediction,
}

#[rustfmt::skip]
pub(crate) const METHODS: [Method; 8] = [
    method(["ALI1, force, p0", "ALI1, pressure, p0"], Formulation::IndexOne, Prediction::Polynomial(0)),
    method(["ALI1, force, p1", "ALI1, pressure, p1"], Formulation::IndexOne, Prediction::Polynomial(1)),
    method(["ALI1, force, p2", "ALI1, pressure, p2"], Formulation::IndexOne, Prediction::Polynomial(2)),
    method(["ALI1, force, IM", "ALI1, pressure, IM"], Formulation::IndexOne, Prediction::InterfaceModel),
    method(["ALI3-P, force, p0", "ALI3-P, pressure, p0"], Formulation::IndexThree, Prediction::Polynomial(0)),
    method(["ALI3-P, force, p1", "ALI3-P, pressure, p1"], Formulation::IndexThree, Prediction::Polynomial(1)),
    method(["ALI3-P, force, p2", "ALI3-P, pressure, p2"], Formulation::IndexThree, Prediction::Polynomial(2)),
    method(["ALI3-P, force, IM", "ALI3-P, pressure, IM"], Formulation::IndexThree, Prediction::InterfaceModel),
];

const fn method(
    names: [&'static str; 2],
    formulation: Formulation,
    prediction: Prediction,
) -> Method {
    Method {
        names,
        formulation,
        prediction,
    }
}

impl Method {
    /// Its name without the coupling.
    pub(crate) fn short_name(&self) -> String {
        self.names[0].replace(", force", "")
    }

    /// The method in the first or the second coupling, at the smallest macro-step.
    pub(crate) fn setup(&self, crane: Crane, coupling: usize) -> Setup {
        Setup {
            crane,
            formulation: self.formulation,
            coupling: [Coupling::Force, Coupling::Pressure][coupling],
            prediction: self.prediction,
            solver: Solver::Euler,
            tenths: FIRST,
        }
    }
}

/// Looks for the largest macro-step of a setup.
struct Search<'a> {
    pool: &'a FmuPool<'a>,
    setup: Setup,
    /// Residual energy at the smallest macro-step, J; infinite if the run fails.
    base: f64,
}

impl<'a> Search<'a> {
    fn new(pool: &'a FmuPool<'a>, setup: Setup) -> Result<Self, MeasureError> {
        let outcome = pool.run_within(&setup, f64::INFINITY)?;
        let base = if outcome.is_finished {
            outcome.residual_abs
        } else {
            f64::INFINITY
        };
        Ok(Self { pool, setup, base })
    }

    /// Whether the residual energy has not taken off at this macro-step.
    fn holds(&self, tenths: u32) -> Result<bool, MeasureError> {
        let limit = TAKE_OFF * self.base * f64::from(tenths) / f64::from(FIRST);
        let setup = Setup {
            tenths,
            ..self.setup
        };
        let outcome = self.pool.run_within(&setup, limit)?;
        Ok(outcome.is_finished)
    }

    /// Up from the smallest macro-step to the first one that does not hold.
    fn first_edge(&self) -> Result<u32, MeasureError> {
        let mut largest = FIRST;
        while largest < LAST && self.holds(largest + 1)? {
            largest += 1;
        }
        Ok(largest)
    }

    /// The edge next to the one of another solver.
    fn near(&self, other: u32) -> Result<u32, MeasureError> {
        let mut largest = other;
        while largest > FIRST && !self.holds(largest)? {
            largest -= 1;
        }
        if largest == other {
            while largest < LAST && self.holds(largest + 1)? {
                largest += 1;
            }
        }
        Ok(largest)
    }
}

fn milliseconds(tenths: u32) -> f64 {
    f64::from(tenths) / 10.0
}

/// One cell of the table: its largest macro-step, tenths of a millisecond, and its rows.
fn measure_cell(
    pool: &FmuPool<'_>,
    crane: Crane,
    method: &Method,
    coupling: usize,
) -> Result<(u32, Vec<BenchmarkRow>), MeasureError> {
    let setup = method.setup(crane, coupling);
    let largest = Search::new(pool, setup)?.first_edge()?;
    let mut rows = vec![BenchmarkRow::new(LARGEST, milliseconds(largest))];
    let solvers = [
        (Solver::RungeKutta, BY_RUNGE_KUTTA),
        (Solver::Trapezoidal, BY_TRAPEZOIDAL),
    ];
    for (solver, metric) in solvers {
        let search = Search::new(pool, Setup { solver, ..setup })?;
        let near = milliseconds(search.near(largest)?);
        rows.push(BenchmarkRow::new(metric, near).against(
            milliseconds(largest),
            TOLERANCE,
            BY_EULER,
        ));
    }
    Ok((largest, rows))
}

/// The largest macro-steps of all configurations, and their order.
pub(crate) fn measure(
    pool: &FmuPool<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let methods = METHODS.iter().flat_map(|method| [(method, 0), (method, 1)]);
    let methods: Vec<_> = methods.collect();
    let cells = methods
        .par_iter()
        .map(|(method, coupling)| measure_cell(pool, crane, method, *coupling));
    let cells: Vec<(u32, Vec<BenchmarkRow>)> = cells.collect::<Result<_, _>>()?;
    let largest: Vec<f64> = cells
        .iter()
        .map(|(tenths, _)| milliseconds(*tenths))
        .collect();
    for ((method, coupling), (_, rows)) in methods.iter().zip(cells) {
        progress.add(method.names[*coupling], rows);
    }
    let table: Vec<[f64; 2]> = largest.chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    order(crane, &table, progress);
    Ok(())
}

/// Statements of the paper, without numbers, on the order of the configurations. `table` has the largest macro-steps, ms,
/// method by method, of both couplings.
fn order(crane: Crane, table: &[[f64; 2]], progress: &Progress<'_>) {
    for (method, [force, pressure]) in METHODS.iter().zip(table) {
        let row = BenchmarkRow::new(OVER_FORCE, pressure - force);
        progress.add(
            method.names[1],
            [row.within(Bar::AtLeast(-0.2001), PRESSURES)],
        );
    }
    let [index_1, index_3] = [INTERFACE_MODEL, METHODS.len() - 1];
    for coupling in [0, 1] {
        let interface_model = table[index_1][coupling];
        let polynomials = || table[..INTERFACE_MODEL].iter().map(|pair| pair[coupling]);
        let mut rows = Vec::new();
        if crane.actuators == 2 {
            let best = polynomials().fold(0.0, f64::max);
            let row = BenchmarkRow::new(OVER_POLYNOMIALS, interface_model / best);
            rows.push(row.within(Bar::AtLeast(1.5), INTERFACE_MODELS));
        } else if crane.throttle == Throttle::Narrow {
            let quadratic = table[INTERFACE_MODEL - 1][coupling];
            let row = BenchmarkRow::new(QUADRATIC_OVER, quadratic - interface_model);
            rows.push(row.within(Bar::AtLeast(-0.1001), POLYNOMIALS));
        }
        let row = BenchmarkRow::new(OVER_INDEX_3, interface_model - table[index_3][coupling]);
        rows.push(row.within(Bar::AtLeast(0.0999), INDEX_1));
        progress.add(METHODS[INTERFACE_MODEL].names[coupling], rows);
    }
}

/// The largest macro-step of a method in the first or the second coupling, ms.
pub(crate) fn largest(
    pool: &FmuPool<'_>,
    crane: Crane,
    method: &Method,
    coupling: usize,
) -> Result<f64, MeasureError> {
    let search = Search::new(pool, method.setup(crane, coupling))?;
    Ok(milliseconds(search.first_edge()?))
}

/// The residual energy's magnitudes over the macro-step, ms and J, until they exceed what a chart shows.
pub(crate) fn curve(
    pool: &FmuPool<'_>,
    crane: Crane,
    method: &Method,
    coupling: usize,
) -> Result<Vec<(f64, f64)>, MeasureError> {
    const SHOWN: f64 = 1e4;
    let mut points = Vec::new();
    for tenths in FIRST..=LAST {
        let setup = Setup {
            tenths,
            ..method.setup(crane, coupling)
        };
        let outcome = pool.run_within(&setup, SHOWN)?;
        points.push((milliseconds(tenths), outcome.residual_abs));
        if !outcome.is_finished {
            break;
        }
    }
    Ok(points)
}
