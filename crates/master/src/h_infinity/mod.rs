//! H∞ coupling after Chen, Ran, Wu and Jacobson (2021).
//!
//! The extrapolation `hinfinity` of the engine and charts of its designs call it. It knows neither units nor steps of
//! a run.
//!
//! A signal that is sent every macro-step Δt and held in between reaches its receiver late and in
//! steps. The paper puts a compensator K₁ before the sender's sampler, which leads as much as the
//! hold lags, and a low-pass smoother K₂ behind the hold, at the receiver. K₁ is the solution of
//! an H∞ problem that depends on the interface only, not on the units:
//!
//! > minimise ‖W_f·(1 − H*·K₂·K₁)‖∞
//!
//! with the hold H* in Padé's approximation and a low-pass weight W_f (eqs 10 to 12).
//! [`Specification::synthesize`] solves it; [`Compensator`] and [`Smoother`] are K₁ and K₂ in
//! steps of a solver or of a master.
//!
//! Frequencies and poles are normalised by Δt unless something else is said.

mod compensator;
mod response;
mod riccati;
mod smoother;
mod synthesis;
#[cfg(test)]
mod tests;
mod transfer;

pub use compensator::Compensator;
pub use response::{hold_error, hold_of_degree};
pub use smoother::Smoother;
pub use synthesis::{Design, Specification, SynthesisError};
pub use transfer::TransferFunction;

/// A complex number.
pub type Complex = nalgebra::Complex<f64>;
