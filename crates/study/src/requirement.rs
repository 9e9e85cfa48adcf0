//! Comparisons that the points of a study have to meet.

use std::collections::BTreeSet;

use crate::cell::Cell;

/// A comparison of two products of numbers and varied keys: `left.m < 2 * right.m`.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    left: Product,
    operator: Operator,
    right: Product,
}

#[derive(Debug, Clone, PartialEq)]
struct Product {
    factor: f64,
    keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Longer ones first: `<=` begins with `<`.
const OPERATORS: &[(&str, Operator)] = &[
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

impl Requirement {
    /// Reads a comparison; `known` are the keys that vary.
    ///
    /// # Errors
    ///
    /// A message that says what is wrong with the text.
    pub fn parse(text: &str, known: &BTreeSet<&str>) -> Result<Self, String> {
        let found = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((text.split_once(sign)?, *operator)));
        let ((left, right), operator) =
            found.ok_or("write a comparison such as `left.m < 2 * right.m`")?;
        Ok(Self {
            left: Product::parse(left, known)?,
            operator,
            right: Product::parse(right, known)?,
        })
    }

    /// Whether a point meets it. A key that the point does not set, or sets to a text, is not a
    /// number: such a point is left out.
    pub(crate) fn holds(&self, value: &dyn Fn(&str) -> Cell) -> bool {
        let (left, right) = (self.left.value(value), self.right.value(value));
        if left.is_nan() || right.is_nan() {
            return false;
        }
        match self.operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
        }
    }
}

impl Product {
    fn parse(text: &str, known: &BTreeSet<&str>) -> Result<Self, String> {
        let mut product = Self {
            factor: 1.0,
            keys: Vec::new(),
        };
        for factor in text.split('*').map(str::trim) {
            if let Ok(number) = factor.parse::<f64>() {
                product.factor *= number;
            } else if known.contains(factor) {
                product.keys.push(factor.to_owned());
            } else {
                return Err(format!(
                    "`{factor}` is neither a number nor a key that is varied"
                ));
            }
        }
        Ok(product)
    }

    fn value(&self, value: &dyn Fn(&str) -> Cell) -> f64 {
        self.keys.iter().fold(self.factor, |product, key| {
            product
                * match value(key) {
                    Cell::Real(number) => number,
                    _ => f64::NAN,
                }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons() {
        let known = BTreeSet::from(["a.x", "b.x", "c.x"]);
        let value = |key: &str| match key {
            "a.x" => Cell::Real(2.0),
            "b.x" => Cell::Real(3.0),
            _ => Cell::Text("word".to_owned()),
        };
        for (text, expected) in [
            ("a.x < b.x", true),
            ("2 * a.x <= b.x", false),
            ("a.x*b.x == 6", true),
            ("a.x != 2", false),
            ("b.x >= 3", true),
            ("-1 > a.x", false),
            ("c.x < 5", false),
        ] {
            let requirement = Requirement::parse(text, &known).unwrap();
            assert_eq!(requirement.holds(&value), expected, "{text}");
        }
        for text in ["a.x", "a.x < d.x", "< 3"] {
            assert!(Requirement::parse(text, &known).is_err(), "{text}");
        }
    }
}
