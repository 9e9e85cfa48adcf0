//! V-38 to V-50: the FMU as it runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use gyrator_fmu::memory::resident_bytes;
use gyrator_fmu::{
    BaseType, Causality, Initial, InstanceOptions, LoadError, ScalarVariable, TypeAttributes,
};

use super::repacking::with_another_guid;
use super::start_values::another;
use crate::finding::Severity;
use crate::rule::{Check, Rule};
use crate::trajectory::{Outputs, Trajectory};
use crate::trial::{STEPS, Stop, Trial};

/// The rule that is tried first: it only runs the FMU.
pub(crate) static REHEARSAL: Rule = Rule {
    number: 50,
    title: "the FMU can be loaded, initialized as it comes, stepped and ended",
    severity: Severity::Fatal,
    source: "4.2",
    check: Check::Dynamic(can_be_run),
};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 38,
        title: "fmi2Instantiate checks the GUID",
        severity: Severity::Warning,
        source: "2.1.5, guid",
        check: Check::Dynamic(guid_is_checked),
    },
    Rule {
        number: 39,
        title: "fmi2GetVersion and fmi2GetTypesPlatform return what they have to",
        severity: Severity::Error,
        source: "2.1.4",
        check: Check::Dynamic(version_is_right),
    },
    Rule {
        number: 40,
        title: "the logger is called with the name and the environment of the instance",
        severity: Severity::Error,
        source: "2.1.5, logger",
        check: Check::Dynamic(logger_is_called_right),
    },
    Rule {
        number: 41,
        title: "enumerations have values that their types know",
        severity: Severity::Error,
        source: "2.2.3",
        check: Check::Dynamic(enumerations_have_items),
    },
    Rule {
        number: 42,
        title: "variables with initial=exact start with the values of the description",
        severity: Severity::Error,
        source: "2.2.7, initial",
        check: Check::Dynamic(start_values_are_kept),
    },
    Rule {
        number: 43,
        title: "a restored state goes on as the saved one, bit for bit",
        severity: Severity::Error,
        source: "2.1.8",
        check: Check::Dynamic(states_are_whole),
    },
    Rule {
        number: 44,
        title: "two instances side by side compute the results of one",
        severity: Severity::Warning,
        source: "2.1.5",
        check: Check::Dynamic(instances_are_apart),
    },
    Rule {
        number: 45,
        title: "two runs give the same results, bit for bit",
        severity: Severity::Warning,
        source: "results have to be repeatable to be tested",
        check: Check::Repeated(runs_are_equal),
    },
    Rule {
        number: 46,
        title: "steps do not use up memory",
        severity: Severity::Warning,
        source: "long runs end otherwise",
        check: Check::Dynamic(memory_does_not_grow),
    },
    Rule {
        number: 47,
        title: "outputs depend on those inputs only that they claim to",
        severity: Severity::Error,
        source: "2.2.8, dependencies",
        check: Check::Dynamic(dependencies_are_true),
    },
    Rule {
        number: 48,
        title: "bad input is refused or tolerated",
        severity: Severity::Error,
        source: "2.1.3, status",
        check: Check::Dynamic(bad_input_is_survived),
    },
    Rule {
        number: 49,
        title: "the FMU leaves files, working directory and floating-point control words alone",
        severity: Severity::Warning,
        source: "2.1",
        check: Check::Dynamic(surroundings_are_kept),
    },
    Rule {
        number: REHEARSAL.number,
        title: REHEARSAL.title,
        severity: REHEARSAL.severity,
        source: REHEARSAL.source,
        check: REHEARSAL.check,
    },
];

fn can_be_run(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let grid = Trial::grid(&fmu);
    let outputs = Outputs::of(fmu.description());
    let mut instance = Trial::begin(&fmu, "rehearsal")?;
    for number in 0..STEPS {
        if !Trial::step(&mut instance, grid, number)? {
            return Ok(());
        }
        outputs.read(&mut instance)?;
    }
    Ok(instance.terminate()?)
}

fn guid_is_checked(trial: &mut Trial) -> Result<(), Stop> {
    let Some(path) = with_another_guid(&trial.path, &trial.scratch)? else {
        return Ok(());
    };
    match trial
        .open_other(&path)?
        .instantiate("stranger", &Trial::options())
    {
        Ok(_) => trial.find("an instance was made although the GUID was wrong"),
        Err(LoadError::Instantiate { .. }) => {}
        Err(other) => return Err(other.into()),
    }
    Ok(())
}

