//! The disturbances of a run of the chaos study, drawn from one seed.

use gyrator::random::SplitMix64;

use super::remains::Output;

/// Steps of a run, of 0.1 s each.
pub(super) const STEPS: u64 = 40;

/// A fault of the FMU `Faulty`, and what comes of it in a run that nothing else disturbs.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) function: &'static str,
    pub(super) code: i32,
    pub(super) rows: Rows,
    /// Whether it ends the process if there is neither a supervisor nor isolation.
    pub(super) is_deadly: bool,
}

/// Rows of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    None,
    UntilFault,
    All,
}

const fn fault(name: &'static str, function: &'static str, code: i32, rows: Rows) -> Fault {
    Fault {
        name,
        function,
        code,
        rows,
        is_deadly: code == 5,
    }
}

const FAULTS: &[Fault] = &[
    fault("none", "do_step", 0, Rows::All),
    fault("segfault", "initialization", 5, Rows::None),
    fault("segfault", "do_step", 5, Rows::UntilFault),
    fault("segfault", "get", 5, Rows::UntilFault),
    fault("segfault", "terminate", 5, Rows::All),
    Fault {
        is_deadly: true,
        ..fault("segfault", "free", 0, Rows::All)
    },
    fault("abort", "do_step", 5, Rows::UntilFault),
    fault("stack_overflow", "do_step", 5, Rows::UntilFault),
    fault("trap", "do_step", 5, Rows::UntilFault),
    fault("kill", "do_step", 5, Rows::UntilFault),
    fault("exit_0", "do_step", 5, Rows::UntilFault),
    fault("exit_7", "get", 5, Rows::UntilFault),
    fault("fork_and_abort", "do_step", 5, Rows::UntilFault),
    fault("endless_loop", "do_step", 5, Rows::UntilFault),
    fault("error", "initialization", 1, Rows::None),
    fault("error", "do_step", 1, Rows::UntilFault),
    fault("error", "get", 1, Rows::UntilFault),
    fault("error", "terminate", 1, Rows::All),
    fault("fatal", "do_step", 1, Rows::UntilFault),
    fault("discard_always", "do_step", 1, Rows::UntilFault),
    fault("pending", "do_step", 1, Rows::UntilFault),
    fault("unknown_status", "do_step", 1, Rows::UntilFault),
    fault("panic", "do_step", 1, Rows::UntilFault),
    fault("nan", "do_step", 1, Rows::UntilFault),
    fault("print", "do_step", 0, Rows::All),
    fault("close_streams", "do_step", 0, Rows::All),
    fault("change_folder", "do_step", 0, Rows::All),
    fault("strict_mask", "initialization", 0, Rows::All),
    fault("locale", "do_step", 0, Rows::All),
    fault("round_upwards", "do_step", 0, Rows::All),
    fault("change_float_control", "do_step", 0, Rows::All),
    fault("ignore_signals", "initialization", 0, Rows::All),
    fault("misuse_logger", "do_step", 0, Rows::All),
    fault("leak", "do_step", 0, Rows::All),
    fault("daemon", "do_step", 0, Rows::All),
    fault("crash_at_exit", "do_step", 0, Rows::All),
];

/// How the run is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Supervised,
    Isolated,
    OneIsolated,
    IsolatedAlone,
    Alone,
}

impl Way {
    pub(super) fn options(self) -> &'static [&'static str] {
        match self {
            Self::Supervised => &[],
            Self::Isolated => &["--isolate"],
            Self::OneIsolated => &["--isolate=bad"],
            Self::IsolatedAlone => &["--isolate", "--no-supervisor"],
            Self::Alone => &["--no-supervisor"],
        }
    }
}

/// Which process a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Parent,
    /// A child of the parent: the process of the run, or a component's.
    Child,
    /// The youngest of all: a component's if there are some.
    Youngest,
    /// All, the parent first or last.
    All {
        parent_first: bool,
    },
}

