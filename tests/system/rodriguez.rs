//! The double oscillator of Rodríguez et al. 2022, table 1, with and without its energy correction.
//!
//! The numbers are those of an independent reproduction of the paper in Python (H = 1 ms, T = 10 s,
//! symplectic Euler, inputs held over each communication step of a half).

use gyrator::{RunOptions, System};
use gyrator_testkit::{Coupling, DoubleOscillator, Metrics, ModelUnit, State, TABLE_1, Trace};

const H: f64 = 1e-3;

/// Runs case `number` of table 1 and measures its errors.
fn measure(number: usize, coupling: &Coupling<'_>) -> Metrics {
    let oscillator = TABLE_1[number - 1];
    let system = oscillator.system(coupling);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    oscillator.metrics(H, &DoubleOscillator::states(&trace))
}

/// Energy errors, J: at the end, greatest, mean over the last second; rms displacement errors of
/// masses 2 and 1, m.
type Expected = [f64; 5];

#[track_caller]
fn expect(metrics: &Metrics, expected: Expected, tolerance: f64) {
    let measured = [
        metrics.energy_end,
        metrics.energy_max,
        metrics.energy_last_second,
        metrics.rms_x2,
        metrics.rms_x1,
    ];
    for (name, (measured, expected)) in ["end", "max", "last second", "rms x2", "rms x1"]
        .iter()
        .zip(measured.into_iter().zip(expected))
    {
        assert!(
            (measured - expected).abs() <= tolerance * expected.abs(),
            "{name}: {measured} instead of {expected}"
        );
    }
}

fn correction<'a>(parameters: &'a [(&'a str, f64)]) -> Option<(&'a str, &'a [(&'a str, f64)])> {
    Some(("residual-power", parameters))
}

#[test]
fn single_rate_uncorrected() {
    #[rustfmt::skip]
    let rows = [
        (1, [10242.5639796, 10338.5643356, 9391.50402655, 0.801912542069, 0.0824537102399]),
        (2, [1137.94010782, 1365.56940935, 1165.6351754, 0.362479146505, 0.0384794678178]),
        (3, [1889437.64081, 1889965.66465, 1431595.01593, 8.23213901094, 7.9020370234]),
        (4, [94253.0404762, 94398.7711315, 82471.3979073, 2.51033192218, 2.42152932814]),
        (5, [6783.67314066, 6862.91631034, 6314.06707917, 2.2031860843, 0.221187402228]),
        (6, [1120.37449316, 1181.51185535, 1134.91915421, 1.13204202152, 0.11510108912]),
        (7, [10126.8715631, 10540.5824062, 9485.17300011, 0.817674648738, 0.00916357059378]),
        (8, [2620.39847773, 2940.03668138, 2642.65764006, 0.0670809733811, 0.22834187237]),
    ];
    for (number, expected) in rows {
        expect(&measure(number, &Coupling::default()), expected, 1e-6);
    }
}

#[test]
fn residual_energy_of_uncorrected_runs() {
    for (number, expected) in [(1, 21664.734156996143), (2, 7262.48963700734)] {
        let system = TABLE_1[number - 1].system(&Coupling::default());
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        let residual = run.ledger().residual_energy();
        assert!((residual / expected - 1.0).abs() < 1e-6, "{residual}");
    }
}

#[test]
fn single_rate_corrected() {
    for (number, nu, expected) in [
        (
            1,
            0.0,
            [
                -104.163287912,
                217.309656832,
                -78.9869490448,
                0.0429487707138,
                0.0956642093859,
            ],
        ),
        (
            2,
            0.0,
            [
                4.8884022328,
                132.678067877,
                6.21606065142,
                0.0457010898862,
                0.0530291672677,
            ],
        ),
        (
            7,
            0.0,
            [
                892.092501328,
                1028.39843333,
                768.994494502,
                0.61867673661,
                0.0262704065698,
            ],
        ),
        (
            7,
            0.25,
            [
                151.163351988,
                346.337547684,
                63.1349246405,
                1.99575777527,
                0.0291057252127,
            ],
        ),
        (
            8,
            0.0,
            [
                -4771.62274022,
                4858.86414202,
                -4428.07683684,
                0.120653507092,
                0.386516295894,
            ],
        ),
    ] {
        let parameters = [("mu", 0.5), ("nu", nu)];
        let coupling = Coupling {
            correction: correction(&parameters),
            ..Coupling::default()
        };
        expect(&measure(number, &coupling), expected, 1e-4);
    }
}