fn version_is_right(trial: &mut Trial) -> Result<(), Stop> {
    let instance = trial.open()?.instantiate("version", &Trial::options())?;
    let of_version = instance.load_warnings().iter().filter(|warning| {
        ["fmi2GetVersion", "fmi2GetTypesPlatform"]
            .iter()
            .any(|name| warning.message.starts_with(name))
    });
    for warning in of_version {
        trial.find(&warning.message);
    }
    Ok(())
}

fn logger_is_called_right(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let options = InstanceOptions {
        logging_on: true,
        ..Trial::options()
    };
    let mut instance = Trial::initializing(&fmu, "the logger's", &options)?;
    instance.exit_initialization_mode()?;
    let grid = Trial::grid(&fmu);
    for number in 0..STEPS {
        if !Trial::step(&mut instance, grid, number)? {
            break;
        }
    }
    let violations = instance.violations();
    if violations.logs_with_foreign_environment {
        trial.find("the logger is called with another environment than the instance was given");
    }
    if let Some(name) = violations.logs_with_name {
        trial.find(format!(
            "the logger is called with the name {name:?} of the instance"
        ));
    }
    Ok(())
}

fn enumerations_have_items(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let model = fmu.description();
    let enumerations: Vec<&ScalarVariable> = model
        .variables
        .iter()
        .filter(|variable| matches!(variable.kind, TypeAttributes::Enumeration { .. }))
        .collect();
    if enumerations.is_empty() {
        return Ok(());
    }
    let mut instance = Trial::begin(&fmu, "enumerations")?;
    let grid = Trial::grid(&fmu);
    let mut wrong: Vec<(&str, i32)> = Vec::new();
    for number in 0..STEPS {
        if !Trial::step(&mut instance, grid, number)? {
            break;
        }
        for variable in &enumerations {
            let mut value = [0];
            instance.get_integer(&[variable.value_reference], &mut value)?;
            let mut items = model.enumeration_items(variable).iter();
            let is_told = wrong.iter().any(|(name, _)| *name == variable.name);
            if !is_told && items.all(|item| item.value != value[0]) {
                wrong.push((&variable.name, value[0]));
            }
        }
    }
    for (name, value) in wrong {
        trial.find(format!("{name} is {value}, which is none of its items"));
    }
    Ok(())
}

fn start_values_are_kept(trial: &mut Trial) -> Result<(), Stop> {
    /// Exporters write fewer digits than a double has.
    const RELATIVE: f64 = 1e-9;
    let fmu = trial.open()?;
    let mut instance = Trial::begin(&fmu, "starts")?;
    for variable in &fmu.description().variables {
        if variable.initial != Some(Initial::Exact) {
            continue;
        }
        let reference = [variable.value_reference];
        let (written, found) = match &variable.kind {
            TypeAttributes::Real(real) => {
                let mut value = [0.0];
                instance.get_real(&reference, &mut value)?;
                let Some(start) = real.start else { continue };
                if (start - value[0]).abs() <= RELATIVE * start.abs() {
                    continue;
                }
                (start.to_string(), value[0].to_string())
            }
            TypeAttributes::Integer { start, .. } | TypeAttributes::Enumeration { start, .. } => {
                let mut value = [0];
                instance.get_integer(&reference, &mut value)?;
                let Some(start) = *start else { continue };
                (start.to_string(), value[0].to_string())
            }
            TypeAttributes::Boolean { start } => {
                let mut value = [false];
                instance.get_boolean(&reference, &mut value)?;
                let Some(start) = *start else { continue };
                (start.to_string(), value[0].to_string())
            }
            TypeAttributes::String { start } => {
                let mut value = [String::new()];
                instance.get_string(&reference, &mut value)?;
                let Some(start) = start else { continue };
                let [value] = value;
                (format!("{start:?}"), format!("{value:?}"))
            }
        };
        if written != found {
            let name = &variable.name;
            trial.find(format!(
                "{name} starts with {found}, the description says {written}"
            ));
        }
    }
    Ok(())
}

