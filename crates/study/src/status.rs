//! How far the parts of studies have come, from their journals.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cases::Shard;
use crate::identity::Identity;
use crate::journal::{
    JournalContents, JournalError, RowText, Writer, is_being_written, parse, read_journal,
};
use crate::tally::Tally;

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// All of its rows are there.
    Finished,
    /// A process makes its rows.
    Running,
    /// Rows are missing, and no process makes them.
    Stopped,
    /// Rows are missing; the file system has no locks that would say whether a process makes them.
    Unknown,
}

impl PartState {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Unknown => "unknown",
        }
    }
}

/// How far one part has come.
#[derive(Debug, Clone)]
pub struct PartStatus {
    /// Its journal.
    pub journal: PathBuf,
    /// The part.
    pub part: Shard,
    /// Its state.
    pub state: PartState,
    /// Rows of the part.
    pub total: usize,
    /// Rows that are finished.
    pub done: usize,
    /// Of these, rows whose run failed.
    pub failed: usize,
    /// The last process that has made rows.
    pub writer: Option<Writer>,
    /// Time since the last row, s.
    pub since_last_row: Option<f64>,
    /// Rows that its process makes in a second, since it began; `None` if none does.
    pub rate: Option<f64>,
}

impl PartStatus {
    /// Time until the part is finished, s, if its process makes rows as fast as until now.
    #[must_use]
    pub fn time_left(&self) -> Option<f64> {
        Some((self.total - self.done) as f64 / self.rate?)
    }
}

/// How far the parts of one study have come.
#[derive(Debug, Clone)]
pub struct StudyStatus {
    /// The study.
    pub identity: Identity,
    /// Rows of the whole study.
    pub total: usize,
    /// Rows that are in a journal.
    pub done: usize,
    /// How these ended.
    pub tally: Tally,
    /// The parts that have a journal, in their order.
    pub parts: Vec<PartStatus>,
    /// Parts without a journal; none if the journals are parts of different divisions.
    pub not_begun: Vec<Shard>,
}

/// How far the studies of some journals have come.
#[derive(Debug, Default)]
pub struct Status {
    /// The studies, in the order of their first journals.
    pub studies: Vec<StudyStatus>,
    /// Why other journals cannot be read.
    pub problems: Vec<JournalError>,
}

impl StudyStatus {
    /// Name of the study file.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let mut writers = self.parts.iter().filter_map(|part| part.writer.as_ref());
        writers.next().map(|writer| writer.study.as_str())
    }

    /// Time until the study is finished, s, if all running processes keep their speed, and take over what no process makes;
    /// `None` if none runs.
    #[must_use]
    pub fn time_left(&self) -> Option<f64> {
        let rate: f64 = self.parts.iter().filter_map(|part| part.rate).sum();
        let shared = (self.total - self.done) as f64 / rate;
        let of_parts = self.parts.iter().filter_map(PartStatus::time_left);
        (rate > 0.0).then(|| of_parts.fold(shared, f64::max))
    }
}

impl Status {
    /// Of these journals. A journal whose first line is being written does not count yet.
    #[must_use]
    pub fn of_journals(journals: &[PathBuf]) -> Self {
        let now = SystemTime::now();
        let mut status = Self::default();
        let mut rows: Vec<BTreeMap<usize, RowText>> = Vec::new();
        let mut columns = Vec::new();
        for path in journals {
            // A process that begins while this one looks leaves a journal that is complete, or none.
            let is_written = is_being_written(path);
            let contents = match read_journal(path) {
                Ok(contents) => contents,
                Err(_) if is_beginning(path) => continue,
                Err(error) => {
                    status.problems.push(error);
                    continue;
                }
            };
            let part = part(path, &contents, is_written, now);
            let JournalContents {
                header,
                rows: found,
                ..
            } = contents;
            let known = status.studies.iter();
            let place = known.zip(&columns).position(|(study, known)| {
                study.identity == header.identity && *known == header.columns
            });
            let place = place.unwrap_or_else(|| {
                status.studies.push(StudyStatus {
                    identity: header.identity,
                    total: header.rows,
                    done: 0,
                    tally: Tally::default(),
                    parts: Vec::new(),
                    not_begun: Vec::new(),
                });
                columns.push(header.columns);
                rows.push(BTreeMap::new());
                status.studies.len() - 1
            });
            status.studies[place].parts.push(part);
            rows[place].extend(found);
        }
        for ((study, rows), columns) in status.studies.iter_mut().zip(rows).zip(columns) {
            study
                .parts
                .sort_by_key(|part| (part.part.count, part.part.index));
            study.not_begun = not_begun(&study.parts);
            study.done = rows.len();
            study.tally = Tally::of(&columns, &rows);
        }
        status
    }
}

/// Whether not even the first line of the journal is complete.
fn is_beginning(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| matches!(parse(&bytes, path), Ok(None)))
}

fn part(
    path: &Path,
    contents: &JournalContents,
    is_written: Option<bool>,
    now: SystemTime,
) -> PartStatus {
    let JournalContents { header, rows, .. } = contents;
    let total = header.rows_of_part();
    let state = match is_written {
        _ if rows.len() >= total => PartState::Finished,
        Some(true) => PartState::Running,
        Some(false) => PartState::Stopped,
        None => PartState::Unknown,
    };
    let age = |time: SystemTime| now.duration_since(time).ok().map(|age| age.as_secs_f64());
    let last = path.metadata().and_then(|file| file.modified());
    let begun = contents.writer.as_ref();
    let begun = begun.map(|writer| SystemTime::UNIX_EPOCH + Duration::from_secs(writer.begun));
    let new = rows.len() - contents.earlier;
    let rate = begun.and_then(age).filter(|_| state == PartState::Running);
    PartStatus {
        journal: path.to_owned(),
        part: header.part,
        state,
        total,
        // A journal that was put together by hand may have rows of other parts.
        done: rows.len().min(total),
        failed: Tally::of(&header.columns, rows).failed(),
        writer: contents.writer.clone(),
        since_last_row: last.ok().and_then(age),
        // The time of the beginning is in whole seconds.
        rate: rate
            .map(|seconds| new as f64 / seconds.max(1.0))
            .filter(|rate| *rate > 0.0),
    }
}

fn not_begun(parts: &[PartStatus]) -> Vec<Shard> {
    let counts: BTreeSet<usize> = parts.iter().map(|part| part.part.count).collect();
    let Some(count) = counts.first().copied().filter(|_| counts.len() == 1) else {
        return Vec::new();
    };
    let begun: BTreeSet<usize> = parts.iter().map(|part| part.part.index).collect();
    let indices = (1..=count).filter(|index| !begun.contains(index));
    indices.map(|index| Shard { index, count }).collect()
}
