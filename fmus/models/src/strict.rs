//! A model that insists on the order of calls, to test importers.

use fmu_kit::{Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// A lag with feed-through: ẋ = rate·(u − x), y = x + gain·u.
    ///
    /// Its FMU answers every call that FMI 2.0 does not allow (table of section 4.2.4) with an error,
    /// also what many importers do and most FMUs let pass: reading between steps after values were set, and
    /// reading inputs and parameters in Initialization Mode.
    /// Values that are set before `fmi2SetupExperiment` are lost, as in FMUs of 20-sim.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Strict {
        u: f64,
        y: f64,
        rate: f64 = 2.0,
        gain: f64 = 0.5,
        state: [f64; 1] = [1.0],
    }
}

impl Model for Strict {
    const NAME: &'static str = "Strict";
    const DESCRIPTION: &'static str = "A lag that refuses every call that FMI 2.0 does not allow";
    const INTERPOLATES_INPUTS: bool = true;
    const IS_STRICT: bool = true;
    const RESETS_IN_SETUP: bool = true;

    fn variables() -> Vec<Variable<Self>> {
        variables! { Strict:
            input_real "u" = u, "input";
            output_real "x" = state[0], "lagging output";
            output_real "y" = y, "output with feed-through",
                depends_on(&["u"]), starts_from(&["gain"]);
            parameter_real "rate" = rate, "how fast x follows u, 1/s";
            parameter_real "gain" = gain, "of the feed-through";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), fmu_kit::Fault> {
        self.state = [1.0];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        rates[0] = self.rate * (self.u - self.state[0]);
    }

    fn outputs(&mut self, _time: f64) -> Result<(), fmu_kit::Fault> {
        self.y = self.state[0] + self.gain * self.u;
        Ok(())
    }
}
