//! Values that a run published, kept in memory.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{Observer, Run, RunError, View};

/// All real outputs of a run at every communication point, the first one included.
#[derive(Debug, Clone, Default)]
pub struct Trace(Arc<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    names: Vec<String>,
    times: Vec<f64>,
    reals: Vec<f64>,
    finished: usize,
}

impl Trace {
    /// Watches `run` from its present point on.
    ///
    /// # Errors
    /// As [`Run::observe`].
    pub fn of(run: &mut Run) -> Result<Self, RunError> {
        let trace = Self::default();
        let outputs = run.graph().real_outputs().into_iter();
        trace.rows().names = outputs.map(|output| output.name).collect();
        run.observe(trace.clone())?;
        Ok(trace)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Times of the communication points, s.
    pub fn times(&self) -> Vec<f64> {
        self.rows().times.clone()
    }

    /// Whether the run has a real output `component.variable`.
    pub fn has(&self, name: &str) -> bool {
        self.rows().names.iter().any(|known| known == name)
    }

    /// The values of `component.variable` at these times.
    ///
    /// # Panics
    /// If the run has no real output of that name.
    pub fn column(&self, name: &str) -> Vec<f64> {
        let rows = self.rows();
        let column = rows.names.iter().position(|known| known == name);
        let column = column.unwrap_or_else(|| panic!("{name} is not among {:?}", rows.names));
        let values = rows.reals.iter().skip(column);
        values.step_by(rows.names.len()).copied().collect()
    }

    /// The bits of all times and values, to compare runs with.
    pub fn bits(&self) -> Vec<u64> {
        let rows = self.rows();
        let values = rows.times.iter().chain(&rows.reals);
        values.map(|value| value.to_bits()).collect()
    }

    /// Number of times that the run reported its end.
    pub fn finished(&self) -> usize {
        self.rows().finished
    }

    fn record(&self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let mut rows = self.rows();
        rows.times.push(view.time);
        rows.reals.extend_from_slice(view.reals);
        Ok(ControlFlow::Continue(()))
    }
}

impl Observer for Trace {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.record(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.record(view)
    }

    fn finish(&mut self, _report: &gyrator::Report) -> Result<(), ObserverError> {
        self.rows().finished += 1;
        Ok(())
    }
}
