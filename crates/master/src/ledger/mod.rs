//! The energy of every power bond, always on. The run calls it after each macro-step; it never touches a signal.

mod integration;

use crate::extremes::{greater, less};
use crate::graph::Axis;
use crate::state::{SystemState, outputs_of};
use crate::state_stream::stored;
use crate::step_row::StepRow;
use integration::{AxisCourse, Pace, Work};

/// Power and energy over a bond so far. Powers belong to the end of the last step.
///
/// End a gives the effort and end b the flow; a tilde marks the value in effect at a unit.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct BondEnergy {
    /// Power that end a gives: Σ weight · effort output · flow input used, W.
    pub given_power: f64,
    /// Power that end b receives, the correction not counted: Σ weight · effort input used · flow output, W.
    pub received_power: f64,
    /// Residual power δP: received less given, W. Positive if the coupling makes energy.
    pub residual_power: f64,
    /// Power of the correction, W.
    pub correction_power: f64,
    /// Residual power of the inputs as they were applied, corrections included, W
    /// (Sadjina & Pedersen 2019 eq. 10). The correction's power is the difference to `residual_power`.
    pub applied_residual_power: f64,
    /// Σ |weight| · |output fed − input used| · |conjugate output|, W: the coupling error of both directions, which cannot
    /// cancel out. If means of predictions were given, the predictions count. Computed if a step control sizes the steps.
    #[serde(skip)]
    pub coupling_error_power: f64,
    /// The applied residual power with predictions in the place of their means, W; computed as `coupling_error_power`.
    #[serde(skip)]
    pub predicted_residual_power: f64,
    /// Power from the outputs alone: Σ weight · effort output · flow output, W; computed as `coupling_error_power`.
    #[serde(skip)]
    pub output_power: f64,
    /// Energy given by end a, J.
    pub transferred_energy: f64,
    /// Sum of the given power's magnitudes times the lengths of the steps, J: all that went over the bond,
    /// either way.
    pub transferred_energy_abs: f64,
    /// Residual energy δE, summed with its sign, J (Rodríguez 2022 eq. 9).
    pub residual_energy: f64,
    /// Sum of the applied residual power at the end of each step, J (Sadjina & Pedersen 2019
    /// eq. 15b). Held inputs make it about twice the energy that the coupling really invents.
    pub applied_residual_energy: f64,
    /// Integral of the applied residual power, J, with the outputs that the units had under their own
    /// inputs (docs/energy-sums.md).
    pub residual_energy_integrated: f64,
    /// The value of `residual_energy_integrated` that had the greatest magnitude, J.
    pub peak_residual_energy_integrated: f64,
    /// Time of it, s.
    pub peak_residual_energy_integrated_time: f64,
    /// Integral of the power that end a gives with the inputs as they were applied, J. End b receives
    /// it and `residual_energy_integrated`.
    pub transferred_energy_integrated: f64,
    /// Sum of the residual energy's magnitudes, step by step, J.
    pub residual_energy_abs: f64,
    /// Greatest magnitude of the residual power, W.
    pub max_residual_power: f64,
    /// Time of it, s.
    pub max_residual_power_time: f64,
    /// Energy of the correction, J. Negative if it takes energy out.
    pub correction_energy: f64,
}

impl BondEnergy {
    /// Adds a step of this length, s, at the end of which these powers are given, received, and added by the
    /// correction, W.
    #[inline]
    fn add(&mut self, work: &Work, [given, received, correction]: [f64; 3], length: f64) {
        (self.given_power, self.received_power) = (given, received);
        self.correction_power = correction;
        self.residual_power = received - given;
        self.applied_residual_power = self.residual_power + correction;
        let (transferred, residual) = (given * length, self.residual_power * length);
        self.transferred_energy += transferred;
        self.transferred_energy_abs += transferred.abs();
        self.residual_energy += residual;
        self.residual_energy_abs += residual.abs();
        self.applied_residual_energy += self.applied_residual_power * length;
        self.correction_energy += correction * length;
        self.residual_energy_integrated += work.residual * length;
        self.transferred_energy_integrated += work.given * length;
    }

