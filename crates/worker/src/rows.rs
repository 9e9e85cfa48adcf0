//! How far the result file of a run is, in memory that survives the worker.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::shareable;
use crate::shared_memory::{AtomicU32, AtomicU64};

shareable! {
    /// How far the result file is: two notes that are written in turn. A process that dies in
    /// between leaves the older one, and what an FMU has overwritten is seen by its check.
    pub(crate) struct Rows {
        notes: [RowsNote; 2],
        /// Not 0 while bytes are being written.
        pub(crate) is_writing: AtomicU32,
        spare: AtomicU32,
    }
}

shareable! {
    struct RowsNote {
        number: AtomicU64,
        end: AtomicU64,
        written: AtomicU64,
        count: AtomicU64,
        check: AtomicU64,
    }
}

/// How far a result file is, in bytes from its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Up to the end of the last whole row.
    pub(crate) end: u64,
    /// Up to the end of the bytes that are certainly in the file.
    pub(crate) written: u64,
    /// Rows up to `end`.
    pub(crate) count: u64,
}

impl Rows {
    /// Notes the extent. `number` counts the notes, from 1 on.
    #[inline]
    pub(crate) fn note(&self, number: u64, extent: Extent) {
        let note = &self.notes[(number % 2) as usize];
        note.number.store(number, Relaxed);
        note.end.store(extent.end, Relaxed);
        note.written.store(extent.written, Relaxed);
        note.count.store(extent.count, Relaxed);
        // Last of all, after the bytes of the rows as well.
        note.check.store(extent.check(number), Release);
    }

    /// Overwrites the notes.
    #[cfg(test)]
    pub(crate) fn fill(&self, byte: u8) {
        let word = u64::from_ne_bytes([byte; 8]);
        for note in &self.notes {
            for target in [
                &note.number,
                &note.end,
                &note.written,
                &note.count,
                &note.check,
            ] {
                target.store(word, Relaxed);
            }
        }
    }

    /// The last note that is whole, nothing before the first one; `None` if both were
    /// overwritten.
    pub(crate) fn last(&self) -> Option<Extent> {
        let is_zero = |note: &RowsNote| note.check.load(Acquire) | note.number.load(Relaxed) == 0;
        if self.notes.iter().all(is_zero) {
            return Some(Extent::default());
        }
        let whole = self.notes.iter().filter_map(|note| {
            let check = note.check.load(Acquire);
            let number = note.number.load(Relaxed);
            let extent = Extent {
                end: note.end.load(Relaxed),
                written: note.written.load(Relaxed),
                count: note.count.load(Relaxed),
            };
            (number > 0 && extent.check(number) == check).then_some((number, extent))
        });
        whole
            .max_by_key(|(number, _)| *number)
            .map(|(_, extent)| extent)
    }
}

impl Extent {
    fn check(self, number: u64) -> u64 {
        let Self {
            end,
            written,
            count,
        } = self;
        check([number, end, written, count])
    }
}

/// A number by which words are recognised that were written by accident: differs in all bits for
/// words that differ in one, and is 0 for none that are likely.
#[inline]
pub(crate) fn check<const N: usize>(words: [u64; N]) -> u64 {
    // 2⁶⁴ by the golden ratio, odd: as in Knuth, The Art of Computer Programming 3, section 6.4.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    words.into_iter().fold(SPREAD, |sum, word| {
        (sum ^ word).wrapping_mul(SPREAD).rotate_left(29)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::SharedMemory;

    const EXTENT: Extent = Extent {
        end: 300,
        written: 200,
        count: 7,
    };

    #[test]
    fn the_last_whole_note_counts() {
        let memory = SharedMemory::create("test", 4096).unwrap();
        let rows: &Rows = memory.view(0).unwrap();
        assert_eq!(rows.last(), Some(Extent::default()), "there is none yet");
        rows.note(1, EXTENT);
        assert_eq!(rows.last(), Some(EXTENT));
        let next = Extent {
            count: 8,
            end: 340,
            ..EXTENT
        };
        rows.note(2, next);
        assert_eq!(rows.last(), Some(next));
        // The process has died in the middle of a third note.
        rows.notes[1].end.store(380, Relaxed);
        assert_eq!(rows.last(), Some(next));
        rows.notes[0].count.store(u64::MAX, Relaxed);
        assert_eq!(rows.last(), None);
    }
}
