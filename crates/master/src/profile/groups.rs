//! Times of FMUs that are called together. A group of the engine measures its calls by it; it changes no call.
//!
//! The first macro-steps, which are all timed, and the macro-steps of a trace show what each member takes: the group lets
//! them be called one by one then. In the others it measures its calls as a whole, one macro-step in 16, and the members have
//! shares of that time as they had of those macro-steps. Members that take long are called one by one, because each of their
//! calls is timed.

use std::sync::Arc;

use super::calls::{Call, Calls};
use super::sampling::{Tally, Timing};
use super::units::ProfiledUnit;
use super::{Profile, lock};
use crate::unit::FmuUnit;

/// The calls that a group makes.
const CALLS: [Call; 3] = [Call::Set, Call::Step, Call::Get];

/// Measures the calls of a group.
pub(crate) struct GroupProfile {
    profile: Profile,
    calls: Arc<GroupCalls>,
    /// A member takes long.
    has_long: bool,
}

/// Calls of a group, each of all members that take it.
#[derive(Debug)]
pub(super) struct GroupCalls {
    members: Vec<GroupMember>,
    tallies: [Tally; CALLS.len()],
}

#[derive(Debug)]
struct GroupMember {
    calls: Arc<Calls>,
    /// It takes each of the [`CALLS`].
    takes: [bool; CALLS.len()],
}

impl GroupMember {
    /// Mean time of a call as far as it was timed by itself, s.
    fn mean(&self, place: usize) -> f64 {
        let tally = self.calls.tally(CALLS[place]);
        match (self.takes[place], tally.calls()) {
            (false, _) | (_, 0) => 0.0,
            (true, calls) => tally.seconds() / calls as f64,
        }
    }
}

impl GroupCalls {
    /// Calls of a component in the group, and their time, s.
    pub(super) fn of(&self, calls: &Arc<Calls>, call: Call) -> (u64, f64) {
        let place = CALLS.iter().position(|own| *own as u32 == call as u32);
        let is_own = |member: &&GroupMember| Arc::ptr_eq(&member.calls, calls);
        let (Some(place), Some(member)) = (place, self.members.iter().find(is_own)) else {
            return (0, 0.0);
        };
        if !member.takes[place] {
            return (0, 0.0);
        }
        let tally = &self.tallies[place];
        let takers = self.members.iter().filter(|member| member.takes[place]);
        let all: f64 = self.members.iter().map(|member| member.mean(place)).sum();
        let share = match member.mean(place) / all {
            share if share.is_finite() => share,
            _ => 1.0 / takers.count() as f64,
        };
        (tally.calls(), share * tally.seconds())
    }

    pub(super) fn stretches(&self) -> u64 {
        self.tallies.iter().map(Tally::timed_calls).sum()
    }
}

impl GroupProfile {
    /// Of these members, each with whether it takes each [`GroupCall`]; `None` if one has no profile.
    pub(crate) fn of<'a>(
        members: impl Iterator<Item = (Option<&'a ProfiledUnit<FmuUnit>>, [bool; CALLS.len()])>,
    ) -> Option<Self> {
        let mut profile = None;
        let member = |(unit, takes): (Option<&'a ProfiledUnit<FmuUnit>>, [bool; CALLS.len()])| {
            let (own, calls) = unit?.profile()?;
            profile = Some(own.clone());
            Some(GroupMember {
                calls: Arc::clone(calls),
                takes,
            })
        };
        let members: Vec<GroupMember> = members.map(member).collect::<Option<_>>()?;
        let profile = profile?;
        let calls = Arc::new(GroupCalls {
            members,
            tallies: Default::default(),
        });
        lock(&profile.0.groups).push(Arc::clone(&calls));
        Some(Self {
            profile,
            calls,
            has_long: false,
        })
    }

    /// Whether the members may be called together in this macro-step.
    #[inline]
    pub(crate) fn lets_call_together(&self) -> bool {
        !self.has_long && self.profile.0.timing.get() != Timing::All
    }

    /// The members have made a step one by one: looks for those that take long.
    pub(crate) fn look(&mut self) {
        let is_long = |member: &GroupMember| CALLS.iter().any(|c| member.calls.tally(*c).is_long());
        self.has_long = self.calls.members.iter().any(is_long);
    }

    /// Makes a call of all members that take it. One that fails is not counted: its members are, one by one.
    #[inline]
    pub(crate) fn measured<T, E>(
        &self,
        call: GroupCall,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let tally = &self.calls.tallies[call as usize];
        let Some(stands) = Tally::stands_around(self.profile.0.timing.get()) else {
            let result = act();
            if result.is_ok() {
                tally.count();
            }
            return result;
        };
        let (result, stretch) = self.profile.0.measure(act);
        if result.is_ok() {
            tally.count();
            tally.add(stands, stretch.own);
        }
        result
    }
}

/// A call of a group, by its place among those.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GroupCall {
    Set,
    Step,
    Get,
}

impl GroupCall {
    /// Counts it as a call of one member, which an interruption has taken out of the call of all.
    pub(crate) fn count(self, unit: &ProfiledUnit<FmuUnit>) {
        if let Some((_, calls)) = unit.profile() {
            calls.tally(CALLS[self as usize]).count();
        }
    }
}
