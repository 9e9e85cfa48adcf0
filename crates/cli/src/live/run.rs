//! A run that is seen on a page, in the process that makes its steps.

use std::cell::OnceCell;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gyrator::graph::GraphVariable;
use gyrator::profile::Profile;
use gyrator::real_time::Held;
use gyrator::record::Selection;
use gyrator::unit::{Causality, VariableType};
use gyrator::{Recorder, Run, RunError, StartError};
use gyrator_pictures::graph::Diagram;
use gyrator_pictures::live::{
    Answer, Begin, Command, CommandValue, End, Message, RunEnd, State, Writable,
};
use gyrator_pictures::report::Drawing;
use gyrator_system::{Choice, Problem, Scenario, Value};
use gyrator_worker::Worker;
use serde_json::json;

use super::{LiveOptions, LivePage, end, name, page};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::profile;
use crate::report_page;
use crate::summary::Summary;

/// Between two looks at the wish to end a run that is held.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Variables that a page offers for an override; any other can be named.
const MOST_WRITABLE: usize = 2000;

/// A run that is seen on a page.
pub(crate) struct Live {
    page: RunEnd,
    /// The server, if it is in this process.
    server: Option<LivePage>,
    interrupt: Arc<AtomicBool>,
    is_paused: bool,
    held: Held,
    /// Variables that a page has overridden.
    overridden: Vec<String>,
    /// Why it takes no overrides.
    refusal: Option<&'static str>,
    since: Instant,
    /// Measures the calls of FMUs.
    profile: Option<Profile>,
    /// The summary, and the signals of the whole run.
    summary: OnceCell<(serde_json::Value, Option<serde_json::Value>)>,
}

/// A run that a page is about to show.
pub(crate) struct Shown<'a> {
    /// The system file, or the FMU.
    pub(crate) path: &'a Path,
    pub(crate) stop_time: Option<f64>,
    pub(crate) selection: Selection,
    /// Its state is saved at the end.
    pub(crate) saves_state: bool,
    /// The only component, whose name is left out.
    pub(crate) single: Option<&'a str>,
    /// The clock with which the run keeps step: simulated seconds a second, and the time for which it is held.
    pub(crate) clock: Option<(f64, Held)>,
    /// The system as a picture shows it.
    pub(crate) diagram: Option<Diagram>,
    /// Measures the calls of FMUs.
    pub(crate) profile: Option<Profile>,
}

impl LiveOptions {
    /// Joins this process to the page; `None` without the option. Without a parent, serves it.
    pub(crate) fn start(&self, interrupt: &Interrupt) -> Result<Option<Live>, Failure> {
        if !self.is_wanted() {
            return Ok(None);
        }
        let (server, stream) = match Worker::current() {
            Some(worker) => (None, worker.connect()?),
            None => {
                let requested = interrupt.requested();
                let stop = move || requested.store(true, Ordering::Relaxed);
                let page = self
                    .listen()?
                    .and_then(|at| LivePage::serve(at, page(), stop));
                let (here, there) = UnixStream::pair()?;
                if let Some(page) = &page {
                    page.serving.connect(there)?;
                }
                (page, here)
            }
        };
        Ok(Some(Live {
            page: RunEnd::start(stream.try_clone()?, stream)?,
            server,
            interrupt: interrupt.requested(),
            is_paused: false,
            held: Held::default(),
            overridden: Vec::new(),
            refusal: None,
            since: Instant::now(),
            profile: None,
            summary: OnceCell::new(),
        }))
    }
}

impl Live {
    /// Shows a run at its first communication point.
    pub(crate) fn begin(&mut self, run: &mut Run, shown: Shown<'_>) -> Result<(), RunError> {
        let period = shown.stop_time.map(|stop| (run.time(), stop));
        let mut selection = shown.selection;
        selection.interval = None;
        if !selection.variables.is_empty() && run.graph().bond_names().next().is_some() {
            selection.variables.push("bond.*.residual_power".to_owned());
        }
        run.observe(Recorder::new(self.page.sink(period)).selection(selection))?;
        if shown.saves_state {
            self.refusal = Some(
                "a run whose state is saved takes no overrides, which that would not have: act by a scenario",
            );
        }
        let (real_time, held) = shown.clock.unzip();
        self.held = held.unwrap_or_default();
        self.profile = shown.profile;
        self.page.begin(Begin {
            system: name(shown.path),
            start_time: run.time(),
            stop_time: shown.stop_time,
            step_size: run.graph().macro_step(),
            real_time,
            writable: writable(run, shown.single),
            warnings: run.report().warnings,
            graph: shown.diagram.as_ref().and_then(report_page::graph),
            ..Begin::default()
        });
        self.since = Instant::now();
        Ok(())
    }

    /// Carries out the commands of the page, and tells it how the run stands if it asks: called between two steps.
    #[inline]
    pub(crate) fn look(&mut self, run: &mut Run) -> Result<(), RunError> {
        if self.page.wants_state() {
            self.show_state(run);
        }
        while let Some(command) = self.page.command() {
            self.obey(command, run)?;
        }
        if self.is_paused {
            self.hold(run)?;
        }
        Ok(())
    }

    #[cold]
    fn show_state(&self, run: &Run) {
        let report = run.report();
        let (time, steps, is_paused) = (report.stop_time, report.steps, self.is_paused);
        let elapsed = self.since.elapsed().as_secs_f64();
        let times = self.profile.as_ref().map(profile::of_fmus);
        self.page.say_made(move || {
            let mut report = serde_json::to_value(report).unwrap_or_default();
            report["component_times"] = serde_json::to_value(times).unwrap_or_default();
            report["wall_clock"] = json!({ "stepping": elapsed });
            Message::State(State {
                time,
                steps,
                is_paused,
                elapsed,
                report,
            })
        });
    }

