//! The hydraulic cylinder of a crane, with its valve.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// With inputs that are held over each communication step, by forward Euler.
pub type CraneCylinder = Cylinder<false>;

/// With inputs that move within a communication step as their derivatives say, by Runge-Kutta 4. Its
/// force at the end of a step is that under the inputs there, and not under those of its last inner step.
pub type InterpolatingCraneCylinder = Cylinder<true>;

type CylinderVariable<const INTERPOLATES: bool> = Variable<Cylinder<INTERPOLATES>>;

start_values! {
    /// A cylinder with two chambers of compressible fluid. Its force f = a_p·(p2 − p1) − c·v follows
    /// the input v at once (direct feed-through); the pressures follow Rodríguez et al. (2022),
    /// eqs 26–32. The run starts in static equilibrium under `load`, computed at initialization, and
    /// the spool then moves by eq. 33, whose ω is a frequency in Hz.
    ///
    /// Defaults are table 5.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct Cylinder<const INTERPOLATES: bool> {
        l3: f64 = 0.442,
        s_start: f64 = 0.5,
        // Balance of the torques on link 1: the lever of the cylinder is half that of m2.
        load: f64 = (200.0 + 2.0 * 250.0 + 2.0 * 100.0) * 9.81,
        c: f64 = 1e5,
        a_p: f64 = 65e-4,
        a: f64 = 6.53e-10,
        b: f64 = -1.19e-18,
        c_d: f64 = 0.67,
        rho: f64 = 850.0,
        p_pump: f64 = 7.6e6,
        p_tank: f64 = 1e5,
        valve_area: f64 = 5e-4,
        spool_amplitude: f64 = 0.1,
        spool_frequency: f64 = 2.0,
        s: f64 = 0.5,
        v: f64,
        f: f64,
        gamma: f64,
        spool_start: f64,
        pressure: [f64; 2],
    }
}

impl<const INTERPOLATES: bool> Cylinder<INTERPOLATES> {
    /// Lengths of the two chambers, m (eqs 29, 30).
    fn chambers(&self) -> [f64; 2] {
        let out = self.s - self.s_start;
        [0.5 * self.l3 - out, 0.5 * self.l3 + out]
    }

    /// Bulk modulus of the fluid at pressure `p`, Pa (eq. 28).
    fn bulk_modulus(&self, p: f64) -> f64 {
        (1.0 + self.a * p + self.b * p * p) / (self.a + 2.0 * self.b * p)
    }

    /// Volume flow through an orifice from one pressure to a lower one, m³/s; 0 to a higher one.
    fn orifice_flow(&self, area: f64, from: f64, to: f64) -> f64 {
        area * self.c_d * (2.0 * (from - to).max(0.0) / self.rho).sqrt()
    }

    /// Position of the spool (eq. 33): 0 is closed, 1 is open.
    fn spool(&self, time: f64) -> f64 {
        let envelope = time.min(1.0).min(9.0 - time).max(0.0);
        let swing = (2.0 * PI * self.spool_frequency * time).sin();
        self.spool_start * (1.0 - self.spool_amplitude * envelope * swing)
    }

    /// Pressures and spool position at which the cylinder holds the load at rest: what flows into
    /// a chamber flows out of it.
    fn equilibrium(&self) -> Option<([f64; 2], f64)> {
        let difference = self.load / self.a_p;
        let sum = self.p_pump + self.p_tank;
        let [p1, p2] = [(sum - difference) / 2.0, (sum + difference) / 2.0];
        let within = |p: f64| self.p_tank < p && p < self.p_pump;
        let openings = ((p1 - self.p_tank) / (self.p_pump - p1)).sqrt();
        (within(p1) && within(p2)).then_some(([p1, p2], openings / (1.0 + openings)))
    }
}

