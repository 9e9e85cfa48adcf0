//! The models of the hydraulic cranes of Rahikainen et al. (2020).
//!
//! Numbers without another source come from `crates/benchmark/reference/crane_mechanics.py`, and for the circuits from
//! `crates/benchmark/reference/hydraulics.py` by Runge-Kutta 4 in steps of 20 µs.

use fmu_models::{CraneMechanics, HydraulicCircuit, Throttle};

use crate::named::Named;

const WEIGHT: f64 = 8829.0;

fn assert_close(value: f64, expected: f64, tolerance: f64) {
    let error = (value - expected).abs();
    assert!(error <= tolerance, "{value} instead of {expected}");
}

fn assert_near(value: f64, expected: f64, part: f64) {
    assert_close(value, expected, part * expected.abs());
}

fn mechanics(actuators: i32) -> Named<CraneMechanics> {
    let mut mechanics = Named::new(&[]);
    mechanics.set("actuators", actuators);
    mechanics.set("f1", WEIGHT);
    mechanics
}

fn circuit(actuator: usize, throttle: Throttle) -> Named<HydraulicCircuit> {
    let of = HydraulicCircuit::of(actuator, throttle);
    let mut circuit = Named::new(&of.parameters());
    circuit.set("spool_program", 1 + actuator as i32);
    circuit.set(
        "s",
        if actuator == 1 {
            0.5
        } else {
            0.75_f64.sqrt() / 2.0
        },
    );
    circuit
}

#[test]
fn the_structure_is_at_rest_under_its_weight() {
    let mut crane = mechanics(2);
    crane.initialize();
    assert_close(crane.get("s1"), 0.5, 1e-15);
    assert_close(crane.get("s2"), 0.75_f64.sqrt() / 2.0, 1e-15);
    for name in ["v1", "v2", "a1", "a2"] {
        assert_close(crane.get(name), 0.0, 1e-9);
    }
    assert_close(1.0 / crane.get("inverse_mass_11"), 2088.8889, 1e-4);
    assert_close(1.0 / crane.get("inverse_mass_22"), 400.0, 1e-9);
    assert_close(crane.get("inverse_mass_12"), 0.0, 1e-12);
    let force = -crane.get("free_acceleration_1") / crane.get("inverse_mass_11");
    assert_close(force, WEIGHT, 1e-3);
    assert_close(crane.get("free_acceleration_2"), 0.0, 1e-9);
    assert_close(crane.get("energy"), 1716.75, 1e-9);
}

#[test]
fn circuits_hold_the_weight() {
    for throttle in [Throttle::Narrow, Throttle::Wide] {
        let mut first = circuit(1, throttle);
        first.initialize();
        assert_close(first.get("f"), WEIGHT, 1e-3);
        assert_close(first.get("p1"), 4_586_551.866, 1e-2);
        assert_near(first.get("k_eff"), 7.511558e7, 1e-6);
        let mut second = circuit(2, throttle);
        second.initialize();
        assert_close(second.get("f"), 0.0, 1e-3);
        assert_close(second.get("p3"), 2_830_078.125, 1e-2);
        assert_near(second.get("k_eff"), 4.935886e7, 1e-6);
    }
}

/// Pressures and force of the first circuit at `times`, whose actuator moves by
/// s = 0.5 + 2e-5·(1 − cos 10πt) m; Runge-Kutta 4 at 10 µs with cubic inputs.
fn swinging(throttle: Throttle, times: &[f64]) -> Vec<[f64; 4]> {
    const STEP: f64 = 1e-5;
    let omega = 10.0 * std::f64::consts::PI;
    let mut circuit = circuit(1, throttle);
    circuit.set("integrator", 2);
    circuit.initialize();
    let [s, v] = ["s", "v"].map(|name| circuit.0.reference(name).unwrap());
    let mut found = Vec::new();
    let mut now = 0_u32;
    for time in times {
        while f64::from(now) * STEP < time - STEP / 2.0 {
            let start = f64::from(now) * STEP;
            let (sin, cos) = (omega * start).sin_cos();
            // s and its derivatives.
            let course = [
                1.0 - cos,
                omega * sin,
                omega.powi(2) * cos,
                -omega.powi(3) * sin,
            ];
            let course = course.map(|value| 2e-5 * value);
            circuit.0.set(s, 0.5 + course[0]).unwrap();
            circuit.0.set(v, course[1]).unwrap();
            for order in 1..=2 {
                circuit
                    .0
                    .set_input_derivative(s, order as i32, course[order])
                    .unwrap();
                circuit
                    .0
                    .set_input_derivative(v, order as i32, course[order + 1])
                    .unwrap();
            }
            circuit.0.step(start, STEP).unwrap();
            now += 1;
        }
        found.push(["p1", "p2", "p3", "f"].map(|name| circuit.get(name)));
    }
    found
}

