//! Elements, connectors and connections.

use super::files::{accepted, connections, description, fmu, folder, refused, start_values};

const PAIR: &str = r#"
<ssd:Elements>
  <ssd:Component name="a" source="a.fmu"><ssd:Connectors>
    <ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
    <ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector></ssd:Connectors></ssd:Component>
  <ssd:Component name="b" source="b%20c.fmu"><ssd:Connectors>
    <ssd:Connector name="y" kind="output"><ssc:Real/></ssd:Connector>
    <ssd:Connector name="u" kind="input"><ssc:Real/></ssd:Connector></ssd:Connectors></ssd:Component>
</ssd:Elements>
<ssd:Connections>
  <ssd:Connection startElement="a" startConnector="y" endElement="b" endConnector="u"/>
  <ssd:Connection startElement="a" startConnector="u" endElement="b" endConnector="y"><ssc:LinearTransformation factor="-2"/></ssd:Connection>
</ssd:Connections>"#;

const EXPERIMENT: &str = r#"<ssd:DefaultExperiment startTime="1" stopTime="2.5"><ssd:Annotations>
<ssc:Annotation type="com.opensimulationplatform"><osp:Algorithm xmlns:osp="x"><osp:FixedStepAlgorithm baseStepSize="1e-2"/></osp:Algorithm></ssc:Annotation>
</ssd:Annotations></ssd:DefaultExperiment>"#;

#[test]
fn connections_are_read_in_either_direction() {
    let folder = folder(&[("SystemStructure.ssd", &description(PAIR, EXPERIMENT))]);
    let (system, warnings) = accepted(&folder);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(connections(&system), ["a.y -> b.u", "b.y -> a.u * -2"]);
    assert_eq!(
        system.components[1].fmu.value,
        folder.path().join("b c.fmu")
    );
    let experiment = system.experiment;
    let times = [
        experiment.start_time,
        experiment.stop_time,
        experiment.step_size,
    ];
    assert_eq!(times.map(|time| time.unwrap().value), [1.0, 2.5, 0.01]);
}

#[test]
fn any_prefix_is_understood() {
    let text = description(PAIR, EXPERIMENT);
    for (from, to) in [("ssd:", ""), ("ssc:", "common:"), ("ssd:", "structure:")] {
        let text = match to {
            "" => text.replace("xmlns:ssd", "xmlns"),
            _ => text.replace(&from[..3], &to[..to.len() - 1]),
        };
        let folder = folder(&[("SystemStructure.ssd", &text.replace(from, to))]);
        let (system, _) = accepted(&folder);
        assert_eq!(connections(&system), ["a.y -> b.u", "b.y -> a.u * -2"]);
    }
}

#[test]
fn a_description_beside_its_files_has_any_name() {
    let folder = folder(&[("Variant.ssd", &description(PAIR, ""))]);
    let path = folder.path().join("Variant.ssd");
    assert!(gyrator_ssp::is_ssp(&path) && !gyrator_ssp::is_ssp(folder.path()));
    let (system, _) = gyrator_ssp::read(&path, &gyrator_ssp::Options::default()).unwrap();
    assert_eq!(system.source.path, path);
}

