//! The page on which a run is seen while it goes on: its options, and its server in the process that survives the run.

mod run;
mod study;

use std::cell::OnceCell;
use std::path::Path;

use clap::Args;
use gyrator_pictures::live::{
    Address, AddressError, Begin, Bucket, End, Listener, Message as LiveMessage, Serving, Signal,
};
use gyrator_pictures::report::{Drawing, Page};
use gyrator_record::{Column, ColumnType, Decimator};
use gyrator_worker::{Stop, Supervised};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::screen;
use crate::summary::Summary;

pub(crate) use run::{Live, Shown};
pub(crate) use study::StudyPage;

// Whether the run is seen on a page.
#[derive(Debug, Args)]
#[command(next_help_heading = "Live page")]
pub(crate) struct LiveOptions {
    /// Serve a page that shows the run while it goes on, can pause and stop it, and override its inputs and
    /// parameters; the address is printed on the standard error [ADDR: a port, an IP address or both; default:
    /// 127.0.0.1 and a free port]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    live: Option<String>,
    /// Accept an ADDR that other machines can reach, without encryption
    #[arg(long, requires = "live")]
    live_allow_remote: bool,
}

impl LiveOptions {
    /// Whether it is.
    pub(crate) const fn is_wanted(&self) -> bool {
        self.live.is_some()
    }

    /// Listens at the address; `None` without the option.
    pub(crate) fn listen(&self) -> Result<Option<Listener>, Failure> {
        let Some(text) = &self.live else {
            return Ok(None);
        };
        let address = Address::parse(text, self.live_allow_remote).map_err(|error| {
            let failure = Failure::usage(format!("--live: {error}"));
            match error {
                AddressError::Remote(_) => failure.help("pass --live-allow-remote if they may"),
                AddressError::Unreadable(_) => failure,
            }
        })?;
        Listener::bind(address).map(Some).map_err(|error| {
            let failure = Failure::new(Exit::Failed, Message::error(format!("--live: {error}")));
            failure.help("without a port the operating system chooses a free one")
        })
    }
}

/// The page of a run, in the process that survives the run.
pub(crate) struct LivePage {
    serving: Serving,
    /// The summary of a run whose process was lost.
    crash: OnceCell<Value>,
}

impl LivePage {
    /// Serves the page, and says where; `stop` ends the run. Without a thread the run goes on without the page.
    fn serve(
        listener: Listener,
        page: String,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Option<Self> {
        let url = listener.url();
        match listener.serve(page, Box::new(draw), stop) {
            Ok(serving) => {
                screen::message(&format!("live page: {url}\n"));
                Some(Self {
                    serving,
                    crash: OnceCell::new(),
                })
            }
            Err(error) => {
                screen::message(&format!("warning: there is no live page: {error}\n"));
                None
            }
        }
    }

    /// The page of a run in another process.
    pub(crate) fn of_run(listener: Listener, stop: &Stop) -> Option<Self> {
        Self::serve(listener, page(), request(stop))
    }

    /// Takes the messages of a run, and has its commands go to it.
    pub(crate) fn join(page: Option<&Self>, run: Supervised) -> Supervised {
        let Some(serving) = page.map(|page| page.serving.clone()) else {
            return run;
        };
        run.on_connection(move |stream| {
            if let Err(error) = serving.connect(stream) {
                screen::message(&format!("warning: the live page stays empty: {error}\n"));
            }
        })
    }

    /// Keeps the summary of a run whose process was lost, for [`close`](Self::close).
    pub(crate) fn keep_crash(&self, summary: &Summary<'_>) {
        // A summary that is not JSON is not written either, and that is reported.
        let _ = self
            .crash
            .set(serde_json::to_value(summary).unwrap_or_default());
    }

    /// Shows how the run has ended if it has not said so itself, and ends when browsers have read that.
    pub(crate) fn close(&self, outcome: &Result<Exit, Failure>) {
        if !self.serving.wait_for_run() {
            let (begin, state) = self.serving.last_state();
            // A value that an FMU may have written instead of a report is dropped.
            let report = state.map(|state| state.report).filter(Value::is_object);
            let report = report.map(|report| summary_so_far(&begin.unwrap_or_default(), report));
            let crash = self.crash.get().cloned();
            let crash = crash.unwrap_or_else(|| json!({ "stop_reason": stop_reason(outcome) }));
            self.serving.publish(LiveMessage::End(End {
                summary: Some(lost(report, crash)),
                ..end(outcome)
            }));
        }
        self.serving.close();
    }
}

/// The summary of a run that was lost with its process: its last report, and over that what is known of its end.
fn lost(report: Option<Value>, crash: Value) -> Value {
    let Some(mut report) = report else {
        return crash;
    };
    report["last_report_time"] = report["stop_time"].clone();
    let is_known = |value: &Value| match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
        _ => true,
    };
    let Value::Object(crash) = crash else {
        return report;
    };
    for (key, value) in crash.into_iter().filter(|(_, value)| is_known(value)) {
        report[key] = value;
    }
    report
}

