//! How the cranes are cut and coupled.

use fmu_models::{Crane, HydraulicCircuit};
use gyrator_system::{InterfaceModel, Spanned, SystemFile, Value};

use super::{CIRCUIT, MECHANICS};
use crate::assembly::{Assembly, FRESH, Place, STALE};
use crate::role::{RoleAssignment, RoleError};

/// Formulation of the mechanics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formulation {
    /// ALI1 with the semi-implicit Euler rule.
    IndexOne,
    /// ALI3-P with the trapezoidal rule; steps start from the last step's acceleration.
    IndexThree,
    /// The same; steps start from the acceleration under their own inputs.
    Restarted,
}

/// Signal from the circuits to the mechanics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coupling {
    /// Velocity-force coupling.
    Force,
    /// Velocity-pressure coupling.
    Pressure,
}

/// How the inputs of the circuits are predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Prediction {
    /// Held, or by the polynomial through the last two or three values.
    Polynomial(usize),
    /// By the interface model of the paper: in parallel, the force held.
    InterfaceModel,
    /// By the interface model, the circuits first: the mechanics receives the mean force.
    Impulse {
        /// Share of the displacement error that is fed back; `None` leaves the choice to the run.
        displacement_correction: Option<f64>,
    },
    /// As the impulse, with both sides in parallel.
    Pipelined,
}

/// Solver of the circuits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Solver {
    Euler,
    RungeKutta,
    Trapezoidal,
}

/// A crane and how it is coupled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Setup {
    pub(crate) crane: Crane,
    pub(crate) formulation: Formulation,
    pub(crate) coupling: Coupling,
    pub(crate) prediction: Prediction,
    pub(crate) solver: Solver,
    /// Macro-step, in tenths of a millisecond: in steps of the circuits.
    pub(crate) tenths: u32,
}

/// Step of the circuits, s.
pub(crate) const CIRCUIT_STEP: f64 = 1e-4;
/// End of the work cycle, s.
const DURATION: f64 = 30.0;
/// Step at which the circuits exchange values with an interface model that passes means, s.
const EXCHANGE_STEP: f64 = 1e-3;

impl Setup {
    /// Macro-step, s.
    pub(crate) fn step(&self) -> f64 {
        f64::from(self.tenths) * CIRCUIT_STEP
    }

    /// The coupled system. The last macro-step is the last whole one within 30 s.
    pub(crate) fn system(&self, roles: &RoleAssignment) -> Result<SystemFile, RoleError> {
        let step = self.step();
        let steps = (DURATION / step + 1e-9).floor();
        let mut assembly = Assembly::new(roles, step, steps * step);
        let extrapolation = match self.prediction {
            Prediction::Polynomial(1) => "linear",
            Prediction::Polynomial(2) => "quadratic",
            _ => "hold",
        };
        let mechanics = Place {
            name: "mechanics",
            role: &MECHANICS,
            step,
            inner_step: step,
            extrapolation: "hold",
            exchange: STALE.exchange,
        };
        assembly.add(mechanics, &self.mechanics_parameters())?;
        for actuator in 1..=self.crane.actuators {
            let circuit = Place {
                name: &format!("circuit{actuator}"),
                role: &CIRCUIT,
                step: self.exchange_step().unwrap_or(step),
                inner_step: CIRCUIT_STEP,
                extrapolation,
                exchange: self.exchange(),
            };
            assembly.add(circuit, &self.circuit_parameters(actuator))?;
        }
        for actuator in 1..=self.crane.actuators {
            self.couple(actuator, &mut assembly);
        }
        let model = self.interface_model(&assembly);
        let mut file = assembly.into_file();
        file.interface_models.extend(model);
        Ok(file)
    }

    /// Step at which the circuits exchange values with the interface model, s, if there is one.
    fn exchange_step(&self) -> Option<f64> {
        match self.prediction {
            Prediction::Polynomial(_) => None,
            Prediction::InterfaceModel => Some(CIRCUIT_STEP),
            Prediction::Impulse { .. } | Prediction::Pipelined => Some(EXCHANGE_STEP),
        }
    }

