//! What a run did, for people and for programs.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use gyrator::{
    AuditVerdict, BondReport, ComponentReport, Counters, Exchange, InterfaceModelReport, Report,
    StopReason,
};
use gyrator_system::SystemFile;
use gyrator_worker::surroundings;
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::numbers::{count, short};
use crate::recorder::ResultFile;

/// Where the time of the computer went, s.
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
    columns: usize,
}

impl OutputFile {
    /// The file as it is now.
    pub(crate) fn new(path: &Option<PathBuf>, file: &ResultFile) -> Self {
        let (rows, columns) = file.size();
        Self {
            file: path.clone().unwrap_or_default(),
            rows,
            columns,
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

/// Everything about a finished run.
#[derive(Debug, Serialize)]
pub(crate) struct Summary<'a> {
    gyrator: &'static str,
    system: PathBuf,
    stop_reason: &'static str,
    /// What went wrong or which limit was exceeded.
    stop_detail: Option<&'a str>,
    start_time: f64,
    stop_time: f64,
    steps: u64,
    step_size: Option<f64>,
    method: &'a str,
    step_control: &'a str,
    components: &'a [ComponentReport],
    bonds: &'a [BondReport],
    interface_models: &'a [InterfaceModelReport],
    counters: Counters,
    notes: Vec<&'a str>,
    wall_clock: WallClock,
    output: Option<OutputFile>,
}

impl<'a> Summary<'a> {
    /// Puts together what the engine and the command line know.
    pub(crate) fn new(
        system: &SystemFile,
        report: &'a Report,
        warnings: &'a [String],
        wall_clock: WallClock,
        output: Option<OutputFile>,
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
                StopReason::Failed(detail) | StopReason::Limit(detail) => Some(detail),
                _ => None,
            },
            start_time: experiment
                .start_time
                .as_ref()
                .map_or(0.0, |time| time.value),
            stop_time: report.stop_time,
            steps: report.steps,
            step_size: experiment.step_size.as_ref().map(|step| step.value),
            method: report.method,
            step_control: report.step_control,
            components: &report.components,
            bonds: &report.bonds,
            interface_models: &report.interface_models,
            counters: report.counters,
            notes,
            wall_clock,
            output,
        }
    }

    /// Writes the summary for programs.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        write(path, self).map_err(|error| {
            let text = format!("cannot write the summary {}: {error}", path.display());
            Failure::new(Exit::Failed, Message::error(text))
        })
    }

    /// The rows of a run that failed, and where they are.
    pub(crate) fn kept_rows(&self) -> Option<String> {
        let output = self.output.as_ref()?;
        let rows = count(output.rows, "row");
        Some(format!(
            "what was recorded until then is kept: {rows} in {}",
            output.name()
        ))
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
        if !self.interface_models.is_empty() {
            text.push('\n');
        }
        for model in self.interface_models {
            let _ = writeln!(text, "{}", interface_model(model));
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
                output.columns
            );
        }
        text.push_str(&self.time_line());
        text
    }

    fn headline(&self) -> String {
        let time = short(self.stop_time);
        let end = match self.stop_reason {
            "stop-time" => format!("reached the stop time, t = {time} s"),
            "terminated" => format!("ended by an FMU at t = {time} s"),
            "interrupted" => format!("interrupted at t = {time} s"),
            other => format!("{other} at t = {time} s"),
        };
        let steps = count(self.steps, "step");
        let size = self
            .step_size
            .map_or(String::new(), |size| format!(" of {} s", short(size)));
        format!("{}: {end} after {steps}{size}\n", self.system.display())
    }

    fn component_table(&self) -> String {
        let headings = [
            ("component", Align::Left),
            ("step, s", Align::Right),
            ("exchange", Align::Left),
        ];
        let mut table = Aligned::new(&headings);
        for component in self.components {
            let exchange = match component.exchange {
                Exchange::NoFeedthrough => "",
                mode => mode.word(),
            };
            table.row([
                component.name.as_str(),
                &short(component.step_size),
                exchange,
            ]);
        }
        table.render()
    }

    /// Energies as sums over the run; the peak is that of the residual power. What staleness made and
    /// what is left with the correction is told where it is known.
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
            ("verdict", Align::Left),
        ]);
        for bond in self.bonds {
            let energy = &bond.energy;
            let corrected = (bond.correction != "off").then(|| short(energy.correction_energy));
            let verdict = match bond.verdict {
                Some(AuditVerdict::Helped) => "helped",
                Some(AuditVerdict::Harmed) => "harmed",
                Some(AuditVerdict::CannotBeJudged) => "cannot be judged",
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
                verdict.to_owned(),
            ]);
        }
        table.render()
    }

    fn time_line(&self) -> String {
        let WallClock {
            loading,
            initialising,
            stepping,
        } = self.wall_clock;
        let simulated = self.stop_time - self.start_time;
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

/// Writes a summary for programs.
pub(crate) fn write(path: &Path, summary: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(summary)?;
    text.push('\n');
    surroundings::in_own(|| std::fs::write(path, text))
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
        schedule.order.word(),
        schedule.force.word(),
        schedule.inputs.word()
    );
    for (name, value, usual) in [
        (
            "displacement correction",
            schedule.displacement_correction,
            0.0,
        ),
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