/// How a run has ended that has not said so itself.
fn stop_reason(outcome: &Result<Exit, Failure>) -> &'static str {
    match outcome
        .as_ref()
        .map_or_else(|failure| failure.exit, |exit| *exit)
    {
        Exit::Success => "",
        Exit::Interrupted => "interrupted",
        Exit::Crashed => "crashed",
        _ => "failed",
    }
}

/// A run as it is drawn now: the parts of the page that change.
fn draw(begin: &Begin, buckets: &[Bucket], report: &Value, whole_run: Option<&Value>) -> Value {
    if let Some(drawing) = whole_run.and_then(Drawing::read) {
        return gyrator_pictures::report::update(report, &drawing);
    }
    let drawing = drawing(begin, buckets);
    // A run that goes on has a report and no summary yet.
    let mut update = match report["stop_reason"].is_object() {
        true => gyrator_pictures::report::update(&summary_so_far(begin, report.clone()), &drawing),
        false => gyrator_pictures::report::update(report, &drawing),
    };
    let is_exact = buckets.iter().all(|bucket| bucket.begin == bucket.end);
    update["drawing"]["exact"] = is_exact.into();
    if let Some(steps) = report["steps"].as_u64() {
        update["drawing"]["rows"] = (steps + 1).into();
    }
    update
}

/// The signals, two values of each for each stretch of time.
fn drawing(begin: &Begin, buckets: &[Bucket]) -> Drawing {
    let columns: Vec<Column> = begin.signals.iter().map(column).collect();
    let (mut times, mut values) = (Vec::new(), vec![Vec::new(); columns.len()]);
    for bucket in buckets {
        let is_point = bucket.begin == bucket.end;
        times.push(bucket.begin);
        times.extend((!is_point).then_some(bucket.end));
        for (values, extremes) in values.iter_mut().zip(&bucket.extremes) {
            values.push(extremes.first);
            values.extend((!is_point).then_some(extremes.second));
        }
    }
    let mut decimator = Decimator::new(columns.len(), Drawing::stretches(columns.len()));
    let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
    decimator.push(&times, &values);
    Drawing::from(&decimator.decimated(&columns))
}

fn column(signal: &Signal) -> Column {
    let mut column = Column::new(&signal.name, ColumnType::Real);
    column.unit.clone_from(&signal.unit);
    column
}

/// The report of a run that goes on, with the keys of a summary.
fn summary_so_far(begin: &Begin, mut report: Value) -> Value {
    report["stop_reason"] = "running".into();
    report["gyrator"] = env!("CARGO_PKG_VERSION").into();
    report["system"] = begin.system.as_str().into();
    report["start_time"] = begin.start_time.into();
    report["step_size"] = begin.step_size.into();
    let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
    if let Some(notes) = report["notes"].as_array_mut() {
        notes.splice(0..0, warnings);
    }
    report
}

/// The page before anything is known.
fn page() -> String {
    let drawing = Drawing::default();
    Page {
        summary: &Value::Null,
        drawing: &drawing,
        graph: None,
        remarks: &[],
        live: Some(gyrator_pictures::live::SCRIPT),
    }
    .html()
}

/// Returns the act by which the page ends a run in another process.
pub(crate) fn request(stop: &Stop) -> impl Fn() + Send + Sync + use<> {
    let stop = stop.clone();
    move || {
        screen::message(match stop.request() {
            0 => "the live page stops the run at its next communication point\n",
            _ => "the live page stops the run at once\n",
        });
    }
}

/// How a run has ended, without its summary.
fn end(outcome: &Result<Exit, Failure>) -> End {
    let (text, is_failure) = match outcome {
        Ok(Exit::Success) => ("the run has ended".to_owned(), false),
        Ok(Exit::Interrupted) => ("the run was stopped".to_owned(), false),
        Ok(exit) => {
            let text = "the run has failed: the messages of the program say why";
            (format!("{text} (exit code {})", exit.code()), true)
        }
        Err(failure) => {
            let is_failure = failure.exit != Exit::Interrupted;
            (failure.text().to_owned(), is_failure)
        }
    };
    End {
        text,
        is_failure,
        ..End::default()
    }
}

/// The name of a file for people.
fn name(path: &Path) -> String {
    path.display().to_string()
}
