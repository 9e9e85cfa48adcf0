//! Ctrl-C, and the signals that ask a program to end: the recorded rows are kept.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gyrator_worker::{Worker, signals};

use crate::exit::Exit;
use crate::recorder::ResultFile;
use crate::screen;

/// Calls `heard` on a thread of its own for Ctrl-C and each signal that asks the program to end.
///
/// # Errors
///
/// Why that cannot be: these signals then end the program at once.
pub(crate) fn on_signal(heard: impl FnMut() + Send + 'static) -> Result<(), ctrlc::Error> {
    signals::install_handlers(|| ctrlc::set_handler(heard))
}

/// Whether the user has asked for the end of the run.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
    result: Arc<OnceLock<ResultFile>>,
    /// The run has ended, and is being reported or was.
    is_reported: Arc<AtomicBool>,
    outcome: Arc<OnceLock<Exit>>,
}

impl Interrupt {
    /// Listens from now on: the first signal ends the run at its next communication point, the
    /// second one ends the program.
    pub(crate) fn listen() -> Self {
        let interrupt = Self::default();
        let heard = interrupt.clone();
        if let Some(worker) = Worker::current() {
            // The parent hears the signals, and passes them on.
            if let Err(error) = worker.on_stop(move || {
                heard.stop();
            }) {
                screen::message(&format!("warning: Ctrl-C ends the run at once: {error}\n"));
            }
            return interrupt;
        }
        if let Err(error) = on_signal(move || heard.signal()) {
            // The run works without it; the operating system's own way of ending it remains.
            screen::message(&format!(
                "warning: Ctrl-C will lose the last rows: {error}\n"
            ));
        }
        interrupt
    }

    /// True once the run is to end.
    pub(crate) fn requested(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// The file to flush on a signal, and to end if an FMU ends the process.
    pub(crate) fn set_result(&self, file: ResultFile) {
        let kept = file.clone();
        gyrator_worker::before_exit_of_fmus(move || kept.keep());
        let _ = self.result.set(file);
    }

    /// Reports a run that has ended: from then on a second signal ends the program with the exit code that
    /// agrees with the report.
    pub(crate) fn while_reporting(&self, report: impl FnOnce() -> Exit) -> Exit {
        self.is_reported.store(true, Ordering::Relaxed);
        let exit = report();
        let _ = self.outcome.set(exit);
        exit
    }

    /// How the run has ended, if it has; waits a while for its report.
    fn outcome(&self) -> Option<Exit> {
        const PAUSE: Duration = Duration::from_millis(1);
        let begin = Instant::now();
        while self.is_reported.load(Ordering::Relaxed)
            && self.outcome.get().is_none()
            && begin.elapsed() < gyrator_worker::GRACE
        {
            std::thread::sleep(PAUSE);
        }
        self.outcome.get().copied()
    }

    /// Makes what is recorded readable, and asks the run to end. True if it was asked before.
    fn stop(&self) -> bool {
        if let Some(file) = self.result.get() {
            file.flush();
        }
        self.requested.swap(true, Ordering::Relaxed)
    }

    /// Runs on a thread of its own.
    fn signal(&self) {
        if self.stop() {
            let outcome = self.outcome();
            match outcome {
                // The program ends by itself, unless an FMU does not return.
                Some(_) => std::thread::sleep(gyrator_worker::GRACE),
                None => self.abandon(),
            }
            gyrator_worker::end_orphans();
            gyrator_worker::program_ends();
            std::process::exit(i32::from(outcome.unwrap_or(Exit::Interrupted).code()));
        }
        screen::message(
            "interrupted: stopping at the next communication point; once more stops at once\n",
        );
    }

    fn abandon(&self) {
        if let Some(Err(error)) = self.result.get().map(ResultFile::abandon) {
            screen::message(&format!("error: {error}\n"));
        }
        screen::message("interrupted again: the run is abandoned\n");
    }
}
