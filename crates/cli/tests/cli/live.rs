//! `run --live`: the page of a run, its commands, and what stays of them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::bench::{Bench, OSCILLATORS};
use crate::faults::FAULTY;

/// A program with a live page.
struct Followed {
    program: Child,
    /// Address and port.
    host: String,
    /// `/` and the secret.
    path: String,
    messages: BufReader<std::process::ChildStderr>,
}

impl Followed {
    fn start(bench: &Bench, arguments: &str) -> Self {
        let mut program = bench
            .command(arguments.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut messages = BufReader::new(program.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        let url = line.strip_prefix("live page: http://").expect(&line);
        let (host, secret) = url
            .trim_end()
            .trim_end_matches('/')
            .split_once('/')
            .unwrap();
        Self {
            program,
            host: host.to_owned(),
            path: format!("/{secret}"),
            messages,
        }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> TcpStream {
        self.try_ask(method, path, body).unwrap()
    }

    fn try_ask(&self, method: &str, path: &str, body: &str) -> std::io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.host)?;
        write!(
            stream,
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        )?;
        Ok(stream)
    }

    /// The status of the answer to a command.
    fn command(&self, command: &Value) -> String {
        let mut answer = String::new();
        let mut stream = self.ask("POST", "/commands", &command.to_string());
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    }

    /// Commands the run as soon as there is one.
    fn command_run(&self, command: &Value) {
        while self.command(command) != "204" {
            std::thread::yield_now();
        }
    }

    fn events(&self) -> Events {
        Events(BufReader::new(self.ask("GET", "/events", "")))
    }

    /// The exit code and the messages.
    fn end(mut self) -> (Option<i32>, String) {
        let mut messages = String::new();
        self.messages.read_to_string(&mut messages).unwrap();
        (self.program.wait().unwrap().code(), messages)
    }
}

struct Events(BufReader<TcpStream>);

impl Events {
    /// The next event that is this one.
    fn wait_for(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            let count = self.0.read_line(&mut line).unwrap();
            assert!(count > 0, "the page has ended without {what}");
            let Some(event) = line.strip_prefix("data: ") else {
                continue;
            };
            let event: Value = serde_json::from_str(event).unwrap();
            if is_it(&event) {
                return event;
            }
        }
    }
}

fn stop(page: &Followed) {
    assert_eq!(page.command(&json!({ "command": "stop" })), "204");
}

/// An override acts, is in the summary, and a scenario of the summary makes the same rows again.
#[test]
fn a_run_that_was_commanded_can_be_repeated() {
    for way in ["", " --no-supervisor", " --isolate"] {
        let bench = Bench::new();
        bench.write("system.toml", OSCILLATORS);
        let run = "run system.toml --exchange compensated --correction nepce -o";
        // A thousand seconds for each simulated one: commands come in time.
        let page = Followed::start(
            &bench,
            &format!("{run} out.csv --summary s.json --live --real-time=0.01{way}"),
        );
        page.command_run(&json!({ "command": "pause" }));
        let mut events = page.events();
        let begin = events.wait_for("its begin", |event| event["kind"] == "begin");
        assert!(begin["writable"].to_string().contains("left.v2"), "{begin}");
        let is_paused = |event: &Value| event["is_paused"] == true;
        events.wait_for("a pause", is_paused);
        let command = json!({ "command": "override", "variable": "left.v3", "value": 1 });
        page.command_run(&command);
        let answer = events.wait_for("an answer", |event| event["kind"] == "answer");
        assert_eq!(answer["is_error"], true);
        let text = answer["text"].as_str().unwrap();
        assert!(text.contains("did you mean `left.v2`?"), "{text}");
        for value in [json!(2.5), json!(-1e-3)] {
            let command = json!({ "command": "override", "variable": "left.v2", "value": value });
            page.command_run(&command);
            let answer = events.wait_for("an answer", |event| event["kind"] == "answer");
            assert_eq!(answer["is_error"], false, "{answer}");
            page.command_run(&json!({ "command": "resume" }));
            let acted = |event: &Value| {
                event["is_paused"] == false && event["report"]["actions"][0] != Value::Null
            };
            events.wait_for("an action", acted);
            page.command_run(&json!({ "command": "pause" }));
            events.wait_for("a pause", is_paused);
        }
        page.command_run(&json!({ "command": "release", "variable": "left.v2" }));
        page.command_run(&json!({ "command": "resume" }));
        let released = |event: &Value| {
            event["report"]["actions"]
                .to_string()
                .matches("reset")
                .count()
                == 2
        };
        events.wait_for("a release", released);
        stop(&page);
        let end = events.wait_for("its end", |event| event["kind"] == "end");
        assert_eq!(end["text"], "the run was stopped");
        assert_eq!(end["summary"]["stop_reason"], "interrupted");
        let (code, messages) = page.end();
        assert_eq!(code, Some(130), "{messages}");

        let summary = bench.json("s.json");
        let mut scenario = String::new();
        for action in summary["actions"].as_array().unwrap() {
            if action["event"] == "begin" {
                let (time, word) = (&action["time"], action["action"].as_str().unwrap());
                let parameters = action["parameters"].as_object().unwrap().iter();
                let parameters: String = parameters
                    .map(|(name, value)| format!(", {name} = {value}"))
                    .collect();
                scenario.push_str(&format!(
                    "[[actions]]\ntime = {time}\nvariable = {}\naction = {{ name = \"{word}\"{parameters} }}\n",
                    action["variable"]
                ));
            }
        }
        bench.write("again.toml", &scenario);
        let again = format!(
            "{run} again.csv --scenario again.toml -e {}",
            summary["stop_time"]
        );
        let outcome = bench.run(again.split(' '));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(bench.read("out.csv"), bench.read("again.csv"), "{scenario}");
        let is_overridden = |row: &&Vec<f64>| row[1..].contains(&2.5);
        let rows = bench.rows("out.csv").1;
        assert!(
            rows.iter().filter(is_overridden).count() == 0,
            "outputs stay those of their units"
        );
    }
}

