//! The roles of FMUs in a benchmark, and the FMU in each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator::learning::LearningObserver;
use gyrator::unit::{InProcess, UnitMaker};
use gyrator::{Run, RunOptions, StartError, System};
use gyrator_fmu::Fmu;

/// A part in a benchmark, played by one of our FMUs unless another one is put in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    /// Name, for `--with`.
    pub name: &'static str,
    /// Our FMU.
    pub model: &'static str,
    /// Requirement on the FMU.
    pub summary: &'static str,
    /// Names of its inputs and outputs. All of them are required.
    pub ports: &'static [&'static str],
    /// Names of its parameters. An FMU that lacks one has to hold the value itself.
    pub parameters: &'static [&'static str],
}

/// A port or a parameter of a role, as our FMU declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleVariable {
    /// Our name.
    pub name: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: String,
}

impl Role {
    /// Names of its ports, then of its parameters.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.ports.iter().chain(self.parameters).copied()
    }

    /// Its ports, then its parameters.
    #[must_use]
    pub fn variables(&self) -> Vec<RoleVariable> {
        let mut models = fmu_models::MODELS.iter();
        let model = models.find(|model| model.name == self.model);
        let declared = model.map_or_else(Vec::new, |model| (model.describe)().variables);
        let variable = |name| {
            let row = declared.iter().find(|row| row.name == name)?;
            Some(RoleVariable {
                name,
                unit: row.unit.map_or("", |unit| unit.name),
                meaning: row.meaning(),
            })
        };
        self.names().filter_map(variable).collect()
    }
}

/// An FMU that a user puts into a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitute {
    /// The role.
    pub role: String,
    /// Path of the FMU.
    pub fmu: PathBuf,
    /// Its names for our ports and parameters, if they differ.
    pub names: BTreeMap<String, String>,
}

impl std::str::FromStr for Substitute {
    type Err = String;

    /// Reads `ROLE=vendor.fmu[,ours=theirs…]`.
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write ROLE=vendor.fmu or ROLE=vendor.fmu,ours=theirs";
        let mut parts = text.split(',');
        let pair = |part: Option<&str>| {
            let (left, right) = part?.split_once('=')?;
            let is_complete = !left.trim().is_empty() && !right.trim().is_empty();
            is_complete.then(|| (left.trim().to_owned(), right.trim().to_owned()))
        };
        let (role, fmu) = pair(parts.next()).ok_or(FORM)?;
        let names = parts.map(|part| pair(Some(part)).ok_or(FORM));
        Ok(Self {
            role,
            fmu: PathBuf::from(fmu),
            names: names.collect::<Result<_, _>>()?,
        })
    }
}

/// Where the FMUs of a benchmark are.
#[derive(Debug, Clone, Default)]
pub struct RoleAssignment {
    folder: PathBuf,
    substitutes: BTreeMap<String, OpenedSubstitute>,
    units: Units,
    /// Roles whose FMUs have a process of their own; all if it is empty.
    isolated: Option<Vec<String>>,
}

/// Makes the units of FMUs, for each run anew.
#[derive(Clone)]
struct Units(Arc<dyn Fn() -> Box<dyn UnitMaker> + Send + Sync>);

impl Default for Units {
    fn default() -> Self {
        Self(Arc::new(|| Box::new(InProcess)))
    }
}

impl std::fmt::Debug for Units {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Units")
    }
}

/// A substitute, and the variables that it has.
#[derive(Debug, Clone)]
struct OpenedSubstitute {
    substitute: Substitute,
    variables: BTreeSet<String>,
}

