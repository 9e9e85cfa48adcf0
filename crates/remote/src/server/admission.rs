//! The places of connections: few for each address until they are admitted, and others after that.
//!
//! A connection without a certificate and a token costs a host a thread. It has [`LONGEST_HANDSHAKE`] to show them, and takes no
//! place of a connection that has.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Permit;

/// Time for the handshake of TLS and the first request, and before that for the turn of the connection.
pub(super) const LONGEST_HANDSHAKE: Duration = Duration::from_secs(5);
/// Handshakes of an address at a time.
const HANDSHAKES: usize = 16;
/// Connections of an address that are not admitted: some shake hands, others are next. A study starts as many runs
/// at once as its machine has cores.
const MOST_OF_ADDRESS: usize = 64;
/// Connections of all addresses that are not admitted.
const MOST: usize = 256;

/// The connections that are not admitted, by their addresses.
#[derive(Default)]
pub(super) struct Applicants(Mutex<BTreeMap<IpAddr, OfAddress>>);

struct OfAddress {
    connections: usize,
    handshakes: Arc<Semaphore>,
}

/// A connection that is not admitted, until it is dropped.
pub(super) struct Applicant {
    all: Arc<Applicants>,
    address: IpAddr,
    handshakes: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
    was_refused: bool,
}

/// The place of a connection on its host.
pub(super) struct Place(Mutex<Kind>);

enum Kind {
    Applicant(Applicant),
    Admitted { _permit: Permit },
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has made no request.
    Applies,
    /// A request of it was refused.
    Refused,
    Admitted,
}

impl Applicants {
    /// Takes a connection of an address.
    ///
    /// # Errors
    /// There are too many, in words.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Applicant, String> {
        let address = network(address);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.values().map(|of| of.connections).sum::<usize>() >= MOST {
            return Err(format!("{MOST} connections have not shown a token yet"));
        }
        let of = all.entry(address).or_insert_with(|| OfAddress {
            connections: 0,
            handshakes: Arc::new(Semaphore::new(HANDSHAKES)),
        });
        if of.connections >= MOST_OF_ADDRESS {
            return Err(format!(
                "{MOST_OF_ADDRESS} connections of this address have not shown a token yet"
            ));
        }
        of.connections += 1;
        Ok(Applicant {
            all: Arc::clone(self),
            address,
            handshakes: Arc::clone(&of.handshakes),
            turn: None,
            was_refused: false,
        })
    }
}

impl Place {
    pub(super) fn new(applicant: Applicant) -> Self {
        Self(Mutex::new(Kind::Applicant(applicant)))
    }

    fn lock(&self) -> MutexGuard<'_, Kind> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until fewer than [`HANDSHAKES`] connections of its address shake hands; whether that was so in time.
    pub(super) async fn turn(&self) -> bool {
        let handshakes = match &*self.lock() {
            Kind::Applicant(applicant) => Arc::clone(&applicant.handshakes),
            Kind::Admitted { .. } => return true,
        };
        let Ok(Ok(turn)) = timeout(LONGEST_HANDSHAKE, handshakes.acquire_owned()).await else {
            return false;
        };
        if let Kind::Applicant(applicant) = &mut *self.lock() {
            applicant.turn = Some(turn);
        }
        true
    }

    /// Admits the connection with what `permit` gives, unless it is already.
    ///
    /// # Errors
    /// As `permit`.
    pub(super) fn admit<E>(&self, permit: impl FnOnce() -> Result<Permit, E>) -> Result<(), E> {
        let mut kind = self.lock();
        if matches!(*kind, Kind::Applicant(_)) {
            *kind = Kind::Admitted { _permit: permit()? };
        }
        Ok(())
    }

    /// Notes that a request was refused.
    pub(super) fn refuse(&self) {
        if let Kind::Applicant(applicant) = &mut *self.lock() {
            applicant.was_refused = true;
        }
    }

    pub(super) fn progress(&self) -> Progress {
        match &*self.lock() {
            Kind::Admitted { .. } => Progress::Admitted,
            Kind::Applicant(applicant) if applicant.was_refused => Progress::Refused,
            Kind::Applicant(_) => Progress::Applies,
        }
    }
}

impl Drop for Applicant {
    fn drop(&mut self) {
        // The next one has its turn.
        self.turn = None;
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(of) = all.get_mut(&self.address) {
            of.connections -= 1;
            if of.connections == 0 {
                all.remove(&self.address);
            }
        }
    }
}

/// The part of an address that its owner cannot choose: of IPv6 the first 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future as _, poll_fn};
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_its_own_places_until_its_connections_are_admitted() {
        let all = Arc::new(Applicants::default());
        let mut of_one: Vec<_> = (0..MOST_OF_ADDRESS)
            .map(|_| all.enter(address("192.0.2.1")).unwrap())
            .collect();
        assert!(all.enter(address("192.0.2.1")).is_err());
        // The same machine, as a socket for both versions of IP calls it.
        assert!(all.enter(address("::ffff:192.0.2.1")).is_err());
        assert!(all.enter(address("192.0.2.2")).is_ok());
        of_one.pop();
        assert!(all.enter(address("192.0.2.1")).is_ok());
        drop(of_one);
        assert!(all.0.lock().unwrap().is_empty());
    }

    #[test]
    fn the_addresses_that_one_network_of_ipv6_chooses_are_one() {
        let all = Arc::new(Applicants::default());
        let of_network: Vec<_> = (0..MOST_OF_ADDRESS)
            .map(|host| all.enter(address(&format!("2001:db8::{host:x}"))).unwrap())
            .collect();
        assert!(all.enter(address("2001:db8::ffff")).is_err());
        assert!(all.enter(address("2001:db8:0:1::1")).is_ok());
        drop(of_network);
    }

    #[test]
    fn sixteen_connections_of_an_address_shake_hands_at_a_time() {
        let all = Arc::new(Applicants::default());
        let enter = || Place::new(all.enter(address("192.0.2.1")).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut places: Vec<_> = (0..HANDSHAKES).map(|_| enter()).collect();
            for place in &places {
                assert!(place.turn().await);
            }
            let next = enter();
            let mut turn = pin!(next.turn());
            let has_it = poll_fn(|context| Poll::Ready(turn.as_mut().poll(context).is_ready()));
            assert!(!has_it.await);
            places.pop();
            assert!(turn.await);
        });
    }
}
