//! Variables by their names.

use gyrator_system::{Connection, Port, Spanned, SystemFile};

/// A connection as a system file has it, between `component.variable` names.
pub(super) fn connection(file: &SystemFile, from: &str, to: &str) -> Connection {
    Connection {
        from: port(file, from),
        to: port(file, to),
        ..Connection::new(Port::new("", ""), Port::new("", ""))
    }
}

/// Splits at the longest component name; at the first dot if none is known.
pub(super) fn port(file: &SystemFile, name: &str) -> Spanned<Port> {
    let known = file
        .components
        .iter()
        .map(|component| component.name.value.as_str());
    let component = known
        .filter(|known| {
            name.strip_prefix(known)
                .is_some_and(|rest| rest.starts_with('.'))
        })
        .max_by_key(|known| known.len())
        .or_else(|| name.split_once('.').map(|(component, _)| component))
        .unwrap_or(name);
    let variable = name.get(component.len() + 1..).unwrap_or_default();
    Spanned::unplaced(Port {
        component: component.to_owned(),
        variable: variable.to_owned(),
    })
}
