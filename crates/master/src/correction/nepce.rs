use super::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Side};
use crate::curve::Curve;
use crate::elimination::Elimination;
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};

/// Nearly energy-preserving coupling elements (Sadjina & Pedersen 2019, eqs 11–12): the
/// mean error of an input over a step is compensated over the next.
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

/// Share of the past that the averages behind an automatic α keep at each step.
const MEMORY: f64 = 0.9;

const ALPHA: ParameterInfo = ParameterInfo {
    name: "alpha",
    summary: "share α of the coupling error that is made good; auto: the share that returned in past steps",
    kind: ParameterKind::NumberOrAuto { range: (0.0, 2.0) },
};

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "nepce",
    summary: "adds to each input what it was short of over the last step, so that nearly no energy is lost",
    source: "Sadjina 2019 eq. 11; automatic α: own",
    parameters: &[ALPHA],
    facts: |_, ()| CorrectionFacts::default(),
    build: |arguments| Box::new(Nepce::new(arguments, None)),
};

pub(super) const WITH_FEEDTHROUGH: Entry<dyn Correction> = Entry {
    name: "nepce-feedthrough",
    summary: "as nepce, with the interface Jacobian: what an output that follows its input at once makes of the error counts, too",
    source: "Sadjina 2019 eq. 12",
    parameters: &[
        ALPHA,
        ParameterInfo {
            name: "jacobian_limit",
            summary: "greatest magnitude of a derivative of the interface Jacobian, in the units of the signals",
            kind: ParameterKind::Number {
                default: f64::INFINITY,
                range: (0.0, f64::INFINITY),
            },
        },
    ],
    facts: |_, ()| CorrectionFacts {
        wants_jacobian: true,
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

    fn duplicate(&self) -> Box<dyn Correction> {
        Box::new(self.clone())
    }

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
    /// as it was applied; for an automatic one that of the prediction alone, whose error grows
    /// with the power degree + 1 of the time since the start of the step.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
