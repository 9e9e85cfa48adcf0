//! Turns the rows that a run leaves into a file of columns, group by group.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use crate::columnar::{CellValues, Cells, ColumnarWriter, GROUP, TableHead, group_rows, with_time};
use crate::columnar_form::ColumnarForm;
use crate::descriptor::Descriptor;
use crate::sink::Column;
use crate::spool_reader::{SpoolError, SpoolReader};

/// Blocks of rows that wait for the thread: of 256 KiB, 8 MiB in all. More would only be more memory, since a disk that is
/// too slow stays so; fewer, and the run would wait longer while a group is compressed.
const BLOCKS: usize = 32;

/// More than the bytes of a column in a group of 10 000 rows.
const KEPT: usize = 1 << 20;

/// Columns that join the rows when all of them are there: one list of values for each.
#[derive(Debug, Default)]
pub(crate) struct AddedColumns {
    pub(crate) columns: Vec<Column>,
    pub(crate) values: Vec<Vec<f64>>,
}

/// A file of columns that has all rows, but not its end, and the number of rows.
pub(crate) type Written = (Box<dyn ColumnarWriter>, u64);

/// Writes all rows of the reader to a new file; metadata of the rows go before the given ones.
pub(crate) fn write_groups<R: Read>(
    mut rows: SpoolReader<R>,
    form: &ColumnarForm,
    file: &File,
    added: &AddedColumns,
    metadata: &BTreeMap<String, String>,
) -> Result<Written, SpoolError> {
    keep_freed_memory();
    let header = rows.header();
    let mut columns = with_time(&header.columns);
    let own = columns.len();
    columns.extend(added.columns.iter().cloned());
    let mut all: BTreeMap<String, String> = header.metadata.iter().cloned().collect();
    all.extend(metadata.clone());
    let head = TableHead {
        columns: &columns,
        metadata: &all,
        is_complete: true,
    };
    let mut writer = form.begin(file, head)?;
    let most = group_rows(columns.len());
    let cells = columns
        .iter()
        .map(|column| Cells::with_room(column.kind, most));
    let mut cells: Vec<Cells> = cells.collect();
    if rows.comes_from_a_run() {
        // Now, while the run waits for it.
        cells.iter_mut().for_each(Cells::touch);
    }
    let (mut done, mut waiting, mut bytes) = (0, 0, 0);
    loop {
        let (count, length) = rows.read(most - waiting, &mut cells[..own])?;
        (waiting, bytes) = (waiting + count, bytes + length);
        if waiting > 0 && (count == 0 || waiting == most || bytes >= GROUP) {
            for (values, cells) in added.values.iter().zip(&mut cells[own..]) {
                if let CellValues::Real(all) = cells.values_mut() {
                    let end = (done + waiting).min(values.len());
                    all.extend(&values[done.min(end)..end]);
                }
            }
            writer.write(&cells)?;
            cells.iter_mut().for_each(Cells::clear);
            done += waiting;
            (waiting, bytes) = (0, 0);
        }
        if count == 0 {
            return Ok((writer, done as u64));
        }
    }
}

/// A thread that writes the groups while rows come.
#[derive(Debug)]
pub(crate) struct GroupWriter {
    blocks: SyncSender<Vec<u8>>,
    /// Blocks that the thread is done with.
    used: Receiver<Vec<u8>>,
    has_failed: Arc<AtomicBool>,
    thread: JoinHandle<Result<Finished, SpoolError>>,
}

/// As [`Written`].
struct Finished(Written);

impl std::fmt::Debug for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Finished").field(&self.0.1).finish()
    }
}

impl GroupWriter {
    /// Starts the thread, in the process that calls it.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub(crate) fn start(form: &'static ColumnarForm, file: File) -> io::Result<Self> {
        let (blocks, received) = mpsc::sync_channel(BLOCKS);
        let (done, used) = mpsc::channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        let failed = has_failed.clone();
        let file = Descriptor::from(file);
        let work = move || {
            let blocks = Blocks {
                received,
                done,
                block: Vec::new(),
                taken: 0,
            };
            let rows = SpoolReader::new(blocks).map(SpoolReader::of_a_run);
            let written = rows.and_then(|rows| {
                let (added, metadata) = (AddedColumns::default(), BTreeMap::new());
                write_groups(rows, form, &file, &added, &metadata)
            });
            failed.store(written.is_err(), Ordering::Release);
            written.map(Finished)
        };
        let thread = thread::Builder::new().name("columns".to_owned());
        Ok(Self {
            blocks,
            used,
            has_failed,
            thread: thread.spawn(work)?,
        })
    }

    /// Waits until the thread is done with the header, which was handed over, and has the memory of a group. What a process takes
    /// while it steps is held against its FMUs, and looking for the FMU takes seconds if there are many.
    pub(crate) fn await_memory(&self) {
        // A thread that has failed gives nothing back, and says why in the end.
        drop(self.used.recv());
    }

    /// Hands bytes over, in the order of the file. Waits if the thread is behind.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut block = self.used.try_recv().unwrap_or_default();
        block.clear();
        block.extend_from_slice(bytes);
        // A thread that has failed takes nothing, and says why in the end.
        let _ = self.blocks.send(block);
    }

    /// Whether the thread has given up.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Waits until all rows are written.
    ///
    /// # Errors
    ///
    /// [`SpoolError`].
    pub(crate) fn finish(self) -> Result<Written, SpoolError> {
        drop(self.blocks);
        let finished = self.thread.join();
        let finished = finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        finished.map(|Finished(written)| written)
    }
}

/// Lets the allocator keep what the columns of a group free. glibc gives blocks of 128 KiB and more back to the system at once. So each
/// column of each group costs calls of the system and page faults, half of the time that writing takes. glibc keeps blocks that are smaller
/// than one that was freed (`mallopt(3)`, `M_MMAP_THRESHOLD`). Nothing is written to it.
fn keep_freed_memory() {
    drop(std::hint::black_box(vec![0_u8; KEPT]));
}

/// The blocks as a file that ends with the last of them.
struct Blocks {
    received: Receiver<Vec<u8>>,
    done: mpsc::Sender<Vec<u8>>,
    block: Vec<u8>,
    taken: usize,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() {
            let used = std::mem::take(&mut self.block);
            self.taken = 0;
            if used.capacity() > 0 {
                // The other side may be gone.
                let _ = self.done.send(used);
            }
            let Ok(next) = self.received.recv() else {
                return Ok(0);
            };
            self.block = next;
        }
        let rest = &self.block[self.taken..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}
