//! Bonds whose inputs are copies of outputs that are not stale, over some macro-steps in a row: the same sums as of
//! [`observe_copies`](super::BondAccount::observe_copies) step by step, bond by bond, so that a bond's sums stay in
//! registers.

use gyrator_thread_team::{Loops, with_wide_registers};

use super::{BondAccount, BondEnergy, Ledger};
use crate::extremes::{greater, less};
use crate::graph::Axis;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

/// Bonds that are added side by side: as many as the numbers in a wide register.
const SIDE_BY_SIDE: usize = 4;

/// One number of each of `N` bonds.
type Each<const N: usize> = [f64; N];
type ByStep<const N: usize> = [Each<N>; MOST_STEPS];
/// The values before the first macro-step, too.
type ByPoint<const N: usize> = [Each<N>; MOST_STEPS + 1];

/// Values of some bonds by macro-step. What does not depend on the step before is computed for all of them first.
#[derive(Clone)]
struct Columns<const N: usize> {
    /// Of one axis.
    effort: ByPoint<N>,
    flow: ByPoint<N>,
    given: ByStep<N>,
    received: ByStep<N>,
    output_power: ByStep<N>,
    curvature: ByStep<N>,
    residual: ByStep<N>,
    transferred_integrated: ByStep<N>,
    /// Sums so far.
    residual_integrated: ByStep<N>,
}

/// Columns for one bond, which are written anew for each.
#[derive(Clone)]
pub(super) struct Room(Columns<1>);

impl Default for Room {
    fn default() -> Self {
        Self(Columns::EMPTY)
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
}

/// The macro-steps that are added, and what is to know of their powers.
struct Steps<'a, 'b> {
    rows: &'a Rows,
    /// Length of each, s.
    size: f64,
    end_of: &'a dyn Fn(usize) -> f64,
    look: &'a mut Look<'b>,
    /// Integrated residual energy of all power bonds by macro-step, J.
    made: [f64; MOST_STEPS],
}

/// Receives the number of a bond, its powers by macro-step, and the greatest magnitudes of residual and given power, W.
type Look<'a> = dyn FnMut(usize, Powers<'_>, [f64; 2]) + 'a;

/// Powers of one bond in some macro-steps.
#[derive(Clone, Copy)]
pub(crate) struct Powers<'a> {
    /// Number of macro-steps.
    pub(crate) steps: usize,
    /// Residual and given power in each, W.
    pub(crate) of: &'a dyn Fn(usize) -> [f64; 2],
}

impl<const N: usize> Columns<N> {
    const EMPTY: Self = Self {
        effort: [[0.0; N]; MOST_STEPS + 1],
        flow: [[0.0; N]; MOST_STEPS + 1],
        given: [[0.0; N]; MOST_STEPS],
        received: [[0.0; N]; MOST_STEPS],
        output_power: [[0.0; N]; MOST_STEPS],
        curvature: [[0.0; N]; MOST_STEPS],
        residual: [[0.0; N]; MOST_STEPS],
        transferred_integrated: [[0.0; N]; MOST_STEPS],
        residual_integrated: [[0.0; N]; MOST_STEPS],
    };

    /// Collects effort and flow of an axis of each bond from the rows.
    #[inline(always)]
    fn gather(&mut self, axes: [&Axis; N], rows: &Rows) {
        let efforts = axes.map(|axis| axis.effort_output);
        let flows = axes.map(|axis| axis.flow_output);
        let all_outputs = efforts.iter().chain(&flows);
        // So that no index is checked in the loop.
        for output in all_outputs {
            assert!(*output < rows.width());
        }
        let columns = self.effort.iter_mut().zip(&mut self.flow);
        for ((effort, flow), row) in columns.zip(rows.all()) {
            *effort = efforts.map(|output| row[output]);
            *flow = flows.map(|output| row[output]);
        }
    }

