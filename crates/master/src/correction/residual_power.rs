//! Residual power correction: the energy ζ = μ·H·δP that a step made at a bond is removed in the
//! next by a force along the flow, Δf = −(ζ + ν·U)·q/(‖q‖²·H). Here q is the weighted flow and U
//! the energy that was estimated and not yet removed. δP is the power received less the power
//! given.
//!
//! Source: Rodríguez et al. (2022), eqs 8–19; μ by rates and degrees: eqs 20–21; `mu = "audit"`
//! (own) adapts μ to the energy audit. Use it if direct feed-through is exchanged stale. Limits:
//! only the share μ of the residual energy is an error, and no black box shows it; near zero flow
//! the force is limited; energy is corrected and phase is not: `compensated` exchange removes the
//! error itself if D is known.

use super::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Limit, Side};
use crate::curve::Curve;
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state_stream::{StateStream, Stored, keeps_its_state, stored};

/// The correction of one bond.
#[derive(Debug, Clone)]
pub(super) struct ResidualPower {
    mu: Share,
    mu_in_force: f64,
    nu: f64,
    limit: Limit,
    minimum_flow: f64,
    threshold: f64,
    /// The flow is corrected instead of the effort: the effort's receiver has no feed-through.
    corrects_flow: bool,
    corrects: &'static str,
    account: EnergyAccount,
}

/// Where μ comes from.
#[derive(Debug, Clone)]
enum Share {
    Given(f64),
    /// Eqs 20–21.
    Rule,
    /// The energy audit: the energy that stale feed-through really put in, step by step.
    Audit(RunningShare),
}

/// μ as the energy that staleness made over the residual energy, both summed with a memory of some
/// thousand steps. Sums, and not a fit of one to the other step by step: the two are out of phase.
#[derive(Debug, Clone, Default)]
struct RunningShare {
    start: f64,
    stale: f64,
    residual: f64,
    /// Energy of the correction, in the same unit.
    corrected: f64,
    /// Greatest magnitude of a step's residual seen: the weight of the start value.
    greatest: f64,
    share: f64,
    steps: u32,
    /// The correction made the energy error greater: there is none for the rest of the run.
    is_off: bool,
}

impl RunningShare {
    /// Share of the past that is kept at each step. A choice: 4096 steps are several periods of the
    /// benchmarks' oscillators at 1 ms; within one period the two energies are out of phase.
    const MEMORY: f64 = 1.0 - 1.0 / 4096.0;
    /// The start value counts like this many of the strongest steps. A choice: one per cent of the
    /// memory, so that the first steps do not move μ by chance.
    const START_WEIGHT: f64 = 50.0;
    /// Greatest share. A choice: the whole residual energy is 1, and the sums may be off by as much.
    const GREATEST: f64 = 2.0;
    /// Steps before the correction is judged. A choice: half the memory, in which the start value has
    /// given way to what was learned.
    const JUDGED_AFTER: u32 = 2048;

    fn starting_from(start: f64) -> Self {
        Self {
            start,
            share: start,
            ..Self::default()
        }
    }

    /// Adds a step: the energy made by staleness, the residual and the correction's energy, all in the same
    /// unit. If staleness and correction together make more than staleness alone, in the memory and not
    /// over the whole run, whose start a damped system has forgotten, the share is 0 from then on.
    fn learn(&mut self, stale: f64, residual: f64, corrected: f64) {
        if stale.is_nan() || self.is_off {
            return;
        }
        self.corrected = self.corrected * Self::MEMORY + corrected;
        self.steps = self.steps.saturating_add(1);
        self.stale = self.stale * Self::MEMORY + stale;
        self.residual = self.residual * Self::MEMORY + residual;
        self.greatest = self.greatest.max(residual.abs());
        let weight = Self::START_WEIGHT * self.greatest;
        let share = (self.stale + self.start * weight) / (self.residual + weight);
        // If the residual sum nearly cancels out, the last share is the better one.
        if self.residual > -0.5 * weight && share.is_finite() {
            self.share = share.clamp(0.0, Self::GREATEST);
        }
        let harms = (self.stale + self.corrected).abs() > self.stale.abs();
        if self.steps > Self::JUDGED_AFTER && harms {
            self.is_off = true;
            self.share = 0.0;
        }
    }

