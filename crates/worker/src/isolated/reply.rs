//! Answers of a worker: a head that says how far it came, then the answer of each operation.

use gyrator::Value;
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::StepOutcome;
use serde::{Deserialize, Serialize};

use super::bytes::{Cursor, Malformed, Numbers, Put};
use super::calls;
use super::request::{Encoded, put_value};

const DONE: u8 = 0;
const FAILED: u8 = 1;

const STEPPED: u8 = 1;
const TERMINATED: u8 = 2;
const REALS: u8 = 3;
const VALUE: u8 = 4;
const STATE: u8 = 5;

/// A worker's answer in the making. The results of operations come before it is known how the work
/// ends, so the head stands at the end.
#[derive(Debug, Default)]
pub(super) struct Reply {
    bytes: Vec<u8>,
}

impl Reply {
    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The answer as bytes.
    #[must_use]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How a step ended.
    #[inline]
    pub(super) fn stepped(&mut self, outcome: StepOutcome) {
        match outcome {
            StepOutcome::Done => self.bytes.push(STEPPED),
            StepOutcome::Terminated(time) => {
                self.bytes.push(TERMINATED);
                self.bytes.real(time);
            }
        }
    }

    /// Real values.
    #[inline]
    pub(super) fn reals(&mut self, values: &[f64]) {
        self.bytes.push(REALS);
        self.bytes.word(super::bytes::length(values.len()));
        self.bytes.reals(values);
    }

    /// One value.
    pub(super) fn value(&mut self, value: &Value) {
        self.bytes.push(VALUE);
        put_value(&mut self.bytes, value);
    }

    /// A state as bytes.
    pub(super) fn state(&mut self, state: &[u8]) {
        self.bytes.push(STATE);
        self.bytes.block(state);
    }

    /// All operations were made; `warnings` calls have returned Warning so far.
    #[inline]
    pub(super) fn done(&mut self, warnings: u64) {
        self.bytes.long(warnings);
        self.bytes.push(DONE);
    }

    /// The operation number `index` has failed.
    pub(super) fn failed(&mut self, index: u32, fault: &UnitFault, warnings: u64) {
        let failure = Failure::Fault {
            index,
            call: calls::number(fault.call),
            cause: cause_number(fault.cause),
            message: &fault.message,
            log: fault.log.as_deref(),
            reached: fault.reached,
        };
        self.end(&failure, warnings);
    }

    /// The FMU could not be loaded because of `message`.
    pub(super) fn not_loaded(&mut self, message: &str) {
        self.end(&Failure::NotLoaded(message), 0);
    }

    fn end(&mut self, failure: &Failure<'_>, warnings: u64) {
        let start = self.bytes.len();
        self.bytes.postcard(failure);
        let length = self.bytes.len() - start;
        self.bytes.word(super::bytes::length(length));
        self.bytes.long(warnings);
        self.bytes.push(FAILED);
    }
}

/// Report of a failure by a worker.
#[derive(Debug, Serialize, Deserialize)]
enum Failure<'a> {
    Fault {
        index: u32,
        call: u8,
        cause: u8,
        message: &'a str,
        #[serde(borrow)]
        log: Option<&'a str>,
        reached: Option<f64>,
    },
    NotLoaded(&'a str),
}

/// How a worker's work ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RequestOutcome {
    Done,
    Failed { index: u32, fault: Box<UnitFault> },
    NotLoaded(String),
}

/// The head of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Head {
    pub(super) warnings: u64,
    pub(super) outcome: RequestOutcome,
    /// Bytes before the head: the answers of the operations.
    pub(super) length: usize,
}

impl Head {
    #[inline]
    pub(super) fn read(reply: &[u8]) -> Result<Self, Malformed> {
        let (rest, code) = split_end::<1>(reply)?;
        let (rest, warnings) = split_end::<8>(rest)?;
        let warnings = u64::from_le_bytes(warnings);
        if code == [DONE] {
            return Ok(Self {
                warnings,
                outcome: RequestOutcome::Done,
                length: rest.len(),
            });
        }
        Self::read_failure(rest, code, warnings)
    }

    fn read_failure(rest: &[u8], code: [u8; 1], warnings: u64) -> Result<Self, Malformed> {
        let (rest, length) = split_end::<4>(rest)?;
        let length = u32::from_le_bytes(length) as usize;
        let start = rest.len().checked_sub(length).ok_or(Malformed)?;
        let mut cursor = Cursor::new(&rest[start..]);
        let outcome = match cursor.postcard()? {
            _ if code != [FAILED] => return Err(Malformed),
            Failure::Fault {
                index,
                call,
                cause,
                message,
                log,
                reached,
            } => RequestOutcome::Failed {
                index,
                fault: Box::new(UnitFault {
                    log: log.map(str::to_owned),
                    reached,
                    ..*UnitFault::new(calls::name(call), cause_of(cause)?, message)
                }),
            },
            Failure::NotLoaded(message) => RequestOutcome::NotLoaded(message.to_owned()),
        };
        if !cursor.is_at_end() {
            return Err(Malformed);
        }
        Ok(Self {
            warnings,
            outcome,
            length: start,
        })
    }
}

