//! What steps of variable size need: sizes that suit all rates, and a way back.

use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::state::{Saved, State, restore, save};
use crate::state_check;
use crate::step::Step;
use crate::step_control::StepControl;
use crate::time::{Clock, Ticks};

/// Which lengths macro-steps may have, so that the steps of all components are whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Macro-steps in a row that have one length: those of the slowest component's step.
    cycle: Ticks,
    /// The length is a multiple of this, so that fast components divide it.
    grain: Ticks,
    is_fixed: bool,
}

impl Sizes {
    pub(crate) fn of(graph: &Graph, is_fixed: bool) -> Self {
        let every = graph.components.iter().map(|c| c.rate.every());
        Self {
            cycle: Ticks::from(every.fold(1, crate::time::common_macro_steps)),
            grain: graph.clock.grain(),
            is_fixed,
        }
    }

    /// The length nearest to `size`, s.
    pub(crate) fn length(&self, size: f64, clock: &Clock) -> Ticks {
        let grains = clock.ticks(size) as f64 / self.grain as f64;
        (grains.round() as Ticks).max(1) * self.grain
    }

    /// Ticks from the start to the stop time, `duration` s later. Steps of variable length need a
    /// number that they can divide; the last one ends at the exact time in any case.
    pub(crate) fn stop(&self, clock: &Clock, duration: f64) -> Ticks {
        let ticks = clock.ticks(duration);
        if self.is_fixed {
            return ticks;
        }
        let unit = self.cycle * self.grain;
        ((ticks as f64 / unit as f64).round() as Ticks).max(Ticks::from(duration > 0.0)) * unit
    }

    /// Whether the length may change before the macro-step with this index.
    pub(crate) fn may_change(&self, index: u64) -> bool {
        index.is_multiple_of(self.cycle as u64)
    }

    /// `length`, or less so that the steps end where nothing `remains`. What would leave a small rest
    /// is made in two equal parts.
    pub(crate) fn within(&self, length: Ticks, remains: Ticks, index: u64) -> Ticks {
        if !self.may_change(index) {
            return length;
        }
        let unit = self.cycle * self.grain;
        if remains <= length * self.cycle {
            remains / self.cycle
        } else if remains < 2 * length * self.cycle {
            (remains / 2 / unit).max(1) * self.grain
        } else {
            length
        }
    }
}

/// The state of a run before a step.
pub(crate) struct Checkpoint {
    state: Saved,
    books: (Ledger, Audit, Alarms),
}

impl Checkpoint {
    /// Room for checkpoints, if the step control may want to go back and the units can.
    pub(crate) fn if_possible(
        state: &State,
        control: &dyn StepControl,
        notes: &mut Vec<String>,
    ) -> Option<Self> {
        if !control.may_repeat() {
            return None;
        }
        let components = &state.graph.components;
        let cannot = |names: Vec<&str>, why: &str| {
            format!("no step is made again: {} {why}", names.join(", "))
        };
        let names = |test: &dyn Fn(&crate::graph::Component) -> bool| -> Vec<&str> {
            let found = components.iter().filter(|component| test(component));
            found.map(|component| component.name.as_str()).collect()
        };
        let forgetful = names(&|c| !c.description.capabilities.save_and_restore);
        let slow = names(&|c| c.rate.every() > 1);
        if !forgetful.is_empty() {
            notes.push(cannot(forgetful, "cannot restore a state"));
            return None;
        }
        if !slow.is_empty() {
            notes.push(cannot(slow, "communicates more slowly than the macro-step"));
            return None;
        }
        Some(Self {
            state: Saved::default(),
            books: (Ledger::default(), Audit::default(), Alarms::default()),
        })
    }

    pub(crate) fn save(
        &mut self,
        state: &mut State,
        (ledger, audit, alarms): (&Ledger, &Audit, &Alarms),
        step: &Step,
    ) -> Result<(), Fault> {
        self.books.0.clone_from(ledger);
        self.books.1.clone_from(audit);
        self.books.2.clone_from(alarms);
        if step.index == 0 {
            check_states(state, step)?;
        }
        save(state, &mut self.state, step)
    }

    pub(crate) fn restore(&self, state: &mut State, step: &Step) -> Result<(), Fault> {
        restore(state, &self.state, step)
    }

    pub(crate) fn books(&self) -> (Ledger, Audit, Alarms) {
        self.books.clone()
    }
}

/// Tries whether the components can go back, before it is needed.
fn check_states(state: &mut State, step: &Step) -> Result<(), Fault> {
    for component in 0..state.units.members.len() {
        let member = &mut state.units.members[component];
        let size = step.size / f64::from(member.substeps);
        let outputs = member.output_handles.clone();
        let checked = state_check::check(member.slot.unit(), &outputs, step.time, size);
        checked.map_err(|fault| state.graph.fault(component, step, fault))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn the_steps_of_a_cycle_are_equal_and_end_exactly() {
        let sizes = Sizes {
            cycle: 3,
            grain: 10,
            is_fixed: false,
        };
        let (mut now, stop, mut length) = (0, 3 * 10 * 1001, 70);
        for index in 0.. {
            if now == stop {
                assert!(index % 3 == 0 && index > 100);
                break;
            }
            let next = sizes.within(length, stop - now, index);
            assert!(next > 0 && next % 10 == 0 && next <= 70);
            assert!(index % 3 == 0 || next == length);
            length = next;
            now += next;
        }
    }
}
