//! The laws that hold in every order of the threads.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use loom::sync::atomic::AtomicBool;
use loom::thread;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::layout::{BODIES, BODY, ENDS, LANES, RING};
use super::log_lines::{self, Line, Writer};
use super::mailbox::{self, Mailbox, MailboxError, Side};
use super::wait_policy::WaitPolicy;
use crate::shared_memory::{
    self, AtomicU8, AtomicU64, Orderings, SharedMemory, pass_time, run_out_of_time,
};

/// Changes of thread that nothing but chance asks for, in one order of the threads, unless the environment
/// says otherwise (`LOOM_MAX_PREEMPTIONS`). All mistakes that were put in by hand need two at most.
const PREEMPTIONS: usize = 2;

/// Checks a scenario in every order of its threads with so many preemptions. Returns their number.
pub fn check(orderings: Orderings, scenario: impl Fn() + Send + Sync + 'static) -> usize {
    use std::sync::atomic::AtomicUsize;
    shared_memory::set_orderings(orderings);
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(PREEMPTIONS));
    model.check(move || {
        counter.fetch_add(1, Relaxed);
        scenario();
    });
    count.load(Relaxed)
}

fn mailboxes() -> (Mailbox, Mailbox) {
    let [run, worker] = LANES;
    let [run_body, worker_body] = BODIES;
    let memory = SharedMemory::default()
        .with::<mailbox::Lane>(run, 1)
        .with::<mailbox::Lane>(worker, 1)
        .with::<AtomicU64>(run_body, BODY / 8)
        .with::<AtomicU64>(worker_body, BODY / 8);
    let memory = Arc::new(memory);
    let end = |side| {
        let memory = Arc::clone(&memory);
        Mailbox::new(memory, side, WaitPolicy::new(Duration::ZERO)).expect("it is large enough")
    };
    (end(Side::Run), end(Side::Worker))
}

/// Each byte another one, none 0.
fn message(first: u8, length: usize) -> Vec<u8> {
    (0..length).map(|index| first + index as u8).collect()
}

fn undisturbed() -> Result<(), MailboxError> {
    Ok(())
}

/// Answers so many requests with their bytes and one more.
fn serve(mut worker: Mailbox, requests: usize) {
    let mut message = Vec::new();
    for _ in 0..requests {
        let received = worker.receive(&mut message, usize::MAX, &mut undisturbed);
        received.expect("the run is well-behaved");
        let reply = [&message[..], &[99]].concat();
        let sent = worker.send(&reply, &mut undisturbed);
        sent.expect("the run is well-behaved");
    }
}

/// Sends the request and compares the reply, whose bytes must be all that was sent and nothing else.
fn ask(run: &mut Mailbox, mut request: Vec<u8>) {
    let mut reply = Vec::new();
    let sent = run.send(&request, &mut undisturbed);
    sent.expect("the worker is well-behaved");
    let received = run.receive(&mut reply, usize::MAX, &mut undisturbed);
    received.expect("the worker is well-behaved");
    request.push(99);
    assert_eq!(reply, request, "torn");
}

/// Messages come through whole, and no side sleeps for ever. The second one is shorter than the first:
/// nothing is read beyond its end.
pub fn requests_and_replies() {
    let (mut run, worker) = mailboxes();
    let worker = thread::spawn(|| serve(worker, 2));
    ask(&mut run, message(1, 9));
    ask(&mut run, message(40, 1));
    worker.join().expect("the worker has not panicked");
}

/// The same where waits time out at any moment.
pub fn requests_and_replies_with_timeouts() {
    let (mut run, worker) = mailboxes();
    let worker = thread::spawn(|| serve(worker, 1));
    let clock = thread::spawn(|| {
        pass_time();
        pass_time();
    });
    ask(&mut run, message(1, 1));
    worker.join().expect("the worker has not panicked");
    clock.join().expect("the clock has not panicked");
}

/// A message in three parts, and its reply in three.
pub fn a_message_in_parts() {
    let (mut run, worker) = mailboxes();
    let worker = thread::spawn(|| serve(worker, 1));
    ask(&mut run, message(1, 2 * BODY + 3));
    worker.join().expect("the worker has not panicked");
}

/// A worker answers and ends, as a process does: at any moment, and without a message. Its answer arrives,
/// and the run does not wait for another one.
pub fn an_answer_and_the_end() {
    let (mut run, mut worker) = mailboxes();
    let has_ended = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&has_ended);
    let worker = thread::spawn(move || {
        // The run has looked for the answer in vain.
        pass_time();
        worker.send(&[7], &mut undisturbed).expect("there is room");
        ends.store(true, Release);
        run_out_of_time();
    });
    let mut while_quiet = || match has_ended.load(Acquire) {
        true => Err(MailboxError::TooLong(0)),
        false => Ok(()),
    };
    let mut reply = Vec::new();
    let received = run.receive(&mut reply, usize::MAX, &mut while_quiet);
    received.expect("it was sent before the end");
    assert_eq!(reply, [7]);
    let received = run.receive(&mut reply, usize::MAX, &mut while_quiet);
    assert!(matches!(received, Err(MailboxError::TooLong(0))), "ended");
    worker.join().expect("the worker has not panicked");
}

thread_local! {
    // loom runs all threads of a model in the thread of the test.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the log lines that come out of the ring.
struct Lines;

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "fmu"
    }

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        LINES.with_borrow_mut(|lines| lines.push(message.0));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Takes lines off the ring and passes them on.
fn passes_on(memory: &SharedMemory) -> Option<String> {
    log_lines::take(memory, 0).and_then(|lines| log_lines::pass_on(&lines))
}

/// Lines come out of the ring whole and in order while others are put in, around its end as well.
pub fn log_lines() {
    LINES.with_borrow_mut(Vec::clear);
    let memory = SharedMemory::default()
        .with::<log_lines::Ends>(0, 1)
        .with::<AtomicU8>(ENDS, RING);
    let memory = Arc::new(memory);
    let written = ["a", "bc", "def"];
    let writer = {
        let memory = Arc::clone(&memory);
        thread::spawn(move || {
            let writer = Writer::new(memory, 0);
            for text in written {
                let mut line = Line::default();
                line.message.push_str(text);
                writer.write(&line);
            }
        })
    };
    tracing::subscriber::with_default(Lines, || {
        if log_lines::has_come(&memory, 0) {
            assert!(passes_on(&memory).is_some(), "torn");
        }
        writer.join().expect("the writer has not panicked");
        passes_on(&memory);
    });
    let found = LINES.take();
    // Without a reader in between there is room for two.
    let expected = written
        .get(..found.len())
        .expect("no more than were written");
    assert_eq!(found, expected, "torn");
    assert!(found.len() >= 2, "there was room for two: {found:?}");
}
