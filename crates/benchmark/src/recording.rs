//! A run and its recorded outputs.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{Observer, Report, Run, RunError, RunOptions, System, View};
use gyrator_system::SystemFile;

use crate::benchmark::MeasureError;
use crate::role::RoleAssignment;

/// The course of a bond's powers and energies.
#[derive(Debug, Clone, Default)]
pub(crate) struct BondCourse {
    /// Residual power δP, W.
    pub(crate) residual_power: Vec<f64>,
    /// Residual energy δE so far, J.
    pub(crate) residual_energy: Vec<f64>,
    /// Energy that stale feed-through has put in so far, J; NaN if D is not known.
    pub(crate) stale_energy: Vec<f64>,
    /// Energy of the correction so far, J.
    pub(crate) correction_energy: Vec<f64>,
}

#[derive(Debug, Default)]
struct Rows {
    times: Vec<f64>,
    reals: Vec<f64>,
    bonds: Vec<BondCourse>,
}

/// Watches a run from outside.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    names: Vec<String>,
    rows: Arc<Mutex<Rows>>,
}

impl Recorder {
    /// Watches `run` from its present point on.
    pub(crate) fn watch(run: &mut Run) -> Result<Self, RunError> {
        let rows = Rows {
            bonds: vec![BondCourse::default(); run.ledger().bonds().len()],
            ..Rows::default()
        };
        let outputs = run.graph().real_outputs().into_iter();
        let recorder = Self {
            names: outputs.map(|output| output.name).collect(),
            rows: Arc::new(Mutex::new(rows)),
        };
        run.observe(recorder.clone())?;
        Ok(recorder)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, view: &View<'_>) -> ControlFlow<StopRequest> {
        let mut rows = self.rows();
        rows.times.push(view.time);
        rows.reals.extend_from_slice(view.reals);
        let ledgers = view.ledger.bonds().zip(view.audit.bonds());
        for ((energy, audit), course) in ledgers.zip(&mut rows.bonds) {
            course.residual_power.push(energy.residual_power);
            course.residual_energy.push(energy.residual_energy);
            course.stale_energy.push(audit.stale_energy);
            course.correction_energy.push(energy.correction_energy);
        }
        ControlFlow::Continue(())
    }

    /// The rows of the named outputs.
    pub(crate) fn rows_of(&self, names: &[String]) -> Result<Vec<Vec<f64>>, MeasureError> {
        let find = |name: &String| {
            let index = self.names.iter().position(|known| known == name);
            index.ok_or_else(|| MeasureError::NoOutput(name.clone()))
        };
        let indices: Vec<usize> = names.iter().map(find).collect::<Result<_, _>>()?;
        let rows = self.rows();
        let row = |reals: &[f64]| indices.iter().map(|index| reals[*index]).collect();
        Ok(rows
            .reals
            .chunks(self.names.len().max(1))
            .map(row)
            .collect())
    }
}

impl Observer for Recorder {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.record(view))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.record(view))
    }
}

/// All real outputs at every communication point, the first one included, and the bonds.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// Times, s.
    pub(crate) times: Vec<f64>,
    recorder: Recorder,
    /// The bonds, in the order of the graph.
    pub(crate) bonds: Vec<BondCourse>,
    /// Report of the run.
    pub(crate) report: Report,
}

impl Recording {
    /// Runs a system to its end.
    pub(crate) fn of(roles: &RoleAssignment, file: SystemFile) -> Result<Self, MeasureError> {
        let system = System::from_file(file)?;
        Self::of_run(roles.start(&system, &RunOptions::default())?)
    }

    /// Makes the whole run.
    pub(crate) fn of_run(mut run: Run) -> Result<Self, MeasureError> {
        let recorder = Recorder::watch(&mut run)?;
        let report = run.run()?;
        let mut rows = recorder.rows();
        let (times, bonds) = (
            std::mem::take(&mut rows.times),
            std::mem::take(&mut rows.bonds),
        );
        drop(rows);
        Ok(Self {
            times,
            recorder,
            bonds,
            report,
        })
    }

    /// The rows of the named outputs.
    pub(crate) fn rows(&self, names: &[String]) -> Result<Vec<Vec<f64>>, MeasureError> {
        self.recorder.rows_of(names)
    }
}
