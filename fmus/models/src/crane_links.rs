//! The two links of a hydraulic crane, moved by the force of its cylinder.

use fmu_kit::{Fault, Integrator, Model, Variable, unit};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};

use crate::two_links::TwoLinks;

type Row = Variable<CraneLinks>;

/// Two rods in a plane: link 1, a uniform rod, turns about the origin and carries a point mass m2
/// at its end, from which link 2, massless with a point mass m3 at its end, hangs. A cylinder
/// between the fixed point B and the middle of link 1 pushes with the force f along its length s.
/// Minimal coordinates θ1, θ2, the angles of the links above the x axis; no direct feed-through.
///
/// Rodríguez et al. (2022), section 4.4; defaults are table 5.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CraneLinks {
    links: TwoLinks,
    x_b: f64,
    y_b: f64,
    theta1_start: f64,
    theta2_start: f64,
    f: f64,
    s: f64,
    v: f64,
    state: [f64; 4],
}

impl Default for CraneLinks {
    fn default() -> Self {
        Self {
            links: TwoLinks {
                l1: 1.0,
                l2: 0.5,
                m1: 200.0,
                m2: 250.0,
                m3: 100.0,
            },
            x_b: 0.75_f64.sqrt(),
            y_b: 0.0,
            theta1_start: FRAC_PI_6,
            theta2_start: 3.0 * FRAC_PI_2,
            f: 0.0,
            s: 0.0,
            v: 0.0,
            state: [0.0; 4],
        }
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

fn coupling() -> Vec<Row> {
    vec![
        Row::input_real(
            "f",
            |m| &mut m.f,
            "force of the cylinder, positive outwards",
        )
        .unit(unit::NEWTON),
        Row::output_real("s", |m| &mut m.s, "length of the cylinder")
            .unit(unit::METRE)
            .starts_from(&["l1", "x_b", "y_b", "theta1_start"]),
        Row::output_real("v", |m| &mut m.v, "rate of the cylinder's length")
            .unit(unit::METRE_PER_SECOND),
    ]
}

fn motion() -> Vec<Row> {
    vec![
        Row::output_real("theta1", |m| &mut m.state[0], "angle of link 1")
            .unit(unit::RADIAN)
            .starts_from(&["theta1_start"]),
        Row::output_real("theta2", |m| &mut m.state[1], "angle of link 2")
            .unit(unit::RADIAN)
            .starts_from(&["theta2_start"]),
        Row::output_real("omega1", |m| &mut m.state[2], "rate of theta1")
            .unit(unit::RADIAN_PER_SECOND),
        Row::output_real("omega2", |m| &mut m.state[3], "rate of theta2")
            .unit(unit::RADIAN_PER_SECOND),
    ]
}

fn parameters() -> Vec<Row> {
    vec![
        Row::parameter_real("l1", |m| &mut m.links.l1, "length of link 1")
            .unit(unit::METRE)
            .min(1e-9),
        Row::parameter_real("l2", |m| &mut m.links.l2, "length of link 2")
            .unit(unit::METRE)
            .min(1e-9),
        Row::parameter_real("m1", |m| &mut m.links.m1, "mass of link 1, a uniform rod")
            .unit(unit::KILOGRAM)
            .min(1e-9),
        Row::parameter_real("m2", |m| &mut m.links.m2, "point mass between the links")
            .unit(unit::KILOGRAM)
            .min(0.0),
        Row::parameter_real("m3", |m| &mut m.links.m3, "point mass at the end of link 2")
            .unit(unit::KILOGRAM)
            .min(1e-9),
        Row::parameter_real("x_b", |m| &mut m.x_b, "position of the fixed point B")
            .unit(unit::METRE),
        Row::parameter_real("y_b", |m| &mut m.y_b, "height of the fixed point B").unit(unit::METRE),
        Row::parameter_real(
            "theta1_start",
            |m| &mut m.theta1_start,
            "initial angle of link 1 above the x axis",
        )
        .unit(unit::RADIAN),
        Row::parameter_real(
            "theta2_start",
            |m| &mut m.theta2_start,
            "initial angle of link 2 above the x axis",
        )
        .unit(unit::RADIAN),
    ]
}
