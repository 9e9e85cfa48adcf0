//! An energy-aware co-simulation master.
//!
//! The command line, studies, Python, C and packed FMUs call it, and programs of your own. It never prints, and reads
//! neither the clock nor the environment; the same system gives the same bits on any number of threads.
//!
//! Units that are black boxes (FMUs, Rust models, closures of a test bench) are coupled by connections and by *power
//! bonds*, whose effort and flow multiply to a power. They are stepped explicitly, or [implicitly](method) if they
//! save their states, and a ledger keeps for every bond the energy that the discrete coupling makes.
//! [Corrections](correction) remove it; [exchange modes](exchange_mode) avoid it.
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
//!
//! At the root is what most programs need: systems, runs and their options, reports, a recorder and three kinds of units.
//! Methods of one's own are written against [`method`], [`extrapolation`], [`correction`], [`step_control`], [`exchange_mode`],
//! [`interface_model`], [`scenario`] and [`block`], and reach a system by its [registries](System::registries).

#![forbid(unsafe_code)]

mod alarm;
mod audit;
pub mod block;
mod bond_values;
pub mod compatibility;
pub mod correction;
mod counters;
mod curve;
mod decision;
mod defect;
mod dispatch;
mod elimination;
mod engine;
pub mod exchange;
pub mod exchange_mode;
pub mod extrapolation;
mod extremes;
mod fault;
mod feed_forward;
pub mod graph;
pub mod h_infinity;
mod halving_unit;
mod inner_steps;
pub mod interface_model;
pub mod interface_order;
mod joining;
pub mod learning;
mod ledger;
pub mod method;
pub mod need;
pub mod observer;
mod order;
pub mod plan;
pub mod profile;
pub mod random;
pub mod real_time;
mod recorder;
mod registries;
pub mod registry;
pub mod report;
mod resolve;
pub mod run;
mod run_options;
pub mod scenario;
mod single_steps;
mod start_error;
mod state;
mod state_check;
pub mod state_stream;
mod step;
pub mod step_control;
mod step_row;
pub mod system;
pub mod time;
pub mod unit;
mod unused_inputs;
mod value_conversion;
mod verdict;
mod watch;

/// Systems, scenarios and their problems as files describe them.
pub use gyrator_system as system_file;

/// Reasons why a system does not start, and why a run ends before its time.
pub mod error {
    pub use crate::fault::{Cause, Fault, RunError, UnitFault};
    pub use crate::start_error::{LoadError, LoadErrorKind, StartError, StateFileError};
}

/// Results: recorders of runs, sinks of rows, their readers, comparison.
pub mod record {
    pub use crate::bond_values::{BOND_VALUES, BondValue};
    pub use crate::recorder::{Recorder, Selection, UnknownVariable};
    pub use gyrator_record::*;
}

pub use dispatch::StepClock;
pub use error::{RunError, StartError};
pub use gyrator_system::{figure, short};
pub use observer::{Observer, View};
pub use recorder::Recorder;
pub use registries::Registries;
pub use report::{Report, StopReason, Verdict};
pub use run::{Input, Output, Run, Snapshot};
pub use run_options::RunOptions;
pub use system::{System, Word};
pub use unit::{ClosureUnit, LinearUnit, Unit, Value};
pub use value_conversion::{names_of_items, numbered_items};
