//! Components on other machines.

use gyrator::profile::Profile;
use gyrator::unit::UnitMaker;
use gyrator_system::SystemFile;

use crate::options::ExecutionOptions;

/// Makes the units of components that have a host there, and the others by `inner`.
#[cfg(feature = "remote")]
pub(crate) fn units<M: UnitMaker>(
    system: &SystemFile,
    execution: &ExecutionOptions,
    profile: Option<&Profile>,
    inner: M,
) -> impl UnitMaker + use<M> {
    gyrator_remote::RemoteUnits::new(system, inner)
        .access(execution.host_access.clone())
        .timeout(execution.timeout())
        .profile(profile.cloned())
}

/// This program has no hosts: a component that has one is refused.
#[cfg(not(feature = "remote"))]
pub(crate) fn units<M: UnitMaker>(
    _: &SystemFile,
    _: &ExecutionOptions,
    _: Option<&Profile>,
    inner: M,
) -> impl UnitMaker + use<M> {
    inner
}

/// The hosts of components, by their names.
pub(crate) fn named(system: &SystemFile) -> std::collections::BTreeMap<String, String> {
    let components = system.components.iter().filter_map(|component| {
        let host = system.host_of(component)?;
        Some((component.name.value.clone(), host.url.value))
    });
    components.collect()
}
