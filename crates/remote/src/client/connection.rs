//! Connects to a host, and has it load an FMU.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use gyrator_system::HostUrl;
use gyrator_worker::isolated::{Host, Loss, NotStarted};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::timeout;
use tokio_rustls::rustls::{self, pki_types::ServerName};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::{Code, Status, Streaming};

use super::link::RemoteLink;
use crate::access::{Access, Tokens};
use crate::frame::{Frame, Frames, LONGEST, PART};
use crate::message::{self, FromHost, Hash, Hello};
use crate::{LONGEST_HEADERS, METHOD, PROTOCOL, VERSION, WINDOW, tls};

/// Intervals of keep-alive without a sign of life after which a host is lost: two would be too late for a run that has
/// to end within two.
const LONGEST_SILENCE: f64 = 1.5;
/// Intervals of keep-alive within which a lost host may come back.
const LONGEST_ABSENCE: u32 = 2;
/// Time until a lost host is tried for the second time; twice as long each time after, up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Time to reach a host and to shake hands.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// How a run admits itself to a host.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Terms {
    /// By certificate and token, encrypted.
    Tls(Access),
    /// By token alone, not encrypted: on this machine alone.
    PlainText(Tokens),
}

impl Terms {
    fn token(&self) -> &str {
        match self {
            Self::Tls(access) => access.tokens.first(),
            Self::PlainText(tokens) => tokens.first(),
        }
    }
}

/// Opens ways to the processes of a component on a host.
#[derive(Debug, Clone)]
pub struct Opener {
    /// The host.
    pub url: HostUrl,
    /// How the run admits itself.
    pub terms: Terms,
    /// Name of the component.
    pub component: String,
    /// Name of the FMU's file in the folder of the host.
    pub fmu: String,
    /// The FMU here.
    pub path: PathBuf,
    /// Its SHA-256.
    pub hash: Hash,
    /// Its bytes.
    pub size: u64,
    /// Whether it is sent to a host that does not have it.
    pub upload: bool,
    /// Whether the FMU logs all that it can.
    pub logging: bool,
    /// Longest time of one call.
    pub timeout: Option<Duration>,
    /// Interval of signs of life.
    pub keep_alive: Duration,
}

impl Host for Opener {
    type Link = RemoteLink;

    /// A busy host may take long to load the first FMU: no run waits yet.
    fn open(&mut self) -> Result<RemoteLink, NotStarted> {
        self.open_within(LONGEST_CONNECT.max(self.longest_silence()))
    }

    /// Tries until two intervals of keep-alive without the host have passed.
    fn open_again(&mut self, lost: &RemoteLink) -> Result<RemoteLink, NotStarted> {
        let absence = self.keep_alive.saturating_mul(LONGEST_ABSENCE);
        try_again(absence.saturating_sub(lost.silence()), || {
            self.open_within(self.longest_silence())
        })
    }
}

