//! A described system with its units, ready to be started.

mod apart;
mod assemble;
mod feasibility;
mod patterns;
mod planning;
mod ports;
mod reading;
mod resolved;
mod rest;
mod scenario;
mod settings;
mod starting;
mod state_file;
mod suggested_bonds;
mod suggested_connections;
mod ties;
mod unit_source;
mod word;

pub use crate::unused_inputs::UnusedInputs;
pub use assemble::{FmuCache, copied_libraries, further_problems, shared_fmus};
pub use patterns::expand_patterns;
pub use planning::drafted_plan;
pub(crate) use resolved::graph_and_steps;
pub use resolved::{resolved_graph, unused_inputs};
pub use settings::{BondSettings, ComponentSettings, ConnectionSettings, InterfaceModelSettings};
pub use state_file::{Resumption, StateFile};
pub use suggested_bonds::{Evidence, SuggestedBond, suggested_bonds};
pub use suggested_connections::{Likeness, OpenInput, SuggestedConnection, suggested_connections};
pub(crate) use unit_source::UnitSource;
pub use word::Word;

use std::path::{Path, PathBuf};

use gyrator_system::{
    Choice, Component, Experiment, Problem, Scenario, Spanned, SystemFile, Tolerance,
};

use crate::feed_forward::FeedForward;
use crate::registries::Registries;
use crate::start_error::StartError;
use crate::unit::Unit;
use ports::connection;
use word::unplaced;

/// A system: units, connections, power bonds and the experiment, by names.
///
/// It is described in code, with units of any kind, or read from a file, with FMUs
/// ([`System::from_file`]).
pub struct System {
    file: SystemFile,
    parts: Vec<UnitSource>,
    warnings: Vec<Problem>,
    registries: Registries,
    feed_forward: Option<FeedForward>,
    scenario: Option<Scenario>,
    /// The correction of bonds that do not say their own.
    correction: Option<Choice>,
    /// FMUs that were opened for components added in code.
    fmus: FmuCache,
}

/// Gives all FMUs of a system this tolerance, or none; unless it is set, each gets the one of its default experiment.
pub fn set_tolerance(system: &mut System, tolerance: Tolerance) {
    system.file.experiment.tolerance = unplaced(tolerance);
}

impl System {
    /// An empty system with macro-step `step_size`, s. It starts at time 0 and has no end.
    pub fn new(step_size: f64) -> Self {
        let experiment = Experiment {
            step_size: Some(Spanned::unplaced(step_size)),
            ..Experiment::default()
        };
        let file = SystemFile {
            experiment,
            ..SystemFile::new("<code>")
        };
        described(file)
    }

