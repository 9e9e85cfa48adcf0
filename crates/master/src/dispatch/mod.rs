//! Steps of units on one thread or on several.
//!
//! The order of work depends on the clock here, and never a result: units step in an order that nothing sees, and each has a fault of
//! its own. The threads start when several are tried for the first time.

mod choice;
mod deal;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gyrator_fmu::thread_team::ThreadTeam;

use choice::Choice;
pub(crate) use choice::Way;
pub(crate) use deal::Deal;

/// The clock by which a run chooses how it makes its steps: on one thread or on several. No result depends on it.
///
/// By default it is the machine's, which never goes back. A test gives another one, and has the same choice every time.
#[derive(Clone)]
pub struct StepClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl StepClock {
    /// A clock with the time since any fixed moment.
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }
}

impl Default for StepClock {
    fn default() -> Self {
        let begin = Instant::now();
        Self::new(move || begin.elapsed())
    }
}

impl fmt::Debug for StepClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepClock").finish_non_exhaustive()
    }
}

/// The threads of a run, and the groups of units that step at once.
#[derive(Debug)]
pub(crate) struct Dispatch {
    /// Threads, this one too.
    threads: usize,
    clock: StepClock,
    team: Option<ThreadTeam>,
    /// Why it has no threads.
    failure: Option<String>,
    groups: Vec<Group>,
}

/// A step of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    group: usize,
    pub(crate) way: Way,
    /// Its begin by the clock, ns, if it is timed.
    begin: Option<u64>,
}

/// Units that step at once.
#[derive(Debug)]
struct Group {
    /// Ascending.
    components: Vec<usize>,
    choice: Choice,
    /// Time of each in the cycle that is measured, and the shortest of a cycle, ns.
    cycle_times: Vec<u64>,
    times: Vec<u64>,
    deal: Deal,
}

impl Dispatch {
    /// On so many threads; `None` if one is enough.
    pub(crate) fn new(threads: usize, clock: &StepClock) -> Option<Self> {
        (threads > 1).then(|| Self {
            threads,
            clock: clock.clone(),
            team: None,
            failure: None,
            groups: Vec::new(),
        })
    }

    /// Why several threads were wanted and could not be started.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How the group of these components makes its next step; `cycle` is the number of steps after which all of them are due
    /// alike.
    #[inline]
    pub(crate) fn next(&mut self, components: &[usize], cycle: impl FnOnce() -> u32) -> Turn {
        let mut groups = self.groups.iter();
        let group = match groups.position(|group| group.components == components) {
            Some(group) => group,
            None => self.add(components, cycle()),
        };
        self.next_of(group)
    }

    #[inline]
    fn next_of(&mut self, group: usize) -> Turn {
        let (mut way, mut is_timed) = self.groups[group].choice.next();
        if way == Way::Parallel && self.team.is_none() {
            (way, is_timed) = (self.start(group), false);
        }
        let begin = is_timed.then(|| self.now());
        Turn { group, way, begin }
    }

    #[cold]
    fn add(&mut self, components: &[usize], cycle: u32) -> usize {
        self.groups.push(Group {
            components: components.to_vec(),
            choice: Choice::new(cycle),
            cycle_times: vec![0; components.len()],
            times: vec![u64::MAX; components.len()],
            deal: Deal::default(),
        });
        self.groups.len() - 1
    }

    /// Starts the threads. If there can be none, all steps are made on this one.
    #[cold]
    fn start(&mut self, group: usize) -> Way {
        if self.failure.is_none() {
            match ThreadTeam::start(self.threads - 1) {
                Ok(team) => self.team = Some(team),
                Err(error) => {
                    let threads = self.threads;
                    self.failure = Some(format!("{threads} threads could not be started: {error}"));
                }
            }
        }
        match self.team {
            Some(_) => Way::Parallel,
            None => {
                self.groups[group].choice.stay_serial();
                Way::Usual
            }
        }
    }

    /// Nanoseconds since a fixed moment.
    pub(crate) fn now(&self) -> u64 {
        (self.clock.0)().as_nanos() as u64
    }

    /// The pieces of a group, and the threads that take them.
    pub(crate) fn team(&mut self, turn: &Turn) -> Option<(&Deal, &mut ThreadTeam)> {
        Some((&self.groups[turn.group].deal, self.team.as_mut()?))
    }

    /// Records the time that a unit has taken on this thread, by its place in the group, ns.
    pub(crate) fn record_unit(&mut self, turn: &Turn, place: usize, time: u64) {
        self.groups[turn.group].cycle_times[place] += time;
    }

    /// Records the end of a step that was timed, and chooses how the next ones are made. `is_dealt` says of a component whether
    /// threads may step it.
    pub(crate) fn end(&mut self, turn: &Turn, is_dealt: impl Fn(usize) -> bool) {
        let Some(begin) = turn.begin else {
            return;
        };
        let time = self.now().saturating_sub(begin);
        let Group {
            components,
            choice,
            cycle_times,
            times,
            deal,
        } = &mut self.groups[turn.group];
        if choice.record(time) {
            for (shortest, time) in times.iter_mut().zip(&mut *cycle_times) {
                *shortest = (*shortest).min(std::mem::take(time));
            }
        }
        if choice.decide(self.threads, times) {
            let units = components.iter().copied().zip(times.iter().copied());
            *deal = Deal::new(units.filter(|(unit, _)| is_dealt(*unit)), self.threads);
        }
        if !choice.is_measuring() {
            times.fill(u64::MAX);
        }
    }
}
