//! The server of one page.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::live::address::Address;
use crate::live::command::Command;
use crate::live::events::{Draw, Events};
use crate::live::message::{Begin, Message, State};
use crate::live::request::{Limits, Refusal, Request, read_request};
use crate::live::server_end::ServerEnd;
use crate::live::token::Token;

/// Longest silence before an event without content shows whether a browser is still there.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Longest time that the end of the program waits for browsers to read the last events, and for a run to send them.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause after a connection that the operating system could not make: out of descriptors, for example.
const PAUSE: Duration = Duration::from_millis(50);

/// Most bytes of a refused request that are read, so that the refusal is not lost with them.
const LINGER: u64 = 1 << 20;

/// Nothing is loaded from elsewhere, whatever stands in the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be had.
    #[error("cannot listen at {0}: {1}")]
    Bind(SocketAddr, #[source] io::Error),
    /// The operating system gives no random bits for the page's address.
    #[error("the operating system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

/// An address with a secret in it, at which nothing is served yet.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    token: Token,
    limits: Limits,
}

/// A page that is being served, until the program ends.
#[derive(Clone)]
pub struct Serving(Arc<Shared>);

struct Shared {
    token: Token,
    port: u16,
    page: String,
    limits: Limits,
    events: Arc<Events>,
    run: OnceLock<ServerEnd>,
    stop: Box<dyn Fn() + Send + Sync>,
    connections: AtomicUsize,
    is_closed: AtomicBool,
}

impl Listener {
    /// Listens at an address.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn bind(address: Address) -> Result<Self, ListenError> {
        let failed = |error| ListenError::Bind(address.0, error);
        let listener = TcpListener::bind(address.0).map_err(failed)?;
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            token: Token::random().map_err(ListenError::Random)?,
            limits: Limits::default(),
        })
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The address of the page. Everyone with this address may see and command the run.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            // It is reached at each address of this machine.
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/{}/", self.token)
    }

    /// Serves a page, for which `draw` draws the run. `stop` is called for each [`Command::Stop`]; all others go to the
    /// run.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn serve(
        self,
        page: String,
        draw: Draw,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Serving> {
        let shared = Arc::new(Shared {
            token: self.token,
            port: self.address.port(),
            page,
            limits: self.limits,
            events: Arc::new(Events::new(draw)),
            run: OnceLock::new(),
            stop: Box::new(stop),
            connections: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let listener = self.listener;
        thread::Builder::new()
            .name("live server".to_owned())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Serving(shared))
    }
}

impl Serving {
    /// Joins the run: `stream` has its messages, and takes the commands.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn connect(&self, stream: UnixStream) -> io::Result<()> {
        let end = ServerEnd::start(stream, Arc::clone(&self.0.events))?;
        // The first one counts.
        let _ = self.0.run.set(end);
        Ok(())
    }

    /// Publishes a message besides the run's messages.
    pub fn publish(&self, message: Message) {
        self.0.events.publish(message);
    }

    /// The run and its state, by its last messages.
    pub fn last_state(&self) -> (Option<Begin>, Option<State>) {
        self.0.events.last_state()
    }

    /// Waits, for a while, until a run that has ended has sent everything. Whether it has said how it has ended.
    pub fn wait_for_run(&self) -> bool {
        if let Some(run) = self.0.run.get() {
            run.wait(CLOSE_TIMEOUT);
        }
        self.0.events.has_ended()
    }

    /// Connections at this moment.
    pub fn connections(&self) -> usize {
        self.0.connections.load(Ordering::SeqCst)
    }

    /// Lets browsers read the last events, for a while, and ends.
    pub fn close(&self) {
        let shared = &self.0;
        shared.is_closed.store(true, Ordering::SeqCst);
        shared.events.close();
        let begin = Instant::now();
        while self.connections() > 0 && begin.elapsed() < CLOSE_TIMEOUT {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Counts a connection as long as it lives.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        if shared.is_closed.load(Ordering::SeqCst) {
            return;
        }
        let before = shared.connections.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(Arc::clone(shared));
        if before >= shared.limits.connections {
            // It fits into the buffer of a new connection; no thread waits for it.
            let _ = stream.set_nonblocking(true);
            let _ = refuse(&stream, 503);
            continue;
        }
        let work = move || {
            let counted = counted;
            // A browser that has gone needs no answer.
            let _ = serve(&stream, &counted.0);
            let _ = stream.shutdown(Shutdown::Both);
        };
        // Without a thread the connection is closed.
        let _ = thread::Builder::new()
            .name("live browser".to_owned())
            .spawn(work);
    }
}

/// Reads until a point in time.
struct Until<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(buffer)
    }
}

