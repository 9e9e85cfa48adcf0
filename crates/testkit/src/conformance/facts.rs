//! The facts of every registry entry, with default and other parameters, against what it does.

use gyrator::correction::{
    BondFacts, BondPoint, CORRECTIONS, Correction, CorrectionFacts, Increments, Side,
};
use gyrator::extrapolation::{
    Curve, EXTRAPOLATIONS, Extrapolation, ExtrapolationFacts, Sample, SignalSteps,
};
use gyrator::interface_model::{PassedForce, Schedule};
use gyrator::interface_order::INTERFACE_ORDERS;
use gyrator::method::{METHODS, Method};
use gyrator::registry::{Chosen, Entry, EntryKind};
use gyrator::step_control::{STEP_CONTROLS, StepControl};
use gyrator::{ClosureUnit, LinearUnit, Run, RunOptions, System};
use gyrator_system::{Choice, Problem, Value};

use super::Failure;
use crate::double_oscillator::{Coupling, TABLE_1};
use crate::spy::Spy;

/// Compares the facts of every entry of the engine.
pub(super) fn check_all() -> Vec<Failure> {
    let mut failures = Vec::new();
    check_entries(METHODS, method, &mut failures);
    check_entries(EXTRAPOLATIONS, extrapolation, &mut failures);
    check_entries(CORRECTIONS, correction, &mut failures);
    check_entries(STEP_CONTROLS, step_control, &mut failures);
    check_entries(INTERFACE_ORDERS, interface_order, &mut failures);
    failures
}

/// Compares each variant of each entry; the defaults have no parameters in their choice.
fn check_entries<K: EntryKind + ?Sized>(
    entries: &[Entry<K>],
    check: fn(&Choice, &Chosen<K>) -> Result<(), String>,
    failures: &mut Vec<Failure>,
) {
    for entry in entries {
        for (choice, chosen) in entry.variants() {
            if let Err(message) = check(&choice, &chosen) {
                failures.push(Failure {
                    subject: format!("facts of {} {}", K::NAME, entry.name),
                    message: format!("with {:?}: {message}", choice.parameters),
                });
            }
        }
    }
}

fn expect(is_so: bool, what: &str) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(what.to_owned()) }
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, fact: T, found: T) -> Result<(), String> {
    if fact == found {
        Ok(())
    } else {
        Err(format!(
            "the facts say {what} {fact:?}, and it is {found:?}"
        ))
    }
}

fn degree(curve: &Curve) -> usize {
    let highest = curve.coefficients.iter().rposition(|c| *c != 0.0);
    highest.unwrap_or(0)
}

// Extrapolations

/// Steps of signals: usual ones, and others on which facts may depend.
fn kinds_of_steps() -> [SignalSteps; 6] {
    let usual = <dyn Extrapolation as EntryKind>::USUAL;
    [
        usual,
        SignalSteps {
            feeds_through: true,
            ..usual
        },
        SignalSteps {
            takes_slopes: false,
            ..usual
        },
        SignalSteps {
            source_parts: 1,
            receiver_parts: 1,
            ..usual
        },
        SignalSteps {
            takes_slopes: false,
            follows: 0,
            ..usual
        },
        SignalSteps {
            follows: 1,
            ..usual
        },
    ]
}

fn extrapolation(_: &Choice, chosen: &Chosen<dyn Extrapolation>) -> Result<(), String> {
    for steps in kinds_of_steps() {
        let facts = chosen.facts(&steps);
        let refusal = chosen.build().prepare(&steps).err();
        equal("misfit", &facts.misfit, &refusal)?;
        if refusal.is_none() {
            one_extrapolation(chosen, &facts, &steps)
                .map_err(|message| format!("{steps:?}: {message}"))?;
        }
    }
    Ok(())
}

const SAMPLES: u32 = 60;

/// A signal that is smooth, changes its slope and has the slope that it declares.
fn smooth(chosen: &Chosen<dyn Extrapolation>, steps: &SignalSteps, slope_error: f64) -> Courses {
    let every = steps.exchange / f64::from(steps.source_parts);
    let sample = |k: u32| {
        let phase = 0.1 * f64::from(k);
        Sample {
            time: every * f64::from(k),
            value: 1.0 + phase.sin(),
            slope: Some(0.1 / every * phase.cos() + slope_error),
        }
    };
    Courses::of(chosen, steps, sample)
}

/// The curves after each sample, and the last samples.
#[derive(PartialEq)]
struct Courses {
    curves: Vec<Curve>,
    values: Vec<f64>,
    pieces: [Curve; 3],
    curve_for_piece: Curve,
}

