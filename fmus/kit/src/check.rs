//! Checks a model's variable table, also against what the model computes.

use std::collections::BTreeSet;

use fmi2_abi::Causality;

use crate::in_process::InProcess;
use crate::model::{Fault, Model};
use crate::table::{Table, ValueReference};
use crate::variable::{Place, TypedPlace, Variable};

/// Errors in the table of the model `M`; empty if all is well.
///
/// Names have to be unique; dependencies have to name inputs and parameters; an output that
/// changes in Initialization Mode when an input or parameter does has to say so. The last is found
/// by trying, so it holds at one point only.
#[must_use]
pub fn problems<M: Model>() -> Vec<String> {
    let table = Table::<M>::new();
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for variable in &table.variables {
        if !names.insert(variable.name) {
            problems.push(format!("{} appears twice", variable.name));
        }
        check_names(&table, variable, &mut problems);
    }
    if let Err(fault) = probe::<M>(&table, &mut problems) {
        problems.push(format!("the outputs cannot be computed: {fault}"));
    }
    problems
}

fn check_names<M: Model>(table: &Table<M>, variable: &Variable<M>, problems: &mut Vec<String>) {
    let kinds = [
        (variable.depends_on, Causality::Input),
        (variable.starts_from, Causality::Parameter),
    ];
    for (names, causality) in kinds {
        for name in names {
            let known = table.index_of(name).map(|i| table.variables[i].causality);
            if known != Some(causality) {
                let (of, causality) = (variable.name, causality.name());
                problems.push(format!("{of} depends on {name}, which is no {causality}"));
            }
        }
    }
}

/// Changes each known and looks which unknowns change.
fn probe<M: Model>(table: &Table<M>, problems: &mut Vec<String>) -> Result<(), Fault> {
    let mut unit = InProcess::<M>::new();
    // Away from zero, where products hide dependencies.
    for (index, variable) in table.variables.iter().enumerate() {
        if matches!(variable.kind, TypedPlace::Real(Place::Model(_))) && !variable.is_calculated() {
            change(&mut unit, variable, table.references[index])?;
        }
    }
    let base = unit.save();
    let before = unknowns(table, &mut unit)?;
    for (index, known) in table.variables.iter().enumerate() {
        if known.is_calculated() {
            continue;
        }
        unit.restore(&base);
        change(&mut unit, known, table.references[index])?;
        let after = unknowns(table, &mut unit)?;
        for ((unknown, old), (_, new)) in before.iter().zip(&after) {
            let names = [unknown.depends_on, unknown.starts_from];
            if old != new && !names.concat().contains(&known.name) {
                let (of, on) = (unknown.name, known.name);
                problems.push(format!("{of} depends on {on} and does not say so"));
            }
        }
    }
    Ok(())
}

/// Gives a variable another value that it may have.
fn change<M: Model>(
    unit: &mut InProcess<M>,
    variable: &Variable<M>,
    reference: ValueReference,
) -> Result<(), Fault> {
    match variable.kind {
        TypedPlace::Real(_) => {
            let value = *unit.get::<f64>(reference)? + 0.7;
            let value = value.min(variable.max.unwrap_or(value));
            unit.set(reference, value)
        }
        TypedPlace::Integer(_) => {
            let value = unit.get::<i32>(reference)? + 1;
            unit.set(reference, value)
        }
        TypedPlace::Boolean(_) => {
            let value = !*unit.get::<bool>(reference)?;
            unit.set(reference, value)
        }
        TypedPlace::String(_) => {
            let value = format!("{}.", unit.get::<String>(reference)?);
            unit.set(reference, value)
        }
        TypedPlace::Enumeration(_, items) => {
            let next = *unit.get::<i32>(reference)? + 1;
            unit.set(reference, if items.contains(next) { next } else { 1 })
        }
    }
}

type Unknowns<'t, M> = Vec<(&'t Variable<M>, String)>;

/// All unknowns with their values as text.
fn unknowns<'t, M: Model>(
    table: &'t Table<M>,
    unit: &mut InProcess<M>,
) -> Result<Unknowns<'t, M>, Fault> {
    let mut result = Vec::new();
    for (variable, &reference) in table.variables.iter().zip(&table.references) {
        if !variable.is_calculated() {
            continue;
        }
        let value = match variable.kind {
            TypedPlace::Real(_) => format!("{:?}", unit.get::<f64>(reference)?),
            TypedPlace::Integer(_) | TypedPlace::Enumeration(..) => {
                unit.get::<i32>(reference)?.to_string()
            }
            TypedPlace::Boolean(_) => unit.get::<bool>(reference)?.to_string(),
            TypedPlace::String(_) => unit.get::<String>(reference)?.clone(),
        };
        result.push((variable, value));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::problems;
    use crate::{Fault, Model, Variable};

    #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    struct Wrong {
        u: f64,
        y: f64,
    }

    impl Model for Wrong {
        const NAME: &'static str = "Wrong";
        const DESCRIPTION: &'static str = "A table with mistakes";

        fn variables() -> Vec<Variable<Self>> {
            vec![
                Variable::<Self>::input_real("u", |m| &mut m.u, ""),
                Variable::<Self>::output_real("y", |m| &mut m.y, "").starts_from(&["u"]),
                Variable::<Self>::output_real("z", |m| &mut m.y, "").depends_on(&["w"]),
                Variable::<Self>::output_real("z", |m| &mut m.y, "").depends_on(&["u"]),
            ]
        }

        fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
            self.y = 2.0 * self.u;
            Ok(())
        }
    }

    #[test]
    fn finds_every_mistake() {
        assert_eq!(
            problems::<Wrong>(),
            [
                "y depends on u, which is no parameter",
                "z depends on w, which is no input",
                "z appears twice",
                "z depends on u and does not say so",
            ]
        );
    }
}
