//! A running system.

mod variables;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::alarm::Alarms;
use crate::audit::{Audit, Verdict as AuditVerdict};
use crate::engine;
use crate::fault::RunError;
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::method::Method;
use crate::observer::{Observer, StopRequest, Verdict, View};
use crate::report::{BondReport, ComponentReport, InterfaceModelReport, Report, StopReason};
use crate::state::State;
use crate::step::{Step, StepParts};
use crate::step_control::{Decision, StepAudit, StepControl};
use crate::time::{Rate, Ticks};
use crate::unit::Period;
use crate::variable_step::{Checkpoint, Sizes};

/// The parts that a [`System`](crate::System) starts a run with.
pub(crate) struct Parts {
    pub(crate) state: State,
    pub(crate) method: (&'static str, Box<dyn Method>),
    pub(crate) control: (&'static str, Box<dyn StepControl>),
    pub(crate) period: Period,
    pub(crate) interrupt: Option<Arc<AtomicBool>>,
    pub(crate) notes: Vec<String>,
}

/// A system that runs: initialised, at a communication point, ready for its next macro-step.
///
/// Between steps its variables can be read and written, so that a test bench can put physical
/// parts into the loop. Nothing is ever rolled back, unless a step control is asked to.
pub struct Run {
    state: State,
    method: (&'static str, Box<dyn Method>),
    control: (&'static str, Box<dyn StepControl>),
    ledger: Ledger,
    audit: Audit,
    alarms: Alarms,
    observers: Vec<Box<dyn Observer>>,
    interrupt: Option<Arc<AtomicBool>>,
    now: Ticks,
    stop: Option<(Ticks, f64)>,
    index: u64,
    next_length: Ticks,
    sizes: Sizes,
    /// The state before the step in progress, where steps may be made again.
    checkpoint: Option<Checkpoint>,
    is_fixed: bool,
    stop_reason: StopReason,
    notes: Vec<String>,
    faulty: Option<String>,
    written: bool,
}

impl Run {
    pub(crate) fn start(parts: Parts) -> Result<Self, RunError> {
        let Parts {
            mut state,
            mut method,
            mut control,
            period,
            mut notes,
            interrupt,
        } = parts;
        let clock = state.graph.clock;
        let macro_step = state.graph.macro_step;
        let sized = Sizes::of(&state.graph, control.1.is_fixed());
        method.1.begin(&mut state);
        // A unit may refuse to step beyond the stop time that it was told (FMI 2.0.4, 4.2.1).
        let told = Period {
            stop: period
                .stop
                .filter(|_| !control.1.may_overshoot())
                .map(|stop| end_as_stepped(&state.graph, stop, control.1.is_fixed())),
            ..period
        };
        notes.extend(engine::initialize(&mut state, &told)?);
        let mut run = Self {
            ledger: Ledger::new(&state, control.1.is_fixed()),
            audit: Audit::new(&state),
            alarms: Alarms::new(state.graph.bonds.len()),
            next_length: sized.length(
                control.1.first(macro_step, !state.graph.bonds.is_empty()),
                &clock,
            ),
            is_fixed: control.1.is_fixed(),
            stop: period
                .stop
                .map(|stop| (sized.stop(&clock, stop - period.start), stop)),
            checkpoint: Checkpoint::if_possible(&state, control.1.as_ref(), &mut notes),
            sizes: sized,
            state,
            method,
            control,
            observers: Vec::new(),
            interrupt,
            now: 0,
            index: 0,
            stop_reason: StopReason::Running,
            notes,
            faulty: None,
            written: false,
        };
        run.end_if_due()?;
        Ok(run)
    }

    /// Adds an observer, which sees the present communication point at once.
    ///
    /// # Errors
    /// What the observer's [`begin`](Observer::begin) reports; the run has then ended.
    pub fn observe(&mut self, mut observer: Box<dyn Observer>) -> Result<(), RunError> {
        let verdict = observer.begin(&self.view());
        self.observers.push(observer);
        match verdict {
            Ok(verdict) => self.heed(verdict),
            Err(error) => Err(self.fail(RunError::Observer(error))),
        }
    }

    /// Makes one macro-step; `false` when it was the last one.
    ///
    /// # Errors
    /// A fault of a unit or an observer, after which the run has ended: the observers have finished
    /// what they recorded, and [`report`](Self::report) tells the rest.
    pub fn step(&mut self) -> Result<bool, RunError> {
        if self.has_ended() {
            return Err(RunError::Ended(self.stop_reason.word()));
        }
        loop {
            let step = self.next_step();
            self.keep_state(&step)?;
            let given = engine::give_held_values(&mut self.state, &step);
            let made = given.and_then(|()| self.method.1.step(&mut self.state, &step));
            if let Err(fault) = made {
                self.faulty = Some(fault.component.clone());
                return Err(self.fail(RunError::Fault(fault)));
            }
            self.written = false;
            self.ledger.observe(&self.state, &step);
            self.audit.observe(&self.state, &step);
            self.alarms.observe(&self.ledger, step.time + step.size);
            if self.is_fixed || !self.size_next_step(&step)? {
                self.now += step.length;
                self.index += 1;
                break;
            }
        }
        if !self.observers.is_empty() {
            self.tell_observers()?;
        }
        if !self.has_ended() {
            self.end_if_due()?;
        }
        Ok(!self.has_ended())
    }

    /// Steps until the stop time, or until a unit or an observer ends the run.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(&mut self) -> Result<Report, RunError> {
        while !self.has_ended() {
            self.step()?;
        }
        Ok(self.report())
    }

    /// Ends the run here: the units are terminated and the observers finish.
    ///
    /// # Errors
    /// What the observers could not finish.
    pub fn stop(&mut self) -> Result<Report, RunError> {
        if !self.has_ended() {
            self.end(StopReason::Stopped)?;
        }
        Ok(self.report())
    }

    /// Whether the run has ended.
    pub fn has_ended(&self) -> bool {
        self.stop_reason != StopReason::Running
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        match self.stop {
            Some((ticks, stop)) if self.now == ticks => stop,
            _ => self.state.graph.clock.seconds(self.now),
        }
    }

    /// The resolved system.
    pub fn graph(&self) -> &Graph {
        &self.state.graph
    }

    /// The energies of the bonds.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What stale direct feed-through did to the bonds.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Spikes of the bonds' residual powers.
    pub fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    /// What the step control records: names and values; empty where the steps are fixed.
    pub fn control_signals(&self) -> &[(&'static str, f64)] {
        self.control.1.signals()
    }

    /// What the run has done so far.
    pub fn report(&self) -> Report {
        let graph = &self.state.graph;
        let component =
            |(node, mode): (&crate::graph::Component, &crate::exchange_mode::Exchange)| {
                ComponentReport {
                    name: node.name.clone(),
                    step_size: graph.macro_step * node.rate.ratio(),
                    exchange: *mode,
                }
            };
        let mut counters = self.state.counters;
        counters.macro_steps = self.index;
        counters.unit_warnings = self
            .state
            .units
            .members
            .iter()
            .map(|member| member.slot.warnings())
            .sum();
        Report {
            stop_reason: self.stop_reason.clone(),
            stop_time: self.time(),
            steps: self.index,
            method: self.method.0,
            step_control: self.control.0,
            components: graph
                .components
                .iter()
                .zip(&self.state.exchange.modes)
                .map(component)
                .collect(),
            bonds: (0..graph.bonds.len())
                .map(|index| self.bond_report(index))
                .collect(),
            interface_models: InterfaceModelReport::all(graph),
            counters,
            notes: self.notes(),
        }
    }

    /// Notes of the start, and what the bonds have shown since.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for index in 0..self.state.graph.bonds.len() {
            let bond = self.bond_report(index);
            if bond.verdict == Some(AuditVerdict::Harmed) {
                let net = bond.net_energy_error.unwrap_or(f64::NAN);
                let stale = bond.stale_energy.unwrap_or(f64::NAN);
                notes.push(format!(
                    "bond {}: the correction harms: the coupling's energy error is {net:.4e} J with it and would \
                     have been {stale:.4e} J without; use another exchange mode, or another mu",
                    bond.name
                ));
            }
            for alarm in &bond.alarms {
                notes.push(format!(
                    "bond {}: residual power out of the usual from t = {:.6} s to {:.6} s, at most {:.4e} W at t = {:.6} s",
                    bond.name, alarm.start, alarm.end, alarm.max_residual_power, alarm.max_time
                ));
            }
        }
        notes
    }

    fn bond_report(&self, index: usize) -> BondReport {
        let bond = &self.state.graph.bonds[index];
        let corrector = self
            .state
            .bonds
            .correctors
            .iter()
            .find(|corrector| corrector.bond == index);
        let parameters = corrector.map(|corrector| corrector.correction.parameters_in_force());
        let energy = self.ledger.bond(index).copied().unwrap_or_default();
        let audit = self.audit.bond(index).copied().unwrap_or_default();
        BondReport {
            name: bond.name.clone(),
            energy,
            stale_energy: audit.known_stale_energy(),
            net_energy_error: audit.net_energy_error(energy.correction_energy),
            verdict: corrector
                .filter(|corrector| corrector.correction.removes_stale_energy())
                .map(|_| audit.verdict(energy.correction_energy)),
            hindsight_mu: audit.hindsight_share(energy.residual_energy),
            alarms: self.alarms.bond(index).to_vec(),
            correction: match &bond.correction {
                Some((entry, _)) => entry.name,
                None if self.is_fed_forward(bond) => "learned",
                None => "off",
            },
            correction_parameters: parameters.unwrap_or_default().into_iter().collect(),
            is_power: bond.is_power,
        }
    }

    /// Whether learned feed-forward adds to an input of the bond.
    fn is_fed_forward(&self, bond: &crate::graph::Bond) -> bool {
        let signals = &self.state.courses.feed_forward;
        let inputs = |axis: &crate::graph::Axis| [axis.effort_input, axis.flow_input];
        let mut inputs = bond.axes.iter().flat_map(inputs);
        inputs.any(|input| signals.iter().any(|signal| signal.input == input))
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The system at its present communication point, as observers see it.
    pub fn view(&self) -> View<'_> {
        View {
            time: self.time(),
            steps: self.index,
            graph: &self.state.graph,
            reals: &self.state.signals.reals,
            signals: &self.state.signals.discrete,
            ledger: &self.ledger,
            audit: &self.audit,
            control: self.control.1.signals(),
            alarms: &self.alarms,
        }
    }

    #[inline(always)]
    fn next_step(&self) -> Step {
        let clock = &self.state.graph.clock;
        if !self.is_fixed {
            return self.next_variable_step();
        }
        let (mut length, mut size, time) = (
            clock.ticks_per_step(),
            self.state.graph.macro_step,
            clock.seconds_after(self.index),
        );
        if let Some((stop, seconds)) = self.stop
            && length > stop - self.now
        {
            (length, size) = (stop - self.now, seconds - time);
        }
        Step {
            index: self.index,
            from: self.now,
            length,
            time,
            size,
        }
    }

    /// The next step of a run whose step control sizes the steps.
    fn next_variable_step(&self) -> Step {
        let clock = &self.state.graph.clock;
        let time = clock.seconds(self.now);
        let mut length = self.next_length;
        let mut size = clock.duration(length);
        if let Some((stop, seconds)) = self.stop
            && !self.control.1.may_overshoot()
        {
            length = self.sizes.within(length, stop - self.now, self.index);
            size = if length == stop - self.now {
                seconds - time
            } else {
                clock.duration(length)
            };
        }
        Step {
            index: self.index,
            from: self.now,
            length,
            time,
            size,
        }
    }

    fn keep_state(&mut self, step: &Step) -> Result<(), RunError> {
        let Some(checkpoint) = &mut self.checkpoint else {
            return Ok(());
        };
        let books = (&self.ledger, &self.audit, &self.alarms);
        if let Err(fault) = checkpoint.save(&mut self.state, books, step) {
            return Err(self.fail(RunError::Fault(fault)));
        }
        Ok(())
    }

    /// Asks the step control for the size of the next step; `true` if `step` is to be made again,
    /// and everything is as it was before it.
    fn size_next_step(&mut self, step: &Step) -> Result<bool, RunError> {
        let may_change = self.sizes.may_change(step.index + 1);
        let decision = self.control.1.next(&StepAudit {
            step,
            ledger: &self.ledger,
            order: engine::order_in_use(&self.state),
            had_event: self.state.signals.had_event,
            may_change,
        });
        let (Decision::Continue(size) | Decision::Repeat(size)) = decision;
        // All macro-steps within a slow component's step are equal.
        self.next_length = if may_change {
            self.sizes.length(size, &self.state.graph.clock)
        } else {
            step.length
        };
        let (Decision::Repeat(_), Some(checkpoint)) = (decision, &self.checkpoint) else {
            return Ok(false);
        };
        if let Err(fault) = checkpoint.restore(&mut self.state, step) {
            return Err(self.fail(RunError::Fault(fault)));
        }
        (self.ledger, self.audit, self.alarms) = checkpoint.books();
        self.state.counters.repeated_steps += 1;
        Ok(true)
    }

    fn tell_observers(&mut self) -> Result<(), RunError> {
        let mut observers = std::mem::take(&mut self.observers);
        let mut outcome = Ok(Verdict::Continue);
        for observer in &mut observers {
            match observer.step(&self.view()) {
                Ok(Verdict::Continue) => {}
                other if matches!(outcome, Ok(Verdict::Continue)) => outcome = other,
                _ => {}
            }
        }
        self.observers = observers;
        match outcome {
            Ok(verdict) => self.heed(verdict),
            Err(error) => Err(self.fail(RunError::Observer(error))),
        }
    }

    fn heed(&mut self, verdict: Verdict) -> Result<(), RunError> {
        match verdict {
            Verdict::Continue => Ok(()),
            Verdict::Stop(StopRequest::Interrupted) => self.end(StopReason::Interrupted),
            Verdict::Stop(StopRequest::Limit(limit)) => self.end(StopReason::Limit(limit)),
        }
    }

    #[inline]
    fn end_if_due(&mut self) -> Result<(), RunError> {
        let interrupt = self.interrupt.as_ref();
        if interrupt.is_some_and(|requested| requested.load(Ordering::Relaxed)) {
            return self.end(StopReason::Interrupted);
        }
        if self.state.units.terminated.is_some() {
            return self.end(StopReason::Terminated);
        }
        if let Some(limit) = self.exceeded_limit() {
            return self.end(StopReason::Limit(limit));
        }
        match self.stop {
            Some((stop, _)) if self.now >= stop => self.end(StopReason::StopTime),
            _ => Ok(()),
        }
    }

    /// The limit of residual energy that a bond has exceeded, in words.
    fn exceeded_limit(&self) -> Option<String> {
        if !self.state.graph.has_energy_limits {
            return None;
        }
        let bonds = self.state.graph.bonds.iter().zip(self.ledger.bonds());
        let exceeded = |(bond, energy): (&crate::graph::Bond, &crate::ledger::BondEnergy)| {
            let limit = bond
                .max_residual_energy
                .filter(|limit| energy.residual_energy.abs() > *limit)?;
            Some(format!(
                "the residual energy of bond {} is {:.6e} J at t = {} s; its limit is {limit} J",
                bond.name,
                energy.residual_energy,
                self.time()
            ))
        };
        bonds.filter_map(exceeded).next()
    }

    /// Terminates the units that may still be called, and lets the observers finish.
    fn end(&mut self, reason: StopReason) -> Result<(), RunError> {
        self.stop_reason = reason;
        let step = self.next_step();
        let mut first = Ok(());
        for component in 0..self.state.units.members.len() {
            let name = &self.state.graph.components[component].name;
            if self.faulty.as_ref() == Some(name) {
                continue;
            }
            if let Err(fault) = self.state.units.members[component].slot.unit().terminate()
                && first.is_ok()
            {
                first = Err(RunError::Fault(
                    self.state.graph.fault(component, &step, fault),
                ));
            }
        }
        if let Err(error) = &first {
            self.stop_reason = StopReason::Failed(error.to_string());
        }
        let report = self.report();
        for observer in &mut self.observers {
            if let Err(error) = observer.finish(&report)
                && first.is_ok()
            {
                self.stop_reason = StopReason::Failed(error.to_string());
                first = Err(RunError::Observer(error));
            }
        }
        first
    }

    /// Ends the run because of `error`, which stays the one that is told.
    fn fail(&mut self, error: RunError) -> RunError {
        if !self.has_ended() {
            // What fails on the way out is a consequence: the first error is the one to tell.
            let _ = self.end(StopReason::Failed(error.to_string()));
            self.stop_reason = StopReason::Failed(error.to_string());
        }
        error
    }
}

/// The stop time, or the last bits more where the sum of the start and the length of a component's
/// last step is rounded to more: units compare that sum with the stop time that they were told.
fn end_as_stepped(graph: &Graph, stop: f64, is_fixed: bool) -> f64 {
    let rounding = 4.0 * f64::EPSILON * stop.abs().max(graph.clock.start().abs());
    let rates = graph.components.iter().map(|component| component.rate);
    if !is_fixed && rates.map(Rate::substeps).any(|parts| parts > 1) {
        // Nobody knows yet where the last step will start.
        return stop + rounding;
    }
    (0..graph.components.len())
        .map(|component| end_of_last_step(graph, component, stop))
        .filter(|end| *end <= stop + rounding)
        .fold(stop, f64::max)
}

/// When the last communication step of a component ends under fixed macro-steps, as the component
/// computes it, s.
fn end_of_last_step(graph: &Graph, component: usize, stop: f64) -> f64 {
    let (clock, rate) = (graph.clock, graph.components[component].rate);
    let until = clock.ticks(stop - clock.start());
    let rest = until % clock.ticks_per_step();
    let (length, size) = if rest == 0 {
        let every = rate.every();
        let length = clock.ticks_per_step() * Ticks::from(every);
        (length, graph.macro_step * f64::from(every))
    } else {
        (rest, stop - clock.seconds(until - rest))
    };
    let last = Step {
        index: 0,
        from: until - length,
        length,
        time: clock.seconds(until - length),
        size,
    };
    // The fast side of an interface model divides the macro-step into exchanges first.
    let mut models = graph.interface_models.iter();
    let model = models.find(|model| model.fast.contains(&component));
    let exchanges = model.map_or(1, |model| model.exchanges);
    let parts = rate.substeps() / exchanges;
    let last = StepParts::of(&last, exchanges, &clock).part(exchanges - 1);
    let last = StepParts::of(&last, parts, &clock).part(parts - 1);
    last.time + last.size
}
