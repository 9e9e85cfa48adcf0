//! Runs of the quarter car, and how far they are from the exact solution.

use fmu_models::QuarterCar;
use gyrator_system::{Choice, Spanned, SystemFile, Value};

use crate::assembly::{Assembly, Place, STALE};
use crate::benchmark::MeasureError;
use crate::quarter_car::halves;
use crate::recording::Recording;
use crate::reference::QuarterCarPower;
use crate::role::{RoleAssignment, RoleError};
use crate::row::Metric;

/// Σ |P12 − P12 exact|·Δt / T (eq. 15a).
pub(crate) const POWER_ERROR: Metric = Metric::mean_error("dP", "W");
/// |Σ δP·Δt| at the ends of the steps (eq. 15b).
pub(crate) const RESIDUAL_ENERGY: Metric = Metric::error("|dE|", "J");
/// The same by the trapezoidal rule, which does not count held inputs twice.
pub(crate) const RESIDUAL_INTEGRATED: Metric = Metric::error("|dE| integrated", "J");
/// Mean of P12.
pub(crate) const MEAN_POWER: Metric = Metric::figure("P mean", "W");
pub(crate) const STEPS: Metric = Metric::figure("steps", "");

/// A car, how it is cut, how long it runs and how long a step may be, s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) name: &'static str,
    pub(crate) car: fn() -> QuarterCar,
    pub(crate) reticulation: u32,
    pub(crate) duration: f64,
    pub(crate) maximum_step: f64,
    /// The paper's α.
    pub(crate) alpha: f64,
}

const LIN1: Cut = Cut {
    name: "lin1",
    car: QuarterCar::linear,
    reticulation: 1,
    duration: 4.0,
    maximum_step: 1e-2,
    alpha: 0.95,
};
const NL1: Cut = Cut {
    name: "nl1",
    car: QuarterCar::nonlinear,
    duration: 2.0,
    alpha: 0.6,
    ..LIN1
};

pub(crate) const LIN2: Cut = Cut {
    name: "lin2",
    reticulation: 2,
    alpha: 0.85,
    ..LIN1
};
const NL2: Cut = Cut {
    name: "nl2",
    reticulation: 2,
    maximum_step: 2.5e-3,
    alpha: 0.4,
    ..NL1
};

/// All cases.
pub(crate) const CUTS: [Cut; 4] = [LIN1, LIN2, NL1, NL2];

/// How inputs are corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Correction {
    Off,
    /// NEPCE with α, or an α that it finds itself.
    Nepce(Option<f64>),
    /// NEPCE with α and the interface Jacobian (eq. 12).
    WithFeedthrough(f64),
    /// When steps change, the flow makes good what it was ahead by.
    EqualDisplacement,
}

/// Parameters of ECCO.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ecco {
    /// The tolerance r.
    pub(crate) tolerance: f64,
    pub(crate) indicator: &'static str,
    /// Whether the last step may end after the stop time, as the paper's do.
    pub(crate) overshoot: bool,
    /// Steps whose indicator is greater are made again.
    pub(crate) reject_above: Option<f64>,
}

/// How the halves are coupled and stepped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coupling {
    /// The first or only macro-step, s.
    pub(crate) step: f64,
    pub(crate) extrapolation: &'static str,
    /// The prediction that `secant-linear` keeps mean and end value of.
    pub(crate) of: Option<&'static str>,
    pub(crate) exchange: &'static str,
    pub(crate) correction: Correction,
    pub(crate) ecco: Option<Ecco>,
    /// Name of the halves' integrator, and its steps in a communication step.
    pub(crate) integrator: &'static str,
    pub(crate) micro_steps: i64,
}

/// Steps of 1 ms, inputs held, no correction.
pub(crate) const PLAIN: Coupling = Coupling {
    step: 1e-3,
    extrapolation: "hold",
    of: None,
    exchange: STALE.exchange,
    correction: Correction::Off,
    ecco: None,
    integrator: "forward_euler",
    micro_steps: 256,
};

/// The interface Jacobian of the square-root damper grows without bound when it turns back; its
/// limit, N·s/m.
const JACOBIAN_LIMIT: f64 = 2000.0;

/// Result of a run; energies in J, powers in W.
pub(crate) struct CarOutcome {
    /// Times, s, force, N, and velocity, m/s, at the communication points.
    pub(crate) points: Vec<(f64, f64, f64)>,
    pub(crate) power: QuarterCarPower,
    pub(crate) residual_energy: f64,
    pub(crate) residual_integrated: f64,
    pub(crate) steps: f64,
    pub(crate) repeated: f64,
}

