//! Running a study.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gyrator::{FmuCache, StartError, System};
use gyrator_system::toml_file::{self, Setting, parse_with};
use gyrator_system::{Source, SystemFile};
use rayon::prelude::*;

use crate::cases::{Cases, Part};
use crate::cell::{Cell, Column, ColumnKind};
use crate::identity::Identity;
use crate::journal::{Header, Journal, JournalError, VERSION};
use crate::metrics::{Metric, Probe, tracks};
use crate::reference::Tape;
use crate::study_file::{Reference, StudyFile};
use crate::trial::{Bench, MakeUnits, Outcome, Role};

/// Why a study cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The system file cannot be read.
    #[error(transparent)]
    System(#[from] toml_file::ReadError),
    /// A file that the study depends on cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The first system of the list that can be described has not what the study measures.
    #[error("[metrics]: {0}")]
    Metric(String),
    /// The FMUs of the system cannot be opened.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The reference file cannot be used.
    #[error("reference: {0}")]
    Reference(String),
    /// No case is left.
    #[error("the study has no cases: look at [[vary]] and `require`")]
    NoCases,
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The threads could not be started.
    #[error("{0} threads could not be started: {1}")]
    Threads(usize, String),
}

/// A study that is ready to be run: its list of cases, its columns, what it is told apart by.
pub struct Study {
    file: StudyFile,
    system: Arc<Source>,
    components: Vec<String>,
    cases: Cases,
    columns: Vec<Column>,
    bonds: Vec<String>,
    identity: Identity,
    cache: FmuCache,
    tape: Option<Tape>,
}

/// How a study is run; none of it changes a row.
pub struct Options<'a> {
    /// The part of the list to be run.
    pub part: Part,
    /// Runs that are made at the same time.
    pub threads: NonZeroUsize,
    /// Ends the study once it is true; runs in progress have no rows then.
    pub interrupt: Arc<AtomicBool>,
    /// Components whose FMUs get processes of their own, where `maker` offers them.
    pub isolated: Vec<String>,
    /// Who makes the units of each run; [`gyrator::InProcess`] does so in this process.
    pub maker: &'a MakeUnits<'a>,
}

/// How far a study has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that are finished, with those of earlier processes.
    pub done: usize,
    /// Of these, those of this process.
    pub new: usize,
    /// Of the new ones, those whose run failed.
    pub failed: usize,
    /// Rows of the part.
    pub total: usize,
}

/// What came of a study.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Rows of the part.
    pub total: usize,
    /// Rows that are finished, with those of earlier processes.
    pub done: usize,
    /// Of these, those of this process.
    pub new: usize,
    /// Runs of this process that made no row of their own: references of rows that were finished.
    pub extra_runs: usize,
    /// New rows whose run failed, by stop reason, with one of the messages.
    pub failures: BTreeMap<&'static str, (usize, String)>,
}

impl Study {
    /// Makes the list of cases and checks what can be checked before the first run. `cache` opens
    /// the FMUs.
    ///
    /// # Errors
    ///
    /// [`StudyError`].
    pub fn prepare(file: StudyFile, cache: FmuCache) -> Result<Self, StudyError> {
        let (system, _) = toml_file::read(&file.system.value)?;
        let cases = Cases::new(&file);
        if cases.is_empty() {
            return Err(StudyError::NoCases);
        }
        let bonds = file.bonds.clone().unwrap_or_else(|| {
            let names = system.bonds.iter().map(|bond| bond.name.value.clone());
            names.collect()
        });
        let units = units(&file, &system, &cases, &cache)?;
        let columns = columns(&file, &cases, &bonds, &units);
        let identity = Identity::of(&file, &system, &cases, &columns)
            .map_err(|(path, source)| StudyError::File { path, source })?;
        let tape = match &file.reference {
            Some(Reference::File(path)) => {
                let tape = Tape::read(path, &tracks(&file.metrics));
                Some(tape.map_err(StudyError::Reference)?)
            }
            _ => None,
        };
        let names = system.components.iter();
        let names = names.map(|component| component.name.value.clone());
        Ok(Self {
            file,
            components: names.collect(),
            system: Arc::clone(&system.source),
            cases,
            columns,
            bonds,
            identity,
            cache,
            tape,
        })
    }

    /// Names of the components of the system file.
    #[must_use]
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// The list of cases.
    #[must_use]
    pub fn cases(&self) -> &Cases {
        &self.cases
    }

    /// The columns of the table.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The header of the journal of a part.
    #[must_use]
    pub fn header(&self, part: Part) -> Header {
        Header {
            gyrator_study_journal: VERSION,
            identity: self.identity.clone(),
            part,
            rows: self.cases.len(),
            columns: self.columns.clone(),
        }
    }

