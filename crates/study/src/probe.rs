//! Places of the values of a variable in a view of a run: metrics, samples and references read them there.

use gyrator::graph::Graph;
use gyrator::record::{BOND_VALUES, BondValue};
use gyrator::{Value, View};
use gyrator_system::did_you_mean;

/// The place of a variable in a view.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Probe {
    Real(usize),
    Signal(usize),
    Bond(usize, &'static BondValue),
}

impl Probe {
    /// Finds a variable, with its unit.
    pub(crate) fn find(name: &str, graph: &Graph) -> Result<(Self, Option<String>), String> {
        let reals = graph.real_outputs();
        if let Some(place) = reals.iter().position(|output| output.name == name) {
            return Ok((Self::Real(place), reals[place].unit.clone()));
        }
        let signals = graph.signals();
        if let Some(place) = signals.iter().position(|signal| signal.name == name) {
            if signals[place].kind == gyrator::unit::VariableType::String {
                return Err(format!("`{name}` is a text, which cannot be measured"));
            }
            return Ok((Self::Signal(place), signals[place].unit.clone()));
        }
        let mut names = Vec::new();
        for (index, bond) in graph.bond_names().enumerate() {
            for value in BOND_VALUES {
                let full = format!("bond.{bond}.{}", value.name);
                if full == name {
                    return Ok((Self::Bond(index, value), Some(value.unit.to_owned())));
                }
                names.push(full);
            }
        }
        let outputs = reals
            .iter()
            .chain(&signals)
            .map(|output| output.name.as_str());
        let known = outputs.chain(names.iter().map(String::as_str));
        let near = did_you_mean(name, known).map(|near| format!(": {near}"));
        Err(format!(
            "the system has no output `{name}`{}",
            near.unwrap_or_default()
        ))
    }

    pub(crate) fn value(self, view: &View<'_>) -> f64 {
        match self {
            Self::Real(place) => view.reals[place],
            Self::Signal(place) => match view.signals[place] {
                Value::Real(number) => number,
                Value::Integer(number) => f64::from(number),
                Value::Boolean(boolean) => f64::from(u8::from(boolean)),
                Value::String(_) => f64::NAN,
            },
            Self::Bond(bond, value) => (value.get)(view, bond),
        }
    }
}