fn states_are_whole(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let Some(claims) = fmu.description().co_simulation.clone() else {
        return Ok(());
    };
    if !claims.can_get_and_set_fmu_state {
        return Ok(());
    }
    let outputs = Outputs::of(fmu.description());
    let grid = Trial::grid(&fmu);
    let (half, end) = (STEPS / 2, STEPS);
    let mut instance = Trial::begin(&fmu, "states")?;
    Trial::run(&mut instance, &outputs, grid, 0..half)?;
    let saved = instance.save_state()?;
    let bytes = if claims.can_serialize_fmu_state {
        Some(instance.serialize_state(&saved)?)
    } else {
        None
    };
    let first = Trial::run(&mut instance, &outputs, grid, half..end)?;
    instance.restore_state(&saved)?;
    let second = Trial::run(&mut instance, &outputs, grid, half..end)?;
    if let Some(difference) = first.difference(&second) {
        trial.find(format!(
            "after going back the steps give something else: {difference}"
        ));
    }
    if let Some(bytes) = bytes {
        let read = instance.deserialize_state(&bytes)?;
        instance.restore_state(&read)?;
        let third = Trial::run(&mut instance, &outputs, grid, half..end)?;
        if let Some(difference) = first.difference(&third) {
            trial.find(format!(
                "a serialized state gives something else: {difference}"
            ));
        }
        instance.free_state(read)?;
    }
    Ok(instance.free_state(saved)?)
}

fn instances_are_apart(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let outputs = Outputs::of(fmu.description());
    let grid = Trial::grid(&fmu);
    let mut alone = Trial::begin(&fmu, "alone")?;
    let expected = Trial::run(&mut alone, &outputs, grid, 0..STEPS)?;
    drop(alone);
    let mut pair = [Trial::begin(&fmu, "first")?, Trial::begin(&fmu, "second")?];
    let mut found = [outputs.trajectory(), outputs.trajectory()];
    'steps: for number in 0..STEPS {
        for (instance, found) in pair.iter_mut().zip(&mut found) {
            if !Trial::step(instance, grid, number)? {
                break 'steps;
            }
            found.push(grid.time(number + 1), outputs.read(instance)?);
        }
    }
    for (name, found) in ["first", "second"].into_iter().zip(&found) {
        if let Some(difference) = expected.difference(found) {
            trial.find(format!(
                "the {name} of two instances side by side differs from one alone: {difference}"
            ));
        }
    }
    Ok(())
}

fn runs_are_equal(trial: &mut Trial) -> Result<Trajectory, Stop> {
    let fmu = trial.open()?;
    let outputs = Outputs::of(fmu.description());
    let mut instance = Trial::begin(&fmu, "repeated")?;
    Trial::run(&mut instance, &outputs, Trial::grid(&fmu), 0..STEPS)
}

fn memory_does_not_grow(trial: &mut Trial) -> Result<(), Stop> {
    // Choices, for ten seconds at most.
    const STEPS: u32 = 100_000;
    /// Steps needed to distinguish growth from chance.
    const FEWEST: u32 = 1000;
    /// Memory that may be used for the first time by chance, bytes.
    const CHANCE: u64 = 1 << 20;
    /// Memory that a step may use up, bytes: less ends no run.
    const ALLOWED: f64 = 100.0;
    let longest = Duration::from_secs(10);
    let fmu = trial.open()?;
    let grid = Trial::grid(&fmu);
    let outputs = Outputs::of(fmu.description());
    let mut instance = Trial::begin(&fmu, "memory")?;
    let begin = Instant::now();
    let warm_up = STEPS / 50;
    let mut before = None;
    let mut number = 0;
    while number < STEPS && begin.elapsed() < longest {
        if number == warm_up {
            before = resident_bytes();
        }
        // Some end by themselves, or fail beyond the time that they were made for.
        if !matches!(Trial::step(&mut instance, grid, number), Ok(true)) {
            break;
        }
        outputs.read(&mut instance)?;
        number += 1;
    }
    let measured = number.saturating_sub(warm_up);
    if measured < FEWEST {
        return Ok(());
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let grown = after.saturating_sub(before);
        let growth = grown as f64 / f64::from(measured);
        if growth > ALLOWED && grown > CHANCE {
            trial.find(format!("each step uses up {growth:.0} bytes"));
        }
    }
    Ok(())
}

