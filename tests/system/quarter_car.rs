//! The quarter car of Sadjina & Pedersen 2019: tables 4 to 9, and what goes beyond them.
//!
//! Forward Euler with 256 micro-steps in each half, as in `crates/benchmark/reference/quarter_car.py` and
//! `quarter_car_methods.py`.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fmu_models::{
    QuarterCar, QuarterCarChassis, QuarterCarChassisSuspension, QuarterCarWheel,
    QuarterCarWheelSuspension,
};
use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{Observer, RunOptions, System, Unit, View};
use gyrator_benchmark::reference::QuarterCarPower;
use gyrator_system::{Choice, Spanned, Value};
use gyrator_testkit::ModelUnit;
use noisy::Noisy;

mod better;
mod energies;
mod events;
mod noisy;
mod rates;
mod robustness;
mod tables;

/// A car, how it is cut, how long it runs and how long a step may be, s.
#[derive(Clone, Copy)]
struct Case {
    car: fn() -> QuarterCar,
    reticulation: u32,
    duration: f64,
    maximum_step: f64,
}

/// Tables 4 and 6; 5 and 7; 8; 9.
const LIN1: Case = Case {
    car: QuarterCar::linear,
    reticulation: 1,
    duration: 4.0,
    maximum_step: 1e-2,
};
const LIN2: Case = Case {
    reticulation: 2,
    ..LIN1
};
const NL1: Case = Case {
    car: QuarterCar::nonlinear,
    duration: 2.0,
    ..LIN1
};
const NL2: Case = Case {
    reticulation: 2,
    maximum_step: 2.5e-3,
    ..NL1
};

/// A word of a registry with its parameters.
type Word<'a> = (&'a str, &'a [(&'a str, f64)]);

/// How the halves are coupled.
#[derive(Clone, Copy)]
struct Coupling<'a> {
    macro_step: f64,
    extrapolation: (&'a str, &'a [(&'a str, &'a str)]),
    exchange: &'a str,
    correction: Option<Word<'a>>,
    /// Tolerance r of ECCO and the word of its indicator.
    ecco: Option<(f64, &'a str)>,
    more_ecco: &'a [(&'a str, f64)],
    overshoot: bool,
    input_derivatives: u32,
    integrator: &'a str,
    /// Relative noise of the outputs.
    noise: f64,
}

const PLAIN: Coupling<'static> = Coupling {
    macro_step: 1e-3,
    extrapolation: ("hold", &[]),
    exchange: "stale",
    correction: None,
    ecco: None,
    more_ecco: &[],
    overshoot: false,
    input_derivatives: 1,
    integrator: "forward_euler",
    noise: 0.0,
};

/// Puts a unit around one of the halves, S1 or S2, by its index.
type Wrap<'a> = &'a dyn Fn(Box<dyn Unit>, usize) -> Box<dyn Unit>;

/// Result of a run.
#[derive(Debug, Clone)]
struct QuarterCarOutcome {
    /// Times, effort and flow at the communication points.
    points: Vec<(f64, f64, f64)>,
    steps: u64,
    /// Eq. 15a, W.
    power_error: f64,
    /// Eq. 15b, J.
    residual_energy: f64,
    /// The residual power integrated by the trapezoidal rule, J.
    residual_integrated: f64,
    integrated_error: f64,
    repeated: u64,
    alphas: Vec<f64>,
    control: Vec<(f64, f64)>,
}

#[derive(Default)]
struct Points {
    values: Vec<(f64, f64, f64)>,
    control: Vec<(f64, f64)>,
}

/// Keeps time, effort and flow, and what the step control records.
struct Watcher {
    places: (usize, usize),
    points: Arc<Mutex<Points>>,
}

impl Watcher {
    fn record(&self, view: &View<'_>) -> ControlFlow<StopRequest> {
        let (effort, flow) = self.places;
        let mut points = self.points.lock().unwrap();
        points
            .values
            .push((view.time, view.reals[effort], view.reals[flow]));
        if let [step, indicator] = view.control {
            assert_eq!((step.0, indicator.0), ("step_size", "ecco.indicator"));
            points.control.push((step.1, indicator.1));
        }
        ControlFlow::Continue(())
    }
}

impl Observer for Watcher {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.record(view))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.record(view))
    }
}

fn word(name: &str, parameters: impl IntoIterator<Item = (String, Value)>) -> Choice {
    let spanned = |(key, value)| (Spanned::unplaced(key), Spanned::unplaced(value));
    Choice {
        name: Spanned::unplaced(name.to_owned()),
        parameters: parameters.into_iter().map(spanned).collect(),
    }
}

