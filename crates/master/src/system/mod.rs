//! A described system with its units, ready to be started.

mod assemble;
mod feasibility;
mod patterns;
mod planning;
mod reading;
mod rest;
mod scenario;
mod settings;
mod state_file;
mod suggested_bonds;
mod suggested_connections;
mod unit_source;
mod word;

pub use assemble::{FmuCache, further_problems};
pub use patterns::expand_patterns;
pub use planning::drafted_plan;
pub use settings::{BondSettings, ComponentSettings, ConnectionSettings, InterfaceModelSettings};
pub use state_file::{Resumption, StateFile};
pub use suggested_bonds::{Evidence, SuggestedBond, suggested_bonds};
pub use suggested_connections::{Likeness, OpenInput, SuggestedConnection, suggested_connections};
pub(crate) use unit_source::UnitSource;
pub use word::Word;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_system::{
    Choice, Component, Connection, Experiment, InterfaceModel, Port, Problem, Problems, Scenario,
    Severity, Spanned, SystemFile,
};

use crate::compatibility::{self, Parts as Together};
use crate::engine;
use crate::feed_forward::{FeedForward, macro_steps};
use crate::graph::Graph;
use crate::halving_unit::HalvingUnit;
use crate::interface_order;
use crate::joining;
use crate::method::Method;
use crate::plan::StepPlan;
use crate::registries::Registries;
use crate::registry::{Chosen, EntryKind, Registry};
use crate::resolve::resolve;
use crate::run::{self, Parts, Run};
use crate::run_options::RunOptions;
use crate::start_error::{LoadError, StartError};
use crate::state::{Member, RunningScenario, Slot, SystemState};
use crate::step_control::StepControl;
use crate::unit::{InProcess, UnitMaker, UnitOrder};
use crate::unit::{Period, Unit};
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
    /// parameter sets, those named are applied; all that it binds where none are.
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

    /// Chooses the method: a word of [`METHODS`](crate::method::METHODS).
    pub fn method(&mut self, word: impl Into<Word>) -> &mut Self {
        self.file.experiment.method = Some(word.into().into_choice());
        self
    }

    /// Chooses the step control: a word of [`STEP_CONTROLS`](crate::step_control::STEP_CONTROLS).
    pub fn step_control(&mut self, word: impl Into<Word>) -> &mut Self {
        self.file.experiment.step_control = Some(word.into().into_choice());
        self
    }

    /// Chooses the exchange mode of all components that do not say their own: a word of
    /// [`Exchange::WORDS`](crate::exchange_mode::Exchange::WORDS).
    pub fn exchange(&mut self, word: &str) -> &mut Self {
        self.file.experiment.exchange = unplaced(word.to_owned());
        self
    }

    /// Chooses the extrapolation of all inputs whose component does not say its own: a word of
    /// [`EXTRAPOLATIONS`](crate::extrapolation::EXTRAPOLATIONS).
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

    /// Settings of the component `name`; `None` where there is none.
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
        let model = InterfaceModel::new(name, component, exchange_step);
        self.file.interface_models.push(model);
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

    /// Resolves the system, initialises the units and brings them to the start time. The system stays
    /// as it is: it can be changed and started again, also while a run of it goes on, where each of its
    /// units can be made again: FMUs, blocks, and those that [`add_with`](Self::add_with) has added.
    ///
    /// # Errors
    /// All problems of the description at once, or the first fault of a unit.
    pub fn start(&self, options: &RunOptions) -> Result<Run, StartError> {
        self.start_with(options, &mut InProcess)
    }

    /// As [`start`](Self::start), with units of FMUs as `maker` makes them.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        &self,
        options: &RunOptions,
        maker: &mut dyn UnitMaker,
    ) -> Result<Run, StartError> {
        let mut problems = self.warnings.clone();
        let resolved = resolved(self, &mut problems);
        let failed = problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        let Some(resolved) = resolved.filter(|_| !failed) else {
            return Err(StartError::Invalid(Problems {
                source: Arc::clone(&self.file.source),
                list: problems,
            }));
        };
        let joined = joined_scenario(self, &resolved.graph)?;
        let pool = options.pool(&mut problems);
        let members = members(&self.file, &self.parts, &resolved, options, maker)?;
        let mut state = SystemState::new(Arc::new(resolved.graph), members, pool);
        interface_order::set_up(&mut state);
        engine::set_up(&mut state, &resolved.plan);
        state.signals.accepts_non_finite = options.accept_not_finite;
        let noted = self.feed_forward.as_ref().map(FeedForward::note);
        if let Some(feed_forward) = &self.feed_forward {
            let signals = feed_forward.clone().signals(&state.graph);
            engine::add_feed_forward(&mut state, signals);
        }
        if let Some(scenario) = joined {
            engine::add_scenario(&mut state, scenario, resolved.period.start);
        }
        let control = resolved.control;
        Ok(run::start(Parts {
            state,
            method: resolved.method.name(),
            plan: resolved.plan,
            control: (control.name(), control.build()),
            control_facts: control.facts(&()),
            period: resolved.period,
            interrupt: options.interrupt.clone(),
            waits_at_stop_time: options.waits_at_stop_time,
            open_end: options.open_end,
            notes: problems
                .into_iter()
                .map(|problem| problem.message)
                .chain(noted)
                .collect(),
        })?)
    }

    /// Finds all problems that need no run to find, as [`start`](Self::start) would report them.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = self.warnings.clone();
        let _ = resolved(self, &mut problems);
        problems
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

