//! The report of a run, made from its parts.

use gyrator_record::is_same_time;

use super::Run;
use super::judgement::Judgement;
use crate::alarm::Alarm;
use crate::audit::CorrectionVerdict;
use crate::defect::Defect;
use crate::dispatch::Dispatch;
use crate::exchange::{loop_reports, loop_warnings};
use crate::exchange_mode::Exchange;
use crate::graph::{Axis, Bond, Component};
use crate::plan::decisions;
use crate::report::{
    ActionReport, BondReport, ComponentReport, ConnectionReport, FeedthroughPair,
    InterfaceModelReport, Report, StopReason,
};
use crate::state::{DoneAction, Member, Phase, StepResponse};
use crate::unit::{ProcessChange, StepOutcome};
use crate::{figure, short};

/// Stop reason, counters, energies and notes of a run so far.
pub(super) fn report(run: &Run) -> Report {
    let graph = &run.state.graph;
    let component = |(index, (node, mode)): (usize, (&Component, &Exchange))| ComponentReport {
        name: node.name.clone(),
        step_size: graph.macro_step * node.rate.ratio(),
        exchange: *mode,
        feedthrough_in_steps: feedthrough_in_steps(run, index),
        balance: run.view().balance(index),
    };
    let mut counters = run.state.counters;
    counters.macro_steps = run.timeline.steps();
    counters.unit_warnings = run
        .state
        .units
        .members
        .iter()
        .map(|member| member.slot.warnings())
        .sum();
    let judgement = Judgement::of(run);
    let error = judgement.of_run();
    let (peak, peak_time) = run.ledger.peak_residual_energy_integrated();
    Report {
        stop_reason: run.stop_reason.clone(),
        stop_time: run.time(),
        steps: run.timeline.steps(),
        method: run.method,
        step_control: run.control.0,
        components: graph
            .components
            .iter()
            .zip(&run.state.exchange.modes)
            .enumerate()
            .map(component)
            .collect(),
        verdict: error.divergence().verdict(error.estimated_verdict),
        unknown: judgement.unknown(&error),
        divergence: error.divergence(),
        estimated_verdict: error.estimated_verdict,
        coupling_error_estimate: error.estimate,
        advice: None,
        peak_residual_energy_integrated: peak,
        peak_residual_energy_integrated_time: peak_time,
        bonds: (0..graph.bonds.len())
            .map(|index| bond_report(run, &judgement, index))
            .collect(),
        connections: connections(run),
        interface_models: InterfaceModelReport::all(graph),
        decisions: decisions(graph, Some(&run.state)),
        algebraic_loops: loop_reports(&run.state),
        actions: run.state.scenario.done.iter().map(action).collect(),
        counters,
        warnings: warnings(run),
        notes: notes(run, &judgement),
    }
}

/// Direct feed-through of a component that shows in steps only; `None` if unknown.
fn feedthrough_in_steps(run: &Run, component: usize) -> Option<Vec<FeedthroughPair>> {
    let graph = &run.state.graph;
    let pair = |(output, input): &(usize, usize)| FeedthroughPair {
        input: graph.variable_name(component, graph.inputs[*input].variable),
        output: graph.output_name(*output),
    };
    match &run.state.exchange.step_responses[component] {
        StepResponse::AsProbed => Some(Vec::new()),
        StepResponse::Tried(pairs) => Some(pairs.iter().map(pair).collect()),
        StepResponse::Unknown => None,
    }
}

fn action(done: &DoneAction) -> ActionReport {
    ActionReport {
        time: done.time,
        variable: done.variable.to_string(),
        action: done.action,
        parameters: done.parameters.iter().copied().collect(),
        event: done.event,
    }
}

/// Warnings of the start, and of the steps since.
fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = run.warnings.clone();
    let unconverged = run.state.counters.unconverged_steps;
    if unconverged > 0 {
        warnings.push(format!(
            "the iteration has not converged in {unconverged} of {} macro-steps, whose last pass was accepted: take a smaller \
             `step_size`, allow more `max_iterations`, or see why with `on_failure = \"stop\"`",
            run.timeline.steps()
        ));
    }
    warnings.extend(run.control.1.warnings());
    warnings.extend(loop_warnings(&run.state));
    warnings
}

