use super::Method;
use super::turns::{FAST_FIRST, FEEDTHROUGH_LAST, Order};
use crate::fault::Fault;
use crate::graph::Graph;
use crate::plant::{Passing, Plant, Step};
use crate::registry::{Entry, Maker, ParameterInfo, ParameterKind};

/// Units step one after the other, each with what those before it have just computed.
#[derive(Debug)]
struct GaussSeidel {
    order: Order,
}

pub(super) const ENTRY: Entry<Maker<dyn Method>> = Entry {
    name: "gauss-seidel",
    summary: "units step one after the other; a later one receives the end values of those before it, on a line where \
              it can follow one",
    source: "Rahikainen 2020 §1 names it; line to the end value: FMI 2.0 §4.2.3",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "who steps first: units with direct feed-through last, fast units first, or names separated by commas",
        kind: ParameterKind::Names(&[FEEDTHROUGH_LAST, FAST_FIRST]),
    }],
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(GaussSeidel { order })
    },
};

impl Method for GaussSeidel {
    fn misfits(&self, graph: &Graph) -> Vec<String> {
        self.order.misfits("gauss-seidel", graph)
    }

    fn begin(&mut self, plant: &mut Plant) {
        let order = self.order.components(&plant.graph);
        plant.take_turns(order, Passing::End);
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn step(&mut self, plant: &mut Plant, step: &Step) -> Result<(), Fault> {
        plant.correct(step)?;
        plant.step_in_turns(step)
    }
}
