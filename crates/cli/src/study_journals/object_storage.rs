//! Journals and tables of studies in an object storage.
//!
//! A part is made here, in a folder for temporary files. Whole lines that its journal has gained become objects,
//! `part-3.csv.journal/00000001` and so on, which joined are the journal. An object is created only where there is none of its name, so
//! that two processes that make the same part cannot both go on. The object `writer` beside them says that a process does.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use gyrator_fmu::leftovers::OwnDirectory;
use gyrator_study::Writer;
use gyrator_worker::Stop;
use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, Object, StorageError};
use super::journal_of;
use crate::exit::Exit;
use crate::failure::{Failure, Message};

/// Least time between two objects of a journal: a process that is killed loses the rows of this time.
const INTERVAL: Duration = Duration::from_secs(5);

/// Longest time between them. Of long studies a hundredth of the time may be lost, so that there are hundreds of objects and not
/// thousands.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// After so long without a sign of life, a process counts as dead.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The object that says which process makes a part.
const WRITER: &str = "writer";

/// A sign of life.
#[derive(Serialize, Deserialize)]
struct Heartbeat {
    writer: Writer,
    number: u64,
}

/// A part that is made here and kept there.
pub(crate) struct KeptPart {
    folder: OwnDirectory,
    table: PathBuf,
    /// Name of the table there.
    name: String,
    /// Ends the study.
    stop: Stop,
    end: Sender<()>,
    keeper: JoinHandle<(Keeper, Result<(), Failure>)>,
}

impl KeptPart {
    /// Opens the part of this table: fetches its journal, and waits whether another process makes it.
    ///
    /// # Errors
    /// A store that cannot be reached, and a process that makes the part.
    pub(crate) fn open(url: &str, study: &Path) -> Result<Self, Failure> {
        let (bucket, name) = Bucket::of_url(url)?;
        let file = Path::new(&name).file_name();
        let Some(file) = file.filter(|_| !url.ends_with('/')) else {
            return Err(Failure::usage(format!(
                "--output-file {url} names no table"
            )));
        };
        let folder = OwnDirectory::new()?;
        let table = folder.path().join(file);
        let journal = format!("{name}.journal");
        let beat = format!("{journal}/{WRITER}");
        wait_for_death(&bucket, &beat, url)?;
        let writer = Writer::this_process(study);
        bucket.write(
            &beat,
            text(&Heartbeat {
                writer: writer.clone(),
                number: 0,
            })?,
        )?;
        let objects = lines(bucket.list(&journal)?);
        let content = joined(&bucket, &objects)?;
        std::fs::write(journal_of(&table), &content)?;
        let keeper = Keeper {
            journal: journal_of(&table),
            kept: content.len() as u64,
            next: objects.last().map_or(1, |last| number(last) + 1),
            name: journal,
            writer,
            bucket,
        };
        let stop = Stop::default();
        let (end, ended) = mpsc::channel();
        let asked = stop.clone();
        let work = move || keeper.keep(&ended, &asked);
        Ok(Self {
            folder,
            table,
            name,
            stop,
            end,
            keeper: thread::Builder::new().spawn(work)?,
        })
    }

    /// The table here.
    pub(crate) fn table(&self) -> &Path {
        &self.table
    }

    /// The wish that the study ends.
    pub(crate) fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Keeps the lines that are left, and the table where it was written. Where the store takes them no more, they stay here.
    ///
    /// # Errors
    /// That of the study, or of the store.
    pub(crate) fn close(self, outcome: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let Self {
            folder,
            table,
            name,
            end,
            keeper,
            ..
        } = self;
        drop(end);
        let kept = match keeper.join() {
            Ok((keeper, kept)) => kept.and_then(|()| keeper.close(&table, &name)),
            Err(_) => {
                let text = "the copy to the object storage panicked";
                Err(Failure::new(Exit::Panicked, Message::error(text)))
            }
        };
        kept.map_err(|failure| {
            let journal = journal_of(&folder.keep().join(table.file_name().unwrap_or_default()));
            let journal = journal.display();
            failure.help(format!(
                "all rows are kept in {journal}: `gyrator study merge` reads it beside the parts in the store"
            ))
        })?;
        outcome
    }
}

