//! Masses on springs and dampers, all coupled to the last one.

use nalgebra::{DMatrix, DVector};

use super::bulirsch_stoer::NotConverged;
use super::{Reference, integrate};

/// How the force of all springs follows their stretch e.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spring {
    /// k·e.
    Linear,
    /// k·sgn(e)·√|e| (Rodríguez et al. 2022, eq. 22).
    SquareRoot,
}

impl Spring {
    fn force(self, k: f64, stretch: f64) -> f64 {
        match self {
            Self::Linear => k * stretch,
            Self::SquareRoot => k * stretch.signum() * stretch.abs().sqrt(),
        }
    }

    fn energy(self, k: f64, stretch: f64) -> f64 {
        match self {
            Self::Linear => k * stretch * stretch / 2.0,
            Self::SquareRoot => k * stretch.abs().powf(1.5) * 2.0 / 3.0,
        }
    }
}

/// How the force of all dampers follows their velocity w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damper {
    /// c·w.
    Linear,
    /// c·w·|w| (Rodríguez et al. 2022, eq. 23).
    Quadratic,
}

impl Damper {
    fn force(self, c: f64, velocity: f64) -> f64 {
        match self {
            Self::Linear => c * velocity,
            Self::Quadratic => c * velocity * velocity.abs(),
        }
    }
}

/// A spring and a damper side by side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Element {
    /// Stiffness, N/m; N/m^0.5 for square-root springs.
    pub k: f64,
    /// Damping, N·s/m; N·s²/m² for quadratic dampers.
    pub c: f64,
}

/// A mass with its element to the wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mass {
    /// Mass, kg.
    pub m: f64,
    /// Between the mass and the wall.
    pub wall: Element,
    /// Initial velocity, m/s. All masses start at 0 m.
    pub v_start: f64,
}

/// The hub, and masses each coupled to it: the double and the multiple oscillator of Rodríguez
/// et al. (2022), sections 3.3, 4.1 and 4.2.
///
/// The state is x_1 … x_n, v_1 … v_n, in m and m/s; mass n is the hub.
#[derive(Debug, Clone, PartialEq)]
pub struct StarOscillator {
    /// Masses 1 … n−1, each with the element between it and the hub.
    pub arms: Vec<(Mass, Element)>,
    /// Mass n.
    pub hub: Mass,
    /// Kind of all springs.
    pub spring: Spring,
    /// Kind of all dampers.
    pub damper: Damper,
}

impl StarOscillator {
    /// Table 2 of the paper, whose cases differ in the number of masses and in the coefficient `c`
    /// of all dampers. With two masses and other springs or dampers it is table 3.
    #[must_use]
    pub fn table_2(masses: usize, c: f64) -> Self {
        let element = |k: f64| Element { k, c };
        let mass = |k: f64, v_start: f64| Mass {
            m: 1.0,
            wall: element(k),
            v_start,
        };
        let arm = (mass(10.0, 100.0), element(100.0));
        Self {
            arms: vec![arm; masses.saturating_sub(1)],
            hub: mass(1000.0, -100.0),
            spring: Spring::Linear,
            damper: Damper::Linear,
        }
    }

    fn masses(&self) -> impl Iterator<Item = &Mass> {
        self.arms.iter().map(|(mass, _)| mass).chain([&self.hub])
    }

    fn force(&self, element: Element, stretch: f64, velocity: f64) -> f64 {
        self.spring.force(element.k, stretch) + self.damper.force(element.c, velocity)
    }

    fn is_linear(&self) -> bool {
        self.spring == Spring::Linear && self.damper == Damper::Linear
    }

    /// The matrix A of state' = A·state, column by column from the rates of unit states.
    fn matrix(&self) -> DMatrix<f64> {
        let numbers = 2 * (self.arms.len() + 1);
        let mut matrix = DMatrix::zeros(numbers, numbers);
        let mut unit = vec![0.0; numbers];
        for (index, mut column) in matrix.column_iter_mut().enumerate() {
            unit[index] = 1.0;
            self.rates(0.0, &unit, column.as_mut_slice());
            unit[index] = 0.0;
        }
        matrix
    }

    /// Multiplies the state by e^(A·Δt) from time to time.
    fn exponential(&self, times: &[f64]) -> Result<Vec<Vec<f64>>, NotConverged> {
        let matrix = self.matrix();
        let mut state = DVector::from_vec(self.start());
        let mut now = 0.0;
        let mut states = Vec::with_capacity(times.len());
        let mut transition = (0.0, DMatrix::identity(state.len(), state.len()));
        for &time in times {
            let step = time - now;
            if !(step >= 0.0 && step.is_finite()) {
                return Err(NotConverged {
                    time: now,
                    end: time,
                });
            }
            // Steps of a grid differ by rounding only.
            if (step - transition.0).abs() > 1e-9 * step {
                transition = (step, (&matrix * step).exp());
            }
            state = &transition.1 * state;
            now = time;
            states.push(state.as_slice().to_vec());
        }
        Ok(states)
    }
}

impl Reference for StarOscillator {
    fn start(&self) -> Vec<f64> {
        let positions = self.masses().map(|_| 0.0);
        positions
            .chain(self.masses().map(|mass| mass.v_start))
            .collect()
    }

    fn rates(&self, _time: f64, state: &[f64], rates: &mut [f64]) {
        let (x, v) = state.split_at(state.len() / 2);
        let (velocities, accelerations) = rates.split_at_mut(state.len() / 2);
        velocities.copy_from_slice(v);
        let hub = self.arms.len();
        let mut on_hub = -self.force(self.hub.wall, x[hub], v[hub]);
        for (i, (mass, coupling)) in self.arms.iter().enumerate() {
            let coupling = self.force(*coupling, x[i] - x[hub], v[i] - v[hub]);
            accelerations[i] = (-self.force(mass.wall, x[i], v[i]) - coupling) / mass.m;
            on_hub += coupling;
        }
        accelerations[hub] = on_hub / self.hub.m;
    }

    fn energy(&self, state: &[f64]) -> f64 {
        let (x, v) = state.split_at(state.len() / 2);
        let hub = self.arms.len();
        let own = self
            .masses()
            .zip(x.iter().zip(v))
            .map(|(mass, (x, v))| mass.m * v * v / 2.0 + self.spring.energy(mass.wall.k, *x));
        let couplings = self.arms.iter().zip(x);
        let coupled =
            couplings.map(|((_, coupling), x)| self.spring.energy(coupling.k, x - state[hub]));
        own.sum::<f64>() + coupled.sum::<f64>()
    }

    /// By the matrix exponential if springs and dampers are linear, else by integration.
    fn states_at(&self, times: &[f64]) -> Result<Vec<Vec<f64>>, NotConverged> {
        if self.is_linear() {
            return self.exponential(times);
        }
        integrate(self, times)
    }
}
