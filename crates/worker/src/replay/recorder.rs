//! Units whose calls are recorded.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gyrator::Unit;
use gyrator::Value;
use gyrator::error::{Cause, LoadError, UnitFault};
use gyrator::unit::{
    Handle, Made, Period, SavedState, StepOutcome, UnitMaker, UnitOrder, UnitResult, UnitWrapper,
    own_state,
};

use crate::replay::call::{Answer, Call, Datum};
use crate::replay::fingerprint::fingerprint;
use crate::replay::recording::{CallLog, Head};

/// Makes the units of a run, and records the calls of each in a file of a folder: `COMPONENT.calls`, and the FMU beside it as `COMPONENT.fmu`.
pub struct RecordCalls {
    folder: PathBuf,
    inner: Box<dyn UnitMaker>,
}

impl RecordCalls {
    /// Records the calls of the units that `inner` makes. The folder has to be there.
    pub fn new(folder: &Path, inner: Box<dyn UnitMaker>) -> Self {
        Self {
            folder: folder.to_owned(),
            inner,
        }
    }

    fn log(&self, order: &UnitOrder<'_>) -> io::Result<CallLog> {
        let (name, path) = (order.name(), order.fmu.path());
        let description = order.fmu.description();
        let head = Head {
            component: name.to_owned(),
            fmu: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            sha256: fingerprint(path)?,
            model: description.model_name.clone(),
            guid: description.guid.clone(),
            tool: description.generation_tool.clone(),
            gyrator: env!("CARGO_PKG_VERSION").to_owned(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            logging: order.options.log_fmu_calls,
        };
        let stem = file_stem(name);
        if path.is_file() {
            let copy = self.folder.join(format!("{stem}.fmu"));
            match fs::remove_file(&copy) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // A file system without links needs a copy.
            if fs::hard_link(path, &copy).is_err() {
                fs::copy(path, &copy)?;
            }
        }
        CallLog::new(
            File::create(self.folder.join(format!("{stem}.calls")))?,
            &head,
        )
    }
}

/// A file name for a component: its name, with `_` for what separates folders.
fn file_stem(component: &str) -> String {
    let stem = component.replace(['/', '\\', '\0'], "_");
    match stem.starts_with('.') {
        true => format!("_{stem}"),
        false => stem,
    }
}

impl UnitMaker for RecordCalls {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        self.inner.plan(orders);
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let refuse = |error: io::Error| {
            let folder = self.folder.display();
            order.refuse(format!("its calls cannot be recorded in {folder}: {error}"))
        };
        let log = self.log(order).map_err(refuse)?;
        let recorder =
            CallRecorder::start(log, || order.make(&mut *self.inner).map(Made::into_unit));
        recorder
            .map_err(refuse)?
            .map(|unit| Some(Box::new(unit) as _))
    }

    fn set_apart(&mut self, component: &str, why: &str) -> bool {
        self.inner.set_apart(component, why)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }
}

/// A unit whose calls are written to a recording, each before it is made.
pub struct CallRecorder {
    // In this order: it is freed before the answer to that is written.
    unit: Box<dyn Unit>,
    log: CallLog,
    /// Numbers of states that were given out.
    states: u32,
}

/// A state of the unit inside, with its number.
struct NumberedState {
    number: u32,
    inner: SavedState,
}

impl CallRecorder {
    /// Makes a unit, and records that.
    ///
    /// # Errors
    /// The outer one if the recording cannot be written, the inner one of `make`.
    pub fn start<E: std::fmt::Display>(
        mut log: CallLog,
        make: impl FnOnce() -> Result<Box<dyn Unit>, E>,
    ) -> io::Result<Result<Self, E>> {
        log.call(Call::Instantiate)?;
        let unit = make();
        log.answer(match &unit {
            Ok(_) => Answer::Done,
            Err(error) => Answer::Fault {
                cause: Cause::Error,
                message: error.to_string(),
            },
        })?;
        Ok(unit.map(|unit| Self {
            unit,
            log,
            states: 0,
        }))
    }

    /// Records a call, makes it, and keeps its answer.
    fn record<T>(
        &mut self,
        call: Call,
        make: impl FnOnce(&mut dyn Unit) -> (UnitResult<T>, Answer),
    ) -> UnitResult<T> {
        let function = call.function();
        let not_recorded = |error: io::Error| {
            let message = format!("its calls cannot be recorded: {error}");
            UnitFault::new(function, Cause::Error, message)
        };
        self.log.call(call).map_err(not_recorded)?;
        let (result, answer) = make(&mut *self.unit);
        self.log.answer(answer).map_err(not_recorded)?;
        result
    }

