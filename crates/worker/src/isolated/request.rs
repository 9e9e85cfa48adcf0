//! Requests of the run to a worker: a list of operations, one after the other.
//!
//! Operations that a step may have are written by hand: numbers go in one block each, and nothing
//! is allocated. The [rare](Rare) ones are written by postcard.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyrator::Value;
use gyrator::unit::{Handle, VariableType};
use gyrator_fmu::{Compiler, LONGEST_STATE, OpenOptions};
use serde::{Deserialize, Serialize};

use super::bytes::{Cursor, Malformed, Numbers, Put, length};

const RARE: u8 = 1;
const SET_REALS: u8 = 2;
const SET_VALUE: u8 = 3;
const SET_INPUT_DERIVATIVES: u8 = 4;
const STEP: u8 = 5;
const GET_REALS: u8 = 6;
const GET_VALUE: u8 = 7;
const OUTPUT_DERIVATIVES: u8 = 8;
const DIRECTIONAL_DERIVATIVE: u8 = 9;

const REAL: u8 = 0;
const INTEGER: u8 = 1;
const BOOLEAN: u8 = 2;
const STRING: u8 = 3;

/// A message to a worker: operations, which it makes in this order until one fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    bytes: Vec<u8>,
    operations: u32,
    /// States that are asked for.
    states: u32,
}

/// An operation that most messages do not have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Rare<'a> {
    /// Loads an FMU and makes an instance; only as the first operation of all.
    #[serde(borrow)]
    Start(Start<'a>),
    /// [`Unit::setup_experiment`](gyrator::Unit::setup_experiment), with the parts of the period.
    SetupExperiment(f64, Option<f64>, Option<f64>),
    /// [`Unit::enter_initialization_mode`](gyrator::Unit::enter_initialization_mode).
    EnterInitializationMode,
    /// [`Unit::exit_initialization_mode`](gyrator::Unit::exit_initialization_mode).
    ExitInitializationMode,
    /// Saves the state under a number, or again under one that is in use.
    Save(u32),
    /// Goes back to the state that was saved under a number.
    Restore(u32),
    /// Asks for the state as bytes.
    Serialize,
    /// Goes to the state in these bytes.
    Deserialize(&'a [u8]),
    /// [`Unit::terminate`](gyrator::Unit::terminate).
    Terminate,
    /// Frees the instance.
    Leave,
}

/// Longest answer without states in it, bytes: some million numbers.
const LONGEST_ANSWER: usize = 1 << 26;

/// FMU and options that a worker is to host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start<'a> {
    /// Path of the FMU, as the operating system has it.
    pub(super) fmu: &'a [u8],
    /// Name of the instance.
    pub(super) name: &'a str,
    /// Whether the FMU logs all that it can.
    pub(super) logging: bool,
    /// Libraries to load first.
    #[serde(borrow)]
    pub(super) preload: Vec<&'a str>,
    /// Directories that are searched first for libraries, as the operating system has them.
    #[serde(borrow)]
    pub(super) library_path: Vec<&'a [u8]>,
    /// Directory that keeps unpacked FMUs, as the operating system has it.
    #[serde(borrow)]
    pub(super) cache: Option<&'a [u8]>,
    /// The compiler of sources, if they are to be compiled.
    #[serde(borrow)]
    pub(super) compiler: Option<CompilerOf<'a>>,
}

impl<'a> Start<'a> {
    /// An FMU with the options of a run.
    pub(super) fn new(
        fmu: &'a Path,
        name: &'a str,
        logging: bool,
        options: &'a OpenOptions,
    ) -> Self {
        let bytes = |path: &'a PathBuf| path.as_os_str().as_bytes();
        Self {
            fmu: fmu.as_os_str().as_bytes(),
            name,
            logging,
            preload: options.preload.iter().map(String::as_str).collect(),
            library_path: options.library_path.iter().map(bytes).collect(),
            cache: options.cache.as_ref().map(bytes),
            compiler: options.compiler.as_ref().map(CompilerOf::new),
        }
    }
}

/// A [`Compiler`] in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CompilerOf<'a> {
    program: &'a str,
    cpp_program: &'a str,
    #[serde(borrow)]
    flags: Vec<&'a str>,
    time_limit: Duration,
}

impl<'a> CompilerOf<'a> {
    pub(super) fn new(compiler: &'a Compiler) -> Self {
        Self {
            program: &compiler.program,
            cpp_program: &compiler.cpp_program,
            flags: compiler.flags.iter().map(String::as_str).collect(),
            time_limit: compiler.time_limit,
        }
    }

