//! Bonds whose inputs are constant in each macro-step, held or means of a prediction, over some macro-steps in a row: the same as
//! [`observe`](super::BondAccount::observe) and [`integration`](super::integration) step by step, where no direct feed-through is known, nothing is
//! corrected, and all components step with each macro-step.

use gyrator_thread_team::{Four, Places};

use super::integration::{AxisCourse, AxisStep, Doubt, Signal, SignalStep, Work, middle_deviation};
use super::rows::{AXES, Courses, Each, Group};
use super::sums::Made;
use super::{BondAccount, Ledger};
use crate::rows::Rows;

/// An output of the bonds from macro-step to macro-step, and the input that it feeds.
#[derive(Clone, Copy)]
struct Course<F> {
    output: Places,
    input: Places,
    /// Change of the output at the start; NaN where it is not known.
    start_change: F,
    before: F,
    published: F,
    published_change: F,
    slope_change: F,
    last_change: F,
    last_curvature: F,
    used: F,
}

impl<F: Four> Course<F> {
    /// The signals that `signal` chooses of each bond, with the output and the input that `ports` gives.
    #[inline(always)]
    fn new(
        group: &Group<'_>,
        signal: impl Fn(&BondAccount) -> &Signal,
        ports: impl Fn(&BondAccount) -> [usize; 2],
        start_changes: &[f64],
    ) -> Self {
        let output = Places::from(group.each(|bond| ports(bond)[0]));
        let number = |value: fn(&Signal) -> f64| group.number(|bond| value(signal(bond)));
        Self {
            output,
            input: Places::from(group.each(|bond| ports(bond)[1])),
            start_change: F::at(start_changes, output),
            before: number(|signal| signal.before),
            published: number(|signal| signal.published),
            published_change: number(|signal| signal.published_change),
            slope_change: number(|signal| signal.slope_change),
            last_change: number(|signal| signal.last_change),
            last_curvature: number(|signal| signal.last_curvature),
            used: F::all(0.0),
        }
    }

    /// As [`Signal::end`] and [`Signal::course`]. `ratio` is the length of the macro-step to that of the one before, `deviation` the part of
    /// the change of a change that a parabola deviates by.
    #[inline(always)]
    fn go_on(&mut self, outputs: &[f64], used: &[f64], ratio: F, deviation: F) -> SignalStep<F> {
        let (zero, half) = (F::all(0.0), F::all(0.5));
        self.used = F::at(used, self.input);
        let last = F::at(outputs, self.output);
        let half_change = half * (last - self.published);
        let first = self.before.or_if_nan(self.published + half_change);
        let range = (self.before * zero).or_if_nan(half_change);
        let change = last - self.published;
        self.slope_change = change - self.published_change;
        (self.published_change, self.published) = (change, last);
        self.before = last + self.start_change;
        let change = last - first;
        let curvature = deviation * (change - self.last_change * ratio);
        self.last_change = change;
        self.last_curvature = curvature.if_finite_or(self.last_curvature);
        SignalStep {
            input: [self.used; 3],
            output: [first, half * (first + last), last],
            range,
            doubt: Doubt {
                middle: curvature.if_finite_or(zero),
                is_curved: false,
            },
        }
    }

    /// Gives its state to the signals of the bonds.
    #[inline(always)]
    fn keep(self, bonds: &mut [BondAccount], signal: impl Fn(&mut BondAccount) -> &mut Signal) {
        let mut keep = |number: F, own: fn(&mut Signal) -> &mut f64| {
            let numbers: Each = number.into();
            for (bond, number) in bonds.iter_mut().zip(numbers) {
                *own(signal(bond)) = number;
            }
        };
        keep(self.before, |signal| &mut signal.before);
        keep(self.published, |signal| &mut signal.published);
        keep(self.published_change, |signal| &mut signal.published_change);
        keep(self.slope_change, |signal| &mut signal.slope_change);
        keep(self.last_change, |signal| &mut signal.last_change);
        keep(self.last_curvature, |signal| &mut signal.last_curvature);
        keep(self.used, |signal| &mut signal.input_at_start);
        // The sum of no numbers.
        keep(F::all(-0.0), |signal| &mut signal.start_change);
    }
}

