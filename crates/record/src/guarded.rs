//! Calls of crates that panic on files that are damaged.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in such a call.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What an action returns; `None` if it panics. The panic is not printed: an error follows.
pub(crate) fn guarded<R>(action: impl FnOnce() -> R) -> Option<R> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.try_with(Cell::get).unwrap_or(false) {
                usual(panic);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(action));
    IS_GUARDED.set(was_guarded);
    outcome.ok()
}
