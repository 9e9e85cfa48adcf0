//! The integrated energies of the ledger against an integration over micro-steps, which each half
//! makes of its own input and output and the ledger never sees.

use std::sync::{Arc, Mutex};

use gyrator::extrapolation::Curve;
use gyrator::unit::{Handle, Period, StepOutcome, UnitDescription, UnitResult, UnitWrapper};
use gyrator::{Unit, Value};

use super::{Case, Coupling, LIN1, LIN2, NL1, NL2, PLAIN, QuarterCarOutcome};

/// Micro-steps of a communication step.
const MICRO_STEPS: u32 = 16;

/// A unit with one input and one output that makes each step in micro-steps, and adds up
/// ∫ input · output dt by the trapezoidal rule over each of them.
struct Metered<U> {
    unit: U,
    description: UnitDescription,
    ports: (Handle, Handle),
    /// The input over the coming step, and the orders of its derivatives that are given.
    input: Curve,
    orders: Vec<i32>,
    energy: Arc<Mutex<f64>>,
}

impl<U: Unit> Metered<U> {
    fn new(unit: U, (input, output): (&str, &str), energy: &Arc<Mutex<f64>>) -> Self {
        let handle = |name: &str| unit.description().variable(name).unwrap().handle;
        Self {
            ports: (handle(input), handle(output)),
            description: unit.description().clone(),
            unit,
            input: Curve::default(),
            orders: Vec::new(),
            energy: Arc::clone(energy),
        }
    }

    /// Sets the input of `since` s after the start of the step, and returns input · output.
    fn power(&mut self, since: f64) -> UnitResult<f64> {
        let input = self.input.at(since);
        self.unit.set_reals(&[self.ports.0], &[input])?;
        let mut output = [0.0];
        self.unit.get_reals(&[self.ports.1], &mut output)?;
        Ok(input * output[0])
    }
}

impl<U: Unit> UnitWrapper for Metered<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        let micro_steps = self.unit.description().variable("micro_steps").unwrap();
        let handle = micro_steps.handle;
        self.unit.setup_experiment(period)?;
        self.unit.set_value(handle, &Value::Integer(1))
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            if *handle == self.ports.0 {
                self.input = Curve::constant(*value);
            }
        }
        self.unit.set_reals(handles, values)
    }

    fn set_input_derivatives(
        &mut self,
        _: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        const FACTORIAL: [f64; 4] = [1.0, 1.0, 2.0, 6.0];
        self.orders = orders.to_vec();
        for (&order, value) in orders.iter().zip(values) {
            self.input.coefficients[order as usize] = value / FACTORIAL[order as usize];
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let size = step / f64::from(MICRO_STEPS);
        let mut energy = 0.0;
        let mut before = self.power(0.0)?;
        for part in 0..MICRO_STEPS {
            let since = f64::from(part) * size;
            if !self.orders.is_empty() {
                let course = self.input.shifted(since);
                let derivative = |order: &i32| course.derivative(*order as usize);
                let values: Vec<f64> = self.orders.iter().map(derivative).collect();
                let handles = vec![self.ports.0; values.len()];
                let unit = &mut self.unit;
                unit.set_input_derivatives(&handles, &self.orders, &values)?;
            }
            self.unit.step(time + since, size)?;
            let after = self.power(since + size)?;
            energy += 0.5 * (before + after) * size;
            before = after;
        }
        self.input = Curve::constant(self.input.at(step));
        *self.energy.lock().unwrap() += energy;
        Ok(StepOutcome::Done)
    }
}

/// A run, and the residual energy of its micro-steps, J.
pub(super) fn metered(
    case: &Case,
    coupling: &Coupling<'_>,
    known: Known,
) -> (QuarterCarOutcome, f64) {
    let works = [Arc::<Mutex<f64>>::default(), Arc::default()];
    let ports = match case.reticulation {
        1 => [("F", "v_c"), ("v_c", "F")],
        _ => [("v_w", "F"), ("F", "v_w")],
    };
    let outcome = case.run_wrapped(coupling, &|unit, half| {
        let mut unit = Metered::new(unit, ports[half], &works[half]);
        let capabilities = &mut unit.description.capabilities;
        capabilities.fresh_outputs &= known == Known::Trial;
        capabilities.directional_derivatives &= known != Known::Probe;
        Box::new(unit)
    });
    let [one, two] = works.map(|work| *work.lock().unwrap());
    // F·v is taken in by S1 and given by S2 in both cuts.
    (outcome, one - two)
}

/// The direct feed-through that a half shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    /// Outputs may be read again.
    Trial,
    /// Directional derivatives.
    Derivatives,
    /// Nothing but the probe at the start, which finds the square root of a damper at rest not smooth.
    Probe,
}

/// The ways to exchange the values, and what the halves tell of themselves.
fn couplings() -> Vec<(Coupling<'static>, Known)> {
    let mut couplings = Vec::new();
    let plain = Coupling {
        integrator: "runge_kutta_4",
        ..PLAIN
    };
    for extrapolation in ["hold", "linear", "quadratic"] {
        for exchange in ["stale", "fresh", "compensated"] {
            for correction in [None, Some(("nepce", &[("alpha", 0.6)][..]))] {
                let coupling = Coupling {
                    extrapolation: (extrapolation, &[]),
                    exchange,
                    correction,
                    ..plain
                };
                couplings.push((coupling, Known::Trial));
                if exchange == "stale" {
                    couplings.push((coupling, Known::Derivatives));
                    couplings.push((coupling, Known::Probe));
                }
            }
        }
    }
    for (extrapolation, exchange, tolerance) in [
        ("linear", "stale", 1e-7),
        ("linear", "fresh", 1e-7),
        ("auto", "fresh", 1e-8),
    ] {
        let coupling = Coupling {
            extrapolation: (extrapolation, &[]),
            exchange,
            ecco: Some((tolerance, "sum-abs")),
            input_derivatives: 3,
            ..plain
        };
        couplings.push((coupling, Known::Trial));
    }
    couplings
}

/// Checks a cut over one second, in which nearly all of the energy is exchanged.
#[track_caller]
fn check(name: &str, case: Case) {
    let case = Case {
        duration: 1.0,
        ..case
    };
    let mut wrong = Vec::new();
    for (coupling, known) in couplings() {
        let (outcome, truth) = metered(&case, &coupling, known);
        let (found, error) = (outcome.residual_integrated, outcome.integrated_error);
        let line = format!(
            "{name} {} {} {} {known:?}: {found:.5} ± {error:.5} J, in truth {truth:.5} J, right ends {:.5} J",
            coupling.extrapolation.0,
            coupling.exchange,
            coupling.correction.map_or("", |(word, _)| word),
            outcome.residual_energy,
        );
        println!("{line}");
        let is_right = (found - truth).abs() <= error.max(0.1 * truth.abs());
        if !is_right {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn integrated_energies_are_those_of_the_micro_steps_lin1() {
    check("lin1", LIN1);
}

#[test]
fn integrated_energies_are_those_of_the_micro_steps_lin2() {
    check("lin2", LIN2);
}

#[test]
fn integrated_energies_are_those_of_the_micro_steps_nl1() {
    check("nl1", NL1);
}

#[test]
fn integrated_energies_are_those_of_the_micro_steps_nl2() {
    check("nl2", NL2);
}
