//! A run from its system file to its summary: what `run` and `simulate` share.

mod ending;
mod judging;
mod options;
mod reporting;
mod stepping;

pub(crate) use options::SessionOptions;

use judging::Judged;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use gyrator::learning::FeedForward;
use gyrator::profile::{Profile, ProfiledUnits};
use gyrator::record::Selection;
use gyrator::system::FmuCache;
use gyrator::unit::UnitMaker;
use gyrator::{Recorder, Report, Run, RunError, RunOptions, System, Value};
use gyrator_assess::Kept;
use gyrator_fmu::Fmu;
use gyrator_record::RecordError;
use gyrator_system::{MissingTime, Problem, SystemFile};
use gyrator_worker::{Worker, surroundings};

use crate::error_bars::Assessment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::feature::{Feature, Needs, Start};
use crate::fmu_log;
use crate::hosts;
use crate::initial_values::initial_values;
use crate::input_file::{InputFile, InputTable};
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::overwriting::{self, Named};
use crate::provenance::{Hashing, Provenance};
use crate::recorder::{ResultFile, no_variable, recorder, renamed};
use crate::screen;
use crate::session_warnings::{costly_copies, shared_files, warning};
use crate::state_options::{Resumed, Saving, StateOptions};
use crate::summary::WallClock;
use crate::table_options::InputOptions;
use crate::verification::VerificationOptions;

/// The rule of a warning about the duration of the run.
const MANY_STEPS: &str = "many-steps";

/// A system to run, with its options.
pub(crate) struct Session<'a> {
    /// The system, with the options of the command line in it.
    pub(crate) system: SystemFile,
    /// Warnings of reading it.
    pub(crate) warnings: Vec<Problem>,
    /// How it is carried out, recorded and shown.
    pub(crate) options: &'a SessionOptions,
    /// The features of the run, in their order.
    pub(crate) features: Vec<&'a dyn Feature>,
    /// Files that are read besides the system's.
    pub(crate) inputs: Vec<Named<'a>>,
    /// The component of a run of one FMU.
    pub(crate) single: Option<String>,
    /// Time series that feed inputs.
    pub(crate) input: Option<&'a InputOptions>,
    /// Additions to inputs.
    pub(crate) feed_forward: Option<FeedForward>,
    /// A coupling that diverges does not count as a failure.
    pub(crate) accepts_divergence: bool,
    /// Looks for likely wrong senses of bonds when it is over.
    pub(crate) checks_senses: bool,
    /// Whether a suspicion is verified; `None` of a run without a coupling.
    pub(crate) verification: Option<&'a VerificationOptions>,
    /// Saved states.
    pub(crate) states: Option<&'a StateOptions>,
    /// When loading began.
    pub(crate) begin: Instant,
}

/// The facts of a run that has ended.
struct EndedRun<'a> {
    report: &'a Report,
    judged: &'a Judged,
    provenance: Option<Provenance>,
}

/// A run that was started, with what observes it.
struct Running {
    run: Run,
    recorder: Option<Recorder>,
    /// Records the signals whose errors are estimated.
    assessing: Option<Recorder>,
    /// Keeps what a second run is compared with.
    kept: Option<Kept>,
    /// Saves its state.
    saving: Option<Saving>,
    /// Where it goes on from.
    resumed: Option<String>,
    /// Which columns keep the name of their component.
    renamed: Option<String>,
    /// Parameters that are recorded once.
    parameters: Vec<(String, Value)>,
    inputs: Option<Arc<InputFile>>,
    file: Option<ResultFile>,
    clock: WallClock,
    /// Keeps the signals of the page.
    drawn: Option<reporting::Drawn>,
    /// Measures how it spends its time.
    profile: Option<Profile>,
    /// The files that were read, if something is written that names them.
    hashing: Option<Hashing>,
    /// The page on which it is seen.
    live: Option<Live>,
    /// Warnings that were shown at its start.
    warned: usize,
    /// FMUs with copies of their library.
    copied: Vec<(PathBuf, usize)>,
    /// FMUs that several components use.
    shared: Vec<(Fmu, Vec<String>)>,
    stepping_since: Instant,
}

impl Running {
    /// The report of a run that has reached its end.
    fn report(&mut self) -> Report {
        self.clock.stepping = self.stepping_since.elapsed().as_secs_f64();
        let mut report = self.run.report();
        let advice = costly_copies(&self.copied, &report, self.clock.stepping);
        report.notes.extend(self.resumed.take());
        report.notes.extend(self.renamed.take());
        report.notes.extend(advice);
        report.notes.extend(shared_files(&self.shared));
        report
    }
}

