//! `[[interface_models]]`.

use std::collections::BTreeSet;

use toml::Spanned as Placed;
use toml::de::DeValue;

use super::section::{Reader, Section, elements};
use super::wiring::port;
use crate::problem::Spanned;
use crate::system_file::{InterfaceModel, Port};

/// Keys of an interface model that are passed on to the engine as they are: the parameters of all
/// its orders.
pub const OPTIONS: [&str; 5] = [
    "force",
    "inputs",
    "displacement_correction",
    "mass_factor",
    "lag",
];

pub(super) fn read(
    root: &mut Section<'_>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<InterfaceModel> {
    let Some(value) = root.take("interface_models") else {
        return Vec::new();
    };
    let sections = reader.tables("interface_models", value);
    sections
        .into_iter()
        .filter_map(|section| interface_model(section, components, reader))
        .collect()
}

fn interface_model(
    mut section: Section<'_>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Option<InterfaceModel> {
    let name = section.required_text("name", reader);
    let component = section.required_text("component", reader);
    let bonds = section.required("bonds", reader);
    let bonds = bonds.map(|value| reader.texts("bonds", value));
    let exchange_step = section
        .required("exchange_step", reader)
        .and_then(|value| reader.number("exchange_step", value));
    let order = section.text("order", reader);
    let mut names = |key, reader: &mut Reader| match section.take(key) {
        Some(value) => reader.texts(key, value),
        None => Vec::new(),
    };
    let positions = names("positions", reader);
    let inverse_mass = names("inverse_mass", reader);
    let free_acceleration = names("free_acceleration", reader);
    let accelerations = names("accelerations", reader);
    let mut ports = |key, reader: &mut Reader| match section.take(key) {
        Some(value) => ports(key, value, components, reader),
        None => Vec::new(),
    };
    let forces = ports("forces", reader);
    let stiffness = ports("stiffness", reader);
    let force_rates = ports("force_rates", reader);
    let mut options = Vec::new();
    for key in OPTIONS {
        let Some(value) = section.take(key) else {
            continue;
        };
        if let Some(scalar) = reader.scalar(key, "a number or a string", value) {
            options.push((Spanned::new(key.to_owned(), value.span()), scalar));
        }
    }
    section.finish(reader);
    Some(InterfaceModel {
        name: name?,
        component: component?,
        bonds: bonds?,
        exchange_step: exchange_step?,
        order,
        positions,
        inverse_mass,
        free_acceleration,
        accelerations,
        forces,
        stiffness,
        force_rates,
        options,
    })
}

fn ports(
    key: &str,
    value: &Placed<DeValue<'_>>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<Spanned<Port>> {
    let ports = elements(value).iter();
    ports
        .filter_map(|text| port(key, text, components, reader))
        .collect()
}
