//! Creation of the units of FMUs when a system starts: the place to wrap or relocate them.

use std::any::Any;

use gyrator_fmu::{Fmu, InstanceOptions, LoadError as FmuError};
use gyrator_system::{Component, LibraryUse};

use crate::run_options::RunOptions;
use crate::start_error::{LoadError, LoadErrorKind};
use crate::unit::FmuUnit;
use crate::unit::{Unit, UnitDescription};

/// The FMU of a component, whose unit is wanted.
#[derive(Clone, Copy)]
pub struct UnitOrder<'a> {
    /// The component in the system file.
    pub component: &'a Component,
    /// The FMU; its library is not loaded yet.
    pub fmu: &'a Fmu,
    /// Description that the unit must return: a copy of it, or of its connected variables alone.
    pub description: &'a UnitDescription,
    /// How the run is made.
    pub options: &'a RunOptions,
    /// No other FMU is in this process while the unit lives.
    pub is_alone: bool,
}

/// A unit around an FMU in this process that the engine knows by its type, to call the FMU in a group.
pub trait AroundFmu: Unit + Any {}

/// The unit of an order.
pub enum Made {
    /// An instance in this process.
    Here(FmuUnit),
    /// An instance in this process, inside a unit that lets others call it.
    Around(Box<dyn AroundFmu>),
    /// A unit of the maker's.
    Elsewhere(Box<dyn Unit>),
}

impl Made {
    /// The unit behind its seam.
    #[must_use]
    pub fn into_unit(self) -> Box<dyn Unit> {
        match self {
            Self::Here(unit) => Box::new(unit),
            Self::Around(unit) => unit,
            Self::Elsewhere(unit) => unit,
        }
    }
}

impl UnitOrder<'_> {
    /// Name of the component.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.component.name.value
    }

    /// Loads the FMU's library into this process and makes an instance.
    ///
    /// # Errors
    /// As [`Fmu::instantiate`]; a component of another machine.
    pub fn instantiate(&self) -> Result<FmuUnit, LoadError> {
        self.check_host()?;
        self.load().map_err(|error| self.not_loaded(&error))
    }

    /// The unit as `maker` makes it; an instance in this process if it makes none. If this process has no room for that,
    /// `maker` is asked for another one.
    ///
    /// # Errors
    /// As [`UnitMaker::make`] and [`instantiate`](Self::instantiate).
    pub fn make(&self, maker: &mut dyn UnitMaker) -> Result<Made, LoadError> {
        if let Some(made) = maker.make_in_place(self)? {
            return Ok(made);
        }
        self.check_host()?;
        let error = match self.load() {
            Ok(unit) => return Ok(Made::Here(unit)),
            Err(error) => error,
        };
        if let Some(why) = error.is_lack_of_room()
            && maker.set_apart(self.name(), why)
            && let Some(made) = maker.make_in_place(self)?
        {
            return Ok(made);
        }
        Err(self.not_loaded(&error))
    }

    fn check_host(&self) -> Result<(), LoadError> {
        match self.component.host {
            None => Ok(()),
            Some(_) => Err(self.refuse(
                "`host` asks for another machine, which this program does not offer: run the system with \
                 `gyrator run`, or start it with the maker of gyrator-remote",
            )),
        }
    }

    fn load(&self) -> Result<FmuUnit, FmuError> {
        let description = self.description.clone();
        let library = self.component.library.as_ref();
        let options = InstanceOptions {
            library: match library.map_or(LibraryUse::Auto, |library| library.value) {
                LibraryUse::Auto => gyrator_fmu::LibraryUse::Auto,
                LibraryUse::Shared => gyrator_fmu::LibraryUse::Shared,
                LibraryUse::Copied => gyrator_fmu::LibraryUse::Copied,
            },
            is_alone: self.is_alone,
            ..self.options.of_instances()
        };
        FmuUnit::instantiate(self.fmu, self.name(), description, &options)
    }

    fn not_loaded(&self, error: &FmuError) -> LoadError {
        LoadError {
            kind: match error.is_shortage() {
                true => LoadErrorKind::HostLost,
                false => LoadErrorKind::NotLoaded,
            },
            ..self.refuse(error.to_string())
        }
    }

    /// The error that the FMU could not be loaded because of `message`.
    #[must_use]
    pub fn refuse(&self, message: impl Into<String>) -> LoadError {
        LoadError {
            component: self.name().to_owned(),
            message: message.into(),
            kind: LoadErrorKind::NotLoaded,
        }
    }
}

/// Makes the units of FMUs when a [`System`](crate::System) starts.
pub trait UnitMaker {
    /// All orders there will be, before the first unit is made.
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        let _ = orders;
    }

    /// The unit of a component; `None` for an instance in this process, which stands in its place
    /// by value and is called fastest.
    ///
    /// # Errors
    /// If the FMU cannot be loaded; the errors of all components are reported together.
    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError>;

    /// As [`make`](Self::make); a maker of instances in this process that it [puts into another unit](AroundFmu) makes
    /// them here.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    fn make_in_place(&mut self, order: &UnitOrder<'_>) -> Result<Option<Made>, LoadError> {
        Ok(self.make(order)?.map(Made::Elsewhere))
    }

    /// Wants the unit of this component outside of this process in the next [`plan`](Self::plan) and until then, because
    /// of `why`. Returns whether that is possible.
    fn set_apart(&mut self, component: &str, why: &str) -> bool {
        let _ = (component, why);
        false
    }

    /// What it has chosen since the last [`plan`](Self::plan) without being asked, and why, for the report.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Puts all instances into this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess;

impl UnitMaker for InProcess {
    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        if order.component.is_isolated() {
            return Err(order.refuse(
                "`isolate` asks for a process of its own, which this program does not offer: run \
                 the system with `gyrator run`, or start it with the maker of gyrator-worker",
            ));
        }
        Ok(None)
    }
}
