//! NEPCE, nearly energy-preserving coupling elements: an input was short of the coupling error e =
//! L·y − ũ over the last step; α times its mean is added over the next, Δu = α·ē·H₋₁/H. With direct
//! feed-through (`nepce-feedthrough`) the errors of both inputs are (1 − L·J)⁻¹·ē, J being the
//! interface Jacobian of outputs by inputs.
//!
//! Source: Sadjina & Pedersen (2019), eqs 11 and 12; automatic α: own (the regression of each
//! step's error on the one before, within 0 and 1). Use it with held or extrapolated inputs whose
//! errors persist over steps. Limits: alternating errors do not persist, and the automatic α
//! leaves them; eq. 12 needs derivatives; the right-end sum of energy shows a part of the gain
//! only (docs/energy-sums.md).

use super::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Side};
use crate::curve::Curve;
use crate::elimination::Elimination;
use crate::registry::{Arguments, Entry, ParameterInfo};
use crate::state_stream::{keeps_its_state, stored};

/// The elements of one bond, one for each direction.
#[derive(Debug, Clone)]
struct Nepce {
    alpha: Option<f64>,
    /// The greatest magnitude of a derivative of the interface Jacobian; `None`: no Jacobian.
    jacobian_limit: Option<f64>,
    effort: Way,
    flow: Way,
    system: Elimination,
}

/// One direction of the bond.
#[derive(Debug, Clone, Default)]
struct Way {
    /// Degree of the extrapolation.
    degree: usize,
    /// Coupling errors at the last point, L·y − ũ, axis by axis.
    last: Vec<f64>,
    /// Mean coupling errors over the step that ended here.
    mean: Vec<f64>,
    /// The same over the step before.
    previous_mean: Vec<f64>,
    /// Length of that step, s.
    previous_step: f64,
    persistence: Vec<Persistence>,
}

/// How much of one step's coupling error returns in the next.
#[derive(Debug, Clone, Copy, Default)]
struct Persistence {
    products: f64,
    squares: f64,
}

/// Share of the past that the averages behind an automatic α keep at each step. A choice: they reach
/// back about ten steps, so that α follows a system that changes.
const MEMORY: f64 = 0.9;

const ALPHA: ParameterInfo = ParameterInfo::number_or_auto(
    "alpha",
    "share α of the coupling error that is corrected; auto: the share that persisted over past steps",
    (0.0, 2.0),
);

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "nepce",
    summary: "adds to each input its mean error over the last step, so that nearly no energy is lost",
    source: "Sadjina 2019 eq. 11; automatic α: own",
    parameters: &[ALPHA],
    facts: |_, ()| CorrectionFacts::default(),
    build: |arguments| Box::new(Nepce::new(arguments, None)),
};

pub(super) const WITH_FEEDTHROUGH: Entry<dyn Correction> = Entry {
    name: "nepce-feedthrough",
    summary: "as nepce, with the interface Jacobian: the error that an output with direct feed-through passes on counts, too",
    source: "Sadjina 2019 eq. 12",
    parameters: &[
        ALPHA,
        ParameterInfo::number(
            "jacobian_limit",
            "greatest magnitude of a derivative of the interface Jacobian, in the units of the signals",
            f64::INFINITY,
            (0.0, f64::INFINITY),
        ),
    ],
    facts: |_, ()| CorrectionFacts {
        needs_jacobian: true,
        ..CorrectionFacts::default()
    },
    build: |arguments| {
        Box::new(Nepce::new(
            arguments,
            Some(arguments.number("jacobian_limit")),
        ))
    },
};

impl Nepce {
    fn new(arguments: &Arguments, jacobian_limit: Option<f64>) -> Self {
        Self {
            alpha: arguments.number_or_auto("alpha"),
            jacobian_limit,
            effort: Way::default(),
            flow: Way::default(),
            system: Elimination::default(),
        }
    }

