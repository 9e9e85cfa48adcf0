//! Memory that two processes share, read and written through atomics only, and a futex to wait on.
//!
//! The other process may be dead, or broken by an FMU: nothing that it leaves in the memory is
//! trusted to be more than bits. That is why views are of [`Shareable`] types only, for which every
//! bit pattern is a value.

#![expect(unsafe_code, reason = "maps memory and gives typed views of it")]

use std::io;
use std::mem::{align_of, size_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU16};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::futex;

// Files that the model check also compiles import them from here; the model check has its own in this place.
pub(crate) use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Types that may be changed by another process at any time.
///
/// # Safety
/// Every bit pattern is a value of the type, it is made of atomics (or arrays and `repr(C)`
/// structures of them) without padding that matters, and it has no `Drop`.
pub unsafe trait Shareable: Sync + 'static {}

// SAFETY: an atomic integer has no invalid bit pattern.
unsafe impl Shareable for AtomicU8 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU16 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicI32 {}
// SAFETY: as above.
unsafe impl Shareable for AtomicI64 {}
// SAFETY: an array is its elements one after the other.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// Declares a `repr(C)` structure of [`Shareable`] fields that is [`Shareable`] itself.
#[macro_export]
macro_rules! shareable {
    ($(#[$outer:meta])* $visibility:vis struct $name:ident {
        $($(#[$inner:meta])* $field_visibility:vis $field:ident: $kind:ty),* $(,)?
    }) => {
        $(#[$outer])*
        #[repr(C)]
        $visibility struct $name {
            $($(#[$inner])* $field_visibility $field: $kind,)*
        }

        const _: () = {
            const fn each_field_is<T: $crate::Shareable>() {}
            $(each_field_is::<$kind>();)*
        };

        #[expect(unsafe_code, reason = "each field was found to be shareable")]
        // SAFETY: the structure has the layout of C, and its fields are shareable.
        unsafe impl $crate::Shareable for $name {}
    };
}

/// A piece of memory that can be mapped by several processes. Zero at first.
///
/// Its size is fixed, so that no process can make another one fail by cutting it short.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
    descriptor: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is used through atomics only.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Makes a memory of `length` bytes. `name` shows up in `/proc/<pid>/maps`.
    ///
    /// # Errors
    /// Errors of the operating system: no memory, no descriptor left.
    pub fn create(name: &str, length: usize) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = rustix::fs::memfd_create(name, flags)?;
        rustix::fs::ftruncate(&descriptor, length as u64)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&descriptor, seals)?;
        Self::map(descriptor, length)
    }

    /// Maps the memory that another process has made.
    ///
    /// # Errors
    /// If the descriptor is not one of [`Self::create`], or what the operating system says.
    pub fn attach(descriptor: OwnedFd) -> io::Result<Self> {
        let seals = rustix::fs::fcntl_get_seals(&descriptor)?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the shared memory may be cut short by another process",
            ));
        }
        let size = rustix::fs::fstat(&descriptor)?.st_size;
        let length = usize::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
        Self::map(descriptor, length)
    }

    fn map(descriptor: OwnedFd, length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let anywhere = std::ptr::null_mut();
        // SAFETY: the system chooses the place, so nothing that is in use is replaced.
        let start = unsafe {
            rustix::mm::mmap(anywhere, length, access, MapFlags::SHARED, &descriptor, 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            length,
            descriptor,
        })
    }

    /// Bytes.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// One value at `offset` bytes; `None` if it does not fit in or is not aligned.
    #[must_use]
    pub fn view<T: Shareable>(&self, offset: usize) -> Option<&T> {
        self.views(offset, 1)?.first()
    }

    /// `count` values, the first at `offset` bytes; `None` if they do not fit in or are not aligned.
    #[must_use]
    pub fn views<T: Shareable>(&self, offset: usize, count: usize) -> Option<&[T]> {
        let end = size_of::<T>().checked_mul(count)?.checked_add(offset)?;
        // Mappings begin at a page, which is aligned for every type of this trait.
        if end > self.length || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: the offset is within the mapping.
        let first = unsafe { self.start.add(offset) }.cast::<T>();
        // SAFETY: the values lie within the mapping, which lives as long as `self` is borrowed;
        // every bit pattern is valid, and they change as atomics only.
        Some(unsafe { std::slice::from_raw_parts(first.as_ptr(), count) })
    }

    /// Copies bytes into the memory, at `offset`, through atomics: another process, or an FMU that
    /// writes out of bounds, may use them at the same time. Bytes that do not fit are left out.
    pub fn store_bytes(&mut self, offset: usize, bytes: &[u8]) {
        let length = bytes.len().min(self.length.saturating_sub(offset));
        let (head, words, tail) = self.parts(offset, length);
        let (first, rest) = bytes[..length].split_at(head.len());
        let (chunks, last) = rest.as_chunks::<8>();
        for (target, byte) in head.iter().zip(first).chain(tail.iter().zip(last)) {
            target.store(*byte, Relaxed);
        }
        for (target, chunk) in words.iter().zip(chunks) {
            target.store(u64::from_ne_bytes(*chunk), Relaxed);
        }
    }

    /// As [`Self::store_bytes`], with whole words only: faster. It also reads and writes the other bytes of the first and the last word, so
    /// that nothing else may write there at the same time.
    pub fn store_bytes_in_words(&mut self, offset: usize, bytes: &[u8]) {
        const WORD: usize = size_of::<u64>();
        let begin = offset % WORD;
        let count = (begin + bytes.len()).div_ceil(WORD);
        let words = self.views::<AtomicU64>(offset - begin, count);
        let (Some(words), Some(first), Some(last)) =
            (words, bytes.first_chunk(), bytes.last_chunk())
        else {
            return self.store_bytes(offset, bytes);
        };
        let put = |word: &AtomicU64, bits: u64, own: u64| {
            let others = u64::from_le(word.load(Relaxed)) & !own;
            word.store((others | bits & own).to_le(), Relaxed);
        };
        let (low, high) = (8 * begin, 8 * (count * WORD - begin - bytes.len()));
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        put(&words[0], first << low, u64::MAX << low);
        let (chunks, _) = bytes[(WORD - begin) % WORD..].as_chunks::<WORD>();
        let whole = words.iter().skip(usize::from(begin > 0));
        for (word, chunk) in whole.zip(chunks) {
            word.store(u64::from_ne_bytes(*chunk), Relaxed);
        }
        put(&words[count - 1], last >> high, u64::MAX >> high);
    }

    /// Copies bytes out of the memory, from `offset`, as [`Self::store_bytes`] does. Bytes
    /// beyond its end stay as they are.
    pub fn load_bytes(&self, offset: usize, bytes: &mut [u8]) {
        let length = bytes.len().min(self.length.saturating_sub(offset));
        let (head, words, tail) = self.parts(offset, length);
        let (first, rest) = bytes[..length].split_at_mut(head.len());
        let (chunks, last) = rest.as_chunks_mut::<8>();
        for (chunk, source) in chunks.iter_mut().zip(words) {
            *chunk = source.load(Relaxed).to_ne_bytes();
        }
        let first = first.iter_mut().zip(head);
        for (byte, source) in first.chain(last.iter_mut().zip(tail)) {
            *byte = source.load(Relaxed);
        }
    }

    /// `length` bytes from `offset`, in whole words as far as they are aligned: the bytes before
    /// the first word, the words, and the bytes after them. Empty if they do not fit in.
    fn parts(&self, offset: usize, length: usize) -> (&[AtomicU8], &[AtomicU64], &[AtomicU8]) {
        let head = (offset.wrapping_neg() % size_of::<u64>()).min(length);
        let words = (length - head) / size_of::<u64>();
        let middle = offset.saturating_add(head);
        let end = middle.saturating_add(words * size_of::<u64>());
        let tail = length - head - words * size_of::<u64>();
        (
            self.views(offset, head).unwrap_or_default(),
            self.views(middle, words).unwrap_or_default(),
            self.views(end, tail).unwrap_or_default(),
        )
    }

    /// Keeps the memory mapped until the process ends.
    #[must_use]
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

