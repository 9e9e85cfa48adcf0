//! The report of a session as a page: its signals are kept while it runs.

use gyrator::{Recorder, RunError};
use gyrator_graph::Diagram;
use gyrator_record::DecimatingSink;
use gyrator_report::Drawing;

use super::{Running, Session};
use crate::error_bars::Assessed;
use crate::failure::Failure;
use crate::report_page::{self, Shown};
use crate::summary::Summary;

/// Bytes of a graph that a page takes: a third of what its signals have at most.
const LARGEST_GRAPH: usize = 100_000;

/// The signals of a page, and remarks on them.
pub(super) struct Drawn {
    rows: DecimatingSink,
    remarks: Vec<String>,
}

impl Session<'_> {
    /// Keeps the signals of the page, where one is wanted.
    pub(super) fn keep_signals(&self, running: &mut Running) -> Result<(), RunError> {
        if self.options.results.report.is_none() {
            return Ok(());
        }
        let shown = |columns: &[_]| {
            // Without names none is unknown.
            Shown::of(columns, &[]).unwrap_or_default()
        };
        // Error bars come after the run, and need as much place again.
        let stretches = match self.options.error_bars.wanted() {
            Some(_) => |columns: usize| Drawing::stretches(2 * columns),
            None => Drawing::stretches,
        };
        let rows = DecimatingSink::new(move |columns| shown(columns).columns, stretches);
        let mut recorder = Recorder::new(rows.clone()).selection(self.selection());
        recorder
            .choose(&running.run.view())
            .map_err(|error| RunError::Observer(Box::new(error)))?;
        let remarks = shown(recorder.columns()).remarks();
        running.run.observe(recorder)?;
        running.drawn = Some(Drawn { rows, remarks });
        Ok(())
    }

    /// Writes the page, where one is wanted.
    pub(super) fn write_report(
        &self,
        running: &Running,
        assessed: Option<&Assessed>,
        summary: &Summary<'_>,
    ) -> Result<(), Failure> {
        let Some((path, drawn)) = self
            .options
            .results
            .report
            .as_ref()
            .zip(running.drawn.as_ref())
        else {
            return Ok(());
        };
        let decimated = drawn.rows.decimated();
        let mut drawing = Drawing::from(&decimated);
        if let Some(assessed) = assessed {
            let stretches = Drawing::stretches(2 * decimated.columns.len());
            let is_drawn = |name: &str| decimated.column(name).is_some();
            drawing = drawing.with(&assessed.decimated(is_drawn, stretches));
        }
        let graph = self
            .single
            .is_none()
            .then(|| gyrator_graph::svg(&Diagram::of(&self.system)));
        let graph = graph.filter(|svg| svg.len() <= LARGEST_GRAPH);
        report_page::write(path, summary, drawing, graph.as_deref(), &drawn.remarks)
    }
}
