//! Nominal values: differences are as wide as they ask for, and each signal of a loop is judged by its
//! own magnitude.

use std::sync::{Arc, Mutex};

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, Feedthrough, PhysicalUnit, StepOutcome, UnitDescription, UnitResult,
    Variable,
};
use gyrator::{LinearUnit, RunError, RunOptions, StartError, System, Unit};

/// y = f(u) at once; refuses inputs outside their range and keeps those that it got.
struct Function {
    description: UnitDescription,
    f: fn(f64) -> f64,
    u: f64,
    given: Arc<Mutex<Vec<f64>>>,
}

impl Function {
    fn new(f: fn(f64) -> f64, u: Variable, y: Variable) -> (Self, Arc<Mutex<Vec<f64>>>) {
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: true,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: false,
            serialize: false,
        };
        let feedthrough = Feedthrough::from([(1, vec![0])]);
        let given = Arc::<Mutex<Vec<f64>>>::default();
        let unit = Self {
            description: UnitDescription::new(vec![u, y], feedthrough, capabilities),
            f,
            u: 0.0,
            given: Arc::clone(&given),
        };
        (unit, given)
    }
}

impl Unit for Function {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, _: &[u32], values: &[f64]) -> UnitResult {
        let (min, max) = self.description.variables[0].range;
        let [value] = values else { unreachable!() };
        if !(min..=max).contains(value) {
            let message = format!("{value} is out of range");
            return Err(UnitFault::new("set_reals", Cause::Error, message));
        }
        self.given.lock().unwrap().push(*value);
        self.u = *value;
        Ok(())
    }

    fn get_reals(&mut self, handles: &[u32], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = if *handle == 0 {
                self.u
            } else {
                (self.f)(self.u)
            };
        }
        Ok(())
    }

    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }
}

fn input(nominal: Option<f64>, range: (f64, f64)) -> Variable {
    Variable {
        nominal,
        range,
        ..Variable::real("u", 0, Causality::Input)
    }
}

fn output(nominal: Option<f64>) -> Variable {
    Variable {
        nominal,
        ..Variable::real("y", 1, Causality::Output)
    }
}

const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// y = gain·u at once.
fn gain(gain: f64) -> LinearUnit {
    LinearUnit::new(&[], &["u"], &["y"], [&[], &[], &[], &[gain]])
}

/// p = `large` and v = `slope`·v + `shift` + `coupling`·p, each through a unit that repeats it. That p
/// depends on v is declared, so that both are unknowns of one loop.
fn beside(large: f64, slope: f64, shift: f64, coupling: f64) -> System {
    const DECLARED: f64 = 1e-300;
    let mut system = System::new(0.1);
    let matrices: [&[f64]; 4] = [
        &[0.0],
        &[0.0, 0.0],
        &[large, shift],
        &[DECLARED, DECLARED, coupling.max(DECLARED), slope],
    ];
    system.add(
        "unit",
        LinearUnit::new(&[1.0], &["p_in", "v_in"], &["p", "v"], matrices),
    );
    system.add("p", gain(1.0));
    system.add("v", gain(1.0));
    system.connect("unit.p", "p.u");
    system.connect("p.y", "unit.p_in");
    system.connect("unit.v", "v.u");
    system.connect("v.y", "unit.v_in");
    system
}