/// Two systems in a third, with connectors, transformations and a value on the way.
#[test]
fn systems_in_systems_become_one() {
    let inner = |name: &str| {
        format!(
            r#"<ssd:System name="{name}"><ssd:Connectors>
  <ssd:Connector name="in" kind="input"><ssc:Real/></ssd:Connector>
  <ssd:Connector name="out" kind="output"><ssc:Real/></ssd:Connector>
  <ssd:Connector name="p" kind="parameter"><ssc:Real/></ssd:Connector></ssd:Connectors>
<ssd:Elements><ssd:Component name="m" source="m.fmu"><ssd:Connectors>
  <ssd:Connector name="u" kind="input"/><ssd:Connector name="y" kind="output"/><ssd:Connector name="k" kind="parameter"/>
</ssd:Connectors></ssd:Component></ssd:Elements>
<ssd:Connections>
  <ssd:Connection startConnector="in" endElement="m" endConnector="u"><ssc:LinearTransformation factor="3"/></ssd:Connection>
  <ssd:Connection startElement="" startConnector="out" endElement="m" endConnector="y"/>
  <ssd:Connection startElement="m" startConnector="k" endConnector="p"><ssc:LinearTransformation factor="2" offset="1"/></ssd:Connection>
</ssd:Connections></ssd:System>"#
        )
    };
    let system = format!(
        r#"<ssd:Connectors><ssd:Connector name="start" kind="input"/><ssd:Connector name="result" kind="output"/></ssd:Connectors>
<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="set"><ssv:Parameters>
  <ssv:Parameter name="start"><ssv:Real value="5"/></ssv:Parameter>
  <ssv:Parameter name="two.p"><ssv:Real value="10"/></ssv:Parameter>
</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>
<ssd:Elements>{}{}</ssd:Elements>
<ssd:Connections>
  <ssd:Connection startElement="one" startConnector="out" endElement="two" endConnector="in"><ssc:LinearTransformation factor="7"/></ssd:Connection>
  <ssd:Connection startConnector="start" endElement="one" endConnector="in"/>
  <ssd:Connection startElement="two" startConnector="out" endConnector="result"/>
</ssd:Connections>"#,
        inner("one"),
        inner("two")
    );
    let folder = folder(&[("SystemStructure.ssd", &description(&system, ""))]);
    let (system, warnings) = accepted(&folder);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(connections(&system), ["one.m.y -> two.m.u * 21"]);
    // 3·5, and 2·10 + 1.
    assert_eq!(start_values(&system), ["one.m.u = 15.0", "two.m.k = 21.0"]);
}

#[test]
fn signal_dictionaries_join_systems() {
    let bus = r#"<ssd:SignalDictionaryReference name="bus" dictionary="signals"><ssd:Connectors>
<ssd:Connector name="speed" kind="inout"/></ssd:Connectors></ssd:SignalDictionaryReference>"#;
    let inner = |name: &str, connector: &str| {
        format!(
            r#"<ssd:System name="{name}"><ssd:Elements><ssd:Component name="m" source="m.fmu"><ssd:Connectors>
<ssd:Connector name="{connector}" kind="{}put"/></ssd:Connectors></ssd:Component>{bus}</ssd:Elements><ssd:Connections>
<ssd:Connection startElement="bus" startConnector="speed" endElement="m" endConnector="{connector}"/>
</ssd:Connections></ssd:System>"#,
            if connector == "u" { "in" } else { "out" }
        )
    };
    let system = format!(
        r#"<ssd:Elements>{}{}{}</ssd:Elements>
<ssd:SignalDictionaries><ssd:SignalDictionary name="signals" source="signals.ssb"/></ssd:SignalDictionaries>"#,
        inner("sender", "y"),
        inner("left", "u"),
        inner("right", "u")
    );
    let dictionary = r#"<SignalDictionary version="1.0"><DictionaryEntry name="speed"><Real/></DictionaryEntry></SignalDictionary>"#;
    let folder = folder(&[
        ("SystemStructure.ssd", &description(&system, "")),
        ("signals.ssb", dictionary),
    ]);
    let (system, _) = accepted(&folder);
    let expected = ["sender.m.y -> left.m.u", "sender.m.y -> right.m.u"];
    assert_eq!(connections(&system), expected);
}

/// The FMU's variables give the kinds of connectors that a description does not list.
#[test]
fn connectors_may_be_left_to_the_fmu() {
    let system = r#"<ssd:Elements><ssd:Component name="a" source="m.fmu"/><ssd:Component name="b" source="m.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="a" startConnector="u" endElement="b" endConnector="y"/></ssd:Connections>"#;
    let folder = folder(&[("SystemStructure.ssd", &description(system, ""))]);
    let variables = r#"<ScalarVariable name="u" valueReference="0" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="1" causality="output"><Real/></ScalarVariable>"#;
    fmu(&folder.path().join("m.fmu"), "", variables);
    let (system, _) = accepted(&folder);
    assert_eq!(connections(&system), ["b.y -> a.u"]);
}

