//! The variables of an instance, by base type and value reference.

use fmu_kit::{Causality, Variability, VariableAccess};
use gyrator::record::{BOND_VALUES, BondValue};
use gyrator::run::VariableValue;
use gyrator::{Input, Output};
use gyrator_system::Value;

use crate::contents::{BaseType, Contents, Exposed, Role, Source};

/// A variable.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    pub(crate) name: String,
    pub(crate) place: Place,
    role: Role,
    /// The last value that was set; of an output the last that was read.
    pub(crate) value: T,
    /// The importer has set it.
    pub(crate) is_set: bool,
    pub(crate) input: Option<Input<T>>,
    pub(crate) output: Option<Output<T>>,
}

/// The meaning of a variable.
#[derive(Debug)]
pub(crate) enum Place {
    Variable(String),
    Bond(String, &'static BondValue),
    BondVerdict(String),
    Verdict,
}

/// All variables of an instance.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    reals: Vec<Slot<f64>>,
    integers: Vec<Slot<i32>>,
    booleans: Vec<Slot<bool>>,
    strings: Vec<Slot<String>>,
}

/// Values that were set, in the order of the variables.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Given {
    reals: Vec<(f64, bool)>,
    integers: Vec<(i32, bool)>,
    booleans: Vec<(bool, bool)>,
    strings: Vec<(String, bool)>,
}

/// A type of values.
pub(crate) trait Typed:
    VariableValue + Clone + Default + std::str::FromStr + 'static
{
    const NAME: &'static str;
    fn slots(slots: &Slots) -> &[Slot<Self>];
    fn slots_mut(slots: &mut Slots) -> &mut Vec<Slot<Self>>;
    /// The value in a system file.
    fn written(&self) -> Value;
    /// The number of a verdict, if verdicts are of this type.
    fn of_number(_number: i32) -> Option<Self> {
        None
    }
    /// The value of a bond, if such values are of this type.
    fn of_real(_value: f64) -> Option<Self> {
        None
    }
}

macro_rules! typed {
    ($($type:ty, $name:literal, $field:ident, $written:expr, {$($more:item)*})*) => {$(
        impl Typed for $type {
            const NAME: &'static str = $name;
            fn slots(slots: &Slots) -> &[Slot<Self>] {
                &slots.$field
            }
            fn slots_mut(slots: &mut Slots) -> &mut Vec<Slot<Self>> {
                &mut slots.$field
            }
            fn written(&self) -> Value {
                let written: fn(&Self) -> Value = $written;
                written(self)
            }
            $($more)*
        }
    )*};
}

typed! {
    f64, "Real", reals, |value: &f64| Value::Real(*value), {
        fn of_real(value: f64) -> Option<Self> {
            Some(value)
        }
    }
    i32, "Integer", integers, |value: &i32| Value::Integer(i64::from(*value)), {
        fn of_number(number: i32) -> Option<Self> {
            Some(number)
        }
    }
    bool, "Boolean", booleans, |value: &bool| Value::Boolean(*value), {}
    String, "String", strings, |value: &String| Value::String(value.clone()), {}
}

impl<T: Typed> Slot<T> {
    fn new(exposed: Exposed) -> Result<Self, String> {
        let name = exposed.name;
        let place = match exposed.source {
            Source::Variable(variable) => Place::Variable(variable),
            Source::BondVerdict(bond) => Place::BondVerdict(bond),
            Source::Verdict => Place::Verdict,
            Source::Bond(bond, value) => {
                let known = BOND_VALUES.iter().find(|known| known.name == value);
                let known = known.ok_or_else(|| format!("{name}: bonds have no {value}"))?;
                Place::Bond(bond, known)
            }
        };
        let text = exposed.start.unwrap_or_default();
        let value = match exposed.role {
            Role::Output => T::default(),
            _ => text
                .parse()
                .map_err(|_| format!("{name}: the start value {text:?} is no {}", T::NAME))?,
        };
        let fits = match place {
            Place::Variable(_) => true,
            Place::Bond(..) => T::of_real(0.0).is_some(),
            Place::BondVerdict(_) | Place::Verdict => T::of_number(0).is_some(),
        };
        let is_computed = matches!(place, Place::Variable(_)) || exposed.role == Role::Output;
        if !fits || !is_computed {
            return Err(format!("{name} cannot have its type and its role"));
        }
        Ok(Self {
            name,
            place,
            role: exposed.role,
            value,
            is_set: false,
            input: None,
            output: None,
        })
    }