/// A disturbance from outside, some milliseconds after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    None,
    Signal {
        name: &'static str,
        target: Target,
        /// Milliseconds until the same signal comes again.
        again: Option<u64>,
    },
    /// The target stands still for some milliseconds.
    Pause {
        target: Target,
        time: u64,
    },
    /// The unfinished result is deleted.
    Delete,
    /// The unfinished result is cut.
    Truncate,
    /// A second run with the same output.
    SecondRun,
    /// The result goes to a disk of so many KiB.
    FullDisk {
        size: u64,
    },
    /// `--memory-limit`, MiB.
    MemoryLimit {
        size: u64,
    },
}

/// One run of the study.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) way: Way,
    pub(super) output: Output,
    pub(super) threads: &'static str,
    pub(super) fault: &'static Fault,
    /// Step that the fault strikes in, from 1.
    pub(super) step: u64,
    pub(super) disturbance: Disturbance,
    /// When it comes, ms after the start.
    pub(super) after: u64,
}

/// Draws from a stream.
struct Draw(SplitMix64);

impl Draw {
    /// One of `0..count`.
    fn below(&mut self, count: u64) -> u64 {
        self.0.next_bits() % count
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

impl Plan {
    /// The run of this number.
    pub(super) fn draw(seed: u64, number: u64) -> Self {
        let mut stream = SplitMix64::new(seed);
        let mut draw = Draw(SplitMix64::new(stream.next_bits() ^ number));
        let ways = [
            Way::Supervised,
            Way::Supervised,
            Way::Isolated,
            Way::OneIsolated,
            Way::IsolatedAlone,
            Way::Alone,
        ];
        let plan = Self {
            way: draw.one(&ways),
            output: draw.one(&[Output::Csv, Output::Csv, Output::Parquet]),
            threads: draw.one(&["1", "1", "2", "4"]),
            // Half of the runs have no other trouble than that from outside.
            fault: match draw.below(2) {
                0 => &FAULTS[0],
                _ => &FAULTS[draw.below(FAULTS.len() as u64) as usize],
            },
            step: 1 + draw.below(STEPS - 1),
            disturbance: disturbance(&mut draw),
            // The first moments have most that can go wrong.
            after: match draw.below(3) {
                0 => draw.below(60),
                _ => draw.below(500),
            },
        };
        plan.feasible()
    }

    /// Leaves out cases that cannot be distinguished: descriptors of a parent that an FMU has taken.
    fn feasible(mut self) -> Self {
        let shares_process = self.way == Way::Alone;
        // Without a supervisor, the standard streams are the program's own, a call that hangs goes on
        // for ever, and FMUs may do to the process what they like.
        let is_excluded = matches!(
            self.fault.name,
            "endless_loop"
                | "close_streams"
                | "print"
                | "change_folder"
                | "ignore_signals"
                | "crash_at_exit"
                | "strict_mask"
        );
        if shares_process && is_excluded {
            self.fault = &FAULTS[0];
        }
        self
    }
}

fn disturbance(draw: &mut Draw) -> Disturbance {
    let targets = [
        Target::Parent,
        Target::Child,
        Target::Youngest,
        Target::All { parent_first: true },
        Target::All {
            parent_first: false,
        },
    ];
    match draw.below(20) {
        0..3 => Disturbance::None,
        3..11 => Disturbance::Signal {
            name: draw.one(&["-KILL", "-KILL", "-TERM", "-INT", "-HUP"]),
            target: draw.one(&targets),
            again: match draw.below(3) {
                0 => Some(draw.below(50)),
                _ => None,
            },
        },
        11..13 => Disturbance::Pause {
            target: draw.one(&targets),
            time: draw.below(300),
        },
        13 => Disturbance::Delete,
        14 => Disturbance::Truncate,
        15 => Disturbance::SecondRun,
        16..18 => Disturbance::FullDisk {
            size: 4 * (1 + draw.below(6)),
        },
        _ => Disturbance::MemoryLimit {
            size: 1 + draw.below(80),
        },
    }
}

#[test]
fn a_seed_gives_the_same_runs() {
    let text = |seed| {
        format!(
            "{:?}",
            (0..200)
                .map(|number| Plan::draw(seed, number))
                .collect::<Vec<_>>()
        )
    };
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
    for word in [
        "FullDisk",
        "SecondRun",
        "-KILL",
        "-HUP",
        "Truncate",
        "Pause",
        "MemoryLimit",
        "Youngest",
    ] {
        assert!(text(1).contains(word), "{word}");
    }
}
