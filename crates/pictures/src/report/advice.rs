//! Findings on a run that a reader should act upon, by the facts of its summary.

use serde_json::Value;

use crate::report::facts::{list, number, text, written};

/// A finding, and the remedy; empty if none is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) text: String,
    pub(crate) remedy: String,
}

fn finding(text: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding {
        text: text.into(),
        remedy: remedy.into(),
    }
}

/// The findings, the gravest first, then the notes of the run. What to do about the coupling stands beside the verdict.
pub(crate) fn findings(summary: &Value) -> Vec<Finding> {
    let mut findings: Vec<Finding> = stop(summary).into_iter().collect();
    for bond in list(summary, "bonds") {
        findings.extend(of_bond(bond));
    }
    findings.extend(error_bars(summary));
    findings.extend(real_time(&summary["real_time"]));
    let warnings = number(&summary["counters"], "unit_warnings").unwrap_or(0.0);
    if warnings > 0.0 {
        findings.push(finding(
            format!("FMUs returned {warnings} warnings from their calls."),
            "read their log lines with --log-level info",
        ));
    }
    findings.extend(
        list(summary, "notes")
            .iter()
            .map(|note| finding(written(note), "")),
    );
    findings
}

fn stop(summary: &Value) -> Option<Finding> {
    let remedy = match text(summary, "stop_reason") {
        "failed" => {
            "--record-calls FOLDER records the calls of each FMU, for `gyrator replay` to make the failing one again; \
             --log-level info shows the log of the FMUs"
        }
        "crashed" => {
            "--isolate gives each FMU a process of its own, which names the one that crashes; --record-calls FOLDER \
             records its calls for `gyrator replay`"
        }
        "timeout" => "--timeout SECONDS gives a call more time; 0: no limit",
        "memory-limit" => "--memory-limit MIB gives the run more memory",
        "limit" => {
            "the run passed a limit that was asked for: look at the energy by bond, and at the plots before the end"
        }
        _ => return None,
    };
    let text = format!(
        "The run ended early: {}.",
        text(summary, "stop_reason").replace('-', " ")
    );
    Some(finding(text, remedy))
}

fn of_bond(bond: &Value) -> Vec<Finding> {
    let name = text(bond, "name");
    let mut findings = Vec::new();
    match text(bond, "correction_verdict") {
        "harmed" => findings.push(finding(
            format!("The correction of the bond {name} makes the result worse."),
            "switch it off: correction = \"off\" at the bond, or --correction off",
        )),
        "uncertain" => findings.push(finding(
            format!("The correction of the bond {name} may make the result worse."),
            "compare with a run with --correction off, both with --error-bars",
        )),
        _ => {}
    }
    let alarms = list(bond, "alarms");
    if let Some(first) = alarms.first() {
        let (start, end) = (written(&first["start"]), written(&first["end"]));
        findings.push(finding(
            format!(
                "The residual power of the bond {name} was above its running level {} times, first from t = {start} s \
                 to {end} s.",
                alarms.len()
            ),
            "look at the plot of its power there; step_control = \"ecco\" takes smaller steps at such places",
        ));
    }
    findings
}

fn error_bars(summary: &Value) -> Option<Finding> {
    let bars = list(summary, "error_bars");
    let unknown = bars.iter().filter(|bar| bar["error"].is_null()).count();
    (unknown > 0).then(|| {
        finding(
            format!("The error of {unknown} of {} signals is not known.", bars.len()),
            "the remarks in the table of the error bars say why; a smaller macro-step often shows a pattern",
        )
    })
}

fn real_time(timing: &Value) -> Option<Finding> {
    let overruns = number(timing, "overruns").filter(|overruns| *overruns > 0.0)?;
    Some(finding(
        format!("{overruns} communication points came after their deadline."),
        "take a larger macro-step, --worker-threads, or a smaller factor of --real-time",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_good_run_has_its_notes_only() {
        let summary = json!({ "stop_reason": "stop-time", "verdict": "small", "notes": ["seen"] });
        assert_eq!(findings(&summary), [finding("seen", "")]);
        assert_eq!(findings(&Value::Null), []);
    }

    #[test]
    fn signals_without_error_are_counted() {
        let bars = json!([{ "error": 1.0 }, { "error": 2.0 }, { "error": null }]);
        let found = findings(&json!({ "verdict": "visible", "error_bars": bars }));
        assert!(found[0].text.contains("1 of 3"), "{found:?}");
    }
}
