//! Messages between two processes, with open files in them.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// Longest message, bytes.
pub const MAX_MESSAGE: usize = 4096;
/// Most open files in a message.
pub const MAX_FILES: usize = 4;

/// Pauses before a call is made again that found no memory, ms: a fifth of a second in all, in which the
/// system may end another program.
const PAUSES: [u64; 4] = [1, 10, 50, 150];

/// One end of a connection that keeps messages apart.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// Result of receiving from a [`Channel`].
#[derive(Debug)]
pub enum Received {
    /// A message, with the open files that came with it.
    Message(Vec<u8>, Vec<OwnedFd>),
    /// The other end is closed: its process has ended, or closed it.
    Closed,
}

impl Channel {
    /// Both ends.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(one), Self(other)))
    }

    /// An end that another process has handed over.
    pub const fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// The socket, for another process.
    pub fn into_socket(self) -> OwnedFd {
        self.0
    }

    /// Sends a message of at most [`MAX_MESSAGE`] bytes with at most [`MAX_FILES`] open files.
    ///
    /// # Errors
    /// If it is too long, or what the operating system says: the other end is closed.
    pub fn send(&self, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        if message.len() > MAX_MESSAGE || files.len() > MAX_FILES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let parts = [IoSlice::new(message)];
        let send = || rustix::net::sendmsg(&self.0, &parts, &mut control, SendFlags::NOSIGNAL);
        retry(send)?;
        Ok(())
    }

    /// Sends the first message to a worker. One that is dead already needs none: its status contains
    /// more.
    ///
    /// # Errors
    /// As [`Channel::send`]; the worker then waits for a message that never comes.
    pub(crate) fn send_first(&self, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let is_closed = |error: &io::Error| {
            let kind = error.kind();
            matches!(
                kind,
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            )
        };
        match self.send(message, files) {
            Err(error) if !is_closed(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn receive(&self) -> io::Result<Received> {
        let mut bytes = vec![0; MAX_MESSAGE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let receive =
            || rustix::net::recvmsg(&self.0, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC);
        let length = match retry(receive) {
            Ok(received) => received.bytes,
            Err(Errno::CONNRESET) => return Ok(Received::Closed),
            Err(error) => return Err(error.into()),
        };
        let mut files = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = part {
                files.extend(received);
            }
        }
        if length == 0 {
            return Ok(Received::Closed);
        }
        bytes.truncate(length);
        Ok(Received::Message(bytes, files))
    }
}

/// Makes a call again that a signal has cut short, and for a while one that found no memory: the
/// message is there still, and the rows of a crash depend on it.
fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    let mut pauses = PAUSES.map(Duration::from_millis).into_iter();
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Err(Errno::NOMEM | Errno::NOBUFS) if let Some(pause) = pauses.next() => {
                std::thread::sleep(pause);
            }
            result => return result,
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};

    use super::*;

    /// A worker that gets no message waits for ever, unless it is gone.
    #[test]
    fn r74_a_first_message_that_is_lost_is_an_error() {
        let (here, there) = Channel::pair().unwrap();
        let too_long = vec![0; MAX_MESSAGE + 1];
        assert!(here.send_first(&too_long, &[]).is_err());
        drop(there);
        assert!(here.send_first(b"run", &[]).is_ok());
        assert!(here.send(b"run", &[]).is_err());
    }

    #[test]
    fn messages_arrive_with_their_files() {
        let (here, there) = Channel::pair().unwrap();
        let mut file = tempfile();
        file.write_all(b"text").unwrap();
        here.send(b"hello", &[file.as_fd()]).unwrap();
        drop(here);
        let Received::Message(bytes, files) = there.receive().unwrap() else {
            panic!("no message");
        };
        assert_eq!(bytes, b"hello");
        let mut copy = std::fs::File::from(files.into_iter().next().unwrap());
        copy.rewind().unwrap();
        let mut text = String::new();
        copy.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        assert!(matches!(there.receive().unwrap(), Received::Closed));
    }

    #[test]
    fn r70_a_call_without_memory_is_made_again() {
        let after = |failures: Vec<Errno>| {
            let mut failures = failures.into_iter();
            retry(|| failures.next().map_or(Ok("message"), Err))
        };
        assert_eq!(after(vec![Errno::INTR; 100]), Ok("message"));
        assert_eq!(after(vec![Errno::NOMEM, Errno::NOBUFS]), Ok("message"));
        assert_eq!(after(vec![Errno::NOMEM; 4]), Ok("message"));
        assert_eq!(after(vec![Errno::NOMEM; 5]), Err(Errno::NOMEM));
        assert_eq!(after(vec![Errno::CONNRESET]), Err(Errno::CONNRESET));
    }

    #[test]
    fn too_long_messages_are_refused() {
        let (here, _there) = Channel::pair().unwrap();
        assert!(here.send(&[0; MAX_MESSAGE + 1], &[]).is_err());
    }

    fn tempfile() -> std::fs::File {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        rustix::fs::memfd_create("test", flags).unwrap().into()
    }
}
