//! Makes an FMI 2.0 co-simulation FMU from a model of about sixty lines of Rust.
//!
//! The models and packed FMUs use it. It knows no importer, and never the loader: they meet at the C interface.
//!
//! A model implements [`Model`]: a table of variables, continuous states with their rates, and
//! outputs. The kit does the rest: state machine, inner integration, saved states, directional
//! derivatives, logging, `modelDescription.xml`.
//!
//! ```
//! use fmu_kit::{Fault, InProcess, Integrator, Model, Variable};
//!
//! /// x' = u − x, y = x.
//! #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
//! struct Lag { u: f64, x: [f64; 1] }
//! type LagVariable = Variable<Lag>;
//!
//! impl Model for Lag {
//!     const NAME: &'static str = "Lag";
//!     const DESCRIPTION: &'static str = "First-order lag";
//!     const INTEGRATOR: Integrator = Integrator::RungeKutta4;
//!
//!     fn variables() -> Vec<Variable<Self>> {
//!         vec![
//!             LagVariable::input_real("u", |m| &mut m.u, "input"),
//!             LagVariable::output_real("y", |m| &mut m.x[0], "output"),
//!         ]
//!     }
//!     fn state(&mut self) -> &mut [f64] {
//!         &mut self.x
//!     }
//!     fn derivatives(&self, _time: f64, rates: &mut [f64]) {
//!         rates[0] = self.u - self.x[0];
//!     }
//! }
//!
//! // In process; a crate that is a `cdylib` calls `fmu_kit::export!(Lag);` instead.
//! let mut lag = InProcess::<Lag>::new();
//! let [u, y] = ["u", "y"].map(|name| lag.reference(name).unwrap());
//! lag.initialize()?;
//! lag.set(u, 1.0)?;
//! for k in 0..10 {
//!     lag.step(0.1 * f64::from(k), 0.1)?;
//! }
//! let exact = 1.0 - (-1.0_f64).exp();
//! assert!((lag.get::<f64>(y)? - exact).abs() < 1e-6);
//! # Ok::<(), Fault>(())
//! ```

mod check;
pub mod crash;
mod description;
mod export;
#[doc(hidden)]
pub mod ffi;
mod in_process;
mod input_curve;
mod integrator;
mod model;
#[cfg(feature = "package")]
pub mod package;
mod simulation;
mod slave;
mod start_values;
mod table;
#[cfg(test)]
mod test_model;
pub mod unit;
mod variable;

pub use check::problems;
pub use description::{
    BaseType, Description, LOG_CATEGORIES, ScalarVariable, describe, scalar_variables,
};
pub use fmi2_abi::{Causality, Variability};
pub use in_process::{InProcess, Saved};
pub use model::{Fault, Integrator, Model};
pub use simulation::{Experiment, Instantiation, Simulation, Values, VariableAccess};
pub use table::{Scalar, ValueReference};
pub use variable::{Access, Enumeration, Settings, Variable};
