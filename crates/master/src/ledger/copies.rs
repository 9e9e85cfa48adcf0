//! Bonds whose inputs are copies of outputs that are not stale, over some macro-steps in a row: the same sums as of
//! [`observe_copies`](super::BondAccount::observe_copies) step by step, but some bonds after the others, so that their sums stay in
//! registers.

use gyrator_thread_team::{Four, Loops, One, Places, with_wide_registers};

use super::{BondAccount, BondEnergy, Ledger};
use crate::extremes::greater;
use crate::graph::Axis;
use crate::rows::{MOST_STEPS, Rows};
use crate::state::SystemState;

/// Bonds that are added side by side.
const SIDE_BY_SIDE: usize = 4;

/// Numbers of axes of bonds that can be added here: those of motions in one to three directions, without turns and with them.
const AXES: [usize; 4] = [1, 2, 3, MOST_AXES];
const MOST_AXES: usize = 6;

/// One number of each of the bonds.
type Each = [f64; SIDE_BY_SIDE];
type ByStep = [Each; MOST_STEPS];

/// Some bonds with as many axes each, which follow each other: [`SIDE_BY_SIDE`] at most.
struct Group<'a>(&'a mut [BondAccount]);

impl Group<'_> {
    /// A value of each bond. In the place of bonds that lack there is the last one, whose values are computed again.
    #[inline(always)]
    fn each<T>(&self, value: impl Fn(&BondAccount) -> T) -> [T; SIDE_BY_SIDE] {
        let last = self.0.len() - 1;
        std::array::from_fn(|lane| value(&self.0[lane.min(last)]))
    }

    #[inline(always)]
    fn number<F: Four>(&self, value: impl Fn(&BondAccount) -> f64) -> F {
        F::from(self.each(value))
    }
}

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
    output_power: F,
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
        point.output_power = point.output_power + self.effort_input * flow;
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
    room: &'a mut Room,
}

/// Residual and given powers, W, and integrated residual energies, J, of the bonds that were added last.
#[derive(Clone)]
pub(super) struct Room {
    residual: ByStep,
    given: ByStep,
    integrated: ByStep,
}

impl Default for Room {
    fn default() -> Self {
        let [residual, given, integrated] = [[[0.0; SIDE_BY_SIDE]; MOST_STEPS]; 3];
        Self {
            residual,
            given,
            integrated,
        }
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").finish_non_exhaustive()
    }
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

impl Ledger {
    /// Whether it can observe macro-steps in a row: there are no bonds, or all of them are as in [`BondAccount::observe_copies`], and their inputs
    /// are copies of their own outputs.
    #[inline(always)]
    pub(crate) fn takes_rows(&self, state: &SystemState) -> bool {
        self.bonds.is_empty() || (self.copies_own_outputs && state.units.uniform)
    }

    /// Whether the inputs of all bonds copy the outputs of the same bond, and each has as many axes as can be added here.
    pub(super) fn copies_own_outputs(state: &SystemState) -> bool {
        let sources = &state.courses.sources;
        let is_own = |axis: &Axis| {
            sources[axis.effort_input] as usize == axis.effort_output
                && sources[axis.flow_input] as usize == axis.flow_output
        };
        let mut bonds = state.graph.bonds.iter();
        bonds.all(|bond| AXES.contains(&bond.axes.len()) && bond.axes.iter().all(is_own))
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
            room: &mut self.room,
        };
        with_wide_registers(Observation {
            bonds: &mut self.bonds,
            peak: &mut self.peak,
            steps,
        });
    }
}

/// Does the work of [`Ledger::observe_rows`].
struct Observation<'a, 'b> {
    bonds: &'a mut [BondAccount],
    /// As [`Ledger::peak`].
    peak: &'a mut (f64, f64),
    steps: Steps<'a, 'b>,
}

