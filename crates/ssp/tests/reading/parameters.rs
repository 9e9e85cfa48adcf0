//! Parameter sets: which of several counts, and what becomes of values.

use gyrator_ssp::{Options, read};

use super::files::{accepted, description, fmu, folder, refused, start_values};

/// A set with one real parameter.
fn set(name: &str, parameter: &str, value: &str) -> String {
    format!(
        r#"<ssv:ParameterSet xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues" version="1.0" name="{name}"><ssv:Parameters>
<ssv:Parameter name="{parameter}">{value}</ssv:Parameter></ssv:Parameters></ssv:ParameterSet>"#
    )
}

fn inline(set: &str) -> String {
    format!(
        "<ssd:ParameterBinding><ssd:ParameterValues>{set}</ssd:ParameterValues></ssd:ParameterBinding>"
    )
}

fn component(bindings: &str) -> String {
    format!(
        r#"<ssd:Elements><ssd:Component name="m" source="m.fmu"><ssd:ParameterBindings>{bindings}</ssd:ParameterBindings></ssd:Component></ssd:Elements>"#
    )
}

const K: &str = r#"<ScalarVariable name="k" valueReference="0" causality="parameter" variability="fixed"><Real start="1" unit="K"/></ScalarVariable>
<ScalarVariable name="v" valueReference="1" causality="parameter" variability="fixed"><Real start="1" unit="m/s"/></ScalarVariable>
<ScalarVariable name="p" valueReference="2" causality="parameter" variability="fixed"><Real start="1" unit="Pa"/></ScalarVariable>
<ScalarVariable name="mode" valueReference="3" causality="parameter" variability="fixed"><Enumeration declaredType="Mode" start="1"/></ScalarVariable>
<ScalarVariable name="y" valueReference="4" causality="output"><Real/></ScalarVariable>"#;
const DEFINITIONS: &str = r#"<UnitDefinitions><Unit name="K"><BaseUnit K="1"/></Unit><Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
<Unit name="Pa"><BaseUnit kg="1" m="-1" s="-2"/></Unit></UnitDefinitions>
<TypeDefinitions><SimpleType name="Mode"><Enumeration><Item name="off" value="1"/><Item name="on" value="2"/></Enumeration></SimpleType></TypeDefinitions>"#;
/// 1/3.6 as a double.
const UNITS: &str = r#"<ssd:Units><ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit>
<ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.2777777777777778"/></ssc:Unit>
<ssc:Unit name="bar"><ssc:BaseUnit kg="1" m="-1" s="-2" factor="1e5"/></ssc:Unit>
<ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit></ssd:Units>"#;

