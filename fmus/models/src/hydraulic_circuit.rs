//! The hydraulic circuit of an actuator: valve, throttle, cylinder.

use fmu_kit::{Enumeration, Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

use crate::hydraulic_piston::Piston;
use crate::spool_program::{self, SPOOL_PROGRAMS};

type CircuitVariable = Variable<HydraulicCircuit>;

start_values! {
    /// Three volumes of oil: 1 and 2 on both sides of the piston, 3 between the directional valve and a
    /// throttle to volume 1. The force f = p1·A1 − p2·A2 − c·v + dampers follows the inputs s and v at
    /// once (direct feed-through); the pressures and the spool do not.
    ///
    /// Rahikainen et al. (2020), section 3.2, and table 2, where printed: the printed volume of hose 3
    /// cannot be integrated by forward Euler at 0.1 ms, so that its default is ten times that, and a
    /// throttle of 2.5 mm keeps the circuit about as stiff. Orifices are laminar below 2 bar, as
    /// in Project Chrono's `ChHydraulicCircuit`, which also has another circuit of that paper's authors:
    /// throttle 6 mm, hose 3 of 4.71e-5 m³.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct HydraulicCircuit {
        pub(crate) piston: Piston = Piston::FIRST,
        pub(crate) v_h1: f64 = 3.14e-5,
        pub(crate) v_h2: f64 = 7.85e-5,
        pub(crate) v_h3: f64 = 7.85e-6,
        pub(crate) throttle_diameter: f64 = 2.5e-3,
        pub(crate) spool_program: i32 = spool_program::INPUT,
        pub(crate) load: f64 = weight(Throttle::Narrow.masses()),
        b_o: f64 = 1.5e9,
        b_c: f64 = 3.15e10,
        b_h: f64 = 1.5e8,
        rho: f64 = 850.0,
        throttle_discharge: f64 = 0.8,
        c_v: f64 = 1.069e-8,
        valve_frequency: f64 = 35.0,
        p_pump: f64 = 7.6e6,
        p_tank: f64 = 1e5,
        p2_start: f64 = 3.5e6,
        integrator: i32 = 1,
        u_ref: f64,
        s: f64 = 0.5,
        v: f64,
        f: f64,
        f_p: f64,
        f_p_rate: f64,
        k_eff: f64,
        /// Spool position U, V, and pressures p1, p2, p3, Pa.
        state: [f64; 4],
    }
}

/// Variants of the hydraulic circuits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Throttle {
    /// A throttle of 2.5 mm: the actuators are about as stiff as the printed ones.
    Narrow,
    /// A throttle of 6 mm, through which the greater volume 3 makes the actuators softer.
    Wide,
    /// A throttle of 4 mm, pistons with less friction, the programs of the spools exchanged, and heavier masses on the links: a
    /// crane of this project, on which couplings that suit the others fail.
    Medium,
    /// As [`Medium`](Self::Medium), with a sixth of its friction: a vibration that a coupling excites dies away slowly.
    Slippery,
}

impl Throttle {
    /// Whether the crane is one of this project: masses, friction, throttles, hoses and programs are not those of the paper.
    #[must_use]
    pub fn is_own(self) -> bool {
        matches!(self, Self::Medium | Self::Slippery)
    }

    /// Point masses between the links and at the end, kg.
    pub(crate) fn masses(self) -> [f64; 2] {
        match self {
            Self::Narrow | Self::Wide => [250.0, 100.0],
            Self::Medium | Self::Slippery => [400.0, 180.0],
        }
    }
}

/// Load of actuator 1 at the start, N, under masses between the links and at their end, kg: balance of the torques on link 1, with the
/// lever of the actuator half that of its end.
fn weight([between, at_end]: [f64; 2]) -> f64 {
    (200.0 + 2.0 * between + 2.0 * at_end) * 9.81
}

