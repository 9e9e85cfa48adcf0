//! Units that are Python objects.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use gyrator::Unit;
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, Handle, Period, SavedState, StepOutcome, UnitDescription, UnitResult,
    Variable,
};
use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::error::Raised;

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
        let step = object.getattr("step")?;
        if !step.is_callable() {
            return Err(PyTypeError::new_err("the `step` of a unit is a function"));
        }
        let method = |name| Ok::<_, PyErr>(object.getattr_opt(name)?.map(Bound::unbind));
        Ok(Self {
            memory: method("save")?.zip(method("restore")?),
            terminate: method("terminate")?,
            inputs: starts(&object.getattr("inputs")?)?,
            outputs: starts(&object.getattr("outputs")?)?,
            step: step.unbind(),
            raised,
        })
    }

    fn fail(&self, call: &'static str, error: PyErr) -> Box<UnitFault> {
        let message = error.to_string();
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        UnitFault::new(call, Cause::Error, message)
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

/// A Python object in a running system.
pub(crate) struct PythonUnit {
    plan: Arc<Plan>,
    description: UnitDescription,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    time: f64,
    call: Option<Arrays>,
}

/// The state of a unit.
struct Saved {
    /// As the object's `save` has returned it.
    object: Py<PyAny>,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
}

/// The argument of each call, and its arrays.
struct Arrays {
    call: Py<Call>,
    inputs: Py<PyArray1<f64>>,
    outputs: Py<PyArray1<f64>>,
}

impl PythonUnit {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        let inputs = plan.inputs.iter().map(|(name, _)| (name, Causality::Input));
        let outputs = plan.outputs.iter();
        let names = inputs.chain(outputs.map(|(name, _)| (name, Causality::Output)));
        let variable = |((name, causality), handle)| Variable::real(name, handle, causality);
        let variables = names.zip(0..).map(variable).collect();
        let capabilities = Capabilities {
            variable_step: true,
            save_and_restore: plan.memory.is_some(),
            ..Capabilities::default()
        };
        let values = |of: &[(String, f64)]| of.iter().map(|(_, start)| *start).collect();
        Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            inputs: values(&plan.inputs),
            outputs: values(&plan.outputs),
            time: 0.0,
            call: None,
            plan,
        }
    }

    fn without_memory(&self, call: &'static str) -> Box<UnitFault> {
        let message = "the object has no `save` and `restore`, or the state is another unit's";
        UnitFault::new(call, Cause::Error, message)
    }

    fn advance(&mut self, time: f64, step: f64) -> UnitResult {
        let called = Python::attach(|py| self.call(py, time, step));
        called.map_err(|error| self.plan.fail("step", error))
    }

    fn call(&mut self, py: Python<'_>, time: f64, step: f64) -> PyResult<()> {
        let arrays = match &mut self.call {
            Some(arrays) => arrays,
            none => none.insert(Arrays::new(py, &self.inputs, &self.outputs)?),
        };
        let inputs = arrays.inputs.bind(py).try_readwrite();
        inputs?.as_slice_mut()?.copy_from_slice(&self.inputs);
        {
            let mut call = arrays.call.bind(py).try_borrow_mut()?;
            (call.time, call.step) = (time, step);
        }
        let returned = self.plan.step.bind(py).call1((&arrays.call,))?;
        if !returned.is_none() {
            let message = "`step` returns nothing: it puts its outputs into `call.outputs`";
            return Err(PyTypeError::new_err(message));
        }
        let outputs = arrays.outputs.bind(py).try_readonly();
        self.outputs.copy_from_slice(outputs?.as_slice()?);
        Ok(())
    }
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

impl Unit for PythonUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.time = period.start;
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.advance(self.time, 0.0)
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (&handle, &value) in handles.iter().zip(values) {
            let Some(input) = self.inputs.get_mut(handle as usize) else {
                let message = "an output cannot be set";
                return Err(UnitFault::new("set_reals", Cause::Error, message));
            };
            *input = value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (&handle, value) in handles.iter().zip(values) {
            let all = self.inputs.iter().chain(&self.outputs);
            let found = all.copied().nth(handle as usize);
            *value = found.ok_or_else(|| {
                UnitFault::new("get_reals", Cause::Error, "there is no such variable")
            })?;
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.advance(time, step)?;
        Ok(StepOutcome::Done)
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        let Some((save, _)) = &self.plan.memory else {
            return Err(self.without_memory("save"));
        };
        let saved = Python::attach(|py| save.call0(py));
        let object = saved.map_err(|error| self.plan.fail("save", error))?;
        let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
        let saved = Saved {
            object,
            inputs,
            outputs,
        };
        Ok(Box::new(saved))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (Some((_, restore)), Some(saved)) = (&self.plan.memory, state.downcast_ref::<Saved>())
        else {
            return Err(self.without_memory("restore"));
        };
        let restored = Python::attach(|py| {
            restore.call1(py, (saved.object.clone_ref(py),))?;
            if let Some(arrays) = &self.call {
                // A unit may leave outputs as they are.
                let outputs = arrays.outputs.bind(py).try_readwrite();
                outputs?.as_slice_mut()?.copy_from_slice(&saved.outputs);
            }
            Ok(())
        });
        restored.map_err(|error| self.plan.fail("restore", error))?;
        self.inputs.clone_from(&saved.inputs);
        self.outputs.clone_from(&saved.outputs);
        Ok(())
    }

    fn terminate(&mut self) -> UnitResult {
        let Some(terminate) = &self.plan.terminate else {
            return Ok(());
        };
        let called = Python::attach(|py| terminate.call0(py).map(drop));
        called.map_err(|error| self.plan.fail("terminate", error))
    }
}
