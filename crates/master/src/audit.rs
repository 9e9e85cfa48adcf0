//! The energy audit: how much energy stale direct feed-through really put into a bond, and whether
//! a correction helped. The run adds each step; it changes no signal.
//!
//! If D = ∂output/∂input is known, so is the error of each stale output that is passed on: −D·(u −
//! ũ). The work of that error at the receiver is the energy that the staleness made, W_stale; the
//! correction's own work is W_corr; their sum is the net energy error of the coupling. The residual
//! energy cannot show this: it needs a share μ that no black box shows.
//!
//! Energies are not all. A correction may take out the right energy by impulses that are far off in each step. Impulses J
//! without order move a mass m by √ΣJ²/m, amplitude and phase together, while staleness moves the amplitude V of its velocity
//! by W_stale/(m·V). The first grows with the root of the time, the second with the time; as root of the mean square over a
//! run, and with V = √2·v, the ratio is √3·v·√ΣJ²/W_stale, with the RMS v of the velocity. The mass cancels: √3·v·√ΣJ² is an
//! energy that stands for what the impulses spoil. A mass between two bonds takes the impulses of both: √2 times as much.
//! Without the correction, the energy of staleness would have fed on itself: if W_stale is the part x of the energy that goes
//! over the bond, it would be (exp x − 1)/x times as large.

use crate::exchange_mode::Exchange;
use crate::graph::{Axis, Bond};
use crate::state::{StepResponse, SystemState, errors_of, outputs_of};
use crate::state_stream::stored;
use crate::step_row::StepRow;

/// Whether a correction brought the energy nearer to the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionVerdict {
    /// |W_stale + W_corr| and the energy that stands for irregular impulses are below 0.6·|W_stale|, in the whole run and in
    /// its later part.
    Helped,
    /// |W_stale + W_corr| ≥ |W_stale| in one of them: the bond would have been nearer to the truth without the
    /// correction.
    Harmed,
    /// Neither: damping may have taken out what the correction should have, or more; or its impulses are far off in each
    /// step.
    Uncertain,
    /// The direct feed-through is not known: the coupling variables alone cannot show the effect.
    CannotBeJudged,
}

impl CorrectionVerdict {
    /// Share of |W_stale| that may be left by a correction that is called a help. On 300 random oscillators,
    /// half of them damped, no run that was harmed was below it; with 1 in its place, 7 to 12 of 59 were.
    const HELPED: f64 = 0.6;
    /// A later part in which staleness made less than this share of its energy is not judged. A choice.
    const SILENT: f64 = 1e-3;

    /// Judges some of the steps, in which W_stale is known, by it, the energy that is left, and the one that
    /// stands for irregular impulses, J.
    fn of(sums: &Sums, irregular: f64) -> Self {
        let (stale, net) = (sums.stale.abs(), sums.net.abs());
        if net >= stale {
            Self::Harmed
        } else if net.max(irregular) < Self::HELPED * stale {
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
    /// Power of the stale outputs' errors over the last step, at its end, W; NaN if D is unknown.
    pub stale_power: f64,
    /// W_stale: energy that stale direct feed-through put into the bond, J; NaN if D is unknown.
    pub stale_energy: f64,
    /// Another corrected bond has a component of this one.
    has_neighbour: bool,
    /// Over all steps.
    sums: Sums,
    /// The same at the last powers of two of the number of steps, the older first.
    earlier: [Sums; 2],
}

/// Sums over steps of a bond, as if D were known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    /// W_stale, J.
    stale: f64,
    /// W_stale + W_corr, J.
    net: f64,
    /// Of the effort and of the flow: squares of the impulses that are left, value · s, each axis by its weight.
    impulses: [f64; 2],
    /// Integrals of the squares of their conjugates, flow and effort.
    conjugates: [f64; 2],
    /// Lengths, s.
    time: f64,
}

impl Sums {
    /// The steps since an earlier point.
    fn since(&self, earlier: &Self) -> Self {
        let pairs = |now: [f64; 2], then: [f64; 2]| [0, 1].map(|side| now[side] - then[side]);
        Self {
            stale: self.stale - earlier.stale,
            net: self.net - earlier.net,
            impulses: pairs(self.impulses, earlier.impulses),
            conjugates: pairs(self.conjugates, earlier.conjugates),
            time: self.time - earlier.time,
        }
    }

