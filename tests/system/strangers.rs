//! A stranger changes nothing: every figure of a run is the same to the bit if an unconnected component is added to the
//! system, or if something watches the run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use gyrator::observer::{ObserverError, StopRequest, Watch};
use gyrator::profile::Profile;
use gyrator::unit::InProcess;
use gyrator::{LinearUnit, Observer, Recorder, Report, Run, RunOptions, StartError, System, View};
use gyrator_benchmark::{RoleAssignment, benchmark_systems};
use gyrator_system::{Choice, Component, Scenario, Spanned, SystemFile, Value, toml_file};
use gyrator_testkit::{Combination, RandomSystem, fmu, needs_substeps};
use rayon::prelude::*;
use serde_json::Value as Json;

/// Macro-steps of a run: more than are kept together, and no power of 2.
const STEPS: u32 = 150;

/// Macro-steps in a step of the slow stranger; they divide [`STEPS`].
const SLOW: f64 = 5.0;

/// The name of the stranger, before and after all names of components.
const NAMES: [&str; 2] = ["!stranger", "~stranger"];

/// A stranger, or something that watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stranger {
    /// A constant block, before and after the other components.
    Block,
    BlockAtEnd,
    /// A unit of the program.
    Unit,
    Fmu,
    /// An FMU with direct feed-through.
    FmuAtEnd,
    /// An FMU whose output stays as it is, and not at 0.
    FmuAtRest,
    /// A unit with a step of several macro-steps.
    SlowUnit,
    SlowFmu,
    /// An observer that looks at every point.
    Observer,
    /// An observer that watches an input.
    Watcher,
    /// A recorder of all that is recorded without a choice.
    Recorder,
    /// A recorder of an input.
    RecordedInput,
    Profile,
    /// A scenario without actions, and one whose action begins after the end.
    EmptyScenario,
    LateScenario,
    /// A limit of the residual energy that no run reaches.
    Limit,
    /// Macro-steps that the program makes one by one.
    SingleSteps,
}

use Stranger::{
    Block, BlockAtEnd, EmptyScenario, Fmu, FmuAtEnd, FmuAtRest, LateScenario, Limit,
    Profile as Profiled, RecordedInput, SingleSteps, SlowFmu, SlowUnit, Unit, Watcher,
};

const STRANGERS: [Stranger; 17] = [
    Block,
    BlockAtEnd,
    Unit,
    Fmu,
    FmuAtEnd,
    FmuAtRest,
    SlowUnit,
    SlowFmu,
    Stranger::Observer,
    Watcher,
    Stranger::Recorder,
    RecordedInput,
    Profiled,
    EmptyScenario,
    LateScenario,
    Limit,
    SingleSteps,
];

impl Stranger {
    /// Whether it is outside the system.
    fn watches(self) -> bool {
        [
            Self::Observer,
            Watcher,
            Self::Recorder,
            RecordedInput,
            Profiled,
            SingleSteps,
        ]
        .contains(&self)
    }
}

/// A system that runs with and without strangers.
struct Case {
    name: String,
    source: Source,
}

enum Source {
    File(Box<SystemFile>),
    Code(Box<dyn Fn() -> System + Sync + Send>),
}

/// Begins the text of a run that was not started.
const REFUSED: &str = "refused: ";

/// Figures by name.
type Figures = BTreeMap<String, String>;

impl Case {
    fn file(name: impl Into<String>, mut file: SystemFile) -> Self {
        for component in &mut file.components {
            // FMUs of this build, if the file names another folder.
            if let Some(name) = component.fmu.value.file_stem() {
                component.fmu.value = fmu(name.to_str().unwrap());
            }
        }
        let experiment = &mut file.experiment;
        let step = experiment.step_size.as_ref().unwrap().value;
        let stop = experiment.start() + f64::from(STEPS) * step;
        experiment.stop_time = Some(Spanned::unplaced(stop));
        Self {
            name: name.into(),
            source: Source::File(Box::new(file)),
        }
    }

