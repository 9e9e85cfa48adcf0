//! Variables of a model, their attributes and units (FMI 2.0.5 sections 2.2.7 and 2.2.2).

use fmi2_abi::{Causality, Initial, Variability};

/// Attributes of the values of a variable of type Real, or of a declared type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RealAttributes {
    /// Physical quantity, such as `Torque`.
    pub quantity: Option<String>,
    /// Name of a [`UnitDefinition`](crate::UnitDefinition); the unit of every value that crosses
    /// the interface, and of `min`, `max`, `nominal` and `start`.
    pub unit: Option<String>,
    /// Name of a [`DisplayUnit`](crate::DisplayUnit) of `unit`, for people.
    pub display_unit: Option<String>,
    /// Whether the offset of a unit does not count (a temperature difference).
    pub relative_quantity: bool,
    /// Smallest legal value.
    pub min: Option<f64>,
    /// Largest legal value.
    pub max: Option<f64>,
    /// Usual magnitude.
    pub nominal: Option<f64>,
    /// Whether the value may grow beyond all bounds during a run.
    pub unbounded: bool,
    /// Value before initialization.
    pub start: Option<f64>,
    /// Index in [`ModelDescription::variables`](crate::ModelDescription::variables), from 0, of
    /// the variable that this one is the time derivative of.
    pub derivative: Option<usize>,
    /// Whether a continuous state may be set again at an event (model exchange).
    pub reinit: bool,
}

/// Type of a variable, with the attributes that come with it.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields as in RealAttributes, of the type at hand"
)]
pub enum TypeAttributes {
    /// `fmi2Real`.
    Real(RealAttributes),
    /// `fmi2Integer`.
    Integer {
        quantity: Option<String>,
        min: Option<i32>,
        max: Option<i32>,
        start: Option<i32>,
    },
    /// `fmi2Boolean`.
    Boolean { start: Option<bool> },
    /// `fmi2String`.
    String { start: Option<String> },
    /// An integer with names for its values; the names are in the declared type.
    Enumeration {
        quantity: Option<String>,
        min: Option<i32>,
        max: Option<i32>,
        start: Option<i32>,
    },
}

impl TypeAttributes {
    /// Word in the XML.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Real(_) => "Real",
            Self::Integer { .. } => "Integer",
            Self::Boolean { .. } => "Boolean",
            Self::String { .. } => "String",
            Self::Enumeration { .. } => "Enumeration",
        }
    }

    /// Which functions read and set the variable. A value reference is unique within one base
    /// type only; integers and enumerations share theirs (C-52).
    #[must_use]
    pub const fn base_type(&self) -> BaseType {
        match self {
            Self::Real(_) => BaseType::Real,
            Self::Integer { .. } | Self::Enumeration { .. } => BaseType::Integer,
            Self::Boolean { .. } => BaseType::Boolean,
            Self::String { .. } => BaseType::String,
        }
    }
}

/// The four types that cross the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaseType {
    /// `fmi2Real`.
    Real,
    /// `fmi2Integer`, also enumerations.
    Integer,
    /// `fmi2Boolean`.
    Boolean,
    /// `fmi2String`.
    String,
}

/// One variable of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarVariable {
    /// Unique name.
    pub name: String,
    /// Handle for get and set, unique within one [`BaseType`] up to aliases.
    pub value_reference: u32,
    /// Text for people.
    pub description: Option<String>,
    /// Relation to the outside.
    pub causality: Causality,
    /// When the value may change.
    pub variability: Variability,
    /// How the first value comes about, defaults of the standard filled in; `None` for inputs and
    /// the independent variable.
    pub initial: Option<Initial>,
    /// Whether an input of an FMU for model exchange may be set several times at one time.
    pub can_handle_multiple_set_per_time_instant: bool,
    /// Name of a [`SimpleType`](crate::SimpleType); its attributes are filled in already.
    pub declared_type: Option<String>,
    /// Type and its attributes.
    pub kind: TypeAttributes,
    /// Content of `Annotations`, by tool.
    pub annotations: Vec<super::VendorAnnotation>,
    /// Line in `modelDescription.xml`, from 1.
    pub line: u32,
}

impl ScalarVariable {
    /// The attributes of a real variable.
    #[must_use]
    pub const fn real(&self) -> Option<&RealAttributes> {
        match &self.kind {
            TypeAttributes::Real(attributes) => Some(attributes),
            _ => None,
        }
    }

    /// Whether the value may be set before Initialization Mode (4.2.4, note 1).
    #[must_use]
    pub const fn settable_before_initialization(&self) -> bool {
        !matches!(self.variability, Variability::Constant)
            && matches!(self.initial, Some(Initial::Exact | Initial::Approx))
    }

    /// Whether the value may be set in Initialization Mode (4.2.4, note 3).
    #[must_use]
    pub const fn settable_during_initialization(&self) -> bool {
        !matches!(self.variability, Variability::Constant)
            && (matches!(self.initial, Some(Initial::Exact))
                || matches!(self.causality, Causality::Input))
    }

    /// Whether the value may be set between steps (4.2.4, note 6).
    #[must_use]
    pub const fn settable_between_steps(&self) -> bool {
        matches!(self.causality, Causality::Input)
            || (matches!(self.causality, Causality::Parameter)
                && matches!(self.variability, Variability::Tunable))
    }
}

/// The values `initial` may have for a causality and variability, the default first
/// (FMI 2.0.5 section 2.2.7, tables of cases A to E); `None` for an illegal combination.
#[must_use]
pub fn legal_initial(causality: Causality, variability: Variability) -> Option<&'static [Initial]> {
    const A: &[Initial] = &[Initial::Exact];
    const B: &[Initial] = &[Initial::Calculated, Initial::Approx];
    const C: &[Initial] = &[Initial::Calculated, Initial::Exact, Initial::Approx];
    const NONE: &[Initial] = &[];
    use Variability::{Constant, Continuous, Discrete, Fixed, Tunable};
    match (causality, variability) {
        (Causality::Parameter, Fixed | Tunable) => Some(A),
        (Causality::CalculatedParameter, Fixed | Tunable) => Some(B),
        (Causality::Input, Discrete | Continuous) => Some(NONE),
        (Causality::Output, Constant) | (Causality::Local, Constant) => Some(A),
        (Causality::Output, Discrete | Continuous) => Some(C),
        (Causality::Local, Fixed | Tunable) => Some(B),
        (Causality::Local, Discrete | Continuous) => Some(C),
        (Causality::Independent, Continuous) => Some(NONE),
        _ => None,
    }
}

/// A unit: how it follows from SI base units, and what people like to see instead.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitDefinition {
    /// Name, such as `N.m` or `degC`.
    pub name: String,
    /// Meaning in SI units; without it nothing is known about the unit.
    pub base: Option<BaseUnit>,
    /// Units for display.
    pub display_units: Vec<DisplayUnit>,
}

/// `value in SI units = factor * value + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaseUnit {
    /// Exponents of kg, m, s, A, K, mol, cd, rad, in this order.
    pub exponents: [i32; 8],
    /// Factor to SI units.
    pub factor: f64,
    /// Offset in SI units.
    pub offset: f64,
}

/// `value for display = factor * value + offset`; the offset is dropped for relative quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplayUnit {
    /// Name, such as `deg`.
    pub name: String,
    /// Factor from the unit it belongs to.
    pub factor: f64,
    /// Offset, in the display unit.
    pub offset: f64,
}
