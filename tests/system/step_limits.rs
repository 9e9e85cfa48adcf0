//! The step controls `zero-crossing` and `bounded-difference`, which look at signals by their names.

use std::f64::consts::PI;

use gyrator::unit::Call;
use gyrator::{ClosureUnit, Report, RunOptions, StopReason, System, Word};
use gyrator_testkit::Trace;

/// A component and its output `y` by the time, s.
type Signal = (&'static str, fn(f64) -> f64);

/// A step of a unit, boxed, so that units of all signals have one type.
type Step = Box<dyn FnMut(Call<'_>) + Send>;

/// Outputs `y`, and a unit that the first one feeds.
fn signals(of_time: &[Signal], saves: bool) -> System {
    let mut system = System::new(0.1);
    system.stop_time(10.0);
    let mut add = |name: &str, unit: ClosureUnit<Step>| {
        match saves {
            true => system.add(name, unit.memoryless()),
            false => system.add(name, unit),
        };
    };
    for (name, signal) in of_time {
        let signal = *signal;
        let unit = ClosureUnit::new(
            &[],
            &[("y", signal(0.0))],
            Box::new(move |call: Call<'_>| {
                call.outputs[0] = signal(call.time + call.step);
            }) as Step,
        );
        add(name, unit);
    }
    let sink = Box::new(|_: Call<'_>| {}) as Step;
    add("sink", ClosureUnit::new(&[("u", 0.0)], &[], sink));
    system.connect(&format!("{}.y", of_time[0].0), "sink.u");
    system
}

fn finished(system: &System) -> (Trace, Report) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    let report = run.run().unwrap();
    assert_eq!(report.stop_reason, StopReason::StopTime);
    (trace, report)
}

/// Times of the points next to the zeros of a signal, with its values there.
fn at_zeros(times: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    let pairs = (1..times.len()).filter(|k| values[*k] * values[k - 1] <= 0.0);
    let nearest = pairs.map(|k| match values[k].abs() < values[k - 1].abs() {
        true => (times[k], values[k]),
        false => (times[k - 1], values[k - 1]),
    });
    nearest.collect()
}

#[test]
fn zeros_that_were_passed_are_located() {
    for prediction in ["parabola", "line"] {
        for tolerance in [1e-2, 1e-4] {
            let mut system = signals(&[("wave", |t| 2.0 * (2.0 * t).cos())], true);
            let control = Word::new("zero-crossing").with("prediction", prediction);
            let control = control
                .with("tolerance", tolerance)
                .with("minimum_step", 1e-6);
            system.step_control(control.with("maximum_step", 0.5));
            let (trace, report) = finished(&system);
            let found = at_zeros(&trace.times(), &trace.column("wave.y"));
            // 2·cos 2t is 0 at π/4, 3π/4, …: six times in 10 s.
            assert_eq!(found.len(), 6, "{found:?}");
            for (k, (time, value)) in found.iter().enumerate() {
                assert!(value.abs() <= tolerance, "{value} at {time} s");
                let exact = (0.25 + 0.5 * k as f64) * PI;
                assert!((time - exact).abs() <= 0.3 * tolerance, "{time} {exact}");
            }
            println!(
                "{prediction} {tolerance:e}: {} steps, {} undone",
                report.steps, report.counters.repeated_steps
            );
            assert!(report.steps < 200, "{}", report.steps);
        }
    }
}

#[test]
fn without_saved_states_the_prediction_alone_ends_steps_near_zeros() {
    let mut system = signals(&[("wave", |t| 2.0 * (2.0 * t).cos())], false);
    let control = Word::new("zero-crossing").with("minimum_step", 1e-4);
    system.step_control(control.with("maximum_step", 0.5));
    let (trace, report) = finished(&system);
    assert_eq!(report.counters.repeated_steps, 0);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("no step is made again: sink, wave")),
        "{:?}",
        report.notes
    );
    let found = at_zeros(&trace.times(), &trace.column("wave.y"));
    assert_eq!(found.len(), 6);
    assert!(
        found.iter().all(|(_, value)| value.abs() < 0.05),
        "{found:?}"
    );
}

/// A jump has no course that would predict it: its place is found by the smallest step.
#[test]
fn a_jump_over_zero_is_located_by_the_smallest_step() {
    let mut system = signals(&[("switch", |t| if t < 3.333 { 1.0 } else { -1.0 })], true);
    system.step_control(Word::new("zero-crossing").with("minimum_step", 1e-3));
    let (trace, _) = finished(&system);
    let (times, values) = (trace.times(), trace.column("switch.y"));
    let after = values.iter().position(|value| *value < 0.0).unwrap();
    assert!(times[after - 1] < 3.333 && times[after] >= 3.333);
    assert!(
        times[after] - times[after - 1] < 1.5e-3,
        "{} {}",
        times[after - 1],
        times[after]
    );
}

const LINES: [Signal; 2] = [("up", |t| 0.2 * t - 0.1), ("down", |t| 1.9 - 0.2 * t)];

