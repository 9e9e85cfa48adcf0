//! The multiple linear and the double nonlinear oscillator, tables 2 and 3.

use fmu_models::{OscillatorForce, OscillatorHub};
use gyrator::System;
use gyrator_benchmark::reference::{Damper, Mass, Spring, StarOscillator};
use gyrator_system::Value;
use gyrator_testkit::ModelUnit;

use super::{Coupling, MONOLITHIC, UNCORRECTED, corrected, energy_errors, exact, expect, rms, run};

fn oscillator_system(star: &StarOscillator, coupling: Coupling<'_>) -> System {
    let mut system = System::new(1e-3);
    let spring = Value::Integer(if star.spring == Spring::Linear { 1 } else { 2 });
    let damper = Value::Integer(if star.damper == Damper::Linear { 1 } else { 2 });
    let starts = |mass: &Mass| {
        let values = [
            ("m", mass.m),
            ("k", mass.wall.k),
            ("c", mass.wall.c),
            ("v_start", mass.v_start),
        ];
        values.map(|(name, value)| (name, Value::Real(value)))
    };
    let mut hub = system.add("hub", ModelUnit::<OscillatorHub>::new());
    for (name, value) in starts(&star.hub) {
        hub = hub.start(name, value);
    }
    hub.start("spring", spring.clone())
        .start("damper", damper.clone());
    for (index, (mass, element)) in star.arms.iter().enumerate() {
        let name = format!("arm{}", index + 1);
        let unit = ModelUnit::<OscillatorForce>::new();
        let mut arm = system.add(&name, unit).exchange(coupling.exchange);
        for (variable, value) in starts(mass) {
            arm = arm.start(variable, value);
        }
        arm.start("k_c", Value::Real(element.k))
            .start("c_c", Value::Real(element.c))
            .start("spring", spring.clone())
            .start("damper", damper.clone());
    }
    for index in 1..=star.arms.len() {
        system.connect("hub.x", &format!("arm{index}.x2"));
        let effort = (format!("arm{index}.f"), format!("hub.f{index}"));
        let flow = ("hub.v", format!("arm{index}.v2"));
        let bond = system.bond(
            &format!("bond{index}"),
            (&effort.0, &effort.1),
            (flow.0, &flow.1),
        );
        if !coupling.correction.is_empty() {
            bond.correction("residual-power", coupling.correction);
        }
    }
    system
}

/// Energy errors, J, and root mean square errors of the hub's and mass 1's position, m.
fn measure_oscillators(
    star: &StarOscillator,
    exact: &[Vec<f64>],
    coupling: Coupling<'_>,
) -> [f64; 5] {
    let trace = run(oscillator_system(star, coupling), 10.0);
    let names = (1..=star.arms.len())
        .map(|index| format!("arm{index}"))
        .chain(["hub".to_owned()]);
    let names: Vec<String> = names.collect();
    let columns: Vec<Vec<f64>> = ["x", "v"]
        .iter()
        .flat_map(|variable| names.iter().map(move |name| format!("{name}.{variable}")))
        .map(|name| trace.column(&name))
        .collect();
    let states: Vec<Vec<f64>> = (0..columns[0].len())
        .map(|row| columns.iter().map(|column| column[row]).collect())
        .collect();
    let [end, max, last] = energy_errors(star, &states, exact, 1e-3);
    let position = |mass: usize| rms(states.iter().zip(exact).map(|(a, b)| a[mass] - b[mass]));
    [end, max, last, position(star.arms.len()), position(0)]
}

#[test]
fn multiple_oscillators_uncorrected() {
    #[rustfmt::skip]
    let cases = [
        (3, 0.0, [42967.01397, 42967.01397, 37929.98143, 1.998537442, 0.1918215564]),
        (3, 0.1, [1559.951176, 2325.183414, 1630.210495, 0.5985082653, 0.06444810392]),
        (5, 0.0, [414297.4286, 415668.833, 335820.1691, 6.421837481, 0.5204348997]),
        (5, 0.1, [1993.708007, 4022.696833, 2119.516416, 0.8677544365, 0.1282714024]),
    ];
    for (n, c, expected) in cases {
        let star = StarOscillator::table_2(n, c);
        let measured = measure_oscillators(&star, &exact(&star, 1e-3), UNCORRECTED);
        expect(&format!("n = {n}, c = {c}"), measured, expected, 1e-6);
    }
}

