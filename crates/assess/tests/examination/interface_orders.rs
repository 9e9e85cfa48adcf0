//! A mass on a spring with an interface model, whose best order is known.

use gyrator::{ClosureUnit, LinearUnit, Run, RunOptions, StartError, System, Unit};
use gyrator_assess::doctor::{Diagnosis, Finding, StartRuns, examine};
use gyrator_system::SystemFile;

use crate::{options, take_words};

/// Mass, kg, stiffness, N/m, and damping, N·s/m: ω = 10 1/s, and a decay of c/2m = 0.1 1/s.
const MASS: f64 = 1.0;
const STIFFNESS: f64 = 100.0;
const DAMPING: f64 = 0.2;

/// A mass that moves exactly under a held force.
fn mass() -> impl Unit + 'static {
    let outputs = [("s", 0.0), ("v", 1.0), ("w", 1.0 / MASS), ("b", 0.0)];
    let mass = ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
        let (h, a) = (call.step, call.inputs[0] / MASS);
        call.outputs[0] += h * call.outputs[1] + 0.5 * h * h * a;
        call.outputs[1] += h * a;
    });
    mass.memoryless()
}

fn described(step: f64, exchange_step: f64, order: &str) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system.add("mass", mass());
    // ṗ = −k·v, f = p − c·v.
    let matrices: [&[f64]; 4] = [&[0.0], &[-STIFFNESS], &[1.0], &[-DAMPING]];
    system.add("spring", LinearUnit::new(&[0.0], &["v"], &["f"], matrices));
    system.bond("end", ("spring.f", "mass.f"), ("mass.v", "spring.v"));
    system
        .interface_model("model", "mass", exchange_step)
        .bonds(&["end"])
        .positions(&["s"])
        .mass(&["w"], &["b"])
        .order(order);
    system.stop_time(10.0);
    system
}

struct OnSpring;

impl StartRuns for OnSpring {
    fn start(&mut self, file: SystemFile) -> Result<Run, StartError> {
        let model = &file.interface_models[0];
        let order = model.order.as_ref().unwrap();
        let step = file.experiment.step_size.as_ref().unwrap().value;
        let mut system = described(step, model.exchange_step.value, &order.value);
        take_words(&mut system, &file);
        system.start(&RunOptions::default())
    }
}

fn diagnose(order: &str) -> Diagnosis {
    let system = described(0.05, 0.005, order);
    examine(&mut OnSpring, system.description(), &options(5000.0)).unwrap()
}

/// A force that is held over H is H/2 late, which excites the mass by ω²·H/4 = 1.25 1/s, more than the spring damps; a mean force has
/// the right impulse.
#[test]
fn the_order_that_passes_on_the_impulse_is_proposed() {
    let diagnosis = diagnose("parallel");
    assert_eq!(diagnosis.stability.finding, Finding::Unstable);
    let order = diagnosis.proposal.coupling.interface_order.as_deref();
    assert!(
        matches!(order, Some("fast-first" | "pipelined")),
        "{diagnosis:#?}"
    );
    assert_eq!(diagnosis.proposal.factor, 1.0);
    let diagnosis = diagnose("fast-first");
    assert_eq!(diagnosis.stability.finding, Finding::Stable);
    let order = diagnosis.proposal.coupling.interface_order.as_deref();
    assert_ne!(order, Some("parallel"));
    let tried = diagnosis.candidates.iter();
    let tried: Vec<&str> = tried
        .filter_map(|one| one.coupling.interface_order.as_deref())
        .collect();
    assert!(tried.contains(&"parallel") && tried.contains(&"pipelined"));
}
