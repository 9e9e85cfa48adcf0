//! Report of a run: why it ended, the time reached, the counts of calls, the energies of the bonds.

pub use crate::alarm::{Alarm, Alarms};
pub use crate::audit::{Audit, BondAudit, CorrectionVerdict};
pub use crate::counters::Counters;
pub use crate::decision::Decision;
pub use crate::defect::{Defect, Defects};
use crate::exchange_mode::Exchange;
use crate::graph::Graph;
use crate::interface_model::{InterfaceModel, Schedule};
pub use crate::ledger::{BondEnergy, Ledger};
pub use crate::verdict::{Divergence, Unknown, Verdict};

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "detail")]
pub enum StopReason {
    /// It is still running.
    Running,
    /// It reached its stop time.
    StopTime,
    /// A unit ended the simulation on its own wish.
    Terminated,
    /// The user interrupted it.
    Interrupted,
    /// The program that embeds it ended it with [`Run::stop`](crate::Run::stop).
    Stopped,
    /// An observer's limit was exceeded.
    Limit(String),
    /// A unit or an observer failed.
    Failed(String),
}

impl StopReason {
    /// One kebab-case word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::StopTime => "stop-time",
            Self::Terminated => "terminated",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Limit(_) => "limit",
            Self::Failed(_) => "failed",
        }
    }
}

/// An algebraic loop between steps: outputs that depend on each other at one instant.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AlgebraicLoopReport {
    /// Its outputs, `component.variable`.
    pub outputs: Vec<String>,
    /// Its components.
    pub members: Vec<LoopMember>,
    /// Communication points after the start at which it was solved, or was to be.
    pub points: u64,
    /// Those at which no solution was found, or one iteration was too few.
    pub unsolved: u64,
    /// The largest difference at these between an output and the inputs that it feeds, relative to the output; for loops that
    /// are solved by one iteration an estimate.
    pub residual: f64,
    /// The output with that residual.
    pub residual_output: String,
    /// Time of it, s.
    pub residual_time: f64,
}

/// A component of an algebraic loop.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LoopMember {
    /// Name.
    pub component: String,
    /// How its outputs are found under the inputs of the solution: `fresh` (read again), `trial-steps` (from a saved state) or
    /// `linear` (as the step left them plus D·(u − ũ)).
    pub way: &'static str,
}

/// A component's part of the report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ComponentReport {
    /// Name.
    pub name: String,
    /// Communication step, s.
    pub step_size: f64,
    /// How its outputs with direct feed-through were exchanged.
    pub exchange: Exchange,
    /// Direct feed-through that shows in steps only; `None` if some is declared, none shows, and its last steps were
    /// not tried.
    pub feedthrough_in_steps: Option<Vec<FeedthroughPair>>,
    /// Its balance; `None` if it is at no power bond.
    #[serde(flatten)]
    pub balance: Option<ComponentBalance>,
}

/// An output that follows an input directly.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FeedthroughPair {
    /// The input, `component.variable`.
    pub input: String,
    /// The output, `component.variable`.
    pub output: String,
}

/// Energies that the power bonds of a component carry. Over all components, what is received less what is
/// given is the residual energy of the bonds.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct ComponentBalance {
    /// Energy from the bonds at whose end b it is, J.
    pub received_energy: f64,
    /// Energy into the bonds at whose end a it is, J.
    pub given_energy: f64,
    /// Received less given, J.
    pub net_energy: f64,
}

/// A bond's part of the report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BondReport {
    /// Name.
    pub name: String,
    /// Its energies.
    #[serde(flatten)]
    pub energy: BondEnergy,
    /// Greatest less least transferred energy, J: what went over the bond and did not come back, at most.
    pub transferred_energy_range: f64,
    /// Error of `residual_energy_integrated`, J; see [`Ledger::integration_error`](crate::report::Ledger::integration_error).
    pub residual_energy_integrated_error: f64,
    /// W_stale: energy that stale direct feed-through put in, J; `None` if D is unknown.
    pub stale_energy: Option<f64>,
    /// W_stale plus the correction's own energy, J; `None` if D is unknown.
    pub net_energy_error: Option<f64>,
    /// How far the coupling at this bond changes the result.
    pub verdict: Verdict,
    /// As [`Report::divergence`], for the signals of this bond.
    pub divergence: Divergence,
    /// As [`Report::estimated_verdict`].
    pub estimated_verdict: Verdict,
    /// The greatest relative error that the coupling at this bond makes in a signal, estimated; `None` if unknown.
    pub coupling_error_estimate: Option<f64>,
    /// Effect of the correction on the energy error; `None` if the audit can judge none, or if nothing was added.
    pub correction_verdict: Option<CorrectionVerdict>,
    /// The share μ that would have been right, W_stale over the residual energy.
    pub hindsight_mu: Option<f64>,
    /// Intervals in which the residual power was above its running level.
    pub alarms: Vec<Alarm>,
    /// The correction in force; `learned` if there is feed-forward only, `off` if there is none.
    pub correction: &'static str,
    /// Parameters of the correction that are in force.
    pub correction_parameters: std::collections::BTreeMap<&'static str, f64>,
    /// False if the units of measurement show that effort × flow is not a power.
    pub is_power: bool,
}

