//! Files of Arrow's IPC format: the chosen columns of one record batch at a time.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block as Place, CompressionType, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema};

use super::arrow_and_parquet::{guarded, metadata_units, unreadable, unreadable_date};
use super::arrow_cells::{is_of_time, kind, times, values};
use super::{Block, Contents, Form, Stream};
use crate::heading::{TimeColumn, time_of_columns};
use crate::read_error::ReadTableError;
use crate::sink::{Column, ColumnType};
use crate::table::{Series, Values};

/// Length of what ends a file: the length of its footer, and `ARROW1`.
const TAIL: u64 = 10;

/// The facts of a file.
struct Footer {
    schema: Arc<Schema>,
    decoder: FileDecoder,
    dictionaries: Vec<Place>,
    batches: Vec<Place>,
}

struct ArrowFile {
    path: PathBuf,
    schema: Arc<Schema>,
    /// Place of the time in the schema, then of each column.
    time: usize,
    columns: Vec<usize>,
}

/// Does something with a file. The crates of Arrow panic on some files that are damaged.
fn try_with<R>(
    path: &Path,
    action: impl FnOnce() -> Result<R, ArrowError>,
) -> Result<R, ReadTableError> {
    let outcome = guarded(action).unwrap_or_else(|| Err(damaged()));
    outcome.map_err(|error| ReadTableError::content(path, error.to_string()))
}

pub(super) fn damaged() -> ArrowError {
    ArrowError::ParseError("the file is damaged, or no Arrow file".to_owned())
}

pub(super) fn open(path: &Path, time_column: Option<&str>) -> Result<Contents, ReadTableError> {
    let fail = |message| ReadTableError::content(path, message);
    let footer = try_with(path, || read_footer(&mut File::open(path)?))?;
    let fields = footer.schema.fields();
    let column = |name: &str, data_type: &DataType| {
        let kind = match data_type {
            // If it is the time.
            DataType::Timestamp(..) => Some(ColumnType::Real),
            other => kind(other),
        };
        let kind = kind.ok_or_else(|| unreadable(name, data_type))?;
        Ok(Column::new(name, kind))
    };
    let columns = fields.iter();
    let columns = columns.map(|field| column(field.name(), field.data_type()));
    let mut columns: Vec<Column> = columns.collect::<Result<_, _>>().map_err(fail)?;
    let mut of_time = time_of_columns(&columns, time_column).map_err(fail)?;
    let time = of_time.place;
    if is_of_time(fields[time].data_type()) {
        of_time = TimeColumn::at(time);
    }
    let mut places: Vec<usize> = (0..columns.len()).collect();
    columns.remove(time);
    places.remove(time);
    let date = |place: &&usize| matches!(fields[**place].data_type(), DataType::Timestamp(..));
    if let Some(place) = places.iter().find(date) {
        return Err(fail(unreadable_date(fields[*place].name())));
    }
    let metadata: Vec<(String, String)> = (footer.schema.metadata().iter())
        .map(|(key, text)| (key.clone(), text.clone()))
        .collect();
    metadata_units(&mut columns, &metadata);
    for (column, place) in columns.iter_mut().zip(&places) {
        if is_of_time(fields[*place].data_type()) {
            column.unit = Some("s".to_owned());
        }
    }
    Ok(Contents {
        columns,
        metadata,
        time: of_time,
        rows: None,
        form: Box::new(ArrowFile {
            path: path.to_owned(),
            schema: Arc::clone(&footer.schema),
            time,
            columns: places,
        }),
    })
}

/// All columns, whatever they are called.
pub(super) fn columns(path: &Path) -> Result<Vec<Series>, ReadTableError> {
    try_with(path, || {
        let mut file = File::open(path)?;
        let footer = read_footer(&mut file)?;
        let mut columns = Vec::new();
        for field in footer.schema.fields() {
            let known = kind(field.data_type());
            let refusal = || unreadable(field.name(), field.data_type());
            let kind = known.ok_or_else(|| ArrowError::SchemaError(refusal()))?;
            columns.push(Series {
                name: field.name().clone(),
                unit: None,
                values: Values::none(kind),
            });
        }
        let places = (0..columns.len()).collect();
        let mut stream = ArrowStream::begin(path, file, footer, places)?;
        while let Some(batch) = stream.next_batch()? {
            for (column, cells) in columns.iter_mut().zip(batch.columns()) {
                if !column.values.append(&values(&**cells)?) {
                    return Err(damaged());
                }
            }
        }
        Ok(columns)
    })
}

/// Reads the schema and the places of the record batches, all of them within the file.
fn read_footer(file: &mut File) -> Result<Footer, ArrowError> {
    let length = file.metadata()?.len();
    let begin = length.checked_sub(TAIL).ok_or_else(damaged)?;
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut tail)?;
    let footer_length = read_footer_length(tail)? as u64;
    let start = begin.checked_sub(footer_length).ok_or_else(damaged)?;
    let bytes = read_at(file, start, footer_length)?;
    let footer = root_as_footer(&bytes).map_err(|_| damaged())?;
    let schema = Arc::new(try_fb_to_schema(footer.schema().ok_or_else(damaged)?)?);
    let batches: Vec<Place> = (footer.recordBatches().into_iter().flatten())
        .copied()
        .collect();
    let dictionaries: Vec<Place> = (footer.dictionaries().into_iter().flatten())
        .copied()
        .collect();
    let mut all = batches.iter().chain(&dictionaries);
    if all.any(|batch| !is_within(batch, length)) {
        return Err(damaged());
    }
    let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
    Ok(Footer {
        schema,
        decoder,
        dictionaries,
        batches,
    })
}

