//! Damping of a bond whose outputs are late, within what a late output can be wrong by.
//!
//! The residual energy of a bond over some sixty steps, as a least squares fit of the force of Rodríguez 2022 eq. 19 gives
//! it, is a damper: Δf = −c·q, with the weighted flow q and c = max(0, μ·ΣδE/Σ‖q‖²·H). A stale output that is held is one and
//! a half steps old on average. So the force moves by no more than μ ≤ ½ of its last change, and in the direction of that
//! change only: it makes good a part of the lag, never more. This is the limit of the force; with it no step leaves a rest
//! that an integral term ν would have to take out. If the correction has not taken energy out over the same steps, or has
//! taken more than the coupling made, it adds nothing.
//!
//! It acts on held inputs if direct feed-through is known to be exchanged stale, and adds nothing otherwise. Outputs
//! that are not late have the same residual energy, and a damper would spoil them (`docs/choosing.md`).

use super::residual_power::share_of_error;
use super::{
    BondFacts, BondPoint, Correction, CorrectionChoice, CorrectionFacts, Increments, Side,
};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{keeps_its_state, stored};

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "auto",
    summary: "damping by a part of the residual energy, within a part of the last change of the force, if outputs are stale and inputs held; else nothing",
    source: "Rodríguez 2022 eqs 9, 19–21; limit: own",
    parameters: &[],
    // It moves held values, whose lag the audit of stale energy does not judge.
    facts: |_, ()| CorrectionFacts::default(),
    build: |_| Box::new(Auto::default()),
};

/// Part of the share of eqs 20–21 that is taken for an error. The equations leave out how the velocities of both sides go
/// together; of the cases of Rodríguez 2022, table 1, case 8 has the least share, 0.185 in place of 0.5 (benchmark
/// `residual-share`).
const LEAST_SHARE: f64 = 0.185 / 0.5;
/// Greatest share of the last change of a held signal: half a step of its age. A choice, judged by the study of
/// `docs/choosing.md`.
const GREATEST_SHARE: f64 = 0.5;
/// Part of the sums that is kept at each step: the last 64 steps count. A choice.
const MEMORY: f64 = 1.0 - 1.0 / 64.0;

/// The correction of one bond.
#[derive(Debug, Clone, Default)]
struct Auto {
    acts: bool,
    /// The flow is corrected instead of the effort: only the flow is late.
    corrects_flow: bool,
    /// μ.
    share: f64,
    sums: Sums,
}

/// Sums over the last steps.
#[derive(Debug, Clone, Default)]
struct Sums {
    /// δE without the correction, J.
    residual: f64,
    /// Energy that the correction put in, J.
    correction: f64,
    /// Integral of ‖q‖².
    square: f64,
}

impl Correction for Auto {
    fn begin(&mut self, facts: &BondFacts) {
        let corrects_flow = facts.flow_feedthrough && !facts.effort_feedthrough;
        let is_held = facts.effort_degree == 0 && facts.flow_degree == 0;
        let share = (LEAST_SHARE * share_of_error(facts, corrects_flow)).min(GREATEST_SHARE);
        *self = Self {
            // The share is 0 if no output of the bond follows its input at once.
            acts: facts.is_stale && is_held && share > 0.0,
            corrects_flow,
            share,
            sums: Sums::default(),
        };
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        if !self.acts || point.index == 0 {
            return;
        }
        self.sums.add(point, self.corrects_flow);
        let damping = self.damping();
        if damping == 0.0 {
            return;
        }
        let (target, corrected) = match self.corrects_flow {
            true => (&mut increments.flow, &point.flow),
            false => (&mut increments.effort, &point.effort),
        };
        let along = along(point, self.corrects_flow);
        for (axis, curve) in target.iter_mut().enumerate() {
            let wanted = -self.sign() * damping * point.weight[axis] * along.output[axis];
            let allowed = self.share * (corrected.fed[axis] - in_effect(corrected, axis));
            if wanted * allowed > 0.0 {
                *curve = Curve::constant(wanted.signum() * wanted.abs().min(allowed.abs()));
            }
        }
    }

