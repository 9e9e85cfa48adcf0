//! Values that an FMU computes over some steps, bit by bit.

use gyrator_fmu::{BaseType, CallError, Causality, Instance, ModelDescription, ScalarVariable};
use serde::{Deserialize, Serialize};

/// Outputs that are looked at, at most.
const MOST: usize = 200;

/// The outputs of an FMU after each of some steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trajectory {
    names: Vec<String>,
    /// Time after the step, and the values: bits of a double, or an integer.
    rows: Vec<(f64, Vec<u64>)>,
}

/// The numeric outputs of a model, to be read again and again.
#[derive(Debug)]
pub(crate) struct Outputs {
    names: Vec<String>,
    reals: Vec<u32>,
    integers: Vec<u32>,
    booleans: Vec<u32>,
}

impl Outputs {
    /// Outputs of a model.
    pub(crate) fn of(model: &ModelDescription) -> Self {
        let of_type = |base: BaseType| {
            let outputs = model.variables.iter().filter(move |variable| {
                variable.causality == Causality::Output && variable.kind.base_type() == base
            });
            outputs.take(MOST).collect::<Vec<&ScalarVariable>>()
        };
        let [reals, integers, booleans] =
            [BaseType::Real, BaseType::Integer, BaseType::Boolean].map(of_type);
        let references = |list: &[&ScalarVariable]| {
            list.iter()
                .map(|variable| variable.value_reference)
                .collect()
        };
        let all = reals.iter().chain(&integers).chain(&booleans);
        Self {
            names: all.map(|variable| variable.name.clone()).collect(),
            reals: references(&reals),
            integers: references(&integers),
            booleans: references(&booleans),
        }
    }

    /// Their values now.
    pub(crate) fn read(&self, instance: &mut Instance) -> Result<Vec<u64>, Box<CallError>> {
        let mut reals = vec![0.0; self.reals.len()];
        let mut integers = vec![0; self.integers.len()];
        let mut booleans = vec![false; self.booleans.len()];
        if !reals.is_empty() {
            instance.get_real(&self.reals, &mut reals)?;
        }
        if !integers.is_empty() {
            instance.get_integer(&self.integers, &mut integers)?;
        }
        if !booleans.is_empty() {
            instance.get_boolean(&self.booleans, &mut booleans)?;
        }
        let reals = reals.into_iter().map(f64::to_bits);
        let integers = integers
            .into_iter()
            .map(|value| i64::from(value).cast_unsigned());
        Ok(reals
            .chain(integers)
            .chain(booleans.into_iter().map(u64::from))
            .collect())
    }

    /// An empty trajectory of them.
    pub(crate) fn trajectory(&self) -> Trajectory {
        Trajectory {
            names: self.names.clone(),
            rows: Vec::new(),
        }
    }
}

impl Trajectory {
    /// Adds the values after a step.
    pub(crate) fn push(&mut self, time: f64, values: Vec<u64>) {
        self.rows.push((time, values));
    }

    /// The first difference between two trajectories, in words; `None` if they are equal bit for bit.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.names != other.names || self.rows.len() != other.rows.len() {
            let (one, two) = (self.rows.len(), other.rows.len());
            return Some(format!("one ends after {one} steps, the other after {two}"));
        }
        for ((time, one), (_, two)) in self.rows.iter().zip(&other.rows) {
            let place = one.iter().zip(two).position(|(one, two)| one != two);
            if let Some(name) = place.and_then(|place| self.names.get(place)) {
                return Some(format!("{name} first at t = {time}"));
            }
        }
        None
    }
}
