//! Start values are read back: the user learns of those that a unit has not kept.

use std::collections::BTreeMap;

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, StepOutcome, UnitDescription, UnitResult, Variable, VariableType,
};
use gyrator::{RunOptions, System, Unit, Value};
use gyrator_testkit::Spy;

/// Treatment of the start values by a [`Keeper`].
#[derive(Clone, Copy, PartialEq)]
enum KeeperBehaviour {
    Keeps,
    Forgets,
    RefusesToTell,
}

/// A unit with a parameter of each type, a guess and an output with a start value.
struct Keeper {
    description: UnitDescription,
    behaviour: KeeperBehaviour,
    values: Vec<Value>,
}

impl Keeper {
    fn new(behaviour: KeeperBehaviour) -> Self {
        let variable = |name: &str, handle, kind, causality| Variable {
            kind,
            has_start: true,
            ..Variable::real(name, handle, causality)
        };
        let variables = vec![
            variable("real", 0, VariableType::Real, Causality::Parameter),
            variable("integer", 1, VariableType::Integer, Causality::Parameter),
            variable(
                "boolean",
                2,
                VariableType::Boolean,
                Causality::TunableParameter,
            ),
            variable("string", 3, VariableType::String, Causality::Parameter),
            variable("guess", 4, VariableType::Real, Causality::Local),
            Variable {
                keeps_start: true,
                ..variable("output", 5, VariableType::Real, Causality::Output)
            },
        ];
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: false,
            serialize: false,
        };
        Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            behaviour,
            values: vec![
                Value::Real(1.0),
                Value::Integer(1),
                Value::Boolean(false),
                Value::String("as delivered".to_owned()),
                Value::Real(1.0),
                Value::Real(1.0),
            ],
        }
    }
}

impl Unit for Keeper {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.values[4] = Value::Real(0.5);
        Ok(())
    }

    fn set_reals(&mut self, handles: &[u32], values: &[f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            self.set_value(*handle, &Value::Real(*value))?;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[u32], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            if let Value::Real(found) = self.values[*handle as usize] {
                *value = found;
            }
        }
        Ok(())
    }

    fn set_value(&mut self, handle: u32, value: &Value) -> UnitResult {
        if self.behaviour != KeeperBehaviour::Forgets {
            self.values[handle as usize] = value.clone();
        }
        Ok(())
    }

    fn get_value(&mut self, handle: u32, value: &mut Value) -> UnitResult {
        if self.behaviour == KeeperBehaviour::RefusesToTell {
            return Err(UnitFault::new("get_value", Cause::Discard, "not now"));
        }
        *value = self.values[handle as usize].clone();
        Ok(())
    }

    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }
}

/// Notes of a run with start values of all variables.
fn notes(behaviour: KeeperBehaviour) -> Vec<String> {
    let (unit, spied) = Spy::on(Keeper::new(behaviour));
    let mut system = System::new(1.0);
    system
        .stop_time(2.0)
        .add("keeper", unit)
        .start("real", 9.0)
        .start("integer", -4)
        .start("boolean", true)
        .start("string", "Ωmega")
        .start("guess", 9.0)
        .start("output", 2.5);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let notes = run.run().unwrap().notes.clone();
    // A spy takes any failed call for the last one.
    if behaviour != KeeperBehaviour::RefusesToTell {
        assert_eq!(spied.violations(), [""; 0]);
    }
    notes
}

#[test]
fn start_values_that_are_kept_or_cannot_be_read_are_not_noted() {
    assert_eq!(notes(KeeperBehaviour::Keeps), [""; 0]);
    assert_eq!(notes(KeeperBehaviour::RefusesToTell), [""; 0]);
}

#[test]
fn start_values_that_are_not_kept_are_noted() {
    let note = |variable, set, found| {
        format!(
            "keeper.{variable}: the start value {set} was set and not kept, the component has {found}"
        )
    };
    // A guess is expected to change.
    let expected = [
        note("output", "2.5", "1"),
        note("boolean", "true", "false"),
        note("integer", "-4", "1"),
        note("real", "9", "1"),
        note("string", "\"Ωmega\"", "\"as delivered\""),
    ];
    let mut found = notes(KeeperBehaviour::Forgets);
    found[1..].sort();
    assert_eq!(found, expected);
}
