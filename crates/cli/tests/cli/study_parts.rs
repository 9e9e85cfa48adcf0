//! Parts of a study: how far they have come, and who goes on with them.

use serde_json::Value;

use crate::bench::{Bench, OSCILLATORS, lines, wait_until};

/// Six cases with two variants, in the folder `parts`.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", &OSCILLATORS.replace("= 10.0", "= 0.5"));
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"left.m\" = [1, 2, 3, 4, 5, 6] }\n[variants]\na = {}\n\
         b = { \"experiment.exchange\" = \"fresh\" }\n[metrics]\nfinal = \"left.x\"\n",
    );
    std::fs::create_dir(bench.path("parts")).unwrap();
    bench
}

fn make(bench: &Bench, shard: &str, table: &str) {
    let outcome = bench.run(["study", "study.toml", "--shard", shard, "-o", table, "-q"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

fn status(bench: &Bench, path: &str) -> Value {
    let outcome = bench.run(["study", "status", path, "--json"]);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn status_says_how_far_the_parts_have_come() {
    let bench = bench();
    make(&bench, "1/4", "parts/part-1.csv");
    make(&bench, "3/4", "parts/part-3.csv");
    // As a process leaves it that was killed within its second row.
    let journal = bench.read("parts/part-1.csv.journal");
    let kept: Vec<&str> = journal.lines().take(3).collect();
    bench.write("parts/part-1.csv.journal", &(kept.join("\n") + "\n4,"));

    let status = status(&bench, "parts");
    let study = &status["studies"][0];
    assert_eq!(study["study"], "study.toml");
    assert_eq!(
        (&study["rows"], &study["finished"]),
        (&12.into(), &3.into())
    );
    let fields = |part: &Value| {
        let numbers = ["rows", "finished"].map(|name| part[name].as_u64().unwrap());
        let words = ["part", "state"].map(|name| part[name].as_str().unwrap().to_owned());
        (words, numbers)
    };
    let parts: Vec<_> = study["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(fields)
        .collect();
    let expected =
        |part: &str, state: &str, numbers| ([part.to_owned(), state.to_owned()], numbers);
    assert_eq!(parts[0], expected("1/4", "stopped", [4, 1]));
    assert_eq!(parts[1], expected("3/4", "finished", [2, 2]));
    assert_eq!(study["not_begun"], serde_json::json!(["2/4", "4/4"]));
    assert_eq!(study["time_left"], Value::Null);

    let text = bench.run(["study", "status", "parts"]).stdout;
    assert!(text.starts_with("study.toml: 3 of 12 rows\n"), "{text}");
    assert!(text.contains("1/4   stopped    1/4"), "{text}");
    assert!(text.contains("not begun: 2/4, 4/4\n"), "{text}");

    // The same commands make the missing rows, and a folder is merged as its parts are.
    for part in 1..=4 {
        make(
            &bench,
            &format!("{part}/4"),
            &format!("parts/part-{part}.csv"),
        );
    }
    make(&bench, "1/1", "whole.csv");
    let merged = bench.run(["study", "merge", "parts", "-o", "merged.csv"]);
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    assert!(
        merged.stdout.ends_with("12 rows of 4 parts\n"),
        "{}",
        merged.stdout
    );
    assert_eq!(bench.read("merged.csv"), bench.read("whole.csv"));
}

#[test]
fn status_names_damaged_and_foreign_files() {
    let bench = bench();
    let empty = bench.run(["study", "status", "parts"]);
    assert_eq!(empty.code, Some(3));
    assert!(
        empty.stderr.contains("has no journal of a study"),
        "{}",
        empty.stderr
    );

    make(&bench, "1/2", "parts/part-1.csv");
    make(&bench, "2/2", "parts/part-2.csv");
    bench.write("parts/diary.journal", "Dear diary");
    bench.write("parts/new.journal", "");
    let damaged = bench
        .read("parts/part-2.csv.journal")
        .replacen(",stop-time,", ",stop-tame,", 1);
    bench.write("parts/part-2.csv.journal", &damaged);
    let other = bench.read("study.toml").replace("4, 5, 6]", "4, 5, 7]");
    bench.write("other.toml", &other);
    let outcome = bench.run(["study", "other.toml", "-q", "-o", "parts/other.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);

    let outcome = bench.run(["study", "status", "parts"]);
    assert_eq!(outcome.code, Some(3));
    let message: String = outcome
        .stderr
        .split(['\n', '│', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    assert!(
        message.contains("diary.journal:1:thisisnotalineofajournal"),
        "{message}"
    );
    assert!(
        message.contains("part-2.csv.journal:3:thisisnotaline"),
        "{message}"
    );
    // The others are shown anyway, each study by itself.
    assert!(
        outcome.stdout.contains("study.toml: 6 of 12 rows"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("other.toml: 12 of 12 rows"),
        "{}",
        outcome.stdout
    );
    let figures = status(&bench, "parts");
    assert_eq!(figures["problems"].as_array().unwrap().len(), 2);

    // A file that is not a journal is not written to.
    let refused = bench.run(["study", "study.toml", "-o", "parts/diary", "-q"]);
    assert_ne!(refused.code, Some(0));
    std::fs::rename(
        bench.path("parts/diary.journal"),
        bench.path("t.csv.journal"),
    )
    .unwrap();
    let refused = bench.run(["study", "study.toml", "-o", "t.csv", "-q"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(bench.read("t.csv.journal"), "Dear diary");
}

/// The second process is refused while the first one runs, and goes on where it was killed.
#[cfg(target_os = "linux")]
#[test]
fn the_journal_of_a_dead_process_is_taken_over_and_that_of_a_live_one_is_not() {
    let bench = bench();
    // One run that lasts after four quick ones.
    let long = bench
        .read("study.toml")
        .replace("[1, 2, 3, 4, 5, 6]", "[1, 2]");
    let long = long + "[[vary]]\ngrid = { \"experiment.stop_time\" = [0.1, 1e6] }\n";
    let (first, last) = long.split_once("[variants]").unwrap();
    let (variants, vary) = last.split_once("[[vary]]").unwrap();
    bench.write(
        "long.toml",
        &format!("{first}[[vary]]{vary}[variants]{variants}"),
    );
    let arguments = [
        "study",
        "long.toml",
        "-o",
        "parts/part-1.csv",
        "--worker-threads",
        "1",
    ];
    let mut child = bench.start(arguments);
    let journal = bench.path("parts/part-1.csv.journal");
    wait_until("the quick runs are finished", || lines(&journal) >= 4);

    let running = status(&bench, "parts");
    let part = &running["studies"][0]["parts"][0];
    assert_eq!(part["state"], "running");
    assert_eq!(part["process"], child.id());
    assert!(part["time_left"].as_f64().unwrap() > 0.0);

    let refused = bench.run(arguments);
    assert_eq!(refused.code, Some(3));
    let message: String = refused
        .stderr
        .split(['\n', '│', ' '])
        .filter(|word| !word.is_empty())
        .collect();
    let process = format!("(process{}on", child.id());
    assert!(message.contains(&process), "{message}");

    child.kill().unwrap();
    child.wait().unwrap();
    let before = bench.read("parts/part-1.csv.journal");
    wait_until("its worker has left", || {
        status(&bench, "parts")["studies"][0]["parts"][0]["state"] == "stopped"
    });
    let mut heir = bench.start(arguments);
    wait_until("another process goes on", || {
        lines(&journal) > before.lines().count()
    });
    heir.kill().unwrap();
    heir.wait().unwrap();
    let after = bench.read("parts/part-1.csv.journal");
    assert!(after.starts_with(&before), "no row is lost");
    let process = format!("\"process\":{}", heir.id());
    assert!(after[before.len()..].contains(&process), "{after}");
}
