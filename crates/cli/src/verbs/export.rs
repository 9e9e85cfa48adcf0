//! `gyrator export`: a system with its FMUs, for other tools, or as a system file that you can change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};
use std::sync::Arc;

use clap::Args;
use gyrator::block::block_files;
use gyrator::system::{FmuCache, expand_patterns};
use gyrator_fmu::OpenError;
use gyrator_ssp::WriteError;
use gyrator_system::{Source, Spanned, SystemFile, Value, toml_file};

use crate::exit::Exit;
use crate::failure::{Failure, is_named};
use crate::fmu_options::FmuOptions;
use crate::options::{assignment, set_start_values};
use crate::system_input::{self, SystemOptions};
use crate::{overwriting, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    /// Write an SSP 1.0 package with the FMUs in it; or, as FILE.toml, a system file that names them
    #[arg(long, short = 'o', value_name = "FILE.ssp")]
    output_file: PathBuf,
    #[command(flatten)]
    input: SystemOptions,
    /// Start value of a variable, in place of the system file's [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    fmus: FmuOptions,
}

/// Writes the package or the system file.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    let target = &options.output_file;
    let is_toml = is_named(target, "toml");
    if !is_toml && !is_named(target, "ssp") {
        let text = format!(
            "--output-file {}: the name must end in .ssp or .toml",
            target.display()
        );
        return Err(Failure::usage(text));
    }
    let outputs = [("--output-file", &**target)];
    let mut inputs = vec![("the system file", &*options.system)];
    inputs.extend(options.input.input());
    overwriting::refuse(&outputs, &inputs)?;
    let limits = options.fmus.limits();
    let (mut system, warnings) = system_input::read(&options.system, &options.input, limits)?;
    overwriting::refuse_files_of(&system, &outputs)?;
    if !is_toml {
        overwriting::refuse_foreign(target, PACKAGE_HEAD)?;
    } else if target.is_file() && !overwriting::begins_with(target, TOML_HEAD) {
        let text = format!("{} exists, and no export has written it", target.display());
        return Err(Failure::usage(text).help("choose another name, or delete it"));
    }
    set_start_values(&mut system, options.start_value)?;
    for problem in &warnings {
        screen::message(&format!("warning: {}\n", problem.message));
    }
    if is_toml {
        write_toml(system, target)?;
    } else {
        package(system, target, &options.fmus)?;
    }
    screen::print(&format!("{}\n", target.display()))?;
    Ok(Exit::Success)
}

/// Writes a system file beside the FMUs, or anywhere: paths out of its folder are absolute.
fn write_toml(mut system: SystemFile, target: &Path) -> Result<(), Failure> {
    if system.unpacked.folder().is_some() {
        let text = "the FMUs are in an archive, and a system file names files";
        return Err(Failure::usage(text).help("unpack the archive, and export its folder"));
    }
    let whole = |path: &Path| absolute(path).map_err(|error| Failure::not_created(target, &error));
    let place = whole(target)?;
    let folder = place.parent().unwrap_or(Path::new(""));
    let relative = |path: PathBuf| {
        let path = whole(&path)?;
        Ok::<_, Failure>(
            path.strip_prefix(folder)
                .map_or(path.clone(), Path::to_owned),
        )
    };
    let components = system.components.iter();
    let files: Vec<_> = components
        .map(|component| block_files(component, &system))
        .collect();
    let scenario = system.scenario_path();
    for (component, files) in system.components.iter_mut().zip(files) {
        if !component.fmu.value.as_os_str().is_empty() {
            component.fmu.value = whole(&component.fmu.value)?;
        }
        for directory in &mut component.library_path {
            directory.value = whole(&directory.value)?;
        }
        for (parameter, path) in files {
            if let Some(block) = &mut component.block {
                let path = relative(path)?.to_string_lossy().into_owned();
                block.parameters[parameter].1.value = Value::String(path);
            }
        }
    }
    if let Some(path) = scenario {
        system.experiment.scenario = Some(Spanned::unplaced(relative(path)?));
    }
    for access in system
        .hosts
        .iter_mut()
        .filter_map(|host| host.access.as_mut())
    {
        access.value = whole(&access.value)?;
    }
    system.source = Arc::new(Source::new(&place, ""));
    let text = format!("{TOML_HEAD}{}", toml_file::to_toml(&system));
    screen::file(target, &text).map_err(|error| Failure::not_created(target, &error))
}

/// The first line of an exported system file.
const TOML_HEAD: &str = "# Written by gyrator export.\n";
/// The entry of a package that names its maker.
const PACKAGE_HEAD: &str = "SystemStructure.ssd";

/// Writes the package of a system.
pub(super) fn package(system: SystemFile, target: &Path, fmus: &FmuOptions) -> Result<(), Failure> {
    let cache = FmuCache::new(fmus.open_options());
    let system = expand_patterns(system, &cache)?;
    let (system, files) = with_files(with_addresses(system));
    Ok(gyrator_ssp::write_with(
        &system,
        &files,
        target,
        fmus.limits(),
    )?)
}

/// The system with the addresses of hosts instead of their names: an archive has no table of hosts, which names folders of
/// this machine.
fn with_addresses(mut system: SystemFile) -> SystemFile {
    let hosts = system.components.iter();
    let hosts: Vec<_> = hosts.map(|component| system.host_of(component)).collect();
    for (component, host) in system.components.iter_mut().zip(hosts) {
        component.host = host.map(|host| host.url);
    }
    system
}

/// The system with the names that its scenario and the tables of its blocks have in the archive, by their paths.
fn with_files(mut system: SystemFile) -> (SystemFile, BTreeMap<PathBuf, String>) {
    let components = system.components.iter().enumerate();
    let files: Vec<_> = components
        .map(|(number, component)| (number, block_files(component, &system)))
        .collect();
    let mut tables = BTreeMap::new();
    for (component, files) in files {
        for (place, path) in files {
            let next = tables.len() + 1;
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            let name = format!("resources/tables/{next}.{ending}");
            let name = tables.entry(path.clone()).or_insert(name).clone();
            if let Some(block) = &mut system.components[component].block {
                block.parameters[place].1.value = Value::String(name);
            }
        }
    }
    if let Some(path) = system.scenario_path() {
        const NAME: &str = "resources/scenario.toml";
        system.experiment.scenario = Some(Spanned::unplaced(NAME.into()));
        tables.insert(path, NAME.to_owned());
    }
    (system, tables)
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let exit = match error {
            WriteError::Problems(problems) => return problems.into(),
            WriteError::Fmu { ref source, .. } => match source {
                OpenError::Io { .. } => Exit::NotLoaded,
                _ => Exit::InvalidInput,
            },
            WriteError::Io { .. } => Exit::Failed,
        };
        Self::of(exit, &error)
    }
}