    fn share(&self) -> f64 {
        self.share
    }
}

/// Energies of the bond, J.
#[derive(Debug, Clone, Default)]
struct EnergyAccount {
    /// ζ of the step that ended here.
    estimate: f64,
    /// U: energy estimated and not yet taken out.
    open: f64,
}

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "residual-power",
    summary: "a force along the flow removes the energy that the residual power stands for",
    source: "Rodríguez 2022 eqs 8–19; μ from eqs 20–21",
    parameters: &[
        ParameterInfo {
            name: "mu",
            summary: "share μ of the residual energy that is taken for an error; auto: from eqs 20–21; audit: adapted to what the energy audit finds",
            kind: ParameterKind::NumberOrWord {
                words: &["auto", "audit"],
                range: (-10.0, 10.0),
            },
        },
        ParameterInfo::number(
            "nu",
            "gain ν of the energy that is still to be removed",
            0.0,
            (0.0, 10.0),
        ),
        ParameterInfo::number(
            "limit",
            "greatest correction, relative to the corrected signal",
            1.0,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number(
            "limit_absolute",
            "greatest correction, in the unit of the corrected signal",
            f64::INFINITY,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number(
            "minimum_flow",
            "no correction while the flow (for `corrects = \"flow\"`, the effort) is smaller",
            0.0,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number(
            "threshold",
            "no correction while the residual power is smaller, W",
            0.0,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo {
            name: "corrects",
            summary: "which input is corrected; auto: the one of the side without direct feed-through",
            kind: ParameterKind::Word(&["auto", "effort", "flow"]),
        },
    ],
    facts: |_, ()| CorrectionFacts {
        removes_stale_energy: true,
        ..CorrectionFacts::default()
    },
    build: |arguments| {
        Box::new(ResidualPower {
            mu: match arguments.number_or_auto("mu") {
                Some(mu) => Share::Given(mu),
                None if arguments.word("mu") == "audit" => Share::Audit(RunningShare::default()),
                None => Share::Rule,
            },
            mu_in_force: 0.5,
            nu: arguments.number("nu"),
            limit: Limit {
                relative: arguments.number("limit"),
                absolute: arguments.number("limit_absolute"),
            },
            minimum_flow: arguments.number("minimum_flow"),
            threshold: arguments.number("threshold"),
            corrects_flow: false,
            corrects: arguments.word("corrects"),
            account: EnergyAccount::default(),
        })
    },
};

impl Correction for ResidualPower {
    fn begin(&mut self, facts: &BondFacts) {
        self.account = EnergyAccount::default();
        self.corrects_flow = match self.corrects {
            "flow" => true,
            "effort" => false,
            _ => facts.flow_feedthrough && !facts.effort_feedthrough,
        };
        self.mu_in_force = match &mut self.mu {
            Share::Given(mu) => *mu,
            Share::Rule => share_of_error(facts, self.corrects_flow),
            Share::Audit(regression) => {
                *regression =
                    RunningShare::starting_from(share_of_error(facts, self.corrects_flow));
                regression.share()
            }
        };
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        // The corrected signal is "force", the other one "velocity", as in the paper.
        let (force, velocity) = if self.corrects_flow {
            (&point.flow, &point.effort)
        } else {
            (&point.effort, &point.flow)
        };
        let target = if self.corrects_flow {
            &mut increments.flow
        } else {
            &mut increments.effort
        };
        let Some(request) = self.request(point, force, velocity) else {
            return;
        };
        let sign = self.sign();
        for ((curve, velocity), weight) in
            target.iter_mut().zip(&velocity.output).zip(&point.weight)
        {
            *curve = Curve::constant(request * sign * weight * velocity);
        }
    }

    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }

    keeps_its_state!(dyn Correction);

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        vec![("mu", self.mu_in_force), ("nu", self.nu)]
    }
}

impl ResidualPower {
    /// End a gives the power weight·effort·flow and end b receives it; the corrected end's own
    /// balance has the opposite sign at end a.
    fn sign(&self) -> f64 {
        if self.corrects_flow { -1.0 } else { 1.0 }
    }

    /// The factor on the weighted velocity that gives the correcting force of eq. 19.
    fn request(&mut self, point: &BondPoint, force: &Side, velocity: &Side) -> Option<f64> {
        if point.index == 0 {
            return None;
        }
        let (mut residual_power, mut correction_power, mut square) = (0.0, 0.0, 0.0);
        let mut stale_power = 0.0;
        for axis in 0..point.weight.len() {
            let weight = self.sign() * point.weight[axis];
            residual_power += weight
                * (force.previous_output[axis] * velocity.output[axis]
                    - velocity.previous_output[axis] * force.output[axis]);
            correction_power += weight * force.correction[axis] * velocity.output[axis];
            stale_power += weight
                * (force.previous_error[axis] * velocity.output[axis]
                    - force.output[axis] * velocity.previous_error[axis]);
            square += (weight * velocity.output[axis]).powi(2);
        }
        if let Share::Audit(regression) = &mut self.mu {
            regression.learn(stale_power, residual_power, correction_power);
            self.mu_in_force = regression.share();
        }
        // U of eq. 15 needs no predictor: the velocity that the correction met is known by now.
        self.account.open += self.account.estimate + correction_power * point.step;
        self.account.estimate = self.mu_in_force * point.step * residual_power;
        let too_slow = square.sqrt() <= self.minimum_flow;
        if too_slow || residual_power.abs() < self.threshold {
            return None;
        }
        Some(-(self.account.estimate + self.nu * self.account.open) / (square * point.step))
    }
}

/// μ from Rodríguez 2022, eqs 20–21: R is the communication step of the side with direct feed-through
/// over the other side's. 0 if neither has any: the residual energy is then no error (§3.3).
pub(super) fn share_of_error(facts: &BondFacts, corrects_flow: bool) -> f64 {
    /// μ at a single rate (§3.3, before eq. 20).
    const SINGLE_RATE: f64 = 0.5;
    if !facts.effort_feedthrough && !facts.flow_feedthrough {
        return 0.0;
    }
    let (with, without, degree_with, degree_without) = if corrects_flow {
        (
            facts.flow_side_step,
            facts.effort_side_step,
            facts.effort_degree,
            facts.flow_degree,
        )
    } else {
        (
            facts.effort_side_step,
            facts.flow_side_step,
            facts.flow_degree,
            facts.effort_degree,
        )
    };
    let ratio = with / without;
    if ratio > 1.0 && degree_without == 0 {
        SINGLE_RATE * (1.5 - 0.5 / ratio)
    } else if ratio < 1.0 && degree_with > 0 {
        SINGLE_RATE * ratio
    } else {
        SINGLE_RATE
    }
}

impl Stored for ResidualPower {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            mu,
            mu_in_force,
            account,
            nu: _,
            limit: _,
            minimum_flow: _,
            threshold: _,
            corrects_flow: _,
            corrects: _,
        } = self;
        if let Share::Audit(share) = mu {
            stream.keep(share);
        }
        stream.keep(mu_in_force);
        stream.keep(account);
    }
}