impl Courses {
    fn of(
        chosen: &Chosen<dyn Extrapolation>,
        steps: &SignalSteps,
        sample: impl Fn(u32) -> Sample,
    ) -> Self {
        let mut made = chosen.build();
        // A refusal was compared before.
        let _ = made.prepare(steps);
        let (mut curves, mut values) = (Vec::new(), Vec::new());
        for sample in (0..SAMPLES).map(sample) {
            made.observe(sample);
            curves.push(made.curve(sample.time, steps.exchange));
            values.push(sample.value);
        }
        let size = steps.exchange / f64::from(steps.receiver_parts);
        let curve_for_piece = made.curve(0.0, size);
        Self {
            curves,
            values,
            pieces: [(); 3].map(|()| made.next_piece(size)),
            curve_for_piece,
        }
    }
}

fn one_extrapolation(
    chosen: &Chosen<dyn Extrapolation>,
    facts: &ExtrapolationFacts,
    steps: &SignalSteps,
) -> Result<(), String> {
    let courses = smooth(chosen, steps, 0.0);
    let highest = courses.curves.iter().map(degree).max();
    equal("degree", facts.degree, highest.unwrap_or(0))?;
    let follows_slopes = smooth(chosen, steps, 1.0).curves != courses.curves;
    equal("needs_slope", facts.needs_slope, follows_slopes)?;
    let is_one_curve = courses.pieces.iter().all(|p| *p == courses.curve_for_piece);
    equal("comes_in_pieces", facts.comes_in_pieces, !is_one_curve)?;
    let newest = courses.values.iter().copied().map(Curve::constant);
    let is_hold = newest.eq(courses.curves.iter().copied());
    if facts.is_plain_hold || !steps.feeds_through {
        equal("is_plain_hold", facts.is_plain_hold, is_hold)?;
    }
    // Values observed at each communication step of the source count those steps.
    let twice = SignalSteps {
        source_parts: 2 * steps.source_parts,
        receiver_parts: 2 * steps.receiver_parts,
        ..*steps
    };
    let samples = |steps: &SignalSteps| {
        let sample = |k: u32| Sample {
            time: f64::from(k),
            value: (0.1 * f64::from(k)).sin(),
            slope: None,
        };
        Courses::of(chosen, steps, sample).curves
    };
    let counts_steps = samples(steps) != samples(&twice);
    equal("needs_substeps", facts.needs_substeps, counts_steps)?;
    continues_polynomials(chosen, facts, steps)
}

/// A polynomial of the degree is continued exactly after the values that it takes.
fn continues_polynomials(
    chosen: &Chosen<dyn Extrapolation>,
    facts: &ExtrapolationFacts,
    steps: &SignalSteps,
) -> Result<(), String> {
    if facts.needs_substeps {
        return Ok(());
    }
    let coefficients = [2.0, -3.0, 5.0, 7.0];
    let kept = &coefficients[..=facts.degree];
    let value = |t: f64| kept.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let sample = |k: u32| Sample {
        time: 0.1 * f64::from(k),
        value: value(0.1 * f64::from(k)),
        slope: None,
    };
    let courses = Courses::of(chosen, steps, sample);
    for (k, curve) in (0..).zip(&courses.curves).skip(facts.values_until_exact) {
        let from = 0.1 * f64::from(k) + 0.05;
        // Gauss's formula of two points is exact for a cubic.
        let part = steps.exchange / f64::from(steps.curve_parts);
        let places = [-1.0, 1.0].map(|side| 0.5 + side / 12.0_f64.sqrt());
        let mean = 0.5
            * places
                .map(|place| value(from + place * part))
                .iter()
                .sum::<f64>();
        let expected = if facts.gives_means { mean } else { value(from) };
        let at = curve.at(0.05);
        let is_exact = (at - expected).abs() <= 1e-8 * (1.0 + expected.abs());
        expect(is_exact, "a polynomial of the degree is not continued")?;
    }
    Ok(())
}

// Corrections

/// A point of a bond of one axis; `held` is what the inputs were short of.
fn point(index: u64, held: f64, jacobian: f64, added: &Increments) -> BondPoint {
    let h = 1e-3;
    let side = |shift: f64, increment: &Curve| {
        let at = |k: f64| 1.0 + (0.3 * k + shift).sin();
        let now = at(index as f64);
        Side {
            output: vec![now],
            previous_output: vec![at(index as f64 - 1.0)],
            error: vec![0.1 * now],
            previous_error: vec![0.1 * at(index as f64 - 1.0)],
            fed: vec![now],
            used: vec![now - held],
            applied: vec![now - held],
            missed: vec![held],
            correction: vec![increment.at(h)],
        }
    };
    BondPoint {
        index,
        time: index as f64 * h,
        step: if index == 0 { 0.0 } else { h },
        next_step: h,
        effort_by_flow: vec![jacobian],
        flow_by_effort: vec![0.0],
        effort: side(0.0, &added.effort[0]),
        flow: side(1.0, &added.flow[0]),
        weight: vec![1.0],
    }
}