    keeps_its_state!(dyn Correction);

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        match self.acts {
            true => vec![("mu", self.share), ("damping", self.damping())],
            false => Vec::new(),
        }
    }

    fn choice(&self) -> Option<CorrectionChoice> {
        Some(match self.acts {
            true => CorrectionChoice {
                what: "damping",
                why: "outputs of the bond are stale, and its inputs are held",
            },
            false => CorrectionChoice {
                what: "no correction",
                why: "no output that follows an input of the bond is known to be stale, or its inputs are not held",
            },
        })
    }
}

/// The side along which the damper acts: the one that is not corrected.
fn along(point: &BondPoint, corrects_flow: bool) -> &Side {
    match corrects_flow {
        true => &point.effort,
        false => &point.flow,
    }
}

/// The value in effect at the end of the step, without the correction.
fn in_effect(side: &Side, axis: usize) -> f64 {
    side.fed[axis] - side.missed[axis] - side.correction[axis]
}

impl Auto {
    /// End a gives the power weight·effort·flow and end b receives it; a damper at end a has the opposite sign.
    fn sign(&self) -> f64 {
        if self.corrects_flow { -1.0 } else { 1.0 }
    }

    /// c, N·s/m or its reciprocal.
    fn damping(&self) -> f64 {
        let Sums {
            residual,
            correction,
            square,
        } = self.sums;
        let takes_a_part = correction <= 0.0 && residual + correction >= 0.0;
        let damping = self.share * residual / square;
        // Not finite if nothing moves.
        if takes_a_part && damping.is_finite() {
            damping
        } else {
            0.0
        }
    }
}

impl Sums {
    /// Adds the step that ended at a point.
    fn add(&mut self, point: &BondPoint, corrects_flow: bool) {
        let (effort, flow) = (&point.effort, &point.flow);
        let (mut residual, mut correction, mut square) = (0.0, 0.0, 0.0);
        for (axis, weight) in point.weight.iter().enumerate() {
            residual += weight
                * (in_effect(effort, axis) * flow.output[axis]
                    - effort.output[axis] * in_effect(flow, axis));
            correction += weight
                * (effort.correction[axis] * flow.output[axis]
                    - effort.output[axis] * flow.correction[axis]);
            square += (weight * along(point, corrects_flow).output[axis]).powi(2);
        }
        for (sum, added) in [
            (&mut self.residual, residual),
            (&mut self.correction, correction),
            (&mut self.square, square),
        ] {
            *sum = MEMORY * *sum + added * point.step;
        }
    }
}

