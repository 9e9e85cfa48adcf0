//! V-05: the libraries in `binaries`, of all platforms, without loading them.

use std::collections::BTreeSet;

use gyrator_fmu::xml::Document;
use gyrator_fmu::{ModelDescription, REQUIRED_FUNCTIONS, required_functions};
use object::{Architecture, BinaryFormat, FileKind, Object as _};

use crate::finding::{Findings, Severity};
use crate::literal;
use crate::rule::{Check, Rule};
use crate::subject::{ArchiveEntry, Contents, Subject};

pub(super) static RULES: &[Rule] = &[Rule {
    number: 5,
    title: "every platform has the library that its folder promises, with the functions of FMI",
    severity: Severity::Error,
    source: "2.3, 2.1.3",
    check: Check::Archive(libraries_are_right),
}];

/// Largest library that is looked into, bytes.
const LARGEST: u64 = 1 << 30;

fn libraries_are_right(subject: &Subject, findings: &mut Findings<'_>) {
    let Some(contents) = subject.contents() else {
        return;
    };
    let interfaces = interfaces(subject);
    for folder in contents.platforms() {
        let Some(platform) = Platform::of(folder) else {
            let message = format!("binaries/{folder} is not a platform of FMI");
            findings.graded(Severity::Note, message);
            continue;
        };
        let mut looked_at: Vec<&str> = Vec::new();
        for interface in &interfaces {
            let Some(name) = library(contents, folder, &platform, interface, findings) else {
                continue;
            };
            if !looked_at.contains(&name) {
                looked_at.push(name);
                look_into(contents, name, &platform, &interfaces, findings);
            }
        }
    }
}

/// Requirements of `ModelExchange` or `CoSimulation` on its library.
struct Interface {
    is_co_simulation: bool,
    identifier: String,
    /// Functions that its abilities need.
    claimed: Vec<&'static str>,
    /// Functions that no run can do without.
    required: Vec<&'static str>,
}

fn interfaces(subject: &Subject) -> Vec<Interface> {
    let text = subject.text.as_deref().unwrap_or_default();
    let Ok(document) = Document::parse(text) else {
        return Vec::new();
    };
    let required = match ModelDescription::parse(text.as_bytes()) {
        Ok((description, _)) => required_functions(&description),
        Err(_) => REQUIRED_FUNCTIONS.to_vec(),
    };
    let model = crate::model::Model::new(&document);
    let interface = |node| {
        let identifier = document.value(node, "modelIdentifier")?;
        Some(Interface {
            is_co_simulation: document.name(node) == "CoSimulation",
            identifier: identifier.to_owned(),
            claimed: ABILITIES
                .iter()
                .filter(|(ability, _)| {
                    document.value(node, ability).and_then(literal::boolean) == Some(true)
                })
                .flat_map(|(_, functions)| functions.iter().copied())
                .collect(),
            required: required.clone(),
        })
    };
    model.interfaces().filter_map(interface).collect()
}

/// Properties of the libraries in a folder under `binaries`.
struct Platform {
    format: BinaryFormat,
    /// `None` for machines whose libraries are not distinguished here.
    architecture: Option<Architecture>,
    ending: &'static str,
}

impl Platform {
    /// The names of FMI 2.0, and the tuples of FMI 3.0, which 2.0.4 allows.
    fn of(folder: &str) -> Option<Self> {
        let (machine, system) = match folder {
            "win32" => ("x86", "windows"),
            "win64" => ("x86_64", "windows"),
            "linux32" => ("x86", "linux"),
            "linux64" => ("x86_64", "linux"),
            "darwin32" => ("x86", "darwin"),
            "darwin64" => ("x86_64", "darwin"),
            _ => folder.split_once('-')?,
        };
        let (format, ending) = match system {
            "windows" => (BinaryFormat::Pe, "dll"),
            "linux" => (BinaryFormat::Elf, "so"),
            "darwin" => (BinaryFormat::MachO, "dylib"),
            _ => return None,
        };
        let architecture = match machine {
            "x86" => Some(Architecture::I386),
            "x86_64" => Some(Architecture::X86_64),
            "aarch32" => Some(Architecture::Arm),
            "aarch64" => Some(Architecture::Aarch64),
            "riscv32" => Some(Architecture::Riscv32),
            "riscv64" => Some(Architecture::Riscv64),
            "ppc32" => Some(Architecture::PowerPc),
            "ppc64" => Some(Architecture::PowerPc64),
            _ => None,
        };
        Some(Self {
            format,
            architecture,
            ending,
        })
    }
}

