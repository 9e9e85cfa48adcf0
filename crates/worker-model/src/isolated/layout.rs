//! The names of `crates/worker/src/isolated/layout.rs`. Offsets are numbers of places, not bytes.

pub(super) const LANES: [usize; 2] = [0, 1];
/// Bytes of a message, or of a part of one.
pub(super) const BODY: usize = 16;
pub(super) const BODIES: [usize; 2] = [2, 3];
pub(super) const MAILBOX: usize = 4;
/// Between the ends of the ring and the ring.
pub(super) const ENDS: usize = 1;
/// Bytes of the ring: two short lines, and not three.
pub(super) const RING: usize = 64;
