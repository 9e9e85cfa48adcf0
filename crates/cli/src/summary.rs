//! Summary of a run, for people and for programs.

mod for_people;

use std::borrow::Cow;
use std::collections::BTreeMap;

use std::path::{Path, PathBuf};

use gyrator::error::{Cause, Fault};
use gyrator::plan::PlanText;
use gyrator::profile::{OperationTime, ProfileReport};
use gyrator::real_time::TimingReport;
use gyrator::report::{
    ActionReport, AlgebraicLoopReport, BondReport, ComponentReport, ConnectionReport, Counters,
    Decision, Divergence, InterfaceModelReport, Unknown,
};
use gyrator::{Report, StopReason, Verdict};
use gyrator_assess::{ErrorBar, Finding};
use gyrator_pictures::graph::Diagram;
use gyrator_system::SystemFile;

use serde::Serialize;

use crate::error_bars::Assessed;
use crate::hosts;
use crate::numbers::count;
use crate::provenance::Provenance;
use crate::recorder::ResultFile;

/// How the time of the computer was spent, s.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct WallClock {
    /// Reading the system and opening its FMUs.
    pub(crate) loading: f64,
    /// Loading the libraries, initialising the FMUs.
    pub(crate) initialising: f64,
    /// From the first step to the last one, with recording.
    pub(crate) stepping: f64,
}

/// The result file.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OutputFile {
    file: PathBuf,
    rows: u64,
    columns: Option<usize>,
    /// Types of the columns that are not of reals.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    types: BTreeMap<String, &'static str>,
    /// Units of the columns that have one, as the model descriptions name them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    units: BTreeMap<String, String>,
}

impl OutputFile {
    /// The file as it is now.
    pub(crate) fn new(path: &Option<PathBuf>, file: &ResultFile) -> Self {
        let (rows, columns) = file.size();
        Self {
            file: path.clone().unwrap_or_default(),
            rows,
            columns: Some(columns),
            types: file.types(),
            units: file.units(),
        }
    }

    fn name(&self) -> String {
        if self.file == Path::new("-") {
            "the standard output".to_owned()
        } else {
            self.file.display().to_string()
        }
    }
}

/// Everything about a run. Of a run that crashed or never began, unknown values are null, under the
/// same keys.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary<'a> {
    gyrator: &'static str,
    system: PathBuf,
    stop_reason: &'static str,
    /// The fault, or the limit that was exceeded.
    stop_detail: Option<Cow<'a, str>>,
    /// How far the coupling changes the result.
    verdict: Option<Verdict>,
    /// Whether it diverges by its coupling.
    divergence: Option<Divergence>,
    /// Macro-steps of the second run that has verified a suspicion.
    pub(crate) verification_steps: u64,
    /// Why a suspicion is open, and what tells.
    pub(crate) suspicion: Option<&'a str>,
    /// The greatest relative error of a signal, as far as the run alone shows.
    coupling_error_estimate: Option<f64>,
    /// Why the run alone cannot be judged.
    unknown: Option<&'a Unknown>,
    /// What people are told to do next.
    pub(crate) next: Option<String>,
    /// Advice if it diverges.
    advice: Option<&'a str>,
    start_time: Option<f64>,
    /// The last communication point.
    stop_time: Option<f64>,
    steps: u64,
    step_size: Option<f64>,
    method: Option<&'a str>,
    step_control: Option<&'a str>,
    components: &'a [ComponentReport],
    /// Addresses of the machines that have hosted components, by the names of these.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hosts: BTreeMap<String, String>,
    /// Components that were in a call when the run crashed.
    components_in_call: Vec<String>,
    /// The energy that the coupling has made at all power bonds together, at its greatest magnitude, J.
    peak_residual_energy_integrated: Option<f64>,
    /// Time of it, s.
    peak_residual_energy_integrated_time: Option<f64>,
    bonds: &'a [BondReport],
    connections: &'a [ConnectionReport],
    interface_models: &'a [InterfaceModelReport],
    /// The choices that `auto` has made.
    decisions: &'a [Decision],
    /// The algebraic loops between steps.
    algebraic_loops: &'a [AlgebraicLoopReport],
    /// Begins and ends of the actions of a scenario.
    actions: &'a [ActionReport],
    counters: Option<Counters>,
    /// Estimated errors of the signals, if they were asked for.
    error_bars: &'a [ErrorBar],
    /// Signals whose error may be of another verdict than the run.
    doubtful_signals: &'a [String],
    /// The outcomes of the checks, if there are some.
    pub(crate) checks: &'a [Finding],
    /// The order of everything in a macro-step.
    pub(crate) plan: Option<PlanText>,
    /// How well the run has kept step with the clock, if it had to.
    pub(crate) real_time: Option<&'a TimingReport>,
    notes: Vec<&'a str>,
    /// Parameters that `--output-variable` names.
    pub(crate) parameters: BTreeMap<&'a str, serde_json::Value>,
    wall_clock: Option<WallClock>,
    /// Time of the calls of FMUs, if a report is written.
    pub(crate) component_times: Option<Vec<OperationTime>>,
    /// How the time of stepping was spent, if it was asked for.
    pub(crate) profile: Option<ProfileReport>,
    /// The result file, if there is one.
    pub(crate) output: Option<OutputFile>,
    pub(crate) provenance: Option<Provenance>,
    /// The system as the report draws it; null for one FMU by itself.
    pub(crate) graph: Option<Diagram>,
    /// The error bars, for people.
    #[serde(skip)]
    error_table: String,
    /// The checks, for people.
    #[serde(skip)]
    pub(crate) check_table: String,
    /// The last lines for people, of features.
    #[serde(skip)]
    pub(crate) closing: String,
    /// The error bars have given the verdict.
    #[serde(skip)]
    is_by_bars: bool,
}

