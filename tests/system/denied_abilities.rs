//! Abilities that a unit declares and denies when they are asked for: the run goes on without, and says so once.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{Handle, UnitResult, UnitWrapper};
use gyrator::{RunOptions, Unit};
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1};

/// A unit that denies some of its abilities, from the call with this number on.
struct Denying<U> {
    unit: U,
    directional: Option<u32>,
    of_inputs: Option<u32>,
    calls: u32,
}

impl<U: Unit> Denying<U> {
    fn is_denied(&mut self, from: Option<u32>) -> UnitResult {
        self.calls += 1;
        match from {
            Some(from) if self.calls > from => Err(UnitFault::new(
                "fmi2Something",
                Cause::Unsupported,
                "returned Error",
            )),
            _ => Ok(()),
        }
    }
}

impl<U: Unit> UnitWrapper for Denying<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.is_denied(self.of_inputs)?;
        self.unit.set_input_derivatives(handles, orders, values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.is_denied(self.directional)?;
        self.unit
            .directional_derivative(unknowns, knowns, seed, values)
    }
}

/// When the units deny partial derivatives, and derivatives of inputs.
type Denials = [Option<u32>; 2];

const NONE: Denials = [None; 2];

fn denying<U: Unit>(unit: U, [directional, of_inputs]: Denials) -> impl Unit {
    Denying {
        unit,
        directional,
        of_inputs,
        calls: 0,
    }
}

/// The positions of the double oscillator after 0.2 s, and how many notes there are about abilities that units deny.
fn run(
    coupling: &Coupling<'_>,
    force: ModelUnit<OscillatorForce>,
    motion: ModelUnit<OscillatorMotion>,
    denials: Denials,
) -> ([f64; 2], usize) {
    let force = denying(force.without_fresh(), denials);
    let motion = denying(motion.without_fresh(), denials);
    let system = TABLE_1[1].system_of_units(coupling, force, motion);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let notes = run.run().unwrap().notes;
    let is_about = |note: &&String| note.contains("fmi2Something returned Error, although");
    let ends = ["force.x", "motion.x"].map(|name| run.read_real(name).unwrap());
    (ends, notes.iter().filter(is_about).count())
}

#[test]
fn partial_derivatives_that_a_unit_denies_are_measured() {
    for exchange in ["stale", "compensated", "auto"] {
        let coupling = Coupling {
            exchange,
            stop_time: 0.2,
            ..Coupling::default()
        };
        let new = || (ModelUnit::new(), ModelUnit::new());
        let (force, motion) = (
            ModelUnit::new().without_derivatives(),
            ModelUnit::new().without_derivatives(),
        );
        let (expected, count) = run(&coupling, force, motion, NONE);
        assert_eq!(count, 0);
        let (force, motion) = new();
        // Only the force depends directly on an input.
        let denied = run(&coupling, force, motion, [Some(0), None]);
        assert_eq!(denied, (expected, 1), "{exchange}");
        // The model is linear, and the last derivatives that are known are right.
        let (force, motion) = new();
        let honest = run(&coupling, force, motion, NONE);
        let (force, motion) = new();
        let later = run(&coupling, force, motion, [Some(20), None]);
        assert_eq!((honest.1, later.0), (0, honest.0), "{exchange}");
        assert_eq!(later.1, 1, "{exchange}");
    }
}

#[test]
fn a_unit_that_denies_derivatives_of_inputs_gets_the_means_of_their_curves() {
    for (extrapolation, force_step) in [("linear", 1e-3), ("linear", 2.5e-4), ("auto", 1e-3)] {
        let coupling = Coupling {
            extrapolation,
            force_step,
            stop_time: 0.2,
            ..Coupling::default()
        };
        let unit = |order| {
            (
                ModelUnit::new().with_input_derivatives(order),
                ModelUnit::new().with_input_derivatives(order),
            )
        };
        let (force, motion) = unit(1);
        let (honest, _) = run(&coupling, force, motion, NONE);
        let (force, motion) = unit(0);
        let (of_values, _) = run(&coupling, force, motion, NONE);
        let distance = |ends: [f64; 2]| (ends[0] - honest[0]).hypot(ends[1] - honest[1]);
        for from in [0, 50] {
            let (force, motion) = unit(1);
            let (denied, count) = run(&coupling, force, motion, [None, Some(from)]);
            assert_eq!(count, 2, "{from}");
            // Of the same order as with a unit that declares nothing.
            let (denied, of_values) = (distance(denied), distance(of_values));
            assert!(
                denied > 0.0 && denied < 2.0 * of_values,
                "{extrapolation} {force_step} {from}: {denied} {of_values}"
            );
        }
    }
}

/// Gives derivatives that are so many times the true ones.
struct Lying<U> {
    unit: U,
    times: f64,
}

impl<U: Unit> UnitWrapper for Lying<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let given = self
            .unit
            .directional_derivative(unknowns, knowns, seed, values);
        values.iter_mut().for_each(|value| *value *= self.times);
        given
    }
}

/// The start shows it, if inputs may be tried.
#[test]
fn partial_derivatives_that_the_outputs_contradict_are_named() {
    for exchange in ["stale", "compensated", "auto"] {
        let coupling = Coupling {
            exchange,
            stop_time: 0.01,
            ..Coupling::default()
        };
        for (times, is_named) in [
            (1.0, false),
            (1.01, false),
            (0.0, true),
            (-1.0, true),
            (2.0, true),
        ] {
            let unit = ModelUnit::<OscillatorForce>::new().without_fresh();
            let force = Lying { unit, times };
            let motion = ModelUnit::<OscillatorMotion>::new().without_fresh();
            let system = TABLE_1[1].system_of_units(&coupling, force, motion);
            let notes = system
                .start(&RunOptions::default())
                .unwrap()
                .run()
                .unwrap()
                .notes;
            let is_about = |note: &&String| {
                note.starts_with("force: the FMU gives the directional derivative ")
                    && note.contains(" → force.f, and ")
            };
            let count = notes.iter().filter(is_about).count();
            assert_eq!(
                count,
                usize::from(is_named),
                "{exchange}, {times}: {notes:?}"
            );
        }
    }
}
