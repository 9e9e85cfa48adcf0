//! Bonds whose inputs are copies of outputs that are not stale, and which nothing corrects: step by step, or over some macro-steps
//! in a row, several bonds side by side or several macro-steps of one.

use gyrator_thread_team::{Four, Number, Places};

use super::rows::{AXES, Courses, Each, Group};
use super::sums::{Addends, Made, Sums};
use super::{BondAccount, Ledger};
use crate::graph::Axis;
use crate::state::{SystemState, outputs_of};
use crate::step::Step;

/// Powers at the end of a macro-step, W.
#[derive(Clone, Copy)]
pub(super) struct Point<N> {
    pub(super) given: N,
    pub(super) received: N,
    pub(super) output: N,
    /// Σ effort input · change of the slope of the flow − flow input · change of the slope of the effort.
    curvature: N,
}

impl<N: Number> Point<N> {
    #[inline(always)]
    pub(super) fn zero() -> Self {
        let zero = N::all(0.0);
        Self {
            given: zero,
            received: zero,
            output: zero,
            curvature: zero,
        }
    }

    /// Adds an axis: effort and flow as inputs, weighted, and as outputs.
    #[inline(always)]
    pub(super) fn add(&mut self, used: [N; 2], outputs: [N; 2], weighted_effort: N) {
        let ([effort_input, flow_input], [effort, flow]) = (used, outputs);
        self.given = self.given + effort * flow_input;
        self.received = self.received + effort_input * flow;
        self.output = self.output + weighted_effort * flow;
    }

    /// Adds the curvature of an axis: the weighted effort and the flow as inputs, and the changes of the changes of both as outputs.
    #[inline(always)]
    pub(super) fn bend(&mut self, used: [N; 2], [effort_turn, flow_turn]: [N; 2]) {
        let [effort_input, flow_input] = used;
        self.curvature = self.curvature + (effort_input * flow_turn - flow_input * effort_turn);
    }

    /// Energies of a macro-step of this `size`, s. At its start the inputs are the outputs, with the power `before`
    /// and no residual power; at its end the units have their `own` powers, given and received.
    #[inline(always)]
    pub(super) fn made(&self, own: [N; 2], before: N, size: f64) -> Made<N> {
        let [own_given, own_received] = own;
        let half = N::all(0.5 * size);
        // A parabola over two steps deviates by an eighth of this, and its integral by two thirds of that.
        let bent = self.curvature * N::all(size) / N::all(12.0);
        Made {
            given: self.given,
            received: self.received,
            residual_integrated: half * (own_received - own_given),
            transferred_integrated: half * (before + own_given),
            // The first step of a run has no change before it: nothing is added then.
            curvature: bent.or_if_nan(N::all(-0.0)),
        }
    }
}

impl BondAccount {
    /// The same as [`observe`](Self::observe) where all inputs are copies of outputs that are not
    /// stale, and nothing corrects them.
    #[inline]
    pub(super) fn observe_copies<const EXCHANGES: bool>(
        &mut self,
        state: &SystemState,
        step: &Step,
    ) {
        let mut point = Point::zero();
        let mut own = [0.0; 2];
        for (axis, last_changes) in self.axes.iter().zip(&mut self.last_changes) {
            let (effort, flow) = outputs_of(&state.signals, axis);
            let flow_used = state.courses.values[axis.flow_input];
            let effort_input = axis.weight * state.courses.values[axis.effort_input];
            let flow_input = axis.weight * flow_used;
            let weighted_effort = axis.weight * effort;
            let mut changes = [weighted_effort - effort_input, flow - flow_used];
            if EXCHANGES {
                let exchanged = &state.signals.exchanged;
                own[0] += (effort - exchanged[axis.effort_output]) * flow_input;
                own[1] += effort_input * (flow - exchanged[axis.flow_output]);
                changes[0] -= axis.weight * exchanged[axis.effort_output];
                changes[1] -= exchanged[axis.flow_output];
            }
            point.add([effort_input, flow_input], [effort, flow], weighted_effort);
            let turns = [changes[0] - last_changes[0], changes[1] - last_changes[1]];
            point.bend([effort_input, flow_used], turns);
            *last_changes = changes;
        }
        if !EXCHANGES {
            own = [point.given, point.received];
        }
        let made = point.made(own, self.output_power_before, step.size);
        self.output_power_before = point.output;
        self.keep_powers(made.given, made.received);
        let mut sums = Sums::of_bond(self);
        sums.add(&Addends::of(&made, step.size));
        sums.keep_in(self);
        self.energy.keep_peaks(|| step.end(&state.graph.clock));
    }
}