impl<'a> Session<'a> {
    /// A run of a system, and of nothing more than that.
    pub(crate) fn new(system: SystemFile, options: &'a SessionOptions, begin: Instant) -> Self {
        Self {
            system,
            warnings: Vec::new(),
            options,
            features: options.features.iter().collect(),
            inputs: Vec::new(),
            single: None,
            input: None,
            feed_forward: None,
            accepts_divergence: false,
            checks_senses: true,
            verification: None,
            states: None,
            begin,
        }
    }
}

impl Session<'_> {
    /// Runs the system and reports the result.
    pub(crate) fn execute(mut self) -> Result<Exit, Failure> {
        self.for_each_feature(|feature| feature.read())?;
        self.options.execution.isolate(&mut self.system)?;
        fmu_log::start(self.options.execution.log_level);
        self.warn_of_many_steps();
        self.options.show.check()?;
        let is_assessed = self.options.error_bars.wanted().is_some();
        let is_seen = self.options.live.is_wanted() || self.needs().variables;
        self.options.results.check(is_assessed || is_seen)?;
        let interrupt = Interrupt::listen();
        let interval = self.options.results.output_interval;
        let start =
            |wanted| Assessment::start(&self.system, wanted, interval, &self.options.execution);
        let mut assessment = self.options.error_bars.wanted().map(start).transpose()?;
        let mut running = self.start_shown(&interrupt)?;
        let start = Start {
            run: &running.run,
            selection: self.selection(),
            is_assessed,
        };
        self.for_each_feature(|feature| feature.start(&start))?;
        if let Some(assessment) = &mut assessment {
            let recorder = assessment.recorder(self.selection(), &running.run)?;
            running.assessing = Some(recorder);
            running.file.iter().for_each(ResultFile::await_columns);
        }
        // The summary would come days later.
        let warnings = running.run.report().warnings;
        show_warnings(&warnings);
        running.warned = warnings.len();
        self.keep_signals(&mut running)?;
        let outcome = if self.options.results.initialize_only {
            self.show_initial_values(&mut running)
        } else {
            self.observe_and_step(&mut running, &interrupt)
        };
        let mut report = running.report();
        let unsaved = match running.saving.take().filter(|_| outcome.is_ok()) {
            Some(mut saving) => match saving.conclude(&mut running.run, &report) {
                Ok(note) => {
                    report.notes.push(note);
                    None
                }
                Err(failure) => Some(failure),
            },
            None => None,
        };
        let hashing = running.hashing.take();
        let provenance = hashing.map(|hashing| hashing.finish(&self.in_force()));
        let (judged, outcome) =
            self.judge(assessment, &mut running, &mut report, outcome, &interrupt);
        let exit = interrupt.while_reporting(|| {
            let end = EndedRun {
                report: &report,
                judged: &judged,
                provenance,
            };
            let concluded = self.conclude(&running, end, outcome);
            let concluded = concluded.and_then(|exit| unsaved.map_or(Ok(exit), Err));
            running.live.iter().for_each(|live| live.end(&concluded));
            concluded.unwrap_or_else(|failure| {
                failure.print();
                failure.exit
            })
        });
        if let Some(worker) = Worker::current() {
            // All is reported: FMUs that crash when they are freed change nothing any more. The parent
            // looks at the result afterwards.
            worker.results_complete(exit.code());
            return Ok(exit);
        }
        let Running { run, file, .. } = running;
        drop(run);
        let is_well = |file: &ResultFile| exit != Exit::Failed && file.trouble().is_none();
        match file.filter(is_well) {
            // An FMU may have deleted it when it was freed.
            Some(file) if !self.prints_results() => Ok(file.finish().map(|()| exit)?),
            _ => Ok(exit),
        }
    }

    /// Calls all features in their order, up to the first failure.
    fn for_each_feature<E>(&self, act: impl FnMut(&dyn Feature) -> Result<(), E>) -> Result<(), E> {
        self.features.iter().copied().try_for_each(act)
    }

    fn needs(&self) -> Needs {
        Needs::of(&self.features)
    }

    /// The system with the choices that follow from learned feed-forward.
    fn in_force(&self) -> SystemFile {
        let mut system = self.system.clone();
        if let Some(feed_forward) = &self.feed_forward {
            feed_forward.hold_inputs(&mut system);
        }
        system
    }

    /// Whether the results go to the standard output.
    fn prints_results(&self) -> bool {
        let output = self.options.results.output_file.as_ref();
        output.is_some_and(|path| path.as_os_str() == "-")
    }

    /// The notes in the summary would come days later.
    fn warn_of_many_steps(&self) {
        let problems = gyrator_system::check(&self.system);
        for problem in problems.iter().filter(|problem| problem.rule == MANY_STEPS) {
            screen::message(&format!("warning: {}\n", warning(&self.system, problem)));
        }
    }

    /// Refuses a run without an end.
    fn check_end(&self) -> Result<(), Failure> {
        let stop = &self.system.experiment.stop_time;
        if stop.is_some() || self.options.results.initialize_only {
            return Ok(());
        }
        Err(self.invalid(
            "no-stop-time",
            "no stop time is given",
            &self.system.advice_on_missing(MissingTime::StopTime),
        ))
    }

    /// Refuses outputs that are files of the system.
    fn refuse_outputs(&self) -> Result<(), Failure> {
        let mut outputs: Vec<Named<'_>> = self.options.results.output().into_iter().collect();
        outputs.extend(self.features.iter().flat_map(|feature| feature.output()));
        outputs.extend(self.states.and_then(StateOptions::output));
        overwriting::refuse_files_of(&self.system, &outputs)
    }

    fn start(&self, interrupt: &Interrupt) -> Result<Running, Failure> {
        self.check_end()?;
        self.refuse_outputs()?;
        let (described, resumed) = self.resumption()?;
        let table = self.input.map_or(Ok(None), InputTable::read)?;
        let fmus = FmuCache::new(self.options.fmus.open_options());
        self.check_selection(&fmus, &described)?;
        self.remove_earlier_reports()?;
        // Before anything that may take long or crash: an older result must not stand for this run, and
        // one that another run writes is reported at once.
        let output = self.options.results.output_file.as_deref();
        let needs = self.needs();
        let file = output.map(|path| ResultFile::create(path, needs.queued_rows));
        let file = file.transpose()?;
        let is_summarized = needs.summary || file.as_ref().is_some_and(ResultFile::keeps_metadata);
        let hashing = is_summarized.then(|| Hashing::start(&self.system, &self.inputs));
        let not_started = |error| Failure::not_started(error, &self.system);
        let system = fmus.system(described);
        let mut system = system.map_err(not_started)?;
        if let Some(feed_forward) = &self.feed_forward {
            system.feed_forward(feed_forward.clone());
        }
        let feeding = |table| self.feeding(table, &mut system);
        let inputs = table.map(feeding).transpose()?.map(Arc::new);
        self.for_each_feature(|feature| feature.prepare(&system, &self.system))?;
        if self.saves_state() {
            let graph = gyrator::system::resolved_graph(&system).map_err(not_started)?;
            gyrator::run::check_serializable(&graph)?;
        }
        let system = Arc::new(system);
        let loading = self.begin.elapsed().as_secs_f64();
        let options = self.run_options(interrupt);
        let profile = match needs.trace {
            true => Some(Profile::with_trace()),
            false => needs.times.then(Profile::new),
        };
        let since = Instant::now();
        let mut run = system
            .start_with(&options, &mut *self.maker(profile.clone())?)
            .map_err(not_started)?;
        if let Some(profile) = &profile {
            run.profile(profile);
        }
        let clock = WallClock {
            loading,
            initialising: since.elapsed().as_secs_f64(),
            stepping: 0.0,
        };
        let resumed = resumed.map(|resumed| resumed.apply(&mut run)).transpose()?;
        let saving = self.saving(&mut run, &system, options)?;
        let recorder = file
            .clone()
            .map(|file| recorder(self.selection(), &run, file));
        let recorder = recorder.transpose()?;
        let mut parameters = Vec::new();
        for (shown, name) in recorder.as_ref().map_or(&[][..], Recorder::parameters) {
            parameters.push((shown.clone(), run.read(name)?));
        }
        Ok(Running {
            run,
            file,
            renamed: recorder.as_ref().and_then(renamed),
            recorder,
            assessing: None,
            kept: None,
            saving,
            resumed,
            parameters,
            inputs,
            drawn: None,
            profile,
            clock,
            hashing,
            live: None,
            warned: 0,
            copied: gyrator::system::copied_libraries(&system),
            shared: gyrator::system::shared_fmus(&system),
            stepping_since: Instant::now(),
        })
    }

    /// Refuses variables that are not there before an earlier result is removed. Of a system with a step control it is seen
    /// later; so is what else is wrong with a system.
    fn check_selection(&self, fmus: &FmuCache, described: &SystemFile) -> Result<(), Failure> {
        let selection = self.selection();
        let control = described.experiment.step_control.as_ref();
        let has_signals = control.is_some_and(|control| control.name.value != "fixed");
        if selection.variables.is_empty() || has_signals {
            return Ok(());
        }
        let system = fmus.system(described.clone());
        let graph = system.and_then(|system| gyrator::system::resolved_graph(&system));
        graph.map_or(Ok(()), |graph| {
            selection
                .check(&graph)
                .map_err(|unknown| no_variable(&unknown))
        })
    }

    /// The columns of a table as inputs, of which the system gets the start values.
    fn feeding(&self, table: InputTable<'_>, system: &mut System) -> Result<InputFile, Failure> {
        let graph = gyrator::system::resolved_graph(system);
        let graph = graph.map_err(|error| Failure::not_started(error, &self.system))?;
        let inputs = table.feeding(&graph, self.single.as_deref())?;
        inputs.set_start_values(system, self.system.experiment.start());
        Ok(inputs)
    }

    /// Makes the units of FMUs, and measures their calls if times are wanted.
    fn maker(&self, profile: Option<Profile>) -> Result<Box<dyn UnitMaker>, Failure> {
        let execution = &self.options.execution;
        let isolation = hosts::isolation(execution.timeout()).profile(profile.clone());
        let units = execution.units(&self.system, profile.as_ref(), isolation);
        let maker: Box<dyn UnitMaker> = Box::new(ProfiledUnits::new(units, profile));
        let mut features = self.features.iter();
        features.try_fold(maker, |maker, feature| feature.units(maker))
    }

    /// The system with what a saved state has it without, and that state.
    fn resumption(&self) -> Result<(SystemFile, Option<Resumed>), Failure> {
        let mut system = self.system.clone();
        let resumed = match self.states {
            Some(states) => states.resumption(&mut system, self.feed_forward.as_ref())?,
            None => None,
        };
        Ok((system, resumed))
    }

    fn saving(
        &self,
        run: &mut Run,
        system: &Arc<System>,
        options: RunOptions,
    ) -> Result<Option<Saving>, Failure> {
        let Some(states) = self.states.filter(|states| states.are_saved()) else {
            return Ok(None);
        };
        let timeout = self.options.execution.timeout();
        let (system, hosts) = (Arc::clone(system), self.options.execution.hosts());
        let file = self.system.clone();
        let again = move || {
            let isolation = hosts::isolation(timeout).all_apart();
            let mut units = hosts::units(&file, &hosts, timeout, None, isolation);
            let run = system.start_with(&options, &mut units);
            run.map_err(|error| Failure::not_started(error, &file))
        };
        let is_fed = self.input.is_some_and(|input| input.input_file.is_some());
        let is_steered = is_fed || self.options.live.is_wanted();
        let again = (Box::new(again) as _, is_steered);
        states.saving(run, &self.system, self.feed_forward.as_ref(), again)
    }

    fn run_options(&self, interrupt: &Interrupt) -> RunOptions {
        RunOptions {
            open_end: self.saves_state(),
            is_only_run: self.options.error_bars.wanted().is_none(),
            // A run that ends where it starts would free its units before they are read.
            waits_at_stop_time: self.options.results.initialize_only,
            ..self.options.execution.run_options(interrupt)
        }
    }

    /// Removes reports of earlier runs, and refuses other files in their places.
    fn remove_earlier_reports(&self) -> Result<(), Failure> {
        for (feature, (option, path)) in self
            .features
            .iter()
            .filter_map(|feature| Some((feature, feature.output()?)))
        {
            if surroundings::in_own(|| feature.is_earlier(path)) {
                // A file that cannot be removed is replaced, or that fails and is reported.
                let _ = surroundings::in_own(|| std::fs::remove_file(path));
            } else if path.is_file() {
                let text = format!(
                    "{option} {} exists, and no run has written it",
                    path.display()
                );
                return Err(Failure::usage(text).help("choose another name, or delete it"));
            }
        }
        Ok(())
    }

    fn invalid(&self, rule: &'static str, text: &str, help: &str) -> Failure {
        let problem = Problem::error(rule, text).help(help);
        self.system.problems(vec![problem]).into()
    }

    /// Whether a state of the run is saved.
    pub(crate) fn saves_state(&self) -> bool {
        self.states.is_some_and(StateOptions::are_saved)
    }

    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        selection.interval = self.options.results.output_interval;
        selection
            .variables
            .clone_from(&self.options.results.output_variable);
        selection.single.clone_from(&self.single);
        selection
    }

    /// Prints and records the values at the end of Initialization Mode, and ends the run there.
    fn show_initial_values(&self, running: &mut Running) -> Result<(), RunError> {
        let run = &mut running.run;
        if let Some(recorder) = running.recorder.take() {
            run.observe(recorder)?;
        }
        let table = initial_values(&self.selection(), run)?;
        let shown = screen::print_beside(self.prints_results(), &table, None);
        shown.map_err(|error| RunError::Observer(Box::new(error)))?;
        run.stop().map(|_| ())
    }
}

/// The results could not be written.
fn not_recorded(error: RecordError) -> RunError {
    RunError::Observer(Box::new(error))
}

fn show_warnings(warnings: &[String]) {
    for warning in warnings {
        screen::message(&format!("warning: {warning}\n"));
    }
}