/// The library of an interface in a folder: named after it, or the only one that there is.
fn library<'c>(
    contents: &'c Contents,
    folder: &str,
    platform: &Platform,
    interface: &Interface,
    findings: &mut Findings<'_>,
) -> Option<&'c str> {
    let expected = format!(
        "binaries/{folder}/{}.{}",
        interface.identifier, platform.ending
    );
    if let Some(entry) = contents.file(&expected) {
        return Some(&entry.name);
    }
    let prefix = format!("binaries/{folder}/");
    let ending = format!(".{}", platform.ending);
    let is_library = |entry: &&ArchiveEntry| {
        let rest = entry.name.strip_prefix(&prefix);
        rest.is_some_and(|rest| !rest.contains('/') && rest.ends_with(&ending))
    };
    let mut found = contents.entries.iter().filter(is_library);
    match (found.next(), found.next()) {
        (Some(only), None) => {
            findings.add(format!("{expected} is missing; there is {}", only.name));
            Some(&only.name)
        }
        _ => {
            findings.add(format!("{expected} is missing"));
            None
        }
    }
}

fn look_into(
    contents: &Contents,
    name: &str,
    platform: &Platform,
    interfaces: &[Interface],
    findings: &mut Findings<'_>,
) {
    let bytes = match contents.bytes(name, LARGEST) {
        Ok(bytes) => bytes,
        Err(reason) => return findings.add(format!("{name}: {reason}")),
    };
    if matches!(
        FileKind::parse(&*bytes),
        Ok(FileKind::MachOFat32 | FileKind::MachOFat64)
    ) {
        // Libraries for several machines in one; the system picks its own.
        return;
    }
    let file = match object::File::parse(&*bytes) {
        Ok(file) => file,
        Err(_) => return findings.add(format!("{name} is no library{}", guess(&bytes))),
    };
    if file.format() != platform.format {
        let message = format!(
            "{name} is of the format {:?}, not {:?}",
            file.format(),
            platform.format
        );
        return findings.add(message);
    }
    if let Some(expected) = platform.architecture
        && file.architecture() != expected
    {
        let found = file.architecture();
        findings.add(format!("{name} is for {found:?}, not for {expected:?}"));
        return;
    }
    functions_are_there(name, exported(&file, &bytes), interfaces, findings);
    libraries_are_there(contents, name, &bytes, findings);
}

fn guess(bytes: &[u8]) -> &'static str {
    if bytes.is_empty() {
        "; it is empty"
    } else if bytes.starts_with(b"version https://git-lfs") {
        "; it is a git-lfs pointer"
    } else {
        ""
    }
}

/// The functions of both interfaces that a run may do without.
const OTHERS: &[&str] = &[
    "fmi2GetTypesPlatform",
    "fmi2GetVersion",
    "fmi2SetDebugLogging",
    "fmi2Reset",
    "fmi2GetFMUstate",
    "fmi2SetFMUstate",
    "fmi2FreeFMUstate",
    "fmi2SerializedFMUstateSize",
    "fmi2SerializeFMUstate",
    "fmi2DeSerializeFMUstate",
    "fmi2GetDirectionalDerivative",
];
/// The function that no co-simulation can do without, and model exchange has not.
const STEP: &str = "fmi2DoStep";
const OF_CO_SIMULATION: &[&str] = &[
    "fmi2CancelStep",
    "fmi2SetRealInputDerivatives",
    "fmi2GetRealOutputDerivatives",
    "fmi2GetStatus",
    "fmi2GetRealStatus",
    "fmi2GetIntegerStatus",
    "fmi2GetBooleanStatus",
    "fmi2GetStringStatus",
];
const OF_MODEL_EXCHANGE: &[&str] = &[
    "fmi2EnterEventMode",
    "fmi2NewDiscreteStates",
    "fmi2EnterContinuousTimeMode",
    "fmi2CompletedIntegratorStep",
    "fmi2SetTime",
    "fmi2SetContinuousStates",
    "fmi2GetDerivatives",
    "fmi2GetEventIndicators",
    "fmi2GetContinuousStates",
    "fmi2GetNominalsOfContinuousStates",
];

