//! The best of the other modes that a unit allows: fresh where it declares that safe, compensated where D is known and
//! smooth, else stale. Source: own. [`select_exchange`](super::select_exchange) chooses once the units are initialised.

use super::modes::{Mode, Words};
use crate::exchange_mode::Exchange;
use crate::registry::Entry;

pub(super) const MODE: Mode = Mode {
    entry: Entry {
        name: Exchange::AUTO.word(),
        summary: "fresh where the unit declares it safe, compensated where D is known and smooth, else stale",
        source: "own",
        parameters: &[],
        facts: |_, ()| Exchange::AUTO.facts(),
        build: |_| Exchange::AUTO,
    },
    act: |_, _, _| Ok(()),
    words: |Words { outputs, .. }| format!("chosen once the units are initialised: {outputs}"),
};