/// The resolved system, without running it.
///
/// # Errors
/// All problems of the description.
pub fn resolved_graph(system: &System) -> Result<Graph, StartError> {
    graph_and_steps(system).map(|(graph, _)| graph)
}

/// Finds the problems of a system's scenario that need no run to find, of a system without others.
///
/// # Errors
/// All problems of the scenario, or of the description.
pub fn check_scenario(system: &System) -> Result<(), StartError> {
    joined_scenario(system, &resolved_graph(system)?).map(|_| ())
}

fn joined_scenario(system: &System, graph: &Graph) -> Result<Option<RunningScenario>, StartError> {
    let Some(scenario) = &system.scenario else {
        return Ok(None);
    };
    let joined = joining::join(scenario, graph).map_err(|list| {
        let source = Arc::clone(&scenario.source);
        StartError::Invalid(Problems { source, list })
    });
    joined.map(Some)
}

/// The resolved system, and its macro-steps until the stop time.
pub(crate) fn graph_and_steps(system: &System) -> Result<(Graph, Option<usize>), StartError> {
    let mut problems = system.warnings.clone();
    match resolved(system, &mut problems) {
        Some(Resolved { graph, period, .. }) => {
            let steps = period.stop.map(|stop| macro_steps(&graph, stop));
            Ok((graph, steps))
        }
        None => Err(StartError::Invalid(Problems {
            source: Arc::clone(&system.file.source),
            list: problems,
        })),
    }
}

fn resolved(system: &System, problems: &mut Vec<Problem>) -> Option<Resolved> {
    let descriptions: Vec<_> = system
        .parts
        .iter()
        .map(|part| Arc::clone(part.description()))
        .collect();
    let of_parts: Vec<_> = descriptions.iter().map(Arc::as_ref).collect();
    let mut file = patterns::expand(&system.file, &of_parts, problems);
    if let Some(correction) = &system.correction {
        for bond in &mut file.to_mut().bonds {
            bond.correction.get_or_insert_with(|| correction.clone());
        }
    }
    let file = &*file;
    check_names(file, problems);
    let experiment = &file.experiment;
    let registries = &system.registries;
    let asked = experiment.method.as_ref();
    let method = choose(&registries.methods, asked, "jacobi", problems);
    let asked = experiment.step_control.as_ref();
    let control = choose(&registries.step_controls, asked, "fixed", problems);
    let (mut graph, places) = resolve(file, &descriptions, registries, problems)?;
    graph.check_signal_steps(file, problems);
    feasibility::check_period(file, &graph, problems);
    feasibility::check_start_values(file, &graph, problems);
    let period = Period {
        start: graph.clock.start(),
        stop: experiment.stop_time.as_ref().map(|time| time.value),
        tolerance: experiment
            .tolerance
            .as_ref()
            .map(|tolerance| tolerance.value),
    };
    if let Some(feed_forward) = &system.feed_forward {
        for misfit in feed_forward.misfits(&graph, &period) {
            let text = format!("the feed-forward does not fit: {misfit}");
            problems.push(Problem::error("feed-forward", text));
        }
        feed_forward.set_exchange(&mut graph);
    }
    let together = Together {
        file,
        graph: &graph,
        method: method.as_ref(),
        control: control.as_ref(),
        has_feed_forward: system.feed_forward.is_some(),
    };
    compatibility::check(&together, problems);
    let method = method?;
    let plan = planning::draft(&method, &graph, problems);
    Some(Resolved {
        graph,
        places,
        method,
        plan,
        control: control?,
        period,
    })
}

