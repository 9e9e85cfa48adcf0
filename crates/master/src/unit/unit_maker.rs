//! Creation of the units of FMUs when a system starts: the place to wrap or relocate them.

use gyrator_fmu::{Fmu, InstanceOptions};
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
        if self.component.host.is_some() {
            return Err(self.refuse(
                "`host` asks for another machine, which this program does not offer: run the system with \
                 `gyrator run`, or start it with the maker of gyrator-remote",
            ));
        }
        let description = self.description.clone();
        let library = self.component.library.as_ref();
        let options = InstanceOptions {
            library: match library.map_or(LibraryUse::Auto, |library| library.value) {
                // Calls of several threads would wait for each other.
                LibraryUse::Auto if self.options.threads > 1 => gyrator_fmu::LibraryUse::Auto,
                LibraryUse::Auto => gyrator_fmu::LibraryUse::OneThread,
                LibraryUse::Shared => gyrator_fmu::LibraryUse::Shared,
                LibraryUse::Copied => gyrator_fmu::LibraryUse::Copied,
            },
            ..self.options.of_instances()
        };
        FmuUnit::instantiate(self.fmu, self.name(), description, &options)
            .map_err(|error| self.refuse(error.to_string()))
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
