//! The structure of a hydraulic crane with one or two actuators.

use fmu_kit::{Enumeration, Fault, Integrator, Model, Variable, unit, variables};
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

use crate::augmented_lagrangian::{IndexOne, IndexThree, Motion, STATES};
use crate::crane_structure::{Drive, Structure};
use crate::hydraulic_piston::Piston;

type MechanicsVariable = Variable<CraneMechanics>;

/// The structure of a hydraulic crane: link 1 turns about the origin, link 2 hangs from its end.
/// Actuator 1 stands between a fixed point and the middle of link 1, actuator 2, if there is one,
/// between the middles of the links. They are driven by forces, or by the pressures on their pistons, whose friction and
/// end dampers then belong to this model.
///
/// Beside the motion of the actuators it gives what an interface model needs: s̈ = W·F + b with the
/// inverse effective mass W and the free acceleration b, which follow from the state alone. Only
/// the accelerations follow the inputs at once (direct feed-through).
///
/// Rahikainen et al. (2020), sections 2.1, 2.3.1 and 3.1; defaults are tables 1 and 2. The second
/// piston is not in the paper.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CraneMechanics {
    structure: Structure,
    pistons: [Piston; 2],
    actuators: i32,
    coupling: i32,
    formulation: i32,
    restart: bool,
    alpha: f64,
    omega: f64,
    xi: f64,
    penalty_mass: f64,
    f: [f64; 2],
    p: [[f64; 2]; 2],
    s: [f64; 2],
    v: [f64; 2],
    a: [f64; 2],
    inverse_mass: [f64; 3],
    free_acceleration: [f64; 2],
    energy: f64,
    constraint: f64,
    state: [f64; STATES],
}

impl Default for CraneMechanics {
    fn default() -> Self {
        Self {
            structure: Structure::default(),
            pistons: [Piston::FIRST, Piston::SECOND],
            actuators: 1,
            coupling: FORCE,
            formulation: INDEX_1,
            restart: false,
            alpha: 1e7,
            omega: 10.0,
            xi: 1.0,
            penalty_mass: 1e6,
            f: [0.0; 2],
            p: [[0.0; 2]; 2],
            s: [0.0; 2],
            v: [0.0; 2],
            a: [0.0; 2],
            inverse_mass: [0.0; 3],
            free_acceleration: [0.0; 2],
            energy: 0.0,
            constraint: 0.0,
            state: [0.0; STATES],
        }
    }
}

static COUPLINGS: Enumeration = Enumeration {
    name: "ActuatorCoupling",
    description: "What drives the actuators",
    items: &[
        ("force", "the forces f1, f2"),
        (
            "pressure",
            "the pressures on the pistons, with friction and end dampers in this model",
        ),
    ],
};

static FORMULATIONS: Enumeration = Enumeration {
    name: "CraneFormulation",
    description: "Formulation of the constrained motion and its integrator",
    items: &[
        (
            "index-1",
            "index-1 augmented Lagrangian (ALI1), semi-implicit Euler rule",
        ),
        (
            "index-3",
            "index-3 augmented Lagrangian with projections (ALI3-P), trapezoidal rule",
        ),
    ],
};

const FORCE: i32 = 1;
const INDEX_1: i32 = 1;

impl CraneMechanics {
    /// Forces on the structure.
    fn drive(&self) -> Drive {
        let count = usize::try_from(self.actuators).unwrap_or(1);
        let by_force = self.coupling == FORCE;
        Drive {
            force: std::array::from_fn(|i| match i < count {
                false => 0.0,
                true if by_force => self.f[i],
                true => self.pistons[i].pressure_force(self.p[i]),
            }),
            pistons: std::array::from_fn(|i| (i < count && !by_force).then_some(self.pistons[i])),
        }
    }

    /// Makes the accelerations those under the present drive.
    fn restart(&self, motion: &mut Motion) -> Result<(), Fault> {
        let Motion { q, v, .. } = motion;
        let actuators = self.structure.actuators(q, v);
        let forces = self.structure.forces(&self.drive(), &actuators);
        let constrained = self.structure.accelerations(q, v, &forces);
        (motion.a, motion.lambda) = constrained.ok_or_else(singular)?;
        Ok(())
    }
}

fn singular() -> Fault {
    Fault::Error("the constraints of the crane do not determine its motion".to_owned())
}