/// Waits until the process that makes the part, if any, proves to be dead.
fn wait_for_death(bucket: &Bucket, beat: &str, url: &str) -> Result<(), Failure> {
    const PAUSE: Duration = Duration::from_secs(1);
    let begin = Instant::now();
    let Some(first) = bucket.read(beat)? else {
        return Ok(());
    };
    let last: Option<Heartbeat> = serde_json::from_slice(&first).ok();
    if last.as_ref().is_some_and(|last| is_dead_here(&last.writer)) {
        return Ok(());
    }
    while begin.elapsed() < TIMEOUT {
        thread::sleep(PAUSE);
        match bucket.read(beat)? {
            None => return Ok(()),
            Some(now) if now == first => {}
            Some(now) => {
                let beat: Option<Heartbeat> = serde_json::from_slice(&now).ok();
                let writer = beat.map_or_else(String::new, |beat| format!(" ({})", beat.writer));
                let text = format!("{url} is being made by another process{writer}");
                let failure = Failure::new(Exit::InvalidInput, Message::error(text));
                return Err(failure.help("wait for it, end it, or choose another output file"));
            }
        }
    }
    Ok(())
}

/// Whether a process was one of this machine, and is no more.
fn is_dead_here(writer: &Writer) -> bool {
    let here = Writer::this_process(Path::new(""));
    let processes = Path::new("/proc");
    let own = processes.join(here.process.to_string());
    let other = processes.join(writer.process.to_string());
    writer.host == here.host && own.exists() && !other.exists()
}

/// Copies a journal to the store while it grows.
struct Keeper {
    bucket: Bucket,
    journal: PathBuf,
    /// Bytes of the journal that are kept.
    kept: u64,
    /// Number of the next object.
    next: u64,
    /// Name of the journal there.
    name: String,
    writer: Writer,
}

impl Keeper {
    /// Copies until the end; a store that fails is tried again until then, and one that has lines of another process ends the study.
    fn keep(mut self, ended: &mpsc::Receiver<()>, stop: &Stop) -> (Self, Result<(), Failure>) {
        let begin = Instant::now();
        let (mut last_put, mut last_beat, mut number) = (begin, begin, 0);
        while ended.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
            let interval = (begin.elapsed() / 100).clamp(INTERVAL, LONGEST_INTERVAL);
            if last_put.elapsed() >= interval {
                last_put = Instant::now();
                match self.put() {
                    Err(failure) if failure.exit == Exit::InvalidInput => {
                        stop.request();
                        return (self, Err(failure));
                    }
                    _ => {}
                }
            }
            if last_beat.elapsed() >= HEARTBEAT {
                last_beat = Instant::now();
                number += 1;
                let writer = self.writer.clone();
                if let Ok(text) = text(&Heartbeat { writer, number }) {
                    // The next one may reach the store.
                    let _ = self.bucket.write(&format!("{}/{WRITER}", self.name), text);
                }
            }
        }
        (self, Ok(()))
    }

    /// Puts the last lines into the store, and the table where it was written; then no process makes the part.
    fn close(mut self, table: &Path, name: &str) -> Result<(), Failure> {
        self.put()?;
        if table.exists() {
            self.bucket.write(name, std::fs::read(table)?)?;
        }
        self.bucket.remove(&format!("{}/{WRITER}", self.name))?;
        Ok(())
    }

    /// Makes an object of the whole lines that are new.
    fn put(&mut self) -> Result<(), Failure> {
        let mut new = Vec::new();
        let mut file = File::open(&self.journal)?;
        file.seek(SeekFrom::Start(self.kept))?;
        file.read_to_end(&mut new)?;
        let whole = new
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        new.truncate(whole);
        if new.is_empty() {
            return Ok(());
        }
        let object = format!("{}/{:08}", self.name, self.next);
        if !self.bucket.create(&object, new.clone())?
            && self.bucket.read(&object)?.as_ref() != Some(&new)
        {
            let text = format!("another process has written the object {object} in the meantime");
            let failure = Failure::new(Exit::InvalidInput, Message::error(text));
            return Err(failure.help("rows that it has not are made again by the same command"));
        }
        self.kept += whole as u64;
        self.next += 1;
        Ok(())
    }
}

fn text(beat: &Heartbeat) -> Result<Vec<u8>, Failure> {
    Ok(serde_json::to_vec(beat).map_err(std::io::Error::from)?)
}

