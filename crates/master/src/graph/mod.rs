//! A resolved system: indices instead of names, immutable while it runs.

mod dependencies;
mod signal_steps;

pub use dependencies::{Sources, sources};
pub(crate) use signal_steps::extrapolation_place;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use gyrator_system::OuterSignal;

use crate::correction::Correction;
use crate::decision::Decision;
use crate::exchange_mode::Exchange;
use crate::extrapolation::{Extrapolation, ExtrapolationFacts};
use crate::fault::{Cause, Fault, UnitFault};
use crate::interface_model::InterfaceModel;
use crate::registry::Chosen;
use crate::step::Step;
use crate::time::{Clock, Rate};
use crate::unit::{UnitDescription, UnitResult, Value, Variable, VariableType};
use crate::value_conversion::ValueConversion;

/// The resolved system.
///
/// Components are in the order of their names, so that nothing depends on the order of a file.
/// Real inputs and outputs are numbered through, component by component: the state keeps their
/// values in one array each.
pub struct Graph {
    pub(crate) components: Vec<Component>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) signal_wires: Vec<SignalWire>,
    pub(crate) bonds: Vec<Bond>,
    pub(crate) interface_models: Vec<InterfaceModel>,
    /// Whether any bond has a limit of residual energy.
    pub(crate) has_energy_limits: bool,
    pub(crate) clock: Clock,
    pub(crate) macro_step: f64,
    /// Choices that were made of the description alone.
    pub(crate) decisions: Vec<Decision>,
    /// Signals of the system itself, which stand for variables of components.
    pub outer_signals: Vec<OuterSignal>,
}

/// A unit in the system.
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) description: Arc<UnitDescription>,
    pub(crate) rate: Rate,
    pub(crate) exchange: Exchange,
    /// Its connected real inputs, in [`Graph::inputs`].
    pub(crate) inputs: Range<usize>,
    /// Its real outputs, in [`Graph::outputs`].
    pub(crate) outputs: Range<usize>,
    /// Start values by index of the variable.
    pub(crate) start_values: Vec<(usize, Value)>,
    pub(crate) propagate_initial_inputs: bool,
    /// Relative tolerance that its unit gets.
    pub(crate) tolerance: Option<f64>,
}

/// A connected real input.
pub(crate) struct Input {
    pub(crate) variable: usize,
    /// The output that feeds it, in [`Graph::outputs`].
    pub(crate) source: usize,
    /// The input receives factor · output + offset.
    pub(crate) factor: f64,
    pub(crate) offset: f64,
    /// Variable of the source's component that the file names as the output's derivative.
    pub(crate) derivative: Option<usize>,
    pub(crate) extrapolation: Chosen<dyn Extrapolation>,
    /// Facts about it at this input.
    pub(crate) facts: ExtrapolationFacts,
}

/// A real output.
pub(crate) struct Output {
    pub(crate) component: usize,
    pub(crate) variable: usize,
}

/// An output that is not real.
pub(crate) struct Signal {
    pub(crate) component: usize,
    pub(crate) variable: usize,
}

/// A connection of which at least one end is not real.
pub(crate) struct SignalWire {
    pub(crate) source: SignalSource,
    pub(crate) component: usize,
    pub(crate) variable: usize,
    pub(crate) conversion: ValueConversion,
}

/// The output that feeds a [`SignalWire`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalSource {
    /// In [`Graph::outputs`].
    Real(usize),
    /// In [`Graph::signals`].
    Discrete(usize),
}

impl SignalWire {
    /// Whether a real variable feeds it or is fed by it.
    pub(crate) fn has_real_end(&self, graph: &Graph) -> bool {
        let description = &graph.components[self.component].description;
        let is_real = description.variables[self.variable].kind == VariableType::Real;
        is_real || matches!(self.source, SignalSource::Real(_))
    }

    /// The value of the input, from published outputs; `number` is memory for it.
    ///
    /// # Errors
    /// An output that has no value of the input's type.
    pub(crate) fn value<'v>(
        &'v self,
        reals: &[f64],
        discrete: &'v [Value],
        number: &'v mut Value,
    ) -> UnitResult<&'v Value> {
        match self.source {
            SignalSource::Real(output) => self.conversion.of_number(reals[output], number),
            SignalSource::Discrete(signal) => self.conversion.of(&discrete[signal], number),
        }
        .map_err(|reason| UnitFault::new("connection", Cause::Error, reason))
    }
}

