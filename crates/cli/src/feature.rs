//! A feature of a run: the files it reads and writes, what it needs of the run, and its acts from the start to the end.
//!
//! `features.rs` lists all of them. Sessions call them in that order, and so does the parent of a run without a report.
//! A feature never calls another one.

use std::path::Path;
use std::sync::Arc;

use gyrator::observer::Observer;
use gyrator::profile::Profile;
use gyrator::real_time::Held;
use gyrator::record::Selection;
use gyrator::unit::UnitMaker;
use gyrator::{Recorder, Report, Run, RunError, System};
use gyrator_pictures::report::Drawing;
use gyrator_system::SystemFile;

use crate::error_bars::Assessed;
use crate::failure::Failure;
use crate::input_file::InputFile;
use crate::interrupt::Interrupt;
use crate::overwriting::Named;
use crate::summary::Summary;

/// A feature: its options, and what it keeps while the run goes on. Without its options it does nothing.
pub(crate) trait Feature {
    /// The file that is read, with what it is.
    fn input(&self) -> Option<Named<'_>> {
        None
    }

    /// The file that is written, by its option.
    fn output(&self) -> Option<Named<'_>> {
        None
    }

    /// Whether the output comes from an earlier run. Such a file is removed at the start, so that nobody takes it for
    /// the result of a later run.
    fn is_earlier(&self, output: &Path) -> bool {
        output.is_file()
    }

    /// What the run has to do for it.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Reads its files. Nothing has begun yet.
    fn read(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Finds what it is about in the system. No FMU is loaded yet.
    fn prepare(&self, system: &System, file: &SystemFile) -> Result<(), Failure> {
        let _ = (system, file);
        Ok(())
    }

    /// Makes the units of FMUs, by the maker of the run or by others around it.
    fn units(&self, maker: Box<dyn UnitMaker>) -> Result<Box<dyn UnitMaker>, Failure> {
        Ok(maker)
    }

    /// Makes ready. The FMUs are initialised.
    fn start(&self, start: &Start<'_>) -> Result<(), Failure> {
        let _ = start;
        Ok(())
    }

    /// Adds its observers. The first step follows.
    fn observe(&self, observing: &mut Observing<'_>) -> Result<(), RunError> {
        let _ = observing;
        Ok(())
    }

    /// Puts what it has found into the summary and the closing lines.
    fn summarize<'a>(&'a self, ending: &Ending<'_>, summary: &mut Summary<'a>) {
        let _ = (ending, summary);
    }

    /// Why a run that has ended well is to end with exit code 6.
    fn objection(&self) -> Option<Objection> {
        None
    }

    /// Writes its files, also if the run has failed.
    fn write(&self, ending: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let _ = (ending, summary);
        Ok(())
    }
}

/// What features need of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// The variables that `--output-variable` names.
    pub(crate) variables: bool,
    /// Provenance, and the picture of the system.
    pub(crate) summary: bool,
    /// The signals of a page.
    pub(crate) drawing: bool,
    /// Times of the calls of FMUs.
    pub(crate) times: bool,
    /// Times of single events.
    pub(crate) trace: bool,
    /// Steps do not wait until a row is written.
    pub(crate) queued_rows: bool,
    /// There can be no second run, for this reason; what tells in its place.
    pub(crate) no_second_run: Option<&'static str>,
}

impl Needs {
    /// The needs of several features.
    pub(crate) fn of(features: &[&dyn Feature]) -> Self {
        let needs = features.iter().map(|feature| feature.needs());
        needs.fold(Self::default(), |all, one| Self {
            variables: all.variables || one.variables,
            summary: all.summary || one.summary,
            drawing: all.drawing || one.drawing,
            times: all.times || one.times,
            trace: all.trace || one.trace,
            queued_rows: all.queued_rows || one.queued_rows,
            no_second_run: all.no_second_run.or(one.no_second_run),
        })
    }
}

/// A run whose FMUs are initialised.
pub(crate) struct Start<'a> {
    pub(crate) run: &'a Run,
    /// The variables that are recorded.
    pub(crate) selection: Selection,
    /// Error bars follow.
    pub(crate) is_assessed: bool,
}

/// A run that is about to make its first step.
pub(crate) struct Observing<'a> {
    pub(crate) run: &'a mut Run,
    /// The columns that feed inputs.
    pub(crate) inputs: Option<&'a Arc<InputFile>>,
    pub(crate) interrupt: &'a Interrupt,
    /// The clock with which the run keeps step: simulated seconds a second, and the time for which it is held.
    pub(crate) clock: Option<(f64, Held)>,
    /// Observers that come after all others, whose work is part of a step for them.
    pub(crate) last: Vec<Box<dyn Observer>>,
}

impl Observing<'_> {
    /// Adds a recorder, which knows the values of inputs that are fed.
    pub(crate) fn record(&mut self, recorder: Recorder) -> Result<(), RunError> {
        self.run.observe(InputFile::recorded(self.inputs, recorder))
    }
}

/// A run that is over.
pub(crate) struct Ending<'a> {
    /// The system file, or the FMU.
    pub(crate) system: &'a Path,
    /// `None` if the run did not begin, or has ended with its process.
    pub(crate) report: Option<&'a Report>,
    /// What is wrong with the run.
    pub(crate) trouble: Option<&'a str>,
    /// The rows that are left of a run without a report.
    pub(crate) rows: Option<&'a Path>,
    pub(crate) profile: Option<&'a Profile>,
    pub(crate) assessed: Option<&'a Assessed>,
    /// The signals of a page, and remarks on them.
    pub(crate) drawing: Option<&'a Drawing>,
    pub(crate) remarks: &'a [String],
}

impl<'a> Ending<'a> {
    /// The end of a run of which nothing is known.
    pub(crate) const fn unknown(system: &'a Path) -> Self {
        Self {
            system,
            report: None,
            trouble: None,
            rows: None,
            profile: None,
            assessed: None,
            drawing: None,
            remarks: &[],
        }
    }

    /// Has all features write their files; the first failure.
    pub(crate) fn write(
        &self,
        features: &[&dyn Feature],
        summary: &Summary<'_>,
    ) -> Result<(), Failure> {
        let written = features.iter().map(|feature| feature.write(self, summary));
        written.fold(Ok(()), Result::and)
    }
}

/// Why a run that has ended well is to end with exit code 6.
pub(crate) struct Objection {
    pub(crate) text: String,
    /// Lines that tell more, if the closing lines do not.
    pub(crate) details: Vec<String>,
}

impl Objection {
    /// The failure with the details.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        self.details.iter().fold(failure, Failure::detail)
    }
}
