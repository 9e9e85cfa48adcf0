//! An energy-aware co-simulation master.
//!
//! Units that are black boxes (FMUs, Rust models, closures of a test bench) are coupled by
//! connections and by *power bonds*, whose effort and flow multiply to a power. They are stepped
//! explicitly, without iteration and without rolling anything back, and a ledger keeps for every
//! bond the energy that the discrete coupling invents. [Corrections](CORRECTIONS) take it out;
//! [exchange modes](Exchange) avoid it.
//!
//! A system can be [read from a file](System::from_file) or built in code:
//!
//! ```
//! use gyrator::{ClosureUnit, LinearUnit, RunOptions, System};
//!
//! // A mass on a spring, with the coupling's spring and damper: f = 100·(x − x2) + 0.1·(v − v2).
//! let left = LinearUnit::new(&[0.0, 100.0], &["x2", "v2"], &["f", "x"], [
//!     &[0.0, 1.0, -110.0, -0.1], &[0.0, 0.0, 100.0, 0.1], // ẋ = A·(x, v) + B·(x2, v2)
//!     &[100.0, 0.1, 1.0, 0.0], &[-100.0, -0.1, 0.0, 0.0], // (f, x) = C·(x, v) + D·(x2, v2)
//! ]);
//! // Another mass on a spring, as a closure: a test bench would talk to its hardware here.
//! let (mut x, mut v) = (0.0, -100.0);
//! let right = ClosureUnit::new(&[("f", 0.0), ("push", 0.0)], &[("x", x), ("v", v)], move |call| {
//!     v += call.step * (call.inputs[0] + call.inputs[1] - 1000.0 * x);
//!     x += call.step * v;
//!     call.outputs.copy_from_slice(&[x, v]);
//! });
//!
//! let mut system = System::new(1e-3); // macro-step, s
//! system.add("left", left).exchange("stale");
//! system.add("right", right);
//! system.connect("right.x", "left.x2");
//! let bond = system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"));
//! bond.correction(("residual-power", [("mu", 0.5)]));
//! let mut run = system.start(&RunOptions::default())?;
//! for step in 0..1000 {
//!     run.write_real("right.push", if step < 10 { 5.0 } else { 0.0 })?;
//!     run.step()?;
//! }
//! let energy = *run.ledger().bond(0).expect("the system has one bond");
//! println!("x = {:.3} m at t = {} s: {energy:#?}", run.read_real("right.x")?, run.time());
//! # assert!((run.time() - 1.0).abs() < 1e-12 && energy.correction_energy < 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod alarm;
mod audit;
mod block;
mod bond_values;
mod closure_unit;
mod compatibility;
mod correction;
mod counters;
mod curve;
mod defect;
mod elimination;
mod engine;
mod exchange;
mod exchange_mode;
mod extrapolation;
mod extremes;
mod fault;
mod feed_forward;
mod fmu_unit;
mod graph;
mod halving_unit;
mod interface_model;
mod joining;
mod learning;
mod ledger;
mod linear_unit;
mod method;
mod need;
mod observer;
mod order;
mod physical_unit;
mod random;
mod real_time;
mod recorder;
mod registries;
mod registry;
mod report;
mod resolve;
mod run;
mod run_options;
mod scenario;
mod single_steps;
mod start_error;
mod state;
mod state_check;
mod step;
mod step_control;
mod system;
mod time;
mod unit;
mod unit_maker;
mod unit_wrapper;
mod value_conversion;
mod verdict;
mod watch;

/// Results: sinks of rows, their readers, comparison.
pub use gyrator_record as record;
/// Systems, scenarios and their problems as files describe them.
pub use gyrator_system as system_file;

pub use alarm::{Alarm, Alarms};
pub use audit::{Audit, BondAudit, CorrectionVerdict};
pub use block::{BLOCKS, Block, BlockFacts, block_files};
pub use bond_values::{BOND_VALUES, BondValue};
pub use closure_unit::{Call, ClosureUnit};
pub use compatibility::{Claims, claims};
pub use correction::{
    BondFacts, BondPoint, CORRECTIONS, Correction, CorrectionFacts, Increments, Limit, Side,
};
pub use counters::Counters;
pub use curve::Curve;
pub use defect::{Defect, Defects};
pub use exchange_mode::{EXCHANGE_MODES, Exchange, ExchangeFacts};
pub use extrapolation::{EXTRAPOLATIONS, Extrapolation, ExtrapolationFacts, Sample, SignalSteps};
pub use fault::{Cause, Fault, RunError, UnitFault};
pub use feed_forward::{FeedForward, FeedForwardError};
pub use fmu_unit::FmuUnit;
pub use graph::{Graph, GraphVariable, RecordedVariable};
pub use interface_model::{
    FastInputs, INTERFACE_ORDERS, InterfaceOrder, PassedForce, Schedule, ScheduleFacts,
};
pub use learning::{
    Base, ChannelError, Interpolation, Iteration, Learned, Learning, LearningError,
    LearningObserver, LearningOutcome,
};
pub use ledger::{BondEnergy, Ledger};
pub use linear_unit::{LinearUnit, ShapeError};
pub use method::{METHODS, Method, MethodFacts};
pub use need::{Facts, Need};
pub use observer::{Observer, ObserverError, StopRequest, View, Watch};
pub use physical_unit::PhysicalUnit;
pub use random::SplitMix64;
pub use real_time::{Durations, Overruns, RealTime, StepThread, ThreadError, Timing, TimingReport};
pub use recorder::{Recorder, Selection, UnknownVariable};
pub use registries::Registries;
pub use registry::{
    Arguments, Chosen, Entry, EntryError, EntryKind, ParameterInfo, ParameterKind, Registry,
    look_up,
};
pub use report::{
    ActionReport, BondReport, ComponentBalance, ComponentReport, ConnectionReport, FeedthroughPair,
    InterfaceModelReport, Report, StopReason,
};
pub use run::{
    Input, Output, Readable, Run, Snapshot, VariableValue, Writable, check_senses,
    divergence_advice,
};
pub use run_options::RunOptions;
pub use scenario::{ACTIONS, Action, ActionFacts, ActsOn, Transformation};
pub use start_error::{LoadError, LoadErrorKind, StartError};
pub use state::SystemState;
pub use step::Step;
pub use step_control::{Decision, STEP_CONTROLS, StepAudit, StepControl, StepControlFacts};
pub use system::{
    BondSettings, ComponentSettings, ConnectionSettings, Evidence, FmuCache,
    InterfaceModelSettings, SuggestedBond, System, Word, check_scenario, expand_patterns,
    further_problems, resolved_graph, suggested_bonds,
};
pub use time::{Clock, Rate, Ticks};
pub use unit::{
    Capabilities, Causality, Feedthrough, Handle, Period, SavedState, StepOutcome, Unit,
    UnitDescription, UnitResult, Value, Variable, VariableType,
};
pub use unit_maker::{InProcess, UnitMaker, UnitOrder};
pub use unit_wrapper::UnitWrapper;
pub use verdict::Verdict;
pub use watch::Watched;
