//! Commands of the system that end in time, together with their output.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether the command has ended.
const INTERVAL: Duration = Duration::from_millis(5);

/// Most bytes that are kept of an output: a thousand messages of a compiler.
const OUTPUT: u64 = 1 << 20;

/// Most memory that a command may map, bytes: the optimiser of a C compiler takes 2 GiB for the
/// largest files that code generators write.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 8 << 30;

/// Largest file that a command may write, bytes.
#[cfg(target_os = "linux")]
const FILE: u64 = 2 << 30;

/// End of a command.
pub(crate) struct Output {
    pub(crate) success: bool,
    /// Beginning of the standard output.
    pub(crate) output: String,
    /// Beginning of the standard error.
    pub(crate) messages: String,
}

/// Runs a command, and ends it and all that it has started after `limit`.
///
/// # Errors
/// If it does not start; `TimedOut` if it took longer.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Output> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    restrict(&child, limit);
    let output = child.stdout.take().map(collect);
    let messages = child.stderr.take().map(collect);
    let ended = wait(&mut child, limit);
    // Also processes that it has left behind, which hold the ends of the pipes.
    end(&mut child);
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader
            .and_then(|reader| reader.join().ok())
            .unwrap_or_default()
    };
    let (output, messages) = (text(output), text(messages));
    Ok(Output {
        success: ended?,
        output,
        messages,
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if begin.elapsed() >= limit {
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(INTERVAL);
    }
}

/// Limits that hold for all processes of the command, also if this one ends before them.
#[cfg(target_os = "linux")]
fn restrict(child: &Child, limit: Duration) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(pid) = Pid::from_raw(child.id().cast_signed()) else {
        return;
    };
    let seconds = limit.as_secs().max(1);
    let limits = [
        (Resource::Cpu, seconds),
        (Resource::As, MEMORY),
        (Resource::Fsize, FILE),
        (Resource::Core, 0),
    ];
    for (resource, most) in limits {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // A stricter limit of the user's own stays.
        let _ = prlimit(Some(pid), resource, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict(_child: &Child, _limit: Duration) {}

#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Reads a pipe to its end and keeps the beginning.
fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = (&mut pipe).take(OUTPUT).read_to_end(&mut kept);
        let _ = io::copy(&mut pipe, &mut io::sink());
        String::from_utf8_lossy(&kept).into_owned()
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_messages_are_apart() {
        let output = run(
            &mut shell("echo out; echo error >&2; exit 3"),
            Duration::from_secs(60),
        );
        let output = output.unwrap();
        assert_eq!(
            (output.success, &*output.output, &*output.messages),
            (false, "out\n", "error\n")
        );
    }

    /// A grandchild that holds the pipes open would otherwise be waited for.
    #[test]
    fn all_that_was_started_ends_in_time() {
        let begin = Instant::now();
        let error = run(
            &mut shell("sleep 1000 & sleep 1000"),
            Duration::from_millis(50),
        )
        .err();
        assert_eq!(
            error.map(|error| error.kind()),
            Some(io::ErrorKind::TimedOut)
        );
        let output = run(&mut shell("sleep 1000 & exit 0"), Duration::from_secs(600)).unwrap();
        assert!(output.success);
        assert!(begin.elapsed() < Duration::from_secs(500));
    }
}
