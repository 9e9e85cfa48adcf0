//! Tables of other programs as inputs, as results to compare and to draw, and as blocks.

use crate::bench::{Bench, ProgramOutcome};

const INPUTS: &str =
    "time,real_in,integer_in,boolean_in,string_in,colour_in\n0,0,1,0,\"a\",1\n1,1,2,1,\"b\",3\n";

fn feed(bench: &Bench, table: &str, more: &[&str]) -> ProgramOutcome {
    bench.write("in.csv", table);
    let simulate = "simulate fmus/AllTypes.fmu -e 2 --step-size 0.5 -o out.csv --input-file in.csv";
    let outputs = ["--output-variable", "*_out"];
    let arguments = simulate
        .split(' ')
        .chain(outputs)
        .chain(more.iter().copied());
    bench.run(arguments)
}

/// Reals on the straight line, the others from the last row: integers, texts and items of an enumeration.
#[test]
fn inputs_come_from_tables_of_any_usual_form() {
    let bench = Bench::new();
    let outcome = feed(&bench, INPUTS, &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let expected = bench.read("out.csv");
    assert!(
        expected.contains("\n1.0,0.5,0.1,1,0,\"a\",1,"),
        "{expected}"
    );
    assert!(
        expected.contains("\n1.5,1.0,0.1,2,1,\"b\",3,"),
        "{expected}"
    );
    for (table, more) in [
        (
            "real_in [m];colour_in;Time [ms];boolean_in [-];string_in;integer_in;\r\n\
             0,0;red;0;false;a;1;\r\n1,0;blue;1000;TRUE;b;2;\r\n",
            &[][..],
        ),
        (
            "T, real_in, integer_in, boolean_in, \"string_in\", \"colour_in\"\n\
             0, 0.0, 1, 0, \"a\", \"red\"\n1, 1.0, 2, 1, \"b\" , \"blue\"\n",
            &[],
        ),
        (
            "real_in\tclock [min]\tinteger_in\tboolean_in\tstring_in\tcolour_in\n\
             0\t0\t1\t0\ta\t1\n1\t0,016666666666666666\t2\t1\tb\t3\n",
            &["--time-column", "clock"],
        ),
    ] {
        bench.write("out.csv", "");
        let outcome = feed(&bench, table, more);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(bench.read("out.csv"), expected, "{table}");
    }
    // An input that is held keeps the value of its row.
    for name in ["real_in", "real_in [m]"] {
        let table = INPUTS.replacen("real_in", "real_in [m]", 1);
        let outcome = feed(&bench, &table, &["--hold", name]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let held = expected.replacen("\n1.0,0.5,", "\n1.0,0.0,", 1);
        assert_eq!(bench.read("out.csv"), held);
    }
}

#[test]
fn tables_that_do_not_say_what_is_meant_are_refused() {
    let bench = Bench::new();
    let mut shown = String::new();
    for (table, more, code) in [
        ("Motor.V,Motor.enable\n0,1\n3,0\n", &[][..], 3),
        ("T [K],real_in\n0,1\n", &[], 3),
        ("Time,TIME,real_in\n0,0,1\n", &[], 3),
        ("time,colour_in\n0,red\n1,yellow\n", &[], 3),
        ("time;real_in\n0;1.5\n1;1,234\n", &[], 3),
        ("time,real_in\n0,1\n", &["--time-column", "hour"], 3),
        ("time,real_in\n0,1\n", &["--hold", "real_inn"], 2),
    ] {
        let outcome = feed(&bench, table, more);
        assert_eq!(outcome.code, Some(code), "{table}");
        shown.push_str(&outcome.stderr);
    }
    let outcome = bench.run(["simulate", "fmus/AllTypes.fmu", "--hold", "real_in"]);
    assert_eq!(outcome.code, Some(2));
    insta::assert_snapshot!(shown);
}

#[test]
fn a_unit_in_a_heading_is_that_of_the_input() {
    let bench = Bench::new();
    bench.alter_fmu("AllTypes", "units.fmu", |text| {
        let Some(at) = text.find("name=\"real_in\"") else {
            return text.to_owned();
        };
        let real = at + text[at..].find("<Real").unwrap() + "<Real".len();
        let text = format!("{} unit=\"N.m\"{}", &text[..real], &text[real..]);
        let unit = "<UnitDefinitions><Unit name=\"N.m\"/></UnitDefinitions>";
        text.replacen("<TypeDefinitions>", &format!("{unit}<TypeDefinitions>"), 1)
    });
    let feed = |heading: &str| {
        bench.write("in.csv", &format!("time,{heading}\n0,1\n"));
        bench.run("simulate units.fmu -e 1 --step-size 0.5 --input-file in.csv".split(' '))
    };
    for heading in ["real_in", "real_in [N.m]", "real_in[Nm]", "real_in [-]"] {
        let outcome = feed(heading);
        assert_eq!(outcome.code, Some(0), "{heading}: {}", outcome.stderr);
    }
    let outcome = feed("real_in [kN.m]");
    assert_eq!(outcome.code, Some(3));
    let expected =
        "in.csv: column real_in: the values are in kN.m, the input is in N.m; write them in N.m";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn results_of_other_programs_are_compared_drawn_and_converted() {
    let bench = Bench::new();
    bench.write("own.csv", "time,a.x,a.v\n0.0,1.0,0.0\n0.5,1.5,1.0\n");
    bench.write(
        "other.csv",
        "clock [ms];a.v [m/s];a.x [m];\n0;0,0;1,0;\n500;1,0;1,5;\n",
    );
    bench.write("third.csv", "t [s],a.x [ell],a.v\n0,1,0\n0.5,1.5,1\n");
    let run = |arguments: &str| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
        outcome
    };
    run("compare own.csv other.csv --time-column clock");
    run("compare other.csv own.csv --time-column clock");
    let warned = run("compare third.csv other.csv --time-column clock").stderr;
    assert!(
        warned.contains("the numbers are compared as they are: `a.x` (ell, m)"),
        "{warned}"
    );
    run("plot own.csv --with other.csv --time-column clock -o out.svg");
    assert!(!bench.read("out.svg").contains("lacks"));
    bench.run([
        "plot",
        "other.csv",
        "a.x [m]",
        "--time-column",
        "clock",
        "-o",
        "out.svg",
    ]);
    assert!(bench.read("out.svg").contains(">m<"));
    run("convert other.csv --time-column clock -o converted.csv");
    assert_eq!(
        bench.read("converted.csv"),
        "time,a.v,a.x\n0.0,0.0,1.0\n0.5,1.0,1.5\n"
    );
    run("convert other.csv --time-column clock -o converted.parquet");
    run("compare own.csv converted.parquet");
    let outcome = bench.run(["compare", "own.csv", "third.csv", "--time-column", "clock"]);
    assert_eq!(outcome.code, Some(3));
    assert!(
        outcome
            .stderr
            .contains("own.csv:1: there is no column `clock`; the columns are `time`, `a.x`"),
        "{}",
        outcome.stderr
    );
}

/// A table that is 0 or 1 at any time feeds a Boolean: held, jumping, and by the words of Booleans.
#[test]
fn a_block_of_a_table_feeds_a_boolean() {
    let bench = Bench::new();
    let run = |csv: &str, more: &str| {
        bench.write("on.csv", csv);
        let block = format!("{{ name = \"table\", file = \"on.csv\"{more} }}");
        bench.write(
            "system.toml",
            &format!(
                "[experiment]\nstop_time = 2.0\nstep_size = 0.5\n[components]\ns = {{ block = {block} }}\n\
                 t = {{ fmu = \"fmus/AllTypes.fmu\" }}\n[[connections]]\nfrom = \"s.on\"\nto = \"t.boolean_in\"\n"
            ),
        );
        let outputs = ["--output-variable", "t.boolean_out"];
        bench.run(
            ["run", "system.toml", "-o", "out.csv"]
                .into_iter()
                .chain(outputs),
        )
    };
    let held = "time,on\n0,1\n1,0\n";
    for (csv, more) in [
        (held, ", interpolation = \"hold\""),
        ("time;on\n0;true\n1,0;FALSE\n", ", interpolation = \"hold\""),
        (
            "clock,on\n0,1\n1,1\n1,0\n2,0\n",
            ", time_column = \"clock\"",
        ),
    ] {
        let outcome = run(csv, more);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let (_, rows) = bench.rows("out.csv");
        // The output repeats the input of the step that ends.
        let on: Vec<f64> = rows.iter().map(|row| row[1]).collect();
        assert_eq!(on[1..], [1.0, 1.0, 0.0, 0.0], "{csv}");
    }
    // Between its rows it would be neither.
    let outcome = run(held, "");
    assert_eq!(outcome.code, Some(3));
    assert!(
        outcome.stderr.contains("connects Real to Boolean"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("`interpolation = \"hold\"`"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        run("time,on\n0,1\n1,2\n", ", interpolation = \"hold\"").code,
        Some(3)
    );
}

/// Columns of this program keep their names: the time, error bars, and what is recorded of a step control.
#[test]
fn no_two_columns_have_one_name() {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorMotion", "clash.fmu", |text| {
        let text = text.replace("name=\"x\"", "name=\"time\"");
        text.replace("name=\"v\"", "name=\"error.time\"")
    });
    bench.alter_fmu("OscillatorMotion", "bars.fmu", |text| {
        text.replace("name=\"v\"", "name=\"error.x\"")
    });
    let run = |arguments: &str, code| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(code), "{arguments}: {}", outcome.stderr);
        outcome
    };
    let header = |name: &str| bench.rows(name).0.join(",");
    let simulate = "simulate clash.fmu -e 0.1 --step-size 0.01";
    let outcome = run(&format!("{simulate} -o out.csv --summary out.json"), 0);
    let note = "the columns `clash.time` and `clash.error.time` are recorded with the name of the component";
    assert!(
        outcome.stderr.contains(note) || outcome.stdout.contains(note),
        "{}",
        outcome.stderr
    );
    assert!(bench.read("out.json").contains(note));
    assert_eq!(header("out.csv"), "time,clash.time,clash.error.time");
    run("compare out.csv out.csv", 0);
    run("plot out.csv clash.time -o out.svg", 0);
    run("report out.csv -o out.html", 0);
    for name in ["time", "clash.time"] {
        run(
            &format!("{simulate} -o one.csv --output-variable {name}"),
            0,
        );
        assert_eq!(header("one.csv"), "time,clash.time");
    }
    run(&format!("{simulate} -o out.parquet"), 0);
    run("compare out.csv out.parquet", 0);
    let bars = "simulate bars.fmu -e 0.1 --step-size 0.01 --error-bars -o bars.csv";
    run(bars, 0);
    assert_eq!(
        header("bars.csv"),
        "time,x,bars.error.x,error.x,error.bars.error.x"
    );
    run("compare bars.csv bars.csv", 0);
}

