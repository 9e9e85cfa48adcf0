//! The dual mass as FMUs under the engine.

use std::sync::{Arc, Mutex, PoisonError};

use gyrator::{
    FmuCache, Handle, LoadError, Period, RunOptions, SavedState, StepOutcome, System, Unit,
    UnitDescription, UnitMaker, UnitOrder, UnitResult, Value as UnitValue,
};
use gyrator_system::{Choice, SystemFile, Value};

use super::coupling::MACRO_STEP;
use super::system::{Course, DualMass, MICRO_STEP, MICRO_STEPS};
use crate::assembly::{Assembly, Configuration, Place};
use crate::benchmark::MeasureError;
use crate::metrics::greatest;
use crate::recording::Recorder;
use crate::role::{Cast, CastError, Role};

type Parameter = (&'static str, &'static str, &'static str);

const MASS: Parameter = ("m", "kg", "mass");
const SPRING: Parameter = ("k", "N/m", "stiffness of the spring to the wall");
const DAMPER: Parameter = ("d", "N.s/m", "damping to the wall");

pub(crate) const FORCE: Role = Role {
    name: "force",
    model: "DualMassForce",
    summary: "mass 1 with the coupling spring and damper, in steps of forward Euler",
    ports: &[
        ("v2", "m/s", "velocity of mass 2"),
        ("F", "N", "coupling force on mass 2"),
    ],
    parameters: &[
        MASS,
        SPRING,
        DAMPER,
        ("k_c", "N/m", "stiffness of the coupling spring"),
        ("d_c", "N.s/m", "damping of the coupling damper"),
    ],
};

pub(crate) const VELOCITY: Role = Role {
    name: "velocity",
    model: "DualMassVelocity",
    summary: "mass 2, which two pulses of 1 N pull, in steps of forward Euler",
    ports: &[
        ("F", "N", "coupling force on the mass"),
        ("v", "m/s", "velocity"),
    ],
    parameters: &[
        MASS,
        SPRING,
        DAMPER,
        ("pulse_width", "s", "length of the pulses"),
        ("pulse_time_2", "s", "start of the second pulse"),
    ],
};

/// How the engine couples the FMUs.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) extrapolation: Choice,
    pub(crate) exchange: &'static str,
    /// Communication step of both halves, s.
    pub(crate) step: f64,
}

impl Setup {
    /// The velocity compensated, the force held and fresh, with communication steps of `step` s.
    pub(crate) fn one_sided(step: f64) -> Self {
        Self {
            extrapolation: Choice::new("hinfinity"),
            exchange: "fresh",
            step,
        }
    }

    /// What a system file would say for the method of that name, with communication steps of `step` s;
    /// `None` where the engine has nothing like it.
    pub(crate) fn of(method: &str, step: f64) -> Option<Self> {
        let (signal, exchange) = method.split_once(", ")?;
        let extrapolation = match signal {
            "one-sided" => return Some(Self::one_sided(step)),
            "h-infinity" => Choice::new("hinfinity")
                .with("variant", Value::String("smoothed".to_owned()))
                .with("static_gain", Value::Real(0.983)),
            "hold" => Choice::new(signal),
            // The engine forgets the past of a polynomial where a signal jumps.
            _ => return None,
        };
        let exchange = if exchange == "fresh" {
            "fresh"
        } else {
            "stale"
        };
        Some(Self {
            extrapolation,
            exchange,
            step,
        })
    }
}

/// A second pulse that never comes, s.
const NEVER: f64 = 1e9;

/// FMUs that are opened once.
pub(crate) struct Theatre<'a> {
    cast: &'a Cast,
    cache: FmuCache,
}

impl<'a> Theatre<'a> {
    pub(crate) fn new(cast: &'a Cast) -> Self {
        Self {
            cast,
            cache: FmuCache::default(),
        }
    }