/// Makes attempts until one succeeds, or fails for another reason than an absent host, or a further one would be after this
/// time.
fn try_again<T>(
    longest: Duration,
    mut attempt: impl FnMut() -> Result<T, NotStarted>,
) -> Result<T, NotStarted> {
    let (begin, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let failed = match attempt() {
            Ok(done) => return Ok(done),
            Err(failed) => failed,
        };
        let is_absent = match &failed {
            NotStarted::NotReached(_) => true,
            NotStarted::Lost(loss) => loss.is_of_host(),
            NotStarted::NotLoaded(_) => false,
        };
        if !is_absent || begin.elapsed().saturating_add(pause) > longest {
            return Err(failed);
        }
        std::thread::sleep(pause);
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

type Connected = (
    UnboundedSender<Frame>,
    Pin<Box<dyn Future<Output = Result<Streaming<Frame>, Status>> + Send>>,
    Arc<AtomicU64>,
);

impl Opener {
    /// The address as it is shown.
    pub(super) fn address(&self) -> String {
        let name = match self.url.name.contains(':') {
            true => format!("[{}]", self.url.name),
            false => self.url.name.clone(),
        };
        let scheme = if self.url.is_encrypted {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{name}:{}", self.url.port)
    }

    /// Opens a way to a host that answers within a time.
    fn open_within(&self, longest: Duration) -> Result<RemoteLink, NotStarted> {
        let failed = |error: &dyn std::fmt::Display| {
            NotStarted::NotLoaded(format!("host {}: {error}", self.address()))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(&error))?;
        let connected = runtime.block_on(async { timeout(LONGEST_CONNECT, self.connect()).await });
        let not_reached = |error: &dyn std::fmt::Display| {
            NotStarted::NotReached(format!("host {}: {error}", self.address()))
        };
        let connected = connected.map_err(|_| not_reached(&"no connection within 10 s"))?;
        let (outgoing, incoming, written) = connected.map_err(|error| not_reached(&error))?;
        let mut link = RemoteLink::new(self, runtime, outgoing, incoming, written);
        link.longest_silence = longest;
        self.greet(&mut link)?;
        link.longest_silence = self.longest_silence();
        Ok(link)
    }

    /// Longest time without a sign of life.
    pub(super) fn longest_silence(&self) -> Duration {
        self.keep_alive.mul_f64(LONGEST_SILENCE)
    }

    /// Connects, and begins the stream.
    async fn connect(&self) -> io::Result<Connected> {
        let stream = self.reach()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let written = Arc::new(AtomicU64::new(0));
        let stream = Counted {
            stream: tokio::net::TcpStream::from_std(stream)?,
            written: Arc::clone(&written),
        };
        let (outgoing, response) = match &self.terms {
            Terms::Tls(access) => {
                let connector = tls::connector(access).map_err(|error| {
                    let text =
                        format!("the certificate and the key of `access` cannot be used: {error}");
                    io::Error::other(text)
                })?;
                let name = ServerName::try_from(self.url.name.clone());
                let name = name.map_err(io::Error::other)?;
                let stream = connector.connect(name, stream).await.map_err(in_words)?;
                self.begin(stream).await?
            }
            Terms::PlainText(_) => self.begin(stream).await?,
        };
        Ok((outgoing, response, written))
    }

    /// Reaches one of the addresses of the host.
    fn reach(&self) -> io::Result<TcpStream> {
        let addresses = (self.url.name.as_str(), self.url.port).to_socket_addrs()?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        if matches!(self.terms, Terms::PlainText(_))
            && !addresses.iter().all(|address| address.ip().is_loopback())
        {
            return Err(io::Error::other(
                "http is plain text, and for this machine alone: use https",
            ));
        }
        let mut last = io::Error::other("its name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, LONGEST_CONNECT / 2) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        if last.kind() == io::ErrorKind::ConnectionRefused {
            let text = format!("{last}: is `gyrator serve` running there, at this port?");
            return Err(io::Error::new(last.kind(), text));
        }
        Err(last)
    }

    /// Speaks HTTP/2 and begins the stream.
    async fn begin(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> io::Result<(
        UnboundedSender<Frame>,
        Pin<Box<dyn Future<Output = Result<Streaming<Frame>, Status>> + Send>>,
    )> {
        let built = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(LONGEST_HEADERS)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = built.map_err(io::Error::other)?;
        // Its errors also come through the stream.
        tokio::spawn(connection);
        let origin = self.address().parse().map_err(io::Error::other)?;
        let mut grpc = Grpc::with_origin(Sender(sender), origin).max_decoding_message_size(LONGEST);
        let (outgoing, frames) = mpsc::unbounded_channel();
        let mut request = tonic::Request::new(UnboundedReceiverStream::new(frames));
        let token = format!("Bearer {}", self.terms.token()).parse();
        let token = token.map_err(|_| io::Error::other("the token cannot be sent"))?;
        request.metadata_mut().insert("authorization", token);
        let response = Box::pin(async move {
            let path = http::uri::PathAndQuery::from_static(METHOD);
            let response = grpc.streaming(request, path, Frames).await?;
            Ok(response.into_inner())
        });
        Ok((outgoing, response))
    }

    /// Says which FMU it is about, sends it if it is wanted, and waits until it is loaded.
    fn greet(&self, link: &mut RemoteLink) -> Result<(), NotStarted> {
        let refused = |error: &dyn std::fmt::Display| {
            NotStarted::NotLoaded(format!("host {}: {error}", self.address()))
        };
        link.send(message::hello(&Hello {
            protocol: PROTOCOL,
            version: VERSION,
            component: &self.component,
            fmu: &self.fmu,
            hash: self.hash,
            size: self.size,
            upload: self.upload,
            logging: self.logging,
            timeout: self.timeout,
            keep_alive: self.keep_alive,
        }));
        let mut has_sent = false;
        loop {
            let frame = link.next().map_err(|ended| match ended {
                super::link::Ended::Refused(status) if is_of_fmu(status.code()) => {
                    refused(&words(&status))
                }
                super::link::Ended::Refused(status) => NotStarted::NotReached(format!(
                    "host {}: {}{}",
                    self.address(),
                    words(&status),
                    self.advice(&status)
                )),
                super::link::Ended::Lost(loss) => NotStarted::Lost(loss),
            })?;
            match FromHost::read(&frame) {
                Ok(FromHost::Welcome(welcome)) if welcome.version == VERSION => return Ok(()),
                Ok(FromHost::Welcome(welcome)) => {
                    let text = format!("it is gyrator {}, and this is {VERSION}", welcome.version);
                    return Err(refused(&text));
                }
                Ok(FromHost::Wanted) if self.upload && !has_sent => {
                    has_sent = true;
                    let sent = self.send_fmu(link);
                    sent.map_err(|error| refused(&format!("{}: {error}", self.path.display())))?;
                }
                Ok(FromHost::Log(lines)) => link.note_log(lines),
                Ok(FromHost::Progress(_)) => {}
                Ok(FromHost::Lost(bytes)) => {
                    let loss = Loss::decode(bytes);
                    let loss = loss.map_err(|malformed| refused(&malformed))?;
                    return Err(NotStarted::Lost(Box::new(link.named(loss))));
                }
                _ => return Err(refused(&"it sends messages that make no sense")),
            }
        }
    }

    /// Advice if the stream does not open.
    fn advice(&self, status: &Status) -> &'static str {
        let is_of_connection = std::error::Error::source(status).is_some();
        match &self.terms {
            Terms::PlainText(_) if is_of_connection => {
                "; a host without --plain-text is reached by https://"
            }
            _ => "",
        }
    }

    fn send_fmu(&self, link: &mut RemoteLink) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        let mut part = vec![0; PART];
        let mut rest = self.size;
        while rest > 0 {
            let length = rest.min(PART as u64) as usize;
            file.read_exact(&mut part[..length])?;
            link.send(message::upload(&part[..length]));
            // Messages that are not sent yet take memory.
            link.flush();
            rest -= length as u64;
        }
        if self.size == 0 {
            link.send(message::upload(&[]));
        }
        Ok(())
    }
}

/// Whether a host refuses the FMU; else it is lost, or has no room, or refuses the run.
const fn is_of_fmu(code: Code) -> bool {
    matches!(
        code,
        Code::FailedPrecondition | Code::PermissionDenied | Code::InvalidArgument | Code::Internal
    )
}

/// An error of the handshake, with what it means.
fn in_words(error: io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref());
    let more = match cause {
        Some(rustls::Error::InvalidMessage(_)) => {
            "it does not answer in TLS; a host with --plain-text is reached by http://"
        }
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
            "the authority in `ca.pem` of `access` has not signed its certificate"
        }
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{more}: {error}"))
}

/// The reason for which a host refuses a run, or the failure of the connection.
pub(super) fn words(status: &Status) -> String {
    let mut text = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => format!("refused: {}", status.message()),
        _ => status.message().to_owned(),
    };
    // The cause of a broken connection stands at the end of the chain.
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        source = error.source();
        if source.is_none() {
            let cause = error.downcast_ref::<io::Error>().map(io::Error::kind);
            text = match cause {
                // It speaks of TLS, with the address of a manual.
                Some(io::ErrorKind::UnexpectedEof) => "it has closed the connection".to_owned(),
                _ => error.to_string(),
            };
        }
    }
    text
}

