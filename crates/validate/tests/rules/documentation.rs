//! The documentation lists the rules that there are.

use std::collections::BTreeSet;

use gyrator_validate::rules;

const DOCUMENTATION: &str = include_str!("../../../../docs/validation.md");

#[test]
fn every_rule_is_documented_with_its_severity() {
    for rule in rules() {
        let row = format!(
            "| V-{:02} | {} | {} |",
            rule.number, rule.title, rule.severity
        );
        let is_there = DOCUMENTATION.lines().any(|line| line.starts_with(&row));
        assert!(is_there, "docs/validation.md lacks: {row}");
    }
    let rows = DOCUMENTATION
        .lines()
        .filter(|line| line.starts_with("| V-"));
    let numbers: Vec<&str> = rows.filter_map(|row| row.split(' ').nth(1)).collect();
    let unique: BTreeSet<&str> = numbers.iter().copied().collect();
    let all: BTreeSet<String> = rules()
        .map(|rule| format!("V-{:02}", rule.number))
        .collect();
    assert_eq!(unique, all.iter().map(String::as_str).collect());
}

#[test]
fn numbers_are_given_once_and_without_gaps() {
    let mut numbers: Vec<u8> = rules().map(|rule| rule.number).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(1..=54), "{numbers:?}");
}
