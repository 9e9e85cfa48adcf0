//! One bond whose inputs are copies of outputs, over some macro-steps in a row: four macro-steps side by side.

use gyrator_thread_team::{Four, Loops};

use super::BondAccount;
use super::copies::Point;
use super::rows::{Each, Room, SIDE_BY_SIDE};
use super::sums::{Addends, Made, Sums};
use crate::extremes::greater;
use crate::rows::Rows;

/// Adds one bond whose inputs are copies of outputs, four macro-steps at a time.
pub(super) struct SumInTime<'a, const AXES: usize> {
    pub(super) rows: &'a Rows,
    pub(super) size: f64,
    pub(super) bond: &'a mut BondAccount,
    pub(super) room: &'a mut Room,
}

impl<const AXES: usize> Loops for SumInTime<'_, AXES> {
    type Output = [Each; 3];

    #[inline(always)]
    fn run<F: Four>(self) -> [Each; 3] {
        let Self {
            rows,
            size,
            bond,
            room,
        } = self;
        let mut courses = CopiesInTime::<F, AXES>::new(bond, rows.after(0), size);
        let mut sums = SumsInTime::<F>::of(bond);
        let (steps, rest) = (rows.steps(), rows.steps() % SIDE_BY_SIDE);
        let whole = steps - rest;
        for first in (0..whole).step_by(SIDE_BY_SIDE) {
            let made = courses.go_on(rows, first, SIDE_BY_SIDE);
            sums.add(&made, size, first, SIDE_BY_SIDE, room);
        }
        if rest > 0 {
            let made = courses.go_on(rows, whole, rest);
            sums.add(&made, size, whole, rest, room);
        }
        let last = (steps - 1) % SIDE_BY_SIDE;
        courses.keep(bond, last);
        sums.keep(bond, last)
    }
}

/// An axis of one bond, in four macro-steps after the other.
#[derive(Clone, Copy)]
struct AxisInTime<F> {
    effort_output: usize,
    flow_output: usize,
    weight: F,
    /// Numbers of the last macro-steps: outputs, weighted, the flow, and the changes of the weighted effort and of the flow.
    weighted: [F; 2],
    flow: F,
    changes: [F; 2],
}

impl<F: Four> AxisInTime<F> {
    /// Adds the powers after macro-steps in which an output has the numbers `of` its place.
    #[inline(always)]
    fn add_to(&mut self, point: &mut Point<F>, of: impl Fn(usize) -> F) {
        let (effort, flow) = (of(self.effort_output), of(self.flow_output));
        let weighted = [self.weight * effort, self.weight * flow];
        let used = [0, 1].map(|signal| weighted[signal].after(self.weighted[signal]));
        let flow_used = flow.after(self.flow);
        let changes = [weighted[0] - used[0], flow - flow_used];
        let turns = [0, 1].map(|end| changes[end] - changes[end].after(self.changes[end]));
        point.add(used, [effort, flow], weighted[0]);
        point.bend([used[0], flow_used], turns);
        (self.weighted, self.flow, self.changes) = (weighted, flow, changes);
    }
}

/// One such bond of so many `AXES`, in four macro-steps side by side.
struct CopiesInTime<F, const AXES: usize> {
    axes: [AxisInTime<F>; AXES],
    size: f64,
    /// Powers of the outputs at the ends of the last macro-steps, W.
    output_power: F,
}

impl<F: Four, const AXES: usize> CopiesInTime<F, AXES> {
    /// With the outputs `before` the first macro-step; each has this `size`, s.
    #[inline(always)]
    fn new(bond: &BondAccount, before: &[f64], size: f64) -> Self {
        let axis = |index: usize| {
            let axis = &bond.axes[index];
            let (effort, flow) = (before[axis.effort_output], before[axis.flow_output]);
            AxisInTime {
                effort_output: axis.effort_output,
                flow_output: axis.flow_output,
                weight: F::all(axis.weight),
                weighted: [axis.weight * effort, axis.weight * flow].map(F::all),
                flow: F::all(flow),
                changes: bond.last_changes[index].map(F::all),
            }
        };
        Self {
            axes: std::array::from_fn(axis),
            size,
            output_power: F::all(bond.output_power_before),
        }
    }

    /// Goes on by so many macro-steps, four at most, of which the `first` one of the rows is the first. If there are less than four,
    /// the numbers after them mean nothing, and they are the last ones.
    #[inline(always)]
    fn go_on(&mut self, rows: &Rows, first: usize, count: usize) -> Made<F> {
        let (values, width) = (rows.after_and_others(first + 1), rows.width());
        let of = |output: usize| {
            if count == 4 {
                return F::in_rows(values, output, width);
            }
            let places = [0, 1, 2, 3].map(|step: usize| step.min(count - 1) * width + output);
            F::at(values, places.into())
        };
        let mut point = Point::zero();
        for axis in &mut self.axes {
            axis.add_to(&mut point, of);
        }
        let before = point.output.after(self.output_power);
        self.output_power = point.output;
        point.made([point.given, point.received], before, self.size)
    }

