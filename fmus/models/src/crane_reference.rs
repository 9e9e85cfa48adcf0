//! The hydraulic cranes in one piece, to compare co-simulations with.

use crate::hydraulic_circuit::{HydraulicCircuit, Throttle};
use crate::two_links::{GRAVITY, TwoLinks};

/// The whole crane of Rahikainen et al. (2020), with parameters as in the FMUs, in minimal
/// coordinates, at rest at time 0.
///
/// ```
/// use fmu_models::{Crane, Throttle};
///
/// let crane = Crane { actuators: 1, throttle: Throttle::Narrow };
/// let motion = crane.motion(&[0.5]);
/// assert!((motion[0].s[0] - 0.5).abs() < 1e-9 && (motion[0].force[0] - 8829.0).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crane {
    /// How many actuators it has: 1 or 2.
    pub actuators: usize,
    /// Which circuits.
    pub throttle: Throttle,
}

/// Where the crane is at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CraneMotion {
    /// Lengths of the actuators, m; where there is no second one, the distance of the links' middles.
    pub s: [f64; 2],
    /// Their rates, m/s.
    pub v: [f64; 2],
    /// Forces of the actuators, N.
    pub force: [f64; 2],
    /// Pressures p1, p2, p3 of the circuits, Pa.
    pub pressures: [[f64; 3]; 2],
    /// Kinetic and potential energy, J.
    pub energy: f64,
}

/// θ1, θ2, ω1, ω2, then U, p1, p2, p3 of both circuits.
type CraneState = [f64; 12];

/// The step of the method, s. Half of it changes lengths by 1.3e-9 m and forces by 0.08 N.
const STEP: f64 = 1e-5;

/// Lengths of the links, m.
const L1: f64 = 1.0;
const L2: f64 = 0.5;

impl Crane {
    /// Point masses between the links and at the end, kg.
    #[must_use]
    pub fn masses(&self) -> [f64; 2] {
        self.throttle.masses()
    }

    fn links(&self) -> TwoLinks {
        let [m2, m3] = self.masses();
        TwoLinks {
            l1: L1,
            l2: L2,
            m1: 200.0,
            m2,
            m3,
        }
    }

    /// The motion at `times`, in s and in ascending order.
    ///
    /// Computed by the classic Runge-Kutta method with steps of 10 µs.
    #[must_use]
    pub fn motion(&self, times: &[f64]) -> Vec<CraneMotion> {
        self.motion_by(times, STEP)
    }

    /// The motion by steps of at most `largest_step`, s.
    pub(crate) fn motion_by(&self, times: &[f64], largest_step: f64) -> Vec<CraneMotion> {
        let circuits = [1, 2].map(|actuator| HydraulicCircuit::of(actuator, self.throttle));
        let plant = Plant {
            links: self.links(),
            circuits: &circuits[..self.actuators.min(2)],
        };
        let mut state = start(plant.circuits);
        let mut now = 0.0;
        let mut motions = Vec::with_capacity(times.len());
        for &time in times {
            // Rounding must not make one step more.
            let count = ((time - now) / largest_step - 1e-6).ceil().max(0.0) as usize;
            let step = (time - now) / count as f64;
            for i in 0..count {
                state = runge_kutta(&plant, &state, now + i as f64 * step, step);
            }
            now = time;
            motions.push(motion(&plant, &state));
        }
        motions
    }
}

/// The parts of a crane.
struct Plant<'a> {
    links: TwoLinks,
    circuits: &'a [HydraulicCircuit],
}

fn start(circuits: &[HydraulicCircuit]) -> CraneState {
    let mut state = [0.0; 12];
    state[0] = std::f64::consts::FRAC_PI_6;
    state[1] = 3.0 * std::f64::consts::FRAC_PI_2;
    for (circuit, place) in circuits.iter().zip(state[4..].chunks_mut(4)) {
        place.copy_from_slice(&circuit.rest());
    }
    state
}

/// The state of the circuit of actuator `i`.
fn circuit_state(state: &CraneState, i: usize) -> [f64; 4] {
    std::array::from_fn(|k| state[4 + 4 * i + k])
}

