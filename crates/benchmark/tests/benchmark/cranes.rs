//! The single crane of Rahikainen et al. (2020) in process, in velocity-force coupling.
//!
//! Circuits of variant B (throttle 2.5 mm), forward Euler at 0.1 ms.

use fmu_models::{CraneMechanics, HydraulicCircuit};
use gyrator::{RunOptions, System};
use gyrator_testkit::{ModelUnit, Trace};

fn crane(step: f64, formulation: &str, restart: bool) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system
        .add("mechanics", ModelUnit::<CraneMechanics>::new())
        .start("formulation", formulation)
        .start("restart", restart);
    let unit = ModelUnit::<HydraulicCircuit>::new().with_input_derivatives(2);
    system
        .add("circuit", unit)
        .start("spool_program", "first")
        .start("step_size", 1e-4)
        .extrapolation("quadratic")
        .exchange("stale");
    system.connect("mechanics.s1", "circuit.s");
    let (effort, flow) = (("circuit.f", "mechanics.f1"), ("mechanics.v1", "circuit.v"));
    system.bond("actuator", effort, flow);
    system
}

/// Lengths of the actuator in one piece, s and m, by `reference/cranes.py`.
const EXACT: [(f64, f64); 8] = [
    (2.5, 0.549847),
    (5.0, 0.641186),
    (7.5, 0.734738),
    (10.0, 0.745328),
    (15.0, 0.566741),
    (20.0, 0.453901),
    (25.0, 0.496276),
    (30.0, 0.538184),
];

/// By macro-steps of 50 ms the crane keeps to its course, while quadratic extrapolation fails at 4 ms.
#[test]
fn an_interface_model_steps_ten_times_further() {
    let mut failing = crane(4e-3, "index-1", false);
    failing.stop_time(30.0);
    let mut failing = failing.start(&RunOptions::default()).unwrap();
    let finished = failing.run().is_ok();
    assert!(!finished || failing.read_real("mechanics.v1").unwrap().abs() > 5.0);

    let mut system = crane(50e-3, "index-1", false);
    system.component("circuit").unwrap().exchange("fresh");
    system
        .interface_model("actuators", "mechanics", 1e-3)
        .bonds(&["actuator"])
        .positions(&["s1"])
        .mass(&["inverse_mass_11"], &["free_acceleration_1"])
        .order("fast-first");
    system.stop_time(30.0);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    let lengths = trace.column("mechanics.s1");
    for (time, exact) in EXACT {
        let length = lengths[(20.0 * time).round() as usize];
        assert!((length - exact).abs() < 2e-3, "{length} m at {time} s");
    }
}
