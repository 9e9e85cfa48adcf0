//! The host: runs FMUs for runs on other machines, each in a process of its own.

mod admission;
mod connection;
mod session;
mod store;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Tokens};
use crate::message::Hash;
use crate::tls;
use admission::Applicants;
use store::Store;

/// Admitted connections beyond those for components: such as begin and end.
const SPARE_CONNECTIONS: usize = 64;
/// Pause after a connection that could not be accepted, for want of descriptors for example.
const PAUSE: Duration = Duration::from_millis(50);

/// Time for all connections to end.
const LONGEST_STOP: Duration = Duration::from_secs(2);

/// How FMUs are hosted.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Folder of FMUs that may be loaded.
    pub folder: PathBuf,
    /// Hashes of FMUs that may be sent besides.
    pub allowed: Vec<Hash>,
    /// All FMUs may be sent.
    pub allow_upload: bool,
    /// Most bytes of an FMU that is sent.
    pub largest_upload: u64,
    /// Most components at a time.
    pub components: usize,
    /// Longest time of a call, if the run allows more.
    pub timeout: Option<Duration>,
    /// Most bytes of memory for the process of a component.
    pub memory_limit: Option<u64>,
    /// Directory that keeps unpacked FMUs.
    pub cache: Option<PathBuf>,
}

impl ServerOptions {
    /// Of the FMUs in a folder, and no others.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            allowed: Vec::new(),
            allow_upload: false,
            largest_upload: 512 << 20,
            components: 64,
            timeout: None,
            memory_limit: None,
            cache: None,
        }
    }
}

/// How runs are admitted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Admission {
    /// By certificate and token, encrypted.
    Tls(Access),
    /// By token alone, not encrypted: for this machine alone.
    PlainText(Tokens),
}

/// Receives the log of a host: clients, starts, and refusals with their reasons.
pub type Notes = Box<dyn Fn(&str) + Send + Sync>;

/// Why a host does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The folder of FMUs is none.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The address cannot be listened to.
    #[error("cannot listen at {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// Only this machine may be served in plain text.
    #[error(
        "{0} is reached from other machines, and plain text is for this one alone; give an address such as \
         127.0.0.1, or certificates"
    )]
    PlainText(SocketAddr),
    /// The certificates cannot be used.
    #[error("the certificates cannot be used: {0}")]
    Certificates(String),
}

/// A host that listens.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// The state that all connections share.
struct Shared {
    options: ServerOptions,
    store: Store,
    tokens: Tokens,
    acceptor: Option<TlsAcceptor>,
    components: AtomicUsize,
    /// Admitted connections.
    connections: AtomicUsize,
    applicants: Arc<Applicants>,
    notes: Notes,
    /// Ends all connections.
    stop: watch::Sender<()>,
}

/// Ends a host.
#[derive(Clone)]
pub struct Stop(Arc<Shared>);

impl Stop {
    /// Ends all connections with their processes, and removes what was sent.
    pub fn stop(&self) {
        // Without a connection, it reaches none.
        let _ = self.0.stop.send(());
        let begin = Instant::now();
        while self.0.connections.load(Ordering::Relaxed) > 0 && begin.elapsed() < LONGEST_STOP {
            std::thread::sleep(PAUSE);
        }
        std::thread::sleep(PAUSE);
        self.0.store.remove();
    }
}

impl Server {
    /// Listens at an address.
    ///
    /// # Errors
    /// If it cannot, or must not in plain text.
    pub fn bind(
        address: SocketAddr,
        options: ServerOptions,
        admission: Admission,
        notes: Notes,
    ) -> Result<Self, ServerError> {
        let (tokens, acceptor) = match admission {
            Admission::Tls(access) => {
                let acceptor = tls::acceptor(&access);
                let acceptor =
                    acceptor.map_err(|error| ServerError::Certificates(error.to_string()))?;
                (access.tokens, Some(acceptor))
            }
            Admission::PlainText(_) if !address.ip().is_loopback() => {
                return Err(ServerError::PlainText(address));
            }
            Admission::PlainText(tokens) => (tokens, None),
        };
        let store = Store::open(
            &options.folder,
            options.allowed.clone(),
            options.allow_upload,
            options.largest_upload,
        );
        let store = store.map_err(|error| ServerError::Folder {
            folder: options.folder.clone(),
            error,
        })?;
        let listener = TcpListener::bind(address);
        let listener = listener.map_err(|error| ServerError::Listen(address, error))?;
        Ok(Self {
            listener,
            shared: Arc::new(Shared {
                options,
                store,
                tokens,
                acceptor,
                components: AtomicUsize::new(0),
                connections: AtomicUsize::new(0),
                applicants: Arc::default(),
                notes,
                stop: watch::Sender::new(()),
            }),
        })
    }