/// Why a role cannot be filled.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// Our FMU is not there.
    #[error("{} is missing; build our FMUs with `cargo xtask fmus`, or name their folder", .0.display())]
    Missing(PathBuf),
    /// The substitute cannot be opened.
    #[error("--with {role}: {message}")]
    Unreadable {
        /// The role.
        role: String,
        /// The fault.
        message: String,
    },
    /// The substitute lacks a port.
    #[error(
        "--with {role}: {} has no variable `{name}`, the {meaning}; if it has another name there, add `,{port}=NAME`",
        fmu.display()
    )]
    NoPort {
        /// The role.
        role: String,
        /// The FMU.
        fmu: PathBuf,
        /// Our name of the port.
        port: &'static str,
        /// The name that was looked for.
        name: String,
        /// Meaning of the port.
        meaning: String,
    },
    /// A name in `--with` that is neither a port nor a parameter of the role.
    #[error("--with {role}: the role has no port or parameter `{name}`; it has {known}")]
    UnknownName {
        /// The role.
        role: String,
        /// The name.
        name: String,
        /// The names that it has.
        known: String,
    },
}

impl RoleAssignment {
    /// Our FMUs from `folder` in all roles.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..Self::default()
        }
    }

    /// Makes the units of FMUs by what `units` gives for each run; in this process by default.
    #[must_use]
    pub fn units(mut self, units: impl Fn() -> Box<dyn UnitMaker> + Send + Sync + 'static) -> Self {
        self.units = Units(Arc::new(units));
        self
    }

    /// Asks for processes of their own for the FMUs in these roles, or in all if none is named; [`units`](Self::units) has to
    /// make them.
    #[must_use]
    pub fn isolate(mut self, roles: Option<Vec<String>>) -> Self {
        self.isolated = roles;
        self
    }

    /// Whether the FMU in `role` is to have a process of its own.
    pub(crate) fn is_isolated(&self, role: &Role) -> bool {
        let isolated = self.isolated.as_ref();
        isolated.is_some_and(|roles| roles.is_empty() || roles.iter().any(|name| name == role.name))
    }

    /// Makes the units of a run.
    pub(crate) fn maker(&self) -> Box<dyn UnitMaker> {
        (self.units.0)()
    }

    /// Starts a system of the FMUs in the roles.
    pub(crate) fn start(&self, system: &System, options: &RunOptions) -> Result<Run, StartError> {
        system.start_with(options, &mut *self.maker())
    }

    /// Puts a substitute into `role`; it replaces an earlier one.
    ///
    /// # Errors
    /// An FMU that cannot be opened or lacks a port; a name that the role does not have.
    pub fn substitute(&mut self, role: &Role, substitute: Substitute) -> Result<(), RoleError> {
        for name in substitute.names.keys() {
            if !role.names().any(|known| known == name) {
                let known: Vec<&str> = role.names().collect();
                return Err(RoleError::UnknownName {
                    role: role.name.to_owned(),
                    name: name.clone(),
                    known: known.join(", "),
                });
            }
        }
        let fmu = Fmu::open(&substitute.fmu).map_err(|error| RoleError::Unreadable {
            role: role.name.to_owned(),
            message: error.to_string(),
        })?;
        let variables = fmu.description().variables.iter();
        let player = OpenedSubstitute {
            variables: variables.map(|variable| variable.name.clone()).collect(),
            substitute,
        };
        for port in role.ports {
            let name = player.name(port);
            if !player.variables.contains(name) {
                let mut variables = role.variables().into_iter();
                let meaning = variables.find(|variable| variable.name == *port);
                return Err(RoleError::NoPort {
                    role: role.name.to_owned(),
                    fmu: player.substitute.fmu.clone(),
                    port,
                    name: name.to_owned(),
                    meaning: meaning.map_or_else(String::new, |variable| variable.meaning),
                });
            }
        }
        self.substitutes.insert(role.name.to_owned(), player);
        Ok(())
    }

    /// Whether one of these roles has a substitute.
    #[must_use]
    pub fn is_foreign(&self, roles: &[Role]) -> bool {
        roles
            .iter()
            .any(|role| self.substitutes.contains_key(role.name))
    }

    /// Path of the FMU in `role`.
    pub(crate) fn fmu(&self, role: &Role) -> Result<PathBuf, RoleError> {
        if let Some(player) = self.substitutes.get(role.name) {
            return Ok(player.substitute.fmu.clone());
        }
        let path = self.folder.join(role.model).with_extension("fmu");
        if path.is_file() {
            Ok(path)
        } else {
            Err(RoleError::Missing(path))
        }
    }

    /// The name that the FMU in `role` has for one of our ports or parameters; `None` if it is a
    /// parameter that the FMU lacks.
    pub(crate) fn name<'a>(&'a self, role: &Role, ours: &'a str) -> Option<&'a str> {
        match self.substitutes.get(role.name) {
            None => Some(ours),
            Some(player) => Some(player.name(ours)).filter(|name| player.variables.contains(*name)),
        }
    }

    /// Parameters of `roles` that a substitute lacks, in a sentence.
    pub(crate) fn lacking(&self, roles: &[Role]) -> Option<String> {
        let lacking = roles.iter().flat_map(|role| {
            let parameters = role.parameters.iter();
            parameters
                .filter(|name| self.name(role, name).is_none())
                .map(|name| format!("{}.{name}", role.name))
        });
        let lacking: Vec<String> = lacking.collect();
        (!lacking.is_empty()).then(|| {
            format!(
                "not set, as the FMU has no such parameter: {}",
                lacking.join(", ")
            )
        })
    }
}

