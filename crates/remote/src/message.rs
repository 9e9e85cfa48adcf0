//! Messages between a run and a host: a kind, one byte, and its contents. Messages that come once are written by
//! postcard; requests and replies are the bytes of an [isolated](gyrator_worker::isolated) component's.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use gyrator_worker::isolated::{self, Loss, Malformed, Request};
use prost::Message as _;
use serde::{Deserialize, Serialize};

use crate::frame::{Frame, PART};

/// Longest names of a component and of an FMU, bytes.
pub(crate) const LONGEST_NAME: usize = 4096;

const HELLO: u8 = 1;
const UPLOAD: u8 = 2;
const REQUEST_PART: u8 = 3;
const REQUEST: u8 = 4;

const WELCOME: u8 = 1;
const WANTED: u8 = 2;
const REPLY_PART: u8 = 3;
const REPLY: u8 = 4;
const LOG: u8 = 5;
const PROGRESS: u8 = 6;
const LOST: u8 = 7;

/// SHA-256 of an FMU.
pub type Hash = [u8; 32];

/// First message of a run: the FMU that it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hello<'a> {
    pub(crate) protocol: u32,
    /// Version of the program.
    pub(crate) version: &'a str,
    pub(crate) component: &'a str,
    /// File of the FMU, in the folder of the host.
    pub(crate) fmu: &'a str,
    pub(crate) hash: Hash,
    /// Bytes of the FMU.
    pub(crate) size: u64,
    /// Whether the run sends the FMU if the host does not have it.
    pub(crate) upload: bool,
    /// Whether the FMU logs all that it can.
    pub(crate) logging: bool,
    /// Longest time of one call.
    pub(crate) timeout: Option<Duration>,
    /// Interval of signs of life.
    pub(crate) keep_alive: Duration,
}

/// The host is about to load the FMU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Welcome<'a> {
    pub(crate) version: &'a str,
}

/// Sign of life while a reply is waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress<'a> {
    /// Calls and returns so far.
    pub(crate) calls: u64,
    /// The call in which the FMU is.
    pub(crate) call: Option<&'a str>,
}

