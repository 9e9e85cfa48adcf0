//! Reads `modelDescription.xml`: root, capabilities, units, types, experiment, annotations.
//!
//! Violations of the standard that are common in exported FMUs give a warning; an error is given only
//! if the model is unusable.

use super::attributes::{Warnings, text};
use super::reader::{Element, Reader, XmlError};
use super::structure_parser::RawStructure;
use super::{
    CoSimulation, DefaultExperiment, LogCategory, ModelDescription, ModelExchange,
    NamingConvention, VendorAnnotation,
};
use crate::warning::Warning;
use crate::xml::Document;

/// The reader and what it found wrong so far.
pub(super) struct Parser<'a> {
    pub(super) xml: Reader<'a>,
    pub(super) warnings: Warnings,
}

pub(super) fn parse(
    text: &str,
    warnings: Vec<Warning>,
) -> Result<(ModelDescription, Vec<Warning>), XmlError> {
    let mut parser = Parser {
        xml: Reader::new(text)?,
        warnings: Warnings::new(warnings),
    };
    let Some(root) = parser.xml.child() else {
        return Err(parser.xml.error(0, "there is no element".to_owned()));
    };
    if root.name != "fmiModelDescription" {
        let message = format!("the root element is {}, not fmiModelDescription", root.name);
        return Err(parser.xml.error(root.offset, message));
    }
    let description = parser.root(root)?;
    Ok((description, parser.warnings.finish()))
}

/// The attribute `attribute` of the element `name` in our own annotation. A tool's annotation is one
/// element by the schema, so several stand in one `<Declarations>`.
pub(super) fn annotated(xml: &str, name: &str, attribute: &str) -> Option<String> {
    let text = format!("<Tool>{xml}</Tool>");
    let document = Document::parse(&text).ok()?;
    let elements = document.children(document.root()).flat_map(|node| {
        let is_list = document.local_name(node) == "Declarations";
        let inner = is_list.then(|| document.children(node));
        std::iter::once(node).chain(inner.into_iter().flatten())
    });
    let mut elements = elements.filter(|node| document.local_name(*node) == name);
    document
        .value(elements.next()?, attribute)
        .map(str::to_owned)
}

impl<'a> Parser<'a> {
    fn root(&mut self, mut root: Element<'a>) -> Result<ModelDescription, XmlError> {
        let mut description = self.root_attributes(&mut root)?;
        self.done(root);
        let mut structure = RawStructure::default();
        while let Some(mut element) = self.xml.child() {
            match element.name {
                "CoSimulation" => description.co_simulation = Some(self.co_simulation(element)?),
                "ModelExchange" => {
                    description.model_exchange = Some(self.model_exchange(element)?);
                }
                "UnitDefinitions" => description.units = self.units(),
                "TypeDefinitions" => description.types = self.types(),
                "LogCategories" => description.log_categories = self.log_categories(),
                "DefaultExperiment" => {
                    description.default_experiment = DefaultExperiment {
                        start_time: self.number(&mut element, "startTime"),
                        stop_time: self.number(&mut element, "stopTime"),
                        tolerance: self.number(&mut element, "tolerance"),
                        step_size: self.number(&mut element, "stepSize"),
                    };
                    self.leaf(element);
                }
                "VendorAnnotations" => description.vendor_annotations = self.annotations(),
                "ModelVariables" => {
                    description.variables = self.variables(&description.types)?;
                }
                "ModelStructure" => structure = self.structure()?,
                _ => self.unknown(&element),
            }
        }
        self.resolve(&mut description, structure)?;
        Ok(description)
    }

    fn root_attributes(&mut self, root: &mut Element<'a>) -> Result<ModelDescription, XmlError> {
        let fmi_version = self.required(root, "fmiVersion")?;
        if fmi_version.starts_with("2.0.") {
            self.warn(
                root.offset,
                format!("fmiVersion is {fmi_version}; taken as 2.0"),
            );
        } else if fmi_version != "2.0" {
            let message = format!("this is FMI {fmi_version}; only FMI 2.0 is supported");
            return Err(self.xml.error(root.offset, message));
        }
        let convention = root.take("variableNamingConvention");
        Ok(ModelDescription {
            fmi_version,
            model_name: self.expected(root, "modelName"),
            guid: self.expected(root, "guid"),
            description: text(root, "description"),
            author: text(root, "author"),
            version: text(root, "version"),
            copyright: text(root, "copyright"),
            license: text(root, "license"),
            generation_tool: text(root, "generationTool"),
            generation_date_and_time: text(root, "generationDateAndTime"),
            variable_naming_convention: match convention.as_deref() {
                Some("structured") => NamingConvention::Structured,
                _ => NamingConvention::Flat,
            },
            number_of_event_indicators: self.number(root, "numberOfEventIndicators"),
            co_simulation: None,
            model_exchange: None,
            units: Vec::new(),
            types: Vec::new(),
            log_categories: Vec::new(),
            default_experiment: DefaultExperiment::default(),
            vendor_annotations: Vec::new(),
            variables: Vec::new(),
            structure: super::ModelStructure::default(),
            by_name: Vec::new(),
            output_place: std::collections::BTreeMap::new(),
            initial_place: std::collections::BTreeMap::new(),
        })
    }

