//! Bonds whose inputs are copies of outputs that are not stale, over some macro-steps in a row: the same sums as of
//! [`observe_copies`](super::BondAccount::observe_copies) step by step, bond by bond, so that a bond's sums stay in
//! registers.

use gyrator_thread_team::{Loops, with_wide_registers};

use super::{BondAccount, BondEnergy, Ledger};
use crate::extremes::{greater, less};
use crate::graph::Axis;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

type ByStep = [f64; MOST_STEPS];
/// The values before the first macro-step, too.
type ByPoint = [f64; MOST_STEPS + 1];

/// Numbers of which the greatest or least is found at once.
const LANES: usize = 4;

/// Values of one bond by macro-step. What does not depend on the step before is computed for all of them first, some at a time
/// where the processor can.
struct Columns {
    /// Of one axis.
    effort: ByPoint,
    flow: ByPoint,
    given: ByStep,
    received: ByStep,
    output_power: ByStep,
    curvature: ByStep,
    residual: ByStep,
    given_energy: ByStep,
    integrated: ByStep,
    /// Sums so far.
    transferred: ByStep,
    residual_integrated: ByStep,
    /// Integrated residual energy of all power bonds, J.
    made: ByStep,
}

impl Columns {
    const EMPTY: Self = Self {
        effort: [0.0; MOST_STEPS + 1],
        flow: [0.0; MOST_STEPS + 1],
        given: [0.0; MOST_STEPS],
        received: [0.0; MOST_STEPS],
        output_power: [0.0; MOST_STEPS],
        curvature: [0.0; MOST_STEPS],
        residual: [0.0; MOST_STEPS],
        given_energy: [0.0; MOST_STEPS],
        integrated: [0.0; MOST_STEPS],
        transferred: [0.0; MOST_STEPS],
        residual_integrated: [0.0; MOST_STEPS],
        // The sum of no numbers.
        made: [-0.0; MOST_STEPS],
    };

    /// Adds the powers of an axis to those before it; there are none before the `FIRST`. Returns the last change of its flow.
    #[inline(always)]
    fn add_axis<const FIRST: bool>(&mut self, axis: &Axis, last_change: f64, rows: &Rows) -> f64 {
        let steps = rows.steps();
        if steps == 0 {
            return last_change;
        }
        // Slices of one length, so that no index is checked in the loops.
        let (effort, flow) = (&mut self.effort[..=steps], &mut self.flow[..=steps]);
        assert!(axis.effort_output.max(axis.flow_output) < rows.width());
        for ((effort, flow), row) in effort.iter_mut().zip(&mut *flow).zip(rows.all()) {
            (*effort, *flow) = (row[axis.effort_output], row[axis.flow_output]);
        }
        let (effort_before, effort) = (&effort[..steps], &effort[1..]);
        let (flow_before, flow) = (&flow[..steps], &flow[1..]);
        let (given, received) = (&mut self.given[..steps], &mut self.received[..steps]);
        let output_power = &mut self.output_power[..steps];
        let before = |sum: f64| if FIRST { 0.0 } else { sum };
        for step in 0..steps {
            let effort_input = axis.weight * effort_before[step];
            let flow_input = axis.weight * flow_before[step];
            given[step] = before(given[step]) + effort[step] * flow_input;
            received[step] = before(received[step]) + effort_input * flow[step];
            let power = axis.weight * effort[step] * flow[step];
            output_power[step] = before(output_power[step]) + power;
        }
        let (first, rest) = self.curvature.split_at_mut(1);
        let bend = |effort: f64, last_change: f64, [from, to]: [f64; 2]| {
            (axis.weight * effort) * ((to - from) - last_change)
        };
        let bent = bend(effort_before[0], last_change, [flow_before[0], flow[0]]);
        first[0] = before(first[0]) + bent;
        let (rest, effort_before) = (&mut rest[..steps - 1], &effort_before[1..]);
        let (last, now, after) = (&flow_before[..steps - 1], &flow[..steps - 1], &flow[1..]);
        for step in 0..steps - 1 {
            let last_change = now[step] - last[step];
            let bent = bend(effort_before[step], last_change, [now[step], after[step]]);
            rest[step] = before(rest[step]) + bent;
        }
        flow[steps - 1] - flow_before[steps - 1]
    }

    /// Computes the energies of each of these `steps` of this `size`, s, from the powers, and the errors from the curvatures.
    #[inline(always)]
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

/// The first of the numbers by `better`, which keeps its second argument where its first one is NaN.
#[inline(always)]
fn extreme(values: &[f64], first: f64, better: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [first; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = better(chunk[lane], lanes[lane]);
        }
    }
    let lanes = lanes.iter().chain(rest);
    lanes.fold(first, |found, value| better(*value, found))
}

#[inline(always)]
fn greatest_magnitude(values: &[f64], first: f64) -> f64 {
    extreme(values, first, |value, most| greater(value.abs(), most))
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
    /// `look` receives the residual and the given power of each bond in each macro-step, W, and their greatest magnitudes.
    pub(crate) fn observe_rows(
        &mut self,
        rows: &Rows,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
        look: &mut Look<'_>,
    ) {
        with_wide_registers(Observation {
            ledger: self,
            rows,
            size,
            end_of,
            look,
        });
    }
}

