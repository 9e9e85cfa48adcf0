//! Derivatives of outputs, as units declare them, reach the extrapolation `hermite`.

use gyrator::unit::{
    Capabilities, Causality, Handle, StepOutcome, UnitDescription, UnitResult, Variable,
};
use gyrator::{RunOptions, System, Unit};
use gyrator_testkit::{GivenInputs, Spy};

const STEP: f64 = 0.1;

/// y = t³, whose slope it gives in one way or none.
struct Cubic {
    description: UnitDescription,
    time: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Slope {
    Variable,
    Call,
    Untold,
}

impl Cubic {
    fn new(slope: Slope) -> Self {
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: u32::from(slope == Slope::Call),
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: false,
            serialize: false,
        };
        let derivative = Variable {
            derivative_of: (slope == Slope::Variable).then_some(0),
            ..Variable::real("dy", 1, Causality::Local)
        };
        let variables = vec![Variable::real("y", 0, Causality::Output), derivative];
        Self {
            description: UnitDescription::new(variables, [].into(), capabilities),
            time: 0.0,
        }
    }
}

impl Unit for Cubic {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult {
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = match handle {
                0 => self.time.powi(3),
                _ => 3.0 * self.time.powi(2),
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.time = time + step;
        Ok(StepOutcome::Done)
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        assert_eq!((handles, orders), (&[0][..], &[1][..]));
        values[0] = 3.0 * self.time.powi(2);
        Ok(())
    }
}

/// Inputs of a receiver: values and derivatives, step by step.
fn received(slope: Slope) -> Vec<GivenInputs> {
    let capabilities = Capabilities {
        input_derivatives: 2,
        ..Cubic::new(slope).description.capabilities
    };
    let mut receiver = Cubic::new(Slope::Untold);
    let input = Variable::real("u", 0, Causality::Input);
    receiver.description = UnitDescription::new(vec![input], [].into(), capabilities);
    let (receiver, spied) = Spy::on(Interpolating(receiver));
    let mut system = System::new(STEP);
    system.stop_time(1.0);
    system.add("source", Cubic::new(slope));
    system.add("receiver", receiver).extrapolation("hermite");
    system.connect("source.y", "receiver.u");
    system.start(&RunOptions::default()).unwrap().run().unwrap();
    spied.inputs()
}

/// A receiver that takes derivatives and does nothing with them.
struct Interpolating(Cubic);

impl Unit for Interpolating {
    fn description(&self) -> &UnitDescription {
        self.0.description()
    }

    fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult {
        Ok(())
    }

    fn get_reals(&mut self, _: &[Handle], _: &mut [f64]) -> UnitResult {
        Ok(())
    }

    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }

    fn set_input_derivatives(&mut self, _: &[Handle], _: &[i32], _: &[f64]) -> UnitResult {
        Ok(())
    }
}

/// The slope that was given at 0.5 s; exact is 0.75.
fn slope_at_half(given: &[GivenInputs]) -> f64 {
    let step = given.iter().find(|step| (step.time - 0.5).abs() < 1e-9);
    let slope = step
        .unwrap()
        .values
        .iter()
        .find(|(_, order, _)| *order == 1);
    slope.unwrap().2
}

#[test]
fn declared_slopes_are_exact() {
    for slope in [Slope::Variable, Slope::Call] {
        assert!((slope_at_half(&received(slope)) - 0.75).abs() < 1e-12);
    }
}

/// Without a declared slope it is the slope of the parabola through three values,
/// 0.73.
#[test]
fn an_undeclared_slope_is_estimated() {
    assert!((slope_at_half(&received(Slope::Untold)) - 0.73).abs() < 1e-12);
}
