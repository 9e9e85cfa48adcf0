//! Systems of the Open Simulation Platform, run and inspected.

use crate::bench::{Bench, OSCILLATORS};

const SYSTEM: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
<EndTime>1</EndTime><BaseStepSize>1e-3</BaseStepSize><Algorithm>fixedStep</Algorithm>
<Simulators>
<Simulator name="left" source="../fmus/OscillatorForce.fmu"><InitialValues>
<InitialValue variable="m"><Real value="1"/></InitialValue><InitialValue variable="k"><Real value="10"/></InitialValue>
<InitialValue variable="k_c"><Real value="100"/></InitialValue><InitialValue variable="v_start"><Real value="100"/></InitialValue>
</InitialValues></Simulator>
<Simulator name="right" source="../fmus/OscillatorMotion.fmu"><InitialValues>
<InitialValue variable="m"><Real value="1"/></InitialValue><InitialValue variable="k"><Real value="1000"/></InitialValue>
<InitialValue variable="v_start"><Real value="-100"/></InitialValue>
</InitialValues></Simulator>
</Simulators>
<Connections>
<VariableConnection><Variable simulator="left" name="x2"/><Variable simulator="right" name="x"/></VariableConnection>
<VariableConnection powerBond="coupling"><Variable simulator="right" name="v"/><Variable simulator="left" name="v2"/></VariableConnection>
<VariableConnection powerBond="coupling"><Variable simulator="left" name="f"/><Variable simulator="right" name="f"/></VariableConnection>
</Connections>
</OspSystemStructure>
"#;

#[test]
fn a_folder_gives_the_result_of_the_same_system_in_toml() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    std::fs::create_dir(bench.path("osp")).unwrap();
    bench.write("osp/OspSystemStructure.xml", SYSTEM);
    for (system, result) in [("system.toml", "1.csv"), ("osp", "2.csv")] {
        let outcome = bench.run([
            "run",
            system,
            "-e",
            "1",
            "--method=jacobi",
            "--exchange=stale",
            "--extrapolation=hold",
            "-o",
            result,
        ]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    assert!(bench.read("1.csv") == bench.read("2.csv"));
    for path in ["osp", "osp/OspSystemStructure.xml"] {
        let outcome = bench.run(["inspect", path]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stdout.contains("coupling"), "{}", outcome.stdout);
    }
}

#[test]
fn a_system_with_ecco_is_packed_with_fixed_steps() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("osp")).unwrap();
    let ecco = "<Algorithm>ecco</Algorithm><EccoConfiguration>\
         <SafetyFactor>0.99</SafetyFactor><StepSize>1e-4</StepSize><MinimumStepSize>1e-4</MinimumStepSize>\
         <MaximumStepSize>1e-2</MaximumStepSize><MinimumChangeRate>0.2</MinimumChangeRate><MaximumChangeRate>1.5</MaximumChangeRate>\
         <ProportionalGain>0.2</ProportionalGain><IntegralGain>0.15</IntegralGain>\
         <RelativeTolerance>1e-6</RelativeTolerance><AbsoluteTolerance>1e-6</AbsoluteTolerance></EccoConfiguration>";
    let system = SYSTEM.replace("<Algorithm>fixedStep</Algorithm>", ecco);
    bench.write("osp/OspSystemStructure.xml", &system);
    let refused = bench.run(["pack", "osp", "-o", "p.fmu"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--step-control fixed"),
        "{}",
        refused.stderr
    );
    let fixed = ["--step-control", "fixed"];
    for arguments in [
        &["run", "osp", "--exchange", "stale", "-o", "direct.csv"][..],
        &["pack", "osp", "--exchange", "stale", "-o", "p.fmu"],
    ] {
        let outcome = bench.run([arguments, &fixed].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    let outcome = bench.run([
        "simulate",
        "p.fmu",
        "-e",
        "1",
        "-o",
        "packed.csv",
        "--output-variable",
        "right.x",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let last = |file: &str, column: &str| {
        let text = bench.read(file);
        let place = text
            .lines()
            .next()
            .unwrap()
            .split(',')
            .position(|name| name == column);
        let row = text.lines().last().unwrap().split(',').nth(place.unwrap());
        row.unwrap().to_owned()
    };
    assert_eq!(last("direct.csv", "right.x"), last("packed.csv", "right.x"));
}
