//! The end of a session: its summaries, its results, and its exit code.

use gyrator::real_time::Timing;
use gyrator::{Report, RunError, StopReason};
use gyrator_assess::Finding;

use super::{EndedRun, Running, Session, not_recorded};
use crate::checks;
use crate::exit::Exit;
use crate::failed_run::{failed, is_broken_pipe};
use crate::failure::{Failure, Message};
use crate::initial_values::json;
use crate::profile::Times;
use crate::recorder::ResultFile;
use crate::screen;
use crate::session_warnings::{
    no_outputs, rounded_interval, shortened_step, unused_inputs, warning,
};
use crate::state_options::StateOptions;
use crate::summary::{OutputFile, Summary};
use crate::summary_file;

impl Session<'_> {
    /// Writes the summaries and turns the outcome into an exit code or a failure.
    pub(super) fn conclude(
        &self,
        running: &Running,
        end: EndedRun<'_>,
        mut outcome: Result<(), RunError>,
    ) -> Result<Exit, Failure> {
        let report = end.report;
        let warnings = self.warnings(running, report);
        let findings = running.judging.as_ref();
        let findings = findings.map_or(Vec::new(), |judging| judging.conclude(report));
        let parameters = running.parameters.iter();
        let times = running.times.as_ref();
        let mut summary = Summary::new(&self.system, report, &warnings, running.clock);
        summary.parameters = parameters
            .map(|(name, value)| (name.as_str(), json(value)))
            .collect();
        summary.checks = &findings;
        summary.plan = Some(gyrator::run::plan(&running.run));
        summary.component_times = times.and_then(Times::of_fmus);
        summary.profile = times.and_then(Times::report);
        summary.real_time = running.timing.as_ref().and_then(Timing::report);
        summary.graph = self.diagram(report);
        summary.provenance = end.provenance;
        summary.verification_steps = end.judged.verified.steps;
        summary.suspicion = end.judged.verified.open.as_deref();
        let assessed = end.judged.assessed.as_ref();
        if let Some(assessed) = assessed {
            summary = summary.with_error_bars(assessed, report);
        }
        if let Err(RunError::Fault(fault)) = &outcome {
            summary.note_fault(fault);
        }
        outcome = self.end_results(running, &mut summary, outcome);
        let drawing = self.drawing(running, assessed);
        if let Some(live) = &running.live {
            live.summarize(&summary, drawing.clone());
        }
        let trouble = running.file.as_ref().and_then(ResultFile::trouble);
        let path = self.options.results.summary.as_ref();
        let written = path.map_or(Ok(()), |path| summary_file::write(path, &summary));
        let written = written.and(self.write_findings(&findings, &outcome, report));
        let written = written.and(self.draw(running, &summary));
        let written = written.and(self.write_report(running, drawing, &summary));
        let written = written.and(self.options.profile.write(running.times.as_ref()));
        if let Err(error) = outcome {
            if is_broken_pipe(&error) && checks::failed(&findings).is_none() {
                return written.map(|()| Exit::Success);
            }
            let failure = failed(error, &summary, trouble.as_deref(), written.err());
            let warned = report.warnings.iter().skip(running.warned);
            let failure = warned.fold(failure, |failure, text| {
                failure.detail(format!("warning: {text}"))
            });
            return Err(checks::named(failure, &findings));
        }
        written?;
        let is_closed = self.options.show.has_closing_lines();
        if is_closed {
            screen::print_beside(self.prints_results(), &summary.for_people())?;
        }
        let ended = self.exit(report);
        match (ended, checks::failed(&findings)) {
            (Ok(Exit::Success), Some(text)) => {
                let failure = Failure::new(Exit::CheckFailed, Message::error(text));
                let hidden = if is_closed { &[] } else { &findings[..] };
                Err(checks::named(failure, hidden))
            }
            (ended, None) => ended,
            (ended, Some(text)) => ended.map_err(|failure| failure.detail(text)),
        }
    }

    /// What is worth a note in the summary, besides the notes of the engine.
    fn warnings(&self, running: &Running, report: &Report) -> Vec<String> {
        let problems = self
            .warnings
            .iter()
            .map(|problem| warning(&self.system, problem));
        let shortened = shortened_step(&self.system, report);
        let no_outputs = no_outputs(&running.run, self.single.as_ref(), &self.options.results);
        let interval = self.options.results.output_interval;
        let rounded = rounded_interval(&running.run, report, interval);
        // A resumed run has the values of the saved state.
        let is_resumed = self.states.and_then(StateOptions::input).is_some();
        let unused = match self.single.is_none() && !is_resumed {
            true => unused_inputs(&running.run),
            false => Vec::new(),
        };
        let found = report.warnings.iter().cloned();
        problems
            .chain(shortened)
            .chain(no_outputs)
            .chain(rounded)
            .chain(unused)
            .chain(found)
            .collect()
    }

    /// Ends the result file where the run did not, with the summary in it where it has a place for one.
    fn end_results(
        &self,
        running: &Running,
        summary: &mut Summary<'_>,
        outcome: Result<(), RunError>,
    ) -> Result<(), RunError> {
        let Some(file) = &running.file else {
            return outcome;
        };
        let output = || Some(OutputFile::new(&self.options.results.output_file, file));
        summary.output = output();
        let ended = match screen::json(summary) {
            Ok(text) => file.conclude(&text).map_err(not_recorded),
            Err(error) => Err(RunError::Observer(Box::new(error))),
        };
        if let (Ok(()), Err(error)) = (&outcome, &ended) {
            summary.note_failure(error.to_string());
            summary.output = output();
        }
        outcome.and(ended)
    }

    /// Draws the picture that was asked for, also of a run that has failed.
    fn draw(&self, running: &Running, summary: &Summary<'_>) -> Result<(), Failure> {
        let Some(drawing) = &running.drawing else {
            return Ok(());
        };
        drawing.write(&self.system.source.path, &screen::json(summary)?)
    }

    /// The exit code, or the failure, of a run without checks.
    fn exit(&self, report: &Report) -> Result<Exit, Failure> {
        match &report.stop_reason {
            StopReason::Interrupted => Ok(Exit::Interrupted),
            StopReason::Limit(limit) => Err(Failure::new(Exit::CheckFailed, Message::error(limit))),
            StopReason::Failed(reason) => Err(Failure::new(Exit::Failed, Message::error(reason))),
            _ => match &report.advice {
                Some(advice) if !self.accepts_divergence => {
                    let failure = Failure::new(Exit::CheckFailed, Message::error(advice));
                    Err(failure.help("--accept-divergence ends such a run with exit code 0"))
                }
                _ => Ok(Exit::Success),
            },
        }
    }

    /// Writes what was found of the checks.
    fn write_findings(
        &self,
        findings: &[Finding],
        outcome: &Result<(), RunError>,
        report: &Report,
    ) -> Result<(), Failure> {
        let Some((_, options)) = &self.checks else {
            return Ok(());
        };
        let exit = self.exit(report);
        let trouble = match (outcome, &exit) {
            (Err(error), _) => Some(error.to_string()),
            (_, Err(failure)) => Some(failure.text().to_owned()),
            (_, Ok(Exit::Interrupted)) => Some("the run was interrupted".to_owned()),
            _ => None,
        };
        options.write(&self.system.source.path, findings, trouble.as_deref())
    }
}
