//! Gauss-Seidel coupling with means: an input whose source has stepped already receives the mean of
//! that output over the n communication steps of the source. By the trapezoidal rule this is
//! (1/n)·(y₀/2 + y₁ + … + yₙ₋₁ + yₙ/2), so that both sides of a force get the same impulse.
//!
//! Source: own; the equal impulse is momentum conservation over the macro-step. Use it for a fast
//! force on a slow mass, with the fast units first. Limits: as `gauss-seidel`; a mean is not the
//! last value, so corrections refuse it: they would take the difference for a coupling error.

use super::serial::{self, FAST_FIRST, FEEDTHROUGH_LAST, Order, Turn};
use super::{Method, MethodFacts};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plan::{Draft, Effect, Instant, Phase, Stage, StageView, Store};
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// Units step one after the other; later ones receive means, so that both sides of a force see the
/// same impulse.
struct MeanForce {
    order: Order,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "mean-force",
    summary: "units step one after the other, fast ones first; a later one receives the means of those before it over \
              their communication steps",
    source: "Gauss-Seidel, with equal impulses: mean by the trapezoidal rule",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "order of the units: fast ones first, those with direct feed-through last, or names separated by commas",
        kind: ParameterKind::Names(&[FAST_FIRST, FEEDTHROUGH_LAST]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        passes_means: true,
        iterates: false,
    },
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(MeanForce { order })
    },
};

impl Method for MeanForce {
    fn plan(&self, draft: &mut Draft<'_>) {
        serial::plan(draft, &self.order, |turn| Means {
            starts: vec![0.0; turn.led.len()],
            sums: vec![0.0; turn.led.len()],
            turn,
        });
    }
}

/// The inputs of a component are held at the means of the outputs of the components before it.
#[derive(Clone)]
struct Means {
    turn: Turn,
    /// Values of the sources when the component's communication step began, and the sums of their means since then.
    starts: Vec<f64>,
    sums: Vec<f64>,
}

impl Means {
    /// Adds the mean of each source over this macro-step; if the source is postponed itself, over its
    /// communication step once it was made.
    fn add(&mut self, view: &mut StageView<'_>) {
        for (led, sum) in self.turn.led.iter().zip(&mut self.sums) {
            let every = view.every(led.sender);
            let is_postponed = view.is_postponed(led.sender);
            if view.substeps(led.sender) == 1 && is_postponed && !view.ends(led.sender) {
                continue;
            }
            let (first, last) = (view.shown(led.source), view.ahead(led.source));
            *sum += if view.substeps(led.sender) > 1 {
                view.mean_within_step(led.source, first, last)
            } else if is_postponed {
                (first + 0.5 * (last - first)) * every as f64
            } else {
                let done = (view.step().index % every) as f64 + 0.5;
                first + (last - first) * done / every as f64
            };
        }
    }
}

impl Stage for Means {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        let read = self.turn.led.iter().map(|led| Effect::Reads {
            output: led.source,
            store: Store::Ahead,
            at: Instant::End,
        });
        let replaced = self.turn.led.iter().map(|led| Effect::Replaces {
            input: led.input,
            phase: self.turn.phase,
            degree: 0,
            is_mean: true,
        });
        read.chain(replaced).collect()
    }

    fn words(&self, graph: &Graph) -> String {
        let name = &graph.components[self.turn.component].name;
        let sources = self.turn.led_names(graph);
        format!("{name} receives the means of {sources} over its communication step")
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        let component = self.turn.component;
        if view.begins(component) {
            for (start, led) in self.starts.iter_mut().zip(&self.turn.led) {
                *start = view.shown(led.source);
            }
            self.sums.fill(0.0);
        }
        let is_late = self.turn.phase == Phase::End;
        if is_late {
            self.add(view);
        }
        if !view.is_due(component, self.turn.phase) {
            return Ok(());
        }
        let (step, every) = (view.step_of(component), view.every(component));
        for (place, led) in self.turn.led.iter().enumerate() {
            let start = self.starts[place];
            let mean = if is_late {
                self.sums[place] / every as f64
            } else if view.substeps(led.sender) > 1 {
                let last = view.ahead(led.source);
                view.mean_within_step(led.source, start, last)
            } else {
                let line = view.line(led.source, start, component);
                line.mean(step.size * every as f64)
            };
            view.replace(led.input, Curve::constant(mean));
        }
        Ok(())
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.starts);
        stream.keep(&mut self.sums);
    }
}