static INTEGRATORS: Enumeration = Enumeration {
    name: "HydraulicIntegrator",
    description: "How the circuit is integrated",
    items: &[
        ("euler", "forward Euler"),
        ("runge-kutta-4", "the classic method of Runge and Kutta"),
        ("trapezoidal", "the implicit trapezoidal rule"),
    ],
};

/// Pressure difference below which orifices are laminar, Pa.
const LAMINAR: f64 = 2e5;
/// Spool positions below this are closed, V.
const DEAD_ZONE: f64 = 1e-5;
/// Least length of a chamber, m.
const LEAST_LENGTH: f64 = 2e-4;

/// Volume flow through an orifice of the coefficient `c` under the pressure difference `dp`, m³/s
/// (eqs 30, 31).
fn orifice_flow(c: f64, dp: f64) -> f64 {
    if dp.abs() >= LAMINAR {
        c * dp.signum() * dp.abs().sqrt()
    } else {
        c * dp / LAMINAR.sqrt()
    }
}

impl HydraulicCircuit {
    /// The circuit of `actuator` 1 or 2 with its spool program, at rest under the weight of the crane.
    /// The second one, whose values the paper does not print, is a slightly greater one.
    #[must_use]
    pub fn of(actuator: usize, throttle: Throttle) -> Self {
        let is_first = actuator == 1;
        let (mut piston, v_h1, v_h2) = if is_first {
            (Piston::FIRST, 3.14e-5, 7.85e-5)
        } else {
            (Piston::SECOND, 3.93e-5, 9.42e-5)
        };
        match throttle {
            Throttle::Medium => piston.c = 6e4,
            Throttle::Slippery => piston.c = 1e4,
            Throttle::Narrow | Throttle::Wide => {}
        }
        let load = if is_first {
            weight(throttle.masses())
        } else {
            0.0
        };
        let has_first_program = is_first != throttle.is_own();
        let spool_program = if has_first_program {
            spool_program::FIRST
        } else {
            spool_program::SECOND
        };
        let (throttle_diameter, v_h3) = match (throttle, is_first) {
            (Throttle::Narrow, true) => (2.5e-3, 7.85e-6),
            (Throttle::Narrow, false) => (2.5e-3, 9.42e-6),
            (Throttle::Wide, true) => (6e-3, 4.71e-5),
            (Throttle::Wide, false) => (6e-3, 5.5e-5),
            (Throttle::Medium | Throttle::Slippery, true) => (4e-3, 1.5e-5),
            (Throttle::Medium | Throttle::Slippery, false) => (4e-3, 1.8e-5),
        };
        Self {
            piston,
            v_h1,
            v_h2,
            v_h3,
            throttle_diameter,
            load,
            spool_program,
            ..Self::default()
        }
    }

