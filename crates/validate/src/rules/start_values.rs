//! V-54: start values that are set.

use gyrator_fmu::{
    Causality, Fmu, Instance, InstanceOptions, RealAttributes, ScalarVariable, TypeAttributes,
};

use crate::finding::Severity;
use crate::rule::{Check, Rule};
use crate::trial::{Stop, Trial};

pub(super) static RULES: &[Rule] = &[Rule {
    number: 54,
    title: "start values of parameters that are set before Initialization Mode are kept",
    severity: Severity::Error,
    source: "2.2.7, initial; 4.2.4",
    check: Check::Dynamic(set_values_are_kept),
}];

/// When start values are set.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    BeforeSetup,
    AfterSetup,
}

/// A parameter, and a start value for it that is not the one of the description.
struct Changed<'a> {
    variable: &'a ScalarVariable,
    value: f64,
}

fn set_values_are_kept(trial: &mut Trial) -> Result<(), Stop> {
    let fmu = trial.open()?;
    let changed = changed(fmu.description().variables.iter());
    let lost = match lost(&fmu, &changed, Order::AfterSetup)? {
        Some(lost) => lost,
        None => return Ok(()),
    };
    for (changed, found) in &lost {
        let (name, value) = (&changed.variable.name, changed.value);
        trial.find(format!(
            "{name} was set to {value} after fmi2SetupExperiment and is {found} after initialization"
        ));
    }
    if !lost.is_empty() {
        return Ok(());
    }
    if let Some(lost) = self::lost(&fmu, &changed, Order::BeforeSetup)?
        && let [(first, _), ..] = &lost[..]
    {
        let message = format!(
            "start values that are set before fmi2SetupExperiment are lost in it, {} of {}, such as {}; those that \
             are set after it are kept",
            lost.len(),
            changed.len(),
            first.variable.name
        );
        trial.graded(Severity::Warning, message);
    }
    Ok(())
}

/// Real parameters with a start value, each with another one. Other types often choose between
/// structures, in which a value of chance has no meaning.
fn changed<'a>(variables: impl Iterator<Item = &'a ScalarVariable>) -> Vec<Changed<'a>> {
    let mut seen = std::collections::BTreeSet::new();
    let is_parameter = |variable: &&ScalarVariable| {
        variable.causality == Causality::Parameter && variable.settable_before_initialization()
    };
    let changed = |variable: &'a ScalarVariable| {
        let TypeAttributes::Real(real) = &variable.kind else {
            return None;
        };
        let start = real.start?;
        let magnitude = match start.abs() {
            0.0 => real.nominal.map_or(1.0, f64::abs),
            magnitude => magnitude,
        };
        let value = another(real, start, magnitude)?;
        // Aliases have one value.
        let is_new = seen.insert(variable.value_reference);
        is_new.then_some(Changed { variable, value })
    };
    variables.filter(is_parameter).filter_map(changed).collect()
}

/// A legal value a thousandth of `magnitude` from `value`: far beyond rounding, and close enough for
/// most models to continue.
pub(super) fn another(real: &RealAttributes, value: f64, magnitude: f64) -> Option<f64> {
    let size = 1e-3 * magnitude;
    let is_legal = |other: &f64| {
        other.is_finite()
            && *other != value
            && real.min.is_none_or(|min| min <= *other)
            && real.max.is_none_or(|max| *other <= max)
    };
    [value + size, value - size].into_iter().find(is_legal)
}

/// The parameters that have another value after initialization than was set, with that value;
/// `None` if the FMU refuses the values, which it may.
fn lost<'a>(
    fmu: &Fmu,
    changed: &'a [Changed<'_>],
    order: Order,
) -> Result<Option<Vec<(&'a Changed<'a>, f64)>>, Stop> {
    /// An FMU that converts to its own unit of measure and back rounds twice.
    const ROUNDING: f64 = 1e-9;
    let mut instance = fmu.instantiate("start values", &InstanceOptions::default())?;
    if initialize(fmu, &mut instance, changed, order).is_err() {
        return Ok(None);
    }
    let mut lost = Vec::new();
    for one in changed {
        let mut found = [0.0];
        instance.get_real(&[one.variable.value_reference], &mut found)?;
        let difference = (found[0] - one.value).abs();
        if difference.is_nan() || difference > ROUNDING * one.value.abs() {
            lost.push((one, found[0]));
        }
    }
    Ok(Some(lost))
}

fn initialize(
    fmu: &Fmu,
    instance: &mut Instance,
    changed: &[Changed<'_>],
    order: Order,
) -> Result<(), Stop> {
    let set = |instance: &mut Instance, now: Order| -> Result<(), Stop> {
        if now == order {
            for one in changed {
                instance.set_real(&[one.variable.value_reference], &[one.value])?;
            }
        }
        Ok(())
    };
    let tolerance = fmu.description().default_experiment.tolerance;
    set(instance, Order::BeforeSetup)?;
    instance.setup_experiment(tolerance, Trial::grid(fmu).start, None)?;
    set(instance, Order::AfterSetup)?;
    instance.enter_initialization_mode()?;
    Ok(instance.exit_initialization_mode()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_value_is_legal_and_close() {
        let real = |min, max| RealAttributes {
            min,
            max,
            ..RealAttributes::default()
        };
        for (attributes, value, magnitude, expected) in [
            (real(None, None), 2.0, 2.0, Some(2.002)),
            (real(None, Some(2.0)), 2.0, 2.0, Some(1.998)),
            (real(Some(2.0), Some(2.0)), 2.0, 2.0, None),
            (real(Some(0.0), None), 0.0, 1e5, Some(100.0)),
            (real(None, None), -1e-6, 1e-6, Some(-0.999e-6)),
            (real(None, None), f64::INFINITY, 1.0, None),
        ] {
            let found = another(&attributes, value, magnitude);
            let is_right = match (found, expected) {
                (Some(found), Some(expected)) => (found / expected - 1.0).abs() < 1e-12,
                (found, expected) => found == expected,
            };
            assert!(is_right, "{attributes:?}, {value}: {found:?}");
        }
    }
}
