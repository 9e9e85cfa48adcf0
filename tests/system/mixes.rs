//! FMUs are called together beside whatever else is in a system, and nothing but their own inputs changes what they do.

use std::fmt::Write as _;
use std::path::Path;

use gyrator::system::FmuCache;
use gyrator::{RunOptions, System};
use gyrator_system::toml_file;

const H: f64 = 0.01;

/// Three pairs of oscillators, and components beside them.
fn system(extrapolation: &str, others: &str) -> System {
    let motion = gyrator_testkit::fmu("OscillatorMotion");
    let mut text = format!(
        "[experiment]\nstop_time = 1.0\nstep_size = {H}\nmethod = \"jacobi\"\nextrapolation = \"{extrapolation}\"\n{others}"
    );
    for pair in 0..3 {
        let _ = write!(
            text,
            "[components.a{pair}]\nfmu = {motion:?}\nstart_values = {{ k = {}.0 }}\n[components.b{pair}]\nfmu = {motion:?}\n\
             [[connections]]\nfrom = \"a{pair}.x\"\nto = \"b{pair}.f\"\ngain = {}.0\n\
             [[connections]]\nfrom = \"b{pair}.x\"\nto = \"a{pair}.f\"\n",
            10 + 90 * pair,
            1 + pair,
        );
    }
    let (file, _) = toml_file::parse(&text, Path::new("system.toml")).unwrap();
    FmuCache::default().system(file).unwrap()
}

/// Bits of all values of the oscillators at each point, and of their defects.
fn course(system: System) -> Vec<u64> {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut bits = Vec::new();
    loop {
        for pair in 0..3 {
            for name in ["a", "b"] {
                for variable in ["x", "v"] {
                    let value = run.read_real(&format!("{name}{pair}.{variable}")).unwrap();
                    bits.push(value.to_bits());
                }
            }
        }
        if !run.step().unwrap() {
            break;
        }
    }
    let view = run.view();
    for ((_, to), defect) in view
        .graph
        .real_connections()
        .zip(view.defects.connections())
    {
        if !to.starts_with("b00") {
            bits.extend([defect.rms, defect.max, defect.work].map(f64::to_bits));
        }
    }
    bits
}

/// Blocks before and behind the FMUs in the order of the components, FMUs without connections at this and at other rates, and
/// what changes the way of each of them.
#[test]
fn other_components_change_no_bit() {
    let motion = gyrator_testkit::fmu("OscillatorMotion");
    let strangers = [
        "[components.aa]\nblock = \"constant\"\n[components.zz]\nblock = \"constant\"\n".to_owned(),
        format!("[components.aa]\nfmu = {motion:?}\n[components.b00]\nfmu = {motion:?}\n"),
        format!(
            "[components.aa]\nfmu = {motion:?}\nstep_size = {}\n",
            2.0 * H
        ),
        format!(
            "[components.b00]\nfmu = {motion:?}\nstep_size = {}\n",
            0.5 * H
        ),
        format!(
            "[components.aa]\nblock = \"ramp\"\n[components.b00]\nfmu = {motion:?}\nstep_size = {}\n\
             [[connections]]\nfrom = \"aa.y\"\nto = \"b00.f\"\n",
            4.0 * H
        ),
    ];
    for extrapolation in ["hold", "auto", "linear"] {
        let alone = course(system(extrapolation, ""));
        for stranger in &strangers {
            let beside = course(system(extrapolation, stranger));
            assert!(alone == beside, "{extrapolation}\n{stranger}");
        }
    }
}