#[test]
fn a_loop_without_a_solution_is_refused_beside_a_large_value() {
    // v = v + shift has no solution, however large p is.
    for (large, shift) in [(1.0, 1.0), (1e7, 0.05), (1e9, 1.0), (1e12, 1e-3)] {
        match beside(large, 1.0, shift, 0.0).start(&RunOptions::default()) {
            Err(StartError::Run(RunError::InitialLoop { members, .. })) => {
                assert!(members.contains("unit.v"), "{members}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("v = v + {shift} was solved beside {large}"),
        }
    }
}

#[test]
fn a_loop_with_a_solution_is_solved_beside_a_large_value() {
    // Closed form: v = (shift + coupling·p)/(1 − slope); in the last one the sum is 0 but for rounding.
    for (large, slope, shift, coupling) in [
        (1e7, 3.0, 0.05, 0.0),
        (1e9, 3.0, 1.0, 0.0),
        (1e9, -4.0, 0.0, 1e-9),
        (1e9, -4.0, -1.0, 1e-9),
    ] {
        let mut run = beside(large, slope, shift, coupling)
            .start(&RunOptions::default())
            .unwrap();
        let expected = (shift + coupling * large) / (1.0 - slope);
        let found = run.read_real("unit.v").unwrap();
        assert!((found - expected).abs() <= 1e-12, "{found}, {expected}");
        assert_eq!(run.read_real("unit.p").unwrap(), large);
    }
}

/// Length of the signals of [`solve`], m.
const SMALL: f64 = 1e-12;

/// z of y = SMALL·(2 − (u/SMALL)³), whose y goes through a unit that gives it in mm to u in m.
fn solve(nominal: Option<f64>) -> Option<f64> {
    let length = |name: &str, factor: f64| {
        Some(PhysicalUnit {
            name: name.to_owned(),
            exponents: Some([0, 1, 0, 0, 0, 0, 0, 0]),
            factor,
            offset: 0.0,
            relative: false,
        })
    };
    let u = Variable {
        unit: length("m", 1.0),
        ..input(nominal, ANY)
    };
    let cubic: fn(f64) -> f64 = |u| SMALL * (2.0 - (u / SMALL).powi(3));
    let (unit, _) = Function::new(cubic, u, output(None));
    let millimetres = Variable {
        unit: length("mm", 1e-3),
        ..output(None)
    };
    let (back, _) = Function::new(|u| 1e3 * u, input(None, ANY), millimetres);
    let mut system = System::new(0.1);
    system.add("unit", unit);
    system.add("back", back);
    system.connect("unit.y", "back.u");
    system.connect("back.y", "unit.u");
    let mut run = system.start(&RunOptions::default()).ok()?;
    Some(run.read_real("unit.y").unwrap() / SMALL)
}

#[test]
fn differences_of_a_start_loop_are_as_small_as_its_signals() {
    // Iteration leaves z = 2 − z³ = 1, and a difference of 1e-6 mm spans a thousand times the signals.
    assert_eq!(solve(None), None);
    let z = solve(Some(SMALL)).unwrap();
    assert!((z - 1.0).abs() < 1e-8, "{z}");
}

/// Inputs that a unit at the end of its range gets in a few steps, in which its feed-through is
/// probed at the start and tried between steps.
fn probed(nominal: Option<f64>, range: (f64, f64)) -> Vec<f64> {
    let (unit, given) = Function::new(|u| 2.0 * u, input(nominal, range), output(None));
    let mut system = System::new(0.1);
    system.stop_time(0.5);
    system.add("unit", unit).exchange("stale");
    system.add(
        "one",
        LinearUnit::new(&[1.0], &["u"], &["y"], [&[0.0], &[0.0], &[1.0], &[0.0]]),
    );
    system
        .bond("bond", ("one.y", "unit.u"), ("unit.y", "one.u"))
        .correction("nepce-feedthrough");
    let mut run = system.start(&RunOptions::default()).unwrap();
    let at_start = given.lock().unwrap().len();
    run.run().unwrap();
    let given = given.lock().unwrap().clone();
    let moved = |value: &&f64| **value != 1.0;
    assert!(given[..at_start].iter().any(|value| moved(&value)));
    assert!(given[at_start..].iter().any(|value| moved(&value)));
    given
}

#[test]
fn probes_stay_within_the_range() {
    // The unit refuses what is beyond.
    for range in [(0.0, 1.0), (1.0, f64::INFINITY), (1.0 - 1e-9, 1.0)] {
        probed(None, range);
    }
}

#[test]
fn probes_are_as_wide_as_the_nominal_value_asks_for() {
    for (nominal, largest) in [(None, 1e-5), (Some(1e5), 1.0), (Some(1e-3), 1e-5)] {
        let change = |value: &f64| (value - 1.0).abs();
        let found = probed(nominal, ANY).iter().map(change).fold(0.0, f64::max);
        assert!((found / largest - 1.0).abs() < 1e-6, "{nominal:?}: {found}");
    }
}
