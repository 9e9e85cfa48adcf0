//! Executes the plan of a macro-step: each operation by the act that has its name. The run calls it for a macro-step, or a part of
//! it. It keeps no order of its own, and leaves out no operation.

use super::held_values::{give_held, hold_signals};
use super::{corrections, feed_forward, inputs, outputs, scenario, slopes, steps, substeps};
use crate::exchange::refresh;
use crate::fault::{Cause, Fault, UnitFault};
use crate::plan::{Declared, Operation, Stage, StageView, StepPlan};
use crate::profile::Probe;
use crate::state::SystemState;
use crate::step::{Phase, Step, StepParts};

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
    let mut stages = Stages {
        stages: &mut plan.stages,
        declared: &plan.declared,
    };
    for operation in &plan.operations {
        probe.act(operation.name(), |probe| {
            perform(operation, &mut stages, state, step, 0, probe)
        })?;
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
        Operation::Own(stage) => run_stage(stages, *stage, state, step, (part, false)).map(drop)?,
        Operation::Repeat { parts, body } => repeat(*parts, body, stages, state, step, probe)?,
        Operation::Iterate {
            components,
            limit,
            test,
            body,
        } => {
            let iteration = (components.as_slice(), *limit, *test);
            iterate(iteration, body, stages, state, step, probe)?;
        }
        Operation::FeedForward => feed_forward::play(&mut state.courses, &state.signals, step),
        Operation::Correct => corrections::correct(state, step)?,
        Operation::TakeBack => {
            scenario::take_back_additions(&state.scenario, &mut state.courses);
        }
        Operation::Prepare(selection) => inputs::prepare(state, selection, step),
        Operation::Give(selection) => inputs::give(state, selection, step)?,
        Operation::GiveSignals(selection) => inputs::give_signals(state, selection, step)?,
        Operation::Postpone(component) => postpone(state, *component, step)?,
        Operation::GiveHeld(component) => end_postponement(state, *component, step)?,
        Operation::Step(selection) => match selection.phase {
            Phase::Begin => steps::step(state, selection, step)?,
            Phase::End => steps::step_postponed(state, &selection.components, step)?,
        },
        Operation::Read(selection, store) => outputs::read(state, selection, *store, step)?,
        Operation::ReadSignalsAhead(selection) => {
            outputs::read_signals_ahead(state, selection, step)?;
        }
        Operation::Show(selection) => outputs::show(state, selection, step),
        Operation::ReadSignals => outputs::read_signals(state, step)?,
        Operation::ReadSlopes => slopes::read_slopes(state, step, step.index + 1)?,
        Operation::ObserveSubsteps => substeps::observe_substeps(state, step),
        Operation::Scenario => {
            let (time, now) = (step.end(&state.graph.clock), end_of(state, step));
            scenario::advance(state, time, step.index + 1, now, false);
        }
        Operation::Exchange(pass) => exchange(state, *pass, step)?,
        Operation::Check => outputs::check_finite(&state.graph, &state.signals, step)?,
        Operation::Observe => outputs::observe(state, step.index + 1, end_of(state, step)),
        // Stands in drafts alone, for the passes.
        Operation::ExchangeAll => {}
    }
    Ok(())
}

/// End of a macro-step, s since the start.
fn end_of(state: &SystemState, step: &Step) -> f64 {
    state.graph.clock.duration(step.from + step.length)
}

fn exchange(state: &mut SystemState, pass: usize, step: &Step) -> Result<(), Fault> {
    // A unit that has ended the simulation accepts no further inputs (FMI 2.0 §4.2.4).
    if state.units.terminated.is_some() {
        state.signals.exchanged.fill(0.0);
        return Ok(());
    }
    let now = end_of(state, step);
    refresh::refresh(state, pass, step, now)
}

fn postpone(state: &mut SystemState, component: usize, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        scenario,
        ..
    } = state;
    if !units.members[component].is_due(step.index) {
        return Ok(());
    }
    units.begun[component] = *step;
    hold_signals(graph, units, signals, scenario, component, step)
}

fn end_postponement(state: &mut SystemState, component: usize, step: &Step) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        signals,
        scenario,
        ..
    } = state;
    if !units.members[component].is_due(step.index + 1) {
        return Ok(());
    }
    give_held(graph, units, component, step)?;
    inputs::give_led_signals(graph, units, signals, scenario, component, step)
}

/// Makes equal parts of a macro-step.
fn repeat(
    parts: u32,
    body: &[Operation],
    stages: &mut Stages<'_>,
    state: &mut SystemState,
    step: &Step,
    probe: &mut impl Probe,
) -> Result<(), Fault> {
    let clock = state.graph.clock;
    let parts_of_step = StepParts::of(step, parts, &clock);
    for part in 0..parts {
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
