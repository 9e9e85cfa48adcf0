//! An instance of a packed FMU: a coupled system that runs inside.
//!
//! The system starts when Initialization Mode ends. Start values decide how the engine resolves loops and exchange at
//! the start, in one go; a system that is stepped through Initialization Mode call by call would be a second way to
//! start, with other bits. Outputs that are read in that mode start the system early; a value that is set afterwards
//! starts it again, which costs time in proportion to the loops outside.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use fmu_kit::{
    Experiment, Fault, Instantiation, Simulation, ValueReference, Values, VariableAccess,
};
use gyrator::graph::Graph;
use gyrator::run::{deserialize, process_notes, serialize};
use gyrator::system::FmuCache;
use gyrator::{Report, Run, RunError, RunOptions, Snapshot, StopReason};
use gyrator_system::{Problem, Spanned, SystemFile, Tolerance, toml_file};

use crate::contents::{self, Contents};
use crate::location;
use crate::pack::{SYSTEM_FILE, verdict_number};
use crate::slots::{Given, Place, Slot, Slots, Typed};

/// Share of the macro-step by which a communication step may differ from a whole number of macro-steps: importers compute
/// both by sums and differences of times. As the tolerance of times of `fmu-kit`.
const STEP_TOLERANCE: f64 = 1e-6;

/// Most macro-steps of a communication step; more are a mistaken step, as with the inner steps of `fmu-kit`.
const MOST_MACRO_STEPS: f64 = 1e9;

/// A coupled system as an instance of an FMU.
///
/// When Initialization Mode ends, the system starts with the values that were set. If outputs are read in that
/// mode, it starts already then, and again when a value is set after that.
pub struct PackedSystem {
    guid: String,
    file: SystemFile,
    fmus: FmuCache,
    slots: Slots,
    /// Values as a new instance has them.
    fresh: Given,
    experiment: Experiment,
    /// End of the last communication step as the importer computes it, s.
    time: f64,
    run: Option<Rc<RefCell<Run>>>,
    is_initialized: bool,
}

/// A saved state.
pub struct SavedSystem {
    /// `None` before the end of Initialization Mode.
    state: Option<SavedRun>,
    given: Given,
    experiment: Experiment,
    time: f64,
}

/// The state of a run.
enum SavedRun {
    /// It keeps the run alive that has made it, which the instance may have left since then, and is dropped before it.
    Kept(Box<Snapshot>, Rc<RefCell<Run>>),
    /// Of another instance.
    Bytes(Vec<u8>),
}

/// A [`SavedSystem`] as bytes.
#[derive(serde::Serialize, serde::Deserialize)]
struct WrittenSystem {
    state: Option<Vec<u8>>,
    given: Given,
    experiment: Experiment,
    time: f64,
}

#[cold]
fn failed(error: impl std::fmt::Display) -> Fault {
    Fault::Error(error.to_string())
}

