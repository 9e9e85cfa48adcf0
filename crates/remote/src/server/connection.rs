//! One connection: its turn, TLS, HTTP/2, and the token of the stream on it.

use std::convert::Infallible;
use std::future::{Future as _, Ready};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response, Status, Streaming};

use super::admission::{Applicant, LONGEST_HANDSHAKE, Place, Progress};
use super::{Permit, SPARE_CONNECTIONS, Shared, session};
use crate::frame::{Frame, Frames, LONGEST};
use crate::{LONGEST_HEADERS, METHOD, WINDOW};

/// A run whose machine is gone is noticed by the system: probes after this long without a packet, in this distance, and
/// so many without an answer.
const PROBE_AFTER: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Serves a connection until it is closed.
pub(super) fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    applicant: Applicant,
    shared: &Arc<Shared>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let place = Arc::new(Place::new(applicant));
    match runtime {
        Ok(runtime) => {
            let mut stop = shared.stop.subscribe();
            let accepted = runtime.block_on(async {
                let mut accept = std::pin::pin!(accept(stream, peer, &place, shared));
                let mut stopped = std::pin::pin!(stop.changed());
                std::future::poll_fn(|context| match accept.as_mut().poll(context) {
                    Poll::Pending => stopped.as_mut().poll(context).map(|_| Ok(())),
                    ended => ended,
                })
                .await
            });
            if let Err(error) = accepted {
                shared.note(&format!("{peer}: refused: {error}"));
            }
            // A thread may wait for an FMU still, which is about to be ended.
            runtime.shutdown_background();
        }
        Err(error) => shared.note(&format!("{peer}: refused: {error}")),
    }
}

async fn accept(
    stream: TcpStream,
    peer: SocketAddr,
    place: &Arc<Place>,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    if !place.turn().await {
        let text = "other connections of this address have not shown a token yet";
        return Err(io::Error::other(text));
    }
    let deadline = Instant::now() + LONGEST_HANDSHAKE;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, PROBE_AFTER)?;
    sockopt::set_tcp_keepintvl(&stream, PROBE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&stream, PROBES)?;
    let stream = tokio::net::TcpStream::from_std(stream)?;
    let Some(acceptor) = &shared.acceptor else {
        return converse(stream, peer, place, deadline, shared).await;
    };
    let shaken = timeout_at(deadline, acceptor.accept(stream)).await;
    let stream = shaken.map_err(|_| io::Error::other("no TLS within 5 s"))??;
    converse(stream, peer, place, deadline, shared).await
}

/// Speaks HTTP/2.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    place: &Arc<Place>,
    deadline: Instant,
    shared: &Arc<Shared>,
) -> io::Result<()> {
    let service = {
        let (shared, place) = (Arc::clone(shared), Arc::clone(place));
        hyper::service::service_fn(move |request| {
            let (shared, place) = (Arc::clone(&shared), Arc::clone(&place));
            async move { Ok::<_, Infallible>(answer(request, peer, &place, shared).await) }
        })
    };
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(1)
        .max_header_list_size(LONGEST_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let first = timeout_at(deadline, connection.as_mut()).await;
    let ended = match first {
        Ok(ended) => ended,
        Err(_) => match place.progress() {
            Progress::Admitted => connection.await,
            Progress::Refused => return Ok(()),
            Progress::Applies => return Err(io::Error::other("no request within 5 s")),
        },
    };
    // The session has noted its end, or the refusal is noted; the end of the connection says no more.
    match ended {
        Err(error) if place.progress() == Progress::Applies => Err(io::Error::other(error)),
        _ => Ok(()),
    }
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
    peer: SocketAddr,
    place: &Place,
    shared: Arc<Shared>,
) -> http::Response<tonic::body::Body> {
    if let Err(status) = admit(&request, place, &shared) {
        place.refuse();
        shared.note(&format!("{peer}: refused: {}", status.message()));
        return status.into_http();
    }
    let mut grpc = Grpc::new(Frames).max_decoding_message_size(LONGEST);
    grpc.streaming(Component { peer, shared }, request).await
}

/// Checks the method and the token, and gives the connection its place.
fn admit<B>(request: &http::Request<B>, place: &Place, shared: &Arc<Shared>) -> Result<(), Status> {
    let token = request.headers().get(http::header::AUTHORIZATION);
    let token = token.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| Status::unauthenticated("there is no token"))?;
    if !shared.tokens.admit(token) {
        return Err(Status::unauthenticated("the token is not one of this host"));
    }
    if request.uri().path() != METHOD {
        return Err(Status::unimplemented("there is no such method"));
    }
    place.admit(|| {
        let most = shared.options.components + SPARE_CONNECTIONS;
        let permit = Permit::new(shared, |shared| &shared.connections, most);
        permit
            .ok_or_else(|| Status::resource_exhausted(format!("this host has {most} connections")))
    })
}

/// The service of one stream.
struct Component {
    peer: SocketAddr,
    shared: Arc<Shared>,
}

impl StreamingService<Frame> for Component {
    type Response = Frame;
    type ResponseStream = UnboundedReceiverStream<Result<Frame, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<Frame>>) -> Self::Future {
        let (sender, receiver) = mpsc::unbounded_channel();
        let session = session::run(
            request.into_inner(),
            sender,
            self.peer,
            Arc::clone(&self.shared),
        );
        tokio::spawn(session);
        std::future::ready(Ok(Response::new(UnboundedReceiverStream::new(receiver))))
    }
}
