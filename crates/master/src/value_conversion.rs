//! Values of one type as values of another: a file's values, and an output's values as an
//! input's.

use gyrator_system::{NumberConversion, TypeConversion, Value as FileValue};

use crate::unit::Conversion;
use crate::unit::{Value, Variable, VariableType};

/// How the values of a connection change their type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueConversion {
    /// Both ends have one type; values are passed on as they are.
    Same,
    /// A number that is multiplied, moved and stored as a value of the input's type.
    Number {
        factor: f64,
        offset: f64,
        target: Target,
    },
    /// Values of the output with the values of the input in their place.
    Table(Box<[(Value, Value)]>),
    /// Another conversion, to an enumeration with these items.
    Item(Box<Self>, Box<[(i32, String)]>),
}

/// The type that a number gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    Real,
    /// Rounded if the number is not whole by itself.
    Integer(Option<NumberConversion>),
    /// 0 or 1, as the number is.
    Boolean,
    /// Every number but 0 is true.
    Nonzero,
}

/// Why values cannot be converted: the text after the names of the two types, and advice.
pub(crate) struct Misfit {
    pub(crate) reason: &'static str,
    pub(crate) help: String,
}

impl ValueConversion {
    /// The conversion between two variables of which at least one is not real, or for which
    /// `convert` asks. `affine` holds gain and offset of the connection.
    ///
    /// # Errors
    /// Types between which values are lost, and a request that does not fit the types.
    pub(crate) fn between(
        output: &Variable,
        input: &Variable,
        affine: Conversion,
        convert: Option<&TypeConversion>,
    ) -> Result<Self, Misfit> {
        let is_affine = affine != Conversion::IDENTITY;
        if let Some(TypeConversion::Table(values)) = convert {
            if is_affine {
                return misfit("", "a table of values takes no `gain` and no `offset`");
            }
            let pairs = values
                .iter()
                .map(|(from, to)| Some((key(output, &from.value)?, entry(input, &to.value)?)));
            let pairs: Option<Box<[_]>> = pairs.collect();
            return pairs.map(Self::Table).ok_or_else(|| Misfit {
                reason: ", and `convert` has other values",
                help: format!(
                    "write {} = {}",
                    expected(output, true),
                    expected(input, false)
                ),
            });
        }
        let rounding = match convert {
            Some(TypeConversion::Number(rounding)) => Some(*rounding),
            _ => None,
        };
        let from = match output.is_switch && input.kind == VariableType::Boolean {
            // A number that is 0 or 1.
            true => VariableType::Integer,
            false => output.kind,
        };
        let target = target(from, input.kind, is_affine, rounding)?;
        let is_same = target.is_none();
        let conversion = target.map_or(Self::Same, |target| Self::Number {
            factor: affine.factor,
            offset: affine.offset,
            target,
        });
        let is_item = |(item, _): &(i32, String)| input.items.iter().any(|(own, _)| own == item);
        let takes_all = is_same && !output.items.is_empty() && output.items.iter().all(is_item);
        let is_checked = input.kind == VariableType::Enumeration && !input.items.is_empty();
        Ok(match is_checked && !takes_all {
            true => Self::Item(Box::new(conversion), input.items.clone().into()),
            false => conversion,
        })
    }

    /// The value of an input that an output of any type feeds; `number` is memory for it.
    ///
    /// # Errors
    /// A reason why the output has no value of the input's type.
    pub(crate) fn of<'v>(
        &'v self,
        value: &'v Value,
        number: &'v mut Value,
    ) -> Result<&'v Value, String> {
        match self {
            Self::Same => Ok(value),
            Self::Number { .. } => match value {
                Value::Real(value) => self.of_number(*value, number),
                Value::Integer(value) => self.of_number(f64::from(*value), number),
                Value::Boolean(value) => self.of_number(f64::from(u8::from(*value)), number),
                Value::String(_) => Err(format!("the output is {}", in_words(value))),
            },
            Self::Table(values) => {
                let found = values.iter().find(|(from, _)| from == value);
                found.map(|(_, to)| to).ok_or_else(|| {
                    format!(
                        "the output is {}, for which `convert` has no entry",
                        in_words(value)
                    )
                })
            }
            Self::Item(conversion, items) => item(conversion.of(value, number)?, items),
        }
    }

    /// The value of an input that a number feeds.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_number<'v>(
        &'v self,
        value: f64,
        number: &'v mut Value,
    ) -> Result<&'v Value, String> {
        match self {
            Self::Number {
                factor,
                offset,
                target,
            } => *number = target.store(value * factor + offset)?,
            Self::Item(conversion, items) => {
                return item(conversion.of_number(value, number)?, items);
            }
            Self::Same | Self::Table(_) => *number = Value::Real(value),
        }
        Ok(number)
    }
}

