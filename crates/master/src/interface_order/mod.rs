//! Orders of interface models, and their part of a step plan: which side steps first, how the reduced model starts, and
//! which force the multibody component receives (Rahikainen et al. 2020 §2.3.1). The models themselves:
//! [`interface_model`](crate::interface_model).
//!
//! The fast side of a model makes its exchanges in a repetition of the plan. The reduced model moves on and gives its
//! motion to the fast components; they step and are read; it receives their forces.

mod fast_first;
mod fast_side;
mod feedback;
mod parallel;
mod pipelined;
mod reading;
mod stage;
mod start;

use crate::interface_model::{FastInputs, InterfaceModel, Schedule};
use crate::plan::{Draft, Phase, Store};
use crate::registry::{Entry, entries_of};
use crate::state::{Drive, FastInput, SystemState};
use stage::Act;

/// An order with its acts.
struct Order {
    entry: Entry<Schedule>,
    /// How the reduced model starts a macro-step.
    begin: &'static Act,
    /// The state after its last exchange.
    end: &'static Act,
}

/// Every order of an interface model.
const ORDERS: [Order; 3] = [parallel::ORDER, fast_first::ORDER, pipelined::ORDER];

/// Every order of an interface model, by its word in a system file.
pub const INTERFACE_ORDERS: &[Entry<Schedule>] = &entries_of!(ORDERS);

/// The order of a model; one that a program has added has the acts of the first.
fn order_of(model: &InterfaceModel) -> &'static Order {
    const FIRST: &Order = &ORDERS[0];
    const ALL: &[Order] = &ORDERS;
    let mut orders = ALL.iter();
    let found = orders.find(|order| order.entry.name == model.schedule.order);
    found.unwrap_or(FIRST)
}

/// Divides the steps of the fast components by the exchanges, and gives the driven inputs lines if
/// the model moves them in lines.
pub(crate) fn set_up(state: &mut SystemState) {
    for running in &state.models.running {
        let model = &state.graph.interface_models[running.model];
        for &fast in &model.fast {
            state.units.members[fast].substeps /= model.exchanges;
        }
        if model.schedule.inputs == FastInputs::Linear {
            let is_driven =
                |input: &&FastInput| matches!(input.drive, Drive::Position(_) | Drive::Velocity(_));
            for driven in running.inputs.iter().filter(is_driven) {
                let input = &mut state.courses.inputs[driven.input];
                input.degree = input.degree.max(1);
            }
        }
    }
}

/// Adds the macro-step of a system with interface models to a plan, between its head and its tail.
pub(crate) fn plan(draft: &mut Draft<'_>) {
    let models = &draft.graph().interface_models;
    let is_fast = |component: &usize| models.iter().any(|m| m.fast.contains(component));
    let mut outside = draft.components();
    outside.retain(|component| !is_fast(component));
    // All models begin before any fast side steps.
    for (model, described) in models.iter().enumerate() {
        draft.own(order_of(described).begin.of(model));
        draft.give_signals(&described.fast);
    }
    // The courses of all inputs are prepared before the fast side publishes anything of this step.
    draft.prepare(&outside);
    for (model, described) in models.iter().enumerate() {
        draft.repeat(described.exchanges, |draft| {
            draft.own(fast_side::DRIVE.of(model));
            draft.give(&described.fast, Phase::Begin);
            draft.step(&described.fast, Phase::Begin);
            draft.read(&described.fast, Store::Shown, Phase::End);
            draft.check();
            draft.own(fast_side::RECEIVE.of(model));
        });
        draft.own(order_of(described).end.of(model));
    }
    draft.give(&outside, Phase::Begin);
    draft.give_signals(&outside);
    draft.step(&outside, Phase::Begin);
    draft.read(&outside, Store::Shown, Phase::End);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// System files list the options before they know the order.
    #[test]
    fn a_system_file_takes_the_parameters_of_all_orders() {
        let parameters = INTERFACE_ORDERS.iter().flat_map(|entry| entry.parameters);
        let parameters: BTreeSet<&str> = parameters.map(|parameter| parameter.name).collect();
        let keys = gyrator_system::toml_file::INTERFACE_MODEL_OPTIONS;
        assert_eq!(parameters, BTreeSet::from(keys));
    }
}
