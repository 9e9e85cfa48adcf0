//! How far the result can be trusted.

use serde_json::Value;

use crate::report::facts::{
    code, figure, list, number, plain, table, text, verdict as mark_of, written,
};
use crate::report::html::{escape, mark, paragraph, rounded, with_code};

/// The fault of a run that did not reach its end.
pub(super) fn fault(summary: &Value) -> String {
    let reason = text(summary, "stop_reason");
    if matches!(
        reason,
        "" | "stop-time" | "terminated" | "stopped" | "running"
    ) {
        return String::new();
    }
    let time = match number(summary, "stop_time") {
        Some(_) => format!(" at t = {} s", written(&summary["stop_time"])),
        None => " before its first step".to_owned(),
    };
    let mut html = format!(
        "<p class=\"lead\">{} {}</p>\n",
        mark(reason),
        escape(time.trim())
    );
    let detail = text(summary, "stop_detail");
    if !detail.is_empty() {
        html.push_str(&format!("<pre class=\"fault\">{}</pre>\n", escape(detail)));
    }
    let in_call = list(summary, "components_in_call").iter().map(written);
    let in_call: Vec<String> = in_call.collect();
    if !in_call.is_empty() {
        let names = in_call.join(", ");
        html.push_str(&paragraph(&format!(
            "Components in a call at that time: {names}."
        )));
    }
    if number(summary, "last_report_time").is_some() {
        let time = written(&summary["last_report_time"]);
        html.push_str(&paragraph(&format!(
            "The figures below are those at t = {time} s, the last that came from the process of the run."
        )));
        return html;
    }
    html.push_str(&paragraph(match number(summary, "steps") {
        Some(steps) if steps > 0.0 && summary["counters"].is_null() => {
            "The figures of the run are lost with its process; rows that were recorded are in its result."
        }
        Some(steps) if steps > 0.0 => {
            "The figures and plots below are those of the steps until then."
        }
        _ => "No step was made.",
    }));
    html
}

/// The verdict, in a word, with its meaning and its source.
pub(super) fn verdict(summary: &Value) -> String {
    let word = text(summary, "verdict");
    let is_coupled = !list(summary, "connections").is_empty();
    let by_bars = !list(summary, "error_bars").is_empty();
    if word.is_empty() || !is_coupled && !by_bars {
        return match text(summary, "stop_reason") {
            "" => paragraph("There is no summary of the run here, and so no verdict."),
            _ if word.is_empty() => paragraph("The run did not get far enough for a verdict."),
            _ => paragraph(
                "One component by itself has no coupling error; --error-bars shows how far its result \
                            depends on the macro-step.",
            ),
        };
    }
    let meaning = match word {
        "small" => "the coupling changes no signal by 1 % of its range",
        "visible" => "the coupling changes a signal by 1 to 10 % of its range",
        "dominating" => "the coupling changes a signal by more than 10 % of its range",
        "diverging" => "the error of the coupling grows without end",
        "cannot-tell" if text(summary, "divergence") == "suspected" => {
            "it may grow by the coupling"
        }
        "cannot-tell" if by_bars => "the runs at other macro-steps do not show it",
        "cannot-tell" => "the run holds too little to judge it",
        _ => "",
    };
    let cause = summary["unknown"]
        .as_str()
        .filter(|_| word == "cannot-tell" && !by_bars);
    let meaning = cause.unwrap_or(meaning);
    let mut html = format!(
        "<p class=\"lead\">Coupling error: {}{}{}</p>\n",
        mark(word),
        if meaning.is_empty() { "" } else { ": " },
        escape(meaning)
    );
    let next = text(summary, "next");
    if !next.is_empty() {
        html.push_str(&format!(
            "<p class=\"next\"><strong>What to do:</strong> {}</p>\n",
            with_code(next)
        ));
    }
    html.push_str(&source(summary, by_bars));
    let doubtful = list(summary, "doubtful_signals").iter().map(written);
    let doubtful: Vec<String> = doubtful.collect();
    if !doubtful.is_empty() {
        html.push_str(&paragraph(&format!("In doubt: {}.", doubtful.join(", "))));
    }
    let suspicion = text(summary, "suspicion");
    if !suspicion.is_empty() {
        html.push_str(&paragraph(&format!(
            "Signals of a loop have grown; {suspicion}."
        )));
    }
    let advice = text(summary, "advice");
    if !advice.is_empty() {
        html.push_str(&paragraph(advice));
    }
    html
}

fn source(summary: &Value, by_bars: bool) -> String {
    let estimate = number(summary, "coupling_error_estimate").map(rounded);
    let steps = number(summary, "verification_steps").unwrap_or(0.0);
    let text = match estimate {
        _ if by_bars => "By the error bars below, from runs at other macro-steps.".to_owned(),
        None if steps > 0.0 => {
            format!("By a second run at half of every step, {steps} macro-steps.")
        }
        None => "The run alone gives no estimate of the greatest relative error.".to_owned(),
        Some(number) if steps > 0.0 => format!(
            "By a second run at half of every step, {steps} macro-steps: the greatest relative error of a signal is {number}."
        ),
        Some(number) => format!(
            "The run alone estimates the greatest relative error of a signal as {number}, within a factor 3 in three to four \
             of five systems. --error-bars measures it with two more runs, at half and twice the macro-step."
        ),
    };
    format!("<p>{text}</p>\n")
}

/// The estimated errors of the signals.
pub(super) fn error_bars(summary: &Value) -> String {
    table(
        list(summary, "error_bars"),
        &[
            ("signal", code, "variable"),
            ("verdict", mark_of, "verdict"),
            ("error, RMS", figure, "error"),
            ("greatest error", figure, "max_error"),
            ("order", figure, "order"),
            ("macro-step for the wanted error, s", figure, "step_for"),
            ("remark", plain, "reason"),
        ],
    )
}

/// The outcomes of the checks.
pub(super) fn checks(summary: &Value) -> String {
    table(
        list(summary, "checks"),
        &[
            ("check", plain, "name"),
            ("of", code, "subject"),
            ("outcome", mark_of, "outcome"),
            ("worst value", figure, "value"),
            ("time, s", figure, "time"),
            ("remark", plain, "message"),
        ],
    )
}
