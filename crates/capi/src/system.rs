//! Systems that are described by calls.

#![expect(unsafe_code, reason = "exports C names")]

use std::sync::{Mutex, MutexGuard};

use gyrator::system::{ComponentSettings, set_tolerance};
use gyrator::system_file::Tolerance;
use gyrator::{RunOptions, System, Value, Word};

use crate::arguments::{Text, array, give, object, take_back, there};
use crate::callback_unit::{self, GyratorUnit};
use crate::error::{GyratorCode, Refusal, guard};
use crate::run::GyratorRun;

/// Units, connections, power bonds and the experiment, by names.
pub struct GyratorSystem(Mutex<System>);

/// A parameter of a method, an extrapolation, a correction, a step control or an interface model.
#[repr(C)]
pub struct GyratorSetting<'a> {
    /// Its name, as `gyrator list` prints it.
    pub name: Text<'a>,
    /// Its value, if `text` is NULL.
    pub number: f64,
    /// Its value, if it is a word.
    pub text: Text<'a>,
}

pub(crate) fn lock<'a>(system: *mut GyratorSystem) -> Result<MutexGuard<'a, System>, Refusal> {
    let lock = object(system, "the system")?.0.try_lock();
    lock.map_err(|_| Refusal::usage("the system is in use, by another thread or by its own unit"))
}

fn component<'s>(system: &'s mut System, name: Text<'_>) -> Result<ComponentSettings<'s>, Refusal> {
    let name = name.read("the name of the component")?;
    let found = system.component(name);
    found.ok_or_else(|| Refusal::usage(format!("there is no component {name}")))
}

/// Makes an empty system with this macro-step, s. It starts at time 0 and has no end.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_new(
    step_size: f64,
    result: Option<&mut *mut GyratorSystem>,
) -> GyratorCode {
    guard(|| give(result, GyratorSystem(Mutex::new(System::new(step_size)))))
}

/// Reads a system from a file or a folder: TOML, SSP, OSP, MasterSim or INTO-CPS.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_from_file(
    path: Text<'_>,
    result: Option<&mut *mut GyratorSystem>,
) -> GyratorCode {
    guard(|| {
        let system = System::from_path(path.read("the path")?)?;
        give(result, GyratorSystem(Mutex::new(system)))
    })
}

/// Frees a system; runs that it has started go on. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_free(system: *mut GyratorSystem) {
    guard(|| {
        take_back(system);
        Ok(())
    });
}

/// Sets the start time, s.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_start_time(
    system: *mut GyratorSystem,
    seconds: f64,
) -> GyratorCode {
    guard(|| {
        lock(system)?.start_time(seconds);
        Ok(())
    })
}

/// Sets the stop time, s; without one a run has no end.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_stop_time(
    system: *mut GyratorSystem,
    seconds: f64,
) -> GyratorCode {
    guard(|| {
        lock(system)?.stop_time(seconds);
        Ok(())
    })
}

/// Gives all FMUs this relative tolerance, or none if it is 0; unless it is set, each gets the one that it recommends.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_tolerance(
    system: *mut GyratorSystem,
    relative: f64,
) -> GyratorCode {
    guard(|| {
        let tolerance = match relative {
            0.0 => Tolerance::Off,
            relative => Tolerance::Relative(relative),
        };
        set_tolerance(&mut *lock(system)?, tolerance);
        Ok(())
    })
}

/// Adds an FMU.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_add_fmu(
    system: *mut GyratorSystem,
    name: Text<'_>,
    path: Text<'_>,
) -> GyratorCode {
    guard(|| {
        let (name, path) = (name.read("the name")?, path.read("the path")?);
        lock(system)?.add_fmu(name, path)?;
        Ok(())
    })
}

/// Adds a unit of the caller, for one run of the system. The description is copied.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_add_unit(
    system: *mut GyratorSystem,
    name: Text<'_>,
    unit: Option<&GyratorUnit<'_>>,
) -> GyratorCode {
    guard(|| {
        let (name, mut system) = (name.read("the name")?, lock(system)?);
        system.add(name, callback_unit::made(there(unit, "the unit")?)?);
        Ok(())
    })
}

/// Sets the communication step of a component, s.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_step_size(
    system: *mut GyratorSystem,
    name: Text<'_>,
    seconds: f64,
) -> GyratorCode {
    guard(|| {
        component(&mut *lock(system)?, name)?.step_size(seconds);
        Ok(())
    })
}

/// Chooses for one component: `what` is "exchange" or "extrapolation".
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_choose(
    system: *mut GyratorSystem,
    name: Text<'_>,
    what: Text<'_>,
    word: Text<'_>,
    settings: Option<&GyratorSetting<'_>>,
    setting_count: usize,
) -> GyratorCode {
    guard(|| {
        let mut system = lock(system)?;
        let component = component(&mut system, name)?;
        match what.read("what to choose")? {
            "exchange" => component.exchange(word.read("the word")?),
            "extrapolation" => component.extrapolation(chosen(word, settings, setting_count)?),
            other => return Err(Refusal::usage(format!("a component has no {other}"))),
        };
        Ok(())
    })
}

