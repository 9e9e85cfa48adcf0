//! Reads `ModelVariables`.

use std::collections::BTreeMap;

use super::attributes::text;
use super::parser::Parser;
use super::reader::{Element, XmlError};
use super::variable::legal_initial;
use super::{
    Causality, Initial, RealAttributes, ScalarVariable, SimpleType, TypeAttributes, TypeKind,
    Variability, VendorAnnotation,
};

/// Types by name.
type Types<'t> = BTreeMap<&'t str, &'t TypeKind>;

impl<'a> Parser<'a> {
    pub(super) fn variables(
        &mut self,
        types: &[SimpleType],
    ) -> Result<Vec<ScalarVariable>, XmlError> {
        let types: Types<'_> = types.iter().map(|t| (t.name.as_str(), &t.kind)).collect();
        let mut variables = Vec::new();
        while let Some(element) = self.xml.child() {
            if element.name == "ScalarVariable" {
                variables.push(self.variable(element, &types)?);
            } else {
                self.unknown(&element);
            }
        }
        Ok(variables)
    }

    fn variable(
        &mut self,
        mut element: Element<'a>,
        types: &Types<'_>,
    ) -> Result<ScalarVariable, XmlError> {
        let e = &mut element;
        let (offset, line) = (e.offset, self.xml.line(e.offset));
        let name = self.required(e, "name")?;
        let value_reference = self.value_reference(e, &name)?;
        let description = text(e, "description");
        let causality = self.word(e, "causality", &Causality::ALL, Causality::name);
        let variability = self.word(e, "variability", &Variability::ALL, Variability::name);
        let initial = self.word(e, "initial", &Initial::ALL, Initial::name);
        let multiple_set = self.boolean(e, "canHandleMultipleSetPerTimeInstant");
        self.done(element);
        let (kind, declared_type, annotations) = self.variable_content(offset, &name, types)?;
        let causality = causality.unwrap_or(Causality::Local);
        let variability = self.variability(offset, &name, causality, variability, &kind);
        let initial = self.initial(offset, &name, (causality, variability), initial, &kind);
        Ok(ScalarVariable {
            name,
            value_reference,
            description,
            causality,
            variability,
            initial,
            can_handle_multiple_set_per_time_instant: multiple_set.unwrap_or(true),
            declared_type,
            kind,
            annotations,
            line,
        })
    }

    fn value_reference(&mut self, element: &mut Element<'a>, name: &str) -> Result<u32, XmlError> {
        let written = self.required(element, "valueReference")?;
        written.trim().parse().map_err(|_| {
            let message = format!(
                "valueReference {written:?} of {name} is not a number from 0 to {}",
                u32::MAX
            );
            self.xml.error(element.offset, message)
        })
    }

    /// The element that gives the type, and annotations.
    fn variable_content(
        &mut self,
        offset: usize,
        name: &str,
        types: &Types<'_>,
    ) -> Result<(TypeAttributes, Option<String>, Vec<VendorAnnotation>), XmlError> {
        let mut kind = None;
        let mut annotations = Vec::new();
        while let Some(mut child) = self.xml.child() {
            if child.name == "Annotations" {
                annotations = self.annotations();
                continue;
            }
            let declared = text(&mut child, "declaredType");
            let found = declared
                .as_deref()
                .and_then(|declared| types.get(declared).copied());
            if let (Some(missing), None) = (&declared, found) {
                self.warn(offset, format!("type {missing:?} of {name} is not defined"));
            }
            match self.kind(&mut child, found) {
                Some(attributes) => {
                    kind = Some((attributes, declared));
                    self.leaf(child);
                }
                None => self.unknown(&child),
            }
        }
        match kind {
            Some((kind, declared)) => Ok((kind, declared, annotations)),
            None => Err(self
                .xml
                .error(offset, format!("variable {name} has no type"))),
        }
    }

