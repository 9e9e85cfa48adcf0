//! Growth of the worker's memory, and in whose steps it grows.

use std::collections::BTreeMap;

use gyrator_fmu::memory::{own_bytes_of, resident_bytes, resident_bytes_of};

use crate::board::Board;
use crate::death::Cause;
use crate::descendants::descendants_of;

/// Growth since the first step, and since steps were last measured, above which some are measured, to find the FMU; bytes. Not all: a
/// result that is written in large groups takes as much, and a measurement takes longer than the step of a small FMU.
const SUSPICIOUS: u64 = 64 << 20;
/// Growth per step that is worth a warning, bytes; less comes from the master's own records.
const LEAK: u64 = 256;
/// Steps that have to be measured for a warning, and are each time.
const ENOUGH_STEPS: u64 = 100;

/// Looks at the memory of one worker.
pub(crate) struct MemoryWatch {
    limit: Option<u64>,
    /// Above it steps are measured again, bytes; none before the first look after the first step.
    suspicious: Option<u64>,
    /// How many times steps are measured.
    times: u64,
    /// The limit was exceeded once; the next time the worker is killed.
    is_over: bool,
    /// Bytes and steps by component, as they were last seen.
    growth: BTreeMap<String, (u64, u64)>,
}

impl MemoryWatch {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            suspicious: None,
            times: 0,
            is_over: false,
            growth: BTreeMap::new(),
        }
    }

    /// The cause of a death before the first look: a limit below what this process has itself. A worker has as much, and may
    /// be done before it is looked at.
    pub(crate) fn at_start(&self) -> Option<Cause> {
        let is_below = |limit: &u64| resident_bytes().is_some_and(|own| own > *limit);
        self.limit.filter(is_below).map(Cause::MemoryLimit)
    }

    /// Looks. Returns the cause of a death if the limit is exceeded.
    pub(crate) fn look(&mut self, process: u32, board: &Board) -> Option<Cause> {
        let resident = resident_bytes_of(process)?;
        if board.position().is_some_and(|position| position.step > 0) {
            self.compare(resident);
        }
        let limit = self.limit.filter(|limit| {
            // Isolated components, and what FMUs have started.
            let others = descendants_of(process).into_iter();
            let others: u64 = others.filter_map(own_bytes_of).sum();
            resident.saturating_add(others) > *limit
        });
        if self.times > 0 || limit.is_some() {
            self.measure(board, limit.is_some());
        }
        // Once more, to find the FMU, if the memory has grown from one look to the next.
        let was_over = std::mem::replace(&mut self.is_over, limit.is_some());
        let is_known = was_over || !self.growth.is_empty();
        limit.filter(|_| is_known).map(Cause::MemoryLimit)
    }

    /// Decides whether steps are to be measured once more.
    fn compare(&mut self, resident: u64) {
        let margin = |limit: u64| SUSPICIOUS.min(limit.saturating_sub(resident) / 4);
        let next = resident.saturating_add(self.limit.map_or(SUSPICIOUS, margin));
        if resident > *self.suspicious.get_or_insert(next) {
            self.suspicious = Some(next);
            self.times += 1;
        }
    }

    /// Asks for measured steps, as many as are wanted so far, or `all` until the next look.
    fn measure(&mut self, board: &Board, all: bool) {
        for slot in board.slots {
            let Some(reading) = slot.read() else {
                continue;
            };
            let (_, steps) = reading.growth;
            slot.measure_memory(all || steps < self.times.saturating_mul(ENOUGH_STEPS));
            if steps > 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn times(limit: Option<u64>, resident: &[u64]) -> Vec<u64> {
        let mut watch = MemoryWatch::new(limit.map(|megabytes| megabytes << 20));
        let looks = resident.iter().map(|megabytes| {
            watch.compare(megabytes << 20);
            watch.times
        });
        looks.collect()
    }

    #[test]
    fn r36_steps_are_measured_once_for_each_growth() {
        let resident = [100, 164, 165, 165, 229, 230, 2000, 1000, 2000];
        assert_eq!(times(None, &resident), [0, 0, 1, 1, 1, 2, 3, 3, 3]);
        // A quarter of the room that is left.
        assert_eq!(times(Some(200), &[100, 125, 126, 145]), [0, 0, 1, 2]);
        assert_eq!(times(Some(200), &[100, 199, 200, 201]), [0, 1, 2, 3]);
    }
}
