//! Systems that run, step by step.

#![expect(unsafe_code, reason = "exports C names")]

use std::ffi::{CString, c_char};
use std::sync::{Mutex, MutexGuard};

use gyrator::{Input, Output, Recorder, Run, Snapshot};

use crate::arguments::{Text, give, object, take_back, there};
use crate::error::{GyratorCode, Refusal, guard};

/// A system that runs: initialised, at a communication point, ready for its next macro-step.
pub struct GyratorRun(Mutex<Running>);

struct Running {
    run: Run,
    /// The text that was given out last.
    text: CString,
}

/// An output, a local variable or a parameter of a run, which is read without a look-up.
pub struct GyratorOutput(Output<f64>);

/// An input or a tunable parameter of a run, which is written without a look-up.
pub struct GyratorInput(Input<f64>);

/// The state of a run at a communication point, to which the run can go back.
pub struct GyratorSnapshot(Mutex<Snapshot>);

/// Energies of a power bond until now, J.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GyratorBondEnergy {
    /// Given by end a.
    pub transferred: f64,
    /// Residual energy, which is positive if the coupling makes energy: the sum over communication steps.
    pub residual: f64,
    /// Residual energy, integrated over communication steps: the sum to trust.
    pub residual_integrated: f64,
    /// Put in by the correction.
    pub correction: f64,
}

impl GyratorRun {
    pub(crate) fn new(run: Run) -> Self {
        let text = CString::default();
        Self(Mutex::new(Running { run, text }))
    }
}

fn lock<'a>(run: *mut GyratorRun) -> Result<MutexGuard<'a, Running>, Refusal> {
    let lock = object(run, "the run")?.0.try_lock();
    lock.map_err(|_| Refusal::usage("the run is in use, by another thread or within its own step"))
}

/// Frees a run, and its units with it; the units are terminated if it was stopped or has reached its end. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_free(run: *mut GyratorRun) {
    guard(|| {
        take_back(run);
        Ok(())
    });
}

/// Records all outputs and bonds from the present communication point on, as CSV, or as Parquet if the path ends with `.parquet`. The
/// file is complete when the run has ended.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_record(run: *mut GyratorRun, path: Text<'_>) -> GyratorCode {
    guard(|| {
        let mut running = lock(run)?;
        let recorder = Recorder::file(path.read("the path")?).map_err(Refusal::failed)?;
        Ok(running.run.observe(recorder)?)
    })
}

/// Makes one macro-step. `goes_on` may be NULL, and gets false if it was the last one.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_step(
    run: *mut GyratorRun,
    goes_on: Option<&mut bool>,
) -> GyratorCode {
    guard(|| {
        let more = lock(run)?.run.step()?;
        goes_on.into_iter().for_each(|place| *place = more);
        Ok(())
    })
}

/// Steps until this time is reached, s, or the run ends. `goes_on` may be NULL, and gets false if it has ended.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_until(
    run: *mut GyratorRun,
    time: f64,
    goes_on: Option<&mut bool>,
) -> GyratorCode {
    guard(|| {
        if time.is_nan() {
            return Err(Refusal::usage("the time is NaN"));
        }
        let more = lock(run)?.run.run_until(time)?;
        goes_on.into_iter().for_each(|place| *place = more);
        Ok(())
    })
}

/// Steps until the stop time, or until a unit ends the run.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_to_end(run: *mut GyratorRun) -> GyratorCode {
    guard(|| Ok(lock(run)?.run.run().map(drop)?))
}

/// Ends the run here, and terminates its units.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_stop(run: *mut GyratorRun) -> GyratorCode {
    guard(|| Ok(lock(run)?.run.stop().map(drop)?))
}

/// Simulated time, s.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_time(run: *mut GyratorRun, time: Option<&mut f64>) -> GyratorCode {
    guard(|| {
        *there(time, "the place of the time")? = lock(run)?.run.time();
        Ok(())
    })
}

/// Saves the state at the present communication point; all units must be able to, and units of the caller are not. A run that goes back to it and
/// is given the same inputs has the same results, bit for bit. Free it with `gyrator_snapshot_free`, before or after the run.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_save(
    run: *mut GyratorRun,
    result: Option<&mut *mut GyratorSnapshot>,
) -> GyratorCode {
    guard(|| {
        let snapshot = lock(run)?.run.save()?;
        give(result, GyratorSnapshot(Mutex::new(snapshot)))
    })
}

