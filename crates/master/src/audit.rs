//! The energy audit: how much energy stale direct feed-through really put into a bond, and whether
//! a correction helped.
//!
//! Where D = ∂output/∂input is known, the master knows how wrong each stale output is that it passes
//! on: −D·(u − ũ). The work of that error at the receiver is the energy that the staleness made,
//! W_stale; the correction's own work is W_corr; their sum is the net energy error of the coupling.
//! The residual energy cannot show this: it needs a share μ that no black box shows.

use crate::exchange_mode::Exchange;
use crate::graph::{Axis, Bond};
use crate::state::{State, errors_of, outputs_of};
use crate::step::Step;

/// Whether a correction brought the energy nearer to the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionVerdict {
    /// |W_stale + W_corr| < |W_stale|.
    Helped,
    /// The bond would have been nearer to the truth without the correction.
    Harmed,
    /// The direct feed-through is not known: the coupling variables alone cannot show the effect.
    CannotBeJudged,
}

/// The audit of one bond so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BondAudit {
    /// Power of the stale outputs' errors over the last step, at its end, W; NaN where D is not known.
    pub stale_power: f64,
    /// W_stale: energy that stale direct feed-through put into the bond, J; NaN where D is not known.
    pub stale_energy: f64,
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

    /// Effect of the correction on the energy error.
    pub fn verdict(&self, correction_energy: f64) -> CorrectionVerdict {
        match self.net_energy_error(correction_energy) {
            None => CorrectionVerdict::CannotBeJudged,
            Some(net) if net.abs() < self.stale_energy.abs() => CorrectionVerdict::Helped,
            Some(_) => CorrectionVerdict::Harmed,
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
    bonds: Vec<Entry>,
    /// Some output may be stale; else there is no energy to record.
    is_needed: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    axes: Vec<Axis>,
    every: u64,
    /// Errors of the effort and flow outputs that the step in progress uses, axis by axis.
    errors: Vec<(f64, f64)>,
    audit: BondAudit,
}

impl Audit {
    pub(crate) fn new(state: &State) -> Self {
        let entry = |bond: &Bond| Entry {
            axes: bond.axes.clone(),
            every: u64::from(bond.every),
            errors: bond
                .axes
                .iter()
                .map(|axis| errors_of(&state.signals, axis))
                .collect(),
            audit: BondAudit::default(),
        };
        Self {
            bonds: state.graph.bonds.iter().map(entry).collect(),
            is_needed: state.exchange.modes.contains(&Exchange::Stale),
        }
    }

    /// Adds the step that has just been made.
    pub(crate) fn observe(&mut self, state: &State, step: &Step) {
        if !self.is_needed {
            return;
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

impl Entry {
    fn observe(&mut self, state: &State, length: f64) {
        let mut power = 0.0;
        for (axis, errors) in self.axes.iter().zip(&mut self.errors) {
            let (effort_error, flow_error) = *errors;
            let (effort, flow) = outputs_of(&state.signals, axis);
            power += axis.weight * (effort_error * flow - effort * flow_error);
            *errors = errors_of(&state.signals, axis);
        }
        self.audit.stale_power = power;
        self.audit.stale_energy += power * length;
    }
}