/// Greatest distance, m, of the positions in a run from those of symplectic Euler on the whole
/// system.
fn distance_from_monolithic(oscillator: &DoubleOscillator, system: System) -> f64 {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    let states = DoubleOscillator::states(&trace);
    let whole = oscillator.monolithic(H, states.len() - 1);
    let distance = |(a, b): (&State, &State)| (a[0] - b[0]).abs().max((a[2] - b[2]).abs());
    states.iter().zip(&whole).map(distance).fold(0.0, f64::max)
}

// The coupling error of a single-rate run is the staleness of the force and nothing else.
#[test]
fn fresh_exchange_is_the_monolithic_solution() {
    for oscillator in TABLE_1 {
        let coupling = Coupling {
            exchange: "fresh",
            ..Coupling::default()
        };
        let distance = distance_from_monolithic(&oscillator, oscillator.system(&coupling));
        assert!(distance < 1e-12, "{distance} m");
    }
}

#[test]
fn compensated_exchange_is_the_monolithic_solution() {
    for oscillator in TABLE_1 {
        let coupling = Coupling {
            exchange: "compensated",
            ..Coupling::default()
        };
        let force = || ModelUnit::new().values_only().without_fresh();
        let motion = || ModelUnit::new().values_only();
        for force in [
            force(),
            force().without_derivatives(),
            force().without_derivatives().cached_outputs(),
        ] {
            let system = oscillator.system_of(&coupling, force, motion());
            let distance = distance_from_monolithic(&oscillator, system);
            assert!(distance < 1e-7, "{distance} m");
        }
    }
}

/// The half with the force steps ten times slower (R = 10) or faster (R = 0.1) than the other.
fn multi_rate(ratio: f64, extrapolation: &str) -> Coupling<'_> {
    let (force_step, motion_step) = if ratio > 1.0 {
        (H, 0.1 * H)
    } else {
        (0.1 * H, H)
    };
    Coupling {
        force_step,
        motion_step,
        extrapolation,
        ..Coupling::default()
    }
}

#[test]
fn multi_rate_uncorrected() {
    for (ratio, extrapolation, expected) in [
        (
            10.0,
            "hold",
            [
                20199.479598,
                20199.479598,
                18334.9277563,
                1.32773086237,
                0.143092603125,
            ],
        ),
        (
            10.0,
            "linear",
            [
                10177.455539,
                10177.455539,
                9404.68197374,
                0.802307314401,
                0.0825089785308,
            ],
        ),
        (
            10.0,
            "quadratic",
            [
                10156.6536784,
                10156.6536784,
                9386.71056941,
                0.80128278762,
                0.0824003888667,
            ],
        ),
        (
            0.1,
            "hold",
            [
                10827.7499997,
                10900.274309,
                9888.22346072,
                0.845798578517,
                0.104914185818,
            ],
        ),
        (
            0.1,
            "linear",
            [
                673.753508526,
                746.924152062,
                600.692805201,
                0.0793778901423,
                0.00824809831504,
            ],
        ),
        (
            0.1,
            "quadratic",
            [
                657.981405427,
                734.801298603,
                589.085771628,
                0.0701109686933,
                0.00730980978571,
            ],
        ),
    ] {
        expect(
            &measure(1, &multi_rate(ratio, extrapolation)),
            expected,
            1e-6,
        );
    }
}

/// μ is left to eqs 20–21 of the paper.
#[test]
fn multi_rate_corrected_with_mu_by_rule() {
    #[rustfmt::skip]
    let rows = [
        (10.0, "hold", 0.725, [-95.2457259561, 128.437114598, -38.6359265616, 0.158136024263, 0.0586370676406]),
        (10.0, "linear", 0.5, [-117.519503465, 140.048546016, -69.8672561086, 0.040588816037, 0.0776838511201]),
        (10.0, "quadratic", 0.5, [-117.508640294, 141.142839654, -70.2909322725, 0.0585348142945, 0.0862820707471]),
        (0.1, "hold", 0.5, [-16.651610888, 161.61613186, -19.3410535393, 0.0300793348191, 0.0143047011082]),
        (0.1, "linear", 0.05, [18.186014974, 121.034154745, -12.4522588463, 0.0232516028278, 0.0223404171883]),
        (0.1, "quadratic", 0.05, [10.7831192591, 126.411535581, -17.7076081303, 0.0269449395921, 0.0120253430981]),
    ];
    for (ratio, extrapolation, mu, expected) in rows {
        let coupling = Coupling {
            correction: correction(&[]),
            ..multi_rate(ratio, extrapolation)
        };
        expect(&measure(1, &coupling), expected, 1e-4);
        let run = TABLE_1[0].system(&coupling).start(&RunOptions::default());
        let in_force = run.unwrap().report().bonds[0].correction_parameters["mu"];
        assert!((in_force - mu).abs() < 1e-12, "{in_force} instead of {mu}");
    }
}

