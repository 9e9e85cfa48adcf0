//! Components on other machines.

#[cfg(feature = "remote")]
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use gyrator::profile::Profile;
use gyrator::unit::UnitMaker;
use gyrator_system::SystemFile;
use gyrator_worker::isolated::Isolation;

// How hosts are reached.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct HostOptions {
    /// Certificates and token for components on other machines whose host names none: the folder `client` that
    /// `gyrator serve --init` made
    #[cfg(feature = "remote")]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) host_access: Option<PathBuf>,
}

impl HostOptions {
    /// Gives the options to a program of its own.
    pub(crate) fn hand_on(&self, command: &mut Command) {
        #[cfg(feature = "remote")]
        if let Some(folder) = &self.host_access {
            command.arg("--host-access").arg(folder);
        }
        #[cfg(not(feature = "remote"))]
        let _ = command;
    }
}

/// Makes the units of components that have a host there, and the others by `inner`. A call may take `timeout`.
#[cfg(feature = "remote")]
pub(crate) fn units<M: UnitMaker>(
    system: &SystemFile,
    options: &HostOptions,
    timeout: Option<Duration>,
    profile: Option<&Profile>,
    inner: M,
) -> impl UnitMaker + use<M> {
    gyrator_remote::RemoteUnits::new(system, inner)
        .access(options.host_access.clone())
        .timeout(timeout)
        .profile(profile.cloned())
}

/// This program has no hosts: a component that has one is refused.
#[cfg(not(feature = "remote"))]
pub(crate) fn units<M: UnitMaker>(
    _: &SystemFile,
    _: &HostOptions,
    _: Option<Duration>,
    _: Option<&Profile>,
    inner: M,
) -> impl UnitMaker + use<M> {
    inner
}

/// Processes of their own for components; a call may take `timeout`.
pub(crate) fn isolation(timeout: Option<Duration>) -> Isolation {
    Isolation::new()
        .timeout(timeout)
        .arguments(["isolated".into()])
}

/// The hosts of components, by their names.
pub(crate) fn named(system: &SystemFile) -> std::collections::BTreeMap<String, String> {
    let components = system.components.iter().filter_map(|component| {
        let host = system.host_of(component)?;
        Some((component.name.value.clone(), host.url.value))
    });
    components.collect()
}
