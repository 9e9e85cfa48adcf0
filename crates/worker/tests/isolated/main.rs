//! Components in processes of their own: the same bits, and the same rows when a process is lost.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod allocation;
mod bench;
mod choice;
mod discards;
mod identical;
mod losses;
mod restarts;
mod sharing;

/// Not a test of its own: a worker is this program once more, started to run this test only.
#[test]
fn become_a_worker() {
    gyrator_worker::hook(|_| 0);
}
