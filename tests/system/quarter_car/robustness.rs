//! How long a step may be, and what noise does. What a second road step costs: `gyrator benchmark quarter-car`.

use super::{Case, Coupling, LIN2, PLAIN, QuarterCarOutcome};

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
fn is_calm(outcome: &QuarterCarOutcome) -> bool {
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

/// Feed-through that is exchanged fresh makes the unfavourable cut stable at twice the step.
#[test]
fn fresh_outputs_make_longer_steps_stable() {
    let (_, hold) = METHODS[0];
    let (_, fresh) = METHODS[1];
    assert_eq!(largest_stable_step(&LIN2, &hold), 12);
    assert_eq!(largest_stable_step(&LIN2, &fresh), 30);
}

/// The effect of noise stays of the size of the noise.
#[test]
fn noise_is_not_amplified() {
    for (_, coupling) in METHODS {
        let run = |noise: f64| LIN2.run(&Coupling { noise, ..coupling }).power_error;
        let (clean, noisy) = (run(0.0), run(1e-5));
        assert!(noisy < 1.1 * clean + 0.02, "{noisy} W instead of {clean} W");
    }
}
