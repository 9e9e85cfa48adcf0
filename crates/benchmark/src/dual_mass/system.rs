//! Two masses on springs and dampers, joined by a spring and a damper, in steps of forward Euler.

use gyrator::random::SplitMix64;
use nalgebra::DMatrix;

use super::stability::spectral_radius;

/// Step of forward Euler, s.
pub(crate) const MICRO_STEP: f64 = 1e-3;
/// Simulated time, in micro-steps: 5 s.
pub(crate) const MICRO_STEPS: usize = 5000;
/// Micro-steps at which an external force of 1 N starts to pull mass 2: at 1 s and at 4 s.
pub(crate) const PULSES: [usize; 2] = [1000, 4000];

/// Parameters of both halves; half 1 holds the coupling spring and damper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DualMass {
    /// kg.
    pub(crate) m: [f64; 2],
    /// Springs to the walls, N/m.
    pub(crate) k: [f64; 2],
    /// Coupling spring, N/m.
    pub(crate) k_c: f64,
    /// Coupling damper, N·s/m.
    pub(crate) d_c: f64,
    /// Dampers to the walls, N·s/m.
    pub(crate) d: [f64; 2],
}

/// v₁, x₁, the received velocity's integral x_c, v₂, x₂.
pub(crate) type Motion = [f64; 5];

/// Velocity of mass 2 and coupling force at each micro-step: the coupling variables.
pub(crate) type Course = Vec<[f64; 2]>;

impl DualMass {
    /// The systems of figures 7 to 10 of the paper.
    #[rustfmt::skip]
    pub(crate) const FIGURES: [Self; 4] = [
        Self { m: [8.6856, 6.7863], k: [176.6611, 895.8553], k_c: 171.7, d_c: 0.0857, d: [3.6585, 16.4162] },
        Self { m: [3.2365, 8.9549], k: [120.5520, 995.0490], k_c: 701.9907, d_c: 12.5715, d: [20.2187, 231.6654] },
        Self { m: [0.0901, 2.8877], k: [871.8076, 712.9230], k_c: 654.9675, d_c: 0.5438, d: [8.6864, 86.5947] },
        Self { m: [9.9049, 0.3935], k: [586.9352, 956.6108], k_c: 741.3214, d_c: 40.3909, d: [50.9125, 20.1711] },
    ];

    /// The first `count` random systems that forward Euler can compute: uniform masses to 10 kg,
    /// stiffnesses to 1000 N/m, coupling dampers to 50 N·s/m, damping ratios to 2.
    pub(crate) fn random(count: usize) -> Vec<Self> {
        let mut numbers = SplitMix64::new(2021);
        std::iter::repeat_with(|| Self::draw(&mut numbers))
            .filter(Self::is_computable)
            .take(count)
            .collect()
    }

    fn draw(numbers: &mut SplitMix64) -> Self {
        let mut up_to = |greatest: f64| greatest * numbers.next_unit();
        let m = [up_to(10.0), up_to(10.0)];
        let k = [up_to(1000.0), up_to(1000.0)];
        let (k_c, d_c) = (up_to(1000.0), up_to(50.0));
        let ratios = [up_to(2.0), up_to(2.0)];
        let damper = |half: usize| ratios[half] * (m[half] * k[half]).sqrt();
        let d = [damper(0), damper(1)];
        Self { m, k, k_c, d_c, d }
    }

    /// Whether forward Euler is stable for the whole and for each half.
    fn is_computable(&self) -> bool {
        let Self { m, k, k_c, d_c, d } = *self;
        #[rustfmt::skip]
        let whole = [
            -(d[0] + d_c) / m[0], -(k[0] + k_c) / m[0], d_c / m[0], k_c / m[0],
            1.0, 0.0, 0.0, 0.0,
            d_c / m[1], k_c / m[1], -(d[1] + d_c) / m[1], -(k[1] + k_c) / m[1],
            0.0, 0.0, 1.0, 0.0,
        ];
        let first = [-(d[0] + d_c) / m[0], -(k[0] + k_c) / m[0], 1.0, 0.0];
        let second = [-d[1] / m[1], -k[1] / m[1], 1.0, 0.0];
        let is_stable = |rates: &[f64], order: usize| {
            let step = MICRO_STEP * DMatrix::from_row_slice(order, order, rates);
            spectral_radius(DMatrix::identity(order, order) + step, None) < 1.0
        };
        is_stable(&whole, 4) && is_stable(&first, 2) && is_stable(&second, 2)
    }

