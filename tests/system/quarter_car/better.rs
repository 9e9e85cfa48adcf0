//! Better than the paper, at its number of steps, to which the tolerances r are tuned as the
//! paper's are. Other ways are rows of `gyrator benchmark quarter-car`.

use super::energies::{Known, metered};
use super::{Case, Coupling, LIN1, LIN2, NL1, NL2, PLAIN};

const CASES: [(&str, Case); 4] = [("lin1", LIN1), ("lin2", LIN2), ("nl1", NL1), ("nl2", NL2)];

/// Checks all cases against bars on dP, W, and on the integrated residual energy, J.
#[track_caller]
fn expect(
    coupling: &Coupling<'_>,
    tolerances: [f64; 4],
    power_errors: [f64; 4],
    residual_energies: [f64; 4],
) {
    for (k, (name, case)) in CASES.iter().enumerate() {
        let coupling = Coupling {
            ecco: Some((tolerances[k], "sum-abs")),
            ..*coupling
        };
        // The energies of accurate halves are smaller than the error of the ledger's integral.
        let (outcome, energy) = if coupling.integrator == "runge_kutta_4" {
            metered(case, &coupling, Known::Trial)
        } else {
            let outcome = case.run(&coupling);
            let energy = outcome.residual_integrated;
            (outcome, energy)
        };
        let most = (1e3 * case.duration) as u64;
        let power = outcome.power_error;
        println!(
            "{name}: {} steps, dP {power:.4} W, dE {:.5} J, dEint {energy:.6} J, alpha {:?}",
            outcome.steps, outcome.residual_energy, outcome.alphas
        );
        assert!(outcome.steps <= most, "{name}: {} steps", outcome.steps);
        assert!(power <= power_errors[k], "{name}: dP = {power} W");
        let limit = residual_energies[k];
        assert!(energy.abs() <= limit, "{name}: dEint = {energy} J");
    }
}

/// Units that take values only, with what compensated exchange makes of the feed-through.
#[test]
fn values_only_with_learnt_correction_and_compensation() {
    let coupling = Coupling {
        correction: Some(("nepce", &[])),
        exchange: "compensated",
        input_derivatives: 0,
        ..PLAIN
    };
    expect(
        &coupling,
        [1.632e-6, 2.639e-6, 4.514e-6, 3.134e-5],
        [0.008, 0.02, 0.07, 0.6],
        [0.05, 0.1, 0.05, 0.25],
    );
}

/// Accurate halves show the coupling error alone.
#[test]
fn coupling_error_alone() {
    let coupling = Coupling {
        extrapolation: ("auto", &[]),
        exchange: "fresh",
        input_derivatives: 3,
        integrator: "runge_kutta_4",
        ..PLAIN
    };
    expect(
        &coupling,
        [4.2e-11, 6.2e-11, 3.3e-8, 2.8e-7],
        [4e-5, 1e-4, 0.01, 0.02],
        [1e-4, 1e-4, 1e-4, 0.01],
    );
}
