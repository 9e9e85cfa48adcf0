//! The table of the variables of a packed FMU: `resources/variables.json`.

use serde::{Deserialize, Serialize};

/// Name of the table in the folder `resources`.
pub(crate) const FILE: &str = "variables.json";

/// The table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contents {
    /// The GUID of `modelDescription.xml`.
    pub(crate) guid: String,
    /// The variables. The value reference of each is its number among the variables of its base type.
    pub(crate) variables: Vec<Exposed>,
}

/// A variable of the packed FMU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exposed {
    /// Its name outside.
    pub(crate) name: String,
    /// The value in the system that it stands for.
    pub(crate) source: Source,
    /// Base type.
    pub(crate) base_type: BaseType,
    /// Input, output or parameter.
    pub(crate) role: Role,
    /// Start value of an input or a parameter, as text: of a Real the fewest digits that read back as the same double.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
}

/// A value in the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Source {
    /// `component.variable`.
    Variable(String),
    /// A value of a bond, by the names of both.
    Bond(String, String),
    /// The verdict on a bond.
    BondVerdict(String),
    /// The verdict on the run.
    Verdict,
}

/// The base types of FMI 2.0; an enumeration is an Integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BaseType {
    Real,
    Integer,
    Boolean,
    String,
}

/// The role of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Role {
    /// An input that nothing in the system feeds.
    Input,
    /// A value that the system computes.
    Output,
    /// A parameter that is set before the run.
    Parameter,
    /// A parameter that may also be set between steps.
    TunableParameter,
}
