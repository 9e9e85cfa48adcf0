use super::StepControl;
use crate::ledger::Ledger;
use crate::plant::Step;
use crate::registry::{Entry, Maker};

/// The experiment's macro-step, always.
#[derive(Debug, Default)]
struct Fixed {
    macro_step: f64,
}

pub(super) const ENTRY: Entry<Maker<dyn StepControl>> = Entry {
    name: "fixed",
    summary: "every macro-step has the size that the experiment gives",
    source: "FMI 2.0 §4.2.2",
    parameters: &[],
    build: |_| Box::<Fixed>::default(),
};

impl StepControl for Fixed {
    fn first(&mut self, macro_step: f64) -> f64 {
        self.macro_step = macro_step;
        macro_step
    }

    fn next(&mut self, _step: &Step, _ledger: &Ledger) -> f64 {
        self.macro_step
    }

    fn is_fixed(&self) -> bool {
        true
    }
}
