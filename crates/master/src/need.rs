//! Needs of the parts of a system, and the needs that each part withholds from others.

/// Something that one part of a system may need and another may withhold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Macro-steps of one length.
    EqualSteps,
    /// Units whose communication steps may have any length.
    AnyStepSize,
    /// Units that can save and restore their states.
    SavedStates,
    /// Components whose communication steps do not exceed a macro-step.
    EveryMacroStep,
    /// A power bond.
    PowerBonds,
    /// The sole use of values from within the step of a source.
    WithinStep,
    /// The sole choice of the order in which components step.
    StepOrder,
    /// The course of an input, with nothing else added to it.
    InputCourse,
    /// Inputs that continue the last values of their sources, and not means.
    LastValues,
    /// Inputs without values from within the step.
    Delay,
    /// Derivatives of a unit's outputs by its inputs, or outputs that may be read again after
    /// inputs were set.
    Derivatives,
    /// Positions at the bonds of an interface model.
    Positions,
    /// Rates of the forces of the fast side of an interface model.
    ForceRates,
}

impl Need {
    /// All of them, in the order of the table that `gyrator list` prints.
    pub const ALL: [Self; 13] = [
        Self::EqualSteps,
        Self::AnyStepSize,
        Self::SavedStates,
        Self::EveryMacroStep,
        Self::PowerBonds,
        Self::WithinStep,
        Self::StepOrder,
        Self::InputCourse,
        Self::LastValues,
        Self::Delay,
        Self::Derivatives,
        Self::Positions,
        Self::ForceRates,
    ];

    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::EqualSteps => "macro-steps of one length",
            Self::AnyStepSize => "units whose steps may have any length",
            Self::SavedStates => "units that can restore a state",
            Self::EveryMacroStep => "units that communicate with every macro-step",
            Self::PowerBonds => "a power bond",
            Self::WithinStep => "sole use of values from within the step of a source",
            Self::StepOrder => "sole choice of the order of the units",
            Self::InputCourse => "sole choice of the course of an input",
            Self::LastValues => "inputs that continue last values, not means",
            Self::Delay => "inputs without values from within the step",
            Self::Derivatives => "derivatives of outputs by inputs",
            Self::Positions => "positions at the bonds",
            Self::ForceRates => "stiffness and force rates",
        }
    }
}

/// Facts about a registry entry with its arguments, without making one.
pub trait Facts {
    /// The needs of the entry.
    fn needs(&self) -> Vec<Need>;

    /// The needs that nothing else in the system can have beside it.
    fn withholds(&self) -> Vec<Need> {
        Vec::new()
    }
}

/// The needs whose condition holds.
pub(crate) fn where_true<const N: usize>(needs: [(Need, bool); N]) -> Vec<Need> {
    let wanted = needs.into_iter().filter(|(_, holds)| *holds);
    wanted.map(|(need, _)| need).collect()
}