/// A connection's part of the report: its [defect](crate::report::Defect).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ConnectionReport {
    /// The output, `component.variable`.
    pub from: String,
    /// The input, `component.variable`.
    pub to: String,
    /// Root mean square of the defect, in the unit of the input.
    pub defect_rms: f64,
    /// Its greatest magnitude.
    pub defect_max: f64,
    /// Greatest less least value that the source gave.
    pub range: f64,
    /// `defect_rms` relative to `range`.
    pub relative_defect: f64,
}

/// An interface model's part of the report.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct InterfaceModelReport {
    /// Name.
    pub name: String,
    /// The multibody component.
    pub component: String,
    /// The fast components.
    pub fast_components: Vec<String>,
    /// Step of the exchanges with the fast components, s.
    pub exchange_step: f64,
    /// Its order and options.
    #[serde(flatten)]
    pub schedule: Schedule,
}

impl InterfaceModelReport {
    /// The reports of all interface models of a graph.
    pub(crate) fn all(graph: &Graph) -> Vec<Self> {
        let name = |component: &usize| graph.components[*component].name.clone();
        let report = |model: &InterfaceModel| Self {
            name: model.name.clone(),
            component: name(&model.component),
            fast_components: model.fast.iter().map(name).collect(),
            exchange_step: graph.macro_step / f64::from(model.exchanges),
            schedule: model.schedule,
        };
        graph.interface_models.iter().map(report).collect()
    }
}

/// Begin or end of an action of a scenario.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ActionReport {
    /// The communication point from which it shows, s.
    pub time: f64,
    /// The variable, as `component.variable`.
    pub variable: String,
    /// Word of the action.
    pub action: &'static str,
    /// Its parameters: the numbers of items and truth values.
    pub parameters: std::collections::BTreeMap<&'static str, f64>,
    /// `begin` or `end`.
    pub event: &'static str,
}

/// Report of a run.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Report {
    /// Why it ended.
    pub stop_reason: StopReason,
    /// Simulated time at its end, s.
    pub stop_time: f64,
    /// Macro-steps made.
    pub steps: u64,
    /// Word of the method.
    pub method: &'static str,
    /// Word of the step control.
    pub step_control: &'static str,
    /// The components, in the order of their names.
    pub components: Vec<ComponentReport>,
    /// How far the coupling changes the result.
    pub verdict: Verdict,
    /// Why this run alone cannot be judged, if it cannot.
    pub unknown: Option<Unknown>,
    /// Whether the run diverges by its coupling. One run alone says `None` or `Suspected`.
    pub divergence: Divergence,
    /// The verdict by [`coupling_error_estimate`](Self::coupling_error_estimate), whatever grows: the verdict, if the run does not diverge.
    pub estimated_verdict: Verdict,
    /// The greatest error of a signal by the coupling, relative to its range, as root of the mean square; estimated from this
    /// run alone, and within a factor 3 in half to four fifths of the systems that were measured. `None` if unknown.
    pub coupling_error_estimate: Option<f64>,
    /// What to do about a coupling that diverges; whoever verifies it writes it here.
    pub advice: Option<String>,
    /// The energy that the coupling has made at all power bonds together, integrated, when it had the greatest
    /// magnitude, J.
    pub peak_residual_energy_integrated: f64,
    /// Time of it, s.
    pub peak_residual_energy_integrated_time: f64,
    /// The bonds, in the order of their names.
    pub bonds: Vec<BondReport>,
    /// The connections of real variables, in the order of their inputs.
    pub connections: Vec<ConnectionReport>,
    /// The interface models, in the order of their names.
    pub interface_models: Vec<InterfaceModelReport>,
    /// The choices that `auto` has made, and the last changes of each.
    pub decisions: Vec<Decision>,
    /// The algebraic loops between steps.
    pub algebraic_loops: Vec<AlgebraicLoopReport>,
    /// The actions of a scenario that were carried out, in the order of their times.
    pub actions: Vec<ActionReport>,
    /// Counters by cause.
    pub counters: Counters,
    /// Likely mistakes of the description, which the start has found, and algebraic loops that are not solved.
    pub warnings: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Report {
    /// Takes over what a second run has told of a run that was [suspected](Divergence::Suspected), also for its suspected
    /// bonds. All verdicts are the [estimated](Self::estimated_verdict) ones, unless the run diverges.
    pub fn settle(&mut self, divergence: Divergence) {
        for bond in &mut self.bonds {
            if bond.divergence == Divergence::Suspected {
                bond.divergence = divergence;
            }
            bond.verdict = bond.divergence.verdict(bond.estimated_verdict);
        }
        self.divergence = divergence;
        self.verdict = divergence.verdict(self.estimated_verdict);
    }
}
