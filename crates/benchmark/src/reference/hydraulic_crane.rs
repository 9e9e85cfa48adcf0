//! A crane of two links that a hydraulic cylinder moves.

use std::f64::consts::PI;

use super::{GRAVITY, Reference};

/// The crane of Rodríguez et al. (2022), section 4.4.
///
/// The state is θ1, θ2, θ1', θ2', p1, p2: the angles of the links above the x axis in rad, their
/// rates in rad/s, the pressures of the chambers in Pa. The energy is the links'.
#[derive(Debug, Clone, PartialEq)]
pub struct HydraulicCrane {
    /// Length of link 1, m.
    pub l1: f64,
    /// Length of link 2, m.
    pub l2: f64,
    /// Length of both chambers together, m.
    pub l3: f64,
    /// Mass of link 1, kg.
    pub m1: f64,
    /// Point mass between the links, kg.
    pub m2: f64,
    /// Point mass at the end of link 2, kg.
    pub m3: f64,
    /// x coordinate of the fixed end of the cylinder, on the x axis, m.
    pub x_b: f64,
    /// Initial angle of link 1, rad. Link 2 hangs.
    pub theta1_start: f64,
    /// Friction of the piston, N·s/m.
    pub c: f64,
    /// Area of the piston, m².
    pub a_p: f64,
    /// Compressibility of the fluid, 1/Pa.
    pub a: f64,
    /// Its change with pressure, 1/Pa².
    pub b: f64,
    /// Discharge coefficient of the valve.
    pub c_d: f64,
    /// Density of the fluid, kg/m³.
    pub rho: f64,
    /// Pressure of the pump, Pa.
    pub p_pump: f64,
    /// Pressure of the tank, Pa.
    pub p_tank: f64,
    /// Area of the open valve, m².
    pub valve_area: f64,
    /// Frequency of the spool, Hz.
    pub spool_frequency: f64,
}

impl HydraulicCrane {
    /// Table 5 of the paper, with ω of eq. 33 read as a frequency in Hz: with 2 rad/s the cylinder
    /// would leave the range that the paper's figures show.
    #[must_use]
    pub fn table_5() -> Self {
        Self {
            l1: 1.0,
            l2: 0.5,
            l3: 0.442,
            m1: 200.0,
            m2: 250.0,
            m3: 100.0,
            x_b: 0.75_f64.sqrt(),
            theta1_start: PI / 6.0,
            c: 1e5,
            a_p: 65e-4,
            a: 6.53e-10,
            b: -1.19e-18,
            c_d: 0.67,
            rho: 850.0,
            p_pump: 7.6e6,
            p_tank: 1e5,
            valve_area: 5e-4,
            spool_frequency: 2.0,
        }
    }

    /// Length of the cylinder, m, and its derivative by θ1, m/rad: the law of cosines.
    fn cylinder(&self, theta1: f64) -> (f64, f64) {
        let half = self.l1 / 2.0;
        let squares = half * half + self.x_b * self.x_b;
        let length = (squares - 2.0 * half * self.x_b * theta1.cos()).sqrt();
        (length, half * self.x_b * theta1.sin() / length)
    }

    /// Length of the cylinder in `state`, m.
    #[must_use]
    pub fn length(&self, state: &[f64]) -> f64 {
        self.cylinder(state[0]).0
    }

    /// Force of the cylinder in `state`, N.
    #[must_use]
    pub fn force(&self, state: &[f64]) -> f64 {
        let speed = self.cylinder(state[0]).1 * state[2];
        self.a_p * (state[5] - state[4]) - self.c * speed
    }

    /// Force that holds the links where they start, N: a balance of torques.
    #[must_use]
    pub fn holding_force(&self) -> f64 {
        let (_, lever) = self.cylinder(self.theta1_start);
        self.weight(self.theta1_start) / lever
    }

    /// Torque of gravity about the pivot when link 2 hangs, or is free of the pivot, N·m.
    fn weight(&self, theta1: f64) -> f64 {
        (self.m1 / 2.0 + self.m2 + self.m3) * GRAVITY * self.l1 * theta1.cos()
    }