impl Target {
    fn store(self, value: f64) -> Result<Value, String> {
        let whole = match self {
            Self::Real => return Ok(Value::Real(value)),
            Self::Nonzero => return Ok(Value::Boolean(value != 0.0)),
            Self::Boolean if value == 0.0 || value == 1.0 => {
                return Ok(Value::Boolean(value == 1.0));
            }
            Self::Boolean => {
                return Err(format!(
                    "the output is {value}, and only 0 and 1 are a Boolean; `convert = \"nonzero\"` \
                     takes every number but 0 as true"
                ));
            }
            Self::Integer(None | Some(NumberConversion::Round)) => value.round_ties_even(),
            Self::Integer(Some(NumberConversion::Floor)) => value.floor(),
            Self::Integer(Some(NumberConversion::Ceiling)) => value.ceil(),
            Self::Integer(Some(NumberConversion::Truncate | NumberConversion::Nonzero)) => {
                value.trunc()
            }
        };
        if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole) {
            return Ok(Value::Integer(whole as i32));
        }
        Err(format!(
            "the output is {value}, which is not an Integer of 32 bits"
        ))
    }
}

/// A value that has to be an item of an enumeration.
fn item<'v>(value: &'v Value, items: &[(i32, String)]) -> Result<&'v Value, String> {
    match value {
        Value::Integer(number) if items.iter().any(|(item, _)| item == number) => Ok(value),
        _ => Err(format!(
            "the input would be {}, and is one of {}",
            in_words(value),
            numbered_items(items)
        )),
    }
}

/// The names of an enumeration's items, for messages: in quotes if they are not words.
#[must_use]
pub fn names_of_items(items: &[(i32, String)]) -> String {
    in_list(items, |_, name| name)
}

/// The numbers of an enumeration's items with their names, for messages.
#[must_use]
pub fn numbered_items(items: &[(i32, String)]) -> String {
    in_list(items, |number, name| format!("{number} ({name})"))
}

fn in_list(items: &[(i32, String)], text: impl Fn(i32, String) -> String) -> String {
    const LISTED: usize = 20;
    let is_word = |name: &str| {
        let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
        !name.is_empty() && name.chars().all(is_of_word)
    };
    let shown = items.iter().take(LISTED).map(|(number, name)| {
        let name = match is_word(name) {
            true => name.clone(),
            false => format!("`{name}`"),
        };
        text(*number, name)
    });
    let shown: Vec<String> = shown.collect();
    let more = match items.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Real(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::String(value) => format!("the text {value:?}"),
    }
}

/// The type that numbers get; `None` if values are passed on as they are.
fn target(
    from: VariableType,
    to: VariableType,
    is_affine: bool,
    rounding: Option<NumberConversion>,
) -> Result<Option<Target>, Misfit> {
    const ROUNDINGS: &str = "ask for `convert = \"round\"`, \"floor\", \"ceiling\" or \"truncate\", or give a table of values";
    const NONZERO: &str = "ask for `convert = \"nonzero\"`, or give a table of values";
    const NONZERO_OF_REAL: &str = "ask for `convert = \"nonzero\"`; a block `table` of 0 and 1 with `interpolation = \"hold\"` needs no `convert`";
    const TABLE: &str = "give a table of values, such as `convert = { low = 0, high = 1 }`";
    let is_word = rounding == Some(NumberConversion::Nonzero);
    let is_rounding = rounding.is_some() && !is_word;
    match (from, to) {
        (VariableType::String, VariableType::String) if !is_affine && rounding.is_none() => {
            Ok(None)
        }
        (VariableType::String, VariableType::String) => {
            misfit("", "texts are passed on as they are")
        }
        (VariableType::String, _) | (_, VariableType::String) => misfit("", TABLE),
        (_, VariableType::Real) if rounding.is_none() => Ok(Some(Target::Real)),
        (_, VariableType::Real) => misfit("", "a Real takes every number; remove `convert`"),
        (VariableType::Boolean, VariableType::Boolean) if !is_affine && rounding.is_none() => {
            Ok(None)
        }
        (_, VariableType::Boolean) if is_word => Ok(Some(Target::Nonzero)),
        (VariableType::Integer, VariableType::Boolean) if !is_affine && rounding.is_none() => {
            Ok(Some(Target::Boolean))
        }
        (VariableType::Real, VariableType::Boolean) => misfit("", NONZERO_OF_REAL),
        (_, VariableType::Boolean) => misfit("", NONZERO),
        (VariableType::Boolean, VariableType::Enumeration) => misfit("", TABLE),
        (_, VariableType::Integer | VariableType::Enumeration) if is_rounding => {
            Ok(Some(Target::Integer(rounding)))
        }
        (VariableType::Boolean, VariableType::Integer) if !is_affine && rounding.is_none() => {
            Ok(Some(Target::Integer(None)))
        }
        (
            VariableType::Integer | VariableType::Enumeration,
            VariableType::Integer | VariableType::Enumeration,
        ) if !is_affine && rounding.is_none() => Ok(None),
        (VariableType::Real, _) => misfit("", ROUNDINGS),
        _ => misfit(" with a gain or an offset", ROUNDINGS),
    }
}