/// A power bond: effort from end a to end b, flow from end b to end a.
pub(crate) struct Bond {
    pub(crate) name: String,
    /// Component at end a, which gives the effort.
    pub(crate) effort_side: usize,
    /// Component at end b, which gives the flow.
    pub(crate) flow_side: usize,
    pub(crate) axes: Vec<Axis>,
    pub(crate) correction: Option<Chosen<dyn Correction>>,
    /// Macro-steps between two successive points at which both ends publish.
    pub(crate) every: u32,
    /// Greatest magnitude of its residual energy before the run ends, J.
    pub(crate) max_residual_energy: Option<f64>,
    /// Relative tolerance of its residual energy, and its typical energy, J, for step controls that judge by them.
    pub(crate) energy_limits: EnergyLimits,
    /// False if effort × flow is known not to be a power.
    pub(crate) is_power: bool,
}

/// Limits of the residual energy of a bond that a system file gives, instead of the step control's limits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergyLimits {
    /// Tolerance r relative to the energy.
    pub tolerance: Option<f64>,
    /// Typical energy E₀, J.
    pub scale: Option<f64>,
}

/// One axis of a bond: indices into the graph's inputs and outputs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) effort_output: usize,
    pub(crate) effort_input: usize,
    pub(crate) flow_output: usize,
    pub(crate) flow_input: usize,
    /// Power = weight · effort · flow: the bond's sense and the gains of the pair.
    pub(crate) weight: f64,
}

/// A column of a result: an output of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedVariable {
    /// `component.variable`.
    pub name: String,
    /// Base type.
    pub kind: VariableType,
    /// Unit of measure.
    pub unit: Option<String>,
}

/// A variable of a component, of any causality.
#[derive(Debug, Clone, Copy)]
pub struct GraphVariable<'a> {
    /// Name of the component.
    pub component: &'a str,
    /// Component and variable, as indices.
    pub place: (usize, usize),
    /// The variable as its unit describes it.
    pub described: &'a Variable,
    /// A connection feeds it.
    pub is_fed: bool,
    /// The start value that the system gives it.
    pub start: Option<&'a Value>,
}

