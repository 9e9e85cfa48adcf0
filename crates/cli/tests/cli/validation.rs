//! `gyrator validate`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::bench::{Bench, ProgramOutcome};

pub(crate) const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Unruly" guid="{right}">
  <CoSimulation modelIdentifier="unruly" canHandleVariableCommunicationStepSize="true" canGetAndSetFMUstate="true" canSerializeFMUstate="true"/>
  <TypeDefinitions>
    <SimpleType name="Mode">
      <Enumeration><Item name="on" value="1"/><Item name="off" value="2"/></Enumeration>
    </SimpleType>
  </TypeDefinitions>
  <DefaultExperiment stopTime="1" stepSize="0.125"/>
  <ModelVariables>
    <ScalarVariable name="y" valueReference="0" causality="output" initial="exact"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="p" valueReference="2" causality="parameter" variability="fixed"><Real start="2"/></ScalarVariable>
    <ScalarVariable name="z" valueReference="3" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="mode" valueReference="0" causality="output" variability="discrete"><Enumeration declaredType="Mode"/></ScalarVariable>
    <ScalarVariable name="text" valueReference="0" variability="discrete"><String/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="1"/><Unknown index="4"/><Unknown index="5"/></Outputs>
    <InitialUnknowns><Unknown index="4" dependencies="3"/><Unknown index="5"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>"#;

pub(crate) const PLATFORM: &str = if cfg!(target_arch = "x86_64") {
    "linux64"
} else {
    "aarch64-linux"
};

/// Builds the slave of `unruly.c` that breaks this rule.
pub(crate) fn build(bench: &Bench, breaks: u8) -> String {
    build_with(bench, breaks, "modelDescription.xml")
}

/// Builds the library of `unruly.c`, with further sources.
pub(crate) fn compile(bench: &Bench, breaks: u8, more: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/unruly.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let library = bench.path("unruly.so");
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
        .arg(&library)
        .arg(format!("-DBREAKS={breaks}"))
        .arg(&source)
        .args(more)
        .arg("-lm")
        .current_dir(bench.path("."))
        .status()
        .unwrap();
    assert!(status.success(), "the C compiler failed");
    library
}

/// The same with another name of its description in the archive.
fn build_with(bench: &Bench, breaks: u8, description: &str) -> String {
    build_of(bench, breaks, (description, DESCRIPTION))
}

/// The same with a description of this name and text.
pub(crate) fn build_of(bench: &Bench, breaks: u8, (file, text): (&str, &str)) -> String {
    let library = compile(bench, breaks, &[]);
    let name = format!("unruly{breaks}.fmu");
    let mut zip = ZipWriter::new(std::fs::File::create(bench.path(&name)).unwrap());
    let files = [
        (file.to_owned(), text.as_bytes().to_vec()),
        (
            format!("binaries/{PLATFORM}/unruly.so"),
            std::fs::read(&library).unwrap(),
        ),
    ];
    for (name, content) in files {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap();
    name
}

fn dynamic(bench: &Bench, fmu: &str) -> (ProgramOutcome, Vec<(u64, String)>) {
    let outcome = bench.run(["validate", "--dynamic", "--json", fmu]);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.stderr));
    let findings = json[0]["findings"].as_array().unwrap().iter();
    let findings = findings
        .map(|finding| {
            let message = finding["message"].as_str().unwrap().to_owned();
            (finding["rule"].as_u64().unwrap(), message)
        })
        .collect();
    (outcome, findings)
}

#[test]
fn v38_to_v50_a_well_behaved_fmu_breaks_no_rule() {
    let bench = Bench::new();
    let fmu = build(&bench, 0);
    let (outcome, findings) = dynamic(&bench, &fmu);
    assert_eq!(findings, [], "{}", outcome.stderr);
    assert_eq!(outcome.code, Some(0));
}