#[test]
fn a_description_may_be_a_component_of_another() {
    let outer = r#"<ssd:Elements><ssd:Component name="part" type="application/x-ssp-definition" source="part.ssd">
<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="s"><ssv:Parameters>
<ssv:Parameter name="a.k"><ssv:Integer value="3"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>
</ssd:Component></ssd:Elements>"#;
    let folder = folder(&[
        ("SystemStructure.ssd", &description(outer, "")),
        ("part.ssd", &description(PAIR, "")),
    ]);
    let (system, _) = accepted(&folder);
    let expected = ["part.a.y -> part.b.u", "part.b.y -> part.a.u * -2"];
    assert_eq!(connections(&system), expected);
    assert_eq!(start_values(&system), ["part.a.k = 3"]);
}

#[test]
fn what_is_not_supported_is_said_once() {
    let component = |name: &str| {
        format!(
            r#"<ssd:Component name="{name}" source="m.fmu" implementation="ModelExchange" colour="red"><ssd:Connectors>
<ssd:Connector name="u" kind="input"><ssc:Real/><ssc:Dimension size="3"/></ssd:Connector></ssd:Connectors>
<ssd:Annotations><ssc:Annotation type="org.vendor"><x/></ssc:Annotation></ssd:Annotations></ssd:Component>"#
        )
    };
    let system = format!(
        "<ssd:Elements>{}{}</ssd:Elements>",
        component("a"),
        component("b")
    );
    let folder = folder(&[("SystemStructure.ssd", &description(&system, ""))]);
    let (_, warnings) = accepted(&folder);
    assert_eq!(
        warnings,
        [
            "not supported and ignored: `implementation=\"ModelExchange\"`; the FMU runs as co-simulation",
            "unknown attribute `colour` in `Component`; ignored",
            "not supported and ignored: the array connector `u`",
            "not supported and ignored: annotations of the type org.vendor",
        ]
    );
}

#[test]
fn hints_of_step_sizes_are_multiples_of_the_macro_step() {
    let component = |name: &str, hint: &str| {
        format!(
            r#"<ssd:Component name="{name}" source="m.fmu"><ssd:Annotations><ssc:Annotation type="com.opensimulationplatform">
<osp:StepSizeHint xmlns:osp="x" value="{hint}"/></ssc:Annotation></ssd:Annotations></ssd:Component>"#
        )
    };
    let system = format!(
        "<ssd:Elements>{}{}{}</ssd:Elements>",
        component("a", "0.02"),
        component("b", "0.005"),
        component("c", "0.025")
    );
    let folder = folder(&[("SystemStructure.ssd", &description(&system, EXPERIMENT))]);
    let (system, warnings) = accepted(&folder);
    let steps = system.components.iter();
    let steps: Vec<_> = steps
        .map(|component| component.step_size.clone().unwrap().value)
        .collect();
    assert_eq!(steps, [0.02, 0.005, 0.03]);
    let expected = "the step size hint 0.025 s is not a multiple of the macro-step 0.01 s; the component steps by 0.03 s";
    assert_eq!(warnings, [expected]);
}

