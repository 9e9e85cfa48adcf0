//! Reads a system from a file (in any format), runs it at two macro-steps, and prints its verdicts:
//! `cargo run --example run_system -- system.toml`.

use gyrator::system::FmuCache;
use gyrator::{RunOptions, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("give the path of a system")?;
    let system = System::from_path(path)?;
    let mut run = system.start(&RunOptions::default())?;
    let report = run.run()?;
    println!("{} steps: {}", report.steps, report.verdict);

    // The description can also be changed; FMUs of a cache are unpacked once.
    let mut finer = system.description().clone();
    if let Some(step_size) = &mut finer.experiment.step_size {
        step_size.value /= 2.0;
    }
    let report = FmuCache::default()
        .system(finer)?
        .start(&RunOptions::default())?
        .run()?;
    println!("{} steps: {}", report.steps, report.verdict);
    Ok(())
}