    /// Adds the powers of the axes that were gathered to those of the axes before them; there are none before the `FIRST`.
    /// Returns the last changes of their flows.
    #[inline(always)]
    fn add_axis<const FIRST: bool>(
        &mut self,
        weights: Each<N>,
        mut last_changes: Each<N>,
        steps: usize,
    ) -> Each<N> {
        // Slices of one length, so that no index is checked in the loop.
        let (effort, flow) = (&self.effort[..=steps], &self.flow[..=steps]);
        let (effort_before, effort) = (&effort[..steps], &effort[1..]);
        let (flow_before, flow) = (&flow[..steps], &flow[1..]);
        let (given, received) = (&mut self.given[..steps], &mut self.received[..steps]);
        let output_power = &mut self.output_power[..steps];
        let curvature = &mut self.curvature[..steps];
        let before = |sum: f64| if FIRST { 0.0 } else { sum };
        for step in 0..steps {
            for bond in 0..N {
                let weight = weights[bond];
                let effort_input = weight * effort_before[step][bond];
                let flow_input = weight * flow_before[step][bond];
                let (effort, flow) = (effort[step][bond], flow[step][bond]);
                given[step][bond] = before(given[step][bond]) + effort * flow_input;
                received[step][bond] = before(received[step][bond]) + effort_input * flow;
                let power = weight * effort * flow;
                output_power[step][bond] = before(output_power[step][bond]) + power;
                let change = flow - flow_before[step][bond];
                let bent = effort_input * (change - last_changes[bond]);
                curvature[step][bond] = before(curvature[step][bond]) + bent;
                last_changes[bond] = change;
            }
        }
        last_changes
    }

    /// Computes residual powers from the powers, and what is added to sums for each of these `steps` of this `size`, s. Returns the
    /// output powers at their end.
    #[inline(always)]
    fn integrate(&mut self, steps: usize, size: f64, mut output_power_before: Each<N>) -> Each<N> {
        let half = 0.5 * size;
        let (given, received) = (&self.given[..steps], &self.received[..steps]);
        let output_power = &self.output_power[..steps];
        let residual = &mut self.residual[..steps];
        let curvature = &mut self.curvature[..steps];
        let integrated = &mut self.transferred_integrated[..steps];
        for step in 0..steps {
            for bond in 0..N {
                residual[step][bond] = received[step][bond] - given[step][bond];
                integrated[step][bond] = half * (output_power_before[bond] + given[step][bond]);
                output_power_before[bond] = output_power[step][bond];
                let curvature = &mut curvature[step][bond];
                // The first step of a run has no change before it: nothing is added then.
                let bent = *curvature * size / 12.0;
                *curvature = if bent.is_nan() { -0.0 } else { bent };
            }
        }
        output_power_before
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
    /// `look` receives the powers of each bond, W, and the greatest magnitudes of residual and given power.
    pub(crate) fn observe_rows(
        &mut self,
        rows: &Rows,
        size: f64,
        end_of: &dyn Fn(usize) -> f64,
        look: &mut Look<'_>,
    ) {
        let steps = Steps {
            rows,
            size,
            end_of,
            look,
            // The sum of no numbers.
            made: [-0.0; MOST_STEPS],
        };
        with_wide_registers(Observation {
            ledger: self,
            steps,
        });
    }
}

/// Does the work of [`Ledger::observe_rows`].
struct Observation<'a, 'b> {
    ledger: &'a mut Ledger,
    steps: Steps<'a, 'b>,
}

impl Loops for Observation<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { ledger, mut steps } = self;
        let Room(of_one) = &mut *ledger.room;
        let (groups, others) = ledger.bonds.as_chunks_mut::<SIDE_BY_SIDE>();
        let mut first = 0;
        if !groups.is_empty() {
            // On the stack: kept in the room, they are not computed in wide registers.
            let mut columns = Columns::EMPTY;
            for group in groups {
                let axes = group[0].axes.len();
                if group.iter().all(|bond| bond.axes.len() == axes) {
                    steps.add_to(group, &mut columns, first);
                } else {
                    steps.add_to_each(group, of_one, first);
                }
                first += SIDE_BY_SIDE;
            }
        }
        steps.add_to_each(others, of_one, first);
        let made = &steps.made[..steps.rows.steps()];
        let peak = &mut ledger.peak;
        if ledger.bonds.len() > 1 && greatest_magnitude(made) > peak.0.abs() {
            for (step, made) in made.iter().enumerate() {
                if made.abs() > peak.0.abs() {
                    *peak = (*made, (steps.end_of)(step));
                }
            }
        }
    }
}

