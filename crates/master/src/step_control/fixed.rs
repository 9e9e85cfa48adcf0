//! Fixed macro-steps: every step has the `step_size` H of the experiment, t = t₀ + k·H; with
//! `accumulate` the published times are sums, t + H, as in other masters.
//!
//! Source: FMI 2.0 §4.2.2. Use it if steps must be equal (`hinfinity`, learned feed-forward, units
//! without `canHandleVariableCommunicationStepSize`) or if runs are compared step by step. Limits:
//! nothing reacts to a coupling error; whether H is small enough shows in the ledger and its
//! alarms only.

use super::{ControlledSystem, StepAudit, StepControl, StepControlFacts, StepDecision};
use crate::registry::{Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// The experiment's macro-step, always.
#[derive(Debug, Clone, Default)]
struct Fixed {
    macro_step: f64,
}

pub(super) const ENTRY: Entry<dyn StepControl> = Entry {
    name: "fixed",
    summary: "every macro-step has the size that the experiment gives",
    source: "FMI 2.0 §4.2.2",
    parameters: &[ParameterInfo {
        name: "accumulate",
        summary: "times are t + h, summed step by step as other masters do, instead of t0 + k·h; as many steps as without it",
        kind: ParameterKind::Flag,
    }],
    facts: |arguments, ()| StepControlFacts {
        is_fixed: true,
        sums_time: arguments.flag("accumulate"),
        ..StepControlFacts::default()
    },
    build: |_| Box::<Fixed>::default(),
};

impl StepControl for Fixed {
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64 {
        self.macro_step = system.macro_step;
        self.macro_step
    }

    fn next(&mut self, _audit: &StepAudit<'_>) -> StepDecision {
        StepDecision::Continue(self.macro_step)
    }

    fn duplicate(&self) -> Option<Box<dyn StepControl>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        // Nothing of it changes in a run.
        let _ = stream;
    }
}