    /// With a stranger.
    fn system(&self, stranger: Option<Stranger>) -> Result<System, StartError> {
        let mut system = match &self.source {
            Source::File(file) => {
                let mut file = (**file).clone();
                match stranger {
                    Some(Block) => add_block(&mut file, NAMES[0]),
                    Some(BlockAtEnd) => add_block(&mut file, NAMES[1]),
                    Some(Limit) => {
                        for bond in &mut file.bonds {
                            bond.max_residual_energy = Some(Spanned::unplaced(1e300));
                        }
                    }
                    _ => {}
                }
                System::from_file(file)?
            }
            Source::Code(make) => make(),
        };
        let step = system.description().experiment.step_size.as_ref();
        let step = step.unwrap().value;
        match stranger {
            Some(Unit) => {
                let _ = system.add(NAMES[0], constant());
            }
            Some(SlowUnit) => {
                let _ = system.add(NAMES[0], constant()).step_size(SLOW * step);
            }
            Some(Fmu) => add_oscillator(&mut system, NAMES[0], step)?,
            Some(FmuAtEnd) => {
                let _ = system.add_fmu(NAMES[1], fmu("OscillatorForce"))?;
            }
            Some(FmuAtRest) => {
                let _ = system.add_fmu(NAMES[0], fmu("Ishigami"))?.start("x1", 1.0);
            }
            Some(SlowFmu) => add_oscillator(&mut system, NAMES[1], SLOW * step)?,
            Some(EmptyScenario) => {
                let _ = system.scenario(Scenario::new());
            }
            Some(LateScenario) => {
                let mut scenario = Scenario::new();
                let action = Choice::new("override").with("value", Value::Real(1.0));
                scenario.act(1e6, &self.input(), action);
                system.scenario(scenario);
            }
            _ => {}
        }
        Ok(system)
    }

    /// An input that is connected.
    fn input(&self) -> String {
        let file = match &self.source {
            Source::File(file) => (**file).clone(),
            Source::Code(make) => make().description().clone(),
        };
        let port = &file.all_connections().next().unwrap().to.value;
        format!("{}.{}", port.component, port.variable)
    }

    /// Whether the stranger may be in this system, and has something to do there.
    fn has(&self, stranger: Stranger) -> bool {
        let Source::File(file) = &self.source else {
            return ![Block, BlockAtEnd, Limit].contains(&stranger);
        };
        let control = file.experiment.step_control.as_ref();
        match stranger {
            Limit => !file.bonds.is_empty(),
            // Other step controls look at all outputs, and are held to the steps of slow units.
            Fmu | FmuAtEnd | SlowFmu | SlowUnit => {
                control.is_none_or(|control| control.name.value == "fixed")
            }
            _ => true,
        }
    }

    /// The figures of a run, or why it is refused or ends; with the rows of a recorder or without.
    fn run(&self, stranger: Option<Stranger>, is_recorded: bool) -> Result<Figures, String> {
        let system = self
            .system(stranger)
            .map_err(|error| format!("{REFUSED}{error}"))?;
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let profile = Profile::new();
        let run = match stranger {
            Some(Profiled) => system.start_with(&options, &mut profile.units(InProcess)),
            _ => system.start(&options),
        };
        let mut run = run.map_err(|error| format!("{REFUSED}{error}"))?;
        let (recorder, rows) = Recorder::memory();
        if is_recorded {
            run.observe(recorder).unwrap();
        }
        match stranger {
            Some(Stranger::Observer) => run.observe(Looks(None)).unwrap(),
            Some(Watcher) => run.observe(Looks(Some(self.input()))).unwrap(),
            Some(Stranger::Recorder) => run.observe(Recorder::memory().0).unwrap(),
            Some(RecordedInput) => {
                let recorder = Recorder::memory().0.variables([self.input()]);
                run.observe(recorder).unwrap();
            }
            Some(Profiled) => run.profile(&profile),
            _ => {}
        }
        let ended = match stranger {
            Some(SingleSteps) => loop {
                match run.step() {
                    Ok(true) => {}
                    other => break other.map(drop),
                }
            },
            _ => run.run().map(drop),
        };
        let mut figures = of_report(&run.report());
        figures.insert("outcome".to_owned(), format!("{ended:?}"));
        of_view(&run, &mut figures);
        if is_recorded {
            let recorded = rows.take();
            figures.insert("rows".to_owned(), format!("{:?}", recorded.time));
            for column in &recorded.columns {
                let name = format!("column {}", column.column.name);
                figures.insert(name, format!("{:?}", column.values));
            }
        }
        figures.retain(|name, _| !is_of_stranger(name));
        Ok(figures)
    }

