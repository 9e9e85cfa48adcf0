//! Bonds whose inputs are copies of outputs that are not stale, over some macro-steps in a row: the same as
//! [`observe_copies`](super::BondAccount::observe_copies) step by step.

use gyrator_thread_team::{Four, Places};

use super::rows::{AXES, Courses, Each, Group, Made};
use super::{BondAccount, Ledger};
use crate::graph::Axis;
use crate::state::SystemState;

/// An axis of the bonds from step to step.
#[derive(Clone, Copy)]
struct AxisCourse<F> {
    effort_output: Places,
    flow_output: Places,
    weight: F,
    /// Weighted.
    effort_input: F,
    flow_input: F,
    flow_before: F,
    last_change: F,
}

/// Powers at the end of a macro-step.
#[derive(Clone, Copy)]
struct Point<F> {
    given: F,
    received: F,
    output: F,
    /// Σ effort input · change of the slope of the flow.
    curvature: F,
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
            effort_input: weight * F::at(before, effort_output),
            flow_input: weight * flow_before,
            flow_before,
            last_change: group.number(|bond| bond.last_changes[axis]),
        }
    }

    /// Adds the powers after a macro-step with these outputs, which are the inputs of the next one.
    #[inline(always)]
    fn add_to(&mut self, point: &mut Point<F>, outputs: &[f64]) {
        let effort = F::at(outputs, self.effort_output);
        let flow = F::at(outputs, self.flow_output);
        point.given = point.given + effort * self.flow_input;
        point.received = point.received + self.effort_input * flow;
        let change = flow - self.flow_before;
        point.curvature = point.curvature + self.effort_input * (change - self.last_change);
        (self.last_change, self.flow_before) = (change, flow);
        (self.effort_input, self.flow_input) = (self.weight * effort, self.weight * flow);
        point.output = point.output + self.effort_input * flow;
    }
}

/// Such bonds of so many `AXES`.
pub(super) struct Copies<F, const AXES: usize> {
    axes: [AxisCourse<F>; AXES],
    size: F,
    half: F,
    /// Power of the outputs at the start of the macro-step, W.
    output_power: F,
}

impl<F: Four, const AXES: usize> Copies<F, AXES> {
    /// With the outputs `before` the first macro-step; each has this `size`, s.
    #[inline(always)]
    pub(super) fn new(group: &Group<'_>, before: &[f64], size: f64) -> Self {
        Self {
            axes: std::array::from_fn(|axis| AxisCourse::new(group, axis, before)),
            size: F::all(size),
            half: F::all(0.5 * size),
            output_power: group.number(|bond| bond.output_power_before),
        }
    }
}

impl<F: Four, const AXES: usize> Courses<F> for Copies<F, AXES> {
    #[inline(always)]
    fn go_on(&mut self, _: usize, outputs: &[f64]) -> Made<F> {
        let zero = F::all(0.0);
        let mut point = Point {
            given: zero,
            received: zero,
            output: zero,
            curvature: zero,
        };
        for axis in &mut self.axes {
            axis.add_to(&mut point, outputs);
        }
        let mean_of_twice = self.output_power + point.given;
        self.output_power = point.output;
        // The first step of a run has no change before it: nothing is added then.
        let bent = point.curvature * self.size / F::all(12.0);
        Made {
            given: point.given,
            received: point.received,
            residual_integrated: self.half * (point.received - point.given),
            transferred_integrated: self.half * mean_of_twice,
            curvature: bent.or_if_nan(F::all(-0.0)),
        }
    }

    #[inline(always)]
    fn keep(self, bonds: &mut [BondAccount]) {
        let output_power: Each = self.output_power.into();
        let changes: [Each; AXES] = self.axes.map(|axis| axis.last_change.into());
        for (index, bond) in bonds.iter_mut().enumerate() {
            bond.output_power_before = output_power[index];
            for (own, last) in bond.last_changes.iter_mut().zip(changes) {
                *own = last[index];
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
