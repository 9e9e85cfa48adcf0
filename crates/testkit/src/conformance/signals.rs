//! What receivers are given of a signal: nothing from later than its time, and all of it in the end.

use gyrator::extrapolation::{EXTRAPOLATIONS, Extrapolation, SignalSteps};
use gyrator::method::METHODS;
use gyrator::registry::{EntryKind, look_up};
use gyrator::{ClosureUnit, LinearUnit, RunOptions};

use super::draft::{Assembly, Draft, STEPS, choice};
use crate::combination::Combination;
use crate::spy::{GivenInputs, Spied, Spy};

const MACRO_STEP: f64 = 0.01;

/// Communication steps of source and receiver, in macro-steps.
const RATES: [(f64, f64); 5] = [(1.0, 1.0), (4.0, 1.0), (1.0, 0.25), (0.25, 1.0), (3.0, 2.0)];

fn rates(combination: &Combination) -> &'static [(f64, f64)] {
    if combination.needs_substeps() {
        &[(0.1, 0.1)]
    } else {
        &RATES
    }
}

/// A source that publishes `signal` of the time, a receiver behind it and one behind a gain of 1
/// with feed-through. Returns what both receivers were given.
fn received(
    combination: &Combination,
    (source, receiver): (f64, f64),
    signal: impl Fn(f64) -> f64 + Send + 'static,
) -> Result<[Vec<GivenInputs>; 2], String> {
    let mut draft = Draft::new(MACRO_STEP);
    let start = signal(0.0);
    let unit = ClosureUnit::new(&[], &[("y", start)], move |call| {
        call.outputs[0] = signal(call.time + call.step);
    });
    let unit = unit.memoryless();
    draft.unit("source", source, unit, combination);
    let gain = LinearUnit::new(&[0.0], &["u"], &["y"], [&[-1.0], &[0.0], &[0.0], &[1.0]]);
    draft.unit("gain", 1.0, gain, combination);
    let receiver_of = || ClosureUnit::new(&[("u", 0.0)], &[], |_| {}).memoryless();
    let (direct, of_direct) = Spy::on(receiver_of());
    draft.unit("direct", receiver, direct, combination);
    let (behind, of_behind) = Spy::on(receiver_of());
    draft.unit("behind", receiver, behind, combination);
    draft.connect("source.y", "direct.u");
    draft.connect("source.y", "gain.u");
    draft.connect("gain.y", "behind.u");
    let system = draft.assemble(Assembly::default(), combination);
    let mut run = system
        .start(&RunOptions::default())
        .map_err(|error| error.to_string())?;
    run.run().map_err(|error| error.to_string())?;
    Ok([of_direct, of_behind].map(|spied: Spied| spied.inputs()))
}

/// Whether the method passes on outputs of the end of a step that is not over.
fn looks_ahead(combination: &Combination) -> Result<bool, String> {
    if combination.method == "auto" {
        // One of the units has direct feed-through.
        return Ok(combination.exchange == "stale" && !combination.needs_substeps());
    }
    let method = look_up(METHODS, &choice(combination.method))
        .map_err(|problems| format!("{problems:?}"))?;
    Ok(method.usual_facts().looks_ahead)
}

/// Two signals that part after some time must be received alike until the first communication point
/// of the source after it, and not for ever. If units take turns, a unit may know what is published
/// at the end of its step, or of the source's.
pub(super) fn no_input_depends_on_later_outputs(combination: &Combination) -> Result<(), String> {
    // Steps that are undone also have inputs, and the signal moves the points where it is published.
    if combination.moves_points() {
        return Ok(());
    }
    let looks_ahead = looks_ahead(combination)?;
    for &rates in rates(combination) {
        let parting = 7.5 * MACRO_STEP;
        let one = received(combination, rates, |t| (20.0 * t).sin())?;
        let other = received(combination, rates, move |t| {
            (20.0 * t).sin() + if t > parting { 5.0 } else { 0.0 }
        })?;
        let source_step = rates.0 * MACRO_STEP;
        // A fast source publishes with the macro-step.
        let grid = source_step.max(MACRO_STEP);
        let published = (parting / grid).ceil() * grid;
        let step = grid.max(rates.1 * MACRO_STEP);
        let known = if looks_ahead {
            published - step
        } else {
            published
        };
        for (one, other) in one.iter().zip(&other) {
            compare(one, other, known).map_err(|message| format!("{rates:?}: {message}"))?;
        }
    }
    Ok(())
}

