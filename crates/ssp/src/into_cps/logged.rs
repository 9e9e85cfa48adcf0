//! Signals that a multi-model logs or shows live. All outputs are recorded; the others need an option.

use gyrator_fmu::Causality;
use gyrator_system::{Component, Problem};

use super::Documents;
use super::instances::{Instances, Signal};
use super::json::Member;
use crate::models::Models;
use crate::tree::Reader;

pub(super) struct Logged(Vec<Signal>);

impl Logged {
    pub(super) fn new(
        files: &Documents<'_>,
        instances: &mut Instances,
        reader: &mut Reader<'_>,
    ) -> Self {
        let mut lists = files.members("livestream", reader);
        lists.extend(files.members("logVariables", reader));
        for graphs in files.of("graphs") {
            for graph in graphs.items().unwrap_or_default() {
                let parts = graph.members().unwrap_or_default().into_iter();
                let live = parts.filter(|(key, _)| key.value == "livestream");
                lists.extend(live.filter_map(|(_, json)| json.members()).flatten());
            }
        }
        let mut logged = Self(Vec::new());
        for list in lists {
            logged.add(list, instances, reader);
        }
        logged
    }

    /// `"{fmu}.instance": ["variable", …]`.
    fn add(
        &mut self,
        (name, json): Member<'_>,
        instances: &mut Instances,
        reader: &mut Reader<'_>,
    ) {
        let Some(items) = json.items() else {
            json.wrong(&name.value, "a list of variables", reader);
            return;
        };
        let Some(instance) = instances.instance(&name.value, &name.span, reader) else {
            return;
        };
        for item in items {
            match item.text() {
                Some(variable) => self.0.push(Signal {
                    instance,
                    variable: variable.value,
                    place: variable.span,
                }),
                None => item.wrong(&name.value, "a list of variables in quotes", reader),
            }
        }
    }

    /// Reports those that are not recorded, and the options that record them.
    pub(super) fn report(
        &self,
        components: &[Component],
        models: &mut Models,
        reader: &mut Reader<'_>,
    ) {
        let mut missing = None;
        let mut names: Vec<String> = Vec::new();
        for signal in &self.0 {
            let port = signal.port(components);
            let found = models.ask(&port.value, components, |_, variable| {
                variable.map(|variable| variable.causality)
            });
            match found {
                Some(None) => {
                    let message = format!("`{}` is to be recorded and does not exist", port.value);
                    reader
                        .problems
                        .push(Problem::warning("unknown-variable", message).at(&port.span));
                    continue;
                }
                None | Some(Some(Causality::Output)) => {}
                Some(Some(_)) => {
                    missing.get_or_insert_with(|| port.clone());
                }
            }
            let name = format!("--output-variable {}", port.value);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if let Some(port) = missing {
            let message = format!("`{}` is to be recorded and no output", port.value);
            let problem = Problem::warning("not-recorded", message).at(&port.span);
            let help = format!(
                "to record what the multi-model names, give {}",
                names.join(" ")
            );
            reader.problems.push(problem.help(help));
        }
    }
}
