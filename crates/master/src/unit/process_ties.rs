//! What a unit shares with all others of its process.

/// What ties a unit to its thread, and what it has changed of its process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessTies {
    /// It has to be called by the thread that made it.
    pub keeps_thread: bool,
    /// What calls have changed, such as the locale.
    pub changes: Vec<ProcessChange>,
}

/// A change of the process by a call of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessChange {
    /// The call.
    pub call: &'static str,
    /// In words, such as `the locale (C → de_DE.UTF-8)`.
    pub what: String,
    /// Whether the unit may depend on it, although others must not see it.
    pub is_own_affair: bool,
    /// Whether it was put back.
    pub is_put_back: bool,
}
