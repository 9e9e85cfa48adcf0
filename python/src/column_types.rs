//! Types of columns by the descriptions of a system.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gyrator::StartError;
use gyrator::system::resolved_graph;
use gyrator::unit::VariableType;
use pyo3::prelude::*;

/// Types of the variables of a system, or of one FMU, that are not of reals, as a summary names them; none where the descriptions
/// cannot be read. No library is loaded.
#[pyfunction]
pub(crate) fn column_types(
    py: Python<'_>,
    path: PathBuf,
    is_system: bool,
) -> BTreeMap<String, &'static str> {
    py.detach(|| read(path, is_system)).unwrap_or_default()
}

fn read(path: PathBuf, is_system: bool) -> Result<BTreeMap<String, &'static str>, StartError> {
    let system = match is_system {
        true => gyrator::System::from_path(path)?,
        false => {
            let mut system = gyrator::System::new(1.0);
            system.add_fmu("fmu", path)?;
            system
        }
    };
    let graph = resolved_graph(&system)?;
    let typed = graph.variables().filter_map(|variable| {
        let name = &variable.described.name;
        let shown = match is_system {
            true => format!("{}.{name}", variable.component),
            false => name.clone(),
        };
        Some((shown, word(variable.described.kind)?))
    });
    Ok(typed.collect())
}

fn word(kind: VariableType) -> Option<&'static str> {
    match kind {
        VariableType::Real => None,
        VariableType::Integer => Some("integer"),
        VariableType::Enumeration => Some("enumeration"),
        VariableType::Boolean => Some("boolean"),
        VariableType::String => Some("string"),
    }
}