/// Later bindings count more than earlier ones, and bindings of a system more than those within it
/// (SSP 5.2.2).
#[test]
fn the_outermost_and_last_binding_counts() {
    let own = [
        inline(&set("one", "a", r#"<ssv:Real value="1"/>"#)),
        r#"<ssd:ParameterBinding source="two.ssv"/>"#.to_owned(),
    ]
    .concat();
    let outer = inline(&set("three", "m.b", r#"<ssv:Real value="3"/>"#));
    let prefixed = r#"<ssd:ParameterBinding source="two.ssv" prefix="m."/>"#;
    for (bindings, expected) in [
        (String::new(), vec!["m.a = 2.0"]),
        (outer.clone(), vec!["m.a = 2.0", "m.b = 3.0"]),
        (prefixed.to_owned(), vec!["m.a = 2.0"]),
        (
            inline(&set("four", "m.a", r#"<ssv:Integer value="4"/>"#)),
            vec!["m.a = 4"],
        ),
    ] {
        let system = format!(
            "<ssd:ParameterBindings>{bindings}</ssd:ParameterBindings>{}",
            component(&own)
        );
        let folder = folder(&[
            ("SystemStructure.ssd", &description(&system, "")),
            ("two.ssv", &set("two", "a", r#"<ssv:Float64 value="2"/>"#)),
        ]);
        let (system, _) = accepted(&folder);
        let mut values = start_values(&system);
        values.sort();
        assert_eq!(values, expected);
    }
}

#[test]
fn parameter_sets_are_chosen_by_name() {
    let bindings = [
        inline(&set("slow", "k", r#"<ssv:Real value="1"/>"#)),
        inline(&set("fast", "k", r#"<ssv:Real value="2"/>"#)),
    ]
    .concat();
    let folder = folder(&[(
        "SystemStructure.ssd",
        &description(&component(&bindings), ""),
    )]);
    let with = |names: &[&str]| {
        let options = Options {
            parameter_sets: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Options::default()
        };
        read(folder.path(), &options)
    };
    for (names, expected) in [
        (&[][..], "m.k = 2.0"),
        (&["slow"], "m.k = 1.0"),
        (&["slow", "fast"], "m.k = 2.0"),
    ] {
        assert_eq!(start_values(&with(names).unwrap().0), [expected]);
    }
    let error = with(&["fats"]).unwrap_err();
    assert_eq!(error.to_string(), "there is no parameter set `fats`");
    assert_eq!(error.help().unwrap(), "did you mean `fast`?");
}

/// The offset and factor of a mapping come after the conversion of units (SSP 4.3). Closed forms:
/// 20 °C = 293.15 K; 36 km/h = 10 m/s; 1.5 bar = 150 000 Pa.
#[test]
fn units_are_converted_before_transformations() {
    let mapping = |target: &str, inner: &str| {
        format!(
            r#"<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="t" target="{target}">{inner}</ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping>"#
        )
    };
    let lin = r#"<ssc:LinearTransformation factor="4" offset="5"/>"#;
    for (value, mapping, expected) in [
        (r#"value="20" unit="degC""#, mapping("k", ""), 293.15),
        (r#"value="36" unit="km/h""#, mapping("v", ""), 10.0),
        (r#"value="1.5" unit="bar""#, mapping("p", ""), 150_000.0),
        (
            r#"value="20" unit="degC""#,
            mapping("k", lin),
            4.0 * 293.15 + 5.0,
        ),
        (r#"value="2""#, mapping("k", lin), 13.0),
    ] {
        let binding = format!(
            "<ssd:ParameterBinding><ssd:ParameterValues>{}</ssd:ParameterValues>{mapping}</ssd:ParameterBinding>",
            set("s", "t", &format!("<ssv:Real {value}/>"))
        );
        let folder = folder(&[(
            "SystemStructure.ssd",
            &description(&component(&binding), UNITS),
        )]);
        fmu(&folder.path().join("m.fmu"), DEFINITIONS, K);
        let (system, warnings) = accepted(&folder);
        assert_eq!(warnings, Vec::<String>::new());
        let (_, found) = &system.components[0].start_values[0];
        assert_eq!(
            found.value,
            gyrator_system::Value::Real(expected),
            "{value}"
        );
    }
}

#[test]
fn units_that_measure_different_things_are_refused() {
    let binding = inline(&set("s", "v", r#"<ssv:Real value="1" unit="N"/>"#));
    let folder = folder(&[(
        "SystemStructure.ssd",
        &description(&component(&binding), UNITS),
    )]);
    fmu(&folder.path().join("m.fmu"), DEFINITIONS, K);
    let message = refused(&folder);
    assert!(
        message.starts_with("DIR/SystemStructure.ssd:8:"),
        "{message}"
    );
    let expected = "v is given in N and wanted in m/s, which measure different things";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn mappings_change_values_one_by_one() {
    let entry = |kind: &str, source: &str, target: &str| {
        format!(
            r#"<ssd:ParameterMapping><ssm:ParameterMapping version="1.0"><ssm:MappingEntry source="t" target="x"><ssc:{kind}MappingTransformation>
<ssc:MapEntry source="{source}" target="{target}"/></ssc:{kind}MappingTransformation></ssm:MappingEntry></ssm:ParameterMapping></ssd:ParameterMapping>"#
        )
    };
    for (value, mapping, expected) in [
        (
            r#"<ssv:Boolean value="true"/>"#,
            entry("Boolean", "1", "false"),
            "false",
        ),
        (
            r#"<ssv:Boolean value="0"/>"#,
            entry("Boolean", "true", "false"),
            "false",
        ),
        (
            r#"<ssv:Integer value="3"/>"#,
            entry("Integer", "3", "-7"),
            "-7",
        ),
        (
            r#"<ssv:Int32 value="4"/>"#,
            entry("Integer", "3", "-7"),
            "4",
        ),
        (
            r#"<ssv:Enumeration value="on" name="E"/>"#,
            entry("Enumeration", "on", "running"),
            "\"running\"",
        ),
        (
            r#"<ssv:Enumeration value="on" name="E"/>"#,
            entry("Integer", "2", "5"),
            "5",
        ),
    ] {
        let binding = format!(
            "<ssd:ParameterBinding><ssd:ParameterValues>{}</ssd:ParameterValues>{mapping}</ssd:ParameterBinding>",
            set("s", "t", value)
        );
        let enumerations = r#"<ssd:Enumerations><ssc:Enumeration name="E"><ssc:Item name="on" value="2"/></ssc:Enumeration></ssd:Enumerations>"#;
        let folder = folder(&[(
            "SystemStructure.ssd",
            &description(&component(&binding), enumerations),
        )]);
        let (system, _) = accepted(&folder);
        assert_eq!(start_values(&system), [format!("m.x = {expected}")]);
    }
}

/// An item that the FMU calls otherwise is known by its number.
#[test]
fn items_of_enumerations_have_names_and_numbers() {
    let enumerations = r#"<ssd:Enumerations><ssc:Enumeration name="Switch"><ssc:Item name="up" value="2"/></ssc:Enumeration></ssd:Enumerations>"#;
    for (value, expected) in [("on", "m.mode = \"on\""), ("up", "m.mode = 2")] {
        let value = format!(r#"<ssv:Enumeration value="{value}" name="Switch"/>"#);
        let system = component(&inline(&set("s", "mode", &value)));
        let folder = folder(&[("SystemStructure.ssd", &description(&system, enumerations))]);
        fmu(&folder.path().join("m.fmu"), DEFINITIONS, K);
        assert_eq!(start_values(&accepted(&folder).0), [expected]);
    }
}

/// Names that nothing has are passed over, as the standard wants it, but not in silence.
#[test]
fn parameters_without_a_variable_are_named() {
    let bindings = [
        inline(&set("s", "kk", r#"<ssv:Real value="1"/>"#)),
        inline(&set("t", "y", r#"<ssv:Real value="1"/>"#)),
    ];
    let system = component(&bindings.concat());
    let folder = folder(&[("SystemStructure.ssd", &description(&system, ""))]);
    fmu(&folder.path().join("m.fmu"), DEFINITIONS, K);
    let (system, warnings) = accepted(&folder);
    assert_eq!(start_values(&system), Vec::<String>::new());
    assert_eq!(
        warnings,
        [
            "`m` has no variable for 1 of the parameter set `s`: kk; ignored",
            "`m.y` is computed by the FMU and takes no start value; ignored",
        ]
    );
}

/// The name of the component itself does not belong there (SSP 5.2.2), but OMSimulator writes it.
#[test]
fn the_name_of_the_component_may_stand_before_its_parameters() {
    let system = component(&inline(&set("s", "m.k", r#"<ssv:Real value="7"/>"#)));
    let folder = folder(&[("SystemStructure.ssd", &description(&system, ""))]);
    fmu(&folder.path().join("m.fmu"), DEFINITIONS, K);
    let (system, warnings) = accepted(&folder);
    assert_eq!(start_values(&system), ["m.k = 7.0"]);
    let expected = "`m.k` is a parameter of the component itself, where its name is `k`; taken";
    assert_eq!(warnings, [expected]);
}
