//! Components on other machines, and the time on the way to them.

use gyrator::profile::ProfileReport;
use gyrator_system::SystemFile;
use serde::Serialize;

use crate::doctor::accuracy::Accuracy;
use crate::doctor::stability::Stability;

/// Part of the time of a macro-step from which the way to a host is worth advice: without less of it, a run would hardly
/// be shorter.
const WORTH: f64 = 0.1;
/// Macro-steps that are longer by less than this factor save nothing that a user sees.
const LONGER: f64 = 1.25;

/// A component on another machine: mean times of a macro-step in the first probe run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostTime {
    /// The component.
    pub component: String,
    /// Time of its FMU, as the host measures it, s.
    pub compute: f64,
    /// Time in which the run waits for the host, s.
    pub wait: f64,
    /// Part of the waiting in which the host does not compute, s.
    pub transfer: f64,
    /// Whether the way takes longer than the FMU, and at least a tenth of the macro-step.
    pub transfer_dominates: bool,
    /// Changes that make the way cheaper, if it dominates.
    pub advice: Vec<String>,
}

/// Components whose times were measured on other machines.
pub(crate) fn host_times(report: &ProfileReport) -> Vec<HostTime> {
    let steps = report.macro_steps.max(1) as f64;
    let macro_step = report.seconds / steps;
    let components = report.components.iter().filter_map(|time| {
        let (compute, transfer) = (time.compute / steps, time.transfer? / steps);
        Some(HostTime {
            component: time.component.clone(),
            compute,
            wait: time.wait / steps,
            transfer,
            transfer_dominates: transfer > compute && transfer > WORTH * macro_step,
            advice: Vec::new(),
        })
    });
    components.collect()
}

/// Adds the advice. `wanted`: relative error of the larger macro-step.
pub(crate) fn advise(
    hosts: &mut [HostTime],
    system: &SystemFile,
    accuracy: Option<&Accuracy>,
    stability: &Stability,
    wanted: f64,
) {
    let step = system.experiment.step_size.as_ref();
    let step = step.map_or(f64::INFINITY, |step| step.value);
    let by_error = accuracy.and_then(|accuracy| accuracy.step_for(wanted, step));
    let larger = by_error.zip(stability.largest_step);
    let larger = larger.map(|(error, stable)| error.min(stable));
    for host in hosts.iter_mut().filter(|host| host.transfer_dominates) {
        if let Some(larger) = larger.filter(|larger| *larger > LONGER * step) {
            host.advice.push(format!(
                "macro-steps of up to {} s: the error stays below {} % of each signal, and the way is taken {:.1} times \
                 less often",
                rounded_down(larger),
                100.0 * wanted,
                larger / step
            ));
        }
        let models = &system.interface_models;
        let is_modelled = |bond: &str| {
            let mut bonds = models.iter().flat_map(|model| &model.bonds);
            bonds.any(|modelled| modelled.value == bond)
        };
        let bonds = system.bonds.iter().filter(|bond| {
            let pairs = bond.effort.iter().chain(&bond.flow);
            let mut ends = pairs.flat_map(|pair| [&pair.from.value, &pair.to.value]);
            ends.any(|end| end.component == host.component) && !is_modelled(&bond.name.value)
        });
        let bonds: Vec<&str> = bonds.map(|bond| bond.name.value.as_str()).collect();
        if !bonds.is_empty() {
            host.advice.push(format!(
                "an [[interface_models]] entry for {}: one exchange with the host for many steps of the other side",
                bonds.join(", ")
            ));
        }
        host.advice.push(
            "`isolate = true` in place of `host`, where the FMU may run on this machine".to_owned(),
        );
    }
}

/// Two digits, towards zero.
fn rounded_down(value: f64) -> f64 {
    let scale = 10_f64.powf(value.log10().floor() - 1.0);
    let digits = (value / scale + 1e-9).floor();
    // Dividing by a power of ten that is exact gives the nearest double of the two digits.
    match scale < 1.0 {
        true => digits / scale.recip().round(),
        false => digits * scale,
    }
}

#[cfg(test)]
mod tests;
