//! The variable table of a model with the kit's own parameters, and value references.
//!
//! The value reference of a variable is its number among the variables of its base type;
//! enumerations count as Integers (FMI 2.0, section 2.2.7).

use fmi2_abi::{Causality, Variability};

use crate::model::Model;
use crate::unit;
use crate::variable::{Enumeration, Place, Settings, TypedPlace, Variable};

/// Number of a variable within its base type.
pub type ValueReference = u32;

/// A variable seen by its value reference.
#[derive(Debug)]
pub(crate) struct Slot<M, T> {
    pub(crate) place: Place<M, T>,
    /// Index in [`Table::variables`].
    pub(crate) variable: usize,
    range: Range,
}

#[derive(Debug)]
enum Range {
    Any,
    Between(f64, f64),
    Items(&'static Enumeration),
}

/// All variables of a model.
#[derive(Debug)]
pub(crate) struct Table<M> {
    pub(crate) variables: Vec<Variable<M>>,
    pub(crate) references: Vec<ValueReference>,
    reals: Vec<Slot<M, f64>>,
    integers: Vec<Slot<M, i32>>,
    booleans: Vec<Slot<M, bool>>,
    strings: Vec<Slot<M, String>>,
}

impl<M: Model> Table<M> {
    pub(crate) fn new() -> Self {
        let mut table = Self {
            variables: Vec::new(),
            references: Vec::new(),
            reals: Vec::new(),
            integers: Vec::new(),
            booleans: Vec::new(),
            strings: Vec::new(),
        };
        for variable in M::variables() {
            table.add(variable);
        }
        let mut model = M::default();
        if !model.state().is_empty() && model.micro_steps().is_none() {
            table.add(step_size());
        }
        table.add(cached_outputs());
        table
    }

    fn add(&mut self, variable: Variable<M>) {
        let index = self.variables.len();
        let range = match (&variable.kind, variable.min, variable.max) {
            (TypedPlace::Enumeration(_, items), ..) => Range::Items(items),
            (_, None, None) => Range::Any,
            (_, min, max) => Range::Between(
                min.unwrap_or(f64::NEG_INFINITY),
                max.unwrap_or(f64::INFINITY),
            ),
        };
        let reference = match variable.kind {
            TypedPlace::Real(place) => push(&mut self.reals, place, index, range),
            TypedPlace::Integer(place) | TypedPlace::Enumeration(place, _) => {
                push(&mut self.integers, place, index, range)
            }
            TypedPlace::Boolean(place) => push(&mut self.booleans, place, index, range),
            TypedPlace::String(place) => push(&mut self.strings, place, index, range),
        };
        self.references.push(reference);
        self.variables.push(variable);
    }

    /// Position of the variable called `name`.
    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|v| v.name == name)
    }

    /// Whether `variable` is a continuous Real input, which may have time derivatives.
    pub(crate) fn is_continuous_input(&self, variable: usize) -> bool {
        let variable = &self.variables[variable];
        variable.causality == Causality::Input && variable.variability == Variability::Continuous
    }
}

fn push<M, T>(
    slots: &mut Vec<Slot<M, T>>,
    place: Place<M, T>,
    index: usize,
    range: Range,
) -> ValueReference {
    let reference = slots.len();
    slots.push(Slot {
        place,
        variable: index,
        range,
    });
    ValueReference::try_from(reference).unwrap_or(ValueReference::MAX)
}

fn step_size<M>() -> Variable<M> {
    Variable::new(
        "step_size",
        TypedPlace::Real(Place::Settings(|settings| &mut settings.step_size)),
        Causality::Parameter,
        Variability::Fixed,
        "inner step; 0: one inner step per communication step",
    )
    .unit(unit::SECOND)
    .min(0.0)
}

fn cached_outputs<M>() -> Variable<M> {
    Variable::new(
        "cached_outputs",
        TypedPlace::Boolean(Place::Settings(|settings: &mut Settings| {
            &mut settings.cached_outputs
        })),
        Causality::Parameter,
        Variability::Fixed,
        "compute outputs at the end of a step only, not again when an input is set",
    )
}

/// A type of values that variables have: `f64`, `i32` (also enumerations), `bool`, `String`.
pub trait Scalar: Clone + private::Slots {}

impl<T: Clone + private::Slots> Scalar for T {}

pub(crate) mod private {
    use super::{Range, Slot, Table};

    pub trait Slots: Sized {
        const TYPE_NAME: &'static str;
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn slots<M>(table: &Table<M>) -> &[Slot<M, Self>];
        #[expect(private_interfaces, reason = "the trait is sealed")]
        fn allowed(&self, range: &Range) -> bool;
    }

    macro_rules! slots {
        ($($value:ty, $name:literal, $field:ident, $allowed:expr;)*) => {$(
            #[expect(private_interfaces, reason = "the trait is sealed")]
            impl Slots for $value {
                const TYPE_NAME: &'static str = $name;
                fn slots<M>(table: &Table<M>) -> &[Slot<M, Self>] {
                    &table.$field
                }
                fn allowed(&self, range: &Range) -> bool {
                    let allowed: fn(&Self, &Range) -> bool = $allowed;
                    allowed(self, range)
                }
            }
        )*};
    }

    slots! {
        f64, "Real", reals, |value, range| match range {
            Range::Between(min, max) => (*min..=*max).contains(value),
            _ => true,
        };
        i32, "Integer", integers, |value, range| match range {
            Range::Any => true,
            Range::Between(min, max) => (*min..=*max).contains(&f64::from(*value)),
            Range::Items(items) => items.contains(*value),
        };
        bool, "Boolean", booleans, |_, _| true;
        String, "String", strings, |_, _| true;
    }
}

impl<M, T: Scalar> Slot<M, T> {
    /// Whether the variable may take `value`.
    pub(crate) fn allows(&self, value: &T) -> bool {
        value.allowed(&self.range)
    }
}
