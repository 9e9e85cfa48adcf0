//! The energy audit: how much energy stale direct feed-through really put into a bond, and whether
//! a correction helped.
//!
//! Where D = ∂output/∂input is known, so is the error of each stale output that is passed on:
//! −D·(u − ũ). The work of that error at the receiver is the energy that the staleness made,
//! W_stale; the correction's own work is W_corr; their sum is the net energy error of the coupling.
//! The residual energy cannot show this: it needs a share μ that no black box shows.

use crate::exchange_mode::Exchange;
use crate::graph::{Axis, Bond};
use crate::state::{StepResponse, SystemState, errors_of, outputs_of};
use crate::state_stream::stored;
use crate::step::Step;

/// Whether a correction brought the energy nearer to the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionVerdict {
    /// |W_stale + W_corr| < 0.6·|W_stale|, in the whole run and in its later part.
    Helped,
    /// |W_stale + W_corr| ≥ |W_stale| in one of them: the bond would have been nearer to the truth without the
    /// correction.
    Harmed,
    /// Neither: damping may have taken out what the correction should have, or more.
    Uncertain,
    /// The direct feed-through is not known: the coupling variables alone cannot show the effect.
    CannotBeJudged,
}

impl CorrectionVerdict {
    /// Share of |W_stale| that may be left by a correction that is called a help. On 300 random oscillators,
    /// half of them damped, no run that was harmed was below it; with 1 in its place, 7 to 12 of 59 were.
    const HELPED: f64 = 0.6;
    /// A later part in which staleness made less than this share of its energy says nothing.
    const SILENT: f64 = 1e-3;

    /// Judges W_stale and W_stale + W_corr, J; NaN where they are not known.
    fn of(stale: f64, net: f64) -> Self {
        if net.is_nan() {
            Self::CannotBeJudged
        } else if net.abs() >= stale.abs() {
            Self::Harmed
        } else if net.abs() < Self::HELPED * stale.abs() {
            Self::Helped
        } else {
            Self::Uncertain
        }
    }

    /// One kebab-case word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Helped => "helped",
            Self::Harmed => "harmed",
            Self::Uncertain => "uncertain",
            Self::CannotBeJudged => "cannot-be-judged",
        }
    }
}

/// The audit of one bond so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BondAudit {
    /// Power of the stale outputs' errors over the last step, at its end, W; NaN where D is not known.
    pub stale_power: f64,
    /// W_stale: energy that stale direct feed-through put into the bond, J; NaN where D is not known.
    pub stale_energy: f64,
    /// W_stale at the last powers of two of the number of steps, J, the older first.
    earlier: [f64; 2],
}

impl BondAudit {
    /// W_stale, where D is known, J.
    pub fn known_stale_energy(&self) -> Option<f64> {
        (!self.stale_energy.is_nan()).then_some(self.stale_energy)
    }

    /// W_stale + W_corr, where D is known, J.
    pub fn net_energy_error(&self, correction_energy: f64) -> Option<f64> {
        self.known_stale_energy()
            .map(|stale| stale + correction_energy)
    }

    /// Effect of the correction on the energy error, from its energy and the energy that it had when less than
    /// half of the steps were made, J. A damped system has lost what was put in at the start, which would
    /// outweigh the rest for ever; so the part since then counts as much as the whole.
    pub fn verdict(&self, correction_energy: f64, earlier: f64) -> CorrectionVerdict {
        let whole = CorrectionVerdict::of(self.stale_energy, self.stale_energy + correction_energy);
        let stale = self.stale_energy - self.earlier[0];
        if whole == CorrectionVerdict::CannotBeJudged
            || stale.abs() < CorrectionVerdict::SILENT * self.stale_energy.abs()
        {
            return whole;
        }
        let late = CorrectionVerdict::of(stale, stale + (correction_energy - earlier));
        let any = |verdict| whole == verdict || late == verdict;
        if any(CorrectionVerdict::Harmed) {
            CorrectionVerdict::Harmed
        } else if any(CorrectionVerdict::Uncertain) {
            CorrectionVerdict::Uncertain
        } else {
            whole
        }
    }

    /// The share μ that would have been right, W_stale over the residual energy.
    pub fn hindsight_share(&self, residual_energy: f64) -> Option<f64> {
        let share = self.known_stale_energy()? / residual_energy;
        share.is_finite().then_some(share)
    }
}

/// The audits of all bonds, in the order of the graph.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    bonds: Vec<AuditedBond>,
    /// Some output may be stale; else there is no energy to record.
    is_needed: bool,
}

#[derive(Debug, Clone)]
struct AuditedBond {
    axes: Vec<Axis>,
    every: u64,
    /// Which outputs of the bond are stale is known.
    is_known: bool,
    /// W_stale as if it were known, J.
    energy: f64,
    /// Errors of the effort and flow outputs that the step in progress uses, axis by axis.
    errors: Vec<(f64, f64)>,
    audit: BondAudit,
}

