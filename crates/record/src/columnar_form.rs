//! The forms of files that are written by blocks of columns, by the endings of their names. A new form is a
//! [`ColumnarWriter`] in a file of its own and an entry of `FORMS`.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::arrow_writer::ArrowWriter;
use crate::columnar::{ColumnarWriter, TableHead};
use crate::descriptor::Descriptor;
use crate::parquet_writer::ParquetWriter;

/// Begins a file. The writer may have a copy of the file.
type Begin = fn(&File, TableHead<'_>) -> io::Result<Box<dyn ColumnarWriter>>;

/// A form of tables.
#[derive(Debug)]
pub struct ColumnarForm {
    ending: &'static str,
    begin: Begin,
    takes_metadata_last: bool,
}

/// Apache Parquet.
pub const PARQUET: ColumnarForm = ColumnarForm {
    ending: "parquet",
    begin: |file, head| {
        Ok(Box::new(ParquetWriter::with_head(
            Descriptor::from(file.try_clone()?),
            head,
        )?))
    },
    takes_metadata_last: true,
};

const ARROW: Begin = |file, head| {
    Ok(Box::new(ArrowWriter::new(
        Descriptor::from(file.try_clone()?),
        head,
    )?))
};

static FORMS: [ColumnarForm; 3] = [
    PARQUET,
    ColumnarForm {
        ending: "arrow",
        begin: ARROW,
        takes_metadata_last: false,
    },
    ColumnarForm {
        ending: "feather",
        begin: ARROW,
        takes_metadata_last: false,
    },
];

impl ColumnarForm {
    /// The form that the ending of a name asks for, if it is one of these.
    #[must_use]
    pub fn of(path: &Path) -> Option<&'static Self> {
        let ending = path.extension()?;
        FORMS
            .iter()
            .find(|form| ending.eq_ignore_ascii_case(form.ending))
    }

    /// Whether metadata may come when all rows are written.
    #[must_use]
    pub fn takes_metadata_last(&self) -> bool {
        self.takes_metadata_last
    }

    /// Begins a file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn begin(&self, file: &File, head: TableHead<'_>) -> io::Result<Box<dyn ColumnarWriter>> {
        (self.begin)(file, head)
    }
}
