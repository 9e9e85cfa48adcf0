//! Output of a result: a file or the standard output, and whether its last rows survive a crash.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use gyrator_record::{
    CsvSink, Output, RecordError, RowSink, create_sink, is_csv, is_written_by_rows,
};
use gyrator_worker::{KeptFile, Worker};

/// A file that is open for writing.
pub(crate) enum ResultOutput {
    /// As it is.
    Plain(File),
    /// With rows that the parent writes if this process dies.
    Kept(KeptFile),
}

impl ResultOutput {
    /// Creates the file in the form that its file extension selects; `-` is the standard
    /// output.
    pub(crate) fn sink(path: &Path) -> Result<Box<dyn RowSink>, RecordError> {
        let keep = |worker: &Worker, file: File, name: &str| match worker.keep(&file, name) {
            Some(kept) => Self::Kept(kept),
            None => Self::Plain(file),
        };
        #[cfg(feature = "parquet")]
        if let (Some(worker), Some(form)) = (
            Worker::current(),
            gyrator_record::ColumnarForm::of(path).filter(|_| !is_csv(path)),
        ) {
            let name = gyrator_record::rows_path(path).display().to_string();
            let sink = gyrator_record::ColumnarSink::create_with(path, form, |file| {
                keep(worker, file, &name)
            })?;
            return Ok(Box::new(sink));
        }
        match Worker::current() {
            Some(worker) if path == Path::new("-") => {
                let create = |source: io::Error| RecordError::Create {
                    path: path.to_owned(),
                    reason: source.to_string(),
                    source,
                };
                let file = worker.output().try_clone().map_err(create)?;
                let output = keep(worker, file, "the standard output");
                Ok(Box::new(CsvSink::new(output, "-")))
            }
            Some(worker) if is_written_by_rows(path) => {
                let name = path.display().to_string();
                let sink = CsvSink::create_with(path, |file| keep(worker, file, &name))?;
                Ok(Box::new(match is_csv(path) {
                    true => sink,
                    false => sink.as_doubles(),
                }))
            }
            None if path == Path::new("-") => Ok(Box::new(CsvSink::new(io::stdout(), "-"))),
            _ => create_sink(path),
        }
    }
}

impl Write for ResultOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Kept(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Kept(file) => file.flush(),
        }
    }
}

impl Output for ResultOutput {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.set_len(length),
            Self::Kept(file) => file.truncate(length),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.sync(),
            Self::Kept(file) => file.sync(),
        }
    }

    fn stage(&mut self, row: &[u8]) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Kept(file) => file.stage(row),
        }
    }

    fn is_taken_over(&self) -> bool {
        matches!(self, Self::Kept(file) if file.is_closed())
    }
}