    /// The real parameters in which [`of`](Self::of) differs from the default, by name.
    #[must_use]
    pub fn parameters(&self) -> [(&'static str, f64); 8] {
        [
            ("l1_start", self.piston.l1_start),
            ("l2_start", self.piston.l2_start),
            ("load", self.load),
            ("s_start", self.piston.s_start),
            ("throttle_diameter", self.throttle_diameter),
            ("v_h1", self.v_h1),
            ("v_h2", self.v_h2),
            ("v_h3", self.v_h3),
        ]
    }

    /// Viscous friction of the piston, N·s/m.
    #[must_use]
    pub fn friction(&self) -> f64 {
        self.piston.c
    }

    /// Whether the spool follows the first of the two programs.
    #[must_use]
    pub fn has_first_program(&self) -> bool {
        self.spool_program == spool_program::FIRST
    }

    /// Areas of the piston on its own and on the rod's side, m².
    #[must_use]
    pub fn areas(&self) -> [f64; 2] {
        self.piston.areas()
    }

    /// Effective bulk modulus over volume of each of the three volumes, Pa/m³ (eq. 9).
    fn capacities(&self, s: f64) -> [f64; 3] {
        let chambers = self.piston.chambers(s).map(|l| l.max(LEAST_LENGTH));
        let areas = self.piston.areas();
        let beside_piston = |i: usize, hose: f64| {
            let chamber = areas[i] * chambers[i];
            let volume = hose + chamber;
            1.0 / (volume / self.b_o + chamber / self.b_c + hose / self.b_h)
        };
        [
            beside_piston(0, self.v_h1),
            beside_piston(1, self.v_h2),
            1.0 / (self.v_h3 * (1.0 / self.b_o + 1.0 / self.b_h)),
        ]
    }

    /// Volume flows Q31 through the throttle, and QV3 and Q2V through the valve, m³/s.
    fn flows(&self, [u, p1, p2, p3]: [f64; 4]) -> [f64; 3] {
        let area = PI / 4.0 * self.throttle_diameter * self.throttle_diameter;
        let throttle = self.throttle_discharge * area * (2.0 / self.rho).sqrt();
        let valve = self.c_v * u.abs();
        let (in_3, out_2) = if u > DEAD_ZONE {
            (
                orifice_flow(valve, self.p_pump - p3),
                orifice_flow(valve, p2 - self.p_tank),
            )
        } else if u < -DEAD_ZONE {
            (
                -orifice_flow(valve, p3 - self.p_tank),
                -orifice_flow(valve, self.p_pump - p2),
            )
        } else {
            (0.0, 0.0)
        };
        [orifice_flow(throttle, p3 - p1), in_3, out_2]
    }

    /// Rates of the state under the actuator's length `s`, its rate `v` and the spool's reference
    /// (eqs 27 to 29, 32).
    pub(crate) fn rates(&self, state: [f64; 4], s: f64, v: f64, u_ref: f64) -> [f64; 4] {
        let [c1, c2, c3] = self.capacities(s);
        let [a1, a2] = self.piston.areas();
        let [throttle, in_3, out_2] = self.flows(state);
        [
            2.0 * PI * self.valve_frequency * (u_ref - state[0]),
            c1 * (throttle - a1 * v),
            c2 * (a2 * v - out_2),
            c3 * (in_3 - throttle),
        ]
    }

    /// Where the spool is to go at `time` in s, V.
    pub(crate) fn spool_reference(&self, time: f64) -> f64 {
        spool_program::reference(self.spool_program, time).unwrap_or(self.u_ref)
    }

    /// The state at rest under the load.
    pub(crate) fn rest(&self) -> [f64; 4] {
        let [a1, a2] = self.piston.areas();
        let p1 = (self.load + self.p2_start * a2) / a1;
        [0.0, p1, self.p2_start, p1]
    }

    /// Stiffness of the oil: how the force of the pressures falls with the rate of the length, N/m.
    fn stiffness(&self) -> f64 {
        let [a1, a2] = self.piston.areas();
        let [c1, c2, _] = self.capacities(self.s);
        a1 * a1 * c1 + a2 * a2 * c2
    }

    /// Force of the actuator, N (eq. 33).
    pub(crate) fn force(&self, [_, p1, p2, _]: [f64; 4], s: f64, v: f64) -> f64 {
        self.piston.pressure_force([p1, p2]) + self.piston.passive_force(s, v)
    }
}

impl Model for HydraulicCircuit {
    const NAME: &'static str = "HydraulicCircuit";
    const DESCRIPTION: &'static str =
        "The hydraulic circuit of an actuator: valve, throttle, cylinder";
    const INTERPOLATES_INPUTS: bool = true;
    const STEP_SIZE: f64 = 1e-4;
    const STOP_TIME: f64 = 30.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = coupling();
        variables.extend(pressures());
        variables.extend(choices());
        variables.extend(piston_parameters());
        variables.extend(oil_parameters());
        variables.extend(valve_parameters());
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn integrator(&self) -> Integrator {
        match self.integrator {
            2 => Integrator::RungeKutta4,
            3 => Integrator::Trapezoidal,
            _ => Integrator::ForwardEuler,
        }
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = self.rest();
        Ok(())
    }

