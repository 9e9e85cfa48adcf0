//! A written system reads back as the same system, and no text makes the reader panic.

use std::path::PathBuf;
use std::sync::Arc;

use gyrator_system::toml_file::{parse, to_toml};
use gyrator_system::{
    Bond, Choice, Component, Connection, Experiment, InterfaceModel, LibraryUse, NumberConversion,
    Port, Restart, Source, Spanned, SystemFile, Tolerance, TypeConversion, Value,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const PATH: &str = "folder/system.toml";

/// A file that uses every key.
const FULL: &str = r#"
[experiment]
start_time = 0.5
stop_time = 10
step_size = 1e-3
tolerance = 1e-6
method = { name = "gauss-seidel", order = 2, "odd key" = "x" }
exchange = "auto"
step_control = { name = "ecco", safety = 0.8, strict = true }
extrapolation = "hold"

[components.left]
fmu = "OscillatorForce.fmu"
step_size = 1e-3
extrapolation = { name = "linear", limit = 0.5 }
exchange = "fresh"
preload = ["libblas.so", 'C:\lib\a.dll']
library_path = ["libraries", "/opt/lib"]
step_halvings = 4
library = "shared"
isolate = true
restart = { times = 2, every = 50 }
propagate_initial_inputs = false
start_values = { m = 1.0, body = { name = "α\n\"β\"", "x[1,2]" = -3 }, on = true, a.b.c = inf }

[components."right.arm"]
fmu = "/absolute/r.fmu"

[components.right]
fmu = "../r.fmu"

[components.road]
block = { name = "table", file = "road.csv", outside = "repeat" }

[[connections]]
from = "right.arm.der(x)"
to = "left.x2"
gain = -2
offset = 1.5
unit_conversion = false

[[connections]]
from = "left.n"
to = "right.arm.mode"
convert = { 1 = "on", -2 = "off" }

[[connections]]
from = "left.q"
to = "right.n"
convert = "round"

[[bonds]]
name = "coupling"
effort = [{ from = "left.f", to = "right.arm.f" }, { from = "left.g", to = "right.arm.g", gain = 2 }]
flow = [{ from = "right.arm.v", to = "left.v2" }, { from = "right.arm.w", to = "left.w2" }]
sense = -1
correction = { name = "residual-power", mu = 0.5, nu = 0.0 }

[[bonds]]
name = "single"
effort = { from = "left.f", to = "right.f" }
flow = { from = "right.v", to = "left.v" }
correction = "off"

[[interface_models]]
name = "arm"
component = "right.arm"
bonds = ["coupling", "single"]
exchange_step = 1e-4
order = "pipelined"
positions = ["x", "y"]
inverse_mass = ["w11", "w12", "w22"]
free_acceleration = ["b1", "b2"]
forces = ["left.f", "left.g"]
stiffness = ["left.k1", "left.k2"]
force_rates = ["left.r1", "left.r2"]
force = "mean"
inputs = "linear"
displacement_correction = 0.5
mass_factor = 0.9
lag = 1

[[interface_models]]
name = "other"
component = "right"
bonds = "single"
exchange_step = 2e-4
accelerations = "a"
"#;

fn read(text: &str) -> SystemFile {
    parse(text, PATH)
        .unwrap_or_else(|problems| panic!("{problems}\n---\n{text}"))
        .0
}

fn forget<T>(spanned: &mut Spanned<T>) {
    spanned.span = 0..0;
}

fn forget_pairs<T>(pairs: &mut [(Spanned<String>, Spanned<T>)]) {
    for (name, value) in pairs {
        forget(name);
        forget(value);
    }
}

fn forget_choice(choice: &mut Option<Choice>) {
    if let Some(choice) = choice {
        forget(&mut choice.name);
        forget_pairs(&mut choice.parameters);
    }
}

fn forget_connections(connections: &mut [Connection]) {
    for connection in connections {
        forget(&mut connection.from);
        forget(&mut connection.to);
        connection.gain.iter_mut().for_each(forget);
        connection.offset.iter_mut().for_each(forget);
        if let Some(convert) = &mut connection.convert {
            forget(convert);
            if let TypeConversion::Table(values) = &mut convert.value {
                forget_pairs(values);
            }
        }
    }
}

/// The system without its places, so that two can be compared.
fn without_places(mut system: SystemFile) -> SystemFile {
    system.source = Arc::new(Source::new(PATH, ""));
    let experiment = &mut system.experiment;
    for number in [
        &mut experiment.start_time,
        &mut experiment.stop_time,
        &mut experiment.step_size,
    ] {
        number.iter_mut().for_each(forget);
    }
    experiment.tolerance.iter_mut().for_each(forget);
    experiment.exchange.iter_mut().for_each(forget);
    experiment.scenario.iter_mut().for_each(forget);
    forget_choice(&mut experiment.method);
    forget_choice(&mut experiment.step_control);
    forget_choice(&mut experiment.extrapolation);
    for component in &mut system.components {
        forget(&mut component.name);
        forget(&mut component.fmu);
        component.step_size.iter_mut().for_each(forget);
        component.exchange.iter_mut().for_each(forget);
        component.preload.iter_mut().for_each(forget);
        component.library_path.iter_mut().for_each(forget);
        component.step_halvings.iter_mut().for_each(forget);
        component.library.iter_mut().for_each(forget);
        component.isolate.iter_mut().for_each(forget);
        component.restart.iter_mut().for_each(forget);
        forget_choice(&mut component.extrapolation);
        forget_choice(&mut component.block);
        forget_pairs(&mut component.start_values);
    }
    forget_connections(&mut system.connections);
    for bond in &mut system.bonds {
        forget(&mut bond.name);
        forget_connections(&mut bond.effort);
        forget_connections(&mut bond.flow);
        forget(&mut bond.sense);
        forget_choice(&mut bond.correction);
    }
    for model in &mut system.interface_models {
        forget_interface_model(model);
    }
    system
}

fn forget_interface_model(model: &mut InterfaceModel) {
    forget(&mut model.name);
    forget(&mut model.component);
    forget(&mut model.exchange_step);
    model.order.iter_mut().for_each(forget);
    for list in [
        &mut model.bonds,
        &mut model.positions,
        &mut model.inverse_mass,
        &mut model.free_acceleration,
        &mut model.accelerations,
    ] {
        list.iter_mut().for_each(forget);
    }
    for list in [
        &mut model.forces,
        &mut model.stiffness,
        &mut model.force_rates,
    ] {
        list.iter_mut().for_each(forget);
    }
    forget_pairs(&mut model.options);
}

#[test]
fn the_file_in_the_documentation_is_read() {
    let source = include_str!("../../src/toml_file/mod.rs");
    let (_, example) = source.split_once("//! ```toml\n").unwrap();
    let (example, _) = example.split_once("//! ```\n").unwrap();
    let text: String = example
        .lines()
        .map(|line| format!("{}\n", &line[3..]))
        .collect();
    let (system, warnings) = parse(text, PATH).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(system.bonds[0].sense.value, -1.0);
}

#[test]
fn a_full_file_is_read() {
    let system = read(FULL);
    let left = system.component("left").unwrap();
    assert_eq!(left.fmu.value, PathBuf::from("folder/OscillatorForce.fmu"));
    assert!(!left.propagate_initial_inputs);
    let starts: Vec<_> = left
        .start_values
        .iter()
        .map(|(name, value)| (name.value.as_str(), &value.value))
        .collect();
    assert_eq!(
        starts,
        [
            ("m", &Value::Real(1.0)),
            ("body.name", &Value::String("α\n\"β\"".into())),
            ("body.x[1,2]", &Value::Integer(-3)),
            ("on", &Value::Boolean(true)),
            ("a.b.c", &Value::Real(f64::INFINITY)),
        ]
    );
    assert_eq!(
        system.components[1].fmu.value,
        PathBuf::from("/absolute/r.fmu")
    );
    assert_eq!(
        system.connections[0].from.value,
        Port::new("right.arm", "der(x)")
    );
    assert_eq!(system.bonds[0].effort[1].gain.as_ref().unwrap().value, 2.0);
    assert_eq!(system.bonds[0].sense.value, -1.0);
    assert_eq!(system.bonds[1].effort.len(), 1);
    assert_eq!(system.bonds[1].correction, None);
    let [arm, other] = &system.interface_models[..] else {
        panic!("{:?}", system.interface_models);
    };
    assert_eq!(arm.forces[1].value, Port::new("left", "g"));
    assert_eq!(arm.options.len(), 5);
    assert_eq!(other.bonds[0].value, "single");
    assert_eq!(other.accelerations.len(), 1);
    let span = system.bonds[0].flow[0].to.span.clone();
    assert_eq!(&FULL[span], "\"left.v2\"");
}

#[test]
fn a_full_file_survives_the_round_trip() {
    let system = read(FULL);
    assert_eq!(
        without_places(read(&to_toml(&system))),
        without_places(system)
    );
}

#[test]
fn duration_counts_from_the_start_time() {
    let text = "[experiment]\nstart_time = 2\nduration = 3\n[components.a]\nfmu = \"a.fmu\"\n";
    assert_eq!(read(text).experiment.stop_time.unwrap().value, 5.0);
}

#[test]
fn byte_order_mark_and_carriage_returns_are_accepted() {
    let text = "\u{feff}[components.a]\r\nfmu = \"a.fmu\"\r\nstep_size = 2\r\n";
    let system = read(text);
    assert_eq!(
        &text[system.components[0]
            .step_size
            .as_ref()
            .unwrap()
            .span
            .clone()],
        "2"
    );
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    let text = format!("a = {}", "[".repeat(100_000));
    assert!(parse(text, PATH).is_err());
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |number| number.is_finite()),
        select(vec![
            0.0,
            -0.0,
            1.0,
            1e300,
            5e-324,
            0.1,
            123_456_789_012_345_680.0
        ]),
    ]
}