impl<const INTERPOLATES: bool> Model for Cylinder<INTERPOLATES> {
    const NAME: &'static str = if INTERPOLATES {
        "InterpolatingCraneCylinder"
    } else {
        "CraneCylinder"
    };
    const DESCRIPTION: &'static str = if INTERPOLATES {
        "The hydraulic cylinder of a crane, with its valve; inputs move within a step"
    } else {
        "The hydraulic cylinder of a crane, with its valve"
    };
    const INTEGRATOR: Integrator = if INTERPOLATES {
        Integrator::RungeKutta4
    } else {
        Integrator::ForwardEuler
    };
    const INTERPOLATES_INPUTS: bool = INTERPOLATES;
    const STEP_SIZE: f64 = 2.5e-4;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = coupling();
        variables.extend(mechanical_parameters());
        variables.extend(hydraulic_parameters());
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.pressure
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        let equilibrium = self.equilibrium().ok_or_else(|| {
            let message = format!(
                "the pressures of pump and tank cannot hold a load of {} N",
                self.load
            );
            Fault::Error(message)
        })?;
        (self.pressure, self.spool_start) = equilibrium;
        Ok(())
    }

    fn derivatives(&self, time: f64, rates: &mut [f64]) {
        let [p1, p2] = self.pressure;
        let gamma = self.spool(time);
        let (inlet, outlet) = (self.valve_area * gamma, self.valve_area * (1.0 - gamma));
        let swept = self.a_p * self.v;
        let flow1 = swept + self.orifice_flow(inlet, self.p_pump, p1)
            - self.orifice_flow(outlet, p1, self.p_tank);
        let flow2 = -swept + self.orifice_flow(outlet, self.p_pump, p2)
            - self.orifice_flow(inlet, p2, self.p_tank);
        let [l4, l5] = self.chambers();
        rates[0] = self.bulk_modulus(p1) / (self.a_p * l4) * flow1;
        rates[1] = self.bulk_modulus(p2) / (self.a_p * l5) * flow2;
    }

    fn outputs(&mut self, time: f64) -> Result<(), Fault> {
        let [p1, p2] = self.pressure;
        self.f = self.a_p * (p2 - p1) - self.c * self.v;
        self.gamma = self.spool(time);
        Ok(())
    }

    fn after_step(&mut self, _start: f64, end: f64) -> Result<(), Fault> {
        if self.chambers().iter().all(|length| *length > 0.0) {
            return Ok(());
        }
        let message = format!(
            "the piston has left the cylinder: its length is {} m at {end} s",
            self.s
        );
        Err(Fault::Error(message))
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        match (unknown, known) {
            ("f", "v") => Some(-self.c),
            (_, "s" | "v") => Some(0.0),
            _ => None,
        }
    }
}

fn coupling<const INTERPOLATES: bool>() -> Vec<CylinderVariable<INTERPOLATES>> {
    const EQUILIBRIUM: &[&str] = &["load", "a_p", "p_pump", "p_tank"];
    variables! { Cylinder<INTERPOLATES>:
        input_real "s" = s in METRE, "length of the cylinder";
        input_real "v" = v in METRE_PER_SECOND, "rate of the cylinder's length";
        output_real "f" = f in NEWTON, "force of the cylinder, positive outwards",
            depends_on(&["v"]), starts_from(&["load", "a_p", "p_pump", "p_tank", "c"]);
        output_real "p1" = pressure[0] in PASCAL, "pressure in the chamber that pulls",
            starts_from(EQUILIBRIUM);
        output_real "p2" = pressure[1] in PASCAL, "pressure in the chamber that pushes",
            starts_from(EQUILIBRIUM);
        output_real "gamma" = gamma, "position of the spool, 0 to 1", starts_from(EQUILIBRIUM);
    }
}

fn mechanical_parameters<const INTERPOLATES: bool>() -> Vec<CylinderVariable<INTERPOLATES>> {
    variables! { Cylinder<INTERPOLATES>:
        parameter_real "l3" = l3 in METRE, "length of both chambers together", min(1e-9);
        parameter_real "s_start" = s_start in METRE,
            "length of the cylinder with the piston in the middle";
        parameter_real "load" = load in NEWTON, "force that the cylinder holds at the start";
        parameter_real "c" = c in NEWTON_SECOND_PER_METRE, "friction of the piston", min(0.0);
        parameter_real "a_p" = a_p in SQUARE_METRE, "area of the piston", min(1e-9);
    }
}

fn hydraulic_parameters<const INTERPOLATES: bool>() -> Vec<CylinderVariable<INTERPOLATES>> {
    variables! { Cylinder<INTERPOLATES>:
        parameter_real "a" = a in PER_PASCAL, "compressibility of the fluid";
        parameter_real "b" = b in PER_PASCAL_SQUARED, "how compressibility changes with pressure";
        parameter_real "c_d" = c_d, "discharge coefficient of the valve", min(0.0);
        parameter_real "rho" = rho in KILOGRAM_PER_CUBIC_METRE, "density of the fluid", min(1e-9);
        parameter_real "p_pump" = p_pump in PASCAL, "pressure of the pump";
        parameter_real "p_tank" = p_tank in PASCAL, "pressure of the tank";
        parameter_real "valve_area" = valve_area in SQUARE_METRE, "area of the open valve",
            min(0.0);
        parameter_real "spool_amplitude" = spool_amplitude,
            "swing of the spool, relative to its initial position";
        parameter_real "spool_frequency" = spool_frequency in HERTZ, "frequency of the spool";
    }
}
