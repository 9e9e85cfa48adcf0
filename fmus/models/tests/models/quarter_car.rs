//! The halves of the quarter car, alone and coupled, in process.
//!
//! The numbers of coupled runs come from `crates/benchmark/reference/quarter_car.py`, after Sadjina & Pedersen
//! (2019), printed to nine digits.

use fmu_kit::{InProcess, Model, ValueReference};
use fmu_models::{
    QuarterCar, QuarterCarChassis, QuarterCarChassisSuspension, QuarterCarWheel,
    QuarterCarWheelSuspension,
};

const RUNGE_KUTTA_4: i32 = 2;
/// Communication step, s.
const STEP: f64 = 1e-3;

fn assert_close(value: f64, expected: f64, tolerance: f64) {
    let error = (value - expected).abs();
    assert!(
        error <= tolerance * expected.abs(),
        "{value} instead of {expected}"
    );
}

/// One half, with the signs that turn its input and output into u and y of the paper.
struct Half<M: Model> {
    unit: InProcess<M>,
    input: (ValueReference, f64),
    output: (ValueReference, f64),
}

impl<M: Model> Half<M> {
    fn new(input: (&str, f64), output: (&str, f64)) -> Self {
        let unit = InProcess::<M>::new();
        let find = |(name, sign)| (unit.reference(name).unwrap(), sign);
        let (input, output) = (find(input), find(output));
        Self {
            unit,
            input,
            output,
        }
    }

    fn with(mut self, name: &str, value: f64) -> Self {
        let reference = self.unit.reference(name).unwrap();
        self.unit.set(reference, value).unwrap();
        self
    }

    fn with_integer(mut self, name: &str, value: i32) -> Self {
        let reference = self.unit.reference(name).unwrap();
        self.unit.set(reference, value).unwrap();
        self
    }

    fn damped(self, damper: &Damper) -> Self {
        self.with("d_c", damper.d_c)
            .with("damper_exponent", damper.exponent)
    }

    fn get(&mut self, name: &str) -> f64 {
        let reference = self.unit.reference(name).unwrap();
        *self.unit.get(reference).unwrap()
    }
}

/// A half as the master of the paper sees it.
trait Simulator {
    fn initialize(&mut self);
    /// Holds the input `u` over the step that starts at `time` in s; returns y at its end.
    fn advance(&mut self, u: f64, time: f64) -> f64;
    /// ∂y/∂u.
    fn jacobian(&mut self) -> f64;
}

impl<M: Model> Simulator for Half<M> {
    fn initialize(&mut self) {
        self.unit.initialize().unwrap();
    }

    fn advance(&mut self, u: f64, time: f64) -> f64 {
        self.unit.set(self.input.0, self.input.1 * u).unwrap();
        self.unit.step(time, STEP).unwrap();
        self.output.1 * self.unit.get::<f64>(self.output.0).unwrap()
    }

    fn jacobian(&mut self) -> f64 {
        let mut result = [0.0];
        let (unknown, known) = ([self.output.0], [self.input.0]);
        self.unit
            .directional_derivative(&unknown, &known, &[self.input.1], &mut result)
            .unwrap();
        self.output.1 * result[0]
    }
}

struct Damper {
    d_c: f64,
    exponent: f64,
}

const LINEAR: Damper = Damper {
    d_c: 1000.0,
    exponent: 1.0,
};
const NONLINEAR: Damper = Damper {
    d_c: 900.0,
    exponent: 0.5,
};

#[derive(Clone, Copy)]
enum Correction {
    None,
    /// Equation 11 with the tuning factor α.
    Nepce(f64),
    /// Equation 12, for direct feed-through.
    Modified(f64),
}

/// Two simulators with u = L·y, L = ((0, l12), (l21, 0)).
struct Coupling {
    simulators: [Box<dyn Simulator>; 2],
    l12: f64,
    l21: f64,
}

impl Coupling {
    /// u1 = −y2 = −F, u2 = y1 = v_c.
    fn reticulation_1(damper: &Damper) -> Self {
        let chassis = Half::<QuarterCarChassis>::new(("F", -1.0), ("v_c", 1.0));
        let rest = Half::<QuarterCarWheelSuspension>::new(("v_c", 1.0), ("F", 1.0));
        Self {
            simulators: [Box::new(chassis), Box::new(rest.damped(damper))],
            l12: -1.0,
            l21: 1.0,
        }
    }

    /// u1 = y2 = v_w, u2 = −y1 = F.
    fn reticulation_2(damper: &Damper) -> Self {
        let rest = Half::<QuarterCarChassisSuspension>::new(("v_w", 1.0), ("F", -1.0));
        let wheel = Half::<QuarterCarWheel>::new(("F", 1.0), ("v_w", 1.0));
        Self {
            simulators: [Box::new(rest.damped(damper)), Box::new(wheel)],
            l12: 1.0,
            l21: -1.0,
        }
    }