    pub(super) fn compiler(&self) -> Compiler {
        Compiler {
            program: self.program.to_owned(),
            cpp_program: self.cpp_program.to_owned(),
            flags: self.flags.iter().map(ToString::to_string).collect(),
            time_limit: self.time_limit,
        }
    }
}

impl Request {
    /// Replaces the contents by the request of a run on another machine: any operation but the one that names
    /// an FMU.
    ///
    /// # Errors
    /// If the bytes are not such a request.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        self.clear();
        let mut cursor = Cursor::new(bytes);
        while !cursor.is_at_end() {
            match Operation::take(&mut cursor)? {
                Operation::Rare(Rare::Start(_)) => return Err(Malformed),
                Operation::Rare(Rare::Serialize) => self.states += 1,
                _ => {}
            }
            self.operations += 1;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The operations as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many operations there are.
    #[must_use]
    pub(super) fn operations(&self) -> u32 {
        self.operations
    }

    /// Bytes of the longest answer that makes sense.
    #[must_use]
    pub fn longest_answer(&self) -> usize {
        (self.states as usize)
            .saturating_mul(LONGEST_STATE)
            .saturating_add(LONGEST_ANSWER)
    }

    /// Whether there is none.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes all operations out.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        (self.operations, self.states) = (0, 0);
    }

    /// Adds all operations of another message.
    pub(super) fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.operations += other.operations;
        self.states += other.states;
    }

    #[inline]
    fn begin(&mut self, code: u8) -> &mut Vec<u8> {
        self.operations += 1;
        self.bytes.push(code);
        &mut self.bytes
    }

    /// Adds a rare operation.
    pub(super) fn rare(&mut self, operation: &Rare<'_>) {
        self.states += u32::from(matches!(operation, Rare::Serialize));
        self.begin(RARE).postcard(operation);
    }

    /// [`Unit::set_reals`](gyrator::Unit::set_reals); arrays of equal lengths.
    #[inline]
    pub(super) fn set_reals(&mut self, handles: &[Handle], values: &[f64]) {
        let bytes = self.begin(SET_REALS);
        bytes.word(length(handles.len()));
        bytes.words(handles);
        bytes.reals(values);
    }

    /// [`Unit::set_value`](gyrator::Unit::set_value).
    pub(super) fn set_value(&mut self, handle: Handle, value: &Value) {
        let bytes = self.begin(SET_VALUE);
        bytes.word(handle);
        put_value(bytes, value);
    }

    /// [`Unit::set_input_derivatives`](gyrator::Unit::set_input_derivatives); arrays of equal lengths.
    pub(super) fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) {
        let bytes = self.begin(SET_INPUT_DERIVATIVES);
        bytes.word(length(handles.len()));
        bytes.words(handles);
        bytes.integers(orders);
        bytes.reals(values);
    }

    /// [`Unit::step`](gyrator::Unit::step).
    #[inline]
    pub(super) fn step(&mut self, time: f64, step: f64) {
        let bytes = self.begin(STEP);
        bytes.real(time);
        bytes.real(step);
    }

    /// [`Unit::get_reals`](gyrator::Unit::get_reals).
    #[inline]
    pub(super) fn get_reals(&mut self, handles: &[Handle]) {
        let bytes = self.begin(GET_REALS);
        bytes.word(length(handles.len()));
        bytes.words(handles);
    }

    /// [`Unit::get_value`](gyrator::Unit::get_value), of the kind of `value`.
    pub(super) fn get_value(&mut self, handle: Handle, value: &Value) {
        let bytes = self.begin(GET_VALUE);
        bytes.word(handle);
        bytes.push(match value {
            Value::Real(_) => REAL,
            Value::Integer(_) => INTEGER,
            Value::Boolean(_) => BOOLEAN,
            Value::String(_) => STRING,
        });
    }

    /// [`Unit::output_derivatives`](gyrator::Unit::output_derivatives); arrays of equal lengths.
    pub(super) fn output_derivatives(&mut self, handles: &[Handle], orders: &[i32]) {
        let bytes = self.begin(OUTPUT_DERIVATIVES);
        bytes.word(length(handles.len()));
        bytes.words(handles);
        bytes.integers(orders);
    }

    /// [`Unit::directional_derivative`](gyrator::Unit::directional_derivative); one seed per known.
    pub(super) fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
    ) {
        let bytes = self.begin(DIRECTIONAL_DERIVATIVE);
        bytes.word(length(unknowns.len()));
        bytes.word(length(knowns.len()));
        bytes.words(unknowns);
        bytes.words(knowns);
        bytes.reals(seed);
    }
}

