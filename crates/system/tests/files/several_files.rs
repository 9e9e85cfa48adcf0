//! Systems in several files, defaults of all components, and short forms of connections.

use std::path::Path;

use gyrator_system::toml_file::{Setting, parse, parse_with, read};
use gyrator_system::{Problems, SystemFile, Tolerance, Value};

/// Writes files into a folder and reads the first one.
fn system(files: &[(&str, &str)]) -> Result<SystemFile, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let outcome = read(&folder.path().join(files[0].0));
    let in_folder = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
    outcome
        .map(|(system, _)| system)
        .map_err(|error| in_folder(error.to_string()))
}

fn file_name(path: &Path) -> String {
    let parts: Vec<_> = path
        .iter()
        .rev()
        .take(2)
        .map(|part| part.to_string_lossy())
        .collect();
    format!("{}/{}", parts[1], parts[0])
}

const MAIN: &str = r#"
include = ["parts/plant.toml", "parts/tank.toml"]
connections = [["plant.y", "tank.u"]]
[experiment]
duration = 5
[components.tank]
start_values = { level = 2 }
"#;

const PLANT: &str = r#"
include = "tank.toml"
connections = [{ from = "tank.y", to = "plant.u", gain = 2 }]
[experiment]
stop_time = 1
step_size = 0.1
[components.plant]
fmu = "Plant.fmu"
"#;

const TANK: &str = r#"
[experiment]
step_size = 0.5
tolerance = 1e-6
[components.tank]
fmu = "Tank.fmu"
start_values = { level = 1, area = 3 }
"#;

#[test]
fn the_including_file_comes_first_and_lists_are_joined() {
    let files = [
        ("main.toml", MAIN),
        ("parts/plant.toml", PLANT),
        ("parts/tank.toml", TANK),
    ];
    let system = system(&files).unwrap();
    let number = |spanned: &Option<gyrator_system::Spanned<f64>>| spanned.as_ref().unwrap().value;
    let experiment = &system.experiment;
    assert_eq!(number(&experiment.stop_time), 5.0);
    assert_eq!(number(&experiment.step_size), 0.1);
    let tolerance = experiment.tolerance.as_ref().unwrap().value;
    assert_eq!(tolerance, Tolerance::Relative(1e-6));
    let names: Vec<_> = system
        .components
        .iter()
        .map(|c| c.name.value.as_str())
        .collect();
    assert_eq!(names, ["tank", "plant"]);
    let tank = system.component("tank").unwrap();
    assert_eq!(file_name(&tank.fmu.value), "parts/Tank.fmu");
    let starts: Vec<_> = tank
        .start_values
        .iter()
        .map(|(n, v)| (&*n.value, &v.value))
        .collect();
    assert_eq!(
        starts,
        [("level", &Value::Integer(2)), ("area", &Value::Integer(3))]
    );
    let pairs: Vec<_> = system
        .connections
        .iter()
        .map(|c| format!("{} {}", c.from.value, c.to.value))
        .collect();
    assert_eq!(pairs, ["plant.y tank.u", "tank.y plant.u"]);
    assert_eq!(number(&system.connections[1].gain), 2.0);
}

#[test]
fn problems_name_the_file_where_they_stand() {
    let plant = PLANT.replace("step_size = 0.1", "stepsize = 0.1");
    let files = [
        ("main.toml", MAIN),
        ("parts/plant.toml", &*plant),
        ("parts/tank.toml", TANK),
    ];
    let message = system(&files).unwrap_err();
    assert!(
        message.starts_with("parts/plant.toml:6:1: error: unknown key `stepsize`"),
        "{message}"
    );
    let broken = [
        ("main.toml", MAIN),
        ("parts/plant.toml", PLANT),
        ("parts/tank.toml", "[a\n"),
    ];
    let message = system(&broken).unwrap_err();
    assert!(
        message.contains("parts/tank.toml:1:3: error: this is not TOML"),
        "{message}"
    );
}