impl Audit {
    pub(crate) fn new(state: &SystemState) -> Self {
        let entry = |bond: &Bond| AuditedBond {
            axes: bond.axes.clone(),
            every: u64::from(bond.every),
            is_known: is_known(state, bond),
            energy: 0.0,
            errors: bond
                .axes
                .iter()
                .map(|axis| errors_of(&state.signals, axis))
                .collect(),
            audit: BondAudit::default(),
        };
        let bonds: Vec<AuditedBond> = state.graph.bonds.iter().map(entry).collect();
        Self {
            is_needed: state.exchange.modes.contains(&Exchange::Stale)
                || bonds.iter().any(|bond| !bond.is_known),
            bonds,
        }
    }

    /// Adds the step that has just been made.
    pub(crate) fn observe(&mut self, state: &SystemState, step: &Step) {
        if !self.is_needed {
            return;
        }
        if step.index.is_power_of_two() {
            for BondAudit {
                stale_energy,
                earlier,
                ..
            } in self.bonds.iter_mut().map(|entry| &mut entry.audit)
            {
                *earlier = [earlier[1], *stale_energy];
            }
        }
        for entry in &mut self.bonds {
            if (step.index + 1).is_multiple_of(entry.every) {
                entry.observe(state, step.size * entry.every as f64);
            }
        }
    }

    /// The audit of the bond with this index of the graph.
    pub fn bond(&self, index: usize) -> Option<&BondAudit> {
        self.bonds.get(index).map(|entry| &entry.audit)
    }

    /// The audits of all bonds, in the order of the graph.
    pub fn bonds(&self) -> impl ExactSizeIterator<Item = &BondAudit> {
        self.bonds.iter().map(|entry| &entry.audit)
    }
}

/// Whether the direct feed-through at a bond is known: not where it shows in steps only, nor where a unit declares some that
/// shows nowhere, and no other output of the bond has any.
fn is_known(state: &SystemState, bond: &Bond) -> bool {
    let outputs = bond.axes.iter();
    let outputs = outputs.flat_map(|axis| [axis.effort_output, axis.flow_output]);
    let (mut is_unknown, mut is_seen) = (false, false);
    for output in outputs {
        let component = state.graph.outputs[output].component;
        match &state.exchange.step_responses[component] {
            StepResponse::AsProbed => {
                let mut passes = state.exchange.passes.iter();
                is_seen |= passes.any(|pass| pass.outputs.contains(&output));
            }
            StepResponse::Tried(pairs) if pairs.iter().any(|pair| pair.0 == output) => {
                return false;
            }
            StepResponse::Tried(_) => {}
            StepResponse::Unknown => {
                is_unknown |= !state.graph.feedthrough(output, false).is_empty();
            }
        }
    }
    is_seen || !is_unknown
}

impl Audit {
    /// Makes the energies known of bonds whose direct feed-through was found to be as it was probed.
    pub(crate) fn resolve(&mut self, state: &SystemState) {
        for (entry, bond) in self.bonds.iter_mut().zip(&state.graph.bonds) {
            if !entry.is_known && is_known(state, bond) {
                entry.is_known = true;
                entry.audit.stale_energy = entry.energy;
            }
        }
    }
}

impl AuditedBond {
    fn observe(&mut self, state: &SystemState, length: f64) {
        let mut power = 0.0;
        for (axis, errors) in self.axes.iter().zip(&mut self.errors) {
            let (effort_error, flow_error) = *errors;
            let (effort, flow) = outputs_of(&state.signals, axis);
            power += axis.weight * (effort_error * flow - effort * flow_error);
            *errors = errors_of(&state.signals, axis);
        }
        self.energy += power * length;
        if !self.is_known {
            power = f64::NAN;
        }
        self.audit.stale_power = power;
        self.audit.stale_energy += power * length;
    }
}

