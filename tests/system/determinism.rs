//! The same bits on any number of threads, in any order of the description, and again.

use gyrator::{Report, RunOptions, System};
use gyrator_system::SystemFile;
use gyrator_testkit::{Coupling, DoubleOscillator, TABLE_1, Trace, fmu};

/// All cases of table 1 side by side in one system of sixteen FMUs.
fn sixteen_fmus() -> SystemFile {
    let coupling = Coupling {
        motion_step: 2.5e-4,
        extrapolation: "linear",
        correction: Some(("residual-power", &[])),
        stop_time: 0.1,
        ..Coupling::default()
    };
    let part = |(number, case): (usize, &DoubleOscillator)| {
        let mut file = case.system(&coupling).description().clone();
        let rename = |name: &mut String| name.insert_str(0, &format!("{number} "));
        for component in &mut file.components {
            component.fmu.value = match component.name.value.as_str() {
                "force" => fmu("OscillatorForce"),
                _ => fmu("OscillatorMotion"),
            };
            rename(&mut component.name.value);
        }
        for bond in &mut file.bonds {
            rename(&mut bond.name.value);
        }
        let bonded = file.bonds.iter_mut();
        let bonded = bonded.flat_map(|bond| bond.effort.iter_mut().chain(&mut bond.flow));
        for connection in file.connections.iter_mut().chain(bonded) {
            rename(&mut connection.from.value.component);
            rename(&mut connection.to.value.component);
        }
        file
    };
    let mut parts = TABLE_1.iter().enumerate().map(part);
    let mut whole = parts.next().unwrap();
    for part in parts {
        whole.components.extend(part.components);
        whole.connections.extend(part.connections);
        whole.bonds.extend(part.bonds);
    }
    whole
}

fn run(file: SystemFile, threads: usize) -> (Vec<u64>, Report) {
    let options = RunOptions {
        threads,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    let mut run = System::from_file(file).unwrap().start(&options).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    (trace.bits(), report)
}

#[test]
fn threads_and_order_change_no_bit() {
    let file = sixteen_fmus();
    let expected = run(file.clone(), 0);
    assert_eq!(expected.1.components.len(), 16);
    for threads in [0, 1, 2, 3, 8] {
        assert_eq!(run(file.clone(), threads), expected);
    }
    let mut other = file;
    other.components.reverse();
    other.connections.rotate_left(3);
    other.bonds.rotate_left(5);
    assert_eq!(run(other.clone(), 0), expected);
    assert_eq!(run(other, 4), expected);
}
