//! A transport delay: y(t) = u(t − delay).
//!
//! The input is known at the starts of the block's steps and lies on the straight line between them. A delay
//! shorter than a communication step acts as one step.

use std::collections::VecDeque;

use super::{Block, BlockFacts, reached};
use crate::registry::{Entry, ParameterInfo};

/// A transport delay: the input some time ago, on the straight line between the values that the
/// block was given at the starts of its steps.
struct Delay {
    delay: f64,
    /// The value before the first input has passed; `None`: the first input.
    initial: Option<f64>,
    /// Times and inputs, from the last one that is old enough on.
    samples: VecDeque<(f64, f64)>,
}

pub(super) const ENTRY: Entry<dyn Block> = Entry {
    name: "delay",
    summary: "u some time ago, on the straight line between communication points; at least one communication step ago",
    source: "Modelica.Blocks.Nonlinear.FixedDelay",
    parameters: &[
        ParameterInfo::positive("delay", "how long ago, s", 1.0),
        ParameterInfo::number_or_auto(
            "initial",
            "value before the first input has passed; auto: the first input",
            (-f64::MAX, f64::MAX),
        ),
    ],
    facts: |arguments, ()| BlockFacts {
        feeds_through_at_start: arguments.number_or_auto("initial").is_none(),
        ..BlockFacts::SMOOTH
    },
    build: |arguments| {
        Ok(Box::new(Delay {
            delay: arguments.number("delay"),
            initial: arguments.number_or_auto("initial"),
            samples: VecDeque::new(),
        }))
    },
};

impl Block for Delay {
    fn inputs(&self) -> Vec<String> {
        vec!["u".to_owned()]
    }

    fn output(&self, _output: usize, time: f64, inputs: &[f64]) -> Result<f64, String> {
        let wanted = time - self.delay;
        let after = self.samples.partition_point(|(at, _)| reached(wanted, *at));
        let Some(index) = after.checked_sub(1) else {
            let first = self.samples.front().map_or(inputs[0], |(_, first)| *first);
            return Ok(self.initial.unwrap_or(first));
        };
        let (start, first) = self.samples[index];
        Ok(match self.samples.get(after) {
            Some((end, last)) => first + (last - first) * ((wanted - start) / (end - start)),
            None => first,
        })
    }

    fn begin(&mut self, time: f64, inputs: &[f64]) {
        self.samples.clear();
        self.samples.push_back((time, inputs[0]));
    }

    fn step(&mut self, time: f64, step: f64, inputs: &[f64]) {
        // The input of the start may have changed since.
        if self.samples.back().is_some_and(|(at, _)| *at >= time) {
            self.samples.pop_back();
        }
        self.samples.push_back((time, inputs[0]));
        let oldest = time + step - self.delay;
        while self.samples.len() > 1 && reached(oldest, self.samples[1].0) {
            self.samples.pop_front();
        }
    }

    fn memory(&self) -> Vec<f64> {
        self.samples
            .iter()
            .flat_map(|(at, value)| [*at, *value])
            .collect()
    }

    fn set_memory(&mut self, memory: &[f64]) {
        let (pairs, _) = memory.as_chunks();
        self.samples.clear();
        self.samples
            .extend(pairs.iter().map(|&[at, value]| (at, value)));
    }
}
