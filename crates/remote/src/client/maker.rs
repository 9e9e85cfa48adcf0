//! Which components run on which host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gyrator::Unit;
use gyrator::error::LoadError;
use gyrator::profile::Profile;
use gyrator::unit::{UnitMaker, UnitOrder};
use gyrator_system::{HostUrl, RemoteHost, SystemFile};
use gyrator_worker::isolated::IsolatedUnit;

use super::connection::{Opener, Terms};
use crate::access::{Access, Tokens};
use crate::hash_of;
use crate::message::Hash;

/// Interval of keep-alive if none is given.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Makes units on the hosts that a system names. The maker inside makes the units of this machine.
#[derive(Debug)]
pub struct RemoteUnits<M> {
    inner: M,
    /// The hosts of components.
    hosts: BTreeMap<String, RemoteHost>,
    access: Option<PathBuf>,
    timeout: Option<Duration>,
    profile: Option<Profile>,
    hashes: BTreeMap<PathBuf, (Hash, u64)>,
}

impl<M> RemoteUnits<M> {
    /// For the components of a system that have a host.
    pub fn new(system: &SystemFile, inner: M) -> Self {
        let named = |component: &gyrator_system::Component| {
            let mut host = system.host_of(component)?;
            if let Some(access) = &mut host.access {
                access.value = absolute(&access.value);
            }
            Some((component.name.value.clone(), host))
        };
        Self {
            inner,
            hosts: system.components.iter().filter_map(named).collect(),
            access: None,
            timeout: None,
            profile: None,
            hashes: BTreeMap::new(),
        }
    }

    /// Folder with certificates and token for hosts whose table names none.
    #[must_use]
    pub fn access(mut self, folder: Option<PathBuf>) -> Self {
        self.access = folder.as_deref().map(absolute);
        self
    }

    /// Longest time that one call of an FMU may take; `None`: for ever.
    #[must_use]
    pub const fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Measures the time in which calls wait for hosts, and that in which these compute.
    #[must_use]
    pub fn profile(mut self, profile: Option<Profile>) -> Self {
        self.profile = profile;
        self
    }

    fn opener(&mut self, order: &UnitOrder<'_>) -> Result<Opener, LoadError> {
        let refuse = |text: String| order.refuse(text);
        let host = self.hosts.get(order.name()).ok_or_else(|| {
            refuse("its host is not one of the system that was given to the maker".to_owned())
        })?;
        let url = HostUrl::parse(&host.url.value).map_err(refuse)?;
        let access = host.access.as_ref().map(|access| &access.value);
        let access = access.or(self.access.as_ref()).ok_or_else(|| {
            refuse(format!(
                "the host {} needs certificates and a token: name the folder that `gyrator serve --init` has made for \
                 runs, as `access` below `[hosts]` or by --host-access",
                host.url.value
            ))
        })?;
        let terms = terms(&url, access).map_err(|error| refuse(error.to_string()))?;
        let keep_alive = host.keep_alive.as_ref();
        let keep_alive = keep_alive.map(|interval| Duration::try_from_secs_f64(interval.value));
        let upload = host.upload.as_ref().is_some_and(|upload| upload.value);
        let path = order.fmu.path();
        let fmu = path.file_name().and_then(|name| name.to_str());
        let fmu = fmu.ok_or_else(|| refuse("the name of its FMU is not Unicode".to_owned()))?;
        let (hash, size) = match self.hashes.get(path) {
            Some(known) => *known,
            None => {
                let hashed = hash_of(path).map_err(|error| {
                    refuse(format!(
                        "{}: {error}; a host compares the file of an FMU",
                        path.display()
                    ))
                })?;
                self.hashes.insert(path.to_owned(), hashed);
                hashed
            }
        };
        Ok(Opener {
            url,
            terms,
            component: order.name().to_owned(),
            fmu: fmu.to_owned(),
            path: path.to_owned(),
            hash,
            size,
            upload,
            logging: order.options.log_fmu_calls,
            timeout: self.timeout,
            keep_alive: keep_alive.and_then(Result::ok).unwrap_or(KEEP_ALIVE),
        })
    }
}

/// A path that means the same when units are made, if the run may have another working directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn terms(url: &HostUrl, access: &Path) -> Result<Terms, crate::access::AccessError> {
    Ok(match url.is_encrypted {
        true => Terms::Tls(Access::of_client(access)?),
        false => Terms::PlainText(Tokens::read(access)?),
    })
}

impl<M: UnitMaker> UnitMaker for RemoteUnits<M> {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        let here = orders.iter().filter(|order| order.component.host.is_none());
        self.inner.plan(&here.copied().collect::<Vec<_>>());
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        if order.component.host.is_none() {
            return self.inner.make(order);
        }
        let opener = self.opener(order)?;
        let unit = IsolatedUnit::start(order, opener, self.profile.as_ref())?;
        Ok(Some(Box::new(unit)))
    }

    fn set_apart(&mut self, component: &str, why: &str) -> bool {
        self.inner.set_apart(component, why)
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }
}
