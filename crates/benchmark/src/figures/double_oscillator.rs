//! Rodríguez et al. (2022), figures 9, 10 and 20 to 24.

use super::{DISPLACEMENT, ENERGY, Shown, TIME, points};
use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::MeasureError;
use crate::double_oscillator::{multi_rate, table_1};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const CORRECTED: Configuration = Configuration::corrected("corrected", &[("mu", 0.5)]);
const CORRECTED_NU: Configuration =
    Configuration::corrected("corrected", &[("mu", 0.5), ("nu", 0.25)]);
const CORRECTED_SLOW: Configuration = Configuration::corrected("corrected", &[("mu", 0.725)]);

/// Fig. 24: the limit of the correcting force, relative to the coupling force.
const LIMITS: [(&str, Configuration); 5] = [
    (
        "5 %",
        limited(&[("mu", 0.5), ("nu", 0.25), ("limit", 0.05)]),
    ),
    (
        "50 %",
        limited(&[("mu", 0.5), ("nu", 0.25), ("limit", 0.5)]),
    ),
    (
        "100 %",
        limited(&[("mu", 0.5), ("nu", 0.25), ("limit", 1.0)]),
    ),
    (
        "150 %",
        limited(&[("mu", 0.5), ("nu", 0.25), ("limit", 1.5)]),
    ),
    (
        "200 %",
        limited(&[("mu", 0.5), ("nu", 0.25), ("limit", 2.0)]),
    ),
];

const fn limited(parameters: &'static [(&'static str, f64)]) -> Configuration {
    Configuration::corrected("limited", parameters)
}

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let mut charts = vec![
        residual_energy(
            roles,
            1,
            Chart::new(
                "rodriguez2022-fig09",
                "Double oscillator, case 1: stale outputs make energy",
                TIME,
                "energy, J",
            )
            .source("counterpart of Rodríguez et al. 2022, fig. 9"),
        )?,
        residual_energy(
            roles,
            2,
            Chart::new(
                "rodriguez2022-fig10",
                "Double oscillator, case 2: stale outputs hide damping",
                TIME,
                "energy, J",
            )
            .source("counterpart of Rodríguez et al. 2022, fig. 10"),
        )?,
    ];
    charts.extend(multi_rate_figures(roles)?);
    charts.extend(case_7(roles)?);
    charts.push(overview(roles)?);
    Ok(charts)
}

/// Case 1 in three ways of coupling: the picture of the README.
fn overview(roles: &RoleAssignment) -> Result<Chart, MeasureError> {
    /// A point every 20 ms, a ninth of the fast oscillation's period.
    const EVERY: usize = 20;
    let shown = Shown::new(roles, table_1(1))?;
    let chart = Chart::new(
        "coupling-energy",
        "Energy of two coupled oscillators, by way of coupling",
        TIME,
        ENERGY,
    )
    .source("Rodríguez et al. 2022, table 1, case 1: macro-step 1 ms");
    let ways = [
        ("stale", STALE),
        ("stale and corrected", CORRECTED),
        ("fresh", FRESH),
    ];
    let chart = ways.iter().try_fold(chart, |chart, (label, way)| {
        let energies = shown.energies(&shown.run(way)?.states);
        let points: Vec<_> = energies.into_iter().step_by(EVERY).collect();
        Ok::<_, MeasureError>(chart.line(Line::new(*label, points)))
    })?;
    Ok(chart.line(shown.exact_energy()))
}

fn residual_energy(
    roles: &RoleAssignment,
    case: usize,
    chart: Chart,
) -> Result<Chart, MeasureError> {
    let shown = Shown::new(roles, table_1(case))?;
    let course = shown.run(&STALE)?;
    let residual = course.recording.bonds[0].residual_energy.iter().copied();
    Ok(chart
        .line(Line::new("energy, stale", shown.energies(&course.states)))
        .line(Line::new(
            "residual energy δE",
            points(&shown.times, residual),
        ))
        .line(shown.exact_energy()))
}

/// From states to the points of a curve.
type Points<'a> = dyn Fn(&[Vec<f64>]) -> Vec<(f64, f64)> + 'a;

