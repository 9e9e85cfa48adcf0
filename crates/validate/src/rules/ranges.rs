//! V-28 and V-29: ranges and values.

use super::simple_types::items;
use crate::finding::{Findings, Severity};
use crate::literal;
use crate::model::{Model, TypeElement, Variable};
use crate::rule::{Check, Rule};

pub(super) static RULES: &[Rule] = &[
    Rule {
        number: 28,
        title: "start values are finite and within min and max",
        severity: Severity::Error,
        source: "2.2.7",
        check: Check::Description(values_are_in_range),
    },
    Rule {
        number: 29,
        title: "the declared type exists, fits, and holds the variable's range",
        severity: Severity::Error,
        source: "2.2.3, 2.2.7",
        check: Check::Description(declared_types_fit),
    },
];

/// Range and start value of a variable of numbers, its own or its type's.
struct Range {
    min: Option<f64>,
    max: Option<f64>,
    start: Option<f64>,
}

fn values_are_in_range(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in &model.variables {
        let Some(kind @ (TypeElement::Real | TypeElement::Integer | TypeElement::Enumeration)) =
            variable.kind
        else {
            continue;
        };
        values_are_finite(model, variable, findings);
        let number = |name| model.inherited(variable, name).and_then(literal::double);
        let range = Range {
            min: number("min"),
            max: number("max"),
            start: variable.start.and_then(literal::double),
        };
        if let Some(message) = range.wrong() {
            findings.at(variable.offset, format!("{}: {message}", variable.name));
        }
        let nominal = number("nominal").filter(|nominal| *nominal <= 0.0);
        if let Some(nominal) = nominal.filter(|_| kind == TypeElement::Real) {
            let message = format!("{}: nominal {nominal} is not positive", variable.name);
            findings.at(variable.offset, message);
        }
        let is_needed = variable.is_settable();
        if is_needed && range.start.is_none() && range.excludes(0.0) {
            let message = format!(
                "{}: 0, which stands for the missing start value, is out of range",
                variable.name
            );
            findings.graded_at(Severity::Warning, variable.offset, message);
        }
    }
}

fn values_are_finite(model: &Model<'_>, variable: &Variable<'_>, findings: &mut Findings<'_>) {
    for name in ["start", "min", "max", "nominal"] {
        let value = model.own(variable, name).and_then(literal::double);
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            findings.at(
                variable.offset,
                format!("{}: {name} is {value}", variable.name),
            );
        }
    }
}

impl Range {
    fn wrong(&self) -> Option<String> {
        match (self.min, self.max, self.start) {
            (Some(min), Some(max), _) if max < min => {
                Some(format!("max {max} is less than min {min}"))
            }
            (Some(min), _, Some(start)) if start < min => {
                Some(format!("the start value {start} is less than min {min}"))
            }
            (_, Some(max), Some(start)) if start > max => {
                Some(format!("the start value {start} is more than max {max}"))
            }
            _ => None,
        }
    }

    fn excludes(&self, value: f64) -> bool {
        self.min.is_some_and(|min| value < min) || self.max.is_some_and(|max| value > max)
    }
}

fn declared_types_fit(model: &Model<'_>, findings: &mut Findings<'_>) {
    for variable in &model.variables {
        let Some(declared) = variable.declared_type else {
            continue;
        };
        let name = variable.name;
        let Some(simple) = model.simple_type(declared) else {
            findings.at(
                variable.offset,
                format!("{name}: there is no type {declared:?}"),
            );
            continue;
        };
        if let (Some(kind), Some(of_type)) = (variable.kind, simple.kind)
            && kind != of_type
        {
            let message = format!(
                "{name} is of type {}, its declared type {declared:?} is of {}",
                kind.name(),
                of_type.name()
            );
            findings.at(variable.offset, message);
            continue;
        }
        range_is_in_type(model, variable, declared, findings);
        start_is_an_item(model, variable, findings);
    }
}

fn range_is_in_type(
    model: &Model<'_>,
    variable: &Variable<'_>,
    declared: &str,
    findings: &mut Findings<'_>,
) {
    let of_type = model.simple_type(declared).and_then(|simple| simple.value);
    let in_type = |name| {
        let value = model.document.value(of_type?, name)?;
        literal::double(value)
    };
    let own = |name| model.own(variable, name).and_then(literal::double);
    let outside = |name, is_outside: fn(f64, f64) -> bool| {
        let (own, limit) = (own(name)?, in_type(name)?);
        is_outside(own, limit).then(|| {
            format!("{name} {own} is outside of the range of {declared:?}, {name} {limit}")
        })
    };
    let wrong = outside("min", |own, limit| own < limit)
        .or_else(|| outside("max", |own, limit| own > limit));
    if let Some(message) = wrong {
        findings.at(variable.offset, format!("{}: {message}", variable.name));
    }
}

fn start_is_an_item(model: &Model<'_>, variable: &Variable<'_>, findings: &mut Findings<'_>) {
    if variable.kind != Some(TypeElement::Enumeration) {
        return;
    }
    let Some(simple) = model.declared_type(variable) else {
        return;
    };
    let start = variable.start.and_then(literal::int);
    let Some(start) = start.filter(|start| items(model, simple).all(|item| item.value != *start))
    else {
        return;
    };
    let message = format!(
        "{}: the start value {start} is not an item of {:?}",
        variable.name, simple.name
    );
    findings.at(variable.offset, message);
}
