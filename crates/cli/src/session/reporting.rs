//! The signals of pages, which a session keeps while it runs, and the picture of its system.

use gyrator::exchange_mode::Exchange;
use gyrator::{Recorder, Report, RunError};
use gyrator_pictures::graph::Diagram;
use gyrator_pictures::report::Drawing;
use gyrator_record::DecimatingSink;

use super::{Running, Session};
use crate::error_bars::Assessed;
use crate::input_file::InputFile;
use crate::report_page::Shown;

/// The signals of a page, and remarks on them.
pub(super) struct Drawn {
    rows: DecimatingSink,
    pub(super) remarks: Vec<String>,
}

impl Session<'_> {
    /// The system as a picture shows it, with what the run has found out; `None` for one FMU by itself.
    pub(super) fn diagram(&self, report: &Report) -> Option<Diagram> {
        let mut diagram = self.single.is_none().then(|| Diagram::of(&self.system))?;
        for component in &report.components {
            if component.exchange != Exchange::NO_FEEDTHROUGH {
                diagram.set_exchange(&component.name, component.exchange.word());
            }
        }
        Some(diagram)
    }

    /// Keeps the signals of the page, if one is wanted.
    pub(super) fn keep_signals(&self, running: &mut Running) -> Result<(), RunError> {
        if !self.needs().drawing && !self.options.live.is_wanted() {
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
        let recorder = InputFile::recorded(running.inputs.as_ref(), recorder);
        running.run.observe(recorder)?;
        running.drawn = Some(Drawn { rows, remarks });
        Ok(())
    }

    /// The signals of the page, if one is wanted.
    pub(super) fn drawing(
        &self,
        running: &Running,
        assessed: Option<&Assessed>,
    ) -> Option<Drawing> {
        let drawn = running.drawn.as_ref()?;
        let decimated = drawn.rows.decimated();
        let mut drawing = Drawing::from(&decimated);
        if let Some(assessed) = assessed {
            let stretches = Drawing::stretches(2 * decimated.columns.len());
            let known = decimated.by_name();
            let is_drawn = |name: &str| known.contains_key(name);
            drawing = drawing.with(&assessed.decimated(is_drawn, stretches));
        }
        Some(drawing)
    }
}
