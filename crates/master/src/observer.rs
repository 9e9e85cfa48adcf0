//! Observers see a run from outside: recorders, progress, assertions.

use std::ops::ControlFlow;

use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::unit::Value;
use crate::watch::Watched;

/// A running system at a communication point.
pub struct View<'a> {
    /// Simulated time, s.
    pub time: f64,
    /// Macro-steps made.
    pub steps: u64,
    /// The system.
    pub graph: &'a Graph,
    /// Published real outputs, in the order of [`Graph::real_outputs`].
    pub reals: &'a [f64],
    /// Published outputs of other kinds, in the order of [`Graph::signals`].
    pub signals: &'a [Value],
    /// The energies of the bonds, in the order of [`Graph::bond_names`].
    pub ledger: &'a Ledger,
    /// Effect of stale direct feed-through on the energy of the bonds, in the same order.
    pub audit: &'a Audit,
    /// The defects of the connections, in the order of [`Graph::real_connections`].
    pub defects: &'a Defects,
    /// Signals that the step control records: names and values. Empty where the steps are fixed.
    pub control: &'a [(&'static str, f64)],
    /// Spikes of the bonds' residual powers, in the same order.
    pub alarms: &'a Alarms,
    /// The variables that the observer [watches](Observer::watches), in its order.
    pub watched: &'a [Watched],
}

/// Reason of an observer to end the run at this communication point; the report names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopRequest {
    /// The user interrupted it.
    Interrupted,
    /// A limit was exceeded; the text says which.
    Limit(String),
}

/// Any error that an observer may report.
pub type ObserverError = Box<dyn std::error::Error + Send + Sync>;

/// Sees the system at the start and after every macro-step.
pub trait Observer: Send {
    /// Names of further variables, `component.variable`, that it wants to see: inputs, local variables,
    /// parameters. Asked once, before [`begin`](Self::begin). Variables that are no outputs are read from
    /// their units at each communication point.
    fn watches(&self) -> Vec<String> {
        Vec::new()
    }

    /// The system is at its first communication point.
    ///
    /// # Errors
    /// Ends the run; other observers still finish.
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let _ = view;
        Ok(ControlFlow::Continue(()))
    }

    /// A macro-step has been made.
    ///
    /// # Errors
    /// Ends the run; other observers still finish.
    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError>;

    /// The run has ended, well or not; called once in either case.
    ///
    /// # Errors
    /// A failure to finish, for example a result that could not be written.
    fn finish(&mut self, report: &Report) -> Result<(), ObserverError> {
        let _ = report;
        Ok(())
    }
}