/// A description without problems.
struct Resolved {
    graph: Graph,
    /// Place in the file of each component of the graph.
    places: Vec<usize>,
    method: Chosen<dyn Method>,
    /// The draft that the method has written.
    plan: StepPlan,
    control: Chosen<dyn StepControl>,
    period: Period,
}

/// A connection as a system file has it, between `component.variable` names.
fn connection(file: &SystemFile, from: &str, to: &str) -> Connection {
    Connection {
        from: port(file, from),
        to: port(file, to),
        ..Connection::new(Port::new("", ""), Port::new("", ""))
    }
}

/// Splits at the longest component name; at the first dot where none is known.
fn port(file: &SystemFile, name: &str) -> Spanned<Port> {
    let known = file
        .components
        .iter()
        .map(|component| component.name.value.as_str());
    let component = known
        .filter(|known| {
            name.strip_prefix(known)
                .is_some_and(|rest| rest.starts_with('.'))
        })
        .max_by_key(|known| known.len())
        .or_else(|| name.split_once('.').map(|(component, _)| component))
        .unwrap_or(name);
    let variable = name.get(component.len() + 1..).unwrap_or_default();
    Spanned::unplaced(Port {
        component: component.to_owned(),
        variable: variable.to_owned(),
    })
}

/// Names and numbers that the readers of files check, and that code can get wrong, too.
fn check_names(file: &SystemFile, problems: &mut Vec<Problem>) {
    const RULES: [&str; 8] = [
        "changed-in-bond",
        "duplicate-name",
        "empty-name",
        "invalid-sense",
        "many-steps",
        "no-components",
        "step-too-large",
        "step-too-small",
    ];
    let known = |found: &Problem| problems.iter().any(|problem| problem == found);
    let mut found = gyrator_system::check(file);
    found.retain(|problem| RULES.contains(&problem.rule) && !known(problem));
    problems.extend(found);
    let start = file.experiment.start_time.as_ref();
    if let Some(start) = start.filter(|start| !start.value.is_finite()) {
        let message = format!("the start time is {} s; it must be a number", start.value);
        problems.push(Problem::error("not-finite", message).at(&start.span));
    }
}

/// Makes the units, in the order of the graph.
fn members(
    file: &SystemFile,
    parts: &[UnitSource],
    resolved: &Resolved,
    options: &RunOptions,
    maker: &mut dyn UnitMaker,
) -> Result<Vec<Member>, StartError> {
    let order = |place: &usize| match &parts[*place] {
        UnitSource::Fmu(fmu, description) => Some(UnitOrder {
            component: &file.components[*place],
            fmu,
            description,
            options,
        }),
        UnitSource::InProcess(_) => None,
    };
    let orders: Vec<_> = resolved.places.iter().map(order).collect();
    maker.plan(&orders.iter().flatten().copied().collect::<Vec<_>>());
    let make = |order: Option<UnitOrder<'_>>| order.map(|order| slot(maker, &order));
    let made: Vec<_> = orders.into_iter().map(make).collect();
    let (mut members, mut errors) = (Vec::new(), Vec::new());
    for (component, (place, made)) in resolved.places.iter().zip(made).enumerate() {
        let file_component = &file.components[*place];
        let slot = match (made, &parts[*place]) {
            (Some(made), _) => made,
            (None, UnitSource::InProcess(unit)) => {
                Ok(Slot::Other(unit.unit_for_run(file_component, file)?))
            }
            (None, UnitSource::Fmu(..)) => continue,
        };
        match slot {
            Ok(slot) => {
                let description = &resolved.graph.components[component].description;
                let slot = HalvingUnit::around(slot, file_component, description);
                members.push(Member::new(slot, component, &resolved.graph));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(members)
    } else {
        Err(StartError::Load(errors))
    }
}

fn slot(maker: &mut dyn UnitMaker, order: &UnitOrder<'_>) -> Result<Slot, LoadError> {
    match maker.make(order)? {
        Some(unit) => Ok(Slot::Other(unit)),
        None => order.instantiate().map(Slot::Fmu),
    }
}

fn choose<K: EntryKind + ?Sized>(
    registry: &Registry<K>,
    choice: Option<&Choice>,
    default: &str,
    problems: &mut Vec<Problem>,
) -> Option<Chosen<K>> {
    let default = Choice {
        name: Spanned::unplaced(default.to_owned()),
        parameters: Vec::new(),
    };
    match registry.look_up(choice.unwrap_or(&default)) {
        Ok(found) => Some(found),
        Err(found) => {
            problems.extend(found);
            None
        }
    }
}
