//! Contents of `modelDescription.xml` (FMI 2.0.5 section 2.2), every attribute of the standard.

mod attributes;
mod parser;
mod reader;
mod structure_parser;
mod type_parser;
mod variable;
mod variable_parser;

#[cfg(test)]
mod tests;

pub use fmi2_abi::{Causality, Initial, Variability};
pub use reader::XmlError;
pub use variable::{
    BaseType, BaseUnit, DisplayUnit, RealAttributes, ScalarVariable, TypeAttributes,
    UnitDefinition, legal_initial,
};

use std::collections::BTreeMap;

use crate::warning::Warning;

/// A model, as described by its FMU.
#[derive(Debug, Clone)]
pub struct ModelDescription {
    /// `fmiVersion`: `2.0`.
    pub fmi_version: String,
    /// Name in the modelling environment.
    pub model_name: String,
    /// Ties the description to the library; checked by `fmi2Instantiate`.
    pub guid: String,
    /// Text for people.
    pub description: Option<String>,
    /// Author of the model.
    pub author: Option<String>,
    /// Version of the model.
    pub version: Option<String>,
    /// Intellectual property.
    pub copyright: Option<String>,
    /// Conditions of use.
    pub license: Option<String>,
    /// Tool that exported the FMU.
    pub generation_tool: Option<String>,
    /// When it was exported, as written.
    pub generation_date_and_time: Option<String>,
    /// How names of variables are built: flat or structured.
    pub variable_naming_convention: NamingConvention,
    /// `numberOfEventIndicators` (model exchange).
    pub number_of_event_indicators: Option<u32>,
    /// Capabilities as a co-simulation slave, if it is one.
    pub co_simulation: Option<CoSimulation>,
    /// Capabilities for model exchange, if there are some.
    pub model_exchange: Option<ModelExchange>,
    /// Units, in the order of the file.
    pub units: Vec<UnitDefinition>,
    /// Types, in the order of the file.
    pub types: Vec<SimpleType>,
    /// Categories that `fmi2SetDebugLogging` takes.
    pub log_categories: Vec<LogCategory>,
    /// Settings the maker recommends.
    pub default_experiment: DefaultExperiment,
    /// Data of tools, kept as written.
    pub vendor_annotations: Vec<VendorAnnotation>,
    /// Variables, in the order of the file. Indices all over this crate count from 0, those in
    /// the XML from 1 (C-64).
    pub variables: Vec<ScalarVariable>,
    /// Which variables are outputs, derivatives and unknowns, and what they depend on.
    pub structure: ModelStructure,
    /// Indices of `variables`, in the order of their names.
    by_name: Vec<usize>,
    /// Index of a variable to its place in `structure.outputs`.
    output_place: BTreeMap<usize, usize>,
    /// Index of a variable to its place in `structure.initial_unknowns`.
    initial_place: BTreeMap<usize, usize>,
}

/// `variableNamingConvention`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamingConvention {
    /// Any text.
    #[default]
    Flat,
    /// Hierarchical names such as `der(motor.shaft[2].phi)`.
    Structured,
}

/// Capabilities of the FMU as a co-simulation slave (section 4.3.1).
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(
    missing_docs,
    reason = "the flags are those of the standard, by its names"
)]
pub struct CoSimulation {
    /// Name of the library without ending, and prefix of functions in source code.
    pub model_identifier: String,
    pub needs_execution_tool: bool,
    pub can_handle_variable_communication_step_size: bool,
    pub can_interpolate_inputs: bool,
    pub max_output_derivative_order: u32,
    /// Spelt as in the standard.
    pub can_run_asynchronuously: bool,
    pub can_be_instantiated_only_once_per_process: bool,
    pub can_not_use_memory_management_functions: bool,
    pub can_get_and_set_fmu_state: bool,
    pub can_serialize_fmu_state: bool,
    pub provides_directional_derivative: bool,
    /// Source files, for FMUs that carry them.
    pub source_files: Vec<String>,
}

/// Capabilities of the FMU in model exchange (section 3.3.1).
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(
    missing_docs,
    reason = "the flags are those of the standard, by its names"
)]
pub struct ModelExchange {
    /// Name of the library without ending, and prefix of functions in source code.
    pub model_identifier: String,
    pub needs_execution_tool: bool,
    pub completed_integrator_step_not_needed: bool,
    pub can_be_instantiated_only_once_per_process: bool,
    pub can_not_use_memory_management_functions: bool,
    pub can_get_and_set_fmu_state: bool,
    pub can_serialize_fmu_state: bool,
    pub provides_directional_derivative: bool,
    /// Source files, for FMUs that carry them.
    pub source_files: Vec<String>,
}