stored!(RunningShare {
    start,
    stale,
    residual,
    corrected,
    greatest,
    share,
    steps,
    is_off
});
stored!(EnergyAccount { estimate, open });

#[cfg(test)]
mod tests {
    use gyrator_system::Value;

    use super::super::tests::{begun, corrected, facts as single_rate, point};
    use super::*;

    fn facts(effort_side_step: f64, flow_side_step: f64, degree: usize) -> BondFacts {
        BondFacts {
            axes: 1,
            effort_side_step,
            flow_side_step,
            effort_feedthrough: true,
            flow_feedthrough: false,
            effort_degree: degree,
            flow_degree: degree,
            ..single_rate(1)
        }
    }

    // Rodríguez 2022, eqs 20–21.
    #[test]
    fn mu_follows_the_rates() {
        let none = BondFacts {
            effort_feedthrough: false,
            ..facts(10.0, 1.0, 0)
        };
        assert_eq!(share_of_error(&none, false), 0.0);
        assert_eq!(share_of_error(&none, true), 0.0);
        assert_eq!(share_of_error(&facts(1.0, 1.0, 0), false), 0.5);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 0), false), 0.725);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 1), false), 0.5);
        assert_eq!(share_of_error(&facts(0.1, 1.0, 0), false), 0.5);
        assert_eq!(share_of_error(&facts(0.1, 1.0, 2), false), 0.05);
    }

    /// Both equations again if the flow is the signal without feed-through, and is corrected.
    #[test]
    fn mu_follows_the_rates_where_the_flow_is_corrected() {
        assert_eq!(share_of_error(&facts(0.1, 1.0, 0), true), 0.725);
        assert_eq!(share_of_error(&facts(0.1, 1.0, 1), true), 0.5);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 0), true), 0.5);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 2), true), 0.05);
        // The degree of the input on the side with direct feed-through counts if this side is
        // the faster one, otherwise the degree of the other.
        for (slow, corrects_flow) in [(true, false), (false, false), (true, true), (false, true)] {
            let with = if slow { 10.0 } else { 0.1 };
            let mut facts = facts(1.0, 1.0, 0);
            let (with_step, with_degree, other_degree) = if corrects_flow {
                let BondFacts {
                    flow_side_step,
                    effort_degree,
                    flow_degree,
                    ..
                } = &mut facts;
                (flow_side_step, effort_degree, flow_degree)
            } else {
                let BondFacts {
                    effort_side_step,
                    effort_degree,
                    flow_degree,
                    ..
                } = &mut facts;
                (effort_side_step, flow_degree, effort_degree)
            };
            (*with_step, *with_degree, *other_degree) = (with, 1, 0);
            let expected = if slow { 0.725 } else { 0.05 };
            assert_eq!(share_of_error(&facts, corrects_flow), expected);
        }
    }

    fn word(word: &str) -> Value {
        Value::String(word.to_owned())
    }

    /// A step in which the effort changed from 3 to 5 and the flow from 2 to 4: δP = 3·4 − 2·5 = 2 W.
    fn changed() -> BondPoint {
        let mut changed = point(1, 1);
        (changed.effort.previous_output[0], changed.effort.output[0]) = (3.0, 5.0);
        (changed.flow.previous_output[0], changed.flow.output[0]) = (2.0, 4.0);
        changed
    }

    /// Rodríguez 2022, eqs 9 and 19 with ν = 0: the force f that takes ζ = μ·δP·H out of the bond in
    /// a step of the same length, f·v·H = −ζ.
    #[test]
    fn the_energy_of_the_last_step_is_removed_in_the_next() {
        for (weight, step) in [(1.0, 1.0), (-2.0, 1.0), (1.0, 0.25), (0.5, 3.0)] {
            let mu = 0.25;
            let mut correction = begun(
                "residual-power",
                &[("mu", Value::Real(mu))],
                &single_rate(1),
            );
            let mut point = changed();
            (point.weight[0], point.step) = (weight, step);
            let (effort, flow) = corrected(correction.as_mut(), &point);
            assert_eq!(flow, [0.0]);
            // The power of an addition to the effort is weight·addition·flow.
            let power = weight * effort[0] * point.flow.output[0];
            assert!(
                (power + mu * weight * 2.0).abs() < 1e-12,
                "{weight} {power}"
            );
            let in_force = correction.parameters_in_force();
            assert_eq!(in_force, [("mu", mu), ("nu", 0.0)]);
        }
    }

    #[test]
    fn a_corrected_flow_removes_the_same_energy() {
        for corrects in ["flow", "auto"] {
            let mut facts = single_rate(1);
            (facts.effort_feedthrough, facts.flow_feedthrough) = (false, true);
            let parameters = [("mu", Value::Real(0.5)), ("corrects", word(corrects))];
            let mut correction = begun("residual-power", &parameters, &facts);
            let (effort, flow) = corrected(correction.as_mut(), &changed());
            assert_eq!(effort, [0.0], "{corrects}");
            // End a uses the flow: an addition there is power that it gives more.
            let power = -flow[0] * 5.0;
            assert!((power + 0.5 * 2.0).abs() < 1e-12, "{corrects} {power}");
        }
    }

    #[test]
    fn the_side_without_feed_through_is_corrected() {
        let corrects_flow = |corrects, effort_feedthrough, flow_feedthrough| {
            let mut facts = single_rate(1);
            facts.effort_feedthrough = effort_feedthrough;
            facts.flow_feedthrough = flow_feedthrough;
            let parameters = [("mu", Value::Real(0.5)), ("corrects", word(corrects))];
            let mut correction = begun("residual-power", &parameters, &facts);
            let (effort, flow) = corrected(correction.as_mut(), &changed());
            assert!((effort[0] == 0.0) != (flow[0] == 0.0));
            flow[0] != 0.0
        };
        assert!(corrects_flow("auto", false, true));
        for (effort, flow) in [(true, false), (true, true), (false, false)] {
            assert!(!corrects_flow("auto", effort, flow));
        }
        assert!(!corrects_flow("effort", false, true));
        assert!(corrects_flow("flow", true, false));
    }

    /// Eq. 15: U is the energy estimated before and not yet taken out, by a correction of 1/8 of
    /// effort here, on a flow of 4, over 1 s.
    #[test]
    fn what_was_not_removed_is_removed_later() {
        let (mu, nu) = (0.5, 0.25);
        let parameters = [("mu", Value::Real(mu)), ("nu", Value::Real(nu))];
        let mut correction = begun("residual-power", &parameters, &single_rate(1));
        let (effort, _) = corrected(correction.as_mut(), &changed());
        assert!((effort[0] * 4.0 + mu * 2.0).abs() < 1e-12, "U = 0");
        let mut open = 0.0;
        for index in 2..5 {
            let mut point = changed();
            point.index = index;
            point.effort.correction[0] = -0.125;
            open += mu * 2.0 - 0.125 * 4.0;
            let (effort, _) = corrected(correction.as_mut(), &point);
            assert!((effort[0] * 4.0 + mu * 2.0 + nu * open).abs() < 1e-12);
        }
        correction.begin(&single_rate(1));
        let (effort, _) = corrected(correction.as_mut(), &changed());
        assert!((effort[0] * 4.0 + mu * 2.0).abs() < 1e-12, "U = 0 again");
    }

    /// Force and velocity are vectors: the force is along the velocity, weighted axis by axis.
    #[test]
    fn the_force_of_several_axes_is_along_the_velocity() {
        let mut correction = begun(
            "residual-power",
            &[("mu", Value::Real(1.0))],
            &single_rate(2),
        );
        let mut point = point(1, 2);
        point.weight = vec![1.0, -2.0];
        point.effort.previous_output = vec![3.0, 1.0];
        point.effort.output = vec![5.0, 2.0];
        point.flow.previous_output = vec![2.0, -1.0];
        point.flow.output = vec![4.0, 3.0];
        point.effort.correction = vec![0.1, 0.2];
        let residual_power = (12.0 - 10.0) - 2.0 * (3.0 + 2.0);
        let (effort, _) = corrected(correction.as_mut(), &point);
        let power = effort[0] * 4.0 - 2.0 * effort[1] * 3.0;
        assert!((power + residual_power).abs() < 1e-12);
        assert!((effort[0] / 4.0 - effort[1] / (-2.0 * 3.0)).abs() < 1e-12);
    }

    #[test]
    fn slow_flows_and_small_residuals_are_left_alone() {
        let is_corrected = |name, value| {
            let parameters = [("mu", Value::Real(0.5)), (name, Value::Real(value))];
            let mut correction = begun("residual-power", &parameters, &single_rate(1));
            assert_eq!(corrected(correction.as_mut(), &point(0, 1)).0, [0.0]);
            corrected(correction.as_mut(), &changed()).0 != [0.0]
        };
        assert!(is_corrected("minimum_flow", 3.9) && !is_corrected("minimum_flow", 4.0));
        assert!(is_corrected("threshold", 2.0) && !is_corrected("threshold", 2.1));
        let mut still = changed();
        still.flow.output[0] = 0.0;
        let mut correction = begun("residual-power", &[], &single_rate(1));
        assert_eq!(corrected(correction.as_mut(), &still).0, [0.0], "no flow");
    }

    #[test]
    fn the_limits_are_those_of_the_parameters() {
        let limit = |parameters: &[(&str, Value)]| {
            let limit = begun("residual-power", parameters, &single_rate(1)).limit();
            limit.map(|limit| (limit.relative, limit.absolute))
        };
        assert_eq!(limit(&[]), Some((1.0, f64::INFINITY)));
        let both = [
            ("limit", Value::Real(0.5)),
            ("limit_absolute", Value::Real(7.0)),
        ];
        assert_eq!(limit(&both), Some((0.5, 7.0)));
        assert_eq!(begun("nepce", &[], &single_rate(1)).limit(), None);
    }

    /// The start value weighs as much as 50 of the strongest steps.
    #[test]
    fn the_share_of_the_audit_moves_from_its_start_to_the_quotient_of_the_sums() {
        let mut share = RunningShare::starting_from(0.5);
        assert_eq!(share.share(), 0.5);
        share.learn(f64::NAN, 1.0, 0.0);
        assert_eq!(share.share(), 0.5, "an unknown energy is left out");
        share.learn(2.0, 4.0, 0.0);
        assert_eq!(share.share(), 0.5, "the same quotient");
        let mut share = RunningShare::starting_from(0.5);
        share.learn(0.0, 4.0, 0.0);
        assert!((share.share() - 25.0 * 4.0 / (51.0 * 4.0)).abs() < 1e-15);
        let kept = 1.0 - 1.0 / 4096.0;
        share.learn(1.0, -2.0, 0.0);
        let expected = (1.0 + 0.5 * 200.0) / (4.0 * kept - 2.0 + 200.0);
        assert!((share.share() - expected).abs() < 1e-15);
        for (stale, bound) in [(1e6, 2.0), (-1e6, 0.0)] {
            let mut share = RunningShare::starting_from(0.5);
            share.learn(stale, 1.0, 0.0);
            assert_eq!(share.share(), bound);
        }
        // 30 steps of the opposite sign outweigh more than half of the start value's 50.
        let mut share = RunningShare::starting_from(0.5);
        (0..30).for_each(|_| share.learn(-0.1, -1.0, 0.0));
        let held = share.share();
        share.learn(5.0, -1.0, 0.0);
        assert_eq!(share.share(), held);
    }

    #[test]
    fn a_correction_that_harms_switches_itself_off() {
        // With the true share, −0.2·residual, three quarters of the staleness are left; reversed, all of it
        // and a quarter more.
        for (corrected, is_off) in [(-0.05, false), (-0.41, true), (0.05, true)] {
            let mut share = RunningShare::starting_from(0.5);
            for step in 1..=2100 {
                share.learn(0.2, 1.0, corrected);
                assert_eq!(share.share() == 0.0, is_off && step > 2048, "{corrected}");
            }
            share.learn(0.2, 1.0, 0.0);
            assert_eq!(share.share() == 0.0, is_off, "for the rest of the run");
        }
    }

    #[test]
    fn the_audit_adapts_mu_to_the_energy_of_stale_outputs() {
        let mut correction = begun("residual-power", &[("mu", word("audit"))], &single_rate(1));
        let mu = |correction: &dyn Correction| correction.parameters_in_force()[0].1;
        assert_eq!(mu(correction.as_ref()), 0.5);
        let mut point = changed();
        // Work of the errors over the step: 0.5·4 − 5·0.1 = 1.5 W beside a residual of 2 W.
        point.effort.previous_error[0] = 0.5;
        point.flow.previous_error[0] = 0.1;
        let (effort, _) = corrected(correction.as_mut(), &point);
        let expected = (1.5 + 0.5 * 100.0) / (2.0 + 100.0);
        assert!((mu(correction.as_ref()) - expected).abs() < 1e-15);
        assert!((effort[0] * 4.0 + expected * 2.0).abs() < 1e-12);
        // The energies of the bond are the same if the flow is corrected.
        let parameters = [("mu", word("audit")), ("corrects", word("flow"))];
        let mut of_flow = begun("residual-power", &parameters, &single_rate(1));
        let (_, flow) = corrected(of_flow.as_mut(), &point);
        assert!((mu(of_flow.as_ref()) - expected).abs() < 1e-15);
        assert!((-flow[0] * 5.0 + expected * 2.0).abs() < 1e-12);
        let slow = BondFacts {
            effort_side_step: 10.0,
            ..single_rate(1)
        };
        correction.begin(&slow);
        assert_eq!(mu(correction.as_ref()), 0.725, "eqs 20–21 give the start");
        let mut rule = begun("residual-power", &[("mu", word("auto"))], &slow);
        corrected(rule.as_mut(), &point);
        assert_eq!(mu(rule.as_ref()), 0.725, "nothing is learned");
    }
}