fn misfit<T>(reason: &'static str, help: &str) -> Result<T, Misfit> {
    Err(Misfit {
        reason,
        help: help.to_owned(),
    })
}

/// A key of a table as a value of the output.
fn key(output: &Variable, text: &str) -> Option<Value> {
    let value = match output.kind {
        VariableType::Real => return None,
        VariableType::String => FileValue::String(text.to_owned()),
        VariableType::Integer | VariableType::Boolean => FileValue::from_text(text),
        // An item may be called `1`.
        VariableType::Enumeration if output.items.iter().any(|(_, name)| name == text) => {
            FileValue::String(text.to_owned())
        }
        VariableType::Enumeration => FileValue::from_text(text),
    };
    entry(output, &value)
}

fn entry(variable: &Variable, value: &FileValue) -> Option<Value> {
    start_value(variable.kind, &variable.items, value).ok()
}

/// An example of a value of a table, in words.
fn expected(variable: &Variable, is_key: bool) -> String {
    match variable.kind {
        VariableType::Real if is_key => {
            "a type other than Real on the left, or `convert` as a word: a value".to_owned()
        }
        VariableType::Real => "a number".to_owned(),
        VariableType::Integer => "a whole number".to_owned(),
        VariableType::Boolean => "true or false".to_owned(),
        VariableType::String => "a text".to_owned(),
        VariableType::Enumeration => format!("one of {}", names_of_items(&variable.items)),
    }
}

