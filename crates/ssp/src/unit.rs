//! Units of measure and enumerations (SSP 4).

use std::collections::BTreeMap;

use gyrator_fmu::BaseUnit;

use crate::tree::{Element, Reader};

/// Units by name.
pub(crate) type Units = BTreeMap<String, BaseUnit>;

/// Values of enumerations by item, by the name of the enumeration.
pub(crate) type Enumerations = BTreeMap<String, BTreeMap<String, i64>>;

/// The names of the base units, in the order of their exponents.
pub(crate) const BASE_UNITS: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];

/// The element `Units` of a description, a parameter set or a dictionary.
pub(crate) fn units(parent: Element<'_>, reader: &mut Reader<'_>) -> Units {
    let mut units = Units::new();
    for unit in parent.listed("Units", "Unit") {
        unit.expect(&["name"], &["BaseUnit"], reader);
        let name = unit.required("name", reader);
        let Some((name, base)) = name.zip(unit.child("BaseUnit")) else {
            continue;
        };
        let known = [&BASE_UNITS[..], &["factor", "offset"]].concat();
        base.expect(&known, &[], reader);
        let mut exponents = [0; 8];
        for (exponent, name) in exponents.iter_mut().zip(BASE_UNITS) {
            let value = base.parsed(name, "a whole number", reader);
            *exponent = value.map_or(0, |value| value.value);
        }
        let mut number = |name, default| {
            let value = base.number(name, reader);
            value.map_or(default, |value| value.value)
        };
        let (factor, offset) = (number("factor", 1.0), number("offset", 0.0));
        let base = BaseUnit {
            exponents,
            factor,
            offset,
        };
        units.insert(name.value, base);
    }
    units
}

/// The element `Enumerations`.
pub(crate) fn enumerations(parent: Element<'_>, reader: &mut Reader<'_>) -> Enumerations {
    let mut enumerations = Enumerations::new();
    for enumeration in parent.listed("Enumerations", "Enumeration") {
        enumeration.expect(&["name"], &["Item"], reader);
        let mut items = BTreeMap::new();
        for item in enumeration.named("Item") {
            item.expect(&["name", "value"], &[], reader);
            let name = item.required("name", reader);
            let value = item.parsed("value", "a whole number", reader);
            if let Some((name, value)) = name.zip(value) {
                items.insert(name.value, value.value);
            }
        }
        if let Some(name) = enumeration.required("name", reader) {
            enumerations.insert(name.value, items);
        }
    }
    enumerations
}