    /// The energy that stands for impulses without order in a run of this length, s: √3·v·√ΣJ², J. Of a part of the run it is as much
    /// of W_stale as it will be of the whole.
    fn irregular(&self, time: f64) -> f64 {
        let sides = self.impulses.iter().zip(&self.conjugates);
        let squares: f64 = sides.map(|(impulses, squares)| impulses * squares).sum();
        (3.0 * squares / time).sqrt()
    }
}

impl BondAudit {
    /// W_stale, if D is known, J.
    pub fn known_stale_energy(&self) -> Option<f64> {
        (!self.stale_energy.is_nan()).then_some(self.stale_energy)
    }

    /// W_stale + W_corr, if D is known, J.
    pub fn net_energy_error(&self, correction_energy: f64) -> Option<f64> {
        self.known_stale_energy()
            .map(|stale| stale + correction_energy)
    }

    /// Effect of the correction. A damped system has lost what was put in at the start, which would
    /// outweigh the rest for ever; so the part since less than half of the steps were made counts as much as the whole.
    /// Takes the range of the energy that went over the bond, J.
    pub fn verdict(&self, transferred_range: f64) -> CorrectionVerdict {
        if self.stale_energy.is_nan() {
            return CorrectionVerdict::CannotBeJudged;
        }
        let part = self.stale_energy.abs() / transferred_range;
        let growth = if part > 0.0 {
            part.exp_m1() / part
        } else {
            1.0
        };
        let bonds: f64 = if self.has_neighbour { 2.0 } else { 1.0 };
        let irregular = |sums: &Sums| bonds.sqrt() * sums.irregular(self.sums.time) / growth;
        let whole = CorrectionVerdict::of(&self.sums, irregular(&self.sums));
        let late = self.sums.since(&self.earlier[0]);
        if late.stale.abs() < CorrectionVerdict::SILENT * self.sums.stale.abs() {
            return whole;
        }
        let late = CorrectionVerdict::of(&late, irregular(&late));
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
    /// Some output may be stale; otherwise no energy has to be recorded.
    is_needed: bool,
}

#[derive(Debug, Clone)]
struct AuditedBond {
    axes: Vec<Axis>,
    every: u64,
    /// Which outputs of the bond are stale is known.
    is_known: bool,
    is_corrected: bool,
    /// Errors of the effort and flow outputs that the step in progress uses, axis by axis.
    errors: Vec<(f64, f64)>,
    audit: BondAudit,
}

impl Audit {
    pub(crate) fn new(state: &SystemState) -> Self {
        let correctors = &state.bonds.correctors;
        let entry = |(index, bond): (usize, &Bond)| AuditedBond {
            axes: bond.axes.clone(),
            every: u64::from(bond.every),
            is_known: is_known(state, bond),
            is_corrected: correctors.iter().any(|corrector| corrector.bond == index),
            errors: bond
                .axes
                .iter()
                .map(|axis| errors_of(&state.signals, axis))
                .collect(),
            audit: BondAudit {
                has_neighbour: has_corrected_neighbour(state, index),
                ..BondAudit::default()
            },
        };
        let bonds: Vec<AuditedBond> = state.graph.bonds.iter().enumerate().map(entry).collect();
        Self {
            is_needed: (state.exchange.modes.contains(&Exchange::STALE) && !bonds.is_empty())
                || bonds.iter().any(|bond| !bond.is_known),
            bonds,
        }
    }

