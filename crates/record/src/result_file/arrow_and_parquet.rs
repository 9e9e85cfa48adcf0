//! What the readers of Arrow and Parquet files have in common.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::heading::take_units;
use crate::sink::Column;

thread_local! {
    /// Whether this thread is in a [guarded] call.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What an action returns; `None` if it panics, as the crates of these forms do on damaged files. The panic is not printed: an error follows.
pub(super) fn guarded<R>(action: impl FnOnce() -> R) -> Option<R> {
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

/// Why a column is not read.
pub(super) fn unreadable(name: &str, of_type: impl fmt::Display) -> String {
    format!(
        "column `{name}` is of type {of_type}, which cannot be read; leave it out, or write it as float64, int64, bool or string"
    )
}

/// Why a column of dates beside the times is not read.
pub(super) fn unreadable_date(name: &str) -> String {
    format!(
        "column `{name}` is of type timestamp, which only the column of the times can be; leave it out, or write it as float64"
    )
}

/// Takes the units of columns from metadata of gyrator, else from the names.
pub(super) fn metadata_units(columns: &mut [Column], metadata: &[(String, String)]) {
    let units = metadata.iter().find(|(key, _)| key == "gyrator.units");
    let Some((_, json)) = units else {
        return take_units(columns);
    };
    let units: Option<BTreeMap<String, String>> = serde_json::from_str(json).ok();
    let mut units = units.unwrap_or_default();
    for column in columns {
        column.unit = units.remove(&column.name);
    }
}

/// The double that is nearest to a whole number with as many decimal places.
pub(super) fn decimal(number: impl fmt::Display, places: i32) -> f64 {
    let text = format!("{number}e{}", -places);
    text.parse().unwrap_or(f64::NAN)
}

/// How far a date is from the first one, which is kept.
pub(super) fn since_first(date: i64, first: &mut Option<i64>) -> f64 {
    let first = *first.get_or_insert(date);
    (i128::from(date) - i128::from(first)) as f64
}
