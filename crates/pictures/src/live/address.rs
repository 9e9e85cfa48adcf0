//! Where the page is served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// An address to listen at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(pub(crate) SocketAddr);

/// Why an address has no page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is not an address.
    #[error(
        "`{0}` is not an address: write a port, an IP address, or both as 127.0.0.1:8080 or [::1]:8080"
    )]
    Unreadable(String),
    /// Other machines could reach it.
    #[error(
        "other machines can reach {0}: everyone with the address of the page can see the run and stop it"
    )]
    Remote(IpAddr),
}

impl Default for Address {
    /// This machine alone, at a port that the operating system chooses.
    fn default() -> Self {
        Self(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl Address {
    /// Reads `8080`, `127.0.0.1`, `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`; empty is [the default](Self::default).
    /// Addresses that other machines reach need `allows_remote`.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn parse(text: &str, allows_remote: bool) -> Result<Self, AddressError> {
        let unreadable = || AddressError::Unreadable(text.to_owned());
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let of_name = |name: &str| match name {
            "localhost" => Some(local),
            _ => name.parse().ok(),
        };
        let address = if text.is_empty() {
            Self::default().0
        } else if let Ok(port) = text.parse::<u16>() {
            SocketAddr::from((local, port))
        } else if let Ok(address) = text.parse::<SocketAddr>() {
            address
        } else if let Some(host) = of_name(text) {
            SocketAddr::from((host, 0))
        } else {
            let (host, port) = text.rsplit_once(':').ok_or_else(unreadable)?;
            let host = of_name(host)
                .filter(IpAddr::is_ipv4)
                .ok_or_else(unreadable)?;
            SocketAddr::from((host, port.parse().map_err(|_| unreadable())?))
        };
        if !address.ip().is_loopback() && !allows_remote {
            return Err(AddressError::Remote(address.ip()));
        }
        Ok(Self(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match Address::parse(text, false) {
            Ok(Address(address)) => address.to_string(),
            Err(AddressError::Unreadable(_)) => "unreadable".to_owned(),
            Err(AddressError::Remote(_)) => "remote".to_owned(),
        }
    }

    #[test]
    fn only_this_machine_unless_others_are_allowed() {
        for (text, expected) in [
            ("", "127.0.0.1:0"),
            ("8080", "127.0.0.1:8080"),
            ("127.0.0.1", "127.0.0.1:0"),
            ("127.0.0.2:80", "127.0.0.2:80"),
            ("localhost", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("::1", "[::1]:0"),
            ("[::1]:8080", "[::1]:8080"),
            ("0.0.0.0:8080", "remote"),
            ("[::]:8080", "remote"),
            ("192.168.1.7", "remote"),
            ("::ffff:10.0.0.1", "remote"),
            ("example.com:80", "unreadable"),
            ("65536", "unreadable"),
            ("127.0.0.1:", "unreadable"),
            ("127.0.0.1:x", "unreadable"),
            ("::1:8080:x", "unreadable"),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        assert!(Address::parse("0.0.0.0:8080", true).is_ok());
    }
}
