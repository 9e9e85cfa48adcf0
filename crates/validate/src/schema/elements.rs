//! The elements of FMI 2.0, as tables (section 2.2; sections 3.3.1 and 4.3.1).

use super::ValueType::{
    Boolean, DateTime, Double, Int, Text, Unsigned, UnsignedList, Word, WordList,
};
use super::{AttributeRule, Content, ElementRule, Particle, ValueType};

const fn may(name: &'static str, value: ValueType) -> AttributeRule {
    AttributeRule {
        name,
        value,
        is_required: false,
    }
}

const fn must(name: &'static str, value: ValueType) -> AttributeRule {
    AttributeRule {
        name,
        value,
        is_required: true,
    }
}

const fn optional(choice: &'static [&'static ElementRule]) -> Particle {
    Particle {
        choice,
        least: 0,
        most: 1,
    }
}

const fn once(choice: &'static [&'static ElementRule]) -> Particle {
    Particle {
        choice,
        least: 1,
        most: 1,
    }
}

const fn many(least: usize, choice: &'static [&'static ElementRule]) -> Particle {
    Particle {
        choice,
        least,
        most: usize::MAX,
    }
}

const fn element(
    name: &'static str,
    attributes: &'static [AttributeRule],
    content: Content,
) -> ElementRule {
    ElementRule {
        name,
        attributes,
        content,
    }
}

/// An element without elements in it.
const fn leaf(name: &'static str, attributes: &'static [AttributeRule]) -> ElementRule {
    element(name, attributes, Content::Nothing)
}

/// An element without attributes.
const fn list(name: &'static str, sequence: &'static [Particle]) -> ElementRule {
    element(name, &[], Content::Sequence(sequence))
}

/// `fmiModelDescription`.
pub(super) static ROOT: ElementRule = element(
    "fmiModelDescription",
    &[
        // Rules V-09 and V-10 look at these.
        may("fmiVersion", Text),
        may("modelName", Text),
        may("guid", Text),
        may("description", Text),
        may("author", Text),
        may("version", Text),
        may("copyright", Text),
        may("license", Text),
        may("generationTool", Text),
        may("generationDateAndTime", DateTime),
        may("variableNamingConvention", Word(&["flat", "structured"])),
        may("numberOfEventIndicators", Unsigned),
    ],
    Content::Sequence(&[
        Particle {
            choice: &[&MODEL_EXCHANGE, &CO_SIMULATION],
            least: 0,
            most: 2,
        },
        optional(&[&UNIT_DEFINITIONS]),
        optional(&[&TYPE_DEFINITIONS]),
        optional(&[&LOG_CATEGORIES]),
        optional(&[&DEFAULT_EXPERIMENT]),
        optional(&[&VENDOR_ANNOTATIONS]),
        once(&[&MODEL_VARIABLES]),
        once(&[&MODEL_STRUCTURE]),
    ]),
);

static MODEL_EXCHANGE: ElementRule = element(
    "ModelExchange",
    &[
        must("modelIdentifier", Text),
        may("needsExecutionTool", Boolean),
        may("completedIntegratorStepNotNeeded", Boolean),
        may("canBeInstantiatedOnlyOncePerProcess", Boolean),
        may("canNotUseMemoryManagementFunctions", Boolean),
        may("canGetAndSetFMUstate", Boolean),
        may("canSerializeFMUstate", Boolean),
        may("providesDirectionalDerivative", Boolean),
    ],
    Content::Sequence(&[optional(&[&SOURCE_FILES])]),
);

static CO_SIMULATION: ElementRule = element(
    "CoSimulation",
    &[
        must("modelIdentifier", Text),
        may("needsExecutionTool", Boolean),
        may("canHandleVariableCommunicationStepSize", Boolean),
        may("canInterpolateInputs", Boolean),
        may("maxOutputDerivativeOrder", Unsigned),
        may("canRunAsynchronuously", Boolean),
        may("canBeInstantiatedOnlyOncePerProcess", Boolean),
        may("canNotUseMemoryManagementFunctions", Boolean),
        may("canGetAndSetFMUstate", Boolean),
        may("canSerializeFMUstate", Boolean),
        may("providesDirectionalDerivative", Boolean),
    ],
    Content::Sequence(&[optional(&[&SOURCE_FILES])]),
);

static SOURCE_FILES: ElementRule = list(
    "SourceFiles",
    &[many(1, &[&leaf("File", &[must("name", Text)])])],
);

static UNIT_DEFINITIONS: ElementRule = list("UnitDefinitions", &[many(1, &[&UNIT])]);

static UNIT: ElementRule = element(
    "Unit",
    &[must("name", Text)],
    Content::Sequence(&[optional(&[&BASE_UNIT]), many(0, &[&DISPLAY_UNIT])]),
);

static BASE_UNIT: ElementRule = leaf(
    "BaseUnit",
    &[
        may("kg", Int),
        may("m", Int),
        may("s", Int),
        may("A", Int),
        may("K", Int),
        may("mol", Int),
        may("cd", Int),
        may("rad", Int),
        may("factor", Double),
        may("offset", Double),
    ],
);

