//! The end of the connection at the server.

use std::io::{self, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::live::command::Command;
use crate::live::events::Events;
use crate::live::lines;

/// Longest time that a command waits for a run that takes none.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

/// A run, as the server sees it: a thread publishes its messages.
pub(crate) struct ServerEnd {
    commands: Mutex<UnixStream>,
    /// Closed when the run's end of the connection is.
    ended: Mutex<Receiver<()>>,
}

impl ServerEnd {
    /// Publishes the messages that come.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn start(stream: UnixStream, events: Arc<Events>) -> io::Result<Self> {
        let commands = stream.try_clone()?;
        commands.set_write_timeout(Some(COMMAND_TIMEOUT))?;
        let (done, ended) = mpsc::channel();
        let work = move || {
            publish(stream, &events);
            drop(done);
        };
        thread::Builder::new()
            .name("live messages".to_owned())
            .spawn(work)?;
        Ok(Self {
            commands: Mutex::new(commands),
            ended: Mutex::new(ended),
        })
    }

    /// Passes a command on.
    ///
    /// # Errors
    /// The run has ended, or takes nothing.
    pub(crate) fn send(&self, command: &Command) -> io::Result<()> {
        let mut stream = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        lines::write(&mut *stream, command)
    }

    /// Waits, for a while, until all messages of a run that has ended are published. A process that an FMU has left may
    /// hold its end.
    pub(crate) fn wait(&self, timeout: Duration) {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(timeout);
    }
}

fn publish(stream: impl Read, events: &Events) {
    let (mut stream, mut line) = (BufReader::new(stream), Vec::new());
    while !events.has_ended() && matches!(lines::read(&mut stream, &mut line), Ok(true)) {
        // A line that is not a message comes from an FMU that has found the connection.
        if let Ok(message) = serde_json::from_slice(&line) {
            events.publish(message);
        }
    }
}
