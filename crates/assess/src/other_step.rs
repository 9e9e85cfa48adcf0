//! The system of a companion run.

use gyrator_system::SystemFile;

/// The same system with all communication steps `factor` times as long: the macro-step, those of components and
/// the exchange steps of interface models. Without limits of the residual energy, which would end it at another
/// time than the run that it accompanies.
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
    for bond in &mut system.bonds {
        bond.max_residual_energy = None;
    }
    system
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
}
