//! Pictures of systems.

use crate::bench::{Bench, OSCILLATORS};

#[test]
fn the_graph_of_a_system_is_drawn_in_three_forms() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (name, begin) in [
        ("out.svg", "<svg xmlns"),
        ("out.HTML", "<!DOCTYPE html>"),
        ("out.dot", "digraph system {"),
    ] {
        let outcome = bench.run(["inspect", "system.toml", "--graph", name]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stdout.starts_with("system.toml: 2 components"));
        let picture = bench.read(name);
        assert!(picture.starts_with(begin), "{picture}");
        assert!(picture.contains("coupling") && picture.contains("OscillatorForce.fmu"));
    }
}

#[test]
fn a_graph_is_no_other_file_and_of_a_system() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    std::fs::copy(bench.path("system.toml"), bench.path("system.svg")).unwrap();
    for (arguments, expected) in [
        (
            "system.toml --graph out.png",
            "the name must end in .svg, .html, .dot or .gv",
        ),
        (
            "system.svg --graph system.svg",
            "--graph system.svg is the system file",
        ),
        (
            "fmus/OscillatorForce.fmu --graph out.svg",
            "--graph: fmus/OscillatorForce.fmu is an FMU",
        ),
    ] {
        let outcome = bench.run(["inspect"].into_iter().chain(arguments.split(' ')));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
    assert_eq!(bench.read("system.svg"), OSCILLATORS);
    assert!(!bench.path("out.svg").exists());
}
