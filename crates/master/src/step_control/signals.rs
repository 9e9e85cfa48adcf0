//! Signals that a step control looks at, by the names in its parameters.

use super::ControlledSystem;
use crate::registry::SignalName;

/// The word for all real outputs, each on its own, but those that change at events only.
pub(super) const ALL: &str = "all";

/// A real output, or the difference of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ControlledSignal {
    /// Place among the outputs.
    pub output: usize,
    /// Place of the output that is subtracted.
    pub less: Option<usize>,
    /// Nominal value; of a difference, the smaller one.
    pub nominal: f64,
}

impl ControlledSignal {
    /// The value of the signal if its outputs have these values.
    pub fn value(&self, outputs: &[f64]) -> f64 {
        outputs[self.output] - self.less.map_or(0.0, |less| outputs[less])
    }
}

impl ControlledSystem<'_> {
    /// The signals that a [parameter](crate::registry::ParameterKind::Signals) names, whose names are known, or `all`.
    pub fn signals(&self, text: &str) -> Vec<ControlledSignal> {
        let outputs = || self.outputs.iter().enumerate();
        if text == ALL {
            let continuous = outputs().filter(|(_, output)| !output.is_discrete);
            let signal = |(index, output): (usize, &super::ControlledOutput)| ControlledSignal {
                output: index,
                less: None,
                nominal: output.nominal,
            };
            return continuous.map(signal).collect();
        }
        let place = |name: &str| self.outputs.iter().position(|output| output.name == name);
        let names = SignalName::list(text).into_iter();
        let signals = names.filter_map(|name| {
            let output = place(name.output)?;
            let less = match name.less {
                Some(less) => Some(place(less)?),
                None => None,
            };
            let of_both = std::iter::once(output).chain(less);
            let nominals = of_both.map(|output| self.outputs[output].nominal);
            Some(ControlledSignal {
                output,
                less,
                nominal: nominals.fold(f64::INFINITY, f64::min),
            })
        });
        signals.collect()
    }
}
