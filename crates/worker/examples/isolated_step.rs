//! Times steps of FMUs in processes of their own: `isolated_step FMU INSTANCES STEPS`.
//!
//! The FMU needs the inputs u0 and u1 and the outputs y0 and y1, like the FMU of `cargo xtask bench`.
//! Prints nanoseconds per step of one FMU, in this process and isolated: the median over blocks of
//! steps, which other programs on the machine do not disturb.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    linux::main()?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::path::Path;
    use std::time::Instant;

    use gyrator::{RunOptions, System};
    use gyrator_system::{Component, Port, Spanned, SystemFile};
    use gyrator_worker::isolated::Isolation;

    /// Steps that are timed together, so that the clock takes no time.
    const BLOCK: usize = 100;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        gyrator_worker::hook(|_| 0);
        let mut arguments = std::env::args().skip(1);
        let mut next = || arguments.next().ok_or("isolated_step FMU INSTANCES STEPS");
        let (fmu, instances, steps) = (next()?, next()?.parse()?, next()?.parse()?);
        let fmu = Path::new(&fmu);
        let here = median_step(fmu, instances, steps, false)?;
        let isolated = median_step(fmu, instances, steps, true)?;
        println!("{here:.1} {isolated:.1}");
        Ok(())
    }

    fn median_step(
        fmu: &Path,
        instances: usize,
        steps: usize,
        isolate: bool,
    ) -> Result<f64, Box<dyn Error>> {
        let file = ring(fmu, instances, isolate);
        let system = System::from_file(file)?;
        let mut run = system.start_with(&RunOptions::default(), &mut Isolation::new())?;
        let mut blocks = Vec::with_capacity(steps / BLOCK);
        for _ in 0..steps / BLOCK {
            let begin = Instant::now();
            for _ in 0..BLOCK {
                run.step()?;
            }
            blocks.push(begin.elapsed().as_nanos() as f64 / (BLOCK * instances) as f64);
        }
        blocks.sort_by(f64::total_cmp);
        Ok(blocks[blocks.len() / 2])
    }

    /// Instances that feed each other in a ring.
    fn ring(fmu: &Path, instances: usize, isolate: bool) -> SystemFile {
        let mut file = SystemFile::new("ring.toml");
        file.experiment.step_size = Some(Spanned::unplaced(1e-3));
        let name = |index: usize| format!("fmu{}", index % instances);
        for index in 0..instances {
            let mut component = Component::new(name(index), fmu);
            component.isolate = Some(Spanned::unplaced(isolate));
            file.components.push(component);
            for axis in 0..2 {
                let port = |component: String, variable: &str| Port {
                    component,
                    variable: format!("{variable}{axis}"),
                };
                file.connect(port(name(index), "y"), port(name(index + 1), "u"));
            }
        }
        file
    }
}
