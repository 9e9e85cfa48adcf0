//! Reads that are sent along with a step, because they followed the last one.

use gyrator::error::UnitFault;

use super::request::Request;

/// Learns which reads follow a step, and after how many steps they come.
///
/// Only reads that are sure to come are sent ahead: an FMU whose outputs were read once more often
/// than in the run's own process might compute other bits.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    /// The reads that followed the last step that was followed by some.
    expected: Request,
    /// The reads since the last step.
    observed: Request,
    /// Steps since the last read, and from one read to the next.
    steps: u32,
    period: u32,
    /// A step was made, and nothing was changed since.
    follows_step: bool,
    answers: Option<Answers>,
}

/// The ranges of the answers to reads that were sent ahead.
#[derive(Debug)]
struct Answers {
    /// Byte of `expected` at which the next read begins.
    question: usize,
    /// Bytes of the reply that are not used yet.
    reply: std::ops::Range<usize>,
    /// Fault after the last answer.
    fault: Option<Box<UnitFault>>,
}

/// Answer to a read, if it is known.
#[derive(Debug)]
pub(super) enum Known {
    /// The answer lies in the last reply, in these bytes and maybe beyond.
    Answer(std::ops::Range<usize>),
    /// The read has failed.
    Fault(Box<UnitFault>),
    /// Nothing: the worker has to be asked.
    Nothing,
}

impl ReadAhead {
    /// The reads to send along with the step that comes now.
    #[inline]
    pub(super) fn before_step(&mut self) -> Option<&Request> {
        if !self.observed.is_empty() {
            std::mem::swap(&mut self.expected, &mut self.observed);
            self.observed.clear();
        }
        self.answers = None;
        self.follows_step = true;
        self.steps = self.steps.saturating_add(1);
        let is_due = self.steps == self.period && !self.expected.is_empty();
        is_due.then_some(&self.expected)
    }

    /// The reads were made with the step; their answers lie in these bytes of the reply, up to what
    /// has failed.
    #[inline]
    pub(super) fn answered(
        &mut self,
        reply: std::ops::Range<usize>,
        fault: Option<Box<UnitFault>>,
    ) {
        self.answers = Some(Answers {
            question: 0,
            reply,
            fault,
        });
    }

    /// Something is changed: values that are read from now on were not read ahead.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.answers = None;
        self.follows_step = false;
    }

    /// Whether the answer to this read is there.
    #[inline]
    pub(super) fn look_up(&mut self, question: &Request) -> Known {
        if !self.follows_step {
            return Known::Nothing;
        }
        if self.observed.is_empty() {
            self.period = std::mem::take(&mut self.steps);
        }
        self.observed.append(question);
        let Some(answers) = &mut self.answers else {
            return Known::Nothing;
        };
        let rest = self.expected.bytes().get(answers.question..);
        if !rest.is_some_and(|rest| rest.starts_with(question.bytes())) {
            self.answers = None;
            return Known::Nothing;
        }
        answers.question += question.bytes().len();
        if answers.reply.is_empty()
            && let Some(fault) = &answers.fault
        {
            return Known::Fault(fault.clone());
        }
        Known::Answer(answers.reply.clone())
    }

    /// The answer that was looked up ends here.
    #[inline]
    pub(super) fn advance_to(&mut self, end: usize) {
        if let Some(answers) = &mut self.answers {
            answers.reply.start = end;
        }
    }

    /// The last reply is about to be overwritten.
    #[inline]
    pub(super) fn drop_answers(&mut self) {
        self.answers = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(handle: u32) -> Request {
        let mut request = Request::default();
        request.get_reals(&[handle]);
        request
    }

    fn is_unknown(ahead: &mut ReadAhead, handle: u32) -> bool {
        matches!(ahead.look_up(&read(handle)), Known::Nothing)
    }

    #[test]
    fn what_followed_a_step_is_sent_with_the_next() {
        let mut ahead = ReadAhead::default();
        assert!(is_unknown(&mut ahead, 7), "before the first step");
        assert!(ahead.before_step().is_none());
        assert!(is_unknown(&mut ahead, 1) && is_unknown(&mut ahead, 2));
        let mut both = read(1);
        both.append(&read(2));
        assert_eq!(ahead.before_step(), Some(&both));
        ahead.answered(10..30, None);
        assert!(matches!(ahead.look_up(&read(1)), Known::Answer(range) if range == (10..30)));
        ahead.advance_to(20);
        assert!(matches!(ahead.look_up(&read(2)), Known::Answer(range) if range == (20..30)));
        ahead.advance_to(30);
        assert!(is_unknown(&mut ahead, 3), "not expected");
    }

    #[test]
    fn reads_of_every_third_step_wait_for_it() {
        let mut ahead = ReadAhead::default();
        for round in 0..4 {
            for step in 0..3 {
                let sent = ahead.before_step().is_some();
                assert_eq!(sent, round > 0 && step == 2);
                if sent {
                    ahead.answered(0..9, None);
                }
            }
            let is_known = matches!(ahead.look_up(&read(1)), Known::Answer(_));
            assert_eq!(is_known, round > 0);
        }
    }

    #[test]
    fn a_change_makes_the_answers_old() {
        let mut ahead = ReadAhead::default();
        ahead.before_step();
        assert!(is_unknown(&mut ahead, 1));
        ahead.before_step();
        ahead.answered(0..9, None);
        ahead.forget();
        assert!(is_unknown(&mut ahead, 1));
    }

    #[test]
    fn a_read_that_has_failed_fails_when_its_turn_comes() {
        let mut ahead = ReadAhead::default();
        ahead.before_step();
        assert!(is_unknown(&mut ahead, 1) && is_unknown(&mut ahead, 2));
        ahead.before_step();
        let fault = UnitFault::new("fmi2GetReal", gyrator::error::Cause::Error, "test");
        ahead.answered(0..9, Some(fault));
        assert!(matches!(ahead.look_up(&read(1)), Known::Answer(_)));
        ahead.advance_to(9);
        assert!(matches!(ahead.look_up(&read(2)), Known::Fault(_)));
    }
}