/// Components and variables with the names of error bars and bonds give way, in all forms.
#[test]
fn no_two_columns_of_a_system_have_one_name() {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorMotion", "clash.fmu", |text| {
        let text = text.replace("name=\"x\"", "name=\"right.x\"");
        text.replace("name=\"v\"", "name=\"power.residual_power\"")
    });
    bench.write(
        "system.toml",
        "[experiment]\nstop_time = 0.1\nstep_size = 0.01\n\
         [components.left]\nfmu = \"fmus/OscillatorForce.fmu\"\n\
         [components.right]\nfmu = \"fmus/OscillatorMotion.fmu\"\n\
         [components.error]\nfmu = \"clash.fmu\"\n[components.bond]\nfmu = \"clash.fmu\"\n\
         [[connections]]\nfrom = \"right.x\"\nto = \"left.x2\"\n\
         [[bonds]]\nname = \"power\"\neffort = { from = \"left.f\", to = \"right.f\" }\n\
         flow = { from = \"right.v\", to = \"left.v2\" }\n",
    );
    for name in ["out.csv", "out.parquet", "out.arrow"] {
        let run = ["run", "system.toml", "--error-bars", "-o", name];
        let outcome = bench.run(run);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let note = "the columns `variable.bond.power.residual_power` and `variable.error.right.x` are recorded";
        let all = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(all.contains(note), "{all}");
        let convert = ["convert", name, "-o", "again.csv"];
        assert_eq!(bench.run(convert).code, Some(0), "{name}");
        let names = bench.rows("again.csv").0;
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        for own in ["error.right.x", "bond.power.residual_power", "right.x"] {
            assert!(names.iter().any(|name| name == own), "{names:?}");
        }
        let outcome = bench.run(["plot", name, "-o", "picture.svg"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
}

/// A name that ends in brackets is the same after each change of form.
#[test]
fn names_in_brackets_survive() {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorMotion", "odd.fmu", |text| {
        let text = text.replace("name=\"x\"", "name=\"x [m]\"");
        text.replace("name=\"v\"", "name=\"x[mm]\"")
    });
    let simulate = "simulate odd.fmu -e 0.1 --step-size 0.01 -o out.csv";
    assert_eq!(bench.run(simulate.split(' ')).code, Some(0));
    for line in [
        "convert out.csv -o out.parquet",
        "convert out.parquet -o out.arrow",
        "convert out.arrow -o again.csv",
        "compare out.csv again.csv",
        "compare out.csv out.parquet",
    ] {
        let outcome = bench.run(line.split(' '));
        assert_eq!(outcome.code, Some(0), "{line}: {}", outcome.stderr);
    }
    assert_eq!(bench.read("again.csv"), bench.read("out.csv"));
    assert!(
        bench
            .read("out.csv")
            .starts_with("time,\"x [m]\",\"x[mm]\"\n")
    );
}