/// Receives the number of a bond, its residual and given power in each macro-step, W, and their greatest magnitudes.
type Look<'a> = dyn FnMut(usize, [&[f64]; 2], [f64; 2]) + 'a;

/// Does the work of [`Ledger::observe_rows`].
struct Observation<'a, 'b> {
    ledger: &'a mut Ledger,
    rows: &'a Rows,
    size: f64,
    end_of: &'a dyn Fn(usize) -> f64,
    look: &'a mut Look<'b>,
}

impl Loops for Observation<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            ledger,
            rows,
            size,
            end_of,
            look,
        } = self;
        let steps = rows.steps();
        let mut columns = Columns::EMPTY;
        for (index, bond) in ledger.bonds.iter_mut().enumerate() {
            let mut axes = bond.axes.iter().zip(&mut bond.last_changes);
            if let Some((axis, last_change)) = axes.next() {
                *last_change = columns.add_axis::<true>(axis, *last_change, rows);
            }
            for (axis, last_change) in axes {
                *last_change = columns.add_axis::<false>(axis, *last_change, rows);
            }
            let greatest = bond.add_columns(&mut columns, steps, size, end_of);
            let powers = [&columns.residual[..steps], &columns.given[..steps]];
            look(index, powers, greatest);
        }
        let made = &columns.made[..steps];
        let peak = &mut ledger.peak;
        if ledger.bonds.len() > 1 && greatest_magnitude(made, 0.0) > peak.0.abs() {
            for (step, made) in made.iter().enumerate() {
                if made.abs() > peak.0.abs() {
                    *peak = (*made, end_of(step));
                }
            }
        }
    }
}

impl BondAccount {
    /// Adds the macro-steps whose powers are in the columns, in their order. Returns the greatest magnitudes of residual and
    /// given power, W.
    #[inline(always)]
    fn add_columns(
        &mut self,
        columns: &mut Columns,
        steps: usize,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
    ) -> [f64; 2] {
        columns.integrate(steps, size, self.output_power_before);
        let half = 0.5 * size;
        let mut sums = self.energy;
        let mut curvature = self.error.curvature;
        let (residual, given_energy) = (&columns.residual[..steps], &columns.given_energy[..steps]);
        let (integrated, curvatures) = (&columns.integrated[..steps], &columns.curvature[..steps]);
        let transferred = &mut columns.transferred[..steps];
        let residual_integrated = &mut columns.residual_integrated[..steps];
        for step in 0..steps {
            sums.transferred_energy += given_energy[step];
            transferred[step] = sums.transferred_energy;
            sums.transferred_energy_abs += given_energy[step].abs();
            let residual_energy = residual[step] * size;
            sums.residual_energy += residual_energy;
            sums.applied_residual_energy += residual_energy;
            sums.residual_energy_abs += residual_energy.abs();
            sums.residual_energy_integrated += half * residual[step];
            residual_integrated[step] = sums.residual_energy_integrated;
            sums.transferred_energy_integrated += integrated[step];
            curvature += curvatures[step];
        }
        self.least = extreme(transferred, self.least, less);
        self.greatest = extreme(transferred, self.greatest, greater);
        let most = [
            greatest_magnitude(residual, 0.0),
            greatest_magnitude(&columns.given[..steps], 0.0),
        ];
        let made = greatest_magnitude(residual_integrated, 0.0);
        if most[0] > sums.max_residual_power || made > sums.peak_residual_energy_integrated.abs() {
            sums.keep_peaks_of(residual, residual_integrated, end_of);
        }
        if self.is_power {
            let all = columns.made[..steps].iter_mut();
            for (all, own) in all.zip(&*residual_integrated) {
                *all += own;
            }
        }
        if let Some(last) = steps.checked_sub(1) {
            sums.given_power = columns.given[last];
            sums.received_power = columns.received[last];
            sums.residual_power = residual[last];
            sums.applied_residual_power = residual[last];
            self.output_power_before = columns.output_power[last];
        }
        self.energy = sums;
        self.error.curvature = curvature;
        most
    }
}

impl BondEnergy {
    /// Keeps what is greater than ever before among macro-steps, with their times.
    #[cold]
    fn keep_peaks_of(
        &mut self,
        residual: &[f64],
        integrated: &[f64],
        end_of: &dyn Fn(usize) -> f64,
    ) {
        for (step, (power, energy)) in residual.iter().zip(integrated).enumerate() {
            if power.abs() > self.max_residual_power {
                self.max_residual_power = power.abs();
                self.max_residual_power_time = end_of(step);
            }
            if energy.abs() > self.peak_residual_energy_integrated.abs() {
                self.peak_residual_energy_integrated = *energy;
                self.peak_residual_energy_integrated_time = end_of(step);
            }
        }
    }
}
