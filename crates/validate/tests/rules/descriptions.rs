//! Rules about the description, by editing a good one.

use std::collections::BTreeSet;
use std::path::Path;

use gyrator_validate::{Check, Report, Severity, Subject, examine_subject, rules};

use crate::of_rule;

pub(crate) const GOOD: &str = include_str!("good.xml");

fn examine(text: &str) -> Report {
    let path = Path::new("modelDescription.xml");
    examine_subject(&Subject::of_description(path, text.as_bytes()))
}

/// A rule, the text to replace, what to put in its place, and the words that a finding must have.
type Case = (u8, Severity, &'static str, &'static str, &'static str);

const ERROR: Severity = Severity::Error;
const FATAL: Severity = Severity::Fatal;
const WARNING: Severity = Severity::Warning;

const U: &str = r#"<Real declaredType="Force" start="1.5" min="-1e3"/>"#;
const X: &str = r#"<Real unit="m" start="0.1" min="0" max="2" nominal="1"/>"#;
const GEAR: &str = r#"<Enumeration declaredType="Gear" start="2"/>"#;

/// Edits that break the document and its interfaces.
const DOCUMENT: &[Case] = &[
    (
        7,
        FATAL,
        "<ModelStructure>",
        "<ModelStructure",
        "attribute key",
    ),
    (
        7,
        FATAL,
        "<fmiModelDescription",
        "<!DOCTYPE x>\n<fmiModelDescription",
        "DOCTYPE",
    ),
    (7, FATAL, "</fmiModelDescription>", "", "ends"),
    (7, WARNING, "UTF-8", "ISO-8859-1", "ISO-8859-1"),
    (
        8,
        ERROR,
        "<Tool name=\"two\"/>",
        "<Tool/>",
        "lacks the attribute name",
    ),
    (
        8,
        ERROR,
        "<Tool name=\"two\"/>",
        "<Toll name=\"two\"/>",
        "no element Toll",
    ),
    (
        8,
        ERROR,
        "<Tool name=\"two\"/>",
        "<Tool name=\"two\"><a/><b/></Tool>",
        "more than one",
    ),
    (8, ERROR, "<Integer/>", "<Integer/><Real/>", "too many"),
    (8, ERROR, "<Integer/>", "", "has no Real or Integer"),
    (
        8,
        ERROR,
        "<Integer/>",
        "<Integer>7</Integer>",
        "text in Integer",
    ),
    (
        8,
        ERROR,
        "<Integer/>",
        "<Integer unit=\"m\"/>",
        "no attribute unit",
    ),
    (
        8,
        ERROR,
        "<Integer/>",
        "<Integer><Item/></Integer>",
        "must be empty",
    ),
    (
        8,
        ERROR,
        "valueReference=\"6\"",
        "valueReference=\"-6\"",
        "without sign",
    ),
    (8, ERROR, "max=\"2\"", "max=\"2,0\"", "is not a number"),
    (
        8,
        ERROR,
        "start=\"true\"",
        "start=\"yes\"",
        "is not a boolean",
    ),
    (
        8,
        ERROR,
        "start=\"2\"",
        "start=\"2.5\"",
        "integer of 32 bits",
    ),
    (
        8,
        ERROR,
        "2026-11-20T08:21:02Z",
        "20.11.2026",
        "date and time",
    ),
    (
        8,
        ERROR,
        "dependencies=\"1 3\"",
        "dependencies=\"1,3\"",
        "list of indices",
    ),
    (
        8,
        ERROR,
        "dependent constant",
        "dependent never",
        "list of dependent",
    ),
    (
        8,
        ERROR,
        "causality=\"independent\"",
        "causality=\"internal\"",
        "one of parameter",
    ),
    (
        8,
        ERROR,
        "<LogCategories>",
        "<DefaultExperiment/><LogCategories>",
        "must stand before",
    ),
    (9, FATAL, "fmiVersion=\"2.0\"", "fmiVersion=\"3.0\"", "3.0"),
    (9, FATAL, "fmiVersion=\"2.0\"", "", "no fmiVersion"),
    (
        9,
        ERROR,
        "fmiVersion=\"2.0\"",
        "fmiVersion=\"2.0.4\"",
        "2.0.4",
    ),
    (
        10,
        ERROR,
        "guid=\"{8c4e810f-3df3-4a00-8276-176fa3c9f9e0}\"",
        "",
        "no guid",
    ),
    (
        10,
        ERROR,
        "{8c4e810f-3df3-4a00-8276-176fa3c9f9e0}",
        "",
        "guid is empty",
    ),
    (
        10,
        WARNING,
        "modelName=\"Good\"",
        "modelName=\"\"",
        "modelName is empty",
    ),
    (
        11,
        ERROR,
        "<UnitDefinitions>",
        "<CoSimulation modelIdentifier=\"b\"/><UnitDefinitions>",
        "twice",
    ),
    (
        12,
        ERROR,
        "modelIdentifier=\"Good\"",
        "modelIdentifier=\"Go-od\"",
        "identifier of C",
    ),
    (
        12,
        ERROR,
        "modelIdentifier=\"Good\"",
        "modelIdentifier=\"1Good\"",
        "identifier of C",
    ),
    (
        12,
        FATAL,
        "modelIdentifier=\"Good\"",
        "modelIdentifier=\"../x\"",
        "name of a file",
    ),
    (13, ERROR, "other.c", "good.c", "good.c"),
    (
        14,
        ERROR,
        "canGetAndSetFMUstate=\"true\" ",
        "",
        "canSerializeFMUstate without",
    ),
    (15, ERROR, "stopTime=\"10\"", "stopTime=\"0\"", "not after"),
    (
        15,
        ERROR,
        "tolerance=\"1e-6\"",
        "tolerance=\"-1\"",
        "negative",
    ),
    (
        15,
        ERROR,
        "stepSize=\"0.01\"",
        "stepSize=\"0\"",
        "not positive",
    ),
    (
        15,
        ERROR,
        "stepSize=\"0.01\"",
        "stepSize=\"11\"",
        "longer than the run",
    ),
    (15, ERROR, "startTime=\"0\"", "startTime=\"NaN\"", "NaN"),
    (16, ERROR, "logStatusError", "logAll", "logAll"),
    (
        17,
        ERROR,
        "<Tool name=\"two\"/>",
        "<Tool name=\"one\"/>",
        "one",
    ),
    (
        18,
        ERROR,
        "canGetAndSetFMUstate=",
        "canGetAndSetFMUState=",
        "should be",
    ),
    (
        18,
        ERROR,
        "maxOutput",
        "canRunAsynchronuosly=\"true\" maxOutput",
        "should be",
    ),
];

/// Edits that break variables.
const VARIABLES: &[Case] = &[
    (19, ERROR, "name=\"gravity\"", "name=\"g\"", "twice"),
    (19, ERROR, "name=\"gravity\"", "name=\"\"", "no name"),
    (
        19,
        ERROR,
        "name=\"gravity\"",
        "name=\"the force\"",
        "no structured name",
    ),
    (
        19,
        ERROR,
        "name=\"count\"",
        "name=\"der(count)\"",
        "no Real",
    ),
    (
        20,
        ERROR,
        "causality=\"parameter\" variability=\"fixed\" i",
        "causality=\"parameter\" variability=\"discrete\" i",
        "do not go together",
    ),
    (
        20,
        ERROR,
        "variability=\"fixed\" initial=\"exact\"",
        "variability=\"fixed\" initial=\"approx\"",
        "initial=approx",
    ),
    (21, ERROR, U, "<Real declaredType=\"Force\"/>", "an input"),
    (
        21,
        ERROR,
        "<String start=\"a\"/>",
        "<String/>",
        "a parameter",
    ),
    (21, ERROR, X, "<Real/>", "initial=exact"),
    (
        21,
        ERROR,
        "<Real start=\"9.81\"/>\n    </ScalarVariable>\n    <ScalarVariable name=\"alias\"",
        "<Real/>\n    </ScalarVariable>\n    <ScalarVariable name=\"alias\"",
        "a constant",
    ),
    (
        22,
        ERROR,
        "<Integer/>",
        "<Integer start=\"1\"/>",
        "is calculated",
    ),
    (
        22,
        ERROR,
        "variability=\"continuous\">\n      <Real/>",
        "variability=\"continuous\">\n      <Real start=\"0\"/>",
        "independent variable",
    ),
    (
        23,
        ERROR,
        "causality=\"input\">",
        "causality=\"input\" initial=\"exact\">",
        "must not have initial",
    ),
    (
        24,
        ERROR,
        "causality=\"output\" variability=\"discrete\"",
        "causality=\"output\"",
        "without variability",
    ),
    (
        24,
        ERROR,
        "causality=\"output\" variability=\"discrete\"",
        "causality=\"output\" variability=\"continuous\"",
        "no Integer can be",
    ),
    (
        25,
        ERROR,
        "<ScalarVariable name=\"alias\"",
        "<ScalarVariable name=\"t2\" valueReference=\"20\" causality=\"independent\"><Real/></ScalarVariable><ScalarVariable name=\"alias\"",
        "second",
    ),
    (
        25,
        ERROR,
        "causality=\"independent\" variability=\"continuous\">\n      <Real/>",
        "causality=\"independent\" variability=\"continuous\">\n      <Integer/>",
        "no Real",
    ),
    (
        26,
        ERROR,
        "causality=\"input\">",
        "causality=\"input\" canHandleMultipleSetPerTimeInstant=\"true\">",
        "model exchange",
    ),
    (
        26,
        ERROR,
        "name=\"y\"",
        "name=\"y\" canHandleMultipleSetPerTimeInstant=\"true\"",
        "no input",
    ),
    (
        27,
        ERROR,
        "<Real start=\"3\"/>",
        "<Real start=\"3\" reinit=\"true\"/>",
        "no continuous state",
    ),
    (
        27,
        ERROR,
        "nominal=\"1\"/>",
        "nominal=\"1\" reinit=\"true\"/>",
        "model exchange",
    ),
    (28, ERROR, "max=\"2\"", "max=\"-2\"", "less than min"),
    (
        28,
        ERROR,
        "start=\"0.1\"",
        "start=\"-0.1\"",
        "less than min",
    ),
    (28, ERROR, "start=\"0.1\"", "start=\"2.1\"", "more than max"),
    (28, ERROR, "start=\"1.5\"", "start=\"2e6\"", "more than max"),
    (28, ERROR, "start=\"0.1\"", "start=\"NaN\"", "NaN"),
    (28, ERROR, "nominal=\"1\"", "nominal=\"0\"", "not positive"),
    (
        28,
        WARNING,
        "<Real start=\"3\"/>",
        "<Real min=\"1\"/>",
        "0, which stands",
    ),
    (
        29,
        ERROR,
        "<Integer/>",
        "<Integer declaredType=\"Force\"/>",
        "declared type",
    ),
    (
        29,
        ERROR,
        "declaredType=\"Gear\"",
        "declaredType=\"Gears\"",
        "no type",
    ),
    (
        29,
        ERROR,
        "min=\"-1e3\"",
        "min=\"-1e7\"",
        "outside of the range",
    ),
    (
        29,
        ERROR,
        GEAR,
        "<Enumeration declaredType=\"Gear\" start=\"3\"/>",
        "no item",
    ),
    (
        30,
        ERROR,
        "name=\"p\" valueReference=\"4\"",
        "name=\"p\" valueReference=\"0\"",
        "set the same value",
    ),
    (
        30,
        ERROR,
        "name=\"p\" valueReference=\"4\"",
        "name=\"p\" valueReference=\"6\"",
        "independent variable",
    ),
    (
        30,
        ERROR,
        "name=\"p\" valueReference=\"4\"",
        "name=\"p\" valueReference=\"2\"",
        "both start",
    ),
    (
        30,
        ERROR,
        "name=\"p\" valueReference=\"4\"",
        "name=\"p\" valueReference=\"7\"",
        "only one is constant",
    ),
    (
        30,
        ERROR,
        "<Real start=\"9.81\"/>\n    </ScalarVariable>\n    <ScalarVariable name=\"alias\"",
        "<Real start=\"9.8\"/>\n    </ScalarVariable>\n    <ScalarVariable name=\"alias\"",
        "start differently",
    ),
    (
        30,
        ERROR,
        "<Real unit=\"kg.m/s2\"/>",
        "<Real unit=\"m\"/>",
        "one is in",
    ),
    (
        30,
        WARNING,
        "name=\"alias\" valueReference=\"1\"",
        "name=\"alias\" valueReference=\"1\" variability=\"discrete\"",
        "variability differs",
    ),
    (
        31,
        ERROR,
        "derivative=\"3\"",
        "derivative=\"99\"",
        "there are 14 variables",
    ),
    (
        31,
        ERROR,
        "derivative=\"3\"",
        "derivative=\"0\"",
        "there are 14 variables",
    ),
    (
        31,
        ERROR,
        "derivative=\"3\"",
        "derivative=\"4\"",
        "the variable itself",
    ),
    (31, ERROR, "derivative=\"3\"", "derivative=\"7\"", "no Real"),
];

/// Edits that break types, units and structure.
const DEFINITIONS: &[Case] = &[
    (
        32,
        ERROR,
        "SimpleType name=\"Gear\"",
        "SimpleType name=\"Force\"",
        "twice",
    ),
    (
        32,
        ERROR,
        "SimpleType name=\"Gear\"",
        "SimpleType name=\"gear\"",
        "name of a variable",
    ),
    (
        32,
        ERROR,
        "name=\"reverse\" value=\"2\"",
        "name=\"reverse\" value=\"1\"",
        "have the value 1",
    ),
    (
        32,
        ERROR,
        "name=\"reverse\" value=\"2\"",
        "name=\"forward\" value=\"2\"",
        "there twice",
    ),
    (32, ERROR, "max=\"1e6\"", "max=\"-2e6\"", "less than min"),
    (33, ERROR, "Unit name=\"m\"", "Unit name=\"N\"", "twice"),
    (
        33,
        ERROR,
        "<DisplayUnit name=\"kN\" factor=\"0.001\"/>",
        "<DisplayUnit name=\"kN\"/><DisplayUnit name=\"kN\"/>",
        "twice",
    ),
    (33, ERROR, "factor=\"0.001\"", "factor=\"0\"", "factor"),
    (33, ERROR, "unit=\"m\"", "unit=\"mm\"", "not defined"),
    (
        33,
        ERROR,
        "unit=\"N\" displayUnit=\"kN\"/>",
        "unit=\"N\" displayUnit=\"MN\"/>",
        "no display unit",
    ),
    (33, ERROR, "unit=\"m\"", "displayUnit=\"m\"", "but no unit"),
    (
        34,
        ERROR,
        "<Unknown index=\"7\"/>\n    </Outputs>",
        "</Outputs>",
        "lacks count",
    ),
    (
        34,
        ERROR,
        "<Unknown index=\"7\"/>\n    </Outputs>",
        "<Unknown index=\"5\"/></Outputs>",
        "does not belong",
    ),
    (
        34,
        ERROR,
        "<Unknown index=\"7\"/>\n    </Outputs>",
        "<Unknown index=\"7\"/><Unknown index=\"7\"/></Outputs>",
        "listed twice",
    ),
    (
        34,
        ERROR,
        "<Unknown index=\"7\"/>\n    </Outputs>",
        "<Unknown index=\"70\"/></Outputs>",
        "no variable 70",
    ),
    (35, ERROR, "derivative=\"3\"", "", "no attribute derivative"),
    (
        35,
        ERROR,
        "causality=\"local\">\n      <Real derivative",
        "causality=\"local\" variability=\"discrete\">\n      <Real derivative",
        "no continuous Real",
    ),
    (
        36,
        WARNING,
        "<Unknown index=\"9\" dependencies=\"5\" dependenciesKind=\"dependent\"/>",
        "",
        "lacks derived",
    ),
    (
        36,
        WARNING,
        "<Unknown index=\"4\" dependencies=\"\"/>",
        "<Unknown index=\"3\"/><Unknown index=\"4\"/>",
        "does not belong",
    ),
    (
        36,
        WARNING,
        "<Unknown index=\"4\" dependencies=\"\"/>\n      <Unknown index=\"7\"/>",
        "<Unknown index=\"7\"/><Unknown index=\"4\"/>",
        "ascending",
    ),
    (
        37,
        ERROR,
        "dependencies=\"1 3\"",
        "dependencies=\"1 99\"",
        "not there",
    ),
    (
        37,
        ERROR,
        "dependencies=\"1 3\"",
        "dependencies=\"1\"",
        "1 dependencies, 2 kinds",
    ),
    (
        37,
        ERROR,
        "dependencies=\"1 3\" ",
        "",
        "without dependencies",
    ),
    (
        37,
        ERROR,
        "dependenciesKind=\"dependent\"",
        "dependenciesKind=\"fixed\"",
        "during initialization",
    ),
    (
        37,
        WARNING,
        "dependencies=\"1 3\"",
        "dependencies=\"3 1\"",
        "before",
    ),
    (
        37,
        WARNING,
        "dependencies=\"1 3\"",
        "dependencies=\"1 2\"",
        "no known of a run",
    ),
    (
        37,
        WARNING,
        "dependencies=\"1 3 5\"",
        "dependencies=\"1 3 4\"",
        "no known of initialization",
    ),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    DOCUMENT.iter().chain(VARIABLES).chain(DEFINITIONS)
}

#[test]
fn v07_to_v37_a_good_description_breaks_no_rule() {
    let report = examine(GOOD);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn v07_to_v37_each_mistake_is_found_by_its_rule() {
    let mut missed = Vec::new();
    for (number, severity, from, to, words) in cases() {
        assert!(GOOD.contains(from), "nothing to replace: {from}");
        let report = examine(&GOOD.replacen(from, to, 1));
        let found = of_rule(&report, *number);
        let is_found = found
            .iter()
            .any(|finding| finding.severity == *severity && finding.message.contains(words));
        if !is_found {
            missed.push(format!(
                "V-{number:02} {from} -> {to}: {:#?}",
                report.findings
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_rule_about_descriptions_has_a_case() {
    let covered: BTreeSet<u8> = cases().map(|case| case.0).collect();
    for rule in rules().filter(|rule| matches!(rule.check, Check::Description(_))) {
        assert!(covered.contains(&rule.number), "{rule:?} has no case");
    }
}

#[test]
fn v11_there_is_an_interface() {
    let report = examine(&GOOD.replace("CoSimulation", "Simulation"));
    let found = of_rule(&report, 11);
    assert_eq!(found[0].severity, FATAL, "{report:?}");
    assert!(found[0].message.contains("neither"), "{report:?}");
}

#[test]
fn findings_have_their_place() {
    let report = examine(&GOOD.replacen("name=\"gravity\"", "name=\"g\"", 1));
    let [finding] = report.findings.as_slice() else {
        panic!("{report:?}");
    };
    let lines = GOOD.lines().map(str::trim_start);
    let line = lines
        .take_while(|line| !line.contains("name=\"gravity\""))
        .count()
        + 1;
    assert_eq!(finding.line, u32::try_from(line).ok());
    assert_eq!(finding.column, Some(5));
}

#[test]
fn v24_a_missing_variability_is_reported_once() {
    let broken = GOOD.replacen(
        "causality=\"output\" variability=\"discrete\"",
        "causality=\"output\"",
        1,
    );
    let report = examine(&broken);
    assert!(of_rule(&report, 20).is_empty(), "{report:?}");
}

#[test]
fn v26_v27_are_kept_in_model_exchange() {
    let text = GOOD
        .replacen(
            "<UnitDefinitions>",
            "<ModelExchange modelIdentifier=\"Good\"/><UnitDefinitions>",
            1,
        )
        .replacen("nominal=\"1\"/>", "nominal=\"1\" reinit=\"true\"/>", 1)
        .replacen(
            "causality=\"input\">",
            "causality=\"input\" canHandleMultipleSetPerTimeInstant=\"true\">",
            1,
        );
    let report = examine(&text);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn many_findings_of_one_rule_are_counted() {
    let variable = |number| {
        format!(
            "<ScalarVariable name=\"v {number}\" valueReference=\"{number}\"><Real/></ScalarVariable>"
        )
    };
    let variables: String = (100..400).map(variable).collect();
    let text = GOOD.replacen("</ModelVariables>", &(variables + "</ModelVariables>"), 1);
    let report = examine(&text);
    let found = of_rule(&report, 19);
    assert_eq!(found.len(), 101);
    assert!(
        found
            .iter()
            .any(|finding| finding.message == "and 200 more findings of this rule"),
        "{found:?}"
    );
}
