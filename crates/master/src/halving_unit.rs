//! A unit whose steps are divided and tried again when it discards them (C-39).

use gyrator_system::Component;

use crate::compatibility::{HALVING_NEEDS, withheld_by};
use crate::fault::{Cause, UnitFault};
use crate::state::Slot;
use crate::state_check;
use crate::unit::UnitWrapper;
use crate::unit::{
    Causality, Handle, SavedState, StepOutcome, Unit, UnitDescription, UnitResult, VariableType,
};

/// Passes all calls on. A step that the unit discards is made in two parts from the state before it,
/// each part the same way, down to a limit. The first part ends at the time that the unit reports
/// (`fmi2LastSuccessfulTime`, FMI 2.0 §4.2.2), or in the middle if it does not say so. The parts stay
/// inside the communication step: the master sees one step, with the inputs of one step.
pub(crate) struct HalvingUnit {
    unit: Box<dyn Unit>,
    halvings: u32,
    /// Whether it was tried that the unit can go back.
    is_checked: bool,
    /// States of earlier steps, whose memory is used again: one per depth.
    spare: Vec<Option<SavedState>>,
    /// The inputs that were set last, and their derivatives for the coming step.
    inputs: Vec<(Handle, f64)>,
    derivatives: Vec<(Handle, i32, f64)>,
}

impl HalvingUnit {
    /// Puts the unit of a component into one that halves its steps, if the component asks for it
    /// and the unit can go back.
    pub(crate) fn around(slot: Slot, component: &Component, description: &UnitDescription) -> Slot {
        let Some(halvings) = &component.step_halvings else {
            return slot;
        };
        let missing = withheld_by(description);
        if HALVING_NEEDS.iter().any(|need| missing.contains(need)) {
            return slot;
        }
        let unit: Box<dyn Unit> = match slot {
            Slot::Fmu(unit) => Box::new(unit),
            Slot::Other(unit) => unit,
        };
        Slot::Other(Box::new(Self {
            unit,
            halvings: halvings.value,
            is_checked: false,
            spare: Vec::new(),
            inputs: Vec::new(),
            derivatives: Vec::new(),
        }))
    }

    /// Tries whether the unit can go back, before it is needed.
    fn check_state(&mut self, time: f64, step: f64) -> UnitResult {
        let description = self.unit.description();
        let outputs = description.with_causality(Causality::Output);
        let outputs = outputs.map(|index| &description.variables[index]);
        let reals: Vec<Handle> = outputs
            .filter(|variable| variable.kind == VariableType::Real)
            .map(|variable| variable.handle)
            .collect();
        state_check::check(&mut *self.unit, &reals, time, step)
    }

    /// Makes a part of the communication step, itself in two parts if the unit discards it and
    /// `depth` allows.
    fn step_part(&mut self, part: StepPart, depth: usize) -> UnitResult<StepOutcome> {
        let (time, step) = part.time_and_step();
        let Some(next) = depth.checked_sub(1) else {
            let made = self.unit.step(time, step);
            return made.map_err(|fault| at_the_limit(fault, part.step));
        };
        let saved = self.unit.save(self.spare[next].take())?;
        let whole = self.unit.step(time, step);
        let outcome = match whole {
            Err(fault) if fault.cause == Cause::Discard => {
                let first = part.until(fault.reached);
                let restored = self.unit.restore(&saved);
                restored.and_then(|()| self.step_parts(part, first, next))
            }
            whole => whole,
        };
        self.spare[next] = Some(saved);
        outcome
    }

    /// Makes a part of the communication step in two, the first of length `step`.
    fn step_parts(&mut self, part: StepPart, step: f64, depth: usize) -> UnitResult<StepOutcome> {
        match self.step_part(StepPart { step, ..part }, depth)? {
            StepOutcome::Done => {
                let since = part.since + step;
                self.set_inputs_at(since)?;
                self.step_part(
                    StepPart {
                        since,
                        step: part.step - step,
                        ..part
                    },
                    depth,
                )
            }
            ended => Ok(ended),
        }
    }

