//! Units of connectors: the FMU's if values can be converted to it, else the description's.

use super::files::{accepted, description, fmu, folder, start_values};

const UNITS: &str = r#"<ssd:Units><ssc:Unit name="bar"><ssc:BaseUnit kg="1" m="-1" s="-2" factor="1e5"/></ssc:Unit>
<ssc:Unit name="Pa"><ssc:BaseUnit kg="1" m="-1" s="-2"/></ssc:Unit><ssc:Unit name="kPa"><ssc:BaseUnit kg="1" m="-1" s="-2" factor="1e3"/></ssc:Unit>
<ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit><ssc:Unit name="K"><ssc:BaseUnit K="1"/></ssc:Unit>
<ssc:Unit name="vague"/></ssd:Units>"#;
/// The FMU defines `Pa` and `bar`, and knows `loose` by name only.
const DEFINITIONS: &str = r#"<UnitDefinitions><Unit name="Pa"><BaseUnit kg="1" m="-1" s="-2"/></Unit>
<Unit name="bar"><BaseUnit kg="1" m="-1" s="-2" factor="1e5"/></Unit><Unit name="loose"/></UnitDefinitions>"#;

/// Factor and offset from an output `a.y` to an input `b.u`, whether the engine converts between the
/// units of the FMUs, and the warnings. `fmus` are attributes of the variables. `units` are the units
/// of the connectors; the middle one is the unit of a system on the way.
fn conversion(fmus: [&str; 2], units: [&str; 3]) -> ((f64, f64), bool, Vec<String>) {
    let real = |unit: &str| match unit {
        "-" => "<ssc:Real/>".to_owned(),
        unit => format!(r#"<ssc:Real unit="{unit}"/>"#),
    };
    let component = |name: &str, connector: &str, unit: &str| {
        let kind = if connector == "y" { "output" } else { "input" };
        format!(
            r#"<ssd:Component name="{name}" source="{name}.fmu"><ssd:Connectors><ssd:Connector name="{connector}" kind="{kind}">{}</ssd:Connector></ssd:Connectors></ssd:Component>"#,
            real(unit)
        )
    };
    let system = format!(
        r#"<ssd:Elements>{}<ssd:System name="s"><ssd:Connectors><ssd:Connector name="in" kind="input">{}</ssd:Connector></ssd:Connectors>
<ssd:Elements>{}</ssd:Elements><ssd:Connections><ssd:Connection startConnector="in" endElement="b" endConnector="u"/></ssd:Connections></ssd:System></ssd:Elements>
<ssd:Connections><ssd:Connection startElement="a" startConnector="y" endElement="s" endConnector="in"/></ssd:Connections>"#,
        component("a", "y", units[0]),
        real(units[1]),
        component("b", "u", units[2]),
    );
    let folder = folder(&[("SystemStructure.ssd", &description(&system, UNITS))]);
    let variable = |name: &str, attributes: &str| {
        let (causality, start) = match name {
            "y" => ("output", ""),
            _ => ("input", "start='0'"),
        };
        format!(
            "<ScalarVariable name='{name}' valueReference='0' causality='{causality}'><Real {attributes} {start}/></ScalarVariable>"
        )
    };
    let [output, input] = fmus;
    fmu(
        &folder.path().join("a.fmu"),
        DEFINITIONS,
        &variable("y", output),
    );
    fmu(
        &folder.path().join("b.fmu"),
        DEFINITIONS,
        &variable("u", input),
    );
    let (system, warnings) = accepted(&folder);
    let connection = &system.connections[0];
    let factor = connection.gain.as_ref().map_or(1.0, |gain| gain.value);
    let offset = connection
        .offset
        .as_ref()
        .map_or(0.0, |offset| offset.value);
    ((factor, offset), connection.unit_conversion, warnings)
}

/// Attributes that give a variable no unit that can be converted.
const UNKNOWN: [&str; 5] = ["", "unit=''", "unit=' '", "unit='psi'", "unit='loose'"];

/// 1 bar is 10⁵ Pa, and t °C are t + 273.15 K.
#[test]
fn the_description_gives_the_units_that_an_fmu_does_not() {
    for output in UNKNOWN {
        for input in UNKNOWN {
            let found = conversion([output, input], ["bar", "-", "Pa"]);
            assert_eq!((found.0, found.2), ((1e5, 0.0), vec![]), "{output} {input}");
            let found = conversion([output, input], ["degC", "-", "K"]);
            assert_eq!(
                (found.0, found.2),
                ((1.0, 273.15), vec![]),
                "{output} {input}"
            );
            // Nothing is converted, and the engine is not to warn that it converts nothing.
            let found = conversion([output, input], ["Pa", "-", "Pa"]);
            let engine_warns = output.contains(['p', 'l']) && input.contains(['p', 'l']);
            assert_eq!(
                found,
                ((1.0, 0.0), !engine_warns, vec![]),
                "{output} {input}"
            );
        }
        // The other FMU has a unit of its own.
        let found = conversion([output, "unit='Pa'"], ["bar", "-", "-"]);
        assert_eq!((found.0, found.2), ((1e5, 0.0), vec![]), "{output}");
        let found = conversion(["unit='bar'", output], ["-", "-", "Pa"]);
        assert_eq!((found.0, found.2), ((1e5, 0.0), vec![]), "{output}");
    }
}

/// A unit without a definition on the way hides no unit.
#[test]
fn units_on_the_way_count_if_they_are_defined() {
    for unit in ["", "psi", "vague", "-"] {
        let found = conversion(["", ""], ["bar", unit, "Pa"]);
        assert_eq!(found, ((1e5, 0.0), true, vec![]), "{unit}");
    }
    let found = conversion(["unit=''", ""], ["", "bar", "Pa"]);
    assert_eq!(found, ((1e5, 0.0), true, vec![]));
    let note = |from: &str, to: &str, missing: &str| {
        vec![format!(
            "the unit {missing} is not defined; the value is passed on in {from} as if it were in {to}"
        )]
    };
    let found = conversion(["unit='psi'", "unit='Pa'"], ["vague", "-", "-"]);
    assert_eq!(found, ((1.0, 0.0), false, note("psi", "Pa", "psi")));
    let found = conversion(["", ""], ["bar", "-", "vague"]);
    assert_eq!(found, ((1.0, 0.0), true, note("bar", "vague", "vague")));
}

/// The engine converts between the units of the FMUs.
#[test]
fn usable_units_of_fmus_count_more_and_differences_are_noted() {
    let found = conversion(["unit='bar'", "unit='Pa'"], ["bar", "-", "Pa"]);
    assert_eq!(found, ((1.0, 0.0), true, vec![]));
    let (linear, by_engine, warnings) = conversion(["unit='bar'", "unit='Pa'"], ["kPa", "-", "K"]);
    assert_eq!((linear, by_engine), ((1.0, 0.0), true));
    let expected = [
        "`a.y`: the unit is bar in the FMU and kPa in the description; the FMU's unit counts",
        "`s.b.u`: the unit is Pa in the FMU and K in the description; the FMU's unit counts",
    ];
    assert_eq!(warnings, expected);
}

/// 1.5 bar are 150 000 Pa.
#[test]
fn parameters_are_converted_to_the_unit_of_the_connector() {
    let system = r#"<ssd:Elements><ssd:Component name="m" source="m.fmu"><ssd:Connectors>
<ssd:Connector name="p" kind="parameter"><ssc:Real unit="Pa"/></ssd:Connector></ssd:Connectors><ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>
<ssv:ParameterSet version="1.0" name="s"><ssv:Parameters><ssv:Parameter name="p"><ssv:Real value="1.5" unit="bar"/></ssv:Parameter></ssv:Parameters></ssv:ParameterSet>
</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings></ssd:Component></ssd:Elements>"#;
    for unit in UNKNOWN {
        let folder = folder(&[("SystemStructure.ssd", &description(system, UNITS))]);
        let variable = format!(
            "<ScalarVariable name='p' valueReference='0' causality='parameter' variability='fixed'><Real {unit} start='0'/></ScalarVariable>"
        );
        fmu(&folder.path().join("m.fmu"), DEFINITIONS, &variable);
        let (system, warnings) = accepted(&folder);
        assert_eq!(start_values(&system), ["m.p = 150000.0"], "{unit}");
        assert_eq!(warnings, Vec::<String>::new(), "{unit}");
    }
}
