//! Registries: entries that the file format, the help, the conformance suite and the documentation
//! all read. A new method is one new file and one word in its slice; a program that embeds the
//! engine adds entries of its own ([`Registry::add`]).
//!
//! Exchange modes and orders of interface models are words with facts in the graph, and a table of acts by word
//! beside them: acts work on the state, which holds the graph.

mod parameters;
mod signal_names;

use std::fmt;

use gyrator_system::{Choice, Problem};

use crate::need::Facts;
pub(crate) use parameters::POSITIVE;
pub use parameters::{Arguments, ParameterInfo, ParameterKind};
use parameters::{arguments, suggestion};
pub use signal_names::SignalName;

/// The entries of a constant table whose rows hold one and the acts that belong to it.
macro_rules! entries_of {
    ($table:ident) => {{
        let mut entries = [$table[0].entry; $table.len()];
        let mut place = 1;
        while place < entries.len() {
            entries[place] = $table[place].entry;
            place += 1;
        }
        entries
    }};
}
pub(crate) use entries_of;

/// Kind of the entries of one registry, implemented for `dyn Extrapolation`, for example.
pub trait EntryKind: 'static {
    /// Name of an entry in messages.
    const NAME: &'static str;
    /// Words that a system file uses for something else.
    const RESERVED: &'static [&'static str] = &[];
    /// Other names of entries that the field has, each with the name of its entry. A system file may
    /// use either; reports have the name.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// Type that an entry makes.
    type Made;
    /// Context on which the facts depend besides the arguments.
    type Context;
    /// Facts about an entry without making one.
    type Facts: Facts;
    /// The context in which an entry is described without a system.
    const USUAL: Self::Context;
}

/// One word of a registry: its name, source, parameters and constructor.
pub struct Entry<K: EntryKind + ?Sized> {
    /// The word in a system file.
    pub name: &'static str,
    /// One line for `gyrator list`.
    pub summary: &'static str,
    /// Paper and equation, or section of the standard.
    pub source: &'static str,
    /// The parameters it accepts.
    pub parameters: &'static [ParameterInfo],
    /// Facts about the result of [`build`](Self::build) with the same arguments.
    pub facts: fn(&Arguments, &K::Context) -> K::Facts,
    /// Makes one.
    pub build: fn(&Arguments) -> K::Made,
}

impl<K: EntryKind + ?Sized> Copy for Entry<K> {}

impl<K: EntryKind + ?Sized> Clone for Entry<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: EntryKind + ?Sized> fmt::Debug for Entry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("kind", &K::NAME)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<K: EntryKind + ?Sized> Entry<K> {
    /// Its [aliases](EntryKind::ALIASES).
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> + use<K> {
        let name = self.name;
        let own = K::ALIASES.iter().filter(move |(_, of)| *of == name);
        own.map(|(alias, _)| *alias)
    }

    /// Its name, then its aliases.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<K> {
        std::iter::once(self.name).chain(self.aliases())
    }

    fn is_called(&self, word: &str) -> bool {
        self.names().any(|name| name == word)
    }

    /// The entry as `choice` asks for it.
    ///
    /// # Errors
    /// All unknown parameters and values of a wrong type or out of range.
    pub fn chosen(&self, choice: &Choice) -> Result<Chosen<K>, Vec<Problem>> {
        let arguments = arguments(self.name, self.parameters, choice)?;
        Ok(Chosen {
            entry: *self,
            arguments,
        })
    }

    /// The entry with its defaults, and with each parameter at each of its words and limits in
    /// turn; each with the choice that asks for it.
    pub fn variants(&self) -> Vec<(Choice, Chosen<K>)> {
        let defaults = Choice::new(self.name);
        let values = self.parameters.iter().flat_map(|parameter| {
            let name = parameter.name;
            let values = parameter.kind.samples().into_iter();
            values.map(move |value| Choice::new(self.name).with(name, value))
        });
        let choices = std::iter::once(defaults).chain(values);
        choices
            .filter_map(|choice| self.chosen(&choice).ok().map(|chosen| (choice, chosen)))
            .collect()
    }
}

/// A registry entry with the arguments it is built with.
pub struct Chosen<K: EntryKind + ?Sized> {
    /// The entry.
    pub entry: Entry<K>,
    /// Its checked parameters.
    pub arguments: Arguments,
}

