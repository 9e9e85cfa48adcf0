//! Bonds whose inputs are copies of outputs that are not stale, over some macro-steps in a row: the same sums as of
//! [`observe_copies`](super::BondAccount::observe_copies) step by step, bond by bond, so that a bond's sums stay in
//! registers.

use super::{BondAccount, Ledger};
use crate::extremes::{greater, less};
use crate::graph::Axis;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

type ByStep = [f64; MOST_STEPS];

/// Values of one bond by macro-step. What does not depend on the step before is computed for all of them first, two at a time
/// where the processor can.
struct Columns {
    given: ByStep,
    received: ByStep,
    output_power: ByStep,
    curvature: ByStep,
    residual: ByStep,
    given_energy: ByStep,
    integrated: ByStep,
    /// Integrated residual energy of all power bonds, J.
    made: ByStep,
}

impl Columns {
    const EMPTY: Self = Self {
        given: [0.0; MOST_STEPS],
        received: [0.0; MOST_STEPS],
        output_power: [0.0; MOST_STEPS],
        curvature: [0.0; MOST_STEPS],
        residual: [0.0; MOST_STEPS],
        given_energy: [0.0; MOST_STEPS],
        integrated: [0.0; MOST_STEPS],
        // The sum of no numbers.
        made: [-0.0; MOST_STEPS],
    };

    /// Adds the powers of an axis. Returns the last change of its flow.
    #[inline]
    fn add_axis(&mut self, axis: &Axis, last_change: f64, rows: &Rows) -> f64 {
        let steps = rows.steps();
        let (effort, flow) = (
            rows.column(axis.effort_output),
            rows.column(axis.flow_output),
        );
        if steps == 0 {
            return last_change;
        }
        // Slices of one length, so that no index is checked in the loops.
        let (effort_before, effort) = (&effort[..steps], &effort[1..=steps]);
        let (flow_before, flow) = (&flow[..steps], &flow[1..=steps]);
        let (given, received) = (&mut self.given[..steps], &mut self.received[..steps]);
        let output_power = &mut self.output_power[..steps];
        for step in 0..steps {
            let effort_input = axis.weight * effort_before[step];
            let flow_input = axis.weight * flow_before[step];
            given[step] += effort[step] * flow_input;
            received[step] += effort_input * flow[step];
            output_power[step] += axis.weight * effort[step] * flow[step];
        }
        let (first, rest) = self.curvature.split_at_mut(1);
        let bend = |effort: f64, last_change: f64, [from, to]: [f64; 2]| {
            (axis.weight * effort) * ((to - from) - last_change)
        };
        first[0] += bend(effort_before[0], last_change, [flow_before[0], flow[0]]);
        let (rest, effort_before) = (&mut rest[..steps - 1], &effort_before[1..]);
        let (before, now, after) = (&flow_before[..steps - 1], &flow[..steps - 1], &flow[1..]);
        for step in 0..steps - 1 {
            let last_change = now[step] - before[step];
            rest[step] += bend(effort_before[step], last_change, [now[step], after[step]]);
        }
        flow[steps - 1] - flow_before[steps - 1]
    }

    fn clear(&mut self, steps: usize) {
        let columns = [
            &mut self.given,
            &mut self.received,
            &mut self.output_power,
            &mut self.curvature,
        ];
        for column in columns {
            column[..steps].fill(0.0);
        }
    }

    /// Computes the energies of each of these `steps` of this `size`, s, from the powers, and the errors from the curvatures.
    #[inline]
    fn integrate(&mut self, steps: usize, size: f64, output_power_before: f64) {
        if steps == 0 {
            return;
        }
        let half = 0.5 * size;
        let (given, received) = (&self.given[..steps], &self.received[..steps]);
        let residual = &mut self.residual[..steps];
        let given_energy = &mut self.given_energy[..steps];
        let curvature = &mut self.curvature[..steps];
        for step in 0..steps {
            residual[step] = received[step] - given[step];
            given_energy[step] = given[step] * size;
            curvature[step] = curvature[step] * size / 12.0;
        }
        let integrated = &mut self.integrated[..steps];
        let pairs = self.output_power.iter().zip(&given[1..]);
        for (integrated, (before, given)) in integrated[1..].iter_mut().zip(pairs) {
            *integrated = half * (before + given);
        }
        integrated[0] = half * (output_power_before + given[0]);
        // The first step of a run has no change before it.
        if curvature[0].is_nan() {
            curvature[0] = -0.0;
        }
    }
}