    /// Keeps what is greater than ever before, with the time.
    #[inline]
    fn keep_peaks(&mut self, time: impl Fn() -> f64) {
        if self.residual_power.abs() > self.max_residual_power {
            self.max_residual_power = self.residual_power.abs();
            self.max_residual_power_time = time();
        }
        let made = self.residual_energy_integrated;
        if made.abs() > self.peak_residual_energy_integrated.abs() {
            self.peak_residual_energy_integrated = made;
            self.peak_residual_energy_integrated_time = time();
        }
    }
}

/// The ledgers of all bonds, in the order of the graph.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    bonds: Vec<BondAccount>,
    /// The integrated residual energy of all power bonds together when it had the greatest magnitude, J, and that time,
    /// s; kept if there are several bonds.
    peak: (f64, f64),
}

#[derive(Debug, Clone)]
struct BondAccount {
    axes: Vec<Axis>,
    is_power: bool,
    every: u64,
    energy: BondEnergy,
    /// Inputs and outputs over the step, axis by axis.
    courses: Vec<AxisCourse>,
    /// Length of the last step, s; 0 before the first.
    last_length: f64,
    error: IntegrationError,
    /// Least and greatest transferred energy so far, J.
    least: f64,
    greatest: f64,
}

/// The uncertainty of an integrated energy.
#[derive(Debug, Clone, Copy, Default)]
struct IntegrationError {
    /// Sum of what curvatures under held inputs would add, J, and of its squares, J².
    curvature: f64,
    squares: f64,
    /// Sum of the magnitudes of the changes of the other curvatures, J.
    change: f64,
    /// Sum of half the ranges of what is not known, J.
    range: f64,
}

impl Ledger {
    pub(crate) fn new(state: &SystemState) -> Self {
        let entry = |bond: &crate::graph::Bond| BondAccount {
            axes: bond.axes.clone(),
            is_power: bond.is_power,
            every: u64::from(bond.every),
            energy: BondEnergy::default(),
            courses: AxisCourse::all(state, bond),
            last_length: 0.0,
            error: IntegrationError::default(),
            least: 0.0,
            greatest: 0.0,
        };
        Self {
            bonds: state.graph.bonds.iter().map(entry).collect(),
            peak: (0.0, 0.0),
        }
    }

    /// Adds the step that has just been made.
    pub(crate) fn add(&mut self, row: &StepRow<'_>) {
        let index = row.step.index;
        for entry in &mut self.bonds {
            if entry.every == 1 || index.is_multiple_of(entry.every) {
                entry.begin(row);
            }
            if entry.every == 1 || (index + 1).is_multiple_of(entry.every) {
                entry.add(row);
                if !row.errors.is_empty() {
                    entry.find_coupling_error(row);
                }
            }
        }
        if self.bonds.len() > 1 {
            let power = self.bonds.iter().filter(|entry| entry.is_power);
            let made: f64 = power
                .map(|entry| entry.energy.residual_energy_integrated)
                .sum();
            if made.abs() > self.peak.0.abs() {
                self.peak = (made, row.end());
            }
        }
    }

    /// Greatest less least transferred energy of the bond with this index of the graph, J.
    pub(crate) fn transferred_range(&self, index: usize) -> f64 {
        let entry = self.bonds.get(index);
        entry.map_or(0.0, |entry| entry.greatest - entry.least)
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

    /// Error of the integrated residual energy of the bond with this index of the graph, J. It is what
    /// other curvatures of the outputs within the steps would add, and half the range if the direct
    /// feed-through of an output is not known.
    pub fn integration_error(&self, index: usize) -> Option<f64> {
        self.bonds.get(index).map(|entry| entry.error.total())
    }

    /// The integrated residual energy of all power bonds together when it had the greatest magnitude, J, and that time,
    /// s.
    pub fn peak_residual_energy_integrated(&self) -> (f64, f64) {
        match &self.bonds[..] {
            [bond] if bond.is_power => {
                let energy = &bond.energy;
                let time = energy.peak_residual_energy_integrated_time;
                (energy.peak_residual_energy_integrated, time)
            }
            _ => self.peak,
        }
    }

    /// Residual energy of all bonds, J.
    pub fn residual_energy(&self) -> f64 {
        self.bonds().map(|bond| bond.residual_energy).sum()
    }
}

impl IntegrationError {
    /// Adds a step of this length, s.
    #[inline]
    fn add(&mut self, work: &Work, length: f64) {
        let curvature = work.curvature * length;
        self.curvature += curvature;
        self.squares += curvature * curvature;
        self.change += work.change * length;
        self.range += work.unknown * length;
    }

