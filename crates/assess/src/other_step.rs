//! The system of a companion run.

use gyrator::registry::ParameterKind;
use gyrator::step_control::STEP_CONTROLS;
use gyrator_system::{Choice, Spanned, SystemFile, Value};

/// The same system with all communication steps `factor` times as long: the macro-step, the steps of components, the
/// exchange steps of interface models, and the steps of a step control. The tolerances of a step control change by the
/// square of `factor`, as errors of the second order do. It has no limits of the residual energy, which would end it at
/// another time than the run that it accompanies.
#[must_use]
pub fn at_other_step(system: &SystemFile, factor: f64) -> SystemFile {
    let mut system = system.clone();
    let components = system.components.iter_mut();
    let of_components = components.filter_map(|component| component.step_size.as_mut());
    let models = system.interface_models.iter_mut();
    let of_models = models.map(|model| &mut model.exchange_step);
    let of_experiment = system.experiment.step_size.as_mut();
    for step in of_components.chain(of_models).chain(of_experiment) {
        step.value *= factor;
    }
    if let Some(control) = &mut system.experiment.step_control {
        scale(control, factor);
    }
    for bond in &mut system.bonds {
        bond.max_residual_energy = None;
    }
    system
}

/// Scales the numbers of a step control, also those that it has by default.
fn scale(control: &mut Choice, factor: f64) {
    let by = |name: &str| match name {
        _ if name.ends_with("_step") => Some(factor),
        _ if name.ends_with("tolerance") => Some(factor * factor),
        _ => None,
    };
    for (name, value) in &mut control.parameters {
        let number = match value.value {
            Value::Real(number) => number,
            Value::Integer(number) => number as f64,
            _ => continue,
        };
        if let Some(by) = by(&name.value) {
            value.value = Value::Real(by * number);
        }
    }
    let entry = STEP_CONTROLS
        .iter()
        .find(|entry| entry.name == control.name.value);
    for parameter in entry.map_or(&[][..], |entry| entry.parameters) {
        let is_given = control
            .parameters
            .iter()
            .any(|(name, _)| name.value == parameter.name);
        if let (ParameterKind::Number { default, .. }, Some(by), false) =
            (&parameter.kind, by(parameter.name), is_given)
        {
            let span = control.name.span.clone();
            let name = Spanned::new(parameter.name.to_owned(), span.clone());
            control
                .parameters
                .push((name, Spanned::new(Value::Real(by * default), span)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyrator_system::toml_file;

    #[test]
    fn all_communication_steps_are_scaled_and_limits_are_gone() {
        let text = "[experiment]\nstep_size = 0.01\nstop_time = 1.0\n\
                    [components.a]\nfmu = \"a.fmu\"\nstep_size = 0.001\n\
                    [components.b]\nfmu = \"b.fmu\"\n\
                    [[bonds]]\nname = \"c\"\nmax_residual_energy = 1.0\n\
                    effort = [{ from = \"a.f\", to = \"b.f\" }]\nflow = [{ from = \"b.v\", to = \"a.v\" }]\n";
        let (system, _) = toml_file::parse(text, "system.toml").unwrap();
        let half = at_other_step(&system, 0.5);
        let value = |step: &Option<gyrator_system::Spanned<f64>>| step.as_ref().map(|s| s.value);
        assert_eq!(value(&half.experiment.step_size), Some(0.005));
        assert_eq!(value(&half.components[0].step_size), Some(0.0005));
        assert_eq!(value(&half.components[1].step_size), None);
        assert_eq!(value(&half.experiment.stop_time), Some(1.0));
        assert!(half.bonds[0].max_residual_energy.is_none());
    }

    #[test]
    fn steps_and_tolerances_of_a_step_control_are_scaled() {
        let text = "[experiment]\nstep_size = 0.01\nstop_time = 1.0\n\
                    [experiment.step_control]\nname = \"bounded-difference\"\ntolerance = 0.04\nmaximum_step = 1\n\
                    [components.a]\nfmu = \"a.fmu\"\n";
        let (system, _) = toml_file::parse(text, "system.toml").unwrap();
        let half = at_other_step(&system, 0.5);
        let control = half.experiment.step_control.unwrap();
        let value = |name: &str| {
            let mut parameters = control.parameters.iter();
            parameters
                .find(|(key, _)| key.value == name)
                .map(|(_, value)| value.value.clone())
        };
        assert_eq!(value("tolerance"), Some(Value::Real(0.01)));
        assert_eq!(value("maximum_step"), Some(Value::Real(0.5)));
        // 1e-3 by default.
        assert_eq!(value("absolute_tolerance"), Some(Value::Real(0.25e-3)));
        assert_eq!(value("minimum_step"), None);
    }
}
