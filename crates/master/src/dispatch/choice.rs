//! The choice between one thread and several, by measured times.
//!
//! The first steps are made on one thread, and each unit's time is measured. If several threads promise to be faster, some
//! steps are made as usual on one thread and some on several, and measured as wholes. The faster way is taken; it is looked
//! at now and then, and left if it has become the slower one, because the machine has other work or units have less. No
//! result depends on any of this.

/// Measurements of each unit, of which the shortest counts.
const UNIT_SAMPLES: u32 = 3;
/// Measurements of whole steps, of which the median counts.
const SAMPLES: usize = 5;
/// Measurements of several threads before those: the threads start, and units come into other caches.
const WARM_UP: usize = 3;
/// Time that several threads need besides the steps of the units, ns: waking, taking pieces, waiting for the last one, and what
/// units lose in other caches. Between threads that spin it is less than 1 µs; more keeps short steps from being tried at all.
const HAND_OVER: u64 = 3_000;
/// Several threads are tried if they promise this share of the time at most, and taken if they keep it.
const PROMISED: f64 = 0.8;
const KEPT: f64 = 0.9;
/// Steps between two looks at several threads.
const LOOK: u32 = 200;
/// Looks in a row that find several threads no faster than one before they are left.
const SLOW_LOOKS: u32 = 3;
/// Looks after which the units are measured again.
const LOOKS: u32 = 100;
/// Steps on one thread before several are thought of again: at first, and at most; each time twice as many.
const PAUSES: (u32, u32) = (1_000, 64_000);

/// How a step is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// On one thread.
    Usual,
    /// On one thread, each unit measured.
    Measuring,
    /// On several threads.
    Parallel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// On one thread, each unit measured.
    Measuring,
    /// On one thread as usual, measured.
    Comparing,
    /// On one thread.
    Serial,
    /// On several threads, measured.
    Trying,
    /// On several threads.
    Parallel,
}

/// The choice for a group of units.
#[derive(Debug)]
pub(crate) struct Choice {
    phase: Phase,
    /// Steps of a measurement: after so many all units have been due alike.
    cycle: u32,
    /// Steps until the next measurement.
    rest: u32,
    /// Steps on one thread from now on if several do not pay.
    pause: u32,
    /// The measurement in progress: its steps and their time, ns.
    measured: (u32, u64),
    samples: Vec<u64>,
    /// Cycles of units that were measured.
    cycles: u32,
    /// Time of a cycle on one thread, ns.
    serial: u64,
    looks: u32,
    slow_looks: u32,
}

impl Choice {
    /// For units of which each is due alike after `cycle` steps.
    pub(crate) fn new(cycle: u32) -> Self {
        Self {
            phase: Phase::Measuring,
            cycle: cycle.max(1),
            rest: 0,
            pause: PAUSES.0,
            measured: (0, 0),
            samples: Vec::with_capacity(WARM_UP + SAMPLES),
            cycles: 0,
            serial: 0,
            looks: 0,
            slow_looks: 0,
        }
    }

    /// How the next step is made, and whether it is timed.
    #[inline]
    pub(crate) fn next(&mut self) -> (Way, bool) {
        let is_timed = self.rest == 0;
        if !is_timed {
            self.rest -= 1;
        } else if self.phase == Phase::Serial {
            self.begin(Phase::Measuring);
        }
        let way = match self.phase {
            Phase::Measuring => Way::Measuring,
            Phase::Comparing | Phase::Serial => Way::Usual,
            Phase::Trying | Phase::Parallel => Way::Parallel,
        };
        (way, is_timed)
    }

    /// Whether units are measured.
    pub(crate) fn is_measuring(&self) -> bool {
        self.phase == Phase::Measuring
    }

    /// Records the time of a step that was timed, ns. Returns whether a cycle of measured units has ended with it.
    pub(crate) fn record(&mut self, nanoseconds: u64) -> bool {
        let (steps, time) = &mut self.measured;
        *steps += 1;
        *time += nanoseconds;
        if *steps < self.cycle {
            return false;
        }
        let (_, time) = std::mem::take(&mut self.measured);
        match self.phase {
            Phase::Parallel => self.look(time),
            Phase::Comparing | Phase::Trying => self.samples.push(time),
            Phase::Measuring => self.cycles += 1,
            Phase::Serial => {}
        }
        self.phase == Phase::Measuring
    }

    /// Decides on the way of the next steps, if enough was measured. `times` are the units' times in a cycle, ns, each alone.
    /// Returns whether several threads are to be tried.
    pub(crate) fn decide(&mut self, threads: usize, times: &[u64]) -> bool {
        match self.phase {
            Phase::Measuring if self.cycles == UNIT_SAMPLES => {
                let (serial, parallel) = promised(self.cycle, threads, times);
                if (parallel as f64) < PROMISED * serial as f64 {
                    self.begin(Phase::Comparing);
                    return true;
                }
                self.stay_serial();
            }
            Phase::Comparing if self.samples.len() == SAMPLES => {
                self.serial = median(&mut self.samples);
                self.begin(Phase::Trying);
            }
            Phase::Trying if self.samples.len() == WARM_UP + SAMPLES => {
                let parallel = median(&mut self.samples[WARM_UP..]);
                if (parallel as f64) < KEPT * self.serial as f64 {
                    self.begin(Phase::Parallel);
                    self.rest = LOOK;
                    self.pause = PAUSES.0;
                } else {
                    self.stay_serial();
                }
            }
            _ => {}
        }
        false
    }