fn is_within(batch: &Place, length: u64) -> bool {
    let size = size(batch);
    let end = u64::try_from(batch.offset()).ok().zip(size);
    end.and_then(|(offset, size)| offset.checked_add(size))
        .is_some_and(|end| end <= length)
}

fn size(batch: &Place) -> Option<u64> {
    let head = u64::try_from(batch.metaDataLength()).ok()?;
    head.checked_add(u64::try_from(batch.bodyLength()).ok()?)
}

fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Form for ArrowFile {
    fn stream(&self, columns: &[usize]) -> Result<Box<dyn Stream>, ReadTableError> {
        let open = || {
            let mut file = File::open(&self.path)?;
            let footer = read_footer(&mut file)?;
            if footer.schema != self.schema {
                let message = "the file has changed since it was opened".to_owned();
                return Err(ArrowError::ParseError(message));
            }
            let places = columns.iter().map(|column| self.columns[*column]);
            let projection: Vec<usize> = std::iter::once(self.time).chain(places).collect();
            ArrowStream::begin(&self.path, file, footer, projection)
        };
        Ok(Box::new(try_with(&self.path, open)?))
    }
}

struct ArrowStream {
    path: PathBuf,
    file: File,
    decoder: FileDecoder,
    batches: std::vec::IntoIter<Place>,
    /// The first time, if times are timestamps.
    first: Option<i64>,
}

impl Stream for ArrowStream {
    fn fill(&mut self, block: &mut Block) -> Result<bool, ReadTableError> {
        let path = self.path.clone();
        try_with(&path, || {
            while let Some(batch) = self.next_batch()? {
                if batch.num_rows() > 0 {
                    self.put(&batch, block)?;
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }
}

impl ArrowStream {
    /// Reads the columns at these places.
    fn begin(
        path: &Path,
        file: File,
        footer: Footer,
        places: Vec<usize>,
    ) -> Result<Self, ArrowError> {
        let mut stream = Self {
            path: path.to_owned(),
            file,
            decoder: footer.decoder.with_projection(places),
            batches: footer.batches.into_iter(),
            first: None,
        };
        for place in footer.dictionaries {
            let bytes = stream.bytes(&place)?;
            stream.decoder.read_dictionary(&place, &bytes)?;
        }
        Ok(stream)
    }

    fn bytes(&mut self, place: &Place) -> Result<Buffer, ArrowError> {
        let size = size(place).ok_or_else(damaged)?;
        let offset = u64::try_from(place.offset()).map_err(|_| damaged())?;
        let bytes = read_at(&mut self.file, offset, size)?;
        check_compression(&bytes, place)?;
        Ok(Buffer::from_vec(bytes))
    }

    /// The first column has the times.
    fn put(&mut self, batch: &RecordBatch, block: &mut Block) -> Result<(), ArrowError> {
        let [time, columns @ ..] = batch.columns() else {
            return Err(damaged());
        };
        block.time = times(&**time, &mut self.first)?;
        block.columns = columns
            .iter()
            .map(|column| values(&**column))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(place) = self.batches.next() else {
            return Ok(None);
        };
        let bytes = self.bytes(&place)?;
        self.decoder
            .read_record_batch(&place, &bytes)?
            .ok_or_else(damaged)
            .map(Some)
    }
}

/// Refuses what cannot be read, and lengths that would fill the memory. Each buffer of a compressed batch begins with
/// its uncompressed length, for which memory is made ready.
fn check_compression(bytes: &[u8], place: &Place) -> Result<(), ArrowError> {
    /// Bytes before a message: a mark, which older files do not have, and a length.
    const MARK: [u8; 4] = [0xff; 4];
    /// A byte of LZ4 stands for 255 at most; a frame has a head.
    const RATIO: u64 = 255;
    const HEAD: u64 = 64;
    let head = usize::from(bytes.starts_with(&MARK)) * 4 + 4;
    let message = bytes.get(head..).ok_or_else(damaged)?;
    let message = root_as_message(message).map_err(|_| damaged())?;
    let of_dictionary = || message.header_as_dictionary_batch()?.data();
    let batch = message.header_as_record_batch().or_else(of_dictionary);
    let batch = batch.ok_or_else(damaged)?;
    let Some(compression) = batch.compression() else {
        return Ok(());
    };
    if compression.codec() != CompressionType::LZ4_FRAME {
        let text = "its columns are compressed in another way than LZ4; write it with compression=\"lz4\" or \
                    \"uncompressed\", or as Parquet";
        return Err(ArrowError::ParseError(text.to_owned()));
    }
    let body = usize::try_from(place.metaDataLength()).ok();
    let body = body.and_then(|begin| bytes.get(begin..));
    let body = body.ok_or_else(damaged)?;
    for buffer in batch.buffers().into_iter().flatten() {
        let begin = usize::try_from(buffer.offset()).ok();
        let stored = u64::try_from(buffer.length()).map_err(|_| damaged())?;
        let length = begin.and_then(|begin| body.get(begin..)?.first_chunk());
        let length = length.map_or(0, |length| i64::from_le_bytes(*length));
        let is_plausible = u64::try_from(length)
            .is_ok_and(|length| length <= stored.saturating_mul(RATIO).saturating_add(HEAD));
        // −1 says that the buffer is not compressed.
        if stored > 0 && length != -1 && !is_plausible {
            return Err(damaged());
        }
    }
    Ok(())
}
