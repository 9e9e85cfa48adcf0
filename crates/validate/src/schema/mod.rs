//! The structure of `modelDescription.xml`: which elements, in which order and number, with which
//! attributes of which types (what the schema files of FMI 2.0 demand).

mod check;
mod elements;

pub(crate) use check::check;

/// Abilities as exporters have written them, and what they meant: attributes that the tables lack, and that rule V-18
/// reports.
pub(crate) const MISSPELT_ABILITIES: &[(&str, &str)] = &[
    (
        "providesDirectionalDerivatives",
        "providesDirectionalDerivative",
    ),
    ("canRunAsynchronuosly", "canRunAsynchronuously"),
    ("canRunAsynchronously", "canRunAsynchronuously"),
    (
        "completedlntegratorStepNotNeeded",
        "completedIntegratorStepNotNeeded",
    ),
    ("canGetAndSetFMUState", "canGetAndSetFMUstate"),
    ("canSerializeFMUState", "canSerializeFMUstate"),
    (
        "canHandleVariableCommunicationStepsize",
        "canHandleVariableCommunicationStepSize",
    ),
];

/// An element.
pub(crate) struct ElementRule {
    /// Name.
    pub(crate) name: &'static str,
    /// Attributes that it may have.
    pub(crate) attributes: &'static [AttributeRule],
    /// Content that it may have.
    pub(crate) content: Content,
}

/// An attribute.
pub(crate) struct AttributeRule {
    /// Name.
    pub(crate) name: &'static str,
    /// Type of the value.
    pub(crate) value: ValueType,
    /// Whether it has to be given.
    pub(crate) is_required: bool,
}

/// Content that an element may have.
pub(crate) enum Content {
    /// Nothing.
    Nothing,
    /// These, in this order.
    Sequence(&'static [Particle]),
    /// At most one element, of any kind: data of a tool.
    OneOfAnyKind,
    /// Anything, attributes included.
    Anything,
}

/// One place in a sequence.
pub(crate) struct Particle {
    /// The elements that may take it.
    pub(crate) choice: &'static [&'static ElementRule],
    /// How often at least.
    pub(crate) least: usize,
    /// How often at most.
    pub(crate) most: usize,
}

/// Types of attributes.
pub(crate) enum ValueType {
    /// Any text.
    Text,
    /// `xs:double`.
    Double,
    /// `xs:int`.
    Int,
    /// `xs:unsignedInt`.
    Unsigned,
    /// `xs:boolean`.
    Boolean,
    /// `xs:dateTime`.
    DateTime,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Numbers with white space between.
    UnsignedList,
    /// Some of these words with white space between.
    WordList(&'static [&'static str]),
}