#[inline(always)]
fn greatest_magnitude(values: &[f64]) -> f64 {
    let values = values.iter();
    values.fold(0.0, |most, value| greater(value.abs(), most))
}

impl Steps<'_, '_> {
    #[inline(always)]
    fn add_to_each(&mut self, bonds: &mut [BondAccount], columns: &mut Columns<1>, first: usize) {
        let (bonds, _) = bonds.as_chunks_mut::<1>();
        for (index, bond) in bonds.iter_mut().enumerate() {
            self.add_to(bond, columns, first + index);
        }
    }

    /// Adds the macro-steps to bonds with as many axes each, of which the `first` one has this number.
    #[inline(always)]
    fn add_to<const N: usize>(
        &mut self,
        bonds: &mut [BondAccount; N],
        columns: &mut Columns<N>,
        first: usize,
    ) {
        let steps = self.rows.steps();
        for axis in 0..bonds[0].axes.len() {
            let axes = bonds.each_ref().map(|bond| &bond.axes[axis]);
            let weights = axes.map(|axis| axis.weight);
            columns.gather(axes, self.rows);
            let last = bonds.each_ref().map(|bond| bond.last_changes[axis]);
            let last = match axis {
                0 => columns.add_axis::<true>(weights, last, steps),
                _ => columns.add_axis::<false>(weights, last, steps),
            };
            for (bond, last) in bonds.iter_mut().zip(last) {
                bond.last_changes[axis] = last;
            }
        }
        let greatest = self.sum(bonds, columns);
        let integrated = &columns.residual_integrated[..steps];
        if bonds.iter().all(|bond| bond.is_power) {
            for (made, own) in self.made.iter_mut().zip(integrated) {
                *made = own.iter().fold(*made, |made, own| made + own);
            }
        } else {
            for (index, _) in bonds.iter().enumerate().filter(|(_, bond)| bond.is_power) {
                let own = integrated.iter().map(|each| each[index]);
                self.made
                    .iter_mut()
                    .zip(own)
                    .for_each(|(made, own)| *made += own);
            }
        }
        for (index, bond) in bonds.iter_mut().enumerate() {
            let [residual, given, made] = greatest.map(|each| each[index]);
            let residual_in = |step: usize| columns.residual[step][index];
            let sums = &mut bond.energy;
            if residual > sums.max_residual_power
                || made > sums.peak_residual_energy_integrated.abs()
            {
                let in_step = |step: usize| [residual_in(step), integrated[step][index]];
                sums.keep_peaks_of((0..steps).map(in_step), self.end_of);
            }
            let of = |step: usize| [residual_in(step), columns.given[step][index]];
            (self.look)(first + index, Powers { steps, of: &of }, [residual, given]);
        }
    }

