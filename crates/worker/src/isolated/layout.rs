//! Places in the memory that a run shares with the worker of a component.

use std::io;
use std::mem::size_of;

use gyrator_fmu::flight_recorder::Slot;

use crate::board::Crash;
use crate::shared_memory::SharedMemory;

/// Offsets of the lanes of the mailbox: to the worker, to the run.
pub(super) const LANES: [usize; 2] = [0, 128];
/// Bytes of a message, or of a part of one; pages that are not used take no memory.
pub(super) const BODY: usize = 1 << 20;
/// Offsets of the bodies that belong to the lanes.
pub(super) const BODIES: [usize; 2] = [4096, 4096 + BODY];
/// Bytes that lanes and bodies take; from 256 to 4096 is room for others.
pub(super) const MAILBOX: usize = BODIES[1] + BODY;
/// Offset of the facts that the worker's signal handler records.
const CRASH: usize = 256;
/// Offset of the activities of its instance; one slot more for while it is being opened.
const SLOTS: usize = 1024;
const SLOT_COUNT: usize = 4;
/// Offset of the log lines.
pub(super) const LOG: usize = MAILBOX;
/// Bytes before the ring of log lines, in which its ends lie.
pub(super) const ENDS: usize = 128;
/// Bytes of the ring of log lines: a power of two.
pub(super) const RING: usize = 1 << 18;
/// Bytes of the whole.
pub(super) const LENGTH: usize = LOG + ENDS + RING;

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