impl Correction {
    fn choice(self) -> Option<Choice> {
        match self {
            Self::Off => None,
            Self::EqualDisplacement => Some(Choice::new("equal-displacement")),
            Self::Nepce(None) => Some(Choice::new("nepce")),
            Self::Nepce(Some(alpha)) => {
                Some(Choice::new("nepce").with("alpha", Value::Real(alpha)))
            }
            Self::WithFeedthrough(alpha) => {
                let choice = Choice::new("nepce-feedthrough").with("alpha", Value::Real(alpha));
                Some(choice.with("jacobian_limit", Value::Real(JACOBIAN_LIMIT)))
            }
        }
    }
}

impl Ecco {
    fn choice(&self, cut: &Cut) -> Choice {
        let choice = Choice::new("ecco")
            .with("tolerance", Value::Real(self.tolerance))
            .with("energy_scale", Value::Real(750.0))
            .with("minimum_step", Value::Real(1e-5))
            .with("maximum_step", Value::Real(cut.maximum_step))
            .with("indicator", Value::String(self.indicator.to_owned()))
            .with("overshoot", Value::Boolean(self.overshoot));
        match self.reject_above {
            Some(limit) => choice.with("reject_above", Value::Real(limit)),
            None => choice,
        }
    }
}

impl Cut {
    /// The coupled system, and the recorded names of force and velocity at the cut.
    pub(crate) fn system(
        &self,
        roles: &RoleAssignment,
        coupling: &Coupling,
    ) -> Result<(SystemFile, [String; 2]), RoleError> {
        let mut assembly = Assembly::new(roles, coupling.step, self.duration);
        for (name, role) in ["s1", "s2"].into_iter().zip(halves(self.reticulation)) {
            let place = Place {
                name,
                role,
                step: coupling.step,
                inner_step: coupling.step,
                extrapolation: coupling.extrapolation,
                exchange: coupling.exchange,
            };
            let mut parameters = self.parameters(coupling);
            parameters.retain(|(name, _)| role.parameters.contains(name));
            assembly.add(place, &parameters)?;
        }
        // F lifts the chassis, and velocities count upwards: F·v_w is taken from the wheel.
        let (effort, flow, sense) = if self.reticulation == 1 {
            (("s2.F", "s1.F"), ("s1.v_c", "s2.v_c"), 1.0)
        } else {
            (("s1.F", "s2.F"), ("s2.v_w", "s1.v_w"), -1.0)
        };
        assembly.bond("suspension", &[[effort, flow]], &STALE);
        let names = [effort.0, flow.0].map(|port| assembly.variable(port));
        let mut file = assembly.into_file();
        for component in &mut file.components {
            let word = component.extrapolation.take();
            component.extrapolation = match coupling.of {
                Some(of) => word.map(|word| word.with("of", Value::String(of.to_owned()))),
                None => word,
            };
        }
        for bond in &mut file.bonds {
            bond.sense = Spanned::unplaced(sense);
            bond.correction = coupling.correction.choice();
        }
        file.experiment.step_control = coupling.ecco.map(|ecco| ecco.choice(self));
        Ok((file, names))
    }

    fn parameters(&self, coupling: &Coupling) -> Vec<(&'static str, Value)> {
        let car = (self.car)();
        vec![
            ("m_c", Value::Real(car.m_c)),
            ("m_w", Value::Real(car.m_w)),
            ("k_c", Value::Real(car.k_c)),
            ("k_w", Value::Real(car.k_w)),
            ("d_c", Value::Real(car.d_c)),
            ("damper_exponent", Value::Real(car.damper_exponent)),
            ("road_step", Value::Real(car.road_step)),
            ("second_road_step", Value::Real(car.second_road_step)),
            ("second_road_time", Value::Real(car.second_road_time)),
            ("micro_steps", Value::Integer(coupling.micro_steps)),
            ("integrator", Value::String(coupling.integrator.to_owned())),
        ]
    }

    /// Runs the system.
    pub(crate) fn run(
        &self,
        roles: &RoleAssignment,
        coupling: &Coupling,
    ) -> Result<CarOutcome, MeasureError> {
        let (file, names) = self.system(roles, coupling)?;
        let recording = Recording::of(roles, file)?;
        let rows = recording.rows(&names)?;
        let points: Vec<_> = recording
            .times
            .iter()
            .zip(rows)
            .map(|(time, row)| (*time, row[0], row[1]))
            .collect();
        let power = QuarterCarPower::of(&(self.car)(), self.reticulation, self.duration, &points);
        let energy = &recording.report.bonds[0].energy;
        Ok(CarOutcome {
            points,
            power,
            residual_energy: energy.applied_residual_energy,
            residual_integrated: energy.residual_energy_integrated,
            steps: recording.report.steps as f64,
            repeated: recording.report.counters.repeated_steps as f64,
        })
    }
}
