//! How a run spends its time: options, closing table, and the trace for a browser.
//!
//! A feature of all runs.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::profile::{OperationTime, Profile, ProfileReport, TraceEvent};
use gyrator_worker::surroundings;
use serde::Serialize;
use serde_json::{Value, json};

use crate::aligned::{Align, Aligned};
use crate::failure::Failure;
use crate::feature::{Ending, Feature, Needs};
use crate::overwriting::Named;
use crate::picture::with_ending;
use crate::screen;
use crate::summary::Summary;

/// Rows of the closing table.
const MOST_ROWS: usize = 24;

/// Calls before the first macro-step.
const BEFORE_STEPPING: [&str; 2] = ["load", "initialize"];

// Whether the time of the run is measured.
#[derive(Args)]
pub(crate) struct ProfileOptions {
    /// Show the time that stepping takes, by component and operation; with FILE, also write single events as a trace
    /// for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE.json", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "", value_parser = trace_file, help_heading = "Results")]
    profile: Option<PathBuf>,
}

/// A path that ends in `.json`, or nothing.
fn trace_file(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Ok(PathBuf::new());
    }
    let wrong = "traces are JSON files: the name must end in .json";
    with_ending(text, &["json"], wrong)
}

impl ProfileOptions {
    fn trace(&self) -> Option<&Path> {
        let path = self.profile.as_deref();
        path.filter(|path| !path.as_os_str().is_empty())
    }
}

impl Feature for ProfileOptions {
    fn output(&self) -> Option<Named<'_>> {
        self.trace().map(|path| ("--profile", path))
    }

    fn needs(&self) -> Needs {
        Needs {
            times: self.profile.is_some(),
            trace: self.trace().is_some(),
            ..Needs::default()
        }
    }

    fn summarize<'a>(&'a self, ending: &Ending<'_>, summary: &mut Summary<'a>) {
        if let Some(profile) = ending.profile.filter(|_| self.profile.is_some()) {
            let report = profile.report();
            summary.closing.push_str(&table(&report));
            summary.profile = Some(report);
        }
    }

    fn write(&self, ending: &Ending<'_>, _: &Summary<'_>) -> Result<(), Failure> {
        let Some((path, profile)) = self.trace().zip(ending.profile) else {
            return Ok(());
        };
        let text = trace(profile);
        surroundings::in_own(|| screen::file(path, &text))
            .map_err(|error| Failure::not_written(format!("the trace {}", path.display()), &error))
    }
}

/// The times of the calls of FMUs.
pub(crate) fn of_fmus(profile: &Profile) -> Vec<OperationTime> {
    let times = profile.report().operations.into_iter();
    times.filter(|time| time.component.is_some()).collect()
}

/// The closing table: the longest times first.
fn table(report: &ProfileReport) -> String {
    let is_in_stepping = |time: &&OperationTime| !BEFORE_STEPPING.contains(&time.operation);
    let mut times: Vec<&OperationTime> = report.operations.iter().filter(is_in_stepping).collect();
    times.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let rest = times.split_off(times.len().min(MOST_ROWS));
    let share = |seconds: f64| match report.seconds > 0.0 {
        true => format!("{:.1}", 100.0 * seconds / report.seconds),
        false => String::new(),
    };
    let mut table = Aligned::new(&[
        ("time of", Align::Left),
        ("operation", Align::Left),
        ("calls", Align::Right),
        ("s", Align::Right),
        ("µs a call", Align::Right),
        ("%", Align::Right),
    ]);
    for time in times {
        table.row([
            time.component.clone().unwrap_or_else(|| "(run)".to_owned()),
            time.operation.to_owned(),
            time.calls.to_string(),
            format!("{:.6}", time.seconds),
            format!("{:.3}", 1e6 * time.seconds / time.calls as f64),
            share(time.seconds),
        ]);
    }
    if !rest.is_empty() {
        let seconds: f64 = rest.iter().map(|time| time.seconds).sum();
        let calls: u64 = rest.iter().map(|time| time.calls).sum();
        let count = format!("{} more", rest.len());
        let (calls, share) = (calls.to_string(), share(seconds));
        table.row([
            count,
            String::new(),
            calls,
            format!("{seconds:.6}"),
            String::new(),
            share,
        ]);
    }
    let cost = report.measuring_seconds;
    let sums = sums(report);
    format!(
        "profile: {:.3} s in {} macro-steps, of which measuring took about {cost:.3} s ({} %)\n{}",
        report.seconds,
        report.macro_steps,
        share(cost),
        table.render()
    ) + &sums
}