#[test]
fn multi_rate_fresh() {
    for (ratio, extrapolation, expected) in [
        (
            10.0,
            "hold",
            [
                3625.95000244,
                3625.95000244,
                3400.06114376,
                0.359150542966,
                0.0807931932946,
            ],
        ),
        (
            10.0,
            "linear",
            [
                -10.9210847084,
                43.1904185041,
                1.30791758044,
                0.00931290733216,
                0.00130392118491,
            ],
        ),
        (
            10.0,
            "quadratic",
            [
                -15.5634351232,
                41.2440356222,
                -2.83410562023,
                0.00046056385756,
                0.00149470702879,
            ],
        ),
        (
            0.1,
            "hold",
            [
                136.669920799,
                208.039228644,
                91.2712670349,
                0.0374695026698,
                0.0810178495492,
            ],
        ),
        (
            0.1,
            "linear",
            [
                32.4295022815,
                112.743444031,
                -0.784617343278,
                0.0211949753245,
                0.00220755471079,
            ],
        ),
        (
            0.1,
            "quadratic",
            [
                32.0036548059,
                113.313341251,
                -0.745735352217,
                0.0203852435253,
                0.00205787215368,
            ],
        ),
    ] {
        let coupling = Coupling {
            exchange: "fresh",
            ..multi_rate(ratio, extrapolation)
        };
        expect(&measure(1, &coupling), expected, 1e-6);
    }
}

/// δP_k, the correcting force f_k and U_k of the first steps, read from outside.
struct FirstSteps {
    residual_power: Vec<f64>,
    force: Vec<f64>,
    correction: Vec<f64>,
    open_energy: Vec<f64>,
}

fn first_steps(number: usize, mu: f64, nu: f64, coupling: &Coupling<'_>) -> FirstSteps {
    let parameters = [("mu", mu), ("nu", nu)];
    let coupling = Coupling {
        correction: correction(&parameters),
        ..*coupling
    };
    let system = TABLE_1[number - 1].system(&coupling);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut found = FirstSteps {
        residual_power: Vec::new(),
        force: vec![run.read_real("force.f").unwrap()],
        correction: Vec::new(),
        open_energy: Vec::new(),
    };
    let (mut velocity, mut estimated) = (run.read_real("motion.v").unwrap(), 0.0);
    for _ in 0..11 {
        run.step().unwrap();
        let before = found.force[found.force.len() - 1];
        // Held inputs: what the receiver used over the step less the force as it was published.
        found
            .correction
            .push(run.read_real("motion.f").unwrap() - before);
        let energy = run.ledger().bond(0).unwrap();
        found.open_energy.push(estimated + energy.correction_energy);
        let now = run.read_real("force.f").unwrap();
        let velocity_now = run.read_real("motion.v").unwrap();
        let residual = before * velocity_now - velocity * now;
        found.residual_power.push(residual);
        if coupling.extrapolation == "hold" {
            let booked = run.ledger().bond(0).unwrap().residual_power;
            assert!((booked - residual).abs() <= 1e-9 * residual.abs().max(1.0));
        }
        estimated += mu * H * residual;
        velocity = velocity_now;
        found.force.push(now);
    }
    found
}

#[track_caller]
fn expect_close(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= 1e-9 * expected.abs(),
            "{found} instead of {expected}"
        );
    }
}

#[test]
fn first_steps_of_the_correction() {
    let single_rate = Coupling::default();
    let first = first_steps(1, 0.5, 0.0, &single_rate);
    expect_close(&first.residual_power, &[1000.0, 2000.94, 2003.1186547]);
    expect_close(
        &first.correction[1..],
        &[5.0, 10.016218651449, 10.051265124905],
    );
    expect_close(&first.force[10..], &[188.2241530077]);
    expect_close(&first.open_energy[1..], &[5.75e-4, 2.977882026703e-3]);
    let second = first_steps(2, 0.5, 0.25, &single_rate);
    expect_close(
        &second.correction[1..],
        &[5.001500450135, 10.028503130597, 10.075657780239],
    );
    let slow = first_steps(1, 0.725, 0.0, &multi_rate(10.0, "hold"));
    expect_close(&slow.residual_power[1..], &[2000.347197888]);
    expect_close(&slow.correction[2..], &[14.532627418935]);
    let fast = first_steps(1, 0.05, 0.0, &multi_rate(0.1, "linear"));
    expect_close(
        &fast.residual_power,
        &[999.98185009583, 2900.90533176, 2004.44668480673],
    );
}