static DISPLAY_UNIT: ElementRule = leaf(
    "DisplayUnit",
    &[
        must("name", Text),
        may("factor", Double),
        may("offset", Double),
    ],
);

static TYPE_DEFINITIONS: ElementRule = list("TypeDefinitions", &[many(1, &[&SIMPLE_TYPE])]);

static SIMPLE_TYPE: ElementRule = element(
    "SimpleType",
    &[must("name", Text), may("description", Text)],
    Content::Sequence(&[once(&[
        &REAL_TYPE,
        &INTEGER_TYPE,
        &element("Boolean", &[], Content::Anything),
        &element("String", &[], Content::Anything),
        &ENUMERATION_TYPE,
    ])]),
);

static REAL_TYPE: ElementRule = leaf(
    "Real",
    &[
        may("quantity", Text),
        may("unit", Text),
        may("displayUnit", Text),
        may("relativeQuantity", Boolean),
        may("min", Double),
        may("max", Double),
        may("nominal", Double),
        may("unbounded", Boolean),
    ],
);

static INTEGER_TYPE: ElementRule = leaf(
    "Integer",
    &[may("quantity", Text), may("min", Int), may("max", Int)],
);

static ENUMERATION_TYPE: ElementRule = element(
    "Enumeration",
    &[may("quantity", Text)],
    Content::Sequence(&[many(
        1,
        &[&leaf(
            "Item",
            &[
                must("name", Text),
                must("value", Int),
                may("description", Text),
            ],
        )],
    )]),
);

static LOG_CATEGORIES: ElementRule = list(
    "LogCategories",
    &[many(
        1,
        &[&leaf(
            "Category",
            &[must("name", Text), may("description", Text)],
        )],
    )],
);

static DEFAULT_EXPERIMENT: ElementRule = leaf(
    "DefaultExperiment",
    &[
        may("startTime", Double),
        may("stopTime", Double),
        may("tolerance", Double),
        may("stepSize", Double),
    ],
);

static VENDOR_ANNOTATIONS: ElementRule = list("VendorAnnotations", &[many(1, &[&TOOL])]);

static TOOL: ElementRule = element("Tool", &[must("name", Text)], Content::OneOfAnyKind);

static MODEL_VARIABLES: ElementRule = list("ModelVariables", &[many(1, &[&SCALAR_VARIABLE])]);

static SCALAR_VARIABLE: ElementRule = element(
    "ScalarVariable",
    &[
        must("name", Text),
        must("valueReference", Unsigned),
        may("description", Text),
        may(
            "causality",
            Word(&[
                "parameter",
                "calculatedParameter",
                "input",
                "output",
                "local",
                "independent",
            ]),
        ),
        may(
            "variability",
            Word(&["constant", "fixed", "tunable", "discrete", "continuous"]),
        ),
        may("initial", Word(&["exact", "approx", "calculated"])),
        may("canHandleMultipleSetPerTimeInstant", Boolean),
    ],
    Content::Sequence(&[
        once(&[&REAL, &INTEGER, &BOOLEAN, &STRING, &ENUMERATION]),
        optional(&[&list("Annotations", &[many(1, &[&TOOL])])]),
    ]),
);

static REAL: ElementRule = leaf(
    "Real",
    &[
        may("declaredType", Text),
        may("quantity", Text),
        may("unit", Text),
        may("displayUnit", Text),
        may("relativeQuantity", Boolean),
        may("min", Double),
        may("max", Double),
        may("nominal", Double),
        may("unbounded", Boolean),
        may("start", Double),
        may("derivative", Unsigned),
        may("reinit", Boolean),
    ],
);

static INTEGER: ElementRule = leaf(
    "Integer",
    &[
        may("declaredType", Text),
        may("quantity", Text),
        may("min", Int),
        may("max", Int),
        may("start", Int),
    ],
);

static BOOLEAN: ElementRule = leaf(
    "Boolean",
    &[may("declaredType", Text), may("start", Boolean)],
);

static STRING: ElementRule = leaf("String", &[may("declaredType", Text), may("start", Text)]);

static ENUMERATION: ElementRule = leaf(
    "Enumeration",
    &[
        must("declaredType", Text),
        may("quantity", Text),
        may("min", Int),
        may("max", Int),
        may("start", Int),
    ],
);

static MODEL_STRUCTURE: ElementRule = list(
    "ModelStructure",
    &[
        optional(&[&list("Outputs", UNKNOWNS)]),
        optional(&[&list("Derivatives", UNKNOWNS)]),
        optional(&[&list("InitialUnknowns", UNKNOWNS)]),
    ],
);

const UNKNOWNS: &[Particle] = &[many(
    1,
    &[&leaf(
        "Unknown",
        &[
            must("index", Unsigned),
            may("dependencies", UnsignedList),
            may(
                "dependenciesKind",
                WordList(&["dependent", "constant", "fixed", "tunable", "discrete"]),
            ),
        ],
    )],
)];
