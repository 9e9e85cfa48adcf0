//! ECCO, energy-conservation-based co-simulation: the residual energy ΔE = δP·H that a step leaves at the N power bonds sets
//! the size of the next. Indicator and controller are ε = √(Σ (ΔE/(r·(E₀ + |P·H|)))²/N), with r and E₀ of each bond if it has
//! its own, and H′ = H·α·ε^(−k_I)·(ε₋₁/ε)^k_P, within limits of size and change.
//!
//! Source: Sadjina & Pedersen (2019) §4, eqs 13–14. Use it if activity comes in bursts: steps are
//! small there only. Limits: all units need variable steps; r has to be chosen again for each
//! order of extrapolation; the signed residual of the paper can cancel out within a bond, which
//! `sum-abs` (own) excludes; an error that both ends make alike is not seen. `defect` takes the
//! defects of all connections instead of energies, ε = √(Σ (defect/(r·|y|max))²/N), and needs no
//! bonds (Glumac & Kovačić 2023; Kyllingstad et al. 2025). Steps are accepted unless
//! `reject_above` is given.

use super::sizes::{self, Sizes, keeps_its_state};
use super::{
    ControlledSystem, EnergyLimits, StepAudit, StepControl, StepControlFacts, StepDecision,
};
use crate::ledger::BondEnergy;
use crate::registry::{Arguments, Entry, POSITIVE, ParameterInfo, ParameterKind};
use crate::state_stream::stored;

