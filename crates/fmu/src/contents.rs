//! What an FMU has on disk: files of its archive, and the library that is compiled of its sources.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::archive::Archive;
use crate::compiling::Compiler;
use crate::description::ModelDescription;
use crate::error::OpenError;
use crate::process_directory::ProcessDirectory;

/// The files of an FMU that are written to disk.
pub(crate) struct Contents {
    /// Its resources, its description and its binaries for this platform.
    pub(crate) archive: Archive,
    /// The compiler of its sources, if they are to be compiled.
    pub(crate) compiling: Option<(Compiler, Arc<ModelDescription>)>,
}

impl Contents {
    /// A number that no other contents have, in hexadecimal.
    pub(crate) fn digest(&self) -> Result<String, OpenError> {
        let archive = self.archive.digest()?;
        Ok(match &self.compiling {
            Some((compiler, _)) => format!("{archive}-{}", &compiler.digest()[..16]),
            None => archive,
        })
    }

    /// Writes them into a directory of their own, in memory if they fit.
    pub(crate) fn write(&mut self) -> Result<(Arc<ProcessDirectory>, TempDir), OpenError> {
        let size = match &self.compiling {
            None => self.archive.size_without_resources()?,
            // A compiler may write a lot.
            Some(_) => None,
        };
        let budget = self.archive.budget();
        if let Some(of_process) = size.and_then(ProcessDirectory::in_memory)
            && let Ok(own) = of_process.directory()
            && self.write_to(own.path()).is_ok()
        {
            return Ok((of_process, own));
        }
        let (of_process, own) = ProcessDirectory::new_on_disk()?;
        self.archive.restore_budget(budget);
        self.write_to(own.path())?;
        Ok((of_process, own))
    }

    /// Writes them into this directory.
    pub(crate) fn write_to(&mut self, directory: &Path) -> Result<(), OpenError> {
        self.archive.unpack_to(directory)?;
        let Some((compiler, description)) = &self.compiling else {
            return Ok(());
        };
        let built = compiler.build(&mut self.archive, description, directory);
        built.map_err(|reason| OpenError::Compile {
            path: self.archive.path().to_owned(),
            reason,
        })
    }
}
