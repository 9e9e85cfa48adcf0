//! The double linear oscillator of Rodríguez et al. 2022: two masses on springs and dampers to the
//! wall, and a spring and a damper between them.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::{System, Unit};
use nalgebra::{Matrix4, Vector4};

use crate::model_unit::ModelUnit;
use crate::trace::Trace;

/// Masses, kg, stiffnesses, N/m, and damping, N·s/m. Both masses start at 0 m, with ±100 m/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleOscillator {
    /// Mass 1.
    pub m1: f64,
    /// Mass 2.
    pub m2: f64,
    /// Spring from mass 1 to the wall.
    pub k1: f64,
    /// Spring between the masses.
    pub kc: f64,
    /// Spring from mass 2 to the wall.
    pub k2: f64,
    /// Damper from mass 1 to the wall.
    pub c1: f64,
    /// Damper between the masses.
    pub cc: f64,
    /// Damper from mass 2 to the wall.
    pub c2: f64,
}

const fn case(masses: [f64; 2], stiffness: [f64; 3], damping: f64) -> DoubleOscillator {
    let ([m1, m2], [k1, kc, k2]) = (masses, stiffness);
    DoubleOscillator {
        m1,
        m2,
        k1,
        kc,
        k2,
        c1: damping,
        cc: damping,
        c2: damping,
    }
}

