//! Rahikainen et al. (2020), figures 9, 10 and 15, and how far interface models go.

use fmu_models::{Crane, Throttle};
use rayon::prelude::*;

use super::TIME;
use crate::benchmark::MeasureError;
use crate::cranes::run::FmuPool;
use crate::cranes::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::cranes::sweep::{METHODS, Method, curve, largest};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const MACRO_STEP: &str = "macro-step H, ms";
const RESIDUAL: &str = "residual energy, sum of magnitudes, J";

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let pool = FmuPool::new(roles);
    let mut charts = Vec::new();
    for (actuators, coupling, name, title, source) in [
        (
            1,
            0,
            "rahikainen2020-fig09-force",
            "Single crane, velocity-force coupling",
            "counterpart of Rahikainen et al. 2020, fig. 9",
        ),
        (
            1,
            1,
            "rahikainen2020-fig09-pressure",
            "Single crane, velocity-pressure coupling",
            "counterpart of Rahikainen et al. 2020, fig. 9",
        ),
        (
            2,
            0,
            "rahikainen2020-fig15-force",
            "Double crane, velocity-force coupling",
            "counterpart of Rahikainen et al. 2020, fig. 15",
        ),
        (
            2,
            1,
            "rahikainen2020-fig15-pressure",
            "Double crane, velocity-pressure coupling",
            "counterpart of Rahikainen et al. 2020, fig. 15",
        ),
    ] {
        let crane = Crane {
            actuators,
            throttle: Throttle::Narrow,
        };
        let chart = Chart::new(name, title, MACRO_STEP, RESIDUAL)
            .logarithmic()
            .source(source);
        charts.push(residuals(&pool, crane, coupling, chart)?);
    }
    for (throttle, name, title) in [
        (
            Throttle::Narrow,
            "crane-max-step-b",
            "Largest macro-steps, throttle 2.5 mm",
        ),
        (
            Throttle::Wide,
            "crane-max-step-a",
            "Largest macro-steps, throttle 6 mm",
        ),
    ] {
        let chart = Chart::new(name, title, "formulation, inputs", "largest H, ms");
        charts.push(largest_steps(&pool, throttle, chart)?);
    }
    charts.push(energies(&pool)?);
    charts.push(errors(&pool)?);
    Ok(charts)
}

/// The residual energy of all methods in one coupling.
fn residuals(
    pool: &FmuPool<'_>,
    crane: Crane,
    coupling: usize,
    chart: Chart,
) -> Result<Chart, MeasureError> {
    let curves = METHODS
        .par_iter()
        .map(|method| curve(pool, crane, method, coupling));
    let curves: Vec<Vec<(f64, f64)>> = curves.collect::<Result<_, _>>()?;
    // The colour shows the prediction of inputs; marks are ALI3-P.
    let lines = METHODS.iter().zip(curves).enumerate();
    let lines = lines.map(|(place, (method, points))| {
        let line = Line::new(method.short_name(), points).coloured(place % 4);
        match method.formulation {
            Formulation::IndexOne => line,
            _ => line.marked(),
        }
    });
    Ok(lines.fold(chart, Chart::line))
}

/// How far each method goes, in both couplings of both cranes.
fn largest_steps(
    pool: &FmuPool<'_>,
    throttle: Throttle,
    chart: Chart,
) -> Result<Chart, MeasureError> {
    /// Distance of the marks of a method, which may have equal heights.
    const APART: f64 = 0.14;
    let columns = [
        ("single, force", 1, 0),
        ("single, pressure", 1, 1),
        ("double, force", 2, 0),
        ("double, pressure", 2, 1),
    ];
    let names = METHODS.iter().map(Method::short_name);
    let chart = chart
        .categories(names)
        .source("the configurations of Rahikainen et al. 2020, figs 9 and 15");
    let lines = columns
        .par_iter()
        .enumerate()
        .map(|(column, (label, actuators, coupling))| {
            let crane = Crane {
                actuators: *actuators,
                throttle,
            };
            let shift = APART * (column as f64 - 1.5);
            let points = METHODS.par_iter().enumerate().map(|(place, method)| {
                let largest = largest(pool, crane, method, *coupling)?;
                Ok((place as f64 + shift, largest))
            });
            let points: Vec<_> = points.collect::<Result<_, MeasureError>>()?;
            Ok(Line::new(*label, points).dots())
        });
    let lines: Vec<Line> = lines.collect::<Result<_, MeasureError>>()?;
    Ok(lines.into_iter().fold(chart, Chart::line))
}

