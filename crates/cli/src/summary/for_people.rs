//! The closing lines of a run, for people.

use std::fmt::Write as _;
use std::path::Path;

use gyrator::Verdict;
use gyrator::exchange_mode::Exchange;
use gyrator::report::{BondReport, ComponentReport, CorrectionVerdict, InterfaceModelReport};

use super::{Summary, WallClock};
use crate::aligned::{Align, Aligned};
use crate::failure::is_named;
use crate::folded_notes::folded;
use crate::next_step::{Facts, next_step, step_for_all};
use crate::numbers::{count, figure, short};
use crate::screen::Accent;

/// The beginning of the line of the verdict.
const COUPLING_ERROR: &str = "coupling error: ";

/// Signals in doubt that people are shown; programs get all.
const DOUBTFUL_SHOWN: usize = 5;

/// A bond's residual over the transferred energy from which a small coupling error needs a word of explanation: the limit
/// between visible and dominating.
const NOTEWORTHY: f64 = Verdict::VISIBLE;

impl Summary<'_> {
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
        if !self.check_table.is_empty() {
            let _ = write!(text, "\n{}", self.check_table);
        }
        if !self.notes.is_empty() || self.reconciled().is_some() {
            text.push('\n');
        }
        let components = self.components.iter();
        let names: Vec<&str> = components.map(|component| &*component.name).collect();
        for note in folded(&self.notes, &names) {
            let _ = writeln!(text, "note: {note}");
        }
        if let Some(text_of_both) = self.reconciled() {
            let _ = writeln!(text, "note: {text_of_both}");
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
        if let Some(verdict) = self.shown_verdict() {
            let _ = writeln!(text, "\n{COUPLING_ERROR}{}", self.meaning(verdict));
            if let Some(next) = &self.next {
                let _ = writeln!(text, "next: {next}");
            }
        }
        text
    }

    /// The verdict, if there is something to judge: one FMU by itself has no coupling; its error bars show how it depends
    /// on the step.
    fn shown_verdict(&self) -> Option<Verdict> {
        let is_judged = !self.connections.is_empty() || !self.error_table.is_empty();
        self.verdict.filter(|_| is_judged)
    }

    /// The verdict in its colour.
    pub(crate) fn accent(&self) -> Option<Accent> {
        let verdict = self.shown_verdict()?;
        let [green, yellow, red, cyan] = [32, 33, 31, 36];
        let colour = match verdict {
            Verdict::Small => green,
            Verdict::Visible => yellow,
            Verdict::Dominating | Verdict::Diverging => red,
            Verdict::CannotTell => cyan,
        };
        Some(Accent {
            before: COUPLING_ERROR,
            word: verdict.to_string(),
            colour,
        })
    }

    /// Decides what to do next, once all else is known.
    pub(crate) fn set_next(&mut self) {
        // If there is a suspicion, the line of the verdict says what tells.
        let verdict = self.shown_verdict().filter(|_| self.suspicion.is_none());
        // What `auto` has chosen, it would choose again.
        let is_chosen = |of: &ComponentReport| {
            let mut decisions = self.decisions.iter();
            decisions
                .any(|choice| choice.r#where == of.name && choice.what.starts_with("exchange "))
        };
        let is_stale = |of: &ComponentReport| of.exchange == Exchange::STALE && !is_chosen(of);
        let facts = Facts {
            system: Some(named(&self.system))
                .filter(|path| !self.connections.is_empty() && !is_named(path, "json")),
            is_by_bars: self.is_by_bars,
            step_for: step_for_all(self.error_bars),
            is_stale: self.components.iter().any(is_stale),
            unknown: self.unknown,
        };
        self.next = verdict.and_then(|verdict| next_step(verdict, &facts));
    }

    /// Why a bond may have a large residual beside a small coupling error, if that is so.
    fn reconciled(&self) -> Option<String> {
        let verdict = self
            .shown_verdict()
            .filter(|_| self.error_table.is_empty() || self.is_by_bars);
        verdict.filter(|verdict| *verdict == Verdict::Small)?;
        let bonds = self.bonds.iter().filter(|bond| bond.is_power);
        let share =
            |bond: &BondReport| bond.energy.residual_energy.abs() / bond.transferred_energy_range;
        let shares = bonds.map(|bond| (share(bond), &bond.name));
        let large = shares.filter(|(share, _)| *share >= NOTEWORTHY && share.is_finite());
        let (share, name) = large.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let advice = if self.is_by_bars {
            ""
        } else {
            ". To measure the signals, add --error-bars"
        };
        Some(format!(
            "bond {name}: the residual is {:.0} % of the energy transferred, but the coupling error is small: the residual \
             counts every held input as late, the coupling error only what changes signals{advice}",
            100.0 * share
        ))
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
        // The exchange modes that `auto` has chosen are in the table of the components.
        let mut decisions = self.decisions.iter();
        let method =
            decisions.find(|choice| choice.r#where == "method" && self.components.len() > 1);
        let method = method.map_or(String::new(), |choice| {
            format!(", method {} (by auto)", choice.what)
        });
        format!(
            "{}: {end} after {steps}{size}{method}\n",
            self.system.display()
        )
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
            let corrected = (bond.correction != "off").then(|| figure(energy.correction_energy));
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
                figure(energy.transferred_energy),
                figure(energy.residual_energy),
                figure(energy.residual_energy_abs),
                figure(energy.max_residual_power),
                bond.stale_energy.map(figure).unwrap_or_default(),
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
        Some(format!("{COUPLING_ERROR}{}", self.meaning(verdict)))
    }

    /// A verdict with its meaning, for people.
    fn meaning(&self, verdict: Verdict) -> String {
        if let Some(suspicion) = self.suspicion {
            return format!("{verdict} (signals of a loop have grown; {suspicion})");
        }
        let cause = self.cause();
        let meaning = match verdict {
            Verdict::Small => "below 1 %",
            Verdict::Visible => "1 to 10 %",
            Verdict::CannotTell => &cause,
            Verdict::Dominating => "above 10 %",
            Verdict::Diverging => "it grows without end",
        };
        let source = match (self.is_by_bars, self.verification_steps) {
            (true, _) => ", by the error bars",
            // The cause is known without a source.
            (false, _) if verdict == Verdict::CannotTell && self.unknown.is_some() => "",
            (false, 0) => ", as far as one run shows",
            (false, _) => ", as a second run shows",
        };
        let doubt = self.doubt();
        format!("{verdict} ({meaning}{source}{doubt})")
    }

    /// Why the verdict is unknown.
    fn cause(&self) -> String {
        let bars = self.error_bars.iter().filter(|_| self.is_by_bars);
        let mut causes = bars
            .filter(|bar| bar.is_doubtful())
            .filter_map(|bar| Some((&bar.variable, bar.reason.as_ref()?)));
        match (causes.next(), self.unknown) {
            (Some((variable, reason)), _) => format!("{variable}: {reason}"),
            (None, _) if self.is_by_bars => "the runs do not show it".to_owned(),
            (None, Some(unknown)) => unknown.to_string(),
            (None, None) => "the run holds too little to judge it".to_owned(),
        }
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

/// The path by which a command takes a system: a package is named by its folder or its archive.
fn named(system: &Path) -> &Path {
    let is_inner = ["SystemStructure.ssd", "OspSystemStructure.xml"]
        .iter()
        .any(|name| system.ends_with(name));
    let folder = system.parent().filter(|_| is_inner);
    match folder {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => system,
    }
}