/// A message to a host.
#[derive(Debug, PartialEq)]
pub(crate) enum ToHost<'a> {
    Hello(Hello<'a>),
    /// The next bytes of the FMU.
    Upload(&'a [u8]),
    /// The begin of a request, or what follows it.
    RequestPart(&'a [u8]),
    /// The end of a request, or all of it.
    Request(&'a [u8]),
}

/// A message to a run.
#[derive(Debug, PartialEq)]
pub(crate) enum FromHost<'a> {
    Welcome(Welcome<'a>),
    /// The FMU is wanted.
    Wanted,
    ReplyPart(&'a [u8]),
    /// The end of a reply, or all of it, and how long the process took for it, ns.
    Reply(u64, &'a [u8]),
    /// Lines of the FMU's log.
    Log(&'a [u8]),
    Progress(Progress<'a>),
    /// The process of the FMU is lost.
    Lost(&'a [u8]),
}

fn of_postcard(kind: u8, message: &impl Serialize) -> Frame {
    let mut content = vec![kind];
    // It fails for values of unknown length only, which no message has.
    if let Ok(bytes) = postcard::to_extend(message, content.clone()) {
        content = bytes;
    }
    Frame {
        content: content.into(),
    }
}

fn of_bytes(kind: u8, bytes: &[u8]) -> Frame {
    let mut content = BytesMut::with_capacity(1 + bytes.len());
    content.put_u8(kind);
    content.put_slice(bytes);
    Frame {
        content: content.freeze(),
    }
}

fn postcard<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Malformed> {
    let (message, rest) = postcard::take_from_bytes(bytes).map_err(|_| Malformed)?;
    rest.is_empty().then_some(message).ok_or(Malformed)
}

/// Gives the parts of a message to `send`, the last one by another kind.
fn in_parts(bytes: &[u8], mut send: impl FnMut(bool, &[u8])) {
    let (mut rest, mut is_last) = (bytes, bytes.len() <= PART);
    while !is_last {
        let (part, more) = rest.split_at(PART);
        send(false, part);
        (rest, is_last) = (more, more.len() <= PART);
    }
    send(true, rest);
}

pub(crate) fn hello(hello: &Hello<'_>) -> Frame {
    of_postcard(HELLO, hello)
}

pub(crate) fn upload(part: &[u8]) -> Frame {
    of_bytes(UPLOAD, part)
}

/// The frames of a request.
pub(crate) fn request(bytes: &[u8], mut send: impl FnMut(Frame)) {
    in_parts(bytes, |is_last, part| {
        send(of_bytes(if is_last { REQUEST } else { REQUEST_PART }, part));
    });
}

pub(crate) fn welcome() -> Frame {
    let version = crate::VERSION;
    of_postcard(WELCOME, &Welcome { version })
}

pub(crate) fn wanted() -> Frame {
    of_bytes(WANTED, &[])
}

/// The frames of a reply.
pub(crate) fn reply(bytes: &[u8], nanoseconds: u64, mut send: impl FnMut(Frame)) {
    in_parts(bytes, |is_last, part| {
        if !is_last {
            return send(of_bytes(REPLY_PART, part));
        }
        let mut content = BytesMut::with_capacity(9 + part.len());
        content.put_u8(REPLY);
        content.put_u64_le(nanoseconds);
        content.put_slice(part);
        send(Frame {
            content: content.freeze(),
        });
    });
}

pub(crate) fn log(lines: &[u8]) -> Frame {
    of_bytes(LOG, lines)
}

pub(crate) fn progress(progress: &Progress<'_>) -> Frame {
    of_postcard(PROGRESS, progress)
}

pub(crate) fn lost(loss: &Loss) -> Frame {
    of_bytes(LOST, &loss.encode())
}

impl<'a> ToHost<'a> {
    pub(crate) fn read(content: &'a Bytes) -> Result<Self, Malformed> {
        let (kind, rest) = content.split_first().ok_or(Malformed)?;
        Ok(match *kind {
            HELLO => {
                let hello: Hello<'_> = postcard(rest)?;
                let is_short = |text: &str| text.len() <= LONGEST_NAME;
                if !is_short(hello.component) || !is_short(hello.fmu) || !is_short(hello.version) {
                    return Err(Malformed);
                }
                Self::Hello(hello)
            }
            UPLOAD if rest.len() <= PART => Self::Upload(rest),
            REQUEST_PART if rest.len() == PART => Self::RequestPart(rest),
            REQUEST if rest.len() <= PART => Self::Request(rest),
            _ => return Err(Malformed),
        })
    }
}

impl<'a> FromHost<'a> {
    pub(crate) fn read(content: &'a Bytes) -> Result<Self, Malformed> {
        let (kind, rest) = content.split_first().ok_or(Malformed)?;
        Ok(match *kind {
            WELCOME => Self::Welcome(postcard(rest)?),
            WANTED if rest.is_empty() => Self::Wanted,
            REPLY_PART if rest.len() == PART => Self::ReplyPart(rest),
            REPLY => {
                let (nanoseconds, rest) = rest.split_first_chunk().ok_or(Malformed)?;
                if rest.len() > PART {
                    return Err(Malformed);
                }
                Self::Reply(u64::from_le_bytes(*nanoseconds), rest)
            }
            LOG => Self::Log(rest),
            PROGRESS => Self::Progress(postcard(rest)?),
            LOST => Self::Lost(rest),
            _ => return Err(Malformed),
        })
    }
}

/// The path of a name, if it stays in the folder: names of folders and a file, and nothing else.
pub(crate) fn path_in_folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let is_plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let is_named = !name.is_empty() && !name.ends_with('/') && !name.contains('\0');
    (is_plain && is_named).then(|| path.to_owned())
}

/// Reads a frame as a host does, and the request in it as one that is passed on to a process. Returns the path that an
/// FMU has in the folder of the host.
///
/// # Errors
/// If the bytes are none.
pub fn check_to_host(bytes: &[u8]) -> Result<Option<PathBuf>, Malformed> {
    let frame = Frame::decode(bytes).map_err(|_| Malformed)?;
    match ToHost::read(&frame.content)? {
        ToHost::Request(request) => Request::default().receive(request).map(|()| None),
        ToHost::Hello(hello) => Ok(path_in_folder(hello.fmu)),
        ToHost::Upload(_) | ToHost::RequestPart(_) => Ok(None),
    }
}

/// Reads a frame as a run does, with all that it uses of it.
///
/// # Errors
/// If the bytes are none.
pub fn check_from_host(bytes: &[u8]) -> Result<(), Malformed> {
    let frame = Frame::decode(bytes).map_err(|_| Malformed)?;
    match FromHost::read(&frame.content)? {
        FromHost::Reply(_, reply) => isolated::check_reply(reply).map(drop),
        FromHost::Lost(loss) => Loss::decode(loss).map(drop),
        FromHost::Log(lines) => {
            isolated::pass_log_on(lines);
            Ok(())
        }
        FromHost::Welcome(_)
        | FromHost::Wanted
        | FromHost::ReplyPart(_)
        | FromHost::Progress(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn example<'a>(text: &'a str, hash: Hash) -> Hello<'a> {
        Hello {
            protocol: 1,
            version: text,
            component: text,
            fmu: text,
            hash,
            size: 7,
            upload: true,
            logging: false,
            timeout: Some(Duration::from_millis(5)),
            keep_alive: Duration::from_secs(1),
        }
    }

    #[test]
    fn long_messages_arrive_in_parts() {
        for length in [0, 1, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 1] {
            let bytes: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let mut frames = Vec::new();
            request(&bytes, |frame| frames.push(frame));
            let mut read = Vec::new();
            for (index, frame) in frames.iter().enumerate() {
                let is_last = index + 1 == frames.len();
                assert!(frame.encoded_len() <= crate::frame::LONGEST);
                match ToHost::read(&frame.content).unwrap() {
                    ToHost::RequestPart(part) if !is_last => read.extend_from_slice(part),
                    ToHost::Request(part) if is_last => read.extend_from_slice(part),
                    other => panic!("{other:?}"),
                }
            }
            assert!(read == bytes, "{length}");
            read.clear();
            reply(&bytes, 12, |frame| {
                match FromHost::read(&frame.content).unwrap() {
                    FromHost::ReplyPart(part) => read.extend_from_slice(part),
                    FromHost::Reply(12, part) => read.extend_from_slice(part),
                    other => panic!("{other:?}"),
                }
            });
            assert!(read == bytes, "{length}");
        }
    }

    #[test]
    fn a_loss_arrives_in_its_words() {
        let loss = Loss::reported("no return within 1 s", "fmi2DoStep", true);
        let frame = lost(&loss);
        let Ok(FromHost::Lost(bytes)) = FromHost::read(&frame.content) else {
            panic!("no loss");
        };
        let read = Loss::decode(bytes).unwrap();
        assert_eq!(
            (read.sentence(), read.call()),
            (loss.sentence(), "fmi2DoStep")
        );
        assert!(read.is_timeout());
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_is_read(text in ".{0,20}", hash in any::<Hash>()) {
            let sent = example(&text, hash);
            let frame = hello(&sent);
            prop_assert_eq!(ToHost::read(&frame.content), Ok(ToHost::Hello(sent)));
            prop_assert!(check_to_host(&frame.encode_to_vec()).is_ok());
            let sent = Progress { calls: 3, call: Some(&text) };
            let frame = progress(&sent);
            prop_assert_eq!(FromHost::read(&frame.content), Ok(FromHost::Progress(sent)));
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            place in any::<prop::sample::Index>(),
        ) {
            let _ = check_to_host(&bytes);
            let _ = check_from_host(&bytes);
            for frame in [hello(&example("text", [1; 32])), welcome(), lost(&Loss::reported("a", "b", false))] {
                let mut sent = frame.encode_to_vec();
                let start = place.index(sent.len());
                for (old, new) in sent[start..].iter_mut().zip(&bytes) {
                    *old = *new;
                }
                let _ = check_to_host(&sent);
                let _ = check_from_host(&sent);
                let _ = check_to_host(&sent[..start]);
                let _ = check_from_host(&sent[..start]);
            }
        }
    }
}