/// Units are converted before transformations (SSP 4.3); the engine does so if both FMUs say
/// their units and nothing stands between them.
#[test]
fn transformations_follow_the_conversion_of_units() {
    let variables = r#"<ScalarVariable name="y" valueReference="0" causality="output"><Real unit="km/h"/></ScalarVariable>
<ScalarVariable name="u" valueReference="1" causality="input"><Real unit="m/s" start="0"/></ScalarVariable>
<ScalarVariable name="w" valueReference="2" causality="input"><Real unit="km/h" start="0"/></ScalarVariable>
<ScalarVariable name="on" valueReference="0" causality="output"><Boolean/></ScalarVariable>
<ScalarVariable name="off" valueReference="1" causality="input"><Boolean start="false"/></ScalarVariable>"#;
    let definitions = r#"<UnitDefinitions><Unit name="km/h"><BaseUnit m="1" s="-1" factor="0.2777777777777778"/></Unit>
<Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit></UnitDefinitions>"#;
    let units =
        r#"<ssd:Units><ssc:Unit name="m/s"><ssc:BaseUnit m="1" s="-1"/></ssc:Unit></ssd:Units>"#;
    let linear = r#"<ssc:LinearTransformation factor="2" offset="1"/>"#;
    let read = |system: &str| {
        let folder = folder(&[("SystemStructure.ssd", &description(system, units))]);
        fmu(&folder.path().join("m.fmu"), definitions, variables);
        let (mut system, warnings) = accepted(&folder);
        assert_eq!(warnings, Vec::<String>::new());
        let connection = system.connections.remove(0);
        let number = |number: &Option<gyrator_system::Spanned<f64>>| {
            number.as_ref().map_or(f64::NAN, |number| number.value)
        };
        let change = (number(&connection.gain), number(&connection.offset));
        (change, connection)
    };
    let pair = |attributes: &str, inner: &str| {
        format!(
            r#"<ssd:Elements><ssd:Component name="a" source="m.fmu"/><ssd:Component name="b" source="m.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="a" endElement="b" {attributes}>{inner}</ssd:Connection></ssd:Connections>"#
        )
    };
    let direct = r#"startConnector="y" endConnector="u""#;
    let (change, connection) = read(&pair(direct, linear));
    assert_eq!((change, connection.unit_conversion), ((2.0, 1.0), true));
    let kept = format!(r#"{direct} suppressUnitConversion="true""#);
    let (change, connection) = read(&pair(&kept, linear));
    assert_eq!((change, connection.unit_conversion), ((2.0, 1.0), false));
    // x km/h become x/3.6 m/s, 2·x/3.6 + 1 m/s, 3.6·(2·x/3.6 + 1) km/h, with 1 added.
    let nested = format!(
        r#"<ssd:Elements><ssd:Component name="a" source="m.fmu"/><ssd:System name="s"><ssd:Connectors>
<ssd:Connector name="in" kind="input"><ssc:Real unit="m/s"/></ssd:Connector></ssd:Connectors>
<ssd:Elements><ssd:Component name="b" source="m.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection startConnector="in" endElement="b" endConnector="w"><ssc:LinearTransformation offset="1"/></ssd:Connection></ssd:Connections></ssd:System></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="a" startConnector="y" endElement="s" endConnector="in">{linear}</ssd:Connection></ssd:Connections>"#
    );
    let ((gain, offset), connection) = read(&nested);
    assert!((gain - 2.0).abs() < 1e-15 && (offset - 4.6).abs() < 1e-15);
    assert!(!connection.unit_conversion);
    // A value that a mapping does not name stays as it is.
    let mapping = r#"<ssc:BooleanMappingTransformation><ssc:MapEntry source="true" target="false"/></ssc:BooleanMappingTransformation>"#;
    let (_, connection) = read(&pair(r#"startConnector="on" endConnector="off""#, mapping));
    let system = gyrator_system::SystemFile {
        connections: vec![connection],
        ..gyrator_system::SystemFile::new("")
    };
    let text = gyrator_system::toml_file::to_toml(&system);
    assert!(
        text.contains("convert = { true = false, false = false }"),
        "{text}"
    );
}

/// Connectors of the outermost system stand for inputs and outputs of components; parameters and mappings do not.
#[test]
fn connectors_of_the_outermost_system_are_signals() {
    let connectors = [
        ("speed", "input", r#" unit="km/h""#),
        ("left.y", "output", ""),
        ("p", "parameter", ""),
        ("open", "input", ""),
    ];
    let connectors = connectors.map(|(name, kind, unit)| {
        format!(r#"<ssd:Connector name="{name}" kind="{kind}"><ssc:Real{unit}/></ssd:Connector>"#)
    });
    let connection = |start: &str, end: &str| format!("<ssd:Connection {start} {end}/>");
    let to = |connector: &str, element: &str, variable: &str| {
        connection(
            &format!(r#"startConnector="{connector}""#),
            &format!(r#"endElement="{element}" endConnector="{variable}""#),
        )
    };
    let system = format!(
        r#"<ssd:Connectors>{}</ssd:Connectors><ssd:Elements><ssd:Component name="left" source="m.fmu"/><ssd:Component name="right" source="m.fmu"/></ssd:Elements>
<ssd:Connections>{}</ssd:Connections>"#,
        connectors.concat(),
        [
            to("speed", "left", "v"),
            to("left.y", "left", "y"),
            to("p", "left", "k"),
        ]
        .concat()
    );
    let units = r#"<ssd:Units><ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.25"/></ssc:Unit></ssd:Units>"#;
    let folder = folder(&[("SystemStructure.ssd", &description(&system, units))]);
    let definitions =
        r#"<UnitDefinitions><Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit></UnitDefinitions>"#;
    let variables = r#"<ScalarVariable name="v" valueReference="0" causality="input"><Real unit="m/s" start="0"/></ScalarVariable>
<ScalarVariable name="k" valueReference="1" causality="parameter" variability="fixed"><Real start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="2" causality="output"><Real/></ScalarVariable>"#;
    fmu(&folder.path().join("m.fmu"), definitions, variables);
    let (system, warnings) = accepted(&folder);
    let signals = system.outer_signals.iter().map(|signal| {
        let ends = signal.ends.iter();
        let ends = ends.map(|end| format!("{} * {} + {}", end.port, end.factor, end.offset));
        (
            signal.name.value.clone(),
            signal.is_input,
            ends.collect::<Vec<_>>(),
        )
    });
    // The name of a variable is left to the variable.
    let expected = [
        (
            "root.left.y".to_owned(),
            false,
            vec!["left.y * 1 + 0".to_owned()],
        ),
        (
            "speed".to_owned(),
            true,
            vec!["left.v * 0.25 + 0".to_owned()],
        ),
    ];
    assert_eq!(signals.collect::<Vec<_>>(), expected);
    assert_eq!(warnings, [""; 0]);
    // A value for all that a signal feeds, in its unit.
    let mut system = system;
    system.set_start_value("speed", "36").unwrap();
    assert_eq!(start_values(&system), ["left.v = 9.0"]);
}

/// A connector of the outermost system is one end of a connection as any other.
#[test]
fn outer_connectors_in_another_quantity_are_errors() {
    let units = r#"<ssd:Units><ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit></ssd:Units>"#;
    let definitions =
        r#"<UnitDefinitions><Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit></UnitDefinitions>"#;
    let variables = r#"<ScalarVariable name="v" valueReference="0" causality="input"><Real unit="m/s" start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="1" causality="output"><Real unit="m/s"/></ScalarVariable>"#;
    for (kind, inner, ends, message) in [
        (
            "input",
            "v",
            r#"startConnector="force" endElement="left" endConnector="v""#,
            "the connection leads from N to m/s, which measure different things",
        ),
        (
            "output",
            "y",
            r#"startElement="left" startConnector="y" endConnector="force""#,
            "the connection leads from m/s to N, which measure different things",
        ),
    ] {
        for keep in ["", r#" suppressUnitConversion="true""#] {
            let system = format!(
                r#"<ssd:Connectors><ssd:Connector name="force" kind="{kind}"><ssc:Real unit="N"/></ssd:Connector></ssd:Connectors><ssd:Elements><ssd:Component name="left" source="m.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection {ends}{keep}/></ssd:Connections>"#
            );
            let folder = folder(&[("SystemStructure.ssd", &description(&system, units))]);
            fmu(&folder.path().join("m.fmu"), definitions, variables);
            if keep.is_empty() {
                let error = refused(&folder);
                assert!(error.contains(message), "{error}");
                continue;
            }
            let (system, warnings) = accepted(&folder);
            assert_eq!(warnings, [""; 0]);
            let [signal] = &system.outer_signals[..] else {
                panic!("{:?}", system.outer_signals);
            };
            let [end] = &signal.ends[..] else {
                panic!("{:?}", signal.ends);
            };
            assert_eq!(end.port.to_string(), format!("left.{inner}"));
            assert_eq!((end.factor, end.offset), (1.0, 0.0));
        }
    }
}