/// A value of one of FMI's types, as bytes.
pub(super) fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Real(real) => {
            bytes.push(REAL);
            bytes.real(*real);
        }
        Value::Integer(integer) => {
            bytes.push(INTEGER);
            bytes.integers(&[*integer]);
        }
        Value::Boolean(boolean) => bytes.extend_from_slice(&[BOOLEAN, u8::from(*boolean)]),
        Value::String(text) => {
            bytes.push(STRING);
            bytes.block(text.as_bytes());
        }
    }
}

/// Reads a value into `target`, whose text is used again; the kinds may differ.
pub(super) fn read_value(cursor: &mut Cursor<'_>, target: &mut Value) -> Result<(), Malformed> {
    match (cursor.byte()?, target) {
        (REAL, target) => *target = Value::Real(cursor.real()?),
        (INTEGER, target) => *target = Value::Integer(cursor.integer()?),
        (BOOLEAN, target) => *target = Value::Boolean(cursor.flag()?),
        (STRING, Value::String(text)) => {
            text.clear();
            text.push_str(cursor.text()?);
        }
        (STRING, target) => *target = Value::String(cursor.text()?.to_owned()),
        _ => return Err(Malformed),
    }
    Ok(())
}

/// One operation of a message, as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operation<'a> {
    Rare(Rare<'a>),
    SetReals {
        handles: Numbers<'a, 4>,
        values: Numbers<'a, 8>,
    },
    SetValue {
        handle: Handle,
        value: Encoded<'a>,
    },
    SetInputDerivatives {
        handles: Numbers<'a, 4>,
        orders: Numbers<'a, 4>,
        values: Numbers<'a, 8>,
    },
    Step {
        time: f64,
        step: f64,
    },
    GetReals {
        handles: Numbers<'a, 4>,
    },
    GetValue {
        handle: Handle,
        kind: VariableType,
    },
    OutputDerivatives {
        handles: Numbers<'a, 4>,
        orders: Numbers<'a, 4>,
    },
    DirectionalDerivative {
        unknowns: Numbers<'a, 4>,
        knowns: Numbers<'a, 4>,
        seed: Numbers<'a, 8>,
    },
}

/// A value that was found to be one, still as bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Encoded<'a>(&'a [u8]);

impl<'a> Encoded<'a> {
    pub(super) fn take(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let before = cursor.rest();
        match cursor.byte()? {
            REAL => cursor.real().map(drop)?,
            INTEGER => cursor.integer().map(drop)?,
            BOOLEAN => cursor.flag().map(drop)?,
            STRING => cursor.text().map(drop)?,
            _ => return Err(Malformed),
        }
        let length = before.len() - cursor.rest().len();
        Ok(Self(&before[..length]))
    }

    /// Puts the value into `target`, whose text is used again.
    pub(super) fn read(self, target: &mut Value) -> Result<(), Malformed> {
        read_value(&mut Cursor::new(self.0), target)
    }
}

impl<'a> Operation<'a> {
    #[inline]
    pub(super) fn take(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        match cursor.byte()? {
            SET_REALS => {
                let count = cursor.word()? as usize;
                let handles = cursor.numbers(count)?;
                let values = cursor.numbers(count)?;
                Ok(Self::SetReals { handles, values })
            }
            STEP => {
                let (time, step) = (cursor.real()?, cursor.real()?);
                Ok(Self::Step { time, step })
            }
            GET_REALS => {
                let count = cursor.word()? as usize;
                let handles = cursor.numbers(count)?;
                Ok(Self::GetReals { handles })
            }
            code => Self::take_rare(code, cursor),
        }
    }

    fn take_rare(code: u8, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(match code {
            RARE => Self::Rare(cursor.postcard()?),
            SET_VALUE => Self::SetValue {
                handle: cursor.word()?,
                value: Encoded::take(cursor)?,
            },
            SET_INPUT_DERIVATIVES => {
                let count = cursor.word()? as usize;
                Self::SetInputDerivatives {
                    handles: cursor.numbers(count)?,
                    orders: cursor.numbers(count)?,
                    values: cursor.numbers(count)?,
                }
            }
            GET_VALUE => Self::GetValue {
                handle: cursor.word()?,
                kind: take_kind(cursor)?,
            },
            OUTPUT_DERIVATIVES => {
                let count = cursor.word()? as usize;
                Self::OutputDerivatives {
                    handles: cursor.numbers(count)?,
                    orders: cursor.numbers(count)?,
                }
            }
            DIRECTIONAL_DERIVATIVE => {
                let (unknowns, knowns) = (cursor.word()? as usize, cursor.word()? as usize);
                Self::DirectionalDerivative {
                    unknowns: cursor.numbers(unknowns)?,
                    knowns: cursor.numbers(knowns)?,
                    seed: cursor.numbers(knowns)?,
                }
            }
            _ => return Err(Malformed),
        })
    }
}

