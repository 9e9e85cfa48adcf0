//! The energy of every power bond, always on; it never touches a signal.

use crate::exchange_mode::Exchange;
use crate::graph::Axis;
use crate::state::{Signals, State, added_to, input_at_start, outputs_of};
use crate::step::Step;

/// Power and energy over a bond so far. Powers are those of the last step, at its end.
///
/// End a gives the effort and end b the flow; a tilde marks the value in effect at a unit.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct BondEnergy {
    /// Power that end a gives: Σ weight · effort output · flow input used, W.
    pub given_power: f64,
    /// Power that end b receives, the correction not counted: Σ weight · effort input used · flow output, W.
    pub received_power: f64,
    /// Residual power δP: received less given, W. Positive where the coupling makes energy.
    pub residual_power: f64,
    /// Power of the correction, W.
    pub correction_power: f64,
    /// Residual power of the inputs as they were applied, corrections included, W
    /// (Sadjina & Pedersen 2019 eq. 10). The correction's power is the difference to `residual_power`.
    pub applied_residual_power: f64,
    /// Σ |weight| · |output fed − input used| · |conjugate output|, W: the coupling error of both
    /// directions, which cannot cancel out. Not computed where steps are fixed and inputs held.
    #[serde(skip)]
    pub coupling_error_power: f64,
    /// Power from the outputs alone: Σ weight · effort output · flow output, W. Not computed where
    /// steps are fixed and inputs held.
    #[serde(skip)]
    pub output_power: f64,
    /// Energy given by end a, J.
    pub transferred_energy: f64,
    /// Residual energy δE, summed with its sign, J (Rodríguez 2022 eq. 9).
    pub residual_energy: f64,
    /// Sum of the applied residual power at the end of each step, J (Sadjina & Pedersen 2019
    /// eq. 15b). Held inputs make it about twice the energy that the coupling really invents.
    pub applied_residual_energy: f64,
    /// Integral of the applied residual power by the trapezoidal rule, from the start of each step,
    /// with its new inputs and, where the direct feed-through is known, with the outputs that follow
    /// them, to its end, J.
    pub residual_energy_integrated: f64,
    /// Sum of the residual energy's magnitudes, step by step, J.
    pub residual_energy_abs: f64,
    /// Greatest magnitude of the residual power, W.
    pub max_residual_power: f64,
    /// Time of it, s.
    pub max_residual_power_time: f64,
    /// Energy of the correction, J. Negative where it takes energy out.
    pub correction_energy: f64,
}

/// The ledgers of all bonds, in the order of the graph.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    bonds: Vec<Entry>,
    /// No step control uses the coupling error, and no output is stale where its input is new:
    /// where inputs are copies, the residual power is then zero at the start of each step.
    books_copies: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    axes: Vec<Axis>,
    every: u64,
    /// Effort and flow outputs at the start of the step, axis by axis.
    outputs_before: Vec<(f64, f64)>,
    /// Applied residual power at the start of the step, W.
    power_before: f64,
    energy: BondEnergy,
}

impl Ledger {
    pub(crate) fn new(state: &State, for_fixed_steps: bool) -> Self {
        let entry = |bond: &crate::graph::Bond| Entry {
            axes: bond.axes.clone(),
            every: u64::from(bond.every),
            outputs_before: bond
                .axes
                .iter()
                .map(|axis| outputs_of(&state.signals, axis))
                .collect(),
            power_before: 0.0,
            energy: BondEnergy::default(),
        };
        Self {
            bonds: state.graph.bonds.iter().map(entry).collect(),
            books_copies: for_fixed_steps && !state.exchange.modes.contains(&Exchange::Stale),
        }
    }

    /// Adds the step that has just been made.
    pub(crate) fn observe(&mut self, state: &State, step: &Step) {
        if self.books_copies && state.units.uniform {
            for entry in &mut self.bonds {
                entry.observe_copies(state, step);
            }
            return;
        }
        for entry in &mut self.bonds {
            if entry.every == 1 || step.index.is_multiple_of(entry.every) {
                entry.begin(state);
            }
            if entry.every == 1 || (step.index + 1).is_multiple_of(entry.every) {
                entry.observe(state, step);
            }
        }
    }

    /// Energies of the bond with this index of the graph.
    pub fn bond(&self, index: usize) -> Option<&BondEnergy> {
        self.bonds.get(index).map(|entry| &entry.energy)
    }

    /// Energies of all bonds, in the order of the graph.
    pub fn bonds(&self) -> impl ExactSizeIterator<Item = &BondEnergy> {
        self.bonds.iter().map(|entry| &entry.energy)
    }

