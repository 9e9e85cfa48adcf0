//! A step of isolated components allocates nothing in the run, once it is warmed up.

use gyrator::Run;

use crate::bench::{isolated, start, system};

fn allocations(run: &mut Run, steps: usize) -> u64 {
    let counted = allocation_counter::measure(|| {
        for _ in 0..steps {
            run.step().unwrap();
        }
    });
    counted.count_total
}

const SYSTEM: &str = r#"
[experiment]
step_size = 1e-3
EXPERIMENT

[components.force]
fmu = "<OscillatorForce>"
start_values = { m = 1.0, k = 10.0, k_c = 100.0, v_start = 100.0 }

[components.motion]
fmu = "<OscillatorMotion>"
start_values = { m = 1.0, k = 1000.0, v_start = -100.0 }

[[connections]]
from = "motion.x"
to = "force.x2"

[[bonds]]
name = "coupling"
effort = [{ from = "force.f", to = "motion.f" }]
flow = [{ from = "motion.v", to = "force.v2" }]
correction = { name = "residual-power", mu = 0.5 }
"#;

#[test]
fn isolation_allocates_nothing_in_a_step() {
    let control = "step_control = { name = \"ecco\", tolerance = 1e-4, energy_scale = 5000.0, first_step = 5e-3, reject_above = 1.0 }";
    for experiment in ["", "extrapolation = \"quadratic\"", control] {
        let file = system(&SYSTEM.replace("EXPERIMENT", experiment));
        let counted = |file| {
            let mut run = start(file, 1);
            allocations(&mut run, 50);
            allocations(&mut run, 500)
        };
        let together = counted(file.clone());
        assert!(together == 0 || experiment == control, "{together}");
        // Steps that may be repeated copy the energy accounts, with and without isolation.
        assert!(counted(isolated(file)) <= together, "{experiment}");
    }
}