#[test]
fn a_circuit_alone() {
    let narrow = swinging(Throttle::Narrow, &[0.25, 0.5, 1.25, 1.75]);
    let expected = [
        [4_369_494.7, 3_563_244.9, 4_370_415.7, 7418.065],
        [4_152_698.8, 3_626_492.5, 4_152_702.2, 6134.096],
        [7_579_531.8, 110_387.2, 7_586_892.7, 37_587.39],
        [7_620_468.1, 89_612.8, 7_613_107.3, 38_003.26],
    ];
    for (found, expected) in narrow.iter().flatten().zip(expected.as_flattened()) {
        assert_near(*found, *expected, 1e-6);
    }
    let wide = swinging(Throttle::Wide, &[0.25, 1.25]);
    let expected = [
        [4_452_458.2, 4_453_050.0, 7835.085],
        [7_585_645.8, 7_586_925.6, 37_618.12],
    ];
    for ([p1, _, p3, f], expected) in wide.iter().zip(expected) {
        for (found, expected) in [p1, p3, f].iter().zip(expected) {
            assert_near(**found, expected, 1e-6);
        }
    }
}

/// The structure alone under 1.02 times the force that holds it, for 0.5 s by steps of 1 ms.
fn lifted(formulation: i32) -> Named<CraneMechanics> {
    let mut crane = mechanics(1);
    crane.set("formulation", formulation);
    crane.set("f1", 1.02 * WEIGHT);
    crane.initialize();
    for k in 0..500 {
        crane.0.step(1e-3 * f64::from(k), 1e-3).unwrap();
    }
    crane
}

#[test]
fn the_structure_alone() {
    let mut index_3 = lifted(2);
    assert_close(index_3.get("s1"), 0.513960870, 5e-9);
    assert_close(index_3.get("v1"), 0.071203647, 1e-6);
    assert_close(index_3.get("energy"), 1842.475371, 1e-3);
    assert!(index_3.get("constraint") < 1e-12);
    let mut index_1 = lifted(1);
    assert_close(index_1.get("s1"), 0.513996522, 1e-7);
    assert_near(index_1.get("constraint"), 1.95e-7, 0.01);
}

/// The same motion by forces, and by the pressures and the friction that make them.
#[test]
fn pressures_drive_as_forces_do() {
    for formulation in [1, 2] {
        let mut by_force = mechanics(2);
        let mut by_pressure = mechanics(2);
        by_pressure.set("coupling", 2);
        for crane in [&mut by_force, &mut by_pressure] {
            crane.set("formulation", formulation);
        }
        let [piston, rod] = [5.02654825e-3, 4.06443550e-3];
        by_pressure.set("p11", 4.8e6);
        by_pressure.set("p12", 3.5e6);
        by_pressure.set("p21", 3.0e6);
        by_pressure.set("p22", 3.6e6);
        by_force.set("f1", piston * 4.8e6 - rod * 3.5e6);
        by_force.set("f2", piston * 3.0e6 - rod * 3.6e6);
        for crane in [&mut by_force, &mut by_pressure] {
            crane.initialize();
        }
        // Friction acts as soon as the actuators move, so that they part after the start.
        for name in ["a1", "a2"] {
            assert_near(by_pressure.get(name), by_force.get(name), 1e-7);
        }
        for k in 0..1000 {
            by_pressure.0.step(1e-4 * f64::from(k), 1e-4).unwrap();
            let [v1, v2] = ["v1", "v2"].map(|name| by_pressure.get(name));
            assert!(v1.abs() < 0.1 && v2.abs() < 0.1);
        }
        let v1 = by_pressure.get("v1");
        let force = piston * 4.8e6 - rod * 3.5e6 - 1e5 * v1;
        let other = piston * 3.0e6 - rod * 3.6e6 - 1e5 * by_pressure.get("v2");
        by_force.set("f1", force);
        by_force.set("f2", other);
        let [w11, w12] = ["inverse_mass_11", "inverse_mass_12"].map(|name| by_pressure.get(name));
        let predicted = by_pressure.get("free_acceleration_1") + w11 * force + w12 * other;
        assert_close(by_pressure.get("a1"), predicted, 1e-6);
    }
}

/// Directional derivatives are what a small change of an input shows.
#[test]
fn derivatives_of_the_accelerations() {
    for coupling in [1, 2] {
        for actuators in [1, 2] {
            let mut crane = mechanics(actuators);
            crane.set("coupling", coupling);
            for (name, value) in [("p11", 4.8e6), ("p12", 3.5e6), ("p21", 3e6), ("p22", 3.6e6)] {
                crane.set(name, value);
            }
            crane.initialize();
            crane.0.step(0.0, 0.01).unwrap();
            for unknown in ["a1", "a2", "s1"] {
                for known in ["f1", "f2", "p11", "p12", "p21", "p22"] {
                    let [of, by] = [unknown, known].map(|name| crane.0.reference(name).unwrap());
                    let mut derivative = [0.0];
                    let derived =
                        crane
                            .0
                            .directional_derivative(&[of], &[by], &[1.0], &mut derivative);
                    derived.unwrap();
                    let (at, before) = (crane.get(known), crane.get(unknown));
                    crane.set(known, at + 1000.0);
                    let change = (crane.get(unknown) - before) / 1000.0;
                    crane.set(known, at);
                    assert_close(derivative[0], change, 1e-12);
                }
            }
        }
    }
}
