//! Three FMUs, two bonds on one of them, two axes on each bond: every word of every registry runs
//! with every method, or is refused by name.

use gyrator::correction::CORRECTIONS;
use gyrator::exchange_mode::Exchange;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::interface_model::PassedForce;
use gyrator::method::METHODS;
use gyrator::step_control::STEP_CONTROLS;
use gyrator::{RunOptions, StartError, StopReason, System};
use gyrator_system::{Choice, Spanned, SystemFile, toml_file};
use gyrator_testkit::fmu;

/// The double crane of the examples, without its interface model, for a few macro-steps of 1 ms.
fn double_crane() -> SystemFile {
    let text = include_str!("../../examples/double-crane.toml");
    let (mut file, _) = toml_file::parse(text, "double-crane.toml").unwrap();
    for component in &mut file.components {
        let name = component.fmu.value.file_stem().unwrap().to_owned();
        component.fmu.value = fmu(name.to_str().unwrap());
        if name == "HydraulicCircuit" {
            component.step_size = Some(Spanned::unplaced(1e-4));
        }
    }
    file.interface_models.clear();
    file.experiment.step_size = Some(Spanned::unplaced(1e-3));
    file.experiment.stop_time = Some(Spanned::unplaced(8e-3));
    file
}

/// Runs to the stop time; or the refusal.
fn run(file: SystemFile) -> Result<(), String> {
    let run = System::from_file(file)
        .unwrap()
        .start(&RunOptions::default());
    match run {
        Ok(mut run) => {
            let report = run.run().unwrap();
            assert_eq!(report.stop_reason, StopReason::StopTime);
            assert_eq!((report.components.len(), report.bonds.len()), (3, 2));
            Ok(())
        }
        Err(StartError::Invalid(problems)) => Err(problems.to_string()),
        Err(other) => panic!("{other}"),
    }
}

/// An entry next to a method: the key, the word, and how it is set.
type Change = (&'static str, Box<dyn Fn(&mut SystemFile)>);

fn changes() -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for entry in EXTRAPOLATIONS {
        let set = |file: &mut SystemFile| {
            file.experiment.extrapolation = Some(Choice::new(entry.name));
        };
        changes.push((entry.name, Box::new(set)));
    }
    for entry in CORRECTIONS {
        let set = |file: &mut SystemFile| {
            for bond in &mut file.bonds {
                bond.correction = Some(Choice::new(entry.name));
            }
        };
        changes.push((entry.name, Box::new(set)));
    }
    for entry in STEP_CONTROLS {
        let set = |file: &mut SystemFile| {
            file.experiment.step_control = Some(Choice::new(entry.name));
        };
        changes.push((entry.name, Box::new(set)));
    }
    for word in Exchange::WORDS {
        let set = move |file: &mut SystemFile| {
            file.experiment.exchange = Some(Spanned::unplaced(word.to_owned()));
        };
        changes.push((word, Box::new(set)));
    }
    changes
}

#[test]
fn every_word_runs_with_every_method_or_is_refused_by_name() {
    let mut refused = Vec::new();
    for method in METHODS {
        for (word, change) in changes() {
            let mut file = double_crane();
            file.experiment.method = Some(Choice::new(method.name));
            change(&mut file);
            if let Err(refusal) = run(file) {
                assert!(refusal.contains(&format!("`{word}`")), "{refusal}");
                refused.push((method.name, word));
            }
        }
    }
    // Extrapolations that need the source's own steps may refuse these; nothing else may be refused.
    let any_step = |word: &str| {
        let mut extrapolations = gyrator_testkit::extrapolations_of_any_step();
        let is_extrapolation = EXTRAPOLATIONS.iter().any(|entry| entry.name == word);
        !is_extrapolation || extrapolations.any(|entry| entry.name == word)
    };
    refused.retain(|(_, word)| any_step(word));
    let corrected = CORRECTIONS.iter().map(|entry| ("mean-force", entry.name));
    assert_eq!(refused, corrected.collect::<Vec<_>>());
}

#[test]
fn the_interface_model_of_the_documentation_runs() {
    let text = include_str!("../../docs/coupling.md");
    let (_, example) = text.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let (mut file, warnings) = toml_file::parse(example, "coupling.toml").unwrap();
    assert_eq!(warnings, []);
    for component in &mut file.components {
        let name = component.fmu.value.file_stem().unwrap().to_owned();
        component.fmu.value = fmu(name.to_str().unwrap());
    }
    let system = System::from_file(file).unwrap();
    let report = system.start(&RunOptions::default()).unwrap().run().unwrap();
    assert_eq!((report.stop_time, report.steps), (1.0, 20));
    let model = &report.interface_models[0];
    assert_eq!(
        (model.schedule.order, model.schedule.force),
        ("fast-first", PassedForce::Mean)
    );
    // 50 exchanges with the circuit in each macro-step, and one step of the mechanics.
    assert_eq!(report.counters.unit_steps, 20 * 51);
}
