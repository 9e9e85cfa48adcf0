//! The table of `--initialize-only`.

use gyrator::record::Selection;
use gyrator::unit::Causality;
use gyrator::{Run, RunError, Value};
use wildmatch::WildMatch;

use crate::aligned::{Align, Aligned};
use crate::numbers::short;

/// A table of the variables at the present communication point: of inputs and outputs, or of those
/// that the patterns of `selection` name.
///
/// # Errors
/// A unit that refuses to give one.
pub(crate) fn initial_values(selection: &Selection, run: &mut Run) -> Result<String, RunError> {
    let patterns: Vec<_> = selection
        .variables
        .iter()
        .map(|p| WildMatch::new(p))
        .collect();
    let prefix = selection.single.as_ref().map(|single| format!("{single}."));
    let shown = |name: &str| {
        let bare = prefix
            .as_deref()
            .and_then(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name).to_owned()
    };
    let mut asked = Vec::new();
    for variable in run.graph().variables() {
        let described = variable.described;
        let name = format!("{}.{}", variable.component, described.name);
        let shown = shown(&name);
        let is_usual = matches!(described.causality, Causality::Input | Causality::Output);
        let is_named = patterns.iter().any(|pattern| pattern.matches(&shown));
        if is_named || (is_usual && patterns.is_empty()) {
            let unit = described.unit.as_ref().map(|unit| unit.name.clone());
            let role = match described.causality {
                Causality::Parameter | Causality::TunableParameter => "parameter",
                Causality::Input => "input",
                Causality::Output => "output",
                Causality::Local => "local",
            };
            asked.push((shown, name, role, unit.unwrap_or_default()));
        }
    }
    let mut table = Aligned::new(&[
        ("variable", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
        ("causality", Align::Left),
    ]);
    for (shown, name, role, unit) in asked {
        let value = json(&run.read(&name)?).to_string();
        table.row([shown, value, unit, role.to_owned()]);
    }
    Ok(format!(
        "values at t = {} s\n{}\n",
        short(run.time()),
        table.render()
    ))
}

/// A value as JSON writes it.
pub(crate) fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Real(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Boolean(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
    }
}