/// Goes back to a saved state of this run, which stays valid. The recorded rows stay, and those that follow are appended.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_restore(
    run: *mut GyratorRun,
    snapshot: *mut GyratorSnapshot,
) -> GyratorCode {
    guard(|| {
        let snapshot = object(snapshot, "the snapshot")?.0.try_lock();
        let snapshot =
            snapshot.map_err(|_| Refusal::usage("the snapshot is in use by another thread"))?;
        Ok(lock(run)?.run.restore(&snapshot)?)
    })
}

/// Frees the result of `gyrator_run_save`. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_snapshot_free(snapshot: *mut GyratorSnapshot) {
    guard(|| {
        take_back(snapshot);
        Ok(())
    });
}

/// Looks up an output, a local variable or a parameter of type Real. Free it with `gyrator_output_free`; it is of use with this run only.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_output(
    run: *mut GyratorRun,
    name: Text<'_>,
    result: Option<&mut *mut GyratorOutput>,
) -> GyratorCode {
    guard(|| {
        let output = lock(run)?.run.output(name.read("the name")?)?;
        give(result, GyratorOutput(output))
    })
}

/// Frees the result of `gyrator_run_output`. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_output_free(output: *mut GyratorOutput) {
    take_back(output);
}

/// Looks up an input that no connection feeds, or a tunable parameter, of type Real. Free it with `gyrator_input_free`; it is of use with this run only.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_input(
    run: *mut GyratorRun,
    name: Text<'_>,
    result: Option<&mut *mut GyratorInput>,
) -> GyratorCode {
    guard(|| {
        let input = lock(run)?.run.input(name.read("the name")?)?;
        give(result, GyratorInput(input))
    })
}

/// Frees the result of `gyrator_run_input`. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_input_free(input: *mut GyratorInput) {
    take_back(input);
}

/// Reads a variable without a look-up.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_read(
    run: *mut GyratorRun,
    output: Option<&GyratorOutput>,
    value: Option<&mut f64>,
) -> GyratorCode {
    guard(|| {
        let (output, value) = (there(output, "the output")?, there(value, "the value")?);
        *value = lock(run)?.run.read(output.0)?;
        Ok(())
    })
}

/// Writes a variable without a look-up.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_write(
    run: *mut GyratorRun,
    input: Option<&GyratorInput>,
    value: f64,
) -> GyratorCode {
    guard(|| Ok(lock(run)?.run.write(there(input, "the input")?.0, value)?))
}

/// Reads a Real by its name, COMPONENT.VARIABLE.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_read_real(
    run: *mut GyratorRun,
    name: Text<'_>,
    value: Option<&mut f64>,
) -> GyratorCode {
    guard(|| {
        let name = name.read("the name")?;
        *there(value, "the value")? = lock(run)?.run.read_real(name)?;
        Ok(())
    })
}

/// Writes a Real by its name, COMPONENT.VARIABLE.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_write_real(
    run: *mut GyratorRun,
    name: Text<'_>,
    value: f64,
) -> GyratorCode {
    guard(|| Ok(lock(run)?.run.write_real(name.read("the name")?, value)?))
}

/// Energies of a power bond until now.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_bond_energy(
    run: *mut GyratorRun,
    name: Text<'_>,
    energy: Option<&mut GyratorBondEnergy>,
) -> GyratorCode {
    guard(|| {
        let (running, name) = (lock(run)?, name.read("the name")?);
        let mut bonds = running.run.graph().bond_names();
        let index = bonds.position(|bond| bond == name);
        let bond = index.and_then(|index| running.run.ledger().bond(index));
        let bond = bond.ok_or_else(|| Refusal::usage(format!("there is no bond {name}")))?;
        *there(energy, "the energy")? = GyratorBondEnergy {
            transferred: bond.transferred_energy,
            residual: bond.residual_energy,
            residual_integrated: bond.residual_energy_integrated,
            correction: bond.correction_energy,
        };
        Ok(())
    })
}

/// The report until now as JSON, as docs/summary.md describes the summary. The text is valid until the next call of this function or the
/// end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_run_summary(
    run: *mut GyratorRun,
    json: Option<&mut *const c_char>,
) -> GyratorCode {
    guard(|| {
        let mut running = lock(run)?;
        let text = serde_json::to_string(&running.run.report()).map_err(Refusal::failed)?;
        running.text = CString::new(text).map_err(Refusal::failed)?;
        *there(json, "the place of the text")? = running.text.as_ptr();
        Ok(())
    })
}