    /// Sets the inputs that come with derivatives to their values `since` the beginning of the
    /// communication step: derivatives are those at the beginning of each step (C-69).
    fn set_inputs_at(&mut self, since: f64) -> UnitResult {
        if self.derivatives.is_empty() {
            return Ok(());
        }
        let later = |handle: Handle, order: i32, value: f64| {
            taylor(value, handle, order, &self.derivatives, since)
        };
        let (handles, values): (Vec<_>, Vec<_>) = self
            .inputs
            .iter()
            .map(|(handle, value)| (*handle, later(*handle, 0, *value)))
            .unzip();
        self.unit.set_reals(&handles, &values)?;
        let handles: Vec<_> = self.derivatives.iter().map(|given| given.0).collect();
        let orders: Vec<_> = self.derivatives.iter().map(|given| given.1).collect();
        let values: Vec<_> = self
            .derivatives
            .iter()
            .map(|(handle, order, value)| later(*handle, *order, *value))
            .collect();
        self.unit.set_input_derivatives(&handles, &orders, &values)
    }
}

/// A part of a communication step.
#[derive(Clone, Copy)]
struct StepPart {
    /// When the communication step begins, s.
    start: f64,
    /// When the communication step ends, s.
    end: f64,
    /// From the start to the beginning of the part, s.
    since: f64,
    /// Length of the part, s.
    step: f64,
}

impl StepPart {
    /// The length of a first part that ends at `reached`, s; half of the part if `reached` is not
    /// within it.
    fn until(&self, reached: Option<f64>) -> f64 {
        let step = reached.map(|time| time - self.start - self.since);
        step.filter(|step| *step > 0.0 && *step < self.step)
            .unwrap_or(self.step / 2.0)
    }

    /// Start time and length of the part as they are passed to the unit, s. Rounding never moves a
    /// part beyond the end of the whole step: the unit may refuse to go there (C-33).
    fn time_and_step(&self) -> (f64, f64) {
        let time = self.start + self.since;
        if time + self.step <= self.end {
            return (time, self.step);
        }
        let left = self.end - time;
        if time + left <= self.end {
            (time, left)
        } else {
            (time, left.next_down())
        }
    }
}

/// The derivative of `order` of an input after `since`, from the one now and the higher ones.
fn taylor(
    now: f64,
    handle: Handle,
    order: i32,
    derivatives: &[(Handle, i32, f64)],
    since: f64,
) -> f64 {
    let higher = derivatives
        .iter()
        .filter(|(of, by, _)| *of == handle && *by > order);
    higher.fold(now, |sum, (_, by, value)| {
        let factorial: f64 = (1..=by - order).map(f64::from).product();
        sum + value * since.powi(by - order) / factorial
    })
}

/// Says of a refused step that it was the smallest one.
fn at_the_limit(mut fault: Box<UnitFault>, step: f64) -> Box<UnitFault> {
    if fault.cause == Cause::Discard {
        let limit = format!("; steps were halved down to {step} s, as step_halvings allows");
        fault.message.push_str(&limit);
    }
    fault
}

