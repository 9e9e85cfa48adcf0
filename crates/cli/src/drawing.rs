//! The picture of a run, drawn when it has ended.
//!
//! A feature of all runs.

use std::cell::{Cell, OnceCell};
use std::path::PathBuf;

use clap::Args;

use gyrator::{Recorder, RunError};
use gyrator_pictures::plot::{BUCKETS, Drawn, Facts, choose, figure};
use gyrator_record::{Column, DecimatingSink};

use crate::failure::Failure;
use crate::feature::{Ending, Feature, Needs, Observing, Start};
use crate::overwriting::Named;
use crate::picture;
use crate::recorder::{ResultFile, recorder};
use crate::screen;
use crate::summary::Summary;

// Whether the run is drawn.
#[derive(Args)]
pub(crate) struct PlotOptions {
    /// Draw the recorded variables that move, and the bonds, when the run has ended
    #[arg(long, value_name = "FILE.svg", value_parser = picture::svg, help_heading = "Results")]
    plot: Option<PathBuf>,
    #[arg(skip)]
    rows: OnceCell<DecimatingSink>,
    #[arg(skip)]
    recorder: Cell<Option<Recorder>>,
}

impl Feature for PlotOptions {
    fn output(&self) -> Option<Named<'_>> {
        let path = self.plot.as_deref();
        path.map(|path| ("--plot", path))
    }

    fn needs(&self) -> Needs {
        Needs {
            variables: self.plot.is_some(),
            ..Needs::default()
        }
    }

    fn start(&self, start: &Start<'_>) -> Result<(), Failure> {
        if self.plot.is_none() {
            return Ok(());
        }
        let mut rows = DecimatingSink::of_all(|_| BUCKETS);
        if start.is_assessed {
            rows = rows.takes_columns();
        }
        let file = ResultFile::of(Box::new(rows.clone()));
        let recorder = recorder(start.selection.clone(), start.run, file)?;
        self.recorder.set(Some(recorder));
        let _ = self.rows.set(rows);
        Ok(())
    }

    fn observe(&self, observing: &mut Observing<'_>) -> Result<(), RunError> {
        match self.recorder.take() {
            Some(recorder) => observing.record(recorder),
            None => Ok(()),
        }
    }

    fn write(&self, ending: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let is_over = ending.report.is_some();
        let Some((path, rows)) = self.plot.as_ref().zip(self.rows.get()).filter(|_| is_over) else {
            return Ok(());
        };
        if let Some(assessed) = ending.assessed {
            // Memory takes all columns.
            let _ = assessed.add_columns(&ResultFile::of(Box::new(rows.clone())));
        }
        let rows = rows.decimated();
        let columns = rows.columns.iter().map(|known| known.column.clone());
        let columns: Vec<Column> = columns.collect();
        let choice = choose(&columns, &[]).unwrap_or_default();
        let name = ending.system.file_name().unwrap_or_default();
        let run = Drawn {
            name: name.to_string_lossy().into_owned(),
            rows: rows.select(&choice.columns),
            facts: Facts::parse(&screen::json(summary)?).unwrap_or_default(),
        };
        picture::write(path, &figure(&[run], false).to_svg())
    }
}
