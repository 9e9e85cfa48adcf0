//! Whether going back works as a unit claims (C-75).
//!
//! Methods that go back ask it once a unit; it leaves the unit as it was.

use crate::fault::{Cause, Fault, UnitFault};
use crate::state::SystemState;
use crate::step::Step;
use crate::unit::{Handle, SavedState, StepOutcome, Unit, UnitResult};

/// Makes the coming step twice from the present state, and compares the outputs bit for bit. The
/// unit is left as it was. A step that the unit does not finish proves nothing.
pub(crate) fn check(unit: &mut dyn Unit, outputs: &[Handle], time: f64, step: f64) -> UnitResult {
    let saved = unit.save(None)?;
    let Some(first) = attempt(unit, &saved, outputs, time, step)? else {
        return Ok(());
    };
    let Some(second) = attempt(unit, &saved, outputs, time, step)? else {
        return Ok(());
    };
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
    match first.iter().zip(&second).position(|pair| !same(pair)) {
        None => Ok(()),
        Some(place) => {
            let handle = outputs[place];
            let mut variables = unit.description().variables.iter();
            let name = variables.find(|variable| variable.handle == handle);
            let message = format!(
                "two steps from one saved state differ: {} = {} and {}; the unit cannot go back \
                 as it claims, so steps cannot be made again",
                name.map_or("an output", |variable| variable.name.as_str()),
                first[place],
                second[place],
            );
            Err(UnitFault::new(
                "fmi2SetFMUstate",
                Cause::Unsupported,
                message,
            ))
        }
    }
}

/// The same for a component of a system that is about to make a macro-step.
pub(crate) fn check_component(
    state: &mut SystemState,
    component: usize,
    step: &Step,
) -> Result<(), Fault> {
    let member = &mut state.units.members[component];
    let size = step.size / f64::from(member.substeps);
    let outputs = member.output_handles.clone();
    let checked = check(member.slot.unit(), &outputs, step.time, size);
    checked.map_err(|fault| state.graph.fault(component, step, fault))
}

/// The outputs after a step, if the unit finishes it; goes back after it.
fn attempt(
    unit: &mut dyn Unit,
    saved: &SavedState,
    outputs: &[Handle],
    time: f64,
    step: f64,
) -> UnitResult<Option<Vec<f64>>> {
    let values = match unit.step(time, step) {
        Ok(StepOutcome::Done) => {
            let mut values = vec![0.0; outputs.len()];
            unit.get_reals(outputs, &mut values)?;
            Some(values)
        }
        Ok(StepOutcome::Terminated(_)) => None,
        Err(fault) if fault.cause == Cause::Discard => None,
        Err(fault) => return Err(fault),
    };
    unit.restore(saved)?;
    Ok(values)
}
