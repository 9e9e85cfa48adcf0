//! Thielemans et al. (2023), figures 5 to 10.

use super::TIME;
use crate::assembly::{Configuration, STALE};
use crate::benchmark::MeasureError;
use crate::learned_oscillator::{LearningRun, all_iterations, learn, oscillators};
use crate::oscillators::Oscillators;
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const CORRECTED: Configuration = Configuration::corrected("corrected", &[("mu", 0.5)]);

/// Points of which the greatest is shown: an error that oscillates has no logarithm when it passes
/// zero.
const WINDOW: usize = 100;

/// Iterations that are shown.
const SHOWN: [usize; 5] = [0, 1, 4, 8, 12];

struct Titles {
    convergence: (&'static str, &'static str, &'static str),
    force: (&'static str, &'static str, &'static str),
    energy: (&'static str, &'static str, &'static str),
}

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let damped = Titles {
        convergence: (
            "thielemans2023-fig05",
            "Learning the damped oscillator: convergence",
            "counterpart of Thielemans et al. 2023, fig. 5",
        ),
        force: (
            "thielemans2023-fig07",
            "Learning the damped oscillator: force on mass 2",
            "counterpart of Thielemans et al. 2023, fig. 7: greatest in 0.1 s",
        ),
        energy: (
            "thielemans2023-fig08",
            "Learning the damped oscillator: energy",
            "counterpart of Thielemans et al. 2023, fig. 8: greatest in 0.1 s",
        ),
    };
    let undamped = Titles {
        convergence: (
            "thielemans2023-fig06",
            "Learning the undamped oscillator: convergence",
            "counterpart of Thielemans et al. 2023, fig. 6",
        ),
        force: (
            "thielemans2023-fig09",
            "Learning the undamped oscillator: force on mass 2",
            "counterpart of Thielemans et al. 2023, fig. 9: greatest in 0.1 s",
        ),
        energy: (
            "thielemans2023-fig10",
            "Learning the undamped oscillator: energy",
            "counterpart of Thielemans et al. 2023, fig. 10: greatest in 0.1 s",
        ),
    };
    let mut charts = of_case(roles, "damped", &damped)?;
    charts.extend(of_case(roles, "undamped", &undamped)?);
    charts.sort_by_key(|chart| chart.name);
    Ok(charts)
}

fn of_case(
    roles: &RoleAssignment,
    case: &str,
    titles: &Titles,
) -> Result<Vec<Chart>, MeasureError> {
    let oscillators = oscillators(case);
    let learnt = learn(roles, &oscillators, &all_iterations())?;
    let whole = oscillators.monolithic();
    Ok(vec![
        convergence(&oscillators, &learnt, &whole, titles),
        forces(&oscillators, &learnt, &whole, titles),
        energies(roles, &oscillators, &learnt, &whole, titles)?,
    ])
}

fn convergence(
    oscillators: &Oscillators,
    learnt: &LearningRun,
    whole: &[Vec<f64>],
    titles: &Titles,
) -> Chart {
    let (name, title, source) = titles.convergence;
    let iterations = &learnt.learned.iterations;
    let by_iteration = |value: &dyn Fn(usize) -> f64| {
        let numbers = 0..iterations.len();
        numbers
            .map(|index| (index as f64, value(index)))
            .collect::<Vec<_>>()
    };
    let energy = |index: usize| {
        let errors = oscillators.energy_errors(&learnt.states[index], whole);
        errors
            .iter()
            .fold(0.0, |max: f64, error| max.max(error.abs()))
    };
    Chart::new(name, title, "iteration", "error, N or J")
        .source(source)
        .between(-0.2, 12.2)
        .logarithmic()
        .line(Line::new("‖e‖₂, N", by_iteration(&|index| iterations[index].norm_2)).marked())
        .line(Line::new("max |e|, N", by_iteration(&|index| iterations[index].max)).marked())
        .line(Line::new("max |E − E monolithic|, J", by_iteration(&energy)).marked())
}

/// The greatest magnitude in each window.
fn envelope(times: &[f64], errors: &[f64]) -> Vec<(f64, f64)> {
    let greatest = |errors: &[f64]| {
        errors
            .iter()
            .fold(0.0, |max: f64, error| max.max(error.abs()))
    };
    let windows = times.chunks(WINDOW).zip(errors.chunks(WINDOW));
    windows
        .map(|(times, errors)| (times[times.len() / 2], greatest(errors)))
        .collect()
}

/// Force that really acted on mass 2 over each step, N, from its motion.
fn felt(oscillators: &Oscillators, states: &[Vec<f64>]) -> Vec<f64> {
    let hub = &oscillators.star.hub;
    let force = |pair: &[Vec<f64>]| {
        let ([_, x, _, v], [_, _, _, next]) = (&pair[0][..], &pair[1][..]) else {
            return f64::NAN;
        };
        hub.m * (next - v) / oscillators.macro_step() + hub.wall.k * x + hub.wall.c * v
    };
    states.windows(2).map(force).collect()
}

fn forces(
    oscillators: &Oscillators,
    learnt: &LearningRun,
    whole: &[Vec<f64>],
    titles: &Titles,
) -> Chart {
    let (name, title, source) = titles.force;
    let right = felt(oscillators, whole);
    let chart = Chart::new(name, title, TIME, "|f − f monolithic|, N")
        .source(source)
        .between(0.0, 20.0)
        .logarithmic();
    SHOWN.iter().fold(chart, |chart, &iteration| {
        let found = felt(oscillators, &learnt.states[iteration]);
        let errors: Vec<f64> = found
            .iter()
            .zip(&right)
            .map(|(found, right)| found - right)
            .collect();
        chart.line(Line::new(
            format!("iteration {iteration}"),
            envelope(&oscillators.times(), &errors),
        ))
    })
}

fn energies(
    roles: &RoleAssignment,
    oscillators: &Oscillators,
    learnt: &LearningRun,
    whole: &[Vec<f64>],
    titles: &Titles,
) -> Result<Chart, MeasureError> {
    let (name, title, source) = titles.energy;
    let line = |label: String, states: &[Vec<f64>]| {
        let errors = oscillators.energy_errors(states, whole);
        Line::new(label, envelope(&oscillators.times(), &errors))
    };
    let mut chart = Chart::new(name, title, TIME, "|E − E monolithic|, J")
        .source(source)
        .between(0.0, 20.0)
        .logarithmic()
        .line(line(
            "stale".to_owned(),
            &oscillators.run(roles, &STALE)?.states,
        ))
        .line(line(
            "corrected, μ = 0.5".to_owned(),
            &oscillators.run(roles, &CORRECTED)?.states,
        ));
    for iteration in [0, 4, 8, 12] {
        chart = chart.line(line(
            format!("iteration {iteration}"),
            &learnt.states[iteration],
        ));
    }
    Ok(chart)
}