/// The page changes nothing, and shows the end of a run that nothing disturbs.
#[test]
fn results_are_the_same() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = "run system.toml -e 0.5 -o";
    let plain = bench.run(format!("{run} plain.csv").split(' '));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    for way in ["", " --no-supervisor", " --output-variable left.*"] {
        let page = Followed::start(&bench, &format!("{run} live.csv --live{way}"));
        let (code, messages) = page.end();
        assert_eq!((code, &*messages), (Some(0), ""));
        if !way.contains("variable") {
            assert_eq!(bench.read("plain.csv"), bench.read("live.csv"));
        }
    }
    let fmu = "simulate fmus/OscillatorForce.fmu -e 0.1 --step-size 0.001 --live";
    assert_eq!(Followed::start(&bench, fmu).end().0, Some(0));
}

/// When the run has ended, the page has the signals of the report, and the graph of the system.
#[test]
fn the_last_picture_is_that_of_the_report() {
    for way in ["", " --no-supervisor"] {
        let bench = Bench::new();
        bench.write("system.toml", OSCILLATORS);
        let run = "run system.toml -e 0.2 --report out.html --live --real-time";
        let page = Followed::start(&bench, &format!("{run}{way}"));
        let mut events = page.events();
        let begin = events.wait_for("its begin", |event| event["kind"] == "begin");
        assert!(
            begin["graph"].as_str().unwrap().starts_with("<svg"),
            "{begin}"
        );
        let is_last = |event: &Value| {
            let verdict = &event["sections"]["run"];
            event["kind"] == "update" && verdict.to_string().contains("stop-time")
        };
        let last = events.wait_for("its last picture", is_last);
        assert_eq!(page.end().0, Some(0));
        let report = bench.read("out.html");
        let (_, rest) = report.split_once("id=\"drawing\">").unwrap();
        let drawing = rest.split_once("</script>").unwrap().0;
        let drawing: Value = serde_json::from_str(drawing).unwrap();
        assert_eq!(last["drawing"], drawing);
        let time = last["sections"]["time"].as_str().unwrap();
        assert!(time.contains("outside of FMUs"), "{time}");
    }
}

