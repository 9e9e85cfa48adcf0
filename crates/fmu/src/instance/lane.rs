//! Instances that are called one after the other: all are given their inputs, all make their step, all give their outputs.
//!
//! An [`Instance`] checks conditions before and after each call that hardly ever change. A [`Lane`] checks them once
//! before the calls, and keeps for them one compact record an instance, side by side. Anything unusual interrupts it:
//! further calls go through the instance, which gives each status its effect. The engine has a lane for each group of FMUs;
//! a lane never decides which instances step, and gives no status a meaning.

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

/// Variables of one instance, which the lane sets and reads.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a> {
    /// Value references of the inputs.
    pub inputs: &'a [u32],
    /// Place of its first input among the values that the lane is given; the others follow it.
    pub first_input: usize,
    /// Value references of the outputs.
    pub outputs: &'a [u32],
    /// Place of its first output among the values that the lane fills; the others follow it.
    pub first_output: usize,
}

/// Data that the calls of one instance need: one cache line.
#[repr(C, align(64))]
struct Record {
    component: Component,
    set_real: fmi2_abi::signature::Set<fmi2_abi::Real>,
    do_step: fmi2_abi::signature::DoStep,
    get_real: fmi2_abi::signature::Get<fmi2_abi::Real>,
    tag: Tag,
    /// Its inputs and outputs among all values.
    first_input: u32,
    inputs: u32,
    first_output: u32,
    outputs: u32,
    /// Its first value reference in the lane's list, inputs first.
    first_reference: u32,
    no_set_state_prior: Boolean,
}

/// Instances that are called together, in this order.
pub struct Lane {
    records: Box<[Record]>,
    references: Box<[u32]>,
    /// As many inputs and outputs are needed at least.
    inputs: usize,
    outputs: usize,
    /// The control words of all instances, and others that are expected instead for a close check.
    float_control: FloatControl,
    never_held: FloatControl,
    cursor: Cursor,
    steps: u16,
}

// SAFETY: the pointers among its fields are into its own boxes, or into boxes of instances that may be sent as well; it is
// used by one thread at a time.
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

/// A lane whose instances can be called now. No instance can be used while it lives.
pub struct Held<'a> {
    lane: &'a mut Lane,
    _instances: PhantomData<&'a mut Instance>,
}

impl Lane {
    /// A lane of instances in this order; `None` if there are none, or they were made with different control words.
    pub fn new<'a>(
        members: impl Iterator<Item = (&'a Instance, Ports<'a>)> + Clone,
    ) -> Option<Self> {
        let float_control = members.clone().next()?.0.float_control;
        let mut are_alike = true;
        let (mut inputs, mut outputs) = (0, 0);
        let mut references = Vec::new();
        let mut record = |(instance, ports): (&Instance, Ports<'_>)| {
            are_alike &= instance.float_control == float_control;
            inputs = inputs.max(ports.first_input + ports.inputs.len());
            outputs = outputs.max(ports.first_output + ports.outputs.len());
            let first_reference = references.len();
            references.extend_from_slice(ports.inputs);
            references.extend_from_slice(ports.outputs);
            let number = |number: usize| u32::try_from(number).ok();
            Some(Record {
                component: instance.component,
                set_real: instance.set_real,
                do_step: instance.do_step,
                get_real: instance.get_real,
                tag: Tag::of(instance.slot),
                first_input: number(ports.first_input)?,
                inputs: number(ports.inputs.len())?,
                first_output: number(ports.first_output)?,
                outputs: number(ports.outputs.len())?,
                first_reference: number(first_reference)?,
                no_set_state_prior: fmi2_abi::TRUE,
            })
        };
        let records = members
            .map(&mut record)
            .collect::<Option<Box<[Record]>>>()?;
        are_alike.then(|| Self {
            records,
            references: references.into(),
            inputs,
            outputs,
            float_control,
            never_held: float_control.never_held(),
            cursor: Cursor::new(),
            steps: 0,
        })
    }

    /// Whether the coming step may be made by the lane; else the instances have to be called alone: one has made less
    /// than two steps, its memory is measured, or an FMU has changed the floating-point control words. Each comes with
    /// the promise that no state from before the step will be restored (`noSetFMUStatePriorToCurrentPoint`, C-36).
    #[inline]
    pub fn is_ready<'a>(&mut self, instances: impl Iterator<Item = (&'a Instance, bool)>) -> bool {
        if float_control::all_are_watched() {
            return false;
        }
        for (record, (instance, no_set_state_prior)) in self.records.iter_mut().zip(instances) {
            if instance.step < STEPS_ALONE || instance.slot.is_asked_to_measure() {
                return false;
            }
            record.no_set_state_prior = Boolean::from(no_set_state_prior);
        }
        true
    }

    /// Makes the instances of the lane ready for calls. `None` if an instance is another one than the lane was made
    /// with, or not between two steps.
    #[inline]
    pub fn hold<'a>(
        &'a mut self,
        instances: impl Iterator<Item = &'a mut Instance>,
    ) -> Option<Held<'a>> {
        let mut records = self.records.iter();
        for instance in instances {
            let record = records.next()?;
            let is_callable = instance.component == record.component
                && std::ptr::fn_addr_eq(instance.do_step, record.do_step)
                && instance.state == SlaveState::StepComplete;
            if !is_callable {
                return None;
            }
        }
        records.next().is_none().then_some(Held {
            lane: self,
            _instances: PhantomData,
        })
    }
}

