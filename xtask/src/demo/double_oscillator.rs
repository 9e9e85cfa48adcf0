//! The exact motion of the demo's double oscillator, and how far a result is from it.

use gyrator_record::Table;

// Rodríguez et al. (2022), table 1, case 1: both masses are 1 kg, there is no damping, and both
// start where the springs are at rest, with 100 m/s against each other.
const SPRING_1: f64 = 10.0;
const SPRING_2: f64 = 1000.0;
const COUPLING_SPRING: f64 = 100.0;
const START_VELOCITY: f64 = 100.0;

/// How far a result is from the exact solution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metrics {
    /// Greatest magnitude of the error of the mechanical energy, J.
    pub(super) greatest_energy_error: f64,
    /// Root mean square of the error of x2, m.
    pub(super) rms_position_error: f64,
}

/// The mechanical energy at the start, J.
pub(super) fn start_energy() -> f64 {
    energy(0.0, START_VELOCITY, 0.0, -START_VELOCITY)
}

/// The mechanical energy, J, at each time, s, of a result with the columns of [`metrics`].
pub(super) fn energies(table: &Table) -> Result<Vec<(f64, f64)>, String> {
    let [x1, v1, x2, v2] = columns(table)?;
    let rows = table.time.iter().enumerate();
    let energies = rows.map(|(row, time)| (*time, energy(x1[row], v1[row], x2[row], v2[row])));
    Ok(energies.collect())
}

/// Positions and velocities of the left and the right mass.
fn columns(table: &Table) -> Result<[&[f64]; 4], String> {
    let column = |name: &str| {
        let numbers = table.column(name).and_then(|series| series.numbers());
        numbers.ok_or_else(|| format!("the result has no column {name}"))
    };
    let (x1, v1) = (column("left.x")?, column("left.v")?);
    Ok([x1, v1, column("right.x")?, column("right.v")?])
}

/// Judges a result with the columns `left.x`, `left.v`, `right.x` and `right.v`.
pub(super) fn metrics(table: &Table) -> Result<Metrics, String> {
    let [_, _, x2, _] = columns(table)?;
    let exact = Modes::new();
    let squares = table.time.iter().zip(x2);
    let square: f64 = squares
        .map(|(time, x)| (x - exact.position_2(*time)).powi(2))
        .sum();
    let errors = energies(table)?
        .into_iter()
        .map(|(_, energy)| (energy - start_energy()).abs());
    let greatest = errors.fold(0.0, f64::max);
    Ok(Metrics {
        greatest_energy_error: greatest,
        rms_position_error: (square / table.time.len() as f64).sqrt(),
    })
}

fn energy(x1: f64, v1: f64, x2: f64, v2: f64) -> f64 {
    let springs = SPRING_1 * x1 * x1 + SPRING_2 * x2 * x2 + COUPLING_SPRING * (x1 - x2).powi(2);
    0.5 * (v1 * v1 + v2 * v2 + springs)
}

/// The two modes of the undamped oscillator; both masses are 1 kg.
struct Modes {
    /// Direction of the first mode in the plane of x1 and x2; the second is at a right angle to it.
    angle: f64,
    /// Angular frequencies, rad/s.
    frequencies: [f64; 2],
}

impl Modes {
    fn new() -> Self {
        let (a, b, c) = (
            SPRING_1 + COUPLING_SPRING,
            -COUPLING_SPRING,
            SPRING_2 + COUPLING_SPRING,
        );
        let (mean, radius) = (f64::midpoint(a, c), f64::hypot((a - c) / 2.0, b));
        Self {
            angle: 0.5 * f64::atan2(2.0 * b, a - c),
            frequencies: [(mean + radius).sqrt(), (mean - radius).sqrt()],
        }
    }

    /// x2 at `time`, m: each mode swings with its share of the start velocities.
    fn position_2(&self, time: f64) -> f64 {
        let (sin, cos) = self.angle.sin_cos();
        let [first, second] = self.frequencies;
        let velocities = [START_VELOCITY * (cos - sin), START_VELOCITY * (-sin - cos)];
        let swing = |velocity: f64, frequency: f64| velocity * (frequency * time).sin() / frequency;
        swing(velocities[0], first) * sin + swing(velocities[1], second) * cos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accelerations from the equations of motion.
    fn accelerations([x1, x2]: [f64; 2]) -> [f64; 2] {
        let coupling = COUPLING_SPRING * (x1 - x2);
        [-SPRING_1 * x1 - coupling, -SPRING_2 * x2 + coupling]
    }

    // Against Störmer–Verlet steps of 1 µs, whose error at 0.2 s is below 1e-7 m.
    #[test]
    fn the_modes_follow_the_equations_of_motion() {
        let h = 1e-6;
        let (mut x, mut v) = ([0.0; 2], [START_VELOCITY, -START_VELOCITY]);
        for _ in 0..200_000 {
            let before = accelerations(x);
            for i in 0..2 {
                x[i] += h * v[i] + 0.5 * h * h * before[i];
            }
            let after = accelerations(x);
            for i in 0..2 {
                v[i] += 0.5 * h * (before[i] + after[i]);
            }
        }
        assert!((Modes::new().position_2(0.2) - x[1]).abs() < 1e-7);
    }
}