    fn file(
        &self,
        system: &DualMass,
        setup: &Setup,
        (width, second, stop): (f64, f64, f64),
    ) -> Result<SystemFile, CastError> {
        let DualMass { m, k, k_c, d_c, d } = *system;
        let mut assembly = Assembly::new(self.cast, MACRO_STEP, stop);
        let place = |name, role| Place {
            name,
            role,
            step: setup.step,
            inner_step: MICRO_STEP,
            extrapolation: "hold",
            exchange: setup.exchange,
        };
        let real = |(name, number): (&'static str, f64)| (name, Value::Real(number));
        let half = |half: usize| [("m", m[half]), ("k", k[half]), ("d", d[half])];
        let first = half(0).into_iter().chain([("k_c", k_c), ("d_c", d_c)]);
        let first: Vec<_> = first.map(real).collect();
        assembly.add(place("force", &FORCE), &first)?;
        let pulses = [("pulse_width", width), ("pulse_time_2", second)];
        let second: Vec<_> = half(1).into_iter().chain(pulses).map(real).collect();
        assembly.add(place("velocity", &VELOCITY), &second)?;
        let plain = Configuration::plain("", setup.exchange);
        let axis = [("force.F", "velocity.F"), ("velocity.v", "force.v2")];
        assembly.bond("coupling", &[axis], &plain);
        let mut file = assembly.into_file();
        for component in &mut file.components {
            component.extrapolation = Some(setup.extrapolation.clone());
        }
        Ok(file)
    }

    /// The coupling variables at each micro-step, which has to be the communication step.
    pub(crate) fn course(
        &self,
        system: &DualMass,
        setup: &Setup,
        pulse: usize,
    ) -> Result<Course, MeasureError> {
        let width = pulse as f64 * MICRO_STEP;
        let file = self.file(system, setup, (width, 4.0, MICRO_STEPS as f64 * MICRO_STEP))?;
        let mut watch = Watch::default();
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let system = System::from_file_with(file, &self.cache)?;
        system.start_with(&options, &mut watch)?.run()?;
        let taken =
            |seen: &Seen| std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        let [force, velocity] = [taken(&watch.force), taken(&watch.velocity)];
        Ok(velocity
            .into_iter()
            .zip(force)
            .map(|(v, f)| [v, f])
            .collect())
    }

    /// Whether the velocity, long after a pulse, is greater than it was before: in the last quarter
    /// of 40 s, and in the third one.
    pub(crate) fn grows(&self, system: &DualMass, setup: &Setup) -> Result<bool, MeasureError> {
        const STOP: f64 = 40.0;
        /// What has died away to this part of its greatest magnitude is rounding.
        const DEAD: f64 = 1e-12;
        let file = self.file(system, setup, (0.2, NEVER, STOP))?;
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let mut run = System::from_file_with(file, &self.cache)?.start(&options)?;
        let recorder = Recorder::watch(&mut run)?;
        run.run()?;
        let rows = recorder.rows_of(&["velocity.v".to_owned()])?;
        let greatest = |rows: &[Vec<f64>]| greatest(rows.iter().map(|row| row[0]));
        let quarter = rows.len() / 4;
        let (third, last) = (&rows[2 * quarter..3 * quarter], &rows[3 * quarter..]);
        let (third, last) = (greatest(third), greatest(last));
        Ok(last == f64::INFINITY || last > third.max(DEAD * greatest(&rows)))
    }
}

type Seen = Arc<Mutex<Vec<f64>>>;

/// Wraps the units of the FMUs, to see what they send at the start of each communication step.
#[derive(Default)]
struct Watch {
    force: Seen,
    velocity: Seen,
}

impl UnitMaker for Watch {
    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let (output, seen) = match order.name() {
            "force" => ("F", &self.force),
            _ => ("v", &self.velocity),
        };
        let known = order.description.variable(output);
        let output = known.ok_or_else(|| order.refuse(format!("there is no output {output}")))?;
        Ok(Some(Box::new(Watched {
            output: output.handle,
            unit: Box::new(order.instantiate()?),
            seen: Arc::clone(seen),
        })))
    }
}

/// A unit, one output of which is watched.
struct Watched {
    unit: Box<dyn Unit>,
    output: Handle,
    seen: Seen,
}

impl Unit for Watched {
    fn description(&self) -> &UnitDescription {
        self.unit.description()
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.unit.setup_experiment(period)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.unit.enter_initialization_mode()
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.unit.exit_initialization_mode()
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let mut value = [0.0];
        self.unit.get_reals(&[self.output], &mut value)?;
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(value[0]);
        self.unit.step(time, step)
    }

    fn set_value(&mut self, handle: Handle, value: &UnitValue) -> UnitResult {
        self.unit.set_value(handle, value)
    }