    /// (1 − L·J)⁻¹·e.
    fn modified(&mut self, e: [f64; 2]) -> [f64; 2] {
        let [j1, j2] = [0, 1].map(|k| self.simulators[k].jacobian());
        let (a, b) = (self.l12 * j2, self.l21 * j1);
        let determinant = 1.0 - a * b;
        [
            (e[0] + a * e[1]) / determinant,
            (b * e[0] + e[1]) / determinant,
        ]
    }

    /// y after each of `count` parallel steps.
    fn run(mut self, count: u32, correction: Correction) -> Vec<[f64; 2]> {
        self.simulators.iter_mut().for_each(|s| s.initialize());
        let (mut u, mut change, mut last_error) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        let mut outputs = Vec::new();
        for k in 0..count {
            let applied = [u[0] + change[0], u[1] + change[1]];
            let time = f64::from(k) * STEP;
            let y = [0, 1].map(|i| self.simulators[i].advance(applied[i], time));
            u = [self.l12 * y[1], self.l21 * y[0]];
            let error = [u[0] - applied[0], u[1] - applied[1]];
            let mean = [0, 1].map(|i| 0.5 * (error[i] + last_error[i]));
            last_error = error;
            change = match correction {
                Correction::None => [0.0; 2],
                Correction::Nepce(alpha) => mean.map(|e| alpha * e),
                Correction::Modified(alpha) => self.modified(mean).map(|e| alpha * e),
            };
            outputs.push(y);
        }
        outputs
    }
}

/// Compares y after `n` steps with values of nine digits.
fn assert_outputs(outputs: &[[f64; 2]], n: usize, expected: [f64; 2]) {
    for (value, expected) in outputs[n - 1].iter().zip(expected) {
        assert_close(*value, expected, 1e-8);
    }
}

#[test]
fn linear_reticulation_1() {
    let run = |correction| Coupling::reticulation_1(&LINEAR).run(50, correction);
    let constant = run(Correction::None);
    assert_outputs(&constant, 2, [9.32237782e-4, 740.623814]);
    assert_outputs(&constant, 50, [0.461723567, 1623.38079]);
    let nepce = run(Correction::Nepce(0.95));
    assert_outputs(&nepce, 2, [1.37505073e-3, 740.623814]);
    assert_outputs(&nepce, 50, [0.462866254, 1616.61228]);
    let modified = run(Correction::Modified(0.95));
    assert_outputs(&modified, 50, [0.462592481, 1616.88000]);
}

#[test]
fn linear_reticulation_2() {
    let run = |correction| Coupling::reticulation_2(&LINEAR).run(50, correction);
    let constant = run(Correction::None);
    assert_outputs(&constant, 2, [-379.440161, 0.748137351]);
    assert_outputs(&constant, 50, [-1627.86814, -0.0829199332]);
    let nepce = run(Correction::Nepce(0.85));
    assert_outputs(&nepce, 50, [-1646.73934, 0.0361151513]);
    let modified = run(Correction::Modified(0.85));
    assert_outputs(&modified, 50, [-1678.59905, 0.066260115]);
}

#[test]
fn nonlinear_reticulations() {
    let first = Coupling::reticulation_1(&NONLINEAR).run(50, Correction::None);
    assert_outputs(&first, 50, [0.333676837, 1650.35809]);
    let second = Coupling::reticulation_2(&NONLINEAR).run(50, Correction::None);
    assert_outputs(&second, 50, [-1751.19528, -0.342736339]);
}

/// The chassis under F(t) = a + b·t: exact for order 4, and with Euler's sum of the values at the
/// starts of n micro-steps.
#[test]
fn polynomial_input_is_followed_by_the_micro_steps() {
    let (a, b, h) = (800.0, 2.4e4, 0.01);
    let final_velocity = |n: i32, integrator: i32| {
        let mut chassis = Half::<QuarterCarChassis>::new(("F", 1.0), ("v_c", 1.0))
            .with_integer("micro_steps", n)
            .with_integer("integrator", integrator);
        chassis.initialize();
        let force = chassis.input.0;
        chassis.unit.set(force, a).unwrap();
        chassis.unit.set_input_derivative(force, 1, b).unwrap();
        chassis.unit.step(0.0, h).unwrap();
        assert_close(chassis.get("F"), a + b * h, 1e-15);
        chassis.get("v_c")
    };
    let exact = (a * h + b * h * h / 2.0) / 400.0;
    assert_close(final_velocity(1, RUNGE_KUTTA_4), exact, 1e-14);
    for n in [1, 7, 256] {
        let missing = b * h * h / (2.0 * f64::from(n)) / 400.0;
        assert_close(final_velocity(n, 1), exact - missing, 1e-13);
    }
}

