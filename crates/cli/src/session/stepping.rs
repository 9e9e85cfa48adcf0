//! The steps of a run, with everything that observes them.

use std::time::Instant;

use gyrator::RunError;
use gyrator_worker::Worker;

use super::{Running, Session};
use crate::failure::Failure;
use crate::feature::Observing;
use crate::input_file::InputFile;
use crate::interrupt::Interrupt;
use crate::live::Shown;
use crate::progress::Progress;
use crate::supervision;

impl Session<'_> {
    /// Starts the run, and joins it to its page, which shows a failure of that.
    pub(super) fn start_shown(&self, interrupt: &Interrupt) -> Result<Running, Failure> {
        let live = self.options.live.start(interrupt)?;
        let mut running = self
            .start(interrupt)
            .inspect_err(|failure| live.iter().for_each(|live| live.fail(failure)))?;
        running.live = live;
        Ok(running)
    }

    /// Adds the observers, and steps until the run ends.
    pub(super) fn observe_and_step(
        &self,
        running: &mut Running,
        interrupt: &Interrupt,
    ) -> Result<(), RunError> {
        let inputs = running.inputs.clone();
        let with_inputs = |recorder| InputFile::recorded(inputs.as_ref(), recorder);
        let run = &mut running.run;
        if let Some(recorder) = running.recorder.take() {
            if let Some(file) = &running.file {
                interrupt.set_result(file.clone());
            }
            run.observe(with_inputs(recorder))?;
        }
        if let Some(recorder) = running.assessing.take() {
            run.observe(with_inputs(recorder))?;
        }
        self.keep_for_verification(running)?;
        let mut observing = Observing {
            run: &mut running.run,
            inputs: inputs.as_ref(),
            interrupt,
            clock: None,
            last: Vec::new(),
        };
        self.for_each_feature(|feature| feature.observe(&mut observing))?;
        let Observing { clock, last, .. } = observing;
        let run = &mut running.run;
        let stop_time = self.system.experiment.stop_time.as_ref();
        let stop_time = stop_time.map(|stop| stop.value);
        let stop = stop_time.unwrap_or(f64::INFINITY);
        let progress = Progress::start(self.options.show.progress(), run.time(), stop);
        if let Some(worker) = Worker::current() {
            supervision::track(run, worker);
        }
        if let Some(progress) = &progress {
            run.observe(progress.observer())?;
        }
        if self.checks_senses {
            gyrator::run::check_senses(run);
        }
        if let Some(live) = &mut running.live {
            let shown = Shown {
                path: &self.system.source.path,
                stop_time,
                selection: self.selection(),
                saves_state: self.saves_state(),
                single: self.single.as_deref(),
                diagram: self.diagram(&run.report()),
                profile: running.profile.clone().filter(|_| self.needs().drawing),
                clock,
            };
            live.begin(run, shown)?;
        }
        for observer in last {
            run.observe(observer)?;
        }
        running.stepping_since = Instant::now();
        if running.inputs.is_none() && running.saving.is_none() && running.live.is_none() {
            return run.run().map(|_| ());
        }
        while !run.has_ended() {
            if let Some(live) = &mut running.live {
                live.look(run)?;
                if run.has_ended() {
                    break;
                }
            }
            if let Some(saving) = &mut running.saving
                && saving.look(run).is_break()
            {
                return run.stop().map(|_| ());
            }
            if let Some(inputs) = &running.inputs {
                inputs.feed(run)?;
            }
            run.step()?;
        }
        Ok(())
    }
}