    fn get_value(&mut self, handle: Handle, value: &mut UnitValue) -> UnitResult {
        self.unit.get_value(handle, value)
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.unit.set_input_derivatives(handles, orders, values)
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        self.unit.output_derivatives(handles, orders, values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.unit
            .directional_derivative(unknowns, knowns, seed, values)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        self.unit.save(previous)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.unit.restore(state)
    }

    fn warnings(&self) -> u64 {
        self.unit.warnings()
    }

    fn terminate(&mut self) -> UnitResult {
        self.unit.terminate()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gyrator::{Capabilities, Cause, UnitFault};

    use super::*;

    /// Refuses each call under the name of its method.
    struct Refusing(UnitDescription);

    fn refused<T>(call: &'static str) -> UnitResult<T> {
        Err(UnitFault::new(call, Cause::Error, ""))
    }

    #[rustfmt::skip]
    impl Unit for Refusing {
        fn description(&self) -> &UnitDescription { &self.0 }
        fn setup_experiment(&mut self, _: &Period) -> UnitResult { refused("setup_experiment") }
        fn enter_initialization_mode(&mut self) -> UnitResult { refused("enter_initialization_mode") }
        fn exit_initialization_mode(&mut self) -> UnitResult { refused("exit_initialization_mode") }
        fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult { refused("set_reals") }
        fn get_reals(&mut self, _: &[Handle], _: &mut [f64]) -> UnitResult { Ok(()) }
        fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> { refused("step") }
        fn set_value(&mut self, _: Handle, _: &UnitValue) -> UnitResult { refused("set_value") }
        fn get_value(&mut self, _: Handle, _: &mut UnitValue) -> UnitResult { refused("get_value") }
        fn set_input_derivatives(&mut self, _: &[Handle], _: &[i32], _: &[f64]) -> UnitResult {
            refused("set_input_derivatives")
        }
        fn output_derivatives(&mut self, _: &[Handle], _: &[i32], _: &mut [f64]) -> UnitResult {
            refused("output_derivatives")
        }
        fn directional_derivative(&mut self, _: &[Handle], _: &[Handle], _: &[f64], _: &mut [f64]) -> UnitResult {
            refused("directional_derivative")
        }
        fn save(&mut self, _: Option<SavedState>) -> UnitResult<SavedState> { refused("save") }
        fn restore(&mut self, _: &SavedState) -> UnitResult { refused("restore") }
        fn warnings(&self) -> u64 { 7 }
        fn terminate(&mut self) -> UnitResult { refused("terminate") }
    }

    #[test]
    fn a_watched_unit_hears_every_call() {
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: false,
            save_and_restore: false,
        };
        let description = UnitDescription::new(Vec::new(), BTreeMap::new(), capabilities);
        let mut unit = Watched {
            unit: Box::new(Refusing(description)),
            output: 0,
            seen: Seen::default(),
        };
        let period = Period {
            start: 0.0,
            stop: None,
            tolerance: None,
        };
        let state: SavedState = Box::new(());
        let mut word = UnitValue::Boolean(true);
        let results = [
            ("setup_experiment", unit.setup_experiment(&period)),
            (
                "enter_initialization_mode",
                unit.enter_initialization_mode(),
            ),
            ("exit_initialization_mode", unit.exit_initialization_mode()),
            ("set_reals", unit.set_reals(&[], &[])),
            ("step", unit.step(0.0, 1.0).map(drop)),
            ("set_value", unit.set_value(0, &word)),
            ("get_value", unit.get_value(0, &mut word)),
            (
                "set_input_derivatives",
                unit.set_input_derivatives(&[], &[], &[]),
            ),
            (
                "output_derivatives",
                unit.output_derivatives(&[], &[], &mut []),
            ),
            (
                "directional_derivative",
                unit.directional_derivative(&[], &[], &[], &mut []),
            ),
            ("save", unit.save(None).map(drop)),
            ("restore", unit.restore(&state)),
            ("terminate", unit.terminate()),
        ];
        for (call, result) in results {
            let fault = result.unwrap_err();
            assert_eq!((fault.call, fault.cause), (call, Cause::Error));
        }
        assert_eq!(unit.warnings(), 7);
        assert_eq!(*unit.seen.lock().unwrap(), [0.0]);
    }
}
