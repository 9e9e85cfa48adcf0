//! Summary of a run, for people and for programs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use std::path::{Path, PathBuf};

use gyrator::error::{Cause, Fault};
use gyrator::exchange_mode::Exchange;
use gyrator::plan::PlanText;
use gyrator::profile::{OperationTime, ProfileReport};
use gyrator::real_time::TimingReport;
use gyrator::report::{
    ActionReport, AlgebraicLoopReport, BondReport, ComponentReport, ConnectionReport,
    CorrectionVerdict, Counters, Decision, Divergence, InterfaceModelReport,
};
use gyrator::{Report, StopReason, Verdict};
use gyrator_assess::{ErrorBar, Finding};
use gyrator_pictures::graph::Diagram;
use gyrator_system::SystemFile;

use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::error_bars::Assessed;
use crate::hosts;
use crate::numbers::{count, short};
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

/// Signals in doubt that people are shown; programs get all.
const DOUBTFUL_SHOWN: usize = 5;

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

    /// The summary for people.
    pub(crate) fn for_people(&self) -> String {
        let mut text = self.headline();
        if self.components.len() > 1 {
            let _ = write!(text, "\n{}", self.component_table());
        }
        if !self.bonds.is_empty() {
            let _ = write!(text, "\n{}", self.bond_table());
        }
        if !self.error_bars.is_empty() {
            let _ = write!(text, "\n{}", self.error_table);
        }
        if !self.actions.is_empty() {
            let _ = write!(text, "\n{}", self.action_table());
        }
        if !self.interface_models.is_empty() {
            text.push('\n');
        }
        for model in self.interface_models {
            let _ = writeln!(text, "{}", interface_model(model));
        }
        if !self.parameters.is_empty() {
            text.push('\n');
        }
        for (name, value) in &self.parameters {
            let _ = writeln!(text, "parameter {name} = {value}");
        }
        // One FMU by itself has no coupling; its bars show its own dependence on the step.
        let is_coupled = !self.connections.is_empty() || !self.error_table.is_empty();
        if let Some(verdict) = self.verdict.filter(|_| is_coupled) {
            let _ = writeln!(text, "\ncoupling error: {}", self.meaning(verdict));
        }
        if !self.check_table.is_empty() {
            let _ = write!(text, "\n{}", self.check_table);
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text.push('\n');
        if let Some(output) = &self.output {
            let rows = count(output.rows, "row");
            let _ = writeln!(
                text,
                "results: {} ({rows}, {} columns)",
                output.name(),
                output.columns.unwrap_or(0)
            );
        } else {
            text.push_str("results: not recorded; -o FILE records them\n");
        }
        text.push_str(&self.time_line());
        text.push_str(&self.closing);
        text
    }

    fn headline(&self) -> String {
        let time = short(self.stop_time.unwrap_or(f64::NAN));
        let end = match self.stop_reason {
            "stop-time" => format!("reached the stop time, t = {time} s"),
            "terminated" => format!("ended by an FMU at t = {time} s"),
            "interrupted" => format!("interrupted at t = {time} s"),
            other => format!("{other} at t = {time} s"),
        };
        let steps = count(self.steps, "step");
        let size = match self.variable_steps() {
            Some(word) => self
                .mean_step()
                .map(|mean| (mean, format!(" on average ({word})"))),
            None => self.step_size.map(|size| (size, String::new())),
        };
        let size = size.map_or(String::new(), |(size, remark)| {
            format!(" of {} s{remark}", short(size))
        });
        format!("{}: {end} after {steps}{size}\n", self.system.display())
    }

    /// The step control, if it makes steps of different sizes.
    fn variable_steps(&self) -> Option<&str> {
        self.step_control.filter(|word| *word != "fixed")
    }

    fn mean_step(&self) -> Option<f64> {
        let time = self.stop_time? - self.start_time?;
        (self.steps > 0).then(|| time / self.steps as f64)
    }

    fn action_table(&self) -> String {
        let mut table = Aligned::new(&[
            ("time, s", Align::Right),
            ("action", Align::Left),
            ("variable", Align::Left),
        ]);
        for action in self.actions {
            let event = match action.event {
                "end" => format!("{} ends", action.action),
                _ => action.action.to_owned(),
            };
            table.row([short(action.time), event, action.variable.clone()]);
        }
        table.render()
    }

    fn component_table(&self) -> String {
        let headings = [
            ("component", Align::Left),
            ("step, s", Align::Right),
            ("exchange", Align::Left),
            ("host", Align::Left),
        ];
        let mut table = Aligned::new(&headings);
        for component in self.components {
            let exchange = match component.exchange {
                Exchange::NO_FEEDTHROUGH => "",
                mode => mode.word(),
            };
            let step = match self.variable_steps() {
                Some(_) => "varies".to_owned(),
                None => short(component.step_size),
            };
            let host = self.hosts.get(&component.name).map_or("", String::as_str);
            table.row([component.name.as_str(), &step, exchange, host]);
        }
        table.render()
    }

    /// Energies as sums over the run; the peak is the residual power's. The energy that staleness made and the
    /// one that is left with the correction are shown if they are known.
    fn bond_table(&self) -> String {
        let mut table = Aligned::new(&[
            ("energy, J", Align::Left),
            ("transferred", Align::Right),
            ("residual", Align::Right),
            ("|residual|", Align::Right),
            ("peak, W", Align::Right),
            ("by staleness", Align::Right),
            ("corrected", Align::Right),
            ("by", Align::Left),
            ("correction", Align::Left),
            ("verdict", Align::Left),
        ]);
        for bond in self.bonds {
            let energy = &bond.energy;
            let corrected = (bond.correction != "off").then(|| short(energy.correction_energy));
            let correction = match bond.correction_verdict {
                Some(CorrectionVerdict::Helped) => "helped",
                Some(CorrectionVerdict::Harmed) => "harmed",
                Some(CorrectionVerdict::Uncertain) => "uncertain",
                Some(CorrectionVerdict::CannotBeJudged) => "cannot be judged",
                None => "",
            };
            let generalised = if bond.is_power { "" } else { " (generalised)" };
            table.row([
                format!("{}{generalised}", bond.name),
                short(energy.transferred_energy),
                short(energy.residual_energy),
                short(energy.residual_energy_abs),
                short(energy.max_residual_power),
                bond.stale_energy.map(short).unwrap_or_default(),
                corrected.unwrap_or_default(),
                bond.correction.replace("off", ""),
                correction.to_owned(),
                bond.verdict.to_string(),
            ]);
        }
        table.render()
    }

    /// That the coupling may be the reason for what has ended the run, if that is so.
    pub(crate) fn suspected_coupling(&self) -> Option<String> {
        let verdict = self.verdict.filter(|_| self.suspicion.is_some())?;
        Some(format!("coupling error: {}", self.meaning(verdict)))
    }

    /// A verdict with its meaning, for people.
    fn meaning(&self, verdict: Verdict) -> String {
        if let Some(suspicion) = self.suspicion {
            return format!("{verdict} (signals of a loop have grown; {suspicion})");
        }
        let meaning = match verdict {
            Verdict::Small => "below 1 %",
            Verdict::Visible => "1 to 10 %",
            Verdict::CannotTell if self.is_by_bars => "the runs do not show it",
            Verdict::CannotTell => "the run holds too little to judge it",
            Verdict::Dominating => "above 10 %",
            Verdict::Diverging => "it grows without end",
        };
        let source = match (self.is_by_bars, self.verification_steps) {
            (true, _) => "by the error bars",
            (false, 0) => "as far as one run shows",
            (false, _) => "as a second run shows",
        };
        let doubt = self.doubt();
        format!("{verdict} ({meaning}, {source}{doubt})")
    }

    /// The signals that the verdict leaves open, for people.
    fn doubt(&self) -> String {
        let names = self.doubtful_signals;
        if !self.is_by_bars || names.is_empty() || names.len() == self.error_bars.len() {
            return String::new();
        }
        let (shown, more) = names.split_at(names.len().min(DOUBTFUL_SHOWN));
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("; in doubt: {}{more}", shown.join(", "))
    }

    fn time_line(&self) -> String {
        let Some(WallClock {
            loading,
            initialising,
            stepping,
        }) = self.wall_clock
        else {
            return String::new();
        };
        let (start, stop) = (self.start_time.unwrap_or(0.0), self.stop_time);
        let simulated = stop.map_or(0.0, |stop| stop - start);
        let mut line = format!(
            "time: loading {loading:.3} s, initialising {initialising:.3} s, stepping {stepping:.3} s"
        );
        if simulated > 0.0 && stepping > 0.0 {
            let _ = write!(
                line,
                " ({:.3} s simulated per s)",
                Rounded(simulated / stepping)
            );
        }
        line.push('\n');
        line
    }
}

/// One line: between whom, how often, in which order.
fn interface_model(model: &InterfaceModelReport) -> String {
    let schedule = &model.schedule;
    let mut line = format!(
        "interface model {}: {} with {} every {} s, {}, force {}, inputs {}",
        model.name,
        model.component,
        model.fast_components.join(", "),
        short(model.exchange_step),
        schedule.order,
        schedule.force.word(),
        schedule.inputs.word()
    );
    let share = schedule.displacement_correction;
    if share != Some(0.0) {
        let share = share.map_or("auto".to_owned(), |share| short(share).to_string());
        let _ = write!(line, ", displacement correction {share}");
    }
    for (name, value, usual) in [
        ("mass factor", schedule.mass_factor, 1.0),
        ("lag", schedule.lag, 0.0),
    ] {
        if value != usual {
            let _ = write!(line, ", {name} {}", short(value));
        }
    }
    line
}

/// Three digits are enough for a speed.
struct Rounded(f64);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = (2.0 - self.0.abs().log10().floor()).max(0.0) as usize;
        write!(f, "{:.*}", digits.min(9), self.0)
    }
}
