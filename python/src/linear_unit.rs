//! Linear units that Python code describes.

use std::sync::Arc;

use gyrator::unit::LinearUnit as Unit;
use pyo3::prelude::*;

use crate::error;

/// ẋ = A·x + B·u, y = C·x + D·u, stepped exactly for inputs that are held.
#[pyclass(frozen, module = "gyrator")]
pub(crate) struct LinearUnit(Arc<Plan>);

struct Plan {
    states: Vec<f64>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// A, B, C and D, row by row.
    matrices: [Vec<f64>; 4],
}

#[pymethods]
impl LinearUnit {
    #[new]
    fn new(
        py: Python<'_>,
        states: Vec<f64>,
        inputs: Vec<String>,
        outputs: Vec<String>,
        a: Vec<Vec<f64>>,
        b: Vec<Vec<f64>>,
        c: Vec<Vec<f64>>,
        d: Vec<Vec<f64>>,
    ) -> PyResult<Self> {
        let matrices = [a, b, c, d];
        for (rows, name) in matrices.iter().zip(["A", "B", "C", "D"]) {
            if rows.windows(2).any(|two| two[0].len() != two[1].len()) {
                let text = format!("the rows of the matrix {name} have different lengths");
                return Err(error::usage(py, text));
            }
        }
        let mut numbers = states.iter().chain(matrices.iter().flatten().flatten());
        if let Some(number) = numbers.find(|number| !number.is_finite()) {
            let text = format!("a linear unit has finite numbers, and {number} is given");
            return Err(error::usage(py, text));
        }
        let plan = Plan {
            states,
            inputs,
            outputs,
            matrices: matrices.map(|rows| rows.concat()),
        };
        match plan.make() {
            Ok(_) => Ok(Self(Arc::new(plan))),
            Err(wrong) => Err(error::usage(py, wrong.to_string())),
        }
    }
}

impl Plan {
    fn make(&self) -> Result<Unit, gyrator::unit::ShapeError> {
        let inputs: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = self.outputs.iter().map(String::as_str).collect();
        let matrices = self.matrices.each_ref().map(Vec::as_slice);
        Unit::try_new(&self.states, &inputs, &outputs, matrices)
    }
}

impl LinearUnit {
    /// Makes a unit for each run of a system.
    pub(crate) fn maker(&self) -> impl Fn() -> Unit + Send + Sync + use<> {
        let plan = Arc::clone(&self.0);
        move || match plan.make() {
            Ok(unit) => unit,
            // The shapes are those that `new` has found right.
            Err(wrong) => unreachable!("{wrong}"),
        }
    }
}
