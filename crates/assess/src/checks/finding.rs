//! The outcome of a check.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Check, Violation};

/// Whether a check holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not hold.
    Failed,
    /// The run does not show whether it holds: it failed, or ended early.
    NotJudged,
}

/// A check of one signal, bond, component or run, and how it came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The name that it was given, or its sentence.
    pub name: String,
    /// The word of its kind.
    pub check: &'static str,
    /// The signal, bond or component; `the run` and `the system` for the whole.
    pub subject: String,
    /// Whether it holds.
    pub outcome: Outcome,
    /// Why it does not, in a sentence.
    pub message: Option<String>,
    /// The worst value, in the unit of the signal.
    pub value: Option<f64>,
    /// The time of it, s.
    pub time: Option<f64>,
    /// How far it is beyond what is allowed, in the unit of the signal.
    pub excess: Option<f64>,
    #[serde(skip)]
    sentence: String,
}

impl Finding {
    /// Whether the check holds.
    pub fn holds(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    pub(super) fn passed(check: &Check, subject: &str) -> Self {
        let sentence = check.sentence(subject);
        Self {
            name: check.name.clone().unwrap_or_else(|| sentence.clone()),
            check: check.kind.word,
            subject: subject.to_owned(),
            outcome: Outcome::Passed,
            message: None,
            value: None,
            time: None,
            excess: None,
            sentence,
        }
    }

    pub(super) fn failed(check: &Check, subject: &str, violation: Violation) -> Self {
        Self {
            outcome: Outcome::Failed,
            message: Some(format!("{subject} {}", violation.text)),
            value: violation.value,
            time: violation.time,
            excess: violation.excess,
            ..Self::passed(check, subject)
        }
    }

    pub(super) fn not_judged(check: &Check, subject: &str, why: String) -> Self {
        Self {
            outcome: Outcome::NotJudged,
            message: Some(why),
            ..Self::passed(check, subject)
        }
    }
}

/// One line: the outcome, the name that it was given, the message.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotJudged => "not judged",
        };
        write!(f, "{word}: ")?;
        // The message of a violation says all that the sentence does.
        match (
            &self.message,
            self.outcome == Outcome::Failed && self.name == self.sentence,
        ) {
            (Some(message), true) => f.write_str(message),
            (Some(message), false) => write!(f, "{}: {message}", self.name),
            (None, _) => f.write_str(&self.name),
        }
    }
}

/// The findings, with sentences added to names that several of them have.
pub(super) fn with_unlike_names(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &findings {
        *counts.entry(finding.name.clone()).or_default() += 1;
    }
    for finding in &mut findings {
        if counts[&finding.name] > 1 && finding.name != finding.sentence {
            finding.name = format!("{}: {}", finding.name, finding.sentence);
        }
    }
    findings
}
