//! Units of a system that is not running, and how each of its runs gets its own.

use std::sync::{Arc, Mutex, PoisonError};

use gyrator_fmu::Fmu;
use gyrator_system::{Component, Problem, SystemFile};

use crate::block;
use crate::start_error::StartError;
use crate::unit::{Unit, UnitDescription};

/// A unit that is not running yet.
pub(crate) enum UnitSource {
    /// An FMU that was opened; its library is loaded when the system starts.
    Fmu(Fmu, Arc<UnitDescription>),
    /// A unit of this process.
    InProcess(InProcessUnit),
}

/// Makes a unit for one more run.
type Maker = Box<dyn Fn() -> Box<dyn Unit> + Send + Sync>;

/// A unit of this process: one that is ready, and how further ones are made.
pub(crate) struct InProcessUnit {
    pub(super) description: Arc<UnitDescription>,
    /// The unit of the next run; behind a lock, since a start borrows the system alone.
    ready: Mutex<Option<Box<dyn Unit>>>,
    maker: Option<Maker>,
}

impl UnitSource {
    /// A unit for one run, or a block, which its component can make again.
    pub(super) fn of_unit(unit: Box<dyn Unit>) -> Self {
        Self::InProcess(InProcessUnit::new(unit, None))
    }

    /// Units that `maker` makes, one for each run.
    pub(super) fn of_maker(maker: Maker) -> Self {
        Self::InProcess(InProcessUnit::new(maker(), Some(maker)))
    }

    pub(super) fn description(&self) -> &Arc<UnitDescription> {
        match self {
            Self::Fmu(_, description) => description,
            Self::InProcess(unit) => &unit.description,
        }
    }
}

impl InProcessUnit {
    fn new(unit: Box<dyn Unit>, maker: Option<Maker>) -> Self {
        Self {
            description: Arc::new(unit.description().clone()),
            ready: Mutex::new(Some(unit)),
            maker,
        }
    }

    /// The unit of the next run.
    ///
    /// # Errors
    /// A unit that was added by value and has been in a run, a maker whose units differ from its first,
    /// a block that cannot be made again.
    pub(super) fn unit_for_run(
        &self,
        component: &Component,
        file: &SystemFile,
    ) -> Result<Box<dyn Unit>, StartError> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(unit) = ready.take() {
            return Ok(unit);
        }
        let name = &component.name.value;
        match &self.maker {
            Some(maker) => {
                let unit = maker();
                if unit.description() == &*self.description {
                    return Ok(unit);
                }
                let message = format!("the unit made for `{name}` differs from the first one");
                let problem = Problem::error("made-unit", message)
                    .help("make units with equal variables and capabilities");
                Err(invalid(file, vec![problem]))
            }
            None if component.block.is_some() => {
                block::make(component, file).map_err(|problems| invalid(file, problems))
            }
            None => {
                let message = format!("the unit of `{name}` was in a run of this system already");
                let problem = Problem::error("used-unit", message)
                    .help("add it with `System::add_with`, which makes one for each run");
                Err(invalid(file, vec![problem]))
            }
        }
    }
}

fn invalid(file: &SystemFile, list: Vec<Problem>) -> StartError {
    StartError::Invalid(file.problems(list))
}
