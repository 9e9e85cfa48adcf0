//! A model that misbehaves on request, to test what an importer makes of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fmu_kit::{Enumeration, Fault, Model, Variable, crash, start_values, variables};
use serde::{Deserialize, Serialize};

const FAULT: Enumeration = Enumeration {
    name: "Fault",
    description: "What goes wrong",
    items: &[
        ("none", "nothing"),
        ("error", "the call returns fmi2Error"),
        ("fatal", "the call returns fmi2Fatal"),
        (
            "discard_once",
            "the call returns fmi2Discard, once in the life of the instance",
        ),
        ("discard_always", "the call returns fmi2Discard, each time"),
        (
            "finish",
            "the call returns fmi2Discard, and fmi2Terminated is true",
        ),
        ("nan", "the output becomes NaN"),
        ("panic", "the code panics; the FMU returns fmi2Fatal"),
        ("abort", "the process is aborted"),
        ("segfault", "the process gets a segmentation fault"),
        ("endless_loop", "the call never returns"),
        ("sleep", "the call takes sleep_time longer"),
        ("busy_loop", "the call never returns, and computes"),
        ("stack_overflow", "the code uses the whole stack"),
        ("exit_0", "the code calls exit(0)"),
        ("exit_7", "the code calls exit(7)"),
        (
            "kill",
            "the process is killed, as by a system without memory",
        ),
        (
            "thread_segfault",
            "a thread gets a segmentation fault after sleep_time",
        ),
        ("crash_at_exit", "the process crashes when it calls exit"),
        ("infinite", "the output becomes infinite"),
        ("pending", "the call returns fmi2Pending"),
        ("unknown_status", "the call returns the status 42"),
        ("print", "the code prints to the standard output"),
        (
            "close_streams",
            "standard input, output and error are closed",
        ),
        ("change_folder", "the working directory becomes /"),
        ("strict_mask", "files get no rights when they are made"),
        (
            "delete_results",
            "out.csv in the working directory is deleted, also where it is not whole",
        ),
        ("locale", "numbers have a decimal comma from now on"),
        ("round_upwards", "the processor rounds upwards from now on"),
        ("ignore_signals", "Ctrl-C is ignored from now on"),
        (
            "misuse_logger",
            "the logger is called in ways that are forbidden",
        ),
        (
            "leak",
            "the code takes 256 KiB of memory and never frees it",
        ),
        (
            "random",
            "the output is a random number that the process shares",
        ),
        ("trap", "the code runs into a breakpoint"),
        (
            "change_float_control",
            "rounding, denormal numbers or the x87 are changed in random steps",
        ),
        (
            "truncate_results",
            "the same files are cut after five bytes",
        ),
        ("occupy_results", "out.csv is made by the FMU"),
        (
            "delete_folder",
            "the folder `results` in the working directory is deleted",
        ),
        ("daemon", "a process is started that outlives its parent"),
        (
            "fork_and_abort",
            "a copy of the process crashes, then the process is aborted",
        ),
        (
            "thread_stack_overflow",
            "a thread uses its whole stack, as one of C",
        ),
        ("close_all", "all descriptors of the process are closed"),
        (
            "scribble",
            "memory that the process shares with others is overwritten",
        ),
        ("scribble_and_abort", "the same, and the process is aborted"),
        (
            "replace_results",
            "out.csv.part in the working directory is replaced by another file",
        ),
    ],
};

const FUNCTION: Enumeration = Enumeration {
    name: "Function",
    description: "Where it goes wrong",
    items: &[
        ("initialization", "in Initialization Mode"),
        ("do_step", "in each step that ends at fault_time or later"),
        ("get", "when the output is read, from fault_time on"),
        ("terminate", "in fmi2Terminate"),
        ("free", "in fmi2FreeInstance"),
        (
            "serialize",
            "when its state is put into bytes, from fault_time on",
        ),
        (
            "short_step",
            "in each communication step shorter than fault_time",
        ),
    ],
};

/// The items of [`FUNCTION`].
const INITIALIZATION: i32 = 1;
const DO_STEP: i32 = 2;
const GET: i32 = 3;
const TERMINATE: i32 = 4;
const FREE: i32 = 5;
const SERIALIZE: i32 = 6;
const SHORT_STEP: i32 = 7;

/// The result of a run that writes to `out.csv`, whole or not.
const RESULTS: [&str; 2] = ["out.csv", "out.csv.part"];

/// Bytes that a leak takes.
const LEAK: usize = 256 << 10;

start_values! {
    /// Repeats its input, y = u, until the fault that its parameters choose.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Faulty {
        u: f64,
        y: f64,
        fault: i32 = 1,
        function: i32 = DO_STEP,
        fault_time: f64,
        sleep_time: f64 = 1.0,
        /// Inner steps of a communication step.
        parts: i32 = 1,
        /// Value of the output; its input where `None`.
        forced_output: Option<f64>,
        /// Its state can no longer be put into bytes, whatever the fault.
        #[serde(serialize_with = "serialize_if_false")]
        is_stuck: bool,
        /// Shared by saved states, so that going back does not bring a fault back that came once.
        #[serde(skip)]
        has_discarded: Arc<AtomicBool>,
    }
}

fn serialize_if_false<S: serde::Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    if *flag {
        return Err(serde::ser::Error::custom(
            "this is the fault that was asked for",
        ));
    }
    serializer.serialize_bool(false)
}

