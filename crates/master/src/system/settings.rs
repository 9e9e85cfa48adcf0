//! Settings of the part that was just added to a [`System`].

use gyrator_system::{
    Bond as FileBond, Component, Connection, InterfaceModel as FileInterfaceModel,
    NumberConversion, Port, Spanned, TypeConversion,
};

use super::ports::{connection, port};
use super::word::unplaced;
use super::{System, Word};
use crate::unit::Value;

/// Settings of a component that was just added.
pub struct ComponentSettings<'a> {
    pub(crate) component: &'a mut Component,
}

impl ComponentSettings<'_> {
    /// Communication step, s: divides the macro-step or is a multiple of it.
    pub fn step_size(self, seconds: f64) -> Self {
        self.component.step_size = unplaced(seconds);
        self
    }

    /// Extrapolation of its inputs: a word of [`EXTRAPOLATIONS`](crate::extrapolation::EXTRAPOLATIONS).
    pub fn extrapolation(self, word: impl Into<Word>) -> Self {
        self.component.extrapolation = Some(word.into().into_choice());
        self
    }

    /// Exchange mode: a word of [`Exchange::WORDS`](crate::exchange_mode::Exchange::WORDS).
    pub fn exchange(self, word: &str) -> Self {
        self.component.exchange = unplaced(word.to_owned());
        self
    }

    /// How often a step that the unit discards may be halved and tried again.
    pub fn step_halvings(self, times: u32) -> Self {
        self.component.step_halvings = unplaced(times);
        self
    }

    /// Start value of a variable.
    pub fn start(self, variable: &str, value: impl Into<Value>) -> Self {
        self.component
            .set_start_value(variable, value.into().into());
        self
    }

    /// Keeps the unit's own start values of its inputs, instead of propagating the outputs that feed them.
    pub fn keep_initial_inputs(self) -> Self {
        self.component.propagate_initial_inputs = false;
        self
    }
}

/// Settings of a connection that was just added.
pub struct ConnectionSettings<'a> {
    pub(super) connection: &'a mut Connection,
}

impl ConnectionSettings<'_> {
    /// The input receives `gain` times the output, after the conversion of units.
    pub fn gain(self, gain: f64) -> Self {
        self.connection.gain = unplaced(gain);
        self
    }

    /// Is added after the gain, in the unit of the input.
    pub fn offset(self, offset: f64) -> Self {
        self.connection.offset = unplaced(offset);
        self
    }

    /// How values get the type of the input if that may lose something.
    pub fn convert(self, conversion: NumberConversion) -> Self {
        self.connection.convert = unplaced(TypeConversion::Number(conversion));
        self
    }

    /// Values of the output, as text, with the values of the input in their place.
    pub fn convert_table<'t>(self, table: impl IntoIterator<Item = (&'t str, Value)>) -> Self {
        let entry = |(from, to): (&str, Value)| {
            (
                Spanned::unplaced(from.to_owned()),
                Spanned::unplaced(to.into()),
            )
        };
        let table = table.into_iter().map(entry).collect();
        self.connection.convert = unplaced(TypeConversion::Table(table));
        self
    }

    /// Ignores the units of measure that the two ends declare.
    pub fn ignore_units(self) -> Self {
        self.connection.unit_conversion = false;
        self
    }

    /// Variable of the output's component that is the output's derivative by time.
    pub fn derivative(self, variable: &str) -> Self {
        self.connection.derivative = unplaced(variable.to_owned());
        self
    }
}

/// Settings of a bond that was just added.
pub struct BondSettings<'a> {
    pub(crate) system: &'a mut System,
}