    /// Solves (1 − L·J)·e = mean errors for the errors that the next step would have without
    /// correction.
    fn account_for_feedthrough(&mut self, point: &BondPoint, limit: f64) {
        let axes = self.effort.mean.len();
        let bounded = |gain: f64| {
            if gain.is_nan() {
                0.0
            } else {
                gain.clamp(-limit, limit)
            }
        };
        self.system.clear();
        for row in 0..axes {
            for column in 0..axes {
                let place = row * axes + column;
                let (effort, flow) = (point.effort_by_flow[place], point.flow_by_effort[place]);
                *self.system.entry(row, axes + column) -= bounded(effort);
                *self.system.entry(axes + row, column) -= bounded(flow);
            }
            *self.system.right(row) = self.effort.mean[row];
            *self.system.right(axes + row) = self.flow.mean[row];
        }
        if self.system.solve() {
            for row in 0..axes {
                self.effort.mean[row] = *self.system.right(row);
                self.flow.mean[row] = *self.system.right(axes + row);
            }
        }
    }
}

impl Correction for Nepce {
    fn begin(&mut self, facts: &BondFacts) {
        self.effort = Way::new(facts.axes, facts.effort_degree);
        self.flow = Way::new(facts.axes, facts.flow_degree);
        self.system = Elimination::new(2 * facts.axes);
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        if point.index == 0 {
            return;
        }
        let automatic = self.alpha.is_none();
        self.effort.measure(&point.effort, automatic);
        self.flow.measure(&point.flow, automatic);
        if let Some(limit) = self.jacobian_limit {
            self.account_for_feedthrough(point, limit);
        }
        for (way, curves) in [
            (&mut self.effort, &mut increments.effort),
            (&mut self.flow, &mut increments.flow),
        ] {
            match self.alpha {
                Some(alpha) => way.correct(alpha, point, curves),
                None => way.correct_as_learnt(point, curves),
            }
        }
    }

    keeps_its_state!(dyn Correction);

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        let mut parameters = match self.alpha {
            Some(alpha) => vec![("alpha", alpha)],
            None => vec![
                ("alpha_effort", self.effort.mean_share()),
                ("alpha_flow", self.flow.mean_share()),
            ],
        };
        parameters.extend(self.jacobian_limit.map(|limit| ("jacobian_limit", limit)));
        parameters
    }
}

impl Way {
    fn new(axes: usize, degree: usize) -> Self {
        Self {
            degree,
            last: vec![0.0; axes],
            mean: vec![0.0; axes],
            previous_mean: vec![0.0; axes],
            previous_step: 0.0,
            persistence: vec![Persistence::default(); axes],
        }
    }

    /// The mean errors over the step that ended here. For a given α the trapezoid of L·y − ũ with ũ
    /// as it was applied; for an automatic one the trapezoid of the prediction alone, whose error
    /// grows with the power degree + 1 of the time since the start of the step.
    fn measure(&mut self, side: &Side, of_prediction: bool) {
        for axis in 0..self.mean.len() {
            let error = side.fed[axis] - side.used[axis];
            self.mean[axis] = if of_prediction {
                (error + side.correction[axis]) / (self.degree as f64 + 2.0)
            } else {
                0.5 * (error + self.last[axis])
            };
            self.last[axis] = error;
        }
    }

    fn correct(&self, alpha: f64, point: &BondPoint, curves: &mut [Curve]) {
        let ratio = point.step / point.next_step;
        for (curve, mean) in curves.iter_mut().zip(&self.mean) {
            *curve = Curve::constant(alpha * mean * ratio);
        }
    }

    fn correct_as_learnt(&mut self, point: &BondPoint, curves: &mut [Curve]) {
        let growth = |to: f64, from: f64| (to / from).powi(self.degree as i32 + 1);
        for (axis, curve) in curves.iter_mut().enumerate() {
            if self.previous_step > 0.0 {
                let expected = self.previous_mean[axis] * growth(point.step, self.previous_step);
                self.persistence[axis].learn(expected, self.mean[axis]);
            }
            let alpha = self.persistence[axis].share();
            let expected = self.mean[axis] * growth(point.next_step, point.step);
            *curve = Curve::constant(alpha * expected);
        }
        self.previous_mean.copy_from_slice(&self.mean);
        self.previous_step = point.step;
    }

    fn mean_share(&self) -> f64 {
        let sum: f64 = self.persistence.iter().map(Persistence::share).sum();
        sum / self.persistence.len().max(1) as f64
    }
}

impl Persistence {
    fn learn(&mut self, expected: f64, found: f64) {
        self.products = MEMORY * self.products + expected * found;
        self.squares = MEMORY * self.squares + expected * expected;
    }