impl<K: EntryKind + ?Sized> Clone for Chosen<K> {
    fn clone(&self) -> Self {
        Self {
            entry: self.entry,
            arguments: self.arguments.clone(),
        }
    }
}

impl<K: EntryKind + ?Sized> fmt::Debug for Chosen<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("entry", &self.entry)
            .field("arguments", &self.arguments)
            .finish()
    }
}

impl<K: EntryKind + ?Sized> Chosen<K> {
    /// The word in a system file.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Facts about it.
    pub fn facts(&self, context: &K::Context) -> K::Facts {
        (self.entry.facts)(&self.arguments, context)
    }

    /// Facts about it without a system.
    pub fn usual_facts(&self) -> K::Facts {
        self.facts(&K::USUAL)
    }

    /// Makes one.
    pub fn build(&self) -> K::Made {
        (self.entry.build)(&self.arguments)
    }
}

/// Finds the entry that `choice` names and checks its parameters.
///
/// # Errors
/// All problems at once: an unknown word, unknown parameters, values of a wrong type or out of range.
pub fn look_up<K: EntryKind + ?Sized>(
    entries: &[Entry<K>],
    choice: &Choice,
) -> Result<Chosen<K>, Vec<Problem>> {
    let word = choice.name.value.as_str();
    let Some(entry) = entries.iter().find(|entry| entry.is_called(word)) else {
        let names: Vec<_> = entries.iter().flat_map(Entry::names).collect();
        let message = format!("there is no {} `{word}`", K::NAME);
        let problem = Problem::error("unknown-word", message)
            .at(&choice.name.span)
            .help(suggestion(word, &names));
        return Err(vec![problem]);
    };
    entry.chosen(choice)
}

/// The words of one kind that a system may use: the engine's, and those added to them.
pub struct Registry<K: EntryKind + ?Sized> {
    entries: Vec<Entry<K>>,
}

impl<K: EntryKind + ?Sized> Clone for Registry<K> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
        }
    }
}

impl<K: EntryKind + ?Sized> fmt::Debug for Registry<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}

/// Why an entry cannot be added to a registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {kind} `{name}` cannot be registered: {reason}")]
pub struct EntryError {
    kind: &'static str,
    name: &'static str,
    reason: String,
}

impl<K: EntryKind + ?Sized> Registry<K> {
    pub(crate) fn of(entries: &[Entry<K>]) -> Self {
        let entries = entries.to_vec();
        Self { entries }
    }

    /// All entries, the engine's first.
    pub fn entries(&self) -> &[Entry<K>] {
        &self.entries
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// A name or a parameter that is none, that exists already, or whose default is not allowed.
    pub fn add(&mut self, entry: Entry<K>) -> Result<(), EntryError> {
        self.misfit(&entry).map_or(Ok(()), |reason| {
            Err(EntryError {
                kind: K::NAME,
                name: entry.name,
                reason,
            })
        })?;
        self.entries.push(entry);
        Ok(())
    }

    /// Finds the entry that `choice` names and checks its parameters.
    ///
    /// # Errors
    /// As [`look_up`].
    pub fn look_up(&self, choice: &Choice) -> Result<Chosen<K>, Vec<Problem>> {
        look_up(&self.entries, choice)
    }

    fn misfit(&self, entry: &Entry<K>) -> Option<String> {
        const A_WORD: &str =
            "it must begin with a letter and go on with letters, digits, `-` and `_`";
        if !is_word(entry.name) {
            return Some(format!("its name is not a valid word; {A_WORD}"));
        }
        if K::RESERVED.contains(&entry.name) {
            return Some("system files use this word for something else".to_owned());
        }
        if self.entries.iter().any(|known| known.is_called(entry.name)) {
            return Some("there is one of this name already".to_owned());
        }
        for (index, parameter) in entry.parameters.iter().enumerate() {
            let name = parameter.name;
            if !is_word(name) {
                return Some(format!(
                    "`{name}` is not a valid name of a parameter; {A_WORD}"
                ));
            }
            // `{ name = "word", parameter = … }`
            let before = &entry.parameters[..index];
            if name == "name" || before.iter().any(|known| known.name == name) {
                return Some(format!("its parameter `{name}` is there twice"));
            }
            if let Some(reason) = parameter.kind.misfit() {
                return Some(format!("its parameter `{name}` {reason}"));
            }
        }
        None
    }
}

fn is_word(text: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.chars().all(is_part)
}