impl Faulty {
    /// Does what the parameters ask for, if `function` is the place.
    fn strike(&mut self, function: i32) -> Result<(), Fault> {
        if self.function != function {
            return Ok(());
        }
        let reason = || "this is the fault that was asked for".to_owned();
        let (fault, _) = usize::try_from(self.fault - 1)
            .ok()
            .and_then(|index| FAULT.items.get(index))
            .unwrap_or(&("none", ""));
        match *fault {
            "error" => return Err(Fault::Error(reason())),
            "fatal" => return Err(Fault::Fatal(reason())),
            "discard_once" if self.has_discarded.swap(true, Ordering::Relaxed) => {}
            "discard_once" | "discard_always" => return Err(Fault::Discard(reason())),
            "finish" => return Err(Fault::Finished(reason())),
            "pending" => return Err(Fault::Other(5, reason())),
            "unknown_status" => return Err(Fault::Other(42, reason())),
            "nan" => self.forced_output = Some(f64::NAN),
            "infinite" => self.forced_output = Some(f64::INFINITY),
            "random" => self.forced_output = Some(crash::shared_random_number()),
            "panic" => panic!("{}", reason()),
            "sleep" => std::thread::sleep(self.pause()),
            fault => self.misbehave(fault),
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        Duration::from_secs_f64(self.sleep_time)
    }

    /// A fault of the process, not of the call.
    fn misbehave(&self, fault: &str) {
        match fault {
            "abort" => std::process::abort(),
            "segfault" => crash::segmentation_fault(),
            "trap" => crash::trap(),
            "stack_overflow" => drop(std::hint::black_box(crash::stack_overflow(0))),
            "exit_0" => std::process::exit(0),
            "exit_7" => std::process::exit(7),
            "kill" => crash::kill_process(),
            "thread_segfault" => {
                let pause = self.pause();
                std::thread::spawn(move || {
                    std::thread::sleep(pause);
                    crash::segmentation_fault()
                });
            }
            "crash_at_exit" => crash::crash_at_exit(),
            "endless_loop" => loop {
                std::thread::sleep(Duration::from_millis(1));
            },
            "busy_loop" => loop {
                std::hint::spin_loop();
            },
            "print" => println!("1,2,3"),
            "close_streams" => crash::close_standard_streams(),
            // Where these cannot be done, nothing goes wrong.
            "change_folder" => drop(std::env::set_current_dir("/")),
            "delete_results" => RESULTS.into_iter().for_each(|name| {
                drop(std::fs::remove_file(name));
            }),
            "truncate_results" => RESULTS.into_iter().for_each(|name| {
                let file = std::fs::OpenOptions::new().write(true).open(name);
                drop(file.and_then(|file| file.set_len(5)));
            }),
            "replace_results" => {
                drop(std::fs::remove_file(RESULTS[1]));
                drop(std::fs::write(RESULTS[1], "the FMU's own"));
            }
            "occupy_results" => drop(std::fs::write(RESULTS[0], "the FMU's own")),
            "delete_folder" => drop(std::fs::remove_dir_all("results")),
            "strict_mask" => crash::set_strict_mask(),
            "locale" => crash::set_locale(),
            "round_upwards" => crash::round_upwards(),
            "change_float_control" => crash::change_float_control_at_random(),
            "ignore_signals" => crash::ignore_signals(),
            "misuse_logger" => crash::misuse_logger(),
            "daemon" => crash::start_daemon(),
            "fork_and_abort" => {
                crash::crash_in_fork();
                std::process::abort();
            }
            "thread_stack_overflow" => crash::stack_overflow_in_thread(),
            "close_all" => crash::close_all_descriptors(),
            "scribble" => crash::overwrite_shared_memory(),
            "scribble_and_abort" => {
                crash::overwrite_shared_memory();
                std::process::abort();
            }
            "leak" => std::mem::forget(std::hint::black_box(vec![1_u8; LEAK])),
            _ => {}
        }
    }
}

impl Model for Faulty {
    const NAME: &'static str = "Faulty";
    const DESCRIPTION: &'static str =
        "Repeats its input until the fault that its parameters choose";

    fn variables() -> Vec<Variable<Self>> {
        variables! { Faulty:
            input_real "u" = u, "input";
            output_real "y" = y, "the input, until the fault",
                depends_on(&["u"]),
                starts_from(&["fault", "function", "fault_time", "sleep_time"]);
            parameter_enumeration "fault" = fault of FAULT, "what goes wrong";
            parameter_enumeration "function" = function of FUNCTION, "where";
            parameter_real "fault_time" = fault_time in SECOND, "when";
            parameter_real "sleep_time" = sleep_time in SECOND, "how long a sleep is",
                min(0.0), max(86_400.0);
            parameter_integer "parts" = parts,
                "inner steps of a communication step; a discarded one ends where the last of them has ended",
                min(1.0), max(1e6);
        }
    }

    fn micro_steps(&self) -> Option<i32> {
        Some(self.parts)
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.strike(INITIALIZATION)
    }

    fn outputs(&mut self, time: f64) -> Result<(), Fault> {
        if time >= self.fault_time {
            self.strike(GET)?;
        }
        self.y = self.forced_output.unwrap_or(self.u);
        Ok(())
    }

    fn after_step(&mut self, start: f64, end: f64) -> Result<(), Fault> {
        // A step that ends a rounding error before fault_time reaches it.
        let rounding = 1e-6 * (end - start) + f64::EPSILON * end.abs();
        if end >= self.fault_time - rounding {
            self.is_stuck = self.function == SERIALIZE;
            self.strike(DO_STEP)?;
        }
        if end - start < self.fault_time - rounding {
            self.strike(SHORT_STEP)?;
        }
        Ok(())
    }

    fn free(&mut self) {
        // There is no status to return.
        let _ = self.strike(FREE);
    }

    fn terminate(&mut self) -> Result<(), Fault> {
        self.strike(TERMINATE)
    }
}
