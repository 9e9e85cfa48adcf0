//! How far a study has come.

use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use gyrator_study::Progress;
use indicatif::ProgressBar;

use crate::numbers::duration;
use crate::progress::{ProgressMode, new_bar};
use crate::screen;

/// Between two lines of JSON, and before the first one, s.
const INTERVAL: f64 = 0.5;

/// The display; dropping it takes it off the screen.
pub(crate) struct StudyProgress {
    face: Option<Mutex<Face>>,
    begin: Instant,
    /// How long earlier processes have made the study, s.
    earlier_seconds: f64,
}

enum Face {
    Bar(ProgressBar),
    /// With the intervals until the last line.
    Json(u64),
}

impl StudyProgress {
    /// A display for a study of which `earlier` rows are finished, and which earlier processes have made for so many seconds.
    pub(crate) fn start(mode: ProgressMode, earlier: usize, earlier_seconds: f64) -> Self {
        let begin = Instant::now();
        let face = match mode {
            ProgressMode::Never => None,
            ProgressMode::Auto if !std::io::stderr().is_terminal() => None,
            ProgressMode::Auto => Some(Face::Bar(new_bar(earlier as u64))),
            ProgressMode::Json => Some(Face::Json(intervals(earlier_seconds))),
        };
        Self {
            face: face.map(Mutex::new),
            begin,
            earlier_seconds,
        }
    }

    /// Shows how far the study has come; called after every row.
    pub(crate) fn show(&self, progress: Progress) {
        let Some(face) = &self.face else {
            return;
        };
        let elapsed = self.begin.elapsed().as_secs_f64();
        let left = (progress.total - progress.done) as f64 * elapsed / progress.new as f64;
        let mut face = face.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *face {
            Face::Bar(bar) => {
                bar.set_length(progress.total as u64);
                bar.set_position(progress.done as u64);
                let failed = match progress.failed {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                };
                bar.set_message(format!(
                    "{} of {} rows{failed}, {} left",
                    progress.done,
                    progress.total,
                    duration(left)
                ));
            }
            Face::Json(last) => {
                let is_last = progress.done == progress.total;
                let elapsed = self.earlier_seconds + elapsed;
                if intervals(elapsed) == *last && !is_last {
                    return;
                }
                *last = intervals(elapsed);
                let line = serde_json::json!({
                    "done": progress.done,
                    "total": progress.total,
                    "failed": progress.failed,
                    "elapsed": elapsed,
                    "left": left,
                });
                screen::message(&format!("{line}\n"));
            }
        }
    }
}

fn intervals(seconds: f64) -> u64 {
    (seconds / INTERVAL) as u64
}

impl Drop for StudyProgress {
    fn drop(&mut self) {
        let Some(face) = &self.face else {
            return;
        };
        if let Face::Bar(bar) = &*face.lock().unwrap_or_else(PoisonError::into_inner) {
            screen::set_bar(None);
            bar.finish_and_clear();
        }
    }
}
