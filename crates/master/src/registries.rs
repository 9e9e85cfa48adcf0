//! All registries together, for systems whose programs add words of their own.

use crate::correction::{CORRECTIONS, Correction};
use crate::extrapolation::{EXTRAPOLATIONS, Extrapolation};
use crate::interface_model::Schedule;
use crate::interface_order::INTERFACE_ORDERS;
use crate::method::{METHODS, Method};
use crate::registry::Registry;
use crate::step_control::{STEP_CONTROLS, StepControl};

/// The words that a system may use. The default has the engine's words; a program that embeds it
/// [adds](Registry::add) its own to its systems' words ([`System::registries`]).
///
/// [`System::registries`]: crate::System::registries
#[derive(Debug, Clone)]
pub struct Registries {
    /// Words of `method`.
    pub methods: Registry<dyn Method>,
    /// Words of `extrapolation`.
    pub extrapolations: Registry<dyn Extrapolation>,
    /// Words of `correction`, besides `off`.
    pub corrections: Registry<dyn Correction>,
    /// Words of `step_control`.
    pub step_controls: Registry<dyn StepControl>,
    /// Words of `order` of interface models.
    pub interface_orders: Registry<Schedule>,
}

impl Default for Registries {
    fn default() -> Self {
        Self {
            methods: Registry::of(METHODS),
            extrapolations: Registry::of(EXTRAPOLATIONS),
            corrections: Registry::of(CORRECTIONS),
            step_controls: Registry::of(STEP_CONTROLS),
            interface_orders: Registry::of(INTERFACE_ORDERS),
        }
    }
}
