//! Reference solutions of the benchmark systems as a whole, without any coupling: computed when
//! they are asked for, to about twelve digits.

mod bulirsch_stoer;
mod coupled_pendula;
mod hydraulic_crane;
mod quarter_car;
mod star_oscillator;

pub use bulirsch_stoer::NotConverged;
pub use coupled_pendula::{CoupledPendula, Pendulum};
pub use hydraulic_crane::HydraulicCrane;
pub use quarter_car::QuarterCarPower;
pub use star_oscillator::{Damper, Element, Mass, Spring, StarOscillator};

use bulirsch_stoer::Integration;

/// Acceleration of gravity along −y, m/s².
const GRAVITY: f64 = 9.81;

/// A system with a solution to compare co-simulations with. The state is the same list of numbers
/// in all functions; each system says what they are.
pub trait Reference {
    /// The state at time 0.
    fn start(&self) -> Vec<f64>;

    /// Writes the time derivative of each number of the state, at `time` in s.
    fn rates(&self, time: f64, state: &[f64], rates: &mut [f64]);

    /// Mechanical energy, J.
    fn energy(&self, state: &[f64]) -> f64;

    /// The states at `times`, s: none negative, in ascending order.
    ///
    /// # Errors
    /// When the solution does not exist as far as that, or the times are not in order.
    fn states_at(&self, times: &[f64]) -> Result<Vec<Vec<f64>>, NotConverged> {
        integrate(self, times)
    }
}

fn integrate<R: Reference + ?Sized>(
    system: &R,
    times: &[f64],
) -> Result<Vec<Vec<f64>>, NotConverged> {
    let mut integration = Integration::new(system.start());
    let rates = |time: f64, state: &[f64], rates: &mut [f64]| system.rates(time, state, rates);
    let states = times.iter().map(|&time| {
        integration.advance_to(time, &rates)?;
        Ok(integration.state().to_vec())
    });
    states.collect()
}