/// Makes the units, and watches nothing.
impl LearningObserver for &RoleAssignment {
    fn maker(&mut self) -> Box<dyn UnitMaker> {
        RoleAssignment::maker(self)
    }
}

impl OpenedSubstitute {
    fn name<'a>(&'a self, ours: &'a str) -> &'a str {
        self.substitute.names.get(ours).map_or(ours, String::as_str)
    }
}

/// The folder with our FMUs beside an executable: `fmus` next to it, or one folder above, as in
/// `target/release/gyrator` and `target/fmus`, or `share/gyrator/fmus` there, as installed.
#[must_use]
pub fn folder_of_fmus(executable: &Path) -> Option<PathBuf> {
    let ancestors = executable.ancestors().skip(1).take(2);
    ancestors
        .flat_map(|folder| ["fmus", "share/gyrator/fmus"].map(|name| folder.join(name)))
        .find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BENCHMARKS;

    #[test]
    fn our_models_declare_all_that_their_roles_need() {
        for role in BENCHMARKS.iter().flat_map(|benchmark| benchmark.roles) {
            let names: Vec<&str> = role
                .variables()
                .iter()
                .map(|variable| variable.name)
                .collect();
            assert_eq!(names, role.names().collect::<Vec<_>>(), "{}", role.model);
        }
    }

    #[test]
    fn fmus_are_found_beside_a_build_and_an_installed_program() {
        let root = std::env::temp_dir().join(format!("gyrator-fmus-{}", std::process::id()));
        for fmus in ["build/fmus", "usr/share/gyrator/fmus"] {
            std::fs::create_dir_all(root.join(fmus)).unwrap();
        }
        let found = |program: &str| folder_of_fmus(&root.join(program));
        let built = found("build/release/gyrator-benchmark");
        let installed = found("usr/bin/gyrator-benchmark");
        let alone = found("alone/bin/gyrator-benchmark");
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(built, Some(root.join("build/fmus")));
        assert_eq!(installed, Some(root.join("usr/share/gyrator/fmus")));
        assert_eq!(alone, None);
    }

    #[test]
    fn substitutes_are_read() {
        let substitute: Substitute = "force=a/vendor.fmu, f=Force[1],x2 = pos".parse().unwrap();
        assert_eq!(substitute.role, "force");
        assert_eq!(substitute.fmu, PathBuf::from("a/vendor.fmu"));
        assert_eq!(substitute.names["f"], "Force[1]");
        assert_eq!(substitute.names["x2"], "pos");
        for bad in [
            "",
            "force",
            "=a.fmu",
            "force=",
            "force=a.fmu,f",
            "force=a.fmu,=f",
            "force=a.fmu,",
        ] {
            assert!(bad.parse::<Substitute>().is_err(), "{bad}");
        }
    }
}