/// An axis of some bonds from step to step.
#[derive(Clone, Copy)]
struct AxisCourse<F> {
    effort_output: Places,
    flow_output: Places,
    weight: F,
    /// Effort and flow, weighted.
    inputs: [F; 2],
    flow_before: F,
    /// Of the weighted effort and of the flow.
    last_changes: [F; 2],
}

impl<F: Four> AxisCourse<F> {
    /// The axis with this number, whose inputs are the outputs `before` the first macro-step.
    #[inline(always)]
    fn new(group: &Group<'_>, axis: usize, before: &[f64]) -> Self {
        let effort_output = Places::from(group.each(|bond| bond.axes[axis].effort_output));
        let flow_output = Places::from(group.each(|bond| bond.axes[axis].flow_output));
        let weight: F = group.number(|bond| bond.axes[axis].weight);
        let flow_before = F::at(before, flow_output);
        Self {
            effort_output,
            flow_output,
            weight,
            inputs: [weight * F::at(before, effort_output), weight * flow_before],
            flow_before,
            last_changes: [0, 1].map(|end| group.number(|bond| bond.last_changes[axis][end])),
        }
    }

    /// Adds the powers after a macro-step with these outputs, which are the inputs of the next one.
    #[inline(always)]
    fn add_to(&mut self, point: &mut Point<F>, outputs: &[f64]) {
        let effort = F::at(outputs, self.effort_output);
        let flow = F::at(outputs, self.flow_output);
        let weighted = [self.weight * effort, self.weight * flow];
        let changes = [weighted[0] - self.inputs[0], flow - self.flow_before];
        let turns = [0, 1].map(|end| changes[end] - self.last_changes[end]);
        point.add(self.inputs, [effort, flow], weighted[0]);
        point.bend([self.inputs[0], self.flow_before], turns);
        (self.inputs, self.flow_before, self.last_changes) = (weighted, flow, changes);
    }
}

/// Such bonds of so many `AXES`, side by side.
pub(super) struct Copies<F, const AXES: usize> {
    axes: [AxisCourse<F>; AXES],
    size: f64,
    /// Power of the outputs at the start of the macro-step, W.
    output_power: F,
}

impl<F: Four, const AXES: usize> Copies<F, AXES> {
    /// With the outputs `before` the first macro-step; each has this `size`, s.
    #[inline(always)]
    pub(super) fn new(group: &Group<'_>, before: &[f64], size: f64) -> Self {
        Self {
            axes: std::array::from_fn(|axis| AxisCourse::new(group, axis, before)),
            size,
            output_power: group.number(|bond| bond.output_power_before),
        }
    }
}

impl<F: Four, const AXES: usize> Courses<F> for Copies<F, AXES> {
    #[inline(always)]
    fn go_on(&mut self, _: usize, outputs: &[f64]) -> Made<F> {
        let mut point = Point::zero();
        for axis in &mut self.axes {
            axis.add_to(&mut point, outputs);
        }
        let before = std::mem::replace(&mut self.output_power, point.output);
        point.made([point.given, point.received], before, self.size)
    }

    #[inline(always)]
    fn keep(self, bonds: &mut [BondAccount]) {
        let output_power: Each = self.output_power.into();
        let changes: [[Each; 2]; AXES] = self.axes.map(|axis| axis.last_changes.map(F::into));
        for (index, bond) in bonds.iter_mut().enumerate() {
            bond.output_power_before = output_power[index];
            for (own, last) in bond.last_changes.iter_mut().zip(changes) {
                *own = last.map(|last| last[index]);
            }
        }
    }
}

impl Ledger {
    /// Whether the inputs of all bonds copy the outputs of the same bond, and each has as many axes as can be added in rows.
    pub(super) fn copies_own_outputs(state: &SystemState) -> bool {
        let sources = &state.courses.sources;
        let is_own = |axis: &Axis| {
            sources[axis.effort_input] as usize == axis.effort_output
                && sources[axis.flow_input] as usize == axis.flow_output
        };
        let mut bonds = state.graph.bonds.iter();
        bonds.all(|bond| AXES.contains(&bond.axes.len()) && bond.axes.iter().all(is_own))
    }
}
