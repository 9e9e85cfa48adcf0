//! A described system with its units, ready to be started.

mod assemble;
mod feasibility;
mod patterns;
mod rest;
mod scenario;
mod settings;
mod suggested_bonds;

pub use assemble::{FmuCache, further_problems};
pub use patterns::expand_patterns;
pub use settings::{BondSettings, ComponentSettings, InterfaceModelSettings};
pub use suggested_bonds::{Evidence, SuggestedBond, suggested_bonds};

use std::path::PathBuf;
use std::sync::Arc;

use gyrator_fmu::Fmu;
use gyrator_system::{
    Bond as FileBond, Choice, Component, Connection, Experiment, InterfaceModel, Port, Problem,
    Problems, Scenario, Severity, Spanned, SystemFile,
};

use crate::compatibility::{self, Parts as Together};
use crate::engine;
use crate::feed_forward::{FeedForward, macro_steps};
use crate::graph::Graph;
use crate::halving_unit::HalvingUnit;
use crate::method::Method;
use crate::registries::Registries;
use crate::registry::{Chosen, EntryKind, Registry};
use crate::resolve::resolve;
use crate::run::{Parts, Run};
use crate::run_options::RunOptions;
use crate::start_error::{LoadError, StartError};
use crate::state::{Member, Slot, SystemState};
use crate::step_control::StepControl;
use crate::unit::{Period, Unit, UnitDescription};
use crate::unit_maker::{InProcess, UnitMaker, UnitOrder};

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
}

/// A unit that is not running yet.
pub(crate) enum UnitSource {
    /// An FMU that was opened; its library is loaded when the system starts.
    Fmu(Fmu, UnitDescription),
    /// A unit of this process.
    Unit(Box<dyn Unit>),
}

