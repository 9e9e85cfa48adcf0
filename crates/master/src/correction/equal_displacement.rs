//! If steps change, this correction takes from the next step the displacement by which a flow input was ahead of
//! the published flow: Δu = −Σ/H, with Σ the sum of ∫ũ − ∫y over all steps so far.
//!
//! Source: Kyllingstad (2025, arXiv 2512.13845) for the drift: if two units integrate one flow, a held or
//! extrapolated flow is late by a displacement. It follows the flow as long as steps are equal, and grows without
//! bound if they vary periodically. The paper's term for held flows, ½·y·(H₋₁ − H)/H, is the change of this
//! displacement for a flow that began at zero. Own: the displacement is measured, ∫ũ from the curve that the receiver
//! was given and ∫y from the parabola through the last three published values, so that lines, parabolas and means are
//! covered. Use it if steps change and both ends of a bond integrate its flow. Limits: a step itself gets no more
//! accurate, and efforts are not corrected.

use super::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{keeps_its_state, stored};

/// The displacements of one bond.
#[derive(Debug, Clone, Default)]
struct EqualDisplacement {
    axes: Vec<Displacement>,
    /// Length of the step before the one that ended last, s.
    step_before: f64,
}

/// One axis.
#[derive(Debug, Clone, Default)]
struct Displacement {
    /// ∫ũ − ∫y so far.
    ahead: f64,
    /// The last published flows in the input's unit, newest first.
    flows: [f64; 2],
}

/// Steps that differ by a smaller part are equal: a multiple of the rounding of their ends.
const EQUAL: f64 = 1e-9;

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "equal-displacement",
    summary: "where steps change, takes the displacement by which the flow was ahead of the published one out of the next step",
    source: "Kyllingstad 2025, arXiv 2512.13845; displacement as measured: own",
    parameters: &[],
    facts: |_, ()| CorrectionFacts::default(),
    build: |_| Box::<EqualDisplacement>::default(),
};

impl Displacement {
    /// Takes the step that ended at `flow`: its length, the mean that was applied, and the length of the step before, s.
    fn measure(&mut self, flow: f64, applied: f64, step: f64, before: f64) {
        let [newest, older] = self.flows;
        let trapezoid = 0.5 * step * (newest + flow);
        let second_derivative = if before > 0.0 {
            ((flow - newest) / step - (newest - older) / before) / (step + before)
        } else {
            0.0
        };
        let published = trapezoid - second_derivative * step.powi(3) / 6.0;
        let ahead = applied * step - published;
        if ahead.is_finite() {
            self.ahead += ahead;
        }
    }
}

impl Correction for EqualDisplacement {
    fn begin(&mut self, facts: &BondFacts) {
        self.axes = vec![Displacement::default(); facts.axes];
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        let (step, next) = (point.step, point.next_step);
        let has_changed = (next - step).abs() > EQUAL * step;
        for (axis, displacement) in self.axes.iter_mut().enumerate() {
            let flow = point.flow.fed[axis];
            if point.index > 0 {
                let applied = point.flow.applied[axis];
                displacement.measure(flow, applied, step, self.step_before);
                if has_changed {
                    increments.flow[axis] = Curve::constant(-displacement.ahead / next);
                }
            }
            displacement.flows = [flow, displacement.flows[0]];
        }
        self.step_before = step;
    }

    keeps_its_state!(dyn Correction);
}

stored!(EqualDisplacement { axes, step_before });
stored!(Displacement { ahead, flows });

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, corrected, facts, point};
    use super::*;

    /// The flow t² at a point, held over the step that ended there, and the next step's length.
    fn held(index: u64, [start, end]: [f64; 2], next_step: f64) -> BondPoint {
        let mut point = point(index, 1);
        (point.step, point.next_step) = (end - start, next_step);
        point.flow.fed[0] = end * end;
        point.flow.applied[0] = start * start;
        point
    }

    /// Closed form: ∫t² over steps from 0 to 1, 2 and 2.5 is 1/3, 7/3 and 61/24; held flows have 0, 1 and 2.
    #[test]
    fn what_was_ahead_is_taken_out_where_steps_change() {
        let mut correction = begun("equal-displacement", &[], &facts(1));
        let correction = correction.as_mut();
        let mut add = |point: &BondPoint| corrected(correction, point).1[0];
        assert_eq!(add(&held(0, [0.0, 0.0], 1.0)), 0.0);
        // Equal steps are left as they are; the first one has no curvature to see, and takes 1/2 for 1/3.
        assert_eq!(add(&held(1, [0.0, 1.0], 1.0)), 0.0);
        let ahead = (0.0 - 0.5) + (1.0 - 7.0 / 3.0);
        let added = add(&held(2, [1.0, 2.0], 0.5));
        assert!((added + ahead / 0.5).abs() < 1e-14, "{added}");
        // The correction is part of what is applied, and what is ahead then comes from the last step alone.
        let mut last = held(3, [2.0, 2.5], 1.0);
        last.flow.applied[0] += added;
        let ahead = 2.0 - 61.0 / 24.0;
        let added = add(&last);
        assert!((added + ahead).abs() < 1e-14, "{added}");
    }
}