/// The additions of a correction over some points.
fn increments(chosen: &Chosen<dyn Correction>, held: f64, jacobian: f64) -> Vec<Increments> {
    let mut made = chosen.build();
    made.begin(&BondFacts {
        axes: 1,
        effort_side_step: 1.0,
        flow_side_step: 1.0,
        effort_feedthrough: true,
        flow_feedthrough: false,
        effort_degree: 0,
        flow_degree: 0,
        is_stale: true,
    });
    let mut last = Increments::none(1);
    let step = |index: u64| {
        let point = point(index, held, jacobian, &last);
        last = Increments::none(1);
        made.correct(&point, &mut last);
        last.clone()
    };
    (0..40).map(step).collect()
}

fn correction(choice: &Choice, chosen: &Chosen<dyn Correction>) -> Result<(), String> {
    let facts: CorrectionFacts = chosen.usual_facts();
    let added = increments(chosen, 0.05, 0.0);
    let curves = added.iter().flat_map(|i| i.effort.iter().chain(&i.flow));
    equal(
        "degree",
        facts.degree,
        curves.map(degree).max().unwrap_or(0),
    )?;
    let follows_jacobian = increments(chosen, 0.05, 0.5) != added;
    // If every input was what its source gave, a bond's error comes from stale feed-through.
    let nothing = Increments::none(1);
    let without_held = increments(chosen, 0.0, 0.0);
    let acts_without_held = without_held.iter().any(|added| *added != nothing);
    if choice.parameters.is_empty() {
        equal("needs_jacobian", facts.needs_jacobian, follows_jacobian)?;
        let fact = facts.removes_stale_energy;
        return equal("removes_stale_energy", fact, acts_without_held);
    }
    // Parameters may switch an effect off.
    let hidden = follows_jacobian && !facts.needs_jacobian
        || acts_without_held && !facts.removes_stale_energy;
    expect(!hidden, "it does more than its facts say")
}

// Step controls and methods, which act in a run

/// A mass on a spring coupled to another one, which moves at `velocity`; with a bond, or with plain
/// connections.
fn oscillators(velocity: f64, has_bond: bool) -> System {
    let left = LinearUnit::new(
        &[0.0, 100.0],
        &["x2", "v2"],
        &["f", "x"],
        [
            &[0.0, 1.0, -110.0, -0.1],
            &[0.0, 0.0, 100.0, 0.1],
            &[100.0, 0.1, 1.0, 0.0],
            &[-100.0, -0.1, 0.0, 0.0],
        ],
    );
    let right = LinearUnit::new(
        &[0.0, velocity],
        &["f"],
        &["x", "v"],
        [
            &[0.0, 1.0, -1000.0, 0.0],
            &[0.0, 1.0],
            &[1.0, 0.0, 0.0, 1.0],
            &[0.0, 0.0],
        ],
    );
    let mut system = System::new(MACRO_STEP);
    system.extrapolation("hold");
    system.add("left", left);
    system.add("right", right);
    system.connect("right.x", "left.x2");
    if has_bond {
        system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"));
    } else {
        system.connect("left.f", "right.f");
        system.connect("right.v", "left.v2");
    }
    system
}

/// A signal that jumps from 1 to −1 within the first steps, and a unit that it feeds; both save their states.
fn jump() -> System {
    let source = ClosureUnit::new(&[], &[("y", 1.0)], |call| {
        let is_over = call.time + call.step > 5.05 * MACRO_STEP;
        call.outputs[0] = if is_over { -1.0 } else { 1.0 };
    });
    let receiver = ClosureUnit::new(&[("u", 0.0)], &[], |_| {});
    let mut system = System::new(MACRO_STEP);
    system.extrapolation("hold");
    system.add("source", source.memoryless());
    system.add("receiver", receiver.memoryless());
    system.connect("source.y", "receiver.u");
    system
}

const MACRO_STEP: f64 = 1e-3;
/// No whole number of macro-steps.
const STOP_TIME: f64 = 20.5 * MACRO_STEP;

/// Lengths of the steps until the stop time, or of a hundred; and the run.
fn step_sizes(mut system: System, choice: &Choice) -> Result<(Vec<f64>, Run), String> {
    system.step_control(choice.clone());
    system.stop_time(STOP_TIME);
    let run = system.start(&RunOptions::default());
    let mut run = run.map_err(|error| error.to_string())?;
    let (mut sizes, mut before) = (Vec::new(), run.time());
    while !run.has_ended() && sizes.len() < 100 {
        run.step().map_err(|error| error.to_string())?;
        sizes.push(run.time() - before);
        before = run.time();
    }
    Ok((sizes, run))
}