    /// Looks at a cycle on several threads.
    fn look(&mut self, time: u64) {
        self.looks += 1;
        self.slow_looks = match time < self.serial {
            true => 0,
            false => self.slow_looks + 1,
        };
        self.rest = match self.slow_looks {
            0 => LOOK,
            _ => 0,
        };
        if self.slow_looks == SLOW_LOOKS || self.looks == LOOKS {
            self.begin(Phase::Measuring);
        }
    }

    /// Takes one thread for a while, and for longer each time.
    pub(crate) fn stay_serial(&mut self) {
        self.begin(Phase::Serial);
        self.rest = self.pause;
        self.pause = (2 * self.pause).min(PAUSES.1);
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        (self.rest, self.looks, self.slow_looks) = (0, 0, 0);
        (self.measured, self.cycles) = ((0, 0), 0);
        self.samples.clear();
    }
}

/// Times of a cycle on one thread and on several as the times of the units promise them, ns: several are not faster than
/// the longest unit, nor than an equal share of all.
fn promised(cycle: u32, threads: usize, times: &[u64]) -> (u64, u64) {
    let sum = times.iter().sum();
    let longest = times.iter().copied().max().unwrap_or(0);
    let share = sum / threads.max(1) as u64;
    (sum, longest.max(share) + HAND_OVER * u64::from(cycle))
}

fn median(samples: &mut [u64]) -> u64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps before several threads are tried.
    const FIRST: usize = UNIT_SAMPLES as usize + SAMPLES;

    /// Makes steps of units with these times, ns; `parallel` is the time on several threads. Returns how many of the steps were
    /// made on several.
    fn make(choice: &mut Choice, steps: usize, times: &[u64], parallel: u64) -> usize {
        let mut count = 0;
        for _ in 0..steps {
            let (way, is_timed) = choice.next();
            count += usize::from(way == Way::Parallel);
            if is_timed {
                choice.record(match way {
                    Way::Usual => times.iter().sum(),
                    // The clock also takes time.
                    Way::Measuring => 2 * times.iter().sum::<u64>(),
                    Way::Parallel => parallel,
                });
                choice.decide(2, times);
            }
        }
        count
    }

    #[test]
    fn long_steps_are_made_on_several_threads() {
        let mut choice = Choice::new(1);
        let times = [40_000; 4];
        assert_eq!(make(&mut choice, FIRST, &times, 82_000), 0);
        assert_eq!(make(&mut choice, 10_000, &times, 82_000), 10_000);
        // Now and then some steps measure the units again.
        let count = make(&mut choice, 100_000, &times, 82_000);
        assert!((99_900..100_000).contains(&count), "{count}");
    }

    #[test]
    fn cheap_steps_are_never_tried_on_several() {
        for times in [&[50; 100][..], &[500, 400], &[900_000, 100, 100], &[]] {
            let mut choice = Choice::new(1);
            assert_eq!(make(&mut choice, 200_000, times, 1), 0, "{times:?}");
        }
    }

    /// A machine without a core to spare does not keep what the times promise.
    #[test]
    fn a_promise_that_is_not_kept_is_tried_less_and_less() {
        let mut choice = Choice::new(1);
        let times = [40_000; 4];
        let tries = |steps: usize, choice: &mut Choice| make(choice, steps, &times, 170_000);
        let trial = WARM_UP + SAMPLES;
        assert_eq!(tries(900, &mut choice), trial);
        assert_eq!(tries(100_000, &mut choice) / trial, 6);
        let late = tries(1_000_000, &mut choice);
        assert!(late / trial <= 1_000_000 / 64_000 + 1, "{late}");
    }

    #[test]
    fn several_threads_are_left_where_they_become_slow_and_taken_again() {
        let mut choice = Choice::new(1);
        let times = [40_000; 4];
        make(&mut choice, 1_000, &times, 85_000);
        // One slow step is none.
        let rest = choice.rest as usize;
        make(&mut choice, rest + 1, &times, 900_000);
        assert_eq!(make(&mut choice, 1_000, &times, 85_000), 1_000);
        let slow = make(&mut choice, 10_000, &times, 200_000);
        assert!(slow < 300, "{slow}");
        let fast = make(&mut choice, 20_000, &times, 85_000);
        assert!(fast > 10_000, "{fast}");
    }

    #[test]
    fn units_that_become_cheap_are_stepped_on_one_thread_again() {
        let mut choice = Choice::new(1);
        make(&mut choice, 1_000, &[40_000; 4], 85_000);
        // On several threads they are not slower than they were on one, until they are measured again.
        make(&mut choice, (LOOK * LOOKS) as usize, &[100; 4], 2_000);
        assert_eq!(make(&mut choice, 900, &[100; 4], 2_000), 0);
    }

    /// Two units, of which one is due at every other step.
    #[test]
    fn steps_that_differ_are_measured_in_whole_cycles() {
        let mut choice = Choice::new(2);
        let mut parallel = 0;
        for index in 0..1_000_u64 {
            let (way, is_timed) = choice.next();
            let is_parallel = way == Way::Parallel;
            parallel += usize::from(is_parallel);
            let time = match (index % 2 == 0, is_parallel) {
                (true, false) => 60_000,
                (true, true) => 31_000,
                (false, _) => 30_000,
            };
            if is_timed {
                choice.record(time);
                choice.decide(2, &[60_000, 30_000]);
            }
        }
        assert_eq!(parallel, 1_000 - 2 * FIRST);
    }
}