impl Model for CraneMechanics {
    const NAME: &'static str = "CraneMechanics";
    const DESCRIPTION: &'static str =
        "The structure of a hydraulic crane with one or two actuators";
    const INTEGRATOR: Integrator = Integrator::Own;
    const STOP_TIME: f64 = 30.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = inputs();
        variables.extend(motion());
        variables.extend(interface());
        variables.extend(choices());
        variables.extend(structure());
        variables.extend(pistons());
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        let mut motion = Motion::read(&[0.0; STATES]);
        motion.q = self.structure.start();
        self.restart(&mut motion)?;
        motion.write(&mut self.state);
        Ok(())
    }

    fn advance(&mut self, _start: f64, step: f64) -> Result<(), Fault> {
        let (structure, drive) = (&self.structure, &self.drive());
        let mut motion = Motion::read(&self.state);
        if self.formulation == INDEX_1 {
            let formulation = IndexOne {
                alpha: self.alpha,
                omega: self.omega,
                xi: self.xi,
            };
            formulation.advance(structure, drive, &mut motion, step)?;
        } else {
            if self.restart {
                self.restart(&mut motion)?;
            }
            let penalty_mass = self.penalty_mass;
            IndexThree { penalty_mass }.advance(structure, drive, &mut motion, step)?;
        }
        motion.write(&mut self.state);
        Ok(())
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        let Motion { q, v, .. } = Motion::read(&self.state);
        let actuators = self.structure.actuators(&q, &v);
        let interface = self.structure.interface(&q, &v).ok_or_else(singular)?;
        let forces = self.drive().total(&actuators);
        let accelerations = interface.inverse_mass * Vector2::from(forces);
        self.inverse_mass = [(0, 0), (0, 1), (1, 1)].map(|place| interface.inverse_mass[place]);
        self.free_acceleration = interface.free_acceleration.into();
        self.s = actuators.map(|actuator| actuator.length);
        self.v = actuators.map(|actuator| actuator.rate);
        self.a = (accelerations + interface.free_acceleration).into();
        self.energy = self.structure.energy(&q, &v);
        self.constraint = self.structure.constraints(&q).amax();
        Ok(())
    }

    /// The accelerations by forces and pressures: the inverse effective mass, with areas.
    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        let of = match unknown {
            "a1" => 0,
            "a2" => 1,
            _ => return INPUTS.contains(&known).then_some(0.0),
        };
        let by = INPUTS.iter().position(|name| *name == known)?;
        let (by_force, actuator) = (by < 2, if by < 2 { by } else { (by - 2) / 2 });
        let acts = actuator < usize::try_from(self.actuators).unwrap_or(1);
        if !acts || by_force != (self.coupling == FORCE) {
            return Some(0.0);
        }
        let Motion { q, v, .. } = Motion::read(&self.state);
        let inverse_mass = self.structure.interface(&q, &v)?.inverse_mass[(of, actuator)];
        let [piston, rod] = self.pistons[actuator].areas();
        Some(match by {
            0 | 1 => inverse_mass,
            2 | 4 => inverse_mass * piston,
            _ => -inverse_mass * rod,
        })
    }
}

const INPUTS: &[&str] = &["f1", "f2", "p11", "p12", "p21", "p22"];

fn inputs() -> Vec<MechanicsVariable> {
    let force =
        |name, access, text| MechanicsVariable::input_real(name, access, text).unit(unit::NEWTON);
    let pressure =
        |name, access, text| MechanicsVariable::input_real(name, access, text).unit(unit::PASCAL);
    vec![
        force(
            "f1",
            |m| &mut m.f[0],
            "force of actuator 1, positive outwards, with coupling = force",
        ),
        force(
            "f2",
            |m| &mut m.f[1],
            "force of actuator 2, positive outwards, with coupling = force",
        ),
        pressure(
            "p11",
            |m| &mut m.p[0][0],
            "pressure on the piston's side of actuator 1, with coupling = pressure",
        ),
        pressure(
            "p12",
            |m| &mut m.p[0][1],
            "pressure on the rod's side of actuator 1, with coupling = pressure",
        ),
        pressure(
            "p21",
            |m| &mut m.p[1][0],
            "pressure on the piston's side of actuator 2, with coupling = pressure",
        ),
        pressure(
            "p22",
            |m| &mut m.p[1][1],
            "pressure on the rod's side of actuator 2, with coupling = pressure",
        ),
    ]
}

