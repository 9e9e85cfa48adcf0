//! The picture of a run, drawn when it has ended.

use std::path::{Path, PathBuf};

use gyrator::record::Selection;
use gyrator::{Recorder, Run};
use gyrator_pictures::plot::{BUCKETS, Drawn, Facts, choose, figure};
use gyrator_record::{Column, DecimatingSink};

use crate::error_bars::Assessed;
use crate::failure::Failure;
use crate::picture;
use crate::recorder::{ResultFile, recorder};

/// A picture of the rows of a run.
pub(crate) struct Drawing {
    path: PathBuf,
    rows: DecimatingSink,
    recorder: Option<Recorder>,
}

impl Drawing {
    /// Begins a picture at this place; `is_assessed`: error bars follow.
    pub(crate) fn begin(
        path: &Path,
        selection: Selection,
        run: &Run,
        is_assessed: bool,
    ) -> Result<Self, Failure> {
        let rows = DecimatingSink::of_all(|_| BUCKETS);
        let rows = if is_assessed {
            rows.takes_columns()
        } else {
            rows
        };
        let recorder = recorder(selection, run, ResultFile::of(Box::new(rows.clone())))?;
        Ok(Self {
            path: path.to_owned(),
            rows,
            recorder: Some(recorder),
        })
    }

    /// Returns, once, the recorder that has to observe the run.
    pub(crate) fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take()
    }

    /// Adds error bars.
    pub(crate) fn add(&self, assessed: &Assessed) {
        let file = ResultFile::of(Box::new(self.rows.clone()));
        // Memory takes them all.
        let _ = assessed.add_columns(&file);
    }

    /// Writes the picture, with what the summary of the run says.
    pub(crate) fn write(&self, system: &Path, summary: &str) -> Result<(), Failure> {
        let rows = self.rows.decimated();
        let columns: Vec<Column> = rows
            .columns
            .iter()
            .map(|known| known.column.clone())
            .collect();
        let choice = choose(&columns, &[]).unwrap_or_default();
        let name = system.file_name().unwrap_or_default();
        let run = Drawn {
            name: name.to_string_lossy().into_owned(),
            rows: rows.select(&choice.columns),
            facts: Facts::parse(summary).unwrap_or_default(),
        };
        picture::write(&self.path, &figure(&[run], false).to_svg())
    }
}
