//! A wrapper that changes nothing loses no ability of the unit inside.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use gyrator::unit::{
    Capabilities, Causality, Handle, Period, SavedState, StepOutcome, UnitDescription, UnitResult,
    UnitWrapper, Variable, VariableType,
};
use gyrator::{Report, RunOptions, System, Unit, Value};
use gyrator_system::{Choice, Spanned, Value as FileValue};
use gyrator_testkit::Trace;

/// Calls as text, in order; they come from one thread.
type Calls = Arc<Mutex<Vec<String>>>;

/// A mass of 1 kg on a spring and a damper, ẋ = v, v̇ = −100·x − v + u, with all abilities there are:
/// input and output derivatives, directional derivatives, saved states, values of all kinds.
struct Able {
    description: UnitDescription,
    calls: Calls,
    x: f64,
    v: f64,
    /// The input, and its derivative over the coming step.
    u: (f64, f64),
    /// Kinds other than real: what comes in goes out.
    signals: Vec<Value>,
}

const KINDS: [(VariableType, Value); 3] = [
    (VariableType::Integer, Value::Integer(0)),
    (VariableType::Boolean, Value::Boolean(false)),
    (VariableType::String, Value::String(String::new())),
];

impl Able {
    /// The output y is v, or 20·x + 0.5·u.
    fn new(feeds_through: bool, calls: &Calls) -> Self {
        let mut variables = vec![
            Variable::real("u", 0, Causality::Input),
            Variable::real("y", 1, Causality::Output),
            Variable::real("x", 2, Causality::Output),
            Variable::real("v", 3, Causality::Parameter),
        ];
        for (handle, (kind, _)) in (0..).step_by(2).zip(&KINDS) {
            for (way, handle, causality) in [
                ("in", handle, Causality::Input),
                ("out", handle + 1, Causality::Output),
            ] {
                variables.push(Variable {
                    kind: *kind,
                    ..Variable::real(format!("{kind:?} {way}"), handle, causality)
                });
            }
        }
        let capabilities = Capabilities {
            input_derivatives: 1,
            output_derivatives: 1,
            fresh_outputs: true,
            directional_derivatives: true,
            variable_step: true,
            save_and_restore: true,
            serialize: false,
        };
        let feedthrough = feeds_through.then(|| (1, vec![0])).into_iter().collect();
        Self {
            description: UnitDescription::new(variables, feedthrough, capabilities),
            calls: Arc::clone(calls),
            x: 0.1,
            v: 1.0,
            u: (0.0, 0.0),
            signals: KINDS.into_iter().map(|(_, value)| value).collect(),
        }
    }

    fn feeds_through(&self) -> bool {
        !self.description.feedthrough.is_empty()
    }

    /// Records a call; reals with all their digits.
    fn record(&self, call: &str, arguments: impl Debug) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(format!("{call} {arguments:?}"));
    }
}