/// Abilities, and the functions that they need.
const ABILITIES: &[(&str, &[&str])] = &[
    (
        "canGetAndSetFMUstate",
        &["fmi2GetFMUstate", "fmi2SetFMUstate", "fmi2FreeFMUstate"],
    ),
    (
        "canSerializeFMUstate",
        &[
            "fmi2SerializedFMUstateSize",
            "fmi2SerializeFMUstate",
            "fmi2DeSerializeFMUstate",
        ],
    ),
    (
        "providesDirectionalDerivative",
        &["fmi2GetDirectionalDerivative"],
    ),
    ("canInterpolateInputs", &["fmi2SetRealInputDerivatives"]),
];

fn functions_are_there(
    name: &str,
    exported: Option<BTreeSet<String>>,
    interfaces: &[Interface],
    findings: &mut Findings<'_>,
) {
    let Some(exported) = exported else {
        return findings.add(format!("{name}: its table of functions cannot be read"));
    };
    let missing = |functions: &[&'static str]| -> Vec<&'static str> {
        let is_missing = |function: &&&str| !exported.contains(**function);
        functions.iter().filter(is_missing).copied().collect()
    };
    let is_for = |co_simulation| {
        let mut interfaces = interfaces.iter();
        interfaces.any(|interface| interface.is_co_simulation == co_simulation)
    };
    let mut required = REQUIRED_FUNCTIONS.to_vec();
    required.retain(|function| {
        let mut interfaces = interfaces.iter();
        let is_required = interfaces.any(|interface| interface.required.contains(function));
        is_required && (*function != STEP || is_for(true))
    });
    let needed = missing(&required);
    if !needed.is_empty() {
        let message = format!("{name} does not export {}", needed.join(", "));
        findings.graded(Severity::Fatal, message);
    }
    let mut others = missing(OTHERS);
    // Functions for types without variables in the model.
    let unused = REQUIRED_FUNCTIONS.iter().copied();
    let unused: Vec<&'static str> = unused
        .filter(|function| *function != STEP && !required.contains(function))
        .collect();
    others.extend(missing(&unused));
    if is_for(true) {
        others.extend(missing(OF_CO_SIMULATION));
    }
    if is_for(false) {
        others.extend(missing(OF_MODEL_EXCHANGE));
    }
    if needed.len() == required.len() {
        return;
    }
    let is_claimed = |function: &&str| {
        interfaces
            .iter()
            .any(|interface| interface.claimed.contains(function))
    };
    let (claimed, others): (Vec<&str>, Vec<&str>) = others.into_iter().partition(is_claimed);
    // Importers look for the others when they need them.
    for (severity, missing) in [(Severity::Error, claimed), (Severity::Warning, others)] {
        if !missing.is_empty() {
            let message = format!("{name} does not export {}", missing.join(", "));
            findings.graded(severity, message);
        }
    }
}

/// Names of the functions that a library exports.
fn exported(file: &object::File<'_>, bytes: &[u8]) -> Option<BTreeSet<String>> {
    if file.format() == BinaryFormat::Elf {
        // The dynamic loader needs no section headers.
        return Some(gyrator_fmu::exported_symbols(bytes));
    }
    let mut names = BTreeSet::new();
    for export in file.exports().ok()? {
        let export = export.ok()?;
        if let Some(name) = export.name().name() {
            // Names of macOS begin with an underscore.
            let name = name.strip_prefix(b"_").unwrap_or(name);
            names.insert(String::from_utf8_lossy(name).into_owned());
        }
    }
    Some(names)
}

/// Libraries that every Linux system has that runs programs of others.
const EVERYWHERE: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux.so.2",
    "ld-linux-aarch64.so.1",
];

/// Reports the libraries that a user has to bring.
fn libraries_are_there(contents: &Contents, name: &str, bytes: &[u8], findings: &mut Findings<'_>) {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_missing = |library: &String| {
        !EVERYWHERE.contains(&library.as_str())
            && contents.file(&format!("{folder}/{library}")).is_none()
    };
    let missing: Vec<String> = gyrator_fmu::needed_libraries(bytes)
        .into_iter()
        .filter(is_missing)
        .collect();
    if missing.is_empty() {
        return;
    }
    let is_told = ["txt", "html"].iter().any(|ending| {
        let document = format!("documentation/externalDependencies.{ending}");
        contents.file(&document).is_some()
    });
    let severity = if is_told {
        Severity::Note
    } else {
        Severity::Warning
    };
    let message = format!(
        "{name} needs {}, which the archive does not hold",
        missing.join(", ")
    );
    findings.graded(severity, message);
}
