//! How the time of the computer was spent.

use serde_json::Value;

use crate::report::facts::{self, code, figure, list, number, text, words, written};
use crate::report::html::{Cell, Table, pairs};

/// The phases of a run, in their order.
const PHASES: [&str; 3] = ["loading", "initialising", "stepping"];

/// Operations of FMUs before the first step and after the last one.
const OUTSIDE_OF_STEPPING: [&str; 3] = ["load", "initialize", "terminate"];

/// The time by phase and by FMU, and the numbers of calls.
pub(super) fn time(summary: &Value) -> String {
    let clock = &summary["wall_clock"];
    let total: f64 = PHASES.iter().filter_map(|phase| number(clock, phase)).sum();
    let mut phases = Table::new(&["phase", "s", "share, %", ""]);
    for phase in PHASES {
        let Some(seconds) = number(clock, phase) else {
            continue;
        };
        let share = share(seconds, total);
        phases.row([
            Cell::Text(phase.to_owned()),
            Cell::Figure(format!("{seconds:.6}")),
            Cell::Figure(format!("{share:.1}")),
            Cell::Bar(share),
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
    html.push_str(&by_component(summary));
    let mut counters = Table::new(&["counter", "number"]);
    for (name, number) in summary["counters"].as_object().into_iter().flatten() {
        counters.row([Cell::Text(words(name)), Cell::Figure(written(number))]);
    }
    html.push_str(&counters.html());
    html + &real_time(&summary["real_time"])
}

fn share(part: f64, of: f64) -> f64 {
    100.0 * part / of.max(f64::MIN_POSITIVE)
}

/// A component with its times by operation, s.
struct ComponentTime<'a> {
    name: &'a str,
    operations: Vec<(&'a str, f64)>,
}

impl ComponentTime<'_> {
    fn sum(&self, of: impl Fn(&str) -> bool) -> f64 {
        let operations = self.operations.iter().filter(|(word, _)| of(word));
        // The sum of no terms is -0.0.
        operations.fold(0.0, |sum, (_, seconds)| sum + seconds)
    }

    fn in_stepping(&self) -> f64 {
        self.sum(|word| !OUTSIDE_OF_STEPPING.contains(&word))
    }
}

/// The time of the calls of FMUs, the component that takes longest first.
fn by_component(summary: &Value) -> String {
    let calls = list(summary, "component_times");
    let mut components: Vec<ComponentTime<'_>> = Vec::new();
    for call in calls {
        let name = text(call, "component");
        let seconds = number(call, "seconds").unwrap_or_default();
        let operation = (text(call, "operation"), seconds);
        match components.iter_mut().find(|known| known.name == name) {
            Some(known) => known.operations.push(operation),
            None => components.push(ComponentTime {
                name,
                operations: vec![operation],
            }),
        }
    }
    if components.is_empty() {
        return String::new();
    }
    components.sort_by(|one, other| other.in_stepping().total_cmp(&one.in_stepping()));
    let of_all: f64 = components.iter().map(ComponentTime::in_stepping).sum();
    let stepping = number(&summary["wall_clock"], "stepping").unwrap_or_default();
    let seconds = |seconds: f64| Cell::Figure(format!("{seconds:.6}"));
    let shares = |part: f64| {
        let share = share(part, stepping);
        [Cell::Figure(format!("{share:.1}")), Cell::Bar(share)]
    };
    let mut table = Table::new(&[
        "FMU of",
        "all of stepping, s",
        "share, %",
        "",
        "step, s",
        "set, s",
        "get, s",
        "wait, s",
        "others, s",
        "load and initialize, s",
    ]);
    for component in &components {
        let [step, set, get, wait] =
            ["step", "set", "get", "wait"].map(|word| component.sum(|other| other == word));
        let all = component.in_stepping();
        let [share, bar] = shares(all);
        table.row([
            Cell::Code(component.name.to_owned()),
            seconds(all),
            share,
            bar,
            seconds(step),
            seconds(set),
            seconds(get),
            seconds(wait),
            seconds((all - step - set - get - wait).max(0.0)),
            seconds(component.sum(|word| matches!(word, "load" | "initialize"))),
        ]);
    }
    // Calls on several threads go on at the same time, and make more than the time of the clock.
    if stepping > of_all {
        let [share, bar] = shares(stepping - of_all);
        let name = Cell::Text("outside of FMUs, at least".to_owned());
        table.row([name, seconds(stepping - of_all), share, bar]);
    }
    let operations = facts::table(
        calls,
        &[
            ("FMU of", code, "component"),
            ("operation", code, "operation"),
            ("calls", figure, "calls"),
            ("s", figure, "seconds"),
            ("µs a call", microseconds_a_call, "seconds"),
        ],
    );
    format!(
        "{}<details><summary>Calls by operation</summary>\n{operations}</details>\n",
        table.html()
    )
}

fn microseconds_a_call(calls: &Value, key: &str) -> Cell {
    let count = number(calls, "calls").unwrap_or_default();
    let each = 1e6 * number(calls, key).unwrap_or_default() / count.max(1.0);
    Cell::Figure(format!("{each:.3}"))
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
