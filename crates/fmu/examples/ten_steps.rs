//! Does ten steps with each FMU that is named on the command line and prints its real outputs.
//! `--preload=NAME` names a library to load before the FMUs that follow.

use std::error::Error;
use std::path::Path;

use gyrator_fmu::{Causality, Fmu, InstanceOptions, OpenOptions, StepOutcome, TypeAttributes};

fn main() {
    let mut options = OpenOptions::default();
    for argument in std::env::args().skip(1) {
        if let Some(name) = argument.strip_prefix("--preload=") {
            options.preload.push(name.to_owned());
            continue;
        }
        match ten_steps(Path::new(&argument), &options) {
            Ok(summary) => println!("{argument}: {summary}"),
            Err(error) => println!("{argument}: FAILED: {error}"),
        }
    }
}

fn ten_steps(path: &Path, options: &OpenOptions) -> Result<String, Box<dyn Error>> {
    let fmu = Fmu::open_with(path, options)?;
    let description = fmu.description();
    let experiment = description.default_experiment;
    let start = experiment.start_time.unwrap_or(0.0);
    let span = experiment.stop_time.map_or(1.0, |stop| stop - start);
    let step = experiment.step_size.unwrap_or(span / 500.0);
    let outputs: Vec<u32> = description
        .variables
        .iter()
        .filter(|v| v.causality == Causality::Output && matches!(v.kind, TypeAttributes::Real(_)))
        .map(|v| v.value_reference)
        .collect();
    let mut instance = fmu.instantiate("instance", &InstanceOptions::default())?;
    instance.setup_experiment(None, start, None)?;
    instance.enter_initialization_mode()?;
    instance.exit_initialization_mode()?;
    for index in 0..10 {
        let outcome = instance.do_step(start + f64::from(index) * step, step, true)?;
        if let StepOutcome::Discarded {
            last_successful_time,
            terminated,
        } = outcome
        {
            return Err(format!("discarded: {last_successful_time:?}, {terminated}").into());
        }
    }
    let mut values = vec![0.0; outputs.len()];
    instance.get_real(&outputs, &mut values)?;
    instance.terminate()?;
    let warnings = fmu.warnings().len() + instance.load_warnings().len();
    Ok(format!("{warnings} warnings, outputs {values:?}"))
}