impl BondSettings<'_> {
    fn last(&mut self) -> Option<&mut FileBond> {
        self.system.file.bonds.last_mut()
    }

    /// A further axis.
    pub fn axis(mut self, effort: (&str, &str), flow: (&str, &str)) -> Self {
        let effort = connection(&self.system.file, effort.0, effort.1);
        let flow = connection(&self.system.file, flow.0, flow.1);
        if let Some(bond) = self.last() {
            bond.effort.push(effort);
            bond.flow.push(flow);
        }
        self
    }

    /// −1 if the units count the effort the other way.
    pub fn sense(mut self, sense: f64) -> Self {
        if let Some(bond) = self.last() {
            bond.sense = Spanned::unplaced(sense);
        }
        self
    }

    /// Factor between effort · flow and power, on all axes added so far, such as a piston's area if
    /// the effort is a pressure. The signals are passed on as they are.
    pub fn gain(mut self, gain: f64) -> Self {
        if let Some(bond) = self.last() {
            for effort in &mut bond.effort {
                effort.gain = Some(Spanned::unplaced(gain));
            }
        }
        self
    }

    /// Greatest magnitude of the residual energy, J, beyond which the run ends.
    pub fn max_residual_energy(mut self, joules: f64) -> Self {
        if let Some(bond) = self.last() {
            bond.max_residual_energy = Some(Spanned::unplaced(joules));
        }
        self
    }

    /// Relative tolerance r of its residual energy and typical energy E₀, J, for step control `ecco`, instead of the step
    /// control's (Sadjina & Pedersen 2019, eq. 14).
    pub fn energy_limits(mut self, tolerance: f64, joules: f64) -> Self {
        if let Some(bond) = self.last() {
            bond.energy_tolerance = Some(Spanned::unplaced(tolerance));
            bond.energy_scale = Some(Spanned::unplaced(joules));
        }
        self
    }

    /// Correction: a word of [`CORRECTIONS`](crate::correction::CORRECTIONS).
    pub fn correction(mut self, word: impl Into<Word>) -> Self {
        let choice = word.into().into_choice();
        if let Some(bond) = self.last() {
            bond.correction = Some(choice);
        }
        self
    }
}

/// Settings of an interface model that was just added. Lists have one entry a velocity at the bonds.
pub struct InterfaceModelSettings<'a> {
    pub(crate) system: &'a mut System,
}

impl InterfaceModelSettings<'_> {
    fn set(self, change: impl FnOnce(&mut FileInterfaceModel)) -> Self {
        if let Some(model) = self.system.file.interface_models.last_mut() {
            change(model);
        }
        self
    }

    fn set_ports(
        self,
        ports: &[&str],
        list: fn(&mut FileInterfaceModel) -> &mut Vec<Spanned<Port>>,
    ) -> Self {
        let ports = ports
            .iter()
            .map(|name| port(&self.system.file, name))
            .collect();
        self.set(|model| *list(model) = ports)
    }

    /// The bonds between the multibody component and the fast components.
    pub fn bonds(self, bonds: &[&str]) -> Self {
        let bonds = names(bonds);
        self.set(|model| model.bonds = bonds)
    }

    /// Outputs of the multibody component that are the positions, m.
    pub fn positions(self, outputs: &[&str]) -> Self {
        let outputs = names(outputs);
        self.set(|model| model.positions = outputs)
    }

    /// Outputs of the multibody component that are its inverse effective mass W, 1/kg, and its
    /// acceleration without the forces of the bonds, m/s².
    pub fn mass(self, inverse_mass: &[&str], free_acceleration: &[&str]) -> Self {
        let (inverse_mass, free) = (names(inverse_mass), names(free_acceleration));
        self.set(|model| (model.inverse_mass, model.free_acceleration) = (inverse_mass, free))
    }

    /// Outputs of the multibody component that are its accelerations, m/s²: mass and free
    /// acceleration follow from them and their derivatives by the efforts.
    pub fn accelerations(self, outputs: &[&str]) -> Self {
        let outputs = names(outputs);
        self.set(|model| model.accelerations = outputs)
    }

    /// Outputs of fast components, `component.variable`, that are the whole forces, N.
    pub fn forces(self, outputs: &[&str]) -> Self {
        self.set_ports(outputs, |model| &mut model.forces)
    }

    /// Outputs of fast components, `component.variable`: −∂Ḟ/∂v, N/m, and Ḟ, N/s, of the forces.
    pub fn force_model(self, stiffness: &[&str], force_rates: &[&str]) -> Self {
        self.set_ports(stiffness, |model| &mut model.stiffness)
            .set_ports(force_rates, |model| &mut model.force_rates)
    }

    /// Which side is stepped first: a word of [`INTERFACE_ORDERS`](crate::interface_order::INTERFACE_ORDERS).
    pub fn order(self, word: &str) -> Self {
        let word = Spanned::unplaced(word.to_owned());
        self.set(|model| model.order = Some(word))
    }

    /// A parameter of the order.
    pub fn option(self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into().into();
        self.set(|model| {
            model.set_option(name, value);
        })
    }
}

fn names(names: &[&str]) -> Vec<Spanned<String>> {
    let names = names.iter().map(|name| (*name).to_owned());
    names.map(Spanned::unplaced).collect()
}