fn dependencies_are_true(trial: &mut Trial) -> Result<(), Stop> {
    /// Inputs that are tried, at most.
    const MOST: usize = 50;
    let fmu = trial.open()?;
    let model = fmu.description();
    let places = |causality: Causality| {
        let variables = model.variables.iter().enumerate();
        variables.filter(move |(_, variable)| {
            variable.causality == causality && variable.kind.base_type() == BaseType::Real
        })
    };
    let outputs: Vec<(usize, &ScalarVariable)> = places(Causality::Output)
        // The others are what their start values say during initialization.
        .filter(|(_, variable)| variable.initial != Some(Initial::Exact))
        .collect();
    let references: Vec<u32> = outputs
        .iter()
        .map(|(_, output)| output.value_reference)
        .collect();
    if references.is_empty() {
        return Ok(());
    }
    let options = Trial::options();
    let mut instance = Trial::initializing(&fmu, "dependencies", &options)?;
    let mut before = vec![0.0; references.len()];
    let mut after = before.clone();
    for (place, input) in places(Causality::Input).take(MOST) {
        let reference = [input.value_reference];
        let mut value = [0.0];
        let Some(real) = input.real() else { continue };
        if let Some(start) = real.start {
            value[0] = start;
        }
        let nominal = real.nominal.map_or(1.0, f64::abs);
        let Some(moved) = another(real, value[0], value[0].abs().max(nominal)) else {
            continue;
        };
        instance.get_real(&references, &mut before)?;
        instance.set_real(&reference, &[moved])?;
        instance.get_real(&references, &mut after)?;
        instance.set_real(&reference, &value)?;
        for (number, (index, output)) in outputs.iter().enumerate() {
            let is_claimed = model.initial_dependencies(*index).contains(place);
            if !is_claimed && before[number].to_bits() != after[number].to_bits() {
                trial.find(format!(
                    "{} changes with {} during initialization, which InitialUnknowns does not say",
                    output.name, input.name
                ));
            }
        }
    }
    Ok(())
}

fn bad_input_is_survived(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let grid = Trial::grid(&fmu);
    let outputs = Outputs::of(fmu.description());
    let input = fmu.description().variables.iter().find(|variable| {
        variable.causality == Causality::Input && variable.kind.base_type() == BaseType::Real
    });
    let Some(input) = input else {
        return Ok(());
    };
    for value in [f64::NAN, f64::INFINITY, f64::MAX, -f64::MAX] {
        let mut instance = Trial::begin(&fmu, "bad input")?;
        // Any answer will do, but there has to be one; the parent reports a crash or a hang.
        let answers = [
            instance
                .set_real(&[input.value_reference], &[value])
                .is_ok(),
            Trial::step(&mut instance, grid, 0).is_ok(),
            outputs.read(&mut instance).is_ok(),
        ];
        let is_well = answers.iter().all(|is_well| *is_well);
        let can_go_on = is_well || instance.reset().is_ok();
        if !can_go_on && instance.state() != gyrator_fmu::SlaveState::Fatal {
            let name = &input.name;
            trial.graded(
                Severity::Note,
                format!("after {name} = {value} it cannot be reset either"),
            );
        }
    }
    Ok(())
}

fn surroundings_are_kept(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let grid = Trial::grid(&fmu);
    let mut instance = Trial::begin(&fmu, "surroundings")?;
    for number in 0..STEPS {
        if !Trial::step(&mut instance, grid, number)? {
            break;
        }
    }
    if instance.violations().changes_float_control {
        trial.graded(
            Severity::Error,
            "calls change the floating-point control words",
        );
    }
    let mut written = names_in(&trial.scratch)?;
    instance.terminate()?;
    drop(instance);
    let folder = std::env::current_dir()?;
    if folder != trial.scratch.canonicalize()? {
        trial.find("the working directory is another one after the run");
    }
    written.extend(names_in(&trial.scratch)?);
    for name in written {
        trial.find(format!(
            "it writes {name} to the working directory, which instances of a run share"
        ));
    }
    for name in fmu.restore_files()? {
        trial.find(format!(
            "it writes {name} among its unpacked files, which instances of a run share"
        ));
    }
    Ok(())
}

fn names_in(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.file_name().to_string_lossy().into_owned())
    };
    std::fs::read_dir(folder)?.map(name).collect()
}
