//! Components on other machines: the time on the way, and what it makes of a proposal.

use gyrator_system::toml_file;

use super::{HostTime, advise, rounded_down};
use crate::doctor::accuracy::Accuracy;
use crate::doctor::stability::Stability;

const SYSTEM: &str = r#"
[experiment]
step_size = 0.001

[components.crane]
fmu = "crane.fmu"

[components.pump]
fmu = "pump.fmu"

[[bonds]]
name = "shaft"
effort = { from = "crane.torque", to = "pump.torque" }
flow = { from = "pump.speed", to = "crane.speed" }
"#;

fn advice(component: &str, error: f64, largest_step: f64) -> Vec<String> {
    let system = toml_file::parse(SYSTEM, "system.toml").unwrap().0;
    let accuracy = Accuracy {
        relative_error: Some(error),
        order: Some(1.0),
        ..Accuracy::default()
    };
    let stability = Stability {
        largest_step: Some(largest_step),
        ..Stability::default()
    };
    let mut hosts = [HostTime {
        component: component.to_owned(),
        compute: 1e-6,
        wait: 1e-4,
        transfer: 9.9e-5,
        transfer_dominates: true,
        advice: Vec::new(),
    }];
    advise(&mut hosts, &system, Some(&accuracy), &stability, 0.01);
    let [host] = hosts;
    host.advice
}

#[test]
fn larger_steps_are_those_of_error_and_stability() {
    let by_error = &advice("crane", 0.0025, 1.0)[0];
    assert!(by_error.contains("of up to 0.004 s"), "{by_error}");
    assert!(by_error.contains("4.0 times less often"), "{by_error}");
    let by_stability = &advice("crane", 0.0025, 0.00199)[0];
    assert!(by_stability.contains("of up to 0.0019 s"), "{by_stability}");
    assert!(!advice("crane", 0.0025, 0.001)[0].contains("macro-steps"));
}

#[test]
fn a_bond_gets_an_interface_model() {
    let with_bond = advice("pump", 0.1, 1.0);
    assert!(with_bond[0].contains("[[interface_models]] entry for shaft"));
    assert!(with_bond[1].contains("isolate"));
    assert_eq!(advice("winch", 0.1, 1.0).len(), 1);
}

#[test]
fn two_digits_towards_zero() {
    for (value, expected) in [(0.0199, 0.019), (1.0, 1.0), (123.0, 120.0), (0.004, 0.004)] {
        assert_eq!(rounded_down(value), expected);
    }
}