impl UnitSource {
    fn description(&self) -> &UnitDescription {
        match self {
            Self::Fmu(_, description) => description,
            Self::Unit(unit) => unit.description(),
        }
    }
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
        Self {
            file,
            parts: Vec::new(),
            warnings: Vec::new(),
            registries: Registries::default(),
            feed_forward: None,
            scenario: None,
        }
    }

    pub(crate) fn with_parts(
        file: SystemFile,
        parts: Vec<UnitSource>,
        warnings: Vec<Problem>,
    ) -> Self {
        Self {
            file,
            parts,
            warnings,
            registries: Registries::default(),
            feed_forward: None,
            scenario: None,
        }
    }

    /// When, how and with which method the system is run.
    pub fn experiment(&mut self) -> &mut Experiment {
        &mut self.file.experiment
    }

    /// Sets the start time, s; 0 unless it is set.
    pub fn start_time(&mut self, seconds: f64) -> &mut Self {
        self.file.experiment.start_time = Some(Spanned::unplaced(seconds));
        self
    }

    /// Sets the stop time, s.
    pub fn stop_time(&mut self, seconds: f64) -> &mut Self {
        self.file.experiment.stop_time = Some(Spanned::unplaced(seconds));
        self
    }

    /// Adds a unit. The returned description accepts its step size, extrapolation, exchange mode
    /// and start values.
    pub fn add(&mut self, name: &str, unit: impl Unit + 'static) -> ComponentSettings<'_> {
        self.parts.push(UnitSource::Unit(Box::new(unit)));
        let component = Component::new(name, PathBuf::new());
        self.file.components.push(component);
        let last = self.file.components.len() - 1;
        ComponentSettings {
            component: &mut self.file.components[last],
        }
    }

    /// The description of the component `name`, which was added.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn component(&mut self, name: &str) -> ComponentSettings<'_> {
        let mut components = self.file.components.iter_mut();
        let component = components.find(|component| component.name.value == name);
        ComponentSettings {
            component: component.unwrap_or_else(|| panic!("there is no component {name}")),
        }
    }

    /// Connects the output `from` to the input `to`, both `component.variable`.
    pub fn connect(&mut self, from: &str, to: &str) -> &mut Self {
        let connection = connection(&self.file, from, to);
        self.file.connections.push(connection);
        self
    }

    /// As [`connect`](Self::connect), and gives the connection out for a gain, an offset or a
    /// conversion.
    pub fn connect_with(&mut self, from: &str, to: &str) -> &mut Connection {
        let connection = connection(&self.file, from, to);
        self.file.connections.push_mut(connection)
    }

    /// Adds a scalar power bond: `effort` and `flow` are each an output and the input it feeds. The
    /// returned settings accept further axes, a sense and a correction.
    pub fn bond(
        &mut self,
        name: &str,
        effort: (&str, &str),
        flow: (&str, &str),
    ) -> BondSettings<'_> {
        let bond = FileBond {
            name: Spanned::unplaced(name.to_owned()),
            effort: Vec::new(),
            flow: Vec::new(),
            sense: Spanned::unplaced(1.0),
            correction: None,
            max_residual_energy: None,
        };
        self.file.bonds.push(bond);
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

    /// Warnings that were found so far.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    pub(crate) fn last_bond(&mut self) -> Option<&mut FileBond> {
        self.file.bonds.last_mut()
    }

    /// Resolves the system, initialises the units and brings them to the start time.
    ///
    /// # Errors
    /// All problems of the description at once, or the first fault of a unit.
    pub fn start(self, options: &RunOptions) -> Result<Run, StartError> {
        self.start_with(options, &mut InProcess)
    }

    /// As [`start`](Self::start), with units of FMUs as `maker` makes them.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        mut self,
        options: &RunOptions,
        maker: &mut dyn UnitMaker,
    ) -> Result<Run, StartError> {
        let mut problems = std::mem::take(&mut self.warnings);
        let resolved = self.resolve(&mut problems);
        let failed = problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        let Some(resolved) = resolved.filter(|_| !failed) else {
            return Err(StartError::Invalid(Problems {
                source: self.file.source,
                list: problems,
            }));
        };
        let scenario = self.scenario.as_ref();
        let joined = scenario.map(|scenario| {
            scenario::join(scenario, &resolved.graph).map_err(|list| {
                let source = Arc::clone(&scenario.source);
                StartError::Invalid(Problems { source, list })
            })
        });
        let joined = joined.transpose()?;
        let pool = thread_pool(options.threads, &mut problems);
        let members = members(&self.file, self.parts, &resolved, options, maker)?;
        let mut state = SystemState::new(Arc::new(resolved.graph), members, pool);
        engine::set_up(&mut state);
        state.signals.accepts_non_finite = options.accept_not_finite;
        let noted = self.feed_forward.as_ref().map(FeedForward::note);
        if let Some(feed_forward) = self.feed_forward.take() {
            let signals = feed_forward.signals(&state.graph);
            engine::add_feed_forward(&mut state, signals);
        }
        if let Some(scenario) = joined {
            engine::add_scenario(&mut state, scenario, resolved.period.start);
        }
        let (method, control) = (resolved.method, resolved.control);
        Ok(Run::start(Parts {
            state,
            method: (method.name(), method.build()),
            control: (control.name(), control.build()),
            control_facts: control.facts(&()),
            period: resolved.period,
            interrupt: options.interrupt.clone(),
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
        let _ = self.resolve(&mut problems);
        problems
    }

    /// The resolved system, without running it.
    ///
    /// # Errors
    /// All problems of the description.
    pub fn graph(&self) -> Result<Graph, StartError> {
        self.graph_and_steps().map(|(graph, _)| graph)
    }

    /// The resolved system, and its macro-steps until the stop time.
    pub(crate) fn graph_and_steps(&self) -> Result<(Graph, Option<usize>), StartError> {
        let mut problems = self.warnings.clone();
        match self.resolve(&mut problems) {
            Some(Resolved { graph, period, .. }) => {
                let steps = period.stop.map(|stop| macro_steps(&graph, stop));
                Ok((graph, steps))
            }
            None => Err(StartError::Invalid(Problems {
                source: Arc::clone(&self.file.source),
                list: problems,
            })),
        }
    }

    fn resolve(&self, problems: &mut Vec<Problem>) -> Option<Resolved> {
        let descriptions: Vec<_> = self
            .parts
            .iter()
            .map(|part| Arc::new(part.description().clone()))
            .collect();
        let of_parts: Vec<_> = descriptions.iter().map(Arc::as_ref).collect();
        let file = &*patterns::expand(&self.file, &of_parts, problems);
        check_names(file, problems);
        let experiment = &file.experiment;
        let registries = &self.registries;
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
        if let Some(feed_forward) = &self.feed_forward {
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
            has_feed_forward: self.feed_forward.is_some(),
        };
        compatibility::check(&together, problems);
        Some(Resolved {
            graph,
            places,
            method: method?,
            control: control?,
            period,
        })
    }
}

/// A description without problems.
struct Resolved {
    graph: Graph,
    /// Place in the file of each component of the graph.
    places: Vec<usize>,
    method: Chosen<dyn Method>,
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
    const RULES: [&str; 7] = [
        "changed-in-bond",
        "duplicate-name",
        "empty-name",
        "invalid-sense",
        "many-steps",
        "no-components",
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
    parts: Vec<UnitSource>,
    resolved: &Resolved,
    options: &RunOptions,
    maker: &mut dyn UnitMaker,
) -> Result<Vec<Member>, StartError> {
    let mut parts: Vec<Option<UnitSource>> = parts.into_iter().map(Some).collect();
    let order = |place: &usize| match &parts[*place] {
        Some(UnitSource::Fmu(fmu, description)) => Some(UnitOrder {
            component: &file.components[*place],
            fmu,
            description,
            options,
        }),
        _ => None,
    };
    let orders: Vec<_> = resolved.places.iter().map(order).collect();
    maker.plan(&orders.iter().flatten().copied().collect::<Vec<_>>());
    let make = |order: Option<UnitOrder<'_>>| order.map(|order| slot(maker, &order));
    let made: Vec<_> = orders.into_iter().map(make).collect();
    let (mut members, mut errors) = (Vec::new(), Vec::new());
    for (component, (place, made)) in resolved.places.iter().zip(made).enumerate() {
        let slot = match (made, parts[*place].take()) {
            (Some(made), _) => made,
            (None, Some(UnitSource::Unit(unit))) => Ok(Slot::Other(unit)),
            (None, _) => continue,
        };
        match slot {
            Ok(slot) => {
                let description = &resolved.graph.components[component].description;
                let slot = HalvingUnit::around(slot, &file.components[*place], description);
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

fn thread_pool(threads: usize, problems: &mut Vec<Problem>) -> Option<rayon::ThreadPool> {
    if threads <= 1 {
        return None;
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Some(pool),
        Err(error) => {
            problems.push(Problem::warning(
                "no-threads",
                format!("{threads} threads could not be started: {error}"),
            ));
            None
        }
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