/// Cases 1 to 8 (Rodríguez et al. 2022, table 1).
pub const TABLE_1: [DoubleOscillator; 8] = [
    case([1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    case([1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
    case([1.0, 1.0], [10.0, 1000.0, 100.0], 0.0),
    case([1.0, 1.0], [10.0, 1000.0, 100.0], 0.1),
    case([1.0, 1.0], [1000.0, 100.0, 10.0], 0.0),
    case([1.0, 1.0], [1000.0, 100.0, 10.0], 0.1),
    case([10.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    case([1.0, 10.0], [10.0, 100.0, 1000.0], 0.0),
];

/// Positions, m, and velocities, m/s, of both masses: x1, v1, x2, v2.
pub type OscillatorState = [f64; 4];

const START: OscillatorState = [0.0, 100.0, 0.0, -100.0];

/// How the two halves are coupled. Component `force` has mass 1 and gives the coupling force, which
/// feeds through; component `motion` has mass 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coupling<'a> {
    /// Macro-step H, s.
    pub macro_step: f64,
    /// Communication step of `force`, s.
    pub force_step: f64,
    /// Communication step of `motion`, s.
    pub motion_step: f64,
    /// Extrapolation of the inputs of both.
    pub extrapolation: &'a str,
    /// Exchange of the force.
    pub exchange: &'a str,
    /// Correction of the bond, with parameters.
    pub correction: Option<(&'a str, &'a [(&'a str, f64)])>,
    /// Stop time, s.
    pub stop_time: f64,
}

impl Default for Coupling<'_> {
    /// Single rate, H = 1 ms, held inputs, stale force, 10 s.
    fn default() -> Self {
        Self {
            macro_step: 1e-3,
            force_step: 1e-3,
            motion_step: 1e-3,
            extrapolation: "hold",
            exchange: "stale",
            correction: None,
            stop_time: 10.0,
        }
    }
}

impl DoubleOscillator {
    /// Start values of the model `OscillatorForce`.
    pub fn force_parameters(&self) -> [(&'static str, f64); 6] {
        [
            ("m", self.m1),
            ("k", self.k1),
            ("c", self.c1),
            ("k_c", self.kc),
            ("c_c", self.cc),
            ("v_start", START[1]),
        ]
    }

    /// Start values of the model `OscillatorMotion`.
    pub fn motion_parameters(&self) -> [(&'static str, f64); 4] {
        [
            ("m", self.m2),
            ("k", self.k2),
            ("c", self.c2),
            ("v_start", START[3]),
        ]
    }

    /// The coupled system, whose halves hold their inputs over each of their steps, as in the paper.
    pub fn system(&self, coupling: &Coupling<'_>) -> System {
        let (force, motion) = (ModelUnit::new(), ModelUnit::new());
        self.system_of(coupling, force.values_only(), motion.values_only())
    }

    /// The coupled system, of these models.
    pub fn system_of(
        &self,
        coupling: &Coupling<'_>,
        force: ModelUnit<OscillatorForce>,
        motion: ModelUnit<OscillatorMotion>,
    ) -> System {
        self.system_of_units(coupling, force, motion)
    }

    /// The coupled system, of units with the variables of the models.
    pub fn system_of_units(
        &self,
        coupling: &Coupling<'_>,
        force: impl Unit + 'static,
        motion: impl Unit + 'static,
    ) -> System {
        let mut system = System::new(coupling.macro_step);
        system.stop_time(coupling.stop_time).method("jacobi");
        let mut settings = system
            .add("force", force)
            .step_size(coupling.force_step)
            .extrapolation(coupling.extrapolation)
            .exchange(coupling.exchange);
        for (name, value) in self.force_parameters() {
            settings = settings.start(name, value);
        }
        let mut settings = system
            .add("motion", motion)
            .step_size(coupling.motion_step)
            .extrapolation(coupling.extrapolation);
        for (name, value) in self.motion_parameters() {
            settings = settings.start(name, value);
        }
        system.connect("motion.x", "force.x2");
        let (effort, flow) = (("force.f", "motion.f"), ("motion.v", "force.v2"));
        let bond = system.bond("coupling", effort, flow);
        if let Some((word, parameters)) = coupling.correction {
            bond.correction((word, parameters));
        }
        system
    }

    /// The exact solution at 0, `step`, 2·`step`, …: powers of e^(A·step).
    pub fn exact(&self, step: f64, steps: usize) -> Vec<OscillatorState> {
        let Self {
            m1,
            m2,
            k1,
            kc,
            k2,
            c1,
            cc,
            c2,
        } = *self;
        #[rustfmt::skip]
        let a = Matrix4::new(
            0.0, 1.0, 0.0, 0.0,
            -(k1 + kc) / m1, -(c1 + cc) / m1, kc / m1, cc / m1,
            0.0, 0.0, 0.0, 1.0,
            kc / m2, cc / m2, -(k2 + kc) / m2, -(c2 + cc) / m2,
        );
        let transition = (a * step).exp();
        let mut state = Vector4::from(START);
        let mut states = vec![START];
        for _ in 0..steps {
            state = transition * state;
            states.push(state.into());
        }
        states
    }

    /// Symplectic Euler on the whole system: the rest of the error if the coupling has none.
    pub fn monolithic(&self, step: f64, steps: usize) -> Vec<OscillatorState> {
        let mut states = vec![START];
        let [mut x1, mut v1, mut x2, mut v2] = START;
        for _ in 0..steps {
            let force = self.kc * (x1 - x2) + self.cc * (v1 - v2);
            let a1 = (-self.k1 * x1 - self.c1 * v1 - force) / self.m1;
            let a2 = (-self.k2 * x2 - self.c2 * v2 + force) / self.m2;
            v1 += step * a1;
            v2 += step * a2;
            x1 += step * v1;
            x2 += step * v2;
            states.push([x1, v1, x2, v2]);
        }
        states
    }

    /// Mechanical energy, J.
    pub fn energy(&self, [x1, v1, x2, v2]: OscillatorState) -> f64 {
        let kinetic = self.m1 * v1 * v1 + self.m2 * v2 * v2;
        let elastic = self.k1 * x1 * x1 + self.k2 * x2 * x2 + self.kc * (x1 - x2) * (x1 - x2);
        0.5 * (kinetic + elastic)
    }

    /// The states that a run of [`system`](Self::system) published.
    pub fn states(trace: &Trace) -> Vec<OscillatorState> {
        let columns = ["force.x", "force.v", "motion.x", "motion.v"].map(|name| trace.column(name));
        (0..columns[0].len())
            .map(|row| [0, 1, 2, 3].map(|column| columns[column][row]))
            .collect()
    }

    /// How far `states`, `step` seconds apart, are from the exact solution.
    ///
    /// # Panics
    /// If `states` is empty.
    pub fn metrics(&self, step: f64, states: &[OscillatorState]) -> Metrics {
        let exact = self.exact(step, states.len() - 1);
        let pairs = || states.iter().zip(&exact);
        let energy_errors: Vec<f64> = pairs()
            .map(|(state, exact)| self.energy(*state) - self.energy(*exact))
            .collect();
        let second = (1.0 / step).round() as usize;
        let last = &energy_errors[energy_errors.len().saturating_sub(second + 1)..];
        let rms = |index: usize| {
            let squares = pairs().map(|(state, exact)| (state[index] - exact[index]).powi(2));
            (squares.sum::<f64>() / states.len() as f64).sqrt()
        };
        Metrics {
            energy_end: energy_errors[energy_errors.len() - 1],
            energy_max: energy_errors
                .iter()
                .fold(0.0, |max, error| max.max(error.abs())),
            energy_last_second: last.iter().sum::<f64>() / last.len() as f64,
            rms_x1: rms(0),
            rms_x2: rms(2),
        }
    }
}

/// Errors of a run against the exact solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// Error of the energy at the end, J.
    pub energy_end: f64,
    /// Greatest magnitude of the energy's error, J.
    pub energy_max: f64,
    /// Mean of the energy's error over the last second, J.
    pub energy_last_second: f64,
    /// Root mean square of the error of mass 1's position, m.
    pub rms_x1: f64,
    /// Root mean square of the error of mass 2's position, m.
    pub rms_x2: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    // Closed form: without damping the energy is constant; with one mass and its spring alone the
    // solution is (v0/ω)·sin ωt.
    #[test]
    fn the_exact_solution_keeps_the_energy() {
        for case in TABLE_1.iter().filter(|case| case.cc == 0.0) {
            let energy = case.energy(START);
            for state in case.exact(1e-3, 10_000) {
                assert!((case.energy(state) / energy - 1.0).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn uncoupled_masses_swing_alone() {
        let alone = DoubleOscillator {
            kc: 0.0,
            ..TABLE_1[0]
        };
        let (omega1, omega2) = (10.0_f64.sqrt(), 1000.0_f64.sqrt());
        for (k, state) in alone.exact(1e-3, 5000).into_iter().enumerate() {
            let t = k as f64 * 1e-3;
            assert!((state[0] - 100.0 / omega1 * (omega1 * t).sin()).abs() < 1e-9);
            assert!((state[2] + 100.0 / omega2 * (omega2 * t).sin()).abs() < 1e-9);
        }
    }
}
