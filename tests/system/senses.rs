//! Warnings about bonds whose sense is likely wrong, on random passive systems.

use gyrator::random::SplitMix64;
use gyrator::run::check_senses;
use gyrator::{LinearUnit, Run, RunOptions, System};
use gyrator_testkit::RandomSystem;

/// Systems of each kind.
const SEEDS: u64 = 200;

/// A passive port without direct feed-through: ẋ = (J − R)·x + b·u, y = sign·bᵀ·x with J skew-symmetric and R
/// positive semidefinite, so that d(xᵀx/2)/dt ≤ u·bᵀx (van der Schaft 2017, §6.1).
fn port(random: &mut SplitMix64, inputs: [&str; 1], outputs: [&str; 1], sign: f64) -> LinearUnit {
    let mut symmetric = || 2.0 * random.next_unit() - 1.0;
    let n = 1 + (2.0 * (symmetric() + 1.0)) as usize;
    let stiffness = 10_f64.powf(1.0 + symmetric());
    let damping = 10_f64.powf(symmetric());
    let mut a = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..row {
            let value = stiffness * symmetric();
            a[row * n + column] += value;
            a[column * n + row] -= value;
        }
    }
    let factor: Vec<f64> = (0..n).map(|_| symmetric()).collect();
    for row in 0..n {
        for column in 0..n {
            a[row * n + column] -= damping * factor[row] * factor[column];
        }
    }
    let b: Vec<f64> = (0..n).map(|_| symmetric()).collect();
    let c: Vec<f64> = b.iter().map(|b| sign * b).collect();
    let states: Vec<f64> = (0..n).map(|_| 10.0 * symmetric()).collect();
    LinearUnit::new(&states, &inputs, &outputs, [&a, &b, &c, &[0.0]])
}

/// Two ports and a bond between them, with steps of up to one radian of the fastest oscillation or so.
fn pair(seed: u64, sense: f64) -> Run {
    let mut random = SplitMix64::new(SplitMix64::new(seed).next_bits());
    let step = 10_f64.powf(-3.0 + 2.0 * random.next_unit());
    let mut system = System::new(step);
    system.stop_time(5.0 * step);
    system.add("a", port(&mut random, ["v"], ["f"], -1.0));
    system.add("b", port(&mut random, ["f"], ["v"], 1.0));
    let _ = system
        .bond("shaft", ("a.f", "b.f"), ("b.v", "a.v"))
        .sense(sense);
    system.start(&RunOptions::default()).unwrap()
}

/// Warnings about senses, when the run is over.
fn warnings(run: &mut Run) -> usize {
    check_senses(run);
    let warnings = run.run().unwrap().warnings;
    let is_about_senses =
        |warning: &&String| warning.contains("its sense is likely the wrong sign");
    warnings.iter().filter(is_about_senses).count()
}

#[test]
fn no_right_sense_is_doubted_and_most_wrong_ones_are() {
    let mut found = 0;
    for seed in 0..SEEDS {
        assert_eq!(warnings(&mut pair(seed, 1.0)), 0, "seed {seed}");
        found += warnings(&mut pair(seed, -1.0));
    }
    assert!(found >= 190, "{found} of {SEEDS} wrong senses are found");
}

#[test]
fn no_right_sense_of_coupled_masses_is_doubted_and_most_wrong_ones_are() {
    let (mut bonds, mut found) = (0, 0);
    for seed in 0..SEEDS {
        let mut drawn = RandomSystem::of_seed(seed);
        if !drawn.has_bonds {
            continue;
        }
        drawn.steps = 3;
        let mut run = drawn.start(1.0);
        assert_eq!(warnings(&mut run), 0, "seed {seed}");
        bonds += run.graph().bond_names().count();
        drawn.sense = -1.0;
        found += warnings(&mut drawn.start(1.0));
    }
    assert!(found * 10 >= bonds * 9, "{found} of {bonds}");
}

/// The steps are tried when the run is over: every output has the same bits at every point.
#[test]
fn the_check_changes_no_result() {
    for seed in 0..SEEDS {
        let results = [false, true].map(|checks| {
            let mut run = pair(seed, 1.0);
            if checks {
                check_senses(&mut run);
            }
            let mut bits = Vec::new();
            while !run.has_ended() {
                run.step().unwrap();
                bits.extend(run.view().reals.iter().map(|value| value.to_bits()));
            }
            let read = ["a.f", "b.v"].map(|name| run.read_real(name).unwrap().to_bits());
            (bits, read)
        });
        assert_eq!(results[0], results[1], "seed {seed}");
    }
}