/// Sums of the components, if the run waits for some: which of them compute, and on which way it waits for messages.
fn sums(report: &ProfileReport) -> String {
    if report
        .components
        .iter()
        .all(|component| component.wait == 0.0)
    {
        return String::new();
    }
    let mut table = Aligned::new(&[
        ("component", Align::Left),
        ("compute, s", Align::Right),
        ("wait, s", Align::Right),
        ("transfer, s", Align::Right),
    ]);
    for component in &report.components {
        let transfer = component.transfer;
        table.row([
            component.component.clone(),
            format!("{:.6}", component.compute),
            format!("{:.6}", component.wait),
            transfer.map_or(String::new(), |seconds| format!("{seconds:.6}")),
        ]);
    }
    format!("\n{}", table.render())
}

/// An event of the format that Chrome's tracing has defined and Perfetto reads: complete, with begin and duration in
/// microseconds.
#[derive(Serialize)]
struct ChromeEvent<'a> {
    ph: &'static str,
    pid: u32,
    tid: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

/// The trace as text, an event a line.
fn trace(profile: &Profile) -> String {
    let events = profile.events();
    let mut threads: Vec<u32> = events.iter().map(|event| event.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let of_run = events.iter().find(|event| event.component.is_none());
    let of_run = of_run.map(|event| event.thread);
    let named = |thread: u32| {
        let name = match of_run == Some(thread) {
            true => "run".to_owned(),
            false => format!("thread {thread}"),
        };
        ChromeEvent {
            name: "thread_name".to_owned(),
            args: Some(json!({ "name": name })),
            ..described("M", thread)
        }
    };
    let lines = threads
        .into_iter()
        .map(named)
        .chain(events.iter().map(chrome));
    // Nothing in an event is a map with keys that are not text.
    let lines = lines.map(|event| serde_json::to_string(&event).unwrap_or_default());
    let lines: Vec<String> = lines.collect();
    format!(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"gyrator\":\"{}\",\"macro_steps\":\"{}\"}},\"traceEvents\":[\n{}\n]}}\n",
        env!("CARGO_PKG_VERSION"),
        match profile.traced_interval() {
            1 => "all".to_owned(),
            interval => format!("one of {interval}"),
        },
        lines.join(",\n")
    )
}

const fn described<'a>(ph: &'static str, thread: u32) -> ChromeEvent<'a> {
    ChromeEvent {
        ph,
        pid: 1,
        tid: thread,
        name: String::new(),
        cat: None,
        ts: None,
        dur: None,
        args: None,
    }
}

fn chrome(event: &TraceEvent) -> ChromeEvent<'_> {
    let microseconds = |time: std::time::Duration| time.as_nanos() as f64 / 1e3;
    let is_macro_step = event.operation == "macro-step";
    let macro_step = event.macro_step.filter(|_| is_macro_step);
    ChromeEvent {
        name: match &event.component {
            Some(component) => format!("{component}: {}", event.operation),
            None => event.operation.to_owned(),
        },
        cat: Some(event.component.as_deref().unwrap_or("run")),
        ts: Some(microseconds(event.begin)),
        dur: Some(microseconds(event.end - event.begin)),
        args: macro_step.map(|(number, time)| json!({ "number": number, "time": time })),
        ..described("X", event.thread)
    }
}