    /// The cells of a row, in the order of [`columns`](Self::columns).
    fn cells(&self, row: usize, outcome: &Outcome) -> Vec<Cell> {
        let mut cells = self.cases.cells(row);
        cells.push(Cell::Text(outcome.stop_reason.to_owned()));
        cells.push(match outcome.message.is_empty() {
            true => Cell::Empty,
            false => Cell::Text(outcome.message.clone()),
        });
        cells.push(outcome.reached.map(|(time, _)| time).into());
        let steps = outcome
            .reached
            .and_then(|(_, steps)| i64::try_from(steps).ok());
        cells.push(steps.map_or(Cell::Empty, Cell::Integer));
        let metric = |index: usize| outcome.metrics.get(index).copied().flatten();
        cells.extend((0..self.file.metrics.len()).map(|index| metric(index).into()));
        for index in 0..self.bonds.len() {
            match outcome.energies.get(index) {
                Some(energies) => cells.extend(energies.iter().copied().map(Cell::Real)),
                None => cells.extend([const { Cell::Empty }; 3]),
            }
        }
        if self.file.wall_time {
            cells.push(Cell::Real(outcome.seconds));
        }
        cells
    }
}

/// The units of the metrics, as the first system of the list tells them that can be described.
fn units(
    file: &StudyFile,
    system: &SystemFile,
    cases: &Cases,
    cache: &FmuCache,
) -> Result<Vec<Option<String>>, StudyError> {
    /// A study all of whose first systems are invalid has other problems than these.
    const TRIED: usize = 100;
    let mut not_opened = None;
    for row in 0..cases.len().min(TRIED) {
        let settings = cases.settings_of(row);
        let source = &system.source;
        let Ok((described, _)) = parse_with(source.text.clone(), &source.path, &settings) else {
            continue;
        };
        let system = match System::from_file_with(described, cache) {
            Ok(system) => system,
            Err(error) => {
                not_opened.get_or_insert(error);
                continue;
            }
        };
        let Ok(graph) = system.graph() else {
            continue;
        };
        let unit = |metric: &Metric| {
            let found = Probe::find(&metric.variable, &graph);
            found.map(|(_, unit)| unit).map_err(StudyError::Metric)
        };
        return file.metrics.iter().map(unit).collect();
    }
    match not_opened {
        Some(error) => Err(error.into()),
        None => Ok(vec![None; file.metrics.len()]),
    }
}

fn columns(
    file: &StudyFile,
    cases: &Cases,
    bonds: &[String],
    units: &[Option<String>],
) -> Vec<Column> {
    let column = |name: &str, kind, unit: Option<&str>| Column {
        unit: unit.map(str::to_owned),
        ..Column::new(name, kind)
    };
    let mut columns = cases.columns();
    columns.push(column("stop_reason", ColumnKind::Text, None));
    columns.push(column("message", ColumnKind::Text, None));
    columns.push(column("stop_time", ColumnKind::Real, Some("s")));
    columns.push(column("steps", ColumnKind::Integer, None));
    let metrics = file.metrics.iter().zip(units);
    columns.extend(metrics.map(|(metric, unit)| metric.table_column(unit.clone())));
    for bond in bonds {
        for value in ["residual_energy", "transferred_energy", "correction_energy"] {
            let name = format!("bond.{bond}.{value}");
            columns.push(column(&name, ColumnKind::Real, Some("J")));
        }
    }
    if file.wall_time {
        columns.push(column("wall_time", ColumnKind::Real, Some("s")));
    }
    columns
}

/// Rows that are measured against the same run; rows are named by their places.
#[derive(Default)]
struct Group {
    /// What that run sets; nothing where there is no such run.
    reference: Option<Vec<Setting>>,
    /// Rows that are the reference itself.
    own: Vec<usize>,
    others: Vec<usize>,
}

