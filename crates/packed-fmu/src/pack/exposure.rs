//! The variables of a packed FMU: which ones, and under which names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gyrator::Value;
use gyrator::graph::{Graph, GraphVariable, Sources, sources};
use gyrator::record::{BOND_VALUES, BondValue};
use gyrator::unit::{Causality, PhysicalUnit, VariableType};
use gyrator_fmu::{
    BaseUnit, EnumerationItem, ModelDescription, RealAttributes, TypeAttributes, UnitDefinition,
    Variability,
};
use gyrator_system::did_you_mean;
use wildmatch::WildMatch;

use super::{PackError, PackOptions};
use crate::contents::{BaseType, Exposed, Role, Source};

/// A variable with all that `modelDescription.xml` says about it.
pub(super) struct Variable {
    pub(super) row: Exposed,
    /// Component and variable in the graph; `None` for values of bonds and verdicts.
    pub(super) place: Option<(usize, usize)>,
    pub(super) description: Option<String>,
    pub(super) variability: Variability,
    pub(super) attributes: TypeAttributes,
    /// The unit of a Real.
    pub(super) unit: Option<UnitDefinition>,
    /// The type of an Enumeration.
    pub(super) enumeration: Option<Enumeration>,
    /// The component that it belongs to.
    pub(super) owner: String,
    /// Start value of an output that never changes.
    pub(super) constant: Option<String>,
}

/// The items of an enumeration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Enumeration {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) items: Vec<EnumerationItem>,
}

type Models = BTreeMap<String, Arc<ModelDescription>>;

/// Values of bonds that are exposed without being asked for.
const USUAL: [&str; 2] = ["residual_power", "residual_energy"];

/// The variables that the options choose, with the names that they give.
pub(super) fn choose(
    graph: &Graph,
    models: &Models,
    options: &PackOptions,
) -> Result<Vec<Variable>, PackError> {
    let candidates = candidates(graph, models);
    let mut patterns: Vec<_> = options
        .expose
        .iter()
        .map(|p| (WildMatch::new(p), false))
        .collect();
    let mut renames: Vec<_> = options
        .rename
        .iter()
        .map(|rename| (rename, false))
        .collect();
    let (mut chosen, mut names, mut outside) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (mut variable, is_usual) in candidates {
        let name = variable.row.name.clone();
        let mut is_chosen = patterns.is_empty() && is_usual;
        for (pattern, met) in &mut patterns {
            if pattern.matches(&name) {
                (is_chosen, *met) = (true, true);
            }
        }
        if is_chosen {
            for ((_, new), met) in renames.iter_mut().filter(|((old, _), _)| *old == name) {
                (variable.row.name, *met) = (new.clone(), true);
            }
            if !gyrator_ssp::xml::can_hold(&variable.row.name) || variable.row.name.is_empty() {
                let text = format!(
                    "{name:?} cannot be the name of a variable: give it another one with --rename"
                );
                return Err(PackError::Names(text));
            }
            if !outside.insert(variable.row.name.clone()) {
                let text = format!(
                    "two variables are called {}: rename one of them",
                    variable.row.name
                );
                return Err(PackError::Names(text));
            }
            chosen.push(variable);
        }
        names.push(name);
    }
    let patterns = patterns
        .iter()
        .filter(|(_, met)| !met)
        .map(|(p, _)| ("--expose", p.to_string()));
    let renames = renames
        .iter()
        .filter(|(_, met)| !met)
        .map(|((old, _), _)| ("--rename", old.clone()));
    match patterns.chain(renames).next() {
        None => Ok(chosen),
        Some((option, name)) => {
            let advice = did_you_mean(&name, names.iter().map(String::as_str));
            let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
            Err(PackError::Names(format!(
                "{option} {name}: no output, unconnected input, parameter or value of a bond that is packed has that name{advice}"
            )))
        }
    }
}

/// All that can be exposed, and whether it is without being asked for.
fn candidates(graph: &Graph, models: &Models) -> Vec<(Variable, bool)> {
    let variables = graph.variables().filter_map(|variable| {
        let model = models.get(variable.component).map(|model| &**model);
        of_component(&variable, model).map(|variable| (variable, true))
    });
    let mut found: Vec<_> = variables.collect();
    let mut has_bonds = false;
    for name in graph.bond_names() {
        has_bonds = true;
        for value in BOND_VALUES {
            found.push((of_bond(name, value), USUAL.contains(&value.name)));
        }
        let text = format!("verdict on the coupling error at the bond {name}: {VERDICTS}");
        let source = Source::BondVerdict(name.to_owned());
        found.push((verdict(format!("bond.{name}.verdict"), source, text), true));
    }
    if has_bonds {
        let text = format!("verdict on the coupling error of the run: {VERDICTS}");
        found.push((verdict("verdict".to_owned(), Source::Verdict, text), true));
    }
    found
}

