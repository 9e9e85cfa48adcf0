//! The dual mass as FMUs under the engine.

use std::sync::{Arc, Mutex, PoisonError};

use gyrator::error::LoadError;
use gyrator::system::FmuCache;
use gyrator::unit::{Handle, StepOutcome, UnitMaker, UnitOrder, UnitResult, UnitWrapper};
use gyrator::{RunOptions, Unit};
use gyrator_system::{Choice, SystemFile, Value};

use super::coupling::MACRO_STEP;
use super::system::{Course, DualMass, MICRO_STEP, MICRO_STEPS};
use crate::assembly::{Assembly, Configuration, Place};
use crate::benchmark::MeasureError;
use crate::metrics::greatest;
use crate::recording::Recorder;
use crate::role::{Role, RoleAssignment, RoleError};

pub(crate) const FORCE: Role = Role {
    name: "force",
    model: "DualMassForce",
    summary: "mass 1 with the coupling spring and damper, in steps of forward Euler",
    ports: &["v2", "F"],
    parameters: &["m", "k", "d", "k_c", "d_c"],
};

pub(crate) const VELOCITY: Role = Role {
    name: "velocity",
    model: "DualMassVelocity",
    summary: "mass 2, which two pulses of 1 N pull, in steps of forward Euler",
    ports: &["F", "v"],
    parameters: &["m", "k", "d", "pulse_width", "pulse_time_2"],
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

    /// Settings of a system file for the method of that name, with communication steps of `step` s;
    /// `None` if the engine has nothing like it.
    pub(crate) fn of(method: &str, step: f64) -> Option<Self> {
        let (signal, exchange) = method.split_once(", ")?;
        let extrapolation = match signal {
            "one-sided" => return Some(Self::one_sided(step)),
            "h-infinity" => Choice::new("hinfinity")
                .with("variant", Value::String("smoothed".to_owned()))
                .with("static_gain", Value::Real(0.983)),
            "hold" => Choice::new(signal),
            // The engine forgets the past of a polynomial when a signal jumps.
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
pub(crate) struct FmuPool<'a> {
    roles: &'a RoleAssignment,
    cache: FmuCache,
}

impl<'a> FmuPool<'a> {
    pub(crate) fn new(roles: &'a RoleAssignment) -> Self {
        Self {
            roles,
            cache: FmuCache::default(),
        }
    }

    fn file(
        &self,
        system: &DualMass,
        setup: &Setup,
        (width, second, stop): (f64, f64, f64),
    ) -> Result<SystemFile, RoleError> {
        let DualMass { m, k, k_c, d_c, d } = *system;
        let mut assembly = Assembly::new(self.roles, MACRO_STEP, stop);
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

    /// The system with pulses of so many micro-steps.
    pub(crate) fn pulsed(
        &self,
        system: &DualMass,
        setup: &Setup,
        pulse: usize,
    ) -> Result<SystemFile, RoleError> {
        let width = pulse as f64 * MICRO_STEP;
        self.file(system, setup, (width, 4.0, MICRO_STEPS as f64 * MICRO_STEP))
    }

    /// The coupling variables at each micro-step, which has to be the communication step.
    pub(crate) fn course(
        &self,
        system: &DualMass,
        setup: &Setup,
        pulse: usize,
    ) -> Result<Course, MeasureError> {
        let file = self.pulsed(system, setup, pulse)?;
        let mut outputs = StepStartOutputs {
            units: self.roles.maker(),
            force: Seen::default(),
            velocity: Seen::default(),
        };
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let system = self.cache.system(file)?;
        system.start_with(&options, &mut outputs)?.run()?;
        let taken =
            |seen: &Seen| std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        let [force, velocity] = [taken(&outputs.force), taken(&outputs.velocity)];
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
        /// A velocity below this part of its greatest magnitude is rounding.
        const DEAD: f64 = 1e-12;
        let file = self.file(system, setup, (0.2, NEVER, STOP))?;
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let mut run = self.roles.start(&self.cache.system(file)?, &options)?;
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

/// Wraps the units of the FMUs, to record their outputs at the start of each communication step.
struct StepStartOutputs {
    units: Box<dyn UnitMaker>,
    force: Seen,
    velocity: Seen,
}

impl UnitMaker for StepStartOutputs {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        self.units.plan(orders);
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let (output, seen) = match order.name() {
            "force" => ("F", &self.force),
            _ => ("v", &self.velocity),
        };
        let known = order.description.variable(output);
        let output = known.ok_or_else(|| order.refuse(format!("there is no output {output}")))?;
        let unit = match self.units.make(order)? {
            Some(unit) => unit,
            None => Box::new(order.instantiate()?),
        };
        Ok(Some(Box::new(WatchedUnit {
            output: output.handle,
            unit,
            seen: Arc::clone(seen),
        })))
    }
}

/// A unit, one output of which is recorded.
struct WatchedUnit {
    unit: Box<dyn Unit>,
    output: Handle,
    seen: Seen,
}

impl UnitWrapper for WatchedUnit {
    fn inner(&self) -> &dyn Unit {
        &*self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.unit
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
}
