//! The words that a coupling is made of, instead of the words of the system file.

use std::fmt;

use gyrator_system::{Choice, InterfaceModel, Spanned, SystemFile};
use serde::Serialize;

/// What [`Coupling::interface_order`] is called: `order` alone is also a parameter of methods.
pub(crate) const INTERFACE_ORDER: &str = "interface order";
/// The option of an interface model that depends on its order.
pub(crate) const FORCE: &str = "force";

/// Words of registries, for all components and bonds; the file's own if `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Coupling {
    /// Word of `method`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Word of `exchange`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    /// Word of `extrapolation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extrapolation: Option<String>,
    /// Word of `correction`, or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<String>,
    /// Keyword of `order` of all interface models: which side steps first, and so which force the slow one receives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_order: Option<String>,
}

impl Coupling {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        *self == Self::default()
    }

    /// This one, with the words that `other` has.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let either =
            |one: &Option<String>, other: &Option<String>| other.clone().or_else(|| one.clone());
        Self {
            method: either(&self.method, &other.method),
            exchange: either(&self.exchange, &other.exchange),
            extrapolation: either(&self.extrapolation, &other.extrapolation),
            correction: either(&self.correction, &other.correction),
            interface_order: either(&self.interface_order, &other.interface_order),
        }
    }

    /// The system with these words, everywhere.
    #[must_use]
    pub fn applied(&self, system: &SystemFile) -> SystemFile {
        let mut system = system.clone();
        if let Some(word) = &self.method {
            system.experiment.method = Some(Choice::new(word));
        }
        if let Some(word) = &self.exchange {
            system.experiment.exchange = Some(Spanned::unplaced(word.clone()));
            for component in &mut system.components {
                component.exchange = None;
            }
        }
        if let Some(word) = &self.extrapolation {
            system.experiment.extrapolation = Some(Choice::new(word));
            for component in &mut system.components {
                component.extrapolation = None;
            }
        }
        if let Some(word) = &self.correction {
            for bond in &mut system.bonds {
                bond.correction = (word != "off").then(|| Choice::new(word));
            }
        }
        if let Some(word) = &self.interface_order {
            let models = system.interface_models.iter_mut();
            for model in models.filter(|model| !is_ordered(model, word)) {
                model.order = Some(Spanned::unplaced(word.clone()));
                // Each order has its own; without the key, its default.
                model.options.retain(|(name, _)| name.value != FORCE);
            }
        }
        system
    }

    /// The keys and their words.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let words = [
            ("method", &self.method),
            ("exchange", &self.exchange),
            ("extrapolation", &self.extrapolation),
            ("correction", &self.correction),
            (INTERFACE_ORDER, &self.interface_order),
        ];
        words
            .into_iter()
            .filter_map(|(key, word)| Some((key, word.as_deref()?)))
    }
}

impl fmt::Display for Coupling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unchanged() {
            return f.pad("as given");
        }
        let words: Vec<String> = self
            .words()
            .map(|(key, word)| format!("{key} {word}"))
            .collect();
        f.pad(&words.join(", "))
    }
}

/// Each word of each registry alone, in the order of the registries.
pub(crate) fn single_changes(
    system: &SystemFile,
    registries: &gyrator::Registries,
) -> Vec<Coupling> {
    fn words<K: gyrator::registry::EntryKind + ?Sized>(
        registry: &gyrator::registry::Registry<K>,
    ) -> Vec<String> {
        registry
            .entries()
            .iter()
            .map(|entry| entry.name.to_owned())
            .collect()
    }
    let extrapolations = words(&registries.extrapolations).into_iter();
    let extrapolations = extrapolations.map(|word| Coupling {
        extrapolation: Some(word),
        ..Coupling::default()
    });
    let methods = words(&registries.methods).into_iter().map(|word| Coupling {
        method: Some(word),
        ..Coupling::default()
    });
    let exchanges = gyrator_system::EXCHANGES.iter().map(|word| Coupling {
        exchange: Some((*word).to_owned()),
        ..Coupling::default()
    });
    let mut corrections = Vec::new();
    if !system.bonds.is_empty() {
        corrections.push("off".to_owned());
        corrections.extend(words(&registries.corrections));
    }
    let corrections = corrections.into_iter().map(|word| Coupling {
        correction: Some(word),
        ..Coupling::default()
    });
    let orders = match system.interface_models[..] {
        [] => Vec::new(),
        _ => words(&registries.interface_orders),
    };
    let orders = orders.into_iter().map(|word| Coupling {
        interface_order: Some(word),
        ..Coupling::default()
    });
    let changes = extrapolations
        .chain(methods)
        .chain(exchanges)
        .chain(corrections)
        .chain(orders);
    changes
        .filter(|change| !is_in_force(change, system))
        .collect()
}

/// Whether the file says the same, as far as it says it once for all.
fn is_in_force(change: &Coupling, system: &SystemFile) -> bool {
    let experiment = &system.experiment;
    let is = |choice: &Option<Choice>, word: &Option<String>| {
        let plain = choice
            .as_ref()
            .filter(|choice| choice.parameters.is_empty());
        word.is_some() && plain.map(|choice| &choice.name.value) == word.as_ref()
    };
    let mut components = system.components.iter();
    let exchange = experiment.exchange.as_ref().map(|word| &word.value);
    is(&experiment.method, &change.method)
        || is(&experiment.extrapolation, &change.extrapolation)
            && components.all(|component| component.extrapolation.is_none())
        || change.exchange.is_some()
            && exchange == change.exchange.as_ref()
            && components.all(|component| component.exchange.is_none())
        || change.correction.as_deref() == Some("off")
            && system.bonds.iter().all(|bond| bond.correction.is_none())
        || change.interface_order.as_ref().is_some_and(|word| {
            let mut models = system.interface_models.iter();
            models.all(|model| is_ordered(model, word))
        })
}

fn is_ordered(model: &InterfaceModel, word: &str) -> bool {
    let order = model.order.as_ref();
    order.is_some_and(|order| order.value == word)
}
