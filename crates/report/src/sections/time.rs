//! Where the time of the computer went.

use serde_json::Value;

use crate::facts::{figure, number, words, written};
use crate::html::{Cell, Table, pairs};

/// The phases of a run, in their order.
const PHASES: [&str; 3] = ["loading", "initialising", "stepping"];

/// The time by phase, and the numbers of calls.
pub(super) fn time(summary: &Value) -> String {
    let clock = &summary["wall_clock"];
    let total: f64 = PHASES.iter().filter_map(|phase| number(clock, phase)).sum();
    let mut phases = Table::new(&["phase", "s", "share, %"]);
    for phase in PHASES {
        let Some(seconds) = number(clock, phase) else {
            continue;
        };
        let share = 100.0 * seconds / total.max(f64::MIN_POSITIVE);
        phases.row([
            Cell::Text(phase.to_owned()),
            figure(clock, phase),
            Cell::Figure(format!("{share:.1}")),
        ]);
    }
    let mut html = phases.html();
    let simulated = number(summary, "stop_time").zip(number(summary, "start_time"));
    let stepping = number(&summary["wall_clock"], "stepping").filter(|seconds| *seconds > 0.0);
    if let Some(((stop, start), stepping)) = simulated.zip(stepping) {
        let speed = Cell::Figure(format!("{:.4}", (stop - start) / stepping));
        html.push_str(&pairs(&[(
            "simulated seconds per second of stepping",
            speed,
        )]));
    }
    let mut counters = Table::new(&["counter", "number"]);
    for (name, number) in summary["counters"].as_object().into_iter().flatten() {
        counters.row([Cell::Text(words(name)), Cell::Figure(written(number))]);
    }
    html.push_str(&counters.html());
    html + &real_time(&summary["real_time"])
}

/// How well the run has kept step with the clock.
fn real_time(timing: &Value) -> String {
    if timing.is_null() {
        return String::new();
    }
    let mut html = pairs(&[
        ("simulated seconds a second", figure(timing, "factor")),
        ("policy of overruns", figure(timing, "overrun_policy")),
        ("communication points", figure(timing, "points")),
        ("overruns", figure(timing, "overruns")),
        ("greatest delay, s", figure(timing, "max_delay")),
        ("skipped, s", figure(timing, "skipped_time")),
    ]);
    let mut table = Table::new(&[
        "duration, s",
        "half of them at most",
        "99 % at most",
        "longest",
    ]);
    for (key, name) in [("jitter", "after the deadline"), ("step_time", "step")] {
        let of = &timing[key];
        table.row([
            Cell::Text(name.to_owned()),
            figure(of, "p50"),
            figure(of, "p99"),
            figure(of, "max"),
        ]);
    }
    html.push_str(&table.html());
    html
}