    /// The coupling force on mass 2, given the received velocity.
    pub(crate) fn force(&self, motion: &Motion, velocity: f64) -> f64 {
        let [v1, x1, x_c, ..] = *motion;
        self.k_c * (x1 - x_c) + self.d_c * (v1 - velocity)
    }

    /// One micro-step under the received velocity and force, and the external force.
    pub(crate) fn advance(&self, motion: &mut Motion, [velocity, force]: [f64; 2], external: f64) {
        let [v1, x1, x_c, v2, x2] = *motion;
        let Self { m, k, d, .. } = self;
        let own_force = self.force(motion, velocity);
        let h = MICRO_STEP;
        *motion = [
            v1 + h * ((-k[0] * x1 - d[0] * v1 - own_force) / m[0]),
            x1 + h * v1,
            x_c + h * velocity,
            v2 + h * ((-k[1] * x2 - d[1] * v2 + force + external) / m[1]),
            x2 + h * v2,
        ];
    }

    /// The course of the system when it is computed as a whole.
    pub(crate) fn reference(&self, pulse: usize) -> Course {
        let mut motion = Motion::default();
        let step = |index: usize| {
            // x_c is the integral of mass 2's velocity, and so its position.
            let velocity = motion[3];
            let force = self.force(&motion, velocity);
            self.advance(&mut motion, [velocity, force], external(index, pulse));
            [velocity, force]
        };
        (0..MICRO_STEPS).map(step).collect()
    }
}

/// The external force at a micro-step, N: pulses of 1 N, `pulse` micro-steps long.
pub(crate) fn external(index: usize, pulse: usize) -> f64 {
    let pulls = |start: &usize| (*start..start + pulse).contains(&index);
    f64::from(u8::from(PULSES.iter().any(pulls)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of `reference/dual_mass.py`, which draws in the same order.
    #[test]
    fn the_random_systems_are_those_of_the_reproduction() {
        let mut numbers = SplitMix64::new(2021);
        for expected in [
            0.260_512_113_892_027_2,
            0.990_444_665_679_104_8,
            0.517_156_961_823_738_9,
            0.406_799_976_286_047_6,
        ] {
            assert_eq!(numbers.next_unit(), expected);
        }
        let systems = DualMass::random(2000);
        let sum = |of: fn(&DualMass) -> f64| systems.iter().map(of).sum::<f64>();
        let sums = [
            (sum(|s| s.m[0]), 9_900.465_390_371_135),
            (sum(|s| s.m[1]), 10_051.079_701_524_863),
            (sum(|s| s.k[0]), 1_009_064.787_340_100_3),
            (sum(|s| s.k[1]), 1_000_576.945_350_827_5),
            (sum(|s| s.k_c), 1_012_824.061_987_470_1),
            (sum(|s| s.d_c), 49_709.708_528_945_71),
            (sum(|s| s.d[0]), 89_592.301_360_481_81),
            (sum(|s| s.d[1]), 91_589.032_563_614_94),
        ];
        for (sum, expected) in sums {
            assert!((sum / expected - 1.0).abs() < 1e-12, "{sum} {expected}");
        }
    }

    #[test]
    fn pulses_last_as_long_as_asked() {
        let newtons = |pulse| {
            (0..MICRO_STEPS)
                .map(|index| external(index, pulse))
                .sum::<f64>()
        };
        assert_eq!([newtons(1), newtons(200)], [2.0, 400.0]);
    }
}