#[test]
fn files_that_cannot_be_included_are_problems_at_their_place() {
    let with = |include: &str| {
        let text = format!("include = {include}\n[components.a]\nfmu = \"a.fmu\"\n");
        system(&[
            ("main.toml", &text),
            ("other.toml", "[components.b]\nfmu = \"b.fmu\"\n"),
        ])
    };
    for (include, part) in [
        (
            "\"missing.toml\"",
            "main.toml:1:11: error: cannot include `missing.toml`",
        ),
        ("\".\"", "it is no file"),
        (
            "[\"other.toml\", 3]",
            "`include` must be a string, not a number",
        ),
    ] {
        let message = with(include).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
    // A file twice, and the file itself, are there once.
    let system = with("[\"other.toml\", \"./other.toml\", \"main.toml\"]").unwrap();
    assert_eq!(system.components.len(), 2);
}

#[test]
fn files_side_by_side_describe_different_components() {
    let message = system(&[
        ("main.toml", "include = [\"one.toml\", \"two.toml\"]\n"),
        ("one.toml", "[components.a]\nfmu = \"a.fmu\"\n"),
        ("two.toml", "[components.a]\nfmu = \"b.fmu\"\n"),
    ])
    .unwrap_err();
    assert!(
        message.contains("two.toml:1:13: error: the component `a` is in two included files"),
        "{message}"
    );
}

fn parsed(text: &str) -> Result<SystemFile, Problems> {
    parse(text, "system.toml").map(|(system, _)| system)
}

#[test]
fn defaults_hold_for_components_that_do_not_say_their_own() {
    let system = parsed(
        r#"
        [defaults]
        fmu = "Mass.fmu"
        step_size = 1e-3
        propagate_initial_inputs = false
        start_values = { m = 2, k = 1 }
        [components.a]
        [components.b]
        fmu = "Spring.fmu"
        step_size = 2e-3
        propagate_initial_inputs = true
        start_values = { k = 5 }
        "#,
    )
    .unwrap();
    let (a, b) = (&system.components[0], &system.components[1]);
    assert_eq!(a.fmu.value, Path::new("Mass.fmu"));
    assert_eq!(b.fmu.value, Path::new("Spring.fmu"));
    let step = |component: &gyrator_system::Component| component.step_size.as_ref().unwrap().value;
    assert_eq!((step(a), step(b)), (1e-3, 2e-3));
    assert!(!a.propagate_initial_inputs && b.propagate_initial_inputs);
    let starts = |c: &gyrator_system::Component| {
        let values = c.start_values.iter();
        values
            .map(|(name, value)| (name.value.clone(), value.value.clone()))
            .collect::<Vec<_>>()
    };
    let value = |name: &str, number| (name.to_owned(), Value::Integer(number));
    assert_eq!(starts(a), [value("m", 2), value("k", 1)]);
    assert_eq!(starts(b), [value("k", 5), value("m", 2)]);
    let wrong = parsed("[defaults]\nstepsize = 1\n[components.a]\nfmu = \"a.fmu\"\n");
    let message = wrong.unwrap_err().to_string();
    assert!(
        message.contains("2:1: error: unknown key `stepsize` in [defaults]"),
        "{message}"
    );
}

/// TOML takes what stands below a table for a part of it.
#[test]
fn keys_of_the_file_below_a_table_are_explained() {
    for (line, is_known) in [
        ("connections = []", true),
        ("include = []", true),
        ("connected = 1", false),
    ] {
        let wrong = parsed(&format!("[experiment]\nstop_time = 1\n{line}\n"));
        let message = wrong.unwrap_err().to_string();
        assert!(message.contains("3:1: error: unknown key"), "{message}");
        let is_explained = message.contains("stands above the first [section]");
        assert_eq!(is_explained, is_known, "{message}");
    }
}

const SHORT: &str = r#"
connections = [["a.y", "b.u"], { from = "b.y", to = "a.u" }]
bonds = [{ name = "c", effort = ["a.f", "b.f"], flow = [["b.v", "a.v"]] }]
[components.a]
fmu = "a.fmu"
[components.b]
fmu = "b.fmu"
"#;

#[test]
fn a_pair_is_a_short_form_whose_keys_can_be_set() {
    let system = parsed(SHORT).unwrap();
    assert_eq!(system.connections.len(), 2);
    assert_eq!(system.bonds[0].effort[0].to.value.to_string(), "b.f");
    assert_eq!(system.bonds[0].flow[0].from.value.to_string(), "b.v");
    let setting = |key: &str, value: &str| Setting {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let settings = [
        setting("connections.\"b.u\".gain", "3"),
        setting("defaults.step_size", "0.5"),
    ];
    let (system, _) = parse_with(SHORT, "system.toml", &settings).unwrap();
    assert_eq!(system.connections[0].gain.as_ref().unwrap().value, 3.0);
    assert_eq!(system.components[1].step_size.as_ref().unwrap().value, 0.5);
    let single = SHORT.replace(
        r#"[["a.y", "b.u"], { from = "b.y", to = "a.u" }]"#,
        r#"["a.y", "b.u"]"#,
    );
    assert_eq!(parsed(&single).unwrap().connections.len(), 1);
    let three = SHORT.replace(r#"["a.y", "b.u"]"#, r#"["a.y", "b.u", "b.w"]"#);
    let message = parsed(&three).unwrap_err().to_string();
    assert!(message.contains("or of pairs such as"), "{message}");
}
