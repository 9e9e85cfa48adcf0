//! The way to the process of a component on a host.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gyrator_worker::isolated::{Link, Loss, Malformed, Request, pass_log_on};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use tonic::{Status, Streaming};

use super::connection::{Opener, words};
use crate::frame::Frame;
use crate::message::{self, FromHost};

/// The call of a loss that is none of the FMU's.
const ITS_HOST: &str = "its host";
/// Longest time to free an instance, if calls may take for ever.
const FREE_TIMEOUT: Duration = Duration::from_secs(10);
/// A process may be in no call for so long before the run gives it up, like the process of an isolated component.
const IDLE: Duration = Duration::from_secs(60);
/// Turns of the tasks of a connection in which a message is written, if the system takes it at once.
const TURNS: u32 = 64;

type Opening = Pin<Box<dyn Future<Output = Result<Streaming<Frame>, Status>> + Send>>;

/// Messages from the host: at first the answer that there is a stream.
enum Incoming {
    Opening(Opening),
    Open(Box<Streaming<Frame>>),
}

/// Why no further message comes.
pub(super) enum Ended {
    /// The host has said why, or the connection has failed.
    Refused(Status),
    /// It has given no sign of life.
    Lost(Box<Loss>),
}

/// The way to the process of a component on a host.
pub struct RemoteLink {
    address: String,
    outgoing: UnboundedSender<Frame>,
    incoming: Incoming,
    /// Bytes that were written to the connection.
    written: Arc<AtomicU64>,
    pub(super) longest_silence: Duration,
    /// For how long the host had given no sign of life when it was lost.
    silence: Duration,
    timeout: Option<Duration>,
    computing: Option<u64>,
    last_log: Option<String>,
    is_gone: bool,
    /// Drives the connection while this end sends or waits. Dropped last: the others belong to it.
    runtime: Runtime,
}

/// Calls of the FMU while a reply is waited for, as the host tells them.
struct Watch {
    since: Instant,
    calls: u64,
    call: Option<String>,
}

impl RemoteLink {
    pub(super) fn new(
        opener: &Opener,
        runtime: Runtime,
        outgoing: UnboundedSender<Frame>,
        opening: Opening,
        written: Arc<AtomicU64>,
    ) -> Self {
        Self {
            address: opener.address(),
            outgoing,
            incoming: Incoming::Opening(opening),
            written,
            longest_silence: opener.longest_silence(),
            silence: Duration::ZERO,
            timeout: opener.timeout,
            computing: None,
            last_log: None,
            is_gone: false,
            runtime,
        }
    }

    /// For how long the host had given no sign of life when it was lost.
    pub(super) const fn silence(&self) -> Duration {
        self.silence
    }

    /// Hands a frame to the connection, which writes it when it is [driven](Self::flush).
    pub(super) fn send(&self, frame: Frame) {
        // If the connection has failed, so will the reply.
        let _ = self.outgoing.send(frame);
    }