    fn share(&self) -> f64 {
        let share = self.products / self.squares;
        if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        }
    }
}

stored!(Nepce { effort, flow; alpha, jacobian_limit, system });
stored!(Way { last, mean, previous_mean, previous_step, persistence; degree });
stored!(Persistence { products, squares });

#[cfg(test)]
mod tests {
    use gyrator_system::Value;

    use super::super::tests::{begun, corrected, facts, point};
    use super::*;

    /// The point `index`, where the effort input lacks `effort` and the flow input lacks `flow`.
    fn short_of(index: u64, effort: f64, flow: f64) -> BondPoint {
        let mut point = point(index, 1);
        (point.effort.fed[0], point.effort.used[0]) = (10.0 + effort, 10.0);
        (point.flow.fed[0], point.flow.used[0]) = (3.0, 3.0 - flow);
        point
    }

    #[test]
    fn errors_that_return_are_made_good_and_noise_is_not() {
        let mut steady = Persistence::default();
        let mut alternating = Persistence::default();
        for k in 0..20 {
            steady.learn(1.0, 1.0);
            alternating.learn(1.0, if k % 2 == 0 { 1.0 } else { -1.0 });
        }
        assert!((steady.share() - 1.0).abs() < 1e-12);
        assert!(alternating.share() < 0.1);
        assert_eq!(Persistence::default().share(), 0.0);
    }

    /// Sadjina & Pedersen 2019, eq. 11: α times the mean error over the step that ended, by the
    /// trapezoidal rule, so that its integral is corrected over the step that begins.
    #[test]
    fn the_integral_of_the_error_is_made_good() {
        let mut nepce = begun("nepce", &[("alpha", Value::Real(0.5))], &facts(1));
        let nepce = nepce.as_mut();
        assert_eq!(nepce.parameters_in_force(), [("alpha", 0.5)]);
        let nothing = (vec![0.0], vec![0.0]);
        assert_eq!(corrected(nepce, &short_of(0, 7.0, 7.0)), nothing);
        // From no error at the start to 2 and −1: means of 1 and −0.5.
        let first = corrected(nepce, &short_of(1, 2.0, -1.0));
        assert_eq!(first, (vec![0.5], vec![-0.25]));
        // From 2 to 6 and from −1 to 3 over a step of 1 s, to be corrected in a quarter of it.
        let mut second = short_of(2, 6.0, 3.0);
        second.next_step = 0.25;
        assert_eq!(corrected(nepce, &second), (vec![8.0], vec![2.0]));
    }

    /// A ramp whose held value is short of r·H at the end of each step and of half that in the mean,
    /// whatever the correction added meanwhile. Degree d: the error grows with the power d + 1 of the
    /// time, its mean is the (d + 2)th part of its end.
    #[test]
    fn an_automatic_share_makes_good_what_returns_in_every_step() {
        for degree in [0, 1, 2] {
            let mut facts = facts(1);
            (facts.effort_degree, facts.flow_degree) = (degree, degree);
            let alpha = Value::String("auto".to_owned());
            let mut nepce = begun("nepce", &[("alpha", alpha)], &facts);
            let nepce = nepce.as_mut();
            let power = degree as i32 + 1;
            let mut step = 1.0_f64;
            let mut added = (0.0, 0.0);
            for index in 1..6 {
                let next_step = 0.5 * step;
                let (effort, flow) = (12.0 * step.powi(power), -24.0 * step.powi(power));
                let mut point = short_of(index, effort - added.0, flow - added.1);
                (point.step, point.next_step) = (step, next_step);
                (point.effort.correction[0], point.flow.correction[0]) = added;
                let found = corrected(nepce, &point);
                let mean = |end: f64| end * 0.5_f64.powi(power) / (degree as f64 + 2.0);
                added = match index {
                    1 => (0.0, 0.0),
                    _ => (mean(effort), mean(flow)),
                };
                assert!((found.0[0] - added.0).abs() < 1e-12, "{degree} {found:?}");
                assert!((found.1[0] - added.1).abs() < 1e-12, "{degree} {found:?}");
                step = next_step;
            }
            let shares = nepce.parameters_in_force();
            assert_eq!(shares, [("alpha_effort", 1.0), ("alpha_flow", 1.0)]);
        }
    }

