//! Where derivatives of outputs come from, as data. The operation `read slopes` uses it.

use crate::unit::Handle;

/// Reads the derivative of an output for an input whose extrapolation needs it.
pub(crate) struct SlopeReader {
    pub(crate) input: usize,
    pub(crate) component: usize,
    pub(crate) from: SlopeSource,
}

/// Where a derivative is read.
pub(crate) enum SlopeSource {
    /// A variable that is the output's derivative, as the file says or the unit declares (FMI 2.0
    /// §2.2.7).
    Variable(Handle),
    /// The unit gives derivatives of this output (FMI 2.0 §4.2.3).
    Unit(Handle),
}