    /// Gives the bond what it needs for the next macro-step; `last` is the number of the last macro-step among the last ones.
    #[inline(always)]
    fn keep(self, bond: &mut BondAccount, last: usize) {
        let output_power: Each = self.output_power.into();
        bond.output_power_before = output_power[last];
        for (own, axis) in bond.last_changes.iter_mut().zip(self.axes) {
            let changes: [Each; 2] = axis.changes.map(F::into);
            *own = changes.map(|changes| changes[last]);
        }
    }
}

/// Sums and extremes of one bond, in two registers.
struct SumsInTime<F> {
    /// Transferred and residual energy, and the sums of their magnitudes, J.
    energies: F,
    /// Integrated residual and transferred energy, curvature and applied residual energy, J.
    integrals: F,
    /// Of the curvatures, J².
    squares: f64,
    least: F,
    greatest: F,
    /// Greatest magnitudes of the integrals.
    most: F,
    /// Powers given and received in the last macro-steps, W, and the greatest magnitudes of residual and given power.
    given: F,
    received: F,
    most_residual: F,
    most_given: F,
}

impl<F: Four> SumsInTime<F> {
    #[inline(always)]
    fn of(bond: &BondAccount) -> Self {
        let sums = Sums::of_bond(bond);
        let zero = F::all(0.0);
        Self {
            energies: F::from([
                sums.transferred,
                sums.transferred_abs,
                sums.residual,
                sums.residual_abs,
            ]),
            integrals: F::from([
                sums.residual_integrated,
                sums.transferred_integrated,
                sums.curvature,
                sums.applied_residual,
            ]),
            squares: sums.squares,
            least: F::all(sums.least),
            greatest: F::all(sums.greatest),
            most: zero,
            given: zero,
            received: zero,
            most_residual: zero,
            most_given: zero,
        }
    }

    /// Adds so many macro-steps, each of this `size`, s, of which the `first` one of the rows is the first; of less than four, the
    /// numbers after them mean nothing.
    #[inline(always)]
    fn add(&mut self, made: &Made<F>, size: f64, first: usize, count: usize, room: &mut Room) {
        let steps = Addends::of(made, F::all(size));
        (self.given, self.received) = (made.given, made.received);
        let mut powers = [steps.residual_power, steps.given_power];
        if count < SIDE_BY_SIDE {
            powers = powers.map(|powers| {
                let mut powers: Each = powers.into();
                powers[count..].fill(0.0);
                F::from(powers)
            });
        }
        let [residual, given] = powers;
        let four = first / SIDE_BY_SIDE;
        room.residual[four] = residual.into();
        room.given[four] = given.into();
        self.most_residual = residual.magnitude().or_more(self.most_residual);
        self.most_given = given.magnitude().or_more(self.most_given);
        let energies = F::transposed([
            steps.transferred,
            steps.transferred.magnitude(),
            steps.residual,
            steps.residual.magnitude(),
        ]);
        let integrals = F::transposed([
            steps.residual_integrated,
            steps.transferred_integrated,
            steps.curvature,
            steps.applied_residual,
        ]);
        let curvatures: Each = steps.curvature.into();
        for curvature in &curvatures[..count] {
            self.squares += curvature * curvature;
        }
        let steps = energies.into_iter().zip(integrals);
        for ((energies, integrals), integrated) in steps.zip(&mut room.integrated[four]).take(count)
        {
            self.energies = self.energies + energies;
            self.least = self.energies.or_less(self.least);
            self.greatest = self.energies.or_more(self.greatest);
            self.integrals = self.integrals + integrals;
            self.most = self.integrals.magnitude().or_more(self.most);
            let numbers: Each = self.integrals.into();
            *integrated = numbers[0];
        }
    }

    /// Gives the bond its sums; `last` is the number of the last macro-step among the last ones. Returns the greatest magnitudes of
    /// residual power and given power, W, and of the integrated residual energy, J.
    #[inline(always)]
    fn keep(self, bond: &mut BondAccount, last: usize) -> [Each; 3] {
        let [transferred, transferred_abs, residual, residual_abs] = self.energies.into();
        let [
            residual_integrated,
            transferred_integrated,
            curvature,
            applied_residual,
        ] = self.integrals.into();
        let ([least, ..], [greatest, ..]): (Each, Each) = (self.least.into(), self.greatest.into());
        let sums = Sums {
            transferred,
            transferred_abs,
            transferred_integrated,
            residual,
            residual_abs,
            residual_integrated,
            applied_residual,
            curvature,
            squares: self.squares,
            least,
            greatest,
        };
        sums.keep_in(bond);
        let (given, received): (Each, Each) = (self.given.into(), self.received.into());
        bond.keep_powers(given[last], received[last]);
        let most_of = |powers: F| {
            let powers: Each = powers.into();
            [powers
                .into_iter()
                .fold(0.0, |most, power| greater(power, most)); SIDE_BY_SIDE]
        };
        [
            most_of(self.most_residual),
            most_of(self.most_given),
            self.most.into(),
        ]
    }
}