/// A start value of a file as a value of the variable's kind; else the kind expected.
pub(crate) fn start_value(
    kind: VariableType,
    items: &[(i32, String)],
    value: &FileValue,
) -> Result<Value, String> {
    use FileValue as Given;
    let integer = |number: i64| i32::try_from(number).map(Value::Integer);
    match (kind, value) {
        (VariableType::Real, Given::Real(number)) if number.is_finite() => Ok(Value::Real(*number)),
        (VariableType::Real, Given::Real(_)) => Err("a finite number".to_owned()),
        (VariableType::Real, Given::Integer(number)) => Ok(Value::Real(*number as f64)),
        (VariableType::Enumeration, Given::Integer(number))
            if !items.is_empty() && items.iter().all(|(item, _)| i64::from(*item) != *number) =>
        {
            Err(format!("one of {}", numbered_items(items)))
        }
        (VariableType::Integer | VariableType::Enumeration, Given::Integer(number)) => {
            integer(*number).map_err(|_| "an integer of 32 bits".to_owned())
        }
        (VariableType::Enumeration, Given::String(word)) => {
            let item = items.iter().find(|(_, name)| name == word);
            item.map(|(value, _)| Value::Integer(*value))
                .ok_or_else(|| format!("one of {}", names_of_items(items)))
        }
        (VariableType::Boolean, Given::Boolean(flag)) => Ok(Value::Boolean(*flag)),
        (VariableType::Boolean, Given::Integer(number @ (0 | 1))) => {
            Ok(Value::Boolean(*number == 1))
        }
        (VariableType::String, Given::String(text)) => Ok(Value::String(text.clone())),
        (VariableType::Real, _) => Err("a number".to_owned()),
        (VariableType::Integer, _) => Err("an integer".to_owned()),
        (VariableType::Enumeration, _) => Err("the name or the number of an item".to_owned()),
        (VariableType::Boolean, _) => Err("true or false".to_owned()),
        (VariableType::String, _) => Err("text in quotes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use gyrator_system::Spanned;

    use super::*;
    use crate::unit::Causality;

    fn variable(kind: VariableType) -> Variable {
        Variable {
            kind,
            items: vec![(1, "off".to_owned()), (4, "on".to_owned())],
            ..Variable::real("x", 0, Causality::Output)
        }
    }

    /// An output of whole numbers, of the items of the input, and of others.
    #[test]
    fn an_enumeration_gets_its_items_only() {
        use VariableType::{Enumeration, Integer, Real};
        let input = variable(Enumeration);
        let fewer = Variable {
            items: vec![(4, "on".to_owned())],
            ..variable(Enumeration)
        };
        let others = Variable {
            items: vec![(4, "on".to_owned()), (7, "half on, or so".to_owned())],
            ..variable(Enumeration)
        };
        let plain = |kind| Variable {
            items: Vec::new(),
            ..variable(kind)
        };
        let round = TypeConversion::Number(NumberConversion::Round);
        let of = |output: &Variable, input: &Variable, convert: Option<&TypeConversion>, value| {
            let conversion = ValueConversion::between(output, input, Conversion::IDENTITY, convert);
            let conversion = conversion.map_err(|misfit| misfit.help).unwrap();
            let mut number = Value::Real(0.0);
            conversion.of(&value, &mut number).cloned()
        };
        let whole = Value::Integer;
        assert_eq!(of(&plain(Integer), &input, None, whole(4)), Ok(whole(4)));
        assert_eq!(of(&fewer, &input, None, whole(4)), Ok(whole(4)));
        let error = of(&plain(Integer), &input, None, whole(7)).unwrap_err();
        assert_eq!(error, "the input would be 7, and is one of 1 (off), 4 (on)");
        assert!(of(&others, &input, None, whole(7)).is_err());
        assert!(of(&plain(Real), &input, Some(&round), Value::Real(2.2)).is_err());
        assert_eq!(
            of(&plain(Real), &input, Some(&round), Value::Real(0.9)),
            Ok(whole(1))
        );
        let error = of(&plain(Integer), &others, None, whole(1)).unwrap_err();
        assert!(error.ends_with("4 (on), 7 (`half on, or so`)"), "{error}");
        // A type without items takes every number.
        assert_eq!(
            of(&plain(Integer), &plain(Enumeration), None, whole(7)),
            Ok(whole(7))
        );
    }

    fn conversion(
        (from, to): (VariableType, VariableType),
        (factor, offset): (f64, f64),
        convert: Option<NumberConversion>,
    ) -> Result<ValueConversion, String> {
        let convert = convert.map(TypeConversion::Number);
        let affine = Conversion { factor, offset };
        ValueConversion::between(&variable(from), &variable(to), affine, convert.as_ref())
            .map_err(|misfit| misfit.help)
    }

    fn value(conversion: &ValueConversion, value: Value) -> Result<Value, String> {
        let mut number = Value::Real(0.0);
        conversion.of(&value, &mut number).cloned()
    }

    const PLAIN: (f64, f64) = (1.0, 0.0);

    #[test]
    fn types_convert_by_themselves_where_nothing_is_lost() {
        use VariableType::{Boolean, Enumeration, Integer, Real};
        for (kinds, from, to) in [
            ((Boolean, Real), Value::Boolean(true), Value::Real(1.0)),
            (
                (Integer, Real),
                Value::Integer(i32::MIN),
                Value::Real(-2147483648.0),
            ),
            ((Enumeration, Real), Value::Integer(4), Value::Real(4.0)),
            ((Boolean, Integer), Value::Boolean(true), Value::Integer(1)),
            ((Integer, Boolean), Value::Integer(1), Value::Boolean(true)),
            ((Integer, Boolean), Value::Integer(0), Value::Boolean(false)),
            ((Integer, Enumeration), Value::Integer(4), Value::Integer(4)),
        ] {
            let conversion = conversion(kinds, PLAIN, None).unwrap();
            assert_eq!(value(&conversion, from), Ok(to), "{kinds:?}");
        }
        let strict = conversion((Integer, Boolean), PLAIN, None).unwrap();
        let error = value(&strict, Value::Integer(2)).unwrap_err();
        assert!(error.contains("nonzero"), "{error}");
    }

    #[test]
    fn gain_and_offset_apply_to_the_number() {
        let scaled = conversion(
            (VariableType::Boolean, VariableType::Real),
            (230.0, -0.5),
            None,
        )
        .unwrap();
        assert_eq!(value(&scaled, Value::Boolean(true)), Ok(Value::Real(229.5)));
        assert_eq!(value(&scaled, Value::Boolean(false)), Ok(Value::Real(-0.5)));
        let refused = conversion(
            (VariableType::Integer, VariableType::Integer),
            (2.0, 0.0),
            None,
        );
        assert!(refused.unwrap_err().contains("round"));
    }

    #[test]
    fn numbers_are_rounded_on_request_only() {
        let kinds = (VariableType::Real, VariableType::Integer);
        assert!(
            conversion(kinds, PLAIN, None)
                .unwrap_err()
                .contains("floor")
        );
        for (word, expected) in [
            (NumberConversion::Round, [2, 2, -2]),
            (NumberConversion::Floor, [1, 2, -3]),
            (NumberConversion::Ceiling, [2, 3, -2]),
            (NumberConversion::Truncate, [1, 2, -2]),
        ] {
            let conversion = conversion(kinds, PLAIN, Some(word)).unwrap();
            let of = |number| value(&conversion, Value::Real(number)).unwrap();
            assert_eq!(
                [1.5, 2.5, -2.5].map(of),
                expected.map(Value::Integer),
                "{word:?}"
            );
            assert!(
                value(&conversion, Value::Real(3e9))
                    .unwrap_err()
                    .contains("32 bits")
            );
            assert!(value(&conversion, Value::Real(f64::NAN)).is_err());
        }
        let truth = conversion(
            (VariableType::Real, VariableType::Boolean),
            PLAIN,
            Some(NumberConversion::Nonzero),
        );
        let truth = truth.unwrap();
        assert_eq!(value(&truth, Value::Real(-1e-9)), Ok(Value::Boolean(true)));
        assert_eq!(value(&truth, Value::Real(-0.0)), Ok(Value::Boolean(false)));
        assert!(
            conversion(
                (VariableType::Real, VariableType::Boolean),
                PLAIN,
                Some(NumberConversion::Round)
            )
            .is_err()
        );
        assert!(
            conversion(
                (VariableType::Real, VariableType::Integer),
                PLAIN,
                Some(NumberConversion::Nonzero)
            )
            .is_err()
        );
    }

    #[test]
    fn a_table_has_the_values_of_both_types() {
        let table = |from: VariableType, to: VariableType, pairs: &[(&str, FileValue)]| {
            let pair = |(from, to): &(&str, FileValue)| {
                (
                    Spanned::unplaced((*from).to_owned()),
                    Spanned::unplaced(to.clone()),
                )
            };
            let convert = TypeConversion::Table(pairs.iter().map(pair).collect());
            let (from, to) = (variable(from), variable(to));
            ValueConversion::between(&from, &to, Conversion::IDENTITY, Some(&convert))
                .map_err(|misfit| misfit.help)
        };
        let texts = [
            ("off", FileValue::String("closed".to_owned())),
            ("4", FileValue::String(String::new())),
        ];
        let words = table(VariableType::Enumeration, VariableType::String, &texts).unwrap();
        assert_eq!(
            value(&words, Value::Integer(1)),
            Ok(Value::String("closed".to_owned()))
        );
        assert_eq!(
            value(&words, Value::Integer(4)),
            Ok(Value::String(String::new()))
        );
        assert!(
            value(&words, Value::Integer(2))
                .unwrap_err()
                .contains("no entry")
        );
        let negated = [
            ("true", FileValue::Boolean(false)),
            ("false", FileValue::Boolean(true)),
        ];
        let negated = table(VariableType::Boolean, VariableType::Boolean, &negated).unwrap();
        assert_eq!(
            value(&negated, Value::Boolean(true)),
            Ok(Value::Boolean(false))
        );
        let wrong = table(
            VariableType::Boolean,
            VariableType::Enumeration,
            &[("2", FileValue::Integer(1))],
        );
        assert_eq!(wrong.unwrap_err(), "write true or false = one of off, on");
        assert!(
            table(
                VariableType::Real,
                VariableType::Integer,
                &[("2", FileValue::Integer(1))]
            )
            .is_err()
        );
    }
}