/// The numbers of [`gyrator::Verdict::ALL`], from 1.
const VERDICTS: &str = "1 small, 2 visible, 3 cannot tell, 4 dominating, 5 diverging";

fn of_bond(bond: &str, value: &BondValue) -> Variable {
    let unit = (value.unit != "1").then(|| {
        // kg, m, s, A, K, mol, cd, rad
        let exponents = match value.unit {
            "J" => [1, 2, -2, 0, 0, 0, 0, 0],
            _ => [1, 2, -3, 0, 0, 0, 0, 0],
        };
        let (factor, offset) = (1.0, 0.0);
        UnitDefinition {
            name: value.unit.to_owned(),
            base: Some(BaseUnit {
                exponents,
                factor,
                offset,
            }),
            display_units: Vec::new(),
        }
    });
    let source = Source::Bond(bond.to_owned(), value.name.to_owned());
    let words = value.name.replace('_', " ");
    let mut variable = output(
        format!("bond.{bond}.{}", value.name),
        source,
        BaseType::Real,
    );
    variable.description = Some(format!("{words} of the bond {bond}"));
    variable.attributes = TypeAttributes::Real(RealAttributes {
        unit: unit.as_ref().map(|unit| unit.name.clone()),
        ..RealAttributes::default()
    });
    variable.unit = unit;
    variable
}

fn verdict(name: String, source: Source, description: String) -> Variable {
    let mut variable = output(name, source, BaseType::Integer);
    variable.description = Some(description);
    variable.attributes = TypeAttributes::Integer {
        quantity: None,
        min: Some(1),
        max: Some(5),
        start: None,
    };
    variable
}

/// An output that is not a variable of a component.
fn output(name: String, source: Source, base_type: BaseType) -> Variable {
    Variable {
        row: Exposed {
            name,
            source,
            base_type,
            role: Role::Output,
            start: None,
        },
        place: None,
        description: None,
        variability: Variability::Discrete,
        attributes: TypeAttributes::Boolean { start: None },
        unit: None,
        enumeration: None,
        owner: "bond".to_owned(),
        constant: None,
    }
}

/// A variable of a component; `None` if it stays inside.
fn of_component(
    variable: &GraphVariable<'_>,
    model: Option<&ModelDescription>,
) -> Option<Variable> {
    let described = variable.described;
    let role = match described.causality {
        Causality::Input if !variable.is_fed => Role::Input,
        Causality::Output => Role::Output,
        Causality::Parameter if described.has_start => Role::Parameter,
        Causality::TunableParameter => Role::TunableParameter,
        _ => return None,
    };
    let of_fmu = model.and_then(|model| model.variables.get(variable.place.1).map(|v| (model, v)));
    let attributes = match of_fmu {
        Some((_, scalar)) => scalar.kind.clone(),
        None => of_block(variable),
    };
    let start = match variable.start {
        Some(value) => written(value),
        None => start_of(&attributes),
    };
    let variability = match (of_fmu.map(|(_, scalar)| scalar.variability), role) {
        (_, Role::Parameter) => Variability::Fixed,
        (_, Role::TunableParameter) => Variability::Tunable,
        (Some(Variability::Constant), Role::Output) => Variability::Constant,
        (Some(Variability::Continuous), _) => Variability::Continuous,
        (None, _) if !described.is_discrete && described.kind == VariableType::Real => {
            Variability::Continuous
        }
        _ => Variability::Discrete,
    };
    let unit = match of_fmu {
        Some((model, scalar)) => scalar
            .real()
            .and_then(|real| real.unit.as_deref())
            .and_then(|name| model.unit(name).cloned()),
        None => described.unit.as_ref().map(definition),
    };
    let enumeration =
        (described.kind == VariableType::Enumeration).then(|| enumeration(variable, of_fmu));
    let name = format!("{}.{}", variable.component, described.name);
    let is_constant = variability == Variability::Constant;
    Some(Variable {
        row: Exposed {
            source: Source::Variable(name.clone()),
            name,
            base_type: match described.kind.carrier() {
                VariableType::Real => BaseType::Real,
                VariableType::Boolean => BaseType::Boolean,
                VariableType::String => BaseType::String,
                VariableType::Integer | VariableType::Enumeration => BaseType::Integer,
            },
            start: (role != Role::Output).then(|| start.clone()),
            role,
        },
        place: Some(variable.place),
        description: of_fmu.and_then(|(_, scalar)| scalar.description.clone()),
        variability,
        attributes,
        unit,
        enumeration,
        owner: variable.component.to_owned(),
        constant: is_constant.then_some(start),
    })
}

