//! Which components get a process of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use gyrator::Unit;
use gyrator::error::LoadError;
use gyrator::profile::Profile;
use gyrator::unit::{UnitMaker, UnitOrder};
use gyrator_fmu::claim_process;

use super::connection::{OwnProcess, Terms, WorkingDirectory};
use super::request::{Rare, Request, Start};
use super::unit::IsolatedUnit;
use super::wait_policy::Spinning;

/// Makes units of FMUs, in processes of their own if the system asks for it.
///
/// A component gets one if it says `isolate = true` or `restart = …`. It also gets one, with a note that says why, if the run
/// [wants it](UnitMaker::set_apart), or if it cannot share this process with an earlier component. This is so if the FMUs of both
/// [bring libraries](gyrator_fmu::Sharing::companions) of which a process has one, or call functions of the C library whose
/// state cannot be kept apart. `isolate = false` forbids it.
///
/// The program has to call [`hook`](crate::hook) first thing in its `main`, because a worker is this
/// program once more.
#[derive(Debug, Clone, Default)]
pub struct Isolation {
    timeout: Option<Duration>,
    arguments: Vec<OsString>,
    chosen: BTreeSet<String>,
    /// Components that are wanted apart, with the reason.
    wanted: BTreeMap<String, String>,
    /// Components that say `isolate = false`.
    kept: BTreeSet<String>,
    notes: Vec<String>,
    /// Components whose FMU also has other components.
    with_others: BTreeSet<String>,
    spinning: Option<Spinning>,
    interpreters_apart: bool,
    all_apart: bool,
    profile: Option<Profile>,
}

impl Isolation {
    /// For calls that may take for ever.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Longest time that one call of a component's FMU may take, or loading its library; a worker
    /// that takes longer is ended. A worker that has not answered and was in no call is ended after the same
    /// time, but at least a minute: it may have to unpack an archive, or to wait for a core.
    /// `None`: for ever.
    #[must_use]
    pub const fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Arguments on the workers' command lines, before the name of the component. Workers do not
    /// read them.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = OsString>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// Gives each component whose FMU [uses an interpreter](gyrator_fmu::Fmu::uses_python) a process of its
    /// own, unless it says `isolate = false`: for programs that make several runs in one process. Runs at
    /// the same time would share the interpreter, and later ones would find what earlier ones left in it.
    #[must_use]
    pub const fn interpreters_apart(mut self) -> Self {
        self.interpreters_apart = true;
        self
    }

    /// Gives each component of an FMU a process of its own, whatever it says, in the working directory of this one: for a run beside
    /// another one of the same system.
    #[must_use]
    pub const fn all_apart(mut self) -> Self {
        self.all_apart = true;
        self
    }

    /// Measures the time in which calls of isolated components wait for their processes, as a part of the calls that
    /// the profile has [wrapped](Profile::units).
    #[must_use]
    pub fn profile(mut self, profile: Option<Profile>) -> Self {
        self.profile = profile;
        self
    }

    /// Gives a component a process of its own without being asked by the system file.
    fn choose(&mut self, component: String, why: &str) {
        self.notes.push(format!(
            "`{component}` runs in a process of its own, because {why} (`isolate = false` forbids it)"
        ));
        self.chosen.insert(component);
    }

    /// The working directory of a component, if the starter of processes has another one. It is the directory of the thread
    /// that makes the run. If the same FMU has other components, which may write files of the same names, it is a folder in
    /// that directory with the name of the component.
    fn directory(&self, name: &str) -> Option<WorkingDirectory> {
        let of_run = std::env::current_dir().ok()?;
        // A run beside another one neither makes nor removes the folders of that.
        Some(match !self.all_apart && self.with_others.contains(name) {
            true => WorkingDirectory::Own(of_run.join(name.replace('/', "_"))),
            false => WorkingDirectory::OfRun(of_run),
        })
    }

    fn start(
        &self,
        order: &UnitOrder<'_>,
        spinning: Spinning,
    ) -> Result<IsolatedUnit<OwnProcess>, LoadError> {
        let mut arguments = self.arguments.clone();
        arguments.push(order.name().into());
        let terms = Terms {
            arguments,
            directory: self.directory(order.name()),
            timeout: self.timeout,
            spinning,
            memory_limit: None,
            keeps_log: false,
            abandoned: None,
        };
        let host = OwnProcess::new(terms, request(order));
        IsolatedUnit::start(order, host, self.profile.as_ref())
    }
}

impl UnitMaker for Isolation {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        // Choices for the system before are void.
        self.chosen.clear();
        self.kept.clear();
        self.notes.clear();
        let mut wanted = std::mem::take(&mut self.wanted);
        for order in orders.iter().filter(|order| order.component.host.is_none()) {
            let name = order.name().to_owned();
            let isolate = order.component.isolate.as_ref();
            if self.all_apart {
                self.chosen.insert(name);
            } else if isolate.is_some_and(|isolate| !isolate.value) {
                self.kept.insert(name);
            } else if let Some(why) = wanted.remove(&name) {
                self.choose(name, &why);
            } else if order.component.is_isolated()
                || self.interpreters_apart && order.fmu.uses_python()
            {
                self.chosen.insert(name);
            } else if let Some(change) = order.fmu.process_change() {
                self.choose(name, &format!("{change} for all components"));
            } else if order.fmu.sharing().needs_own_process() && !claim_process() {
                let reason = order.fmu.sharing().reason();
                self.choose(name, &format!("{reason}, of which a process has one"));
            }
        }
        let mut times: BTreeMap<&Path, usize> = BTreeMap::new();
        for order in orders {
            *times.entry(order.fmu.path()).or_default() += 1;
        }
        let is_repeated = |order: &&UnitOrder<'_>| times.get(order.fmu.path()) > Some(&1);
        let repeated = orders.iter().filter(is_repeated);
        self.with_others = repeated.map(|order| order.name().to_owned()).collect();
        self.spinning = None;
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        if !self.chosen.contains(order.name()) {
            return Ok(None);
        }
        // The system is asked for the number of cores if it counts.
        let components = self.chosen.len();
        let spinning = *self.spinning.get_or_insert_with(|| {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            Spinning::on(cores, components, order.options.threads)
        });
        let unit = self.start(order, spinning)?;
        Ok(Some(Box::new(unit)))
    }

    fn set_apart(&mut self, component: &str, why: &str) -> bool {
        if self.kept.contains(component) {
            return false;
        }
        self.choose(component.to_owned(), why);
        self.wanted.insert(component.to_owned(), why.to_owned());
        true
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

fn request(order: &UnitOrder<'_>) -> Request {
    let mut request = Request::default();
    let (fmu, logging) = (order.fmu, order.options.log_fmu_calls);
    let start = Start::new(fmu.path(), order.name(), logging, fmu.options());
    request.rare(&Rare::Start(start));
    request
}
