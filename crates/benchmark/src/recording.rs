//! A run, and what it left behind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use gyrator::{Observer, ObserverError, Report, Run, RunOptions, System, Verdict, View};
use gyrator_system::SystemFile;

use crate::benchmark::MeasureError;

/// The course of a bond's powers and energies.
#[derive(Debug, Clone, Default)]
pub(crate) struct BondCourse {
    /// Residual power δP, W.
    pub(crate) residual_power: Vec<f64>,
    /// Residual energy δE so far, J.
    pub(crate) residual_energy: Vec<f64>,
    /// Energy that stale feed-through has put in so far, J; NaN where D is not known.
    pub(crate) stale_energy: Vec<f64>,
    /// Energy of the correction so far, J.
    pub(crate) correction_energy: Vec<f64>,
}

/// All real outputs at every communication point, the first one included, and the bonds.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// Times, s.
    pub(crate) times: Vec<f64>,
    columns: BTreeMap<String, Vec<f64>>,
    /// The bonds, in the order of the graph.
    pub(crate) bonds: Vec<BondCourse>,
    /// What the run did.
    pub(crate) report: Report,
}

#[derive(Debug, Default)]
struct Rows {
    times: Vec<f64>,
    reals: Vec<f64>,
    bonds: Vec<BondCourse>,
}

struct Recorder(Arc<Mutex<Rows>>);

impl Recorder {
    fn record(&self, view: &View<'_>) -> Verdict {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.times.push(view.time);
        rows.reals.extend_from_slice(view.reals);
        let ledgers = view.ledger.bonds().zip(view.audit.bonds());
        for ((energy, audit), course) in ledgers.zip(&mut rows.bonds) {
            course.residual_power.push(energy.residual_power);
            course.residual_energy.push(energy.residual_energy);
            course.stale_energy.push(audit.stale_energy);
            course.correction_energy.push(energy.correction_energy);
        }
        Verdict::Continue
    }
}

impl Observer for Recorder {
    fn begin(&mut self, view: &View<'_>) -> Result<Verdict, ObserverError> {
        Ok(self.record(view))
    }

    fn step(&mut self, view: &View<'_>) -> Result<Verdict, ObserverError> {
        Ok(self.record(view))
    }
}

impl Recording {
    /// Runs a system to its end.
    pub(crate) fn of(file: SystemFile) -> Result<Self, MeasureError> {
        let system = System::from_file(file)?;
        Self::of_run(system.start(&RunOptions::default())?)
    }

    pub(crate) fn of_run(mut run: Run) -> Result<Self, MeasureError> {
        let rows = Arc::new(Mutex::new(Rows {
            bonds: vec![BondCourse::default(); run.ledger().bonds().len()],
            ..Rows::default()
        }));
        run.observe(Box::new(Recorder(Arc::clone(&rows))))?;
        let report = run.run()?;
        let outputs = run.graph().real_outputs();
        let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = std::mem::take(&mut *rows);
        let column = |index: usize| {
            rows.reals
                .iter()
                .skip(index)
                .step_by(outputs.len())
                .copied()
                .collect()
        };
        let columns = outputs.iter().enumerate();
        Ok(Self {
            columns: columns
                .map(|(index, output)| (output.name.clone(), column(index)))
                .collect(),
            times: rows.times,
            bonds: rows.bonds,
            report,
        })
    }

    /// The course of an output.
    pub(crate) fn column(&self, name: &str) -> Result<&[f64], MeasureError> {
        let column = self.columns.get(name).map(Vec::as_slice);
        column.ok_or_else(|| MeasureError::NoOutput(name.to_owned()))
    }

    /// The rows of the named columns.
    pub(crate) fn rows(&self, names: &[String]) -> Result<Vec<Vec<f64>>, MeasureError> {
        let columns: Vec<&[f64]> = names
            .iter()
            .map(|name| self.column(name))
            .collect::<Result<_, _>>()?;
        let row = |index: usize| columns.iter().map(|column| column[index]).collect();
        Ok((0..self.times.len()).map(row).collect())
    }
}
