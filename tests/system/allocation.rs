//! No macro-step allocates once a run is warm.

use fmu_models::{AllTypes, OscillatorForce, OscillatorMotion};
use gyrator::method::METHODS;
use gyrator::real_time::{Overruns, RealTime};
use gyrator::{LinearUnit, Recorder, Run, RunOptions, System, Value, Word};
use gyrator_assess::{Check, Checks, Judging};
use gyrator_system::{Spanned, SystemFile, toml_file};
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1, fmu};

#[track_caller]
fn expect_none(system: System) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    expect_none_in(&mut run);
}

#[track_caller]
fn expect_none_in(run: &mut Run) {
    for _ in 0..20 {
        run.step().unwrap();
    }
    let counted = allocation_counter::measure(|| {
        for _ in 0..100 {
            run.step().unwrap();
        }
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// The counter counts: a test that could not fail would be worth nothing.
#[test]
fn allocations_are_counted() {
    let counted = allocation_counter::measure(|| {
        std::hint::black_box(vec![1.0_f64; 100]);
    });
    assert_eq!(counted.count_total, 1);
}

const CORRECTED: Option<(&str, &[(&str, f64)])> =
    Some(("residual-power", &[("mu", 0.5), ("nu", 0.25)]));

#[test]
fn every_rate_extrapolation_and_exchange() {
    for (force_step, motion_step) in [(1e-3, 1e-3), (1e-4, 1e-3), (1e-3, 1e-4), (4e-3, 1e-3)] {
        for extrapolation in gyrator_testkit::extrapolations_of_any_step() {
            for exchange in gyrator::exchange_mode::Exchange::WORDS {
                for correction in [None, CORRECTED] {
                    for derivatives in [0, 2] {
                        let coupling = Coupling {
                            force_step,
                            motion_step,
                            extrapolation: extrapolation.name,
                            exchange,
                            correction,
                            ..Coupling::default()
                        };
                        let force = ModelUnit::new().with_input_derivatives(derivatives);
                        let system = TABLE_1[0].system_of(&coupling, force, ModelUnit::new());
                        expect_none(system);
                    }
                }
            }
        }
    }
}

/// y = 0.5·z + 1, z = −0.4·y: a loop that is read again, tried from saved states, or followed by D.
#[test]
fn algebraic_loops() {
    let gain = |gain: f64, offset: f64| {
        LinearUnit::new(&[offset], &["u"], &["y"], [&[0.0], &[0.0], &[1.0], &[gain]])
    };
    for exchange in ["fresh", "compensated"] {
        let mut system = System::new(0.1);
        system.exchange(exchange);
        system.add("a", gain(0.5, 1.0));
        system.add("b", gain(-0.4, 0.0));
        system.connect("a.y", "b.u");
        system.connect("b.y", "a.u");
        expect_none(system);
    }
}

/// Points that come in time, and points that all come too late.
#[test]
fn real_time() {
    for (factor, overruns) in [(10.0, Overruns::Warn), (1e9, Overruns::Skip)] {
        let system = TABLE_1[0].system(&Coupling::default());
        let mut run = system.start(&RunOptions::default()).unwrap();
        let real_time = RealTime::new().factor(factor).overruns(overruns);
        run.observe(real_time).unwrap();
        expect_none_in(&mut run);
    }
}

/// Checks of outputs, inputs, bonds and components, some of which do not hold.
#[test]
fn checks() {
    let system = TABLE_1[0].system(&Coupling::default());
    let mut run = system.start(&RunOptions::default()).unwrap();
    let checks = Checks::from([
        Check::never_above("*", 1.0),
        Check::settles("motion.x", None, 0.1, 0.05),
        Check::reaches("force.x", 1.0),
        Check::energy_error_below(None, 1.0),
        Check::net_energy_error_below(Some("coupling"), 1.0),
        Check::balance_above("*", 0.0),
    ]);
    let judging = Judging::new(&checks, run.graph(), 0.0, None).unwrap();
    run.observe(judging.observer()).unwrap();
    expect_none_in(&mut run);
}

/// Reading and writing by handles between the steps.
#[test]
fn handles() {
    let mut system = System::new(1e-3);
    let matrices: [&[f64]; 4] = [&[-1.0], &[1.0], &[0.5], &[0.0]];
    system.add("a", LinearUnit::new(&[1.0], &["u"], &["y"], matrices));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let (input, output) = (run.input("a.u").unwrap(), run.output::<f64>("a.y").unwrap());
    run.step().unwrap();
    let mut sum = 0.0;
    let counted = allocation_counter::measure(|| {
        for step in 0..100 {
            run.write(input, f64::from(step)).unwrap();
            run.step().unwrap();
            sum += run.read(output).unwrap();
        }
    });
    assert!(sum > 1.0);
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// A recorder of outputs, inputs and local variables, to a file.
#[test]
fn rows_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = TABLE_1[0]
        .system(&Coupling::default())
        .start(&RunOptions::default())
        .unwrap();
    let csv = |name: &str| Recorder::csv(folder.path().join(name)).unwrap();
    run.observe(csv("outputs.csv")).unwrap();
    run.observe(csv("all.csv").variables(["*"])).unwrap();
    expect_none_in(&mut run);
}

#[test]
fn compensation_by_probing() {
    let coupling = Coupling {
        exchange: "compensated",
        ..Coupling::default()
    };
    let force = ModelUnit::new().without_derivatives();
    expect_none(TABLE_1[1].system_of(&coupling, force, ModelUnit::new()));
}

#[test]
fn linear_units() {
    let mut system = System::new(1e-3);
    for name in ["a", "b"] {
        let matrices: [&[f64]; 4] = [&[-1.0], &[1.0], &[0.5], &[0.0]];
        system.add(name, LinearUnit::new(&[1.0], &["u"], &["y"], matrices));
    }
    system.connect("a.y", "b.u");
    system.connect("b.y", "a.u");
    expect_none(system);
}

/// A mass and a spring with a parallel damper, of which the mass can be read or derived.
fn mass_and_spring(options: &[(&str, Value)], derived: bool) -> System {
    #[rustfmt::skip]
    let mass: [&[f64]; 4] = [
        &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        &[0.0, 0.5, 0.0],
        &[
            1.0, 0.0, 0.0,
            0.0, 1.0, 0.0,
            0.0, 0.0, 0.0,
            0.0, 0.0, 1.0,
            0.0, 0.0, 0.0,
        ],
        &[0.0, 0.0, 0.5, 0.0, 0.0],
    ];
    let outputs = ["s", "v", "a", "w", "b"];
    let mut system = System::new(1e-2);
    let mass = LinearUnit::new(&[0.0, 1.0, 0.5], &["f"], &outputs, mass);
    system.add("mass", mass);
    let spring: [&[f64]; 4] = [
        &[0.0; 4],
        &[0.0, -80.0, 0.0, 0.0],
        &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        &[0.0, -1.0, 0.0, 0.0, 0.0, -80.0],
    ];
    let spring = LinearUnit::new(&[0.0, 80.0], &["s", "v"], &["f", "k", "rate"], spring);
    system.add("spring", spring);
    system.connect("mass.s", "spring.s");
    system.bond("bond", ("spring.f", "mass.f"), ("mass.v", "spring.v"));
    let mut model = system.interface_model("model", "mass", 1e-3);
    model = model.bonds(&["bond"]).positions(&["s"]);
    model = model.force_model(&["spring.k"], &["spring.rate"]);
    model = if derived {
        model.accelerations(&["a"])
    } else {
        model.mass(&["w"], &["b"])
    };
    for (name, value) in options {
        model = match (*name, value) {
            ("order", Value::String(word)) => model.order(word),
            _ => model.option(name, value.clone()),
        };
    }
    system
}

#[test]
fn interface_models() {
    let word = |word: &str| Value::String(word.to_owned());
    for derived in [false, true] {
        for (name, chosen) in [
            ("force", "hold"),
            ("force", "predicted"),
            ("force", "mean"),
            ("order", "pipelined"),
        ] {
            let correction = ("displacement_correction", Value::Real(1.0));
            let options = [
                (name, word(chosen)),
                correction,
                ("inputs", word("linear")),
                ("lag", Value::Integer(2)),
            ];
            expect_none(mass_and_spring(&options, derived));
        }
    }
}

#[test]
fn units_that_take_turns() {
    for method in ["gauss-seidel", "mean-force"] {
        for (force_step, motion_step) in [(1e-3, 1e-3), (1e-4, 1e-3), (4e-3, 1e-3), (1e-3, 4e-3)] {
            let coupling = Coupling {
                force_step,
                motion_step,
                ..Coupling::default()
            };
            let mut system = TABLE_1[0].system(&coupling);
            system.method(method);
            expect_none(system);
        }
    }
}

/// The oscillator as two FMUs.
fn oscillator_fmus(coupling: &Coupling<'_>) -> SystemFile {
    let mut file = TABLE_1[0].system(coupling).description().clone();
    for component in &mut file.components {
        component.fmu.value = match component.name.value.as_str() {
            "force" => fmu("OscillatorForce"),
            _ => fmu("OscillatorMotion"),
        };
    }
    file
}

#[test]
fn fmus() {
    for correction in [None, CORRECTED] {
        let coupling = Coupling {
            correction,
            ..Coupling::default()
        };
        expect_none(System::from_file(oscillator_fmus(&coupling)).unwrap());
    }
}

#[test]
fn fmus_whose_steps_may_be_halved() {
    let mut file = oscillator_fmus(&Coupling::default());
    for component in &mut file.components {
        component.step_halvings = Some(Spanned::unplaced(3));
    }
    let system = System::from_file(file).unwrap();
    assert_eq!(system.check(), [], "the FMUs save their states");
    expect_none(system);
}

/// Actions of every word on inputs, outputs and a parameter, some of which begin and end while it is counted.
const ACTIONS: &str = "actions = [
    { time = 0.0, variable = 'left.x2', action = { name = 'ramp', rate = 0.1 } },
    { time = 0.0, variable = 'right.v', action = { name = 'scale', factor = 0.9 } },
    { time = 0.05, variable = 'left.x2', action = 'freeze' },
    { time = 0.06, variable = 'right.f', action = { name = 'bias', value = 0.1 } },
    { time = 0.07, until = 0.08, variable = 'right.f', action = 'drop-out' },
    { time = 0.07, variable = 'types.gain', action = { name = 'override', value = 3 } },
    { time = 0.07, variable = 'types.boolean_in', action = { name = 'override', value = true } },
    { time = 0.07, variable = 'echo.integer_in', action = { name = 'bias', value = 2 } },
    { time = 0.08, variable = 'left.x2', action = 'reset' },
]";

/// Two oscillators, and echoes of other types.
fn with_actions(extrapolation: &str, method: &str, step_control: Word) -> System {
    let coupling = Coupling {
        extrapolation,
        ..Coupling::default()
    };
    let mut system = System::new(1e-3);
    system
        .method(method)
        .step_control(step_control)
        .extrapolation(coupling.extrapolation);
    system.add("left", ModelUnit::<OscillatorForce>::new());
    system.add("right", ModelUnit::<OscillatorMotion>::new());
    system.connect("right.x", "left.x2");
    system.bond("bond", ("left.f", "right.f"), ("right.v", "left.v2"));
    for name in ["types", "echo"] {
        // The unit itself copies its text with each step.
        let echo = system.add(name, ModelUnit::<AllTypes>::new());
        echo.start("string_parameter", Value::String(String::new()));
    }
    system.connect("types.integer_out", "echo.integer_in");
    system.connect("types.boolean_out", "echo.real_in");
    system.scenario(toml_file::parse_scenario(ACTIONS, "scenario.toml").unwrap());
    system
}

#[test]
fn scenarios() {
    for extrapolation in ["hold", "linear", "hermite"] {
        for method in METHODS.iter().map(|entry| entry.name) {
            expect_none(with_actions(extrapolation, method, Word::new("fixed")));
        }
    }
    let mut with_model = mass_and_spring(&[("force", Value::String("mean".to_owned()))], false);
    let actions = "actions = [
        { time = 0.5, variable = 'mass.f', action = { name = 'scale', factor = 0.5 } },
        { time = 0.6, variable = 'spring.v', action = 'freeze' },
    ]";
    with_model.scenario(toml_file::parse_scenario(actions, "scenario.toml").unwrap());
    expect_none(with_model);
}

/// Steps that may be made again keep the state before them.
#[test]
fn scenarios_with_steps_that_may_be_made_again() {
    let ecco = Word::new("ecco").with("maximum_step", 2e-3);
    expect_none(with_actions("hold", "jacobi", ecco));
}

/// Also on several threads: the steps before have measured the units and started the threads.
#[test]
fn steps_on_several_threads() {
    let mut system = System::new(0.1);
    for name in ["a", "b", "c", "d"] {
        let lag = LinearUnit::new(&[1.0], &["u"], &["y"], [&[-1.0], &[1.0], &[1.0], &[0.0]]);
        system.add(name, lag);
    }
    for (from, to) in [
        ("a.y", "b.u"),
        ("b.y", "c.u"),
        ("c.y", "d.u"),
        ("d.y", "a.u"),
    ] {
        system.connect(from, to);
    }
    let options = RunOptions {
        threads: 2,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    expect_none_in(&mut system.start(&options).unwrap());
}