/// The process with the page outlives the FMU's process, and keeps the figures of its last report.
#[test]
fn a_crash_is_shown() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let page = Followed::start(
        &bench,
        "run system.toml --start-value bad.fault=segfault --live --real-time=0.1",
    );
    let mut events = page.events();
    let section = |event: &Value, name: &str| event["sections"][name].to_string();
    events.wait_for("a report", |event| {
        section(event, "run").contains("running") && section(event, "components").contains("bad")
    });
    let last = events.wait_for("its last picture", |event| {
        section(event, "run").contains("crashed")
    });
    assert!(!section(&last, "run").contains("running"), "{last}");
    let fault = section(&last, "fault");
    for text in [
        "at t = 0.4 s",
        "SIGSEGV",
        "in a call at that time: bad",
        "the last that came",
    ] {
        assert!(fault.contains(text), "{text}: {fault}");
    }
    assert!(section(&last, "components").contains("bad"), "{last}");
    let end = events.wait_for("its end", |event| event["kind"] == "end");
    assert_eq!(end["is_failure"], true);
    let text = end["text"].as_str().unwrap();
    assert!(
        text.starts_with("bad: SIGSEGV in fmi2DoStep at t = 0.4 s (step 4)"),
        "{text}"
    );
    let summary = &end["summary"];
    assert_eq!(summary["stop_reason"], "crashed");
    assert_eq!(
        (&summary["stop_time"], &summary["steps"]),
        (&json!(0.4), &json!(4))
    );
    assert_eq!(page.end().0, Some(5));
}

/// A second stop ends also a run whose FMU does not return.
#[test]
fn a_run_that_is_stopped_at_once_has_not_failed() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let sleep = "--start-value bad.fault=sleep --start-value bad.sleep_time=600 --timeout 0";
    let page = Followed::start(&bench, &format!("run system.toml {sleep} --live"));
    let mut events = page.events();
    events.wait_for("its begin", |event| event["kind"] == "begin");
    stop(&page);
    // If the first one came before the call that does not return, the program may have ended.
    let stop = json!({ "command": "stop" }).to_string();
    drop(page.try_ask("POST", "/commands", &stop));
    let end = events.wait_for("its end", |event| event["kind"] == "end");
    assert_eq!(end["is_failure"], false, "{end}");
    assert_eq!(end["summary"]["stop_reason"], "interrupted", "{end}");
    assert_eq!(page.end().0, Some(130));
}

#[test]
fn a_run_that_cannot_begin_is_shown() {
    let bench = Bench::new();
    bench.write("system.toml", &OSCILLATORS.replace("left.x2", "left.x3"));
    let page = Followed::start(&bench, "run system.toml --live");
    let (code, messages) = page.end();
    assert_eq!(code, Some(3), "{messages}");
}

#[test]
fn only_this_machine_sees_the_page_unless_others_may() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--live={}", other.local_addr().unwrap().port());
    for (options, code, text) in [
        ("--live=0.0.0.0:0", 2, "other machines can reach 0.0.0.0"),
        ("--live=0.0.0.0:0", 2, "--live-allow-remote"),
        ("--live=somewhere", 2, "`somewhere` is not an address"),
        ("--live-allow-remote", 2, "--live"),
        ("--live 8080", 2, "'--live=8080'"),
        ("--real-time 2 --live", 2, "'--real-time=2'"),
        (&taken, 1, "cannot listen at 127.0.0.1:"),
    ] {
        let outcome = bench.run(format!("run system.toml -e 0.01 {options}").split(' '));
        assert_eq!(outcome.code, Some(code), "{options}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(text),
            "{options}: {}",
            outcome.stderr
        );
    }
    let page = Followed::start(
        &bench,
        "run system.toml -e 0.01 --live=0.0.0.0:0 --live-allow-remote",
    );
    assert!(page.host.starts_with("127.0.0.1:"), "{}", page.host);
    assert_eq!(page.end().0, Some(0));
}

/// The rows of a study come to its page, from whichever process makes it.
#[test]
fn a_study_shows_its_rows() {
    for way in ["", " --no-supervisor"] {
        let bench = Bench::new();
        bench.write("system.toml", &OSCILLATORS.replace("10.0", "0.1"));
        let study = "system = \"system.toml\"\n[[vary]]\ngrid = { \"left.m\" = { from = 1.0, to = 2.0, count = 5000 } }\n\
                     [[metrics]]\nfinal = [\"left.x\"]\n";
        bench.write("study.toml", study);
        let page = Followed::start(&bench, &format!("study study.toml --live{way}"));
        let mut events = page.events();
        let table = events.wait_for("a table", |event| event["kind"] == "table");
        assert_eq!(table["total"], 5000, "{table}");
        events.wait_for("a row", |event| {
            event["kind"] == "rows" && event["rows"][0][0].is_u64()
        });
        stop(&page);
        events.wait_for("its end", |event| event["kind"] == "end");
        let (code, messages) = page.end();
        assert_eq!(code, Some(130), "{messages}");
    }
}
