//! One value, always: a set point, or a stand-in for an input that is not modelled yet.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo};

struct Constant(f64);

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "constant",
    summary: "one value, always",
    source: "Modelica.Blocks.Sources.Constant",
    parameters: &[ParameterInfo::any_number("value", "the value", 0.0)],
    facts: |_, ()| BlockFacts::SMOOTH,
    build: |arguments| Ok(Box::new(Constant(arguments.number("value")))),
};

impl Block for Constant {
    fn output(&self, _output: usize, _time: f64, _inputs: &[f64]) -> Result<f64, String> {
        Ok(self.0)
    }
}
