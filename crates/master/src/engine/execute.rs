//! Executes the plan of a macro-step.

use super::held_values::{give_held, hold_signals};
use super::lane::step_in_lane;
use super::{corrections, feed_forward, inputs, outputs, scenario, slopes, steps, substeps};
use crate::dispatch::Way;
use crate::exchange::refresh;
use crate::fault::{Cause, Fault, UnitFault};
use crate::plan::{Declared, Operation, Phase, Stage, StageView, StepPlan, Store};
use crate::profile::Probe;
use crate::state::SystemState;
use crate::step::{Step, StepParts};

/// Makes a macro-step, with a probe around each operation.
///
/// # Errors
/// The first fault of a unit, or the first value that is NaN or infinite.
#[inline(always)]
pub(crate) fn execute(
    plan: &mut StepPlan,
    state: &mut SystemState,
    step: &Step,
    probe: &mut impl Probe,
) -> Result<(), Fault> {
    state.signals.had_event = false;
    for operation in &plan.operations {
        match operation {
            Operation::Lane { checks } => {
                probe.act(operation.name(), |_| lane(state, *checks, step))?;
            }
            operation => {
                let mut stages = Stages {
                    stages: &mut plan.stages,
                    declared: &plan.declared,
                };
                probe.act(operation.name(), |probe| {
                    perform(operation, &mut stages, state, step, 0, probe)
                })?;
            }
        }
    }
    Ok(())
}

/// All components, fed by copies, make one communication step. A function of its own, whose loops keep what they need in
/// registers.
#[inline(never)]
fn lane(state: &mut SystemState, checks: bool, step: &Step) -> Result<(), Fault> {
    let count = state.units.members.len();
    let dispatch = state.units.dispatch.as_mut();
    let turn = dispatch.map(|dispatch| dispatch.next_of_all(count));
    let own = turn.as_ref().filter(|turn| turn.way != Way::Usual);
    if own.is_some() || !step_in_lane(state, step)? {
        inputs::feed_straight(state, step)?;
        steps::step_straight(state, step, own)?;
        outputs::publish_straight(state, step)?;
    }
    steps::end_turn(&mut state.units, turn.as_ref());
    if checks {
        outputs::check_finite(&state.graph, &state.signals, step)?;
    }
    Ok(())
}

/// Does an operation in a macro-step, or in a `part` of it.
#[inline(never)]
fn perform(
    operation: &Operation,
    stages: &mut Stages<'_>,
    state: &mut SystemState,
    step: &Step,
    part: u32,
    probe: &mut impl Probe,
) -> Result<(), Fault> {
    match operation {
        Operation::Own(stage) => run_stage(stages, *stage, state, step, (part, false)).map(drop),
        Operation::Repeat { parts, body } => {
            let clock = state.graph.clock;
            let parts_of_step = StepParts::of(step, *parts, &clock);
            for part in 0..*parts {
                let own = parts_of_step.part(part);
                for operation in body {
                    probe.act(operation.name(), |probe| {
                        perform(operation, stages, state, &own, part, probe)
                    })?;
                }
                if state.units.terminated.is_some() {
                    break;
                }
            }
            Ok(())
        }
        Operation::Iterate {
            components,
            limit,
            test,
            body,
        } => {
            let iteration = (components.as_slice(), *limit, *test);
            iterate(iteration, body, stages, state, step, probe)
        }
        Operation::Feed => inputs::feed_straight(state, step),
        Operation::Lane { checks } => lane(state, *checks, step),
        _ => act_on_units(operation, state, step),
    }
}

/// Makes passes of an iteration, each from the states in which the components were before it, until its test is content.
#[cold]
fn iterate(
    (components, limit, test): (&[usize], u32, usize),
    body: &[Operation],
    stages: &mut Stages<'_>,
    state: &mut SystemState,
    step: &Step,
    probe: &mut impl Probe,
) -> Result<(), Fault> {
    let terminated = state.units.terminated;
    run_stage(stages, test, state, step, (0, false))?;
    for pass in 1..=limit {
        for &component in components {
            save_or_go_back(state, component, pass > 1, step)?;
        }
        state.units.terminated = terminated;
        state.counters.iterations += 1;
        let mut operations = body.iter();
        let made = operations.try_for_each(|act| {
            probe.act(act.name(), |probe| {
                perform(act, stages, state, step, pass, probe)
            })
        });
        let is_discarded = match made {
            Ok(()) => false,
            Err(fault) if fault.unit.cause == Cause::Discard && pass > 1 && pass < limit => true,
            Err(fault) => return Err(fault),
        };
        if run_stage(stages, test, state, step, (pass, is_discarded))? {
            return Ok(());
        }
    }
    state.counters.unconverged_steps += 1;
    Ok(())
}

