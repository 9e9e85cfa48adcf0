//! Systems that run, step by step.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gyrator::real_time::Timing;
use gyrator::record::{ColumnValues, MemoryRows, Recorded};
use gyrator::unit::VariableType;
use gyrator::{RunError, Value};
use gyrator_assess::{Finding, Judging};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::column::{Column, Values};
use crate::error::{self, Raised};
use crate::table::Table;
use crate::value::{from_python, real, to_python};

/// How often Python gets to see signals, as Ctrl-C, while many steps are made.
const SIGNALS: Duration = Duration::from_millis(50);

/// A system that runs: initialised, at a communication point, ready for its next macro-step.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct Run {
    run: Mutex<gyrator::Run>,
    /// The rows, where they are recorded.
    rows: Option<MemoryRows>,
    /// How well it keeps step with the clock, where it does.
    timing: Option<Timing>,
    /// Its checks, where there are some.
    judging: Option<Judging>,
    raised: Raised,
    /// The text of a file of its system.
    system: String,
}

/// A handle of an output, a local variable or a parameter of one run, which is read without a look-up.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct Output(Typed<output::Real, output::Integer, output::Boolean, output::Text>);

/// A handle of an input or a tunable parameter of one run, which is written without a look-up.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct Input(Typed<input::Real, input::Integer, input::Boolean, input::Text>);

mod output {
    pub(super) type Real = gyrator::Output<f64>;
    pub(super) type Integer = gyrator::Output<i32>;
    pub(super) type Boolean = gyrator::Output<bool>;
    pub(super) type Text = gyrator::Output<String>;
}

mod input {
    pub(super) type Real = gyrator::Input<f64>;
    pub(super) type Integer = gyrator::Input<i32>;
    pub(super) type Boolean = gyrator::Input<bool>;
    pub(super) type Text = gyrator::Input<String>;
}

/// The state of a run at a communication point.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct Snapshot(Mutex<gyrator::Snapshot>);

#[pymethods]
impl Snapshot {
    /// Simulated time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.lock().time()
    }
}

impl Snapshot {
    fn lock(&self) -> MutexGuard<'_, gyrator::Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle of a variable of any type.
enum Typed<R, I, B, T> {
    Real(R),
    Integer(I),
    Boolean(B),
    Text(T),
}

impl Run {
    pub(crate) fn new(
        run: gyrator::Run,
        rows: Option<MemoryRows>,
        timing: Option<Timing>,
        judging: Option<Judging>,
        raised: Raised,
        system: String,
    ) -> Self {
        Self {
            run: Mutex::new(run),
            rows,
            timing,
            judging,
            raised,
            system,
        }
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, gyrator::Run>> {
        self.run.try_lock().map_err(|_| {
            error::usage(
                py,
                "the run is within a step: use it from one thread, and not in its own units",
            )
        })
    }

    /// The findings of the checks when the run has ended.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<Finding>> {
        let run = self.lock(py)?;
        let judging = self.judging.as_ref().filter(|_| run.has_ended());
        Ok(judging.map_or_else(Vec::new, |judging| judging.conclude(&run.report())))
    }

    /// The result of a run that has ended.
    fn judged<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let findings = self.findings(py)?;
        let broken = findings.iter().filter(|finding| !finding.holds());
        let broken: Vec<String> = broken.map(ToString::to_string).collect();
        let module = py.import("gyrator._result")?;
        module.getattr("judged")?.call1((self.result(py)?, broken))
    }

    fn fail(&self, py: Python<'_>, failed: &RunError) -> PyErr {
        error::of_run(py, failed, &self.raised)
    }

    /// Steps while `goes_on` says so, and lets Python see signals now and then.
    fn advance(
        &self,
        py: Python<'_>,
        goes_on: impl Fn(&gyrator::Run) -> bool + Sync,
    ) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let run = &mut *guard;
        let goes_on = &goes_on;
        loop {
            let advanced = py.detach(|| {
                let begin = Instant::now();
                while !run.has_ended() && goes_on(run) {
                    run.step()?;
                    if begin.elapsed() > SIGNALS {
                        return Ok(true);
                    }
                }
                Ok(false)
            });
            if !advanced.map_err(|failed| self.fail(py, &failed))? {
                return Ok(());
            }
            py.check_signals()?;
        }
    }
}

