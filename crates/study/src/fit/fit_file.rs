//! Reading a fit file.

use std::path::{Path, PathBuf};

use gyrator_system::toml_file::section::{Reader, Section};
use gyrator_system::toml_file::{ReadError, parse_document, read_text};
use gyrator_system::{Problem, Problems};
use toml::de::DeValue;

use crate::fit::parameter::Parameter;

/// A fit: which system, which parameters, which measured signals.
#[derive(Debug, Clone, PartialEq)]
pub struct FitFile {
    /// The text that was read.
    pub text: String,
    /// The system file, joined to the folder of the fit file.
    pub system: PathBuf,
    /// The measured signals, a result file, joined to the folder of the fit file.
    pub measured: PathBuf,
    /// The parameters that are looked for.
    pub parameters: Vec<Parameter>,
    /// The signals that are compared.
    pub signals: Vec<Signal>,
    /// Most runs.
    pub most_runs: usize,
    /// The relative change of the sum of squares below which the search ends.
    pub tolerance: f64,
}

/// An output, and the measured column that it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// The output `component.variable`.
    pub variable: String,
    /// The column of the measured file.
    pub column: String,
    /// Weight of its deviations.
    pub weight: f64,
}

/// Runs unless the file says another number: some fifteen rounds of five parameters.
const MOST_RUNS: usize = 300;
/// A change of the sum of squares that moves parameters by less than a thousandth of their standard deviation. A parameter
/// is a standard deviation away when the sum has grown by 1/n of itself, for n measured values.
const TOLERANCE: f64 = 1e-9;

impl FitFile {
    /// Reads a fit file; paths in it are joined to its folder.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the file cannot be read, or with all problems of its text.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Ok(Self::parse(read_text("the fit file", path)?, path)?)
    }

    /// Reads a fit from text, which comes from `path`.
    ///
    /// # Errors
    ///
    /// All problems of the text.
    pub fn parse(text: impl Into<String>, path: impl Into<PathBuf>) -> Result<Self, Problems> {
        parse_document(text, path, "a fit file", read_fit)
    }
}

fn read_fit(mut root: Section<'_>, reader: &mut Reader) -> Option<FitFile> {
    let text = reader.source().text.clone();
    let mut path = |key: &'static str, reader: &mut Reader| {
        let text = root.required_text(key, reader)?;
        Some(reader.path(text).value)
    };
    let system = path("system", reader);
    let measured = path("measured", reader);
    let parameters = parameters(&mut root, reader);
    let signals = signals(&mut root, reader);
    let most_runs = root.number("max_runs", reader);
    let tolerance = root.number("tolerance", reader);
    root.finish(reader);
    let mut positive = |key: &str, value: Option<gyrator_system::Spanned<f64>>, default: f64| {
        let Some(number) = value else { return default };
        if !(number.value > 0.0 && number.value.is_finite()) {
            reader.error(
                "not-positive",
                format!("`{key}` must be above 0"),
                &number.span,
            );
        }
        number.value
    };
    let most_runs = positive("max_runs", most_runs, MOST_RUNS as f64);
    let tolerance = positive("tolerance", tolerance, TOLERANCE);
    Some(FitFile {
        text: text.to_string(),
        system: system?,
        measured: measured?,
        parameters,
        signals,
        most_runs: most_runs as usize,
        tolerance,
    })
}