/// Known facts of a run that has no report.
#[derive(Debug)]
pub(crate) struct CrashSummary<'a> {
    /// The system file, or the FMU.
    pub(crate) system: &'a Path,
    /// A word for programs.
    pub(crate) stop_reason: &'static str,
    /// The fault.
    pub(crate) stop_detail: &'a str,
    /// Time and number of the last communication point.
    pub(crate) position: Option<(f64, u64)>,
    /// Components that were in a call.
    pub(crate) components_in_call: Vec<String>,
    /// The result file and its rows.
    pub(crate) output: Option<(PathBuf, u64)>,
}

impl<'a> Summary<'a> {
    /// Puts together what the engine and the command line know.
    pub(crate) fn new(
        system: &SystemFile,
        report: &'a Report,
        warnings: &'a [String],
        wall_clock: WallClock,
    ) -> Self {
        let experiment = &system.experiment;
        let mut notes: Vec<&str> = Vec::new();
        for note in warnings.iter().chain(&report.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
            }
        }
        Self {
            gyrator: env!("CARGO_PKG_VERSION"),
            system: system.source.path.clone(),
            stop_reason: report.stop_reason.word(),
            stop_detail: match &report.stop_reason {
                StopReason::Failed(detail) | StopReason::Limit(detail) => Some(detail.into()),
                _ => None,
            },
            verdict: Some(report.verdict),
            unknown: report.unknown.as_ref(),
            divergence: Some(report.divergence),
            coupling_error_estimate: report.coupling_error_estimate,
            advice: report.advice.as_deref(),
            start_time: Some(experiment.start()),
            stop_time: Some(report.stop_time),
            steps: report.steps,
            step_size: experiment.step_size.as_ref().map(|step| step.value),
            method: Some(report.method),
            step_control: Some(report.step_control),
            components: &report.components,
            hosts: hosts::named(system),
            peak_residual_energy_integrated: Some(report.peak_residual_energy_integrated),
            peak_residual_energy_integrated_time: Some(report.peak_residual_energy_integrated_time),
            bonds: &report.bonds,
            connections: &report.connections,
            interface_models: &report.interface_models,
            decisions: &report.decisions,
            algebraic_loops: &report.algebraic_loops,
            actions: &report.actions,
            counters: Some(report.counters),
            notes,
            wall_clock: Some(wall_clock),
            ..Self::default()
        }
    }

    /// The same with the error bars.
    pub(crate) fn with_error_bars(mut self, assessed: &'a Assessed, report: &Report) -> Self {
        self.is_by_bars = assessed.has_judged(report);
        self.error_bars = &assessed.assessment.bars;
        self.doubtful_signals = &assessed.assessment.doubtful;
        self.error_table = assessed.table();
        self
    }

    /// Says why the run has failed if that shows after its end only.
    pub(crate) fn note_failure(&mut self, detail: String) {
        self.stop_reason = "failed";
        self.stop_detail = Some(detail.into());
    }

    /// Reports a call that did not return as if the process of the run had ended for it.
    pub(crate) fn note_fault(&mut self, fault: &Fault) {
        self.stop_reason = match fault.unit.cause {
            Cause::Lost | Cause::HostLost => "crashed",
            Cause::Timeout => "timeout",
            Cause::Interrupted => "interrupted",
            _ => return,
        };
        self.components_in_call = vec![fault.component.clone()];
    }

    /// Puts together what is known without a report.
    pub(crate) fn of_crash(crash: CrashSummary<'a>) -> Self {
        let output = crash.output;
        Self {
            gyrator: env!("CARGO_PKG_VERSION"),
            system: crash.system.to_owned(),
            stop_reason: crash.stop_reason,
            stop_detail: Some(crash.stop_detail.into()),
            stop_time: crash.position.map(|(time, _)| time),
            steps: crash.position.map_or(0, |(_, step)| step),
            components_in_call: crash.components_in_call,
            output: output.map(|(file, rows)| OutputFile {
                file,
                rows,
                columns: None,
                types: BTreeMap::new(),
                units: BTreeMap::new(),
            }),
            provenance: Some(Provenance::of_system_file(crash.system)),
            ..Self::default()
        }
    }

    /// The rows of a run that failed, and where they are: `5 rows`, `out.csv`.
    pub(crate) fn kept_rows(&self) -> Option<(String, String)> {
        let output = self.output.as_ref()?;
        Some((count(output.rows, "row"), output.name()))
    }
}