/// Lengths of the actuators, m, and their derivatives by the angles, m/rad.
fn actuators(state: &CraneState) -> ([f64; 2], [[f64; 2]; 2]) {
    let [sin1, cos1] = [state[0].sin(), state[0].cos()];
    let [sin2, cos2] = [state[1].sin(), state[1].cos()];
    let (l1, l2) = (L1, L2);
    let half = l1 / 2.0;
    let (dx, dy) = (half * cos1 - 0.75_f64.sqrt(), half * sin1);
    let first = dx.hypot(dy);
    let (x_r, y_r) = (l1 * cos1 + l2 * cos2, l1 * sin1 + l2 * sin2);
    let end = x_r.hypot(y_r);
    let lever = half * (cos1 * dy - sin1 * dx) / first;
    let levers = [
        l1 * (cos1 * y_r - sin1 * x_r) / (2.0 * end),
        l2 * (cos2 * y_r - sin2 * x_r) / (2.0 * end),
    ];
    ([first, end / 2.0], [[lever, 0.0], levers])
}

fn rates_of_lengths(state: &CraneState, levers: &[[f64; 2]; 2]) -> [f64; 2] {
    levers.map(|[by_theta1, by_theta2]| by_theta1 * state[2] + by_theta2 * state[3])
}

fn rates(plant: &Plant<'_>, time: f64, state: &CraneState) -> CraneState {
    let (s, levers) = actuators(state);
    let v = rates_of_lengths(state, &levers);
    let mut rates = [0.0; 12];
    let mut torques = [0.0; 2];
    for (i, circuit) in plant.circuits.iter().enumerate() {
        let own = circuit_state(state, i);
        let force = circuit.force(own, s[i], v[i]);
        torques[0] += levers[i][0] * force;
        torques[1] += levers[i][1] * force;
        let change = circuit.rates(own, s[i], v[i], circuit.spool_reference(time));
        rates[4 + 4 * i..8 + 4 * i].copy_from_slice(&change);
    }
    let links = [state[0], state[1], state[2], state[3]];
    let [alpha1, alpha2] = plant.links.accelerations(&links, torques);
    rates[..4].copy_from_slice(&[state[2], state[3], alpha1, alpha2]);
    rates
}

fn runge_kutta(plant: &Plant<'_>, state: &CraneState, time: f64, step: f64) -> CraneState {
    let shifted = |rates: &CraneState, h: f64| std::array::from_fn(|i| state[i] + h * rates[i]);
    let middle = time + step / 2.0;
    let k1 = rates(plant, time, state);
    let k2 = rates(plant, middle, &shifted(&k1, step / 2.0));
    let k3 = rates(plant, middle, &shifted(&k2, step / 2.0));
    let k4 = rates(plant, time + step, &shifted(&k3, step));
    let mean = std::array::from_fn(|i| (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]) / 6.0);
    shifted(&mean, step)
}

fn motion(plant: &Plant<'_>, state: &CraneState) -> CraneMotion {
    let (s, levers) = actuators(state);
    let v = rates_of_lengths(state, &levers);
    let (mut force, mut pressures) = ([0.0; 2], [[0.0; 3]; 2]);
    for (i, circuit) in plant.circuits.iter().enumerate() {
        let own @ [_, p1, p2, p3] = circuit_state(state, i);
        force[i] = circuit.force(own, s[i], v[i]);
        pressures[i] = [p1, p2, p3];
    }
    CraneMotion {
        s,
        v,
        force,
        pressures,
        energy: energy(&plant.links, state),
    }
}

fn energy(links: &TwoLinks, state: &CraneState) -> f64 {
    let [theta1, theta2, omega1, omega2] = [state[0], state[1], state[2], state[3]];
    let TwoLinks { l1, l2, m1, m2, m3 } = *links;
    let kinetic = l1 * l1 * (m1 / 3.0 + m2 + m3) * omega1 * omega1 / 2.0
        + l2 * l2 * m3 * omega2 * omega2 / 2.0
        + l1 * l2 * m3 * (theta1 - theta2).cos() * omega1 * omega2;
    let weight1 = l1 * GRAVITY * (m1 / 2.0 + m2 + m3);
    kinetic + weight1 * theta1.sin() + l2 * GRAVITY * m3 * theta2.sin()
}

#[cfg(test)]
mod tests {
    use super::{Crane, CraneMotion, Throttle};

