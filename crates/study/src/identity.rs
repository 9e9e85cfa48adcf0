//! Identity of a study.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gyrator_system::SystemFile;
use sha2::{Digest as _, Sha256};

use crate::cases::Cases;
use crate::cell::{Column, csv_line};
use crate::study_file::{Reference, StudyFile};

/// SHA-256 of all that a study's table depends on: the system file, the cases, the metrics, the
/// reference, the contents of the FMUs and of scenarios, the version of the program. Paths do not count.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Identity(String);

impl Identity {
    pub(crate) fn of(
        study: &StudyFile,
        system: &SystemFile,
        cases: &Cases,
        columns: &[Column],
    ) -> Result<Self, (PathBuf, std::io::Error)> {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(env!("CARGO_PKG_VERSION"));
        add(&system.source.text);
        for column in columns {
            add(&format!("{column:?}"));
        }
        add(&format!("{:?}", study.metrics));
        // An FMU that only a case names may be missing: its runs then fail.
        let (mut fmus, mut of_cases) = (BTreeSet::new(), BTreeSet::new());
        for component in &system.components {
            if component.block.is_none() {
                fmus.insert(component.fmu.value.clone());
            }
            let tables = gyrator::block::block_files(component, system).into_iter();
            fmus.extend(tables.map(|(_, path)| path));
        }
        fmus.extend(system.scenario_path());
        let folder = system.source.path.parent().unwrap_or(Path::new(""));
        for row in 0..cases.len() {
            // The table holds more about a row than the settings of its run.
            add(&csv_line(&cases.cells(row)));
            for setting in cases.settings_of(row) {
                add(&setting.key);
                // Of the option of a command, only the content counts.
                if !study.settings.contains(&setting) {
                    add(&setting.value);
                }
                if setting.key.ends_with(".fmu") || setting.key == "experiment.scenario" {
                    let file = setting.value.trim_matches(['"', '\'']);
                    of_cases.insert(folder.join(file));
                }
            }
        }
        match &study.reference {
            Some(Reference::Variant(index)) => add(&index.to_string()),
            Some(Reference::File(path)) => add(&content(path)?),
            None => {}
        }
        if let Some(path) = &study.resume {
            add(&content(path)?);
        }
        for path in fmus {
            add(&content(&path)?);
        }
        for path in of_cases {
            add(&content(&path).unwrap_or_default());
        }
        Ok(Self(hexadecimal(&hash.finalize())))
    }
}

/// SHA-256 of a file.
fn content(path: &Path) -> Result<String, (PathBuf, std::io::Error)> {
    let fail = |error| (path.to_owned(), error);
    let mut file = std::fs::File::open(path).map_err(fail)?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut Hasher(&mut hash)).map_err(fail)?;
    Ok(hexadecimal(&hash.finalize()))
}

struct Hasher<'a>(&'a mut Sha256);

impl std::io::Write for Hasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Four bytes of the SHA-256 of a text, as eight digits.
pub(crate) fn checksum(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes())[..4])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
