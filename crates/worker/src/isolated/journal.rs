//! Data that bring a new worker to the point of the old one: its state of some steps ago as bytes, and
//! all requests since.

use gyrator_system::Restart;

use super::request::{Rare, Request};

/// Keeps the requests to repeat to a new worker, for a component that may be started again.
#[derive(Debug)]
pub(super) struct Journal {
    /// Restarts that are left, and restarts that were allowed.
    left: u32,
    times: u32,
    /// Steps from one state to the next, and since the last one.
    every: u32,
    steps: u32,
    /// All until the end of the initialisation, which every new instance has to go through.
    beginning: Request,
    is_initialized: bool,
    /// The last state.
    state: Option<Vec<u8>>,
    /// All since then.
    since: Request,
}

impl Journal {
    pub(super) fn new(restart: Restart) -> Self {
        Self {
            left: restart.times,
            times: restart.times,
            every: restart.every,
            steps: 0,
            beginning: Request::default(),
            is_initialized: false,
            state: None,
            since: Request::default(),
        }
    }

    /// The worker has done what was asked.
    #[inline]
    pub(super) fn record(&mut self, request: &Request) {
        if self.is_initialized {
            self.since.append(request);
        } else {
            self.beginning.append(request);
        }
    }

    /// The initialisation has ended with what was noted last.
    pub(super) fn exit_initialization_mode(&mut self) {
        self.is_initialized = true;
    }

    /// Counts a step; whether the state is to be asked for after it.
    #[inline]
    pub(super) fn count_step(&mut self) -> bool {
        self.steps += 1;
        self.steps >= self.every
    }

    /// The state after all that was noted.
    pub(super) fn keep(&mut self, state: &[u8]) {
        let kept = self.state.get_or_insert_default();
        kept.clear();
        kept.extend_from_slice(state);
        self.since.clear();
        self.steps = 0;
    }

    /// Takes one of the restarts: the request to a new worker, after it has loaded the FMU.
    pub(super) fn restart(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let mut request = self.beginning.clone();
        if let Some(state) = &self.state {
            request.rare(&Rare::Deserialize(state));
        }
        request.append(&self.since);
        Some(request)
    }

    /// Which restart the last one was, and how many are allowed.
    pub(super) fn count(&self) -> (u32, u32) {
        (self.times - self.left, self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(time: f64) -> Request {
        let mut request = Request::default();
        request.step(time, 0.5);
        request
    }

    #[test]
    fn a_new_worker_receives_the_beginning_the_state_and_the_calls_since() {
        let mut journal = Journal::new(Restart { times: 2, every: 2 });
        let mut beginning = Request::default();
        beginning.rare(&Rare::ExitInitializationMode);
        journal.record(&beginning);
        journal.exit_initialization_mode();
        assert!(!journal.count_step());
        journal.record(&step(0.0));
        let mut expected = beginning.clone();
        expected.append(&step(0.0));
        assert_eq!(journal.restart(), Some(expected));
        assert!(journal.count_step());
        journal.record(&step(0.5));
        journal.keep(&[1, 2, 3]);
        journal.record(&step(1.0));
        let mut expected = beginning;
        expected.rare(&Rare::Deserialize(&[1, 2, 3]));
        expected.append(&step(1.0));
        assert_eq!(journal.restart(), Some(expected));
        assert_eq!(journal.count(), (2, 2));
        assert_eq!(journal.restart(), None);
    }
}