    /// Adds the powers in the columns to the sums of the bonds. Returns the greatest magnitudes of residual power and given power, W,
    /// and of the integrated residual energy, J.
    #[inline(always)]
    fn sum<const N: usize>(
        &self,
        bonds: &mut [BondAccount; N],
        columns: &mut Columns<N>,
    ) -> [Each<N>; 3] {
        let (steps, size) = (self.rows.steps(), self.size);
        let output_power = bonds.each_ref().map(|bond| bond.output_power_before);
        let output_power = columns.integrate(steps, size, output_power);
        let half = 0.5 * size;
        let mut sums = Sums::of(bonds);
        let (residual, given) = (&columns.residual[..steps], &columns.given[..steps]);
        let transferred_integrated = &columns.transferred_integrated[..steps];
        let curvature = &columns.curvature[..steps];
        let residual_integrated = &mut columns.residual_integrated[..steps];
        let mut most = [[0.0; N]; 3];
        for step in 0..steps {
            for bond in 0..N {
                let (residual, given) = (residual[step][bond], given[step][bond]);
                let transferred = given * size;
                sums.transferred[bond] += transferred;
                sums.transferred_abs[bond] += transferred.abs();
                sums.least[bond] = less(sums.transferred[bond], sums.least[bond]);
                sums.greatest[bond] = greater(sums.transferred[bond], sums.greatest[bond]);
                let residual_energy = residual * size;
                sums.residual[bond] += residual_energy;
                sums.applied_residual[bond] += residual_energy;
                sums.residual_abs[bond] += residual_energy.abs();
                sums.residual_integrated[bond] += half * residual;
                residual_integrated[step][bond] = sums.residual_integrated[bond];
                sums.transferred_integrated[bond] += transferred_integrated[step][bond];
                sums.curvature[bond] += curvature[step][bond];
                most[0][bond] = greater(residual.abs(), most[0][bond]);
                most[1][bond] = greater(given.abs(), most[1][bond]);
                let made = sums.residual_integrated[bond].abs();
                most[2][bond] = greater(made, most[2][bond]);
            }
        }
        sums.keep(bonds);
        for (index, bond) in bonds.iter_mut().enumerate() {
            bond.output_power_before = output_power[index];
            if let Some(last) = steps.checked_sub(1) {
                let energy = &mut bond.energy;
                energy.given_power = given[last][index];
                energy.received_power = columns.received[last][index];
                energy.residual_power = residual[last][index];
                energy.applied_residual_power = residual[last][index];
            }
        }
        most
    }
}

/// Sums and extremes of some bonds, sum by sum: each is one register.
struct Sums<const N: usize> {
    transferred: Each<N>,
    transferred_abs: Each<N>,
    transferred_integrated: Each<N>,
    residual: Each<N>,
    residual_abs: Each<N>,
    residual_integrated: Each<N>,
    applied_residual: Each<N>,
    curvature: Each<N>,
    least: Each<N>,
    greatest: Each<N>,
}

impl<const N: usize> Sums<N> {
    #[inline(always)]
    fn of(bonds: &[BondAccount; N]) -> Self {
        let each = |value: fn(&BondAccount) -> f64| bonds.each_ref().map(value);
        Self {
            transferred: each(|bond| bond.energy.transferred_energy),
            transferred_abs: each(|bond| bond.energy.transferred_energy_abs),
            transferred_integrated: each(|bond| bond.energy.transferred_energy_integrated),
            residual: each(|bond| bond.energy.residual_energy),
            residual_abs: each(|bond| bond.energy.residual_energy_abs),
            residual_integrated: each(|bond| bond.energy.residual_energy_integrated),
            applied_residual: each(|bond| bond.energy.applied_residual_energy),
            curvature: each(|bond| bond.error.curvature),
            least: each(|bond| bond.least),
            greatest: each(|bond| bond.greatest),
        }
    }

    #[inline(always)]
    fn keep(&self, bonds: &mut [BondAccount; N]) {
        for (index, bond) in bonds.iter_mut().enumerate() {
            let energy = &mut bond.energy;
            energy.transferred_energy = self.transferred[index];
            energy.transferred_energy_abs = self.transferred_abs[index];
            energy.transferred_energy_integrated = self.transferred_integrated[index];
            energy.residual_energy = self.residual[index];
            energy.residual_energy_abs = self.residual_abs[index];
            energy.residual_energy_integrated = self.residual_integrated[index];
            energy.applied_residual_energy = self.applied_residual[index];
            bond.error.curvature = self.curvature[index];
            (bond.least, bond.greatest) = (self.least[index], self.greatest[index]);
        }
    }
}

impl BondEnergy {
    /// Keeps what is greater than ever before among macro-steps, of which residual power and integrated energy are given, with their times.
    #[cold]
    fn keep_peaks_of(
        &mut self,
        in_steps: impl Iterator<Item = [f64; 2]>,
        end_of: &dyn Fn(usize) -> f64,
    ) {
        for (step, [power, energy]) in in_steps.enumerate() {
            if power.abs() > self.max_residual_power {
                self.max_residual_power = power.abs();
                self.max_residual_power_time = end_of(step);
            }
            if energy.abs() > self.peak_residual_energy_integrated.abs() {
                self.peak_residual_energy_integrated = energy;
                self.peak_residual_energy_integrated_time = end_of(step);
            }
        }
    }
}