    /// Exchange of the force, which follows the velocity at once: as in the paper, the force under the predicted
    /// velocity; with impulses, that under the mechanics' own.
    fn exchange(&self) -> &'static str {
        match self.prediction {
            Prediction::Polynomial(_) | Prediction::InterfaceModel => STALE.exchange,
            Prediction::Impulse { .. } | Prediction::Pipelined => FRESH.exchange,
        }
    }

    fn interface_model(&self, assembly: &Assembly<'_>) -> Option<InterfaceModel> {
        let mut model = InterfaceModel::new("interface", "mechanics", self.exchange_step()?);
        let word = |word: &str| Value::String(word.to_owned());
        let name = |port: &str| {
            let port = assembly.port(&format!("mechanics.{port}"));
            Spanned::unplaced(port.variable)
        };
        let actuators = || 1..=self.crane.actuators;
        let of_actuators = |prefix: &str| {
            let names = actuators().map(|actuator| name(&format!("{prefix}{actuator}")));
            names.collect::<Vec<_>>()
        };
        let bonds = actuators().map(|actuator| format!("actuator{actuator}"));
        model.bonds = bonds.map(Spanned::unplaced).collect();
        model.positions = of_actuators("s");
        model.free_acceleration = of_actuators("free_acceleration_");
        let elements: &[&str] = if self.crane.actuators == 1 {
            &["11"]
        } else {
            &["11", "12", "22"]
        };
        let elements = elements
            .iter()
            .map(|element| name(&format!("inverse_mass_{element}")));
        model.inverse_mass = elements.collect();
        let force = |actuator| assembly.port(&format!("circuit{actuator}.f"));
        model.forces = actuators().map(force).map(Spanned::unplaced).collect();
        let order = match self.prediction {
            Prediction::Impulse {
                displacement_correction,
            } => {
                let share = displacement_correction.map_or_else(|| word("auto"), Value::Real);
                model.set_option("displacement_correction", share);
                "fast-first"
            }
            Prediction::Pipelined => {
                model.set_option("displacement_correction", Value::Real(0.0));
                "pipelined"
            }
            _ => {
                model.set_option("inputs", word("linear"));
                "parallel"
            }
        };
        model.order = Some(Spanned::unplaced(order.to_owned()));
        Some(model)
    }

    fn mechanics_parameters(&self) -> Vec<(&'static str, Value)> {
        let word = |word: &str| Value::String(word.to_owned());
        let mut parameters = vec![
            ("actuators", Value::Integer(self.crane.actuators as i64)),
            (
                "coupling",
                word(match self.coupling {
                    Coupling::Force => "force",
                    Coupling::Pressure => "pressure",
                }),
            ),
            (
                "formulation",
                word(match self.formulation {
                    Formulation::IndexOne => "index-1",
                    _ => "index-3",
                }),
            ),
            (
                "restart",
                Value::Boolean(self.formulation == Formulation::Restarted),
            ),
        ];
        if self.crane.throttle.is_own() {
            let [between, at_end] = self.crane.masses();
            let friction =
                |actuator| HydraulicCircuit::of(actuator, self.crane.throttle).friction();
            let reals = [
                ("m_p", between),
                ("m_h", at_end),
                ("piston1.c", friction(1)),
                ("piston2.c", friction(2)),
            ];
            parameters.extend(reals.map(|(name, value)| (name, Value::Real(value))));
        }
        parameters
    }

    fn circuit_parameters(&self, actuator: usize) -> Vec<(&'static str, Value)> {
        let circuit = HydraulicCircuit::of(actuator, self.crane.throttle);
        let reals = circuit.parameters().into_iter();
        let mut parameters: Vec<_> = reals
            .map(|(name, value)| (name, Value::Real(value)))
            .collect();
        if self.crane.throttle.is_own() {
            parameters.push(("c", Value::Real(circuit.friction())));
        }
        let program = if circuit.has_first_program() {
            "first"
        } else {
            "second"
        };
        let solver = match self.solver {
            Solver::Euler => "euler",
            Solver::RungeKutta => "runge-kutta-4",
            Solver::Trapezoidal => "trapezoidal",
        };
        for (name, word) in [("spool_program", program), ("integrator", solver)] {
            parameters.push((name, Value::String(word.to_owned())));
        }
        parameters
    }

    /// The bond of an actuator. Its flow is the rate of the length; pressures are weighted with the
    /// areas, so that its power is the pressures' power.
    fn couple(&self, actuator: usize, assembly: &mut Assembly<'_>) {
        let of_circuit = |port: &str| format!("circuit{actuator}.{port}");
        let of_mechanics = |port: &str| format!("mechanics.{port}");
        assembly.connect(&of_mechanics(&format!("s{actuator}")), &of_circuit("s"));
        let flow = (of_mechanics(&format!("v{actuator}")), of_circuit("v"));
        let efforts = match self.coupling {
            Coupling::Force => vec![(of_circuit("f"), of_mechanics(&format!("f{actuator}")), 1.0)],
            Coupling::Pressure => {
                let [piston, rod] = HydraulicCircuit::of(actuator, self.crane.throttle).areas();
                let effort = |side: usize, weight: f64| {
                    let input = of_mechanics(&format!("p{actuator}{side}"));
                    (of_circuit(&format!("p{side}")), input, weight)
                };
                vec![effort(1, piston), effort(2, -rod)]
            }
        };
        let axes: Vec<_> = efforts
            .iter()
            .map(|(from, to, weight)| {
                let effort = (from.as_str(), to.as_str());
                ([effort, (flow.0.as_str(), flow.1.as_str())], *weight)
            })
            .collect();
        assembly.weighted_bond(&format!("actuator{actuator}"), &axes);
    }
}