    pub(crate) fn access(&self) -> VariableAccess<'_> {
        let (causality, variability) = match self.role {
            Role::Input => (Causality::Input, Variability::Discrete),
            Role::Output => (Causality::Output, Variability::Discrete),
            Role::Parameter => (Causality::Parameter, Variability::Fixed),
            Role::TunableParameter => (Causality::Parameter, Variability::Tunable),
        };
        VariableAccess {
            name: &self.name,
            causality,
            variability,
        }
    }

    #[inline]
    pub(crate) fn is_output(&self) -> bool {
        self.role == Role::Output
    }

    /// It may be written between steps.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.role, Role::Input | Role::TunableParameter)
    }

    /// Its name in the system, and its value, if the importer has set it.
    fn start(&self) -> Option<(&str, Value)> {
        match &self.place {
            Place::Variable(name) if self.is_set => Some((name, self.value.written())),
            _ => None,
        }
    }
}

impl Slots {
    /// The variables of the table.
    ///
    /// # Errors
    /// Words for a row that makes no sense.
    pub(crate) fn new(contents: Contents) -> Result<Self, String> {
        let mut slots = Self::default();
        for exposed in contents.variables {
            match exposed.base_type {
                BaseType::Real => slots.reals.push(Slot::new(exposed)?),
                BaseType::Integer => slots.integers.push(Slot::new(exposed)?),
                BaseType::Boolean => slots.booleans.push(Slot::new(exposed)?),
                BaseType::String => slots.strings.push(Slot::new(exposed)?),
            }
        }
        Ok(slots)
    }

    /// The start values that the importer has set, by name.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (&str, Value)> {
        let reals = self.reals.iter().filter_map(Slot::start);
        let integers = self.integers.iter().filter_map(Slot::start);
        let booleans = self.booleans.iter().filter_map(Slot::start);
        let strings = self.strings.iter().filter_map(Slot::start);
        reals.chain(integers).chain(booleans).chain(strings)
    }

    /// The values that were set.
    pub(crate) fn given(&self) -> Given {
        fn of<T: Clone>(slots: &[Slot<T>]) -> Vec<(T, bool)> {
            let values = slots.iter().map(|slot| (slot.value.clone(), slot.is_set));
            values.collect()
        }
        Given {
            reals: of(&self.reals),
            integers: of(&self.integers),
            booleans: of(&self.booleans),
            strings: of(&self.strings),
        }
    }

    /// Goes back to values of these variables.
    pub(crate) fn give(&mut self, given: &Given) {
        fn to<T: Clone>(slots: &mut [Slot<T>], given: &[(T, bool)]) {
            for (slot, (value, is_set)) in slots.iter_mut().zip(given) {
                slot.value.clone_from(value);
                slot.is_set = *is_set;
            }
        }
        to(&mut self.reals, &given.reals);
        to(&mut self.integers, &given.integers);
        to(&mut self.booleans, &given.booleans);
        to(&mut self.strings, &given.strings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why a table with this one row is refused.
    fn refusal(row: &str) -> Option<String> {
        let text = format!("{{\"guid\": \"\", \"variables\": [{row}]}}");
        match serde_json::from_str(&text) {
            Ok(contents) => Slots::new(contents).err(),
            Err(error) => Some(error.to_string()),
        }
    }

    fn row(source: &str, base_type: &str, role: &str, start: &str) -> String {
        format!(
            "{{\"name\": \"n\", \"source\": {source}, \"base_type\": \"{base_type}\", \"role\": \"{role}\", \"start\": \"{start}\"}}"
        )
    }

    #[test]
    fn rows_that_make_no_sense_are_refused() {
        let variable = "{\"variable\": \"a.b\"}";
        let bond = "{\"bond\": [\"c\", \"residual_power\"]}";
        for (source, base_type, role, start, word) in [
            (variable, "real", "input", "x", "is no Real"),
            (variable, "integer", "parameter", "1.5", "is no Integer"),
            (variable, "boolean", "parameter", "1", "is no Boolean"),
            (bond, "integer", "output", "", "its type and its role"),
            (bond, "real", "input", "0.0", "its type and its role"),
            ("\"verdict\"", "real", "output", "", "its type and its role"),
            (
                "{\"bond\": [\"c\", \"heat\"]}",
                "real",
                "output",
                "",
                "bonds have no heat",
            ),
            (
                "{\"bond\": [\"c\"]}",
                "real",
                "output",
                "",
                "invalid length",
            ),
            (variable, "complex", "output", "", "unknown variant"),
            ("null", "real", "output", "", "expected"),
        ] {
            let said = refusal(&row(source, base_type, role, start));
            let said = said.unwrap_or_default();
            assert!(said.contains(word), "{source} {base_type} {role}: {said}");
        }
    }

    #[test]
    fn start_values_are_read_back_to_the_bit() {
        for number in [0.1 + 0.2, f64::MIN_POSITIVE, -0.0, 1e300, f64::INFINITY] {
            let row = row(
                "{\"variable\": \"a.b\"}",
                "real",
                "parameter",
                &format!("{number:?}"),
            );
            let text = format!("{{\"guid\": \"\", \"variables\": [{row}]}}");
            let slots = Slots::new(serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(slots.reals[0].value.to_bits(), number.to_bits());
        }
    }
}