fn take_kind(cursor: &mut Cursor<'_>) -> Result<VariableType, Malformed> {
    match cursor.byte()? {
        REAL => Ok(VariableType::Real),
        INTEGER => Ok(VariableType::Integer),
        BOOLEAN => Ok(VariableType::Boolean),
        STRING => Ok(VariableType::String),
        _ => Err(Malformed),
    }
}

/// Reads a request as a worker does and counts its operations: all that a worker does with
/// bytes before it uses them.
///
/// # Errors
/// If the bytes are not a request.
pub fn check_request(bytes: &[u8]) -> Result<u32, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let (mut count, mut value) = (0, Value::Real(0.0));
    while !cursor.is_at_end() {
        if let Operation::SetValue { value: sent, .. } = Operation::take(&mut cursor)? {
            sent.read(&mut value)?;
        }
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One operation of every kind, with numbers of all sorts in it.
    fn every_operation(numbers: &[f64], handles: &[u32], text: &str) -> Request {
        let mut request = Request::default();
        let orders = vec![1; handles.len()];
        let values: Vec<f64> = numbers
            .iter()
            .cycle()
            .take(handles.len())
            .copied()
            .collect();
        request.rare(&Rare::Start(Start {
            fmu: text.as_bytes(),
            name: text,
            logging: true,
            preload: vec![text, text],
            library_path: vec![text.as_bytes()],
            cache: Some(text.as_bytes()),
            compiler: Some(CompilerOf {
                program: text,
                cpp_program: text,
                flags: vec![text],
                time_limit: Duration::from_millis(1),
            }),
        }));
        request.rare(&Rare::SetupExperiment(numbers[0], Some(numbers[0]), None));
        request.rare(&Rare::EnterInitializationMode);
        request.rare(&Rare::ExitInitializationMode);
        request.set_reals(handles, &values);
        request.set_value(7, &Value::String(text.to_owned()));
        request.set_value(8, &Value::Boolean(true));
        request.set_value(9, &Value::Integer(-3));
        request.set_value(9, &Value::Real(numbers[0]));
        request.set_input_derivatives(handles, &orders, &values);
        request.step(numbers[0], 0.5);
        request.get_reals(handles);
        request.get_value(7, &Value::String(String::new()));
        request.output_derivatives(handles, &orders);
        request.directional_derivative(handles, &[1, 2], &[0.5, 1.0]);
        request.rare(&Rare::Save(3));
        request.rare(&Rare::Restore(3));
        request.rare(&Rare::Serialize);
        request.rare(&Rare::Deserialize(text.as_bytes()));
        request.rare(&Rare::Terminate);
        request.rare(&Rare::Leave);
        request
    }

    #[test]
    fn another_machine_names_no_fmu() {
        let mut request = Request::default();
        request.step(0.0, 0.5);
        request.rare(&Rare::Serialize);
        let mut received = Request::default();
        received.receive(request.bytes()).unwrap();
        assert_eq!(received, request);
        let start = every_operation(&[1.0], &[2], "text");
        assert!(received.receive(start.bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_is_read(
            numbers in prop::collection::vec(any::<f64>(), 1..20),
            handles in prop::collection::vec(any::<u32>(), 0..20),
            text in ".{0,20}",
        ) {
            let request = every_operation(&numbers, &handles, &text);
            prop_assert_eq!(check_request(request.bytes()), Ok(request.operations()));
            let mut only = Request::default();
            only.set_reals(&handles, &vec![numbers[0]; handles.len()]);
            let read = Operation::take(&mut Cursor::new(only.bytes()));
            let Ok(Operation::SetReals { handles: sent, values }) = read else {
                panic!("{read:?}");
            };
            let (mut there, mut reals) = (Vec::new(), Vec::new());
            sent.words(&mut there);
            values.reals(&mut reals);
            prop_assert_eq!(there, handles);
            prop_assert!(reals.iter().all(|real| real.to_bits() == numbers[0].to_bits()));
        }

        #[test]
        fn any_bytes_are_a_request_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            place in any::<prop::sample::Index>(),
            numbers in prop::collection::vec(any::<f64>(), 1..3),
        ) {
            let _ = check_request(&bytes);
            // Nearly right ones go deeper.
            let mut sent = every_operation(&numbers, &[1, 2, 3], "text").bytes().to_vec();
            let start = place.index(sent.len());
            for (old, new) in sent[start..].iter_mut().zip(&bytes) {
                *old = *new;
            }
            let _ = check_request(&sent);
            let _ = check_request(&sent[..start]);
        }
    }
}
