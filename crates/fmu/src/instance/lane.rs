//! Instances that step together: all are given their inputs, then all make their step, then all give their outputs.
//!
//! An [`Instance`] checks conditions before and after each call that hardly ever change. A [`Lane`] checks them once
//! before some macro-steps in a row, and keeps for the calls one compact record an instance, side by side. Anything
//! unusual interrupts it: further calls go through the instance, where each status has its effect.

#![expect(unsafe_code, reason = "calls the functions of the FMUs")]

use std::marker::PhantomData;

use fmi2_abi::{Boolean, Component, Function, SlaveState};

use super::{CallResult, Instance, StepOutcome};
use crate::description::BaseType;
use crate::error::CallError;
use crate::flight_recorder::{Cursor, Tag};
use crate::float_control::{self, FloatControl};

/// First steps that an instance makes alone: a call that changes the floating-point control words mostly does so in the
/// first one, and is named there.
const STEPS_ALONE: u16 = 2;

/// Variables of one instance, which the lane sets and reads in every step.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a> {
    /// Value references of the inputs.
    pub inputs: &'a [u32],
    /// The output of the lane that each input copies, counted over the outputs of all instances.
    pub sources: &'a [u32],
    /// Value references of the outputs.
    pub outputs: &'a [u32],
}

/// In place of a source: the inputs do not copy outputs that follow each other.
const GATHERED: u32 = u32::MAX;

/// Data that the calls of one instance need: one cache line.
#[repr(C, align(64))]
struct Record {
    component: Component,
    set_real: fmi2_abi::signature::Set<fmi2_abi::Real>,
    do_step: fmi2_abi::signature::DoStep,
    get_real: fmi2_abi::signature::Get<fmi2_abi::Real>,
    /// Its inputs and outputs among those of the lane.
    first_input: u32,
    inputs: u32,
    first_output: u32,
    outputs: u32,
    tag: Tag,
    /// The output that its first input copies, where the others copy those after it: the values are passed from where they are.
    source: u32,
    no_set_state_prior: Boolean,
}

/// Instances that step together, in this order.
pub struct Lane {
    records: Box<[Record]>,
    /// Value references of the inputs of all instances, and of their outputs.
    inputs: Box<[u32]>,
    outputs: Box<[u32]>,
    /// Inputs that are gathered from the outputs, with the output that each copies. All are below the numbers of inputs and
    /// outputs.
    gathered: Box<[(u32, u32)]>,
    /// Values of all inputs, of which those that are gathered are used.
    values: Box<[f64]>,
    /// Those of all instances, and others that are expected in their place where it is looked closely.
    float_control: FloatControl,
    never_held: FloatControl,
    cursor: Cursor,
    steps: u16,
}

// SAFETY: the pointers among its fields are into its own boxes, or those of instances that may be sent as well; it is used
// by one thread at a time.
unsafe impl Send for Lane {}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct("Lane");
        text.field("instances", &self.records.len())
            .finish_non_exhaustive()
    }
}

/// A call of a step that did not return OK, or calls that left other control words of the floating-point unit behind. The calls
/// before it, of this function and those before it, were well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    /// Number of the instance in the lane.
    pub instance: usize,
    /// The call: `fmi2SetReal`, `fmi2DoStep` or `fmi2GetReal`.
    pub function: Function,
    /// The calls of this function have to be made again: one of them left other control words behind, which were put back.
    pub is_repeated: bool,
    status: fmi2_abi::Status,
}

/// A lane whose instances can make steps now. No instance can be used while it lives.
pub struct Held<'a> {
    lane: &'a mut Lane,
    _instances: PhantomData<&'a mut Instance>,
}