impl Case {
    fn system(&self, coupling: &Coupling<'_>, wrap: Wrap<'_>) -> System {
        let mut system = System::new(coupling.macro_step);
        system.stop_time(self.duration).method("jacobi");
        let text = |text: &str| Value::String(text.to_owned());
        let (name, parameters) = coupling.extrapolation;
        let parameters = parameters.iter().map(|(k, v)| ((*k).to_owned(), text(v)));
        system.extrapolation(word(name, parameters));
        if let Some((tolerance, indicator)) = coupling.ecco {
            let numbers = [
                ("tolerance", tolerance),
                ("energy_scale", 750.0),
                ("minimum_step", 1e-5),
                ("maximum_step", self.maximum_step),
            ];
            let numbers = numbers.iter().chain(coupling.more_ecco);
            let numbers = numbers.map(|(key, value)| ((*key).to_owned(), Value::Real(*value)));
            let words = [
                ("indicator".to_owned(), text(indicator)),
                ("overshoot".to_owned(), Value::Boolean(coupling.overshoot)),
            ];
            system.step_control(word("ecco", numbers.chain(words)));
        }
        let sense = self.add_halves(&mut system, coupling, wrap);
        let (effort, flow) = if self.reticulation == 1 {
            (("b.F", "a.F"), ("a.v_c", "b.v_c"))
        } else {
            (("a.F", "b.F"), ("b.v_w", "a.v_w"))
        };
        let bond = system.bond("suspension", effort, flow).sense(sense);
        if let Some((name, parameters)) = coupling.correction {
            bond.correction((name, parameters));
        }
        system
    }

    /// Adds S1 as `a` and S2 as `b`; returns the sense of the bond.
    fn add_halves(&self, system: &mut System, coupling: &Coupling<'_>, wrap: Wrap<'_>) -> f64 {
        let derivatives = coupling.input_derivatives;
        if self.reticulation == 1 {
            let chassis = ModelUnit::<QuarterCarChassis>::new();
            let chassis = chassis.with_input_derivatives(derivatives);
            system.add("a", wrap(Box::new(chassis), 0));
            let rest = ModelUnit::<QuarterCarWheelSuspension>::new();
            let rest = rest.with_input_derivatives(derivatives);
            system.add("b", wrap(Box::new(rest), 1));
        } else {
            let rest = ModelUnit::<QuarterCarChassisSuspension>::new();
            let rest = rest.with_input_derivatives(derivatives);
            system.add("a", wrap(Box::new(rest), 0));
            let wheel = ModelUnit::<QuarterCarWheel>::new();
            let wheel = wheel.with_input_derivatives(derivatives);
            system.add("b", wrap(Box::new(wheel), 1));
        }
        let car = (self.car)();
        for name in ["a", "b"] {
            let mut settings = system.component(name).unwrap().exchange(coupling.exchange);
            settings = settings.start("integrator", coupling.integrator);
            let has_damper = (name == "b") == (self.reticulation == 1);
            if has_damper {
                settings = settings
                    .start("d_c", car.d_c)
                    .start("damper_exponent", car.damper_exponent);
            }
            let has_road = name == "b";
            if has_road {
                settings
                    .start("second_road_step", car.second_road_step)
                    .start("second_road_time", car.second_road_time);
            }
        }
        if self.reticulation == 1 { 1.0 } else { -1.0 }
    }

    fn run(&self, coupling: &Coupling<'_>) -> QuarterCarOutcome {
        self.run_wrapped(coupling, &|unit, half| {
            Box::new(Noisy::new(unit, coupling.noise, half as u64 + 1))
        })
    }

    fn run_wrapped(&self, coupling: &Coupling<'_>, wrap: Wrap<'_>) -> QuarterCarOutcome {
        let mut run = self
            .system(coupling, wrap)
            .start(&RunOptions::default())
            .unwrap();
        let outputs = run.graph().real_outputs();
        let place = |names: [&str; 2]| {
            let found = outputs
                .iter()
                .position(|o| names.contains(&o.name.as_str()));
            found.unwrap()
        };
        let places = if self.reticulation == 1 {
            (place(["b.F"; 2]), place(["a.v_c"; 2]))
        } else {
            (place(["a.F"; 2]), place(["b.v_w"; 2]))
        };
        let points = Arc::<Mutex<Points>>::default();
        run.observe(Watcher {
            places,
            points: Arc::clone(&points),
        })
        .unwrap();
        let report = run.run().unwrap();
        let bond = &report.bonds[0];
        let Points { values, control } = std::mem::take(&mut *points.lock().unwrap());
        let power = QuarterCarPower::of(&(self.car)(), self.reticulation, self.duration, &values);
        QuarterCarOutcome {
            points: values,
            steps: report.steps,
            power_error: power.error(),
            residual_energy: bond.energy.applied_residual_energy,
            residual_integrated: bond.energy.residual_energy_integrated,
            integrated_error: bond.residual_energy_integrated_error,
            repeated: report.counters.repeated_steps,
            alphas: bond.correction_parameters.values().copied().collect(),
            control,
        }
    }
}

#[track_caller]
fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{what}: {measured} instead of {expected} ± {tolerance}"
    );
}
