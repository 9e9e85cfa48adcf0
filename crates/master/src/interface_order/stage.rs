//! A stage of an interface model in the plan: one act on the reduced model, with the values that the act declares.
//!
//! The orders put it into the plan. It steps no unit.

use crate::fault::Fault;
use crate::graph::Graph;
use crate::interface_model::InterfaceModel;
use crate::plan::{Effect, Instant, Stage, StageView, Store};
use crate::state::{ReducedModel, SystemState};
use crate::state_stream::StateStream;
use crate::step::Step;

/// An act of an interface model in a macro-step, or in a part of it.
pub(super) struct Act {
    pub(super) effects: fn(&InterfaceModel, &Graph) -> Vec<Effect>,
    pub(super) words: fn(&InterfaceModel, &Graph) -> String,
    pub(super) run: fn(&mut Moment<'_>) -> Result<(), Fault>,
}

/// An interface model in a macro-step, or in a part of it.
pub(super) struct Moment<'a> {
    pub(super) state: &'a mut SystemState,
    pub(super) running: &'a mut ReducedModel,
    pub(super) model: &'a InterfaceModel,
    pub(super) step: &'a Step,
    /// Index of the part.
    pub(super) part: u32,
}

impl Act {
    pub(super) fn of(&'static self, model: usize) -> ModelStage {
        ModelStage { act: self, model }
    }
}

/// A stage of an interface model. Its memory is a part of the state.
#[derive(Clone, Copy)]
pub(super) struct ModelStage {
    act: &'static Act,
    /// Index in the graph.
    model: usize,
}

impl Stage for ModelStage {
    fn effects(&self, graph: &Graph) -> Vec<Effect> {
        (self.act.effects)(&graph.interface_models[self.model], graph)
    }

    fn words(&self, graph: &Graph) -> String {
        let model = &graph.interface_models[self.model];
        let words = (self.act.words)(model, graph);
        format!("{}: {words}", model.name)
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        let graph = std::sync::Arc::clone(&view.state.graph);
        let mut models = std::mem::take(&mut view.state.models.running);
        let result = (self.act.run)(&mut Moment {
            state: view.state,
            running: &mut models[self.model],
            model: &graph.interface_models[self.model],
            step: &view.step,
            part: view.part,
        });
        view.state.models.running = models;
        result
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(*self))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        // Its memory is a part of the state.
        let _ = stream;
    }
}

/// The outputs that hold the forces of the fast components.
pub(super) fn forces(model: &InterfaceModel) -> impl Iterator<Item = usize> {
    let whole = model.coordinates.iter().filter_map(|c| c.force);
    whole.chain(model.efforts.iter().map(|effort| effort.output))
}

/// Reads of published outputs.
pub(super) fn reads(outputs: impl Iterator<Item = usize>, at: Instant) -> Vec<Effect> {
    let store = Store::Shown;
    let read = outputs.map(|output| Effect::Reads { output, store, at });
    read.collect()
}

/// Name of the multibody component of a model.
pub(super) fn heavy<'a>(model: &InterfaceModel, graph: &'a Graph) -> &'a str {
    &graph.components[model.component].name
}

/// Names of the fast components of a model.
pub(super) fn fast_names(model: &InterfaceModel, graph: &Graph) -> String {
    let names: Vec<&str> = model
        .fast
        .iter()
        .map(|fast| graph.components[*fast].name.as_str())
        .collect();
    names.join(", ")
}