    /// s1, s2, f1 or f2, N, and three pressures, MPa, by `crates/benchmark/reference/cranes.py`.
    const SINGLE: &[(f64, [f64; 6])] = &[
        (2.5, [0.549847, 0.405036, 7618.3, 3.8291, 1.9748, 4.7323]),
        (5.0, [0.641186, 0.355367, 6035.9, 3.6191, 2.0800, 4.5726]),
        (7.5, [0.734738, 0.317300, 4698.4, 3.4417, 2.1694, 4.4377]),
        (10.0, [0.745328, 0.318850, 4591.8, 7.6061, 0.0877, 7.6061]),
        (15.0, [0.566741, 0.382691, 7213.4, 4.8609, 5.2327, 3.7206]),
        (20.0, [0.453901, 0.473257, 10668.3, 0.1121, 7.5988, 0.1121]),
        (25.0, [0.496276, 0.428301, 8906.3, 4.0141, 2.0496, 4.6157]),
        (30.0, [0.538184, 0.420176, 7909.8, 3.6018, 2.5084, 3.6018]),
    ];
    /// s1, s2, f1, f2 and the pressure p1 of the second circuit, likewise.
    const DOUBLE: &[(f64, [f64; 5])] = &[
        (2.5, [0.549784, 0.443398, 7783.2, 296.1, 2.8962]),
        (5.0, [0.640528, 0.508557, 6637.7, 1160.7, 3.0075]),
        (7.5, [0.733150, 0.471816, 5307.8, 1183.4, 4.0436]),
        (10.0, [0.745271, 0.451315, 5085.2, 1080.3, 4.2567]),
        (15.0, [0.566047, 0.396110, 7298.7, -7.8, 2.8537]),
        (20.0, [0.453893, 0.471823, 10679.4, 85.3, 2.5970]),
        (25.0, [0.496272, 0.442766, 8974.4, 58.8, 2.8594]),
        (30.0, [0.538059, 0.498415, 8235.6, 692.8, 2.7195]),
    ];

    const MEDIUM: &[(f64, [f64; 2])] = &[
        (2.5, [0.508504, 0.495064]),
        (5.0, [0.563650, 0.603624]),
        (10.0, [0.491318, 0.608495]),
    ];

    /// Steps of 10 µs take too long without optimisation; 50 µs change lengths by less than 1e-7 m.
    const STEP: f64 = if cfg!(debug_assertions) {
        5e-5
    } else {
        super::STEP
    };

    fn motions<const N: usize>(crane: Crane, table: &[(f64, [f64; N])]) -> Vec<CraneMotion> {
        let times: Vec<f64> = table.iter().map(|(time, _)| *time).collect();
        crane.motion_by(&times, STEP)
    }

    fn assert_close(found: f64, expected: f64, tolerance: f64, time: f64) {
        let error = (found - expected).abs();
        assert!(error <= tolerance, "{found} is not {expected} at {time} s");
    }

    #[test]
    fn the_single_crane() {
        let crane = Crane {
            actuators: 1,
            throttle: Throttle::Narrow,
        };
        let rows = motions(crane, SINGLE).into_iter().zip(SINGLE);
        for (motion, (time, [s1, s2, f1, p @ ..])) in rows {
            assert_close(motion.s[0], *s1, 1e-6, *time);
            assert_close(motion.s[1], *s2, 1e-6, *time);
            assert_close(motion.force[0], *f1, 0.5, *time);
            for (found, expected) in motion.pressures[0].iter().zip(p) {
                assert_close(1e-6 * found, *expected, 1e-4, *time);
            }
        }
    }

    #[test]
    fn the_double_crane() {
        let crane = Crane {
            actuators: 2,
            throttle: Throttle::Narrow,
        };
        let rows = motions(crane, DOUBLE).into_iter().zip(DOUBLE);
        for (motion, (time, [s1, s2, f1, f2, p21])) in rows {
            assert_close(motion.s[0], *s1, 1e-6, *time);
            assert_close(motion.s[1], *s2, 1e-6, *time);
            assert_close(motion.force[0], *f1, 0.5, *time);
            assert_close(motion.force[1], *f2, 0.5, *time);
            assert_close(1e-6 * motion.pressures[1][0], *p21, 1e-4, *time);
        }
    }

    /// Lengths by `crates/benchmark/reference/crane_robustness.py`.
    #[test]
    fn the_crane_with_less_friction() {
        let throttle = Throttle::Medium;
        let crane = Crane {
            actuators: 2,
            throttle,
        };
        for (motion, (time, [s1, s2])) in motions(crane, MEDIUM).into_iter().zip(MEDIUM) {
            assert_close(motion.s[0], *s1, 1e-6, *time);
            assert_close(motion.s[1], *s2, 1e-6, *time);
        }
    }

    #[test]
    fn wide_throttles() {
        for (actuators, s1, s2) in [(1, 0.542599, 0.417466), (2, 0.542437, 0.499860)] {
            let throttle = Throttle::Wide;
            let crane = Crane {
                actuators,
                throttle,
            };
            let end = crane.motion_by(&[30.0], STEP)[0];
            assert_close(end.s[0], s1, 1e-6, 30.0);
            assert_close(end.s[1], s2, 1e-6, 30.0);
        }
    }
}
