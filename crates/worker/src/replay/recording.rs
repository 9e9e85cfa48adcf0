//! The file of a recording: a head, then calls and answers in the order in which they were made.
//!
//! A call is written before it is made, with the answer to the call before it, so that a recording
//! holds the call in which a process has ended. Each part is its length, four bytes with the least one first, and so many bytes of
//! [postcard](https://postcard.jamesmunns.com).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::replay::call::{Answer, Call};

/// First bytes of a recording; the digit is the version.
const MAGIC: &[u8; 16] = b"gyrator-calls 1\n";

/// Longest part of a recording, bytes: the state of a large FMU. No part is longer than its file.
const LONGEST: u32 = 1 << 30;

/// Facts about the FMU of a recording and the program that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Name of the component, and of the instance.
    pub component: String,
    /// File name of the FMU.
    pub fmu: String,
    /// SHA-256 of the FMU's file; `None` for a directory.
    pub sha256: Option<String>,
    /// `modelName`.
    pub model: String,
    /// `guid`.
    pub guid: String,
    /// `generationTool`.
    pub tool: Option<String>,
    /// Version of gyrator.
    pub gyrator: String,
    /// Operating system and architecture.
    pub platform: String,
    /// Whether the FMU was asked to log all that it can.
    pub logging: bool,
}

/// One part of a recording after its head.
#[derive(Debug, Serialize, Deserialize)]
enum Part {
    Call(Call),
    Answer(Answer),
}

/// Writes a recording.
#[derive(Debug)]
pub struct CallLog {
    file: File,
    /// The answer to the last call, which is written with the next one.
    pending: Vec<u8>,
}

impl CallLog {
    /// Writes a recording into an empty file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(mut file: File, head: &Head) -> io::Result<Self> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, head)?;
        file.write_all(&bytes)?;
        Ok(Self {
            file,
            pending: Vec::new(),
        })
    }

    /// Writes a call that is to be made.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn call(&mut self, call: Call) -> io::Result<()> {
        put(&mut self.pending, &Part::Call(call))?;
        self.flush()
    }

    /// Keeps the answer to the last call.
    ///
    /// # Errors
    /// If it is too long.
    pub fn answer(&mut self, answer: Answer) -> io::Result<()> {
        put(&mut self.pending, &Part::Answer(answer))
    }

    /// Writes what is kept.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.pending);
        self.pending.clear();
        written
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        // The answer to `fmi2FreeInstance` at most.
        let _ = self.flush();
    }
}

fn put(bytes: &mut Vec<u8>, part: &impl Serialize) -> io::Result<()> {
    let begin = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    *bytes = postcard::to_extend(part, std::mem::take(bytes)).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - begin - 4).ok();
    let length = length.filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| {
        io::Error::other("a call has more values, or bytes of a state, than one part holds")
    })?;
    bytes[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is something else.
    #[error("is not a recording of calls by this version of gyrator")]
    Foreign,
    /// A part of it is damaged.
    #[error("is damaged at byte {at}: {why}")]
    Damaged {
        /// Start of the part, in bytes.
        at: u64,
        /// Why it does not belong to a recording.
        why: String,
    },
}

/// Reads a recording, call by call.
#[derive(Debug)]
pub struct Recording<R = BufReader<File>> {
    source: R,
    head: Head,
    at: u64,
    length: u64,
    bytes: Vec<u8>,
}

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::of_file(File::open(path)?)
    }

    /// Reads a recording from the beginning of a file.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn of_file(file: File) -> Result<Self, ReadError> {
        Self::new(BufReader::new(file))
    }
}

impl<R: Read + Seek> Recording<R> {
    /// Reads a recording from the beginning of a source.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn new(mut source: R) -> Result<Self, ReadError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.seek(SeekFrom::Start(0))?;
        let mut magic = [0; MAGIC.len()];
        match source.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => {}
            Ok(()) => return Err(ReadError::Foreign),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(ReadError::Foreign);
            }
            Err(error) => return Err(error.into()),
        }
        let head = Head {
            component: String::new(),
            fmu: String::new(),
            sha256: None,
            model: String::new(),
            guid: String::new(),
            tool: None,
            gyrator: String::new(),
            platform: String::new(),
            logging: false,
        };
        let mut recording = Self {
            source,
            head,
            at: MAGIC.len() as u64,
            length,
            bytes: Vec::new(),
        };
        recording.head = match recording.part()? {
            Some(head) => head,
            None => return Err(recording.damaged("its head is cut off")),
        };
        Ok(recording)
    }

    /// The facts at its beginning.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next call with its answer: `None` for the answer if the recording ends within the call, `None` at the end.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of results would go on after an error"
    )]
    pub fn next(&mut self) -> Result<Option<(Call, Option<Answer>)>, ReadError> {
        let call = match self.part()? {
            None => return Ok(None),
            Some(Part::Call(call)) => call,
            Some(Part::Answer(_)) => return Err(self.damaged("an answer without a call")),
        };
        if !call.is_whole() {
            return Err(self.damaged("a call with lists of different lengths"));
        }
        let answer = match self.part()? {
            None => None,
            Some(Part::Answer(answer)) => Some(answer),
            Some(Part::Call(_)) => return Err(self.damaged("a call without an answer")),
        };
        Ok(Some((call, answer)))
    }

    /// The next part; `None` at the end, which may be within a part: the process has ended while it wrote.
    fn part<T: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<T>, ReadError> {
        let left = self.length.saturating_sub(self.at);
        if left < 4 {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.source.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            return Err(self.damaged("a part is too long"));
        }
        if left - 4 < u64::from(length) {
            self.at = self.length;
            return Ok(None);
        }
        self.bytes.resize(length as usize, 0);
        self.source.read_exact(&mut self.bytes)?;
        match postcard::take_from_bytes(&self.bytes) {
            Ok((part, [])) => {
                self.at += 4 + u64::from(length);
                Ok(Some(part))
            }
            Ok(_) => Err(self.damaged("a part is longer than what it holds")),
            Err(error) => Err(self.damaged(&error.to_string())),
        }
    }

    fn damaged(&self, why: &str) -> ReadError {
        ReadError::Damaged {
            at: self.at,
            why: why.to_owned(),
        }
    }
}