/// The controller: its parameters, and its state since the size of the steps could change last.
#[derive(Debug, Clone)]
struct Ecco {
    tolerance: f64,
    energy_scale: f64,
    /// Limits of the bonds' own.
    limits: Vec<EnergyLimits>,
    safety: f64,
    integral_gain: Option<f64>,
    proportional_gain: f64,
    change: (f64, f64),
    sizes: Sizes,
    indicator: Indicator,
    reject_above: f64,
    /// Without bonds: every step is this long, s.
    macro_step: f64,
    /// Greatest indicator since the size could change last.
    worst: f64,
    previous: Option<f64>,
    signals: [(&'static str, f64); 2],
}

/// The quantity by which a step is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Indicator {
    SumAbs,
    Signed,
    Defect,
}

impl Indicator {
    fn of(arguments: &Arguments) -> Self {
        match arguments.word("indicator") {
            "signed" => Self::Signed,
            "defect" => Self::Defect,
            _ => Self::SumAbs,
        }
    }
}

// Defaults of `safety`, `smallest_change` and `largest_change`, and the automatic `k_i`: Sadjina &
// Pedersen 2019, §4 and table 1. The automatic limits of the size come from table 1, 10 µs and 10
// ms, over the steps of 1 ms that the paper compares with. `tolerance` and `energy_scale` have no
// default there; `sum-abs` is own.
pub(super) const ENTRY: Entry<dyn StepControl> = Entry {
    name: "ecco",
    summary: "steps as long as the residual energies of the power bonds allow",
    source: "Sadjina 2019 §4, eqs 13–14",
    parameters: &[
        ParameterInfo::number(
            "tolerance",
            "relative tolerance r of the residual energy of a step; each order of extrapolation needs its own",
            1e-6,
            POSITIVE,
        ),
        ParameterInfo::number(
            "energy_scale",
            "typical energy E0 of a bond, J",
            1.0,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number("safety", "safety factor of the step size", 0.8, (0.01, 1.0)),
        ParameterInfo::number_or_auto(
            "k_i",
            "integral gain; auto: 0.3/(m + 2), m being the order of extrapolation in use",
            (0.0, 1.0),
        ),
        ParameterInfo::number(
            "k_p",
            "proportional gain; 0: an I controller",
            0.0,
            (0.0, 1.0),
        ),
        ParameterInfo {
            name: "indicator",
            summary: "residual energy as sum-abs, whose parts cannot cancel out, or signed as in the paper; or the defects of all connections, without bonds",
            kind: ParameterKind::Word(&["sum-abs", "signed", "defect"]),
        },
        sizes::SMALLEST_FIRST,
        sizes::MINIMUM,
        sizes::MAXIMUM,
        sizes::SMALLEST_CHANGE,
        sizes::LARGEST_CHANGE,
        ParameterInfo::number(
            "reject_above",
            "indicator above which a step is made again with a smaller size, where all units can restore their states",
            f64::INFINITY,
            (1.0, f64::INFINITY),
        ),
        ParameterInfo {
            name: "overshoot",
            summary: "the last step is not shortened and may end after the stop time, as in the paper",
            kind: ParameterKind::Flag,
        },
    ],
    facts: |arguments, ()| StepControlFacts {
        is_fixed: false,
        needs_bonds: Indicator::of(arguments) != Indicator::Defect,
        may_repeat: arguments.number("reject_above").is_finite(),
        may_overshoot: arguments.flag("overshoot"),
        contradiction: sizes::contradiction(arguments),
        ..StepControlFacts::default()
    },
    build: |arguments| Box::new(Ecco::new(arguments)),
};

/// Greatest ratio of a repeated step to the rejected one. A choice: the usual halving, so that a few
/// repetitions reach any size.
const REPEATED: f64 = 0.5;

impl Ecco {
    fn new(arguments: &Arguments) -> Self {
        Self {
            tolerance: arguments.number("tolerance"),
            energy_scale: arguments.number("energy_scale"),
            limits: Vec::new(),
            safety: arguments.number("safety"),
            integral_gain: arguments.number_or_auto("k_i"),
            proportional_gain: arguments.number("k_p"),
            change: sizes::change(arguments),
            sizes: Sizes::new(arguments),
            indicator: Indicator::of(arguments),
            reject_above: arguments.number("reject_above"),
            macro_step: 0.0,
            worst: 0.0,
            previous: None,
            signals: [("step_size", 0.0), ("ecco.indicator", 0.0)],
        }
    }

    /// ε of eq. 14 for the step that was made.
    fn indicator(&self, audit: &StepAudit<'_>) -> f64 {
        if self.indicator == Indicator::Defect {
            let defects = audit.defects.connections();
            let count = defects.len().max(1) as f64;
            let squares = defects.map(|defect| (defect.last_relative() / self.tolerance).powi(2));
            return (squares.sum::<f64>() / count).sqrt();
        }
        let bonds = audit.ledger.bonds();
        let count = bonds.len() as f64;
        let squares = bonds.zip(audit.ledger.macro_steps()).enumerate();
        let squares = squares.map(|(index, (bond, every))| {
            let length = audit.step.size * every as f64;
            let limits = self.limits.get(index).copied().unwrap_or_default();
            self.of_bond(bond, length, limits).powi(2)
        });
        (squares.sum::<f64>() / count).sqrt()
    }

    fn of_bond(&self, bond: &BondEnergy, length: f64, limits: EnergyLimits) -> f64 {
        let residual = if self.indicator == Indicator::Signed {
            bond.predicted_residual_power.abs()
        } else {
            bond.coupling_error_power
        };
        if residual == 0.0 {
            return 0.0;
        }
        let transferred = (bond.output_power * length).abs();
        let tolerance = limits.tolerance.unwrap_or(self.tolerance);
        let scale = limits.scale.unwrap_or(self.energy_scale);
        residual * length / (tolerance * (scale + transferred))
    }

    /// The ratio of the next step to the one that was made (eq. 13, with a proportional part).
    fn ratio(&self, indicator: f64, order: usize) -> f64 {
        let (least, most) = self.change;
        if indicator.is_nan() {
            return least;
        }
        let integral = self
            .integral_gain
            .unwrap_or_else(|| 0.3 / (order as f64 + 2.0));
        let trend = self.previous.map_or(1.0, |previous| previous / indicator);
        let ratio = self.safety * indicator.powf(-integral) * trend.powf(self.proportional_gain);
        if ratio.is_nan() {
            most
        } else {
            ratio.clamp(least, most)
        }
    }
}

impl StepControl for Ecco {
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64 {
        let macro_step = system.macro_step;
        self.macro_step = macro_step;
        self.limits = system.energy_limits.to_vec();
        let first = self.sizes.begin(macro_step, 0.0);
        match system.has_bonds || self.indicator == Indicator::Defect {
            true => first,
            false => macro_step,
        }
    }

    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision {
        let size = audit.step.size;
        if audit.ledger.bonds().len() == 0 && self.indicator != Indicator::Defect {
            self.signals[0].1 = size;
            return StepDecision::Continue(self.macro_step);
        }
        let indicator = self.indicator(audit);
        self.signals[0].1 = size;
        self.signals[1].1 = indicator;
        self.worst = self.worst.max(indicator);
        if indicator.is_nan() {
            self.worst = indicator;
        }
        if !audit.may_change {
            return StepDecision::Continue(size);
        }
        let worst = std::mem::take(&mut self.worst);
        let ratio = self.ratio(worst, audit.order);
        if worst > self.reject_above && size > self.sizes.least() {
            return StepDecision::Redo {
                size: self.sizes.limited(size * ratio.min(REPEATED)),
                parts: 1,
            };
        }
        self.previous = (worst > 0.0).then_some(worst);
        if audit.had_event {
            self.previous = None;
            return StepDecision::Continue(self.sizes.least());
        }
        StepDecision::Continue(self.sizes.limited(size * ratio))
    }

    fn refused(&mut self, size: f64) -> Option<f64> {
        self.sizes.halved(size)
    }

    keeps_its_state!();
}

stored!(Ecco {
    worst, previous, signals;
    macro_step, sizes, tolerance, energy_scale, limits, safety, integral_gain, proportional_gain,
    change, indicator, reject_above
});
