//! Reads `UnitDefinitions` and `TypeDefinitions`.

use super::attributes::text;
use super::parser::Parser;
use super::reader::Element;
use super::{BaseUnit, DisplayUnit, EnumerationItem, SimpleType, TypeKind, UnitDefinition};

impl<'a> Parser<'a> {
    pub(super) fn units(&mut self) -> Vec<UnitDefinition> {
        let mut units = Vec::new();
        while let Some(mut element) = self.xml.child() {
            if element.name != "Unit" {
                self.unknown(&element);
                continue;
            }
            let name = self.expected(&mut element, "name");
            self.done(element);
            let mut unit = UnitDefinition {
                name,
                base: None,
                display_units: Vec::new(),
            };
            while let Some(mut child) = self.xml.child() {
                match child.name {
                    "BaseUnit" => unit.base = Some(self.base_unit(&mut child)),
                    "DisplayUnit" => unit.display_units.push(DisplayUnit {
                        name: self.expected(&mut child, "name"),
                        factor: self.number(&mut child, "factor").unwrap_or(1.0),
                        offset: self.number(&mut child, "offset").unwrap_or(0.0),
                    }),
                    _ => {
                        self.unknown(&child);
                        continue;
                    }
                }
                self.leaf(child);
            }
            units.push(unit);
        }
        units
    }

    fn base_unit(&mut self, element: &mut Element<'a>) -> BaseUnit {
        let names = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
        BaseUnit {
            exponents: names.map(|name| self.number(element, name).unwrap_or(0)),
            factor: self.number(element, "factor").unwrap_or(1.0),
            offset: self.number(element, "offset").unwrap_or(0.0),
        }
    }

    pub(super) fn types(&mut self) -> Vec<SimpleType> {
        let mut types = Vec::new();
        while let Some(mut element) = self.xml.child() {
            if element.name != "SimpleType" {
                self.unknown(&element);
                continue;
            }
            let name = self.expected(&mut element, "name");
            let description = text(&mut element, "description");
            let offset = element.offset;
            self.done(element);
            let mut kind = None;
            while let Some(child) = self.xml.child() {
                match self.type_kind(child) {
                    Some(found) => kind = Some(found),
                    None => self.warn(offset, format!("unknown base type of type {name}")),
                }
            }
            match kind {
                Some(kind) => types.push(SimpleType {
                    name,
                    description,
                    kind,
                }),
                None => self.warn(offset, format!("type {name} has no base type; ignored")),
            }
        }
        types
    }

    fn type_kind(&mut self, mut element: Element<'a>) -> Option<TypeKind> {
        let e = &mut element;
        let kind = match e.name {
            "Real" => TypeKind::Real(self.real_attributes(e, None)),
            "Integer" => TypeKind::Integer {
                quantity: text(e, "quantity"),
                min: self.number(e, "min"),
                max: self.number(e, "max"),
            },
            "Boolean" => TypeKind::Boolean,
            "String" => TypeKind::String,
            "Enumeration" => {
                let quantity = text(e, "quantity");
                self.done(element);
                return Some(TypeKind::Enumeration {
                    quantity,
                    items: self.items(),
                });
            }
            _ => {
                self.xml.skip();
                return None;
            }
        };
        self.leaf(element);
        Some(kind)
    }

    fn items(&mut self) -> Vec<EnumerationItem> {
        let mut items = Vec::new();
        while let Some(mut element) = self.xml.child() {
            let name = self.expected(&mut element, "name");
            let description = text(&mut element, "description");
            match self.number(&mut element, "value") {
                Some(value) => items.push(EnumerationItem {
                    name,
                    value,
                    description,
                }),
                None => self.warn(element.offset, format!("item {name} has no value; ignored")),
            }
            self.leaf(element);
        }
        items
    }
}
