//! Growth of the worker's memory, and in whose steps it grows.

use std::collections::BTreeMap;

use gyrator_fmu::memory::{own_bytes_of, resident_bytes_of};

use crate::board::Board;
use crate::death::Cause;
use crate::descendants::descendants_of;

/// Growth since the first step above which each step is measured, to find the FMU; bytes.
const SUSPICIOUS: u64 = 64 << 20;
/// Growth per step that is worth a warning, bytes; less comes from the master's own records.
const LEAK: u64 = 256;
/// Steps that have to be measured for a warning.
const ENOUGH_STEPS: u64 = 100;

/// Looks at the memory of one worker.
pub(crate) struct MemoryWatch {
    limit: Option<u64>,
    /// At the first look after the first step, bytes.
    at_start: Option<u64>,
    is_measuring: bool,
    /// The limit was exceeded once; the next time the worker is killed.
    is_over: bool,
    /// Bytes and steps by component, as they were last seen.
    growth: BTreeMap<String, (u64, u64)>,
}

impl MemoryWatch {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            at_start: None,
            is_measuring: false,
            is_over: false,
            growth: BTreeMap::new(),
        }
    }

    /// Looks. Returns the cause of a death where the limit is exceeded.
    pub(crate) fn look(&mut self, process: u32, board: &Board) -> Option<Cause> {
        let resident = resident_bytes_of(process)?;
        if board.position().is_some_and(|position| position.step > 0) {
            let start = *self.at_start.get_or_insert(resident);
            let margin = self.limit.map_or(SUSPICIOUS, |limit| {
                SUSPICIOUS.min(limit.saturating_sub(start) / 4)
            });
            self.is_measuring |= resident.saturating_sub(start) > margin;
        }
        let limit = self.limit.filter(|limit| {
            // Isolated components, and what FMUs have started.
            let others = descendants_of(process).into_iter();
            let others: u64 = others.filter_map(own_bytes_of).sum();
            resident.saturating_add(others) > *limit
        });
        self.is_measuring |= limit.is_some();
        if self.is_measuring {
            self.measure(board);
        }
        // Once more, to find the FMU, where the memory has grown from one look to the next.
        let was_over = std::mem::replace(&mut self.is_over, limit.is_some());
        let is_known = was_over || !self.growth.is_empty();
        limit.filter(|_| is_known).map(Cause::MemoryLimit)
    }

    fn measure(&mut self, board: &Board) {
        for slot in board.slots {
            let Some(reading) = slot.read() else {
                continue;
            };
            slot.measure_memory();
            if reading.growth.1 > 0 {
                self.growth.insert(reading.name, reading.growth);
            }
        }
    }

    /// In whose steps the memory has grown, largest growth first.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let enough_steps = if self.is_over { 1 } else { ENOUGH_STEPS };
        let mut growing: Vec<_> = self
            .growth
            .iter()
            .map(|(name, (bytes, steps))| (bytes / steps.max(&1), name, steps))
            .filter(|(per_step, _, steps)| *per_step >= LEAK && **steps >= enough_steps)
            .collect();
        growing.sort_unstable_by(|left, right| right.cmp(left));
        growing
            .into_iter()
            .map(|(per_step, name, steps)| {
                format!(
                    "{name}: during fmi2DoStep the memory of the process has grown by {} a step \
                     (mean of {steps} steps)",
                    bytes(per_step)
                )
            })
            .collect()
    }
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} bytes"),
        10_000..10_000_000 => format!("{} kB", count / 1000),
        _ => format!("{} MB", count / 1_000_000),
    }
}
