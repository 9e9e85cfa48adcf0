//! The two oscillators, alone and coupled, in process.

use fmu_kit::Model;
use fmu_models::{OscillatorForce, OscillatorMotion};

use crate::named::Named;

const LINEAR: i32 = 1;
const OTHER: i32 = 2;

/// Steps from t = 0 by `step` until `end`, both in s.
fn run<M: Model>(unit: &mut Named<M>, step: f64, end: f64) {
    unit.initialize();
    let steps = (end / step).round();
    for k in 0..steps as u32 {
        unit.0.step(f64::from(k) * step, step).unwrap();
    }
}

/// Undamped and free, v = v₀·cos(ω·t): the error is of first order.
#[test]
fn free_oscillation_converges_to_the_cosine() {
    let omega = 1000.0_f64.sqrt();
    let exact = -100.0 * (omega * 0.5).cos();
    let error = |step: f64| {
        let mut mass = Named::<OscillatorMotion>::new(&[]);
        run(&mut mass, step, 0.5);
        (mass.get("v") - exact).abs()
    };
    let ratio = error(1e-4) / error(0.5e-4);
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}");
}

/// With k_c = c_c = 0 both models are the same oscillator, bit for bit.
#[test]
fn uncoupled_models_agree() {
    let shared = [
        ("k", 50.0),
        ("c", 0.3),
        ("m", 2.0),
        ("x_start", 0.2),
        ("v_start", -1.0),
    ];
    for (spring, damper) in [
        (LINEAR, LINEAR),
        (OTHER, LINEAR),
        (LINEAR, OTHER),
        (OTHER, OTHER),
    ] {
        let mut first = Named::<OscillatorForce>::new(&shared);
        let mut second = Named::<OscillatorMotion>::new(&shared);
        first.set("k_c", 0.0);
        for (name, item) in [("spring", spring), ("damper", damper)] {
            first.set(name, item);
            second.set(name, item);
        }
        run(&mut first, 1e-3, 0.1);
        run(&mut second, 1e-3, 0.1);
        assert_eq!(first.get("x"), second.get("x"));
        assert_eq!(first.get("v"), second.get("v"));
    }
}

/// Spring k_c·sgn(e)·√|e| and damper c_c·w·|w| with e = −4 m, w = −3 m/s.
#[test]
fn coupling_force_in_closed_form() {
    for (spring, damper, expected) in [
        (LINEAR, LINEAR, 10.0 * -4.0 + 2.0 * -3.0),
        (OTHER, LINEAR, 10.0 * -2.0 + 2.0 * -3.0),
        (LINEAR, OTHER, 10.0 * -4.0 + 2.0 * -9.0),
    ] {
        let mut mass = Named::<OscillatorForce>::new(&[("k_c", 10.0), ("c_c", 2.0)]);
        mass.set("v_start", 0.0);
        mass.set("spring", spring);
        mass.set("damper", damper);
        mass.set("x2", 4.0);
        mass.set("v2", 3.0);
        assert_eq!(mass.get("f"), expected);
    }
}

/// Inner steps of h/4 give the same bits as four communication steps, if inputs are constant.
#[test]
fn inner_steps_divide_the_communication_step() {
    let mut fine = Named::<OscillatorMotion>::new(&[("f", 3.0)]);
    run(&mut fine, 0.0625, 1.0);
    let mut coarse = Named::<OscillatorMotion>::new(&[("f", 3.0), ("step_size", 0.06)]);
    run(&mut coarse, 0.25, 1.0);
    assert_eq!(fine.get("x"), coarse.get("x"));
    assert_eq!(fine.get("v"), coarse.get("v"));
}

/// Own derivatives (linear) against central differences (which the kit takes for the others).
#[test]
fn directional_derivative_of_the_force() {
    for (spring, expected) in [(LINEAR, -100.0), (OTHER, -100.0 / (2.0 * 2.0))] {
        let mut mass = Named::<OscillatorForce>::new(&[("x_start", 4.0)]);
        mass.set("spring", spring);
        mass.initialize();
        let [f, x2] = ["f", "x2"].map(|name| mass.0.reference(name).unwrap());
        let mut result = [0.0];
        mass.0
            .directional_derivative(&[f], &[x2], &[1.0], &mut result)
            .unwrap();
        // Rounding and truncation of a central difference: 1e-9 relative.
        assert!((result[0] / expected - 1.0).abs() < 1e-8, "{result:?}");
    }
}

struct Pair {
    left: Named<OscillatorForce>,
    right: Named<OscillatorMotion>,
}

impl Pair {
    /// Table 1, case 1 of Rodríguez et al. (2022): the models' start values.
    fn new() -> Self {
        let (mut left, mut right) = (Named::new(&[]), Named::new(&[]));
        left.initialize();
        right.initialize();
        Self { left, right }
    }

    /// One macro-step of 1 ms; the force is read again after x2 and v2 were set.
    fn step(&mut self, k: u32) {
        let (x2, v2) = (self.right.get("x"), self.right.get("v"));
        self.left.set("x2", x2);
        self.left.set("v2", v2);
        let f = self.left.get("f");
        self.right.set("f", f);
        let time = f64::from(k) * 1e-3;
        self.left.0.step(time, 1e-3).unwrap();
        self.right.0.step(time, 1e-3).unwrap();
    }
}

/// With the force read again, the coupled units are symplectic Euler on the whole system.
#[test]
fn fresh_coupling_is_the_monolithic_system() {
    let mut pair = Pair::new();
    let (mut x, mut v) = ([0.0; 2], [100.0, -100.0]);
    for k in 0..10_000 {
        pair.step(k);
        let f = 100.0 * (x[0] - x[1]);
        v[0] += 1e-3 * (-10.0 * x[0] - f);
        v[1] += 1e-3 * (-1000.0 * x[1] + f);
        x[0] += 1e-3 * v[0];
        x[1] += 1e-3 * v[1];
        let (left, right) = (pair.left.get("x"), pair.right.get("x"));
        assert!((left - x[0]).abs() <= 1e-12, "step {k}");
        assert!((right - x[1]).abs() <= 1e-12, "step {k}");
    }
}