/// A named type, defaults for the variables that declare it.
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleType {
    /// Unique name.
    pub name: String,
    /// Text for people.
    pub description: Option<String>,
    /// Base type and attributes.
    pub kind: TypeKind,
}

/// Base type of a [`SimpleType`] with its attributes.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields as in RealAttributes, of the type at hand"
)]
pub enum TypeKind {
    /// Reals; `start`, `derivative` and `reinit` are not used.
    Real(RealAttributes),
    /// Integers.
    Integer {
        quantity: Option<String>,
        min: Option<i32>,
        max: Option<i32>,
    },
    /// Booleans.
    Boolean,
    /// Strings.
    String,
    /// Integers with names.
    Enumeration {
        quantity: Option<String>,
        items: Vec<EnumerationItem>,
    },
}

/// A value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumerationItem {
    /// Name for people.
    pub name: String,
    /// Number that crosses the interface.
    pub value: i32,
    /// Text for people.
    pub description: Option<String>,
}

/// A category of log messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCategory {
    /// Name, as `fmi2SetDebugLogging` takes it.
    pub name: String,
    /// Text for people.
    pub description: Option<String>,
}

/// `DefaultExperiment`; times in the unit of the independent variable, s if none is given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DefaultExperiment {
    /// Start of the run.
    pub start_time: Option<f64>,
    /// End of the run.
    pub stop_time: Option<f64>,
    /// Relative tolerance of inner solvers.
    pub tolerance: Option<f64>,
    /// Preferred communication step size (C-37).
    pub step_size: Option<f64>,
}

impl DefaultExperiment {
    /// The tolerance that the FMU gets if nothing else is asked for: a positive number (C-37).
    #[must_use]
    pub fn usable_tolerance(&self) -> Option<f64> {
        self.tolerance
            .filter(|tolerance| *tolerance > 0.0 && tolerance.is_finite())
    }
}

/// Data that a tool left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorAnnotation {
    /// Name of the tool.
    pub tool: String,
    /// Content of the element, as written.
    pub xml: String,
}

/// `ModelStructure`, indices turned into places in [`ModelDescription::variables`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelStructure {
    /// Outputs and what they depend on between steps.
    pub outputs: Vec<Unknown>,
    /// Derivatives of states.
    pub derivatives: Vec<Unknown>,
    /// Unknowns that can be computed during initialization, with their dependencies there.
    pub initial_unknowns: Vec<Unknown>,
}

/// An unknown and its knowns.
#[derive(Debug, Clone, PartialEq)]
pub struct Unknown {
    /// Index in [`ModelDescription::variables`], from 0.
    pub variable: usize,
    /// Variables on which the unknown depends.
    pub dependencies: Dependencies,
}

/// Dependencies of an unknown. A missing list and an empty one mean opposite things (C-65).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependencies {
    /// Nothing is said: it has to be assumed that every known matters.
    All,
    /// On these variables only: index in [`ModelDescription::variables`], from 0, and how.
    Listed(Vec<(usize, DependencyKind)>),
}

impl Dependencies {
    /// Whether the variable with index `known` may matter.
    #[must_use]
    pub fn contains(&self, known: usize) -> bool {
        match self {
            Self::All => true,
            Self::Listed(list) => list.iter().any(|(index, _)| *index == known),
        }
    }
}

/// How an unknown depends on a known, `dependenciesKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DependencyKind {
    /// In any way.
    #[default]
    Dependent,
    /// Linearly, with a factor that never changes.
    Constant,
    /// Linearly, with a factor that does not change after initialization.
    Fixed,
    /// Linearly, with a factor that changes with tunable parameters.
    Tunable,
    /// Linearly, with a factor that changes at events.
    Discrete,
}