/// Variables from which the lengths at the start are computed.
const LENGTH_1: &[&str] = &["l", "theta1_start", "x_b", "y_b"];
const LENGTH_2: &[&str] = &["l", "l_h", "theta1_start", "theta2_start"];
/// Variables from which the inverse effective mass and the free acceleration at the start are
/// computed.
const INTERFACE: &[&str] = &[
    "l",
    "l_h",
    "m",
    "m_p",
    "m_h",
    "x_b",
    "y_b",
    "theta1_start",
    "theta2_start",
];
/// Variables from which the accelerations at the start are computed.
const ACCELERATION: &[&str] = &[
    "l",
    "l_h",
    "m",
    "m_p",
    "m_h",
    "x_b",
    "y_b",
    "theta1_start",
    "theta2_start",
    "actuators",
    "coupling",
    "piston1.d1",
    "piston1.d2",
    "piston1.k_d",
    "piston1.l_d",
    "piston1.l1_start",
    "piston1.l2_start",
    "piston1.s_start",
    "piston2.d1",
    "piston2.d2",
    "piston2.k_d",
    "piston2.l_d",
    "piston2.l1_start",
    "piston2.l2_start",
    "piston2.s_start",
];

fn motion() -> Vec<MechanicsVariable> {
    let rate = |name, access, text| {
        MechanicsVariable::output_real(name, access, text).unit(unit::METRE_PER_SECOND)
    };
    let acceleration = |name, access, text| {
        MechanicsVariable::output_real(name, access, text)
            .unit(unit::METRE_PER_SECOND_SQUARED)
            .depends_on(INPUTS)
            .starts_from(ACCELERATION)
    };
    vec![
        MechanicsVariable::output_real("s1", |m| &mut m.s[0], "length of actuator 1")
            .unit(unit::METRE)
            .starts_from(LENGTH_1),
        rate("v1", |m| &mut m.v[0], "rate of s1"),
        acceleration("a1", |m| &mut m.a[0], "rate of v1"),
        MechanicsVariable::output_real(
            "s2",
            |m| &mut m.s[1],
            "length of actuator 2: distance of the links' middles",
        )
        .unit(unit::METRE)
        .starts_from(LENGTH_2),
        rate("v2", |m| &mut m.v[1], "rate of s2"),
        acceleration("a2", |m| &mut m.a[1], "rate of v2"),
        MechanicsVariable::output_real("energy", |m| &mut m.energy, "kinetic and potential energy")
            .unit(unit::JOULE)
            .starts_from(&[
                "l",
                "l_h",
                "m",
                "m_p",
                "m_h",
                "theta1_start",
                "theta2_start",
            ]),
        MechanicsVariable::output_real(
            "constraint",
            |m| &mut m.constraint,
            "greatest violation of the constraints, m and m²",
        )
        .starts_from(&["l", "l_h", "theta1_start", "theta2_start"]),
    ]
}

fn interface() -> Vec<MechanicsVariable> {
    let inverse_mass = |name, access, text| {
        MechanicsVariable::output_real(name, access, text)
            .unit(unit::PER_KILOGRAM)
            .starts_from(INTERFACE)
    };
    let acceleration = |name, access, text| {
        MechanicsVariable::output_real(name, access, text)
            .unit(unit::METRE_PER_SECOND_SQUARED)
            .starts_from(INTERFACE)
    };
    vec![
        inverse_mass(
            "inverse_mass_11",
            |m| &mut m.inverse_mass[0],
            "∂a1/∂f1: inverse effective mass",
        ),
        inverse_mass(
            "inverse_mass_12",
            |m| &mut m.inverse_mass[1],
            "∂a1/∂f2 = ∂a2/∂f1",
        ),
        inverse_mass("inverse_mass_22", |m| &mut m.inverse_mass[2], "∂a2/∂f2"),
        acceleration(
            "free_acceleration_1",
            |m| &mut m.free_acceleration[0],
            "a1 without any force of the actuators",
        ),
        acceleration(
            "free_acceleration_2",
            |m| &mut m.free_acceleration[1],
            "a2 without any force of the actuators",
        ),
    ]
}

fn choices() -> Vec<MechanicsVariable> {
    variables! { CraneMechanics:
        parameter_integer "actuators" = actuators, "how many actuators act", min(1.0), max(2.0);
        parameter_enumeration "coupling" = coupling of COUPLINGS, "what drives the actuators";
        parameter_enumeration "formulation" = formulation of FORMULATIONS,
            "formulation and integrator";
        parameter_boolean "restart" = restart,
            "index-3: each step starts from the acceleration under its own inputs, not from the last step's";
        parameter_real "alpha" = alpha, "index-1: penalty factor α", min(0.0);
        parameter_real "omega" = omega in RADIAN_PER_SECOND,
            "index-1: frequency ω of the stabilisation", min(0.0);
        parameter_real "xi" = xi, "index-1: damping ratio ξ of the stabilisation", min(0.0);
        parameter_real "penalty_mass" = penalty_mass in KILOGRAM,
            "index-3: penalty factor times a quarter of the squared step, α·h²/4", min(1.0);
    }
}

