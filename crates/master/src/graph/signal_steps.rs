//! In which steps the signals of a system are given and taken.

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
            takes_slopes: receiver.description.capabilities.input_derivatives > 0,
            feeds_through: !self.feedthrough(input.source, false).is_empty(),
        }
    }

    /// Extrapolations that cannot work in the steps of their signals; `are_equal` tells whether all
    /// macro-steps are of one length.
    pub(crate) fn check_signal_steps(
        &self,
        file: &SystemFile,
        are_equal: bool,
        problems: &mut Vec<Problem>,
    ) {
        for (receiver, component) in self.components.iter().enumerate() {
            for input in &self.inputs[component.inputs.clone()] {
                let (entry, arguments) = &input.extrapolation;
                let mut extrapolation = (entry.build)(arguments);
                let mut prepared = extrapolation.prepare(&self.steps_of(receiver, input));
                if prepared.is_ok() && extrapolation.wants_substeps() && !are_equal {
                    prepared = Err(
                        "its filters need macro-steps of one length; use step control `fixed`"
                            .to_owned(),
                    );
                }
                let Err(reason) = prepared else {
                    continue;
                };
                let name = self.variable_name(receiver, input.variable);
                let message = format!("`{}` cannot feed `{name}`: {reason}", entry.name);
                let listed = file.components.iter();
                let choice = listed
                    .filter(|listed| listed.name.value == component.name)
                    .find_map(|listed| listed.extrapolation.as_ref())
                    .or(file.experiment.extrapolation.as_ref());
                let span = choice.map_or(0..0, |choice| choice.name.span.clone());
                problems.push(Problem::error("extrapolation-refused", message).at(&span));
            }
        }
    }
}
