//! The notes on the rows, read while the worker writes: more than a parent does, which reads them after the
//! worker's end.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use loom::thread;

use crate::rows::{Extent, Rows};
use crate::shared_memory::AtomicU64;

/// A note that is read while a new one takes the place of the last but one is one of the last two, as a
/// whole, and the bytes up to its end are there.
pub fn notes_on_rows() {
    let (rows, bytes) = (Arc::new(Rows::default()), Arc::new(AtomicU64::default()));
    let note = |count: u64| {
        let (rows, bytes) = (Arc::clone(&rows), Arc::clone(&bytes));
        move || {
            bytes.store(10 * count, Relaxed);
            let (end, written) = (10 * count, count);
            rows.note(
                count,
                Extent {
                    end,
                    written,
                    count,
                },
            );
        }
    };
    note(1)();
    note(2)();
    let worker = thread::spawn(note(3));
    let Extent {
        end,
        written,
        count,
    } = rows.last().expect("one of them is whole");
    assert!(count >= 2, "an older note");
    assert_eq!((end, written), (10 * count, count), "torn");
    assert!(bytes.load(Relaxed) >= end, "beyond what was written");
    worker.join().expect("the worker has not panicked");
    assert_eq!(rows.last().map(|extent| extent.count), Some(3));
}
