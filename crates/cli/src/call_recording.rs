//! Recordings of the calls of FMUs, for `gyrator replay`.
//!
//! A feature of all runs.

use std::path::PathBuf;

use clap::Args;
use gyrator::unit::UnitMaker;
use gyrator_worker::replay::RecordCalls;
use gyrator_worker::surroundings;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::feature::{Feature, Needs};

// Which calls are recorded.
#[derive(Args)]
pub(crate) struct CallRecordingOptions {
    /// Record the calls of every FMU with their answers in this folder, as COMPONENT.calls for `gyrator replay`, with
    /// the FMU beside it
    #[arg(long, value_name = "FOLDER", help_heading = "FMUs")]
    record_calls: Option<PathBuf>,
}

impl Feature for CallRecordingOptions {
    fn needs(&self) -> Needs {
        let why = "there is no second run while calls are recorded: a run without --record-calls tells why";
        Needs {
            no_second_run: self.record_calls.as_ref().map(|_| why),
            ..Needs::default()
        }
    }

    fn units(&self, maker: Box<dyn UnitMaker>) -> Result<Box<dyn UnitMaker>, Failure> {
        let Some(folder) = &self.record_calls else {
            return Ok(maker);
        };
        surroundings::in_own(|| std::fs::create_dir_all(folder)).map_err(|error| {
            let text = format!("the folder {}: {error}", folder.display());
            Failure::new(Exit::Failed, Message::error(text))
        })?;
        Ok(Box::new(RecordCalls::new(folder, maker)))
    }
}
