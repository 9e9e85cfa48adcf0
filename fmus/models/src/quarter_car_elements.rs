//! Elements that the four halves of the quarter car share.
//!
//! The quarter car of Sadjina & Pedersen (2019), section 5, is a chassis on spring and damper, on
//! a wheel, on a tyre that is a spring to the road:
//!
//! m_c·v_c' = F, m_w·v_w' = k_w·(z − z_w) − F, F = k_c·(z_w − z_c) + F_d(v_w − v_c).
//!
//! It is at rest at height 0 when the road steps up to `road_step` at the start. Defaults are
//! table 2; table 3, the nonlinear damper, is d_c = 900 and damper_exponent = 0.5.
//!
//! In all four models F is the force of the suspension, counted as it lifts the chassis and
//! presses down the wheel, and velocities count upwards. So F·v_c is the power into the chassis
//! and F·v_w the power out of the wheel: as a power bond whose effort is F, reticulation 1
//! (F to the chassis, v_c back) has sense 1 and reticulation 2 (F to the wheel, v_w back) sense −1.

use fmu_kit::{Access, Enumeration, Integrator, Variable, unit};
use serde::{Deserialize, Serialize};

/// Spring and damper between wheel and chassis.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Suspension {
    pub(crate) k_c: f64,
    pub(crate) d_c: f64,
    pub(crate) exponent: f64,
}

impl Default for Suspension {
    fn default() -> Self {
        Self {
            k_c: 15e3,
            d_c: 1e3,
            exponent: 1.0,
        }
    }
}

impl Suspension {
    /// Force, N, at `stretch` = z_w − z_c in m and `rate` = v_w − v_c in m/s.
    pub(crate) fn force(&self, stretch: f64, rate: f64) -> f64 {
        self.k_c * stretch + self.d_c * rate.signum() * rate.abs().powf(self.exponent)
    }

    /// ∂force/∂rate, N·s/m, where it is finite: not at rate 0 if the exponent is below 1.
    pub(crate) fn damping(&self, rate: f64) -> Option<f64> {
        let slope = self.d_c * self.exponent * rate.abs().powf(self.exponent - 1.0);
        slope.is_finite().then_some(slope)
    }
}

/// The road, which steps up at the start and may step again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Road {
    pub(crate) step: f64,
    pub(crate) second_step: f64,
    pub(crate) second_time: f64,
    /// The height that the wheel feels, m.
    pub(crate) height: f64,
}

impl Default for Road {
    fn default() -> Self {
        Self {
            step: 0.1,
            second_step: 0.0,
            second_time: 2.0,
            height: 0.0,
        }
    }
}

impl Road {
    /// Sets the height of the given time, s.
    pub(crate) fn move_to(&mut self, time: f64) {
        self.height = if time < self.second_time {
            self.step
        } else {
            self.step + self.second_step
        };
    }

    /// Sets the height for the micro-step after the one from `start` to `end` in s. The second step
    /// is taken at the end of a micro-step, the nearest one, so that no stage of an integrator
    /// sees both heights and rounding of the time makes no difference.
    pub(crate) fn after_step(&mut self, start: f64, end: f64) {
        self.move_to(end + 0.5 * (end - start));
    }
}

/// How the states are advanced over a communication step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stepping {
    pub(crate) micro_steps: i32,
    pub(crate) integrator: i32,
}

const FORWARD_EULER: i32 = 1;

impl Default for Stepping {
    fn default() -> Self {
        Self {
            micro_steps: 256,
            integrator: FORWARD_EULER,
        }
    }
}

impl Stepping {
    pub(crate) fn integrator(&self) -> Integrator {
        match self.integrator {
            FORWARD_EULER => Integrator::ForwardEuler,
            _ => Integrator::RungeKutta4,
        }
    }
}

const INTEGRATOR: Enumeration = Enumeration {
    name: "Integrator",
    description: "How the states are advanced over a micro-step",
    items: &[
        ("forward_euler", "order 1, inputs at the start"),
        ("runge_kutta_4", "order 4, inputs at start, middle and end"),
    ],
};

/// The parameters of [`Stepping`].
pub(crate) fn stepping_rows<M>(
    micro_steps: Access<M, i32>,
    integrator: Access<M, i32>,
) -> [Variable<M>; 2] {
    [
        Variable::parameter_integer(
            "micro_steps",
            micro_steps,
            "number of micro-steps that each communication step is divided into",
        )
        .min(1.0)
        .max(1e6),
        Variable::parameter_enumeration(
            "integrator",
            integrator,
            &INTEGRATOR,
            "method of the micro-steps",
        ),
    ]
}

/// The parameters of [`Suspension`].
pub(crate) fn suspension_rows<M>(
    k_c: Access<M, f64>,
    d_c: Access<M, f64>,
    exponent: Access<M, f64>,
) -> [Variable<M>; 3] {
    [
        Variable::parameter_real("k_c", k_c, "stiffness of the suspension spring")
            .unit(unit::NEWTON_PER_METRE),
        Variable::parameter_real(
            "d_c",
            d_c,
            "damper coefficient; N.(s/m)^p with p = damper_exponent",
        )
        .unit(unit::NEWTON_SECOND_PER_METRE),
        Variable::parameter_real(
            "damper_exponent",
            exponent,
            "p of the damper force d_c.sgn(v).|v|^p",
        )
        .min(1e-9),
    ]
}

/// The parameters of [`Road`].
pub(crate) fn road_rows<M>(
    step: Access<M, f64>,
    second_step: Access<M, f64>,
    second_time: Access<M, f64>,
) -> [Variable<M>; 3] {
    [
        Variable::parameter_real("road_step", step, "height of the road from the start")
            .unit(unit::METRE),
        Variable::parameter_real(
            "second_road_step",
            second_step,
            "further change of the height at second_road_time",
        )
        .unit(unit::METRE),
        Variable::parameter_real(
            "second_road_time",
            second_time,
            "time of the second road step",
        )
        .unit(unit::SECOND),
    ]
}
