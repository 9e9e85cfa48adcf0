//! FMUs, their instances, and signals such as `{tank}.wt.level`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gyrator_system::{Component, Port, Problem, Spanned, did_you_mean};

use super::json::Member;
use crate::models::Models;
use crate::package::Reference;
use crate::tree::Reader;

/// Folder with the FMUs of a project of the INTO-CPS application, and how far above a multi-model it lies at most.
const FOLDER: &str = "FMUs";
const ABOVE: usize = 4;

/// FMUs by their keys, and instances in the order in which the files name them.
pub(super) struct Instances {
    fmus: BTreeMap<String, Spanned<PathBuf>>,
    found: Vec<Instance>,
}

struct Instance {
    key: String,
    name: Spanned<String>,
}

/// A variable of an instance.
#[derive(Clone)]
pub(super) struct Signal {
    /// Number of the instance.
    pub(super) instance: usize,
    pub(super) variable: String,
    pub(super) place: Range<usize>,
}

impl Signal {
    /// The port of the component that the instance has become.
    pub(super) fn port(&self, components: &[Component]) -> Spanned<Port> {
        let component = &components[self.instance].name.value;
        Spanned::new(Port::new(component, &*self.variable), self.place.clone())
    }
}

impl Instances {
    pub(super) fn new(members: Vec<Member<'_>>, reader: &mut Reader<'_>) -> Self {
        let mut fmus = BTreeMap::new();
        for (key, json) in members {
            let Some(path) = json.text() else {
                json.wrong(&key.value, "the path of an FMU", reader);
                continue;
            };
            // Projects that were made on Windows have its separators.
            let name = path.value.replace('\\', "/");
            match reader.package.resolve(&name) {
                Ok(file) => {
                    let file = in_project(file, &name, reader);
                    fmus.insert(key.value, Spanned::new(file, path.span));
                }
                Err(message) => reader.error("invalid-path", message, &path.span),
            }
        }
        Self {
            fmus,
            found: Vec::new(),
        }
    }

    /// `{key}.instance`, at the beginning of a signal.
    pub(super) fn instance(
        &mut self,
        text: &str,
        place: &Range<usize>,
        reader: &mut Reader<'_>,
    ) -> Option<usize> {
        let split = text.find('}').filter(|_| text.starts_with('{'));
        let split = split.map(|end| text.split_at(end + 1));
        let parts = split.and_then(|(key, rest)| Some((key, rest.strip_prefix('.')?)));
        let Some((key, name)) = parts.filter(|(_, name)| !name.is_empty()) else {
            let message = format!("`{text}` names no instance as `{{fmu}}.instance`");
            reader.error("wrong-name", message, place);
            return None;
        };
        let known = |instance: &Instance| instance.key == key && instance.name.value == name;
        if let Some(found) = self.found.iter().position(known) {
            return Some(found);
        }
        if !self.fmus.contains_key(key) {
            let message = format!("unknown FMU `{key}`");
            let help = did_you_mean(key, self.fmus.keys().map(String::as_str));
            let problem = Problem::error("unknown-name", message).at(place);
            reader.problems.push(problem.advised(help));
            return None;
        }
        self.found.push(Instance {
            key: key.to_owned(),
            name: Spanned::new(name.to_owned(), place.clone()),
        });
        Some(self.found.len() - 1)
    }

    /// `{key}.instance.variable`; the instance ends at the first dot, the variable may have more.
    pub(super) fn signal(
        &mut self,
        name: &Spanned<String>,
        reader: &mut Reader<'_>,
    ) -> Option<Signal> {
        let text = &name.value;
        let dot = text.find('}').and_then(|end| {
            let from = end + 2;
            text.get(from..)?.find('.').map(|dot| from + dot)
        });
        let Some(dot) = dot else {
            let message = format!("`{text}` names no signal as `{{fmu}}.instance.variable`");
            reader.error("wrong-name", message, &name.span);
            return None;
        };
        let instance = self.instance(&text[..dot], &name.span, reader)?;
        Some(Signal {
            instance,
            variable: text[dot + 1..].to_owned(),
            place: name.span.clone(),
        })
    }

    /// A signal of an instance that connections, parameters or logs name.
    pub(super) fn known_signal(
        &self,
        name: &Spanned<String>,
        reader: &mut Reader<'_>,
    ) -> Option<Signal> {
        let of = |(number, instance): (usize, &Instance)| {
            let rest = name.value.strip_prefix(&*instance.key)?.strip_prefix('.')?;
            let variable = rest
                .strip_prefix(&*instance.name.value)?
                .strip_prefix('.')?;
            Some((number, variable.to_owned()))
        };
        let found = self.found.iter().enumerate().find_map(of);
        if found.is_none() {
            let message = format!("`{}` is a signal of no instance", name.value);
            reader.error("unknown-name", message, &name.span);
        }
        let (instance, variable) = found?;
        let place = name.span.clone();
        Some(Signal {
            instance,
            variable,
            place,
        })
    }

    /// A component for each instance.
    pub(super) fn components(&self, reader: &mut Reader<'_>) -> Vec<Component> {
        let mut components = Vec::new();
        for instance in &self.found {
            let mut named = self
                .found
                .iter()
                .filter(|other| other.name.value == instance.name.value);
            let is_only = named.nth(1).is_none();
            let mut component = Component::new("", PathBuf::new());
            component.name = instance.name.clone();
            if !is_only {
                let key = instance.key.trim_matches(['{', '}']);
                component.name.value = format!("{key}.{}", instance.name.value);
            }
            if let Some(fmu) = self.fmus.get(&instance.key) {
                component.fmu = fmu.clone();
            }
            components.push(component);
        }
        for (key, fmu) in &self.fmus {
            if !self.found.iter().any(|instance| instance.key == *key) {
                let message =
                    format!("`{key}` has no instance: nothing is connected or set; it is left out");
                reader
                    .problems
                    .push(Problem::warning("unused-fmu", message).at(&fmu.span));
            }
        }
        components
    }
}

/// An FMU beside the multi-model, or in the folder of FMUs of the project around it.
fn in_project(file: Reference, name: &str, reader: &Reader<'_>) -> PathBuf {
    let folder = reader.package.beside(Path::new(""));
    if file.path.exists() || name.contains(':') {
        return file.path;
    }
    let mut folders = (0..=ABOVE).map(|above| {
        let up = std::iter::repeat_n("..", above).collect::<PathBuf>();
        folder.join(up).join(FOLDER).join(name)
    });
    folders.find(|path| path.is_file()).unwrap_or(file.path)
}

/// Whether an FMU says on what its outputs depend at the start. Maestro reads outputs that depend on nothing before it
/// gives the inputs, and not again.
pub(super) fn declares_initial(component: &Component, models: &mut Models) -> bool {
    let model = models.of(&component.fmu.value);
    model.is_none_or(|model| !model.structure.initial_unknowns.is_empty())
}