    /// The figures that a stranger changes.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let expected = [false, true].map(|is_recorded| self.run(None, is_recorded));
        for stranger in STRANGERS {
            if !self.has(stranger) {
                continue;
            }
            for (is_recorded, expected) in [false, true].into_iter().zip(&expected) {
                if is_recorded && stranger.watches() {
                    continue;
                }
                let found = self.run(Some(stranger), is_recorded);
                let mut change = |figure: &str, values: [&str; 2]| {
                    changes.push(Change {
                        case: self.name.clone(),
                        stranger,
                        figure: figure.to_owned(),
                        values: values.map(|value| shortened(value).to_owned()),
                    });
                };
                match (expected, &found) {
                    (Ok(expected), Ok(found)) => {
                        let names = expected.keys().chain(found.keys());
                        let names: BTreeSet<_> = names.collect();
                        for name in names {
                            let values = [expected, found]
                                .map(|figures| figures.get(name).map_or("", String::as_str));
                            if values[0] != values[1] {
                                change(name, values);
                            }
                        }
                    }
                    // Some words refuse slow units.
                    (Ok(_), Err(text))
                        if [SlowUnit, SlowFmu].contains(&stranger) && text.starts_with(REFUSED) => {
                    }
                    (Err(_), Err(_)) => {}
                    (expected, found) => {
                        let text = |outcome: &Result<Figures, String>| {
                            outcome
                                .as_ref()
                                .map_or_else(String::clone, |_| String::new())
                        };
                        change("refusal", [&text(expected), &text(found)]);
                    }
                }
            }
        }
        changes
    }
}

fn shortened(text: &str) -> &str {
    let end = text
        .char_indices()
        .nth(100)
        .map_or(text.len(), |(end, _)| end);
    &text[..end]
}

fn add_block(file: &mut SystemFile, name: &str) {
    let block = Choice::new("constant").with("value", Value::Real(1.0));
    file.components.push(Component::of_block(name, block));
}

/// A unit of the program without inputs, which can go back to a state.
fn constant() -> LinearUnit {
    LinearUnit::new(&[1.0], &[], &["y"], [&[0.0], &[], &[1.0], &[]])
}

/// An oscillator without connections.
fn add_oscillator(system: &mut System, name: &str, step: f64) -> Result<(), StartError> {
    system
        .add_fmu(name, fmu("OscillatorMotion"))?
        .step_size(step);
    Ok(())
}

/// Looks at each communication point, and at a variable.
struct Looks(Option<String>);

impl Observer for Looks {
    fn watches(&mut self, _: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
        Ok(self.0.iter().map(Watch::each).collect())
    }

    fn step(&mut self, _: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Whether a text is about the stranger.
fn is_of_stranger(text: &str) -> bool {
    // A note of the late scenario.
    let parts = NAMES.into_iter().chain(["has not begun by the stop time"]);
    parts.into_iter().any(|part| text.contains(part))
}

/// Everything but counters, by names of places.
fn of_report(report: &Report) -> Figures {
    let mut json = serde_json::to_value(report).unwrap();
    let report = json.as_object_mut().unwrap();
    report.remove("counters");
    for list in report.values_mut().filter_map(Json::as_array_mut) {
        list.retain(|item| !is_of_stranger(&item.to_string()));
    }
    let mut figures = Figures::new();
    flatten("", &json, &mut figures);
    figures
}

fn flatten(path: &str, json: &Json, figures: &mut Figures) {
    match json {
        Json::Object(entries) => {
            for (key, entry) in entries {
                flatten(&format!("{path}.{key}"), entry, figures);
            }
        }
        Json::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), entry, figures);
            }
        }
        value => drop(figures.insert(path.to_owned(), value.to_string())),
    }
}

/// What a run shows at its end.
fn of_view(run: &Run, figures: &mut Figures) {
    let (graph, view) = (run.graph(), run.view());
    for (output, value) in graph.real_outputs().iter().zip(view.reals) {
        figures.insert(format!("value {}", output.name), format!("{value:?}"));
    }
    for (index, bond) in view.ledger.bonds().enumerate() {
        figures.insert(format!("bond {index}"), format!("{bond:?}"));
        let audit = format!("{:?}", view.alarms.bond(index));
        figures.insert(format!("alarms of bond {index}"), audit);
    }
    for (index, defect) in view.defects.connections().enumerate() {
        figures.insert(format!("defect {index}"), format!("{defect:?}"));
    }
}

/// A figure that a stranger has changed: alone and beside the stranger.
struct Change {
    case: String,
    stranger: Stranger,
    figure: String,
    values: [String; 2],
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            case,
            stranger,
            figure,
            values: [alone, beside],
        } = self;
        write!(f, "{case} | {stranger:?} | {figure} | {alone} | {beside}")
    }
}

