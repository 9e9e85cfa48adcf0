//! Systems of FMUs: the same numbers as the same models in process.

use gyrator::{Report, RunOptions, System};
use gyrator_system::SystemFile;
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1, Trace, fmu};

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

/// Runs case `number` of table 1 with FMUs and in process, and compares both bit by bit.
fn run_both(number: usize, coupling: &Coupling<'_>) {
    let oscillator = TABLE_1[number - 1];
    let models = oscillator.system_of(coupling, ModelUnit::new(), ModelUnit::new());
    let fmus = System::from_file(with_fmus(&models)).unwrap();
    let ((fmus, of_fmus), (models, of_models)) = (run(fmus), run(models));
    assert_eq!(fmus.bits(), models.bits());
    assert_eq!(of_fmus, of_models);
}

const CORRECTED: Option<(&str, &[(&str, f64)])> = Some(("residual-power", &[("mu", 0.5)]));

#[test]
fn whole_runs_are_the_same_with_fmus() {
    run_both(1, &Coupling::default());
    let corrected = Coupling {
        correction: Some(("residual-power", &[])),
        motion_step: 1e-4,
        ..Coupling::default()
    };
    run_both(1, &corrected);
}

#[test]
fn every_exchange_and_extrapolation_is_the_same_with_fmus() {
    for exchange in gyrator::exchange_mode::Exchange::WORDS {
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