/// Each row is checked, whether it is one of the run or not.
#[test]
fn each_cell_of_an_enumeration_is_an_item() {
    let bench = Bench::new();
    for (table, part) in [
        (
            "time,colour_in\n0,1\n1,2\n9,7\n",
            "in.csv:4:3: column colour_in: the input cannot be 7; it is one of 1 (red), 2 (green), 3 (blue)",
        ),
        (
            "time,colour_in,real_in\n0,\"red\",1\n1,\"7\",2\n",
            "in.csv:3:3: column colour_in: the input cannot be 7; it is one of 1 (red)",
        ),
        (
            "time,colour_in\n0,red\n1,Blue\n",
            "in.csv:3:3: column colour_in: the input cannot be `Blue`; it is one of red, green, blue",
        ),
    ] {
        let outcome = feed(&bench, table, &[]);
        assert_eq!(outcome.code, Some(3), "{table}");
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    // Numbers in quotes are numbers for an input that is one, texts for one of texts.
    let table =
        "time,real_in,boolean_in,string_in\n0,\"0.5\",\"true\",\"007\"\n1,\"1\",\"0\",\"7\"\n";
    let outcome = feed(&bench, table, &[]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let result = bench.read("out.csv");
    assert!(
        result.contains("\"007\"") && result.contains("\"7\""),
        "{result}"
    );
    bench.run("convert out.csv -o out.parquet".split(' '));
    let compared = bench.run("compare out.csv out.parquet".split(' '));
    assert_eq!(compared.code, Some(0), "{}", compared.stderr);
    bench.write("other.csv", &result.replace("\"007\"", "\"07\""));
    let compared = bench.run("compare out.csv other.csv".split(' '));
    assert_ne!(compared.code, Some(0), "{}", compared.stdout);
}

/// The error is the only message: crates that read files may panic before it.
#[test]
fn a_damaged_file_gives_an_error_alone() {
    let bench = Bench::new();
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (seed, place, byte, name) in [
        ("arrow_result/plain.feather", 1385, 0xff, "out.arrow"),
        (
            "arrow_result/lz4-of-pandas.feather",
            1401,
            0x80,
            "out.feather",
        ),
        ("parquet_result/groups.parquet", 1247, 0, "out.parquet"),
    ] {
        let mut bytes = std::fs::read(seeds.join(seed)).unwrap();
        bytes[place] = byte;
        std::fs::write(bench.path(name), bytes).unwrap();
        for verb in ["compare", "convert"] {
            let further: &[&str] = match verb {
                "compare" => &[name],
                _ => &["-o", "never.csv"],
            };
            let outcome = bench.run([verb, name].iter().chain(further).copied());
            assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
            assert!(
                outcome.stderr.contains("the file is damaged"),
                "{}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn a_message_about_a_long_line_is_short() {
    let bench = Bench::new();
    let long = "x".repeat(2_000_000);
    let times = "[experiment]\nstop_time = 1.0\nstep_size = 0.1\n";
    for (name, text) in [
        ("value.toml", format!("{times}unknown = \"{long}\"\n")),
        ("key.toml", format!("{times}{long} = 1\n")),
        (
            "path.toml",
            format!("{times}[components.a]\nfmu = \"{long}\"\n"),
        ),
        ("word.toml", format!("{times}method = \"{long}\"\n")),
        ("cell.csv", format!("time,x\n0,1\n1,{long}\n")),
        ("names.csv", format!("time,{long},{long}\n0,1,2\n")),
    ] {
        bench.write(name, &text);
        let verb = if name.ends_with("csv") { "plot" } else { "run" };
        let outcome = bench.run([verb, name]);
        assert_eq!(
            outcome.code.map(|code| code == 3 || code == 4),
            Some(true),
            "{name}"
        );
        let length = outcome.stderr.len();
        assert!((50..40_000).contains(&length), "{name}: {length}");
    }
}