impl Loops for Observation<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Four>(self) {
        let Self {
            bonds,
            peak,
            mut steps,
        } = self;
        let mut first = 0;
        while let Some(bond) = bonds.get(first) {
            let axes = bond.axes.len();
            let others = bonds[first..].iter().take(SIDE_BY_SIDE);
            let alike = others.take_while(|other| other.axes.len() == axes).count();
            let group = Group(&mut bonds[first..first + alike]);
            steps.add_to::<F>(group, first);
            first += alike;
        }
        let made = &steps.made[..steps.rows.steps()];
        if bonds.len() > 1 && greatest_magnitude(made) > peak.0.abs() {
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
    /// Adds the macro-steps to bonds of which the `first` one has this number.
    #[inline(always)]
    fn add_to<F: Four>(&mut self, mut group: Group<'_>, first: usize) {
        let greatest = match group.0.len() {
            1 => self.sum_any::<One>(&mut group),
            _ => self.sum_any::<F>(&mut group),
        };
        let Self {
            room,
            made,
            end_of,
            look,
            ..
        } = self;
        let Room {
            residual,
            given,
            integrated,
        } = &**room;
        let steps = self.rows.steps();
        let Group(bonds) = group;
        if bonds.len() == SIDE_BY_SIDE && bonds.iter().all(|bond| bond.is_power) {
            for (made, own) in made.iter_mut().zip(integrated).take(steps) {
                *made = own.iter().fold(*made, |made, own| made + own);
            }
        } else {
            for (index, _) in bonds.iter().enumerate().filter(|(_, bond)| bond.is_power) {
                for (made, own) in made.iter_mut().zip(integrated).take(steps) {
                    *made += own[index];
                }
            }
        }
        for (index, bond) in bonds.iter_mut().enumerate() {
            let [most_residual, most_given, made] = greatest.map(|each| each[index]);
            let sums = &mut bond.energy;
            if most_residual > sums.max_residual_power
                || made > sums.peak_residual_energy_integrated.abs()
            {
                let in_step = |step: usize| [residual[step][index], integrated[step][index]];
                sums.keep_peaks_of((0..steps).map(in_step), *end_of);
            }
            let of = |step: usize| [residual[step][index], given[step][index]];
            let powers = Powers { steps, of: &of };
            look(first + index, powers, [most_residual, most_given]);
        }
    }

    /// As [`sum`](Self::sum).
    #[inline(always)]
    fn sum_any<F: Four>(&mut self, group: &mut Group<'_>) -> [Each; 3] {
        match group.0[0].axes.len() {
            1 => self.sum::<F, 1>(group),
            2 => self.sum::<F, 2>(group),
            3 => self.sum::<F, 3>(group),
            _ => self.sum::<F, MOST_AXES>(group),
        }
    }

    /// Adds the macro-steps to the sums of bonds of so many `AXES`. Returns the greatest magnitudes of residual power and given power,
    /// W, and of the integrated residual energy, J.
    #[inline(always)]
    fn sum<F: Four, const AXES: usize>(&mut self, group: &mut Group<'_>) -> [Each; 3] {
        let mut rows = self.rows.all();
        let zero = F::all(0.0);
        let Some(before) = rows.next() else {
            return [[0.0; SIDE_BY_SIDE]; 3];
        };
        let mut axes: [AxisCourse<F>; AXES] =
            std::array::from_fn(|axis| AxisCourse::new(group, axis, before));
        let (size, half, twelve) = (F::all(self.size), F::all(0.5 * self.size), F::all(12.0));
        let mut sums = Sums::<F>::of(group);
        let mut last = Point {
            given: zero,
            received: zero,
            output_power: group.number(|bond| bond.output_power_before),
            curvature: zero,
        };
        let (mut most_residual, mut most_given, mut most_made) = (zero, zero, zero);
        let room = &mut *self.room;
        let kept = room.residual.iter_mut().zip(&mut room.given);
        let kept = kept.zip(&mut room.integrated);
        for (row, ((residual_powers, given_powers), integrated)) in rows.zip(kept) {
            let mut point = Point {
                given: zero,
                received: zero,
                output_power: zero,
                curvature: zero,
            };
            for axis in &mut axes {
                axis.add_to(&mut point, row);
            }
            let residual = point.received - point.given;
            residual.write(residual_powers);
            point.given.write(given_powers);
            let transferred = point.given * size;
            sums.transferred = sums.transferred + transferred;
            sums.transferred_abs = sums.transferred_abs + transferred.abs();
            sums.least = sums.transferred.or_less(sums.least);
            sums.greatest = sums.transferred.or_more(sums.greatest);
            let residual_energy = residual * size;
            sums.residual = sums.residual + residual_energy;
            sums.applied_residual = sums.applied_residual + residual_energy;
            sums.residual_abs = sums.residual_abs + residual_energy.abs();
            sums.residual_integrated = sums.residual_integrated + half * residual;
            sums.residual_integrated.write(integrated);
            let transferred = half * (last.output_power + point.given);
            sums.transferred_integrated = sums.transferred_integrated + transferred;
            // The first step of a run has no change before it: nothing is added then.
            let bent = point.curvature * size / twelve;
            sums.curvature = sums.curvature + bent.or_if_nan(F::all(-0.0));
            most_residual = residual.abs().or_more(most_residual);
            most_given = point.given.abs().or_more(most_given);
            most_made = sums.residual_integrated.abs().or_more(most_made);
            last = point;
        }
        sums.keep(group);
        let changes = axes.map(|axis| axis.last_change.into());
        let [given, received, output_power] =
            [last.given, last.received, last.output_power].map(F::into);
        for (index, bond) in group.0.iter_mut().enumerate() {
            bond.output_power_before = output_power[index];
            for (own, last) in bond.last_changes.iter_mut().zip(changes) {
                *own = last[index];
            }
            let energy = &mut bond.energy;
            energy.given_power = given[index];
            energy.received_power = received[index];
            energy.residual_power = received[index] - given[index];
            energy.applied_residual_power = energy.residual_power;
        }
        [most_residual, most_given, most_made].map(F::into)
    }
}

/// Sums and extremes of some bonds, sum by sum: each is one register.
struct Sums<F> {
    transferred: F,
    transferred_abs: F,
    transferred_integrated: F,
    residual: F,
    residual_abs: F,
    residual_integrated: F,
    applied_residual: F,
    curvature: F,
    least: F,
    greatest: F,
}

impl<F: Four> Sums<F> {
    #[inline(always)]
    fn of(group: &Group<'_>) -> Self {
        let each = |value: fn(&BondAccount) -> f64| group.number(value);
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
    fn keep(self, Group(bonds): &mut Group<'_>) {
        let mut keep = |sum: F, own: fn(&mut BondAccount) -> &mut f64| {
            let sums: Each = sum.into();
            for (bond, sum) in bonds.iter_mut().zip(sums) {
                *own(bond) = sum;
            }
        };
        keep(self.transferred, |bond| &mut bond.energy.transferred_energy);
        keep(self.transferred_abs, |bond| {
            &mut bond.energy.transferred_energy_abs
        });
        keep(self.transferred_integrated, |bond| {
            &mut bond.energy.transferred_energy_integrated
        });
        keep(self.residual, |bond| &mut bond.energy.residual_energy);
        keep(self.residual_abs, |bond| {
            &mut bond.energy.residual_energy_abs
        });
        keep(self.residual_integrated, |bond| {
            &mut bond.energy.residual_energy_integrated
        });
        keep(self.applied_residual, |bond| {
            &mut bond.energy.applied_residual_energy
        });
        keep(self.curvature, |bond| &mut bond.error.curvature);
        keep(self.least, |bond| &mut bond.least);
        keep(self.greatest, |bond| &mut bond.greatest);
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
