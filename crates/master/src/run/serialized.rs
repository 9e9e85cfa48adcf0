//! The state of a run as bytes, from which another run of the same system goes on.

use super::Run;
use super::ending::fail;
use crate::engine;
use crate::fault::RunError;
use crate::graph::Graph;
use crate::report::StopReason;
use crate::state::{facts, transfer};
use crate::state_stream::{Misfit, StateStream};

/// Changes with the order and the meaning of the bytes.
const FORM: u32 = 7;

/// Refusal of bytes that do not fit.
const DAMAGED: &str =
    "its bytes are not a state of this system: they are damaged, or of another version of gyrator";

/// The state at the end of a run.
#[derive(Default)]
pub(super) enum LastState {
    #[default]
    NotWanted,
    Wanted,
    Kept(Result<Vec<u8>, RunError>),
}

/// Has a run keep its state when it comes to its stop time, before its units are terminated; [`last_state`] has
/// it then.
pub fn keep_last_state(run: &mut Run) {
    run.last_state = LastState::Wanted;
}

/// Takes the state at the end of a run, if [`keep_last_state`] has asked for it; `None` if the run has not come to
/// its stop time.
///
/// # Errors
/// As [`serialize`].
pub fn last_state(run: &mut Run) -> Option<Result<Vec<u8>, RunError>> {
    match std::mem::take(&mut run.last_state) {
        LastState::Kept(state) => Some(state),
        _ => None,
    }
}

/// The state at the present communication point as bytes. Another run of the same system that
/// [takes](deserialize) them, also in another process, and is given the same inputs has the same results
/// from there on, bit for bit.
///
/// FMUs keep their stop time in their states: [`RunOptions::open_end`](crate::RunOptions::open_end) gives them none.
///
/// # Errors
/// [`RunError::NotSaved`] if a component, or a word of a program's own, cannot, or if the last step was
/// shortened to end at the stop time; a unit that fails, which ends the run.
pub fn serialize(run: &mut Run) -> Result<Vec<u8>, RunError> {
    if run.has_ended() {
        return Err(RunError::Ended(run.stop_reason.word()));
    }
    serialized(run)
}

/// Has a run go to the state in the bytes of [`serialize`]. It has to be one of the same system,
/// with the same words, in the same steps, and before its first step; its stop time may be another one.
/// Observers that are added afterwards begin there.
///
/// # Errors
/// [`RunError::NotRestored`]: bytes that are not a state of this system, or one at or after the stop time; a unit
/// that refuses. The run has ended then.
pub fn deserialize(run: &mut Run, bytes: &[u8]) -> Result<(), RunError> {
    if run.has_ended() {
        return Err(RunError::Ended(run.stop_reason.word()));
    }
    let outcome = read(run, bytes).and_then(|()| check_rest(run));
    outcome.map_err(|error| fail(run, error))
}

/// Refuses a state after which there is nothing to do.
fn check_rest(run: &Run) -> Result<(), RunError> {
    if !run.timeline.is_over() {
        return Ok(());
    }
    let (time, stop) = (run.time(), run.timeline.stop_time());
    let stop = stop.unwrap_or(time);
    Err(RunError::NotRestored(format!(
        "it is of {time} s, and the run ends at {stop} s: it needs a later stop time"
    )))
}

/// Keeps the state when a run ends for this reason, if that is wanted.
pub(super) fn keep_at_end(run: &mut Run, reason: &StopReason) {
    let is_wanted = matches!(run.last_state, LastState::Wanted);
    if is_wanted && *reason == StopReason::StopTime {
        run.last_state = LastState::Kept(serialized(run));
    }
}

/// Whether all components say that they give their states as bytes, which no component has to be made for.
///
/// # Errors
/// [`RunError::NotSaved`] with those that do not.
pub fn check_serializable(graph: &Graph) -> Result<(), RunError> {
    let components = graph.components.iter();
    let unable = components.filter(|c| !c.description.capabilities.serialize);
    let unable: Vec<&str> = unable.map(|component| component.name.as_str()).collect();
    if unable.is_empty() {
        return Ok(());
    }
    let names = unable.join(", ");
    Err(RunError::NotSaved(format!(
        "{names} cannot give the state as bytes: an FMU has to declare `canGetAndSetFMUstate` and `canSerializeFMUstate`"
    )))
}

