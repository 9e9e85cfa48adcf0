//! How far a long run has come. A thread of its own shows it: a step costs one look at a flag.

use std::io::IsTerminal as _;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{Observer, View};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;
use crate::numbers::{duration, short};
use crate::screen;

/// Shorter runs show nothing.
const DELAY: Duration = Duration::from_secs(1);

/// Where the progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// None
    Never,
    /// A bar, on a terminal
    Auto,
    /// Lines of JSON on the standard error
    Json,
}

// The display while a run goes on, and when it is over.
#[derive(Debug, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ShowOptions {
    /// Display of the progress of a long run
    #[arg(long, value_name = "WHERE", value_enum, default_value = "auto")]
    progress: ProgressMode,
    /// Show only warnings and errors, neither progress nor closing lines
    #[arg(long, short = 'q')]
    quiet: bool,
}

impl ShowOptions {
    /// Refuses options that ask for progress and for none.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.quiet && self.progress == ProgressMode::Json {
            let text = "--quiet shows no progress, and --progress json asks for it";
            return Err(Failure::usage(text).help("leave one of the two out"));
        }
        Ok(())
    }

    /// Where the progress is shown.
    pub(crate) const fn progress(&self) -> ProgressMode {
        if self.quiet {
            ProgressMode::Never
        } else {
            self.progress
        }
    }

    /// Whether the closing lines are shown.
    pub(crate) const fn has_closing_lines(&self) -> bool {
        !self.quiet
    }
}

/// A point of the run, as the run leaves it for the display.
#[derive(Debug, Clone, Copy, Default)]
struct Point {
    time: f64,
    steps: u64,
    residual_energy: Option<f64>,
}

#[derive(Default)]
struct Gauge {
    wanted: AtomicBool,
    point: Mutex<Option<Point>>,
}

/// The display; dropping it takes it off the screen.
pub(crate) struct Progress {
    gauge: Arc<Gauge>,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// A display for a run over this period, s; `None` if nothing is to be shown.
    pub(crate) fn start(mode: ProgressMode, start: f64, stop: f64) -> Option<Self> {
        let period = (start, stop);
        let mut face = match mode {
            ProgressMode::Never => return None,
            ProgressMode::Auto if !std::io::stderr().is_terminal() => return None,
            ProgressMode::Auto => Face::Bar(period, None),
            ProgressMode::Json => Face::Json(period),
        };
        let gauge = Arc::<Gauge>::default();
        let shown = Arc::clone(&gauge);
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            let begin = Instant::now();
            let mut wait = DELAY;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let taken = shown
                    .point
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                shown.wanted.store(true, Ordering::Relaxed);
                if let Some(point) = taken {
                    face.show(point, begin.elapsed());
                }
                wait = if taken.is_some() {
                    face.interval()
                } else {
                    Duration::from_millis(20)
                };
            }
            face.hide();
        };
        // If no thread can start, nothing is shown.
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        Some(Self {
            gauge,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The observer that moves the display.
    pub(crate) fn observer(&self) -> impl Observer + use<> {
        ProgressObserver(Arc::clone(&self.gauge))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct ProgressObserver(Arc<Gauge>);

impl Observer for ProgressObserver {
    fn activity(&self) -> &'static str {
        "progress"
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let gauge = &self.0;
        if gauge.wanted.load(Ordering::Relaxed) {
            gauge.wanted.store(false, Ordering::Relaxed);
            let has_bonds = view.ledger.bonds().len() > 0;
            let point = Point {
                time: view.time,
                steps: view.steps,
                residual_energy: has_bonds.then(|| view.ledger.residual_energy()),
            };
            *gauge.point.lock().unwrap_or_else(PoisonError::into_inner) = Some(point);
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Form of the display, with the period of the run.
enum Face {
    Bar((f64, f64), Option<ProgressBar>),
    Json((f64, f64)),
}

impl Face {
    fn interval(&self) -> Duration {
        Duration::from_millis(match self {
            Self::Bar(..) => 80,
            Self::Json(_) => 480,
        })
    }

    fn show(&mut self, point: Point, elapsed: Duration) {
        match self {
            Self::Bar(period, bar) => {
                let bar = bar.get_or_insert_with(|| new_bar(PARTS));
                bar.set_position(parts(*period, point.time));
                bar.set_message(line(*period, point, elapsed));
            }
            Self::Json(period) => screen::message(&json(*period, point, elapsed)),
        }
    }

    fn hide(self) {
        if let Self::Bar(_, Some(bar)) = self {
            screen::set_bar(None);
            bar.finish_and_clear();
        }
    }
}

/// The bar counts thousandths of the period.
const PARTS: u64 = 1000;

fn parts((start, stop): (f64, f64), time: f64) -> u64 {
    ((time - start) / (stop - start) * PARTS as f64) as u64
}

/// A bar at the bottom of the screen.
pub(crate) fn new_bar(length: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    // A fixed text, so that it always parses.
    if let Ok(style) = ProgressStyle::with_template("{bar:10.cyan} {percent:>3} %  {wide_msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    screen::set_bar(Some(bar.clone()));
    bar
}

fn speed((start, _): (f64, f64), time: f64, elapsed: Duration) -> f64 {
    (time - start) / elapsed.as_secs_f64()
}

fn line(period: (f64, f64), point: Point, elapsed: Duration) -> String {
    let speed = speed(period, point.time, elapsed);
    let decimals = if speed < 100.0 { 3 } else { 0 };
    let mut text = format!("t = {} s, {speed:.decimals$} s/s", short(point.time));
    let left = (period.1 - point.time) / speed;
    if left.is_finite() {
        text.push_str(&format!(", {} left", duration(left)));
    }
    if let Some(energy) = point.residual_energy {
        text.push_str(&format!(", residual {} J", short(energy)));
    }
    text
}

fn json(period: (f64, f64), point: Point, elapsed: Duration) -> String {
    let line = serde_json::json!({
        "time": point.time,
        "stop_time": period.1,
        "steps": point.steps,
        "speed": speed(period, point.time, elapsed),
        "elapsed": elapsed.as_secs_f64(),
        "residual_energy": point.residual_energy,
    });
    format!("{line}\n")
}
