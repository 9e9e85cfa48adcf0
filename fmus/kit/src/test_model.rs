//! Small models for the tests of the kit.

use serde::{Deserialize, Serialize};

use crate::{Fault, Integrator, Model, Variable, start_values};

/// Values of the integrator choice of [`Linear`].
pub(crate) const FORWARD_EULER: u8 = 0;
pub(crate) const RUNGE_KUTTA_4: u8 = 1;
pub(crate) const TRAPEZOIDAL: u8 = 2;
pub(crate) const OWN: u8 = 3;

start_values! {
    /// x' = −rate·x + u, y = x + gain·u.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub(crate) struct Linear<const METHOD: u8> {
        pub(crate) x: [f64; 1],
        u: f64,
        y: f64,
        rate: f64 = 0.5,
        gain: f64 = 2.0,
        x_start: f64 = 3.0,
    }
}

impl<const METHOD: u8> Model for Linear<METHOD> {
    const NAME: &'static str = "Linear";
    const DESCRIPTION: &'static str = "A decay with input";
    const INTEGRATOR: Integrator = match METHOD {
        FORWARD_EULER => Integrator::ForwardEuler,
        RUNGE_KUTTA_4 => Integrator::RungeKutta4,
        TRAPEZOIDAL => Integrator::Trapezoidal,
        _ => Integrator::Own,
    };
    const INTERPOLATES_INPUTS: bool = true;

    fn variables() -> Vec<Variable<Self>> {
        vec![
            Variable::<Self>::input_real("u", |m| &mut m.u, "input"),
            Variable::<Self>::output_real("y", |m| &mut m.y, "output")
                .depends_on(&["u"])
                .starts_from(&["gain", "x_start"]),
            Variable::<Self>::parameter_real("rate", |m| &mut m.rate, "rate").min(0.0),
            Variable::<Self>::parameter_real("gain", |m| &mut m.gain, "gain").tunable(),
            Variable::<Self>::parameter_real("x_start", |m| &mut m.x_start, "start"),
            Variable::<Self>::output_real("x", |m| &mut m.x[0], "state").starts_from(&["x_start"]),
        ]
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.x
    }

    /// The backward Euler method, which refuses inputs that are not numbers.
    fn advance(&mut self, _start: f64, step: f64) -> Result<(), Fault> {
        self.x[0] = (self.x[0] + step * self.u) / (1.0 + step * self.rate);
        if self.x[0].is_nan() {
            return Err(Fault::Discard("the input is not a number".to_owned()));
        }
        Ok(())
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.x = [self.x_start];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        rates[0] = self.u - self.rate * self.x[0];
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.y = self.x[0] + self.gain * self.u;
        Ok(())
    }

    fn after_step(&mut self, start: f64, _end: f64) -> Result<(), Fault> {
        let message = format!("the input {} was refused at {start} s", self.u);
        match self.u {
            1001.0 => Err(Fault::Discard(message)),
            1002.0 => Err(Fault::Finished(message)),
            1003.0 => Err(Fault::Error(message)),
            1004.0 => Err(Fault::Fatal(message)),
            1005.0 => panic!("{message}"),
            _ => Ok(()),
        }
    }
}

/// Value references of [`Linear`].
pub(crate) const U: u32 = 0;
pub(crate) const Y: u32 = 1;
pub(crate) const RATE: u32 = 2;
pub(crate) const GAIN: u32 = 3;
pub(crate) const X_START: u32 = 4;
pub(crate) const X: u32 = 5;
pub(crate) const STEP_SIZE: u32 = 6;
pub(crate) const CACHED_OUTPUTS: u32 = 0;

/// x'' = −ω²·x by symplectic Euler, ω² = 4.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pendulum(pub(crate) [f64; 3]);

impl Default for Pendulum {
    fn default() -> Self {
        Self([1.0, 0.5, 8.0])
    }
}

impl Model for Pendulum {
    const NAME: &'static str = "Pendulum";
    const DESCRIPTION: &'static str = "An oscillator, and a third state that decays";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 1;

    fn variables() -> Vec<Variable<Self>> {
        vec![
            Variable::<Self>::output_real("x", |m| &mut m.0[0], "position"),
            Variable::<Self>::output_real("v", |m| &mut m.0[1], "velocity"),
            Variable::<Self>::output_real("z", |m| &mut m.0[2], "a third state").local(),
        ]
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.0
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        rates.copy_from_slice(&[self.0[1], -4.0 * self.0[0], -self.0[2]]);
    }
}
