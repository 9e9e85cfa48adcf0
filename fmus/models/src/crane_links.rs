//! The two links of a hydraulic crane, moved by the force of its cylinder.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};

use crate::two_links::TwoLinks;

type LinksVariable = Variable<CraneLinks>;

start_values! {
    /// Two rods in a plane: link 1, a uniform rod, turns about the origin and carries a point mass m2
    /// at its end, from which link 2, massless with a point mass m3 at its end, hangs. A cylinder
    /// between the fixed point B and the middle of link 1 pushes with the force f along its length s.
    /// Minimal coordinates θ1, θ2, the angles of the links above the x axis; no direct feed-through.
    ///
    /// Rodríguez et al. (2022), section 4.4; defaults are table 5.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct CraneLinks {
        links: TwoLinks = TwoLinks {
            l1: 1.0,
            l2: 0.5,
            m1: 200.0,
            m2: 250.0,
            m3: 100.0,
        },
        x_b: f64 = 0.75_f64.sqrt(),
        y_b: f64,
        theta1_start: f64 = FRAC_PI_6,
        theta2_start: f64 = 3.0 * FRAC_PI_2,
        f: f64,
        s: f64,
        v: f64,
        state: [f64; 4],
    }
}

impl CraneLinks {
    /// Length of the cylinder, m, and its derivative by θ1, m/rad.
    fn cylinder(&self) -> (f64, f64) {
        let (sin, cos) = self.state[0].sin_cos();
        let half = self.links.l1 / 2.0;
        let (dx, dy) = (half * cos - self.x_b, half * sin - self.y_b);
        let length = dx.hypot(dy);
        (length, half * (cos * dy - sin * dx) / length)
    }
}

impl Model for CraneLinks {
    const NAME: &'static str = "CraneLinks";
    const DESCRIPTION: &'static str =
        "The two links of a hydraulic crane, moved by the force of its cylinder";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 2;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = coupling();
        variables.extend(motion());
        variables.extend(parameters());
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [self.theta1_start, self.theta2_start, 0.0, 0.0];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let (_, lever) = self.cylinder();
        let torques = [lever * self.f, 0.0];
        let [alpha1, alpha2] = self.links.accelerations(&self.state, torques);
        rates.copy_from_slice(&[self.state[2], self.state[3], alpha1, alpha2]);
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        let (length, lever) = self.cylinder();
        self.s = length;
        self.v = lever * self.state[2];
        Ok(())
    }

    fn partial_derivative(&self, _unknown: &str, known: &str) -> Option<f64> {
        (known == "f").then_some(0.0)
    }
}

fn coupling() -> Vec<LinksVariable> {
    variables! { CraneLinks:
        input_real "f" = f in NEWTON, "force of the cylinder, positive outwards";
        output_real "s" = s in METRE, "length of the cylinder",
            starts_from(&["l1", "x_b", "y_b", "theta1_start"]);
        output_real "v" = v in METRE_PER_SECOND, "rate of the cylinder's length";
    }
}

fn motion() -> Vec<LinksVariable> {
    variables! { CraneLinks:
        output_real "theta1" = state[0] in RADIAN, "angle of link 1",
            starts_from(&["theta1_start"]);
        output_real "theta2" = state[1] in RADIAN, "angle of link 2",
            starts_from(&["theta2_start"]);
        output_real "omega1" = state[2] in RADIAN_PER_SECOND, "rate of theta1";
        output_real "omega2" = state[3] in RADIAN_PER_SECOND, "rate of theta2";
    }
}

fn parameters() -> Vec<LinksVariable> {
    variables! { CraneLinks:
        parameter_real "l1" = links.l1 in METRE, "length of link 1", min(1e-9);
        parameter_real "l2" = links.l2 in METRE, "length of link 2", min(1e-9);
        parameter_real "m1" = links.m1 in KILOGRAM, "mass of link 1, a uniform rod", min(1e-9);
        parameter_real "m2" = links.m2 in KILOGRAM, "point mass between the links", min(0.0);
        parameter_real "m3" = links.m3 in KILOGRAM, "point mass at the end of link 2", min(1e-9);
        parameter_real "x_b" = x_b in METRE, "position of the fixed point B";
        parameter_real "y_b" = y_b in METRE, "height of the fixed point B";
        parameter_real "theta1_start" = theta1_start in RADIAN,
            "initial angle of link 1 above the x axis";
        parameter_real "theta2_start" = theta2_start in RADIAN,
            "initial angle of link 2 above the x axis";
    }
}
