//! Notes on what the FMUs of this process share with each other, and what that means for a run.

use gyrator_fmu::process_users;

use crate::start_error::LoadError;
use crate::state::Slot;
use crate::unit::UnitOrder;

/// Collects the notes while the units are made.
pub(super) struct Ties {
    has_threads: bool,
    /// Components that several threads would disturb, with the reason.
    kept: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Ties {
    /// For a run on so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            has_threads: threads > 1,
            kept: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Makes the unit of an order, and notes what it shares.
    pub(super) fn during(
        &mut self,
        order: &UnitOrder<'_>,
        make: impl FnOnce() -> Result<Slot, LoadError>,
    ) -> Result<Slot, LoadError> {
        let before = process_users();
        let slot = make()?;
        let (sharing, name) = (order.fmu.sharing(), order.name());
        if before > 0 && process_users() > before {
            self.notes.push(format!(
                "`{name}` shares this process with another component, and may give wrong results: {}, of which a process \
                 has one. Put it into a process of its own: `isolate = true`",
                sharing.reason()
            ));
        }
        if self.has_threads && slot.process_ties().keeps_thread {
            self.kept.push((name.to_owned(), sharing.thread_reason()));
        }
        Ok(slot)
    }

    pub(super) fn notes(self) -> Vec<String> {
        let mut notes = self.notes;
        if let [(first, reason), others @ ..] = &self.kept[..] {
            let others = match others.len() {
                0 => String::new(),
                1 => " and another component".to_owned(),
                number => format!(" and {number} other components"),
            };
            notes.push(format!(
                "`{first}`{others}: all steps are made on one thread, because the FMU {reason}"
            ));
        }
        notes
    }
}
