//! How long calls of FMUs have not returned.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gyrator_fmu::flight_recorder::{Activity, readings};

use crate::board::{Board, Phase};

/// A stretch of time that has not ended.
type Stretch = Duration;

/// Watches the slots of all instances from look to look.
#[derive(Default)]
pub(crate) struct Stalls {
    last_look: Option<Instant>,
    /// For each slot in a call: its marker, and how long that has been so.
    calls: BTreeMap<usize, (u64, Stretch)>,
    /// The same for reading and unpacking archives.
    unpacking: BTreeMap<usize, (u64, Stretch)>,
    /// The same, counted from the wish to stop on.
    since_stop: BTreeMap<usize, (u64, Stretch)>,
    leaving: Stretch,
    /// Since the wish to stop: no call, and the same communication point.
    outside: Stretch,
    point: Option<u64>,
}

/// Longest stretches at this moment.
pub(crate) struct Longest {
    /// Of a call, or of loading a library.
    pub(crate) call: Duration,
    /// Of reading or unpacking an archive, in which no code of the FMU runs.
    pub(crate) unpacking: Duration,
    /// Of a call since the run was asked to stop.
    pub(crate) since_stop: Duration,
    /// Of no call and no step since the run was asked to stop.
    pub(crate) outside: Duration,
    /// Of the worker's own end.
    pub(crate) leaving: Duration,
}

impl Stalls {
    /// Looks at all slots. Time in which this process was stopped itself, as by Ctrl-Z or a
    /// closed lid, counts no more than twice the usual interval between looks.
    pub(crate) fn longest(&mut self, board: &Board, interval: Duration, stops: bool) -> Longest {
        let now = Instant::now();
        let passed = self
            .last_look
            .replace(now)
            .map_or(Duration::ZERO, |last| (now - last).min(2 * interval));
        // A call in a process of its own is timed there, and compilers have limits of their own.
        let (mut active, mut calls, mut unpacking) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (index, reading) in readings(board.slots) {
            if let Some(activity) = reading.activity {
                active.insert(index, reading.marker);
                let timed = match activity {
                    Activity::OwnProcess | Activity::Compile => continue,
                    Activity::Open | Activity::Unpack => &mut unpacking,
                    _ => &mut calls,
                };
                timed.insert(index, reading.marker);
            }
        }
        let point = board.position().map(|position| position.step);
        let is_idle = active.is_empty() && point == self.point;
        self.point = point;
        if stops {
            advance(&mut self.since_stop, &active, passed);
            self.outside = if is_idle {
                self.outside + passed
            } else {
                Duration::ZERO
            };
        }
        advance(&mut self.calls, &calls, passed);
        advance(&mut self.unpacking, &unpacking, passed);
        if board.phase().0 == Phase::Leaving {
            self.leaving += passed;
        }
        Longest {
            call: longest(&self.calls),
            unpacking: longest(&self.unpacking),
            since_stop: longest(&self.since_stop),
            outside: self.outside,
            leaving: self.leaving,
        }
    }
}

/// Keeps stretches whose markers are the same as before, and begins new ones.
fn advance(
    stretches: &mut BTreeMap<usize, (u64, Stretch)>,
    active: &BTreeMap<usize, u64>,
    passed: Duration,
) {
    stretches.retain(|index, (marker, _)| active.get(index) == Some(marker));
    for (index, marker) in active {
        let stretch = stretches.entry(*index).or_insert((*marker, Duration::ZERO));
        stretch.1 += passed;
    }
}

fn longest(stretches: &BTreeMap<usize, (u64, Stretch)>) -> Duration {
    stretches
        .values()
        .map(|(_, stretch)| *stretch)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_as_it_is_grows() {
        const TICK: Duration = Duration::from_secs(1);
        let mut stretches = BTreeMap::new();
        let hanging_and_working = |marker| BTreeMap::from([(3, 7), (5, marker)]);
        for marker in 0..4 {
            advance(&mut stretches, &hanging_and_working(marker), TICK);
        }
        assert_eq!(longest(&stretches), 4 * TICK);
        assert_eq!(stretches[&5].1, TICK, "a new call each time");
        advance(&mut stretches, &BTreeMap::new(), TICK);
        assert_eq!(longest(&stretches), Duration::ZERO);
    }
}