#[pymethods]
impl Run {
    /// Makes one macro-step; false where it was the last one.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        let mut guard = self.lock(py)?;
        let run = &mut *guard;
        py.detach(|| run.step())
            .map_err(|failed| self.fail(py, &failed))
    }

    /// Steps until this time is reached, s, or the run ends; false where it has ended.
    fn run_until(&self, py: Python<'_>, time: f64) -> PyResult<bool> {
        if time.is_nan() {
            return Err(error::usage(
                py,
                "`run_until` needs a time, and NaN is none",
            ));
        }
        // As the library's `Run::run_until`, which shows no signals to Python.
        self.advance(py, |run| {
            run.time() < (time - 1e-9 * run.graph().macro_step()).next_down()
        })?;
        Ok(!self.lock(py)?.has_ended())
    }

    /// Steps until the stop time, or until a unit ends the run.
    fn run<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.advance(py, |_| true)?;
        self.judged(py)
    }

    /// Ends the run here.
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        {
            let mut guard = self.lock(py)?;
            let run = &mut *guard;
            let stopped = py.detach(|| run.stop().map(drop));
            stopped.map_err(|failed| self.fail(py, &failed))?;
        }
        self.judged(py)
    }

    /// The rows until now, and the report as a summary.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let json = |written: serde_json::Result<String>| {
            written.map_err(|failed| error::usage(py, failed.to_string()))
        };
        let report = json(serde_json::to_string(&self.lock(py)?.report()))?;
        // Known when the run has ended.
        let timing = self.timing.as_ref().and_then(Timing::report);
        let timing = json(serde_json::to_string(&timing))?;
        let checks = json(serde_json::to_string(&self.findings(py)?))?;
        let table = self
            .rows
            .as_ref()
            .map(|rows| rows.with(|recorded| table(recorded.clone())));
        let module = py.import("gyrator._result")?;
        module
            .getattr("of_run")?
            .call1((table, report, timing, checks, &self.system))
    }

    /// Simulated time, s.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.lock(py)?.time())
    }

    /// Whether the run has ended.
    #[getter]
    fn has_ended(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.has_ended())
    }

    /// A handle of an output, a local variable or a parameter.
    fn output(&self, py: Python<'_>, name: &str) -> PyResult<Output> {
        let run = self.lock(py)?;
        let typed = match kind_of(&run, name) {
            Some(VariableType::Integer | VariableType::Enumeration) => {
                run.output(name).map(Typed::Integer)
            }
            Some(VariableType::Boolean) => run.output(name).map(Typed::Boolean),
            Some(VariableType::String) => run.output(name).map(Typed::Text),
            _ => run.output(name).map(Typed::Real),
        };
        typed.map(Output).map_err(|failed| self.fail(py, &failed))
    }

    /// A handle of an input that no connection feeds, or a tunable parameter.
    fn input(&self, py: Python<'_>, name: &str) -> PyResult<Input> {
        let run = self.lock(py)?;
        let typed = match kind_of(&run, name) {
            Some(VariableType::Integer | VariableType::Enumeration) => {
                run.input(name).map(Typed::Integer)
            }
            Some(VariableType::Boolean) => run.input(name).map(Typed::Boolean),
            Some(VariableType::String) => run.input(name).map(Typed::Text),
            _ => run.input(name).map(Typed::Real),
        };
        typed.map(Input).map_err(|failed| self.fail(py, &failed))
    }

    /// The value of a variable by its name or handle, or of several real ones as an array.
    #[pyo3(signature = (variable, out=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        variable: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut run = self.lock(py)?;
        if let Some(value) = value(&mut run, variable) {
            if out.is_some() {
                return Err(error::usage(py, "`out` takes the values of a list"));
            }
            return to_python(py, value.map_err(|failed| self.fail(py, &failed))?);
        }
        let variables = variable.extract::<Vec<Bound<'py, PyAny>>>();
        let variables = variables.map_err(|_| {
            PyTypeError::new_err("a variable is a name or a handle, or a list of them")
        })?;
        let out = match out {
            None => PyArray1::zeros(py, variables.len(), false),
            Some(out) => out.cast_into::<PyArray1<f64>>().map_err(|_| {
                PyTypeError::new_err("`out` is an array of float64 with one dimension")
            })?,
        };
        {
            let mut values = out.try_readwrite()?;
            let values = values.as_slice_mut()?;
            if values.len() != variables.len() {
                let (found, asked) = (values.len(), variables.len());
                let text = format!("`out` has {found} elements for {asked} variables");
                return Err(error::usage(py, text));
            }
            for (variable, place) in variables.iter().zip(values) {
                let found = value(&mut run, variable)
                    .ok_or_else(|| error::usage(py, "a variable is a name or a handle"))?;
                match found.map_err(|failed| self.fail(py, &failed))? {
                    Value::Real(value) => *place = value,
                    other => {
                        let text = format!("an array takes real variables, not {other:?}");
                        return Err(error::usage(py, text));
                    }
                }
            }
        }
        Ok(out.into_any())
    }

    /// Sets an input that no connection feeds, or a tunable parameter, by its name or handle.
    fn write(
        &self,
        py: Python<'_>,
        variable: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut run = self.lock(py)?;
        let written = if let Ok(handle) = variable.cast::<Input>() {
            match &handle.get().0 {
                Typed::Real(handle) => run.write(*handle, real(value)?),
                Typed::Integer(handle) => run.write(*handle, value.extract::<i32>()?),
                Typed::Boolean(handle) => run.write(*handle, value.extract::<bool>()?),
                Typed::Text(handle) => run.write(*handle, value.extract::<String>()?),
            }
        } else {
            let name = variable.extract::<String>();
            let name = name.map_err(|_| {
                PyTypeError::new_err("an input is its name or the handle of `Run.input`")
            })?;
            let value = of_variable(&run, &name, from_python(value)?);
            run.write(name.as_str(), value)
        };
        written.map_err(|failed| self.fail(py, &failed))
    }

    /// Gives an input this value, whatever feeds it, until it is released.
    fn override_value(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut run = self.lock(py)?;
        let value = of_variable(&run, name, from_python(value)?);
        let overridden = run.override_value(name, value);
        overridden.map_err(|failed| error::of_start(py, &failed, &self.raised))
    }

    /// Saves the state at the present communication point.
    fn save(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let mut guard = self.lock(py)?;
        let run = &mut *guard;
        let saved = py.detach(|| run.save());
        let saved = saved.map_err(|failed| self.fail(py, &failed))?;
        Ok(Snapshot(Mutex::new(saved)))
    }

    /// Goes back to a saved state of this run.
    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        let mut guard = self.lock(py)?;
        let run = &mut *guard;
        let restored = py.detach(|| run.restore(&snapshot.lock()));
        restored.map_err(|failed| self.fail(py, &failed))
    }

    /// Ends all actions on a variable.
    fn release(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let released = self.lock(py)?.release(name);
        released.map_err(|failed| error::of_start(py, &failed, &self.raised))
    }
}

