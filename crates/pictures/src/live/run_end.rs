//! The end of the connection at the run.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::live::command::Command;
use crate::live::lines;
use crate::live::message::{Begin, End, Message, Signal};
use crate::live::signal_sink::{SignalSink, Signals};

/// Between two looks at the signals: the least time that a point stands for when a run is slow.
const TICK: Duration = Duration::from_millis(25);

/// Ticks between two reports and drawings: 2.5 a second.
const TICKS_OF_STATE: u32 = 16;

/// Longest time that the end of a run waits for its last message to be taken.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The page of a run, as the run sees it. A thread of its own writes what there is to say; the thread that steps looks at
/// two flags.
pub struct RunEnd {
    notes: Sender<Note>,
    commands: Receiver<Command>,
    signs: Arc<Signs>,
    /// The signals of the sink that was made last.
    signals: Option<Receiver<Signals>>,
    /// Closed when the thread has written everything.
    written: Receiver<()>,
}

#[derive(Default)]
struct Signs {
    has_command: AtomicBool,
    wants_state: AtomicBool,
    wants_signals: Arc<AtomicBool>,
}

/// Something for the thread that writes.
enum Note {
    Begin(Box<Begin>, Signals),
    Message(Box<dyn FnOnce() -> Message + Send>),
}

impl RunEnd {
    /// Joins the run to its page: `input` has the commands, `output` takes the messages.
    ///
    /// # Errors
    /// There can be no thread.
    pub fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let signs = Arc::new(Signs::default());
        let (notes, to_write) = mpsc::channel();
        let (commands, taken) = mpsc::channel();
        let (done, written) = mpsc::channel();
        let (writing, reading) = (Arc::clone(&signs), Arc::clone(&signs));
        let write = move || {
            Writer::new(output, writing).work(&to_write);
            drop(done);
        };
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("live").spawn(write)?;
        named("live commands").spawn(move || read_commands(input, &commands, &reading))?;
        Ok(Self {
            notes,
            commands: taken,
            signs,
            signals: None,
            written,
        })
    }

    /// A sink for the rows of the run; `period`: simulated time at its start and its end, s.
    pub fn sink(&mut self, period: Option<(f64, f64)>) -> SignalSink {
        let (start, signals) = mpsc::channel();
        self.signals = Some(signals);
        SignalSink::new(start, period, Arc::clone(&self.signs.wants_signals))
    }

    /// Says what the run is. The signals come from the [sink](Self::sink), whose columns are known by now.
    pub fn begin(&mut self, mut begin: Begin) {
        let Some(signals) = self
            .signals
            .take()
            .and_then(|signals| signals.try_recv().ok())
        else {
            self.say(Message::Begin(begin));
            return;
        };
        let columns = signals.columns.iter();
        let signal = columns.map(|column| Signal {
            name: column.name.clone(),
            unit: column.unit.clone(),
        });
        begin.signals = signal.collect();
        begin.left_out = signals.left_out;
        let _ = self.notes.send(Note::Begin(Box::new(begin), signals));
    }

    /// Says something.
    pub fn say(&self, message: Message) {
        self.say_made(move || message);
    }

    /// Says something that the thread makes which writes it.
    pub fn say_made(&self, message: impl FnOnce() -> Message + Send + 'static) {
        // If the thread has ended, the run has.
        let _ = self.notes.send(Note::Message(Box::new(message)));
    }

    /// The next command of a page.
    #[inline]
    pub fn command(&self) -> Option<Command> {
        if !self.signs.has_command.load(Ordering::Relaxed) {
            return None;
        }
        self.commands.try_recv().ok().or_else(|| {
            // One that comes now sets it again.
            self.signs.has_command.store(false, Ordering::SeqCst);
            self.commands.try_recv().ok()
        })
    }

    /// Waits for the next command of a page, for a while.
    pub fn wait_for_command(&self, timeout: Duration) -> Option<Command> {
        self.commands.recv_timeout(timeout).ok()
    }

    /// Whether the page wants to know how the run stands; once for each time that it does.
    #[inline]
    pub fn wants_state(&self) -> bool {
        let wants = &self.signs.wants_state;
        wants.load(Ordering::Relaxed) && wants.swap(false, Ordering::Relaxed)
    }

    /// Says how the run has ended, and waits a while until that is taken.
    pub fn finish(&self, end: End) {
        self.say(Message::End(end));
        // A page that takes nothing keeps no run from ending.
        let _ = self.written.recv_timeout(TIMEOUT);
    }
}