    fn derivatives(&self, time: f64, rates: &mut [f64]) {
        let u_ref = self.spool_reference(time);
        rates.copy_from_slice(&self.rates(self.state, self.s, self.v, u_ref));
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        let [a1, a2] = self.piston.areas();
        let [c1, c2, _] = self.capacities(self.s);
        let [throttle, _, out_2] = self.flows(self.state);
        let [_, p1, p2, _] = self.state;
        self.f_p = self.piston.pressure_force([p1, p2]);
        self.f = self.f_p + self.piston.passive_force(self.s, self.v);
        self.k_eff = self.stiffness();
        self.f_p_rate = a1 * c1 * throttle + a2 * c2 * out_2 - self.k_eff * self.v;
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        let (stiffness, damping) = self.piston.passive_stiffness(self.s);
        match (unknown, known) {
            ("f", "v") => Some(-damping),
            ("f", "s") => Some(-stiffness),
            ("f_p_rate", "v") => Some(-self.stiffness()),
            ("f_p_rate" | "k_eff", "s") => None,
            (_, "s" | "v" | "u_ref") => Some(0.0),
            _ => None,
        }
    }
}

/// Variables from which the pressures at the start are computed.
const REST: &[&str] = &["load", "p2_start", "d1", "d2"];

fn coupling() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        input_real "s" = s in METRE, "length of the actuator";
        input_real "v" = v in METRE_PER_SECOND, "rate of the actuator's length";
        input_real "u_ref" = u_ref in VOLT, "where the spool is to go, with spool_program = input";
        output_real "f" = f in NEWTON, "force of the actuator, positive outwards",
            depends_on(&["s", "v"]),
            starts_from(&["load", "p2_start", "d1", "d2", "c", "k_d", "c_d", "l_d", "l1_start", "l2_start", "s_start"]);
        output_real "f_p" = f_p in NEWTON, "force of the pressures alone", starts_from(REST);
        output_real "f_p_rate" = f_p_rate in NEWTON_PER_SECOND, "rate of f_p",
            depends_on(&["s", "v"]), starts_from(STIFFNESS);
        output_real "k_eff" = k_eff in NEWTON_PER_METRE, "stiffness of the oil: −∂f_p_rate/∂v",
            depends_on(&["s"]), starts_from(STIFFNESS);
    }
}

/// Variables from which the stiffness of the oil at the start is computed.
const STIFFNESS: &[&str] = &[
    "d1", "d2", "l1_start", "l2_start", "s_start", "v_h1", "v_h2", "b_o", "b_c", "b_h",
];

fn pressures() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        output_real "p1" = state[1] in PASCAL, "pressure on the piston's side, volume 1",
            starts_from(REST);
        output_real "p2" = state[2] in PASCAL, "pressure on the rod's side, volume 2",
            starts_from(&["p2_start"]);
        output_real "p3" = state[3] in PASCAL, "pressure between valve and throttle, volume 3",
            starts_from(REST);
        output_real "u" = state[0] in VOLT, "position of the spool";
    }
}

fn choices() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        parameter_enumeration "integrator" = integrator of INTEGRATORS,
            "how the circuit is integrated, by inner steps of step_size";
        parameter_enumeration "spool_program" = spool_program of SPOOL_PROGRAMS,
            "where the spool's reference comes from";
        parameter_real "load" = load in NEWTON, "force that f has at the start";
        parameter_real "p2_start" = p2_start in PASCAL,
            "initial pressure of volume 2; p1 = p3 follow from the load";
    }
}

fn piston_parameters() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        parameter_real "d1" = piston.d1 in METRE, "diameter of the piston", min(1e-9);
        parameter_real "d2" = piston.d2 in METRE, "diameter of the piston's rod", min(0.0);
        parameter_real "c" = piston.c in NEWTON_SECOND_PER_METRE, "viscous friction of the piston",
            min(0.0);
        parameter_real "k_d" = piston.k_d in NEWTON_PER_METRE, "stiffness of the end dampers",
            min(0.0);
        parameter_real "c_d" = piston.c_d in NEWTON_SECOND_PER_METRE, "damping of the end dampers",
            min(0.0);
        parameter_real "l_d" = piston.l_d in METRE, "length of the end dampers", min(0.0);
        parameter_real "l1_start" = piston.l1_start in METRE,
            "length of the chamber of volume 1 where s = s_start";
        parameter_real "l2_start" = piston.l2_start in METRE,
            "length of the chamber of volume 2 where s = s_start";
        parameter_real "s_start" = piston.s_start in METRE,
            "length of the actuator that l1_start and l2_start belong to";
    }
}