/// The value of one variable; `None` where it is no name and no handle.
fn value(run: &mut gyrator::Run, variable: &Bound<'_, PyAny>) -> Option<Result<Value, RunError>> {
    if let Ok(handle) = variable.cast::<Output>() {
        return Some(match &handle.get().0 {
            Typed::Real(handle) => run.read(*handle).map(Value::Real),
            Typed::Integer(handle) => run.read(*handle).map(Value::Integer),
            Typed::Boolean(handle) => run.read(*handle).map(Value::Boolean),
            Typed::Text(handle) => run.read(*handle).map(Value::String),
        });
    }
    let name = variable.cast::<PyString>().ok()?.to_cow().ok()?;
    Some(run.read(&*name))
}

fn kind_of(run: &gyrator::Run, name: &str) -> Option<VariableType> {
    let mut variables = run.graph().variables();
    let found = variables.find(|variable| {
        let rest = name.strip_prefix(variable.component);
        rest.and_then(|rest| rest.strip_prefix('.')) == Some(variable.described.name.as_str())
    });
    found.map(|variable| variable.described.kind)
}

/// An `int` of Python as the value of a real variable, where it is one.
fn of_variable(run: &gyrator::Run, name: &str, value: Value) -> Value {
    match value {
        Value::Integer(whole) if kind_of(run, name) == Some(VariableType::Real) => {
            Value::Real(whole.into())
        }
        value => value,
    }
}

fn table(recorded: Recorded) -> Table {
    let time = Column {
        name: "time".to_owned(),
        values: Values::Real(recorded.time.into()),
    };
    let columns = recorded.columns.into_iter().map(|column| Column {
        name: column.column.name,
        values: match column.values {
            ColumnValues::Real(values) => Values::Real(values.into()),
            ColumnValues::Integer(values) => Values::Integer(values.into()),
            ColumnValues::Boolean(values) => {
                let bits = values.into_iter().map(u8::from).collect::<Vec<_>>();
                Values::Boolean(bits.into())
            }
            ColumnValues::String(values) => Values::Text(values.into()),
        },
    });
    Table::new(std::iter::once(time).chain(columns).collect())
}