fn serialized(run: &mut Run) -> Result<Vec<u8>, RunError> {
    check_serializable(&run.state.graph)?;
    if !run.timeline.is_at_whole_step() {
        let time = run.time();
        return Err(RunError::NotSaved(format!(
            "the last step was shortened to end at {time} s, which is not a communication point of longer runs"
        )));
    }
    let mut stream = StateStream::to_write();
    transfer_facts(run, &mut stream)?;
    transfer_master(run, &mut stream)?;
    let mut states = states(run)?;
    states.iter_mut().for_each(|state| stream.raw(state));
    stream
        .finish()
        .ok_or_else(|| RunError::NotSaved("it has no bytes".to_owned()))
}

fn states(run: &mut Run) -> Result<Vec<Vec<u8>>, RunError> {
    let step = run.timeline.next_step();
    let members = run.state.units.members.iter_mut().enumerate();
    let states = members.map(|(component, member)| {
        let state = member.slot.unit().serialize();
        state.map_err(|cause| run.state.graph.fault(component, &step, cause))
    });
    let states: Result<_, _> = states.collect();
    states.map_err(|fault| {
        run.faulty = Some(fault.component.clone());
        let message = format!("an FMU does not give its state as it claims: {fault}");
        fail(run, RunError::NotSaved(message))
    })
}

/// Has a run take the bytes of a state, which may be one at its stop time.
pub(super) fn read(run: &mut Run, bytes: &[u8]) -> Result<(), RunError> {
    let mut stream = StateStream::to_read(bytes);
    transfer_facts(run, &mut stream)?;
    transfer_master(run, &mut stream)?;
    let mut states = vec![Vec::new(); run.state.units.members.len()];
    states.iter_mut().for_each(|state| stream.raw(state));
    if stream.trouble().is_some() || stream.finish().is_none() {
        return Err(RunError::NotRestored(DAMAGED.to_owned()));
    }
    let step = run.timeline.next_step();
    for (component, bytes) in states.iter().enumerate() {
        let unit = run.state.units.members[component].slot.unit();
        if let Err(cause) = unit.deserialize(bytes) {
            let fault = run.state.graph.fault(component, &step, cause);
            run.faulty = Some(fault.component.clone());
            return Err(RunError::Fault(fault));
        }
    }
    engine::select_ways_of_giving(&mut run.state);
    run.plan.renew(&mut run.state);
    Ok(())
}

/// The words and sizes on which the form of the bytes depends.
fn transfer_facts(run: &Run, stream: &mut StateStream) -> Result<(), RunError> {
    let mut form = FORM;
    stream.keep(&mut form);
    if form != FORM {
        return Err(RunError::NotRestored(format!(
            "it has the form {form}, and this version of gyrator reads the form {FORM}: save it again"
        )));
    }
    let mut own = vec![
        format!("the method {}", run.method),
        format!("the step control {}", run.control.0),
    ];
    own.extend(facts(&run.state));
    let mut count = own.len() as u64;
    stream.keep(&mut count);
    for own in &own {
        let mut theirs = own.clone();
        stream.keep(&mut theirs);
        if stream.trouble().is_some() {
            break;
        }
        if theirs != *own {
            return Err(RunError::NotRestored(format!(
                "it is of another system: of one with {theirs}, where this one has {own}"
            )));
        }
    }
    if stream.trouble().is_some() || count != own.len() as u64 {
        return Err(RunError::NotRestored(DAMAGED.to_owned()));
    }
    Ok(())
}

fn transfer_master(run: &mut Run, stream: &mut StateStream) -> Result<(), RunError> {
    let unable = |entry: String| {
        RunError::NotSaved(format!(
            "{entry} does not give its state as bytes (`transfer`)"
        ))
    };
    let able = |stream: &StateStream, kind: &str, name: &str| match stream.trouble() {
        Some(Misfit::Unable) => Err(unable(format!("the {kind} `{name}`"))),
        _ => Ok(()),
    };
    run.plan.plan().transfer(stream);
    able(stream, "method", run.method)?;
    run.control.1.transfer(stream);
    able(stream, "step control", run.control.0)?;
    transfer(&mut run.state, stream).map_err(unable)?;
    stream.keep(&mut run.ledger);
    stream.keep(&mut run.audit);
    stream.keep(&mut run.defects);
    stream.keep(&mut run.alarms);
    stream.keep(&mut run.timeline);
    stream.keep(&mut run.written);
    match stream.trouble() {
        Some(Misfit::Unable) => Err(unable("an action that was added while it ran".to_owned())),
        _ => Ok(()),
    }
}