#[track_caller]
fn expect_no_change(cases: &[Case]) {
    let changes: Vec<Change> = cases.par_iter().flat_map(Case::changes).collect();
    let mut text = String::new();
    for change in changes {
        let _ = writeln!(text, "{change}");
    }
    assert!(text.is_empty(), "changes:\n{text}");
}

fn example(name: &str) -> SystemFile {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")).join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    toml_file::parse(&text, Path::new(name)).unwrap().0
}

fn examples() -> Vec<Case> {
    const NAMES: [&str; 6] = [
        "double-oscillator.toml",
        "dual-mass.toml",
        "single-crane.toml",
        "double-crane.toml",
        "power-steering/system.toml",
        "quarter-car/system.toml",
    ];
    NAMES.map(|name| Case::file(name, example(name))).into()
}

fn benchmarks() -> Vec<Case> {
    let folder = fmu("OscillatorForce").parent().unwrap().to_owned();
    let files = benchmark_systems(&RoleAssignment::new(folder)).unwrap();
    let case = |(name, file)| Case::file(name, file);
    files.into_iter().map(case).collect()
}

/// The double oscillator with these words, with its bond or with connections alone.
fn combined(combination: &Combination, has_bond: bool) -> Case {
    let mut file = example("double-oscillator.toml");
    let experiment = &mut file.experiment;
    experiment.method = Some(Choice::new(combination.method));
    experiment.extrapolation = Some(Choice::new(combination.extrapolation));
    experiment.exchange = Some(Spanned::unplaced(combination.exchange.to_owned()));
    experiment.step_control = Some(Choice::new(combination.step_control));
    if needs_substeps(combination.extrapolation) {
        for component in &mut file.components {
            component.step_size = Some(Spanned::unplaced(1e-4));
        }
    }
    if has_bond {
        file.bonds[0].correction = Some(Choice::new(combination.correction));
    } else {
        for bond in std::mem::take(&mut file.bonds) {
            let pairs = bond.effort.into_iter().chain(bond.flow);
            file.connections.extend(pairs);
        }
    }
    let coupling = if has_bond { "bond" } else { "connections" };
    Case::file(format!("{combination}, {coupling}"), file)
}

fn combinations(unusual: usize) -> Vec<Case> {
    let mut combinations = Combination::pairs();
    combinations.retain(|combination| combination.unusual_words() <= unusual);
    let with_bond = combinations.iter().map(|words| combined(words, true));
    let without = combinations
        .iter()
        .filter(|words| words.correction == "off");
    let without = without.map(|words| combined(words, false));
    with_bond.chain(without).collect()
}

/// Systems that the testkit draws, each as drawn, without words of its own, and with units that lack abilities.
fn random_systems(seeds: std::ops::Range<u64>) -> Vec<Case> {
    let case = |seed, what: &str, mut system: RandomSystem| {
        system.steps = STEPS as usize;
        Case {
            name: format!("random {seed}, {what}"),
            source: Source::Code(Box::new(move || system.system(1.0))),
        }
    };
    let of_seed = |seed| {
        let mut untuned = RandomSystem::of_seed(seed);
        untuned.is_untuned = true;
        [
            case(seed, "as drawn", RandomSystem::of_seed(seed)),
            case(seed, "untuned", untuned),
            case(seed, "abilities", RandomSystem::with_drawn_abilities(seed)),
        ]
    };
    seeds.flat_map(of_seed).collect()
}

#[test]
fn strangers_change_no_example() {
    expect_no_change(&examples());
}

#[test]
fn strangers_change_no_word() {
    expect_no_change(&combinations(1));
}

#[test]
fn strangers_change_no_random_system() {
    expect_no_change(&random_systems(0..8));
}

#[test]
fn strangers_change_no_sample_of_the_benchmarks() {
    let sample: Vec<Case> = benchmarks().into_iter().step_by(16).collect();
    expect_no_change(&sample);
}

#[test]
#[ignore = "study: 100 random systems"]
fn strangers_change_none_of_100_random_systems() {
    expect_no_change(&random_systems(0..100));
}

#[test]
#[ignore = "study: 200 systems of benchmarks"]
fn strangers_change_no_benchmark() {
    expect_no_change(&benchmarks());
}

#[test]
#[ignore = "study: every pair of words"]
fn strangers_change_no_pair_of_words() {
    expect_no_change(&combinations(2));
}
