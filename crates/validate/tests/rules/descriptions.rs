//! Rules about the description, by editing a good one.

use std::collections::BTreeSet;
use std::path::Path;

use gyrator_validate::{Check, Finding, Report, Severity, Subject, examine_subject, rules};

use crate::of_rule;

pub(crate) const GOOD: &str = include_str!("good.xml");

fn examine(text: &str) -> Report {
    let path = Path::new("modelDescription.xml");
    examine_subject(&Subject::of_description(path, text.as_bytes()))
}

/// An edit that breaks a good description, and what is found.
struct Mistake {
    rule: u8,
    severity: Severity,
    from: String,
    to: String,
    words: &'static str,
}

fn mistakes() -> Vec<Mistake> {
    let lines = include_str!("mistakes.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mistake = |line: &'static str| {
        let parts: Vec<&'static str> = line.split(" | ").collect();
        let [rule, from, to, words] = parts[..] else {
            panic!("four parts: {line}");
        };
        let (rule, severity) = rule.split_once(' ').unwrap();
        Mistake {
            rule: rule.parse().unwrap(),
            severity: match severity {
                "fatal" => Severity::Fatal,
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                other => panic!("no severity: {other}"),
            },
            from: from.replace("\\n", "\n"),
            to: to.replace("\\n", "\n"),
            words,
        }
    };
    lines.map(mistake).collect()
}

#[test]
fn v07_to_v37_a_good_description_breaks_no_rule() {
    let report = examine(GOOD);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn v07_to_v37_each_mistake_is_found_by_its_rule() {
    let mut missed = Vec::new();
    for mistake in mistakes() {
        let Mistake { rule, from, to, .. } = &mistake;
        assert!(GOOD.contains(from), "nothing to replace: {from}");
        let report = examine(&GOOD.replacen(from, to, 1));
        let is_meant = |finding: &&Finding| {
            finding.severity == mistake.severity && finding.message.contains(mistake.words)
        };
        if !of_rule(&report, *rule).iter().any(is_meant) {
            let found = &report.findings;
            missed.push(format!("V-{rule:02} {from} -> {to}: {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_rule_about_descriptions_has_a_case() {
    let covered: BTreeSet<u8> = mistakes().iter().map(|mistake| mistake.rule).collect();
    for rule in rules().filter(|rule| matches!(rule.check, Check::Description(_))) {
        assert!(covered.contains(&rule.number), "{rule:?} has no case");
    }
}

#[test]
fn v11_there_is_an_interface() {
    let report = examine(&GOOD.replace("CoSimulation", "Simulation"));
    let found = of_rule(&report, 11);
    assert_eq!(found[0].severity, Severity::Fatal, "{report:?}");
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