#[test]
fn multiple_oscillators_corrected() {
    let coupling = corrected(&[("mu", 0.5), ("limit", 0.25)]);
    #[rustfmt::skip]
    let cases = [
        (3, 0.0, [671.0592625, 934.6157515, 682.0369522, 0.05024926208, 0.1566495506]),
        (3, 0.1, [167.8876346, 246.1835182, 181.5354303, 0.03139124406, 0.0910407765]),
        (5, 0.0, [4213.264971, 4295.420164, 3670.211828, 0.338787082, 0.3014115365]),
        (5, 0.1, [744.1179354, 873.402174, 738.2017525, 0.176666714, 0.1781102286]),
    ];
    for (n, c, expected) in cases {
        let star = StarOscillator::table_2(n, c);
        let measured = measure_oscillators(&star, &exact(&star, 1e-3), coupling);
        expect(&format!("n = {n}, c = {c}"), measured, expected, 1e-4);
    }
}

#[test]
fn multiple_oscillators_fresh() {
    #[rustfmt::skip]
    let cases = [
        (3, 0.0, [63.97918658, 160.9695735, 2.608023571, 0.02410533007, 0.002593637719]),
        (5, 0.1, [6.725517787, 208.1996542, -2.00960151, 0.01873004944, 0.008925412463]),
    ];
    for (n, c, expected) in cases {
        let star = StarOscillator::table_2(n, c);
        let measured = measure_oscillators(&star, &exact(&star, 1e-3), MONOLITHIC);
        expect(&format!("n = {n}, c = {c}"), measured, expected, 1e-6);
    }
}

#[test]
fn square_root_springs() {
    let star = StarOscillator {
        spring: Spring::SquareRoot,
        ..StarOscillator::table_2(2, 0.0)
    };
    let exact = exact(&star, 1e-3);
    #[rustfmt::skip]
    let cases = [
        ("uncorrected", UNCORRECTED, [872.1558412, 1006.992509, 895.4726627, 3.079048348, 1.256623605], 1e-6),
        ("nu 0", corrected(&[("mu", 0.5)]), [309.859762, 436.2846722, 330.4867087, 0.8802884466, 0.4632736888], 1e-4),
        ("nu 0.25", corrected(&[("mu", 0.5), ("nu", 0.25)]), [109.0613387, 273.376952, 166.998934, 0.4516135599, 0.5072393632], 1e-4),
        ("mu 1", corrected(&[("mu", 1.0)]), [-484.3787672, 534.038878, -401.3879481, 2.588802288, 1.617070357], 1e-4),
        ("fresh", MONOLITHIC, [53.82933743, 180.6245792, 107.9546341, 0.6677033253, 0.3108716678], 1e-6),
    ];
    for (name, coupling, expected, tolerance) in cases {
        expect(
            name,
            measure_oscillators(&star, &exact, coupling),
            expected,
            tolerance,
        );
    }
}

#[test]
fn quadratic_dampers() {
    let star = StarOscillator {
        damper: Damper::Quadratic,
        ..StarOscillator::table_2(2, 0.001)
    };
    let exact = exact(&star, 1e-3);
    #[rustfmt::skip]
    let cases = [
        ("uncorrected", UNCORRECTED, [1180.474902, 1221.316126, 1170.834301, 0.3287767362, 0.1178001983], 1e-6),
        ("nu 0", corrected(&[("mu", 0.5)]), [5.94737764, 134.9345073, 8.185191085, 0.04026544973, 0.04830940803], 1e-4),
        ("nu 0.25", corrected(&[("mu", 0.5), ("nu", 0.25)]), [-16.71580387, 138.8337934, -12.47989604, 0.03788646439, 0.05703938534], 1e-4),
        ("fresh", MONOLITHIC, [1.126138123, 114.643716, -2.005288934, 0.02163621989, 0.009447712334], 1e-6),
    ];
    for (name, coupling, expected, tolerance) in cases {
        expect(
            name,
            measure_oscillators(&star, &exact, coupling),
            expected,
            tolerance,
        );
    }
}