/// Notes of the start, and those that the bonds have given since.
fn notes(run: &Run, judgement: &Judgement<'_>) -> Vec<String> {
    let mut notes = run.notes.clone();
    let dispatch = run.state.units.dispatch.as_ref();
    let failure = dispatch.and_then(Dispatch::failure);
    notes.extend(failure.map(str::to_owned));
    notes.extend(denied_abilities(run));
    notes.extend(process_changes(run));
    notes.extend(own_ends(run));
    notes.extend(actions_to_come(run));
    let mut alarms = Vec::new();
    for index in 0..run.state.graph.bonds.len() {
        let bond = bond_report(run, judgement, index);
        if bond.correction_verdict == Some(CorrectionVerdict::Harmed) {
            let net = bond.net_energy_error.unwrap_or(f64::NAN);
            let stale = bond.stale_energy.unwrap_or(f64::NAN);
            notes.push(format!(
                "bond {}: the correction harms: the coupling's energy error is {} J with it and would have been {} J without; use another exchange mode, or another mu",
                bond.name,
                figure(net),
                figure(stale)
            ));
        }
        alarms.extend(
            bond.alarms
                .into_iter()
                .map(|alarm| (bond.name.clone(), alarm)),
        );
    }
    notes.extend(alarm_note(&alarms));
    notes
}

/// One note on all alarms of the bonds, which have these names: how many, the first, and the greatest.
fn alarm_note(alarms: &[(String, Alarm)]) -> Option<String> {
    let start = |(_, alarm): &&(String, Alarm)| alarm.start;
    let (bond, first) = alarms
        .iter()
        .min_by(|one, other| start(one).total_cmp(&start(other)))?;
    let size = |(_, alarm): &&(String, Alarm)| alarm.max_residual_power.abs();
    let (at, greatest) = alarms
        .iter()
        .max_by(|one, other| size(one).total_cmp(&size(other)))?;
    let watts = figure(greatest.max_residual_power);
    let (start, end) = (short(first.start), short(first.end));
    let time = short(greatest.max_time);
    Some(match alarms.len() {
        1 => format!(
            "bond {bond}: residual power above its running level from t = {start} s to {end} s, at most {watts} W at \
             t = {time} s"
        ),
        count => format!(
            "residual power above its running level {count} times: first at bond {bond} from t = {start} s to {end} s; \
             at most {watts} W, at bond {at}, t = {time} s"
        ),
    })
}

/// Abilities that units declare and do not have.
fn denied_abilities(run: &Run) -> impl Iterator<Item = String> {
    let components = run.state.graph.components.iter();
    let members = components.zip(&run.state.units.members);
    members.flat_map(|(node, member)| {
        let notes = member.denied.notes.iter();
        notes.map(|note| format!("{}: {note}", node.name))
    })
}

/// Names the units that have changed what the whole process has.
pub(super) fn process_changes(run: &Run) -> Vec<String> {
    let one = |change: &ProcessChange| {
        let end = match change.is_put_back {
            true => ", which was put back",
            false => "",
        };
        format!("{} has changed {}{end}", change.call, change.what)
    };
    let changes = run.process_changes().into_iter();
    let note = |(component, changes): (String, Vec<ProcessChange>)| {
        let list: Vec<String> = changes.iter().map(one).collect();
        format!(
            "`{component}`: {}: all components of a process share it",
            list.join("; ")
        )
    };
    changes.map(note).collect()
}

/// Names each unit that has ended the simulation, with its time; one that did so within the last macro-step has no values
/// of the end of it.
fn own_ends(run: &Run) -> Vec<String> {
    let has_ended = run.state.units.terminated.is_some();
    let members = run.state.units.members.iter().filter(|_| has_ended);
    let components = members.zip(&run.state.graph.components);
    let end = |(member, component): (&Member, &Component)| {
        let StepOutcome::Terminated(time) = member.outcome else {
            return None;
        };
        let last = run.time();
        let name = &component.name;
        let values = match time < last && !is_same_time(time, last, run.state.graph.macro_step) {
            true => format!("; its values at t = {last} s are those of that time"),
            false => String::new(),
        };
        Some(format!(
            "{name} has ended the simulation at t = {time} s{values}"
        ))
    };
    components.filter_map(end).collect()
}