impl PackedSystem {
    /// Reads the folder `resources`.
    fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(contents::FILE);
        let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| in_file(&error))?;
        let contents: Contents = serde_json::from_str(&text).map_err(|error| in_file(&error))?;
        let (file, _) = toml_file::read(&folder.join(SYSTEM_FILE)).map_err(|e| e.to_string())?;
        let fmus = FmuCache::default();
        let system = fmus.system(file.clone()).map_err(|e| e.to_string())?;
        let problems = system.check().into_iter();
        let mut errors = problems.filter(Problem::is_error);
        if let Some(error) = errors.next() {
            return Err(error.message);
        }
        let guid = contents.guid.clone();
        let slots = Slots::new(contents).map_err(|error| in_file(&error))?;
        let start = file.experiment.start();
        Ok(Self {
            guid,
            file,
            fmus,
            fresh: slots.given(),
            slots,
            experiment: Experiment {
                start,
                stop: None,
                tolerance: None,
            },
            time: start,
            run: None,
            is_initialized: false,
        })
    }

    /// The system as the importer wants it.
    fn described(&self) -> Result<SystemFile, Fault> {
        let mut file = self.file.clone();
        file.experiment.start_time = Some(Spanned::unplaced(self.experiment.start));
        file.experiment.stop_time = self.experiment.stop.map(Spanned::unplaced);
        if let Some(tolerance) = self.experiment.tolerance {
            file.experiment.tolerance = Some(Spanned::unplaced(Tolerance::Relative(tolerance)));
        }
        for (name, value) in self.slots.starts() {
            let port = file.port(name).map_err(|problem| failed(problem.message))?;
            let component = file.component_mut(&port.component);
            let component =
                component.ok_or_else(|| failed(format!("there is no component for {name}")))?;
            component.set_start_value(port.variable, value);
        }
        Ok(file)
    }

    /// Starts the system, unless it is started.
    #[cold]
    fn start(&mut self) -> Result<(), Fault> {
        if self.run.is_none() {
            if self.is_initialized {
                return Err(failed("the system has not been started"));
            }
            let system = self.fmus.system(self.described()?).map_err(failed)?;
            let options = RunOptions {
                waits_at_stop_time: true,
                ..RunOptions::default()
            };
            let run = system.start(&options).map_err(failed)?;
            find_all(&mut self.slots, &run)?;
            self.run = Some(Rc::new(RefCell::new(run)));
        }
        Ok(())
    }

    /// The place of a variable.
    fn place<T: Typed>(&self, reference: ValueReference) -> Result<usize, Fault> {
        let place = usize::try_from(reference).unwrap_or(usize::MAX);
        if place < T::slots(&self.slots).len() {
            return Ok(place);
        }
        let kind = T::NAME;
        Err(failed(format!(
            "there is no {kind} variable with value reference {reference}"
        )))
    }

    /// How many macro-steps the communication step to `end` has.
    fn macro_steps(&self, step: f64, end: f64, macro_step: f64) -> Result<Steps, Fault> {
        let stop = self.experiment.stop;
        // Times of the importer are doubles, and far from zero they are as coarse as this, s.
        let rounding = f64::EPSILON * end.abs();
        if stop.is_some_and(|stop| (end - stop).abs() <= STEP_TOLERANCE * macro_step + rounding) {
            return Ok(Steps::UntilStopTime);
        }
        let count = (step / macro_step).round();
        // A step is the difference of two of them.
        let tolerance = STEP_TOLERANCE * macro_step * count + 2.0 * rounding;
        let is_whole = (step - count * macro_step).abs() <= tolerance;
        if count > MOST_MACRO_STEPS {
            return Err(Fault::Discard(format!(
                "a communication step of {step} s has more than {MOST_MACRO_STEPS} macro-steps of {macro_step} s"
            )));
        }
        if count >= 1.0 && is_whole {
            return Ok(Steps::Count(count as u64));
        }
        Err(Fault::Discard(format!(
            "a communication step of {step} s is not a multiple of the macro-step of the system inside, {macro_step} s: step \
             by {} s",
            count.max(1.0) * macro_step
        )))
    }
}

/// The macro-steps of a communication step.
enum Steps {
    Count(u64),
    /// The last one may be shorter.
    UntilStopTime,
}

/// Finds the variables in a run.
fn find_all(slots: &mut Slots, run: &Run) -> Result<(), Fault> {
    find::<f64>(slots, run)?;
    find::<i32>(slots, run)?;
    find::<bool>(slots, run)?;
    find::<String>(slots, run)
}

/// Finds the variables of a type in a run.
fn find<T: Typed>(slots: &mut Slots, run: &Run) -> Result<(), Fault> {
    for slot in T::slots_mut(slots) {
        let Place::Variable(name) = &slot.place else {
            continue;
        };
        if slot.is_output() {
            slot.output = Some(run.output(name).map_err(failed)?);
        } else if slot.is_written() {
            slot.input = Some(run.input(name).map_err(failed)?);
        }
    }
    Ok(())
}

