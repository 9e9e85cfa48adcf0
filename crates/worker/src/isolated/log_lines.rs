//! Log lines of an isolated FMU on their way to the run: a ring in shared memory, so that they outlive
//! a worker that has died.

use std::fmt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::bytes::{Cursor, Malformed, Put};
use super::layout::{ENDS, RING};
use crate::shareable;
use crate::shared_memory::{AtomicU8, AtomicU32, SharedMemory};

shareable! {
    /// How far the ring was written and read, in bytes since the start, modulo 2³².
    pub(super) struct Ends {
        written: AtomicU32,
        spare: [AtomicU32; 15],
        read: AtomicU32,
    }
}

/// Longest message, bytes; longer ones are cut.
const LONGEST_MESSAGE: usize = 1 << 16;

/// A line as the loader logs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// 0 for an error, 1 for a warning, 2 for anything else.
    level: u8,
    instance: String,
    category: String,
    status: String,
    pub(super) message: String,
}

impl Line {
    fn encode(&self) -> Vec<u8> {
        let mut text = Vec::new();
        text.push(self.level);
        let message = &self.message[..self.message.floor_char_boundary(LONGEST_MESSAGE)];
        for part in [&self.instance, &self.category, &self.status, message] {
            text.block(part.as_bytes());
        }
        let mut bytes = Vec::with_capacity(text.len() + 4);
        bytes.block(&text);
        bytes
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(cursor.block()?);
        Ok(Self {
            level: cursor.byte()?,
            instance: cursor.text()?.to_owned(),
            category: cursor.text()?.to_owned(),
            status: cursor.text()?.to_owned(),
            message: cursor.text()?.to_owned(),
        })
    }

    /// Passes the line to `tracing` in this process, as the loader would have.
    fn emit(&self) {
        let Self {
            instance,
            category,
            status,
            message,
            ..
        } = self;
        macro_rules! event {
            ($level:ident) => {
                tracing::$level!(target: "fmu", instance, category, status, "{message}")
            };
        }
        match self.level {
            0 => event!(error),
            1 => event!(warn),
            _ => event!(info),
        }
    }
}

fn views(memory: &SharedMemory, offset: usize) -> Option<(&Ends, &[AtomicU8])> {
    memory.view(offset).zip(memory.views(offset + ENDS, RING))
}

/// Takes the lines that have come, as bytes.
pub(super) fn take(memory: &SharedMemory, offset: usize) -> Option<Vec<u8>> {
    let (ends, ring) = views(memory, offset)?;
    let (written, read) = (ends.written.load(Acquire), ends.read.load(Relaxed));
    if written == read {
        return None;
    }
    let count = (written.wrapping_sub(read) as usize).min(RING);
    let positions = (0..count).map(|index| (read as usize).wrapping_add(index) % RING);
    let bytes = positions.map(|index| ring[index].load(Relaxed)).collect();
    ends.read.store(written, Release);
    Some(bytes)
}

/// Passes lines on to `tracing`; returns the text of the last one.
#[allow(
    unreachable_pub,
    reason = "the model check compiles this file as a private module"
)]
pub fn pass_on(lines: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(lines);
    let mut last = None;
    while let Ok(line) = Line::take(&mut cursor) {
        line.emit();
        last = Some(line.message);
    }
    last
}

/// Whether lines have come.
#[inline]
pub(super) fn has_come(memory: &SharedMemory, offset: usize) -> bool {
    let ends: Option<&Ends> = memory.view(offset);
    ends.is_some_and(|ends| ends.written.load(Relaxed) != ends.read.load(Relaxed))
}

/// Puts the lines of this process into the ring.
pub(super) struct Writer {
    memory: Arc<SharedMemory>,
    offset: usize,
    /// Lines that found no room since the last one that did.
    lost: Mutex<u64>,
}

impl Writer {
    pub(super) fn new(memory: Arc<SharedMemory>, offset: usize) -> Self {
        let lost = Mutex::new(0);
        Self {
            memory,
            offset,
            lost,
        }
    }

    pub(super) fn write(&self, line: &Line) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::new();
        if *lost > 0 {
            let message = format!("{lost} log lines before this one found no room");
            let level = 1;
            let note = Line {
                level,
                message,
                ..line.clone()
            };
            bytes = note.encode();
        }
        bytes.append(&mut line.encode());
        if self.put(&bytes) {
            *lost = 0;
        } else {
            *lost += 1;
        }
    }

    fn put(&self, bytes: &[u8]) -> bool {
        let Some((ends, ring)) = views(&self.memory, self.offset) else {
            return false;
        };
        let (written, read) = (ends.written.load(Relaxed), ends.read.load(Acquire));
        if written.wrapping_sub(read) as usize + bytes.len() > RING {
            return false;
        }
        for (index, byte) in bytes.iter().enumerate() {
            ring[(written as usize).wrapping_add(index) % RING].store(*byte, Relaxed);
        }
        ends.written
            .store(written.wrapping_add(bytes.len() as u32), Release);
        true
    }
}

impl Subscriber for Writer {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "fmu"
    }

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            Level::ERROR => 0,
            Level::WARN => 1,
            _ => 2,
        };
        let mut line = Line {
            level,
            ..Line::default()
        };
        event.record(&mut line);
        self.write(&line);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "instance" => self.instance = value.to_owned(),
            "category" => self.category = value.to_owned(),
            "message" => self.message = value.to_owned(),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "status" => self.status = format!("{value:?}"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = ENDS + RING;

    fn pass_all_on(memory: &SharedMemory) -> Option<String> {
        take(memory, 0).and_then(|lines| pass_on(&lines))
    }

    fn line(message: String) -> Line {
        Line {
            message,
            instance: "left".to_owned(),
            ..Line::default()
        }
    }

    #[test]
    fn lines_come_through_and_the_ring_goes_round() {
        let memory = Arc::new(SharedMemory::create("test", LENGTH).unwrap());
        let writer = Writer::new(Arc::clone(&memory), 0);
        assert!(!has_come(&memory, 0));
        for number in 0..20 {
            writer.write(&line(format!("{number} {}", "x".repeat(RING / 8))));
            assert!(has_come(&memory, 0));
            let last = pass_all_on(&memory).unwrap();
            assert!(last.starts_with(&format!("{number} x")));
            assert_eq!(pass_all_on(&memory), None);
        }
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let memory = Arc::new(SharedMemory::create("test", LENGTH).unwrap());
        let writer = Writer::new(Arc::clone(&memory), 0);
        for _ in 0..100 {
            writer.write(&line("x".repeat(LONGEST_MESSAGE + 9)));
        }
        assert_eq!(pass_all_on(&memory).unwrap().len(), LONGEST_MESSAGE);
        let lost = *writer.lost.lock().unwrap();
        assert!(lost > 90, "{lost}");
        writer.write(&line("room again".to_owned()));
        assert_eq!(pass_all_on(&memory).as_deref(), Some("room again"));
    }

    #[test]
    fn nonsense_in_the_ring_is_passed_over() {
        let memory = SharedMemory::create("test", LENGTH).unwrap();
        let (ends, ring) = views(&memory, 0).unwrap();
        for (index, byte) in ring.iter().enumerate() {
            byte.store((index % 7 * 41) as u8, Relaxed);
        }
        ends.written.store(0xffff_fff0, Relaxed);
        assert_eq!(pass_all_on(&memory), None);
        assert!(!has_come(&memory, 0));
    }
}
