//! Events reach the subscribers of `tracing`, and panics of a subscriber do not come back.
//!
//! Alone in its process: `tracing` asks the thread that meets an event first whether any subscriber
//! asks for it, and remembers the answer for all.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

#[path = "loader/building.rs"]
#[expect(dead_code, reason = "shared with the other tests of the loader")]
mod building;

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

use building::{fixture, ready};

/// Collects the events of FMUs as text; panics on one that says so.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "fmu"
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = format!("{}{}", event.metadata().level(), fields.0);
        self.0.lock().unwrap().push(line);
        assert_ne!(*event.metadata().level(), Level::ERROR, "on purpose");
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[test]
fn c22_messages_become_events_and_panics_stay_outside() {
    let collector = Collector::default();
    tracing::subscriber::with_default(collector.clone(), || {
        let mut instance = ready(&fixture(), "events");
        for message in [4, 9, 8] {
            instance.set_integer(&[1], &[message]).unwrap();
            instance.do_step(0.0, 0.1, true).unwrap();
        }
    });
    let lines = collector.0.lock().unwrap().clone();
    assert_eq!(
        lines,
        [
            "WARN message=fmi2GetVersion returns \"\", expected \"2.0\" instance=\"events\" \
             category=\"gyrator\" status=Warning",
            "WARN message=caf\u{fffd} instance=\"events\" category=\"fixture\" status=Warning",
            "ERROR message=bad instance=\"events\" category=\"fixture\" status=Error",
            "ERROR message= instance=\"\" category=\"\" status=Unknown(77)",
            "INFO message=freed instance=\"events\" category=\"fixture\" status=Ok",
        ]
    );
}
