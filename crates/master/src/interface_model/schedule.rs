//! What an order of interface models passes between its sides, as data: words and numbers of a system file.
//!
//! The registry of orders makes it; stages and plans read it. It computes nothing.

use crate::registry::Arguments;

/// Force that the multibody component receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassedForce {
    /// The value at the start of the macro-step.
    Hold,
    /// The mean over the macro-step that linear models of both sides predict.
    Predicted,
    /// The mean over the exchange points.
    Mean,
}

impl PassedForce {
    /// The word of a system file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Predicted => "predicted",
            Self::Mean => "mean",
        }
    }

    fn of(arguments: &Arguments) -> Self {
        let word = arguments.word("force");
        let mut all = [Self::Hold, Self::Predicted, Self::Mean].into_iter();
        all.find(|force| force.word() == word).unwrap_or(Self::Hold)
    }
}

/// How the inputs of the fast components go from one exchange to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FastInputs {
    /// Held at the value of the end.
    Hold,
    /// Moving there in a line.
    Linear,
}

impl FastInputs {
    /// The word of a system file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Linear => "linear",
        }
    }

    fn of(arguments: &Arguments) -> Self {
        if arguments.word("inputs") == Self::Linear.word() {
            Self::Linear
        } else {
            Self::Hold
        }
    }
}

/// Order of the two sides, and the quantities passed between them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Schedule {
    /// Word of the order.
    pub order: &'static str,
    /// Force that the multibody component receives.
    pub force: PassedForce,
    /// How the inputs of the fast components go from one exchange to the next.
    pub inputs: FastInputs,
    /// Share of the displacement error that is fed back over the next macro-step; `None` chooses it by the friction.
    #[serde(serialize_with = "number_or_auto")]
    pub displacement_correction: Option<f64>,
    /// Factor on the effective mass.
    pub mass_factor: f64,
    /// Age of the masses and free accelerations that are used, in macro-steps.
    pub lag: f64,
    /// Macro-steps between the reading of masses and free accelerations and their use.
    #[serde(skip)]
    pub(crate) age: usize,
}

impl Schedule {
    /// A schedule of the order of this word.
    pub fn new(order: &'static str, arguments: &Arguments) -> Self {
        let lag = arguments.whole_number("lag");
        Self {
            order,
            force: PassedForce::of(arguments),
            inputs: FastInputs::of(arguments),
            displacement_correction: arguments.number_or_auto("displacement_correction"),
            mass_factor: arguments.number("mass_factor"),
            lag: lag as f64,
            age: lag as usize,
        }
    }
}

/// As a system file has it.
fn number_or_auto<S: serde::Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.serialize_f64(*number),
        None => serializer.serialize_str("auto"),
    }
}
