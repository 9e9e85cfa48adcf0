//! The energy of every power bond, always on. The run calls it after each macro-step; it never touches a signal.

mod integration;

use crate::extremes::{greater, less};
use crate::graph::Axis;
use crate::state::{SystemState, added_to, outputs_of};
use crate::state_stream::stored;
use crate::step::Step;
use integration::{AxisCourse, Work};

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
    /// directions, which cannot cancel out. Where means of predictions were given, the predictions count. Computed where a
    /// step control sizes the steps.
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
    /// Energy of the correction, J. Negative where it takes energy out.
    pub correction_energy: f64,
}

impl BondEnergy {
    /// Adds a step of this length, s, at the end of which these powers are given, received, and those of the correction, W.
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
    /// A step control uses the coupling error.
    for_control: bool,
    /// The integrated residual energy of all power bonds together where it had the greatest magnitude, J, and the time of
    /// that, s; kept where there are several bonds.
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
    pub(crate) fn new(state: &SystemState, for_fixed_steps: bool) -> Self {
        let entry = |bond: &crate::graph::Bond| BondAccount {
            axes: bond.axes.clone(),
            is_power: bond.is_power,
            every: u64::from(bond.every),
            energy: BondEnergy::default(),
            courses: AxisCourse::all(state, bond),
            error: IntegrationError::default(),
            least: 0.0,
            greatest: 0.0,
        };
        Self {
            bonds: state.graph.bonds.iter().map(entry).collect(),
            for_control: !for_fixed_steps,
            peak: (0.0, 0.0),
        }
    }