    #[test]
    fn an_automatic_share_is_the_least_squares_fit_of_the_past() {
        let mut share = Persistence::default();
        for (expected, found) in [(1.0, 0.5), (2.0, 1.0), (-4.0, -2.0)] {
            share.learn(expected, found);
            assert!((share.share() - 0.5).abs() < 1e-15);
        }
        // Of two steps, the older one weighs a tenth less.
        let mut two = Persistence::default();
        two.learn(1.0, 1.0);
        two.learn(2.0, 0.0);
        assert!((two.share() - 0.9 / 4.9).abs() < 1e-15);
        for (found, bound) in [(3.0, 1.0), (-3.0, 0.0)] {
            let mut share = Persistence::default();
            share.learn(1.0, found);
            assert_eq!(share.share(), bound);
        }
    }

    #[test]
    fn the_share_in_force_is_the_mean_over_the_axes() {
        let mut way = Way::new(2, 0);
        way.persistence[0].learn(1.0, 1.0);
        way.persistence[1].learn(1.0, 0.5);
        assert!((way.mean_share() - 0.75).abs() < 1e-15);
        assert_eq!(Way::new(0, 0).mean_share(), 0.0);
    }

    /// Sadjina & Pedersen 2019, eq. 12, on one axis with gains a = ∂effort/∂flow and b = ∂flow/∂effort:
    /// effort = m + a·flow and flow = n + b·effort for mean errors m and n.
    #[test]
    fn errors_that_feed_through_count_too() {
        let (a, b) = (0.5, -3.0);
        let corrected_with = |limit: f64, a: f64, b: f64| {
            let parameters = [
                ("alpha", Value::Real(1.0)),
                ("jacobian_limit", Value::Real(limit)),
            ];
            let mut nepce = begun("nepce-feedthrough", &parameters, &facts(1));
            let in_force = nepce.parameters_in_force();
            assert_eq!(in_force, [("alpha", 1.0), ("jacobian_limit", limit)]);
            let mut point = short_of(1, 4.0, 2.0);
            (point.effort_by_flow[0], point.flow_by_effort[0]) = (a, b);
            let (effort, flow) = corrected(nepce.as_mut(), &point);
            (effort[0], flow[0])
        };
        let is_solution = |(effort, flow): (f64, f64), a: f64, b: f64| {
            assert!((effort - 2.0 - a * flow).abs() < 1e-12, "{effort} {flow}");
            assert!((flow - 1.0 - b * effort).abs() < 1e-12, "{effort} {flow}");
        };
        is_solution(corrected_with(100.0, a, b), a, b);
        is_solution(corrected_with(1.0, a, b), a, -1.0);
        is_solution(corrected_with(1.0, -b, a), 1.0, a);
        is_solution(corrected_with(100.0, f64::NAN, b), 0.0, b);
        // Without a solution, the errors alone.
        assert_eq!(corrected_with(100.0, 2.0, 0.5), (2.0, 1.0));
    }

    /// Two axes: each effort follows both flows, and each flow both efforts.
    #[test]
    fn errors_feed_through_across_axes() {
        let parameters = [("alpha", Value::Real(1.0))];
        let mut nepce = begun("nepce-feedthrough", &parameters, &facts(2));
        let mut point = point(1, 2);
        point.effort.fed = vec![2.0, 4.0];
        point.flow.fed = vec![6.0, -2.0];
        point.effort_by_flow = vec![0.1, 0.2, -0.3, 0.4];
        point.flow_by_effort = vec![0.5, -0.1, 0.2, 0.3];
        let (effort, flow) = corrected(nepce.as_mut(), &point);
        let row = |gains: &[f64], values: &[f64], row: usize| {
            gains[2 * row] * values[0] + gains[2 * row + 1] * values[1]
        };
        for axis in 0..2 {
            let of_flow = row(&point.effort_by_flow, &flow, axis);
            assert!((effort[axis] - 0.5 * point.effort.fed[axis] - of_flow).abs() < 1e-12);
            let of_effort = row(&point.flow_by_effort, &effort, axis);
            assert!((flow[axis] - 0.5 * point.flow.fed[axis] - of_effort).abs() < 1e-12);
        }
    }
}