    /// Macro-steps from one balance of a bond to the next, in the order of the graph.
    pub fn macro_steps(&self) -> impl ExactSizeIterator<Item = u64> {
        self.bonds.iter().map(|entry| entry.every)
    }

    /// Residual energy of all bonds, J.
    pub fn residual_energy(&self) -> f64 {
        self.bonds().map(|bond| bond.residual_energy).sum()
    }
}

impl Entry {
    /// The applied residual power at the start of the step.
    fn begin(&mut self, state: &State) {
        self.power_before = 0.0;
        for (axis, (effort_output, flow_output)) in self.axes.iter().zip(&self.outputs_before) {
            let effort_input = input_at_start(state, axis.effort_input);
            let flow_input = input_at_start(state, axis.flow_input);
            self.power_before +=
                axis.weight * (effort_input * flow_output - effort_output * flow_input);
        }
    }

    /// The same as [`observe`](Self::observe) where all inputs are copies of outputs that are not
    /// stale, and nothing corrects them.
    #[inline]
    fn observe_copies(&mut self, state: &State, step: &Step) {
        let (mut given, mut received) = (0.0, 0.0);
        for axis in &self.axes {
            let (effort_output, flow_output) = outputs_of(&state.signals, axis);
            given += axis.weight * effort_output * state.courses.values[axis.flow_input];
            received += axis.weight * state.courses.values[axis.effort_input] * flow_output;
        }
        let residual = received - given;
        let energy = &mut self.energy;
        energy.given_power = given;
        energy.received_power = received;
        energy.residual_power = residual;
        energy.applied_residual_power = residual;
        let residual_energy = residual * step.size;
        energy.transferred_energy += given * step.size;
        energy.residual_energy += residual_energy;
        energy.applied_residual_energy += residual_energy;
        energy.residual_energy_integrated += 0.5 * residual_energy;
        energy.residual_energy_abs += residual_energy.abs();
        if residual.abs() > energy.max_residual_power {
            energy.max_residual_power = residual.abs();
            energy.max_residual_power_time = state.graph.clock.seconds(step.from + step.length);
        }
    }

    #[inline]
    fn observe(&mut self, state: &State, step: &Step) {
        let length = step.size * self.every as f64;
        let (mut given, mut received, mut correction) = (0.0, 0.0, 0.0);
        let (mut coupling_error, mut output_power) = (0.0, 0.0);
        for (axis, before) in self.axes.iter().zip(&mut self.outputs_before) {
            let (effort_output, flow_output) = outputs_of(&state.signals, axis);
            *before = outputs_under_new_inputs(&state.signals, axis);
            let error = |input: usize| {
                state.courses.inputs[input].fed(&state.signals.reals) - state.courses.values[input]
            };
            coupling_error += axis.weight.abs()
                * ((error(axis.effort_input) * flow_output).abs()
                    + (error(axis.flow_input) * effort_output).abs());
            output_power += axis.weight * effort_output * flow_output;
            let (effort_added, flow_added) = added_to(state, axis, length);
            let effort_input = state.courses.values[axis.effort_input] - effort_added;
            let flow_input = state.courses.values[axis.flow_input] - flow_added;
            given += axis.weight * effort_output * flow_input;
            received += axis.weight * effort_input * flow_output;
            correction += axis.weight * (effort_added * flow_output - effort_output * flow_added);
        }
        let energy = &mut self.energy;
        let residual = received - given;
        energy.given_power = given;
        energy.received_power = received;
        energy.residual_power = residual;
        energy.correction_power = correction;
        let applied = residual + correction;
        energy.applied_residual_power = applied;
        energy.coupling_error_power = coupling_error;
        energy.output_power = output_power;
        energy.applied_residual_energy += applied * length;
        energy.residual_energy_integrated += 0.5 * (self.power_before + applied) * length;
        energy.transferred_energy += given * length;
        energy.residual_energy += residual * length;
        energy.residual_energy_abs += residual.abs() * length;
        energy.correction_energy += correction * length;
        if residual.abs() > energy.max_residual_power {
            energy.max_residual_power = residual.abs();
            energy.max_residual_power_time = state.graph.clock.seconds(step.from + step.length);
        }
    }
}

/// The outputs of an axis under the next step's inputs, as far as they are known.
#[inline]
fn outputs_under_new_inputs(signals: &Signals, axis: &Axis) -> (f64, f64) {
    let (effort, flow) = outputs_of(signals, axis);
    let known = |error: f64| if error.is_nan() { 0.0 } else { error };
    (
        effort - known(signals.stale_errors[axis.effort_output]),
        flow - known(signals.stale_errors[axis.flow_output]),
    )
}