/// Answers the one request of a connection.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(shared.limits.write))?;
    stream.set_nodelay(true)?;
    let deadline = Instant::now() + shared.limits.request;
    let mut input = Until { stream, deadline };
    let request = match read_request(&mut input, &shared.limits) {
        Ok(request) => request,
        Err(Refusal::Closed) => return Ok(()),
        Err(Refusal::Status(status)) => {
            refuse(stream, status)?;
            // Bytes that are not read would take the answer with them.
            stream.shutdown(Shutdown::Write)?;
            return io::copy(&mut input.take(LINGER), &mut io::sink()).map(|_| ());
        }
    };
    match answer(&request, shared) {
        Answer::Refusal(status) => refuse(stream, status),
        Answer::Page => respond(stream, 200, "text/html; charset=utf-8", &shared.page),
        Answer::Events => send_events(stream, shared),
        Answer::Command => match command(&request.body, shared) {
            Ok(()) => respond(stream, 204, "text/plain; charset=utf-8", ""),
            Err((status, text)) => respond(stream, status, "text/plain; charset=utf-8", &text),
        },
    }
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Page,
    Events,
    Command,
    Refusal(u16),
}

fn answer(request: &Request, shared: &Shared) -> Answer {
    let host = request.host.as_deref();
    if !host.is_some_and(|host| is_own(host, shared.port)) {
        return Answer::Refusal(421);
    }
    let mut parts = request.path.splitn(3, '/').skip(1);
    let token = parts.next().unwrap_or_default();
    if !shared.token.is(token) {
        return Answer::Refusal(404);
    }
    let found = match parts.next() {
        Some("") => ("GET", Answer::Page),
        Some("events") => ("GET", Answer::Events),
        Some("commands") => ("POST", Answer::Command),
        _ => return Answer::Refusal(404),
    };
    if request.method != found.0 {
        return Answer::Refusal(405);
    }
    let origin = request.origin.as_deref();
    let is_foreign = |origin: &str| origin.strip_prefix("http://") != host;
    if found.1 == Answer::Command && origin.is_some_and(is_foreign) {
        return Answer::Refusal(403);
    }
    found.1
}

/// Whether a request is for this server by its IP address or as `localhost`: a name that its owner lets point at this
/// machine (DNS rebinding) is another one.
fn is_own(host: &str, port: u16) -> bool {
    // Browsers leave out the port of HTTP.
    let (name, digits) = match host.rsplit_once(':') {
        Some((name, digits)) if !digits.ends_with(']') => (name, digits),
        _ => (host, "80"),
    };
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_address = inner.unwrap_or(name).parse::<IpAddr>().is_ok();
    (is_address || name.eq_ignore_ascii_case("localhost")) && digits.parse() == Ok(port)
}

/// Carries out a command; the status and a sentence if it cannot be.
fn command(body: &[u8], shared: &Shared) -> Result<(), (u16, String)> {
    let command = Command::parse(body).map_err(|text| (400, text))?;
    if command == Command::Stop {
        (shared.stop)();
        return Ok(());
    }
    let run = shared.run.get();
    let run = run.ok_or_else(|| (409, "there is no run that takes this command".to_owned()))?;
    run.send(&command)
        .map_err(|_| (409, "the run no longer accepts commands".to_owned()))
}

/// Sends events until the browser has gone or the page has ended. A browser that takes nothing for longer than the limit
/// of time ends it.
fn send_events(mut stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.write_all(head(200, "text/event-stream", None).as_bytes())?;
    // After how long a browser tries again, ms.
    stream.write_all(b"retry: 1000\n\n")?;
    let mut reader = shared.events.reader();
    loop {
        let batch = reader.next(HEARTBEAT);
        let mut text = String::new();
        for event in &batch.events {
            text.extend(["data: ", event, "\n\n"]);
        }
        if text.is_empty() && !batch.is_last {
            text.push_str(":\n\n");
        }
        stream.write_all(text.as_bytes())?;
        if batch.is_last {
            return Ok(());
        }
    }
}

fn refuse(stream: &TcpStream, status: u16) -> io::Result<()> {
    respond(stream, status, "text/plain; charset=utf-8", reason(status))
}

fn respond(mut stream: &TcpStream, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let head = head(status, kind, Some(body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn head(status: u16, kind: &str, length: Option<usize>) -> String {
    let length = length.filter(|_| status != 204);
    let length = length.map_or(String::new(), |length| {
        format!("Content-Length: {length}\r\n")
    });
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\n{length}Connection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\r\n",
        reason(status)
    )
}

/// The reason phrases of RFC 9110.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests;
