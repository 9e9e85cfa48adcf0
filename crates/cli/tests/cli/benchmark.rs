//! `gyrator benchmark`.

use crate::bench::Bench;

/// Runs `gyrator benchmark` with the FMUs of the bench.
fn benchmark(bench: &Bench, arguments: &[&str]) -> crate::bench::ProgramOutcome {
    bench.run(
        ["benchmark", "--fmus", "fmus"]
            .into_iter()
            .chain(arguments.iter().copied()),
    )
}

#[test]
fn rows_as_a_table_as_json_and_as_progress() {
    let bench = Bench::new();
    let run = benchmark(
        &bench,
        &["double-oscillator", "--case", "1", "--json", "rows.json"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout
            .starts_with("double-oscillator\n  case  configuration"),
        "{}",
        run.stdout
    );
    assert!(
        run.stderr
            .contains("double-oscillator 1, stale: E_max = 10338.6 J  ok\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(" 0 failed, in "), "{}", run.stderr);
    let rows = bench.json("rows.json");
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["configuration"] == "compensated" && row["metric"] == "E_max");
    let row = row.unwrap();
    let [measured, reference] = ["measured", "reference"].map(|name| row[name].as_f64().unwrap());
    assert!((measured / reference - 1.0).abs() < 1e-6);
    assert_eq!(
        (row["unit"].as_str(), row["ok"].as_bool()),
        (Some("J"), Some(true))
    );
    assert!(
        row["source"]
            .as_str()
            .unwrap()
            .contains("Rodríguez et al. 2022, table 1")
    );
}

#[test]
fn the_list_names_cases_roles_and_ports() {
    let run = benchmark(&Bench::new(), &["--list"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    for text in [
        "double-oscillator: ",
        "crane-energy: ",
        "slow-hold",
        "OscillatorForce",
        "k_c: stiffness of the coupling spring, N/m",
    ] {
        assert!(
            run.stdout.contains(text),
            "{text} is not in\n{}",
            run.stdout
        );
    }
}

#[test]
fn a_wrong_fmu_fails_in_its_role() {
    let bench = Bench::new();
    let mistaken = "force=fmus/OscillatorForce.fmu,k=k_c,k_c=k";
    let run = benchmark(
        &bench,
        &[
            "double-oscillator",
            "--case",
            "1",
            "--with",
            mistaken,
            "--progress",
            "never",
        ],
    );
    assert_eq!(run.code, Some(6), "{}", run.stderr);
    assert!(run.stdout.contains("FAILED"), "{}", run.stdout);
    let right = "force=fmus/OscillatorForce.fmu";
    let run = benchmark(
        &bench,
        &[
            "double-oscillator",
            "--case",
            "1",
            "--with",
            right,
            "--progress",
            "never",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(run.stdout.contains("stale, H/10"), "{}", run.stdout);
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    for (arguments, code, text) in [
        (&["doble"][..], 2, "there is no benchmark `doble`"),
        (
            &["--case", "99"],
            2,
            "none of the benchmarks has a case `99`",
        ),
        (&["--with", "force"], 2, "write ROLE=vendor.fmu"),
        (
            &["--with", "nobody=a.fmu"],
            2,
            "none of the benchmarks has a role `nobody`",
        ),
        (&["--with", "force=none.fmu"], 3, "none.fmu"),
        (
            &["--with", "force=fmus/OscillatorForce.fmu,z=y"],
            2,
            "no port or parameter `z`",
        ),
        (
            &["--with", "force=fmus/OscillatorMotion.fmu"],
            3,
            "has no variable `x2`, the position of mass 2",
        ),
        (&["pendula", "--fmus", "nowhere"], 4, "cargo xtask fmus"),
    ] {
        let run = bench.run(["benchmark"].into_iter().chain(arguments.iter().copied()));
        assert_eq!(run.code, Some(code), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn figures_are_drawn() {
    let bench = Bench::new();
    let run = benchmark(
        &bench,
        &[
            "pendula",
            "--case",
            "1",
            "--plots",
            "plots",
            "--progress",
            "never",
        ],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let figure = bench.read("plots/rodriguez2022-fig33.svg");
    assert!(figure.starts_with("<svg ") && figure.ends_with("</svg>\n"));
    assert!(figure.contains("error of the energy, J") && figure.contains("compensated"));
}