impl Held<'_> {
    /// Sets the inputs of all instances, at this time in their unit of time. The calls of a step follow.
    ///
    /// # Errors
    /// The first call that is not simply well. The calls after it have to be made through the instances.
    ///
    /// # Panics
    /// If the values are less than the places of the inputs.
    #[inline]
    pub fn set(&mut self, values: &[f64], time: f64) -> Result<(), Interruption> {
        let lane = &*self.lane;
        assert!(values.len() >= lane.inputs);
        lane.cursor.set_time(time);
        let (references, values) = (lane.references.as_ptr(), values.as_ptr());
        let set = |record: &Record| {
            let references = references.wrapping_add(record.first_reference as usize);
            let values = values.wrapping_add(record.first_input as usize);
            let count = record.inputs as usize;
            if count == 0 {
                return fmi2_abi::OK;
            }
            // SAFETY: `hold` has seen the component alive and between two steps; `new` has counted the references, and there
            // are values for the inputs of each record.
            unsafe { (record.set_real)(record.component, references, count, values) }
        };
        lane.each(Function::SetReal, set, || true)?;
        lane.compare_float_control(Function::SetReal)
    }

    /// Lets all instances make a step from `time` by `size`, both in their unit of time.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    ///
    /// # Panics
    /// If the step is not a positive number or does not lead to a finite time.
    #[inline]
    pub fn step(&mut self, time: f64, size: f64) -> Result<(), Interruption> {
        assert!(size > 0.0 && (time + size).is_finite());
        let lane = &mut *self.lane;
        lane.cursor.set_time(time);
        lane.steps = lane.steps.wrapping_add(1);
        let looks_closely = float_control::is_due(lane.steps);
        // A close look comes after one that finds other words, so that other steps need not ask for it.
        let expected = match looks_closely {
            true => &lane.never_held,
            false => &lane.float_control,
        };
        let step = |record: &Record| {
            // SAFETY: `hold` has seen the component alive and between two steps.
            unsafe { (record.do_step)(record.component, time, size, record.no_set_state_prior) }
        };
        let is_well = || {
            let is_as_before = || FloatControl::current() == lane.float_control;
            expected.seems_to_hold() || looks_closely && is_as_before()
        };
        lane.each(Function::DoStep, step, is_well)
    }

    /// Reads the outputs of all instances.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    ///
    /// # Panics
    /// If the values are less than the places of the outputs.
    #[inline]
    pub fn get(&mut self, values: &mut [f64]) -> Result<(), Interruption> {
        let lane = &*self.lane;
        assert!(values.len() >= lane.outputs);
        let (references, values) = (lane.references.as_ptr(), values.as_mut_ptr());
        let get = |record: &Record| {
            let first = (record.first_reference + record.inputs) as usize;
            let references = references.wrapping_add(first);
            let values = values.wrapping_add(record.first_output as usize);
            let count = record.outputs as usize;
            if count == 0 {
                return fmi2_abi::OK;
            }
            // SAFETY: as in `set`, with places for the outputs.
            unsafe { (record.get_real)(record.component, references, count, values) }
        };
        lane.each(Function::GetReal, get, || true)?;
        lane.compare_float_control(Function::GetReal)
    }
}

impl Lane {
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

impl Instance {
    /// Gives the status of an interruption its effect, as `fmi2SetReal` alone with these
    /// value references and values, or `fmi2GetReal`, would have.
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
