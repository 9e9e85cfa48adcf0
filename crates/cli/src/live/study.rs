//! The page of a study: its rows as they come.
//!
//! The rows are read from the journal, which has each as soon as it is finished, whichever process has made it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gyrator_pictures::live::{End, Listener, Message as LiveMessage, Serving, Table};
use gyrator_study::{JournalContents, read_journal};

use super::{LivePage, name};

/// Between two looks at the journal, at least; a long one is read less often.
const INTERVAL: Duration = Duration::from_millis(500);

/// Most of the time that is spent on reading is one part in so many.
const SHARE: u32 = 20;

/// The page of a study, until it is dropped.
pub(crate) struct StudyPage {
    page: LivePage,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StudyPage {
    /// Serves the page of a study whose rows go to `journal`; `stop` ends it.
    pub(crate) fn serve(
        listener: Listener,
        study: &Path,
        journal: &Path,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Option<Self> {
        let page = LivePage::serve(listener, gyrator_pictures::live::plain_page(), stop)?;
        let mut rows = Rows {
            journal: journal.to_owned(),
            study: name(study),
            shown: None,
            length: None,
        };
        let serving = page.serving.clone();
        let (stop, stopped) = mpsc::channel::<()>();
        let work = move || {
            let mut pause = INTERVAL;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let begin = Instant::now();
                rows.publish(&serving);
                pause = INTERVAL.max(SHARE * begin.elapsed());
            }
            rows.publish(&serving);
        };
        Some(Self {
            page,
            stop: Some(stop),
            thread: thread::Builder::new().spawn(work).ok(),
        })
    }
}

impl Drop for StudyPage {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let LivePage { serving, .. } = &self.page;
        serving.publish(LiveMessage::End(End {
            text: "the study has ended: the messages of the program say how".to_owned(),
            ..End::default()
        }));
        serving.close();
    }
}

/// The rows of a journal that is being written.
struct Rows {
    journal: PathBuf,
    study: String,
    /// Places of the rows that were published, once the columns were.
    shown: Option<BTreeSet<usize>>,
    /// Bytes of the journal when it was read.
    length: Option<u64>,
}

impl Rows {
    /// Publishes the rows that are new. A journal that cannot be read yet is looked at again.
    fn publish(&mut self, page: &Serving) {
        let length = self.journal.metadata().ok().map(|file| file.len());
        if length.is_none() || length == self.length {
            return;
        }
        let Ok(JournalContents { header, rows, .. }) = read_journal(&self.journal) else {
            return;
        };
        self.length = length;
        let shown = self.shown.get_or_insert_with(|| {
            page.publish(LiveMessage::Table(Table {
                study: self.study.clone(),
                columns: header
                    .columns
                    .iter()
                    .map(|column| column.name.clone())
                    .collect(),
                total: header.rows,
            }));
            BTreeSet::new()
        });
        let done = rows.len();
        let new = rows.into_iter().filter(|(row, _)| shown.insert(*row));
        let rows: Vec<(usize, String)> = new.collect();
        page.publish(LiveMessage::Rows { rows, done });
    }
}
