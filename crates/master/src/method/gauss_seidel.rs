//! Gauss-Seidel coupling: units step one after the other. An input whose source has stepped already
//! receives that source's new value: the line y(t) → y(t + H) where the unit takes sub-steps or
//! input derivatives, else y(t + H), held. All other inputs are extrapolated, as with `jacobi`.
//!
//! Source: Rahikainen et al. (2020) §1 names the method; derivatives of inputs: FMI 2.0 §4.2.3. Use
//! it where one unit has direct feed-through and can step last, or is much stiffer than the others.
//! Limits: one unit at a time, so threads do not help; the order of the units changes the result;
//! inputs look ahead, which `hinfinity`, interface models and learned feed-forward refuse.

use super::serial::{self, FAST_FIRST, FEEDTHROUGH_LAST, Order, Turn};
use super::{Method, MethodFacts};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::{Draft, Effect, Stage, StageView};
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// Units step one after the other, each with the outputs that those before it have just computed.
struct GaussSeidel {
    order: Order,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "gauss-seidel",
    summary: "units step one after the other; a later one receives the end values of those before it, on a line where \
              it can follow one",
    source: "Rahikainen 2020 §1 names it; line to the end value: FMI 2.0 §4.2.3",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "order of the units: those with direct feed-through last, fast ones first, or names separated by commas",
        kind: ParameterKind::Names(&[FEEDTHROUGH_LAST, FAST_FIRST]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        passes_means: false,
    },
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(GaussSeidel { order })
    },
};

impl Method for GaussSeidel {
    fn plan(&self, draft: &mut Draft<'_>) {
        serial::plan(draft, &self.order, |turn| Lines {
            starts: vec![0.0; turn.led.len()],
            turn,
        });
    }
}

/// The inputs of a component follow lines to the end values of the components before it.
#[derive(Clone)]
struct Lines {
    turn: Turn,
    /// Values of the sources when the component's communication step began.
    starts: Vec<f64>,
}

impl Stage for Lines {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        let replaced = self.turn.led.iter().map(|led| Effect::Replaces {
            input: led.input,
            phase: self.turn.phase,
            degree: 1,
            is_mean: false,
        });
        replaced.collect()
    }

    fn words(&self, graph: &Graph) -> String {
        let name = &graph.components[self.turn.component].name;
        let sources = self.turn.led_names(graph);
        format!(
            "{name} receives {sources} of the end of the step: as a line where it follows one, else that value"
        )
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        let component = self.turn.component;
        if view.begins(component) {
            for (start, led) in self.starts.iter_mut().zip(&self.turn.led) {
                *start = view.shown(led.source);
            }
        }
        if !view.is_due(component, self.turn.phase) {
            return Ok(());
        }
        let (step, every) = (view.step_of(component), view.every(component));
        let length = step.size * every as f64;
        for (led, &start) in self.turn.led.iter().zip(&self.starts) {
            let line = view.line(led.source, start, component);
            let is_faster = view.every(led.sender) <= every;
            let curve = if view.follows_courses(component) {
                line
            } else if is_faster {
                Curve::constant(view.ahead(led.source))
            } else {
                Curve::constant(line.at(length))
            };
            view.replace(led.input, curve);
        }
        Ok(())
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.starts);
    }
}