impl Lane {
    /// A lane of instances in this order; `None` where their ports do not fit each other, or the instances were made
    /// with different control words.
    pub fn new<'a>(
        members: impl Iterator<Item = (&'a Instance, Ports<'a>)> + Clone,
    ) -> Option<Self> {
        let ports = || members.clone().map(|(_, ports)| ports);
        let inputs: Box<[u32]> = ports().flat_map(|ports| ports.inputs.to_vec()).collect();
        let outputs: Box<[u32]> = ports().flat_map(|ports| ports.outputs.to_vec()).collect();
        let sources: Box<[u32]> = ports().flat_map(|ports| ports.sources.to_vec()).collect();
        let float_control = members.clone().next()?.0.float_control;
        let are_alike = members.clone().all(|(instance, ports)| {
            instance.float_control == float_control && ports.inputs.len() == ports.sources.len()
        });
        let fit = sources
            .iter()
            .all(|source| (*source as usize) < outputs.len());
        let can_be_counted = inputs.len().max(outputs.len()) < GATHERED as usize;
        if !are_alike || !fit || !can_be_counted {
            return None;
        }
        let (mut first_input, mut first_output) = (0, 0);
        let mut gathered = Vec::new();
        let records = members.map(|(instance, ports)| {
            let source = first_of_neighbours(ports.sources);
            if source.is_none() {
                gathered.extend((first_input..).zip(ports.sources.iter().copied()));
            }
            let record = Record {
                component: instance.component,
                set_real: instance.set_real,
                do_step: instance.do_step,
                get_real: instance.get_real,
                first_input,
                inputs: ports.inputs.len() as u32,
                first_output,
                outputs: ports.outputs.len() as u32,
                tag: Tag::of(instance.slot),
                source: source.unwrap_or(GATHERED),
                no_set_state_prior: fmi2_abi::TRUE,
            };
            first_input += record.inputs;
            first_output += record.outputs;
            record
        });
        Some(Self {
            records: records.collect(),
            values: vec![0.0; inputs.len()].into(),
            gathered: gathered.into(),
            inputs,
            outputs,
            float_control,
            never_held: float_control.never_held(),
            cursor: Cursor::new(),
            steps: 0,
        })
    }

    /// Makes the instances of the lane ready for steps. Each comes with the promise that no state from before the coming
    /// steps will be restored (`noSetFMUStatePriorToCurrentPoint`, C-36). `None` where an instance is another one than
    /// the lane was made with, or has to be called alone: it is not between two steps or has made less than two, its
    /// memory is measured, or an FMU has changed the floating-point control words.
    pub fn hold<'a>(
        &'a mut self,
        instances: impl Iterator<Item = (&'a mut Instance, bool)>,
    ) -> Option<Held<'a>> {
        if float_control::all_are_watched() {
            return None;
        }
        let mut records = self.records.iter_mut();
        for (instance, no_set_state_prior) in instances {
            let record = records.next()?;
            let is_ready = instance.component == record.component
                && std::ptr::fn_addr_eq(instance.do_step, record.do_step)
                && instance.state == SlaveState::StepComplete
                && instance.step >= STEPS_ALONE
                && !instance.slot.is_asked_to_measure();
            if !is_ready {
                return None;
            }
            record.no_set_state_prior = Boolean::from(no_set_state_prior);
        }
        records.next().is_none().then_some(Held {
            lane: self,
            _instances: PhantomData,
        })
    }
}

impl Held<'_> {
    /// Makes a step of all instances from `time` by `size`, both in their unit of time: copies the outputs `before` it to
    /// the inputs, and reads the outputs `after` it.
    ///
    /// # Errors
    /// The first call that is not simply well. The calls after it have to be made through the instances.
    ///
    /// # Panics
    /// If the lengths are not those of the lane, or the step is no positive number or leads to no finite time.
    #[inline]
    pub fn step(
        &mut self,
        before: &[f64],
        after: &mut [f64],
        times: (f64, f64),
    ) -> Result<(), Interruption> {
        let lane = &mut *self.lane;
        assert!(before.len() == lane.outputs.len());
        let before = before.as_ptr();
        let passed = |record: &Record| before.wrapping_add(record.source as usize);
        if lane.gathered.is_empty() {
            // SAFETY: each source and those of the other inputs are outputs.
            return unsafe { lane.step(passed, after, times) };
        }
        for (input, source) in &lane.gathered {
            // SAFETY: `new` has seen that all sources are below the number of outputs.
            let value = unsafe { before.wrapping_add(*source as usize).read() };
            // SAFETY: `new` has counted the inputs, and made a value for each.
            let input = unsafe { lane.values.get_unchecked_mut(*input as usize) };
            *input = value;
        }
        let values = lane.values.as_ptr();
        let given = |record: &Record| match record.source {
            GATHERED => values.wrapping_add(record.first_input as usize),
            _ => passed(record),
        };
        // SAFETY: the values are as many as all inputs, and the sources are as above.
        unsafe { lane.step(given, after, times) }
    }

    /// As [`step`](Self::step), with these values of all inputs, which follow each other in the order of the instances.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    ///
    /// # Panics
    /// As [`step`](Self::step).
    #[inline]
    pub fn step_with(
        &mut self,
        values: &[f64],
        after: &mut [f64],
        times: (f64, f64),
    ) -> Result<(), Interruption> {
        let lane = &mut *self.lane;
        assert!(values.len() >= lane.inputs.len());
        let values = values.as_ptr();
        let given = |record: &Record| values.wrapping_add(record.first_input as usize);
        // SAFETY: the values are as many as all inputs.
        unsafe { lane.step(given, after, times) }
    }
}

impl Lane {
    /// Makes a step of all instances, whose inputs are `given`.
    ///
    /// # Safety
    /// From each pointer on, as many values can be read as the instance has inputs.
    #[inline(always)]
    unsafe fn step(
        &mut self,
        given: impl Fn(&Record) -> *const f64,
        after: &mut [f64],
        times: (f64, f64),
    ) -> Result<(), Interruption> {
        let inputs = self.inputs.as_ptr();
        let set = |record: &Record| {
            let refs = inputs.wrapping_add(record.first_input as usize);
            let count = record.inputs as usize;
            // SAFETY: `hold` has seen the component alive and between two steps; the counts of all records add up to the
            // lengths of the lists, and the caller gives as many values.
            unsafe { (record.set_real)(record.component, refs, count, given(record)) }
        };
        self.begin(after, times);
        self.each(Function::SetReal, set, || true)?;
        self.go_on(after, times)
    }

