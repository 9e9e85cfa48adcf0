//! The way of all units, inputs and outputs through a plan.

use super::{Broken, Rule};
use crate::exchange_mode::Exchange;
use crate::graph::Graph;
use crate::plan::effect::{Effect, Instant, Known, Store, effects};
use crate::plan::operation::Selection;
use crate::plan::{Operation, Phase, StepPlan};

/// Rates as small numbers with the same order and, as far as they have a small common multiple, the same ratios: a plan
/// depends on who begins and ends with whom, and not on the length.
pub(super) fn small_rates(graph: &Graph) -> Vec<u64> {
    const LONGEST_PERIOD: u64 = 16;
    let every = graph
        .components
        .iter()
        .map(|c| u64::from(c.rate.every()))
        .collect::<Vec<_>>();
    let is_short = |rates: &[u64]| {
        rates
            .iter()
            .copied()
            .try_fold(1, |all, rate| {
                let all = lcm(all, rate.min(LONGEST_PERIOD + 1));
                (all <= LONGEST_PERIOD).then_some(all)
            })
            .is_some()
    };
    if is_short(&every) {
        return every;
    }
    let mut kinds: Vec<u64> = every.iter().copied().filter(|rate| *rate > 1).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rank = |rate: u64| kinds.iter().position(|known| *known == rate);
    let small = |rate: &u64| rank(*rate).map_or(1, |rank| 2_u64 << rank.min(3));
    every.iter().map(small).collect()
}

pub(super) fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

/// Times are macro-steps since the start; parts of one are fractions.
const SAME: f64 = 1e-9;

/// A unit on its way.
#[derive(Clone, Copy, Default)]
struct UnitCourse {
    time: f64,
    /// Inputs were set since its last step.
    is_set: bool,
    /// Steps since the last macro-step in which one ended.
    steps: u32,
    reads: u32,
    shows: u32,
}

/// An input on its way.
#[derive(Clone, Copy, Default)]
struct InputState {
    prepared: u32,
    /// The course that was given is the one in force.
    is_given: bool,
    observed: f64,
    observations: u32,
}

pub(super) struct Course<'a> {
    plan: &'a StepPlan,
    known: Known<'a>,
    units: Vec<UnitCourse>,
    inputs: Vec<InputState>,
    /// Times for which outputs stand.
    shown: Vec<f64>,
    ahead: Vec<f64>,
    is_unchecked: bool,
    corrected: Vec<u32>,
    observes: bool,
    checks: bool,
    pub(super) broken: Vec<Broken>,
}

impl<'a> Course<'a> {
    pub(super) fn new(plan: &'a StepPlan, known: Known<'a>, broken: Vec<Broken>) -> Self {
        let graph = known.graph;
        let state = known.state;
        Self {
            units: vec![UnitCourse::default(); graph.components.len()],
            inputs: vec![InputState::default(); graph.inputs.len()],
            shown: vec![0.0; graph.outputs.len()],
            ahead: vec![0.0; graph.outputs.len()],
            is_unchecked: false,
            corrected: vec![0; graph.bonds.len()],
            // Where nothing is extrapolated there are no pasts.
            observes: state.is_none_or(|state| !state.courses.extrapolated.is_empty()),
            checks: state.is_none_or(|state| !state.signals.accepts_non_finite),
            plan,
            known,
            broken,
        }
    }

    fn say(&mut self, rule: Rule, message: String) {
        let found = Broken { rule, message };
        if !self.broken.contains(&found) {
            self.broken.push(found);
        }
    }

