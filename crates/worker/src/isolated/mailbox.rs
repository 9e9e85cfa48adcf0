//! Messages of any length between a run and a worker, through shared memory.
//!
//! The two take turns: the sender waits for the answer. A message lies in the sender's lane, and
//! its sequence number says that it is there. A longer message is sent in parts. The receiver
//! acknowledges each of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use super::bytes::Malformed;
use super::layout::{BODIES, BODY, LANES, MAILBOX};
use super::wait_policy::WaitPolicy;
use crate::shareable;
use crate::shared_memory::{AtomicU32, AtomicU64, SharedMemory, wait, wake};

shareable! {
    /// One direction. Two cache lines, so that no other thread writes next to it.
    pub(super) struct Lane {
        /// Messages and parts so far.
        sequence: AtomicU32,
        /// 1 while the receiver sleeps, or is about to.
        sleeps: AtomicU32,
        /// Bytes of the body in use.
        length: AtomicU32,
        /// Whether it is the whole message, or the end of one, a part, or an acknowledgement.
        kind: AtomicU32,
        spare: [AtomicU32; 28],
    }
}

const WHOLE: u32 = 0;
const PART: u32 = 1;
const ACKNOWLEDGED: u32 = 2;

/// Longest message that is sent, bytes.
const LONGEST_MESSAGE: usize = 1 << 31;
/// Shortest and longest sleep between two looks at whether the other side is still alive.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// Which side this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Run = 0,
    Worker = 1,
}

/// Why no message came through.
#[derive(Debug, thiserror::Error)]
pub(super) enum MailboxError {
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    #[error("the shared memory does not work: {0}")]
    System(#[from] io::Error),
}

/// One end of the line.
#[derive(Debug)]
pub(super) struct Mailbox {
    memory: Arc<SharedMemory>,
    side: Side,
    wait_policy: WaitPolicy,
    sent: u32,
    received: u32,
}

impl Mailbox {
    /// One end in a memory that was zero when the first end was made.
    pub(super) fn new(
        memory: Arc<SharedMemory>,
        side: Side,
        wait_policy: WaitPolicy,
    ) -> io::Result<Self> {
        if memory.length() < MAILBOX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self {
            memory,
            side,
            wait_policy,
            sent: 0,
            received: 0,
        })
    }

