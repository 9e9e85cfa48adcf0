//! How far the macro-step goes with interface models: one mass on an oil column, whose motion and
//! whose limits of stability are known.

use gyrator::interface_model::PassedForce;
use gyrator::{
    ClosureUnit, LinearUnit, Report, Run, RunOptions, StartError, System, Unit, Value, Word,
};
use gyrator_testkit::Trace;

/// Mass, kg, and damping, N·s/m, of the size of the first actuator's in Rahikainen 2020.
const MASS: f64 = 1700.0;
const DAMPING: f64 = 1e5;
const START: f64 = 0.01;
/// Piston areas, m².
const AREAS: [f64; 2] = [5e-3, 4e-3];

/// v̇ = f/m by the semi-implicit Euler method, one step a macro-step.
fn mass() -> impl Unit + 'static {
    let outputs = [("s", 0.0), ("v", START), ("w", 1.0 / MASS), ("b", 0.0)];
    ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
        call.outputs[1] += call.step * call.inputs[0] / MASS;
        call.outputs[0] += call.step * call.outputs[1];
    })
}

/// ṗ = −k·v, f = p − c·v.
fn column(k: f64) -> LinearUnit {
    let matrices: [&[f64]; 4] = [&[0.0], &[-k], &[1.0], &[-DAMPING]];
    LinearUnit::new(&[0.0], &["v"], &["f"], matrices)
}

/// Mass and oil column, force and velocity passed; the force stale, as in the paper.
fn by_force(step: f64, k: f64) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system.add("mass", mass());
    system.add("oil", column(k)).exchange("stale");
    system.bond("rod", ("oil.f", "mass.f"), ("mass.v", "oil.v"));
    system
}

fn with_model(mut system: System, d: f64, options: &[(&str, Value)]) -> System {
    let mut model = system.interface_model("model", "mass", d);
    model = model.bonds(&["rod"]).mass(&["w"], &["b"]);
    for (name, value) in options {
        model = model.option(name, value.clone());
    }
    system
}

fn word(word: &str) -> Value {
    Value::String(word.to_owned())
}

fn start(system: System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

/// Whether the motion is larger after `steps` macro-steps than it was at the start.
fn grows(system: System, steps: u32) -> bool {
    let mut run = start(system);
    let mut last = 0.0_f64;
    for step in 0..steps {
        run.step().unwrap();
        let v = run.read_real("mass.v").unwrap().abs();
        if v > 1e3 {
            return true;
        }
        last = if step >= steps - 20 { last.max(v) } else { 0.0 };
    }
    last > START
}

// Closed form of z·(z − 1)² + a·z + b·(z − 1) = 0 with a = k·H²/m, b = c·H/m: the roots lie within
// the unit circle for H < c/(k + c²/m).
#[test]
fn held_values_are_stable_up_to_their_closed_form_limit() {
    for k in [3e7, 5e7, 7.5e7] {
        let limit = DAMPING / (k + DAMPING * DAMPING / MASS);
        assert!(!grows(by_force(0.99 * limit, k), 4000), "below {limit} s");
        assert!(grows(by_force(1.01 * limit, k), 4000), "above {limit} s");
    }
}

// With exchanges every 0.1 ms the spectral radius of a macro-step, a linear map of (v, p, f),
// exceeds 1 from 5.9, 3.7 and 2.6 ms on: stable 0.2 ms below, and unstable 0.1 ms above.
#[test]
fn the_interface_model_with_held_force_is_stable_up_to_its_known_limit() {
    for (k, limit) in [(3e7, 57), (5e7, 35), (7.5e7, 24)] {
        let system = |tenths: u32| {
            let step = f64::from(tenths) * 1e-4;
            with_model(by_force(step, k), 1e-4, &[])
        };
        assert!(!grows(system(limit), 3000), "k = {k}");
        assert!(grows(system(limit + 3), 3000), "k = {k}");
    }
}

/// v(t) of m·v̈ + c·v̇ + k·v = 0 with v(0) = START and v̇(0) = −c·START/m.
fn velocity(k: f64, t: f64) -> f64 {
    let decay = DAMPING / (2.0 * MASS);
    let omega = (k / MASS - decay * decay).sqrt();
    START * (-decay * t).exp() * ((omega * t).cos() - decay / omega * (omega * t).sin())
}

// At k·H²/m = 110 an explicit step alone is hopeless. The error comes from the exchanges: first order
// in d = 0.1 ms, for any macro-step.
#[test]
fn equal_impulses_make_the_motion_independent_of_the_macro_step() {
    let k = 7.5e7;
    for step in [1e-3, 10e-3, 50e-3] {
        let mean = [("force", word("mean"))];
        let mut run = start(with_model(by_force(step, k), 1e-4, &mean));
        while run.time() < 0.2 {
            run.step().unwrap();
            let (found, exact) = (run.read_real("mass.v").unwrap(), velocity(k, run.time()));
            assert!(
                (found - exact).abs() < 0.03 * START,
                "H = {step} s, t = {} s: {found} instead of {exact}",
                run.time()
            );
        }
    }
}

/// The same mass, which gets pressures and has the friction itself: exact for held pressures.
fn mass_with_piston() -> impl Unit + 'static {
    let outputs = [("s", 0.0), ("v", START), ("w", 1.0 / MASS), ("b", 0.0)];
    ClosureUnit::new(&[("p1", 0.0), ("p2", 0.0)], &outputs, |call| {
        let v = call.outputs[1];
        let end = (AREAS[0] * call.inputs[0] - AREAS[1] * call.inputs[1]) / DAMPING;
        let time = MASS / DAMPING;
        let share = 1.0 - (-call.step / time).exp();
        call.outputs[0] += end * call.step + (v - end) * time * share;
        call.outputs[1] += (end - v) * share;
    })
}

