//! One component: finds its FMU, starts its process, and passes messages on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gyrator_fmu::{Fmu, LONGEST_STATE, OpenOptions};
use gyrator_worker::isolated::{
    Loss, Malformed, NotStarted, Progress, Request, ServedFmu, ServedProcess,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::store::{FmuRequest, Place, Refusal};
use super::{Permit, Shared};
use crate::frame::Frame;
use crate::message::{self, ToHost};
use crate::{PROTOCOL, VERSION};

/// Time for the first message, and between two parts of an FMU that is sent.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Signs of life for each interval of keep-alive, and the shortest and longest distance between them.
const SIGNS: u32 = 3;
const DISTANCES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(60));
/// Longest request, bytes: a state, and some million numbers.
const LONGEST_REQUEST: usize = LONGEST_STATE + (1 << 26);

/// Why a session ends.
enum EndReason {
    /// The run has closed it.
    Closed,
    /// The run is refused.
    Refused(Status),
    /// The process was lost.
    Lost(Box<Loss>),
}

impl From<Status> for EndReason {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

impl From<Malformed> for EndReason {
    fn from(_: Malformed) -> Self {
        Self::Refused(Status::invalid_argument("a message is malformed"))
    }
}

impl From<Refusal> for EndReason {
    fn from(refusal: Refusal) -> Self {
        let text = refusal.to_string();
        Self::Refused(match refusal {
            Refusal::System(..) => Status::internal(text),
            Refusal::OtherFile { .. } => Status::failed_precondition(text),
            _ => Status::permission_denied(text),
        })
    }
}

/// Ends the process of the FMU when the session is over, whatever it does.
struct ProcessGuard(Arc<AtomicBool>);

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The run at the other end.
struct RunStream {
    incoming: Streaming<Frame>,
    outgoing: UnboundedSender<Result<Frame, Status>>,
    /// Distance between signs of life.
    distance: Duration,
}

/// The request of a run.
struct Order {
    component: String,
    wish: FmuRequest,
    logging: bool,
    timeout: Option<Duration>,
}

/// Serves a component until its run ends.
pub(super) async fn run(
    incoming: Streaming<Frame>,
    outgoing: UnboundedSender<Result<Frame, Status>>,
    peer: SocketAddr,
    shared: Arc<Shared>,
) {
    let mut talk = RunStream {
        incoming,
        outgoing,
        distance: Duration::from_secs(1),
    };
    let mut ending = SessionEnd {
        shared: Arc::clone(&shared),
        who: peer.to_string(),
        how: "ended".to_owned(),
    };
    match serve(&mut talk, &shared, &mut ending.who).await {
        Err(EndReason::Refused(status)) => {
            ending.how = format!("refused: {}", status.message());
            let _ = talk.outgoing.send(Err(status));
        }
        Err(EndReason::Lost(loss)) => {
            ending.how = format!("lost: {}", loss.sentence());
            let _ = talk.outgoing.send(Ok(message::lost(&loss)));
        }
        Err(EndReason::Closed) | Ok(()) => {}
    }
}

/// Notes the end of a session, also if its connection is gone.
struct SessionEnd {
    shared: Arc<Shared>,
    who: String,
    how: String,
}

impl Drop for SessionEnd {
    fn drop(&mut self) {
        self.shared.note(&format!("{}: {}", self.who, self.how));
    }
}

async fn serve(
    talk: &mut RunStream,
    shared: &Arc<Shared>,
    who: &mut String,
) -> Result<(), EndReason> {
    let order = talk.first().await?;
    *who = format!("{who}: `{}`", order.component);
    let most = shared.options.components;
    let permit = Permit::new(shared, |shared| &shared.components, most);
    let permit = permit.ok_or_else(|| {
        Status::resource_exhausted(format!(
            "this host runs as many components as it may already ({most})"
        ))
    })?;
    let place = {
        let (shared, wish) = (Arc::clone(shared), order.wish.clone());
        let find = move || shared.store.find(&wish);
        talk.while_alive(None, find).await??
    };
    let path = match place {
        Place::Here(path) => path,
        Place::Wanted => talk.receive_fmu(shared, &order.wish).await?,
    };
    let abandoned = Arc::new(AtomicBool::new(false));
    let _abandon = ProcessGuard(Arc::clone(&abandoned));
    let process = {
        let (component, logging) = (order.component.clone(), order.logging);
        let limits = (
            least(order.timeout, shared.options.timeout),
            shared.options.memory_limit,
            shared.options.cache.clone(),
        );
        let components = permit.number;
        let start = move || start(&path, &component, logging, limits, components, &abandoned);
        talk.while_alive(None, start).await?
    };
    let process = process.map_err(|error| match error {
        NotStarted::NotLoaded(message) | NotStarted::NotReached(message) => {
            EndReason::Refused(Status::failed_precondition(message))
        }
        NotStarted::Lost(loss) => EndReason::Lost(loss),
    })?;
    shared.note(&format!("{who}: started {}", order.wish.name));
    let mut process = process;
    talk.send_log(&mut process)?;
    talk.send(message::welcome())?;
    talk.pass_on(process).await
}

fn least(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Starts the process of an FMU. The archive is looked at before, with the usual limits: it may have been sent.
fn start(
    path: &Path,
    component: &str,
    logging: bool,
    (timeout, memory_limit, cache): (Option<Duration>, Option<u64>, Option<PathBuf>),
    components: usize,
    abandoned: &Arc<AtomicBool>,
) -> Result<ServedProcess, NotStarted> {
    let options = OpenOptions {
        cache,
        ..OpenOptions::default()
    };
    let opened = Fmu::open_with(path, &options);
    let fmu = opened.map_err(|error| NotStarted::NotLoaded(error.to_string()))?;
    ServedProcess::start(&ServedFmu {
        path,
        component,
        logging,
        options: fmu.options(),
        timeout,
        memory_limit,
        components,
        abandoned,
    })
}

impl RunStream {
    fn send(&self, frame: Frame) -> Result<(), EndReason> {
        let sent = self.outgoing.send(Ok(frame));
        sent.map_err(|_| EndReason::Closed)
    }

    /// The next frame; a run that is gone has closed.
    async fn next(&mut self) -> Result<Bytes, EndReason> {
        match self.incoming.message().await {
            Ok(Some(frame)) => Ok(frame.content),
            Ok(None) => Err(EndReason::Closed),
            Err(status) if status.code() == tonic::Code::InvalidArgument => Err(status.into()),
            Err(_) => Err(EndReason::Closed),
        }
    }

    /// The next frame, which has to come soon.
    async fn next_soon(&mut self) -> Result<Bytes, EndReason> {
        let late = |_| Status::deadline_exceeded("the run is silent");
        timeout(TIMEOUT, self.next()).await.map_err(late)?
    }

    /// The first message.
    async fn first(&mut self) -> Result<Order, EndReason> {
        let content = self.next_soon().await?;
        let ToHost::Hello(hello) = ToHost::read(&content)? else {
            return Err(Malformed.into());
        };
        if (hello.protocol, hello.version) != (PROTOCOL, VERSION) {
            let text = format!(
                "this host is gyrator {VERSION}, and the run is gyrator {}; both need the same version",
                hello.version
            );
            return Err(Status::failed_precondition(text).into());
        }
        let distance = hello.keep_alive / SIGNS;
        self.distance = distance.clamp(DISTANCES.0, DISTANCES.1);
        Ok(Order {
            component: hello.component.to_owned(),
            wish: FmuRequest {
                name: hello.fmu.to_owned(),
                hash: hello.hash,
                size: hello.size,
                upload: hello.upload,
            },
            logging: hello.logging,
            timeout: hello.timeout,
        })
    }

    async fn receive_fmu(
        &mut self,
        shared: &Shared,
        wish: &FmuRequest,
    ) -> Result<PathBuf, EndReason> {
        let failed = |error| EndReason::from(Refusal::System(wish.name.clone(), error));
        let mut arriving = shared.store.begin().map_err(failed)?;
        self.send(message::wanted())?;
        loop {
            let content = self.next_soon().await?;
            let ToHost::Upload(part) = ToHost::read(&content)? else {
                return Err(Malformed.into());
            };
            if arriving.add(part, wish.size).map_err(failed)? {
                return Ok(shared.store.take(arriving, wish)?);
            }
            if part.is_empty() {
                return Err(Refusal::Altered(wish.name.clone()).into());
            }
        }
    }

    /// Does work that may take long in another thread, and gives signs of life meanwhile.
    async fn while_alive<T: Send + 'static>(
        &mut self,
        progress: Option<&Progress>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EndReason> {
        let mut work = tokio::task::spawn_blocking(work);
        loop {
            match timeout(self.distance, &mut work).await {
                Ok(done) => {
                    return done.map_err(|error| Status::internal(error.to_string()).into());
                }
                Err(_) => {
                    let (calls, call) = progress.map_or((0, None), Progress::read);
                    self.send(message::progress(&message::Progress { calls, call }))?;
                }
            }
        }
    }

    fn send_log(&self, process: &mut ServedProcess) -> Result<(), EndReason> {
        let lines = process.take_log();
        if lines.is_empty() {
            return Ok(());
        }
        self.send(message::log(&lines))
    }

    /// The next request.
    async fn request(&mut self, request: &mut Request) -> Result<(), EndReason> {
        let mut parts = Vec::new();
        loop {
            let content = self.next().await?;
            match ToHost::read(&content)? {
                ToHost::RequestPart(part) if parts.len() + part.len() <= LONGEST_REQUEST => {
                    parts.extend_from_slice(part);
                }
                ToHost::Request(part) if parts.is_empty() => return Ok(request.receive(part)?),
                ToHost::Request(part) => {
                    parts.extend_from_slice(part);
                    return Ok(request.receive(&parts)?);
                }
                _ => return Err(Malformed.into()),
            }
        }
    }

    /// Passes requests on to the process, and its replies back.
    async fn pass_on(&mut self, mut process: ServedProcess) -> Result<(), EndReason> {
        let progress = process.progress();
        let (mut request, mut reply) = (Request::default(), Vec::new());
        loop {
            self.request(&mut request).await?;
            let begin = Instant::now();
            let lost = EndReason::Lost;
            let received = match process.post(&request) {
                Ok(()) if process.has_reply() => process.receive(&request, &mut reply),
                Ok(()) => {
                    let mut memory = std::mem::take(&mut reply);
                    let asked = std::mem::take(&mut request);
                    let wait = move || {
                        let received = process.receive(&asked, &mut memory);
                        (process, asked, memory, received)
                    };
                    let waited = self.while_alive(Some(&progress), wait).await?;
                    let received;
                    (process, request, reply, received) = waited;
                    received
                }
                Err(loss) => Err(loss),
            };
            let nanoseconds = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.send_log(&mut process)?;
            received.map_err(lost)?;
            let mut sent = Ok(());
            message::reply(&reply, nanoseconds, |frame| {
                if sent.is_ok() {
                    sent = self.send(frame);
                }
            });
            sent?;
        }
    }
}
