//! The rows of tables 4 to 9.

use super::{Case, Coupling, LIN1, LIN2, NL1, NL2, Outcome, PLAIN, assert_near};

/// Limit of the interface Jacobian, N·s/m: the damper's grows without bound where it turns back.
const JACOBIAN_LIMIT: (&str, f64) = ("jacobian_limit", 2000.0);

/// Runs with NEPCE, with the interface Jacobian if `modified`.
fn corrected(case: &Case, alpha: f64, modified: bool, coupling: &Coupling<'_>) -> Outcome {
    let parameters: &[(&str, f64)] = &[("alpha", alpha), JACOBIAN_LIMIT];
    let correction = if modified {
        ("nepce-feedthrough", parameters)
    } else {
        ("nepce", &parameters[..1])
    };
    case.run(&Coupling {
        correction: Some(correction),
        ..*coupling
    })
}

#[track_caller]
fn expect(
    outcome: &Outcome,
    power_error: (f64, f64),
    residual_energy: (f64, f64),
    steps: (u64, u64),
) {
    assert_near("dP", outcome.power_error, power_error.0, power_error.1);
    let (energy, tolerance) = residual_energy;
    assert_near("dE", outcome.residual_energy.abs(), energy, tolerance);
    assert_near(
        "steps",
        outcome.steps as f64,
        steps.0 as f64,
        steps.1 as f64,
    );
}

#[test]
fn constant_steps_without_correction() {
    for (case, power_error, energy, steps) in [
        (LIN1, (0.92, 0.03), (6.30, 0.03), 4000),
        (LIN2, (10.35, 0.15), (22.4, 0.1), 4000),
        (NL1, (1.25, 0.06), (4.73, 0.03), 2000),
        (NL2, (22.7, 0.5), (44.0, 0.3), 2000),
    ] {
        expect(&case.run(&PLAIN), power_error, energy, (steps, 0));
    }
}

#[test]
fn constant_steps_with_nepce() {
    for (case, alpha, power_error, energy, steps) in [
        (LIN1, 0.95, (0.19, 0.02), (3.205, 0.02), 4000),
        (LIN2, 0.85, (3.75, 0.12), (10.57, 0.1), 4000),
        (NL1, 0.6, (0.47, 0.06), (2.944, 0.02), 2000),
        (NL2, 0.4, (13.6, 0.3), (29.8, 0.2), 2000),
    ] {
        let outcome = corrected(&case, alpha, false, &PLAIN);
        expect(&outcome, power_error, energy, (steps, 0));
    }
}

#[test]
fn constant_steps_with_modified_nepce() {
    for (case, alpha, power_error, energy, steps) in [
        (LIN1, 0.95, (0.12, 0.015), (3.203, 0.02), 4000),
        (LIN2, 0.85, (2.7, 0.15), (10.1, 0.1), 4000),
        (NL1, 0.6, (0.46, 0.07), (2.95, 0.03), 2000),
        (NL2, 0.4, (11.2, 0.4), (29.2, 0.4), 2000),
    ] {
        let outcome = corrected(&case, alpha, true, &PLAIN);
        expect(&outcome, power_error, energy, (steps, 0));
    }
}

/// ECCO as in the paper, at one of its tolerances.
fn ecco(tolerance: f64) -> Coupling<'static> {
    Coupling {
        ecco: Some((tolerance, "signed")),
        overshoot: true,
        ..PLAIN
    }
}

#[test]
fn ecco_with_nepce() {
    for (case, alpha, tolerance, power_error, energy, steps) in [
        (LIN1, 0.95, 1.6e-6, (0.080, 0.01), (0.80, 0.04), (3900, 120)),
        (LIN2, 0.85, 1.4e-6, (0.28, 0.06), (0.32, 0.04), (3900, 250)),
        (NL1, 0.6, 4.7e-6, (0.21, 0.02), (1.00, 0.04), (1987, 50)),
        (NL2, 0.4, 2.6e-5, (3.85, 0.4), (3.85, 0.2), (1990, 50)),
    ] {
        let outcome = corrected(&case, alpha, false, &ecco(tolerance));
        expect(&outcome, power_error, energy, steps);
    }
}

#[test]
fn ecco_with_modified_nepce() {
    for (case, alpha, tolerance, power_error, energy, steps) in [
        (
            LIN1,
            0.95,
            1.6e-6,
            (0.050, 0.008),
            (0.815, 0.04),
            (3900, 120),
        ),
        (LIN2, 0.85, 1.4e-6, (0.195, 0.03), (0.26, 0.04), (3900, 250)),
        (NL1, 0.6, 4.6e-6, (0.195, 0.02), (1.00, 0.04), (2013, 50)),
        (NL2, 0.4, 2.7e-5, (3.0, 0.3), (3.8, 0.2), (1997, 50)),
    ] {
        let outcome = corrected(&case, alpha, true, &ecco(tolerance));
        expect(&outcome, power_error, energy, steps);
    }
}

