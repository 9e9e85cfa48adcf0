//! From a system file to a system: its FMUs are opened; no library is loaded yet.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gyrator_fmu::{Fmu, OpenError, OpenOptions};
use gyrator_system::{Component, Problem, SystemFile};

use crate::fmu_unit::describe;
use crate::system::{LoadError, Part, StartError, System};

impl System {
    /// Opens the FMUs of `file`, in each its description. No code of theirs runs before
    /// [`start`](System::start).
    ///
    /// # Errors
    /// All FMUs that cannot be opened.
    pub fn from_file(file: SystemFile) -> Result<Self, StartError> {
        let mut opened: BTreeMap<(PathBuf, Vec<String>), Fmu> = BTreeMap::new();
        let (mut parts, mut warnings, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for component in &file.components {
            let preload: Vec<String> = component
                .preload
                .iter()
                .map(|name| name.value.clone())
                .collect();
            let key = (component.fmu.value.clone(), preload);
            let fmu = match opened.get(&key) {
                Some(fmu) => fmu.clone(),
                None => match open(component, &key.1, &mut warnings) {
                    Ok(fmu) => {
                        opened.insert(key, fmu.clone());
                        fmu
                    }
                    Err(error) => {
                        errors.push(error);
                        continue;
                    }
                },
            };
            let description = describe(fmu.description());
            parts.push(Part::Fmu(fmu, description));
        }
        if errors.is_empty() {
            Ok(Self::with_parts(file, parts, warnings))
        } else {
            Err(StartError::Load(errors))
        }
    }
}

fn open(
    component: &Component,
    preload: &[String],
    warnings: &mut Vec<Problem>,
) -> Result<Fmu, LoadError> {
    let options = OpenOptions {
        preload: preload.to_vec(),
        ..OpenOptions::default()
    };
    let fmu = Fmu::open_with(&component.fmu.value, &options).map_err(|error| LoadError {
        component: component.name.value.clone(),
        message: error.to_string(),
        is_invalid: !matches!(error, OpenError::Io { .. }),
    })?;
    for warning in fmu.warnings() {
        let message = format!("{}: {warning}", component.fmu.value.display());
        warnings.push(Problem::warning("fmu", message).at(&component.fmu.span));
    }
    Ok(fmu)
}