/// Names the first action of a scenario for which a run to its stop time was too short.
fn actions_to_come(run: &Run) -> Option<String> {
    let channels = run.state.scenario.channels.iter();
    let actions = channels.flat_map(|channel| &channel.actions);
    let waiting = actions.filter(|action| action.phase == Phase::Waiting);
    let named = waiting.filter_map(|action| Some((action, action.reported_as.as_ref()?)));
    let named = named.filter(|_| run.stop_reason == StopReason::StopTime);
    let mut named: Vec<_> = named.collect();
    named.sort_by(|(one, _), (other, _)| one.time.total_cmp(&other.time));
    let (first, variable) = named.first()?;
    let count = match named.len() {
        1 => "1 action of the scenario has".to_owned(),
        count => format!("{count} actions of the scenario have"),
    };
    Some(format!(
        "{count} not begun by the stop time, {} s: `{}` of {variable} at {} s",
        short(run.time()),
        first.name,
        short(first.time)
    ))
}

/// The defects of all connections.
fn connections(run: &Run) -> Vec<ConnectionReport> {
    let names = run.state.graph.real_connections();
    let report = |((from, to), defect): ((String, String), Defect)| ConnectionReport {
        from,
        to,
        defect_rms: defect.rms,
        defect_max: defect.max,
        range: defect.range,
        relative_defect: defect.relative(),
    };
    names.zip(run.defects.connections()).map(report).collect()
}

fn bond_report(run: &Run, judgement: &Judgement<'_>, index: usize) -> BondReport {
    let bond = &run.state.graph.bonds[index];
    let corrector = run
        .state
        .bonds
        .correctors
        .iter()
        .find(|corrector| corrector.bond == index);
    let parameters = corrector.map(|corrector| corrector.correction.parameters_in_force());
    let energy = run.ledger.bond(index).copied().unwrap_or_default();
    let transferred_energy_range = run.ledger.transferred_range(index);
    let audit = run.audit.bond(index).copied().unwrap_or_default();
    let error = judgement.of_bond(index);
    BondReport {
        name: bond.name.clone(),
        energy,
        transferred_energy_range,
        residual_energy_integrated_error: run.ledger.integration_error(index).unwrap_or_default(),
        stale_energy: audit.known_stale_energy(),
        net_energy_error: audit.net_energy_error(energy.correction_energy),
        verdict: error.divergence().verdict(error.estimated_verdict),
        divergence: error.divergence(),
        estimated_verdict: error.estimated_verdict,
        coupling_error_estimate: error.estimate,
        correction_verdict: corrector
            .filter(|corrector| corrector.facts.removes_stale_energy)
            // One that has added nothing has done nothing to be judged.
            .filter(|_| energy.correction_energy != 0.0)
            .map(|_| audit.verdict(transferred_energy_range)),
        hindsight_mu: audit.hindsight_share(energy.residual_energy),
        alarms: run.alarms.bond(index).to_vec(),
        correction: match &bond.correction {
            Some(chosen) => chosen.name(),
            None if is_fed_forward(run, bond) => "learned",
            None => "off",
        },
        correction_parameters: parameters.unwrap_or_default().into_iter().collect(),
        is_power: bond.is_power,
    }
}

/// Whether learned feed-forward adds to an input of the bond.
fn is_fed_forward(run: &Run, bond: &Bond) -> bool {
    let signals = &run.state.courses.feed_forward;
    let inputs = |axis: &Axis| [axis.effort_input, axis.flow_input];
    let mut inputs = bond.axes.iter().flat_map(inputs);
    inputs.any(|input| signals.iter().any(|signal| signal.input == input))
}
