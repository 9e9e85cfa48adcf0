//! Corrections when the halves communicate at different rates, and on bonds with several axes.

use fmu_models::{QuarterCar, QuarterCarChassis, QuarterCarWheelSuspension};
use gyrator::{LinearUnit, Report, RunOptions, System};
use gyrator_testkit::{ModelUnit, Trace};

type Word<'a> = (&'a str, &'a [(&'a str, f64)]);

/// The car in reticulation 1 for 2 s with these communication steps, s; returns the rms error of the
/// chassis velocity, m/s, and the report.
fn run(chassis: f64, suspension: f64, correction: Option<Word<'_>>) -> (f64, Report) {
    let mut system = System::new(1e-3);
    system.stop_time(2.0);
    system.method("jacobi").extrapolation("hold");
    let unit = ModelUnit::<QuarterCarChassis>::new();
    system.add("a", unit).step_size(chassis).exchange("stale");
    let unit = ModelUnit::<QuarterCarWheelSuspension>::new();
    system
        .add("b", unit)
        .step_size(suspension)
        .exchange("stale");
    let bond = system.bond("suspension", ("b.F", "a.F"), ("a.v_c", "b.v_c"));
    if let Some((name, parameters)) = correction {
        bond.correction((name, parameters));
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    let times = trace.times();
    let exact = QuarterCar::linear().motion(&times);
    let velocities = trace.column("a.v_c");
    // When a slow half communicates, its outputs belong to the present time.
    let every = (chassis / 1e-3).round().max(1.0) as usize;
    let errors = velocities.iter().zip(&exact).step_by(every);
    let squares: Vec<f64> = errors.map(|(v, exact)| (v - exact.v_c).powi(2)).collect();
    (
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt(),
        report,
    )
}

#[test]
fn nepce_helps_at_all_rates() {
    for (chassis, suspension) in [
        (1e-3, 1e-3),
        (1e-3, 1e-4),
        (1e-4, 1e-3),
        (4e-3, 1e-3),
        (1e-3, 4e-3),
    ] {
        let (plain, _) = run(chassis, suspension, None);
        for correction in [
            ("nepce", &[("alpha", 0.9)][..]),
            ("nepce", &[]),
            ("nepce-feedthrough", &[("alpha", 0.9)]),
        ] {
            let (corrected, report) = run(chassis, suspension, Some(correction));
            let energy = report.bonds[0].energy.residual_energy_integrated;
            println!(
                "{chassis} {suspension} {correction:?}: {plain:.2e} → {corrected:.2e} m/s, dEint {energy:.4} J"
            );
            assert!(corrected < 0.6 * plain, "{corrected} of {plain}");
        }
    }
}

/// Two axes that do not know of each other: each is corrected as if it were alone.
#[test]
fn axes_are_corrected_each_for_itself() {
    #[rustfmt::skip]
    let spring = || LinearUnit::new(&[0.0, 0.0], &["vx", "vy"], &["fx", "fy"], [
        &[0.0; 4],
        &[1.0, 0.0, 0.0, 1.0],
        &[40.0, 0.0, 0.0, 90.0],
        &[2.0, 0.0, 0.0, 3.0],
    ]);
    #[rustfmt::skip]
    let mass = || LinearUnit::new(&[1.0, -2.0], &["fx", "fy"], &["vx", "vy"], [
        &[-0.1, 0.0, 0.0, -0.2],
        &[-1.0, 0.0, 0.0, -0.5],
        &[1.0, 0.0, 0.0, 1.0],
        &[0.0; 4],
    ]);
    let axes = [
        (("s.fx", "m.fx"), ("m.vx", "s.vx")),
        (("s.fy", "m.fy"), ("m.vy", "s.vy")),
    ];
    for word in ["nepce", "nepce-feedthrough"] {
        for parameters in [&[("alpha", 0.8)][..], &[]] {
            let columns = |together: bool| {
                let mut system = System::new(1e-2);
                system.stop_time(1.0);
                system.method("jacobi").extrapolation("hold");
                system.add("s", spring()).exchange("stale");
                system.add("m", mass()).exchange("stale");
                if together {
                    let bond = system.bond("both", axes[0].0, axes[0].1);
                    bond.axis(axes[1].0, axes[1].1)
                        .correction((word, parameters));
                } else {
                    system
                        .bond("x", axes[0].0, axes[0].1)
                        .correction((word, parameters));
                    system
                        .bond("y", axes[1].0, axes[1].1)
                        .correction((word, parameters));
                }
                let mut run = system.start(&RunOptions::default()).unwrap();
                let trace = Trace::of(&mut run).unwrap();
                run.run().unwrap();
                trace
            };
            let (both, apart) = (columns(true), columns(false));
            for name in ["m.vx", "m.vy", "s.fx", "s.fy"] {
                for (one, other) in both.column(name).iter().zip(apart.column(name)) {
                    assert!((one - other).abs() <= 1e-12 * one.abs().max(1.0));
                }
            }
        }
    }
}