    /// The memory, in which there may be more.
    pub(super) fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    /// Lane and body of one direction. They fit in: `new` has seen to it.
    #[inline]
    fn direction(memory: &SharedMemory, from: Side) -> io::Result<(&Lane, &[AtomicU64])> {
        let lane = memory.view(LANES[from as usize]);
        let body = memory.views(BODIES[from as usize], BODY / 8);
        lane.zip(body)
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn other(&self) -> Side {
        match self.side {
            Side::Run => Side::Worker,
            Side::Worker => Side::Run,
        }
    }

    /// Sends a message. `while_quiet` is called again and again while the other side is waited for,
    /// and may give up.
    #[inline]
    pub(super) fn send<E: From<MailboxError>>(
        &mut self,
        message: &[u8],
        while_quiet: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        if message.len() <= BODY {
            return Ok(self.post(message, WHOLE)?);
        }
        self.send_in_parts(message, while_quiet)
    }

    #[cold]
    fn send_in_parts<E: From<MailboxError>>(
        &mut self,
        message: &[u8],
        while_quiet: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        if message.len() > LONGEST_MESSAGE {
            return Err(MailboxError::TooLong(message.len()).into());
        }
        let mut parts = message.chunks(BODY).peekable();
        while let Some(part) = parts.next() {
            let is_last = parts.peek().is_none();
            self.post(part, if is_last { WHOLE } else { PART })?;
            if !is_last {
                self.await_other(while_quiet)?;
                let (lane, _) =
                    Self::direction(&self.memory, self.other()).map_err(MailboxError::from)?;
                if lane.kind.load(Relaxed) != ACKNOWLEDGED {
                    return Err(MailboxError::from(Malformed).into());
                }
            }
        }
        Ok(())
    }

    /// Spins for a message or part; whether it is there.
    pub(super) fn spin(&mut self) -> bool {
        let before = self.received;
        let Ok((lane, _)) = Self::direction(&self.memory, self.other()) else {
            return false;
        };
        self.wait_policy
            .spin(|| lane.sequence.load(SeqCst) != before)
    }

    /// Receives a message of at most `longest` bytes, which replaces `message`.
    /// `while_quiet` is called as by [`Self::send`], and between two parts.
    #[inline]
    pub(super) fn receive<E: From<MailboxError>>(
        &mut self,
        message: &mut Vec<u8>,
        longest: usize,
        while_quiet: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        message.clear();
        loop {
            self.await_other(while_quiet)?;
            if self.take_part(message, longest)? == WHOLE {
                return Ok(());
            }
            // One that sends on and on is never waited for.
            while_quiet()?;
            self.post(&[], ACKNOWLEDGED)?;
        }
    }

    #[inline]
    fn take_part(&self, message: &mut Vec<u8>, longest: usize) -> Result<u32, MailboxError> {
        let (lane, body) = Self::direction(&self.memory, self.other())?;
        let (kind, length) = (lane.kind.load(Relaxed), lane.length.load(Relaxed) as usize);
        if length > BODY || kind > PART {
            return Err(Malformed.into());
        }
        if length == 0 && kind == PART {
            return Err(Malformed.into());
        }
        if message.len() + length > longest {
            return Err(MailboxError::TooLong(message.len() + length));
        }
        let start = message.len();
        message.resize(start + length.next_multiple_of(8), 0);
        let (room, _) = message[start..].as_chunks_mut::<8>();
        for (room, word) in room.iter_mut().zip(body) {
            *room = word.load(Relaxed).to_le_bytes();
        }
        message.truncate(start + length);
        Ok(kind)
    }

    #[inline]
    fn post(&mut self, part: &[u8], kind: u32) -> Result<(), MailboxError> {
        let (lane, body) = Self::direction(&self.memory, self.side)?;
        let (chunks, rest) = part.as_chunks::<8>();
        for (word, chunk) in body.iter().zip(chunks) {
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
        if let Some(word) = body.get(chunks.len())
            && !rest.is_empty()
        {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            word.store(u64::from_le_bytes(last), Relaxed);
        }
        lane.length.store(part.len() as u32, Relaxed);
        lane.kind.store(kind, Relaxed);
        self.sent = self.sent.wrapping_add(1);
        // Against `sleep`: one of the two sees what the other one has stored.
        lane.sequence.store(self.sent, SeqCst);
        // The sleeper takes its note back by itself: here, that could be the note of its next sleep.
        if lane.sleeps.load(SeqCst) != 0 {
            wake(&lane.sequence, 1)?;
        }
        Ok(())
    }

    /// Waits for the next message or part.
    #[inline]
    fn await_other<E: From<MailboxError>>(
        &mut self,
        while_quiet: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let (lane, _) = Self::direction(&self.memory, self.other()).map_err(MailboxError::from)?;
        let before = self.received;
        if !self
            .wait_policy
            .spin(|| lane.sequence.load(SeqCst) != before)
        {
            let mut longest = SLEEPS.0;
            while !sleep(lane, before, longest)? {
                match while_quiet() {
                    // The last thing that the other side did may be the message.
                    Err(_) if lane.sequence.load(SeqCst) != before => break,
                    Err(error) => return Err(error),
                    Ok(()) => {}
                }
                longest = (longest * 2).min(SLEEPS.1);
            }
        }
        self.received = before.wrapping_add(1);
        if lane.sequence.load(SeqCst) == self.received {
            Ok(())
        } else {
            Err(MailboxError::from(Malformed).into())
        }
    }
}

/// Sleeps until a message comes after the one numbered `before`; false if none has after `longest`.
fn sleep(lane: &Lane, before: u32, longest: Duration) -> Result<bool, MailboxError> {
    lane.sleeps.store(1, SeqCst);
    wait(&lane.sequence, before, Some(longest))?;
    let is_there = lane.sequence.load(SeqCst) != before;
    if is_there {
        lane.sleeps.store(0, Relaxed);
    }
    Ok(is_there)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn ends(wait_policy: Duration) -> (Mailbox, Mailbox) {
        let one = SharedMemory::create("test", MAILBOX).unwrap();
        let other = one.as_fd().try_clone_to_owned().unwrap();
        let other = SharedMemory::attach(other).unwrap();
        let end = |memory, side| {
            Mailbox::new(Arc::new(memory), side, WaitPolicy::new(wait_policy)).unwrap()
        };
        (end(one, Side::Run), end(other, Side::Worker))
    }

    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    /// Gives up after five minutes, so that a test that fails ends.
    fn patient() -> impl FnMut() -> Result<(), MailboxError> {
        let begin = std::time::Instant::now();
        move || match begin.elapsed() < Duration::from_secs(300) {
            true => Ok(()),
            false => Err(MailboxError::System(io::ErrorKind::TimedOut.into())),
        }
    }

    #[test]
    fn messages_of_every_length_arrive() {
        for wait_policy in [Duration::ZERO, Duration::from_micros(100)] {
            let (mut run, mut worker) = ends(wait_policy);
            let lengths = [0, 1, 7, 8, 9, 1000, BODY - 1, BODY, BODY + 1, 3 * BODY + 5];
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut message = Vec::new();
                    for _ in lengths {
                        worker
                            .receive(&mut message, usize::MAX, &mut patient())
                            .unwrap();
                        message.push(7);
                        worker.send(&message, &mut patient()).unwrap();
                    }
                });
                let mut answer = Vec::new();
                for length in lengths {
                    let mut message = bytes(length);
                    run.send(&message, &mut patient()).unwrap();
                    run.receive(&mut answer, usize::MAX, &mut patient())
                        .unwrap();
                    message.push(7);
                    assert!(answer == message, "{length} bytes");
                }
            });
        }
    }

    #[test]
    fn whoever_waits_may_give_up() {
        let (mut run, _worker) = ends(Duration::ZERO);
        let mut looks = 0;
        let mut while_quiet = || {
            looks += 1;
            match looks {
                3 => Err(MailboxError::TooLong(0)),
                _ => Ok(()),
            }
        };
        assert!(
            run.receive(&mut Vec::new(), usize::MAX, &mut while_quiet)
                .is_err()
        );
        assert_eq!(looks, 3);
    }

    #[test]
    fn a_sequence_out_of_order_is_an_error() {
        let (mut run, worker) = ends(Duration::ZERO);
        let (lane, _) = Mailbox::direction(worker.memory(), Side::Worker).unwrap();
        lane.sequence.store(12, SeqCst);
        let received = run.receive(&mut Vec::new(), usize::MAX, &mut patient());
        assert!(matches!(received, Err(MailboxError::Malformed(_))));
    }

    #[test]
    fn nonsense_in_the_memory_is_an_error() {
        for (length, kind) in [(BODY as u32 + 1, WHOLE), (u32::MAX, PART), (8, 77)] {
            let (mut run, mut worker) = ends(Duration::ZERO);
            worker.post(&[1], WHOLE).unwrap();
            let (lane, _) = Mailbox::direction(worker.memory(), Side::Worker).unwrap();
            lane.length.store(length, Relaxed);
            lane.kind.store(kind, Relaxed);
            let received = run.receive(&mut Vec::new(), usize::MAX, &mut patient());
            assert!(matches!(received, Err(MailboxError::Malformed(_))));
        }
    }

    /// A worker that sends parts without end, which takes the acknowledgements for requests.
    #[test]
    fn r48_a_message_without_end_is_cut_off() {
        for part in [BODY, 1, 0] {
            let (mut run, mut worker) = ends(Duration::ZERO);
            let longest = 4 * part + 3;
            let has_ended = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let part = vec![0; part];
                    let mut until_the_end = || match has_ended.load(SeqCst) {
                        true => Err(MailboxError::TooLong(0)),
                        false => Ok(()),
                    };
                    while worker.post(&part, PART).is_ok()
                        && worker.await_other(&mut until_the_end).is_ok()
                    {}
                });
                let mut message = Vec::new();
                let received = run.receive(&mut message, longest, &mut patient());
                has_ended.store(true, SeqCst);
                let error = received.unwrap_err();
                assert!(
                    matches!(error, MailboxError::TooLong(_) | MailboxError::Malformed(_)),
                    "{error}"
                );
                assert!(message.len() <= longest);
            });
        }
    }

    #[test]
    fn r48_a_message_in_parts_is_timed() {
        let (mut run, mut worker) = ends(Duration::ZERO);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                worker.post(&[1; 8], PART).unwrap();
            });
            let mut looks = 0;
            let mut out_of_time = || {
                looks += 1;
                Err(MailboxError::TooLong(0))
            };
            // The part may be there before it is waited for: the clock is looked at anyway.
            assert!(
                run.receive(&mut Vec::new(), usize::MAX, &mut out_of_time)
                    .is_err()
            );
            assert_eq!(looks, 1);
        });
    }
}