/// P-mean, and ECCO without correction, at the paper's tolerances.
#[test]
fn mean_power_and_plain_ecco() {
    assert_near("P-mean", LIN1.run(&PLAIN).mean_power, 0.389, 1e-3);
    assert_near("P-mean", LIN2.run(&PLAIN).mean_power, -189.1, 0.1);
    for (case, tolerance, steps, power_error, energy) in [
        (LIN1, 1.6e-6, 5452, 0.328, 1.136),
        (LIN2, 1.4e-6, 4822, 0.781, 0.456),
        (NL1, 4.7e-6, 2497, 0.500, 1.266),
        (NL2, 2.6e-5, 2240, 5.58, 4.51),
    ] {
        let bars = (steps, steps / 50);
        let outcome = case.run(&ecco(tolerance));
        expect(
            &outcome,
            (power_error, 0.03 * power_error),
            (energy, 0.03 * energy),
            bars,
        );
    }
}

/// Outputs of S1 and S2 after some steps, to nine digits.
#[test]
fn coupled_motion() {
    let forces_and_velocities = |outcome: &Outcome, n: usize| {
        let (_, effort, flow) = outcome.points[n];
        (flow, effort)
    };
    let near = |(flow, effort): (f64, f64), v: f64, f: f64| {
        assert_near("velocity", flow, v, 1e-8 * v.abs());
        assert_near("force", effort, f, 1e-8 * f.abs());
    };
    let lin1 = LIN1.run(&PLAIN);
    near(forces_and_velocities(&lin1, 2), 9.32237782e-4, 740.623814);
    near(forces_and_velocities(&lin1, 50), 0.461723567, 1623.38079);
    let nepce = corrected(&LIN1, 0.95, false, &PLAIN);
    near(forces_and_velocities(&nepce, 2), 1.37505073e-3, 740.623814);
    near(forces_and_velocities(&nepce, 50), 0.462866254, 1616.61228);
    let modified = corrected(&LIN1, 0.95, true, &PLAIN);
    near(forces_and_velocities(&modified, 50), 0.462592481, 1616.88);
    let lin2 = LIN2.run(&PLAIN);
    near(forces_and_velocities(&lin2, 2), 0.748137351, 379.440161);
    near(forces_and_velocities(&lin2, 50), -0.0829199332, 1627.86814);
    let nepce = corrected(&LIN2, 0.85, false, &PLAIN);
    near(forces_and_velocities(&nepce, 50), 0.0361151513, 1646.73934);
    let modified = corrected(&LIN2, 0.85, true, &PLAIN);
    near(
        forces_and_velocities(&modified, 50),
        0.066260115,
        1678.59905,
    );
    near(
        forces_and_velocities(&NL1.run(&PLAIN), 50),
        0.333676837,
        1650.35809,
    );
    near(
        forces_and_velocities(&NL2.run(&PLAIN), 50),
        -0.342736339,
        1751.19528,
    );
}

/// The first steps of ECCO in reticulation 2, µs, to three or four digits: they grow by the greatest
/// change until the indicator has its say.
#[test]
fn first_steps() {
    let outcome = corrected(&LIN2, 0.85, false, &ecco(1.4e-6));
    let expected = [10.0, 15.0, 22.5, 33.75, 50.6, 75.9, 113.9, 170.9];
    for (k, expected) in expected.iter().enumerate() {
        let step = outcome.points[k + 1].0 - outcome.points[k].0;
        assert_near("step", step * 1e6, *expected, 1e-3 * expected);
        assert_near("recorded step", outcome.control[k + 1].0, step, 1e-12);
    }
    let next = outcome.points[9].0 - outcome.points[8].0;
    assert!(next < 1.499 * 170.9e-6, "{next}");
}

/// The right-end sum halves where the integrated residual energy almost vanishes: the true reduction
/// is by 97, 89, 74 and 59 %.
#[test]
fn integrated_residual_energy() {
    for (case, alpha, share) in [
        (LIN1, 0.95, 0.03),
        (LIN2, 0.85, 0.11),
        (NL1, 0.6, 0.26),
        (NL2, 0.4, 0.41),
    ] {
        let (plain, nepce) = (case.run(&PLAIN), corrected(&case, alpha, false, &PLAIN));
        let modified = corrected(&case, alpha, true, &PLAIN);
        for outcome in [&plain, &nepce, &modified] {
            println!(
                "dE {:.3} J, dEint {:.3} J, dP {:.3} W",
                outcome.residual_energy, outcome.residual_integrated, outcome.power_error
            );
        }
        let reached = nepce.residual_integrated / plain.residual_integrated;
        assert_near(
            "share of the energy that is left",
            reached.abs(),
            share,
            0.03,
        );
        let shown = nepce.residual_energy / plain.residual_energy;
        assert!((0.45..0.70).contains(&shown), "{shown}");
    }
}
