//! `correction = "auto"` of a bond: nothing where no output is stale, the energy audit where D is known, and a damper on
//! trial where it is not.

use gyrator::report::Decision;
use gyrator::{LinearUnit, Report, RunOptions, System, Unit, Word};
use gyrator_testkit::{Coupling, ModelUnit, StepOutputs, TABLE_1, Trace};

const H: f64 = 0.005;
const MASS: f64 = 2.0;
/// Stiffness of the springs, N/m: 5 rad/s.
const K: f64 = 50.0;
const OMEGA: f64 = 5.0;

/// A mass on end b that starts with this velocity, m/s, and is pushed by a force of this amplitude, N, in resonance with
/// the spring; exact while the input is held.
fn mass(start: f64, amplitude: f64) -> LinearUnit {
    LinearUnit::new(
        &[0.0, start, 1.0, 0.0],
        &["f"],
        &["x", "v"],
        [
            &[
                0.0,
                1.0,
                0.0,
                0.0, //
                0.0,
                0.0,
                amplitude / MASS,
                0.0, //
                0.0,
                0.0,
                0.0,
                -OMEGA, //
                0.0,
                0.0,
                OMEGA,
                0.0,
            ],
            &[0.0, -1.0 / MASS, 0.0, 0.0],
            &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            &[0.0, 0.0],
        ],
    )
}

/// The unit with outputs that it computes in steps: it declares direct feed-through, and no probe shows it.
fn hidden(unit: LinearUnit) -> StepOutputs<LinearUnit> {
    StepOutputs::new(unit).without_saved_states()
}

/// A spring and a damper without states, f = k·x + c·v.
fn strut(k: f64, c: f64) -> StepOutputs<LinearUnit> {
    let matrices: [&[f64]; 4] = [&[0.0], &[0.0, 0.0], &[0.0], &[k, c]];
    hidden(LinearUnit::new(&[0.0], &["x", "v"], &["f"], matrices))
}

/// A spring that adds up the velocity and looks ahead, f = K·(∫v + lead·v).
fn spring(lead: f64) -> StepOutputs<LinearUnit> {
    let matrices: [&[f64]; 4] = [&[0.0], &[0.0, 1.0], &[K], &[0.0, K * lead]];
    hidden(LinearUnit::new(&[0.0], &["x", "v"], &["f"], matrices))
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

/// The report, and the greatest error of a function of position and velocity against that of the time.
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
        let system = coupled(strut(0.0, c), mass(start, 0.0), &Word::new(word));
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
        let system = coupled(strut(K, 0.0), mass(start, 0.0), &Word::new(word));
        let energy = |x: f64, v: f64| 0.5 * (MASS * v * v + K * x * x);
        error(&system, energy, |_| 0.5 * MASS * start * start)
    };
    let ((report, with), (_, without)) = (of("auto"), of("off"));
    assert!(with < 0.2 * without, "{with} J, {without} J");
    let [first, tried, kept] = of_bond(&report)[..] else {
        panic!("{:#?}", report.decisions);
    };
    assert_eq!((&*first.what, first.from), ("no correction at first", 0.0));
    assert_eq!(tried.what, "damping, on trial");
    assert_eq!(kept.what, "damping");
    // Two windows of three periods before the trial, and three until it is judged.
    let window = 3.0 * 2.0 * std::f64::consts::PI / OMEGA;
    assert!((tried.from / window - 2.0).abs() < 0.2, "{tried:?}");
    assert!((kept.from / window - 5.0).abs() < 0.2, "{kept:?}");
    let parameters = &report.bonds[0].correction_parameters;
    assert!(parameters["damping"] > 0.0, "{parameters:?}");
}