/// The value of an output.
#[inline]
fn read<T: Typed>(slot: &Slot<T>, run: &mut Run) -> Result<T, Fault> {
    match slot.output {
        Some(output) => run.read(output).map_err(failed),
        None => read_of_run(slot, run),
    }
}

/// A value of a bond, or a verdict.
fn read_of_run<T: Typed>(slot: &Slot<T>, run: &Run) -> Result<T, Fault> {
    let computed = match &slot.place {
        Place::Bond(bond, value) => {
            let bond = bond_index(run.graph(), bond)?;
            T::of_real((value.get)(&run.view(), bond))
        }
        Place::BondVerdict(bond) => {
            let bond = bond_index(run.graph(), bond)?;
            let report = run.report();
            let verdict = report.bonds.get(bond).map(|bond| bond.verdict);
            verdict.and_then(|verdict| T::of_number(verdict_number(verdict)))
        }
        Place::Verdict => T::of_number(verdict_number(run.report().verdict)),
        Place::Variable(_) => None,
    };
    computed.ok_or_else(|| failed(format!("{} cannot be read", slot.name)))
}

fn bond_index(graph: &Graph, name: &str) -> Result<usize, Fault> {
    let found = graph.bond_names().position(|bond| bond == name);
    found.ok_or_else(|| failed(format!("the system has no bond {name}")))
}

/// Why a run has ended before its time.
fn ended(report: &Report) -> Fault {
    match &report.stop_reason {
        StopReason::Terminated => {
            Fault::Finished("a component has asked for the end of the simulation".to_owned())
        }
        StopReason::Limit(limit) => Fault::Error(limit.clone()),
        StopReason::Failed(reason) => Fault::Error(reason.clone()),
        other => Fault::Error(RunError::Ended(other.word()).to_string()),
    }
}

impl<T: Typed> Values<T> for PackedSystem {
    #[inline]
    fn variable(&self, reference: ValueReference) -> Result<VariableAccess<'_>, Fault> {
        let place = self.place::<T>(reference)?;
        Ok(T::slots(&self.slots)[place].access())
    }

    #[inline]
    fn get(&mut self, reference: ValueReference) -> Result<&T, Fault> {
        let place = self.place::<T>(reference)?;
        if self.run.is_none() && T::slots(&self.slots)[place].is_output() {
            self.start()?;
        }
        let slot = &mut T::slots_mut(&mut self.slots)[place];
        if let Some(run) = self.run.as_ref().filter(|_| slot.is_output()) {
            slot.value = read(slot, &mut run.borrow_mut())?;
        }
        Ok(&slot.value)
    }

    #[inline]
    fn set(&mut self, reference: ValueReference, value: T) -> Result<(), Fault> {
        let place = self.place::<T>(reference)?;
        let slot = &mut T::slots_mut(&mut self.slots)[place];
        if !self.is_initialized {
            (slot.value, slot.is_set) = (value, true);
            self.run = None;
            return Ok(());
        }
        let (Some(input), Some(run)) = (slot.input, &self.run) else {
            return Err(failed(format!("{} cannot be set now", slot.name)));
        };
        slot.value.clone_from(&value);
        run.borrow_mut().write(input, value).map_err(failed)
    }
}

impl Simulation for PackedSystem {
    type Saved = SavedSystem;

    fn instantiate(order: &Instantiation<'_>) -> Result<Self, String> {
        let location = order.resource_location;
        let location = location.ok_or("fmuResourceLocation is NULL or not UTF-8")?;
        Self::read(&location::folder(location)?)
    }

