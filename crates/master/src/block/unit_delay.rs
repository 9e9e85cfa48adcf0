//! A delay of one communication step of the block: y at the end of a step is u at its start.
//!
//! Breaks an algebraic loop, as a sampled controller does.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct UnitDelay(f64);

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "unit-delay",
    summary: "u at the start of the block's last communication step",
    source: "Modelica.Blocks.Discrete.UnitDelay, whose sample period is the component's step",
    parameters: &[ParameterInfo::any_number(
        "initial",
        "value at the start",
        0.0,
    )],
    facts: |_, ()| BlockFacts::JUMPS,
    build: |arguments| Ok(Box::new(UnitDelay(arguments.number("initial")))),
};

impl Block for UnitDelay {
    fn inputs(&self) -> Vec<String> {
        vec!["u".to_owned()]
    }

    fn output(&self, _output: usize, _time: f64, _inputs: &[f64]) -> Result<f64, String> {
        Ok(self.0)
    }

    fn step(&mut self, _time: f64, _step: f64, inputs: &[f64]) {
        self.0 = inputs[0];
    }

    fn memory(&self) -> Vec<f64> {
        vec![self.0]
    }

    fn set_memory(&mut self, memory: &[f64]) {
        if let [value] = memory {
            self.0 = *value;
        }
    }
}
