//! The hydraulic crane, table 5.

use fmu_models::{CraneCylinder, CraneLinks, CraneMechanics, InterpolatingCraneCylinder};
use gyrator::System;
use gyrator_benchmark::reference::{HydraulicCrane, Reference};
use gyrator_system::Value;
use gyrator_testkit::ModelUnit;

use super::{Coupling, MONOLITHIC, UNCORRECTED, corrected, exact, expect, rms, rows, run};

fn crane_system(step: f64, cylinder_step: f64, coupling: Coupling<'_>) -> System {
    let mut system = System::new(step);
    system.add("links", ModelUnit::<CraneLinks>::new());
    system
        .add("cylinder", ModelUnit::<CraneCylinder>::new())
        .step_size(cylinder_step)
        .extrapolation("linear")
        .exchange(coupling.exchange);
    system.connect("links.s", "cylinder.s");
    let bond = system.bond(
        "piston",
        ("cylinder.f", "links.f"),
        ("links.v", "cylinder.v"),
    );
    if !coupling.correction.is_empty() {
        bond.correction("residual-power", coupling.correction);
    }
    system
}

/// rms error of the cylinder's length, mm; energy error at the end, J.
fn measure_crane(crane: &HydraulicCrane, exact: &[Vec<f64>], coupling: Coupling<'_>) -> [f64; 2] {
    let trace = run(crane_system(10e-3, 0.25e-3, coupling), 10.0);
    let names = [
        "links.theta1",
        "links.theta2",
        "links.omega1",
        "links.omega2",
        "links.s",
    ];
    let states = rows(&trace, names);
    let pairs = states.iter().zip(exact);
    let last = states.len() - 1;
    let length = rms(pairs.map(|(state, exact)| state[4] - crane.length(exact)));
    [
        1e3 * length,
        crane.energy(&states[last]) - crane.energy(&exact[last]),
    ]
}

#[test]
fn hydraulic_crane() {
    let crane = HydraulicCrane::table_5();
    let exact = exact(&crane, 10e-3);
    let published = corrected(&[("mu", 0.0125), ("limit", 0.1), ("limit_absolute", 100.0)]);
    let relative = corrected(&[("mu", 0.0125), ("limit", 0.1)]);
    let reversed = corrected(&[("mu", -0.0125), ("limit", 0.1), ("limit_absolute", 100.0)]);
    #[rustfmt::skip]
    let cases = [
        ("uncorrected", UNCORRECTED, [0.5036882886, -11.60426309], 1e-6),
        ("fresh", MONOLITHIC, [0.5158484791, -12.1753681], 1e-6),
        ("corrected", published, [1.189482882, -29.58701933], 1e-4),
        ("corrected, 10 %", relative, [2.342800682, -59.19375425], 1e-4),
        ("reversed", reversed, [0.2400189443, -0.02467345964], 1e-4),
    ];
    for (name, coupling, expected, tolerance) in cases {
        expect(
            name,
            measure_crane(&crane, &exact, coupling),
            expected,
            tolerance,
        );
    }
}

/// The oscillation between 3 and 5 s that Rodríguez et al. (2022), figs 36 and 37, show at
/// H = 11.5 ms, as the residual power of eq. 8 sees it.
#[test]
fn crane_oscillates_at_a_long_step() {
    let step = 11.5e-3;
    let trace = run(crane_system(step, 0.1e-3, UNCORRECTED), 869.0 * step);
    let coupling = rows(&trace, ["cylinder.f", "links.v"]);
    let residual: Vec<f64> = coupling
        .windows(2)
        .map(|pair| (pair[0][0] * pair[1][1] - pair[0][1] * pair[1][0]).abs())
        .collect();
    let times = trace.times();
    let max = |from: f64, to: f64| {
        let steps = residual
            .iter()
            .zip(&times[1..])
            .filter(|(_, time)| (from..to).contains(*time));
        steps.fold((0.0, 0.0), |max, (power, time)| {
            if *power > max.0 { (*power, *time) } else { max }
        })
    };
    let (greatest, time) = max(0.0, 10.0);
    let lengths = trace.column("links.s");
    let shortest = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let measured = [greatest, time, max(0.0, 2.0).0, max(6.0, 10.0).0, shortest];
    let expected = [64221.40927, 3.91, 343.2238412, 553.3060784, 0.3660389476];
    expect("11.5 ms", measured, expected, 1e-4);
}

/// The same with the formulation ALI1 and a force under the inputs that are predicted for the end of a step:
/// total variation of the rate in each second, m/s, of which the reproduction has two or three digits.
#[test]
fn interpolating_cylinder_bursts_and_recovers() {
    let step = 11.5e-3;
    let mut system = System::new(step);
    system.add("mechanics", ModelUnit::<CraneMechanics>::new());
    system
        .add("cylinder", ModelUnit::<InterpolatingCraneCylinder>::new())
        .start("step_size", Value::Real(0.1e-3))
        .extrapolation("linear")
        .exchange(UNCORRECTED.exchange);
    system.connect("mechanics.s1", "cylinder.s");
    let (effort, flow) = (
        ("cylinder.f", "mechanics.f1"),
        ("mechanics.v1", "cylinder.v"),
    );
    system.bond("piston", effort, flow);
    let trace = run(system, 869.0 * step);
    let rates = trace.column("mechanics.v1");
    let mut variations = [0.0; 10];
    for (pair, end) in rates.windows(2).zip(&trace.times()[1..]) {
        variations[*end as usize] += (pair[1] - pair[0]).abs();
    }
    let expected = [0.26, 0.83, 8.6, 33.8, 11.4, 1.2, 0.55, 0.54, 0.29, 0.84];
    expect("11.5 ms, ALI1", variations, expected, 0.05);
}
