//! Choices that `auto` has made.

/// A choice of `auto`, or a change of one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Decision {
    /// The method, a component, an input `component.variable` or a bond.
    pub r#where: String,
    /// The choice.
    pub what: String,
    /// The reason.
    pub why: String,
    /// Simulated time from which it holds, s.
    pub from: f64,
}
