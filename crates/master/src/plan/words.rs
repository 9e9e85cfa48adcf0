//! A step plan in words: a line an operation, for `inspect --plan`, summaries and reports.
//!
//! It decides nothing, and no run depends on it.

use std::collections::BTreeMap;
use std::fmt;

use super::effect::{Effect, Store};
use super::operation::{Operation, Selection};
use super::{StepPlan, decisions};
use crate::decision::Decision;
use crate::exchange::{Words as PassWords, loop_words, mode_of};
use crate::graph::{Graph, SignalSource, SignalWire};
use crate::state::{Pass, SystemState};
use crate::step::Phase;

/// An operation of a step plan in words.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct PlanLine {
    /// Word of the operation: `prepare`, `give`, `step`, …
    pub operation: &'static str,
    /// The components on which it acts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,
    /// The act, with the names of the system.
    pub text: String,
    /// How many repetitions and iterations it stands in.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: usize,
}

fn is_zero(depth: &usize) -> bool {
    *depth == 0
}

/// A step plan in words, an operation a line, in their order.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct PlanText {
    /// The method that wrote it.
    pub method: String,
    /// It is the plan of a run, with exchange modes that were chosen once the units were initialised.
    pub is_final: bool,
    /// Its operations.
    pub operations: Vec<PlanLine>,
    /// The choices that `auto` has made, as far as they are made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<Decision>,
}

impl fmt::Display for PlanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.operations.iter().map(|line| line.operation.len());
        let width = width.max().unwrap_or(0);
        for (index, line) in self.operations.iter().enumerate() {
            let PlanLine {
                operation,
                text,
                depth,
                ..
            } = line;
            let indent = 2 * depth;
            writeln!(
                f,
                "{:>3}  {:indent$}{operation:<width$}  {text}",
                index + 1,
                ""
            )?;
        }
        for Decision {
            r#where: place,
            what,
            why,
            ..
        } in &self.decisions
        {
            writeln!(f, "auto  {place}: {what}, since {why}")?;
        }
        Ok(())
    }
}

impl PlanText {
    /// A plan of a method in words: a draft where there is no `state`.
    pub(crate) fn new(
        (method, control): (&str, &str),
        plan: &StepPlan,
        graph: &Graph,
        state: Option<&SystemState>,
    ) -> Self {
        let mut lines = Vec::new();
        let words = Words { plan, graph, state };
        words.add(&plan.operations, (0, 1), &mut lines);
        if control != "fixed" {
            lines.push(PlanLine {
                operation: "size",
                components: Vec::new(),
                text: format!("{control} chooses the length of the next macro-step, or has this one made again"),
                depth: 0,
            });
        }
        Self {
            method: method.to_owned(),
            is_final: state.is_some(),
            operations: lines,
            decisions: decisions(graph, state),
        }
    }
}

/// The name of the output that feeds a wire.
fn source_name(graph: &Graph, wire: &SignalWire) -> String {
    match wire.source {
        SignalSource::Real(output) => graph.output_name(output),
        SignalSource::Discrete(signal) => {
            let signal = &graph.signals[signal];
            graph.variable_name(signal.component, signal.variable)
        }
    }
}

struct Words<'a> {
    plan: &'a StepPlan,
    graph: &'a Graph,
    state: Option<&'a SystemState>,
}

