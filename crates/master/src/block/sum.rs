//! A sum: y = Σ ±u[i]. The outputs of a sum belong to the inputs at the same instant.
//!
//! Compares a set point with a measured value, or joins what several components add to one input.

use super::{Block, BlockFacts};
use crate::registry::{Entry, ParameterInfo, ParameterKind};

struct Sum {
    /// 1 or −1 for each input.
    signs: Vec<f64>,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "sum",
    summary: "sum of the inputs u[1], u[2], …, each with its sign",
    source: "Modelica.Blocks.Math.Sum",
    parameters: &[ParameterInfo {
        name: "signs",
        summary: "a + or - for each input",
        kind: ParameterKind::Text("++"),
    }],
    facts: |_, ()| BlockFacts::FUNCTION,
    build: |arguments| {
        let sign = |letter| match letter {
            '+' => Some(1.0),
            '-' => Some(-1.0),
            _ => None,
        };
        let signs: Option<Vec<f64>> = arguments.text("signs").chars().map(sign).collect();
        match signs.filter(|signs| !signs.is_empty()) {
            Some(signs) => Ok(Box::new(Sum { signs })),
            None => Err("`signs` must be a + or - for each input, such as \"++-\"".to_owned()),
        }
    },
};

impl Block for Sum {
    fn inputs(&self) -> Vec<String> {
        (1..=self.signs.len())
            .map(|index| format!("u[{index}]"))
            .collect()
    }

    fn output(&self, _output: usize, _time: f64, inputs: &[f64]) -> Result<f64, String> {
        Ok(self
            .signs
            .iter()
            .zip(inputs)
            .map(|(sign, input)| sign * input)
            .sum())
    }

    fn gain(&self, _output: usize, input: usize, _inputs: &[f64]) -> f64 {
        self.signs[input]
    }
}
