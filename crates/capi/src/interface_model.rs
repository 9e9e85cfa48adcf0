//! Interface models that are described by calls.

#![expect(unsafe_code, reason = "exports C names")]

use crate::arguments::{Text, array, there};
use crate::error::{GyratorCode, Refusal, guard};
use crate::system::{GyratorSetting, GyratorSystem, lock, settings};

/// A list of names; one of zeros is empty.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct GyratorNames<'a> {
    /// The first one.
    pub first: Option<&'a Text<'a>>,
    /// How many there are.
    pub count: usize,
}

/// An interface model of a multibody component (docs/coupling.md). Members that are zero are left out. Lists of variables have one entry for each
/// velocity at the bonds.
#[repr(C)]
pub struct GyratorInterfaceModel<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// The multibody component.
    pub component: Text<'a>,
    /// How often values are exchanged with the fast components, s.
    pub exchange_step: f64,
    /// Names of the bonds between the multibody component and the fast components.
    pub bonds: GyratorNames<'a>,
    /// Outputs of the multibody component: the positions, m.
    pub positions: GyratorNames<'a>,
    /// Outputs of the multibody component: its inverse effective mass, 1/kg.
    pub inverse_mass: GyratorNames<'a>,
    /// Outputs of the multibody component: its acceleration without the forces of the bonds, m/s².
    pub free_acceleration: GyratorNames<'a>,
    /// Outputs of the multibody component: its accelerations, m/s², if it gives neither mass nor free acceleration.
    pub accelerations: GyratorNames<'a>,
    /// Outputs of fast components, COMPONENT.VARIABLE: the whole forces, N.
    pub forces: GyratorNames<'a>,
    /// Outputs of fast components, COMPONENT.VARIABLE: the negative derivatives of the forces' rates by the velocities, N/m.
    pub stiffness: GyratorNames<'a>,
    /// Outputs of fast components, COMPONENT.VARIABLE: the rates of the forces, N/s.
    pub force_rates: GyratorNames<'a>,
    /// Which side is stepped first, a word that `gyrator list` prints; NULL for the default.
    pub order: Text<'a>,
    /// Parameters of the order.
    pub settings: Option<&'a GyratorSetting<'a>>,
    /// How many there are.
    pub setting_count: usize,
}

/// Adds an interface model. It is checked when the system starts.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_system_interface_model(
    system: *mut GyratorSystem,
    model: Option<&GyratorInterfaceModel<'_>>,
) -> GyratorCode {
    guard(|| {
        let model = there(model, "the interface model")?;
        let name = model.name.read("the name")?;
        let component = model.component.read("the name of the component")?;
        // All is read before the system is changed.
        let bonds = names(model.bonds, "the bonds")?;
        let positions = names(model.positions, "the positions")?;
        let mass = (
            names(model.inverse_mass, "the inverse mass")?,
            names(model.free_acceleration, "the free acceleration")?,
        );
        let accelerations = names(model.accelerations, "the accelerations")?;
        let forces = names(model.forces, "the forces")?;
        let force_model = (
            names(model.stiffness, "the stiffness")?,
            names(model.force_rates, "the rates of the forces")?,
        );
        let order = model.order.optional("the order")?;
        let settings = settings(model.settings, model.setting_count)?;
        let mut system = lock(system)?;
        let mut added = system
            .interface_model(name, component, model.exchange_step)
            .bonds(&bonds)
            .positions(&positions)
            .mass(&mass.0, &mass.1)
            .accelerations(&accelerations)
            .forces(&forces)
            .force_model(&force_model.0, &force_model.1);
        if let Some(order) = order {
            added = added.order(order);
        }
        for (name, value) in settings {
            added = added.option(name, value);
        }
        Ok(())
    })
}

fn names<'a>(list: GyratorNames<'a>, what: &str) -> Result<Vec<&'a str>, Refusal> {
    let names = array(list.first, list.count, what)?.iter();
    names
        .map(|name| name.read(&format!("a name of {what}")))
        .collect()
}