fn split_end<const N: usize>(bytes: &[u8]) -> Result<(&[u8], [u8; N]), Malformed> {
    let (rest, end) = bytes.split_last_chunk().ok_or(Malformed)?;
    Ok((rest, *end))
}

const CAUSES: [Cause; 9] = [
    Cause::Error,
    Cause::Fatal,
    Cause::Discard,
    Cause::Unsupported,
    Cause::NotFinite,
    Cause::Lost,
    Cause::Timeout,
    Cause::Interrupted,
    Cause::HostLost,
];

fn cause_number(cause: Cause) -> u8 {
    let position = CAUSES.iter().position(|known| *known == cause);
    position
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(0)
}

fn cause_of(number: u8) -> Result<Cause, Malformed> {
    CAUSES.get(usize::from(number)).copied().ok_or(Malformed)
}

/// Answer of one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Answer<'a> {
    Stepped(StepOutcome),
    Reals(Numbers<'a, 8>),
    Value(Encoded<'a>),
    State(&'a [u8]),
}

impl<'a> Answer<'a> {
    #[inline]
    pub(super) fn take(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(match cursor.byte()? {
            STEPPED => Self::Stepped(StepOutcome::Done),
            TERMINATED => Self::Stepped(StepOutcome::Terminated(cursor.real()?)),
            REALS => {
                let count = cursor.word()? as usize;
                Self::Reals(cursor.numbers(count)?)
            }
            VALUE => Self::Value(Encoded::take(cursor)?),
            STATE => Self::State(cursor.block()?),
            _ => return Err(Malformed),
        })
    }
}

/// Reads a reply as the run does and counts the answers in it: all that the run does with
/// bytes before it uses them.
///
/// # Errors
/// If the bytes are not a reply.
pub fn check_reply(bytes: &[u8]) -> Result<u32, Malformed> {
    let head = Head::read(bytes)?;
    let mut cursor = Cursor::new(&bytes[..head.length]);
    let (mut count, mut value) = (0, Value::Real(0.0));
    while !cursor.is_at_end() {
        if let Answer::Value(sent) = Answer::take(&mut cursor)? {
            sent.read(&mut value)?;
        }
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn every_answer(reals: &[f64], text: &str) -> Reply {
        let mut reply = Reply::default();
        reply.stepped(StepOutcome::Done);
        reply.stepped(StepOutcome::Terminated(0.5));
        reply.reals(reals);
        reply.value(&Value::String(text.to_owned()));
        reply.value(&Value::Integer(7));
        reply.state(text.as_bytes());
        reply
    }

    #[test]
    fn faults_arrive_as_they_are() {
        for cause in CAUSES {
            let fault = UnitFault {
                log: Some("last words".to_owned()),
                reached: Some(0.1),
                ..*UnitFault::new("fmi2GetReal", cause, "message")
            };
            let mut reply = every_answer(&[1.0], "text");
            let answers = reply.bytes().len();
            reply.failed(6, &fault, 12);
            let head = Head::read(reply.bytes()).unwrap();
            assert_eq!((head.warnings, head.length), (12, answers));
            let expected = RequestOutcome::Failed {
                index: 6,
                fault: Box::new(fault),
            };
            assert_eq!(head.outcome, expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_is_read(
            reals in prop::collection::vec(any::<f64>(), 0..20),
            text in ".{0,20}",
        ) {
            let mut reply = every_answer(&reals, &text);
            reply.done(3);
            prop_assert_eq!(check_reply(reply.bytes()), Ok(6));
            let mut reply = every_answer(&reals, &text);
            reply.not_loaded(&text);
            prop_assert_eq!(check_reply(reply.bytes()), Ok(6));
        }

        #[test]
        fn any_bytes_are_a_reply_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            place in any::<prop::sample::Index>(),
            code in 0_u8..4,
        ) {
            let _ = check_reply(&bytes);
            let mut reply = every_answer(&[1.0, 2.0], "text");
            reply.failed(1, &UnitFault::new("fmi2DoStep", Cause::Error, "text"), 0);
            let mut sent = reply.bytes().to_vec();
            let start = place.index(sent.len());
            for (old, new) in sent[start..].iter_mut().zip(&bytes) {
                *old = *new;
            }
            let _ = check_reply(&sent);
            sent.push(code);
            let _ = check_reply(&sent);
            let _ = check_reply(&sent[..start]);
        }
    }
}