/// The objects that are pieces of a journal.
fn lines(objects: Vec<Object>) -> Vec<Object> {
    objects
        .into_iter()
        .filter(|object| number(object) > 0)
        .collect()
}

/// The number of a piece; 0 where it is none.
fn number(object: &Object) -> u64 {
    let name = object.name.rsplit('/').next().unwrap_or_default();
    name.parse().unwrap_or(0)
}

fn joined(bucket: &Bucket, pieces: &[Object]) -> Result<Vec<u8>, Failure> {
    let names: Vec<&str> = pieces.iter().map(|piece| piece.name.as_str()).collect();
    Ok(bucket.read_all(&names)?)
}

/// Copies of journals, until they are dropped.
pub(crate) struct Fetched {
    folder: OwnDirectory,
    url: String,
    /// The copies, and those that stay locked as their journals are.
    pub(crate) journals: Vec<PathBuf>,
    locks: Vec<File>,
}

impl Fetched {
    /// Copies of the journals of a folder, or of that of a part.
    ///
    /// # Errors
    /// A store that cannot be reached.
    pub(crate) fn of(url: &str) -> Result<Self, Failure> {
        let (bucket, name) = Bucket::of_url(url)?;
        let journal = name.strip_suffix(".journal").unwrap_or(&name).to_owned() + ".journal";
        let mut objects = bucket.list(&journal)?;
        if objects.is_empty() {
            objects = bucket.list(&name)?;
        }
        let mut fetched = Self {
            folder: OwnDirectory::new()?,
            url: url.trim_end_matches('/').to_owned(),
            journals: Vec::new(),
            locks: Vec::new(),
        };
        let of = |object: &Object| {
            object
                .name
                .rsplit_once('/')
                .map(|(journal, _)| journal.to_owned())
        };
        for group in objects.chunk_by(|a, b| of(a) == of(b)) {
            let Some(journal) = of(&group[0]).filter(|journal| journal.ends_with(".journal"))
            else {
                continue;
            };
            fetched.fetch(&bucket, &journal, group)?;
        }
        Ok(fetched)
    }

    fn fetch(&mut self, bucket: &Bucket, journal: &str, objects: &[Object]) -> Result<(), Failure> {
        let pieces = lines(objects.to_vec());
        let content = joined(bucket, &pieces)?;
        let name = Path::new(journal).file_name().unwrap_or_default();
        let path = self.folder.path().join(name);
        std::fs::write(&path, content)?;
        let file = File::options().append(true).open(&path)?;
        if let Some(last) = pieces.last() {
            file.set_modified(last.written)?;
        }
        let beat = objects.iter().find(|object| object.name.ends_with(WRITER));
        let age = beat.and_then(|beat| SystemTime::now().duration_since(beat.written).ok());
        if age.is_some_and(|age| age < TIMEOUT) {
            let _ = file.try_lock();
            self.locks.push(file);
        }
        self.journals.push(path);
        Ok(())
    }

    /// The URL of a copy.
    pub(crate) fn shown(&self, copy: &Path) -> Option<PathBuf> {
        let name = copy.strip_prefix(self.folder.path()).ok()?;
        let part = Path::new(&self.url).file_name();
        let is_part = name.file_stem() == part || Some(name.as_os_str()) == part;
        Some(match is_part {
            true => PathBuf::from(&self.url),
            false => format!("{}/{}", self.url, name.display()).into(),
        })
    }
}

/// Writes a table there that `write` makes here.
///
/// # Errors
/// Those of `write` and of the store.
pub(crate) fn keep_table(
    url: &str,
    write: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (bucket, name) = Bucket::of_url(url)?;
    let folder = OwnDirectory::new()?;
    let file = Path::new(&name).file_name();
    let file = file.ok_or_else(|| Failure::usage(format!("--output-file {url} names no table")))?;
    let table = folder.path().join(file);
    write(&table)?;
    bucket.write(&name, std::fs::read(&table)?)?;
    Ok(())
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Url(_) => Self::usage(error.to_string()),
            StorageError::Network(_) => Self::of(Exit::Failed, &error),
            StorageError::Store { .. } => Self::of(Exit::Failed, &error).help(
                "address and keys of the store are those of the environment: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION; \
                 AWS_ALLOW_HTTP=true for one without TLS",
            ),
        }
    }
}
