//! The double oscillator of Rodríguez et al. 2022, table 1, with and without its energy correction.
//!
//! The first steps of the couplings; exact couplings give the monolithic solution; the errors of whole
//! runs are rows of `gyrator benchmark double-oscillator`. Numbers: `crates/benchmark/reference/double_oscillator.py` and `star.py`
//! (symplectic Euler, inputs held over each communication step of a half).

use gyrator::{RunOptions, System};
use gyrator_testkit::{Coupling, DoubleOscillator, ModelUnit, OscillatorState, TABLE_1, Trace};

const H: f64 = 1e-3;

fn correction<'a>(parameters: &'a [(&'a str, f64)]) -> Option<(&'a str, &'a [(&'a str, f64)])> {
    Some(("residual-power", parameters))
}

#[test]
fn residual_energy_of_uncorrected_runs() {
    for (number, expected) in [(1, 21664.734156996143), (2, 7262.48963700734)] {
        let system = TABLE_1[number - 1].system(&Coupling::default());
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        let residual = run.ledger().residual_energy();
        assert!((residual / expected - 1.0).abs() < 1e-6, "{residual}");
    }
}

/// Greatest distance, m, of the positions in a run from the positions by symplectic Euler on
/// the whole system.
fn distance_from_monolithic(oscillator: &DoubleOscillator, system: System) -> f64 {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    let states = DoubleOscillator::states(&trace);
    let whole = oscillator.monolithic(H, states.len() - 1);
    let distance =
        |(a, b): (&OscillatorState, &OscillatorState)| (a[0] - b[0]).abs().max((a[2] - b[2]).abs());
    states.iter().zip(&whole).map(distance).fold(0.0, f64::max)
}

// The coupling error of a single-rate run is the staleness of the force and nothing else.
#[test]
fn fresh_exchange_is_the_monolithic_solution() {
    for oscillator in TABLE_1 {
        let coupling = Coupling {
            exchange: "fresh",
            ..Coupling::default()
        };
        let distance = distance_from_monolithic(&oscillator, oscillator.system(&coupling));
        assert!(distance < 1e-12, "{distance} m");
    }
}

#[test]
fn compensated_exchange_is_the_monolithic_solution() {
    for oscillator in TABLE_1 {
        let coupling = Coupling {
            exchange: "compensated",
            ..Coupling::default()
        };
        let force = || ModelUnit::new().values_only().without_fresh();
        let motion = || ModelUnit::new().values_only();
        for force in [
            force(),
            force().without_derivatives(),
            force().without_derivatives().cached_outputs(),
        ] {
            let system = oscillator.system_of(&coupling, force, motion());
            let distance = distance_from_monolithic(&oscillator, system);
            assert!(distance < 1e-7, "{distance} m");
        }
    }
}

/// The half with the force steps ten times slower (R = 10) or faster (R = 0.1) than the other.
fn multi_rate(ratio: f64, extrapolation: &str) -> Coupling<'_> {
    let (force_step, motion_step) = if ratio > 1.0 {
        (H, 0.1 * H)
    } else {
        (0.1 * H, H)
    };
    Coupling {
        force_step,
        motion_step,
        extrapolation,
        ..Coupling::default()
    }
}

/// μ is left to eqs 20–21 of the paper.
#[test]
fn share_by_rule() {
    for (ratio, extrapolation, mu) in [
        (10.0, "hold", 0.725),
        (10.0, "linear", 0.5),
        (10.0, "quadratic", 0.5),
        (0.1, "hold", 0.5),
        (0.1, "linear", 0.05),
        (0.1, "quadratic", 0.05),
    ] {
        let coupling = Coupling {
            correction: correction(&[]),
            ..multi_rate(ratio, extrapolation)
        };
        let run = TABLE_1[0].system(&coupling).start(&RunOptions::default());
        let in_force = run.unwrap().report().bonds[0].correction_parameters["mu"];
        assert!((in_force - mu).abs() < 1e-12, "{in_force} instead of {mu}");
    }
}

/// δP_k, the correcting force f_k and U_k of the first steps, read from outside.
struct FirstSteps {
    residual_power: Vec<f64>,
    force: Vec<f64>,
    correction: Vec<f64>,
    open_energy: Vec<f64>,
}

fn first_steps(number: usize, mu: f64, nu: f64, coupling: &Coupling<'_>) -> FirstSteps {
    let parameters = [("mu", mu), ("nu", nu)];
    let coupling = Coupling {
        correction: correction(&parameters),
        ..*coupling
    };
    let system = TABLE_1[number - 1].system(&coupling);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut found = FirstSteps {
        residual_power: Vec::new(),
        force: vec![run.read_real("force.f").unwrap()],
        correction: Vec::new(),
        open_energy: Vec::new(),
    };
    let (mut velocity, mut estimated) = (run.read_real("motion.v").unwrap(), 0.0);
    for _ in 0..11 {
        run.step().unwrap();
        let before = found.force[found.force.len() - 1];
        // Held inputs: what the receiver used over the step less the force as it was published.
        found
            .correction
            .push(run.read_real("motion.f").unwrap() - before);
        let energy = run.ledger().bond(0).unwrap();
        found.open_energy.push(estimated + energy.correction_energy);
        let now = run.read_real("force.f").unwrap();
        let velocity_now = run.read_real("motion.v").unwrap();
        let residual = before * velocity_now - velocity * now;
        found.residual_power.push(residual);
        if coupling.extrapolation == "hold" {
            let booked = run.ledger().bond(0).unwrap().residual_power;
            assert!((booked - residual).abs() <= 1e-9 * residual.abs().max(1.0));
        }
        estimated += mu * H * residual;
        velocity = velocity_now;
        found.force.push(now);
    }
    found
}

#[track_caller]
fn expect_close(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs(),
            "{found} instead of {expected}"
        );
    }
}

#[test]
fn first_steps_of_the_correction() {
    let single_rate = Coupling::default();
    let first = first_steps(1, 0.5, 0.0, &single_rate);
    expect_close(&first.residual_power, &[1000.0, 2000.94, 2003.1186547]);
    expect_close(
        &first.correction[1..],
        &[5.0, 10.016218651449, 10.051265124905],
    );
    expect_close(&first.force[10..], &[188.2241530077]);
    expect_close(&first.open_energy[1..], &[5.75e-4, 2.977882026703e-3]);
    let second = first_steps(2, 0.5, 0.25, &single_rate);
    expect_close(
        &second.correction[1..],
        &[5.001500450135, 10.028503130597, 10.075657780239],
    );
    let slow = first_steps(1, 0.725, 0.0, &multi_rate(10.0, "hold"));
    expect_close(&slow.residual_power[1..], &[2000.347197888]);
    expect_close(&slow.correction[2..], &[14.532627418935]);
    let fast = first_steps(1, 0.05, 0.0, &multi_rate(0.1, "linear"));
    expect_close(
        &fast.residual_power,
        &[999.98185009583, 2900.90533176, 2004.44668480673],
    );
}