    /// Pressures at which the cylinder holds the links, Pa, and the position of the spool there.
    #[must_use]
    pub fn equilibrium(&self) -> ([f64; 2], f64) {
        let half_difference = self.holding_force() / self.a_p / 2.0;
        let mean = (self.p_pump + self.p_tank) / 2.0;
        let p1 = mean - half_difference;
        // Equal flows from the pump and to the tank: γ·√(pP − p1) = (1 − γ)·√(p1 − pT).
        let (from_pump, to_tank) = ((self.p_pump - p1).sqrt(), (p1 - self.p_tank).sqrt());
        let spool = to_tank / (from_pump + to_tank);
        ([p1, mean + half_difference], spool)
    }

    /// Position of the spool (eq. 33).
    fn spool(&self, time: f64) -> f64 {
        let amplitude = match time {
            ..1.0 => 0.1 * time,
            ..8.0 => 0.1,
            ..9.0 => 0.1 * (9.0 - time),
            _ => 0.0,
        };
        let swing = (2.0 * PI * self.spool_frequency * time).sin();
        self.equilibrium().1 * (1.0 - amplitude * swing)
    }

    /// Angular accelerations of the links, rad/s².
    fn accelerations(&self, state: &[f64]) -> [f64; 2] {
        let [m11, m12, m22] = self.inertia(state);
        let (_, lever) = self.cylinder(state[0]);
        let centrifugal = self.l1 * self.l2 * self.m3 * (state[0] - state[1]).sin();
        let weight2 = self.m3 * GRAVITY * self.l2 * state[1].cos();
        let q1 = self.force(state) * lever - self.weight(state[0]) - centrifugal * state[3].powi(2);
        let q2 = centrifugal * state[2].powi(2) - weight2;
        let determinant = m11 * m22 - m12 * m12;
        [
            (m22 * q1 - m12 * q2) / determinant,
            (m11 * q2 - m12 * q1) / determinant,
        ]
    }

    /// Elements 11, 12 and 22 of the mass matrix, kg·m².
    fn inertia(&self, state: &[f64]) -> [f64; 3] {
        let cos = (state[0] - state[1]).cos();
        [
            self.l1 * self.l1 * (self.m1 / 3.0 + self.m2 + self.m3),
            self.l1 * self.l2 * self.m3 * cos,
            self.l2 * self.l2 * self.m3,
        ]
    }

    /// Rates of the pressures, Pa/s (eqs 26, 27).
    fn pressure_rates(&self, time: f64, state: &[f64]) -> [f64; 2] {
        let gamma = self.spool(time);
        let flow = |opening: f64, from: f64, to: f64| {
            let speed = (2.0 / self.rho * (from - to).max(0.0)).sqrt();
            self.valve_area * opening * self.c_d * speed
        };
        let (length, lever) = self.cylinder(state[0]);
        let (out, swept) = (
            length - self.cylinder(self.theta1_start).0,
            self.a_p * lever * state[2],
        );
        let chamber = |p: f64, pump: f64, outwards: f64| {
            let gain = flow(pump, self.p_pump, p) - flow(1.0 - pump, p, self.p_tank);
            let modulus = (1.0 + self.a * p + self.b * p * p) / (self.a + 2.0 * self.b * p);
            let volume = self.a_p * (self.l3 / 2.0 + outwards * out);
            modulus / volume * (gain - outwards * swept)
        };
        [
            chamber(state[4], gamma, -1.0),
            chamber(state[5], 1.0 - gamma, 1.0),
        ]
    }
}

impl Reference for HydraulicCrane {
    fn start(&self) -> Vec<f64> {
        let ([p1, p2], _) = self.equilibrium();
        vec![self.theta1_start, 1.5 * PI, 0.0, 0.0, p1, p2]
    }

    fn rates(&self, time: f64, state: &[f64], rates: &mut [f64]) {
        let [alpha1, alpha2] = self.accelerations(state);
        let [rate1, rate2] = self.pressure_rates(time, state);
        rates.copy_from_slice(&[state[2], state[3], alpha1, alpha2, rate1, rate2]);
    }

    fn energy(&self, state: &[f64]) -> f64 {
        let [m11, m12, m22] = self.inertia(state);
        let (omega1, omega2) = (state[2], state[3]);
        let kinetic = m11 * omega1 * omega1 + 2.0 * m12 * omega1 * omega2 + m22 * omega2 * omega2;
        let lifted1 = (self.m1 / 2.0 + self.m2 + self.m3) * self.l1 * state[0].sin();
        let lifted2 = self.m3 * self.l2 * state[1].sin();
        kinetic / 2.0 + GRAVITY * (lifted1 + lifted2)
    }
}