    /// Adds the step that has just been made, or a part of it.
    pub(crate) fn add(&mut self, row: &StepRow<'_>) {
        if !self.is_needed {
            return;
        }
        let index = row.step.index;
        if row.begins && index.is_power_of_two() {
            for BondAudit { sums, earlier, .. } in
                self.bonds.iter_mut().map(|entry| &mut entry.audit)
            {
                *earlier = [earlier[1], *sums];
            }
        }
        for entry in &mut self.bonds {
            if (index + 1).is_multiple_of(entry.every) {
                entry.add(row);
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

/// Whether the direct feed-through at a bond is known: not if it shows in steps only, nor if a unit declares some that shows
/// nowhere, and no other output of the bond has any.
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

/// Whether outputs of a bond are known to be stale, once it is known how they are exchanged.
pub(crate) fn is_stale(state: &SystemState, bond: &Bond) -> bool {
    let SystemState {
        graph,
        signals,
        exchange,
        ..
    } = state;
    let axes = bond.axes.iter();
    let mut outputs = axes.flat_map(|axis| [axis.effort_output, axis.flow_output]);
    let is_unknown = |output: usize| signals.start_changes[output].is_nan();
    if !is_known(state, bond) || outputs.clone().any(is_unknown) {
        return false;
    }
    // If D was measured as zero at the start, it is so for the run, unless the unit gives it at each point.
    let is_stale = |output: usize| {
        let mut passes = exchange.passes.iter();
        exchange.modes[graph.outputs[output].component] == Exchange::STALE
            && passes.any(|pass| {
                let is_zero = pass.gains.iter().all(|gain| *gain == 0.0);
                pass.outputs.contains(&output) && (pass.by_unit || !pass.is_smooth || !is_zero)
            })
    };
    outputs.any(is_stale)
}

/// Whether another corrected bond has a component of this one.
fn has_corrected_neighbour(state: &SystemState, index: usize) -> bool {
    let bonds = &state.graph.bonds;
    let sides = [bonds[index].effort_side, bonds[index].flow_side];
    let others = state
        .bonds
        .correctors
        .iter()
        .map(|corrector| corrector.bond);
    let mut others = others.filter(|other| *other != index);
    others.any(|other| {
        sides.contains(&bonds[other].effort_side) || sides.contains(&bonds[other].flow_side)
    })
}

impl Audit {
    /// Makes the energies known of bonds whose direct feed-through was found to be as it was probed.
    pub(crate) fn resolve(&mut self, state: &SystemState) {
        for (entry, bond) in self.bonds.iter_mut().zip(&state.graph.bonds) {
            if !entry.is_known && is_known(state, bond) {
                entry.is_known = true;
                entry.audit.stale_energy = entry.audit.sums.stale;
            }
        }
    }
}

impl AuditedBond {
    /// Adds the step that ends with this row.
    fn add(&mut self, row: &StepRow<'_>) {
        let length = row.step.size * self.every as f64;
        let (mut power, mut added_power) = (0.0, 0.0);
        let sums = &mut self.audit.sums;
        for (axis, errors) in self.axes.iter().zip(&mut self.errors) {
            let (effort_error, flow_error) = *errors;
            let (effort, flow) = outputs_of(row.signals, axis);
            power += axis.weight * (effort_error * flow - effort * flow_error);
            *errors = errors_of(row.signals, axis);
            if self.is_corrected {
                let (effort_added, flow_added) = row.added(axis, length);
                added_power += axis.weight * (effort_added * flow - effort * flow_added);
                let left = [effort_error + effort_added, flow_error + flow_added];
                for (side, conjugate) in [flow, effort].into_iter().enumerate() {
                    sums.impulses[side] += (axis.weight * left[side] * length).powi(2);
                    sums.conjugates[side] += conjugate * conjugate * length;
                }
            }
        }
        sums.stale += power * length;
        sums.net += (power + added_power) * length;
        sums.time += length;
        if !self.is_known {
            power = f64::NAN;
        }
        self.audit.stale_power = power;
        self.audit.stale_energy += power * length;
    }
}

stored!(Audit { bonds; is_needed });
stored!(AuditedBond { errors, audit; axes, every, is_known, is_corrected });
stored!(BondAudit {
    stale_power,
    stale_energy,
    sums,
    earlier;
    has_neighbour
});
stored!(Sums {
    stale,
    net,
    impulses,
    conjugates,
    time
});

#[cfg(test)]
mod tests;
