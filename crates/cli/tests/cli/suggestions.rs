//! Power bonds that connections suggest.

use crate::bench::{Bench, OSCILLATORS};

/// The oscillators without their bond.
fn without_bond() -> String {
    let (rest, _) = OSCILLATORS.split_once("[[bonds]]").unwrap();
    let plain = "[[connections]]\nfrom = \"left.f\"\nto = \"right.f\"\n\n[[connections]]\nfrom = \"right.v\"\nto = \"left.v2\"\n";
    rest.to_owned() + plain
}

#[test]
fn suggested_bonds_run_when_they_are_pasted() {
    let bench = Bench::new();
    bench.write("system.toml", &without_bond());
    let outcome = bench.run(["inspect", "system.toml", "--suggest-bonds"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.stdout);
    bench.write("pasted.toml", &(without_bond() + &outcome.stdout));
    bench.write("bonded.toml", OSCILLATORS);
    for (system, summary) in [("pasted.toml", "p.json"), ("bonded.toml", "b.json")] {
        let outcome = bench.run(["run", system, "--summary", summary]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    let energy = |summary: &str| bench.json(summary)["bonds"][0]["residual_energy"].clone();
    assert!(energy("p.json").is_number());
    assert_eq!(energy("p.json"), energy("b.json"));
    let outcome = bench.run(["inspect", "pasted.toml", "--suggest-bonds"]);
    assert!(
        outcome.stdout.contains("no connection suggests"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn suggested_bonds_for_programs() {
    let bench = Bench::new();
    bench.write("system.toml", &without_bond());
    let outcome = bench.run(["inspect", "system.toml", "--suggest-bonds", "--json"]);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let bond = &facts["suggested_bonds"][0];
    assert_eq!(bond["evidence"], "units");
    assert_eq!(bond["unique"], true);
    assert_eq!(bond["effort"][0]["from"], "left.f");
    assert!(bond["toml"].as_str().unwrap().starts_with("[[bonds]]"));
    let outcome = bench.run(["inspect", "system.toml", "--json"]);
    assert!(!outcome.stdout.contains("suggested_bonds"));
    let outcome = bench.run(["inspect", "fmus/OscillatorForce.fmu", "--suggest-bonds"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

/// A system without units and with names that mean nothing, whose FMU describes its ports: in a file beside it, in its archive
/// or in its description.
#[test]
fn ports_of_fmus_suggest_bonds() {
    use std::io::Write as _;
    const PORTS: &str = "<OspModelDescription><VariableGroups><Generic name='all'>\
        <LinearMechanicalPort name='end'><Force name='force'><Variable ref='q'/></Force>\
        <LinearVelocity name='velocity'><Variable ref='w'/></LinearVelocity></LinearMechanicalPort>\
        </Generic></VariableGroups></OspModelDescription>";
    let bench = Bench::new();
    // Without units, and with the names q and w.
    let bare = |text: &str, flow: &str| {
        let text = text.replace("name=\"f\"", "name=\"q\"");
        let text = text.replace(&format!("name=\"{flow}\""), "name=\"w\"");
        let values = text.split(" unit=\"").skip(1);
        let values: Vec<&str> = values.filter_map(|rest| rest.split('"').next()).collect();
        let without = |text: String, unit: &&str| text.replace(&format!(" unit=\"{unit}\""), "");
        values.iter().fold(text.clone(), without)
    };
    bench.alter_fmu("OscillatorForce", "left.fmu", |text| bare(text, "v2"));
    bench.alter_fmu("OscillatorMotion", "right.fmu", |text| bare(text, "v"));
    let annotation =
        format!("<VendorAnnotations><Tool name=\"other\">{PORTS}</Tool></VendorAnnotations>");
    bench.alter_fmu("OscillatorForce", "annotated.fmu", |text| {
        let (before, after) = text.split_once("<ModelVariables>").unwrap_or((text, ""));
        match after {
            "" => text.to_owned(),
            _ => bare(
                &format!("{before}{annotation}<ModelVariables>{after}"),
                "v2",
            ),
        }
    });
    std::fs::copy(bench.path("left.fmu"), bench.path("packed.fmu")).unwrap();
    let packed = std::fs::File::options()
        .read(true)
        .write(true)
        .open(bench.path("packed.fmu"));
    let mut archive = zip::ZipWriter::new_append(packed.unwrap()).unwrap();
    let name = "extra/OscillatorForce_OspModelDescription.xml";
    archive
        .start_file(name, zip::write::SimpleFileOptions::default())
        .unwrap();
    archive.write_all(PORTS.as_bytes()).unwrap();
    archive.finish().unwrap();
    let suggested = |fmu: &str| {
        let system = format!(
            "connections = [['left.q', 'right.q'], ['right.w', 'left.w']]\n\
             experiment = {{ stop_time = 1, step_size = 1e-3 }}\n\
             components.left.fmu = '{fmu}'\ncomponents.right.fmu = 'right.fmu'\n"
        );
        bench.write("system.toml", &system);
        let outcome = bench.run(["inspect", "system.toml", "--suggest-bonds"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        (outcome.stdout, outcome.stderr)
    };
    assert!(suggested("left.fmu").0.contains("no connection suggests"));
    let port = "# force × velocity, by a port of an FMU\n[[bonds]]\nname = \"left-right\"\n\
                effort = [{ from = \"left.q\", to = \"right.q\" }]\nflow = [{ from = \"right.w\", to = \"left.w\" }]\n";
    for fmu in ["annotated.fmu", "packed.fmu"] {
        let (found, _) = suggested(fmu);
        assert!(found.contains(port), "{fmu}: {found}");
    }
    bench.write("OscillatorForce_OspModelDescription.xml", PORTS);
    let (found, _) = suggested("left.fmu");
    assert!(found.contains(port), "{found}");
    bench.write(
        "OscillatorForce_OspModelDescription.xml",
        "<OspModelDescription>",
    );
    let (found, problems) = suggested("left.fmu");
    assert!(found.contains("no connection suggests"), "{found}");
    let words = "OscillatorForce_OspModelDescription.xml: this is not well-formed XML";
    assert!(problems.contains(words), "{problems}");
}

/// A bond whose sense was turned is a warning before the first step, and a note of the summary.
#[test]
fn a_sense_of_the_wrong_sign_is_a_warning_at_the_start() {
    let bench = Bench::new();
    let turned = OSCILLATORS.replace("[[bonds]]\n", "[[bonds]]\nsense = -1\n");
    for (system, is_warned_of) in [(OSCILLATORS.to_owned(), false), (turned, true)] {
        bench.write("system.toml", &system);
        for verb in [
            "run system.toml -e 0.1 --summary s.json",
            "learn system.toml -e 0.1 -n 1",
        ] {
            let outcome = bench.run(verb.split(' '));
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            let warning = "its sense is likely the wrong sign";
            assert_eq!(
                outcome.stderr.contains(warning),
                is_warned_of,
                "{verb}: {}",
                outcome.stderr
            );
        }
        let notes = bench.json("s.json")["notes"].to_string();
        assert_eq!(
            notes.contains("likely the wrong sign"),
            is_warned_of,
            "{notes}"
        );
    }
}

/// Inputs that nothing feeds are one line of a run, and a list for `inspect`, as are start values that
/// connections replace.
#[test]
fn inputs_without_values_and_values_without_effect_are_named() {
    let bench = Bench::new();
    let open = OSCILLATORS.replace(
        "[[connections]]\nfrom = \"right.x\"\nto = \"left.x2\"\n",
        "",
    );
    bench.write("open.toml", &open);
    let note = "nothing feeds an input: left.x2; it keeps the start value of its FMU";
    let outcome = bench.run(["run", "open.toml"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(
        outcome.stdout.matches(note).count(),
        1,
        "{}",
        outcome.stdout
    );
    let outcome = bench.run(["inspect", "open.toml"]);
    let list = "\ninputs that nothing feeds (1)\n  left.x2\n";
    assert!(outcome.stdout.contains(list), "{}", outcome.stdout);
    // A start value, an input file and a scenario are values.
    bench.write("inputs.csv", "time,left.x2\n0,1\n");
    bench.write(
        "scenario.toml",
        "[[actions]]\ntime = 1\nvariable = 'left.x2'\naction = { name = 'override', value = 1 }\n",
    );
    let with_scenario = open.replace("[experiment]", "[experiment]\nscenario = 'scenario.toml'");
    bench.write("acted.toml", &with_scenario);
    for arguments in [
        &["open.toml", "--start-value", "left.x2=1"][..],
        &["open.toml", "--input-file", "inputs.csv"],
        &["acted.toml"],
    ] {
        let outcome = bench.run([&["run"], arguments].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            !outcome.stdout.contains("nothing feeds"),
            "{}",
            outcome.stdout
        );
    }
    let set = OSCILLATORS.replace("v_start = 100.0 ", "v_start = 100.0, x2 = 1.0, v2 = 1.0 ");
    bench.write("set.toml", &set);
    let outcome = bench.run(["run", "set.toml", "--summary", "summary.json"]);
    let note = "start values of connected inputs have no effect: left.x2, left.v2";
    assert_eq!(
        outcome.stdout.matches(note).count(),
        1,
        "{}",
        outcome.stdout
    );
    let notes = bench.json("summary.json")["notes"].to_string();
    assert!(notes.contains(note), "{notes}");
    let outcome = bench.run(["inspect", "set.toml", "--json"]);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let names = serde_json::json!(["left.x2", "left.v2"]);
    assert_eq!(facts["replaced_start_values"], names);
    assert_eq!(facts["unfed_inputs"], serde_json::json!([]));
}