    /// As [`record`](Self::record), of a call without values.
    fn act<T>(
        &mut self,
        call: Call,
        make: impl FnOnce(&mut dyn Unit) -> UnitResult<T>,
    ) -> UnitResult<T> {
        self.record(call, |unit| {
            let result = make(unit);
            let answer = Answer::of(&result);
            (result, answer)
        })
    }

    /// As [`record`](Self::record), of a call that reads numbers.
    fn read(
        &mut self,
        call: Call,
        values: &mut [f64],
        make: impl FnOnce(&mut dyn Unit, &mut [f64]) -> UnitResult,
    ) -> UnitResult {
        self.record(call, |unit| {
            let result = make(unit, values);
            let answer = Answer::reals(&result, values);
            (result, answer)
        })
    }
}

impl UnitWrapper for CallRecorder {
    fn inner(&self) -> &dyn Unit {
        &*self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.unit
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        let Period {
            start,
            stop,
            tolerance,
        } = *period;
        let call = Call::SetupExperiment {
            start,
            stop,
            tolerance,
        };
        self.act(call, |unit| unit.setup_experiment(period))
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.act(Call::EnterInitializationMode, |unit| {
            unit.enter_initialization_mode()
        })
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.act(Call::ExitInitializationMode, |unit| {
            unit.exit_initialization_mode()
        })
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        let call = Call::SetReals {
            handles: handles.to_vec(),
            values: values.to_vec(),
        };
        self.act(call, |unit| unit.set_reals(handles, values))
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let call = Call::GetReals {
            handles: handles.to_vec(),
        };
        self.read(call, values, |unit, values| unit.get_reals(handles, values))
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.record(Call::Step { time, step }, |unit| {
            let result = unit.step(time, step);
            let answer = Answer::step(&result);
            (result, answer)
        })
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        let call = Call::SetValue {
            handle,
            value: value.into(),
        };
        self.act(call, |unit| unit.set_value(handle, value))
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        let call = Call::GetValue {
            handle,
            value: Datum::from(&*value),
        };
        self.record(call, |unit| {
            let result = unit.get_value(handle, value);
            let answer = match &result {
                Ok(()) => Answer::Value(Datum::from(&*value)),
                Err(fault) => Answer::fault(fault),
            };
            (result, answer)
        })
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        let call = Call::SetInputDerivatives {
            handles: handles.to_vec(),
            orders: orders.to_vec(),
            values: values.to_vec(),
        };
        self.act(call, |unit| {
            unit.set_input_derivatives(handles, orders, values)
        })
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        let call = Call::OutputDerivatives {
            handles: handles.to_vec(),
            orders: orders.to_vec(),
        };
        self.read(call, values, |unit, values| {
            unit.output_derivatives(handles, orders, values)
        })
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let call = Call::DirectionalDerivative {
            unknowns: unknowns.to_vec(),
            knowns: knowns.to_vec(),
            seed: seed.to_vec(),
        };
        self.read(call, values, |unit, values| {
            unit.directional_derivative(unknowns, knowns, seed, values)
        })
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.and_then(|state| state.downcast::<NumberedState>().ok());
        let over = previous.as_ref().map(|state| state.number);
        let number = self.states;
        self.states += 1;
        let call = Call::Save {
            state: number,
            over,
        };
        let inner = self.act(call, |unit| unit.save(previous.map(|state| state.inner)))?;
        Ok(Box::new(NumberedState { number, inner }))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let NumberedState { number, inner } = own_state("fmi2SetFMUstate", state)?;
        let call = Call::Restore { state: *number };
        self.act(call, |unit| unit.restore(inner))
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        self.act(Call::Serialize, |unit| unit.serialize())
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        let call = Call::Deserialize {
            bytes: bytes.to_vec(),
        };
        self.act(call, |unit| unit.deserialize(bytes))
    }

    fn terminate(&mut self) -> UnitResult {
        self.act(Call::Terminate, |unit| unit.terminate())
    }
}

impl Drop for CallRecorder {
    fn drop(&mut self) {
        // An error has no receiver here; the recording then ends before this call.
        if self.log.call(Call::Free).is_ok() {
            let _ = self.log.answer(Answer::Done);
        }
    }
}