impl Unit for Able {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.record("setup_experiment", period);
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.record("enter_initialization_mode", ());
        Ok(())
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.record("exit_initialization_mode", ());
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.record("set_reals", (handles, values));
        for (handle, value) in handles.iter().zip(values) {
            match handle {
                0 => self.u = (*value, 0.0),
                _ => self.v = *value,
            }
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.record("get_reals", handles);
        for (handle, value) in handles.iter().zip(values) {
            *value = match handle {
                1 if self.feeds_through() => 20.0 * self.x + 0.5 * self.u.0,
                2 => self.x,
                _ => self.v,
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.record("step", (time, step));
        self.v += step * (self.u.0 + 0.5 * step * self.u.1 - 100.0 * self.x - self.v);
        self.x += step * self.v;
        Ok(StepOutcome::Done)
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.record("set_value", (handle, value));
        match value {
            Value::Real(value) => self.v = *value,
            value => self.signals[handle as usize / 2] = value.clone(),
        }
        Ok(())
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.record("get_value", handle);
        match value {
            Value::Real(value) => *value = self.v,
            value => *value = self.signals[handle as usize / 2].clone(),
        }
        Ok(())
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.record("set_input_derivatives", (handles, orders, values));
        self.u.1 = values[0];
        Ok(())
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        self.record("output_derivatives", (handles, orders));
        values.fill(if self.feeds_through() {
            20.0 * self.v
        } else {
            self.u.0 - 100.0 * self.x - self.v
        });
        Ok(())
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.record("directional_derivative", (unknowns, knowns, seed));
        values.fill(0.5 * seed[0]);
        Ok(())
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        self.record("save", previous.is_some());
        Ok(Box::new((self.x, self.v, self.u)))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let state = state.downcast_ref::<(f64, f64, (f64, f64))>().unwrap();
        self.record("restore", state);
        (self.x, self.v, self.u) = *state;
        Ok(())
    }

    fn warnings(&self) -> u64 {
        3
    }

    fn terminate(&mut self) -> UnitResult {
        self.record("terminate", ());
        Ok(())
    }
}

/// Changes nothing.
struct Through<U>(U);

impl<U: Unit> UnitWrapper for Through<U> {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }
}

/// Runs two units in a loop, with signals of all kinds, steps that are made again, and compensation of
/// the direct feed-through. Returns the calls of each, the results' bits and the report.
fn run(around: impl Fn(Able) -> Box<dyn Unit>) -> ([Vec<String>; 2], Vec<u64>, Report) {
    let calls = [Calls::default(), Calls::default()];
    let mut system = System::new(1e-2);
    system.stop_time(0.2);
    system.extrapolation("hermite");
    let mut control = Choice::new("ecco");
    control.parameters = [
        ("reject_above", 1.0),
        ("tolerance", 1e-6),
        ("first_step", 1e-2),
    ]
    .map(|(name, value)| {
        let name = Spanned::unplaced(name.to_owned());
        (name, Spanned::unplaced(FileValue::Real(value)))
    })
    .into();
    system.step_control(control);
    let force = around(Able::new(true, &calls[0]));
    system.add("force", force).exchange("compensated");
    let motion = around(Able::new(false, &calls[1]));
    system.add("motion", motion).start("v", 2.0);
    for (kind, _) in &KINDS {
        system.connect(
            &format!("force.{kind:?} out"),
            &format!("motion.{kind:?} in"),
        );
    }
    system.bond("bond", ("force.y", "motion.u"), ("motion.y", "force.u"));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let text = Value::String("text".to_owned());
    run.write("force.String in", &text).unwrap();
    let report = run.run().unwrap();
    assert!(report.counters.repeated_steps > 0, "no step was made again");
    let calls = calls.map(|calls| {
        let calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    });
    (calls, trace.bits(), report)
}

#[test]
fn a_wrapper_that_changes_nothing_loses_no_ability() {
    let plain = run(|unit| Box::new(unit));
    let made: BTreeSet<&str> = plain.0.iter().flatten().map(|call| word(call)).collect();
    // Every method of `Unit` but `description` and `warnings`, which the report counts.
    let expected = [
        "directional_derivative",
        "enter_initialization_mode",
        "exit_initialization_mode",
        "get_reals",
        "get_value",
        "output_derivatives",
        "restore",
        "save",
        "set_input_derivatives",
        "set_reals",
        "set_value",
        "setup_experiment",
        "step",
        "terminate",
    ];
    assert_eq!(made, BTreeSet::from(expected));
    assert_eq!(plain.2.counters.unit_warnings, 6);
    assert_eq!(run(|unit| Box::new(Through(unit))), plain);
    let boxed = |unit: Able| -> Box<dyn Unit> { Box::new(unit) };
    assert_eq!(run(|unit| Box::new(Through(Through(boxed(unit))))), plain);
}

fn word(call: &str) -> &str {
    call.split(' ').next().unwrap_or_default()
}

#[test]
fn a_wrapper_has_the_description_of_the_unit_inside() {
    let unit = Able::new(true, &Calls::default());
    let description = unit.description().clone();
    let unit: Box<dyn Unit> = Box::new(Through(unit));
    assert_eq!(unit.description(), &description);
}
