//! Systems of the SSP standard: written, read, run.

use crate::bench::{Bench, OSCILLATORS};

/// A bond, a correction and several rates survive the package, and so does every bit of the result.
#[test]
fn an_exported_system_gives_the_same_result() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let outcome = bench.run(["export", "system.toml", "-o", "system.ssp"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!((&*outcome.stdout, &*outcome.stderr), ("system.ssp\n", ""));
    // The package holds all it needs.
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    std::fs::rename(bench.path("system.ssp"), bench.path("elsewhere/moved.ssp")).unwrap();
    for correction in ["off", "residual-power"] {
        for (system, result) in [("system.toml", "1.csv"), ("elsewhere/moved.ssp", "2.csv")] {
            let outcome = bench.run(["run", system, "--correction", correction, "-o", result]);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        }
        assert!(bench.read("1.csv") == bench.read("2.csv"), "{correction}");
    }
    // Isolated components open their FMUs again, in processes of their own.
    let outcome = bench.run([
        "run",
        "elsewhere/moved.ssp",
        "--correction",
        "residual-power",
        "--isolate",
        "-o",
        "3.csv",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(bench.read("1.csv") == bench.read("3.csv"));
    // A system that was read can be written.
    let outcome = bench.run(["export", "elsewhere/moved.ssp", "-o", "again.ssp"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    bench.run([
        "run",
        "again.ssp",
        "--correction",
        "residual-power",
        "-o",
        "4.csv",
    ]);
    assert!(bench.read("1.csv") == bench.read("4.csv"));
}

#[test]
fn a_package_is_inspected() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.run(["export", "system.toml", "-o", "system.ssp"]);
    let outcome = bench.run(["inspect", "system.ssp"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let head = "system.ssp/SystemStructure.ssd: 2 components, 1 connection, 1 power bond";
    assert!(outcome.stdout.starts_with(head), "{}", outcome.stdout);
}

#[test]
fn parameter_sets_are_those_of_packages() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let outcome = bench.run(["run", "system.toml", "--parameter-set", "fast"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    bench.run(["export", "system.toml", "-o", "system.ssp"]);
    let outcome = bench.run(["run", "system.ssp", "--parameter-set", "startValue"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("did you mean `startValues`?"),
        "{}",
        outcome.stderr
    );
    let outcome = bench.run(["run", "system.ssp", "--parameter-set", "startValues"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

/// Patterns and pairs of a system file become plain connections.
#[test]
fn exported_patterns_are_single_connections() {
    let bench = Bench::new();
    let text = |connections: &str| {
        format!(
            r#"{connections}
[experiment]
stop_time = 1
step_size = 0.01
[components]
left.fmu = "fmus/OscillatorForce.fmu"
right.fmu = "fmus/OscillatorMotion.fmu"
"#
        )
    };
    let mut results = Vec::new();
    for (name, connections) in [
        (
            "pattern",
            r#"connections = [["left.f*", "right.f*"], ["right.*", "left.*2"]]"#,
        ),
        (
            "plain",
            r#"connections = [["left.f", "right.f"], ["right.x", "left.x2"], ["right.v", "left.v2"]]"#,
        ),
    ] {
        bench.write("system.toml", &text(connections));
        let package = format!("{name}.ssp");
        for arguments in [
            &["export", "system.toml", "-o", &package][..],
            &["run", &package, "-o", "result.csv"],
        ] {
            let outcome = bench.run(arguments.iter().copied());
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        }
        results.push(bench.read("result.csv"));
    }
    assert!(results[0] == results[1]);
    bench.write(
        "system.toml",
        &text(r#"connections = [["left.q*", "right.*"]]"#),
    );
    let outcome = bench.run(["export", "system.toml", "-o", "wrong.ssp"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("no output fits `left.q*`"),
        "{}",
        outcome.stderr
    );
}

/// Tables of blocks lie in the package, and a package cannot name others.
#[test]
fn tables_of_blocks_are_in_the_package() {
    let bench = Bench::new();
    bench.write("road.csv", "time,y\n0,0\n1,2\n");
    let system = r#"
[experiment]
stop_time = 1
step_size = 0.1
[components.left]
fmu = "fmus/OscillatorForce.fmu"
[components.road]
block = { name = "table", file = "road.csv" }
[components.again]
block = { name = "table", file = "road.csv", interpolation = "hold" }
[[connections]]
from = "road.y"
to = "left.x2"
"#;
    bench.write("system.toml", system);
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    for arguments in [
        &["run", "system.toml", "-o", "1.csv"][..],
        &["export", "system.toml", "-o", "elsewhere/system.ssp"],
        &["run", "elsewhere/system.ssp", "-o", "2.csv"],
        &[
            "export",
            "elsewhere/system.ssp",
            "-o",
            "elsewhere/again.ssp",
        ],
        &["run", "elsewhere/again.ssp", "-o", "3.csv"],
    ] {
        let outcome = bench.run(arguments.iter().copied());
        assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
    }
    assert!(bench.read("1.csv").contains("road.y"));
    assert!(bench.read("1.csv") == bench.read("2.csv"));
    assert!(bench.read("1.csv") == bench.read("3.csv"));
}

#[test]
fn variants_are_chosen_by_name() {
    let bench = Bench::new();
    let description = |source: &str| {
        format!(
            r#"<SystemStructureDescription version="1.0" name="x"><System name="s"><Elements>
<Component name="one" source="{source}"/></Elements></System>
<DefaultExperiment stopTime="1"/></SystemStructureDescription>"#
        )
    };
    let fmu = "fmus/OscillatorForce.fmu";
    bench.write(
        "SystemStructure.ssd",
        &description("part.ssd").replace("\"/><", "\" type=\"application/x-ssp-definition\"/><"),
    );
    bench.write("part.ssd", &description(fmu));
    bench.write("Stiff.ssd", &description(fmu));
    let run = |options: &[&str]| bench.run([&["run", ".", "--step-size", "0.1"], options].concat());
    for (options, code, text) in [
        (
            &[][..],
            0,
            "not the variants beside it: `Stiff`; choose one with --variant",
        ),
        (
            &["--variant", "Stiff"],
            0,
            "Stiff.ssd: reached the stop time",
        ),
        (
            &["--variant", "Stiff.ssd"],
            0,
            "Stiff.ssd: reached the stop time",
        ),
        (&["--variant", "Stif"], 2, "did you mean `Stiff`?"),
    ] {
        let outcome = run(options);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        let shown = outcome.stdout + &outcome.stderr;
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(text), "{options:?}: {shown}");
    }
    let outcome = run(&["--variant", "Stiff"]);
    assert!(!outcome.stdout.contains("variants"), "{}", outcome.stdout);
}

#[test]
fn wrong_packages_are_refused() {
    let bench = Bench::new();
    bench.write("text.ssp", "no archive");
    bench.write(
        "SystemStructure.ssd",
        r#"<SystemStructureDescription version="1.0" name="x"><System name="s"><Elements>
<Component name="left" source="fmus/OscillatorForc.fmu"/></Elements></System>
<DefaultExperiment stopTime="1"/></SystemStructureDescription>"#,
    );
    for (arguments, code, text) in [
        (&["run", "text.ssp"][..], 3, "not a readable ZIP archive"),
        (&["run", "missing.ssp"], 3, "missing.ssp"),
        (
            &["run", ".", "--step-size", "0.1"],
            4,
            "did you mean `OscillatorForce.fmu`?",
        ),
        (
            &["export", ".", "-o", "out.zip"],
            2,
            "the name must end in .ssp",
        ),
        (&["export", ".", "-o", "out.ssp"], 4, "component `left`"),
    ] {
        let outcome = bench.run(arguments.iter().copied());
        assert_eq!(
            outcome.code,
            Some(code),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains(text),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert!(!bench.path("out.ssp").exists());
}

/// Advice on times that are missing is the format's; and a folder with systems of two standards is named as one.
#[test]
fn times_that_are_missing_are_advised_on_in_the_words_of_the_format() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("plant")).unwrap();
    let description = r#"<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" version="1.0" name="plant">
<ssd:System name="root"><ssd:Elements><ssd:Component name="left" type="application/x-fmu-sharedlibrary" source="../fmus/OscillatorForce.fmu"/></ssd:Elements></ssd:System>
</ssd:SystemStructureDescription>"#;
    bench.write("plant/SystemStructure.ssd", description);
    let refused = |arguments: &str| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(3), "{arguments}: {}", outcome.stderr);
        assert!(
            !outcome.stderr.contains("[experiment]"),
            "{}",
            outcome.stderr
        );
        outcome.stderr
    };
    for verb in ["run", "learn"] {
        let text = refused(&format!("{verb} plant -e 1"));
        let advice = "annotate the step as libcosim or OMSimulator do, or pass --step-size";
        assert!(text.contains(advice), "{text}");
    }
    for verb in ["run", "learn"] {
        let text = refused(&format!("{verb} plant --step-size 0.1"));
        let advice = "give the `DefaultExperiment` a `stopTime`, or pass --stop-time";
        // `learn` finds first that there is nothing to learn.
        assert!(text.contains(advice) || verb == "learn", "{text}");
    }
    let outcome = bench.run("run plant --step-size 0.1 -e 1".split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);

    bench.write("plant/OspSystemStructure.xml", "<OspSystemStructure/>");
    for verb in ["run", "inspect", "learn"] {
        let text = refused(&format!("{verb} plant"));
        let words =
            "plant is a folder with two systems, SystemStructure.ssd and OspSystemStructure.xml";
        assert!(text.contains(words), "{text}");
        let help =
            "name one of them: `plant/SystemStructure.ssd` or `plant/OspSystemStructure.xml`";
        assert!(text.contains(help), "{text}");
    }
    let outcome = bench.run("run plant/SystemStructure.ssd --step-size 0.1 -e 1".split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

/// An FMU of another FMI version in a system is invalid input for every verb, as it is by itself.
#[test]
fn fmus_of_other_versions_in_a_system_are_named_by_every_verb() {
    let bench = Bench::new();
    let newer = |text: &str| text.replace("fmiVersion=\"2.0\"", "fmiVersion=\"3.0\"");
    bench.alter_fmu("OscillatorForce", "newer.fmu", newer);
    let system =
        "experiment = { stop_time = 1, step_size = 0.1 }\ncomponents.a.fmu = \"newer.fmu\"\n";
    bench.write("system.toml", system);
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"experiment.step_size\" = [0.1] }\n",
    );
    for arguments in [
        "run system.toml",
        "inspect system.toml",
        "learn system.toml",
        "study study.toml",
        "export system.toml -o a.ssp",
    ] {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(3), "{arguments}: {}", outcome.stderr);
        for words in ["newer.fmu", "FMI 3.0", "FMI 2.0"] {
            assert!(
                outcome.stderr.contains(words),
                "{arguments}: {}",
                outcome.stderr
            );
        }
    }
}

/// Connectors of the outermost system, with a transformation on the way in and one on the way out.
const OUTER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="1.0" name="outer" xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"><ssd:System name="plant"><ssd:Connectors>
<ssd:Connector name="wall" kind="input"><ssc:Real unit="mm"/></ssd:Connector><ssd:Connector name="position" kind="output"><ssc:Real/></ssd:Connector>
<ssd:Connector name="time" kind="output"><ssc:Real/></ssd:Connector><ssd:Connector name="unused" kind="input"/></ssd:Connectors>
<ssd:Elements><ssd:Component name="left" source="../fmus/OscillatorForce.fmu"/><ssd:Component name="other" source="../fmus/OscillatorForce.fmu"/></ssd:Elements>
<ssd:Connections><ssd:Connection startConnector="wall" endElement="left" endConnector="x2"/>
<ssd:Connection startConnector="wall" endElement="other" endConnector="x2"><ssc:LinearTransformation factor="-2"/></ssd:Connection>
<ssd:Connection startElement="left" startConnector="x" endConnector="position"><ssc:LinearTransformation factor="1000" offset="1"/></ssd:Connection>
<ssd:Connection startElement="other" startConnector="v" endConnector="time"/></ssd:Connections></ssd:System>
<ssd:DefaultExperiment stopTime="0.1"/><ssd:Units><ssc:Unit name="mm"><ssc:BaseUnit m="1" factor="0.001"/></ssc:Unit></ssd:Units></ssd:SystemStructureDescription>"#;

#[test]
fn signals_of_the_outermost_system_are_fed_and_recorded() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("plant")).unwrap();
    bench.write("plant/SystemStructure.ssd", OUTER);
    bench.write("outer.csv", "time,wall\n0,0\n0.1,250\n");
    bench.write("inner.csv", "time,left.x2,other.x2\n0,0,0\n0.1,0.25,-0.5\n");
    let run = |further: &[&str], result: &str| {
        let run = ["run", "plant", "--step-size", "0.01", "-o", result];
        let outcome = bench.run([&run[..], further].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let (names, rows) = bench.rows(result);
        assert_eq!(names.last().unwrap(), "plant.time");
        let column = |name: &str| {
            let place = names.iter().position(|known| known == name).unwrap();
            Vec::from_iter(rows.iter().map(|row| row[place]))
        };
        assert!(column("left.x").iter().any(|x| *x != 0.0));
        let shown = column("left.x")
            .iter()
            .map(|x| 1000.0 * x + 1.0)
            .collect::<Vec<_>>();
        assert_eq!(column("position"), shown);
        assert_eq!(column("plant.time"), column("other.v"));
        bench.read(result)
    };
    let outer = run(&["--input-file", "outer.csv"], "1.csv");
    assert!(outer == run(&["--input-file", "inner.csv"], "2.csv"));
    let outer_of_file = outer;
    let outer = run(&["--start-value", "wall=250"], "3.csv");
    let inner = [
        "--start-value",
        "left.x2=0.25",
        "--start-value",
        "other.x2=-0.5",
    ];
    assert!(outer == run(&inner, "4.csv"));
    let arguments = [
        "run",
        "plant",
        "--step-size",
        "0.01",
        "-o",
        "5.csv",
        "--output-variable",
        "position",
    ];
    assert_eq!(bench.run(arguments).code, Some(0));
    assert!(bench.read("5.csv").starts_with("time,position\n0.0,1.0\n"));
    let outcome = bench.run(["inspect", "plant"]);
    for line in [
        "  wall → left.x2 × 0.001\n",
        "  left.x → position × 1000 + 1\n",
    ] {
        assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    }
    bench.write("units.csv", "time,wall [mm]\n0,0\n0.1,250\n");
    assert!(outer_of_file == run(&["--input-file", "units.csv"], "6.csv"));
}

#[test]
fn columns_that_do_not_fit_signals_of_the_outermost_system_are_refused() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("plant")).unwrap();
    bench.write("plant/SystemStructure.ssd", OUTER);
    for (text, part) in [
        (
            "time,wall [m]\n0,0\n",
            "wrong.csv: column wall: the values are in m, the input is in mm; write them in mm",
        ),
        (
            "time,other.x2,wall\n0,0,1\n",
            "wrong.csv: column wall: column other.x2 feeds the input `other.x2`, too",
        ),
        (
            "time,wall,left.x2\n0,0,1\n",
            "wrong.csv: column left.x2: column wall feeds the input `left.x2`, too",
        ),
        ("time,walls\n0,0\n", "did you mean `wall`?"),
    ] {
        bench.write("wrong.csv", text);
        let arguments = "run plant --step-size 0.01 --input-file wrong.csv";
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(3), "{text}");
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}