/// Two chambers that share the stiffness: ṗ1 = −k1·v, ṗ2 = k2·v. It also gives the whole force,
/// the stiffness and the force's rate.
fn chambers(k: f64) -> LinearUnit {
    let rates = [-0.6 * k / AREAS[0], 0.4 * k / AREAS[1]];
    #[rustfmt::skip]
    let matrices: [&[f64]; 4] = [
        &[0.0; 9],
        &[rates[0], rates[1], 0.0],
        &[
            1.0, 0.0, 0.0,
            0.0, 1.0, 0.0,
            AREAS[0], -AREAS[1], 0.0,
            0.0, 0.0, 1.0,
            0.0, 0.0, 0.0,
        ],
        &[0.0, 0.0, -DAMPING, 0.0, -k],
    ];
    let outputs = ["p1", "p2", "f", "stiffness", "rate"];
    LinearUnit::new(&[0.0, 0.0, k], &["v"], &outputs, matrices)
}

/// Mass and chambers, pressures and velocity passed, by bonds with the areas as gains.
fn by_pressure(step: f64, k: f64, options: &[(&str, Value)]) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system.add("mass", mass_with_piston());
    system.add("oil", chambers(k));
    for (chamber, area) in [("1", AREAS[0]), ("2", -AREAS[1])] {
        let (from, to) = (format!("oil.p{chamber}"), format!("mass.p{chamber}"));
        let effort = (from.as_str(), to.as_str());
        let bond = system.bond(&format!("chamber {chamber}"), effort, ("mass.v", "oil.v"));
        bond.gain(area);
    }
    let mut model = system
        .interface_model("model", "mass", 1e-4)
        .bonds(&["chamber 1", "chamber 2"])
        .mass(&["w"], &["b"])
        .forces(&["oil.f"])
        .force_model(&["oil.stiffness"], &["oil.rate"])
        .positions(&["s"]);
    for (name, value) in options {
        model = model.option(name, value.clone());
    }
    system
}

#[test]
fn pressures_act_on_one_velocity_through_their_areas() {
    let k = 7.5e7;
    let greatest_error = |step: f64| {
        let mean = [("force", word("mean"))];
        let mut run = start(by_pressure(step, k, &mean));
        let mut greatest = 0.0_f64;
        while run.time() < 0.0999 {
            run.step().unwrap();
            let found = run.read_real("mass.v").unwrap();
            greatest = greatest.max((found - velocity(k, run.time())).abs());
        }
        let report = run.report();
        assert!(report.bonds.iter().all(|bond| bond.is_power));
        greatest / START
    };
    // The mass feels its friction at its own pace, the exchanges are of first order in d.
    for step in [1e-3, 2e-3, 4e-3] {
        let error = greatest_error(step);
        assert!(error < 0.02, "H = {step} s: {error}");
    }
    let far = by_pressure(50e-3, k, &[("force", word("mean"))]);
    assert!(!grows(far, 200));
}

