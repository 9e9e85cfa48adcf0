//! Steps of the sources and receivers of the signals of a system.

use std::ops::Range;

use gyrator_system::{Problem, SystemFile};

use super::{Graph, Input};
use crate::extrapolation::SignalSteps;
use crate::time::common_macro_steps;

impl Graph {
    /// The steps of the signal that feeds `input`, an input of the component `receiver`.
    pub(crate) fn steps_of(&self, receiver: usize, input: &Input) -> SignalSteps {
        let source = &self.components[self.outputs[input.source].component];
        let receiver = &self.components[receiver];
        let exchange = f64::from(common_macro_steps(
            source.rate.every(),
            receiver.rate.every(),
        ));
        let parts = |ratio: f64| (exchange / ratio).round() as u32;
        SignalSteps {
            exchange: exchange * self.macro_step,
            source_parts: parts(source.rate.ratio()),
            receiver_parts: parts(receiver.rate.ratio()),
            curve_parts: receiver.rate.substeps(),
            takes_slopes: receiver.description.capabilities.input_derivatives > 0,
            follows: match receiver.rate.substeps() {
                1 => receiver.description.capabilities.input_derivatives as usize,
                _ => usize::MAX,
            },
            feeds_through: !self.feedthrough(input.source, false).is_empty(),
        }
    }

    /// Finds the facts about the extrapolation of each input in the steps of its signal.
    pub(crate) fn find_facts(&mut self) {
        for receiver in 0..self.components.len() {
            for index in self.components[receiver].inputs.clone() {
                let input = &self.inputs[index];
                let facts = input.extrapolation.facts(&self.steps_of(receiver, input));
                self.inputs[index].facts = facts;
            }
        }
    }

    /// Extrapolations that cannot work in the steps of their signals.
    pub(crate) fn check_signal_steps(&self, file: &SystemFile, problems: &mut Vec<Problem>) {
        for (receiver, component) in self.components.iter().enumerate() {
            for input in &self.inputs[component.inputs.clone()] {
                if let Some(reason) = &input.facts.misfit {
                    let name = self.variable_name(receiver, input.variable);
                    let word = input.extrapolation.name();
                    let message = format!("`{word}` cannot feed `{name}`: {reason}");
                    let problem = Problem::error("extrapolation-refused", message);
                    problems.push(problem.at(&extrapolation_place(file, &component.name)));
                }
            }
        }
    }
}

/// Where the file chooses the extrapolation of a component.
pub(crate) fn extrapolation_place(file: &SystemFile, component: &str) -> Range<usize> {
    let mut listed = file.components.iter();
    let own = listed.find(|listed| listed.name.value == component);
    let own = own.and_then(|listed| listed.extrapolation.as_ref());
    let choice = own.or(file.experiment.extrapolation.as_ref());
    choice.map_or(0..0, |choice| choice.name.span.clone())
}
