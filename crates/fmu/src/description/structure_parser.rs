//! Reads `ModelStructure` and turns the indices of the XML, which count from 1, into places.

use super::attributes::text;
use super::parser::Parser;
use super::reader::{Element, XmlError};
use super::{
    Causality, Dependencies, DependencyKind, ModelDescription, ModelStructure, TypeAttributes,
    Unknown,
};

/// `ModelStructure` as written.
#[derive(Default)]
pub(super) struct RawStructure {
    outputs: Vec<RawUnknown>,
    derivatives: Vec<RawUnknown>,
    initial_unknowns: Vec<RawUnknown>,
}

struct RawUnknown {
    offset: usize,
    index: String,
    dependencies: Option<String>,
    kinds: Option<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn structure(&mut self) -> Result<RawStructure, XmlError> {
        let mut structure = RawStructure::default();
        while let Some(element) = self.xml.child() {
            match element.name {
                "Outputs" => structure.outputs = self.unknowns()?,
                "Derivatives" => structure.derivatives = self.unknowns()?,
                "InitialUnknowns" => structure.initial_unknowns = self.unknowns()?,
                _ => self.unknown(&element),
            }
        }
        Ok(structure)
    }

    fn unknowns(&mut self) -> Result<Vec<RawUnknown>, XmlError> {
        let mut unknowns = Vec::new();
        while let Some(mut element) = self.xml.child() {
            if element.name == "Unknown" {
                unknowns.push(self.raw_unknown(&mut element)?);
                self.leaf(element);
            } else {
                self.unknown(&element);
            }
        }
        Ok(unknowns)
    }

    fn raw_unknown(&mut self, element: &mut Element<'a>) -> Result<RawUnknown, XmlError> {
        Ok(RawUnknown {
            offset: element.offset,
            index: self.required(element, "index")?,
            dependencies: text(element, "dependencies"),
            kinds: text(element, "dependenciesKind"),
        })
    }

    /// Resolves the references that need the whole file.
    pub(super) fn resolve(
        &mut self,
        description: &mut ModelDescription,
        raw: RawStructure,
    ) -> Result<(), XmlError> {
        let count = description.variables.len();
        description.structure = ModelStructure {
            outputs: self.places(raw.outputs, count)?,
            derivatives: self.places(raw.derivatives, count)?,
            initial_unknowns: self.places(raw.initial_unknowns, count)?,
        };
        let places = |unknowns: &[Unknown]| {
            unknowns
                .iter()
                .enumerate()
                .map(|(place, unknown)| (unknown.variable, place))
                .collect()
        };
        description.output_place = places(&description.structure.outputs);
        description.initial_place = places(&description.structure.initial_unknowns);
        self.resolve_derivatives(description);
        self.check_outputs(description);
        self.sort_names(description);
        Ok(())
    }

    fn places(&mut self, raw: Vec<RawUnknown>, count: usize) -> Result<Vec<Unknown>, XmlError> {
        raw.into_iter()
            .map(|unknown| self.place(&unknown, count))
            .collect()
    }

    fn place(&mut self, raw: &RawUnknown, count: usize) -> Result<Unknown, XmlError> {
        let Some(variable) = place_of(&raw.index, count) else {
            let message = format!("index {:?} is not a number from 1 to {count}", raw.index);
            return Err(self.xml.error(raw.offset, message));
        };
        let Some(written) = &raw.dependencies else {
            return Ok(Unknown {
                variable,
                dependencies: Dependencies::All,
            });
        };
        let knowns: Option<Vec<usize>> = written
            .split_whitespace()
            .map(|index| place_of(index, count))
            .collect();
        let Some(knowns) = knowns else {
            let message = format!(
                "dependencies {written:?} are not numbers from 1 to {count}; \
                 taken as depending on everything"
            );
            self.warn(raw.offset, message);
            return Ok(Unknown {
                variable,
                dependencies: Dependencies::All,
            });
        };
        let kinds = self.dependency_kinds(raw, knowns.len());
        let listed = knowns.into_iter().zip(kinds).collect();
        Ok(Unknown {
            variable,
            dependencies: Dependencies::Listed(listed),
        })
    }

    fn dependency_kinds(&mut self, raw: &RawUnknown, count: usize) -> Vec<DependencyKind> {
        let Some(written) = &raw.kinds else {
            return vec![DependencyKind::Dependent; count];
        };
        let kinds: Option<Vec<DependencyKind>> =
            written.split_whitespace().map(dependency_kind).collect();
        match kinds {
            Some(kinds) if kinds.len() == count => kinds,
            _ => {
                let message = format!(
                    "dependenciesKind {written:?} does not fit {count} dependencies; \
                     taken as dependent"
                );
                self.warn(raw.offset, message);
                vec![DependencyKind::Dependent; count]
            }
        }
    }

    /// Turns `derivative` of real variables from a number in the file into a place.
    fn resolve_derivatives(&mut self, description: &mut ModelDescription) {
        let count = description.variables.len();
        for variable in &mut description.variables {
            let TypeAttributes::Real(attributes) = &mut variable.kind else {
                continue;
            };
            let Some(written) = attributes.derivative else {
                continue;
            };
            attributes.derivative = written.checked_sub(1).filter(|place| *place < count);
            if attributes.derivative.is_none() {
                let message =
                    format!("derivative={written} is not a number from 1 to {count}; ignored");
                self.warn_at_line(variable.line, &variable.name, &message);
            }
        }
    }

    /// Outputs that `ModelStructure` forgets depend on everything (C-67).
    fn check_outputs(&mut self, description: &ModelDescription) {
        let forgotten = |(index, variable): &(usize, &super::ScalarVariable)| {
            variable.causality == Causality::Output && !description.output_place.contains_key(index)
        };
        for (_, variable) in description.variables.iter().enumerate().filter(forgotten) {
            let message = "is an output, but not listed in ModelStructure; \
                           taken as depending on everything";
            self.warn_at_line(variable.line, &variable.name, message);
        }
    }

    fn sort_names(&mut self, description: &mut ModelDescription) {
        let variables = &description.variables;
        let mut by_name: Vec<usize> = (0..variables.len()).collect();
        by_name.sort_by(|a, b| variables[*a].name.cmp(&variables[*b].name));
        for pair in by_name.windows(2) {
            if variables[pair[0]].name == variables[pair[1]].name {
                let variable = &variables[pair[1]];
                self.warn_at_line(
                    variable.line,
                    &variable.name,
                    "is the name of two variables",
                );
            }
        }
        description.by_name = by_name;
    }
}

/// A number from 1 to `count` as an index from 0.
fn place_of(written: &str, count: usize) -> Option<usize> {
    let index: usize = written.trim().parse().ok()?;
    index.checked_sub(1).filter(|place| *place < count)
}

fn dependency_kind(word: &str) -> Option<DependencyKind> {
    Some(match word {
        "dependent" => DependencyKind::Dependent,
        "constant" => DependencyKind::Constant,
        "fixed" => DependencyKind::Fixed,
        "tunable" => DependencyKind::Tunable,
        "discrete" => DependencyKind::Discrete,
        _ => return None,
    })
}
