use crate::table::{Table, ValueReference};
use crate::unit::Unit;
use crate::variable::{Causality, Enumeration, TypedPlace, Variability};

/// A variable as `modelDescription.xml` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// Meaning of the variable.
    pub description: &'static str,
    /// The inputs that an output follows without a step between.
    pub depends_on: &'static [&'static str],
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

/// The rows of `table`, the kit's own parameters included.
pub(super) fn rows<M>(table: &Table<M>) -> Vec<ScalarVariable> {
    let rows = table.variables.iter().zip(&table.references);
    rows.map(|(variable, &reference)| ScalarVariable {
        name: variable.name,
        reference,
        base_type: match variable.kind {
            TypedPlace::Real(_) => BaseType::Real,
            TypedPlace::Integer(_) => BaseType::Integer,
            TypedPlace::Boolean(_) => BaseType::Boolean,
            TypedPlace::String(_) => BaseType::String,
            TypedPlace::Enumeration(_, items) => BaseType::Enumeration(items),
        },
        causality: variable.causality,
        variability: variable.variability,
        unit: variable.unit,
        description: variable.description,
        depends_on: variable.depends_on,
    })
    .collect()
}
