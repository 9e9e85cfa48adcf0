//! The limit of the address space (`RLIMIT_AS`, `ulimit -v`), as some schedulers set it. If no memory is left, a library that cannot do
//! without ends in a panic, which is not an error of this program.

use std::fs::File;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, getrlimit};

/// A panic means a lack of memory if less than this is left, bytes. Tables of libraries have some hundred kilobytes.
const LITTLE: u64 = 8 << 20;

/// The limit that was met, bytes; 0 for none.
static MET: AtomicU64 = AtomicU64::new(0);

/// Tells panics for want of memory from others: they are not reported as such, and [`met_limit`] has the limit from then on. For programs
/// that report it themselves.
pub fn tell_panics_apart() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match exhausted() {
        Some(limit) => MET.store(limit, Ordering::Relaxed),
        None => usual(panic),
    }));
}

/// The limit, bytes, at which this process has panicked.
#[must_use]
pub fn met_limit() -> Option<u64> {
    Some(MET.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
}

/// The limit, if next to nothing of it is left.
fn exhausted() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    // Memory may not suffice for more than this.
    let mut text = [0; 64];
    let count = File::open("/proc/self/statm").ok()?.read(&mut text).ok()?;
    let pages = std::str::from_utf8(&text[..count]).ok()?;
    let pages: u64 = pages.split(' ').next()?.parse().ok()?;
    let used = pages.saturating_mul(rustix::param::page_size() as u64);
    (limit.saturating_sub(used) < LITTLE).then_some(limit)
}