fn positive() -> impl Strategy<Value = f64> {
    finite().prop_map(|number| number.abs().max(f64::MIN_POSITIVE))
}

fn unplaced<T: std::fmt::Debug + 'static>(
    strategy: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Spanned<T>> {
    strategy.prop_map(Spanned::unplaced).boxed()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        finite().prop_map(Value::Real),
        Just(Value::Real(f64::NEG_INFINITY)),
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Boolean),
        ".{0,8}".prop_map(Value::String),
    ]
}

/// Names with values; the running number keeps the names apart.
fn named(name: &'static str) -> BoxedStrategy<Vec<(Spanned<String>, Spanned<Value>)>> {
    vec((name, value()), 0..4)
        .prop_map(|pairs| {
            let place = |(index, (name, value)): (usize, (String, Value))| {
                (
                    Spanned::unplaced(format!("{name}{index}")),
                    Spanned::unplaced(value),
                )
            };
            pairs.into_iter().enumerate().map(place).collect()
        })
        .boxed()
}

fn choice() -> impl Strategy<Value = Option<Choice>> {
    // "off" means no choice.
    let name = unplaced("[a-e-]{1,8}");
    option::of(
        (name, named("[a-z_ ]{1,6}")).prop_map(|(name, parameters)| Choice { name, parameters }),
    )
}

