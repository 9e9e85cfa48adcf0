//! The end of a session: its summaries, its results, and its exit code.

use gyrator::{Report, RunError, StopReason};

use super::{EndedRun, Running, Session, not_recorded};
use crate::exit::Exit;
use crate::failed_run::{failed, is_broken_pipe};
use crate::failure::{Failure, Message};
use crate::feature::{Ending, Objection};
use crate::initial_values::json;
use crate::recorder::ResultFile;
use crate::screen;
use crate::session_warnings::{
    no_outputs, rounded_interval, shortened_step, unused_inputs, warning,
};
use crate::state_options::StateOptions;
use crate::summary::{OutputFile, Summary};

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
        let parameters = running.parameters.iter();
        let mut summary = Summary::new(&self.system, report, &warnings, running.clock);
        summary.parameters = parameters
            .map(|(name, value)| (name.as_str(), json(value)))
            .collect();
        summary.plan = Some(gyrator::run::plan(&running.run));
        summary.graph = self.diagram(report);
        summary.provenance = end.provenance;
        summary.verification_steps = end.judged.verified.steps;
        summary.suspicion = end.judged.verified.open.as_deref();
        let assessed = end.judged.assessed.as_ref();
        let drawn = running.drawn.as_ref();
        let mut ending = Ending {
            report: Some(report),
            profile: running.profile.as_ref(),
            assessed,
            remarks: drawn.map_or(&[], |drawn| &drawn.remarks),
            ..Ending::unknown(&self.system.source.path)
        };
        for feature in &self.features {
            feature.summarize(&ending, &mut summary);
        }
        if let Some(assessed) = assessed {
            summary = summary.with_error_bars(assessed, report);
        }
        summary.set_next();
        if let Err(RunError::Fault(fault)) = &outcome {
            summary.note_fault(fault);
        }
        outcome = self.end_results(running, &mut summary, outcome);
        let drawing = self.drawing(running, assessed);
        if let Some(live) = &running.live {
            live.summarize(&summary, drawing.clone());
        }
        let no_good = self.no_good(&outcome, report);
        ending.trouble = no_good.as_deref();
        ending.drawing = drawing.as_ref();
        let trouble = running.file.as_ref().and_then(ResultFile::trouble);
        let written = ending.write(&self.features, &summary);
        let features = self.features.iter();
        let objections: Vec<Objection> = features.filter_map(|of| of.objection()).collect();
        if let Err(error) = outcome {
            if is_broken_pipe(&error) && objections.is_empty() {
                return written.map(|()| Exit::Success);
            }
            let failure = failed(error, &summary, trouble.as_deref(), written.err());
            let warned = report.warnings.iter().skip(running.warned);
            let failure = warned.fold(failure, |failure, text| {
                failure.detail(format!("warning: {text}"))
            });
            let explain = |failure, objection: &Objection| objection.explain(failure);
            return Err(objections.iter().fold(failure, explain));
        }
        written?;
        let is_closed = self.options.show.has_closing_lines();
        if is_closed {
            let (text, accent) = (summary.for_people(), summary.accent());
            screen::print_beside(self.prints_results(), &text, accent.as_ref())?;
        }
        let object = |ended, objection| object(ended, objection, is_closed);
        objections.into_iter().fold(self.exit(report), object)
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

    /// Ends the result file if the run did not, with the summary in it if it has a place for one.
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

    /// The exit code, or the failure, of a run whose features object to nothing.
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

    /// What is wrong with the run, whatever its features have found.
    fn no_good(&self, outcome: &Result<(), RunError>, report: &Report) -> Option<String> {
        match (outcome, self.exit(report)) {
            (Err(error), _) => Some(error.to_string()),
            (_, Err(failure)) => Some(failure.text().to_owned()),
            (_, Ok(Exit::Interrupted)) => Some("the run was interrupted".to_owned()),
            _ => None,
        }
    }
}

/// How a run ends that a feature objects to; `is_told`: the closing lines have the details.
fn object(
    ended: Result<Exit, Failure>,
    objection: Objection,
    is_told: bool,
) -> Result<Exit, Failure> {
    if !matches!(ended, Ok(Exit::Success)) {
        return ended.map_err(|failure| failure.detail(objection.text));
    }
    let failure = Failure::new(Exit::CheckFailed, Message::error(&*objection.text));
    Err(match is_told {
        true => failure,
        false => objection.explain(failure),
    })
}