    /// Drives the connection until what was handed to it is written, or the system takes no more.
    pub(super) fn flush(&self) {
        let before = self.written.load(Ordering::Relaxed);
        self.runtime.block_on(async {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
                if self.written.load(Ordering::Relaxed) != before {
                    break;
                }
            }
        });
    }

    /// Waits for the next message, as long as there may be one.
    pub(super) fn next(&mut self) -> Result<Bytes, Ended> {
        let (incoming, longest) = (&mut self.incoming, self.longest_silence);
        let next = async {
            if let Incoming::Opening(opening) = incoming {
                *incoming = Incoming::Open(Box::new(opening.await?));
            }
            match incoming {
                Incoming::Open(frames) => frames.message().await,
                Incoming::Opening(_) => Ok(None),
            }
        };
        match self
            .runtime
            .block_on(async { timeout(longest, next).await })
        {
            Ok(Ok(Some(frame))) => Ok(frame.content),
            Ok(Ok(None)) => Err(Ended::Refused(Status::aborted(
                "it has closed the connection",
            ))),
            Ok(Err(status)) => Err(Ended::Refused(status)),
            Err(_) => {
                self.silence = longest;
                let silence = longest.as_secs_f64();
                let text = format!(
                    "no sign of life from host {} within {silence} s",
                    self.address
                );
                Err(Ended::Lost(Box::new(Loss::of_host(text))))
            }
        }
    }

    /// Passes lines of the FMU's log on.
    pub(super) fn note_log(&mut self, lines: &[u8]) {
        self.last_log = pass_log_on(lines).or(self.last_log.take());
    }

    /// A loss that the host has reported, with the last log line and the name of the host.
    pub(super) fn named(&self, loss: Loss) -> Loss {
        loss.on(&self.address).with_log(self.last_log.clone())
    }

    #[cold]
    fn lose(&mut self, text: &str, is_timeout: bool, call: &'static str) -> Box<Loss> {
        self.is_gone = true;
        let text = format!("host {}: {text}", self.address);
        let loss = Loss::reported(text, call, is_timeout);
        Box::new(loss.with_log(self.last_log.take()))
    }

    /// Waits for the reply.
    fn reply(&mut self, longest: usize, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        reply.clear();
        let mut watch = None;
        loop {
            let content = match self.next() {
                Ok(content) => content,
                Err(Ended::Refused(status)) => {
                    self.is_gone = true;
                    let text = format!("host {}: it is lost: {}", self.address, words(&status));
                    return Err(Box::new(Loss::of_host(text).with_log(self.last_log.take())));
                }
                Err(Ended::Lost(loss)) => {
                    self.is_gone = true;
                    return Err(Box::new(loss.with_log(self.last_log.take())));
                }
            };
            match FromHost::read(&content) {
                Ok(FromHost::Reply(nanoseconds, part)) if reply.len() + part.len() <= longest => {
                    reply.extend_from_slice(part);
                    self.computing = Some(nanoseconds);
                    return Ok(());
                }
                Ok(FromHost::ReplyPart(part)) if reply.len() + part.len() <= longest => {
                    reply.extend_from_slice(part);
                }
                Ok(FromHost::Log(lines)) => self.note_log(lines),
                Ok(FromHost::Progress(progress)) => self.watch(&mut watch, &progress)?,
                Ok(FromHost::Lost(bytes)) => {
                    let loss = Loss::decode(bytes);
                    let loss = loss.map_err(|malformed| self.lose_for(malformed))?;
                    self.is_gone = true;
                    return Err(Box::new(self.named(loss)));
                }
                _ => return Err(self.lose_for(Malformed)),
            }
        }
    }

    /// Gives up a host that lives, but lets a call take longer than it may.
    fn watch(
        &mut self,
        watch: &mut Option<Watch>,
        progress: &message::Progress<'_>,
    ) -> Result<(), Box<Loss>> {
        let call = progress.call.map(str::to_owned);
        match watch {
            Some(known) if known.calls == progress.calls && known.call == call => {
                let Some(limit) = self.timeout else {
                    return Ok(());
                };
                // The host ends the call itself, and may take a little longer.
                let limit = limit.saturating_add(self.longest_silence);
                let limit = if call.is_some() {
                    limit
                } else {
                    limit.max(IDLE)
                };
                if known.since.elapsed() < limit {
                    return Ok(());
                }
                let seconds = limit.as_secs_f64();
                let what = call.as_deref().unwrap_or("its process");
                let text = format!("no return from {what} within {seconds} s");
                Err(self.lose(&text, true, ITS_HOST))
            }
            _ => {
                *watch = Some(Watch {
                    since: Instant::now(),
                    calls: progress.calls,
                    call,
                });
                Ok(())
            }
        }
    }
}

impl Link for RemoteLink {
    fn post(&mut self, request: &Request) -> Result<(), Box<Loss>> {
        message::request(request.bytes(), |frame| self.send(frame));
        self.flush();
        Ok(())
    }

    fn receive(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        self.reply(request.longest_answer(), reply)
    }

    fn send_last(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        if self.is_gone {
            return Ok(());
        }
        self.timeout.get_or_insert(FREE_TIMEOUT);
        self.ask(request, reply)
    }

    #[cold]
    fn lose_for(&mut self, malformed: Malformed) -> Box<Loss> {
        self.lose(&malformed.to_string(), false, ITS_HOST)
    }

    fn computing(&self) -> Option<u64> {
        self.computing
    }
}