fn exchange() -> impl Strategy<Value = Option<Spanned<String>>> {
    option::of(unplaced(
        select(gyrator_system::EXCHANGES).prop_map(str::to_owned),
    ))
}

fn experiment() -> impl Strategy<Value = Experiment> {
    let times = (finite(), positive()).prop_map(|(start, length)| (start, start + length));
    let times = times.prop_filter("apart and finite", |(start, stop)| {
        stop > start && stop.is_finite()
    });
    (
        option::of(times),
        option::of(unplaced(positive())),
        option::of(unplaced(prop_oneof![
            positive().prop_map(Tolerance::Relative),
            Just(Tolerance::Off)
        ])),
        choice(),
        exchange(),
        choice(),
        choice(),
        option::of(unplaced("[a-z/ ]{0,8}[a-z]")),
    )
        .prop_map(
            |(
                times,
                step_size,
                tolerance,
                method,
                exchange,
                step_control,
                extrapolation,
                scenario,
            )| {
                // Steps that the times cannot resolve are refused, and steps that are much longer than the run.
                let latest =
                    times.map_or(0.0, |(start, stop): (f64, f64)| start.abs().max(stop.abs()));
                let least = 8.0 * (latest - latest.next_down()).max(f64::MIN_POSITIVE);
                let most = times.map_or(f64::INFINITY, |(start, stop)| 1e5 * (stop - start));
                let step_size = step_size
                    .map(|step: Spanned<f64>| Spanned::unplaced(step.value.min(most).max(least)))
                    .filter(|step| step.value.is_finite());
                Experiment {
                    start_time: times.map(|times| Spanned::unplaced(times.0)),
                    stop_time: times.map(|times| Spanned::unplaced(times.1)),
                    step_size,
                    tolerance,
                    method,
                    exchange,
                    step_control,
                    extrapolation,
                    scenario: scenario.map(|path| Spanned::unplaced(path.value.into())),
                }
            },
        )
}