impl UnitWrapper for HalvingUnit {
    fn inner(&self) -> &dyn Unit {
        &*self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.unit
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.spare.resize_with(self.halvings as usize, || None);
        self.unit.exit_initialization_mode()
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        if self.unit.description().capabilities.input_derivatives > 0 {
            self.inputs.clear();
            let given = handles.iter().copied().zip(values.iter().copied());
            self.inputs.extend(given);
        }
        self.unit.set_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        if !std::mem::replace(&mut self.is_checked, true) {
            self.check_state(time, step)?;
        }
        let whole = StepPart {
            start: time,
            end: time + step,
            since: 0.0,
            step,
        };
        let outcome = self.step_part(whole, self.spare.len());
        self.derivatives.clear();
        outcome
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.derivatives.clear();
        let given = handles.iter().zip(orders).zip(values);
        self.derivatives
            .extend(given.map(|((handle, order), value)| (*handle, *order, *value)));
        let given = self.unit.set_input_derivatives(handles, orders, values);
        if given.is_err() {
            self.derivatives.clear();
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gyrator_system::Spanned;

    use super::*;
    use crate::unit::{Capabilities, Variable};

    /// Integrates its input, a parabola, and discards steps that are longer than `longest`.
    struct Picky {
        description: UnitDescription,
        x: f64,
        u: [f64; 3],
        longest: f64,
        /// No step may pass these times.
        events: Vec<f64>,
        /// Last successful time reported for a discarded step, given its start and reached end.
        says: fn(f64, f64) -> Option<f64>,
        /// States are not restored.
        forgets: bool,
        attempts: std::sync::Arc<std::sync::atomic::AtomicU32>,
    }

    impl Unit for Picky {
        fn description(&self) -> &UnitDescription {
            &self.description
        }
        fn set_reals(&mut self, _: &[Handle], values: &[f64]) -> UnitResult {
            self.u[0] = values[0];
            Ok(())
        }
        fn get_reals(&mut self, _: &[Handle], values: &mut [f64]) -> UnitResult {
            values[0] = self.x;
            Ok(())
        }
        fn set_input_derivatives(&mut self, _: &[Handle], _: &[i32], values: &[f64]) -> UnitResult {
            self.u[1..].copy_from_slice(values);
            Ok(())
        }
        fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
            self.attempts
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let is_passed = |event: &&f64| time < **event && **event < time + step;
            let event = self.events.iter().find(is_passed);
            if step > self.longest || event.is_some() {
                self.x = f64::NAN;
                let reached = event.copied().unwrap_or(time + self.longest);
                return Err(Box::new(UnitFault {
                    reached: (self.says)(time, reached),
                    ..*UnitFault::new("step", Cause::Discard, "too long")
                }));
            }
            let [u, slope, curvature] = self.u;
            self.x += step * (u + step * (slope / 2.0 + step * curvature / 6.0));
            Ok(StepOutcome::Done)
        }
        fn save(&mut self, _: Option<SavedState>) -> UnitResult<SavedState> {
            Ok(Box::new((self.x, self.u)))
        }
        fn restore(&mut self, state: &SavedState) -> UnitResult {
            let (x, u) = state.downcast_ref::<(f64, [f64; 3])>().unwrap();
            if !self.forgets {
                (self.x, self.u) = (*x, *u);
            }
            Ok(())
        }
    }

    /// A unit with the input u = 1.
    fn picky(longest: f64, attempts: std::sync::Arc<std::sync::atomic::AtomicU32>) -> Picky {
        let abilities = Capabilities {
            input_derivatives: 2,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: true,
            serialize: false,
        };
        let variables = vec![
            Variable::real("u", 0, Causality::Input),
            Variable::real("x", 1, Causality::Output),
        ];
        Picky {
            description: UnitDescription::new(variables, BTreeMap::new(), abilities),
            x: 0.0,
            u: [1.0, 0.0, 0.0],
            longest,
            events: Vec::new(),
            says: |_, _| None,
            forgets: false,
            attempts,
        }
    }

    /// Result of one step of 1 s, and the number of steps that the unit was asked for.
    fn stepped(longest: f64, halvings: u32) -> (UnitResult<f64>, u32) {
        stepped_with(longest, halvings, |_| {})
    }

    fn stepped_with(
        longest: f64,
        halvings: u32,
        change: impl FnOnce(&mut Picky),
    ) -> (UnitResult<f64>, u32) {
        let attempts = std::sync::Arc::default();
        let mut picky = picky(longest, std::sync::Arc::clone(&attempts));
        change(&mut picky);
        let description = picky.description.clone();
        let mut component = Component::new("picky", "");
        component.step_halvings = Some(Spanned::unplaced(halvings));
        let slot = Slot::Other(Box::new(picky));
        let mut slot = HalvingUnit::around(slot, &component, &description);
        let unit = slot.unit();
        unit.exit_initialization_mode().unwrap();
        unit.set_reals(&[0], &[3.0]).unwrap();
        unit.set_input_derivatives(&[0, 0], &[1, 2], &[-2.0, 5.0])
            .unwrap();
        let mut x = [f64::NAN];
        let outcome = unit.step(0.0, 1.0);
        unit.get_reals(&[1], &mut x).unwrap();
        let attempts = attempts.load(std::sync::atomic::Ordering::Relaxed);
        (outcome.map(|_| x[0]), attempts)
    }

    #[test]
    fn c39_halves_follow_the_input_as_the_whole_step_does() {
        // The integral of 3 − 2·t + 5·t²/2 over a second.
        let exact = 3.0 - 1.0 + 5.0 / 6.0;
        for longest in [1.0, 0.5, 0.3, 0.2] {
            let (x, _) = stepped(longest, 3);
            assert!((x.unwrap() - exact).abs() < 1e-14);
        }
    }

    #[test]
    fn c39_a_step_goes_on_where_the_unit_says_that_it_came_to() {
        let exact = 3.0 - 1.0 + 5.0 / 6.0;
        // Two events: their two parts and the rest, which halving would not find with any depth.
        let (x, attempts) = stepped_with(1.0, 2, |picky| {
            picky.events = vec![0.3, 0.7];
            picky.says = |_, reached| Some(reached);
        });
        assert!((x.unwrap() - exact).abs() < 1e-14);
        assert_eq!(
            attempts, 6,
            "a trial, the whole step, to 0.3 s, the rest, to 0.7 s, the rest"
        );
        let (without, _) = stepped_with(1.0, 2, |picky| picky.events = vec![0.3, 0.7]);
        assert!(without.is_err());
    }

    #[test]
    fn c39_a_time_that_is_not_within_the_step_is_ignored() {
        let exact = 3.0 - 1.0 + 5.0 / 6.0;
        let (_, halved) = stepped(0.3, 3);
        let nonsense: [fn(f64, f64) -> Option<f64>; 7] = [
            |_, _| Some(f64::NAN),
            |_, _| Some(f64::INFINITY),
            |_, _| Some(f64::NEG_INFINITY),
            |start, _| Some(start),
            |start, _| Some(start - 0.1),
            |_, _| Some(1.0),
            |_, _| Some(1e300),
        ];
        for says in nonsense {
            let (x, attempts) = stepped_with(0.3, 3, |picky| picky.says = says);
            assert!((x.unwrap() - exact).abs() < 1e-14);
            assert_eq!(attempts, halved);
        }
    }

    #[test]
    fn c75_unit_that_does_not_go_back_is_found_before_it_is_needed() {
        let picky = |forgets: bool| {
            let mut unit = picky(1.0, std::sync::Arc::default());
            unit.forgets = forgets;
            unit
        };
        assert!(state_check::check(&mut picky(false), &[1], 0.0, 1.0).is_ok());
        let fault = state_check::check(&mut picky(true), &[1], 0.0, 1.0).unwrap_err();
        assert!(
            fault
                .message
                .contains("two steps from one saved state differ: x = 1 and 2"),
            "{}",
            fault.message
        );
    }

    #[test]
    fn c39_discard_for_ever_ends() {
        let (outcome, attempts) = stepped(0.0, 5);
        assert_eq!(attempts, 7, "a trial, the whole step and five halvings");
        let message = outcome.unwrap_err().message;
        assert_eq!(
            message,
            "too long; steps were halved down to 0.03125 s, as step_halvings allows"
        );
    }
}