    fn component(&self, component: usize) -> &'a str {
        &self.known.graph.components[component].name
    }

    pub(super) fn macro_step(&mut self, index: u64, every: &[u64]) {
        let is_due = |component: usize, phase: Phase| {
            let at = match phase {
                Phase::Begin => index,
                Phase::End => index + 1,
            };
            at.is_multiple_of(every[component])
        };
        let plan = self.plan;
        let now = index as f64;
        self.corrected.fill(0);
        self.operations(&plan.operations, &is_due, (now, now + 1.0), every);
        self.boundary(now + 1.0, &is_due);
    }

    fn operations(
        &mut self,
        operations: &[Operation],
        is_due: &dyn Fn(usize, Phase) -> bool,
        (from, to): (f64, f64),
        every: &[u64],
    ) {
        for operation in operations {
            match operation {
                Operation::Repeat { parts, body } => {
                    let length = (to - from) / f64::from(*parts);
                    // Two parts show all that many do; the last one ends the step.
                    let middle = from + length * f64::from(parts.saturating_sub(1));
                    for part in [(from, from + length), (middle, to)]
                        .into_iter()
                        .take(*parts as usize)
                    {
                        self.skip_to(body, part.0);
                        self.operations(body, is_due, part, every);
                    }
                }
                Operation::Iterate {
                    components,
                    test,
                    body,
                    ..
                } => {
                    let before = (self.units.clone(), self.inputs.clone());
                    self.estimates(*test, to);
                    self.operations(body, is_due, (from, to), every);
                    for component in components {
                        self.units[*component] = before.0[*component];
                        for input in self.known.graph.components[*component].inputs.clone() {
                            self.inputs[input] = before.1[input];
                        }
                    }
                    self.estimates(*test, to);
                    self.operations(body, is_due, (from, to), every);
                }
                _ => {
                    let mut found = Vec::new();
                    effects(operation, self.plan, self.known, is_due, &mut found);
                    for effect in found {
                        self.effect(effect, (from, to), every);
                    }
                }
            }
        }
    }

    /// The test of an iteration puts estimates for the end of the step in the place of outputs.
    fn estimates(&mut self, test: usize, to: f64) {
        let stage = self.plan.stages.get(test);
        let declared = stage.map_or_else(Vec::new, |stage| stage.effects(self.known.graph));
        for effect in declared {
            if let Effect::Estimates { output } = effect {
                self.ahead[output] = to;
            }
        }
    }

    /// Brings the units that a body steps to the start of one of its parts.
    fn skip_to(&mut self, body: &[Operation], time: f64) {
        for operation in body {
            if let Operation::Step(Selection { components, .. }) = operation {
                for component in components {
                    self.units[*component].time = self.units[*component].time.max(time);
                }
            }
        }
    }

    fn effect(&mut self, effect: Effect, (from, to): (f64, f64), every: &[u64]) {
        let graph = self.known.graph;
        match effect {
            Effect::Reads { output, store, at } => self.reads(output, (store, at), (from, to)),
            Effect::Prepares { input } => {
                let source = graph.inputs[input].source;
                self.read_shown(source, from);
                self.inputs[input].prepared += 1;
                self.inputs[input].is_given = false;
            }
            Effect::Drives { input } => {
                self.inputs[input].prepared = 1;
                self.inputs[input].is_given = false;
            }
            Effect::Replaces { input, .. } => {
                let ahead = (Store::Ahead, Instant::End);
                self.reads(graph.inputs[input].source, ahead, (from, to));
                self.inputs[input].is_given = false;
            }
            Effect::Corrects { bond } => self.corrects(bond),
            Effect::Sets { component } => self.sets(component),
            Effect::ReadsAgain {
                component,
                puts_back,
            } => {
                let node = &graph.components[component];
                let is_asked = node.exchange == Exchange::FRESH
                    || self.known.declares_safe(component)
                    || puts_back;
                if !is_asked {
                    let name = self.component(component);
                    self.say(
                        Rule::P04,
                        format!("outputs of {name} are read again, which it does not declare safe"),
                    );
                }
            }
            Effect::Tries { component } => {
                let node = &graph.components[component];
                if !node.description.capabilities.save_and_restore {
                    let name = self.component(component);
                    self.say(
                        Rule::P06,
                        format!("{name} makes trial steps and cannot save its state"),
                    );
                }
            }
            Effect::Steps { component, sets } => self.steps(component, sets, (from, to), every),
            Effect::Gets { component, store } => self.gets(component, store, to),
            Effect::Shows { component } => {
                for output in graph.components[component].outputs.clone() {
                    self.shown[output] = self.ahead[output];
                }
                self.units[component].shows += 1;
                self.is_unchecked = true;
            }
            Effect::Exchanges { output } => {
                self.is_unchecked = true;
                let fed = self.inputs.iter().enumerate();
                let late = fed
                    .filter(|(input, _)| graph.inputs[*input].source == output)
                    .any(|(_, input)| input.observations > 0);
                if late {
                    let name = graph.output_name(output);
                    self.say(
                        Rule::P10,
                        format!("{name} is observed before it is exchanged"),
                    );
                }
            }
            // Of tests of iterations, which are followed there.
            Effect::Estimates { .. } => {}
            Effect::Checks => self.is_unchecked = false,
            Effect::Observes { input } => self.observes(input, to),
        }
    }

    fn reads(&mut self, output: usize, (store, at): (Store, Instant), (from, to): (f64, f64)) {
        let found = match store {
            Store::Shown => self.shown[output],
            Store::Ahead => self.ahead[output],
        };
        match at {
            Instant::Start => self.read_shown(output, from),
            Instant::End if found < to - SAME => {
                let name = self.known.graph.output_name(output);
                self.say(
                    Rule::P02,
                    format!(
                        "{name} is read ahead of its time, and its component has not stepped yet"
                    ),
                );
            }
            Instant::End => {}
        }
    }

    /// A published value that stands for the start of the step, or for the last time that it was due before.
    fn read_shown(&mut self, output: usize, from: f64) {
        if self.shown[output] > from + SAME {
            let name = self.known.graph.output_name(output);
            self.say(
                Rule::P02,
                format!("{name} is read for the start of a step after a later value was published"),
            );
        }
        self.reads_checked(Some(output));
    }

    /// A reader of a published output, or of all.
    fn reads_checked(&mut self, output: Option<usize>) {
        if self.is_unchecked && self.checks {
            let name = |output| self.known.graph.output_name(output);
            let name = output.map_or_else(|| "an output".to_owned(), name);
            self.say(
                Rule::P12,
                format!("{name} is read before the published outputs are checked"),
            );
        }
    }

    fn corrects(&mut self, bond: usize) {
        let graph = self.known.graph;
        let name = &graph.bonds[bond].name;
        self.corrected[bond] += 1;
        if self.corrected[bond] > 1 {
            self.say(
                Rule::P11,
                format!("bond {name} is corrected twice in a macro-step"),
            );
        }
        let axes = graph.bonds[bond].axes.iter();
        let mut inputs = axes.flat_map(|axis| [axis.effort_input, axis.flow_input]);
        if inputs.any(|input| self.inputs[input].prepared > 0) {
            self.say(
                Rule::P11,
                format!("bond {name} is corrected after the courses of its inputs were prepared"),
            );
        }
    }

    fn sets(&mut self, component: usize) {
        self.units[component].is_set = true;
        for input in self.known.graph.components[component].inputs.clone() {
            self.inputs[input].is_given = true;
        }
    }

    fn steps(&mut self, component: usize, sets: bool, (from, to): (f64, f64), every: &[u64]) {
        if sets {
            self.sets(component);
        }
        let name = self.component(component);
        for input in self.known.graph.components[component].inputs.clone() {
            let InputState {
                prepared, is_given, ..
            } = self.inputs[input];
            if prepared != 1 {
                let input = self.known.graph.input_name(input);
                self.say(
                    Rule::P01,
                    format!("the course of {input} is prepared {prepared} times before a step"),
                );
            } else if !is_given {
                let input = self.known.graph.input_name(input);
                self.say(
                    Rule::P01,
                    format!("{name} steps without the course of {input} that is in force"),
                );
            }
            self.inputs[input].prepared = 0;
        }
        let unit = &mut self.units[component];
        let length = (to - from) * every[component] as f64;
        // A postponed step starts where it was kept.
        unit.time += length;
        unit.is_set = false;
        unit.steps += 1;
        unit.reads = 0;
        unit.shows = 0;
    }

    fn gets(&mut self, component: usize, store: Store, to: f64) {
        let name = self.component(component);
        let unit = self.units[component];
        if unit.is_set && !self.known.declares_safe(component) {
            self.say(
                Rule::P04,
                format!(
                    "outputs of {name} are read after its inputs were set, without a step between"
                ),
            );
        }
        self.units[component].reads += 1;
        for output in self.known.graph.components[component].outputs.clone() {
            match store {
                Store::Shown => self.shown[output] = unit.time,
                Store::Ahead => self.ahead[output] = unit.time,
            }
        }
        if store == Store::Shown {
            self.units[component].shows += 1;
            self.is_unchecked = true;
            if unit.time > to + SAME {
                self.say(
                    Rule::P02,
                    format!("outputs of {name} are published before their time"),
                );
            }
        }
    }

    fn observes(&mut self, input: usize, to: f64) {
        let graph = self.known.graph;
        let source = graph.inputs[input].source;
        self.reads_checked(Some(source));
        let state = &mut self.inputs[input];
        state.observations += 1;
        let (count, last) = (state.observations, state.observed);
        state.observed = to;
        if count > 1 || last >= to - SAME {
            let input = graph.input_name(input);
            self.say(
                Rule::P10,
                format!("the past of {input} receives a value twice"),
            );
        }
        if (self.shown[source] - to).abs() > SAME {
            let name = graph.output_name(source);
            self.say(
                Rule::P02,
                format!("{name} is observed before its value of that time is published"),
            );
        }
    }

    /// The communication point after a macro-step, where users read.
    fn boundary(&mut self, now: f64, is_due: &dyn Fn(usize, Phase) -> bool) {
        let graph = self.known.graph;
        self.reads_checked(None);
        self.is_unchecked = false;
        for (component, node) in graph.components.iter().enumerate() {
            let name = &node.name;
            let unit = self.units[component];
            if unit.is_set && !self.known.declares_safe(component) {
                self.say(
                    Rule::P04,
                    format!(
                        "inputs of {name} are set and not stepped with when users read its outputs"
                    ),
                );
            }
            if !is_due(component, Phase::End) {
                continue;
            }
            let is_late = unit.time < now - SAME;
            if is_late || unit.time > now + SAME || unit.steps == 0 {
                let (word, time) = (if is_late { "behind" } else { "beyond" }, unit.time);
                self.say(
                    Rule::P03,
                    format!("{name} is {word} the communication point {now}: at {time}"),
                );
                self.units[component].time = now;
            }
            self.units[component].steps = 0;
            if node.outputs.is_empty() {
                continue;
            }
            if unit.reads != 1 || unit.shows != 1 {
                let (reads, shows) = (unit.reads, unit.shows);
                self.say(
                    Rule::P09,
                    format!("outputs of {name} are read {reads} times and published {shows} times in a step"),
                );
            }
            for output in node.outputs.clone() {
                if (self.shown[output] - now).abs() > SAME {
                    let name = graph.output_name(output);
                    self.say(
                        Rule::P09,
                        format!("{name} is not published when its time has come"),
                    );
                    self.shown[output] = now;
                }
            }
        }
        for input in 0..self.inputs.len() {
            let source = graph.outputs[graph.inputs[input].source].component;
            if self.observes && is_due(source, Phase::End) && self.inputs[input].observations == 0 {
                let name = graph.input_name(input);
                self.say(
                    Rule::P10,
                    format!("the past of {name} does not receive its value"),
                );
            }
            self.inputs[input].observations = 0;
        }
    }
}
