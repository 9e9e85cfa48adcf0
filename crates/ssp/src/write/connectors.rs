//! Connectors and parameters of components, with the units and enumerations that they need.

use std::collections::{BTreeMap, BTreeSet};

use gyrator_fmu::{
    BaseUnit, Causality, ModelDescription, ScalarVariable, TypeAttributes, TypeKind,
};
use gyrator_system::Value;

use super::xml::{Xml, number};
use crate::models::unit_of;
use crate::unit::BASE_UNITS;

/// Definitions that connectors refer to.
#[derive(Default)]
pub(super) struct Definitions {
    units: BTreeMap<String, BaseUnit>,
    enumerations: BTreeMap<String, Vec<(String, i32)>>,
}

impl Definitions {
    /// The type of a variable as an element, without the prefix, and its attribute.
    fn typed(
        &mut self,
        model: &ModelDescription,
        variable: &ScalarVariable,
    ) -> (&'static str, Option<(&'static str, String)>) {
        let attribute = match &variable.kind {
            TypeAttributes::Real(_) => self.unit(model, variable).map(|unit| ("unit", unit)),
            TypeAttributes::Enumeration { .. } => {
                self.enumeration(model, variable).map(|name| ("name", name))
            }
            _ => None,
        };
        let name = match &variable.kind {
            // A type without items has no definition, and is a number then.
            TypeAttributes::Enumeration { .. } if attribute.is_none() => "Integer",
            kind => kind.name(),
        };
        (name, attribute)
    }

    /// The name of the unit of a variable. A unit that another FMU defines in another way is left
    /// to the FMUs, which count in any case.
    fn unit(&mut self, model: &ModelDescription, variable: &ScalarVariable) -> Option<String> {
        let unit = unit_of(model, variable)?;
        let base = unit.base?;
        let known = self.units.entry(unit.name.clone()).or_insert(base);
        (*known == base).then_some(unit.name)
    }

    fn enumeration(
        &mut self,
        model: &ModelDescription,
        variable: &ScalarVariable,
    ) -> Option<String> {
        let declared = variable.declared_type.as_ref()?;
        let simple = model.simple_type(declared)?;
        let TypeKind::Enumeration { items, .. } = &simple.kind else {
            return None;
        };
        let items: Vec<_> = items
            .iter()
            .map(|item| (item.name.clone(), item.value))
            .collect();
        if items.is_empty() {
            return None;
        }
        // Another FMU may use the name for other items.
        let mut name = declared.clone();
        let mut suffix = 1;
        while self
            .enumerations
            .get(&name)
            .is_some_and(|known| *known != items)
        {
            suffix += 1;
            name = format!("{declared}-{suffix}");
        }
        self.enumerations.insert(name.clone(), items);
        Some(name)
    }

    /// The elements `Enumerations` and `Units` of the description.
    pub(super) fn write(&self, xml: &mut Xml) {
        if !self.enumerations.is_empty() {
            xml.open("ssd:Enumerations", &[]);
            for (name, items) in &self.enumerations {
                xml.open("ssc:Enumeration", &[("name", name)]);
                for (item, value) in items {
                    xml.leaf("ssc:Item", &[("name", item), ("value", &value.to_string())]);
                }
                xml.close();
            }
            xml.close();
        }
        if !self.units.is_empty() {
            xml.open("ssd:Units", &[]);
            for (name, base) in &self.units {
                xml.open("ssc:Unit", &[("name", name)]);
                write_base(base, xml);
                xml.close();
            }
            xml.close();
        }
    }
}

fn write_base(base: &BaseUnit, xml: &mut Xml) {
    let exponents = BASE_UNITS.iter().zip(base.exponents);
    let mut attributes: Vec<(&str, String)> = exponents
        .filter(|(_, exponent)| *exponent != 0)
        .map(|(name, exponent)| (*name, exponent.to_string()))
        .collect();
    if base.factor != 1.0 {
        attributes.push(("factor", number(base.factor)));
    }
    if base.offset != 0.0 {
        attributes.push(("offset", number(base.offset)));
    }
    xml.leaf("ssc:BaseUnit", &borrowed(&attributes));
}

fn borrowed<'a>(attributes: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    attributes
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect()
}

/// The element `Connectors` of a component: inputs and outputs, and all that is connected.
/// Enumerations that are not connected are left out: libcosim reads none.
pub(super) fn write_connectors(
    model: &ModelDescription,
    connected: &BTreeSet<&str>,
    definitions: &mut Definitions,
    xml: &mut Xml,
) {
    let is_shown = |variable: &&ScalarVariable| {
        let is_end = matches!(variable.causality, Causality::Input | Causality::Output);
        let is_enumeration = matches!(variable.kind, TypeAttributes::Enumeration { .. });
        is_end && !is_enumeration || connected.contains(&*variable.name)
    };
    let mut shown = model.variables.iter().filter(is_shown).peekable();
    if shown.peek().is_none() {
        return;
    }
    xml.open("ssd:Connectors", &[]);
    for variable in shown {
        let kind = match variable.causality {
            Causality::Independent => "local",
            causality => causality.name(),
        };
        xml.open("ssd:Connector", &[("name", &variable.name), ("kind", kind)]);
        let (name, attribute) = definitions.typed(model, variable);
        let attributes: Vec<_> = attribute.into_iter().collect();
        xml.leaf(&format!("ssc:{name}"), &borrowed(&attributes));
        xml.close();
    }
    xml.close();
}

/// A parameter with the value of a variable, in the unit of the variable.
pub(super) fn write_parameter(
    model: &ModelDescription,
    variable: &ScalarVariable,
    value: &Value,
    definitions: &mut Definitions,
    xml: &mut Xml,
) {
    xml.open("ssv:Parameter", &[("name", &variable.name)]);
    let (name, attribute) = definitions.typed(model, variable);
    let value_text = |value: &Value| match value {
        Value::Real(real) => number(*real),
        Value::Integer(integer) => integer.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::String(text) => text.clone(),
    };
    let items = model.enumeration_items(variable);
    let (name, text) = match (name, value) {
        ("Real", Value::Integer(integer)) => (name, number(*integer as f64)),
        ("Enumeration", Value::Integer(integer)) => {
            let item = items.iter().find(|item| i64::from(item.value) == *integer);
            match item {
                Some(item) => (name, item.name.clone()),
                None => ("Integer", integer.to_string()),
            }
        }
        // A value of another type is written as it is; the reader says the same of it as before.
        ("Real" | "Integer", Value::Boolean(_)) => ("Boolean", value_text(value)),
        ("Real" | "Integer" | "Boolean", Value::String(_)) => ("String", value_text(value)),
        ("Integer" | "Boolean" | "String", Value::Real(_)) => ("Real", value_text(value)),
        ("Boolean" | "String", Value::Integer(_)) => ("Integer", value_text(value)),
        ("String", Value::Boolean(_)) => ("Boolean", value_text(value)),
        _ => (name, value_text(value)),
    };
    let mut attributes = vec![("value", text)];
    if name == "Enumeration" {
        attributes.extend(attribute);
    }
    xml.leaf(&format!("ssv:{name}"), &borrowed(&attributes));
    xml.close();
}