    fn co_simulation(&mut self, mut element: Element<'a>) -> Result<CoSimulation, XmlError> {
        let e = &mut element;
        let mut co_simulation = CoSimulation {
            model_identifier: self.model_identifier(e)?,
            needs_execution_tool: self.flag(e, "needsExecutionTool", &[]),
            can_handle_variable_communication_step_size: self.flag(
                e,
                "canHandleVariableCommunicationStepSize",
                &[],
            ),
            can_interpolate_inputs: self.flag(e, "canInterpolateInputs", &[]),
            max_output_derivative_order: self.number(e, "maxOutputDerivativeOrder").unwrap_or(0),
            can_run_asynchronuously: self.flag(
                e,
                "canRunAsynchronuously",
                &["canRunAsynchronuosly", "canRunAsynchronously"],
            ),
            can_be_instantiated_only_once_per_process: self.only_once(e),
            can_not_use_memory_management_functions: self.own_memory(e),
            can_get_and_set_fmu_state: self.flag(e, "canGetAndSetFMUstate", &[]),
            can_serialize_fmu_state: self.flag(e, "canSerializeFMUstate", &[]),
            provides_directional_derivative: self.directional(e),
            source_files: Vec::new(),
        };
        self.done(element);
        co_simulation.source_files = self.source_files();
        Ok(co_simulation)
    }

    fn model_exchange(&mut self, mut element: Element<'a>) -> Result<ModelExchange, XmlError> {
        let e = &mut element;
        let mut model_exchange = ModelExchange {
            model_identifier: self.model_identifier(e)?,
            needs_execution_tool: self.flag(e, "needsExecutionTool", &[]),
            completed_integrator_step_not_needed: self.flag(
                e,
                "completedIntegratorStepNotNeeded",
                &["completedlntegratorStepNotNeeded"],
            ),
            can_be_instantiated_only_once_per_process: self.only_once(e),
            can_not_use_memory_management_functions: self.own_memory(e),
            can_get_and_set_fmu_state: self.flag(e, "canGetAndSetFMUstate", &[]),
            can_serialize_fmu_state: self.flag(e, "canSerializeFMUstate", &[]),
            provides_directional_derivative: self.directional(e),
            source_files: Vec::new(),
        };
        self.done(element);
        model_exchange.source_files = self.source_files();
        Ok(model_exchange)
    }

    fn only_once(&mut self, element: &mut Element<'a>) -> bool {
        self.flag(element, "canBeInstantiatedOnlyOncePerProcess", &[])
    }

    fn own_memory(&mut self, element: &mut Element<'a>) -> bool {
        self.flag(element, "canNotUseMemoryManagementFunctions", &[])
    }

    fn directional(&mut self, element: &mut Element<'a>) -> bool {
        self.flag(
            element,
            "providesDirectionalDerivative",
            &["providesDirectionalDerivatives"],
        )
    }

    /// The identifier becomes part of a path, so it must not leave its folder. The standard
    /// requires a C identifier; one in ten FMUs has spaces, dots or dashes in it.
    fn model_identifier(&mut self, element: &mut Element<'a>) -> Result<String, XmlError> {
        let name = self.required(element, "modelIdentifier")?;
        let harmful = |c: char| matches!(c, '/' | '\\' | ':') || c.is_control();
        if name.is_empty() || name == "." || name.contains("..") || name.contains(harmful) {
            let message = format!("modelIdentifier {name:?} cannot be the name of a file");
            return Err(self.xml.error(element.offset, message));
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(is_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
            self.warn(
                element.offset,
                format!("modelIdentifier {name:?} is not a C identifier"),
            );
        }
        Ok(name)
    }

    fn source_files(&mut self) -> Vec<String> {
        let mut files = Vec::new();
        while let Some(child) = self.xml.child() {
            if child.name != "SourceFiles" {
                self.unknown(&child);
                continue;
            }
            while let Some(mut file) = self.xml.child() {
                files.extend(text(&mut file, "name"));
                self.leaf(file);
            }
        }
        files
    }

    fn log_categories(&mut self) -> Vec<LogCategory> {
        let mut categories = Vec::new();
        while let Some(mut element) = self.xml.child() {
            let name = self.expected(&mut element, "name");
            let description = text(&mut element, "description");
            categories.push(LogCategory { name, description });
            self.leaf(element);
        }
        categories
    }

    /// Content of `VendorAnnotations` or of the `Annotations` of a variable.
    pub(super) fn annotations(&mut self) -> Vec<VendorAnnotation> {
        let mut annotations = Vec::new();
        while let Some(mut element) = self.xml.child() {
            if element.name != "Tool" {
                self.unknown(&element);
                continue;
            }
            let tool = self.expected(&mut element, "name");
            let xml = self.xml.inner_text(&element).to_owned();
            annotations.push(VendorAnnotation { tool, xml });
        }
        annotations
    }
}
