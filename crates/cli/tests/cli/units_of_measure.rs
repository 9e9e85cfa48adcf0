//! Units of measure between FMUs (FMI 2.0 §2.2.2, §2.2.3).

use crate::bench::{Bench, ProgramOutcome};

const DEFINITIONS: &str = "<UnitDefinitions>\
    <Unit name=\"K\"><BaseUnit K=\"1\"/></Unit>\
    <Unit name=\"degC\"><BaseUnit K=\"1\" offset=\"273.15\"/></Unit>\
    <Unit name=\"m/s\"><BaseUnit m=\"1\" s=\"-1\"/></Unit>\
    <Unit name=\"km/h\"><BaseUnit m=\"1\" s=\"-1\" factor=\"0.2777777777777778\"/></Unit>\
    <Unit name=\"nothing\"><BaseUnit K=\"1\" factor=\"0\"/></Unit>\
    </UnitDefinitions>";

/// A description of `AllTypes` that gives a real variable some attributes.
fn described(text: &str, variable: &str, attributes: &str) -> String {
    let Some(at) = text.find(&format!("name=\"{variable}\"")) else {
        return text.to_owned();
    };
    let real = at + text[at..].find("<Real").unwrap() + "<Real".len();
    let text = format!("{} {attributes}{}", &text[..real], &text[real..]);
    text.replacen(
        "<TypeDefinitions>",
        &format!("{DEFINITIONS}<TypeDefinitions>"),
        1,
    )
}

/// The value that an FMU whose output is `value` in a unit gives to an input in another unit, and how the
/// program ended.
fn passed_on(value: f64, from: &str, to: &str) -> (ProgramOutcome, Option<f64>) {
    let bench = Bench::new();
    bench.alter_fmu("AllTypes", "source.fmu", |text| {
        described(text, "real_parameter_out", from)
    });
    bench.alter_fmu("AllTypes", "sink.fmu", |text| {
        described(text, "real_in", to)
    });
    let system = format!(
        "[experiment]\nstop_time = 1.0\nstep_size = 0.5\n\
         [components.source]\nfmu = \"source.fmu\"\nstart_values = {{ real_parameter = {value:?} }}\n\
         [components.sink]\nfmu = \"sink.fmu\"\n\
         [[connections]]\nfrom = \"source.real_parameter_out\"\nto = \"sink.real_in\"\n"
    );
    bench.write("system.toml", &system);
    let outcome = bench.run(["run", "system.toml", "-o", "out.csv"]);
    let last = (outcome.code == Some(0)).then(|| {
        // Names and texts of this FMU hold no commas.
        let text = bench.read("out.csv");
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let (header, last) = (text.lines().next().unwrap(), text.lines().last().unwrap());
        let column = cells(header)
            .iter()
            .position(|name| name == "sink.real_out");
        cells(last)[column.unwrap()].parse().unwrap()
    });
    (outcome, last)
}

const DEG_C: &str = "unit=\"degC\"";
const KELVIN: &str = "unit=\"K\"";
const DEG_C_DIFFERENCE: &str = "unit=\"degC\" relativeQuantity=\"true\"";
const KELVIN_DIFFERENCE: &str = "unit=\"K\" relativeQuantity=\"true\"";

// 20 °C are 293.15 K; a difference of 20 °C is one of 20 K; 90 km/h are 25 m/s. Tolerance: a few
// roundings.
#[test]
fn c57_values_arrive_in_the_unit_of_the_input() {
    for (value, from, to, expected) in [
        (20.0, DEG_C, KELVIN, 293.15),
        (20.0, DEG_C_DIFFERENCE, KELVIN_DIFFERENCE, 20.0),
        (90.0, "unit=\"km/h\"", "unit=\"m/s\"", 25.0),
    ] {
        let (outcome, last) = passed_on(value, from, to);
        let last = last.unwrap_or_else(|| panic!("{}", outcome.stderr));
        assert!((last - expected).abs() < 1e-12, "{from} to {to}: {last}");
    }
}

#[test]
fn c57_a_difference_is_not_passed_on_as_a_temperature() {
    for (from, to) in [(DEG_C_DIFFERENCE, KELVIN), (KELVIN_DIFFERENCE, DEG_C)] {
        let (outcome, _) = passed_on(20.0, from, to);
        assert_eq!(outcome.code, Some(3), "{from} to {to}");
        for part in [
            "source.real_parameter_out → sink.real_in",
            "relativeQuantity",
        ] {
            assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
        }
    }
}

#[test]
fn c57_a_unit_with_the_factor_zero_is_refused() {
    let (outcome, _) = passed_on(20.0, KELVIN, "unit=\"nothing\"");
    assert_eq!(outcome.code, Some(3));
    for part in ["nothing", "factor"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}
