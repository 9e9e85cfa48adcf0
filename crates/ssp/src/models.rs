//! Model descriptions of the FMUs of a system, each read once, when one is asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_fmu::{Causality, Fmu, Limits, ModelDescription, ScalarVariable, TypeAttributes};
use gyrator_system::{Component, Port};

use crate::structure::{ConnectorKind, Unit};

/// Descriptions by the path of the FMU, or why an FMU cannot be read, which is also reported when the
/// system is started.
pub(crate) struct Models {
    limits: Limits,
    known: BTreeMap<PathBuf, Result<Arc<ModelDescription>, String>>,
}

impl Models {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            known: BTreeMap::new(),
        }
    }

    pub(crate) fn of(&mut self, fmu: &Path) -> Option<Arc<ModelDescription>> {
        self.read(fmu).as_ref().ok().cloned()
    }

    /// Why an FMU cannot be read.
    pub(crate) fn refusal(&mut self, fmu: &Path) -> Option<&str> {
        self.read(fmu).as_ref().err().map(String::as_str)
    }

    /// An answer about a variable of an FMU, which is `None` if the FMU does not have it. Nothing is known of blocks, nor of
    /// FMUs that cannot be read.
    pub(crate) fn ask<T>(
        &mut self,
        port: &Port,
        components: &[Component],
        question: impl FnOnce(&ModelDescription, Option<&ScalarVariable>) -> T,
    ) -> Option<T> {
        let mut all = components.iter();
        let component = all.find(|component| component.name.value == port.component)?;
        let is_fmu = component.block.is_none();
        let model = is_fmu.then(|| self.of(&component.fmu.value))??;
        let variable = model.variables.iter().find(|v| v.name == port.variable);
        Some(question(&model, variable))
    }

    /// Whether two ends have one unit, as far as that is known: then nothing is converted.
    pub(crate) fn have_one_unit(&mut self, ends: [&Port; 2], components: &[Component]) -> bool {
        let [from, to] = ends.map(|port| {
            let unit = |model: &ModelDescription, variable: Option<&ScalarVariable>| {
                variable.and_then(|variable| unit_of(model, variable))
            };
            self.ask(port, components, unit).flatten()
        });
        from.zip(to).is_none_or(|(from, to)| from.name == to.name)
    }

    fn read(&mut self, fmu: &Path) -> &Result<Arc<ModelDescription>, String> {
        let limits = self.limits;
        self.known.entry(fmu.to_owned()).or_insert_with(|| {
            // A pipe might never end.
            if !fmu.is_file() {
                return Err(format!("{} is no file", fmu.display()));
            }
            let peek = Fmu::peek_with(fmu, limits);
            let description = peek.map(|peek| peek.description);
            description.map_err(|error| error.to_string())
        })
    }
}

/// The origin of the values of a variable.
pub(crate) fn kind_of(variable: &ScalarVariable) -> ConnectorKind {
    match variable.causality {
        Causality::Input | Causality::Parameter => ConnectorKind::Inward,
        _ => ConnectorKind::Outward,
    }
}

/// The unit of a variable, as its FMU defines it.
pub(crate) fn unit_of(model: &ModelDescription, variable: &ScalarVariable) -> Option<Unit> {
    let real = variable.real()?;
    let name = real.unit.clone()?;
    let base = model.unit(&name).and_then(|unit| unit.base);
    Some(Unit { name, base })
}

/// Whether values of a variable are differences, to which the offset of a unit does not apply.
pub(crate) fn is_relative(variable: &ScalarVariable) -> bool {
    variable.real().is_some_and(|real| real.relative_quantity)
}

/// Items of the enumeration of a variable and their numbers; none if it is not an enumeration.
pub(crate) fn items(model: &ModelDescription, variable: &ScalarVariable) -> Vec<(String, i64)> {
    if !matches!(variable.kind, TypeAttributes::Enumeration { .. }) {
        return Vec::new();
    }
    let items = model.enumeration_items(variable).iter();
    items
        .map(|item| (item.name.clone(), i64::from(item.value)))
        .collect()
}