// Held pressures are unstable far below; here both linear models are exact, so that only the steps
// limit the prediction.
#[test]
fn predicted_forces_are_stable_where_held_ones_are_not() {
    let k = 7.5e7;
    let system = |force: &str| by_pressure(8e-3, k, &[("force", word(force))]);
    assert!(grows(system("hold"), 500));
    assert!(!grows(system("predicted"), 500));
    let mut run = start(by_pressure(4e-3, k, &[("force", word("predicted"))]));
    for _ in 0..25 {
        run.step().unwrap();
        let (found, exact) = (run.read_real("mass.v").unwrap(), velocity(k, run.time()));
        assert!(
            (found - exact).abs() < 0.15 * START,
            "{found} instead of {exact}"
        );
    }
}

/// ṡ = v, v̇ = f/m + g, exact for a held f: W and b may be read or derived.
fn falling_mass() -> LinearUnit {
    #[rustfmt::skip]
    let matrices: [&[f64]; 4] = [
        &[
            0.0, 1.0, 0.0, 0.0,
            0.0, 0.0, 1.0, 0.0,
            0.0, 0.0, 0.0, 0.0,
            0.0, 0.0, 0.0, 0.0,
        ],
        &[0.0, 1.0 / MASS, 0.0, 0.0],
        &[
            1.0, 0.0, 0.0, 0.0,
            0.0, 1.0, 0.0, 0.0,
            0.0, 0.0, 1.0, 0.0,
            0.0, 0.0, 1.0, 0.0,
            0.0, 0.0, 0.0, 1.0,
        ],
        &[0.0, 0.0, 1.0 / MASS, 0.0, 0.0],
    ];
    let start = [0.0, START, -9.81, 1.0 / MASS];
    LinearUnit::new(&start, &["f"], &["s", "v", "a", "b", "w"], matrices)
}

#[test]
fn mass_and_free_acceleration_follow_from_the_acceleration() {
    let motion = |exchange: &str, derived: bool| {
        let mut system = System::new(10e-3);
        system.add("mass", falling_mass()).exchange(exchange);
        system.add("oil", column(3e7));
        system.bond("rod", ("oil.f", "mass.f"), ("mass.v", "oil.v"));
        let model = system
            .interface_model("model", "mass", 2e-4)
            .bonds(&["rod"]);
        let model = model.option("force", word("mean"));
        if derived {
            model.accelerations(&["a"]);
        } else {
            model.mass(&["w"], &["b"]);
        }
        let mut run = start(system);
        (0..50)
            .map(|_| {
                run.step().unwrap();
                run.read_real("mass.v").unwrap()
            })
            .collect::<Vec<f64>>()
    };
    for exchange in ["stale", "fresh", "compensated"] {
        for (read, derived) in motion(exchange, false).iter().zip(motion(exchange, true)) {
            assert!(
                (read - derived).abs() < 1e-10,
                "{exchange}: {read}, {derived}"
            );
        }
    }
}

// The fast side is given v = d·Σb over the step: H·b of the step before last with a lag of two.
#[test]
fn masses_and_free_accelerations_are_used_as_late_as_asked_for() {
    let mut system = System::new(0.5);
    let outputs = [("v", 0.0), ("w", 0.0), ("b", 1.0)];
    let mass = ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
        if call.step > 0.0 {
            call.outputs[2] += 1.0;
        }
    });
    system.add("mass", mass);
    let outputs = [("f", 0.0), ("given", 0.0)];
    let oil = ClosureUnit::new(&[("v", 0.0)], &outputs, |call| {
        call.outputs[1] = call.inputs[0];
    });
    system.add("oil", oil);
    system.bond("rod", ("oil.f", "mass.f"), ("mass.v", "oil.v"));
    let model = system
        .interface_model("model", "mass", 0.125)
        .bonds(&["rod"]);
    model.mass(&["w"], &["b"]).option("lag", 2);
    let mut run = start(system);
    for b in [1.0, 1.0, 1.0, 2.0, 3.0] {
        run.step().unwrap();
        assert_eq!(run.read_real("oil.given").unwrap(), 0.5 * b);
    }
}

