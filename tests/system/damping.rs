//! `correction = "auto"` of a bond: damping if outputs are stale and inputs held, else nothing.

use gyrator::report::Decision;
use gyrator::{LinearUnit, Report, RunOptions, System, Unit, Word};
use gyrator_testkit::{Coupling, ModelUnit, StepOutputs, TABLE_1, Trace};

const H: f64 = 0.005;
const MASS: f64 = 2.0;
/// Stiffness of the spring, N/m: 5 rad/s.
const K: f64 = 50.0;

/// A mass on end b that starts with this velocity, m/s; exact while the input is held.
fn mass(start: f64) -> LinearUnit {
    let matrices: [&[f64]; 4] = [
        &[0.0, 1.0, 0.0, 0.0],
        &[0.0, -1.0 / MASS],
        &[1.0, 0.0, 0.0, 1.0],
        &[0.0, 0.0],
    ];
    LinearUnit::new(&[0.0, start], &["f"], &["x", "v"], matrices)
}

/// A damping, N·s/m, by which a force follows the velocity at once, and takes no energy to speak of.
const NEXT_TO_NONE: f64 = 1e-9;

/// A spring and a damper without states, f = k·x + c·v.
fn strut(k: f64, c: f64) -> LinearUnit {
    LinearUnit::new(
        &[0.0],
        &["x", "v"],
        &["f"],
        [&[0.0], &[0.0, 0.0], &[0.0], &[k, c]],
    )
}

/// A force on a mass, exchanged as the units leave it.
fn coupled(force: impl Unit + 'static, mass: LinearUnit, correction: &Word) -> System {
    let mut system = System::new(H);
    system.stop_time(50.0).method("jacobi").exchange("stale");
    system.add("force", force).extrapolation("hold");
    system.add("mass", mass).extrapolation("hold");
    system.connect("mass.x", "force.x");
    let bond = system.bond("bond", ("force.f", "mass.f"), ("mass.v", "force.v"));
    bond.sense(-1.0).correction(correction.clone());
    system
}

/// The report, and positions and velocities of the mass at each point.
fn course(system: &System) -> (Report, Vec<(f64, f64)>) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    let velocities = trace.column("mass.v");
    let course = trace.column("mass.x").into_iter().zip(velocities);
    (report, course.collect())
}

/// The report, and the greatest error of a function of position and velocity against a function of the time.
fn error(
    system: &System,
    found: impl Fn(f64, f64) -> f64,
    exact: impl Fn(f64) -> f64,
) -> (Report, f64) {
    let (report, course) = course(system);
    let errors = course.iter().enumerate();
    let errors = errors.map(|(step, (x, v))| (found(*x, *v) - exact(step as f64 * H)).abs());
    (report, errors.fold(0.0, f64::max))
}

fn of_bond(report: &Report) -> Vec<&Decision> {
    let decisions = report.decisions.iter();
    decisions
        .filter(|found| found.r#where == "bond" || found.r#where == "coupling")
        .collect()
}

fn what(report: &Report) -> Vec<&str> {
    let decisions = of_bond(report).into_iter();
    decisions.map(|decision| &*decision.what).collect()
}

/// v = v₀·exp(−c·t/m). The residual energy of a late damper says nothing of its error, and nothing is made worse.
#[test]
fn a_late_damper_brakes_as_before() {
    let (c, start) = (4.0, 3.0);
    let exact = |time: f64| 0.5 * MASS * start * start * (-2.0 * c / MASS * time).exp();
    let of = |word: &str| {
        let system = coupled(strut(0.0, c), mass(start), &Word::new(word));
        error(&system, |_, v| 0.5 * MASS * v * v, exact).1
    };
    let (with, without) = (of("auto"), of("off"));
    assert!(with <= without, "{with} J, {without} J");
    assert!(without > 1e-3, "{without} J");
}

/// m·v²/2 + k·x²/2 is constant.
#[test]
fn a_late_spring_makes_less_energy() {
    let start = 3.0;
    let of = |word: &str| {
        let system = coupled(strut(K, NEXT_TO_NONE), mass(start), &Word::new(word));
        let energy = |x: f64, v: f64| 0.5 * (MASS * v * v + K * x * x);
        error(&system, energy, |_| 0.5 * MASS * start * start)
    };
    let ((report, with), (_, without)) = (of("auto"), of("off"));
    assert!(with < 0.6 * without, "{with} J, {without} J");
    assert_eq!(what(&report), ["damping"]);
    let parameters = &report.bonds[0].correction_parameters;
    assert!(parameters["damping"] > 0.0, "{parameters:?}");
}

/// Outputs in steps only, which may be late or not: the coupling variables do not show it.
#[test]
fn outputs_that_are_not_known_to_be_late_are_left_alone() {
    let of = |word: &str| {
        let hidden = StepOutputs::new(strut(K, 0.0)).without_saved_states();
        course(&coupled(hidden, mass(3.0), &Word::new(word)))
    };
    let ((report, with), (_, without)) = (of("auto"), of("off"));
    assert_eq!(with, without);
    assert_eq!(what(&report), ["no correction"]);
}

#[test]
fn its_steps_allocate_nothing() {
    let system = coupled(strut(K, NEXT_TO_NONE), mass(3.0), &Word::new("auto"));
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.run_until(0.1).unwrap();
    let counted = allocation_counter::measure(|| {
        for _ in 0..9000 {
            run.step().unwrap();
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert_eq!(what(&run.report()), ["damping"]);
}

/// The bits of a run of the double oscillator, and its report.
fn oscillators(exchange: &str, word: &str) -> (Vec<u64>, Report) {
    let coupling = Coupling {
        exchange,
        force_step: 1e-3,
        stop_time: 4.0,
        ..Coupling::default()
    };
    let force = ModelUnit::new().values_only();
    let motion = ModelUnit::new().values_only();
    let mut system = TABLE_1[0].system_of(&coupling, force, motion);
    system.correction(Word::new(word));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace.bits(), report)
}

#[test]
fn where_nothing_is_stale_nothing_is_added() {
    for exchange in ["auto", "fresh", "compensated"] {
        let (bits, report) = oscillators(exchange, "auto");
        assert_eq!(bits, oscillators(exchange, "off").0, "{exchange}");
        assert_eq!(what(&report), ["no correction"], "{exchange}");
        assert_eq!(report.counters.corrected_steps, 0);
        assert_eq!(report.bonds[0].correction_verdict, None);
    }
    assert_ne!(
        oscillators("stale", "auto").0,
        oscillators("stale", "off").0
    );
}
