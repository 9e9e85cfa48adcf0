//! FMUs in this process that step at one rate, called from compact records one after the other.
//!
//! The plan gets a group for the FMUs that one of its operations steps, whatever else that operation steps. The engine sets,
//! steps and reads it when all of it is due. A group never decides what is due, and gives no status a meaning: what is
//! unusual goes through the units.

use std::ops::Range;

use gyrator_fmu::{Instance, Interruption, Lane, Ports};

use super::Member;
use crate::fault::UnitFault;
use crate::profile::{GroupCall, GroupProfile};
use crate::step::{Phase, Step};
use crate::unit::UnitResult;

/// The component of a fault, and its cause.
type MemberFault = (usize, Box<UnitFault>);

/// FMUs that are called together.
pub(crate) struct Group {
    /// Ascending.
    pub(crate) components: Vec<usize>,
    /// Their inputs, in few ranges.
    pub(crate) inputs: Vec<Range<usize>>,
    /// Numbers of those with inputs, and with outputs.
    pub(crate) set: u64,
    pub(crate) read: u64,
    pub(crate) every: u64,
    lane: Lane,
    /// The coming step may be made by the lane.
    is_ready: bool,
    /// The last step was, and was simply well.
    has_stepped: bool,
    profile: Option<GroupProfile>,
}

