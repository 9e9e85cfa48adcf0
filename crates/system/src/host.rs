//! Machines that host components: their addresses, and which one a component means.

use crate::problem::{Problem, did_you_mean};
use crate::system_file::{Component, RemoteHost, SystemFile};

/// Longest interval of keep-alive, s.
const LONGEST_KEEP_ALIVE: f64 = 3600.0;

/// The address of a host: `https://lab.example:7443`, or `http://127.0.0.1:7443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUrl {
    /// `https`: the connection is encrypted.
    pub is_encrypted: bool,
    /// Its name or address, without brackets.
    pub name: String,
    /// Its port.
    pub port: u16,
}

impl HostUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// The fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!("`{text}` is not the address of a host: {why}, as in https://lab.example:7443")
        };
        let (is_encrypted, rest) = if let Some(rest) = text.strip_prefix("https://") {
            (true, rest)
        } else if let Some(rest) = text.strip_prefix("http://") {
            (false, rest)
        } else {
            return Err(wrong("it begins with https:// or http://"));
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (name, port) = rest
            .rsplit_once(':')
            .ok_or_else(|| wrong("it names a port"))?;
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| wrong("it ends in a port from 1 to 65535"))?;
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let is_name = |name: &str| {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            !name.is_empty() && name.chars().all(is_of_name)
        };
        match bare {
            Some(address) if address.parse::<std::net::Ipv6Addr>().is_ok() => Ok(Self {
                is_encrypted,
                name: address.to_owned(),
                port,
            }),
            None if is_name(name) => Ok(Self {
                is_encrypted,
                name: name.to_owned(),
                port,
            }),
            _ => Err(wrong("it has a name or an address, and nothing more")),
        }
    }
}

impl SystemFile {
    /// The host of a component: the table under `[hosts]` that it names, or has the address that it names; one without
    /// further settings for another address. `None` for a component of this machine.
    #[must_use]
    pub fn host_of(&self, component: &Component) -> Option<RemoteHost> {
        let wanted = component.host.as_ref()?;
        let mut hosts = self.hosts.iter();
        let known = hosts
            .find(|host| host.name.value == wanted.value)
            .or_else(|| {
                self.hosts
                    .iter()
                    .find(|host| host.url.value == wanted.value)
            });
        Some(known.cloned().unwrap_or_else(|| RemoteHost {
            name: wanted.clone(),
            url: wanted.clone(),
            access: None,
            keep_alive: None,
            upload: None,
        }))
    }
}

/// Finds hosts that are none.
pub(crate) fn check_hosts(system: &SystemFile, problems: &mut Vec<Problem>) {
    for host in &system.hosts {
        if let Err(message) = HostUrl::parse(&host.url.value) {
            problems.push(Problem::error("host-address", message).at(&host.url.span));
        }
        if let Some(interval) = &host.keep_alive
            && !(interval.value > 0.0 && interval.value <= LONGEST_KEEP_ALIVE)
        {
            let message = format!(
                "`keep_alive` must be above 0 and at most {LONGEST_KEEP_ALIVE} s, not {}",
                interval.value
            );
            problems.push(Problem::error("keep-alive", message).at(&interval.span));
        }
    }
    for component in &system.components {
        check_component(system, component, problems);
    }
}

fn check_component(system: &SystemFile, component: &Component, problems: &mut Vec<Problem>) {
    let Some(host) = &component.host else {
        return;
    };
    let name = &component.name.value;
    let mut report = |rule, message: String, help: &str| {
        let problem = Problem::error(rule, message).at(&host.span);
        problems.push(if help.is_empty() {
            problem
        } else {
            problem.help(help)
        });
    };
    if component.block.is_some() {
        let message = format!("the block `{name}` runs in the process of the run");
        report("host-of-block", message, "remove `host`");
    }
    let wants_process = component
        .isolate
        .as_ref()
        .is_some_and(|isolate| isolate.value);
    if wants_process || !component.preload.is_empty() || !component.library_path.is_empty() {
        let message = format!(
            "`{name}` runs on another machine: `isolate`, `preload` and `library_path` are of this one"
        );
        let help = "remove them, or `host`; there each component has a process of its own anyway";
        report("host-and-process", message, help);
    }
    if system
        .hosts
        .iter()
        .any(|known| known.name.value == host.value)
    {
        return;
    }
    if host.value.contains("://") {
        if let Err(message) = HostUrl::parse(&host.value) {
            report("host-address", message, "");
        }
        return;
    }
    let names = system.hosts.iter().map(|host| host.name.value.as_str());
    let near = did_you_mean(&host.value, names);
    let help = near.as_deref();
    let help = help.unwrap_or("add a table `[hosts.NAME]` with `url = \"https://…:PORT\"`");
    report(
        "unknown-host",
        format!("no host is called `{}`", host.value),
        help,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_a_name_and_a_port() {
        let url = HostUrl::parse("https://lab-2.example:7443/").unwrap();
        assert_eq!((url.is_encrypted, url.port), (true, 7443));
        assert_eq!(url.name, "lab-2.example");
        let url = HostUrl::parse("http://[::1]:80").unwrap();
        assert_eq!((url.is_encrypted, url.name.as_str()), (false, "::1"));
        for wrong in [
            "",
            "lab:7443",
            "ftp://lab:1",
            "https://lab",
            "https://lab:0",
            "https://lab:65536",
            "https://:1",
            "https://a b:1",
            "https://user@lab:1",
            "https://lab/path:1",
            "https://::1:80",
            "https://[lab]:80",
        ] {
            assert!(HostUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