impl AsFd for SharedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `map`; all borrows of it have ended.
        // A failure leaves the mapping in place, which does no harm.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Sleeps until [`wake`] is called on the word by any process, unless the word is not `expected`
/// any more. May return early without a reason: look at the word again.
///
/// Returns false if `timeout` has passed.
///
/// # Errors
/// Errors of the operating system; none is to be expected.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> io::Result<bool> {
    let timeout = timeout.map(|timeout| futex::Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    match futex::wait(word, futex::Flags::empty(), expected, timeout.as_ref()) {
        Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(true),
        Err(rustix::io::Errno::TIMEDOUT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Wakes up to `waiters` of the threads that [`wait`] on the word, in all processes.
///
/// # Errors
/// Errors of the operating system; none is to be expected.
pub fn wake(word: &AtomicU32, waiters: u32) -> io::Result<()> {
    futex::wake(word, futex::Flags::empty(), waiters)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::sync::atomic::Ordering::{Acquire, Release};

    use super::*;

    shareable! {
        /// For the tests.
        struct Pair {
            first: AtomicU32,
            second: [AtomicU64; 2],
        }
    }

    fn twice() -> (SharedMemory, SharedMemory) {
        let one = SharedMemory::create("test", 4096).unwrap();
        let other = one.as_fd().try_clone_to_owned().unwrap();
        (one, SharedMemory::attach(other).unwrap())
    }

    #[test]
    fn both_mappings_are_the_same_memory() {
        let (one, other) = twice();
        assert_eq!(other.length(), 4096);
        let (here, there) = (one.view::<Pair>(8).unwrap(), other.view::<Pair>(8).unwrap());
        here.second[1].store(7, Relaxed);
        here.first.store(3, Relaxed);
        assert_eq!(
            (there.first.load(Relaxed), there.second[1].load(Relaxed)),
            (3, 7)
        );
    }

    #[test]
    fn views_stay_within_the_memory() {
        let memory = SharedMemory::create("test", 64).unwrap();
        assert!(memory.views::<AtomicU64>(0, 8).is_some());
        assert!(memory.views::<AtomicU64>(0, 9).is_none());
        assert!(memory.views::<AtomicU64>(4, 1).is_none(), "not aligned");
        assert!(memory.views::<AtomicU64>(usize::MAX - 7, 1).is_none());
        assert!(memory.views::<AtomicU64>(0, usize::MAX).is_none());
    }

    #[test]
    fn bytes_are_copied_as_far_as_they_fit() {
        let (mut one, other) = twice();
        one.store_bytes(4094, b"abc");
        let mut found = *b"....";
        other.load_bytes(4093, &mut found);
        assert_eq!(&found, b"\0ab.");
        one.store_bytes(usize::MAX, b"abc");
        other.load_bytes(usize::MAX, &mut found);
    }

    #[test]
    fn bytes_of_any_place_and_length_come_through() {
        let (mut one, other) = twice();
        let bytes: Vec<u8> = (1..=40).collect();
        for offset in 0..17 {
            for length in 0..=bytes.len() {
                one.store_bytes(0, &[0; 64]);
                one.store_bytes(offset, &bytes[..length]);
                let mut expected = [0; 64];
                expected[offset..offset + length].copy_from_slice(&bytes[..length]);
                let (mut all, mut part) = ([1; 64], vec![1; length]);
                other.load_bytes(0, &mut all);
                other.load_bytes(offset, &mut part);
                assert_eq!((&all[..], &part[..]), (&expected[..], &bytes[..length]));
                one.store_bytes(0, &[9; 64]);
                one.store_bytes_in_words(offset, &bytes[..length]);
                expected[..offset].fill(9);
                expected[offset + length..].fill(9);
                other.load_bytes(0, &mut all);
                assert_eq!(all, expected, "{length} from {offset}");
            }
        }
    }

    #[test]
    fn its_size_is_sealed() {
        let memory = SharedMemory::create("test", 64).unwrap();
        assert!(rustix::fs::ftruncate(&memory, 0).is_err());
        let plain = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        assert!(SharedMemory::attach(plain).is_err());
    }

    #[test]
    fn a_sleeper_is_woken_through_the_other_mapping() {
        let (one, other) = twice();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let word = other.view::<AtomicU32>(0).unwrap();
                word.store(1, Release);
                wake(word, 1).unwrap();
            });
            let word = one.view::<AtomicU32>(0).unwrap();
            while word.load(Acquire) == 0 {
                assert!(wait(word, 0, Some(Duration::from_secs(300))).unwrap());
            }
        });
        let word = one.view::<AtomicU32>(0).unwrap();
        assert!(
            !wait(word, 1, Some(Duration::from_millis(1))).unwrap(),
            "it is not woken"
        );
    }
}
