//! Inputs as polynomials of time over one communication step (`canInterpolateInputs`).

use crate::model::Model;
use crate::table::{Table, ValueReference, private::Slots};
use crate::variable::Place;

/// Highest order of a derivative that may be set.
pub(crate) const MAX_ORDER: usize = 3;

/// The input derivatives of the coming step.
///
/// Only inputs for which a derivative was set are listed; the others are left alone.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct InputCurves {
    start: f64,
    curves: Vec<Curve>,
}

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Curve {
    reference: ValueReference,
    value: f64,
    derivatives: [f64; MAX_ORDER],
}

/// An order without an input derivative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("order {0} is not supported, only 1 to {MAX_ORDER}")]
pub(crate) struct UnsupportedOrder(i32);

impl InputCurves {
    pub(crate) fn new<M: Model>(table: &Table<M>) -> Self {
        let inputs = (0..table.variables.len()).filter(|&i| table.is_continuous_input(i));
        Self {
            start: 0.0,
            curves: Vec::with_capacity(inputs.count()),
        }
    }

    /// As `clone_from`, in the memory that is there.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.start = other.start;
        self.curves.clone_from(&other.curves);
    }

    pub(crate) fn set_derivative(
        &mut self,
        reference: ValueReference,
        order: i32,
        value: f64,
    ) -> Result<(), UnsupportedOrder> {
        let index = usize::try_from(order).ok().and_then(|n| n.checked_sub(1));
        let index = index
            .filter(|&i| i < MAX_ORDER)
            .ok_or(UnsupportedOrder(order))?;
        let known = self.curves.iter().position(|c| c.reference == reference);
        let curve = known.unwrap_or_else(|| {
            self.curves.push(Curve {
                reference,
                value: 0.0,
                derivatives: [0.0; MAX_ORDER],
            });
            self.curves.len() - 1
        });
        self.curves[curve].derivatives[index] = value;
        Ok(())
    }

    /// Takes the inputs of `model` as the values at the start of the step.
    pub(crate) fn begin<M: Model>(&mut self, table: &Table<M>, model: &mut M, start: f64) {
        self.start = start;
        for curve in &mut self.curves {
            if let Some(input) = input(table, model, curve.reference) {
                curve.value = *input;
            }
        }
    }

    /// Puts the inputs of the given time into `model`.
    pub(crate) fn apply<M: Model>(&self, table: &Table<M>, model: &mut M, time: f64) {
        for curve in &self.curves {
            if let Some(input) = input(table, model, curve.reference) {
                *input = curve.at(time - self.start);
            }
        }
    }

    /// Drops all derivatives: they hold for one step.
    pub(crate) fn forget(&mut self) {
        self.curves.clear();
    }
}

impl Curve {
    fn at(&self, elapsed: f64) -> f64 {
        let [first, second, third] = self.derivatives;
        self.value + elapsed * (first + elapsed / 2.0 * (second + elapsed / 3.0 * third))
    }
}

fn input<'m, M: Model>(
    table: &Table<M>,
    model: &'m mut M,
    reference: ValueReference,
) -> Option<&'m mut f64> {
    match f64::slots(table).get(reference as usize)?.place {
        Place::Model(access) => Some(access(model)),
        Place::Settings(_) => None,
    }
}
