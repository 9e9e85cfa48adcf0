//! Systems of FMUs: the same numbers as the same models in process.

use gyrator::{Report, RunOptions, System};
use gyrator_system::SystemFile;
use gyrator_testkit::{Coupling, DoubleOscillator, ModelUnit, TABLE_1, Trace, fmu};

/// The description of a system of in-process oscillators, with their FMUs.
fn with_fmus(system: &System) -> SystemFile {
    let mut file = system.description().clone();
    for component in &mut file.components {
        let model = match component.name.value.as_str() {
            "force" => "OscillatorForce",
            _ => "OscillatorMotion",
        };
        component.fmu.value = fmu(model);
    }
    file
}

fn run(system: System) -> (Trace, Report) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace, report)
}

/// Runs case `number` of table 1 with FMUs and in process, compares both, and returns the energy
/// error's greatest magnitude, J, and the rms error of x2, m.
fn run_both(number: usize, coupling: &Coupling<'_>) -> [f64; 2] {
    let oscillator = TABLE_1[number - 1];
    let models = oscillator.system_of(coupling, ModelUnit::new(), ModelUnit::new());
    let fmus = System::from_file(with_fmus(&models)).unwrap();
    let ((fmus, of_fmus), (models, of_models)) = (run(fmus), run(models));
    assert_eq!(fmus.bits(), models.bits());
    assert_eq!(of_fmus, of_models);
    let metrics = oscillator.metrics(1e-3, &DoubleOscillator::states(&fmus));
    [metrics.energy_max, metrics.rms_x2]
}

const CORRECTED: Option<(&str, &[(&str, f64)])> = Some(("residual-power", &[("mu", 0.5)]));

#[track_caller]
fn expect(measured: [f64; 2], expected: [f64; 2], tolerance: f64) {
    for (measured, expected) in measured.into_iter().zip(expected) {
        assert!(
            (measured / expected - 1.0).abs() <= tolerance,
            "{measured} instead of {expected}"
        );
    }
}

// Numbers: independent reproduction of Rodríguez et al. 2022, table 1.
#[test]
fn table_1_with_fmus() {
    let uncorrected = Coupling::default();
    let corrected = Coupling {
        correction: CORRECTED,
        ..uncorrected
    };
    expect(
        run_both(1, &uncorrected),
        [10338.5643356, 0.801912542069],
        1e-6,
    );
    expect(
        run_both(1, &corrected),
        [217.309656832, 0.0429487707138],
        1e-4,
    );
    expect(
        run_both(2, &uncorrected),
        [1365.56940935, 0.362479146505],
        1e-6,
    );
    expect(
        run_both(2, &corrected),
        [132.678067877, 0.0457010898862],
        1e-4,
    );
}

#[test]
fn multi_rate_with_fmus() {
    let slow_force = Coupling {
        motion_step: 1e-4,
        ..Coupling::default()
    };
    expect(
        run_both(1, &slow_force),
        [20199.479598, 1.32773086237],
        1e-6,
    );
    let corrected = Coupling {
        correction: Some(("residual-power", &[])),
        ..slow_force
    };
    expect(
        run_both(1, &corrected),
        [128.437114598, 0.158136024263],
        1e-4,
    );
}

#[test]
fn every_exchange_and_extrapolation_is_the_same_with_fmus() {
    for exchange in gyrator::Exchange::WORDS {
        for extrapolation in gyrator_testkit::extrapolations_of_any_step() {
            for (force_step, motion_step) in [(1e-3, 1e-4), (1e-4, 1e-3), (4e-3, 1e-3)] {
                run_both(
                    2,
                    &Coupling {
                        force_step,
                        motion_step,
                        extrapolation: extrapolation.name,
                        exchange,
                        correction: CORRECTED,
                        stop_time: 0.2,
                        ..Coupling::default()
                    },
                );
            }
        }
    }
}
