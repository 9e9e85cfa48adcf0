//! The quarter car in one piece, to compare co-simulations with.

use crate::quarter_car_elements::{Road, Suspension};

/// The whole quarter car: parameters as in the FMUs, at rest at height 0 at time 0.
///
/// ```
/// use fmu_models::QuarterCar;
///
/// let end = QuarterCar::linear().motion(&[4.0]);
/// assert!((end[0].z_c - 0.1).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuarterCar {
    /// Mass of the chassis, kg.
    pub m_c: f64,
    /// Mass of the wheel, kg.
    pub m_w: f64,
    /// Stiffness of the suspension spring, N/m.
    pub k_c: f64,
    /// Stiffness of the tyre, N/m.
    pub k_w: f64,
    /// Damper coefficient, N·(s/m)^`damper_exponent`.
    pub d_c: f64,
    /// Exponent p of the damper force d_c·sgn(v)·|v|^p.
    pub damper_exponent: f64,
    /// Height of the road from time 0, m.
    pub road_step: f64,
    /// Further change of the height at `second_road_time`, m.
    pub second_road_step: f64,
    /// Time of the second road step, s.
    pub second_road_time: f64,
}

/// Where the quarter car is at one time; all upwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Height of the chassis, m.
    pub z_c: f64,
    /// Velocity of the chassis, m/s.
    pub v_c: f64,
    /// Height of the wheel, m.
    pub z_w: f64,
    /// Velocity of the wheel, m/s.
    pub v_w: f64,
    /// Force of the suspension on the chassis, N.
    pub force: f64,
}

/// z_c, v_c, z_w, v_w.
type QuarterCarState = [f64; 4];

/// Largest error of one step, m and m/s. The steps of the quarter car are about 0.1 ms.
const TOLERANCE: f64 = 1e-14;
/// Where the damper force has a kink, steps get smaller until this size, s.
const SMALLEST_STEP: f64 = 1e-10;
const FIRST_STEP: f64 = 1e-6;

impl QuarterCar {
    /// Sadjina & Pedersen (2019), table 2.
    #[must_use]
    pub fn linear() -> Self {
        Self {
            m_c: 400.0,
            m_w: 40.0,
            k_c: 15e3,
            k_w: 150e3,
            d_c: 1000.0,
            damper_exponent: 1.0,
            road_step: 0.1,
            second_road_step: 0.0,
            second_road_time: 2.0,
        }
    }

    /// Sadjina & Pedersen (2019), table 3: n_d = 1.5, which is the exponent 1/(n_d + 1/2).
    #[must_use]
    pub fn nonlinear() -> Self {
        Self {
            d_c: 900.0,
            damper_exponent: 0.5,
            ..Self::linear()
        }
    }

    /// The motion at `times`, in s and in ascending order, to about 1e-11 of each quantity's
    /// largest value.
    ///
    /// Computed by steps of the classic Runge-Kutta method, halved and extrapolated (order 5).
    #[must_use]
    pub fn motion(&self, times: &[f64]) -> Vec<Motion> {
        let mut course = Course::new(self);
        times.iter().map(|&time| course.motion_at(time)).collect()
    }
}

/// A motion under way.
struct Course {
    car: QuarterCar,
    suspension: Suspension,
    road: Road,
    time: f64,
    state: QuarterCarState,
    step: f64,
}

impl Course {
    fn new(car: &QuarterCar) -> Self {
        Self {
            car: *car,
            suspension: Suspension {
                k_c: car.k_c,
                d_c: car.d_c,
                exponent: car.damper_exponent,
            },
            road: Road {
                step: car.road_step,
                second_step: car.second_road_step,
                second_time: car.second_road_time,
                height: 0.0,
            },
            time: 0.0,
            state: [0.0; 4],
            step: FIRST_STEP,
        }
    }

    fn motion_at(&mut self, time: f64) -> Motion {
        if self.time < self.road.second_time && self.road.second_time < time {
            self.advance_to(self.road.second_time);
        }
        self.advance_to(time);
        let [z_c, v_c, z_w, v_w] = self.state;
        let force = self.suspension.force(z_w - z_c, v_w - v_c);
        Motion {
            z_c,
            v_c,
            z_w,
            v_w,
            force,
        }
    }

    /// Advances under the present road.
    fn advance_to(&mut self, end: f64) {
        self.road.move_to(self.time);
        let road = self.road.height;
        while self.time < end {
            let step = self.step.min(end - self.time);
            let coarse = self.runge_kutta(&self.state, road, step);
            let half = self.runge_kutta(&self.state, road, step / 2.0);
            let fine = self.runge_kutta(&half, road, step / 2.0);
            let error = |i: usize| (fine[i] - coarse[i]) / 15.0;
            let largest = (0..4).map(|i| error(i).abs()).fold(0.0, f64::max);
            let accepted = largest <= TOLERANCE || step <= SMALLEST_STEP;
            if accepted {
                self.state = std::array::from_fn(|i| fine[i] + error(i));
                self.time = if step < end - self.time {
                    self.time + step
                } else {
                    end
                };
            }
            // A step cut short at the end says little about how long the next may be.
            if !accepted || step == self.step {
                let change = (0.9 * (TOLERANCE / largest).powf(0.2)).clamp(0.2, 2.0);
                self.step = (change * step).max(SMALLEST_STEP);
            }
        }
    }