/// A spring that is half a step ahead takes energy out, as does a damper. Pushed in resonance the mass swings further and further all the
/// same, x = F/(2·m·ω)·t·sin(ω·t), so that the damper is tried: it makes the effort worse, whose prediction is good.
#[test]
fn a_damper_that_harms_is_dropped_and_stays_so() {
    let force = 1.0;
    let exact = |time: f64| force / (2.0 * MASS * OMEGA) * time * (OMEGA * time).sin();
    let of = |word: Word| {
        let mut system = coupled(spring(H), mass(0.0, force), &word);
        system.stop_time(150.0);
        let _ = system.component("mass").unwrap().extrapolation("auto");
        error(&system, |x, _| x, exact)
    };
    let (_, without) = of(Word::new("off"));
    let (_, damped) = of(Word::new("residual-power").with("mu", 0.2));
    assert!(damped > 1.1 * without, "{damped} m, {without} m");
    let (report, with) = of(Word::new("auto"));
    assert!(with <= 1.05 * without, "{with} m, {without} m");
    let decisions = of_bond(&report);
    let trials = decisions[1..].chunks(2);
    let times = trials.map(|trial| {
        assert_eq!(trial[0].what, "damping, on trial");
        let dropped = trial.get(1)?;
        assert_eq!(dropped.what, "no correction");
        assert!(
            dropped.why.contains("was greater with damping"),
            "{dropped:?}"
        );
        Some([trial[0].from, dropped.from])
    });
    let times: Vec<[f64; 2]> = times.flatten().collect();
    // Waits of 8, 16, … windows of three periods.
    let window = 3.0 * 2.0 * std::f64::consts::PI / OMEGA;
    let waits: Vec<f64> = times
        .windows(2)
        .map(|pair| pair[1][0] - pair[0][1])
        .collect();
    assert_eq!(waits.len(), 2, "{times:?}");
    for (wait, windows) in waits.iter().zip([8.0, 16.0]) {
        assert!((wait / window - windows).abs() < 0.3, "{waits:?}");
    }
}

/// A limit, as docs/choosing.md says. One step ahead, the spring makes good that both ends hold their inputs; the drive alone makes the
/// swing grow, and that looks like a coupling that feeds on itself.
#[test]
fn the_growth_that_a_drive_makes_is_taken_for_that_of_the_coupling() {
    let force = 1.0;
    let exact = |time: f64| force / (2.0 * MASS * OMEGA) * time * (OMEGA * time).sin();
    let of = |word: &str| {
        let system = coupled(spring(H), mass(0.0, force), &Word::new(word));
        error(&system, |x, _| x, exact)
    };
    let ((report, with), (_, without)) = (of("auto"), of("off"));
    assert_eq!(what(&report).last(), Some(&"damping"));
    assert!(
        (8.5..9.5).contains(&(with / without)),
        "{with} m, {without} m"
    );
}

#[test]
fn its_steps_allocate_nothing() {
    let system = coupled(strut(K, 0.0), mass(3.0, 0.0), &Word::new("auto"));
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.run_until(0.1).unwrap();
    let counted = allocation_counter::measure(|| {
        for _ in 0..9000 {
            run.step().unwrap();
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert_eq!(what(&run.report()).len(), 3);
}

/// The bits of a run of the double oscillator, and its report.
fn oscillators(exchange: &str, step: f64, word: &str, mu: Option<&str>) -> (Vec<u64>, Report) {
    let coupling = Coupling {
        exchange,
        force_step: step,
        stop_time: 4.0,
        ..Coupling::default()
    };
    let force = ModelUnit::new().values_only();
    let motion = ModelUnit::new().values_only();
    let mut system = TABLE_1[0].system_of(&coupling, force, motion);
    let word = Word::new(word);
    system.correction(mu.into_iter().fold(word, |word, mu| word.with("mu", mu)));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace.bits(), report)
}

#[test]
fn where_d_is_known_it_is_residual_power_by_the_audit() {
    for step in [1e-3, 1e-4, 2e-3] {
        let (bits, report) = oscillators("stale", step, "auto", None);
        let (audited, _) = oscillators("stale", step, "residual-power", Some("audit"));
        assert_eq!(bits, audited, "{step}");
        assert_ne!(bits, oscillators("stale", step, "off", None).0, "{step}");
        assert_eq!(
            what(&report)[0],
            "correction residual-power by the energy audit"
        );
    }
}

#[test]
fn where_nothing_is_stale_nothing_is_added() {
    for exchange in ["auto", "fresh", "compensated"] {
        let (bits, report) = oscillators(exchange, 1e-3, "auto", None);
        assert_eq!(
            bits,
            oscillators(exchange, 1e-3, "off", None).0,
            "{exchange}"
        );
        assert_eq!(what(&report), ["no correction"], "{exchange}");
        assert_eq!(report.counters.corrected_steps, 0);
        assert_eq!(report.bonds[0].correction_verdict, None);
    }
}
