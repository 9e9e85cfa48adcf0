//! Why a worker ended before its time, in words: which component, in which call, when.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use fmi2_abi::Function;
use gyrator_fmu::flight_recorder::{Activity, Reading, readings};

use crate::board::{Board, Crash, Position};

/// Cause of a worker's death.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cause {
    /// A signal, such as 11 for SIGSEGV.
    Signal {
        /// Its number.
        number: i32,
        /// Whether the stack was full.
        is_stack_overflow: bool,
    },
    /// An FMU has called `exit`.
    Exit {
        /// With this argument.
        code: i32,
    },
    /// A call did not return within this time; the worker was killed.
    Timeout(Duration),
    /// The worker needed more than so many bytes, and was killed.
    MemoryLimit(u64),
    /// The worker has used all of its address space, so many bytes.
    AddressSpace(u64),
    /// The user interrupted the run and a call did not return soon enough; the worker was killed.
    Interrupted,
    /// Code of the worker itself has panicked: no FMU is to blame.
    Panic,
}

impl Cause {
    /// Whether no FMU is to blame: the program has panicked, for want of memory or not.
    pub(crate) fn is_of_program(&self) -> bool {
        matches!(self, Self::Panic | Self::AddressSpace(_))
    }

    /// Whether it is a signal that asks a process to end.
    pub(crate) fn is_wish_to_end(&self) -> bool {
        const WISHES: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
        matches!(self, Self::Signal { number, .. } if WISHES.contains(number))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal {
                is_stack_overflow: true,
                number,
            } => write!(f, "stack overflow ({})", signal_name(*number)),
            Self::Signal {
                number: libc::SIGABRT,
                ..
            } => f.write_str("SIGABRT (abort)"),
            Self::Signal {
                number: libc::SIGKILL,
                ..
            } => f.write_str("SIGKILL (from another process, or the system was out of memory)"),
            Self::Signal { number, .. } => f.write_str(&signal_name(*number)),
            Self::Exit { code } => write!(f, "the FMU called exit({code})"),
            Self::Timeout(time) => write!(f, "no return within {} s", time.as_secs_f64()),
            Self::MemoryLimit(bytes) => write!(f, "more than {} MiB of memory", bytes >> 20),
            Self::AddressSpace(bytes) => {
                write!(
                    f,
                    "no memory is left of the {} MiB that this process may use",
                    bytes >> 20
                )
            }
            Self::Interrupted => f.write_str("interrupted; no return"),
            Self::Panic => f.write_str("an error of gyrator itself"),
        }
    }
}

/// Activity of an instance, with its name and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The component, or the file if there was none yet.
    pub component: String,
    /// The call or the phase; `None` if the call had returned.
    pub activity: Option<Activity>,
    /// Simulated time at which the last step began, or the run; in the unit of time of the FMU,
    /// usually s.
    pub time: Option<f64>,
}

impl Place {
    fn is_step(&self) -> bool {
        self.activity == Some(Activity::Call(Function::DoStep))
    }
}

impl From<Reading> for Place {
    fn from(reading: Reading) -> Self {
        Self {
            time: reading.time,
            component: reading.name,
            activity: reading.activity,
        }
    }
}

/// The end of a worker before its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Death {
    /// Cause of the death.
    pub cause: Cause,
    /// The calls it was in: none if it was the run itself or a thread of an FMU, several if FMUs
    /// ran at the same time.
    pub places: Vec<Place>,
    /// Whether it was another thread than the only one that calls FMUs.
    pub is_other_thread: bool,
    /// The library whose code was running, if it is known.
    pub library: Option<String>,
    /// Whether nothing was noted of a crash that should have been: no stack was left for that, or an
    /// FMU has put its own signal handler in place.
    pub is_unseen: bool,
    /// The last communication point; `None` before the first one.
    pub position: Option<Position>,
}

impl Death {
    /// Puts together what the worker has left.
    pub(crate) fn new(cause: Cause, board: &Board) -> Self {
        let places = readings(board.slots)
            .into_iter()
            .map(|(_, reading)| reading)
            .filter(|reading| reading.activity.is_some())
            .map(Place::from)
            .collect();
        let crash = &board.header.crash;
        Self {
            cause,
            places,
            is_other_thread: crash.is_in_other_thread(),
            library: crash.library(),
            is_unseen: false,
            position: board.position(),
        }
    }

    /// Decodes how the process ended by itself.
    pub(crate) fn of_status(status: ExitStatus, board: &Board) -> Self {
        let cause = match (status.signal(), status.code()) {
            _ if board.has_panicked() => {
                board.met_limit().map_or(Cause::Panic, Cause::AddressSpace)
            }
            (Some(number), _) => Cause::Signal {
                number,
                is_stack_overflow: board.header.crash.is_stack_overflow(),
            },
            (None, code) => Cause::Exit {
                code: code.unwrap_or(0),
            },
        };
        Self {
            is_unseen: is_unseen(status, &board.header.crash),
            ..Self::new(cause, board)
        }
    }

