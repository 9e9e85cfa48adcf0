//! The rows of `ModelVariables`: each variable of a model as `modelDescription.xml` has it.

use fmi2_abi::{Causality, Variability};

use crate::model::Model;
use crate::table::{Table, ValueReference};
use crate::unit::Unit;
use crate::variable::{Enumeration, Place, Settings, TypedPlace};

/// A variable as `modelDescription.xml` describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarVariable {
    /// Name.
    pub name: &'static str,
    /// Value reference, unique within the base type.
    pub reference: ValueReference,
    /// Base type.
    pub base_type: BaseType,
    /// Causality: parameter, input, output, ….
    pub causality: Causality,
    /// When it may change.
    pub variability: Variability,
    /// Unit of a Real.
    pub unit: Option<Unit>,
    /// Smallest value of a Real or an Integer.
    pub min: Option<f64>,
    /// Largest value of a Real or an Integer.
    pub max: Option<f64>,
    /// Start value of a variable that the model does not compute, as it is written.
    pub start: Option<String>,
    /// Meaning of the variable.
    pub description: &'static str,
    /// The inputs that an output follows without a step between.
    pub depends_on: &'static [&'static str],
    /// The parameters that an output depends on in Initialization Mode.
    pub starts_from: &'static [&'static str],
}

impl ScalarVariable {
    /// Meaning of the variable, with the items of an enumeration and their numbers.
    #[must_use]
    pub fn meaning(&self) -> String {
        let BaseType::Enumeration(Enumeration { items, .. }) = self.base_type else {
            return self.description.to_owned();
        };
        let items = (1..)
            .zip(*items)
            .map(|(number, (name, _))| format!("{number} {name}"));
        format!(
            "{}: {}",
            self.description,
            items.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Base type of a variable (FMI 2.0, section 2.2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseType {
    /// A double.
    Real,
    /// A 32-bit integer.
    Integer,
    /// True or false.
    Boolean,
    /// Text.
    String,
    /// The number of an item.
    Enumeration(&'static Enumeration),
}

/// The rows of `table`, the kit's own parameters included. The only generic part of a description: each FMU
/// compiles it again.
pub(super) fn rows<M: Model>(table: &Table<M>) -> Vec<ScalarVariable> {
    let mut start = Start {
        model: M::default(),
        settings: Settings::default(),
    };
    let mut rows = Vec::with_capacity(table.variables.len());
    for (variable, &reference) in table.variables.iter().zip(&table.references) {
        let (base_type, value) = match variable.kind {
            TypedPlace::Real(place) => (BaseType::Real, format!("{:?}", start.value(place))),
            TypedPlace::Integer(place) => (BaseType::Integer, start.value(place).to_string()),
            TypedPlace::Boolean(place) => (BaseType::Boolean, start.value(place).to_string()),
            TypedPlace::String(place) => (BaseType::String, start.value(place).clone()),
            TypedPlace::Enumeration(place, items) => {
                (BaseType::Enumeration(items), start.value(place).to_string())
            }
        };
        rows.push(ScalarVariable {
            name: variable.name,
            reference,
            base_type,
            causality: variable.causality,
            variability: variable.variability,
            unit: variable.unit,
            min: variable.min,
            max: variable.max,
            start: (!variable.is_calculated()).then_some(value),
            description: variable.description,
            depends_on: variable.depends_on,
            starts_from: variable.starts_from,
        });
    }
    rows
}

/// Where start values come from.
struct Start<M> {
    model: M,
    settings: Settings,
}

impl<M> Start<M> {
    fn value<T>(&mut self, place: Place<M, T>) -> &T {
        match place {
            Place::Model(access) => access(&mut self.model),
            Place::Settings(access) => access(&mut self.settings),
        }
    }
}