stored!(Audit { bonds; is_needed });
stored!(AuditedBond { energy, errors, audit; axes, every, is_known });
stored!(BondAudit {
    stale_power,
    stale_energy,
    earlier
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClosureUnit, LinearUnit, Run, RunOptions, System};

    const H: f64 = 0.5;
    /// Flow of end b at the macro-steps.
    const FLOW: [f64; 5] = [1.0, 3.0, 2.0, 5.0, -3.0];
    /// Direct feed-through of end a, ∂effort/∂flow.
    const D: f64 = 4.0;

    /// End a is a damper, effort = D·flow; end b gives the flows of the list. Stale, the effort
    /// published at k is D·flow(k−1).
    fn damped(exchange: &str, flow_step: f64) -> Run {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        let damper = LinearUnit::new(&[0.0], &["f"], &["e"], [&[0.0], &[0.0], &[0.0], &[D]]);
        system.add("a", damper).exchange(exchange);
        let motion = ClosureUnit::new(&[("e", 0.0)], &[("f", FLOW[0])], |call| {
            call.outputs[0] = FLOW[((call.time + call.step + 1e-9) / H) as usize];
        });
        system.add("b", motion).step_size(flow_step);
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        system.start(&RunOptions::default()).unwrap()
    }

    fn audit(mut run: Run, steps: usize) -> BondAudit {
        for _ in 0..steps {
            run.step().unwrap();
        }
        *run.audit().bond(0).unwrap()
    }

    /// The effort in use from k to k+1 is wrong by D·(flow(k−1) − flow(k)), and works on flow(k+1).
    #[test]
    fn the_work_of_a_stale_damper_is_known_in_closed_form() {
        for flow_step in [H, 0.5 * H] {
            let found = audit(damped("stale", flow_step), 3);
            let powers = [0.0, D * (1.0 - 3.0) * 2.0, D * (3.0 - 2.0) * 5.0];
            assert!((found.stale_power - powers[2]).abs() < 1e-9);
            assert!((found.stale_energy - H * powers.iter().sum::<f64>()).abs() < 1e-9);
        }
    }

    /// The flow is stale where the damper is at end b, and counts with the opposite sign.
    #[test]
    fn the_work_of_a_stale_flow_has_the_opposite_sign() {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        let damper = LinearUnit::new(&[0.0], &["e"], &["f"], [&[0.0], &[0.0], &[0.0], &[D]]);
        system.add("b", damper).exchange("stale");
        let motion = ClosureUnit::new(&[("f", 0.0)], &[("e", FLOW[0])], |call| {
            call.outputs[0] = FLOW[((call.time + call.step + 1e-9) / H) as usize];
        });
        system.add("a", motion);
        let _ = system
            .bond("bond", ("a.e", "b.e"), ("b.f", "a.f"))
            .gain(0.5);
        let found = audit(system.start(&RunOptions::default()).unwrap(), 3);
        let energy = -0.5 * H * D * ((1.0 - 3.0) * 2.0 + (3.0 - 2.0) * 5.0);
        assert!((found.stale_energy - energy).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_slow_end_is_audited_at_its_own_points() {
        let run = damped("stale", 2.0 * H);
        assert_eq!(run.audit().bonds().len(), 1);
        // No flow has changed before the first of them, and flow(2) − flow(0) is missing after it.
        let found = audit(damped("stale", 2.0 * H), 2);
        assert_eq!((found.stale_power, found.stale_energy), (0.0, 0.0));
        let found = audit(run, 4);
        let power = D * (FLOW[0] - FLOW[2]) * FLOW[4];
        assert!((found.stale_power - power).abs() < 1e-9, "{found:?}");
        assert!((found.stale_energy - 2.0 * H * power).abs() < 1e-9);
    }

    #[test]
    fn an_exchange_that_follows_its_inputs_leaves_nothing() {
        for exchange in ["fresh", "compensated"] {
            let found = audit(damped(exchange, H), 3);
            assert_eq!(found.known_stale_energy(), Some(0.0), "{exchange}");
        }
    }

    #[test]
    fn the_verdict_compares_the_energy_error_with_and_without_the_correction() {
        let audit = |stale_energy| BondAudit {
            stale_energy,
            ..BondAudit::default()
        };
        for sign in [1.0, -1.0] {
            let audit = audit(sign * 4.0);
            assert_eq!(audit.known_stale_energy(), Some(sign * 4.0));
            assert_eq!(audit.net_energy_error(sign * -3.0), Some(sign));
            for (correction, verdict) in [
                (-3.0, CorrectionVerdict::Helped),
                (-6.0, CorrectionVerdict::Helped),
                (-1.5, CorrectionVerdict::Uncertain),
                (-7.0, CorrectionVerdict::Uncertain),
                (0.0, CorrectionVerdict::Harmed),
                (-8.0, CorrectionVerdict::Harmed),
                (1.0, CorrectionVerdict::Harmed),
            ] {
                assert_eq!(
                    audit.verdict(sign * correction, 0.0),
                    verdict,
                    "{correction}"
                );
            }
            // The later part has W_stale 1 and a correction of 0.2 or −0.7.
            let late = BondAudit {
                earlier: [sign * 3.0, 0.0],
                ..audit
            };
            let verdict = |late_part: f64| late.verdict(sign * -3.0, sign * (-3.0 - late_part));
            assert_eq!(verdict(0.2), CorrectionVerdict::Harmed);
            assert_eq!(verdict(-0.7), CorrectionVerdict::Helped);
            assert_eq!(audit.hindsight_share(sign * 10.0), Some(0.4));
            assert_eq!(audit.hindsight_share(0.0), None);
        }
        let unknown = audit(f64::NAN);
        assert_eq!(unknown.known_stale_energy(), None);
        assert_eq!(unknown.net_energy_error(1.0), None);
        assert_eq!(unknown.verdict(1.0, 0.0), CorrectionVerdict::CannotBeJudged);
        assert_eq!(unknown.hindsight_share(1.0), None);
    }
}
