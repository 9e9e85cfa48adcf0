//! Running a study.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gyrator::error::StateFileError;
use gyrator::system::{FmuCache, StateFile};
use gyrator_system::toml_file::Setting;
use gyrator_system::{Source, SystemFile, Unpacked};
use rayon::prelude::*;

use crate::bond_columns;
use crate::cases::{Cases, Shard};
use crate::cell::{Cell, Column};
use crate::columns::{columns, units};
use crate::crashed_run::{FailedRun, RunsInProgress, Trial};
use crate::error::StudyError;
use crate::error_columns;
use crate::fmus;
use crate::groups::{self, Group};
use crate::identity::Identity;
use crate::journal::{Header, Journal, VERSION};
use crate::metrics::tracks;
use crate::options::Options;
use crate::reference::ReferenceTrajectory;
use crate::renewal::{NoSuccessor, Renewal};
use crate::study_file::{Reference, StudyFile};
use crate::surroundings::Subject;
use crate::tally::{HOST_LOST, Tally};
use crate::trial::{Bench, Role, TrialOutcome};

/// A study that is ready to be run: its list of cases, its columns, its identity.
pub struct Study {
    file: StudyFile,
    system: Arc<Source>,
    /// Keeps the FMUs of an archive, which the text of the system names.
    _unpacked: Unpacked,
    components: Vec<String>,
    cases: Cases,
    columns: Vec<Column>,
    bonds: Vec<String>,
    identity: Identity,
    cache: FmuCache,
    trajectory: Option<ReferenceTrajectory>,
    state: Option<StateFile>,
}

/// How far a study has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows that are finished, with rows of earlier processes.
    pub done: usize,
    /// Of these, the rows of this process.
    pub new: usize,
    /// Of the finished ones, those whose run failed.
    pub failed: usize,
    /// Rows of the part.
    pub total: usize,
}

/// Outcome of a study.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Rows of the part.
    pub total: usize,
    /// Rows that are finished, with rows of earlier processes.
    pub done: usize,
    /// Of these, the rows of this process.
    pub new: usize,
    /// Runs of this process that made no row of their own: references of rows that were finished.
    pub extra_runs: usize,
    /// Runs that did not start in this process: another one has to make them, unless this one has made one row.
    pub failed: Vec<FailedRun>,
    /// How the finished rows ended.
    pub tally: Tally,
}

impl Study {
    /// Makes the list of cases and checks what can be checked before the first run. `system` is the
    /// one that the file names, with the text of a system file as its source
    /// ([`toml_file::as_toml`](gyrator_system::toml_file::as_toml)); `cache` opens the FMUs.
    ///
    /// # Errors
    ///
    /// [`StudyError`].
    pub fn prepare(
        file: StudyFile,
        system: SystemFile,
        cache: FmuCache,
    ) -> Result<Self, StudyError> {
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
        let trajectory = match &file.reference {
            Some(Reference::File(path)) => {
                let trajectory = ReferenceTrajectory::read(path, &tracks(&file.metrics));
                Some(trajectory.map_err(StudyError::Reference)?)
            }
            _ => None,
        };
        let state = file.resume.as_deref();
        let state = state.map(|path| read_state(path, &file)).transpose()?;
        let names = system.components.iter();
        let names = names.map(|component| component.name.value.clone());
        Ok(Self {
            file,
            components: names.collect(),
            system: Arc::clone(&system.source),
            _unpacked: system.unpacked,
            cases,
            columns,
            bonds,
            identity,
            cache,
            trajectory,
            state,
        })
    }

    /// Names of the components of the system file.
    #[must_use]
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// The header of the journal of a part.
    #[must_use]
    pub fn header(&self, part: Shard) -> Header {
        Header {
            gyrator_study_journal: VERSION,
            identity: self.identity.clone(),
            part,
            rows: self.cases.len(),
            columns: self.columns.clone(),
            rows_of_case: self.cases.per_point(),
        }
    }

    /// The cells of a row, in the order of [`columns`](Self::columns).
    fn cells(&self, row: usize, outcome: &TrialOutcome) -> Vec<Cell> {
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
        cells.push(bond_columns::verdict(outcome.verdict));
        let metric = |index: usize| outcome.metrics.get(index).copied().flatten();
        cells.extend((0..self.file.metrics.len()).map(|index| metric(index).into()));
        for index in 0..self.file.error_bars.len() {
            cells.extend(error_columns::cells(outcome.error_bars.get(index)));
        }
        for index in 0..self.bonds.len() {
            match outcome.bonds.get(index) {
                Some(of_bond) => cells.extend(of_bond.iter().cloned()),
                None => cells.extend(bond_columns::cells(None)),
            }
        }
        if self.file.wall_time {
            cells.push(Cell::Real(outcome.seconds));
        }
        cells
    }
}