/// How the formulations keep the energy at H = 1 ms.
fn energies(pool: &FmuPool<'_>) -> Result<Chart, MeasureError> {
    let chart = Chart::new(
        "rahikainen2020-fig10",
        "Single crane, 1 ms: how formulations keep the energy",
        TIME,
        "error of the mechanical energy, J",
    )
    .source("counterpart of Rahikainen et al. 2020, fig. 10");
    let lines = [
        ("ALI1", Formulation::IndexOne),
        ("ALI3-P", Formulation::IndexThree),
        ("ALI3-P, restarted", Formulation::Restarted),
    ];
    let mut lines = lines.into_iter().map(|(label, formulation)| {
        let setup = Setup {
            crane: SINGLE,
            formulation,
            coupling: Coupling::Force,
            prediction: Prediction::Polynomial(2),
            solver: Solver::Euler,
            tenths: 10,
        };
        Ok(Line::new(label, pool.energy(&setup)?))
    });
    lines.try_fold(chart, |chart, line: Result<Line, MeasureError>| {
        Ok(chart.line(line?))
    })
}

const SINGLE: Crane = Crane {
    actuators: 1,
    throttle: Throttle::Narrow,
};

/// Errors of the length over the macro-step, from the paper's best configuration to the best.
fn errors(pool: &FmuPool<'_>) -> Result<Chart, MeasureError> {
    let chart = Chart::new(
        "crane-interface-models",
        "Single crane: what interface models reach",
        MACRO_STEP,
        "rms error of the length s1, mm",
    )
    .logarithmic()
    .decades()
    .source("beyond Rahikainen et al. 2020");
    let impulse = |share| Prediction::Impulse {
        displacement_correction: Some(share),
    };
    let restarted = Formulation::Restarted;
    let lines = [
        (
            "ALI1, interface model (paper)",
            Formulation::IndexOne,
            Coupling::Pressure,
            Prediction::InterfaceModel,
        ),
        (
            "ALI3-P, restarted",
            restarted,
            Coupling::Pressure,
            Prediction::InterfaceModel,
        ),
        (
            "pipelined impulse",
            restarted,
            Coupling::Pressure,
            Prediction::Pipelined,
        ),
        (
            "ALI1, force, impulse",
            Formulation::IndexOne,
            Coupling::Force,
            impulse(0.0),
        ),
        ("impulse", restarted, Coupling::Pressure, impulse(0.0)),
        (
            "impulse, displacement correction",
            restarted,
            Coupling::Pressure,
            impulse(1.0),
        ),
    ];
    let lines = lines
        .par_iter()
        .map(|(label, formulation, coupling, prediction)| {
            let setup = Setup {
                crane: SINGLE,
                formulation: *formulation,
                coupling: *coupling,
                prediction: *prediction,
                solver: Solver::Euler,
                tenths: 10,
            };
            let points = points_of(pool, &setup)?;
            Ok(Line::new(*label, points))
        });
    let lines: Vec<Line> = lines.collect::<Result<_, MeasureError>>()?;
    Ok(lines.into_iter().fold(chart, Chart::line))
}

/// Macro-steps, ms, and errors, mm, until a run fails or errs by centimetres.
fn points_of(pool: &FmuPool<'_>, setup: &Setup) -> Result<Vec<(f64, f64)>, MeasureError> {
    let mut points = Vec::new();
    let coarse = (1..=50).chain((52..=120).step_by(4));
    for milliseconds in coarse {
        let setup = Setup {
            tenths: 10 * milliseconds,
            ..*setup
        };
        let outcome = pool.run(&setup)?;
        let error = 1e3 * outcome.rms_s[0];
        if !outcome.is_finished || error > 10.0 {
            break;
        }
        points.push((f64::from(milliseconds), error));
    }
    Ok(points)
}
