//! The end of a run, as far as checks look at it.

use gyrator::report::{BondReport, Divergence};
use gyrator::{Report, StopReason, Verdict};
use serde::Deserialize;

use super::short;

/// The end of a run, as its report or its summary has it: also read from a summary, in which unknown values are null.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct RunEnd {
    /// Why it ended, as a word: `stop-time`, `failed`, …
    pub stop_reason: String,
    /// The fault, or the limit that was exceeded.
    pub stop_detail: Option<String>,
    /// The last communication point, s.
    pub stop_time: Option<f64>,
    /// How far the coupling changes the result.
    pub verdict: Option<Verdict>,
    /// Whether it diverges by its coupling; also null in a summary of a run that crashed.
    pub divergence: Option<Divergence>,
    /// The integrated energy that the coupling made at all power bonds together, at its greatest magnitude, J.
    pub peak_residual_energy_integrated: Option<f64>,
    /// Time of it, s.
    pub peak_residual_energy_integrated_time: Option<f64>,
    /// The bonds, in the order of their names.
    pub bonds: Vec<BondEnd>,
}

/// A bond at the end of a run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct BondEnd {
    /// Name.
    pub name: String,
    /// False if the units of measurement show that effort × flow is not a power.
    pub is_power: bool,
    /// Greatest less least transferred energy, J.
    pub transferred_energy_range: Option<f64>,
    /// The integrated energy that the coupling made, at its greatest magnitude, J.
    pub peak_residual_energy_integrated: Option<f64>,
    /// Time of it, s.
    pub peak_residual_energy_integrated_time: Option<f64>,
    /// How far the coupling at this bond changes the result.
    pub verdict: Option<Verdict>,
    /// As for the run.
    #[serde(default)]
    pub divergence: Option<Divergence>,
}

impl From<&Report> for RunEnd {
    fn from(report: &Report) -> Self {
        Self {
            stop_reason: report.stop_reason.word().to_owned(),
            stop_detail: match &report.stop_reason {
                StopReason::Failed(detail) | StopReason::Limit(detail) => Some(detail.clone()),
                _ => None,
            },
            stop_time: Some(report.stop_time),
            verdict: Some(report.verdict),
            divergence: Some(report.divergence),
            peak_residual_energy_integrated: Some(report.peak_residual_energy_integrated),
            peak_residual_energy_integrated_time: Some(report.peak_residual_energy_integrated_time),
            bonds: report.bonds.iter().map(BondEnd::from).collect(),
        }
    }
}

impl From<&BondReport> for BondEnd {
    fn from(bond: &BondReport) -> Self {
        Self {
            name: bond.name.clone(),
            is_power: bond.is_power,
            transferred_energy_range: Some(bond.transferred_energy_range),
            peak_residual_energy_integrated: Some(bond.energy.peak_residual_energy_integrated),
            peak_residual_energy_integrated_time: Some(
                bond.energy.peak_residual_energy_integrated_time,
            ),
            verdict: Some(bond.verdict),
            divergence: Some(bond.divergence),
        }
    }
}

impl BondEnd {
    /// Time and value of the greatest energy that the coupling made, s and J; NaN if it is not known.
    pub(super) fn peak(&self) -> (f64, f64) {
        let known = self
            .peak_residual_energy_integrated_time
            .zip(self.peak_residual_energy_integrated);
        known.unwrap_or((f64::NAN, f64::NAN))
    }
}

impl RunEnd {
    /// As for a bond, of all power bonds together.
    pub(super) fn peak(&self) -> (f64, f64) {
        let known = self
            .peak_residual_energy_integrated_time
            .zip(self.peak_residual_energy_integrated);
        known.unwrap_or((f64::NAN, f64::NAN))
    }

    /// Whether the run ended because its program wanted so, or goes on.
    pub(super) fn is_by_wish(&self) -> bool {
        matches!(&*self.stop_reason, "stopped" | "running")
    }

    /// Why the run ended, if it did not end as it should.
    pub(super) fn interruption(&self) -> Option<String> {
        let at = short(self.stop_time.unwrap_or(f64::NAN));
        let detail = self.stop_detail.as_deref().unwrap_or("no reason is known");
        Some(match &*self.stop_reason {
            "stop-time" | "terminated" => return None,
            "failed" => format!("the run failed: {detail}"),
            "limit" => format!("a limit ended the run at t = {at} s: {detail}"),
            "interrupted" => format!("the run was interrupted at t = {at} s"),
            "stopped" => format!("the run was stopped at t = {at} s"),
            "running" => format!("the run is at t = {at} s and goes on"),
            "" => "the run did not begin".to_owned(),
            _ => format!("the run ended at t = {at} s: {detail}"),
        })
    }
}
