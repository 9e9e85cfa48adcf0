//! Units that are Python objects.

use std::sync::{Arc, PoisonError};

use gyrator::Unit;
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{SavedState, UnitResult, UnitWrapper};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::error::{self, Raised};

/// The arguments of a call to the `step` of a unit.
#[pyclass(module = "gyrator")]
pub(crate) struct Call {
    /// Time at the start of the step, s; the start time where the initial outputs are wanted.
    #[pyo3(get)]
    time: f64,
    /// Length of the step, s; 0 where the initial outputs are wanted.
    #[pyo3(get)]
    step: f64,
    /// The inputs, in the order of their declaration.
    #[pyo3(get)]
    inputs: Py<PyArray1<f64>>,
    /// The outputs to be filled in, in the order of their declaration; they hold the last ones.
    #[pyo3(get)]
    outputs: Py<PyArray1<f64>>,
}

/// A unit of inputs, outputs and a function that advances it.
#[pyclass(frozen, get_all, module = "gyrator")]
pub(crate) struct ClosureUnit {
    /// Names of the inputs with their start values.
    inputs: Py<PyMapping>,
    /// Names of the outputs with their start values.
    outputs: Py<PyMapping>,
    /// Is called with a `Call` once per communication step, and once for the initial outputs.
    step: Py<PyAny>,
}

#[pymethods]
impl ClosureUnit {
    #[new]
    fn new(inputs: Py<PyMapping>, outputs: Py<PyMapping>, step: Py<PyAny>) -> Self {
        Self {
            inputs,
            outputs,
            step,
        }
    }
}

/// The parts that all units of one Python object share.
pub(crate) struct Plan {
    inputs: Vec<(String, f64)>,
    outputs: Vec<(String, f64)>,
    step: Py<PyAny>,
    terminate: Option<Py<PyAny>>,
    /// The functions `save` and `restore`, where the object has both.
    memory: Option<(Py<PyAny>, Py<PyAny>)>,
    raised: Raised,
}

impl Plan {
    /// Reads `inputs`, `outputs`, `step` and, if it is there, `terminate` of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>, raised: Raised) -> PyResult<Self> {
        let [step, inputs, outputs] =
            ["step", "inputs", "outputs"].map(|name| object.getattr_opt(name));
        let (Some(step), Some(inputs), Some(outputs)) = (step?, inputs?, outputs?) else {
            let text = "a unit is a LinearUnit, a ClosureUnit or an object with `inputs`, `outputs` and `step`";
            return Err(PyTypeError::new_err(text));
        };
        if !step.is_callable() {
            return Err(PyTypeError::new_err("the `step` of a unit is a function"));
        }
        let inputs = starts(&inputs)?;
        if let Some((name, start)) = inputs.iter().find(|(_, start)| !start.is_finite()) {
            let text =
                format!("the start value of the input `{name}` is {start}; it must be finite");
            return Err(error::usage(object.py(), text));
        }
        let method = |name| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
        Ok(Self {
            memory: method("save")?.zip(method("restore")?),
            terminate: method("terminate")?,
            inputs,
            outputs: starts(&outputs)?,
            step: step.unbind(),
            raised,
        })
    }

    /// Keeps an exception until the run ends with it; returns its message.
    fn keep(&self, error: PyErr) -> String {
        let message = error.to_string();
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        message
    }
}

fn starts(mapping: &Bound<'_, PyAny>) -> PyResult<Vec<(String, f64)>> {
    let wrong = |_| PyTypeError::new_err("a unit's inputs and outputs map names to start values");
    let items = mapping
        .cast::<PyMapping>()
        .map_err(|_| wrong(()))?
        .items()?;
    let start = |item: Bound<'_, PyAny>| item.extract().map_err(|_| wrong(()));
    items.into_iter().map(start).collect()
}

/// The unit of a Python object.
pub(crate) fn made(plan: &Arc<Plan>) -> PythonUnit<impl Unit + use<>> {
    fn borrowed(starts: &[(String, f64)]) -> Vec<(&str, f64)> {
        let starts = starts.iter();
        starts
            .map(|(name, start)| (name.as_str(), *start))
            .collect()
    }
    let (inputs, outputs) = (borrowed(&plan.inputs), borrowed(&plan.outputs));
    let (called, mut arrays) = (Arc::clone(plan), None);
    let closure =
        gyrator::ClosureUnit::try_new(&inputs, &outputs, move |call: gyrator::unit::Call<'_>| {
            let advanced = Python::attach(|py| advance(py, &called, &mut arrays, call));
            advanced.map_err(|error| called.keep(error))
        });
    PythonUnit {
        closure: match plan.memory {
            Some(_) => closure.memoryless(),
            None => closure,
        },
        plan: Arc::clone(plan),
    }
}