impl Ledger {
    /// Whether it can observe macro-steps in a row: there are no bonds, or all of them are as in [`BondAccount::observe_copies`], and their inputs
    /// are copies of their own outputs.
    #[inline(always)]
    pub(crate) fn takes_rows(&self, state: &SystemState) -> bool {
        self.bonds.is_empty() || (self.copies_own_outputs && state.units.uniform)
    }

    /// Whether the inputs of all bonds copy the outputs of the same bond.
    pub(super) fn copies_own_outputs(state: &SystemState) -> bool {
        let sources = &state.courses.sources;
        let is_own = |axis: &Axis| {
            sources[axis.effort_input] as usize == axis.effort_output
                && sources[axis.flow_input] as usize == axis.flow_output
        };
        state
            .graph
            .bonds
            .iter()
            .flat_map(|bond| &bond.axes)
            .all(is_own)
    }

    /// Adds the macro-steps of the rows, all of this `size`, s. `end_of` gives their ends by their numbers among the rows, s.
    /// `look` receives the residual and the given power of each bond in each macro-step, W.
    pub(crate) fn observe_rows(
        &mut self,
        rows: &Rows,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
        mut look: impl FnMut(usize, &[f64], &[f64]),
    ) {
        let steps = rows.steps();
        let mut columns = Columns::EMPTY;
        for (index, bond) in self.bonds.iter_mut().enumerate() {
            columns.clear(steps);
            for (axis, last_change) in bond.axes.iter().zip(&mut bond.last_changes) {
                *last_change = columns.add_axis(axis, *last_change, rows);
            }
            bond.add_columns(&mut columns, steps, size, end_of);
            look(index, &columns.residual[..steps], &columns.given[..steps]);
        }
        if self.bonds.len() > 1 {
            for (step, made) in columns.made[..steps].iter().enumerate() {
                if made.abs() > self.peak.0.abs() {
                    self.peak = (*made, end_of(step));
                }
            }
        }
    }
}

impl BondAccount {
    /// Adds the macro-steps whose powers are in the columns, in their order.
    #[inline]
    fn add_columns(
        &mut self,
        columns: &mut Columns,
        steps: usize,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
    ) {
        columns.integrate(steps, size, self.output_power_before);
        let half = 0.5 * size;
        let mut sums = self.energy;
        let (mut least, mut greatest) = (self.least, self.greatest);
        let mut curvature = self.error.curvature;
        let (residual, given_energy) = (&columns.residual[..steps], &columns.given_energy[..steps]);
        let (integrated, curvatures) = (&columns.integrated[..steps], &columns.curvature[..steps]);
        let made = &mut columns.made[..steps];
        for step in 0..steps {
            sums.transferred_energy += given_energy[step];
            sums.transferred_energy_abs += given_energy[step].abs();
            least = less(sums.transferred_energy, least);
            greatest = greater(sums.transferred_energy, greatest);
            let residual_energy = residual[step] * size;
            sums.residual_energy += residual_energy;
            sums.applied_residual_energy += residual_energy;
            sums.residual_energy_abs += residual_energy.abs();
            sums.residual_energy_integrated += half * residual[step];
            sums.transferred_energy_integrated += integrated[step];
            curvature += curvatures[step];
            if residual[step].abs() > sums.max_residual_power {
                sums.max_residual_power = residual[step].abs();
                sums.max_residual_power_time = end_of(step);
            }
            let energy = sums.residual_energy_integrated;
            if energy.abs() > sums.peak_residual_energy_integrated.abs() {
                sums.peak_residual_energy_integrated = energy;
                sums.peak_residual_energy_integrated_time = end_of(step);
            }
            made[step] += if self.is_power { energy } else { -0.0 };
        }
        if let Some(last) = steps.checked_sub(1) {
            sums.given_power = columns.given[last];
            sums.received_power = columns.received[last];
            sums.residual_power = residual[last];
            sums.applied_residual_power = residual[last];
            self.output_power_before = columns.output_power[last];
        }
        self.energy = sums;
        (self.least, self.greatest) = (least, greatest);
        self.error.curvature = curvature;
    }
}
