//! How long the two sides spin before they go to sleep.

use std::time::Duration;

pub(super) use gyrator_fmu::thread_team::WaitPolicy;

/// Longest spinning times of the run and its workers, given the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spinning {
    /// Longest time that the run spins for an answer.
    pub(super) run: Duration,
    /// Longest time that a worker spins for its next message.
    pub(super) worker: Duration,
}

impl Spinning {
    /// Longer than what the other components of a system usually take between two messages.
    const LONG: Duration = Duration::from_micros(100);

    /// If every worker and every thread of the run has a core, all spin. If only one of the
    /// workers has one while the run waits for it, the run spins, and the workers leave their core
    /// to each other. On one core nothing spins.
    pub(super) fn on(cores: usize, workers: usize, threads: usize) -> Self {
        let threads = threads.max(1);
        let spin_if = |enough: bool| if enough { Self::LONG } else { Duration::ZERO };
        Self {
            run: spin_if(cores > threads),
            worker: spin_if(cores >= workers + threads),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_spins_follows_the_cores() {
        let spins = |cores, workers, threads| {
            let spinning = Spinning::on(cores, workers, threads);
            (!spinning.run.is_zero(), !spinning.worker.is_zero())
        };
        assert_eq!(spins(1, 1, 1), (false, false));
        assert_eq!(spins(2, 1, 1), (true, true));
        assert_eq!(spins(2, 2, 1), (true, false));
        assert_eq!(spins(4, 3, 0), (true, true));
        assert_eq!(spins(4, 2, 4), (false, false));
    }
}
