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

use fmu_kit::{Enumeration, Integrator, start_values};
use serde::{Deserialize, Serialize};

start_values! {
    /// Spring and damper between wheel and chassis.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub(crate) struct Suspension {
        pub(crate) k_c: f64 = 15e3,
        pub(crate) d_c: f64 = 1e3,
        pub(crate) exponent: f64 = 1.0,
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

start_values! {
    /// The road, which steps up at the start and may step again.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub(crate) struct Road {
        pub(crate) step: f64 = 0.1,
        pub(crate) second_step: f64,
        pub(crate) second_time: f64 = 2.0,
        /// The height that the wheel feels, m.
        pub(crate) height: f64,
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

start_values! {
    /// How the states are advanced over a communication step.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub(crate) struct Stepping {
        pub(crate) micro_steps: i32 = 256,
        pub(crate) integrator: i32 = FORWARD_EULER,
    }
}

const FORWARD_EULER: i32 = 1;

impl Stepping {
    pub(crate) fn integrator(&self) -> Integrator {
        match self.integrator {
            FORWARD_EULER => Integrator::ForwardEuler,
            _ => Integrator::RungeKutta4,
        }
    }
}

pub(crate) const INTEGRATOR: Enumeration = Enumeration {
    name: "Integrator",
    description: "How the states are advanced over a micro-step",
    items: &[
        ("forward_euler", "order 1, inputs at the start"),
        ("runge_kutta_4", "order 4, inputs at start, middle and end"),
    ],
};

/// The parameters of the field `stepping`, a [`Stepping`].
macro_rules! stepping_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            parameter_integer "micro_steps" = stepping.micro_steps,
                "number of micro-steps that each communication step is divided into",
                min(1.0), max(1e6);
            parameter_enumeration "integrator" = stepping.integrator
                of $crate::quarter_car_elements::INTEGRATOR, "method of the micro-steps";
        }
    };
}

/// The parameters of the field `suspension`, a [`Suspension`].
macro_rules! suspension_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            parameter_real "k_c" = suspension.k_c in NEWTON_PER_METRE,
                "stiffness of the suspension spring";
            parameter_real "d_c" = suspension.d_c in NEWTON_SECOND_PER_METRE,
                "damper coefficient; N.(s/m)^p with p = damper_exponent";
            parameter_real "damper_exponent" = suspension.exponent,
                "p of the damper force d_c.sgn(v).|v|^p", min(1e-9);
        }
    };
}

/// The parameters of the field `road`, a [`Road`].
macro_rules! road_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            parameter_real "road_step" = road.step in METRE, "height of the road from the start";
            parameter_real "second_road_step" = road.second_step in METRE,
                "further change of the height at second_road_time";
            parameter_real "second_road_time" = road.second_time in SECOND,
                "time of the second road step";
        }
    };
}

pub(crate) use {road_variables, stepping_variables, suspension_variables};