impl Graph {
    /// All variables, component by component in the order of the graph.
    pub fn variables(&self) -> impl Iterator<Item = GraphVariable<'_>> {
        let mut fed: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (component, node) in self.components.iter().enumerate() {
            let inputs = self.inputs[node.inputs.clone()].iter();
            fed.extend(inputs.map(|input| (component, input.variable)));
        }
        let wires = self.signal_wires.iter();
        fed.extend(wires.map(|wire| (wire.component, wire.variable)));
        let places = self
            .components
            .iter()
            .enumerate()
            .flat_map(|(component, node)| {
                (0..node.description.variables.len()).map(move |variable| (component, variable))
            });
        places.map(move |(component, variable)| {
            let node = &self.components[component];
            let mut starts = node.start_values.iter();
            GraphVariable {
                component: &node.name,
                place: (component, variable),
                described: &node.description.variables[variable],
                is_fed: fed.contains(&(component, variable)),
                start: starts
                    .find(|(set, _)| *set == variable)
                    .map(|(_, value)| value),
            }
        })
    }

    /// Names of the components, in the order of the graph.
    pub fn component_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.components
            .iter()
            .map(|component| component.name.as_str())
    }

    /// Names of the bonds, in the order of the graph.
    pub fn bond_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.bonds.iter().map(|bond| bond.name.as_str())
    }

    /// Places in [`bond_names`](Self::bond_names) of the bonds whose effort × flow is a power.
    pub fn power_bonds(&self) -> impl Iterator<Item = usize> {
        let bonds = self.bonds.iter().enumerate();
        bonds
            .filter(|(_, bond)| bond.is_power)
            .map(|(index, _)| index)
    }

    /// Places in [`component_names`](Self::component_names) of the components at these bonds.
    pub fn components_at_power_bonds(&self) -> BTreeSet<usize> {
        let bonds = self.bonds.iter().filter(|bond| bond.is_power);
        bonds
            .flat_map(|bond| [bond.effort_side, bond.flow_side])
            .collect()
    }

    /// Real outputs, in the order of [`View::reals`](crate::View::reals).
    pub fn real_outputs(&self) -> Vec<RecordedVariable> {
        self.outputs
            .iter()
            .map(|output| self.recorded(output.component, output.variable))
            .collect()
    }

    /// Outputs that are not real, in the order of [`View::signals`](crate::View::signals).
    pub fn signals(&self) -> Vec<RecordedVariable> {
        self.signals
            .iter()
            .map(|signal| self.recorded(signal.component, signal.variable))
            .collect()
    }

    /// Whether all components save and restore their states.
    pub fn saves_states(&self) -> bool {
        let mut components = self.components.iter();
        components.all(|component| component.description.capabilities.save_and_restore)
    }

    /// Whether all components save and restore their states, and give them as bytes.
    pub fn serializes_states(&self) -> bool {
        let mut components = self.components.iter();
        self.saves_states()
            && components.all(|component| component.description.capabilities.serialize)
    }

    /// Macro-step H, s.
    pub fn macro_step(&self) -> f64 {
        self.macro_step
    }

    /// The fault of a component's unit in a running step.
    #[cold]
    pub(crate) fn fault(&self, component: usize, step: &Step, unit: Box<UnitFault>) -> Fault {
        Fault {
            component: self.components[component].name.clone(),
            time: step.time,
            step: step.index,
            unit,
        }
    }

    /// The component that feeds a wire.
    pub(crate) fn source_component(&self, wire: &SignalWire) -> usize {
        match wire.source {
            SignalSource::Real(output) => self.outputs[output].component,
            SignalSource::Discrete(signal) => self.signals[signal].component,
        }
    }

    /// The connections of real variables, in the order of [`Defects`](crate::report::Defects): output and input.
    pub fn real_connections(&self) -> impl Iterator<Item = (String, String)> {
        let inputs = |(index, node): (usize, &Component)| {
            let inputs = node.inputs.clone();
            inputs.map(move |input| (index, input))
        };
        let inputs = self.components.iter().enumerate().flat_map(inputs);
        inputs.map(|(component, input)| {
            let input = &self.inputs[input];
            let to = self.variable_name(component, input.variable);
            (self.output_name(input.source), to)
        })
    }

    pub(crate) fn output_name(&self, output: usize) -> String {
        let Output {
            component,
            variable,
        } = self.outputs[output];
        self.variable_name(component, variable)
    }

    pub(crate) fn input_name(&self, input: usize) -> String {
        let component = self
            .components
            .iter()
            .position(|c| c.inputs.contains(&input));
        let variable = self.inputs[input].variable;
        component.map_or_else(String::new, |component| {
            self.variable_name(component, variable)
        })
    }

    pub(crate) fn variable_name(&self, component: usize, variable: usize) -> String {
        let component = &self.components[component];
        format!(
            "{}.{}",
            component.name, component.description.variables[variable].name
        )
    }

    fn recorded(&self, component: usize, variable: usize) -> RecordedVariable {
        let described = &self.components[component].description.variables[variable];
        RecordedVariable {
            name: self.variable_name(component, variable),
            kind: described.kind,
            unit: described.unit.as_ref().map(|unit| unit.name.clone()),
        }
    }

    /// The nominal value of a real output, in its own unit: from its description, else the least one
    /// of the inputs that it feeds.
    pub(crate) fn nominal_output(&self, output: usize) -> Option<f64> {
        let variable = |component: usize, variable: usize| {
            self.components[component].description.variables[variable].nominal_magnitude()
        };
        let source = &self.outputs[output];
        let of_input = |component: &Component| {
            let inputs = self.inputs[component.inputs.clone()].iter();
            // An offset moves the value, not its usual size in changes.
            inputs
                .filter(|input| input.source == output && input.factor != 0.0)
                .filter_map(|input| {
                    let nominal =
                        component.description.variables[input.variable].nominal_magnitude()?;
                    Some(nominal / input.factor.abs())
                })
                .reduce(f64::min)
        };
        variable(source.component, source.variable)
            .or_else(|| self.components.iter().filter_map(of_input).reduce(f64::min))
    }

    /// Position of a real output of a component among its outputs, as a global index.
    pub(crate) fn output_index(&self, component: usize, variable: usize) -> Option<usize> {
        let range = self.components[component].outputs.clone();
        range
            .into_iter()
            .find(|output| self.outputs[*output].variable == variable)
    }

    /// Global index of a connected real input.
    pub(crate) fn input_index(&self, component: usize, variable: usize) -> Option<usize> {
        let range = self.components[component].inputs.clone();
        range
            .into_iter()
            .find(|input| self.inputs[*input].variable == variable)
    }

    /// Whether the component is an end of a bond.
    pub(crate) fn is_on_bond(&self, component: usize) -> bool {
        let ends = |bond: &Bond| bond.effort_side == component || bond.flow_side == component;
        self.bonds.iter().any(ends)
    }

    /// Connected inputs on which a real output directly depends: between steps, or at the start.
    pub(crate) fn feedthrough(&self, output: usize, at_start: bool) -> Vec<usize> {
        let Output {
            component,
            variable,
        } = self.outputs[output];
        let description = &self.components[component].description;
        let feedthrough = if at_start {
            &description.initial_feedthrough
        } else {
            &description.feedthrough
        };
        let inputs = feedthrough.get(&variable).into_iter().flatten();
        inputs
            .filter_map(|input| self.input_index(component, *input))
            .collect()
    }
}
