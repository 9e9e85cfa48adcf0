//! Building a system in code, and editing one as the command line does.

use gyrator_system::toml_file::{ReadError, read, to_toml};
use gyrator_system::{Choice, Connection, Port, SystemFile, Value, check};

fn two_units() -> SystemFile {
    let mut system = SystemFile::new("system.toml");
    system
        .add_component("a", "a.fmu")
        .set_start_value("m", Value::Real(1.0));
    system.add_component("a.b", "b.fmu");
    system
}

#[test]
fn a_system_built_in_code_is_written() {
    let mut system = two_units();
    system.connect(Port::new("a", "y"), Port::new("a.b", "u"));
    let bond = system.add_bond("shaft");
    bond.correction = Some(Choice::new("residual-power").with("mu", Value::Real(0.5)));
    bond.axis(
        Connection::new(Port::new("a", "torque"), Port::new("a.b", "torque")),
        Connection::new(Port::new("a.b", "speed"), Port::new("a", "speed")),
    );
    assert_eq!(check(&system), []);
    insta::assert_snapshot!(to_toml(&system));
}

#[test]
fn a_port_belongs_to_the_longest_component_name() {
    let system = two_units();
    assert_eq!(system.port("a.b.c.d").unwrap(), Port::new("a.b", "c.d"));
    assert_eq!(system.port("a.c.d").unwrap(), Port::new("a", "c.d"));
    assert_eq!(system.port("a.bc").unwrap(), Port::new("a", "bc"));
    assert_eq!(system.port("c.d").unwrap_err().rule, "unknown-component");
    assert_eq!(system.port("a").unwrap_err().rule, "invalid-port");
    assert_eq!(system.port("a.b.").unwrap_err().rule, "invalid-port");
}

#[test]
fn start_values_from_a_command_line_replace_those_of_the_file() {
    let mut system = two_units();
    system.set_start_value("a.m", "2.5").unwrap();
    system.set_start_value("a.n", "-3").unwrap();
    let starts = &system.component("a").unwrap().start_values;
    assert_eq!(starts.len(), 2);
    assert_eq!(starts[0].1.value, Value::Real(2.5));
    assert_eq!(starts[1].1.value, Value::Integer(-3));
    assert_eq!(
        system.set_start_value("x.m", "1").unwrap_err().rule,
        "unknown-component"
    );
}

#[test]
fn text_gets_the_type_it_looks_like() {
    for (text, value) in [
        ("true", Value::Boolean(true)),
        ("007", Value::Integer(7)),
        ("1e3", Value::Real(1000.0)),
        (
            "9223372036854775808",
            Value::Real(9_223_372_036_854_775_808.0),
        ),
        ("\"7\"", Value::String("7".into())),
        ("\"", Value::String("\"".into())),
        ("True", Value::String("True".into())),
        ("", Value::String(String::new())),
    ] {
        assert_eq!(Value::from_text(text), value, "{text}");
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("absent.toml");
    let error = read(&path).unwrap_err();
    assert!(matches!(error, ReadError::Io { .. }));
    assert!(error.to_string().contains("absent.toml"), "{error}");

    let path = folder.path().join("latin.toml");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();
    assert!(matches!(
        read(&path),
        Err(ReadError::NotText { offset: 5, .. })
    ));
}
