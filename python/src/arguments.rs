//! Arguments that take more than one form.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A pair of names: an output and the input that it feeds.
pub(crate) type Ends = (String, String);

/// The pairs of a bond, axis by axis: one, or a list of them.
pub(crate) struct Axes(pub(crate) Vec<Ends>);

impl<'py> FromPyObject<'_, 'py> for Axes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(ends) = object.extract::<Ends>() {
            return Ok(Self(vec![ends]));
        }
        let several = object.extract::<Vec<Ends>>().map(Self);
        several.map_err(|_| {
            PyTypeError::new_err(
                "the effort and the flow of a bond are each a pair of an output and the input that it feeds, or a list of such pairs",
            )
        })
    }
}

/// The columns that are recorded: all, none, or those that meet a pattern or one of a list.
pub(crate) enum Record {
    All(bool),
    Patterns(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for Record {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(all) = object.extract::<bool>() {
            return Ok(Self::All(all));
        }
        if let Ok(pattern) = object.extract::<String>() {
            return Ok(Self::Patterns(vec![pattern]));
        }
        let patterns = object.extract::<Vec<String>>().map(Self::Patterns);
        patterns.map_err(|_| {
            PyTypeError::new_err(
                "`record` is a bool, the name of a column or a list of names, with * and ? in them",
            )
        })
    }
}
