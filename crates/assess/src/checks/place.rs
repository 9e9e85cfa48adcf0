//! The signals, bonds and components that a check is about.

use gyrator::graph::Graph;
use gyrator::record::BOND_VALUES;
use gyrator::unit::{Causality, VariableType};
use gyrator::{Value, View};
use gyrator_system::{Problem, did_you_mean};
use wildmatch::WildMatch;

use super::{Check, Quantity};

/// Where a value is found at a communication point.
#[derive(Clone)]
pub(super) enum Probe {
    Real(usize),
    /// An output that is not real.
    Signal(usize),
    /// An input, a local variable or a parameter, in the order of the names that the observer watches.
    Watched(usize),
    Bond(usize, fn(&View<'_>, usize) -> f64),
    PowerBonds(Vec<usize>, fn(&View<'_>, usize) -> f64),
    Component(usize, fn(&View<'_>, usize) -> f64),
    /// None: the report is judged.
    Report,
}

impl Probe {
    pub(super) fn value(&self, view: &View<'_>) -> f64 {
        match self {
            Self::Real(place) => view.reals[*place],
            Self::Signal(place) => number(&view.signals[*place]),
            Self::Watched(place) => number(&view.watched[*place].value),
            Self::Bond(bond, get) => get(view, *bond),
            Self::PowerBonds(bonds, get) => bonds.iter().map(|bond| get(view, *bond)).sum(),
            Self::Component(component, get) => get(view, *component),
            Self::Report => 0.0,
        }
    }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Real(number) => *number,
        Value::Integer(number) => f64::from(*number),
        Value::Boolean(boolean) => f64::from(u8::from(*boolean)),
        Value::String(_) => f64::NAN,
    }
}

/// One signal, bond or component of a check.
pub(super) struct Place {
    /// As findings call it.
    pub(super) subject: String,
    pub(super) probe: Probe,
    /// The bond, in the order of the graph.
    pub(super) bond: Option<usize>,
}

/// The name of a subject in findings.
pub(super) fn shown(check: &Check, name: Option<&str>) -> String {
    match (check.kind.quantity, name) {
        (Quantity::Signal | Quantity::OfComponent(_), name) => name.unwrap_or_default().to_owned(),
        (Quantity::OfBonds(_) | Quantity::Report, Some(name)) => format!("bond {name}"),
        (Quantity::OfBonds(_), None) => "the system".to_owned(),
        (Quantity::Report, None) => "the run".to_owned(),
    }
}

/// The things that a system offers to checks.
pub(super) struct Offer<'a> {
    graph: &'a Graph,
    /// Names of numbers, where they are, and whether patterns find them.
    signals: Vec<(String, Found, bool)>,
    /// Names of further variables that the checks look at.
    pub(super) watches: Vec<String>,
}

#[derive(Clone)]
enum Found {
    At(Probe),
    Inner,
    Text,
}

impl<'a> Offer<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let mut signals = Vec::new();
        for (place, output) in graph.real_outputs().into_iter().enumerate() {
            signals.push((output.name, Found::At(Probe::Real(place)), true));
        }
        for (place, output) in graph.signals().into_iter().enumerate() {
            let is_text = output.kind == VariableType::String;
            let found = match is_text {
                true => Found::Text,
                false => Found::At(Probe::Signal(place)),
            };
            signals.push((output.name, found, !is_text));
        }
        for variable in graph.variables() {
            let described = variable.described;
            let is_text = described.kind == VariableType::String;
            // Parameters are constant: a pattern that meets them means the others.
            let is_met = matches!(described.causality, Causality::Input | Causality::Local);
            if described.causality != Causality::Output {
                let name = format!("{}.{}", variable.component, described.name);
                let found = if is_text { Found::Text } else { Found::Inner };
                signals.push((name, found, is_met && !is_text));
            }
        }
        for (bond, name) in graph.bond_names().enumerate() {
            for value in BOND_VALUES {
                let probe = Probe::Bond(bond, value.get);
                let name = format!("bond.{name}.{}", value.name);
                signals.push((name, Found::At(probe), value.is_recorded));
            }
        }
        Self {
            graph,
            signals,
            watches: Vec::new(),
        }
    }

    /// The places of a check.
    ///
    /// # Errors
    /// A name or pattern that nothing has, or a value that cannot be judged.
    pub(super) fn places(&mut self, check: &Check) -> Result<Vec<Place>, Problem> {
        let name = check.subject.as_ref().map(|name| name.value.clone());
        let places = match (check.kind.quantity, name.as_deref()) {
            (Quantity::Signal, Some(name)) => self.of_signals(name),
            (Quantity::OfBonds(value), Some(name)) => {
                self.of_bonds(check, name, |bond| Probe::Bond(bond, value.get))
            }
            (Quantity::Report, Some(name)) => self.of_bonds(check, name, |_| Probe::Report),
            (Quantity::OfComponent(get), Some(name)) => self.of_components(name, get),
            (Quantity::Report, None) => Ok(vec![Place {
                subject: shown(check, None),
                probe: Probe::Report,
                bond: None,
            }]),
            (Quantity::OfBonds(value), None) => {
                let bonds: Vec<usize> = self.graph.power_bonds().collect();
                let message = "the system has no power bonds, whose energies could be checked";
                match bonds.is_empty() {
                    true => Err(Problem::error("nothing-to-check", message)),
                    false => Ok(vec![Place {
                        subject: shown(check, None),
                        probe: Probe::PowerBonds(bonds, value.get),
                        bond: None,
                    }]),
                }
            }
            // The reader asks for the name; code gives it.
            (Quantity::Signal | Quantity::OfComponent(_), None) => Ok(Vec::new()),
        };
        let subject = check.subject.as_ref().map(|name| &name.span);
        places.map_err(|problem| problem.at(subject.unwrap_or(&check.span)))
    }

    fn of_signals(&mut self, pattern: &str) -> Result<Vec<Place>, Problem> {
        let matcher = WildMatch::new(pattern);
        let is_exact = |name: &str| name == pattern;
        let has_exact = self.signals.iter().any(|(name, ..)| is_exact(name));
        let met = self
            .signals
            .iter()
            .filter(|(name, _, is_met)| match has_exact {
                true => is_exact(name),
                false => *is_met && matcher.matches(name),
            });
        let mut places = Vec::new();
        for (name, found, _) in met {
            let probe = match found {
                Found::At(probe) => probe.clone(),
                Found::Inner => {
                    let known = self.watches.iter().position(|watched| watched == name);
                    Probe::Watched(known.unwrap_or_else(|| {
                        self.watches.push(name.clone());
                        self.watches.len() - 1
                    }))
                }
                Found::Text => {
                    let message = format!("`{name}` is a text, which has no bounds");
                    return Err(Problem::error("no-number", message));
                }
            };
            places.push(Place {
                subject: name.clone(),
                probe,
                bond: None,
            });
        }
        let names = self.signals.iter().map(|(name, ..)| name.as_str());
        found(places, ("variable", "unknown-variable"), pattern, names)
    }

    fn of_bonds(
        &self,
        check: &Check,
        pattern: &str,
        probe: impl Fn(usize) -> Probe,
    ) -> Result<Vec<Place>, Problem> {
        let matcher = WildMatch::new(pattern);
        let bonds = self.graph.bond_names().enumerate();
        let places = bonds.filter(|(_, name)| *name == pattern || matcher.matches(name));
        let places = places.map(|(bond, name)| Place {
            subject: shown(check, Some(name)),
            probe: probe(bond),
            bond: Some(bond),
        });
        let names = self.graph.bond_names();
        found(places.collect(), ("bond", "unknown-bond"), pattern, names)
    }

    fn of_components(
        &self,
        pattern: &str,
        get: fn(&View<'_>, usize) -> f64,
    ) -> Result<Vec<Place>, Problem> {
        let matcher = WildMatch::new(pattern);
        let components = self.graph.component_names().enumerate();
        let places = components.filter(|(_, name)| *name == pattern || matcher.matches(name));
        let at_bond = self.graph.components_at_power_bonds();
        let (of_bonds, others): (Vec<_>, Vec<_>) =
            places.partition(|(component, _)| at_bond.contains(component));
        if let (true, Some((_, name))) = (of_bonds.is_empty(), others.first()) {
            let message = format!("component `{name}` is at no power bond, and has no balance");
            return Err(Problem::error("nothing-to-check", message));
        }
        let places = of_bonds.into_iter().map(|(component, name)| Place {
            subject: name.to_owned(),
            probe: Probe::Component(component, get),
            bond: None,
        });
        let names = self.graph.component_names();
        found(
            places.collect(),
            ("component", "unknown-component"),
            pattern,
            names,
        )
    }
}

/// The places, or the problem that there are none.
fn found<'n>(
    places: Vec<Place>,
    (noun, rule): (&str, &'static str),
    pattern: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<Place>, Problem> {
    if !places.is_empty() {
        return Ok(places);
    }
    let message = format!("the system has no {noun} `{pattern}`");
    Err(unknown(rule, message, pattern, names))
}

/// The problem of a name or pattern that nothing has, with the name that is closest.
pub(super) fn unknown<'n>(
    rule: &'static str,
    message: String,
    pattern: &str,
    names: impl Iterator<Item = &'n str>,
) -> Problem {
    Problem::error(rule, message).advised(did_you_mean(pattern, names))
}