    /// Holds the run until the page lets it go, or it is to end.
    #[cold]
    fn hold(&mut self, run: &mut Run) -> Result<(), RunError> {
        let begin = Instant::now();
        self.show_state(run);
        while self.is_paused && !self.interrupt.load(Ordering::Relaxed) {
            match self.page.wait_for_command(LONGEST_SLEEP) {
                Some(command) => self.obey(command, run)?,
                None if self.page.wants_state() => self.show_state(run),
                None => {}
            }
        }
        self.is_paused = false;
        self.held.add(begin.elapsed());
        self.show_state(run);
        Ok(())
    }

    #[cold]
    fn obey(&mut self, command: Command, run: &mut Run) -> Result<(), RunError> {
        match command {
            Command::Pause => self.is_paused = true,
            Command::Resume => self.is_paused = false,
            // It goes to the process with the server.
            Command::Stop => self.interrupt.store(true, Ordering::Relaxed),
            Command::Override { variable, value } => {
                let said = format!("{variable} = {value}");
                let action = Choice::new("override").with("value", value_of(value));
                self.act(run, &variable, Some(action), said)?;
            }
            Command::Release { variable } => {
                let said = format!("{variable} is released");
                self.act(run, &variable, None, said)?;
            }
        }
        Ok(())
    }

    /// Acts on a variable from the next communication point on, as an action of a scenario would: with the time that
    /// the summary gives, a scenario makes the same run again.
    fn act(
        &mut self,
        run: &mut Run,
        variable: &str,
        action: Option<Choice>,
        said: String,
    ) -> Result<(), RunError> {
        if let Some(refusal) = self.refusal {
            self.answer(refusal.to_owned(), true);
            return Ok(());
        }
        let time = run.time() + 0.5 * run.graph().macro_step();
        let known = self.overridden.iter().position(|known| known == variable);
        let mut scenario = Scenario::new();
        if known.is_some() || action.is_none() {
            scenario.act(time, variable, "reset");
        }
        let overrides = action.is_some();
        if let Some(action) = action {
            scenario.act(time, variable, action);
        }
        match run.act(&scenario) {
            Ok(()) => {
                match (known, overrides) {
                    (Some(known), false) => drop(self.overridden.remove(known)),
                    (None, true) => self.overridden.push(variable.to_owned()),
                    _ => {}
                }
                let time = run.time();
                self.answer(
                    format!("{said}, from the step after t = {time} s on"),
                    false,
                );
            }
            Err(StartError::Run(error)) if run.has_ended() => return Err(error),
            Err(error) => self.answer(message(&error), true),
        }
        Ok(())
    }

    fn answer(&self, text: String, is_error: bool) {
        self.page.say(Message::Answer(Answer { text, is_error }));
    }

    /// Keeps the summary for the end, and the signals of the whole run.
    pub(crate) fn summarize(&self, summary: &Summary<'_>, drawing: Option<Drawing>) {
        // A summary that is not JSON was not written either, and that is reported.
        let summary = serde_json::to_value(summary).unwrap_or_default();
        let drawing = drawing.map(|drawing| drawing.with_units(&summary).written());
        let _ = self.summary.set((summary, drawing));
    }

    /// Shows that the run could not begin.
    pub(crate) fn fail(&self, failure: &Failure) {
        self.finish(End {
            text: failure.text().to_owned(),
            is_failure: true,
            ..End::default()
        });
    }

    /// Shows how the run has ended.
    pub(crate) fn end(&self, outcome: &Result<Exit, Failure>) {
        let (summary, drawing) = self.summary.get().cloned().unzip();
        self.finish(End {
            summary,
            drawing: drawing.flatten(),
            ..end(outcome)
        });
    }

    fn finish(&self, end: End) {
        self.page.finish(end);
        if let Some(LivePage { serving, .. }) = &self.server {
            serving.wait_for_run();
            serving.close();
        }
    }
}

/// An error for the page, which has no file with lines to show.
fn message(error: &StartError) -> String {
    let StartError::Invalid(problems) = error else {
        return error.to_string();
    };
    let problem = |problem: &Problem| match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    };
    let problems: Vec<String> = problems.list.iter().map(problem).collect();
    problems.join("; ")
}

/// The value of a command as a file of scenarios has it.
fn value_of(value: CommandValue) -> Value {
    match value {
        CommandValue::Boolean(value) => Value::Boolean(value),
        CommandValue::Integer(value) => Value::Integer(value),
        CommandValue::Real(value) => Value::Real(value),
        CommandValue::Text(value) => Value::String(value),
    }
}

/// The inputs and tunable parameters of a run.
fn writable(run: &Run, single: Option<&str>) -> Vec<Writable> {
    let is_writable = |variable: &GraphVariable<'_>| {
        let described = variable.described;
        let causality = described.causality;
        matches!(causality, Causality::Input | Causality::TunableParameter)
            && described.kind != VariableType::String
    };
    let writable = |variable: GraphVariable<'_>| {
        let described = variable.described;
        Writable {
            name: match single == Some(variable.component) {
                true => described.name.clone(),
                false => format!("{}.{}", variable.component, described.name),
            },
            kind: format!("{:?}", described.kind).to_lowercase(),
            unit: described.unit.as_ref().map(|unit| unit.name.clone()),
            is_parameter: described.causality == Causality::TunableParameter,
            items: described
                .items
                .iter()
                .map(|(_, name)| name.clone())
                .collect(),
        }
    };
    let variables = run.graph().variables().filter(is_writable);
    variables.take(MOST_WRITABLE).map(writable).collect()
}