/// Sets the start value of a real variable of a component.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_start_real(
    system: *mut GyratorSystem,
    name: Text<'_>,
    variable: Text<'_>,
    value: f64,
) -> GyratorCode {
    guard(|| {
        let variable = variable.read("the variable")?;
        component(&mut *lock(system)?, name)?.start(variable, value);
        Ok(())
    })
}

/// Sets the start value of an Integer or an enumeration of a component.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_start_integer(
    system: *mut GyratorSystem,
    name: Text<'_>,
    variable: Text<'_>,
    value: i32,
) -> GyratorCode {
    guard(|| {
        let variable = variable.read("the variable")?;
        component(&mut *lock(system)?, name)?.start(variable, value);
        Ok(())
    })
}

/// Sets the start value of a Boolean of a component.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_start_boolean(
    system: *mut GyratorSystem,
    name: Text<'_>,
    variable: Text<'_>,
    value: bool,
) -> GyratorCode {
    guard(|| {
        let variable = variable.read("the variable")?;
        component(&mut *lock(system)?, name)?.start(variable, value);
        Ok(())
    })
}

/// Sets the start value of a String of a component.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_component_start_string(
    system: *mut GyratorSystem,
    name: Text<'_>,
    variable: Text<'_>,
    value: Text<'_>,
) -> GyratorCode {
    guard(|| {
        let (variable, value) = (variable.read("the variable")?, value.read("the value")?);
        component(&mut *lock(system)?, name)?.start(variable, value);
        Ok(())
    })
}

/// Connects an output to an input, both COMPONENT.VARIABLE.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_connect(
    system: *mut GyratorSystem,
    output: Text<'_>,
    input: Text<'_>,
) -> GyratorCode {
    guard(|| {
        let (output, input) = (output.read("the output")?, input.read("the input")?);
        lock(system)?.connect(output, input);
        Ok(())
    })
}

/// Connects an output to an input, which gets gain times output plus offset.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_connect_scaled(
    system: *mut GyratorSystem,
    output: Text<'_>,
    input: Text<'_>,
    gain: f64,
    offset: f64,
) -> GyratorCode {
    guard(|| {
        let (output, input) = (output.read("the output")?, input.read("the input")?);
        lock(system)?
            .connect(output, input)
            .gain(gain)
            .offset(offset);
        Ok(())
    })
}

/// Adds a scalar power bond: the effort goes from `effort_output` to `effort_input`, the flow from `flow_output` to `flow_input`.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_bond(
    system: *mut GyratorSystem,
    name: Text<'_>,
    effort_output: Text<'_>,
    effort_input: Text<'_>,
    flow_output: Text<'_>,
    flow_input: Text<'_>,
) -> GyratorCode {
    guard(|| {
        let name = name.read("the name")?;
        let effort = (
            effort_output.read("the output of the effort")?,
            effort_input.read("the input of the effort")?,
        );
        let flow = (
            flow_output.read("the output of the flow")?,
            flow_input.read("the input of the flow")?,
        );
        lock(system)?.bond(name, effort, flow);
        Ok(())
    })
}

/// Chooses for the whole system: `what` is "method", "step_control", "exchange", "extrapolation" or "correction", `word` and the settings are those
/// that `gyrator list` prints. An unknown word is reported when the system starts. Without a choice: as in a file that has none.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_choose(
    system: *mut GyratorSystem,
    what: Text<'_>,
    word: Text<'_>,
    settings: Option<&GyratorSetting<'_>>,
    setting_count: usize,
) -> GyratorCode {
    guard(|| {
        let mut system = lock(system)?;
        let chosen = chosen(word, settings, setting_count)?;
        match what.read("what to choose")? {
            "method" => system.method(chosen),
            "step_control" => system.step_control(chosen),
            "exchange" => system.exchange(word.read("the word")?),
            "extrapolation" => system.extrapolation(chosen),
            "correction" => system.correction(chosen),
            other => return Err(Refusal::usage(format!("a system has no {other}"))),
        };
        Ok(())
    })
}

fn chosen(
    word: Text<'_>,
    settings: Option<&GyratorSetting<'_>>,
    count: usize,
) -> Result<Word, Refusal> {
    let word = Word::new(word.read("the word")?);
    let with = |word: Word, (name, value)| word.with(name, value);
    Ok(self::settings(settings, count)?
        .into_iter()
        .fold(word, with))
}

/// Names and values of parameters.
pub(crate) fn settings<'a>(
    settings: Option<&'a GyratorSetting<'a>>,
    count: usize,
) -> Result<Vec<(&'a str, Value)>, Refusal> {
    let pair = |setting: &'a GyratorSetting<'a>| {
        let name = setting.name.read("the name of a setting")?;
        let text = setting.text.optional("the text of a setting")?;
        Ok((name, text.map_or(Value::Real(setting.number), Value::from)))
    };
    array(settings, count, "the settings")?
        .iter()
        .map(pair)
        .collect()
}

/// Initialises the units and brings them to the start time. `threads` step them.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_start(
    system: *mut GyratorSystem,
    threads: usize,
    result: Option<&mut *mut GyratorRun>,
) -> GyratorCode {
    guard(|| {
        let options = RunOptions {
            threads: threads.max(1),
            ..RunOptions::default()
        };
        let run = lock(system)?.start(&options)?;
        give(result, GyratorRun::new(run))
    })
}