fn multi_rate_figures(roles: &RoleAssignment) -> Result<[Chart; 2], MeasureError> {
    let shown = Shown::new(roles, multi_rate(true, "hold"))?;
    let courses = [STALE, CORRECTED_SLOW];
    let [stale, corrected] = courses.map(|configuration| shown.run(&configuration));
    let (stale, corrected) = (stale?, corrected?);
    // The paper's correction, and the cure that needs no tuning: lines, and D at the fast steps.
    let lines = Shown::new(roles, multi_rate(true, "linear"))?;
    let compensated = lines.run(&COMPENSATED)?;
    const LABELS: [&str; 3] = ["stale", "corrected, μ = 0.725", "compensated, linear"];
    let draw = |chart: Chart, line: &Points<'_>| {
        let courses = [&stale, &corrected, &compensated];
        let lines = LABELS.iter().zip(courses);
        lines.fold(chart, |chart, (label, course)| {
            chart.line(Line::new(*label, line(&course.states)))
        })
    };
    let energy = Chart::new(
        "rodriguez2022-fig20",
        "Double oscillator, case 1, multi-rate 1 / 0.1 ms",
        TIME,
        ENERGY,
    )
    .source("counterpart of Rodríguez et al. 2022, fig. 20");
    let displacement = Chart::new(
        "rodriguez2022-fig21",
        "Double oscillator, case 1, multi-rate 1 / 0.1 ms",
        TIME,
        DISPLACEMENT,
    )
    .between(9.5, 10.0)
    .source("counterpart of Rodríguez et al. 2022, fig. 21");
    Ok([
        draw(energy, &|states| shown.energies(states)).line(shown.exact_energy()),
        draw(displacement, &|states| shown.displacements(states)).line(shown.exact_displacement()),
    ])
}

/// The mean over half a second, without which the curves hide each other.
fn smoothed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    const WINDOW: usize = 500;
    let mean = |window: &[(f64, f64)]| {
        let sum = window.iter().map(|(_, value)| value).sum::<f64>();
        (window[window.len() / 2].0, sum / window.len() as f64)
    };
    points.windows(WINDOW).map(mean).collect()
}

fn case_7(roles: &RoleAssignment) -> Result<[Chart; 3], MeasureError> {
    let shown = Shown::new(roles, table_1(7))?;
    let title = "Double oscillator, case 7: masses of 10 and 1 kg";
    let displacement = Chart::new("rodriguez2022-fig22", title, TIME, DISPLACEMENT)
        .between(9.5, 10.0)
        .source("counterpart of Rodríguez et al. 2022, fig. 22")
        .line(shown.displacement("stale", &STALE)?)
        .line(shown.displacement("corrected, μ = 0.5", &CORRECTED)?)
        .line(shown.displacement("compensated", &COMPENSATED)?)
        .line(shown.exact_displacement());
    let energy = Chart::new("rodriguez2022-fig23", title, TIME, ENERGY)
        .source("counterpart of Rodríguez et al. 2022, fig. 23")
        .line(shown.energy("stale", &STALE)?)
        .line(shown.energy("corrected, ν = 0", &CORRECTED)?)
        .line(shown.energy("corrected, ν = 0.25", &CORRECTED_NU)?)
        .line(shown.energy("compensated", &COMPENSATED)?)
        .line(shown.exact_energy());
    let limits = Chart::new(
        "rodriguez2022-fig24",
        "Double oscillator, case 7: limits of the correcting force",
        TIME,
        ENERGY,
    )
    .source("counterpart of Rodríguez et al. 2022, fig. 24: μ = 0.5, ν = 0.25; mean over 0.5 s");
    let limits = LIMITS
        .iter()
        .try_fold(limits, |chart, (label, configuration)| {
            let energies = shown.energies(&shown.run(configuration)?.states);
            Ok::<_, MeasureError>(chart.line(Line::new(*label, smoothed(&energies))))
        })?;
    Ok([displacement, energy, limits.line(shown.exact_energy())])
}