fn oil_parameters() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        parameter_real "v_h1" = v_h1 in CUBIC_METRE, "volume of hose 1", min(1e-12);
        parameter_real "v_h2" = v_h2 in CUBIC_METRE, "volume of hose 2", min(1e-12);
        parameter_real "v_h3" = v_h3 in CUBIC_METRE, "volume of hose 3, all of volume 3", min(1e-12);
        parameter_real "b_o" = b_o in PASCAL, "bulk modulus of the oil", min(1.0);
        parameter_real "b_c" = b_c in PASCAL, "bulk modulus of the cylinder", min(1.0);
        parameter_real "b_h" = b_h in PASCAL, "bulk modulus of the hoses", min(1.0);
        parameter_real "rho" = rho in KILOGRAM_PER_CUBIC_METRE, "density of the oil", min(1e-9);
    }
}

fn valve_parameters() -> Vec<CircuitVariable> {
    variables! { HydraulicCircuit:
        parameter_real "throttle_diameter" = throttle_diameter in METRE, "diameter of the throttle",
            min(0.0);
        parameter_real "throttle_discharge" = throttle_discharge,
            "discharge coefficient of the throttle", min(0.0);
        parameter_real "c_v" = c_v,
            "flow through the valve per volt and root of pascal, m³/(s·V·√Pa)", min(0.0);
        parameter_real "valve_frequency" = valve_frequency in HERTZ,
            "frequency at which the spool lags by 45°", min(0.0);
        parameter_real "p_pump" = p_pump in PASCAL, "pressure of the pump";
        parameter_real "p_tank" = p_tank in PASCAL, "pressure of the tank";
    }
}

#[cfg(test)]
mod tests {
    use super::{HydraulicCircuit, Throttle};

    /// Rates of u, p1, p2, p3 with the oil at rest but for the spool at `u` and the rate `v`.
    fn rates(actuator: usize, throttle: Throttle, u: f64, v: f64) -> [f64; 4] {
        let circuit = HydraulicCircuit::of(actuator, throttle);
        let [_, p1, p2, p3] = circuit.rest();
        circuit.rates([u, p1, p2, p3], circuit.piston.s_start, v, 0.0)
    }

    fn assert_near(found: [f64; 4], expected: [f64; 4]) {
        for (found, expected) in found.iter().zip(expected) {
            let error = (found - expected).abs();
            assert!(error <= 1e-7 * expected.abs(), "{found} is not {expected}");
        }
    }

    /// Values of `crates/benchmark/reference/hydraulics.py`, to eight digits.
    #[test]
    fn rates_at_the_start() {
        let closed = [0.0, -1.238_685_6e8, 3.162_172_7e7, 0.0];
        assert_near(rates(1, Throttle::Narrow, 0.0, 0.01), closed);
        let spool = -1_099.557_4;
        let first = |p3| [spool, -2.477_371_3e8, -1.343_485_3e7, p3];
        let second = |p3| [spool, -1.416_981_6e8, -1.436_913_8e7, p3];
        let open = |actuator, throttle| rates(actuator, throttle, 5.0, 0.02);
        assert_near(open(1, Throttle::Narrow), first(1.611_790_1e9));
        assert_near(open(1, Throttle::Wide), first(2.686_316_9e8));
        assert_near(open(2, Throttle::Narrow), second(1.689_861_1e9));
        assert_near(open(2, Throttle::Wide), second(2.894_271_2e8));
    }
}