/// Operations that feed, step and read units.
#[inline(always)]
fn act_on_units(operation: &Operation, state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        scenario,
        counters,
        ..
    } = &mut *state;
    match operation {
        Operation::Prepare(selection) => {
            let now = graph.clock.duration(step.from);
            for &component in &selection.components {
                let member = &units.members[component];
                if member.is_due(step.index) {
                    inputs::prepare(member, courses, signals, step, now);
                }
            }
        }
        Operation::Give(selection) => {
            for &component in &selection.components {
                if units.members[component].is_due_at(selection.phase, step) {
                    inputs::give(graph, units, courses, counters, component, step)?;
                }
            }
        }
        Operation::GiveSignals(selection) => {
            let components = &selection.components;
            inputs::give_signals(graph, units, signals, scenario, components, step)?;
        }
        Operation::Postpone(component) => {
            if units.members[*component].is_due(step.index) {
                units.begun[*component] = *step;
                hold_signals(graph, units, signals, scenario, *component, step)?;
            }
        }
        Operation::GiveHeld(component) => {
            if units.members[*component].is_due(step.index + 1) {
                give_held(graph, units, *component, step)?;
                inputs::give_led_signals(graph, units, signals, scenario, *component, step)?;
            }
        }
        Operation::Step(selection) => match selection.phase {
            Phase::Begin => {
                steps::step(graph, units, courses, counters, &selection.components, step)?;
            }
            Phase::End => {
                for &component in &selection.components {
                    if units.members[component].is_due(step.index + 1) {
                        let begun = units.begun[component];
                        steps::step_due(graph, units, courses, counters, &[component], &begun)?;
                    }
                }
            }
        },
        Operation::Read(selection, store) => {
            let store = match store {
                Store::Shown => &mut signals.reals,
                Store::Ahead => &mut signals.ahead,
            };
            for &component in &selection.components {
                if units.members[component].is_due_at(selection.phase, step) {
                    outputs::read(graph, units, store, counters, component, step)?;
                }
            }
        }
        Operation::ReadSignalsAhead(selection) => {
            let of = (&*selection.components, selection.phase);
            outputs::read_signals_ahead(graph, units, signals, of, step)?;
        }
        Operation::Show(selection) => outputs::show(units, &selection.components, signals, step),
        _ => complete(operation, state, step)?,
    }
    Ok(())
}

/// Operations before the courses of a macro-step are prepared, and after its real outputs are published.
fn complete(operation: &Operation, state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        scenario: running,
        ..
    } = &mut *state;
    let end = || graph.clock.duration(step.from + step.length);
    match operation {
        Operation::FeedForward => feed_forward::play(courses, signals, step),
        Operation::Correct => corrections::correct(state, step)?,
        Operation::TakeBack => scenario::take_back_additions(running, courses),
        Operation::ReadSignals => outputs::read_signals(graph, units, signals, courses, step)?,
        Operation::ReadSlopes => slopes::read_slopes(state, step, step.index + 1)?,
        Operation::ObserveSubsteps => {
            substeps::observe_substeps(graph, units, signals, courses, step);
        }
        Operation::Scenario => {
            let (time, now) = (step.end(&graph.clock), end());
            scenario::advance(state, time, step.index + 1, now, false);
        }
        // A unit that has ended the simulation accepts no further inputs (FMI 2.0 §4.2.4).
        Operation::Exchange(_) if units.terminated.is_some() => signals.exchanged.fill(0.0),
        Operation::Exchange(pass) => {
            let now = end();
            refresh::refresh(state, *pass, step, now)?;
        }
        Operation::Check => outputs::check_finite(graph, signals, step)?,
        Operation::Observe => outputs::observe(units, signals, courses, step.index + 1, end()),
        // The others act on units; only drafts have `ExchangeAll`.
        _ => {}
    }
    Ok(())
}

/// The stages of a plan, and the values that each may touch.
struct Stages<'a> {
    stages: &'a mut [Box<dyn Stage>],
    declared: &'a [Declared],
}

/// Returns whether the iteration that the stage tests is over.
fn run_stage(
    stages: &mut Stages<'_>,
    index: usize,
    state: &mut SystemState,
    step: &Step,
    (part, is_discarded): (u32, bool),
) -> Result<bool, Fault> {
    let mut view = StageView {
        state,
        step: *step,
        part,
        is_discarded,
        has_converged: false,
        declared: &stages.declared[index],
        undeclared: None,
    };
    stages.stages[index].run(&mut view)?;
    match view.undeclared {
        None => Ok(view.has_converged),
        Some((component, text)) => {
            let cause = UnitFault::new("stage", Cause::Error, text);
            Err(state.graph.fault(component, step, cause))
        }
    }
}

/// Saves a component before the first pass of an iteration, and takes it back there before all others.
fn save_or_go_back(
    state: &mut SystemState,
    component: usize,
    is_saved: bool,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState { graph, units, .. } = state;
    let unit = units.members[component].slot.unit();
    let kept = &mut units.iterated[component];
    let result = match kept {
        Some(kept) if is_saved => unit.restore(kept),
        _ => unit.save(kept.take()).map(|saved| *kept = Some(saved)),
    };
    result.map_err(|cause| graph.fault(component, step, cause))
}
