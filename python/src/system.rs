//! Systems that Python code describes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use gyrator::system::ComponentSettings;
use gyrator::{Recorder, RunOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{self, Raised};
use crate::python_unit::{Plan, PythonUnit};
use crate::running::Run;
use crate::value::{WordArgument, from_python, word};

/// A pair of names: an output and the input that it feeds.
type Ends = (String, String);

/// Units, connections, power bonds and the experiment, by names.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct System {
    system: Mutex<gyrator::System>,
    raised: Raised,
}

impl System {
    fn of(system: gyrator::System, raised: Raised) -> Self {
        Self {
            system: Mutex::new(system),
            raised,
        }
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, gyrator::System>> {
        self.system
            .try_lock()
            .map_err(|_| error::usage(py, "the system is in use: it is being started"))
    }
}

/// Gives a component its settings, by keywords.
fn set(mut component: ComponentSettings<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (key, value) in settings.into_iter().flatten() {
        let key = key.extract::<String>()?;
        if value.is_none() {
            continue;
        }
        component = match key.as_str() {
            "step_size" => component.step_size(value.extract()?),
            "extrapolation" => component.extrapolation(value.extract::<WordArgument>()?.0),
            "exchange" => component.exchange(&value.extract::<String>()?),
            "step_halvings" => component.step_halvings(value.extract()?),
            "start" => with_start_values(component, value.cast()?)?,
            "keep_initial_inputs" if value.extract()? => component.keep_initial_inputs(),
            _ => component,
        };
    }
    Ok(())
}

fn with_start_values<'s>(
    mut component: ComponentSettings<'s>,
    values: &Bound<'_, PyDict>,
) -> PyResult<ComponentSettings<'s>> {
    for (variable, value) in values {
        component = component.start(&variable.extract::<String>()?, from_python(&value)?);
    }
    Ok(component)
}

/// The keywords of [`set`].
const SETTINGS: [&str; 6] = [
    "step_size",
    "extrapolation",
    "exchange",
    "step_halvings",
    "start",
    "keep_initial_inputs",
];

fn check(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (key, _) in settings.into_iter().flatten() {
        let key: String = key.extract()?;
        if !SETTINGS.contains(&key.as_str()) {
            let known = SETTINGS.join(", ");
            let text = format!("a component has no setting `{key}`; it has {known}");
            return Err(error::usage(py, text));
        }
    }
    Ok(())
}

#[pymethods]
impl System {
    #[new]
    fn new(step_size: f64) -> Self {
        Self::of(gyrator::System::new(step_size), Raised::default())
    }

