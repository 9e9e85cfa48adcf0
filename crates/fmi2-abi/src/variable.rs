//! Attributes of variables by which the sides agree on what may be set and when (FMI 2.0.5, section 2.2.7).

use crate::named;

named! {
    /// How a variable relates to the outside.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Causality {
        /// Set by the user before the run.
        Parameter => "parameter",
        /// Computed from parameters.
        CalculatedParameter => "calculatedParameter",
        /// Set by the master.
        Input => "input",
        /// Read by the master.
        Output => "output",
        /// Neither; may be read.
        Local => "local",
        /// Time.
        Independent => "independent",
    }
    /// All there are.
    ALL;
    /// Word in the XML.
    name
}

named! {
    /// When a variable may change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Variability {
        /// Never.
        Constant => "constant",
        /// Not after initialization.
        Fixed => "fixed",
        /// Between steps, by the user.
        Tunable => "tunable",
        /// At events or communication points.
        Discrete => "discrete",
        /// Any time; reals only.
        Continuous => "continuous",
    }
    /// All there are.
    ALL;
    /// Word in the XML.
    name
}

named! {
    /// How the value after initialization comes about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Initial {
        /// It is the start value.
        Exact => "exact",
        /// The start value is a guess for an iteration.
        Approx => "approx",
        /// It is computed and has no start value.
        Calculated => "calculated",
    }
    /// All there are.
    ALL;
    /// Word in the XML.
    name
}