    /// The address, with the port that the system has chosen if 0 was asked for.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Ends the host from another thread.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        Stop(Arc::clone(&self.shared))
    }

    /// Serves, for as long as the process lives.
    pub fn serve(&self) -> ! {
        loop {
            match self.listener.accept() {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => {
                    self.shared
                        .note(&format!("no connection is accepted: {error}"));
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    /// Serves a connection in a thread of its own.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let shared = &self.shared;
        let applicant = match shared.applicants.enter(peer.ip()) {
            Ok(applicant) => applicant,
            Err(text) => return shared.note(&format!("{peer}: refused: {text}")),
        };
        let serve = {
            let shared = Arc::clone(shared);
            move || connection::serve(stream, peer, applicant, &shared)
        };
        let thread = std::thread::Builder::new().name("connection".to_owned());
        if let Err(error) = thread.spawn(serve) {
            shared.note(&format!("{peer}: refused: {error}"));
        }
    }
}

impl Shared {
    fn note(&self, text: &str) {
        (self.notes)(text);
    }
}

/// One of a limited number, given back when it is dropped.
struct Permit {
    shared: Arc<Shared>,
    counter: fn(&Shared) -> &AtomicUsize,
    /// How many there are with this one.
    number: usize,
}

impl Permit {
    fn new(
        shared: &Arc<Shared>,
        counter: fn(&Shared) -> &AtomicUsize,
        most: usize,
    ) -> Option<Self> {
        let number = counter(shared).fetch_add(1, Ordering::Relaxed) + 1;
        // Gives it back.
        let permit = Self {
            shared: Arc::clone(shared),
            counter,
            number,
        };
        (number <= most).then_some(permit)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        (self.counter)(&self.shared).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use gyrator_system::HostUrl;
    use gyrator_worker::isolated::{Host as _, NotStarted};
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

    use super::*;
    use crate::access::{self, Access, Validity};
    use crate::client::{Opener, Terms};

    /// A connection that says nothing.
    fn idle(from: Ipv4Addr, to: SocketAddr) -> OwnedFd {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((from, 0))).unwrap();
        connect(&socket, &to).unwrap();
        socket
    }

    #[test]
    fn connections_that_say_nothing_take_no_place_of_runs() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        access::init(&keys, &["127.0.0.1".to_owned()], Validity::days(1)).unwrap();
        let access = Access::of_host(&keys).unwrap();
        let (sender, notes) = mpsc::channel();
        let server = Server::bind(
            SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ServerOptions::new(folder.path()),
            Admission::Tls(access),
            Box::new(move |text| drop(sender.send(text.to_owned()))),
        )
        .unwrap();
        let address = server.address().unwrap();
        std::thread::spawn(move || server.serve());
        // More than all components and spare connections of a host have.
        let silent: Vec<OwnedFd> = (0..130)
            .map(|_| idle(Ipv4Addr::new(127, 0, 0, 2), address))
            .collect();
        let refused = notes.recv().unwrap();
        assert!(
            refused.contains("64 connections of this address"),
            "{refused}"
        );
        let mut opener = Opener {
            url: HostUrl::parse(&format!("https://{address}")).unwrap(),
            terms: Terms::Tls(Access::of_client(&keys.join("client")).unwrap()),
            component: "one".to_owned(),
            fmu: "Missing.fmu".to_owned(),
            path: PathBuf::new(),
            hash: [0; 32],
            size: 0,
            upload: false,
            logging: false,
            timeout: None,
            keep_alive: Duration::from_secs(60),
        };
        // The host has admitted the run: it looks for the FMU.
        match opener.open() {
            Err(NotStarted::NotLoaded(text)) => {
                assert!(text.contains("not in the folder of FMUs"), "{text}");
            }
            Err(NotStarted::NotReached(text)) => panic!("{text}"),
            _ => panic!("there is no FMU"),
        }
        drop(silent);
    }
}