fn component() -> impl Strategy<Value = Component> {
    (
        ".{0,6}",
        "[a-z/ ]{0,8}[a-z]",
        option::of(unplaced(positive())),
        choice(),
        exchange(),
        named(".{0,6}"),
        (
            vec(unplaced(".{0,6}"), 0..3),
            vec(unplaced("[a-z/ ]{0,8}[a-z]"), 0..3),
        ),
        option::of(unplaced(1_u32..17)),
        isolation(),
        (any::<bool>(), choice()),
    )
        .prop_map(
            |(
                name,
                fmu,
                step_size,
                extrapolation,
                exchange,
                start_values,
                (preload, library_path),
                step_halvings,
                isolation,
                (flag, block),
            )| {
                Component {
                    name: Spanned::unplaced(name),
                    fmu: Spanned::unplaced(match block {
                        None => PathBuf::from("folder").join(fmu),
                        Some(_) => PathBuf::new(),
                    }),
                    block,
                    step_size,
                    extrapolation,
                    exchange,
                    start_values,
                    preload,
                    library_path: library_path
                        .into_iter()
                        .map(|path| Spanned::unplaced(PathBuf::from("folder").join(path.value)))
                        .collect(),
                    step_halvings,
                    library: isolation.2,
                    host: None,
                    isolate: isolation.0,
                    restart: isolation.1,
                    propagate_initial_inputs: flag,
                }
            },
        )
}

/// Keys about libraries and processes.
type Isolation = (
    Option<Spanned<bool>>,
    Option<Spanned<Restart>>,
    Option<Spanned<LibraryUse>>,
);

fn isolation() -> impl Strategy<Value = Isolation> {
    (
        option::of(any::<bool>()),
        option::of(1_u32..9),
        1_u32..1000,
        option::of(0..LibraryUse::WORDS.len()),
    )
        .prop_map(|(isolate, times, every, library)| {
            let restart = times.map(|times| Spanned::unplaced(Restart { times, every }));
            // A component that is not isolated cannot be restarted.
            let isolate = isolate.map(|isolate| isolate || restart.is_some());
            let library = library.map(|index| Spanned::unplaced(LibraryUse::WORDS[index].1));
            (isolate.map(Spanned::unplaced), restart, library)
        })
}

/// Wires of a system: bonds and lone connections between components picked at random.
type Wires = Vec<(Index, Index, usize, bool, Option<f64>, Options)>;

/// The correction of a bond, or the type conversion of a connection.
type Options = (Option<Choice>, Option<TypeConversion>);