fn step_control(choice: &Choice, chosen: &Chosen<dyn StepControl>) -> Result<(), String> {
    let facts = chosen.usual_facts();
    let is_whole = |size: &f64| (size - MACRO_STEP).abs() < 1e-9;
    let are_equal = |sizes: &[f64]| match sizes {
        [all @ .., _] if !all.is_empty() => all.iter().all(is_whole),
        _ => false,
    };
    let (sizes, run) = step_sizes(oscillators(-0.1, true), choice)?;
    equal("is_fixed", facts.is_fixed, are_equal(&sizes))?;
    if run.has_ended() {
        let is_late = run.time() > STOP_TIME + 1e-9;
        equal("may_overshoot", facts.may_overshoot, is_late)?;
    }
    // Units that save their states, with much energy and, if it can be set, a first step that is far
    // too long.
    let mut long = choice.clone();
    for (name, value) in [("first_step", 1e-2), ("tolerance", 1e-6)] {
        let is_given = long.parameters.iter().any(|(key, _)| key.value == name);
        if !is_given {
            long = long.with(name, Value::Real(value));
        }
    }
    let mut repeats = false;
    let systems: [fn() -> System; 2] = [|| TABLE_1[0].system(&Coupling::default()), jump];
    for system in systems {
        let (_, run) = step_sizes(system(), &long).or_else(|_| step_sizes(system(), choice))?;
        repeats |= run.report().counters.repeated_steps > 0;
    }
    // Parameters may leave no step that could be shorter.
    let of_defaults = chosen.entry.chosen(&Choice::new(chosen.name()));
    let by_default = of_defaults.is_ok_and(|chosen| chosen.usual_facts().may_repeat);
    if repeats || choice.parameters.is_empty() || facts.may_repeat != by_default {
        equal("may_repeat", facts.may_repeat, repeats)?;
    }
    let mut alone = oscillators(-1.0, false);
    alone.step_control(choice.clone());
    let mut warnings = alone.check().into_iter();
    let warned = warnings.any(|problem| problem.rule == "no-bonds");
    equal("needs_bonds", facts.needs_bonds, warned)?;
    // The rest before the stop time may be made in two equal steps.
    let (sizes, _) = step_sizes(oscillators(-1.0, false), choice)?;
    let steady = &sizes[..sizes.len().saturating_sub(2)];
    let keeps_the_macro_step = !steady.is_empty() && steady.iter().all(is_whole);
    let looks_at_bonds = !facts.is_fixed && keeps_the_macro_step;
    equal("needs_bonds", facts.needs_bonds, looks_at_bonds)
}

fn method(choice: &Choice, chosen: &Chosen<dyn Method>) -> Result<(), String> {
    let facts = chosen.usual_facts();
    let source = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    let (receiver, given) = Spy::on(ClosureUnit::new(&[("u", 0.0)], &[], |_| {}));
    let mut system = System::new(1.0);
    system.extrapolation("hold");
    system.add("source", source);
    system.add("receiver", receiver);
    system.connect("source.y", "receiver.u");
    system.method(choice.clone());
    let run = system.start(&RunOptions::default());
    let mut run = run.map_err(|error| error.to_string())?;
    for _ in 0..3 {
        run.step().map_err(|error| error.to_string())?;
    }
    let inputs = given.inputs();
    let last = inputs.last().and_then(|given| given.values.first());
    // The source is the time: held from the start of the step, 2, its mean, 2.5, or its end, 3.
    let (.., value) = last.ok_or("no input was given")?;
    equal("looks_ahead", facts.looks_ahead, *value > 2.0)?;
    equal("passes_means", facts.passes_means, *value == 2.5)?;
    let mut system = System::new(1.0);
    system.extrapolation("hold");
    for (name, step) in [("quick", 1.0), ("slow", 2.0)] {
        let unit = ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |_| {});
        system.add(name, unit).step_size(step);
    }
    system.connect("quick.y", "slow.u");
    system.connect("slow.y", "quick.u");
    system.method(choice.clone());
    let problems = system.check();
    let named = |problem: &Problem| problem.is_error() && problem.message.contains("`slow`");
    equal("iterates", facts.iterates, problems.iter().any(named))
}

fn interface_order(_: &Choice, chosen: &Chosen<Schedule>) -> Result<(), String> {
    let (facts, schedule) = (chosen.usual_facts(), chosen.build());
    let feeds_back = schedule.displacement_correction > Some(0.0);
    equal("needs_positions", facts.needs_positions, feeds_back)?;
    let predicts = schedule.force == PassedForce::Predicted;
    equal("needs_force_rates", facts.needs_force_rates, predicts)
}
