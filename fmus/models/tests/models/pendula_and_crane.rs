//! The pendula and the crane, alone, in process.

use fmu_kit::{Fault, Model};
use fmu_models::{
    CraneCylinder, CraneLinks, OscillatorHub, OscillatorMotion, PendulumForce, PendulumMotion,
};

use crate::named::Named;

/// `steps` steps of the model's preferred size from time 0.
fn run<M: Model>(unit: &mut Named<M>, steps: u32) -> Result<(), Fault> {
    unit.0.initialize()?;
    (0..steps).try_for_each(|k| unit.0.step(f64::from(k) * M::STEP_SIZE, M::STEP_SIZE))
}

/// The hub is moved by the sum of its forces, an unused one included: the same bits as one force.
#[test]
fn the_hub_adds_its_forces() {
    let mut hub = Named::<OscillatorHub>::new(&[("f1", 1.0), ("f2", 2.0), ("f4", 4.0)]);
    let mut mass = Named::<OscillatorMotion>::new(&[("f", 7.0)]);
    run(&mut hub, 100).unwrap();
    run(&mut mass, 100).unwrap();
    for name in ["x", "v"] {
        assert_eq!(hub.get(name).to_bits(), mass.get(name).to_bits());
    }
}

/// Greatest errors of a free pendulum's length, m, and energy, J, within 10 s.
fn errors_of_a_free_pendulum(step: f64) -> [f64; 2] {
    let mut pendulum = Named::<PendulumMotion>::new(&[("step_size", step)]);
    pendulum.0.initialize().unwrap();
    let energy = |unit: &mut Named<PendulumMotion>| {
        let [y, vx, vy] = ["y", "vx", "vy"].map(|name| unit.get(name));
        vx * vx + vy * vy + 2.0 * 9.81 * y
    };
    let start = energy(&mut pendulum);
    let mut greatest = [0.0_f64; 2];
    for k in 0..10_000 {
        pendulum.0.step(f64::from(k) * 1e-3, 1e-3).unwrap();
        let length = (pendulum.get("x") - 7.0).hypot(pendulum.get("y"));
        let errors = [length - 3.5, energy(&mut pendulum) - start];
        greatest = [0, 1].map(|i| greatest[i].max(errors[i].abs()));
    }
    greatest
}

/// The rod keeps its length, and the pendulum its energy, to the first order of symplectic Euler.
#[test]
fn a_free_pendulum_keeps_length_and_energy() {
    let (coarse, fine) = (
        errors_of_a_free_pendulum(1e-3),
        errors_of_a_free_pendulum(0.5e-3),
    );
    for ((coarse, fine), limit) in coarse.into_iter().zip(fine).zip([1e-3, 0.5]) {
        assert!(coarse < limit, "{coarse}");
        assert!((coarse / fine - 2.0).abs() < 0.1, "{coarse} {fine}");
    }
}

/// Table 4 of Rodríguez et al. (2022): the spring is unloaded at the start; and a closed form.
#[test]
fn the_spring_between_the_pendula() {
    let mut second = Named::<PendulumMotion>::new(&[]);
    let tip = [second.get("x"), second.get("y")];
    let mut first = Named::<PendulumForce>::new(&[("x2", tip[0]), ("y2", tip[1])]);
    assert!(first.get("fx").abs() < 1e-13 && first.get("fy").abs() < 1e-13);
    // Tip 1 at (3, 0), tip 2 at (0, 4) with velocity (5, 0): L = 5, L' = −(3·5)/5.
    let mut first = Named::<PendulumForce>::new(&[
        ("l", 3.0),
        ("theta_start", 0.0),
        ("l0", 2.0),
        ("k", 10.0),
        ("c", 2.0),
        ("y2", 4.0),
        ("vx2", 5.0),
    ]);
    let tension = 10.0 * (5.0 - 2.0) + 2.0 * -3.0;
    assert!((first.get("fx") - tension * 0.6).abs() < 1e-12);
    assert!((first.get("fy") + tension * 0.8).abs() < 1e-12);
}

#[test]
fn tips_that_meet_have_no_force_between_them() {
    let mut first = Named::<PendulumForce>::new(&[("theta_start", 0.0), ("x2", 2.5)]);
    assert_eq!([first.get("fx"), first.get("fy")], [0.0, 0.0]);
}

/// p1 = 3.1708462 MPa, p2 = 4.5291538 MPa and γ0 = 0.454345590 hold the crane; γ0 ≈ 0.45435 is
/// printed by Rodríguez et al. (2022), section 4.4.
#[test]
fn the_crane_starts_in_equilibrium() {
    let mut cylinder = Named::<CraneCylinder>::new(&[("spool_amplitude", 0.0)]);
    let mut links = Named::<CraneLinks>::new(&[]);
    let (load, length) = (cylinder.get("f"), links.get("s"));
    assert!((length - 0.5).abs() < 1e-15);
    for (name, expected) in [
        ("p1", 3_170_846.153_846_154),
        ("p2", 4_529_153.846_153_846),
        ("gamma", 0.454_345_589_598_051_3),
        ("f", 8829.0),
    ] {
        assert!(
            (cylinder.get(name) / expected - 1.0).abs() < 1e-12,
            "{name}"
        );
    }
    links.set("f", load);
    run(&mut links, 10_000).unwrap();
    run(&mut cylinder, 10_000).unwrap();
    assert!((links.get("s") - length).abs() < 1e-10);
    assert!((cylinder.get("f") / load - 1.0).abs() < 1e-9);
}

#[test]
fn loads_and_positions_out_of_reach_are_errors() {
    let mut cylinder = Named::<CraneCylinder>::new(&[("load", 60_000.0)]);
    let fault = run(&mut cylinder, 1).unwrap_err();
    assert!(
        matches!(&fault, Fault::Error(text) if text.contains("60000 N")),
        "{fault}"
    );
    for s in [0.27, 0.73] {
        let mut cylinder = Named::<CraneCylinder>::new(&[("s", s)]);
        let fault = run(&mut cylinder, 1).unwrap_err();
        assert!(matches!(&fault, Fault::Error(text) if text.contains("left the cylinder")));
    }
}

/// Velocity of the cylinder against a difference of its length, away from the start.
#[test]
fn rate_of_the_cylinder_is_the_derivative_of_its_length() {
    let mut links = Named::<CraneLinks>::new(&[("f", 9500.0), ("y_b", 0.1)]);
    run(&mut links, 200).unwrap();
    let before = (links.get("s"), links.get("v"));
    links.0.step(0.2, 1e-6).unwrap();
    let after = (links.get("s"), links.get("v"));
    let mean = (after.0 - before.0) / 1e-6;
    assert!(before.1.abs() > 0.01);
    assert!((mean - after.1).abs() < 1e-5, "{mean} {after:?}");
}
