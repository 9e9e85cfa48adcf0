//! Parameters as a binding gives them, and the conversion of their values.

use std::collections::BTreeMap;
use std::ops::Range;

use gyrator_system::{Problem, Spanned, Value, did_you_mean};

use crate::conversion::{Linear, between};
use crate::parameters::{Binding, Parameter, ParameterSet};
use crate::structure::Unit;
use crate::transformation::Transformation;
use crate::tree::Reader;

/// A parameter as a binding gives it: under which name, and changed in which way.
pub(crate) struct Given<'b> {
    pub(crate) name: Spanned<String>,
    pub(crate) parameter: &'b Parameter,
    pub(crate) set: &'b ParameterSet,
    pub(crate) transformation: Option<&'b Spanned<Transformation>>,
    pub(crate) keeps_unit: bool,
}

/// The parameters of a binding under the names that they get.
pub(crate) fn given<'b>(binding: &'b Binding, reader: &mut Reader<'_>) -> Vec<Given<'b>> {
    let set = &*binding.set;
    let prefixed = |name: &Spanned<String>| {
        Spanned::new(
            format!("{}{}", binding.prefix, name.value),
            name.span.clone(),
        )
    };
    let Some(mapping) = &binding.mapping else {
        let plain = set.parameters.iter().map(|parameter| Given {
            name: prefixed(&parameter.name),
            parameter,
            set,
            transformation: None,
            keeps_unit: false,
        });
        return plain.collect();
    };
    let known: BTreeMap<String, &Parameter> = set
        .parameters
        .iter()
        .map(|parameter| (prefixed(&parameter.name).value, parameter))
        .collect();
    let mut given = Vec::new();
    for entry in mapping.iter() {
        let Some(parameter) = known.get(&entry.source.value) else {
            let name = &set.name.value;
            let message = format!(
                "the parameter set `{name}` has no parameter `{}`; ignored",
                entry.source.value
            );
            if reader.is_new(message.clone()) {
                let problem = Problem::warning("unknown-parameter", message).at(&entry.source.span);
                let searched = known.keys().take(1000).map(String::as_str);
                let help = did_you_mean(&entry.source.value, searched);
                reader.problems.push(problem.advised(help));
            }
            continue;
        };
        given.push(Given {
            name: entry.target.clone(),
            parameter,
            set,
            transformation: entry.transformation.as_ref(),
            keeps_unit: entry.keeps_unit,
        });
    }
    given
}

/// A number after a conversion; other values have no units.
pub(crate) fn converted(value: Value, linear: Linear) -> Value {
    match value {
        Value::Real(number) => Value::Real(linear.apply(number)),
        // Tools write whole numbers for parameters of real variables.
        Value::Integer(number) if linear != Linear::IDENTITY => {
            Value::Real(linear.apply(number as f64))
        }
        other => other,
    }
}

/// The conversion of a value; `None` if the units measure different things, which is reported.
pub(crate) fn conversion(
    from: Option<&Unit>,
    to: Option<&Unit>,
    is_relative: bool,
    name: &str,
    place: &Range<usize>,
    reader: &mut Reader<'_>,
) -> Option<Linear> {
    let Some((from, to)) = from.zip(to) else {
        return Some(Linear::IDENTITY);
    };
    let Some((from_base, to_base)) = from.base.as_ref().zip(to.base.as_ref()) else {
        note_undefined(from, to, name, place, reader);
        return Some(Linear::IDENTITY);
    };
    let found = between(from_base, to_base, is_relative);
    if found.is_none() {
        let message = format!(
            "{name} is given in {} and wanted in {}, which measure different things",
            from.name, to.name
        );
        reader.error("unit-mismatch", message, place);
    }
    found
}

/// A note that values pass unconverted between two units because one has no definition.
pub(crate) fn note_undefined(
    from: &Unit,
    to: &Unit,
    name: &str,
    place: &Range<usize>,
    reader: &mut Reader<'_>,
) {
    if from.name == to.name {
        return;
    }
    let missing = if from.base.is_none() { from } else { to };
    let message = format!(
        "the unit {} is not defined; {name} is passed on in {} as if it were in {}",
        missing.name, from.name, to.name
    );
    if reader.is_new(message.clone()) {
        let problem = Problem::warning("undefined-unit", message);
        reader.problems.push(problem.at(place));
    }
}
