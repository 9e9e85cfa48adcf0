//! One place for the calls of all instances that step together.
//!
//! Each instance has a slot, but two stores a call into another cache line for each instance cost as much as a small
//! FMU. Instances in a lane share a [`Cursor`]: one store a call names the function and the instance that is called.
//! [`readings`] gives the call back to the instance, so that readers see no difference.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use fmi2_abi::Function;

use super::{Activity, Reading, Slot, SlotGuard};

/// Length of the name in the slot of a cursor: no name is so long. The letters "CURS".
const MARK: u32 = 0x4355_5253;
/// Bits of the code of an activity, below the number of the slot.
const CODE_BITS: u32 = 8;

/// The slots that another process can read.
static SHARED: OnceLock<&'static [Slot]> = OnceLock::new();

/// Remembers the slots whose numbers the other process knows. The first ones are kept.
pub(super) fn share(slots: &'static [Slot]) {
    let _ = SHARED.set(slots);
}

/// The number of an instance's slot among the shared slots, in the place that it has in a word: 0 for none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    pub(crate) fn of(slot: &'static Slot) -> Self {
        let shared = SHARED.get().copied().unwrap_or_default();
        let offset = std::ptr::from_ref(slot)
            .addr()
            .checked_sub(shared.as_ptr().addr());
        let index = offset.map_or(usize::MAX, |offset| offset / size_of::<Slot>());
        let number = if index < shared.len() {
            index as u64 + 1
        } else {
            0
        };
        Self(number << CODE_BITS)
    }
}

/// Notes the calls of instances that step together.
pub(crate) struct Cursor(SlotGuard);

impl Cursor {
    pub(crate) fn new() -> Self {
        let guard = SlotGuard::new("");
        guard.slot().name_length.store(MARK, Relaxed);
        Self(guard)
    }

    /// A function that notes that `function` of an instance is called now.
    #[inline(always)]
    pub(crate) fn calls_of(&self, function: Function) -> impl Fn(Tag) + use<'_> {
        let code = u64::from(Activity::Call(function).code());
        // In a register: the calls of an FMU could change its place in memory, as far as the compiler knows.
        let slot = self.0.slot();
        move |tag| slot.activity.store(code | tag.0, Relaxed)
    }

    /// Notes from when on in simulated time the instances step.
    #[inline(always)]
    pub(crate) fn set_time(&self, time: f64) {
        self.0.slot().set_time(time);
    }

    /// Notes that no call is in progress.
    #[inline(always)]
    pub(crate) fn rest(&self) {
        self.0.slot().activity.store(0, Relaxed);
    }
}

/// The readings of all `slots` in use, with their numbers. A cursor names the slot of the instance that makes the call:
/// nothing of it is believed but that there is such a slot.
pub fn readings(slots: &[Slot]) -> Vec<(usize, Reading)> {
    let own = slots.iter().enumerate();
    let own = own.filter_map(|(index, slot)| Some((index, slot.read()?)));
    let mut readings: Vec<(usize, Reading)> = own.collect();
    let cursors = slots
        .iter()
        .filter(|slot| slot.name_length.load(Relaxed) == MARK);
    for slot in cursors {
        let (word, time, marker) = slot.words();
        let number = word >> CODE_BITS;
        let activity = Activity::from_code((word & 0xff) as u8);
        let named = readings
            .iter_mut()
            .find(|(index, _)| *index as u64 + 1 == number);
        if let (Some(activity), Some((_, reading))) = (activity, named) {
            reading.activity = Some(activity);
            reading.marker = marker;
            reading.time = super::time_of(time);
        }
    }
    readings
}

/// Shows the activity and the name of each call in progress. Takes neither memory nor a lock, so that a handler of signals may call it.
pub fn each_call(slots: &[Slot], mut see: impl FnMut(Activity, &[u8])) {
    for slot in slots {
        let word = slot.activity.load(Relaxed);
        let is_cursor = slot.name_length.load(Relaxed) == MARK;
        let named = match is_cursor {
            true => ((word >> CODE_BITS) as usize)
                .checked_sub(1)
                .and_then(|index| slots.get(index)),
            false => Some(slot),
        };
        let activity = Activity::from_code((word & 0xff) as u8);
        if let (Some(activity), Some(named)) = (activity, named) {
            let (name, length) = named.name_bytes();
            if length > 0 {
                see(activity, &name[..length]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_a_cursor_is_that_of_its_instance() {
        let slots: &'static [Slot] = Box::leak([const { Slot::new() }; 3].into());
        slots[0].set_name("chassis");
        slots[1].set_name("wheel");
        slots[2].name_length.store(MARK, Relaxed);
        let at = |number: u64, function: Function| {
            let code = u64::from(Activity::Call(function).code());
            slots[2].activity.store(code | number << CODE_BITS, Relaxed);
            slots[2].set_time(0.5);
            each_call(slots, |activity, name| {
                assert_eq!(activity, Activity::Call(function));
                assert_eq!(name, [&b"chassis"[..], b"wheel"][number as usize - 1]);
            });
            readings(slots)
        };
        let seen = at(2, Function::DoStep);
        assert_eq!(seen.len(), 2, "a cursor is no instance");
        assert_eq!((seen[0].1.activity, seen[0].1.time), (None, None));
        let wheel = &seen[1].1;
        assert_eq!(wheel.name, "wheel");
        assert_eq!(wheel.activity, Some(Activity::Call(Function::DoStep)));
        assert_eq!(wheel.time, Some(0.5));
        assert_ne!(at(2, Function::GetReal)[1].1.marker, wheel.marker);
        assert_ne!(at(1, Function::DoStep)[0].1.marker, wheel.marker);
        // Numbers of no slot, of the cursor itself, and a code that is never written.
        for (number, code) in [
            (0, 3),
            (3, 3),
            (4, 3),
            (u64::MAX >> CODE_BITS, 3),
            (2, 0xff),
        ] {
            slots[2].activity.store(code | number << CODE_BITS, Relaxed);
            let is_idle = |(_, reading): &(usize, Reading)| reading.activity.is_none();
            assert!(readings(slots).iter().all(is_idle), "{number} {code}");
        }
    }
}
