//! A function with known sensitivities, for studies.

use fmu_kit::{Fault, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// y = sin x₁ + a·sin² x₂ + b·x₃⁴·sin x₁, constant in time.
    ///
    /// Ishigami & Homma (1990); with x uniform in −π … π the Sobol indices are known in closed form.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Ishigami {
        x1: f64,
        x2: f64,
        x3: f64,
        a: f64 = 7.0,
        b: f64 = 0.1,
        y: f64,
    }
}

impl Model for Ishigami {
    const NAME: &'static str = "Ishigami";
    const DESCRIPTION: &'static str = "Function of three parameters with known Sobol indices";
    const STOP_TIME: f64 = 1.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { Ishigami:
            output_real "y" = y, "sin x1 + a.sin^2 x2 + b.x3^4.sin x1",
                starts_from(&["x1", "x2", "x3", "a", "b"]);
            parameter_real "x1" = x1, "first parameter";
            parameter_real "x2" = x2, "second parameter, without interaction";
            parameter_real "x3" = x3, "third parameter, of influence by interaction alone";
            parameter_real "a" = a, "coefficient of the second term";
            parameter_real "b" = b, "coefficient of the third term";
        }
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        let (sine, second) = (self.x1.sin(), self.x2.sin());
        self.y = sine + self.a * second * second + self.b * self.x3.powi(4) * sine;
        Ok(())
    }
}