    /// Its simulated time.
    fn when(&self) -> String {
        // A step may begin between two communication points of the run; other calls are made at one.
        let (own, is_step) = match self.places.as_slice() {
            [place] => (place.time, place.is_step()),
            _ => (None, false),
        };
        match (self.position, own) {
            (Some(Position { step, .. }), Some(time)) if is_step => {
                format!(" at t = {time} s (step {step})")
            }
            (Some(Position { time, step }), _) => format!(" at t = {time} s (step {step})"),
            (None, Some(time)) => format!(" at t = {time} s"),
            (None, None) => String::new(),
        }
    }

    /// The calls that had not returned, in words.
    fn calls(&self) -> String {
        let calls = self.places.iter().map(|place| {
            let name = place.activity.map_or("", Activity::name);
            format!("{name} of {}", place.component)
        });
        calls.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cause, when, calls) = (&self.cause, self.when(), self.calls());
        let library = self.library.as_deref();
        let mut library = library.map_or(String::new(), |library| format!(", in {library}"));
        if self.is_unseen {
            library.push_str(", ");
            library.push_str(UNSEEN);
        }
        let from = match cause {
            Cause::Timeout(_) | Cause::Interrupted => "from",
            _ => "in",
        };
        match self.places.as_slice() {
            _ if cause.is_of_program() => write!(f, "{cause}{when}"),
            [] if self.is_other_thread => {
                write!(
                    f,
                    "{cause} in another thread{library}, outside the calls of FMUs{when}"
                )
            }
            _ if self.is_other_thread => {
                write!(
                    f,
                    "{cause} in another thread{library}, during {calls}{when}"
                )
            }
            [] => write!(f, "{cause} outside the calls of FMUs{when}{library}"),
            [place] => {
                let name = place.activity.map_or("", Activity::name);
                write!(
                    f,
                    "{}: {cause} {from} {name}{when}{library}",
                    place.component
                )
            }
            _ => write!(f, "{cause} {from} one of {calls}{when}{library}"),
        }
    }
}

/// Why nothing more is known of a crash.
pub(crate) const UNSEEN: &str =
    "which no handler has seen: the stack of a thread was full, or the FMU handles signals itself";

/// Whether the signal is one that the handler notes, and has not noted.
pub(crate) fn is_unseen(status: ExitStatus, crash: &Crash) -> bool {
    let is_fault = |number| matches!(number, libc::SIGSEGV | libc::SIGBUS);
    status.signal().is_some_and(is_fault) && !crash.is_noted()
}

fn signal_name(number: i32) -> String {
    known_signal(number).map_or_else(|| format!("signal {number}"), str::to_owned)
}

/// The name of a signal.
pub(crate) const fn known_signal(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGABRT => "SIGABRT",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGHUP => "SIGHUP",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(component: &str, activity: Activity, time: Option<f64>) -> Place {
        Place {
            component: component.to_owned(),
            activity: Some(activity),
            time,
        }
    }

    fn segfault(places: Vec<Place>, position: Option<Position>) -> Death {
        let cause = Cause::Signal {
            number: libc::SIGSEGV,
            is_stack_overflow: false,
        };
        Death {
            cause,
            places,
            is_other_thread: false,
            library: None,
            is_unseen: false,
            position,
        }
    }

    const STEP: Activity = Activity::Call(Function::DoStep);
    const READ: Activity = Activity::Call(Function::GetReal);

    #[test]
    fn a_step_has_its_own_time() {
        let position = Some(Position {
            time: 0.04,
            step: 4,
        });
        let mut death = segfault(vec![place("wheel", STEP, Some(0.045))], position);
        let expected = "wheel: SIGSEGV in fmi2DoStep at t = 0.045 s (step 4)";
        assert_eq!(death.to_string(), expected);
        death.library = Some("Wheel.so".to_owned());
        assert_eq!(death.to_string(), format!("{expected}, in Wheel.so"));
    }

    #[test]
    fn other_calls_are_at_communication_points() {
        let position = Some(Position {
            time: 0.04,
            step: 4,
        });
        let death = segfault(vec![place("wheel", READ, Some(0.03))], position);
        let expected = "wheel: SIGSEGV in fmi2GetReal at t = 0.04 s (step 4)";
        assert_eq!(death.to_string(), expected);
        let death = segfault(vec![place("wheel", READ, Some(0.0))], None);
        assert_eq!(
            death.to_string(),
            "wheel: SIGSEGV in fmi2GetReal at t = 0 s"
        );
        let death = segfault(vec![place("Wheel.fmu", Activity::Open, None)], None);
        assert_eq!(
            death.to_string(),
            "Wheel.fmu: SIGSEGV in reading the archive"
        );
    }

    #[test]
    fn several_may_have_done_it() {
        let places = vec![place("left", STEP, Some(0.0)), place("right", READ, None)];
        let mut death = segfault(places, None);
        let expected = "SIGSEGV in one of fmi2DoStep of left, fmi2GetReal of right";
        assert_eq!(death.to_string(), expected);
        death.is_other_thread = true;
        let expected = "SIGSEGV in another thread, during fmi2DoStep of left, fmi2GetReal of right";
        assert_eq!(death.to_string(), expected);
        let death = segfault(Vec::new(), None);
        assert_eq!(death.to_string(), "SIGSEGV outside the calls of FMUs");
    }
}