/// Such bonds of so many `AXES`.
pub(super) struct ConstantInputs<'a, F, const AXES: usize> {
    used: &'a Rows,
    weights: [F; AXES],
    efforts: [Course<F>; AXES],
    flows: [Course<F>; AXES],
    /// Length of each macro-step, s, and of the one before the first.
    length: f64,
    last_length: f64,
    range: F,
}

impl<'a, F: Four, const AXES: usize> ConstantInputs<'a, F, AXES> {
    /// With the rows of values that inputs have in the macro-steps, each at its `place`; the macro-steps have this `length`, s.
    #[inline(always)]
    pub(super) fn new(
        group: &Group<'_>,
        used: &'a Rows,
        place: impl Fn(usize) -> usize,
        start_changes: &[f64],
        length: f64,
    ) -> Self {
        let effort = |index: usize| {
            let ports = |bond: &BondAccount| {
                let axis = &bond.axes[index];
                [axis.effort_output, place(axis.effort_input)]
            };
            Course::new(
                group,
                |bond| &bond.courses[index].effort,
                ports,
                start_changes,
            )
        };
        let flow = |index: usize| {
            let ports = |bond: &BondAccount| {
                let axis = &bond.axes[index];
                [axis.flow_output, place(axis.flow_input)]
            };
            Course::new(
                group,
                |bond| &bond.courses[index].flow,
                ports,
                start_changes,
            )
        };
        Self {
            used,
            weights: std::array::from_fn(|axis| group.number(|bond| bond.axes[axis].weight)),
            efforts: std::array::from_fn(effort),
            flows: std::array::from_fn(flow),
            length,
            last_length: group.0[0].courses[0].last_length,
            range: group.number(|bond| bond.error.range),
        }
    }
}

impl<F: Four, const AXES: usize> Courses<F> for ConstantInputs<'_, F, AXES> {
    #[inline(always)]
    fn go_on(&mut self, step: usize, outputs: &[f64]) -> Made<F> {
        let used = self.used.after(step);
        let ratio = AxisCourse::ratio(
            self.length,
            std::mem::replace(&mut self.last_length, self.length),
        );
        let (deviation, ratio) = (F::all(middle_deviation(ratio)), F::all(ratio));
        let [mut given, mut received] = [F::all(0.0); 2];
        let mut work = Work::none();
        let axes = self.efforts.iter_mut().zip(&mut self.flows);
        for ((effort, flow), weight) in axes.zip(self.weights) {
            let effort = effort.go_on(outputs, used, ratio, deviation);
            let flow = flow.go_on(outputs, used, ratio, deviation);
            given = given + weight * effort.output[2] * flow.input[2];
            received = received + weight * effort.input[2] * flow.output[2];
            work.add(&AxisStep { effort, flow }, weight);
        }
        let length = F::all(self.length);
        self.range = self.range + work.unknown * length;
        work.made(given, received, length)
    }

    #[inline(always)]
    fn keep(self, bonds: &mut [BondAccount]) {
        for (axis, (effort, flow)) in self.efforts.into_iter().zip(self.flows).enumerate() {
            effort.keep(bonds, move |bond| &mut bond.courses[axis].effort);
            flow.keep(bonds, move |bond| &mut bond.courses[axis].flow);
        }
        let range: Each = self.range.into();
        for (index, bond) in bonds.iter_mut().enumerate() {
            bond.error.range = range[index];
            for course in &mut bond.courses {
                course.last_length = self.last_length;
            }
        }
    }
}

impl Ledger {
    /// Whether all bonds are as here.
    pub(super) fn has_constant_inputs(bonds: &[BondAccount]) -> bool {
        let are_simple = |bond: &BondAccount| {
            let mut courses = bond.courses.iter();
            AXES.contains(&bond.courses.len())
                && bond.every == 1
                && courses.all(AxisCourse::is_simple)
        };
        bonds.iter().all(are_simple)
    }
}
