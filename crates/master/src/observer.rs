//! Observers see a run from outside: recorders, progress, assertions.

use std::ops::ControlFlow;

use crate::alarm::Alarms;
use crate::audit::Audit;
use crate::defect::Defects;
use crate::graph::Graph;
use crate::ledger::Ledger;
use crate::report::{ComponentBalance, Report};
use crate::unit::Value;
pub use crate::watch::Watched;

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
    /// Signals that the step control records: names and values. Empty if the steps are fixed.
    pub control: &'a [(&'static str, f64)],
    /// Spikes of the bonds' residual powers, in the same order.
    pub alarms: &'a Alarms,
    /// The variables that the observer [watches](Observer::watches), in its order.
    pub watched: &'a [Watched],
}

impl View<'_> {
    /// Energies that the power bonds of a component carry, by its place in [`Graph::component_names`]; `None` if it
    /// is at no power bond.
    pub fn balance(&self, component: usize) -> Option<ComponentBalance> {
        let bonds = self.graph.bonds.iter().zip(self.ledger.bonds());
        let mut balance = None;
        for (bond, energy) in bonds.filter(|(bond, _)| bond.is_power) {
            let given = energy.transferred_energy_integrated;
            if bond.flow_side == component {
                let balance = balance.get_or_insert_with(ComponentBalance::default);
                balance.received_energy += given + energy.residual_energy_integrated;
            }
            if bond.effort_side == component {
                let balance = balance.get_or_insert_with(ComponentBalance::default);
                balance.given_energy += given;
            }
        }
        balance.map(|balance| ComponentBalance {
            net_energy: balance.received_energy - balance.given_energy,
            ..balance
        })
    }
}

/// Reason of an observer to end the run at this communication point; the report names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopRequest {
    /// The user interrupted it.
    Interrupted,
    /// A limit was exceeded; the text says which.
    Limit(String),
}

/// A variable that an observer wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    pub(crate) name: String,
    pub(crate) once: bool,
}

impl Watch {
    /// `component.variable` at each communication point.
    pub fn each(name: impl Into<String>) -> Self {
        let (name, once) = (name.into(), false);
        Self { name, once }
    }

    /// `component.variable` as it is when the observer begins, such as a parameter.
    pub fn once(name: impl Into<String>) -> Self {
        let (name, once) = (name.into(), true);
        Self { name, once }
    }
}

/// Any error that an observer may report.
pub type ObserverError = Box<dyn std::error::Error + Send + Sync>;

/// Sees the system at the start and after every macro-step.
pub trait Observer: Send {
    /// Further variables that it wants to see: inputs, local variables, parameters. Asked once, before
    /// [`begin`](Self::begin), with the view of the first communication point. Variables other than outputs are read
    /// from their units.
    ///
    /// # Errors
    /// Ends the run.
    fn watches(&mut self, view: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
        let _ = view;
        Ok(Vec::new())
    }

    /// Its work in a macro-step, in one word, for a [profile](crate::profile::Profile).
    fn activity(&self) -> &'static str {
        "observe"
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

/// An observer whose type is known only while the program runs.
impl Observer for Box<dyn Observer> {
    fn watches(&mut self, view: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
        (**self).watches(view)
    }

    fn activity(&self) -> &'static str {
        (**self).activity()
    }

    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        (**self).begin(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        (**self).step(view)
    }

    fn finish(&mut self, report: &Report) -> Result<(), ObserverError> {
        (**self).finish(report)
    }
}
