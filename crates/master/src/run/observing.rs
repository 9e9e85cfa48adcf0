//! The observers of a run at a communication point. The run calls them after each macro-step; they change nothing of it but its end.

use std::ops::ControlFlow;

use super::Run;
use super::ending::{end, fail};
use crate::fault::RunError;
use crate::observer::{Observer, StopRequest, View};
use crate::profile::Probe;
use crate::report::StopReason;
use crate::watch::{self, Watched};

/// An observer with the variables that it watches.
pub(super) struct Observing {
    pub(super) observer: Box<dyn Observer>,
    pub(super) watched: Vec<Watched>,
}

/// Shows the communication point to the observers; the first error or wish to end is followed.
pub(super) fn notify_observers(run: &mut Run, probe: &mut impl Probe) -> Result<(), RunError> {
    let mut observers = std::mem::take(&mut run.observers);
    let mut outcome = Ok(ControlFlow::Continue(()));
    let step = run.timeline.next_step();
    for Observing { observer, watched } in &mut observers {
        let seen = probe.rare_act(observer.activity(), |_| {
            let updated = watch::update(&mut run.state, watched, &step, true);
            updated.map_err(RunError::Fault)?;
            let view = View {
                watched: &*watched,
                ..run.view()
            };
            observer.step(&view).map_err(RunError::Observer)
        });
        match seen {
            Ok(ControlFlow::Continue(())) => {}
            other if matches!(outcome, Ok(ControlFlow::Continue(()))) => outcome = other,
            _ => {}
        }
    }
    run.observers = observers;
    match outcome {
        Ok(request) => continue_or_stop(run, request),
        Err(error) => {
            if let RunError::Fault(fault) = &error {
                run.faulty = Some(fault.component.clone());
            }
            Err(fail(run, error))
        }
    }
}

/// Ends the run if an observer wants it.
pub(super) fn continue_or_stop(
    run: &mut Run,
    request: ControlFlow<StopRequest>,
) -> Result<(), RunError> {
    match request {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(StopRequest::Interrupted) => end(run, StopReason::Interrupted),
        ControlFlow::Break(StopRequest::Limit(limit)) => end(run, StopReason::Limit(limit)),
    }
}