    /// Adds the step that has just been made.
    pub(crate) fn observe(&mut self, state: &SystemState, step: &Step) {
        for entry in &mut self.bonds {
            if entry.every == 1 || step.index.is_multiple_of(entry.every) {
                entry.begin(state);
            }
            if entry.every == 1 || (step.index + 1).is_multiple_of(entry.every) {
                entry.observe(state, step);
                if self.for_control {
                    entry.find_coupling_error(state);
                }
            }
        }
        if self.bonds.len() > 1 {
            let power = self.bonds.iter().filter(|entry| entry.is_power);
            let made: f64 = power
                .map(|entry| entry.energy.residual_energy_integrated)
                .sum();
            if made.abs() > self.peak.0.abs() {
                self.peak = (made, step.end(&state.graph.clock));
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

    /// Error of the integrated residual energy of the bond with this index of the graph, J: what
    /// other curvatures of the outputs within the steps would add, and half the range where the direct
    /// feed-through of an output is not known.
    pub fn integration_error(&self, index: usize) -> Option<f64> {
        self.bonds.get(index).map(|entry| entry.error.total())
    }

    /// The integrated residual energy of all power bonds together where it had the greatest magnitude, J, and the time of
    /// that, s.
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
    fn begin(&mut self, state: &SystemState) {
        for (axis, course) in self.axes.iter().zip(&mut self.courses) {
            course.begin(state, axis);
        }
    }

    #[inline]
    fn observe(&mut self, state: &SystemState, step: &Step) {
        let length = step.size * self.every as f64;
        let (mut given, mut received, mut correction) = (0.0, 0.0, 0.0);
        let mut work = Work::default();
        for (axis, course) in self.axes.iter().zip(&mut self.courses) {
            let (effort_output, flow_output) = outputs_of(&state.signals, axis);
            work.add(&course.end(state, axis, length), axis.weight);
            let (effort_added, flow_added) = added_to(state, axis, length);
            let effort_input = state.courses.values[axis.effort_input] - effort_added;
            let flow_input = state.courses.values[axis.flow_input] - flow_added;
            given += axis.weight * effort_output * flow_input;
            received += axis.weight * effort_input * flow_output;
            correction += axis.weight * (effort_added * flow_output - effort_output * flow_added);
        }
        self.error.add(&work, length);
        self.energy
            .add(&work, [given, received, correction], length);
        self.least = less(self.energy.transferred_energy, self.least);
        self.greatest = greater(self.energy.transferred_energy, self.greatest);
        self.energy.keep_peaks(|| step.end(&state.graph.clock));
    }

    /// Finds by how much inputs were off at the end of the step.
    fn find_coupling_error(&mut self, state: &SystemState) {
        let (mut coupling_error, mut residual, mut output_power) = (0.0, 0.0, 0.0);
        let off = |input: usize| {
            let course = &state.courses.inputs[input];
            let fed = course.fed(&state.signals.reals);
            let error = course.error_at_end(&state.signals.reals, state.courses.values[input]);
            (error, fed - error)
        };
        for axis in &self.axes {
            let (effort_output, flow_output) = outputs_of(&state.signals, axis);
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

stored!(Ledger { bonds, peak; for_control });
stored!(BondAccount {
    energy,
    courses,
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
mod tests {
    use super::*;
    use crate::{ClosureUnit, Run, RunOptions, System, Word};

    const H: f64 = 0.5;
    /// Effort of end a and flow of end b at the macro-steps, whatever the inputs are.
    const EFFORT: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
    const FLOW: [f64; 4] = [5.0, 2.0, -6.0, -4.0];

    /// A unit whose output follows `values`, published at each macro-step.
    fn source(
        input: &str,
        output: &str,
        values: [f64; 4],
    ) -> ClosureUnit<impl FnMut(crate::unit::Call<'_>) + Send + use<>> {
        let at = move |time: f64| values[((time / H).floor() as usize).min(3)];
        ClosureUnit::new(&[(input, 0.0)], &[(output, values[0])], move |call| {
            // The middle of a tick keeps the rounding of the time out.
            call.outputs[0] = at(call.time + call.step + 1e-9);
        })
    }

    /// The bond between two such units after three macro-steps. `flow_step` is the communication
    /// step of end b.
    fn ledger(flow_step: f64, of_bond: impl FnOnce(crate::system::BondSettings<'_>)) -> Run {
        let mut system = System::new(H);
        system.start_time(0.0).stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        system.add("a", source("f", "e", EFFORT));
        system
            .add("b", source("e", "f", FLOW))
            .step_size(flow_step)
            .extrapolation("hold");
        of_bond(system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f")));
        system.start(&RunOptions::default()).unwrap()
    }

    fn after(mut run: Run, steps: usize) -> BondEnergy {
        for _ in 0..steps {
            run.step().unwrap();
        }
        // As for a step control.
        let mut bond = run.ledger().bonds[0].clone();
        bond.find_coupling_error(&run.state);
        bond.energy
    }

    /// Held inputs are the outputs at the start of the step: e(k+1)·f(k) is given and e(k)·f(k+1)
    /// received (Rodríguez 2022 eqs 5–9), W: 15, 8, −30 and 4, −18, −16.
    fn expected() -> BondEnergy {
        BondEnergy {
            given_power: -30.0,
            received_power: -16.0,
            residual_power: 14.0,
            applied_residual_power: 14.0,
            transferred_energy: H * (15.0 + 8.0 - 30.0),
            transferred_energy_abs: H * (15.0 + 8.0 + 30.0),
            residual_energy: H * (-11.0 - 26.0 + 14.0),
            applied_residual_energy: H * (-11.0 - 26.0 + 14.0),
            // New inputs equal the outputs, so each step begins without residual power.
            residual_energy_integrated: 0.5 * H * (-11.0 - 26.0 + 14.0),
            peak_residual_energy_integrated: 0.5 * H * (-11.0 - 26.0),
            peak_residual_energy_integrated_time: 2.0 * H,
            // Power of the outputs at the start, 10, 6 and −24 W, and that given at the end.
            transferred_energy_integrated: 0.5 * H * (25.0 + 14.0 - 54.0),
            residual_energy_abs: H * (11.0 + 26.0 + 14.0),
            max_residual_power: 26.0,
            max_residual_power_time: 2.0 * H,
            // |5 − 4|·|−4| + |−4 + 6|·|5| and 5·(−4).
            coupling_error_power: 14.0,
            predicted_residual_power: 14.0,
            output_power: -20.0,
            ..BondEnergy::default()
        }
    }

    #[test]
    fn held_inputs_give_the_power_of_crossed_products() {
        let run = ledger(H, |_| ());
        assert_eq!(run.ledger().bonds().len(), 1);
        assert!(run.ledger().bond(1).is_none());
        assert_eq!(after(run, 3), expected());
    }

    /// Effort inputs 3 and 4 N, and changes of the flow by −3, −8 and 2 m/s; the effort moves in a line. The changes of the changes add
    /// with their signs, and as independent ones at two standard deviations.
    #[test]
    fn the_integration_error_is_that_of_a_parabola_over_two_steps() {
        let mut run = ledger(H, |_| ());
        for _ in 0..3 {
            run.step().unwrap();
        }
        let bent: [f64; 2] = [3.0 * (-8.0 + 3.0), 4.0 * (2.0 + 8.0)];
        let wanted = (bent[0] + bent[1] + 2.0 * bent[0].hypot(bent[1])) * H / 12.0;
        let error = run.ledger().integration_error(0).unwrap();
        assert!((error - wanted).abs() < 1e-12, "{error}");
        assert_eq!(run.ledger().integration_error(1), None);
        // 7.5, 11.5 and −3.5 J have gone over the bond.
        assert_eq!(run.ledger().transferred_range(0), 15.0);
        assert_eq!(run.ledger().transferred_range(1), 0.0);
        let expected = expected();
        let peak = (
            expected.peak_residual_energy_integrated,
            expected.peak_residual_energy_integrated_time,
        );
        assert_eq!(run.ledger().peak_residual_energy_integrated(), peak);
    }

    #[test]
    fn parts_of_the_integration_error_add_up() {
        let mut error = IntegrationError::default();
        for (curvature, change, unknown) in [(3.0, 0.5, 2.0), (-7.0, 0.25, -1.0)] {
            let work = Work {
                curvature,
                change,
                unknown,
                ..Work::default()
            };
            error.add(&work, 2.0);
        }
        let squares = 6.0_f64.powi(2) + 14.0_f64.powi(2);
        assert_eq!(error.total(), 8.0 + 2.0 * (squares.sqrt() + 1.5) + 2.0);
    }

    /// The peak of two bonds with these efforts and flows, after three macro-steps.
    fn peak_of_two(effort: [f64; 4], flow: [f64; 4]) -> (f64, f64) {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        for (a, b, bond) in [("a", "b", "one"), ("c", "d", "two")] {
            system.add(a, source("f", "e", effort));
            system.add(b, source("e", "f", flow));
            let (a_e, b_e) = (format!("{a}.e"), format!("{b}.e"));
            let (b_f, a_f) = (format!("{b}.f"), format!("{a}.f"));
            let _ = system.bond(bond, (&a_e, &b_e), (&b_f, &a_f));
        }
        let mut run = system.start(&RunOptions::default()).unwrap();
        for _ in 0..3 {
            run.step().unwrap();
        }
        run.ledger().peak_residual_energy_integrated()
    }

    #[test]
    fn the_peak_of_two_bonds_is_that_of_their_sum() {
        let expected = expected();
        let peak = 2.0 * expected.peak_residual_energy_integrated;
        let time = expected.peak_residual_energy_integrated_time;
        assert_eq!(peak_of_two(EFFORT, FLOW), (peak, time));
        // At rest after the first macro-step, in which 15 W were given and 4 W received: the first of equal peaks.
        let found = peak_of_two([2.0, 3.0, 3.0, 3.0], [5.0, 2.0, 2.0, 2.0]);
        assert_eq!(found, (2.0 * 0.5 * H * -11.0, H));
    }

    #[test]
    fn the_first_of_equal_peaks_is_kept() {
        let mut energy = BondEnergy {
            residual_power: -2.0,
            residual_energy_integrated: -3.0,
            ..BondEnergy::default()
        };
        energy.keep_peaks(|| 1.0);
        energy.keep_peaks(|| 2.0);
        assert_eq!(energy.max_residual_power_time, 1.0);
        assert_eq!(energy.peak_residual_energy_integrated_time, 1.0);
    }

    /// A damper, flow = D·effort, that is compensated: it gave D·e(k) under its own input, and publishes D·e(k+1).
    #[test]
    fn a_compensated_flow_counts_as_the_unit_had_it() {
        const D: f64 = 4.0;
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        system.add("a", source("f", "e", EFFORT));
        let damper = crate::LinearUnit::new(&[0.0], &["e"], &["f"], [&[0.0], &[0.0], &[0.0], &[D]]);
        system.add("b", damper).exchange("compensated");
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        let found = after(system.start(&RunOptions::default()).unwrap(), 3);
        let pairs = EFFORT.windows(2);
        let own: f64 = pairs.map(|pair| D * pair[0] * (pair[0] - pair[1])).sum();
        assert!((found.residual_energy_integrated - 0.5 * H * own).abs() < 1e-6);
        assert!(found.residual_energy.abs() < 1e-6);
    }

    /// The same of an effort, effort = D·flow, which end a gives.
    #[test]
    fn a_compensated_effort_counts_as_the_unit_had_it() {
        const D: f64 = 4.0;
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        let damper = crate::LinearUnit::new(&[0.0], &["f"], &["e"], [&[0.0], &[0.0], &[0.0], &[D]]);
        system.add("a", damper).exchange("compensated");
        system.add("b", source("e", "f", FLOW));
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        let found = after(system.start(&RunOptions::default()).unwrap(), 3);
        let pairs = FLOW.windows(2);
        let own: f64 = pairs.map(|pair| D * pair[0] * (pair[1] - pair[0])).sum();
        assert!((found.residual_energy_integrated - 0.5 * H * own).abs() < 1e-6);
        assert!(found.residual_energy.abs() < 1e-6);
    }

    #[test]
    fn a_side_with_shorter_steps_gives_the_same_ledger() {
        let found = after(ledger(0.5 * H, |_| ()), 3);
        assert_eq!(found, expected());
    }

    #[test]
    fn sense_and_gain_scale_power_and_energy() {
        for flow_step in [H, 0.5 * H] {
            let found = after(
                ledger(flow_step, |bond| {
                    let _ = bond.sense(-1.0).gain(0.25);
                }),
                3,
            );
            let expected = expected();
            assert_eq!(found.given_power, -0.25 * expected.given_power);
            assert_eq!(found.received_power, -0.25 * expected.received_power);
            assert_eq!(
                found.transferred_energy,
                -0.25 * expected.transferred_energy
            );
            assert_eq!(found.residual_energy, -0.25 * expected.residual_energy);
            assert_eq!(found.residual_energy_abs, 0.25 * H * 51.0);
            assert_eq!(found.max_residual_power, 0.25 * 26.0);
            assert_eq!(found.coupling_error_power, 0.25 * 14.0);
            assert_eq!(found.output_power, 0.25 * 20.0);
        }
    }

    #[test]
    fn a_side_with_longer_steps_is_balanced_at_its_own_points() {
        let run = ledger(2.0 * H, |_| ());
        assert_eq!(run.ledger().macro_steps().collect::<Vec<_>>(), [2]);
        // End b publishes −6 at 2·H, having used the effort 2 of the start; end a gives 4 there
        // and has used the flow 5 all along.
        let found = after(run, 3);
        let length = 2.0 * H;
        assert_eq!((found.given_power, found.received_power), (20.0, -12.0));
        assert_eq!(found.transferred_energy, 20.0 * length);
        assert_eq!(found.residual_energy, -32.0 * length);
        assert_eq!(found.residual_energy_abs, 32.0 * length);
        assert_eq!(found.residual_energy_integrated, -16.0 * length);
        assert_eq!(found.applied_residual_energy, -32.0 * length);
        assert_eq!(found.max_residual_power_time, length);
    }

    #[test]
    fn the_energies_of_two_axes_add_up() {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        let at = |values: [f64; 4], time: f64| values[((time + 1e-9) / H) as usize];
        let starts = [("e1", EFFORT[0]), ("e2", FLOW[0])];
        system.add(
            "a",
            ClosureUnit::new(&[("f1", 0.0), ("f2", 0.0)], &starts, move |call| {
                let end = call.time + call.step;
                call.outputs
                    .copy_from_slice(&[at(EFFORT, end), at(FLOW, end)]);
            }),
        );
        let starts = [("f1", FLOW[0]), ("f2", EFFORT[0])];
        system.add(
            "b",
            ClosureUnit::new(&[("e1", 0.0), ("e2", 0.0)], &starts, move |call| {
                let end = call.time + call.step;
                call.outputs
                    .copy_from_slice(&[at(FLOW, end), at(EFFORT, end)]);
            }),
        );
        let _ = system
            .bond("bond", ("a.e1", "b.e1"), ("b.f1", "a.f1"))
            .axis(("a.e2", "b.e2"), ("b.f2", "a.f2"));
        let found = after(system.start(&RunOptions::default()).unwrap(), 3);
        // With effort and flow exchanged, the second axis gives what the first one receives.
        assert_eq!(found.given_power, -30.0 - 16.0);
        assert_eq!(found.received_power, -30.0 - 16.0);
        assert_eq!(found.residual_energy, 0.0);
        assert_eq!(found.residual_energy_abs, 0.0);
        assert_eq!(
            found.transferred_energy,
            H * (15.0 + 8.0 - 30.0 + 4.0 - 18.0 - 16.0)
        );
    }

    /// A damper, effort = D·flow, that is exchanged stale, on the flows of the list: in the step from
    /// k to k+1, the effort input is D·f(k−1), the flow input f(k); the effort published at k+1 is
    /// D·f(k). Under the new input, the effort at the start of the step is D·f(k).
    #[test]
    fn stale_outputs_count_as_they_are_under_the_new_inputs() {
        const D: f64 = 4.0;
        let damper = |input, output| {
            crate::LinearUnit::new(&[0.0], &[input], &[output], [&[0.0], &[0.0], &[0.0], &[D]])
        };
        let (mut integrated, mut applied_energy) = (0.0, 0.0);
        let mut before_last = FLOW[0];
        for pair in FLOW.windows(2) {
            let at_start = D * (before_last - pair[0]) * pair[0];
            let at_end = D * (before_last * pair[1] - pair[0] * pair[0]);
            integrated += 0.5 * H * (at_start + at_end);
            applied_energy += H * at_end;
            before_last = pair[0];
        }
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        system.add("a", damper("f", "e")).exchange("stale");
        system.add("b", source("e", "f", FLOW));
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        let found = after(system.start(&RunOptions::default()).unwrap(), 3);
        assert!((found.residual_energy_integrated - integrated).abs() < 1e-6);
        assert!((found.residual_energy - applied_energy).abs() < 1e-6);
        // The same where the damper is at end b: the power has the opposite sign.
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        system.add("a", source("f", "e", FLOW));
        system.add("b", damper("e", "f")).exchange("stale");
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        let found = after(system.start(&RunOptions::default()).unwrap(), 3);
        assert!((found.residual_energy_integrated + integrated).abs() < 1e-6);
        assert!((found.residual_energy + applied_energy).abs() < 1e-6);
    }

    /// The additions of a correction are booked apart: the residual is that of the inputs without them.
    /// Held inputs of sources that ignore them: the residual power is that of `expected`, and the
    /// force −μ·δP/f(k) (Rodríguez 2022 eq. 19) works on f(k+1).
    #[test]
    fn corrections_are_booked_apart() {
        let residual = [-11.0, -26.0, 14.0];
        for (corrects, signal, sign) in [("effort", FLOW, 1.0), ("flow", EFFORT, -1.0)] {
            let mut system = System::new(H);
            system.stop_time(4.0 * H);
            system.method("jacobi").extrapolation("hold");
            system.add("a", source("f", "e", EFFORT));
            system.add("b", source("e", "f", FLOW));
            let _ = system
                .bond("bond", ("a.e", "b.e"), ("b.f", "a.f"))
                .correction(
                    Word::new("residual-power")
                        .with("mu", 0.25)
                        .with("limit", f64::INFINITY)
                        .with("corrects", corrects),
                );
            let mut run = system.start(&RunOptions::default()).unwrap();
            let mut correction_energy = 0.0;
            for step in 0..3 {
                run.step().unwrap();
                // Nothing is known before the first step.
                let added = match step {
                    0 => 0.0,
                    _ => -sign * 0.25 * residual[step - 1] / signal[step],
                };
                let power = sign * added * signal[step + 1];
                correction_energy += H * power;
                let found = run.ledger().bond(0).unwrap();
                assert!((found.residual_power - residual[step]).abs() < 1e-9);
                assert!((found.correction_power - power).abs() < 1e-9, "{corrects}");
                assert!((found.applied_residual_power - residual[step] - power).abs() < 1e-9);
                assert!((found.correction_energy - correction_energy).abs() < 1e-9);
            }
            let found = run.ledger().bond(0).unwrap();
            let expected = expected();
            assert_eq!(found.residual_energy, expected.residual_energy);
            let applied = expected.residual_energy + correction_energy;
            assert!((found.applied_residual_energy - applied).abs() < 1e-9);
            assert_eq!(run.ledger().residual_energy(), expected.residual_energy);
        }
    }
}