/// Only the signals that are named count: the difference crosses 0 at 5 s, and each output at other times.
#[test]
fn differences_of_outputs_are_signals() {
    let mut system = signals(&LINES, true);
    system.step_control(Word::new("zero-crossing").with("signals", "up.y - down.y"));
    let (trace, _) = finished(&system);
    let near = |time: f64| trace.times().iter().any(|t| (t - time).abs() < 1e-2);
    assert!(near(5.0) && !near(0.5) && !near(9.5), "{:?}", trace.times());
}

/// They differ by no more than 0.4 from 4 s to 6 s.
#[test]
fn two_outputs_that_should_agree_have_a_bound() {
    let mut system = signals(&LINES, true);
    let control = Word::new("bounded-difference").with("signals", "up.y - down.y");
    let control = control
        .with("tolerance", 0.0)
        .with("absolute_tolerance", 0.4);
    system.step_control(control.with("minimum_step", 0.01));
    let (trace, _) = finished(&system);
    let steps = |from: f64, to: f64| {
        let times = trace.times();
        times.iter().filter(|t| (from..to).contains(*t)).count()
    };
    assert!(
        steps(0.0, 1.0) > 90 && steps(5.0, 5.8) < 10,
        "{} {}",
        steps(0.0, 1.0),
        steps(5.0, 5.8)
    );
}

#[test]
fn changes_within_steps_keep_the_bound() {
    let mut system = signals(&[("pulse", |t| (-8.0 * (t - 5.0) * (t - 5.0)).exp())], true);
    let control = Word::new("bounded-difference").with("tolerance", 0.05);
    let control = control
        .with("absolute_tolerance", 0.01)
        .with("minimum_step", 1e-4);
    system.step_control(control.with("maximum_step", 2.0));
    let (trace, report) = finished(&system);
    let (times, values) = (trace.times(), trace.column("pulse.y"));
    for k in 1..times.len() {
        let magnitude = values[k].abs().max(values[k - 1].abs());
        let change = (values[k] - values[k - 1]).abs();
        assert!(
            change <= 0.05 * magnitude + 0.01 + 1e-15,
            "{change} at {}",
            times[k]
        );
    }
    let longest = times
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(0.0, f64::max);
    println!(
        "{} steps, {} undone, {longest} s",
        report.steps, report.counters.repeated_steps
    );
    assert!(report.counters.repeated_steps > 0 && longest > 0.5);
}

#[test]
fn names_that_are_none_are_refused_before_the_first_step() {
    for (names, expected) in [
        (
            "wave.z",
            "`signals` of `zero-crossing`: there is no real output `wave.z`; did you mean `wave.y`?",
        ),
        ("wave.y - flow.q", "there is no real output `flow.q`"),
        ("sink.u", "there is no real output `sink.u`"),
        ("wave.y, wave.y", "names `wave.y` twice"),
        ("wave.y - wave.y", "`wave.y - wave.y` is always 0"),
        (",", "names no signal"),
        (
            "",
            "all, or names of real outputs, component.variable, or `a.x - b.y`, separated by commas",
        ),
    ] {
        let mut system = signals(&[("wave", f64::cos)], true);
        system.step_control(Word::new("zero-crossing").with("signals", names));
        let Err(error) = system.start(&RunOptions::default()) else {
            panic!("{names} is taken");
        };
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
    }
}

/// No step can be made with limits that cross; if one of them is automatic, the other one decides.
#[test]
fn limits_of_steps_that_cross_are_refused() {
    let controls = ["ecco", "richardson", "zero-crossing", "bounded-difference"];
    let with = |control: &str, limits: &[(&str, f64)]| {
        let mut system = signals(&[("wave", f64::sin)], true);
        let mut control = Word::new(control);
        for (limit, size) in limits {
            control = control.with(*limit, *size);
        }
        system.step_control(control);
        system
    };
    for control in controls {
        let crossed = with(control, &[("minimum_step", 0.2), ("maximum_step", 0.1)]);
        let error = crossed.start(&RunOptions::default()).map(drop).unwrap_err();
        let expected =
            format!("step control `{control}`: `minimum_step` is greater than `maximum_step`");
        assert!(error.to_string().contains(&expected), "{error}");
        let equal = with(control, &[("minimum_step", 0.1), ("maximum_step", 0.1)]);
        assert!(equal.start(&RunOptions::default()).is_ok(), "{control}");
    }
    // The automatic limits are 1 ms and 1 s.
    for (limit, size) in [("maximum_step", 5e-4), ("minimum_step", 4.0)] {
        let (trace, _) = finished(&with("zero-crossing", &[(limit, size)]));
        let times = trace.times();
        let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // Sizes are whole multiples of the resolution; the last two steps end at the stop time.
        let is_near = |step: &f64| (step - size).abs() < 1e-4 * size;
        let (others, last) = steps.split_at(steps.len() - 2);
        let other = others.iter().find(|step| !is_near(step));
        assert!(other.is_none(), "{limit}: {other:?}");
        assert!(last.iter().all(|step| *step < 1.0001 * size), "{limit}");
    }
}
