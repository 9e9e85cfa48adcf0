//! Offers every entry of every registry parameters that it must take, and others that it must refuse.

use gyrator::correction::CORRECTIONS;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::registry::{Entry, EntryKind, ParameterInfo, ParameterKind, look_up};
use gyrator::step_control::STEP_CONTROLS;
use gyrator_system::{Spanned, Value};

use super::Failure;
use super::draft::choice;

/// Offers every entry of every registry values that it must take and others that it must refuse.
pub(super) fn check_all() -> Vec<Failure> {
    let mut failures = Vec::new();
    check_registry(METHODS, &mut failures);
    check_registry(EXTRAPOLATIONS, &mut failures);
    check_registry(CORRECTIONS, &mut failures);
    check_registry(STEP_CONTROLS, &mut failures);
    failures
}

fn check_registry<K: EntryKind + ?Sized>(registry: &[Entry<K>], failures: &mut Vec<Failure>) {
    let takes =
        |entry: &Entry<K>, parameter: Option<(&str, Value)>| {
            let mut choice = choice(entry.name);
            choice.parameters.extend(parameter.map(|(name, value)| {
                (Spanned::unplaced(name.to_owned()), Spanned::unplaced(value))
            }));
            look_up(registry, &choice).is_ok()
        };
    for entry in registry {
        let mut expect = |parameter: Option<(&str, Value)>, expected: bool| {
            if takes(entry, parameter.clone()) != expected {
                failures.push(Failure {
                    subject: format!("{} {}", K::NAME, entry.name),
                    message: if expected {
                        format!("{parameter:?} must be taken")
                    } else {
                        format!("{parameter:?} must be refused")
                    },
                });
            }
        };
        expect(None, true);
        expect(Some(("no_such_parameter", Value::Real(1.0))), false);
        for parameter in entry.parameters {
            for (value, expected) in samples(parameter) {
                expect(Some((parameter.name, value)), expected);
            }
        }
    }
}

/// Values of a parameter, and whether they must be taken.
fn samples(parameter: &ParameterInfo) -> Vec<(Value, bool)> {
    let word = |word: &str| Value::String(word.to_owned());
    // Whether a text names components is known once there is a system.
    let takes_names = matches!(
        parameter.kind,
        ParameterKind::Names(_)
            | ParameterKind::Signals(_)
            | ParameterKind::Text(_)
            | ParameterKind::File
    );
    let mut samples = vec![
        (
            Value::Boolean(true),
            matches!(parameter.kind, ParameterKind::Flag),
        ),
        (word("no such word"), takes_names),
        (Value::Real(f64::NAN), false),
    ];
    match parameter.kind {
        ParameterKind::Number { range, default } => {
            samples.push((Value::Real(default), true));
            samples.push((word("auto"), false));
            samples.extend(about(range));
        }
        ParameterKind::WholeNumber {
            range: (least, greatest),
            default,
            or_auto,
        } => {
            samples.push((Value::Real(default as f64), true));
            samples.push((word("auto"), or_auto));
            samples.push((Value::Real(default as f64 + 0.5), false));
            samples.extend(about((least as f64, greatest as f64)));
        }
        ParameterKind::NumberOrAuto { range } => {
            samples.push((word("auto"), true));
            samples.extend(about(range));
        }
        ParameterKind::NumberOrWord { words, range } => {
            samples.extend(words.iter().map(|known| (word(known), true)));
            samples.push((word("no such word"), false));
            samples.extend(about(range));
        }
        ParameterKind::Flag => samples.push((Value::Boolean(false), true)),
        ParameterKind::Text(_) | ParameterKind::File => samples.push((Value::Real(1.0), false)),
        ParameterKind::Names(words) | ParameterKind::Signals(words) => {
            samples.extend(words.iter().map(|known| (word(known), true)));
            samples.push((word(" "), false));
        }
        ParameterKind::Word(words) => {
            samples.extend(words.iter().map(|known| (word(known), true)));
            samples.push((Value::Real(1.0), false));
        }
    }
    samples
}

fn about((least, greatest): (f64, f64)) -> Vec<(Value, bool)> {
    let mut samples = Vec::new();
    for limit in [least, greatest]
        .into_iter()
        .filter(|limit| limit.is_finite())
    {
        samples.push((Value::Real(limit), true));
    }
    let margin = |limit: f64| 1e-6 * limit.abs().max(1.0);
    if least.is_finite() {
        samples.push((Value::Real(least - margin(least)), false));
    }
    if greatest.is_finite() {
        samples.push((Value::Real(greatest + margin(greatest)), false));
    }
    samples
}
