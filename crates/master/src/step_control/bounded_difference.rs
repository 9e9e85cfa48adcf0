//! Steps in which signals change by no more than a bound, d = |Δx|/(r·max(|x|, |x₋₁|) + a·x_nom) ≤ 1; of a difference
//! `a.x - b.y`, x − y itself is bounded. By bins of d the next step is 3, 1.2, 1 or 1/2 times the last one, and 1/100 beyond
//! the bound; such a step is made again with a quarter of its size if units save their states.
//!
//! Source: the constraint `boundeddifference` of Maestro (Thule et al. 2019), its bins. Use it if outputs drive others that
//! take steps of a size, such as valves and switches, or if two outputs should agree. Limits: a change is not an error. Own:
//! the absolute and the relative bound are added, while Maestro asks for both, and a signal at 0 can never meet a relative
//! one.

use super::signals::{ALL, ControlledSignal};
use super::sizes::{self, Sizes, keeps_its_state};
use super::{ControlledSystem, StepAudit, StepControl, StepControlFacts, StepDecision};
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::stored;

/// The controller: its parameters, and its memory.
#[derive(Debug, Clone)]
struct BoundedDifference {
    names: String,
    tolerance: f64,
    absolute_tolerance: f64,
    sizes: Sizes,
    watched: Vec<ControlledSignal>,
    /// Their values at the start of the step.
    before: Vec<f64>,
    signals: [(&'static str, f64); 2],
}
// Both tolerances are the defaults of Maestro.
pub(super) const ENTRY: Entry<dyn StepControl> = Entry {
    name: "bounded-difference",
    summary: "steps in which signals change, or differ, by no more than a bound",
    source: "Thule 2019, Maestro",
    parameters: &[
        ParameterInfo {
            name: "signals",
            summary: "all real outputs, or names of some, and of two that should agree as `a.x - b.y`",
            kind: ParameterKind::Signals(&[ALL]),
        },
        ParameterInfo::number(
            "tolerance",
            "change in a step, or difference, relative to the greater of both values",
            1e-2,
            (0.0, f64::INFINITY),
        ),
        ParameterInfo::number(
            "absolute_tolerance",
            "change or difference besides, relative to the nominal value of the signal",
            1e-3,
            (0.0, f64::INFINITY),
        ),
        sizes::FIRST,
        sizes::MINIMUM,
        sizes::MAXIMUM,
    ],
    facts: |arguments, ()| StepControlFacts {
        may_repeat: true,
        contradiction: sizes::contradiction(arguments),
        ..StepControlFacts::default()
    },
    build: |arguments| Box::new(BoundedDifference::new(arguments)),
};

/// Ratio of a repeated step to the one beyond the bound: a choice.
const REPEATED: f64 = 0.25;

impl BoundedDifference {
    fn new(arguments: &Arguments) -> Self {
        Self {
            names: arguments.text("signals").to_owned(),
            tolerance: arguments.number("tolerance"),
            absolute_tolerance: arguments.number("absolute_tolerance"),
            sizes: Sizes::new(arguments),
            watched: Vec::new(),
            before: Vec::new(),
            signals: [("step_size", 0.0), ("bounded-difference.change", 0.0)],
        }
    }

    /// The greatest d of all signals.
    fn change(&self, outputs: &[f64]) -> f64 {
        let watched = self.watched.iter().zip(&self.before);
        let changes = watched.map(|(signal, before)| {
            let (one, other) = match signal.less {
                Some(less) => (outputs[signal.output], outputs[less]),
                None => (signal.value(outputs), *before),
            };
            let change = (one - other).abs();
            let magnitude = one.abs().max(other.abs());
            let allowed = self.tolerance * magnitude + self.absolute_tolerance * signal.nominal;
            match change == 0.0 {
                true => 0.0,
                false => change / allowed,
            }
        });
        changes.fold(0.0, f64::max)
    }
}

/// The ratio of the next step to the one with this change.
fn ratio(change: f64) -> f64 {
    match change {
        ..=0.2 => 3.0,
        ..=0.4 => 1.2,
        ..=0.6 => 1.0,
        ..=1.0 => 0.5,
        _ => 0.01,
    }
}

impl StepControl for BoundedDifference {
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64 {
        self.watched = system.signals(&self.names);
        let values = self.watched.iter();
        let values = values.map(|signal| signal.value(system.values));
        self.before = values.collect();
        self.sizes.begin(system.macro_step, system.macro_step)
    }

    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision {
        let size = audit.step.size;
        if !audit.may_change {
            return StepDecision::Continue(size);
        }
        let change = self.change(audit.outputs);
        let shorter = self.sizes.limited(REPEATED * size);
        if change > 1.0 && audit.can_shrink_to(shorter) {
            return StepDecision::Redo {
                size: shorter,
                parts: 1,
            };
        }
        self.signals[0].1 = size;
        self.signals[1].1 = change;
        for (signal, before) in self.watched.iter().zip(&mut self.before) {
            *before = signal.value(audit.outputs);
        }
        StepDecision::Continue(self.sizes.limited(size * ratio(change)))
    }

    fn refused(&mut self, size: f64) -> Option<f64> {
        self.sizes.halved(size)
    }

    keeps_its_state!();
}

stored!(BoundedDifference {
    before, signals;
    watched, names, tolerance, absolute_tolerance, sizes
});
