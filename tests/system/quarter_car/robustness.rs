//! How long a step may be, and what noise and a second road step do: measurements to print, with
//! `cargo test -p system-tests robustness -- --ignored --nocapture`.

use fmu_models::QuarterCar;

use super::{Case, Coupling, LIN1, LIN2, NL1, NL2, Outcome, PLAIN};

const METHODS: [(&str, Coupling<'static>); 8] = [
    ("hold", PLAIN),
    (
        "hold, fresh",
        Coupling {
            exchange: "fresh",
            ..PLAIN
        },
    ),
    (
        "nepce 0.85",
        Coupling {
            correction: Some(("nepce", &[("alpha", 0.85)])),
            ..PLAIN
        },
    ),
    (
        "nepce auto",
        Coupling {
            correction: Some(("nepce", &[])),
            ..PLAIN
        },
    ),
    (
        "linear",
        Coupling {
            extrapolation: ("linear", &[]),
            ..PLAIN
        },
    ),
    (
        "linear, fresh",
        Coupling {
            extrapolation: ("linear", &[]),
            exchange: "fresh",
            ..PLAIN
        },
    ),
    (
        "auto",
        Coupling {
            extrapolation: ("auto", &[]),
            input_derivatives: 3,
            ..PLAIN
        },
    ),
    (
        "auto, fresh",
        Coupling {
            extrapolation: ("auto", &[]),
            exchange: "fresh",
            input_derivatives: 3,
            ..PLAIN
        },
    ),
];

/// Whether the force has died away in the last quarter of the run, as it does in the exact motion.
fn is_calm(outcome: &Outcome) -> bool {
    let last_quarter = outcome.points.len() / 4 * 3;
    let largest = |points: &[(f64, f64, f64)]| {
        points
            .iter()
            .map(|(_, force, _)| force.abs())
            .fold(0.0, f64::max)
    };
    let (early, late) = outcome.points.split_at(last_quarter);
    largest(late) < 0.05 * largest(early)
}

/// The largest constant step, ms, up to which all shorter ones of the grid are stable over 8 s.
fn largest_stable_step(case: &Case, coupling: &Coupling<'_>) -> u32 {
    let mut stable = 0;
    for milliseconds in [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30] {
        let macro_step = 1e-3 * f64::from(milliseconds);
        let outcome = Case {
            duration: (8.0 / macro_step).round() * macro_step,
            ..*case
        }
        .run(&Coupling {
            macro_step,
            integrator: "runge_kutta_4",
            ..*coupling
        });
        if !is_calm(&outcome) {
            break;
        }
        stable = milliseconds;
    }
    stable
}

#[test]
#[ignore = "prints measurements"]
fn largest_stable_steps() {
    for (name, coupling) in METHODS {
        let steps = [LIN1, LIN2, NL1, NL2].map(|case| largest_stable_step(&case, &coupling));
        println!("{name}: {steps:?} ms (lin1, lin2, nl1, nl2)");
    }
}

/// Feed-through that is exchanged fresh makes the unfavourable cut stable at twice the step.
#[test]
fn fresh_outputs_make_longer_steps_stable() {
    let (_, hold) = METHODS[0];
    let (_, fresh) = METHODS[1];
    assert_eq!(largest_stable_step(&LIN2, &hold), 12);
    assert_eq!(largest_stable_step(&LIN2, &fresh), 30);
}

/// A tolerance of ECCO that leads to some thousand steps.
fn tolerance(coupling: &Coupling<'_>) -> f64 {
    match coupling.extrapolation.0 {
        "auto" => 1e-10,
        "linear" => 8.4e-8,
        _ => 2.6e-6,
    }
}

#[test]
#[ignore = "prints measurements"]
fn second_road_step() {
    let car = || QuarterCar {
        second_road_step: -0.05,
        second_road_time: 2.0,
        ..QuarterCar::linear()
    };
    for (maximum_step, repeats) in [(1e-2, false), (1e-3, false), (1e-2, true)] {
        let limits: &[(&str, f64)] = if repeats {
            &[("reject_above", 5.0)]
        } else {
            &[]
        };
        for (name, coupling) in METHODS {
            let outcome = Case {
                car,
                maximum_step,
                ..LIN2
            }
            .run(&Coupling {
                integrator: "runge_kutta_4",
                ecco: Some((tolerance(&coupling), "sum-abs")),
                more_ecco: limits,
                ..coupling
            });
            println!(
                "{name}, at most {maximum_step} s: {} steps ({} repeated), dP {:.3} W",
                outcome.steps, outcome.repeated, outcome.power_error
            );
        }
    }
}

#[test]
#[ignore = "prints measurements"]
fn noise() {
    for level in [0.0, 1e-5, 1e-3] {
        for (name, coupling) in METHODS {
            let errors = [LIN1, LIN2].map(|case| {
                let outcome = case.run(&Coupling {
                    integrator: "runge_kutta_4",
                    // Below the noise a tolerance only makes the steps small.
                    ecco: Some((tolerance(&coupling).max(3e-4 * level), "sum-abs")),
                    noise: level,
                    ..coupling
                });
                format!("{} steps, dP {:.4} W", outcome.steps, outcome.power_error)
            });
            println!("noise {level:e}, {name}: {errors:?} (lin1, lin2)");
        }
    }
}

/// What noise costs stays of the size of the noise.
#[test]
fn noise_is_not_amplified() {
    for (_, coupling) in METHODS {
        let run = |noise: f64| LIN2.run(&Coupling { noise, ..coupling }).power_error;
        let (clean, noisy) = (run(0.0), run(1e-5));
        assert!(noisy < 1.1 * clean + 0.02, "{noisy} W instead of {clean} W");
    }
}