impl Words<'_> {
    /// Adds the operations that stand in so many repetitions, and so many parts of a macro-step.
    fn add(
        &self,
        operations: &[Operation],
        (depth, parts): (usize, u32),
        lines: &mut Vec<PlanLine>,
    ) {
        for operation in operations {
            let components = self.components(operation);
            let names = components.iter().map(|c| self.name(*c).to_owned());
            lines.push(PlanLine {
                operation: operation.name(),
                text: self.text(operation, &components, parts),
                components: names.collect(),
                depth,
            });
            match operation {
                Operation::Repeat { body, parts } => self.add(body, (depth + 1, *parts), lines),
                Operation::Iterate { body, test, .. } => {
                    self.add(body, (depth + 1, parts), lines);
                    lines.push(PlanLine {
                        operation: "test",
                        components: Vec::new(),
                        text: self.stage(*test),
                        depth: depth + 1,
                    });
                }
                _ => {}
            }
        }
    }

    fn name(&self, component: usize) -> &str {
        &self.graph.components[component].name
    }

    fn components(&self, operation: &Operation) -> Vec<usize> {
        match operation {
            Operation::Prepare(s)
            | Operation::Give(s)
            | Operation::GiveSignals(s)
            | Operation::Step(s)
            | Operation::Read(s, _)
            | Operation::ReadSignalsAhead(s)
            | Operation::Show(s) => s.components.clone(),
            Operation::Postpone(component) | Operation::GiveHeld(component) => vec![*component],
            Operation::Iterate { components, .. } => components.clone(),
            Operation::Exchange(pass) => self.exchanging(*pass),
            _ => Vec::new(),
        }
    }

    /// The components of a pass, or of the algebraic loop that it stands for.
    fn exchanging(&self, pass: usize) -> Vec<usize> {
        let passes = self
            .state
            .map_or(&[][..], |state| &state.exchange.passes[..]);
        let Some(first) = passes.get(pass) else {
            return Vec::new();
        };
        let same = |other: &&Pass| other.in_loop.is_some() && other.in_loop == first.in_loop;
        match first.in_loop {
            None => vec![first.component],
            Some(_) => passes
                .iter()
                .filter(same)
                .map(|pass| pass.component)
                .collect(),
        }
    }

    fn pass(&self, pass: usize) -> Option<&Pass> {
        self.state?.exchange.passes.get(pass)
    }

    fn stage(&self, stage: usize) -> String {
        let stage = self.plan.stages.get(stage);
        stage.map_or_else(String::new, |stage| stage.words(self.graph))
    }

    /// Names of components; of many, how many.
    fn names(&self, components: &[usize]) -> String {
        const MOST: usize = 8;
        if components.len() > MOST {
            let all = components.len() == self.graph.components.len();
            let count = components.len();
            return if all {
                format!("all {count} components")
            } else {
                let first = self.names(&components[..3]);
                format!("{first} and {} others", count - 3)
            };
        }
        let names: Vec<&str> = components.iter().map(|c| self.name(*c)).collect();
        names.join(", ")
    }

    /// Names of the components of a selection, with the rates of slow ones.
    fn selected(&self, selection: &Selection) -> String {
        let slow: Vec<String> = selection
            .components
            .iter()
            .filter(|component| self.graph.components[**component].rate.every() > 1)
            .map(|component| {
                let every = self.graph.components[*component].rate.every();
                format!("{} every {every} macro-steps", self.name(*component))
            })
            .collect();
        let names = self.names(&selection.components);
        let end = match selection.phase {
            Phase::Begin => "begins",
            Phase::End => "ends",
        };
        match (selection.components.as_slice(), slow.as_slice()) {
            (_, []) => names,
            (&[component], _) => {
                let every = self.graph.components[component].rate.every();
                format!("{names} (where its step of {every} macro-steps {end})")
            }
            _ => format!("{names} ({}: where the step {end})", slow.join(", ")),
        }
    }

    /// The extrapolations of the connected inputs of components.
    fn extrapolations(&self, components: &[usize]) -> String {
        let mut words: Vec<&str> = components
            .iter()
            .flat_map(|component| self.graph.components[*component].inputs.clone())
            .map(|input| self.graph.inputs[input].extrapolation.name())
            .collect();
        words.sort_unstable();
        words.dedup();
        words.join(", ")
    }

    fn text(&self, operation: &Operation, components: &[usize], parts: u32) -> String {
        let all = || self.names(components);
        match operation {
            Operation::Prepare(selection) => format!(
                "inputs of {} from the published outputs: {}",
                self.selected(selection),
                self.extrapolations(components)
            ),
            Operation::Give(selection) => {
                format!("sets the inputs of {}", self.selected(selection))
            }
            Operation::GiveSignals(selection) => format!(
                "sets the inputs of {} that have an end that is not real{}",
                self.selected(selection),
                self.led(components)
            ),
            Operation::Postpone(_) => {
                format!(
                    "{} keeps the start of its step, which is made when it ends",
                    all()
                )
            }
            Operation::GiveHeld(_) => {
                let led = self.led(components);
                format!("sets the values that wait for {}{led}", all())
            }
            Operation::Step(selection) => self.steps(selection, parts),
            Operation::Read(selection, Store::Shown) => {
                format!("outputs of {}, published at once", self.selected(selection))
            }
            Operation::Read(selection, Store::Ahead) => format!(
                "outputs of {}, seen by the units after it and not yet published",
                self.selected(selection)
            ),
            Operation::ReadSignalsAhead(selection) => format!(
                "outputs of {} that are not real and that units after it receive",
                self.selected(selection)
            ),
            Operation::Show(selection) => {
                format!(
                    "outputs of {} that were read before",
                    self.selected(selection)
                )
            }
            Operation::Exchange(pass) => self
                .pass(*pass)
                .map_or_else(String::new, |pass| self.exchanged(pass)),
            Operation::Own(stage) => self.stage(*stage),
            Operation::Repeat { parts, .. } => format!("{parts} equal parts of the macro-step:"),
            Operation::Iterate { limit, .. } => {
                format!(
                    "from the saved states of {}, at most {limit} times, each with estimates of their outputs at the end of the step:",
                    all()
                )
            }
            _ => self.text_for_all(operation),
        }
    }

    /// The outputs that wires pass on to components ahead of their time.
    fn led(&self, components: &[usize]) -> String {
        let graph = self.graph;
        let wires = self.plan.led_wires.iter();
        let wires = wires.map(|wire| &graph.signal_wires[*wire]);
        let led = wires.filter(|wire| components.contains(&wire.component));
        let names: Vec<String> = led.map(|wire| source_name(graph, wire)).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("; {} of the end of the step", names.join(", ")),
        }
    }

    /// Operations that name no component.
    fn text_for_all(&self, operation: &Operation) -> String {
        match operation {
            Operation::Correct => {
                return format!("additions to the coming inputs: {}", self.corrected());
            }
            Operation::ExchangeAll => return self.modes(),
            Operation::FeedForward => "learned additions to the coming inputs",
            Operation::TakeBack => "these additions, from inputs that the scenario replaces",
            Operation::ReadSignals => "outputs that are not real; a change is an event",
            Operation::ReadSlopes => "derivatives of outputs",
            Operation::ObserveSubsteps => "filters receive the outputs within the macro-step",
            Operation::Scenario => "actions begin and end",
            Operation::Check => "published outputs are finite, or the run ends",
            Operation::Observe => "extrapolations receive the published outputs",
            _ => "",
        }
        .to_owned()
    }

    fn steps(&self, selection: &Selection, parts: u32) -> String {
        let several: Vec<String> = selection
            .components
            .iter()
            .filter(|component| self.graph.components[**component].rate.substeps() > parts)
            .map(|component| {
                let steps = self.graph.components[*component].rate.substeps() / parts;
                format!("{} in {steps} steps of its own", self.name(*component))
            })
            .collect();
        let follows: Vec<&str> = selection
            .components
            .iter()
            .filter(|c| {
                self.state
                    .is_some_and(|s| s.units.members[**c].follows_curves)
            })
            .map(|component| self.name(*component))
            .collect();
        let mut text = format!("steps {}", self.selected(selection));
        if !several.is_empty() {
            text = format!("{text}; {}", several.join(", "));
        }
        if !follows.is_empty() {
            text = format!(
                "{text}; {} with inputs that move within the step",
                follows.join(", ")
            );
        }
        text
    }

    fn corrected(&self) -> String {
        let bonds = self.graph.bonds.iter();
        let named = bonds.filter_map(|bond| {
            let correction = bond.correction.as_ref()?;
            Some(format!("{} ({})", bond.name, correction.name()))
        });
        named.collect::<Vec<_>>().join(", ")
    }

    /// Whether a stage gives an input the value of the end of the step.
    fn leads_to_end(&self, input: usize) -> bool {
        let effects = self
            .plan
            .stages
            .iter()
            .flat_map(|stage| stage.effects(self.graph));
        let mut replaced = effects.filter_map(|effect| match effect {
            Effect::Replaces { input, is_mean, .. } => Some((input, is_mean)),
            _ => None,
        });
        replaced.any(|(replaced, is_mean)| replaced == input && !is_mean)
    }

    /// The exchange as the system asks for it.
    fn modes(&self) -> String {
        let mut modes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (component, node) in self.graph.components.iter().enumerate() {
            let depends = |output: usize| !self.graph.feedthrough(output, false).is_empty();
            if node.outputs.clone().any(depends) {
                let asked = modes.entry(node.exchange.word());
                asked.or_default().push(component);
            }
        }
        let asked = modes.iter();
        let asked: Vec<String> = asked
            .map(|(mode, components)| format!("{mode}: {}", self.names(components)))
            .collect();
        if asked.is_empty() {
            "no unit declares direct feed-through".to_owned()
        } else {
            let asked = asked.join("; ");
            format!("outputs with direct feed-through, by mode; {asked}")
        }
    }

    fn exchanged(&self, pass: &Pass) -> String {
        if let (Some(index), Some(state)) = (pass.in_loop, self.state) {
            return loop_words(state, index);
        }
        let outputs: Vec<String> = pass
            .outputs
            .iter()
            .map(|o| self.graph.output_name(*o))
            .collect();
        let sources = pass.inputs.iter().map(|input| {
            let source = self.graph.inputs[*input].source;
            self.graph.output_name(source)
        });
        let mut sources: Vec<String> = sources.collect();
        sources.dedup();
        let words = PassWords {
            outputs: outputs.join(", "),
            sources: sources.join(", "),
            has_end_values: pass.inputs.iter().all(|input| self.leads_to_end(*input)),
        };
        (mode_of(pass.mode).words)(&words)
    }
}