/// The thread that writes.
struct Writer<W> {
    output: W,
    signs: Arc<Signs>,
    signals: Option<Signals>,
    /// The other end has gone.
    is_closed: bool,
}

impl<W: Write> Writer<W> {
    fn new(output: W, signs: Arc<Signs>) -> Self {
        Self {
            output,
            signs,
            signals: None,
            is_closed: false,
        }
    }

    fn work(mut self, notes: &Receiver<Note>) {
        let mut next_tick = Instant::now() + TICK;
        let mut ticks = 0;
        loop {
            let left = next_tick.saturating_duration_since(Instant::now());
            match notes.recv_timeout(left) {
                Ok(Note::Begin(begin, signals)) => {
                    self.write(&Message::Begin(*begin));
                    self.signals = Some(signals);
                }
                Ok(Note::Message(message)) => {
                    let message = message();
                    if matches!(message, Message::End(_)) {
                        self.write_points();
                        return self.write(&message);
                    }
                    self.write(&message);
                }
                Err(RecvTimeoutError::Timeout) => {
                    next_tick = Instant::now() + TICK;
                    self.write_points();
                    self.signs.wants_signals.store(true, Ordering::Relaxed);
                    if ticks % TICKS_OF_STATE == 0 {
                        self.signs.wants_state.store(true, Ordering::Relaxed);
                    }
                    ticks += 1;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write_points(&mut self) {
        let points = self.signals.as_mut().map_or(Vec::new(), Signals::take);
        if !points.is_empty() {
            self.write(&Message::Points { points });
        }
    }

    fn write(&mut self, message: &Message) {
        if !self.is_closed {
            self.is_closed = lines::write(&mut self.output, message).is_err();
        }
    }
}

/// Passes commands on until the other end has gone.
fn read_commands(input: impl Read, commands: &Sender<Command>, signs: &Signs) {
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    while matches!(lines::read(&mut input, &mut line), Ok(true)) {
        if let Ok(command) = Command::parse(&line) {
            if commands.send(command).is_err() {
                return;
            }
            signs.has_command.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;
    use std::os::unix::net::UnixStream;

    use gyrator_record::{Column, ColumnType, RowSink as _};

    use super::*;

    fn joined() -> (RunEnd, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        (
            RunEnd::start(here.try_clone().unwrap(), here).unwrap(),
            there,
        )
    }

    fn messages(stream: UnixStream) -> impl Iterator<Item = Message> {
        let lines = BufReader::new(stream).lines();
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    }

    #[test]
    fn a_run_is_seen_from_its_begin_to_its_end() {
        let (mut end, there) = joined();
        let mut sink = end.sink(Some((0.0, 1.0)));
        sink.begin(&[Column::new("a.y", ColumnType::Real)]).unwrap();
        end.begin(Begin::default());
        sink.real_row(0.0, &[1.0]).unwrap();
        sink.real_row(1.0, &[2.0]).unwrap();
        sink.finish().unwrap();
        end.finish(End::default());
        let mut times = Vec::new();
        let mut kinds = Vec::new();
        for message in messages(there) {
            match message {
                Message::Begin(begin) => kinds.push(begin.signals[0].name.clone()),
                Message::Points { points } => times.extend(points.iter().map(|p| p.end)),
                Message::End(_) => {
                    kinds.push("end".to_owned());
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(
            (kinds, times),
            (vec!["a.y".to_owned(), "end".to_owned()], vec![0.0, 1.0])
        );
    }

    #[test]
    fn commands_arrive_in_their_order_and_nonsense_does_not() {
        let (end, mut there) = joined();
        assert_eq!(end.command(), None);
        for line in ["pause", "}", "resume", "stop"] {
            let text = match line {
                "}" => "}\n".to_owned(),
                word => format!("{{\"command\":\"{word}\"}}\n"),
            };
            there.write_all(text.as_bytes()).unwrap();
        }
        let next = || end.wait_for_command(Duration::MAX).unwrap();
        assert_eq!(
            [next(), next(), next()],
            [Command::Pause, Command::Resume, Command::Stop]
        );
        there.write_all(b"{\"command\":\"pause\"}\n").unwrap();
        let command = loop {
            if let Some(command) = end.command() {
                break command;
            }
            thread::yield_now();
        };
        assert_eq!(command, Command::Pause);
        assert_eq!(end.command(), None);
    }

    #[test]
    fn a_run_without_a_page_goes_on() {
        let (end, there) = joined();
        drop(there);
        end.say(Message::Begin(Begin::default()));
        end.finish(End::default());
    }
}