    /// The signed and the independent parts at two standard deviations, the rest by magnitude.
    fn total(&self) -> f64 {
        self.curvature.abs() + 2.0 * (self.squares.sqrt() + self.change) + self.range.abs()
    }
}

impl BondAccount {
    /// Takes the inputs at the start of the step.
    fn begin(&mut self, row: &StepRow<'_>) {
        for (axis, course) in self.axes.iter().zip(&mut self.courses) {
            course.begin(row, axis);
        }
    }

    /// Adds the step that ends with this row.
    #[inline]
    fn add(&mut self, row: &StepRow<'_>) {
        let length = row.step.size * self.every as f64;
        let pace = Pace::of(length, std::mem::replace(&mut self.last_length, length));
        let (mut given, mut received, mut correction) = (0.0, 0.0, 0.0);
        let mut work = Work::default();
        for (axis, course) in self.axes.iter().zip(&mut self.courses) {
            let (effort_output, flow_output) = outputs_of(row.signals, axis);
            work.add(&course.end(row, axis, pace), axis.weight);
            let (effort_added, flow_added) = row.added(axis, length);
            let effort_input = row.inputs[axis.effort_input].end - effort_added;
            let flow_input = row.inputs[axis.flow_input].end - flow_added;
            given += axis.weight * effort_output * flow_input;
            received += axis.weight * effort_input * flow_output;
            correction += axis.weight * (effort_added * flow_output - effort_output * flow_added);
        }
        self.error.add(&work, length);
        self.energy
            .add(&work, [given, received, correction], length);
        self.least = less(self.energy.transferred_energy, self.least);
        self.greatest = greater(self.energy.transferred_energy, self.greatest);
        self.energy.keep_peaks(|| row.end());
    }

    /// Finds by how much inputs were off at the end of the step.
    fn find_coupling_error(&mut self, row: &StepRow<'_>) {
        let (mut coupling_error, mut residual, mut output_power) = (0.0, 0.0, 0.0);
        let off = |input: usize| {
            let error = row.errors[input];
            (error, row.inputs[input].given - error)
        };
        for axis in &self.axes {
            let (effort_output, flow_output) = outputs_of(row.signals, axis);
            let ((effort_error, effort), (flow_error, flow)) =
                (off(axis.effort_input), off(axis.flow_input));
            let errors = (effort_error * flow_output).abs() + (flow_error * effort_output).abs();
            coupling_error += axis.weight.abs() * errors;
            residual += axis.weight * (effort * flow_output - effort_output * flow);
            output_power += axis.weight * effort_output * flow_output;
        }
        self.energy.output_power = output_power;
        self.energy.coupling_error_power = coupling_error;
        self.energy.predicted_residual_power = residual;
    }
}

stored!(Ledger { bonds, peak });
stored!(BondAccount {
    energy,
    courses,
    last_length,
    error,
    least,
    greatest;
    axes,
    is_power,
    every
});
stored!(BondEnergy {
    given_power,
    received_power,
    residual_power,
    correction_power,
    applied_residual_power,
    coupling_error_power,
    predicted_residual_power,
    output_power,
    transferred_energy,
    transferred_energy_abs,
    residual_energy,
    applied_residual_energy,
    residual_energy_integrated,
    peak_residual_energy_integrated,
    peak_residual_energy_integrated_time,
    transferred_energy_integrated,
    residual_energy_abs,
    max_residual_power,
    max_residual_power_time,
    correction_energy
});
stored!(IntegrationError {
    curvature,
    squares,
    change,
    range
});

#[cfg(test)]
mod tests;