    /// Begins a step.
    #[inline(always)]
    fn begin(&mut self, after: &[f64], (time, size): (f64, f64)) {
        assert!(after.len() == self.outputs.len());
        assert!(size > 0.0 && (time + size).is_finite());
        self.cursor.set_time(time);
        self.steps = self.steps.wrapping_add(1);
    }

    /// Makes the step whose inputs were set.
    #[inline(always)]
    fn go_on(&self, after: &mut [f64], (time, size): (f64, f64)) -> Result<(), Interruption> {
        self.compare_float_control(Function::SetReal)?;
        let looks_closely = float_control::is_due(self.steps);
        // A close look comes after one that finds other words, so that other steps need not ask for it.
        let expected = match looks_closely {
            true => &self.never_held,
            false => &self.float_control,
        };
        let step = |record: &Record| {
            // SAFETY: `hold` has seen the component alive and between two steps.
            unsafe { (record.do_step)(record.component, time, size, record.no_set_state_prior) }
        };
        let is_well = || {
            let is_as_before = || FloatControl::current() == self.float_control;
            expected.seems_to_hold() || looks_closely && is_as_before()
        };
        self.each(Function::DoStep, step, is_well)?;
        let outputs = self.outputs.as_ptr();
        let after = after.as_mut_ptr();
        let get = |record: &Record| {
            let first = record.first_output as usize;
            let (refs, values) = (outputs.wrapping_add(first), after.wrapping_add(first));
            // SAFETY: as above; the counts of all records add up to the lengths of the lists, and `begin` has seen that of `after`.
            unsafe { (record.get_real)(record.component, refs, record.outputs as usize, values) }
        };
        self.each(Function::GetReal, get, || true)?;
        self.compare_float_control(Function::GetReal)?;
        self.cursor.rest();
        Ok(())
    }

    /// Calls a function of each instance, and asks after each call whether it `is_well`.
    #[inline(always)]
    fn each(
        &self,
        function: Function,
        call: impl Fn(&Record) -> fmi2_abi::Status,
        is_well: impl Fn() -> bool,
    ) -> Result<(), Interruption> {
        let note = self.cursor.calls_of(function);
        for record in &self.records {
            note(record.tag);
            let status = call(record);
            if status != fmi2_abi::OK || !is_well() {
                return Err(self.interruption(record, function, status));
            }
        }
        Ok(())
    }

    /// Calls that only pass values on can be made again, so that the control words are compared once for all of them.
    #[inline(always)]
    fn compare_float_control(&self, function: Function) -> Result<(), Interruption> {
        match self.float_control.seems_to_hold() {
            true => Ok(()),
            false => Err(self.repetition(function)),
        }
    }

    #[cold]
    #[inline(never)]
    fn interruption(
        &self,
        at: &Record,
        function: Function,
        status: fmi2_abi::Status,
    ) -> Interruption {
        if function != Function::DoStep && !self.float_control.seems_to_hold() {
            // By this call or one before it.
            return self.repetition(function);
        }
        let mut records = self.records.iter();
        Interruption {
            instance: records
                .position(|record| std::ptr::eq(record, at))
                .unwrap_or(0),
            function,
            is_repeated: false,
            status,
        }
    }

    #[cold]
    #[inline(never)]
    fn repetition(&self, function: Function) -> Interruption {
        self.float_control.restore();
        // Whose call it was is found when they are made again, or the next time.
        float_control::watch_all();
        Interruption {
            instance: 0,
            function,
            is_repeated: true,
            status: fmi2_abi::OK,
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lane.cursor.rest();
    }
}

/// The first of these outputs, if the others follow it in their order.
fn first_of_neighbours(sources: &[u32]) -> Option<u32> {
    let first = sources.first().copied().unwrap_or(0);
    let mut both = sources.iter().zip(first..);
    both.all(|(source, expected)| *source == expected)
        .then_some(first)
}

impl Instance {
    /// Gives the status of an interruption its effect, as the call alone would have: that of `fmi2SetReal` with these
    /// value references and values, or of `fmi2GetReal`.
    ///
    /// # Errors
    /// As the call alone.
    pub fn conclude_values_in_lane(
        &mut self,
        interruption: &Interruption,
        values: Option<(&[u32], &[f64])>,
    ) -> CallResult {
        let Interruption {
            function, status, ..
        } = *interruption;
        match values {
            Some((refs, values)) => {
                let value = |index: usize| values[index].to_string();
                self.conclude_values(function, status, BaseType::Real, refs, &value)
            }
            None => self.conclude_slowly(function, status),
        }
    }

    /// Gives the status of an interruption its effect, as `fmi2DoStep` from `time` by `step` alone would have.
    ///
    /// # Errors
    /// As [`do_step`](Self::do_step).
    pub fn conclude_step_in_lane(
        &mut self,
        interruption: &Interruption,
        (time, step): (f64, f64),
    ) -> Result<StepOutcome, Box<CallError>> {
        self.slot.set_time(time);
        self.conclude_step(interruption.status, time, step)
    }
}