    fn kind(
        &mut self,
        element: &mut Element<'a>,
        declared: Option<&TypeKind>,
    ) -> Option<TypeAttributes> {
        let range = match declared {
            Some(TypeKind::Integer { quantity, min, max }) => (quantity.clone(), *min, *max),
            Some(TypeKind::Enumeration { quantity, .. }) => (quantity.clone(), None, None),
            _ => (None, None, None),
        };
        let e = element;
        Some(match e.name {
            "Real" => TypeAttributes::Real(match declared {
                Some(TypeKind::Real(defaults)) => self.real_attributes(e, Some(defaults)),
                _ => self.real_attributes(e, None),
            }),
            "Integer" => TypeAttributes::Integer {
                quantity: text(e, "quantity").or(range.0),
                min: self.number(e, "min").or(range.1),
                max: self.number(e, "max").or(range.2),
                start: self.number(e, "start"),
            },
            "Boolean" => TypeAttributes::Boolean {
                start: self.boolean(e, "start"),
            },
            "String" => TypeAttributes::String {
                start: text(e, "start"),
            },
            "Enumeration" => TypeAttributes::Enumeration {
                quantity: text(e, "quantity").or(range.0),
                min: self.number(e, "min"),
                max: self.number(e, "max"),
                start: self.number(e, "start"),
            },
            _ => return None,
        })
    }

    /// Attributes of a real type or variable; missing ones come from `declared` (C-59).
    pub(super) fn real_attributes(
        &mut self,
        element: &mut Element<'a>,
        declared: Option<&RealAttributes>,
    ) -> RealAttributes {
        let e = element;
        let defaults = declared.cloned().unwrap_or_default();
        RealAttributes {
            quantity: text(e, "quantity").or(defaults.quantity),
            // Tools write an empty text if they know no unit.
            unit: text(e, "unit")
                .filter(|unit| !unit.trim().is_empty())
                .or(defaults.unit),
            display_unit: text(e, "displayUnit").or(defaults.display_unit),
            relative_quantity: self
                .boolean(e, "relativeQuantity")
                .unwrap_or(defaults.relative_quantity),
            min: self.number(e, "min").or(defaults.min),
            max: self.number(e, "max").or(defaults.max),
            nominal: self.number(e, "nominal").or(defaults.nominal),
            unbounded: self.boolean(e, "unbounded").unwrap_or(defaults.unbounded),
            start: self.number(e, "start"),
            // Still as written, from 1; `resolve` turns it into an index.
            derivative: self.number(e, "derivative"),
            reinit: self.boolean(e, "reinit").unwrap_or(false),
        }
    }

    /// `variability` with the default of the standard, and a substitute if it is illegal
    /// (C-46).
    fn variability(
        &mut self,
        offset: usize,
        name: &str,
        causality: Causality,
        given: Option<Variability>,
        kind: &TypeAttributes,
    ) -> Variability {
        let is_real = matches!(kind, TypeAttributes::Real(_));
        let parameter = matches!(
            causality,
            Causality::Parameter | Causality::CalculatedParameter
        );
        let taken = match given {
            Some(Variability::Continuous) | None if parameter => Variability::Fixed,
            Some(Variability::Continuous) | None if !is_real => Variability::Discrete,
            Some(given) => return given,
            None => return Variability::Continuous,
        };
        let message = format!(
            "{} {} {name} cannot be continuous; taken as {}",
            kind.name(),
            causality.name(),
            taken.name()
        );
        self.warn(offset, message);
        taken
    }

    /// `initial` with the default of the standard, and a substitute if it is illegal.
    fn initial(
        &mut self,
        offset: usize,
        name: &str,
        (causality, variability): (Causality, Variability),
        given: Option<Initial>,
        kind: &TypeAttributes,
    ) -> Option<Initial> {
        let Some(legal) = legal_initial(causality, variability) else {
            let message = format!(
                "{name}: causality {} with variability {} is not allowed",
                causality.name(),
                variability.name()
            );
            self.warn(offset, message);
            let guess = if has_start(kind) {
                Initial::Exact
            } else {
                Initial::Calculated
            };
            return Some(given.unwrap_or(guess));
        };
        let default = legal.first().copied();
        match given {
            Some(initial) if legal.contains(&initial) => Some(initial),
            None => default,
            Some(initial) => {
                let (initial, causality) = (initial.name(), causality.name());
                let message = format!("{name}: initial {initial} is not allowed for {causality}");
                self.warn(offset, message);
                default
            }
        }
    }
}

fn has_start(kind: &TypeAttributes) -> bool {
    match kind {
        TypeAttributes::Real(attributes) => attributes.start.is_some(),
        TypeAttributes::Integer { start, .. } | TypeAttributes::Enumeration { start, .. } => {
            start.is_some()
        }
        TypeAttributes::Boolean { start } => start.is_some(),
        TypeAttributes::String { start } => start.is_some(),
    }
}
