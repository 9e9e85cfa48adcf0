//! Systems that Python code describes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::learning::FeedForwardError;
use gyrator::real_time::RealTime;
use gyrator::system::{ComponentSettings, ConnectionSettings, set_tolerance};
use gyrator::system_file::toml_file::read_scenario;
use gyrator::system_file::{NumberConversion, Scenario, Tolerance};
use gyrator::{Recorder, RunOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::arguments::{Axes, Ends, Record};
use crate::display;
use crate::error::{self, Raised};
use crate::judge;
use crate::linear_unit::LinearUnit;
use crate::python_unit::{self, Plan};
use crate::real_time::{self, Pace};
use crate::running::Run;
use crate::value::{WordArgument, from_python, items, word};

/// Names of variables or bonds.
#[derive(Default, FromPyObject)]
struct Names(Vec<String>);

impl Names {
    fn list(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// How values get another type: a word, or values for texts.
#[derive(FromPyObject)]
enum Conversion<'py> {
    Word(String),
    Table(Bound<'py, PyMapping>),
}

impl Conversion<'_> {
    fn set<'s>(
        self,
        py: Python<'_>,
        connection: ConnectionSettings<'s>,
    ) -> PyResult<ConnectionSettings<'s>> {
        match self {
            Self::Word(word) => {
                let mut words = NumberConversion::WORDS.into_iter();
                let Some((_, conversion)) = words.find(|(known, _)| *known == word) else {
                    let known = NumberConversion::WORDS.map(|(known, _)| known).join(", ");
                    let text = format!("there is no conversion `{word}`; known: {known}");
                    return Err(error::usage(py, text));
                };
                Ok(connection.convert(conversion))
            }
            Self::Table(table) => {
                let entries = items(&table)?;
                let entries = entries
                    .iter()
                    .map(|(text, value)| (text.as_str(), value.clone()));
                Ok(connection.convert_table(entries))
            }
        }
    }
}

/// Units, connections, power bonds and the experiment, by names.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct System {
    system: Mutex<gyrator::System>,
    /// The actions that are added in code, with those of the file.
    scenario: Mutex<Option<Scenario>>,
    raised: Raised,
}

impl System {
    fn of(system: gyrator::System, raised: Raised) -> Self {
        // The one that its file names, to which actions are added.
        let path = system.description().scenario_path();
        let scenario = path.and_then(|path| read_scenario(&path).ok());
        Self {
            system: Mutex::new(system),
            scenario: Mutex::new(scenario),
            raised,
        }
    }

    fn lock_scenario(&self) -> MutexGuard<'_, Option<Scenario>> {
        self.scenario.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, gyrator::System>> {
        self.system
            .try_lock()
            .map_err(|_| error::usage(py, "the system is in use: it is being started"))
    }
}

fn names(ends: &Ends) -> (&str, &str) {
    (&ends.0, &ends.1)
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
            "start" => {
                let wrong = |_| PyTypeError::new_err("`start` maps names of variables to values");
                with_start_values(component, value.cast().map_err(wrong)?)?
            }
            "keep_initial_inputs" if value.extract()? => component.keep_initial_inputs(),
            _ => component,
        };
    }
    Ok(())
}

