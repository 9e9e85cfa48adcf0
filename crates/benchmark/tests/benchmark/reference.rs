//! The reference solutions against closed forms, laws of conservation and published figures.

use gyrator_benchmark::reference::{
    CoupledPendula, Damper, HydraulicCrane, Reference, Spring, StarOscillator,
};

/// Communication points 1 ms apart, 0 to 10 s.
fn grid() -> Vec<f64> {
    (0..=10_000).map(|k| f64::from(k) * 1e-3).collect()
}

fn linear(masses: usize, c: f64) -> StarOscillator {
    StarOscillator::table_2(masses, c)
}

fn square_root() -> StarOscillator {
    StarOscillator {
        spring: Spring::SquareRoot,
        ..StarOscillator::table_2(2, 0.0)
    }
}

/// Greatest change of the energy within 10 s, relative to `scale` in J.
fn drift(system: &impl Reference, scale: f64) -> f64 {
    let states = system.states_at(&grid()).unwrap();
    let start = system.energy(&states[0]);
    let changes = states
        .iter()
        .map(|state| (system.energy(state) - start).abs());
    changes.fold(0.0, f64::max) / scale
}

#[test]
fn undamped_systems_keep_their_energy() {
    assert!(drift(&linear(2, 0.0), 1e4) < 1e-10);
    assert!(drift(&linear(5, 0.0), 2.5e4) < 1e-10);
    assert!(drift(&CoupledPendula::table_4(6.0), 10.0) < 1e-9);
    assert!(drift(&CoupledPendula::table_4(50.0), 10.0) < 1e-9);
    // Square-root springs have an infinite slope where their force changes sign.
    let nonlinear = drift(&square_root(), 1e4);
    assert!(nonlinear < 5e-11, "{nonlinear}");
}

/// All arms of the star move alike: in the mode in which the hub rests, they have the frequency
/// √(k_i + k_ci) and the damping of both dampers.
#[test]
fn arms_swing_against_each_other_in_closed_form() {
    let mut system = linear(3, 0.1);
    system.arms[0].0.v_start = 1.0;
    system.arms[1].0.v_start = -1.0;
    system.hub.v_start = 0.0;
    let (decay, omega) = (0.1, (110.0_f64 - 0.01).sqrt());
    for (time, state) in grid().iter().zip(system.states_at(&grid()).unwrap()) {
        let exact = (-decay * time).exp() * (omega * time).sin() / omega;
        assert!((state[0] - exact).abs() < 1e-10);
        assert!((state[1] + exact).abs() < 1e-10);
        assert!(state[2].abs() < 1e-10);
    }
}

/// The two methods, on the same linear system.
#[test]
fn exponential_and_integration_agree() {
    struct Integrated(StarOscillator);
    impl Reference for Integrated {
        fn start(&self) -> Vec<f64> {
            self.0.start()
        }
        fn rates(&self, time: f64, state: &[f64], rates: &mut [f64]) {
            self.0.rates(time, state, rates);
        }
        fn energy(&self, state: &[f64]) -> f64 {
            self.0.energy(state)
        }
    }
    let system = linear(3, 0.1);
    let exponential = system.states_at(&grid()).unwrap();
    let integrated = Integrated(system).states_at(&grid()).unwrap();
    for (left, right) in exponential
        .iter()
        .flatten()
        .zip(integrated.iter().flatten())
    {
        assert!((left - right).abs() < 1e-8, "{left} {right}");
    }
}

/// Energies at 10 s, J, of tables 2 and 3 of Rodríguez et al. (2022), by another program (eigenvalues, and DOP853 at
/// 1e-12); `reference/star.py` has the same.
#[test]
fn energies_at_the_end_are_those_of_another_solution() {
    let quadratic = StarOscillator {
        damper: Damper::Quadratic,
        ..StarOscillator::table_2(2, 0.001)
    };
    for (system, expected, tolerance) in [
        (linear(3, 0.0), 15_000.0, 1e-10),
        (linear(3, 0.1), 1_789.113_575_548_213, 1e-10),
        (linear(5, 0.0), 25_000.0, 1e-10),
        (linear(5, 0.1), 3_837.967_204_254_336, 1e-10),
        (quadratic, 2_137.948_468_471_102, 1e-9),
    ] {
        let states = system.states_at(&[10.0]).unwrap();
        let energy = system.energy(&states[0]);
        assert!(
            (energy / expected - 1.0).abs() < tolerance,
            "{energy} {expected}"
        );
    }
}

/// Natural length printed by Rodríguez et al. (2022), section 4.3: 8.756 m.
#[test]
fn spring_of_the_pendula_has_the_printed_length() {
    assert!((CoupledPendula::table_4(6.0).natural_length() - 8.756_236_736_24).abs() < 1e-11);
}

/// γ0 ≈ 0.45435 is printed by Rodríguez et al. (2022), section 4.4; further digits, and the values
/// at 10 s, are of another program with DOP853 at 1e-12; `reference/crane_energy.py` has the same.
#[test]
fn crane_starts_in_equilibrium_and_ends_where_another_solution_does() {
    let crane = HydraulicCrane::table_5();
    let ([p1, p2], gamma) = crane.equilibrium();
    assert!((crane.holding_force() / 8829.0 - 1.0).abs() < 1e-12);
    assert!((p1 / 3_170_846.153_846_154 - 1.0).abs() < 1e-12);
    assert!((p2 / 4_529_153.846_153_846 - 1.0).abs() < 1e-12);
    assert!((gamma / 0.454_345_589_598_051_3 - 1.0).abs() < 1e-12);
    let states = crane.states_at(&grid()).unwrap();
    let last = states.last().unwrap();
    let (length, force) = (crane.length(last), crane.force(last));
    assert!((length - 0.470_035_248_367).abs() < 2e-12, "{length}");
    assert!((force - 9865.841).abs() < 1e-3, "{force}");
    // The range that figures 35 and 36 of the paper show.
    assert!(
        states
            .iter()
            .all(|state| (0.470..0.506).contains(&crane.length(state)))
    );
}

#[test]
fn times_in_disorder_are_an_error() {
    for system in [linear(2, 0.0), square_root()] {
        for times in [[1.0, 0.5], [-1.0, 0.0], [0.0, f64::NAN]] {
            assert!(system.states_at(&times).is_err());
        }
    }
}