#[test]
fn v38_to_v50_each_misdeed_is_found_by_its_rule() {
    let bench = Bench::new();
    let words = [
        (38, "although the GUID was wrong"),
        (39, "fmi2GetVersion"),
        (40, "\"somebody\""),
        (40, "another environment"),
        (41, "mode is 7"),
        (42, "p starts with 3"),
        (43, "after going back"),
        (44, "second of two instances"),
        (45, "two runs in two processes differ: y first at t = 0.125"),
        (46, "each step uses up"),
        (47, "z changes with u"),
        (48, "SIGSEGV in fmi2SetReal"),
        (49, "stray.txt"),
        (50, "fmi2EnterInitializationMode returned Error"),
    ];
    let mut missed = Vec::new();
    for (rule, words) in words {
        let fmu = build(&bench, rule);
        let (outcome, findings) = dynamic(&bench, &fmu);
        let is_found = findings
            .iter()
            .any(|(number, message)| *number == u64::from(rule) && message.contains(words));
        if !is_found {
            missed.push(format!(
                "V-{rule} {words}: {findings:#?} {}",
                outcome.stderr
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn v38_the_guid_is_found_wherever_the_description_is() {
    let bench = Bench::new();
    for (breaks, is_found) in [(0, false), (38, true)] {
        let fmu = build_with(&bench, breaks, "./modelDescription.xml");
        let (_, findings) = dynamic(&bench, &fmu);
        let found = findings.iter().any(|(rule, _)| *rule == 38);
        assert_eq!(found, is_found, "{findings:?}");
    }
}

#[test]
fn refusals_of_instances_belong_to_the_rule_that_asks_for_them() {
    let bench = Bench::new();
    for (breaks, rule) in [(53, 44), (54, 50)] {
        let fmu = build(&bench, breaks);
        let (_, findings) = dynamic(&bench, &fmu);
        let [(found, message)] = &findings[..] else {
            panic!("{findings:?}");
        };
        assert_eq!(*found, rule, "{message}");
        assert!(message.contains("returned nothing"), "{message}");
    }
}

#[test]
fn v54_start_values_are_lost_before_or_after_setup() {
    let bench = Bench::new();
    for (breaks, expected) in [
        (
            55,
            "start values that are set before fmi2SetupExperiment are lost in it, 1 of 1, such as p; those that are \
             set after it are kept",
        ),
        (
            56,
            "p was set to 2.002 after fmi2SetupExperiment and is 2 after initialization",
        ),
    ] {
        let fmu = build(&bench, breaks);
        let (outcome, findings) = dynamic(&bench, &fmu);
        assert_eq!(findings, [(54, expected.to_owned())], "{}", outcome.stderr);
    }
}

#[test]
fn v49_control_words_that_change_are_errors() {
    let bench = Bench::new();
    let fmu = build(&bench, 49);
    let (_, findings) = dynamic(&bench, &fmu);
    let is_told = findings
        .iter()
        .any(|(rule, message)| *rule == 49 && message.contains("control words"));
    assert_eq!(is_told, cfg!(target_arch = "x86_64"), "{findings:?}");
}

#[test]
fn v50_a_crash_is_a_finding_that_names_the_call() {
    let bench = Bench::new();
    let fmu = build(&bench, 51);
    let outcome = bench.run(["validate", "--dynamic", &fmu]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let expected = "fatal   rehearsal: SIGSEGV in fmi2DoStep at t = 0.5 s";
    assert!(outcome.stdout.contains(expected), "{}", outcome.stdout);
}

#[test]
fn our_fmus_break_no_rule() {
    let bench = Bench::new();
    let fmus = std::fs::read_dir(bench.path("fmus")).unwrap();
    let mut paths: Vec<String> = fmus
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    paths.sort();
    assert!(paths.len() > 10);
    // It goes back to its default values in `fmi2SetupExperiment`, as FMUs of 20-sim do.
    let resets = |path: &String| path.ends_with("Strict.fmu");
    let (strict, others): (Vec<String>, Vec<String>) = paths.into_iter().partition(resets);
    let validate = |paths: &[String]| {
        let fixed = ["validate", "--dynamic", "--strict"];
        bench.run(fixed.into_iter().chain(paths.iter().map(String::as_str)))
    };
    let outcome = validate(&others);
    assert_eq!(
        outcome.code,
        Some(0),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    assert!(!outcome.stdout.contains("V-"), "{}", outcome.stdout);
    let outcome = validate(&strict);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert_eq!(
        outcome.stdout.matches("V-").count(),
        1,
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("V-54"), "{}", outcome.stdout);
}

#[test]
fn findings_decide_the_exit_code() {
    let bench = Bench::new();
    let description = |bench: &Bench, from: &str, to: &str| {
        assert!(DESCRIPTION.contains(from));
        bench.write("d.xml", &DESCRIPTION.replacen(from, to, 1));
    };
    let code = |arguments: &[&str]| {
        let outcome = bench.run(["validate", "d.xml"].iter().chain(arguments).copied());
        outcome.code
    };
    description(&bench, "", "");
    assert_eq!(code(&["--strict"]), Some(0));
    description(&bench, "UTF-8", "ISO-8859-1");
    assert_eq!(code(&[]), Some(0), "a warning");
    assert_eq!(code(&["--strict"]), Some(6), "a warning that counts");
    description(&bench, "causality=\"input\"", "causality=\"inptu\"");
    assert_eq!(code(&[]), Some(6), "an error");
    assert_eq!(bench.run(["validate", "missing.fmu"]).code, Some(4));
    assert_eq!(bench.run(["validate"]).code, Some(2));
}

#[test]
fn findings_are_reported_with_their_places() {
    let bench = Bench::new();
    let broken = DESCRIPTION
        .replacen(
            "<Item name=\"off\" value=\"2\"/>",
            "<Item name=\"off\" value=\"1\"/>",
            1,
        )
        .replacen("modelName=\"Unruly\"", "modelName=\"\"", 1)
        .replacen("stopTime=\"1\"", "stopTime=\"-1\"", 1);
    bench.write("d.xml", &broken);
    let outcome = bench.run(["validate", "d.xml"]);
    insta::assert_snapshot!(outcome.stdout);
}

/// An FMU with more files in its archive.
fn with_files(bench: &Bench, name: &str, files: &[(&str, &str)]) -> String {
    let built = build(bench, 0);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(bench.path(&built))
        .unwrap();
    let mut zip = ZipWriter::new_append(file).unwrap();
    for (name, content) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    zip.finish().unwrap();
    std::fs::rename(bench.path(&built), bench.path(name)).unwrap();
    name.to_owned()
}

/// Rows of time and y, the integral of u, after each of eight steps.
fn table(y: impl Fn(f64) -> f64) -> String {
    let rows = (0..=8).map(|step| f64::from(step) / 8.0);
    let rows = rows.map(|time| format!("{time},{}\n", y(time)));
    format!("\"time\",\"y\"\n{}", rows.collect::<String>())
}

#[test]
fn v51_v52_runs_are_compared_with_references() {
    let bench = Bench::new();
    let fmu = build(&bench, 0);
    bench.write("in.csv", "time,u\n0,2\n1,2\n");
    bench.write(
        "a.opt",
        "StartTime,0\nStopTime,1\nStepSize,0.125\nRelTol,1e-4\n",
    );
    let run = |arguments: &[&str]| {
        bench.run(
            ["validate", &fmu]
                .into_iter()
                .chain(arguments.iter().copied()),
        )
    };
    // Closed form: y is the integral of u = 1, or of u = 2.
    bench.write("one.csv", &table(|t| t));
    bench.write("two.csv", &table(|t| 2.0 * t));
    let options = ["--options", "a.opt"];
    assert_eq!(run(&["--reference", "one.csv"]).code, Some(0));
    let fed = ["--reference", "two.csv", "--input", "in.csv"];
    assert_eq!(run(&[&fed[..], &options[..]].concat()).code, Some(0));
    let wrong = run(&["--reference", "two.csv"]);
    assert_eq!(wrong.code, Some(6));
    assert!(
        wrong.stdout.contains("outside of the tube"),
        "{}",
        wrong.stdout
    );
    // Within the tube, out of ten times RelTol.
    bench.write("near.csv", &table(|t| 1.01 * t));
    let near = run(&["--reference", "near.csv", "--options", "a.opt"]);
    assert!(!near.stdout.contains("V-51"), "{}", near.stdout);
    assert!(near.stdout.contains("V-52"), "{}", near.stdout);
    bench.write("close.csv", &table(|t| 1.0005 * t));
    assert_eq!(
        run(&["--reference", "close.csv", "--options", "a.opt"]).code,
        Some(0)
    );
    bench.write("other.csv", &table(|t| t).replace("\"y\"", "\"why\""));
    let other = run(&["--reference", "other.csv"]);
    assert!(other.stdout.contains("no variable why"), "{}", other.stdout);
    bench.write("bad.opt", "StartTime,0\n");
    assert_eq!(
        run(&["--reference", "one.csv", "--options", "bad.opt"]).code,
        Some(3)
    );
    assert_eq!(run(&["--reference", "missing.csv"]).code, Some(3));
    assert_eq!(run(&["--input", "in.csv"]).code, Some(2));
}

#[test]
fn v51_v52_a_result_that_is_not_a_number_meets_no_reference() {
    let bench = Bench::new();
    let fmu = build(&bench, 52);
    bench.write("one.csv", &table(|t| t));
    let outcome = bench.run(["validate", &fmu, "--reference", "one.csv"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    for rule in ["V-51", "V-52"] {
        assert!(outcome.stdout.contains(rule), "{}", outcome.stdout);
    }
}

#[test]
fn v51_references_of_the_cross_check_are_found_beside_the_fmu() {
    let bench = Bench::new();
    let fmu = build(&bench, 0);
    bench.write("unruly0_ref.csv", &table(|t| 3.0 * t));
    bench.write("unruly0_in.csv", "time,u\n0,3\n1,3\n");
    assert_eq!(dynamic(&bench, &fmu).1, []);
    bench.write("unruly0_in.csv", "time,u\n0,1\n1,1\n");
    let (_, findings) = dynamic(&bench, &fmu);
    assert!(findings.iter().any(|(rule, _)| *rule == 51), "{findings:?}");
}

const MANIFEST: &str = "extra/org.fmi-standard.fmi-ls-ref/fmi-ls-manifest.xml";
const RESULTS: &str = "extra/org.fmi-standard.fmi-ls-ref/out.csv";
const REFERENCES: &str = r#"<?xml version="1.0"?>
<fmiReferences xmlns:fmi-ls="http://fmi-standard.org/fmi-ls-manifest">
  <Related type="text/csv" source="out.csv" role="result" description="default experiment"/>
</fmiReferences>"#;

#[test]
fn v51_references_in_the_fmu_are_found() {
    let bench = Bench::new();
    let good = table(|t| t);
    let fmu = with_files(
        &bench,
        "good.fmu",
        &[(MANIFEST, REFERENCES), (RESULTS, &good)],
    );
    assert_eq!(dynamic(&bench, &fmu).1, []);
    let bad = table(|t| 2.0 * t);
    let fmu = with_files(
        &bench,
        "bad.fmu",
        &[(MANIFEST, REFERENCES), (RESULTS, &bad)],
    );
    let (_, findings) = dynamic(&bench, &fmu);
    assert!(findings.iter().any(|(rule, _)| *rule == 51), "{findings:?}");
}

#[test]
fn v53_manifests_name_what_is_there() {
    let bench = Bench::new();
    let fmu = with_files(&bench, "missing.fmu", &[(MANIFEST, REFERENCES)]);
    let outcome = bench.run(["validate", &fmu]);
    assert!(
        outcome.stdout.contains("out.csv is not there"),
        "{}",
        outcome.stdout
    );
    let unknown = REFERENCES.replace("\"result\"", "\"resutl\"");
    let fmu = with_files(&bench, "role.fmu", &[(MANIFEST, &unknown), (RESULTS, "")]);
    let outcome = bench.run(["validate", &fmu]);
    assert!(
        outcome.stdout.contains("no role \"resutl\""),
        "{}",
        outcome.stdout
    );
    let fmu = with_files(&bench, "broken.fmu", &[(MANIFEST, "<a>")]);
    let outcome = bench.run(["validate", &fmu]);
    assert!(
        outcome.stdout.contains("cannot be read"),
        "{}",
        outcome.stdout
    );
    let fmu = with_files(
        &bench,
        "table.fmu",
        &[(MANIFEST, REFERENCES), (RESULTS, "x\n")],
    );
    let (_, findings) = dynamic(&bench, &fmu);
    assert!(findings.iter().any(|(rule, _)| *rule == 53), "{findings:?}");
}

#[test]
fn an_fmu_can_be_held_against_a_benchmark() {
    let bench = Bench::new();
    let force = "fmus/OscillatorForce.fmu";
    let wrong = bench.run(["validate", "--against", "double-oscillator", force]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let wrong = bench.run(["validate", "--against", "double-oscillator:nobody", force]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let motion = "fmus/OscillatorMotion.fmu";
    let wrong = bench.run(["validate", "--against", "double-oscillator:force", motion]);
    assert_eq!(wrong.code, Some(3), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("has no variable"), "{}", wrong.stderr);
}

#[test]
fn results_are_compared() {
    let bench = Bench::new();
    bench.write("a.csv", "time,x,y\n0,1,2\n1,2,3\n");
    bench.write("b.csv", "time,x,y\n0,1,2\n1,2.001,3\n");
    assert_eq!(bench.run(["compare", "a.csv", "a.csv"]).code, Some(0));
    let outcome = bench.run(["compare", "a.csv", "b.csv"]);
    assert_eq!(outcome.code, Some(6));
    insta::assert_snapshot!(outcome.stdout);
    let loose = ["--relative-tolerance", "1e-3"];
    let outcome = bench.run(["compare", "a.csv", "b.csv"].into_iter().chain(loose));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stdout);
    let outcome = bench.run(["compare", "--json", "a.csv", "b.csv"]);
    let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(json["within_tolerance"], false);
    assert_eq!(json["columns"][0]["first_out_of_tolerance"], 1.0);
    assert_eq!(bench.run(["compare", "a.csv", "c.csv"]).code, Some(3));
    bench.write(
        "foreign.csv",
        &bench.read("a.csv").replacen("x", "motor.x", 1),
    );
    let names = ["compare", "a.csv", "foreign.csv", "--rename"];
    for (rename, code, text) in [
        ("motor.x=x", 0, ""),
        ("x=motor.x", 2, "did you mean `--rename motor.x=x`?"),
        ("motor.y=x", 2, "did you mean `motor.x`?"),
    ] {
        let outcome = bench.run(names.into_iter().chain([rename]));
        assert_eq!(outcome.code, Some(code), "{rename}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(text),
            "{rename}: {}",
            outcome.stderr
        );
    }
    let negative = bench.run(["compare", "a.csv", "b.csv", "--absolute-tolerance=-1"]);
    assert_eq!(negative.code, Some(2));
}