/// The wheel alone on its tyre: z_w = Σ step·(1 − cos ω·(t − start)).
#[test]
fn wheel_follows_both_road_steps() {
    let mut wheel = Half::<QuarterCarWheel>::new(("F", 1.0), ("v_w", 1.0))
        .with("second_road_step", -0.05)
        .with("second_road_time", 0.1)
        .with_integer("integrator", RUNGE_KUTTA_4);
    wheel.initialize();
    let omega = (150e3_f64 / 40.0).sqrt();
    for k in 0..160_u32 {
        wheel.unit.step(f64::from(k) * STEP, STEP).unwrap();
    }
    let exact = 0.1 * (1.0 - (omega * 0.16).cos()) - 0.05 * (1.0 - (omega * 0.06).cos());
    assert_close(wheel.get("z_w"), exact, 1e-10);
}

/// Driven by the exact velocity of the chassis, sent as slopes over each step, the other half finds
/// the exact force; what the lines miss is of order 2.
#[test]
fn exact_velocity_gives_exact_force() {
    let error = |step: f64| {
        let steps = (0.5 / step).round() as u32;
        let times: Vec<f64> = (0..=steps).map(|k| f64::from(k) * step).collect();
        let motion = QuarterCar::linear().motion(&times);
        let mut rest = Half::<QuarterCarWheelSuspension>::new(("v_c", 1.0), ("F", 1.0))
            .with_integer("integrator", RUNGE_KUTTA_4)
            .with_integer("micro_steps", 4);
        rest.initialize();
        let v_c = rest.input.0;
        let mut largest = 0.0_f64;
        for (pair, time) in motion.windows(2).zip(times) {
            let slope = (pair[1].v_c - pair[0].v_c) / step;
            rest.unit.set(v_c, pair[0].v_c).unwrap();
            rest.unit.set_input_derivative(v_c, 1, slope).unwrap();
            rest.unit.step(time, step).unwrap();
            largest = largest.max((rest.get("F") - pair[1].force).abs());
        }
        largest
    };
    let (coarse, fine) = (error(1e-3), error(0.5e-3));
    assert!(coarse < 0.05, "{coarse} N of 1875 N");
    assert!((coarse / fine - 4.0).abs() < 0.05, "{}", coarse / fine);
}

/// ∂F/∂v against central differences, and finite if the slope is not.
#[test]
fn damping_is_the_slope_of_the_force() {
    for damper in [LINEAR, NONLINEAR] {
        let mut rest =
            Half::<QuarterCarWheelSuspension>::new(("v_c", 1.0), ("F", 1.0)).damped(&damper);
        rest.initialize();
        let v_c = rest.input.0;
        for v in [-0.3, 1e-3, 2.0] {
            let mut force_at = |v: f64| {
                rest.unit.set(v_c, v).unwrap();
                rest.get("F")
            };
            let shift = 1e-5 * v;
            let secant = (force_at(v + shift) - force_at(v - shift)) / (2.0 * shift);
            rest.unit.set(v_c, v).unwrap();
            assert!(rest.jacobian() < 0.0);
            assert_close(rest.jacobian(), secant, 1e-9);
        }
        rest.unit.set(v_c, 0.0).unwrap();
        assert!(rest.jacobian().is_finite());
    }
    let mut chassis = Half::<QuarterCarChassisSuspension>::new(("v_w", 1.0), ("F", -1.0));
    chassis.initialize();
    assert_close(chassis.jacobian(), -1000.0, 1e-15);
}

/// A step taken again from a saved state gives the same bits.
#[test]
fn steps_can_be_repeated() {
    let mut rest =
        Half::<QuarterCarWheelSuspension>::new(("v_c", 1.0), ("F", 1.0)).damped(&NONLINEAR);
    rest.initialize();
    rest.advance(0.1, 0.0);
    let saved = rest.unit.save();
    let first = rest.advance(0.2, STEP);
    rest.advance(0.7, 2.0 * STEP);
    rest.unit.restore(&saved);
    assert_eq!(rest.advance(0.2, STEP), first);
}

#[test]
fn stepping_that_makes_no_sense_is_refused() {
    let mut chassis = Half::<QuarterCarChassis>::new(("F", 1.0), ("v_c", 1.0));
    let micro_steps = chassis.unit.reference("micro_steps").unwrap();
    let integrator = chassis.unit.reference("integrator").unwrap();
    assert!(chassis.unit.set(micro_steps, 0).is_err());
    assert!(chassis.unit.set(micro_steps, 1_000_001).is_err());
    assert!(chassis.unit.set(integrator, 3).is_err());
    assert_eq!(chassis.unit.reference("step_size"), None);
}