impl Group {
    /// The groups of the components that an operation steps at once.
    pub(crate) fn of<'a>(
        members: &'a [Member],
        components: &'a [usize],
    ) -> impl Iterator<Item = Self> + 'a {
        let mut rates: Vec<u64> = Vec::new();
        for component in components {
            let every = members[*component].every;
            if !rates.contains(&every) {
                rates.push(every);
            }
        }
        rates.into_iter().filter_map(move |every| {
            let is_one = |component: &&usize| members[**component].every == every;
            Self::new(members, components.iter().filter(is_one), every)
        })
    }

    fn new<'a>(
        members: &[Member],
        components: impl Iterator<Item = &'a usize>,
        every: u64,
    ) -> Option<Self> {
        let is_grouped = |component: &usize| {
            let member = &members[*component];
            member.takes_one_step() && member.slot.instance().is_some()
        };
        let components: Vec<usize> = components.copied().filter(is_grouped).collect();
        let records = components.iter().filter_map(|component| {
            let member = &members[*component];
            let ports = Ports {
                inputs: &member.input_handles,
                first_input: member.inputs.start,
                outputs: &member.output_handles,
                first_output: member.outputs.start,
            };
            Some((member.slot.instance()?, ports))
        });
        let lane = Lane::new(records)?;
        let mut inputs: Vec<Range<usize>> = Vec::new();
        for component in &components {
            let own = members[*component].inputs.clone();
            match inputs.last_mut() {
                Some(last) if last.end == own.start => last.end = own.end,
                _ => inputs.push(own),
            }
        }
        let count = |has_ports: fn(&Member) -> bool| {
            let members = components.iter().map(|component| &members[*component]);
            members.filter(|member| has_ports(member)).count() as u64
        };
        let profiled = components.iter().map(|component| {
            let member = &members[*component];
            (member.slot.fmu(), takes(member))
        });
        Some(Self {
            profile: GroupProfile::of(profiled),
            set: count(|member| !member.inputs.is_empty()),
            read: count(|member| !member.outputs.is_empty()),
            inputs,
            every,
            lane,
            is_ready: false,
            has_stepped: false,
            components,
        })
    }

    /// As [`Member::is_due_at`].
    #[inline]
    pub(crate) fn is_due_at(&self, phase: Phase, step: &Step) -> bool {
        let index = match phase {
            Phase::Begin => step.index,
            Phase::End => step.index + 1,
        };
        self.every == 1 || index.is_multiple_of(self.every)
    }

    /// Sets the inputs, of the `values` of all.
    #[inline]
    pub(crate) fn set(
        &mut self,
        members: &mut [Member],
        values: &[f64],
        step: &Step,
    ) -> Result<(), MemberFault> {
        self.is_ready = self.is_ready(members);
        let held = match self.is_ready {
            true => self.lane.hold(instances(members, &self.components)),
            false => None,
        };
        let interruption = match held.map(|mut held| {
            measured(&self.profile, GroupCall::Set, || {
                held.set(values, step.time)
            })
        }) {
            Some(Ok(())) => return Ok(()),
            Some(Err(interruption)) => Some(interruption),
            None => None,
        };
        self.one_by_one(
            members,
            (GroupCall::Set, interruption.as_ref()),
            |member, own| {
                let values = &values[member.inputs.clone()];
                match own {
                    _ if values.is_empty() => Ok(()),
                    None => member.slot.set_reals(&member.input_handles, values),
                    Some(own) => member.slot.conclude_set(own, &member.input_handles, values),
                }
            },
        )
    }

    /// Makes the communication step. The outcome of each member is left with it.
    #[inline]
    pub(crate) fn step(&mut self, members: &mut [Member], step: &Step) -> Result<(), MemberFault> {
        let size = step.size * self.every as f64;
        self.has_stepped = false;
        let is_ready = std::mem::take(&mut self.is_ready) || self.is_ready(members);
        let held = match is_ready {
            true => self.lane.hold(instances(members, &self.components)),
            false => None,
        };
        let interruption = match held.map(|mut held| {
            measured(&self.profile, GroupCall::Step, || {
                held.step(step.time, size)
            })
        }) {
            Some(Ok(())) => {
                self.has_stepped = true;
                return Ok(());
            }
            Some(Err(interruption)) => Some(interruption),
            None => None,
        };
        self.one_by_one(
            members,
            (GroupCall::Step, interruption.as_ref()),
            |member, own| {
                member.outcome = match own {
                    None => member.step(step.time, size),
                    Some(own) => member.slot.conclude_step(own, step.time, size),
                }?;
                Ok(())
            },
        )
    }

    /// Whether the coming calls may be made by the lane.
    #[inline]
    fn is_ready(&mut self, members: &[Member]) -> bool {
        let profile = self.profile.as_ref();
        let members = self.components.iter().map(|component| &members[*component]);
        profile.is_none_or(GroupProfile::lets_call_together)
            && (self.lane).is_ready(members.filter_map(|member| member.slot.for_lane()))
    }

    /// Whether the last step was simply well, of all its members.
    #[inline]
    pub(crate) fn has_stepped(&self) -> bool {
        self.has_stepped
    }

    /// Reads the outputs into the `values` of all.
    #[inline]
    pub(crate) fn read(
        &mut self,
        members: &mut [Member],
        values: &mut [f64],
    ) -> Result<(), MemberFault> {
        let held = match self.has_stepped {
            true => self.lane.hold(instances(members, &self.components)),
            false => None,
        };
        let interruption = match held
            .map(|mut held| measured(&self.profile, GroupCall::Get, || held.get(values)))
        {
            Some(Ok(())) => return Ok(()),
            Some(Err(interruption)) => Some(interruption),
            None => None,
        };
        self.one_by_one(
            members,
            (GroupCall::Get, interruption.as_ref()),
            |member, own| {
                let values = &mut values[member.outputs.clone()];
                match own {
                    _ if values.is_empty() => Ok(()),
                    None => member.slot.get_reals(&member.output_handles, values),
                    Some(own) => member.slot.conclude_get(own),
                }
            },
        )
    }

    /// Makes the calls through the units: all of them, or those that an interruption has left.
    #[cold]
    fn one_by_one(
        &mut self,
        members: &mut [Member],
        (kind, interruption): (GroupCall, Option<&Interruption>),
        mut call: impl FnMut(&mut Member, Option<&Interruption>) -> UnitResult,
    ) -> Result<(), MemberFault> {
        let first = interruption.map_or(0, |interruption| interruption.instance);
        // The group has called those before it, and counted none.
        for component in &self.components[..first] {
            let member = &members[*component];
            if let Some(unit) = member.slot.fmu()
                && takes(member)[kind as usize]
            {
                kind.count(unit);
            }
        }
        for (place, component) in self.components.iter().enumerate().skip(first) {
            let is_own = |own: &&Interruption| place == own.instance && !own.is_repeated;
            let own = interruption.filter(is_own);
            call(&mut members[*component], own).map_err(|cause| (*component, cause))?;
        }
        if let Some(profile) = &mut self.profile {
            profile.look();
        }
        Ok(())
    }
}

/// Whether a member takes each [`GroupCall`].
fn takes(member: &Member) -> [bool; 3] {
    [!member.inputs.is_empty(), true, !member.outputs.is_empty()]
}

/// Measures a call of all members, if there is a profile.
#[inline]
fn measured<T, E>(
    profile: &Option<GroupProfile>,
    call: GroupCall,
    act: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    match profile {
        None => act(),
        Some(profile) => profile.measured(call, act),
    }
}

/// The instances of these members, ascending.
#[inline]
fn instances<'a>(
    members: &'a mut [Member],
    components: &'a [usize],
) -> impl Iterator<Item = &'a mut Instance> {
    let (mut rest, mut passed) = (members, 0);
    components.iter().filter_map(move |component| {
        let (_, from) = std::mem::take(&mut rest).split_at_mut(component - passed);
        let (member, after) = from.split_first_mut()?;
        (rest, passed) = (after, component + 1);
        member.slot.instance_mut()
    })
}