fn enumeration(
    variable: &GraphVariable<'_>,
    of_fmu: Option<(&ModelDescription, &gyrator_fmu::ScalarVariable)>,
) -> Enumeration {
    let declared =
        of_fmu.and_then(|(model, scalar)| model.simple_type(scalar.declared_type.as_deref()?));
    let items = match of_fmu {
        Some((model, scalar)) => model.enumeration_items(scalar).to_vec(),
        None => Vec::new(),
    };
    Enumeration {
        name: declared.map_or_else(
            || variable.described.name.clone(),
            |declared| declared.name.clone(),
        ),
        description: declared.and_then(|declared| declared.description.clone()),
        items,
    }
}

/// Attributes of a variable of a block.
fn of_block(variable: &GraphVariable<'_>) -> TypeAttributes {
    let described = variable.described;
    let (least, greatest) = described.range;
    match described.kind {
        VariableType::Real => TypeAttributes::Real(RealAttributes {
            unit: described.unit.as_ref().map(|unit| unit.name.clone()),
            relative_quantity: described.unit.as_ref().is_some_and(|unit| unit.relative),
            min: least.is_finite().then_some(least),
            max: greatest.is_finite().then_some(greatest),
            nominal: described.nominal,
            start: described.start,
            ..RealAttributes::default()
        }),
        VariableType::Boolean => TypeAttributes::Boolean { start: None },
        VariableType::String => TypeAttributes::String { start: None },
        VariableType::Integer | VariableType::Enumeration => TypeAttributes::Integer {
            quantity: None,
            min: None,
            max: None,
            start: None,
        },
    }
}

fn definition(unit: &PhysicalUnit) -> UnitDefinition {
    let (factor, offset) = (unit.factor, unit.offset);
    UnitDefinition {
        name: unit.name.clone(),
        base: unit.exponents.map(|exponents| BaseUnit {
            exponents,
            factor,
            offset,
        }),
        display_units: Vec::new(),
    }
}

/// A value as text that reads back as the same value.
fn written(value: &Value) -> String {
    match value {
        Value::Real(value) => format!("{value:?}"),
        Value::Integer(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::String(value) => value.clone(),
    }
}

fn start_of(attributes: &TypeAttributes) -> String {
    match attributes {
        TypeAttributes::Real(real) => format!("{:?}", real.start.unwrap_or_default()),
        TypeAttributes::Integer { start, .. } => start.unwrap_or_default().to_string(),
        // Items usually count from 1.
        TypeAttributes::Enumeration { start, .. } => start.unwrap_or(1).to_string(),
        TypeAttributes::Boolean { start } => start.unwrap_or_default().to_string(),
        TypeAttributes::String { start } => start.clone().unwrap_or_default(),
    }
}

/// Dependencies of an exposed variable, as places among the exposed variables.
pub(super) struct Dependencies {
    /// Between steps.
    pub(super) running: Vec<usize>,
    /// At the start.
    pub(super) at_start: Vec<usize>,
}

/// The dependencies of each output: on inputs through direct feed-through, at the start also on the parameters of all
/// components on the way.
pub(super) fn dependencies(graph: &Graph, exposed: &[Variable]) -> Vec<Dependencies> {
    let (running, at_start) = (sources(graph, false), sources(graph, true));
    let places = exposed.iter().enumerate().filter_map(|(index, variable)| {
        let is_known = variable.row.role != Role::Output;
        variable
            .place
            .filter(|_| is_known)
            .map(|place| (index, place, variable.row.role))
    });
    let knowns: Vec<_> = places.collect();
    let of = |variable: &Variable| {
        let inputs = |sources: &Sources| -> Vec<usize> {
            let known = knowns
                .iter()
                .filter(|(_, place, _)| sources.inputs.contains(place));
            known.map(|(index, ..)| *index).collect()
        };
        let place = variable.place.filter(|_| variable.row.role == Role::Output);
        let running = place.and_then(|place| running.get(&place)).map(inputs);
        let at_start = place.and_then(|place| at_start.get(&place)).map(|sources| {
            let parameters = knowns.iter().filter(|(_, (component, _), role)| {
                *role != Role::Input && sources.components.contains(component)
            });
            let mut known = inputs(sources);
            known.extend(parameters.map(|(index, ..)| *index));
            known.sort_unstable();
            known
        });
        Dependencies {
            running: running.unwrap_or_default(),
            at_start: at_start.unwrap_or_default(),
        }
    };
    exposed.iter().map(of).collect()
}

/// Numbers of inputs, outputs and parameters.
pub(super) fn counts(exposed: &[Variable]) -> [usize; 3] {
    let count = |roles: &[Role]| {
        exposed
            .iter()
            .filter(|v| roles.contains(&v.row.role))
            .count()
    };
    [
        count(&[Role::Input]),
        count(&[Role::Output]),
        count(&[Role::Parameter, Role::TunableParameter]),
    ]
}
