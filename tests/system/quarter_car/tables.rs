//! First steps of the rows of tables 4 to 9, whose whole runs `gyrator benchmark quarter-car` judges.

use super::{Case, Coupling, LIN1, LIN2, NL1, NL2, PLAIN, QuarterCarOutcome, assert_near};

/// Limit of the interface Jacobian, N·s/m: the damper's grows without bound when it turns back.
const JACOBIAN_LIMIT: (&str, f64) = ("jacobian_limit", 2000.0);

/// Runs with NEPCE, with the interface Jacobian if `modified`.
fn corrected(
    case: &Case,
    alpha: f64,
    modified: bool,
    coupling: &Coupling<'_>,
) -> QuarterCarOutcome {
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

/// ECCO as in the paper, at one of its tolerances.
fn ecco(tolerance: f64) -> Coupling<'static> {
    Coupling {
        ecco: Some((tolerance, "signed")),
        overshoot: true,
        ..PLAIN
    }
}

/// Outputs of S1 and S2 after some steps, to nine digits (`crates/benchmark/reference/quarter_car.py`).
#[test]
fn coupled_motion() {
    let forces_and_velocities = |outcome: &QuarterCarOutcome, n: usize| {
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

/// The right-end sum halves while the integrated residual energy almost vanishes: the true reduction
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