fn parameters(root: &mut Section<'_>, reader: &mut Reader) -> Vec<Parameter> {
    let Some(value) = root.required("parameters", reader) else {
        return Vec::new();
    };
    let DeValue::Table(table) = value.get_ref() else {
        reader.wrong_type("parameters", "a table of keys", value);
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for (key, value) in table {
        let DeValue::Table(table) = value.get_ref() else {
            reader.wrong_type(key.get_ref(), "a table with `start`", value);
            continue;
        };
        if !table.keys().any(|inner| inner.get_ref() == "start") {
            let message = format!("`{}` has no `start`", key.get_ref());
            let problem = Problem::error("no-start", message).at(&value.span());
            let help = "quote keys with dots: \"left.m\" = { start = 1.0 }";
            reader.problems.push(problem.help(help));
            continue;
        }
        let title = format!("the parameter `{}`", key.get_ref());
        let mut section = Section::new(title, table, value.span());
        let start = section.number("start", reader);
        let minimum = section.number("minimum", reader);
        let maximum = section.number("maximum", reader);
        let scale = section.text("scale", reader);
        section.finish(reader);
        let is_log = scale.is_some_and(|scale| match scale.value.as_str() {
            "log" => true,
            "linear" => false,
            _ => {
                let message = "`scale` is \"linear\" or \"log\"";
                reader.error("unknown-scale", message, &scale.span);
                false
            }
        });
        let Some(start) = start else { continue };
        let parameter = Parameter {
            key: key.get_ref().to_string(),
            start: start.value,
            minimum: minimum.map(|number| number.value),
            maximum: maximum.map(|number| number.value),
            is_log,
        };
        if let Some(fault) = parameter.fault() {
            let message = format!("`{}`: {fault}", parameter.key);
            reader.error("impossible-parameter", message, &value.span());
        }
        parameters.push((key.span().start, parameter));
    }
    if table.is_empty() {
        reader.error(
            "no-parameters",
            "there is no parameter to fit",
            &value.span(),
        );
    }
    parameters.sort_by_key(|(place, _)| *place);
    parameters
        .into_iter()
        .map(|(_, parameter)| parameter)
        .collect()
}

fn signals(root: &mut Section<'_>, reader: &mut Reader) -> Vec<Signal> {
    let Some(value) = root.required("signals", reader) else {
        return Vec::new();
    };
    let plain = |variable: String| Signal {
        column: variable.clone(),
        variable,
        weight: 1.0,
    };
    let mut signals = Vec::new();
    match value.get_ref() {
        DeValue::Array(list) => {
            for value in list.iter() {
                let text = reader.text("signals", value);
                signals.extend(text.map(|text| (text.span.start, plain(text.value))));
            }
        }
        DeValue::Table(table) => {
            for (key, value) in table {
                let DeValue::Table(table) = value.get_ref() else {
                    reader.wrong_type(key.get_ref(), "a table with `column` and `weight`", value);
                    continue;
                };
                let title = format!("the signal `{}`", key.get_ref());
                let mut section = Section::new(title, table, value.span());
                let column = section.text("column", reader);
                let weight = section.number("weight", reader);
                section.finish(reader);
                let mut signal = plain(key.get_ref().to_string());
                if let Some(column) = column {
                    signal.column = column.value;
                }
                if let Some(weight) = weight {
                    if !(weight.value > 0.0 && weight.value.is_finite()) {
                        reader.error("not-positive", "`weight` must be above 0", &weight.span);
                    }
                    signal.weight = weight.value;
                }
                signals.push((key.span().start, signal));
            }
        }
        _ => reader.wrong_type("signals", "a list of outputs, or a table of them", value),
    }
    if signals.is_empty() {
        reader.error("no-signals", "there is no signal to compare", &value.span());
    }
    signals.sort_by_key(|(place, _)| *place);
    signals.into_iter().map(|(_, signal)| signal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        system = "s.toml"
        measured = "m.csv"
        signals = ["left.x", "right.x"]
        [parameters]
        "left.m" = { start = 2.0, minimum = 1.0, maximum = 3.0 }
        "left.k" = { start = 100.0, scale = "log" }
    "#;

    #[test]
    fn keys_are_read() {
        let file = FitFile::parse(TEXT, "folder/fit.toml").unwrap();
        assert_eq!(file.system, Path::new("folder/s.toml"));
        let keys: Vec<&str> = file.parameters.iter().map(|p| p.key.as_str()).collect();
        assert_eq!(keys, ["left.m", "left.k"]);
        assert!(file.parameters[1].is_log);
        assert_eq!(file.signals[1].column, "right.x");
        assert_eq!(file.most_runs, 300);
        let text = TEXT.replace(
            r#"signals = ["left.x", "right.x"]"#,
            r#"signals = { "left.x" = { column = "x", weight = 2.0 }, "right.x" = {} }"#,
        );
        let file = FitFile::parse(text, "fit.toml").unwrap();
        assert_eq!(
            (file.signals[0].column.as_str(), file.signals[0].weight),
            ("x", 2.0)
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, fault) in [
            ("start = 2.0", "begin = 2.0", "no-start"),
            ("start = 2.0", "start = 5.0", "impossible-parameter"),
            (r#"scale = "log""#, r#"scale = "ln""#, "unknown-scale"),
            (r#"["left.x", "right.x"]"#, "[]", "no-signals"),
            ("system =", "systm =", "unknown-key"),
            (r#""left.m""#, "left.m", "no-start"),
        ] {
            let problems = FitFile::parse(TEXT.replace(from, to), "fit.toml").unwrap_err();
            let codes: Vec<_> = problems.list.iter().map(|problem| problem.rule).collect();
            assert!(codes.contains(&fault), "{to}: {codes:?}");
        }
    }
}