fn conversion() -> impl Strategy<Value = TypeConversion> {
    let words = select(NumberConversion::WORDS.to_vec());
    prop_oneof![
        words.prop_map(|(_, word)| TypeConversion::Number(word)),
        named("[a-z0-9-]{1,6}").prop_map(TypeConversion::Table),
    ]
}

fn wires() -> impl Strategy<Value = Wires> {
    vec(
        (
            any::<Index>(),
            any::<Index>(),
            0..3_usize,
            any::<bool>(),
            option::of(finite()),
            (choice(), option::of(conversion())),
        ),
        0..5,
    )
}

fn wire_up(system: &mut SystemFile, wires: Wires) {
    for (number, (a, b, axes, turned, gain, (correction, convert))) in wires.into_iter().enumerate()
    {
        let name = |index: Index| {
            system.components[index.index(system.components.len())]
                .name
                .value
                .clone()
        };
        let (a, b) = (name(a), name(b));
        let pair = |from: &str, to: &str, variable: String| Connection {
            gain: gain.map(Spanned::unplaced),
            ..Connection::new(
                Port::new(from, format!("y.{variable}")),
                Port::new(to, variable),
            )
        };
        if axes == 0 {
            let mut pair = pair(&a, &b, format!("c{number}"));
            pair.offset = gain.map(|gain| Spanned::unplaced(gain / 3.0));
            pair.unit_conversion = turned;
            pair.convert = convert.map(Spanned::unplaced);
            system.connections.push(pair);
            continue;
        }
        let mut bond = Bond::new(format!("bond {number}"));
        bond.sense.value = if turned { -1.0 } else { 1.0 };
        bond.correction = correction;
        for axis in 0..axes {
            bond.axis(
                pair(&a, &b, format!("e{number}[{axis}]")),
                pair(&b, &a, format!("f{number}[{axis}]")),
            );
        }
        system.bonds.push(bond);
    }
}

fn system() -> impl Strategy<Value = SystemFile> {
    (experiment(), vec(component(), 1..5), wires()).prop_map(|(experiment, components, wires)| {
        let mut system = SystemFile {
            experiment,
            components,
            ..SystemFile::new(PATH)
        };
        for (index, component) in system.components.iter_mut().enumerate() {
            component.name.value.push_str(&index.to_string());
        }
        wire_up(&mut system, wires);
        system
    })
}

/// Reads a text that may be anything and checks the places of what comes out.
fn read_anything(text: &str) -> Result<(), TestCaseError> {
    let list = match parse(text, PATH) {
        Ok((system, warnings)) => {
            prop_assert!(text.get(system.components[0].name.span.clone()).is_some());
            warnings
        }
        Err(problems) => {
            prop_assert!(!problems.to_string().is_empty());
            problems.list
        }
    };
    for problem in list {
        if let Some(span) = problem.span {
            prop_assert!(!span.is_empty());
            prop_assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_written_reads_back(system in system()) {
        let text = to_toml(&system);
        prop_assert_eq!(without_places(read(&text)), system, "{}", text);
    }

    #[test]
    fn arbitrary_text_is_read_or_refused(text in ".{0,200}") {
        read_anything(&text)?;
    }

    #[test]
    fn toml_like_text_is_read_or_refused(
        words in vec(
            select(vec![
                "[", "]", "{", "}", "=", ".", ",", "\n", " ", "\"", "'", "#", "\"\"\"", "é", "1", "-1e3",
                "nan", "true", "2020-01-01", "components", "experiment", "bonds", "connections", "fmu",
                "from", "to", "effort", "flow", "name", "\"a.b\"", "a", "step_size", "\r", "\\u00e9",
            ]),
            0..40,
        )
    ) {
        read_anything(&words.concat())?;
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        cuts in vec((any::<Index>(), 0..12_usize, ".{0,4}"), 1..6)
    ) {
        let mut text = FULL.to_owned();
        for (index, length, insert) in cuts {
            let start = text.floor_char_boundary(index.index(text.len() + 1));
            let end = text.ceil_char_boundary(start + length);
            text.replace_range(start..end, &insert);
        }
        read_anything(&text)?;
    }
}