    fn guid(&self) -> &str {
        &self.guid
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn setup(&mut self, experiment: &Experiment) -> Result<(), Fault> {
        (self.experiment, self.time) = (*experiment, experiment.start);
        Ok(())
    }

    fn initialize(&mut self) -> Result<(), Fault> {
        self.start()?;
        self.is_initialized = true;
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let run = self.run.as_ref().map(|run| run.borrow());
        run.map_or(Vec::new(), |run| process_notes(&run))
    }

    fn step(&mut self, time: f64, step: f64) -> Result<(), Fault> {
        let Some(run) = &self.run else {
            return Err(failed("the system has not been started"));
        };
        let mut run = run.borrow_mut();
        let macro_step = run.graph().macro_step();
        let stepped = match self.macro_steps(step, time + step, macro_step)? {
            Steps::UntilStopTime => run.run_until(time + step).map(|_| ()),
            Steps::Count(count) => (0..count).try_for_each(|_| run.step().map(|_| ())),
        };
        match stepped {
            _ if run.has_ended() => Err(ended(&run.report())),
            Err(error) => Err(failed(error)),
            Ok(()) => {
                self.time = time + step;
                Ok(())
            }
        }
    }

    fn terminate(&mut self) -> Result<(), Fault> {
        match &self.run {
            Some(run) => run.borrow_mut().stop().map(|_| ()).map_err(failed),
            None => Ok(()),
        }
    }

    fn reset(&mut self) {
        self.run = None;
        self.is_initialized = false;
        self.slots.give(&self.fresh);
        self.time = self.file.experiment.start();
    }

    fn save(&mut self) -> Result<SavedSystem, Fault> {
        let state = match &self.run {
            Some(run) if self.is_initialized => {
                let snapshot = run.borrow_mut().save().map_err(failed)?;
                Some(SavedRun::Kept(Box::new(snapshot), Rc::clone(run)))
            }
            _ => None,
        };
        Ok(SavedSystem {
            state,
            given: self.slots.given(),
            experiment: self.experiment,
            time: self.time,
        })
    }

    fn restore(&mut self, saved: &SavedSystem) -> Result<(), Fault> {
        (self.run, self.is_initialized) = (None, false);
        self.slots.give(&saved.given);
        (self.experiment, self.time) = (saved.experiment, saved.time);
        match &saved.state {
            None => {}
            Some(SavedRun::Kept(snapshot, run)) => {
                run.borrow_mut().restore(snapshot).map_err(failed)?;
                find_all(&mut self.slots, &run.borrow())?;
                self.run = Some(Rc::clone(run));
            }
            Some(SavedRun::Bytes(bytes)) => {
                self.start()?;
                if let Some(run) = &self.run {
                    deserialize(&mut run.borrow_mut(), bytes).map_err(failed)?;
                }
            }
        }
        self.is_initialized = saved.state.is_some();
        Ok(())
    }

    fn to_bytes(saved: &SavedSystem) -> Result<Vec<u8>, Fault> {
        let state = match &saved.state {
            None => None,
            Some(SavedRun::Bytes(bytes)) => Some(bytes.clone()),
            Some(SavedRun::Kept(snapshot, run)) => {
                let mut run = run.borrow_mut();
                let present = run.save().map_err(failed)?;
                run.restore(snapshot).map_err(failed)?;
                let bytes = serialize(&mut run);
                run.restore(&present).map_err(failed)?;
                Some(bytes.map_err(failed)?)
            }
        };
        let written = WrittenSystem {
            state,
            given: saved.given.clone(),
            experiment: saved.experiment,
            time: saved.time,
        };
        postcard::to_stdvec(&written).map_err(failed)
    }

    fn from_bytes(bytes: &[u8]) -> Option<SavedSystem> {
        let written: WrittenSystem = postcard::from_bytes(bytes).ok()?;
        Some(SavedSystem {
            state: written.state.map(SavedRun::Bytes),
            given: written.given,
            experiment: written.experiment,
            time: written.time,
        })
    }

    fn time_of(saved: &SavedSystem) -> f64 {
        saved.time
    }
}