fn compare(one: &[GivenInputs], other: &[GivenInputs], known: f64) -> Result<(), String> {
    let differing = one.iter().zip(other).filter(|(one, other)| one != other);
    let times: Vec<f64> = differing.map(|(one, _)| one.time).collect();
    match times.first() {
        None => Err("the change of the signal never arrives".to_owned()),
        Some(first) if *first < known - 1e-9 => Err(format!(
            "the input at {first} s depends on a value that may be known from {known} s on"
        )),
        Some(_) => Ok(()),
    }
}

pub(super) fn constants_pass(combination: &Combination) -> Result<(), String> {
    const VALUE: f64 = 0.1;
    for &rates in rates(combination) {
        for given in received(combination, rates, |_| VALUE)?.iter().flatten() {
            for (_, order, value) in &given.values {
                let expected = if *order == 0 { VALUE } else { 0.0 };
                if *value != expected {
                    let time = given.time;
                    return Err(format!(
                        "{rates:?}: {value} instead of {expected} at {time} s"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// If units take turns, an input is a value that its source has within the step.
pub(super) fn lines_pass_within_the_step(combination: &Combination) -> Result<(), String> {
    // Nor are macro-steps of one length if a step control chooses them.
    if !looks_ahead(combination)? || combination.moves_points() {
        return Ok(());
    }
    // The source comes first, so that its signal is not extrapolated.
    let signal = |t: f64| 2.0 - 3.0 * t;
    for &rates in rates(combination) {
        // A fast receiver within a slow source's step, and neither: what a fast source leads.
        let is_led = rates.0 <= rates.1 && rates.1 % rates.0.max(1.0) == 0.0
            || rates.0 % rates.1.max(1.0) == 0.0;
        let [direct, _] = received(combination, rates, signal)?;
        for given in direct.iter().filter(|_| is_led) {
            let Some((_, _, value)) = given.values.first() else {
                continue;
            };
            // A mean is over the macro-step.
            let (time, step) = (given.time, rates.1.max(1.0) * MACRO_STEP);
            let start = (time / step + 1e-9).floor() * step;
            let (most, least) = (signal(start) + 1e-9, signal(start + step) - 1e-9);
            if !(least..=most).contains(value) {
                return Err(format!(
                    "{rates:?}: {value} is not between {least} and {most} at {time} s"
                ));
            }
        }
    }
    Ok(())
}

pub(super) fn polynomials_pass(combination: &Combination) -> Result<(), String> {
    // A value that is not extrapolated is not the value at the start of the step.
    if looks_ahead(combination)? || combination.moves_points() {
        return Ok(());
    }
    let name = choice(combination.extrapolation);
    let extrapolation =
        look_up(EXTRAPOLATIONS, &name).map_err(|problems| format!("{problems:?}"))?;
    for &rates in rates(combination) {
        // The receiver follows curves from one of its communication steps to the next.
        let facts = extrapolation.facts(&SignalSteps {
            follows: if rates.1 < 1.0 { usize::MAX } else { 0 },
            takes_slopes: false,
            ..<dyn Extrapolation as EntryKind>::USUAL
        });
        let (degree, values) = (facts.degree, facts.values_until_exact);
        let signal = move |t: f64| match degree {
            0 => 2.0,
            1 => 2.0 - 3.0 * t,
            2 => 2.0 - 3.0 * t + 5.0 * t * t,
            _ => 2.0 - 3.0 * t + 5.0 * t * t + 7.0 * t * t * t,
        };
        let [direct, _] = received(combination, rates, signal)?;
        let full = values as f64 * rates.0.max(1.0) * MACRO_STEP - 1e-9;
        let (mut compared, mut value) = (0, f64::NAN);
        for given in &direct {
            // A value that is held need not be set again.
            value = given.values.first().map_or(value, |(_, _, value)| *value);
            if given.time < full {
                continue;
            }
            let time = given.time;
            // Of the two points of Gauss's formula, exact for a cubic.
            let part = rates.1 * MACRO_STEP;
            let places = [-1.0, 1.0].map(|side| 0.5 + side / 12.0_f64.sqrt());
            let mean = 0.5
                * places
                    .map(|place| signal(time + place * part))
                    .iter()
                    .sum::<f64>();
            let expected = if facts.gives_means {
                mean
            } else {
                signal(time)
            };
            if (value - expected).is_nan() || (value - expected).abs() > 1e-9 {
                return Err(format!(
                    "{rates:?}: {value} instead of {expected} at {time} s"
                ));
            }
            compared += 1;
        }
        if compared < STEPS / 8 {
            return Err(format!("{rates:?}: only {compared} inputs were seen"));
        }
    }
    Ok(())
}