impl ModelDescription {
    /// Reads the bytes of a `modelDescription.xml`. Small errors of exporters are tolerated and
    /// returned as warnings.
    ///
    /// # Errors
    /// If the XML is malformed, is not a model description of FMI 2.0, or lacks what a run
    /// needs; with line and column.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Vec<Warning>), XmlError> {
        let mut warnings = Vec::new();
        let text = crate::encoding::decode(bytes, &mut warnings);
        parser::parse(&text, warnings)
    }

    /// Index in [`Self::variables`] of the variable with this name.
    #[must_use]
    pub fn variable_index(&self, name: &str) -> Option<usize> {
        let place = self
            .by_name
            .binary_search_by(|index| self.variables[*index].name.as_str().cmp(name));
        place.ok().map(|place| self.by_name[place])
    }

    /// The variable with this name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&ScalarVariable> {
        self.variable_index(name)
            .map(|index| &self.variables[index])
    }

    /// A variable with this base type and value reference; the first one if aliases share it.
    #[must_use]
    pub fn variable_by_reference(
        &self,
        base_type: BaseType,
        reference: u32,
    ) -> Option<&ScalarVariable> {
        let matches =
            |v: &&ScalarVariable| v.value_reference == reference && v.kind.base_type() == base_type;
        self.variables.iter().find(matches)
    }

    /// Dependencies of the variable with index `index` between steps, by `ModelStructure`
    /// `Outputs`. [`Dependencies::All`] for a variable that is not listed there (C-65, C-67).
    #[must_use]
    pub fn output_dependencies(&self, index: usize) -> &Dependencies {
        let place = self.output_place.get(&index);
        place.map_or(&Dependencies::All, |place| {
            &self.structure.outputs[*place].dependencies
        })
    }

    /// Dependencies of the variable with index `index` in Initialization Mode, by
    /// `ModelStructure` `InitialUnknowns` (C-66). [`Dependencies::All`] for a variable that is
    /// not listed there.
    #[must_use]
    pub fn initial_dependencies(&self, index: usize) -> &Dependencies {
        let place = self.initial_place.get(&index);
        place.map_or(&Dependencies::All, |place| {
            &self.structure.initial_unknowns[*place].dependencies
        })
    }

    /// The unit with this name.
    #[must_use]
    pub fn unit(&self, name: &str) -> Option<&UnitDefinition> {
        self.units.iter().find(|unit| unit.name == name)
    }

    /// The type with this name.
    #[must_use]
    pub fn simple_type(&self, name: &str) -> Option<&SimpleType> {
        self.types.iter().find(|simple| simple.name == name)
    }

    /// Names of the values of an enumeration variable; empty for others.
    #[must_use]
    pub fn enumeration_items(&self, variable: &ScalarVariable) -> &[EnumerationItem] {
        let declared = variable
            .declared_type
            .as_deref()
            .and_then(|name| self.simple_type(name));
        match declared.map(|simple| &simple.kind) {
            Some(TypeKind::Enumeration { items, .. }) => items,
            _ => &[],
        }
    }

    /// Whether the FMU declares that its outputs may be read after its inputs were set between
    /// steps, and are then up to date. FMI 2.0 forbids to rely on it (4.2.4), so an FMU has to
    /// say so by a vendor annotation:
    /// `<Tool name="gyrator"><Feedthrough fresh="true"/></Tool>`.
    #[must_use]
    pub fn declares_fresh_outputs(&self) -> bool {
        self.annotated("Feedthrough", "fresh")
            .is_some_and(|value| is_true(&value))
    }

    /// The Boolean parameter that takes the promise of [`declares_fresh_outputs`] back when it is
    /// true: `<Feedthrough fresh="true" unless="cached_outputs"/>`.
    ///
    /// [`declares_fresh_outputs`]: Self::declares_fresh_outputs
    #[must_use]
    pub fn fresh_outputs_unless(&self) -> Option<String> {
        self.annotated("Feedthrough", "unless")
    }

    /// Whether the FMU declares that its instances may share one copy of its library, because it
    /// keeps nothing outside of its instances: `<Tool name="gyrator"><Library shared="true"/></Tool>`.
    #[must_use]
    pub fn declares_shared_library(&self) -> bool {
        self.annotated("Library", "shared")
            .is_some_and(|value| is_true(&value))
    }

    /// The highest order of input derivatives that the FMU takes: 0 if it cannot interpolate
    /// inputs. Otherwise as declared by `<Tool name="gyrator"><InputDerivatives order="3"/></Tool>`,
    /// and 1 if it declares none, as FMI 2.0 has no attribute for it.
    #[must_use]
    pub fn input_derivative_order(&self) -> u32 {
        if !self
            .co_simulation
            .as_ref()
            .is_some_and(|c| c.can_interpolate_inputs)
        {
            return 0;
        }
        let declared = self.annotated("InputDerivatives", "order");
        declared
            .and_then(|order| order.parse().ok())
            .map_or(1, |order: u32| order.max(1))
    }

    /// An attribute of an element in the vendor annotation of this project.
    fn annotated(&self, element: &str, attribute: &str) -> Option<String> {
        let ours = |annotation: &&VendorAnnotation| annotation.tool == "gyrator";
        let mut annotations = self.vendor_annotations.iter().filter(ours);
        annotations.find_map(|annotation| parser::annotated(&annotation.xml, element, attribute))
    }
}

fn is_true(value: &str) -> bool {
    matches!(value, "true" | "1")
}