/// Sends requests on a connection.
struct Sender(SendRequest<Body>);

impl GrpcService<Body> for Sender {
    type ResponseBody = hyper::body::Incoming;
    type Error = hyper::Error;
    type Future = Pin<
        Box<
            dyn Future<Output = Result<http::Response<hyper::body::Incoming>, hyper::Error>> + Send,
        >,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// A connection that counts the bytes that it has written.
struct Counted {
    stream: tokio::net::TcpStream,
    written: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Counted {
    fn count(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = outcome {
            self.written.fetch_add(count as u64, Ordering::Relaxed);
        }
        outcome
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.count(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts, the third of which would succeed, and what they give within this time.
    fn attempts(longest: Duration, failure: impl Fn() -> NotStarted) -> (u32, bool) {
        let mut count = 0;
        let outcome = try_again(longest, || {
            count += 1;
            if count == 3 { Ok(()) } else { Err(failure()) }
        });
        (count, outcome.is_ok())
    }

    #[test]
    fn a_host_that_is_absent_is_tried_until_it_is_back_or_its_time_is_over() {
        let absent = || NotStarted::NotReached("refused".to_owned());
        let lost = || NotStarted::Lost(Box::new(Loss::of_host("closed")));
        assert_eq!(attempts(Duration::MAX, absent), (3, true));
        assert_eq!(attempts(Duration::MAX, lost), (3, true));
        assert_eq!(attempts(Duration::ZERO, absent), (1, false));
        let refused = || NotStarted::NotLoaded("no FMU".to_owned());
        assert_eq!(attempts(Duration::MAX, refused), (1, false));
    }
}
