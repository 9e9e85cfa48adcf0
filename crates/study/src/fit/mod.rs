//! Calibration: fits parameters of a system to measured results by least squares.
//!
//! The verb `fit` calls it. It makes no run by itself, and prints nothing.
//!
//! A [`FitFile`] names parameters, with their start values and bounds, and signals. [`fit`] looks for the parameters in rounds of a few runs each,
//! which are made by a function that it is given. The same rounds are asked for whenever the same values come back.

mod fit_file;
mod least_squares;
mod parameter;
mod residuals;
mod trust_region;

pub use fit_file::{FitFile, Signal};
pub use least_squares::{Fitted, FittedParameter, MakeRuns, Round, fit};
pub use parameter::Parameter;
pub use residuals::{Measured, MeasuredError};

/// Why a fit did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The run with the start values failed, or one beside it.
    #[error("{0}")]
    Failed(String),
    /// The runs could not be made.
    #[error("{0}")]
    NoRuns(String),
    /// No parameter changes a signal, or two change all signals alike.
    #[error("the measured signals do not determine `{0}`")]
    NotDetermined(String),
    /// There are fewer values than parameters.
    #[error("{values} measured values do not determine {parameters} parameters")]
    TooFewValues {
        /// Measured values.
        values: usize,
        /// Parameters.
        parameters: usize,
    },
}