fn structure() -> Vec<MechanicsVariable> {
    let length = |name, access, text| {
        MechanicsVariable::parameter_real(name, access, text).unit(unit::METRE)
    };
    let mass = |name, access, text| {
        MechanicsVariable::parameter_real(name, access, text)
            .unit(unit::KILOGRAM)
            .min(1e-9)
    };
    let angle = |name, access, text| {
        MechanicsVariable::parameter_real(name, access, text).unit(unit::RADIAN)
    };
    vec![
        length("l", |m| &mut m.structure.l, "length of link 1").min(1e-9),
        length("l_h", |m| &mut m.structure.l_h, "length of link 2").min(1e-9),
        mass("m", |m| &mut m.structure.m, "mass of link 1, a uniform rod"),
        mass(
            "m_p",
            |m| &mut m.structure.m_p,
            "point mass between the links",
        ),
        mass(
            "m_h",
            |m| &mut m.structure.m_h,
            "point mass at the end of link 2",
        ),
        length(
            "x_b",
            |m| &mut m.structure.x_b,
            "position of the fixed point B",
        ),
        length(
            "y_b",
            |m| &mut m.structure.y_b,
            "height of the fixed point B",
        ),
        angle(
            "theta1_start",
            |m| &mut m.structure.theta1_start,
            "initial angle of link 1 above the x axis",
        ),
        angle(
            "theta2_start",
            |m| &mut m.structure.theta2_start,
            "initial angle of link 2 above the x axis",
        ),
    ]
}

/// The parameters of one piston; used with coupling = pressure.
macro_rules! piston {
    ($prefix:literal, $index:literal) => {
        [
            MechanicsVariable::parameter_real(
                concat!($prefix, "d1"),
                |m| &mut m.pistons[$index].d1,
                "diameter of the piston",
            )
            .unit(unit::METRE)
            .min(1e-9),
            MechanicsVariable::parameter_real(
                concat!($prefix, "d2"),
                |m| &mut m.pistons[$index].d2,
                "diameter of its rod",
            )
            .unit(unit::METRE)
            .min(0.0),
            MechanicsVariable::parameter_real(
                concat!($prefix, "c"),
                |m| &mut m.pistons[$index].c,
                "viscous friction",
            )
            .unit(unit::NEWTON_SECOND_PER_METRE)
            .min(0.0),
            MechanicsVariable::parameter_real(
                concat!($prefix, "k_d"),
                |m| &mut m.pistons[$index].k_d,
                "stiffness of the end dampers",
            )
            .unit(unit::NEWTON_PER_METRE)
            .min(0.0),
            MechanicsVariable::parameter_real(
                concat!($prefix, "c_d"),
                |m| &mut m.pistons[$index].c_d,
                "damping of the end dampers",
            )
            .unit(unit::NEWTON_SECOND_PER_METRE)
            .min(0.0),
            MechanicsVariable::parameter_real(
                concat!($prefix, "l_d"),
                |m| &mut m.pistons[$index].l_d,
                "length of the end dampers",
            )
            .unit(unit::METRE)
            .min(0.0),
            MechanicsVariable::parameter_real(
                concat!($prefix, "l1_start"),
                |m| &mut m.pistons[$index].l1_start,
                "length of the chamber on the piston's side where the actuator is s_start long",
            )
            .unit(unit::METRE),
            MechanicsVariable::parameter_real(
                concat!($prefix, "l2_start"),
                |m| &mut m.pistons[$index].l2_start,
                "length of the chamber on the rod's side where the actuator is s_start long",
            )
            .unit(unit::METRE),
            MechanicsVariable::parameter_real(
                concat!($prefix, "s_start"),
                |m| &mut m.pistons[$index].s_start,
                "length of the actuator that l1_start and l2_start belong to",
            )
            .unit(unit::METRE),
        ]
    };
}

fn pistons() -> Vec<MechanicsVariable> {
    let mut rows = Vec::from(piston!("piston1.", 0));
    rows.extend(piston!("piston2.", 1));
    rows
}