    /// Reads a system in TOML, of the SSP standard, or of the Open Simulation Platform (a file or a folder),
    /// and opens its FMUs.
    ///
    /// # Errors
    /// All problems of the description, or all FMUs that cannot be opened.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, StartError> {
        let (file, problems) = reading::read(path.as_ref())?;
        let mut system = Self::from_file(file)?;
        system.warnings.extend(problems);
        Ok(system)
    }

    /// Reads a system of the SSP standard, an `.ssp`, an `.ssd` or a folder, and opens its FMUs. Of its
    /// parameter sets, those named are applied; all that it binds if none are.
    ///
    /// # Errors
    /// As [`from_path`](Self::from_path); a parameter set that the system does not have.
    pub fn from_ssp(path: impl AsRef<Path>, parameter_sets: &[&str]) -> Result<Self, StartError> {
        let (file, problems) = reading::read_ssp(path.as_ref(), parameter_sets)?;
        let mut system = Self::from_file(file)?;
        system.warnings.extend(problems);
        Ok(system)
    }

    /// Sets the start time, s; 0 unless it is set.
    pub fn start_time(&mut self, seconds: f64) -> &mut Self {
        self.file.experiment.start_time = unplaced(seconds);
        self
    }

    /// Sets the stop time, s; `None`, the default, is a run without an end.
    pub fn stop_time(&mut self, seconds: impl Into<Option<f64>>) -> &mut Self {
        self.file.experiment.stop_time = seconds.into().and_then(unplaced);
        self
    }

    /// Chooses the method: a word of [`METHODS`](crate::method::METHODS); `auto` by default, as in files.
    pub fn method(&mut self, word: impl Into<Word>) -> &mut Self {
        self.file.experiment.method = Some(word.into().into_choice());
        self
    }

    /// Chooses the step control: a word of [`STEP_CONTROLS`](crate::step_control::STEP_CONTROLS); `fixed` by default.
    pub fn step_control(&mut self, word: impl Into<Word>) -> &mut Self {
        self.file.experiment.step_control = Some(word.into().into_choice());
        self
    }

    /// Chooses the exchange mode of all components that do not say their own: a word of
    /// [`Exchange::WORDS`](crate::exchange_mode::Exchange::WORDS); `auto` by default, as in files.
    pub fn exchange(&mut self, word: &str) -> &mut Self {
        self.file.experiment.exchange = unplaced(word.to_owned());
        self
    }

    /// Chooses the extrapolation of all inputs whose component does not say its own: a word of
    /// [`EXTRAPOLATIONS`](crate::extrapolation::EXTRAPOLATIONS); `auto` by default, as in files.
    pub fn extrapolation(&mut self, word: impl Into<Word>) -> &mut Self {
        self.file.experiment.extrapolation = Some(word.into().into_choice());
        self
    }

    /// Chooses the correction of all bonds that do not say their own: a word of
    /// [`CORRECTIONS`](crate::correction::CORRECTIONS).
    pub fn correction(&mut self, word: impl Into<Word>) -> &mut Self {
        self.correction = Some(word.into().into_choice());
        self
    }

    /// Adds a unit, for one run of the system. The returned description accepts its step size,
    /// extrapolation, exchange mode and start values.
    pub fn add(&mut self, name: &str, unit: impl Unit + 'static) -> ComponentSettings<'_> {
        add_source(
            self,
            name,
            PathBuf::new(),
            UnitSource::of_unit(Box::new(unit)),
        )
    }

    /// Adds units that `make` makes, one for each run of the system.
    pub fn add_with<U: Unit + 'static>(
        &mut self,
        name: &str,
        make: impl Fn() -> U + Send + Sync + 'static,
    ) -> ComponentSettings<'_> {
        let maker = move || Box::new(make()) as Box<dyn Unit>;
        add_source(
            self,
            name,
            PathBuf::new(),
            UnitSource::of_maker(Box::new(maker)),
        )
    }

    /// Adds an FMU. Its description is read; its library is loaded when the system starts.
    ///
    /// # Errors
    /// An FMU that cannot be opened.
    pub fn add_fmu(
        &mut self,
        name: &str,
        path: impl Into<PathBuf>,
    ) -> Result<ComponentSettings<'_>, StartError> {
        let component = Component::new(name, path);
        let (source, warnings) = self.fmus.source(&component)?;
        self.warnings.extend(warnings);
        Ok(add_source(self, name, component.fmu.value, source))
    }

    /// Settings of the component `name`; `None` if there is none.
    pub fn component(&mut self, name: &str) -> Option<ComponentSettings<'_>> {
        let component = self.file.component_mut(name)?;
        Some(ComponentSettings { component })
    }

    /// Connects the output `from` to the input `to`, both `component.variable`. The returned settings
    /// accept a gain, an offset and a conversion.
    pub fn connect(&mut self, from: &str, to: &str) -> ConnectionSettings<'_> {
        let connection = connection(&self.file, from, to);
        ConnectionSettings {
            connection: self.file.connections.push_mut(connection),
        }
    }

    /// Adds a scalar power bond: `effort` and `flow` are each an output and the input it feeds. The
    /// returned settings accept further axes, a sense and a correction.
    pub fn bond(
        &mut self,
        name: &str,
        effort: (&str, &str),
        flow: (&str, &str),
    ) -> BondSettings<'_> {
        self.file.add_bond(name);
        BondSettings { system: self }.axis(effort, flow)
    }

    /// Adds an interface model of the multibody component `component`, which exchanges values with
    /// the fast components at its bonds every `exchange_step`, s. The returned settings accept the
    /// bonds and the variables.
    pub fn interface_model(
        &mut self,
        name: &str,
        component: &str,
        exchange_step: f64,
    ) -> InterfaceModelSettings<'_> {
        self.file
            .add_interface_model(name, component, exchange_step);
        InterfaceModelSettings { system: self }
    }

    /// Adds learned feed-forward to inputs, and exchanges the outputs as they were exchanged when
    /// it was learned. Whether it fits the system is found by [`check`](Self::check) and
    /// [`start`](Self::start).
    pub fn feed_forward(&mut self, feed_forward: FeedForward) -> &mut Self {
        self.feed_forward = Some(feed_forward);
        self
    }

    /// Has a scenario act on the variables of the system. Whether it fits is found by
    /// [`start`](Self::start).
    pub fn scenario(&mut self, scenario: Scenario) -> &mut Self {
        self.scenario = Some(scenario);
        self
    }

    /// The words that the description may use; a program adds its own to them.
    pub fn registries(&mut self) -> &mut Registries {
        &mut self.registries
    }

    /// The description as it stands.
    pub fn description(&self) -> &SystemFile {
        &self.file
    }
}

/// The system of `file`, without units.
pub(super) fn described(file: SystemFile) -> System {
    System {
        file,
        parts: Vec::new(),
        warnings: Vec::new(),
        registries: Registries::default(),
        feed_forward: None,
        scenario: None,
        correction: None,
        fmus: FmuCache::default(),
    }
}

fn add_source<'a>(
    system: &'a mut System,
    name: &str,
    path: PathBuf,
    source: UnitSource,
) -> ComponentSettings<'a> {
    system.parts.push(source);
    let component = Component::new(name, path);
    ComponentSettings {
        component: system.file.components.push_mut(component),
    }
}
