//! Values and words as Python code gives and takes them.

use gyrator::{Value, Word};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyMapping};

/// A value of the type that Python's has.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Real(value.extract()?));
    }
    if let Ok(value) = value.extract::<bool>() {
        return Ok(Value::Boolean(value));
    }
    if let Ok(value) = value.extract::<i32>() {
        return Ok(Value::Integer(value));
    }
    if let Ok(value) = value.extract::<String>() {
        return Ok(Value::String(value));
    }
    let value = value.extract::<f64>();
    value
        .map(Value::Real)
        .map_err(|_| PyTypeError::new_err("a value is a float, an int of 32 bits, a bool or a str"))
}

pub(crate) fn to_python<'py>(py: Python<'py>, value: Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Real(value) => value.into_pyobject(py)?.into_any(),
        Value::Integer(value) => value.into_pyobject(py)?.into_any(),
        Value::Boolean(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::String(value) => value.into_pyobject(py)?.into_any(),
    })
}

/// A word of a registry with its settings.
pub(crate) fn word(name: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Word> {
    let mut word = Word::new(name);
    for (key, value) in settings.into_iter().flatten() {
        word = word.with(key.extract::<String>()?, from_python(&value)?);
    }
    Ok(word)
}

/// A word of a registry: its name, or a pair of its name and a mapping of its settings.
pub(crate) struct WordArgument(pub(crate) Word);

impl<'py> FromPyObject<'_, 'py> for WordArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.extract::<String>() {
            return Ok(Self(Word::new(name)));
        }
        let pair = object.extract::<(String, Bound<'py, PyMapping>)>();
        let (name, settings) = pair.map_err(|_| {
            PyTypeError::new_err(
                "a word is a str, or a pair of a str and a mapping of its settings",
            )
        })?;
        let mut word = Word::new(&name);
        for (key, value) in items(&settings)? {
            word = word.with(key, value);
        }
        Ok(Self(word))
    }
}

/// The items of a mapping of names to values.
pub(crate) fn items(mapping: &Bound<'_, PyMapping>) -> PyResult<Vec<(String, Value)>> {
    let items = mapping.items()?.into_iter();
    let pairs = items.map(|item| {
        let (name, value) = item.extract::<(String, Bound<'_, PyAny>)>()?;
        Ok((name, from_python(&value)?))
    });
    pairs.collect()
}

/// A number for a real variable.
pub(crate) fn real(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    // The usual type of values that are written in loops.
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(number.value());
    }
    match from_python(value)? {
        Value::Real(number) => Ok(number),
        Value::Integer(number) => Ok(number.into()),
        _ => Err(PyTypeError::new_err(format!(
            "a real variable takes a number, not {}",
            value.repr()?
        ))),
    }
}
