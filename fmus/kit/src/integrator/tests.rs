//! Each method against the closed form of its own recursion, all within a few rounding errors.

use crate::InProcess;
use crate::test_model::{
    FORWARD_EULER, Linear, OWN, Pendulum, RATE, RUNGE_KUTTA_4, STEP_SIZE, TRAPEZOIDAL, U, X,
    X_START,
};

const H: f64 = 0.25;
const STEPS: i32 = 40;

/// The factor that one step of x' = −rate·x multiplies x by, from `STEPS` steps.
fn decay<const METHOD: u8>(rate: f64) -> f64 {
    let mut unit = InProcess::<Linear<METHOD>>::new();
    unit.set(RATE, rate).unwrap();
    unit.set(X_START, 1.0).unwrap();
    unit.initialize().unwrap();
    for k in 0..STEPS {
        unit.step(f64::from(k) * H, H).unwrap();
    }
    let x: f64 = *unit.get(X).unwrap();
    x.powf(1.0 / f64::from(STEPS))
}

fn assert_close(value: f64, expected: f64) {
    let error = (value - expected).abs();
    assert!(
        error <= 1e-13 * expected.abs(),
        "{value} instead of {expected}"
    );
}

#[test]
fn decay_is_the_stability_function() {
    for rate in [0.1, 0.5, 2.0] {
        let z = -rate * H;
        assert_close(decay::<FORWARD_EULER>(rate), 1.0 + z);
        let taylor = 1.0 + z + z * z / 2.0 + z.powi(3) / 6.0 + z.powi(4) / 24.0;
        assert_close(decay::<RUNGE_KUTTA_4>(rate), taylor);
        let implicit = (1.0 + z / 2.0) / (1.0 - z / 2.0);
        assert_close(decay::<TRAPEZOIDAL>(rate), implicit);
        assert_close(decay::<OWN>(rate), 1.0 / (1.0 - z));
    }
}

/// v += h·a(x), x += h·v keeps v² + ω²·x² − h·ω²·x·v.
#[test]
fn symplectic_euler_keeps_its_modified_energy() {
    let mut unit = InProcess::<Pendulum>::new();
    unit.initialize().unwrap();
    let mut invariant = || {
        let (x, v): (f64, f64) = (*unit.get(0).unwrap(), *unit.get(1).unwrap());
        unit.step(unit.time(), 0.125).unwrap();
        v * v + 4.0 * x * x - 0.125 * 4.0 * x * v
    };
    let first = invariant();
    for _ in 0..1000 {
        assert_close(invariant(), first);
    }
}

#[test]
fn symplectic_euler_takes_other_states_as_forward_euler() {
    let mut unit = InProcess::<Pendulum>::new();
    unit.initialize().unwrap();
    unit.step(0.0, 0.5).unwrap();
    assert_eq!(*unit.get::<f64>(1).unwrap(), 0.5 - 0.5 * 4.0);
    assert_eq!(*unit.get::<f64>(0).unwrap(), 1.0 + 0.5 * (0.5 - 2.0));
    assert_eq!(*unit.get::<f64>(2).unwrap(), 8.0 - 0.5 * 8.0);
}

/// ∫(1 + 2t + 3t² + 4t³)dt over 0…2, from derivatives u' = 2, u'' = 6, u''' = 24 at t = 0: 30.
fn integral<const METHOD: u8>(inner_step: f64) -> f64 {
    let mut unit = InProcess::<Linear<METHOD>>::new();
    unit.set(RATE, 0.0).unwrap();
    unit.set(X_START, 0.0).unwrap();
    unit.set(STEP_SIZE, inner_step).unwrap();
    unit.initialize().unwrap();
    unit.set(U, 1.0).unwrap();
    for (order, value) in [(1, 2.0), (2, 6.0), (3, 24.0)] {
        unit.set_input_derivative(U, order, value).unwrap();
    }
    unit.step(0.0, 2.0).unwrap();
    // The input stays at the end of its polynomial.
    assert_eq!(*unit.get::<f64>(U).unwrap(), 1.0 + 4.0 + 12.0 + 32.0);
    *unit.get(X).unwrap()
}

#[test]
fn inputs_are_curves() {
    // Simpson's rule is exact for cubic polynomials.
    assert_close(integral::<RUNGE_KUTTA_4>(0.0), 30.0);
    // Sums over two inner steps: u(0) = 1, u(1) = 10, u(2) = 49.
    assert_close(integral::<FORWARD_EULER>(1.0), 1.0 + 10.0);
    assert_close(integral::<OWN>(1.0), 1.0 + 10.0);
    assert_close(integral::<TRAPEZOIDAL>(1.0), 0.5 * 1.0 + 10.0 + 0.5 * 49.0);
}

#[test]
fn trapezoidal_that_cannot_be_solved_is_an_error() {
    let mut unit = InProcess::<Linear<TRAPEZOIDAL>>::new();
    unit.initialize().unwrap();
    unit.set(U, f64::NAN).unwrap();
    let fault = unit.step(0.0, H).unwrap_err();
    assert!(fault.to_string().contains("did not converge"), "{fault}");
}

#[test]
fn a_model_that_refuses_its_own_step_is_as_it_was() {
    let mut unit = InProcess::<Linear<OWN>>::new();
    unit.initialize().unwrap();
    unit.set(U, f64::NAN).unwrap();
    assert!(unit.step(0.0, H).is_err());
    unit.set(U, 0.0).unwrap();
    assert_eq!(*unit.get::<f64>(X).unwrap(), 3.0);
}
