//! Two recordings of the same calls.

use std::io::{Read, Seek};

use crate::replay::call::{Answer, Call};
use crate::replay::recording::{ReadError, Recording};

/// A call with its answer; without one if the recording ends within the call.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The call.
    pub call: Call,
    /// The answer.
    pub answer: Option<Answer>,
}

impl Exchange {
    /// Whether the call has come to no end: it was not answered, or by the loss of the FMU's process.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.answer.as_ref().is_none_or(Answer::is_loss)
    }
}

/// The first exchange that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// As it was recorded; `None` if the recording has ended before.
    pub recorded: Option<Exchange>,
    /// As it was made again; `None` if that has ended before.
    pub replayed: Option<Exchange>,
}

/// The common part of two recordings.
#[derive(Debug, Clone, PartialEq)]
pub enum Agreement {
    /// All answers are the same in every bit, and the last call came to its end.
    Equal,
    /// All answers are the same in every bit up to this call, which came to no end either time.
    SameEnd(Exchange),
    /// They differ.
    Different(Box<Difference>),
}

/// Two recordings side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Calls with equal answers.
    pub equal: u64,
    /// Communication point that was reached with them, s.
    pub time: Option<f64>,
    /// Faults among the equal answers, and the last one of them.
    pub faults: u64,
    /// The last call that was refused with an equal answer.
    pub last_fault: Option<Exchange>,
    /// The rest.
    pub agreement: Agreement,
}

/// Compares a recording with one of the calls made again, until the first difference.
///
/// # Errors
/// If one of them is damaged.
pub fn compare<A: Read + Seek, B: Read + Seek>(
    recorded: &mut Recording<A>,
    replayed: &mut Recording<B>,
) -> Result<Comparison, ReadError> {
    let exchange = |(call, answer)| Exchange { call, answer };
    let mut comparison = Comparison {
        equal: 0,
        time: None,
        faults: 0,
        last_fault: None,
        agreement: Agreement::Equal,
    };
    loop {
        let before = recorded.next()?.map(exchange);
        let now = replayed.next()?.map(exchange);
        let (before, now) = match (before, now) {
            (None, None) => return Ok(comparison),
            (Some(before), Some(now)) => (before, now),
            (recorded, replayed) => {
                comparison.agreement = different(recorded, replayed);
                return Ok(comparison);
            }
        };
        // The numbers of a call come from the recording.
        let is_same = match (&before.answer, &now.answer) {
            _ if before.call.function() != now.call.function() => false,
            _ if before.is_unfinished() && now.is_unfinished() => {
                comparison.agreement = Agreement::SameEnd(before);
                return Ok(comparison);
            }
            (Some(before), Some(now)) => before.is_same(now),
            _ => false,
        };
        if !is_same {
            comparison.agreement = different(Some(before), Some(now));
            return Ok(comparison);
        }
        comparison.equal += 1;
        if let (Call::Step { time, step }, Some(Answer::Done)) = (&before.call, &before.answer) {
            comparison.time = Some(time + step);
        }
        if matches!(before.answer, Some(Answer::Fault { .. })) {
            comparison.faults += 1;
            comparison.last_fault = Some(before);
        }
    }
}

fn different(recorded: Option<Exchange>, replayed: Option<Exchange>) -> Agreement {
    Agreement::Different(Box::new(Difference { recorded, replayed }))
}