/// Reads the saved state from which the runs continue; errors begin with its path.
fn read_state(path: &Path, study: &StudyFile) -> Result<StateFile, StateFileError> {
    let place = path.display();
    let others = [
        ("error_bars", !study.error_bars.is_empty()),
        ("verification", study.verification),
    ];
    if let Some((key, _)) = others.into_iter().find(|(_, is_wanted)| *is_wanted) {
        return Err(StateFileError::new(
            format!(
                "{place}: `{key}` needs runs at other macro-steps, and none goes on from a state there"
            ),
            format!("leave out `{key}`, or `resume`"),
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        let message = format!("cannot read the saved state {place}: {error}");
        StateFileError::new(message, "`gyrator run --save-state` writes one")
    })?;
    StateFile::from_bytes(&bytes).map_err(|error| {
        let StateFileError { message, help, .. } = error;
        StateFileError::new(format!("{place}: {message}"), help)
    })
}

/// Makes the runs of a part that are not in the journal yet. Failed runs are also rows. `report` is
/// called after every row, from several threads.
///
/// # Errors
///
/// [`StudyError::Journal`] if a row cannot be kept.
pub fn run(
    study: &Study,
    options: &Options<'_>,
    journal: &Journal,
    report: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, StudyError> {
    let threads = options.threads.get();
    let pool = match threads {
        1 => None,
        _ => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|error| StudyError::Threads(threads, error.to_string()))?)
        }
    };
    let isolate = |name: &String| Setting {
        key: format!("components.\"{name}\".isolate"),
        value: "true".to_owned(),
    };
    let last: Vec<Setting> = options.isolated.iter().map(isolate).collect();
    let reference = match study.file.reference {
        Some(Reference::Variant(variant)) => Some(variant),
        _ => None,
    };
    let (groups, total) = groups::of_part(&study.cases, reference, options, journal);
    let tally = Tally::of(&study.columns, journal.done());
    let runner = Runner {
        study,
        journal,
        report,
        bench: Bench {
            system: &study.system,
            metrics: &study.file.metrics,
            error_bars: &study.file.error_bars,
            verification: study.file.verification,
            bonds: &study.bonds,
            interrupt: Arc::clone(&options.interrupt),
            pending_timeout: options.pending_timeout,
            state: study.state.as_ref(),
            last: &last,
            maker: options.maker,
            surroundings: options.surroundings,
        },
        caches: (0..threads)
            .map(|thread| match thread {
                0 => study.cache.with_own_libraries(),
                _ => study.cache.with_own_files(),
            })
            .collect(),
        renewal: Renewal::of(options),
        in_progress: options.in_progress,
        total,
        done: AtomicUsize::new(journal.done().len()),
        new: AtomicUsize::new(0),
        extra_runs: AtomicUsize::new(0),
        tally: Mutex::new(tally),
    };
    runner.keep_lost(options)?;
    let Study {
        system,
        cases,
        cache,
        ..
    } = study;
    let runs = groups.iter().flat_map(|group| group.runs(cases));
    fmus::open(system, cases, runs, cache, &options.interrupt);
    let work = || runner.each(&groups, |group| runner.group(group));
    match &pool {
        Some(pool) => pool.install(work)?,
        None => work()?,
    }
    journal.sync()?;
    Ok(Summary {
        total,
        done: runner.done.into_inner(),
        new: runner.new.into_inner(),
        extra_runs: runner.extra_runs.into_inner(),
        failed: runner.renewal.into_failed(),
        tally: runner
            .tally
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    })
}

struct Runner<'a> {
    study: &'a Study,
    journal: &'a Journal,
    report: &'a (dyn Fn(Progress) + Sync),
    bench: Bench<'a>,
    /// One a thread, so that a fatal error and written files concern no other run.
    caches: Vec<FmuCache>,
    renewal: Renewal<'a>,
    in_progress: Option<&'a RunsInProgress>,
    total: usize,
    done: AtomicUsize,
    new: AtomicUsize,
    extra_runs: AtomicUsize,
    tally: Mutex<Tally>,
}