stored!(Auto { sums; acts, corrects_flow, share });
stored!(Sums {
    residual,
    correction,
    square
});

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, corrected, facts as known, point};
    use super::*;
    use crate::state_stream::StateStream;

    fn flow_sided(axes: usize) -> BondFacts {
        BondFacts {
            effort_feedthrough: false,
            flow_feedthrough: true,
            ..known(axes)
        }
    }

    /// A flow of 24 steps to the period. The late inputs missed −a·v of the output, so that the bond makes the power a·v²,
    /// and the force moves against the flow.
    const A: f64 = 0.1;

    fn swinging(index: u64, facts: &BondFacts) -> BondPoint {
        let mut point = point(index, facts.axes);
        let swing = (std::f64::consts::TAU * (index as f64 + 0.5) / 24.0).cos();
        let (force, flow, sign) = match facts.effort_feedthrough {
            false => (&mut point.flow, &mut point.effort, -1.0),
            true => (&mut point.effort, &mut point.flow, 1.0),
        };
        for axis in 0..facts.axes {
            flow.output[axis] = (axis + 1) as f64 * swing;
            flow.fed[axis] = flow.output[axis];
            force.missed[axis] = -sign * A * flow.output[axis];
        }
        point
    }

    fn additions(
        correction: &mut dyn Correction,
        points: &[BondPoint],
    ) -> Vec<(Vec<f64>, Vec<f64>)> {
        points
            .iter()
            .map(|point| corrected(correction, point))
            .collect()
    }

    /// The energy that the correction took is not yet in these points: μ·a is fitted at each one, and μ·missed is the same.
    #[test]
    fn the_damper_takes_a_part_of_the_energy_out_along_the_flow() {
        for facts in [known(1), known(2), flow_sided(1)] {
            let points: Vec<_> = (0..100).map(|index| swinging(index, &facts)).collect();
            let mut correction = begun("auto", &[], &facts);
            for (index, (effort, flow)) in
                additions(correction.as_mut(), &points).iter().enumerate()
            {
                let point = &points[index];
                let (found, other, along, sign) = match facts.effort_feedthrough {
                    false => (flow, effort, &point.effort.output, 1.0),
                    true => (effort, flow, &point.flow.output, -1.0),
                };
                assert_eq!(other, &vec![0.0; facts.axes]);
                for (found, along) in found.iter().zip(along) {
                    let expected = if index == 0 {
                        0.0
                    } else {
                        sign * 0.185 * A * along
                    };
                    assert!(
                        (found - expected).abs() < 1e-12,
                        "{index}: {found} {expected}"
                    );
                }
            }
        }
    }

    /// Less than the damper wants if the force has moved by less, and nothing if it has moved along the flow.
    #[test]
    fn the_force_moves_by_a_part_of_its_last_change_and_no_other_way() {
        let facts = known(1);
        let mut correction = begun("auto", &[], &facts);
        let points: Vec<_> = (0..50).map(|index| swinging(index, &facts)).collect();
        additions(correction.as_mut(), &points);
        for (part, expected) in [(0.5, 0.5), (0.0, 0.0), (-1.0, 0.0)] {
            let mut point = swinging(50, &facts);
            point.effort.missed[0] *= part;
            let found = corrected(correction.clone().as_mut(), &point).0[0];
            let expected = -expected * 0.185 * A * point.flow.output[0];
            assert!(
                (found - expected).abs() < 1e-12,
                "{part}: {found} {expected}"
            );
        }
    }

    /// With the energy of the correction in the points: more taken than the coupling made, or some put in.
    #[test]
    fn a_correction_that_does_not_take_a_part_is_off() {
        let facts = known(1);
        for (put_in, is_on) in [(-0.5, true), (-1.1, false), (0.1, false)] {
            let mut correction = begun("auto", &[], &facts);
            let points = (0..50).map(|index| {
                let mut point = swinging(index, &facts);
                point.effort.correction[0] = put_in * A * point.flow.output[0];
                point.effort.missed[0] -= point.effort.correction[0];
                point
            });
            let found = additions(correction.as_mut(), &points.collect::<Vec<_>>());
            assert_eq!(found[49].0[0] != 0.0, is_on, "{put_in}");
        }
    }

    #[test]
    fn it_acts_on_held_inputs_of_stale_outputs_only() {
        let not_stale = BondFacts {
            is_stale: false,
            ..known(1)
        };
        let of_degree = BondFacts {
            effort_degree: 1,
            ..known(1)
        };
        for (facts, what) in [
            (known(1), "damping"),
            (not_stale, "no correction"),
            (of_degree, "no correction"),
        ] {
            let mut correction = begun("auto", &[], &facts);
            let points: Vec<_> = (0..50).map(|index| swinging(index, &facts)).collect();
            let acts = additions(correction.as_mut(), &points)
                .iter()
                .any(|found| found.0 != [0.0]);
            assert_eq!(acts, what == "damping");
            assert_eq!(correction.choice().map(|choice| choice.what), Some(what));
            assert_eq!(correction.parameters_in_force().is_empty(), !acts);
        }
    }

    #[test]
    fn nothing_that_moves_and_no_number_add_nothing() {
        let facts = known(1);
        let mut correction = begun("auto", &[], &facts);
        assert_eq!(corrected(correction.as_mut(), &point(1, 1)).0, [0.0]);
        let mut wrong = swinging(2, &facts);
        wrong.flow.output[0] = f64::NAN;
        assert_eq!(corrected(correction.as_mut(), &wrong).0, [0.0]);
    }

    #[test]
    fn a_state_goes_on_from_its_bytes() {
        let facts = known(2);
        let points: Vec<_> = (0..100).map(|index| swinging(index, &facts)).collect();
        let mut correction = begun("auto", &[], &facts);
        additions(correction.as_mut(), &points[..50]);
        let mut stream = StateStream::to_write();
        correction.transfer(&mut stream);
        let bytes = stream.finish().unwrap();
        let mut restored = begun("auto", &[], &facts);
        let mut stream = StateStream::to_read(&bytes);
        restored.transfer(&mut stream);
        assert_eq!(stream.trouble(), None);
        assert_eq!(
            additions(restored.as_mut(), &points[50..]),
            additions(correction.as_mut(), &points[50..])
        );
    }
}