    fn runge_kutta(&self, state: &QuarterCarState, road: f64, step: f64) -> QuarterCarState {
        let shifted =
            |rates: &QuarterCarState, h: f64| std::array::from_fn(|i| state[i] + h * rates[i]);
        let k1 = self.rates(state, road);
        let k2 = self.rates(&shifted(&k1, step / 2.0), road);
        let k3 = self.rates(&shifted(&k2, step / 2.0), road);
        let k4 = self.rates(&shifted(&k3, step), road);
        let mean = std::array::from_fn(|i| (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]) / 6.0);
        shifted(&mean, step)
    }

    fn rates(&self, &[z_c, v_c, z_w, v_w]: &QuarterCarState, road: f64) -> QuarterCarState {
        let force = self.suspension.force(z_w - z_c, v_w - v_c);
        let tyre = self.car.k_w * (road - z_w);
        [
            v_c,
            force / self.car.m_c,
            v_w,
            (tyre - force) / self.car.m_w,
        ]
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{Matrix4, Vector4};

    use super::{Motion, QuarterCar};

    fn assert_close(value: f64, expected: f64, tolerance: f64) {
        let error = (value - expected).abs();
        assert!(error <= tolerance, "{value} instead of {expected}");
    }

    /// exp(A·t)·(x − x∞) + x∞, with the road at `road`.
    fn propagate(start: Vector4<f64>, road: f64, time: f64) -> Vector4<f64> {
        let QuarterCar {
            m_c,
            m_w,
            k_c,
            k_w,
            d_c,
            ..
        } = QuarterCar::linear();
        #[rustfmt::skip]
        let a = Matrix4::new(
            0.0, 1.0, 0.0, 0.0,
            -k_c / m_c, -d_c / m_c, k_c / m_c, d_c / m_c,
            0.0, 0.0, 0.0, 1.0,
            k_c / m_w, d_c / m_w, -(k_c + k_w) / m_w, -d_c / m_w,
        );
        let rest = Vector4::new(road, 0.0, road, 0.0);
        (a * time).exp() * (start - rest) + rest
    }

    fn assert_is(motion: &Motion, exact: &Vector4<f64>) {
        let state = [motion.z_c, motion.v_c, motion.z_w, motion.v_w];
        for (value, exact) in state.iter().zip(exact) {
            assert_close(*value, *exact, 2e-11);
        }
    }

    #[test]
    fn linear_motion_is_the_matrix_exponential() {
        let times: Vec<f64> = (0..=40).map(|k| 0.1 * f64::from(k)).collect();
        for (motion, time) in QuarterCar::linear().motion(&times).iter().zip(&times) {
            assert_is(motion, &propagate(Vector4::zeros(), 0.1, *time));
        }
    }

    #[test]
    fn second_road_step() {
        let car = QuarterCar {
            second_road_step: -0.05,
            second_road_time: 0.35,
            ..QuarterCar::linear()
        };
        let before = propagate(Vector4::zeros(), 0.1, 0.35);
        let after = propagate(before, 0.05, 0.15);
        let motion = car.motion(&[0.2, 0.5]);
        assert_is(&motion[0], &propagate(Vector4::zeros(), 0.1, 0.2));
        assert_is(&motion[1], &after);
    }

    /// The equations of `crates/benchmark/reference/quarter_car.py`, integrated to 1e-13: values to nine decimals,
    /// forces to six.
    #[test]
    fn independent_values() {
        let linear = QuarterCar::linear().motion(&[0.05, 0.5, 1.0]);
        assert_close(linear[0].z_c, 0.011031735, 6e-10);
        assert_close(linear[0].v_c, 0.462196180, 6e-10);
        assert_close(linear[0].z_w, 0.142283270, 6e-10);
        assert_close(linear[0].v_w, 0.108573958, 6e-10);
        assert_close(linear[0].force, 1615.150799, 6e-7);
        assert_close(linear[1].v_c, -0.039406866, 6e-10);
        assert_close(linear[1].v_w, -0.016649307, 6e-10);
        assert_close(linear[1].force, -819.359911, 6e-7);
        assert_close(linear[2].v_c, -0.030602146, 6e-10);
        assert_close(linear[2].v_w, 0.004294703, 6e-10);
        assert_close(linear[2].force, 504.652828, 6e-7);
        let nonlinear = QuarterCar::nonlinear().motion(&[0.05, 0.5, 1.0]);
        assert_close(nonlinear[0].v_c, 0.335218583, 6e-10);
        assert_close(nonlinear[0].v_w, -0.204645923, 6e-10);
        assert_close(nonlinear[0].force, 1643.205540, 6e-7);
        assert_close(nonlinear[1].v_c, -0.053841451, 6e-10);
        assert_close(nonlinear[1].force, -782.017828, 6e-7);
        assert_close(nonlinear[2].v_c, -0.010971498, 6e-10);
        assert_close(nonlinear[2].force, 321.219016, 6e-7);
    }

    /// The same whether the motion is asked for at many times or at one.
    #[test]
    fn nonlinear_motion_does_not_depend_on_the_times() {
        let car = QuarterCar::nonlinear();
        let times: Vec<f64> = (1..=2000).map(|k| 1e-3 * f64::from(k)).collect();
        let (often, once) = (car.motion(&times)[1999], car.motion(&[times[1999]])[0]);
        assert_close(often.z_c, once.z_c, 1e-11);
        assert_close(often.v_c, once.v_c, 1e-11);
        assert_close(often.force, once.force, 1e-6);
    }
}