/// The argument of each call, and its arrays.
struct Arrays {
    call: Py<Call>,
    inputs: Py<PyArray1<f64>>,
    outputs: Py<PyArray1<f64>>,
}

fn advance(
    py: Python<'_>,
    plan: &Plan,
    arrays: &mut Option<Arrays>,
    now: gyrator::unit::Call<'_>,
) -> PyResult<()> {
    let arrays = match arrays {
        Some(arrays) => arrays,
        none => none.insert(Arrays::new(py, now.inputs, now.outputs)?),
    };
    let given: [(_, &[f64]); 2] = [(&arrays.inputs, now.inputs), (&arrays.outputs, now.outputs)];
    for (array, values) in given {
        let mut array = array.bind(py).try_readwrite()?;
        same_length(array.as_slice_mut()?, values.len())?.copy_from_slice(values);
    }
    {
        let mut call = arrays.call.bind(py).try_borrow_mut()?;
        (call.time, call.step) = (now.time, now.step);
    }
    let returned = plan.step.bind(py).call1((&arrays.call,))?;
    if !returned.is_none() {
        let message = "`step` returns nothing: it puts its outputs into `call.outputs`";
        return Err(PyTypeError::new_err(message));
    }
    let mut outputs = arrays.outputs.bind(py).try_readwrite()?;
    let outputs = same_length(outputs.as_slice_mut()?, now.outputs.len())?;
    now.outputs.copy_from_slice(outputs);
    Ok(())
}

/// The elements of an array of a call, which Python code can resize.
fn same_length(values: &mut [f64], expected: usize) -> PyResult<&mut [f64]> {
    let found = values.len();
    if found == expected {
        return Ok(values);
    }
    let text = format!(
        "an array of the call was resized from {expected} to {found} elements: assign to them, `call.outputs[:] = …`"
    );
    Err(PyTypeError::new_err(text))
}

impl Arrays {
    fn new(py: Python<'_>, inputs: &[f64], outputs: &[f64]) -> PyResult<Self> {
        let inputs = PyArray1::from_slice(py, inputs).unbind();
        let outputs = PyArray1::from_slice(py, outputs).unbind();
        let call = Call {
            time: 0.0,
            step: 0.0,
            inputs: inputs.clone_ref(py),
            outputs: outputs.clone_ref(py),
        };
        Ok(Self {
            call: Py::new(py, call)?,
            inputs,
            outputs,
        })
    }
}

/// A closure that calls a Python object, with the further functions of the object.
pub(crate) struct PythonUnit<U> {
    closure: U,
    plan: Arc<Plan>,
}

/// The state of a unit.
struct Saved {
    /// As the object's `save` has returned it.
    object: Py<PyAny>,
    signals: SavedState,
}

impl<U> PythonUnit<U> {
    fn fault(&self, call: &'static str, error: PyErr) -> Box<UnitFault> {
        UnitFault::new(call, Cause::Error, self.plan.keep(error))
    }

    fn without_memory(call: &'static str) -> Box<UnitFault> {
        let message = "the object has no `save` and `restore`, or the state is another unit's";
        UnitFault::new(call, Cause::Error, message)
    }
}

impl<U: Unit> UnitWrapper for PythonUnit<U> {
    fn inner(&self) -> &dyn Unit {
        &self.closure
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.closure
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        let Some((save, _)) = &self.plan.memory else {
            return Err(Self::without_memory("save"));
        };
        let saved = Python::attach(|py| save.call0(py));
        let object = saved.map_err(|error| self.fault("save", error))?;
        let signals = self.closure.save(None)?;
        Ok(Box::new(Saved { object, signals }))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (Some((_, restore)), Some(saved)) = (&self.plan.memory, state.downcast_ref::<Saved>())
        else {
            return Err(Self::without_memory("restore"));
        };
        let restored =
            Python::attach(|py| restore.call1(py, (saved.object.clone_ref(py),)).map(drop));
        restored.map_err(|error| self.fault("restore", error))?;
        self.closure.restore(&saved.signals)
    }

    fn terminate(&mut self) -> UnitResult {
        let Some(terminate) = &self.plan.terminate else {
            return Ok(());
        };
        let called = Python::attach(|py| terminate.call0(py).map(drop));
        called.map_err(|error| self.fault("terminate", error))
    }
}