fn with_start_values<'s>(
    mut component: ComponentSettings<'s>,
    values: &Bound<'_, PyMapping>,
) -> PyResult<ComponentSettings<'s>> {
    for (variable, value) in items(values)? {
        component = component.start(&variable, value);
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

    /// Reads a system from a file or a folder: TOML, SSP, OSP, MasterSim or INTO-CPS. Parameter sets are those of an SSP.
    #[staticmethod]
    #[pyo3(signature = (path, *, parameter_set=None))]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        parameter_set: Option<Vec<String>>,
    ) -> PyResult<Self> {
        if path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("fmu"))
        {
            let text = format!(
                "{} is an FMU, not a system: `System.add_fmu` takes it",
                path.display()
            );
            return Err(error::invalid(py, text));
        }
        let raised = Raised::default();
        let system = py.detach(|| match parameter_set {
            None => gyrator::System::from_path(path),
            Some(sets) => {
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                gyrator::System::from_ssp(path, &sets)
            }
        });
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
        if let Ok(linear) = unit.cast::<LinearUnit>() {
            let maker = linear.get().maker();
            return set(self.lock(unit.py())?.add_with(name, maker), settings);
        }
        let plan = Arc::new(Plan::of(unit, Arc::clone(&self.raised))?);
        let mut system = self.lock(unit.py())?;
        set(
            system.add_with(name, move || python_unit::made(&plan)),
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
    #[pyo3(signature = (output, input, *, gain=None, offset=None, convert=None, ignore_units=false, derivative=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one function")]
    fn connect(
        &self,
        py: Python<'_>,
        output: &str,
        input: &str,
        gain: Option<f64>,
        offset: Option<f64>,
        convert: Option<Conversion<'_>>,
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
        if let Some(convert) = convert {
            connection = convert.set(py, connection)?;
        }
        if let Some(derivative) = derivative {
            connection = connection.derivative(derivative);
        }
        if ignore_units {
            connection.ignore_units();
        }
        Ok(())
    }

    /// Adds a power bond of one axis or several.
    #[pyo3(signature = (name, effort, flow, *, sense=None, gain=None, correction=None, max_residual_energy=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one function")]
    fn bond(
        &self,
        py: Python<'_>,
        name: &str,
        effort: Axes,
        flow: Axes,
        sense: Option<f64>,
        gain: Option<f64>,
        correction: Option<WordArgument>,
        max_residual_energy: Option<f64>,
    ) -> PyResult<()> {
        let (Axes(effort), Axes(flow)) = (effort, flow);
        if effort.is_empty() || effort.len() != flow.len() {
            let (efforts, flows) = (effort.len(), flow.len());
            let text =
                format!("a bond has as many efforts as flows, and {efforts} and {flows} are given");
            return Err(error::usage(py, text));
        }
        let mut system = self.lock(py)?;
        let mut axes = effort.iter().zip(&flow);
        let first = axes
            .next()
            .map(|(effort, flow)| (names(effort), names(flow)));
        let Some((effort, flow)) = first else {
            return Ok(());
        };
        let mut bond = system.bond(name, effort, flow);
        for (effort, flow) in axes {
            bond = bond.axis(names(effort), names(flow));
        }
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

    /// Adds an interface model of a multibody component.
    #[pyo3(signature = (
        name, component, exchange_step, *, bonds, positions=None, inverse_mass=None, free_acceleration=None, accelerations=None,
        forces=None, stiffness=None, force_rates=None, order=None, **settings
    ))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one function")]
    fn interface_model(
        &self,
        py: Python<'_>,
        name: &str,
        component: &str,
        exchange_step: f64,
        bonds: Names,
        positions: Option<Names>,
        inverse_mass: Option<Names>,
        free_acceleration: Option<Names>,
        accelerations: Option<Names>,
        forces: Option<Names>,
        stiffness: Option<Names>,
        force_rates: Option<Names>,
        order: Option<&str>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let list = Option::unwrap_or_default;
        let mut system = self.lock(py)?;
        let mut model = system
            .interface_model(name, component, exchange_step)
            .bonds(&bonds.list())
            .positions(&list(positions).list())
            .mass(&list(inverse_mass).list(), &list(free_acceleration).list())
            .accelerations(&list(accelerations).list())
            .forces(&list(forces).list())
            .force_model(&list(stiffness).list(), &list(force_rates).list());
        if let Some(order) = order {
            model = model.order(order);
        }
        for (key, value) in settings.into_iter().flatten() {
            model = model.option(&key.extract::<String>()?, from_python(&value)?);
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

    /// Gives all FMUs this relative tolerance, or none; unless it is set, each gets the one that it recommends.
    fn tolerance(&self, py: Python<'_>, relative: Option<f64>) -> PyResult<()> {
        let tolerance = relative.map_or(Tolerance::Off, Tolerance::Relative);
        set_tolerance(&mut *self.lock(py)?, tolerance);
        Ok(())
    }

    /// Chooses the method, with its settings; "auto" by default, as in files.
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

    /// Chooses the step control, with its settings; "fixed" by default.
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

    /// Chooses the exchange mode of all components that have none of their own; "auto" by default, as in files.
    fn exchange(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.lock(py)?.exchange(name);
        Ok(())
    }

    /// Chooses the extrapolation of all inputs whose component has none of its own; "auto" by default, as in files.
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

    /// Has learned feed-forward added to inputs: the file that `gyrator learn` writes.
    fn feed_forward(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let read = std::fs::read_to_string(&path).map_err(|failed| failed.to_string());
        let read = read.and_then(|text| {
            text.parse()
                .map_err(|failed: FeedForwardError| failed.to_string())
        });
        let read =
            read.map_err(|failed| error::invalid(py, format!("{}: {failed}", path.display())))?;
        self.lock(py)?.feed_forward(read);
        Ok(())
    }

    /// Has the scenario of a file act on the variables of the system, in place of all actions so far.
    fn scenario(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let read = read_scenario(&path);
        let read = read.map_err(|failed| error::invalid(py, failed.to_string()))?;
        *self.lock_scenario() = Some(read.clone());
        self.lock(py)?.scenario(read);
        Ok(())
    }

    /// Acts on a variable from a time on.
    #[pyo3(signature = (variable, action, *, time, until=None, **settings))]
    fn act(
        &self,
        py: Python<'_>,
        variable: &str,
        action: &str,
        time: f64,
        until: Option<f64>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let mut guard = self.lock_scenario();
        let scenario = guard.get_or_insert_with(Scenario::new);
        let timed = scenario.act(time, variable, word(action, settings)?);
        if let Some(end) = until {
            timed.until(end);
        }
        self.lock(py)?.scenario(scenario.clone());
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(display::text(self.lock(py)?.description()))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        display::html(py, self.lock(py)?.description())
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
    #[pyo3(signature = (*, threads=1, record=None, record_interval=None, real_time=None, overruns="warn",
                        cpu=None, fifo_priority=None, lock_memory=false, check=None))]
    #[expect(clippy::too_many_arguments, reason = "the keywords of one function")]
    fn start(
        &self,
        py: Python<'_>,
        threads: usize,
        record: Option<Record>,
        record_interval: Option<f64>,
        real_time: Option<Pace>,
        overruns: &str,
        cpu: Option<usize>,
        fifo_priority: Option<u8>,
        lock_memory: bool,
        check: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Run> {
        if let Some(seconds) = record_interval
            && !(seconds > 0.0 && seconds.is_finite())
        {
            let text =
                format!("`record_interval` is {seconds}; it must be finite and greater than 0");
            return Err(error::usage(py, text));
        }
        let clock = real_time::Options {
            overruns,
            cpu,
            fifo_priority,
            lock_memory,
        };
        let clock = clock.observer(py, &real_time.unwrap_or(Pace::Wanted(false)))?;
        let mut guard = self.lock(py)?;
        let system = &mut *guard;
        let text = display::file(system.description());
        let options = RunOptions {
            threads,
            ..RunOptions::default()
        };
        let experiment = system.description().experiment.clone();
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
            // Columns that are not there.
            let observed = run.observe(recorder);
            observed.map_err(|failed| error::usage(py, failed.to_string()))?;
            rows = Some(kept);
        }
        let judging = match check {
            None => None,
            Some(checks) => {
                let judging = judge::judging(py, checks, run.graph(), &experiment)?;
                let observed = run.observe(judging.observer());
                observed.map_err(|failed| error::of_run(py, &failed, &self.raised))?;
                Some(judging)
            }
        };
        // Last, so that nothing comes between its points and the next step.
        let timing = clock.as_ref().map(RealTime::timing);
        if let Some(clock) = clock {
            let observed = run.observe(clock);
            observed.map_err(|failed| error::of_run(py, &failed, &self.raised))?;
        }
        let raised = Arc::clone(&self.raised);
        Ok(Run::new(run, rows, timing, judging, raised, text))
    }
}