/// Makes the runs of a part that are not in the journal yet. Failed runs are rows, too. `tell` is
/// called after every row, from several threads.
///
/// # Errors
///
/// [`StudyError::Journal`] if a row cannot be kept.
pub fn run(
    study: &Study,
    options: &Options<'_>,
    journal: &Journal,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, StudyError> {
    let threads = options.threads.get();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| StudyError::Threads(threads, error.to_string()))?;
    let isolate = |name: &String| Setting {
        key: format!("components.\"{name}\".isolate"),
        value: "true".to_owned(),
    };
    let last: Vec<Setting> = options.isolated.iter().map(isolate).collect();
    let mut groups = Vec::new();
    let total = collect(study, options.part, journal, &mut groups);
    let runner = Runner {
        study,
        journal,
        tell,
        bench: Bench {
            system: &study.system,
            metrics: &study.file.metrics,
            bonds: &study.bonds,
            interrupt: Arc::clone(&options.interrupt),
            last: &last,
            maker: options.maker,
        },
        caches: (0..threads).map(|_| study.cache.apart()).collect(),
        total,
        done: AtomicUsize::new(journal.done().len()),
        new: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
        extra_runs: AtomicUsize::new(0),
        failures: Mutex::default(),
    };
    pool.install(|| {
        groups
            .par_iter()
            .with_max_len(1)
            .try_for_each(|group| runner.group(group))
    })?;
    journal.sync()?;
    Ok(Summary {
        total,
        done: runner.done.into_inner(),
        new: runner.new.into_inner(),
        extra_runs: runner.extra_runs.into_inner(),
        failures: runner
            .failures
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    })
}

/// Sorts the open rows of a part into groups; the number of all its rows.
fn collect(study: &Study, part: Part, journal: &Journal, groups: &mut Vec<Group>) -> usize {
    let cases = &study.cases;
    let reference = match study.file.reference {
        Some(Reference::Variant(variant)) => Some(variant),
        _ => None,
    };
    let mut places: BTreeMap<Vec<Setting>, usize> = BTreeMap::new();
    let mut total = 0;
    for row in 0..cases.len() {
        let place = cases.place(row);
        if !part.contains(place.number) {
            continue;
        }
        total += 1;
        if journal.done().contains_key(&row) {
            continue;
        }
        let Some(variant) = reference else {
            groups.push(Group {
                others: vec![row],
                ..Group::default()
            });
            continue;
        };
        let settings = cases.settings(place.number, Some(variant));
        let group = *places.entry(settings).or_insert_with_key(|settings| {
            groups.push(Group {
                reference: Some(settings.clone()),
                ..Group::default()
            });
            groups.len() - 1
        });
        match place.variant == Some(variant) {
            true => groups[group].own.push(row),
            false => groups[group].others.push(row),
        }
    }
    total
}

struct Runner<'a> {
    study: &'a Study,
    journal: &'a Journal,
    tell: &'a (dyn Fn(Progress) + Sync),
    bench: Bench<'a>,
    /// One a thread, so that a fatal error concerns no other run.
    caches: Vec<FmuCache>,
    total: usize,
    done: AtomicUsize,
    new: AtomicUsize,
    failed: AtomicUsize,
    extra_runs: AtomicUsize,
    failures: Mutex<BTreeMap<&'static str, (usize, String)>>,
}

impl Runner<'_> {
    fn cache(&self) -> &FmuCache {
        &self.caches[rayon::current_thread_index().unwrap_or(0) % self.caches.len()]
    }

    fn is_interrupted(&self) -> bool {
        self.bench.interrupt.load(Ordering::Relaxed)
    }

    fn group(&self, group: &Group) -> Result<(), StudyError> {
        if self.is_interrupted() {
            return Ok(());
        }
        let mut made_now = None;
        if let Some(settings) = &group.reference {
            let made = self.bench.run(settings, &Role::Reference, self.cache());
            let Some((outcome, recorded)) = made else {
                return Ok(());
            };
            for row in &group.own {
                self.keep(*row, &outcome)?;
            }
            if group.own.is_empty() {
                self.extra_runs.fetch_add(1, Ordering::Relaxed);
            }
            // Of a reference that did not start, no time is covered.
            made_now = Some(recorded.unwrap_or_default());
        }
        let tape = made_now.as_ref().or(self.study.tape.as_ref());
        let others = group.others.par_iter().with_max_len(1);
        others.try_for_each(|row| {
            if self.is_interrupted() {
                return Ok(());
            }
            let settings = self.study.cases.settings_of(*row);
            let role = Role::Measured(tape);
            match self.bench.run(&settings, &role, self.cache()) {
                Some((outcome, _)) => self.keep(*row, &outcome),
                None => Ok(()),
            }
        })
    }

    fn keep(&self, row: usize, outcome: &Outcome) -> Result<(), StudyError> {
        self.journal.append(row, &self.study.cells(row, outcome))?;
        let new = self.new.fetch_add(1, Ordering::Relaxed) + 1;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !outcome.is_success() {
            self.failed.fetch_add(1, Ordering::Relaxed);
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = failures.entry(outcome.stop_reason);
            let (count, _) = entry.or_insert_with(|| (0, outcome.message.clone()));
            *count += 1;
        }
        (self.tell)(Progress {
            done,
            new,
            failed: self.failed.load(Ordering::Relaxed),
            total: self.total,
        });
        Ok(())
    }
}
