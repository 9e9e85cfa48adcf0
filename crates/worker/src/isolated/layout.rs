//! Where things lie in the memory that a run shares with the worker of a component.

use std::io;
use std::mem::size_of;

use gyrator_fmu::flight_recorder::Slot;

use super::{log_lines, mailbox};
use crate::board::Crash;
use crate::shared_memory::SharedMemory;

/// Offset of the facts that the worker's signal handler records.
const CRASH: usize = mailbox::SPARE;
/// Offset of the activities of its instance; one slot more for while it is being opened.
const SLOTS: usize = 1024;
const SLOT_COUNT: usize = 4;
/// Log lines.
pub(super) const LOG: usize = mailbox::LENGTH;
/// Bytes of the whole.
pub(super) const LENGTH: usize = LOG + log_lines::LENGTH;

const _: () = assert!(CRASH + size_of::<Crash>() <= SLOTS);
const _: () = assert!(SLOTS + SLOT_COUNT * size_of::<Slot>() <= 4096);

pub(super) fn crash(memory: &SharedMemory) -> io::Result<&Crash> {
    memory.view(CRASH).ok_or_else(too_small)
}

pub(super) fn slots(memory: &SharedMemory) -> io::Result<&[Slot]> {
    memory.views(SLOTS, SLOT_COUNT).ok_or_else(too_small)
}

fn too_small() -> io::Error {
    io::Error::other("the shared memory is too small")
}
