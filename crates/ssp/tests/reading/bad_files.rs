//! Mistakes: each with its file, its line, a reason, and advice if there is one.

use std::io::Write as _;

use gyrator_ssp::{Options, ReadError, read};

use super::files::{description, fmu, folder, refused};

fn message(system: &str) -> String {
    let folder = folder(&[("SystemStructure.ssd", &description(system, ""))]);
    let variables = r#"<ScalarVariable name="speed" valueReference="0" causality="output"><Real/></ScalarVariable>"#;
    fmu(&folder.path().join("m.fmu"), "", variables);
    refused(&folder)
}

#[test]
fn mistakes_have_a_place_and_a_suggestion() {
    let component = r#"<ssd:Elements><ssd:Component name="motor" source="m.fmu"><ssd:Connectors>
<ssd:Connector name="speed" kind="output"/><ssd:Connector name="torque" kind="input"/></ssd:Connectors></ssd:Component></ssd:Elements>"#;
    let connection = |attributes: &str| {
        format!("{component}\n<ssd:Connections>\n<ssd:Connection {attributes}/></ssd:Connections>")
    };
    for (system, expected) in [
        (
            connection(r#"startElement="moter" startConnector="speed" endElement="motor" endConnector="torque""#),
            "DIR/SystemStructure.ssd:10:31: error: the system `root` has no element `moter` [unknown-element]\n  help: did you mean `motor`?",
        ),
        (
            connection(r#"startElement="motor" startConnector="sped" endElement="motor" endConnector="torque""#),
            "DIR/SystemStructure.ssd:10:54: error: `motor` has no connector `sped` [unknown-connector]\n  help: did you mean `speed`?",
        ),
        (
            connection(r#"startElement="motor" startConnector="torque" endElement="motor" endConnector="torque""#),
            "DIR/SystemStructure.ssd:10:1: error: the connection has no direction: both ends take values [no-direction]",
        ),
        (
            connection(r#"startElement="motor" endElement="motor" endConnector="torque""#),
            "DIR/SystemStructure.ssd:10:1: error: `Connection` needs the attribute `startConnector` [missing-attribute]",
        ),
        (
            r#"<ssd:Elements><ssd:Component name="a"/></ssd:Elements>"#.to_owned(),
            "DIR/SystemStructure.ssd:7:39: error: `a` has no `source`: there is no FMU to run [no-source]\n  help: SSP 2.0 allows components without a source",
        ),
        (
            r#"<ssd:Elements><ssd:Component name="a" source="a.fmu"><ssd:Connectors><ssd:Connector name="x" kind="in"/></ssd:Connectors></ssd:Component></ssd:Elements>"#.to_owned(),
            "`in` is not a kind of connector",
        ),
        (
            r#"<ssd:Elements><ssd:Component name="a" source="https://example.org/a.fmu"/></ssd:Elements>"#.to_owned(),
            "`https://example.org/a.fmu` is not a file but an address (https:)",
        ),
        (
            r#"<ssd:Elements><ssd:Component name="a" source="a.fmu" type="application/x-scenario"/></ssd:Elements>"#.to_owned(),
            "components of the type application/x-scenario are not supported",
        ),
    ] {
        let message = message(&system);
        assert!(message.contains(expected), "{message}");
    }
}

/// For a component that cannot be read, its connections and its parameters are not reported as well.
#[test]
fn a_component_that_cannot_be_read_is_one_error() {
    for (attributes, expected) in [
        ("", "has no `source`"),
        (r#"source="""#, "has no `source`"),
        (
            r#"source="a.fmu" type="application/x-scenario""#,
            "application/x-scenario are not supported",
        ),
        (
            r#"source="none.ssd" type="application/x-ssp-definition""#,
            "none.ssd",
        ),
        (
            r#"source="https://example.org/a.fmu""#,
            "an address (https:)",
        ),
    ] {
        let system = format!(
            r#"<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="2.0" name="s"><ssv:Parameters>
<ssv:Parameter name="a.k"><ssv:Real value="1"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>
<ssd:Elements><ssd:Component name="a" {attributes}><ssd:Connectors><ssd:Connector name="u" kind="input"/></ssd:Connectors></ssd:Component>
<ssd:Component name="motor" source="m.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="motor" startConnector="speed" endElement="a" endConnector="u"/></ssd:Connections>"#
        );
        let message = message(&system);
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.matches("error: ").count(), 1, "{message}");
    }
}

/// The place of a mistake in another file is the place in that file.
#[test]
fn mistakes_in_other_files_name_the_file() {
    let system = r#"<ssd:ParameterBindings><ssd:ParameterBinding source="values/a.ssv"/></ssd:ParameterBindings>
<ssd:Elements><ssd:Component name="a" source="a.fmu"/></ssd:Elements>"#;
    let set = "<ParameterSet version=\"1.0\" name=\"s\"><Parameters>\n<Parameter name=\"a.k\"><Real value=\"ten\"/></Parameter></Parameters></ParameterSet>";
    let text = description(system, "");
    let folder = folder(&[("SystemStructure.ssd", &text), ("values/a.ssv", set)]);
    let expected =
        "DIR/values/a.ssv:2:36: error: the value of `a.k` is no Real: `ten` [wrong-type]";
    assert_eq!(refused(&folder), expected);
    std::fs::write(folder.path().join("values/a.ssv"), "<ParameterSet").unwrap();
    let message = refused(&folder);
    assert!(message.contains("DIR/values/a.ssv:1:"), "{message}");
    assert!(message.contains("this is not well-formed XML"), "{message}");
    std::fs::remove_file(folder.path().join("values/a.ssv")).unwrap();
    let message = refused(&folder);
    assert!(
        message.contains("DIR/SystemStructure.ssd:7:78: error: DIR/values/a.ssv: "),
        "{message}"
    );
}

#[test]
fn two_connections_to_one_input_are_refused() {
    let connectors = r#"<ssd:Connectors><ssd:Connector name="y" kind="output"/><ssd:Connector name="u" kind="input"/></ssd:Connectors>"#;
    let system = format!(
        r#"<ssd:Elements><ssd:Component name="a" source="m.fmu">{connectors}</ssd:Component><ssd:Component name="b" source="m.fmu">{connectors}</ssd:Component></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="a" startConnector="y" endElement="b" endConnector="u"/>
<ssd:Connection startElement="b" startConnector="u" endElement="b" endConnector="y"/></ssd:Connections>"#
    );
    let message = message(&system);
    let expected = "two connections bring values to `b.u`; the other one stands in line 8";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn descriptions_in_a_circle_end() {
    let system = r#"<ssd:Elements><ssd:Component name="a" source="SystemStructure.ssd" type="application/x-ssp-definition"/></ssd:Elements>"#;
    assert!(message(system).contains("is part of itself"));
}

#[test]
fn connections_in_a_circle_end() {
    let connectors = r#"<ssd:Connectors><ssd:Connector name="i" kind="input"/><ssd:Connector name="o" kind="output"/></ssd:Connectors>"#;
    let system = format!(
        r#"<ssd:Elements><ssd:System name="s">{connectors}<ssd:Connections><ssd:Connection startConnector="i" endConnector="o"/></ssd:Connections></ssd:System>
<ssd:Component name="a" source="m.fmu">{connectors}</ssd:Component></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="s" startConnector="o" endElement="s" endConnector="i"/>
<ssd:Connection startElement="s" startConnector="o" endElement="a" endConnector="i"/></ssd:Connections>"#
    );
    assert!(message(&system).contains("the connections lead in a circle"));
}

/// A package with these entries.
fn package(entries: &[(&str, &str)]) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".ssp").tempfile().unwrap();
    let mut zip = zip::ZipWriter::new(file.reopen().unwrap());
    for (name, text) in entries {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    file
}

#[test]
fn archives_are_not_trusted() {
    let text = description("", "");
    for entries in [
        &[("SystemStructure.ssd", &*text), ("../evil.fmu", "")][..],
        &[("SystemStructure.ssd", &*text), ("/etc/evil", "")],
    ] {
        let file = package(entries);
        let error = read(file.path(), &Options::default()).unwrap_err();
        assert!(matches!(error, ReadError::Archive(_)), "{error}");
    }
    let big = "0".repeat(70 << 20);
    let file = package(&[("SystemStructure.ssd", &text), ("resources/zeros", &big)]);
    let error = read(file.path(), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("grow too large"), "{error}");
}

#[test]
fn references_stay_in_the_archive() {
    let system =
        r#"<ssd:Elements><ssd:Component name="a" source="../../etc/passwd"/></ssd:Elements>"#;
    let file = package(&[("SystemStructure.ssd", &description(system, ""))]);
    let error = read(file.path(), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`../../etc/passwd` leads out of the archive"),
        "{error}"
    );
    // The place is in the archive.
    let place = format!("{}/SystemStructure.ssd:7:", file.path().display());
    assert!(error.contains(&place), "{error}");
}

#[test]
fn a_package_without_a_description_is_refused() {
    let file = package(&[("resources/a.fmu", "")]);
    let error = read(file.path(), &Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("SystemStructure.ssd"), "{error}");
    // A folder around everything.
    let text = description("", "");
    let file = package(&[
        ("drive/resources/a.fmu", ""),
        ("drive/SystemStructure.ssd", &text),
    ]);
    let error = read(file.path(), &Options::default())
        .unwrap_err()
        .to_string();
    let found = format!("but {}/drive/SystemStructure.ssd", file.path().display());
    assert!(error.contains(&found), "{error}");
    let outer = folder(&[("drive/SystemStructure.ssd", &text)]);
    let error = refused(&outer);
    assert!(
        error.contains("but DIR/drive/SystemStructure.ssd"),
        "{error}"
    );
}

/// A mistake in an annotation has its place in the description.
#[test]
fn annotations_are_read_like_system_files() {
    let annotation = |text: &str| {
        format!(
            r#"<ssd:Elements><ssd:Component name="a" source="m.fmu"/></ssd:Elements>
<ssd:Annotations><ssc:Annotation type="example.gyrator"><System><![CDATA[
[experiment]
{text}
]]></System></ssc:Annotation></ssd:Annotations>"#
        )
    };
    for (text, expected) in [
        (
            "metod = 'jacobi'",
            "DIR/SystemStructure.ssd:10:1: error: unknown key `metod` in [experiment] [unknown-key]\n  help: did you mean `method`?",
        ),
        ("method = ", "DIR/SystemStructure.ssd:10:"),
        (
            "[components.b]\nexchange = 'stale'",
            "DIR/SystemStructure.ssd:10:1: error: [components.b] needs `fmu`",
        ),
        (
            "[[connections]]\nfrom = 'a.y'\nto = 'c.u'",
            "DIR/SystemStructure.ssd:12:6: error: unknown component `c`",
        ),
    ] {
        let message = message(&annotation(text));
        assert!(message.contains(expected), "{message}");
    }
}