/// Trace and report of a run with interface model, ended at 0.1 s.
fn outcome(threads: usize, change: impl FnOnce(&mut System)) -> (Vec<u64>, Report) {
    let mut system = by_pressure(5e-3, 3e7, &[("force", word("mean"))]);
    system.stop_time(0.1);
    change(&mut system);
    let options = RunOptions {
        threads,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    let mut run = system.start(&options).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace.bits(), report)
}

#[test]
fn threads_change_nothing_and_the_report_names_the_model() {
    let (bits, report) = outcome(0, |_| {});
    for threads in [1, 3] {
        let other = outcome(threads, |_| {});
        assert_eq!((&bits, &report), (&other.0, &other.1));
    }
    let model = &report.interface_models[0];
    assert_eq!((&*model.name, &*model.component), ("model", "mass"));
    assert_eq!(model.fast_components, ["oil"]);
    assert_eq!(
        (model.schedule.order, model.schedule.force),
        ("fast-first", PassedForce::Mean)
    );
    assert!((model.exchange_step - 1e-4).abs() < 1e-18);
}

#[test]
fn steps_of_variable_size_keep_the_number_of_exchanges() {
    let ecco = |system: &mut System| {
        let control = Word::new("ecco").with("tolerance", 1e-3);
        system.step_control(control);
    };
    let (_, report) = outcome(0, ecco);
    assert_eq!(report.stop_time, 0.1);
    let made = report.steps + report.counters.repeated_steps;
    // 50 exchanges a macro-step, and one step of the mass.
    assert_eq!(report.counters.unit_steps, 51 * made);
}

#[track_caller]
fn expect_refusal(system: System, parts: &[&str]) {
    let text = match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => problems.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the system was started"),
    };
    for part in parts {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let system = || by_force(5e-3, 3e7);
    let option = |name: &str, value: Value| with_model(system(), 1e-3, &[(name, value)]);
    expect_refusal(
        option("force", word("mena")),
        &["`force` of `parallel` must be one of hold, predicted"],
    );
    expect_refusal(option("lag", Value::Real(0.5)), &["whole macro-steps"]);
    expect_refusal(
        option("displacement_correction", Value::Real(1.0)),
        &["needs the positions"],
    );
    expect_refusal(
        option("force", word("predicted")),
        &["`stiffness` and `force_rates`"],
    );
    expect_refusal(
        with_model(system(), 3e-3, &[]),
        &[
            "0.003 s of `oil` neither divides the macro-step",
            "0.0025 s and 0.005 s",
        ],
    );
    let mut wrong = system();
    let model = wrong.interface_model("model", "oil", 1e-3);
    model.bonds(&["rod", "rood"]).mass(&["w"], &["b"]);
    expect_refusal(
        wrong,
        &[
            "the flow of bond `rod` is not an output of `oil`",
            "did you mean `rod`?",
        ],
    );
    let mut corrected = system();
    let bond = corrected.bond("rod 2", ("oil.f", "mass.f"), ("mass.v", "oil.v"));
    bond.correction("nepce");
    let model = corrected.interface_model("model", "mass", 1e-3);
    model.bonds(&["rod 2"]).mass(&["w"], &["b"]);
    expect_refusal(corrected, &["bond `rod 2` has a correction"]);
    let mut beside = System::new(5e-3);
    beside.add("mass", mass());
    let ports = ([("v", 0.0), ("V", 0.0)], [("f", 0.0), ("F", 0.0)]);
    beside.add("oil", ClosureUnit::new(&ports.0, &ports.1, |_| {}));
    let load = ClosureUnit::new(&[("F", 0.0)], &[("V", 0.0)], |_| {});
    beside.add("load", load);
    beside.bond("rod", ("oil.f", "mass.f"), ("mass.v", "oil.v"));
    let bond = beside.bond("shaft", ("oil.F", "load.F"), ("load.V", "oil.V"));
    bond.correction("nepce");
    expect_refusal(
        with_model(beside, 1e-3, &[]),
        &["bond `shaft` has a correction, and the interface model feeds an input"],
    );
    let mut twice = with_model(system(), 1e-3, &[]);
    let model = twice.interface_model("other", "mass", 1e-3);
    model.bonds(&["rod"]).mass(&["w"], &["b"]);
    expect_refusal(twice, &["`model` and `other` share a component"]);
    let mut turns = with_model(system(), 1e-3, &[]);
    turns.method("gauss-seidel");
    expect_refusal(
        turns,
        &["method `gauss-seidel` and interface model `model`"],
    );
}
