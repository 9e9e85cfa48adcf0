//! The parts of a run's summary that a picture shows.

use std::collections::BTreeMap;

use gyrator_record::ResultFile;
use serde_json::Value;

/// Why a summary was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSummary {
    /// It is not JSON.
    #[error("this is not JSON: {0}")]
    NotJson(String),
    /// It is the JSON of something else.
    #[error("this is not a summary of a run: it has no `stop_reason`")]
    NoSummary,
}

/// Facts about a run that its rows do not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// How far the coupling changes the result.
    pub verdict: Option<String>,
    /// The greatest error of each signal, if error bars were asked for.
    pub errors: BTreeMap<String, f64>,
    /// Columns that are not of reals, with the words for their types.
    pub types: BTreeMap<String, String>,
    /// Units of columns.
    pub units: BTreeMap<String, String>,
}

impl Facts {
    /// Reads the JSON that `--summary` writes.
    ///
    /// # Errors
    ///
    /// [`BadSummary`].
    pub fn parse(json: &str) -> Result<Self, BadSummary> {
        let summary: Value =
            serde_json::from_str(json).map_err(|error| BadSummary::NotJson(error.to_string()))?;
        if summary.get("stop_reason").is_none() {
            return Err(BadSummary::NoSummary);
        }
        let bars = summary.get("error_bars").and_then(Value::as_array);
        let error = |bar: &Value| {
            let name = bar.get("variable")?.as_str()?;
            Some((name.to_owned(), bar.get("max_error")?.as_f64()?))
        };
        let words = |key: &str| {
            let found = summary.get("output").and_then(|output| output.get(key));
            let pairs = found.and_then(Value::as_object).into_iter().flatten();
            let pairs =
                pairs.filter_map(|(name, word)| Some((name.clone(), word.as_str()?.to_owned())));
            pairs.collect()
        };
        Ok(Self {
            verdict: summary
                .get("verdict")
                .and_then(Value::as_str)
                .map(str::to_owned),
            errors: bars.into_iter().flatten().filter_map(error).collect(),
            types: words("types"),
            units: words("units"),
        })
    }

    /// The facts in the metadata of a result, if its form keeps them.
    #[must_use]
    pub fn of_file(file: &ResultFile) -> Option<Self> {
        Self::parse(file.metadata("gyrator.summary")?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_types_and_verdict_are_read_and_other_json_is_refused() {
        let json = r#"{"stop_reason": "stop-time", "verdict": "visible",
            "error_bars": [{"variable": "a.x", "max_error": 0.5}, {"variable": "a.y", "max_error": null}],
            "output": {"types": {"a.n": "integer"}, "units": {"a.x": "m"}}}"#;
        let facts = Facts::parse(json).unwrap();
        assert_eq!(facts.verdict.as_deref(), Some("visible"));
        assert_eq!(facts.errors, BTreeMap::from([("a.x".to_owned(), 0.5)]));
        assert_eq!(facts.types["a.n"], "integer");
        assert_eq!(facts.units["a.x"], "m");
        assert_eq!(Facts::parse("{}"), Err(BadSummary::NoSummary));
        assert!(matches!(Facts::parse("{"), Err(BadSummary::NotJson(_))));
    }
}