impl Runner<'_> {
    fn cache(&self) -> &FmuCache {
        &self.caches[thread() % self.caches.len()]
    }

    /// Does `work` for all items, in the threads of the pool if there are several.
    fn each<T: Sync>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<(), StudyError> + Sync,
    ) -> Result<(), StudyError> {
        match self.caches.len() {
            1 => items.iter().try_for_each(work),
            _ => items.par_iter().with_max_len(1).try_for_each(&work),
        }
    }

    /// Makes the rows of runs that have ended an earlier process.
    fn keep_lost(&self, options: &Options<'_>) -> Result<(), StudyError> {
        for FailedRun { trial, message } in options.lost {
            if !trial.is_reference && !self.journal.done().contains_key(&trial.row) {
                self.keep(trial.row, &TrialOutcome::lost(message))?;
            }
        }
        Ok(())
    }

    /// Does `work` for a run while it is noted.
    fn noted(
        &self,
        trial: Trial,
        work: impl FnOnce() -> Result<(), StudyError>,
    ) -> Result<(), StudyError> {
        let Some(in_progress) = self.in_progress else {
            return work();
        };
        in_progress
            .set(thread(), Some(trial))
            .map_err(StudyError::InProgress)?;
        work()?;
        in_progress
            .set(thread(), None)
            .map_err(StudyError::InProgress)
    }

    /// Whether no further run is to begin.
    fn ends(&self) -> bool {
        self.bench.interrupt.load(Ordering::Relaxed) || self.renewal.is_due()
    }

    /// Makes a run; nothing if the user interrupted it, or if another process has to make it.
    fn made(
        &self,
        trial: Trial,
        settings: &[Setting],
        role: &Role<'_>,
    ) -> Result<Option<(TrialOutcome, Option<ReferenceTrajectory>)>, StudyError> {
        // The outcome of a reference makes no row, or several. If it cannot be kept now, it cannot be later, which is an error then.
        let before = |outcome: &TrialOutcome| {
            if !trial.is_reference {
                let cells = self.study.cells(trial.row, outcome);
                let _ = self.journal.append(trial.row, &cells);
            }
        };
        let made = self.bench.run(trial, settings, role, self.cache(), &before);
        if let Err(error) = self.restore_files() {
            // The next process unpacks them anew.
            self.renewal.end().map_err(|NoSuccessor| error)?;
        }
        Ok(made.filter(|(outcome, _)| !self.renewal.takes(trial, outcome)))
    }

    /// Restores the unpacked files of this thread that a run has changed.
    fn restore_files(&self) -> Result<(), StudyError> {
        let restored = self.cache().restore_files();
        for (fmu, names) in restored.map_err(|error| StudyError::HostLost(error.to_string()))? {
            let surroundings = self.bench.surroundings;
            surroundings.tell(Subject::Fmu(fmu), &names);
        }
        Ok(())
    }

    fn group(&self, group: &Group) -> Result<(), StudyError> {
        if self.ends() {
            return Ok(());
        }
        let mut made_now = None;
        if let Some(settings) = &group.reference {
            let Some(row) = group.own.first().or(group.others.first()) else {
                return Ok(());
            };
            let trial = Trial {
                row: *row,
                is_reference: true,
            };
            self.noted(trial, || {
                made_now = self.reference(trial, group, settings)?;
                Ok(())
            })?;
            if made_now.is_none() {
                return Ok(());
            }
        }
        let trajectory = made_now.as_ref().or(self.study.trajectory.as_ref());
        self.each(&group.others, |row| {
            if self.ends() {
                return Ok(());
            }
            let settings = self.study.cases.settings_of(*row);
            let role = Role::Measured(trajectory);
            let trial = Trial {
                row: *row,
                is_reference: false,
            };
            self.noted(trial, || match self.made(trial, &settings, &role)? {
                Some((outcome, _)) => self.keep(*row, &outcome),
                None => Ok(()),
            })
        })
    }

    /// Makes the run that others are measured against, and the rows that are this run; nothing
    /// if it cannot be made now.
    fn reference(
        &self,
        trial: Trial,
        group: &Group,
        settings: &[Setting],
    ) -> Result<Option<ReferenceTrajectory>, StudyError> {
        let made = match &group.lost {
            Some(message) => Some((TrialOutcome::lost(message), None)),
            None => self.made(trial, settings, &Role::Reference)?,
        };
        let Some((outcome, recorded)) = made else {
            return Ok(None);
        };
        for row in &group.own {
            self.keep(*row, &outcome)?;
        }
        if group.own.is_empty() && group.lost.is_none() {
            self.extra_runs.fetch_add(1, Ordering::Relaxed);
        }
        // Of a reference that did not start, no time is covered.
        Ok(Some(recorded.unwrap_or_default()))
    }

    fn keep(&self, row: usize, outcome: &TrialOutcome) -> Result<(), StudyError> {
        // Each of the following rows would fail for the same reason, and the next attempt would not make it again.
        if outcome.stop_reason == HOST_LOST {
            return Err(StudyError::HostLost(outcome.message.clone()));
        }
        self.journal.append(row, &self.study.cells(row, outcome))?;
        let new = self.new.fetch_add(1, Ordering::Relaxed) + 1;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let failed = {
            let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
            let TrialOutcome {
                stop_reason,
                message,
                verdict,
                ..
            } = outcome;
            tally.add(row, stop_reason, message, *verdict);
            tally.failed()
        };
        (self.report)(Progress {
            done,
            new,
            failed,
            total: self.total,
        });
        self.renewal.look();
        Ok(())
    }
}

/// The number of this thread among the threads that make runs.
fn thread() -> usize {
    rayon::current_thread_index().unwrap_or(0)
}