    /// Reads a system from a file or a folder: TOML, SSP or OSP.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let raised = Raised::default();
        let system = py.detach(|| gyrator::System::from_path(path));
        let system = system.map_err(|failed| error::of_start(py, &failed, &raised))?;
        Ok(Self::of(system, raised))
    }

    /// Adds a unit: an object with `inputs`, `outputs` and `step`.
    #[pyo3(signature = (name, unit, **settings))]
    fn add(
        &self,
        name: &str,
        unit: &Bound<'_, PyAny>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        check(unit.py(), settings)?;
        let plan = Arc::new(Plan::of(unit, Arc::clone(&self.raised))?);
        let mut system = self.lock(unit.py())?;
        set(
            system.add_with(name, move || PythonUnit::new(Arc::clone(&plan))),
            settings,
        )
    }

    /// Adds an FMU.
    #[pyo3(signature = (name, path, **settings))]
    fn add_fmu(
        &self,
        py: Python<'_>,
        name: &str,
        path: PathBuf,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        check(py, settings)?;
        let mut system = self.lock(py)?;
        let component = system.add_fmu(name, path);
        let component = component.map_err(|failed| error::of_start(py, &failed, &self.raised))?;
        set(component, settings)
    }

    /// Connects an output to an input.
    #[pyo3(signature = (output, input, *, gain=None, offset=None, ignore_units=false, derivative=None))]
    fn connect(
        &self,
        py: Python<'_>,
        output: &str,
        input: &str,
        gain: Option<f64>,
        offset: Option<f64>,
        ignore_units: bool,
        derivative: Option<&str>,
    ) -> PyResult<()> {
        let mut system = self.lock(py)?;
        let mut connection = system.connect(output, input);
        if let Some(gain) = gain {
            connection = connection.gain(gain);
        }
        if let Some(offset) = offset {
            connection = connection.offset(offset);
        }
        if let Some(derivative) = derivative {
            connection = connection.derivative(derivative);
        }
        if ignore_units {
            connection.ignore_units();
        }
        Ok(())
    }

    /// Adds a scalar power bond.
    #[pyo3(signature = (name, effort, flow, *, sense=None, gain=None, correction=None, max_residual_energy=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one function")]
    fn bond(
        &self,
        py: Python<'_>,
        name: &str,
        effort: Ends,
        flow: Ends,
        sense: Option<f64>,
        gain: Option<f64>,
        correction: Option<WordArgument>,
        max_residual_energy: Option<f64>,
    ) -> PyResult<()> {
        let mut system = self.lock(py)?;
        let ends = |ends: &Ends| (ends.0.clone(), ends.1.clone());
        let (effort, flow) = (ends(&effort), ends(&flow));
        let mut bond = system.bond(name, (&effort.0, &effort.1), (&flow.0, &flow.1));
        if let Some(sense) = sense {
            bond = bond.sense(sense);
        }
        if let Some(gain) = gain {
            bond = bond.gain(gain);
        }
        if let Some(WordArgument(word)) = correction {
            bond = bond.correction(word);
        }
        if let Some(joules) = max_residual_energy {
            bond.max_residual_energy(joules);
        }
        Ok(())
    }

    /// Sets the start time, s.
    fn start_time(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.lock(py)?.start_time(seconds);
        Ok(())
    }

    /// Sets the stop time, s; `None` is a run without an end.
    fn stop_time(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        self.lock(py)?.stop_time(seconds);
        Ok(())
    }

    /// Chooses the method, with its settings.
    #[pyo3(signature = (name, **settings))]
    fn method(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.lock(py)?.method(word(name, settings)?);
        Ok(())
    }

    /// Chooses the step control, with its settings.
    #[pyo3(signature = (name, **settings))]
    fn step_control(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.lock(py)?.step_control(word(name, settings)?);
        Ok(())
    }

    /// Chooses the exchange mode of all components that have none of their own.
    fn exchange(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.lock(py)?.exchange(name);
        Ok(())
    }

    /// Chooses the extrapolation of all inputs whose component has none of its own.
    #[pyo3(signature = (name, **settings))]
    fn extrapolation(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.lock(py)?.extrapolation(word(name, settings)?);
        Ok(())
    }

    /// Chooses the correction of all bonds that have none of their own.
    #[pyo3(signature = (name, **settings))]
    fn correction(
        &self,
        py: Python<'_>,
        name: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.lock(py)?.correction(word(name, settings)?);
        Ok(())
    }

    /// The problems of the description.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let problems = self.lock(py)?.check();
        Ok(problems
            .into_iter()
            .map(|problem| problem.message)
            .collect())
    }

    /// Initialises the units and brings them to the start time.
    #[pyo3(signature = (*, threads=1, record=None, record_interval=None))]
    fn start(
        &self,
        py: Python<'_>,
        threads: usize,
        record: Option<Record>,
        record_interval: Option<f64>,
    ) -> PyResult<Run> {
        let mut guard = self.lock(py)?;
        let system = &mut *guard;
        let options = RunOptions {
            threads,
            ..RunOptions::default()
        };
        let started = py.detach(move || system.start(&options));
        let mut run = started.map_err(|failed| error::of_start(py, &failed, &self.raised))?;
        let patterns = match record {
            Some(Record::All(false)) => None,
            None | Some(Record::All(true)) => Some(Vec::new()),
            Some(Record::Patterns(patterns)) => Some(patterns),
        };
        let mut rows = None;
        if let Some(patterns) = patterns {
            let (recorder, kept) = Recorder::memory();
            let mut recorder = recorder.variables(patterns);
            if let Some(seconds) = record_interval {
                recorder = recorder.interval(seconds);
            }
            let observed = run.observe(recorder);
            observed.map_err(|failed| error::of_run(py, &failed, &self.raised))?;
            rows = Some(kept);
        }
        Ok(Run::new(run, rows, Arc::clone(&self.raised)))
    }
}

/// The columns that are recorded.
#[derive(FromPyObject)]
enum Record {
    /// All, or none.
    All(bool),
    Patterns(Vec<String>),
}
