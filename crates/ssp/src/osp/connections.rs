//! Connections and power bonds.

use gyrator_system::{Bond, Connection, Problem, Spanned, SystemFile};

use super::ends::{End, Ends, connection};
use super::groups::Group;
use crate::tree::{Element, Reader};

/// A connection that is one half of a bond.
struct Half {
    bond: Spanned<String>,
    connection: Connection,
    is_effort: Option<bool>,
}

/// Adds all connections and bonds to the system.
pub(super) fn connect(
    system: &mut SystemFile,
    root: Element<'_>,
    mut ends: Ends<'_>,
    reader: &mut Reader<'_>,
) {
    let mut halves = Vec::new();
    for list in root.named("Connections") {
        let kinds = [
            "VariableConnection",
            "SignalConnection",
            "VariableGroupConnection",
            "SignalGroupConnection",
        ];
        list.expect(&[], &kinds, reader);
        for element in list.children() {
            match element.name() {
                "VariableConnection" => {
                    variables(element, system, &mut halves, &mut ends, reader);
                }
                "SignalConnection" => {
                    element.expect(&[], &["Variable", "Signal"], reader);
                    let variable = child(element, "Variable", reader);
                    let signal = child(element, "Signal", reader);
                    let variable = variable.and_then(|end| ends.variable(end, reader));
                    let signal = signal.and_then(|end| ends.signal(end, reader));
                    if let (Some(variable), Some(signal)) = (variable, signal) {
                        system
                            .connections
                            .extend(connection(variable, signal, reader));
                    }
                }
                "VariableGroupConnection" => groups(element, system, &mut ends, reader),
                "SignalGroupConnection" => signals(element, system, &mut ends, reader),
                _ => {}
            }
        }
    }
    add_bonds(system, halves, reader);
}

fn child<'t>(element: Element<'t>, name: &str, reader: &mut Reader<'_>) -> Option<Element<'t>> {
    let found = element.child(name);
    if found.is_none() {
        let message = format!("`{}` needs a `{name}`", element.name());
        reader.error("missing-element", message, &element.span());
    }
    found
}

/// The two children of this name.
fn pair<'t>(element: Element<'t>, name: &str, reader: &mut Reader<'_>) -> Option<[Element<'t>; 2]> {
    element.expect(&["powerBond"], &[name], reader);
    let found: Vec<_> = element.named(name).collect();
    let pair = <[Element<'t>; 2]>::try_from(found).ok();
    if pair.is_none() {
        let message = format!("`{}` connects two `{name}`", element.name());
        reader.error("not-two-ends", message, &element.span());
    }
    pair
}

fn variables(
    element: Element<'_>,
    system: &mut SystemFile,
    halves: &mut Vec<Half>,
    ends: &mut Ends<'_>,
    reader: &mut Reader<'_>,
) {
    let Some([a, b]) = pair(element, "Variable", reader) else {
        return;
    };
    let (Some(a), Some(b)) = (ends.variable(a, reader), ends.variable(b, reader)) else {
        return;
    };
    let is_effort = a.is_effort.or(b.is_effort);
    let Some(connection) = connection(a, b, reader) else {
        return;
    };
    match element.text("powerBond") {
        Some(bond) => halves.push(Half {
            bond,
            connection,
            is_effort,
        }),
        None => system.connections.push(connection),
    }
}

fn signals(
    element: Element<'_>,
    system: &mut SystemFile,
    ends: &mut Ends<'_>,
    reader: &mut Reader<'_>,
) {
    element.expect(&[], &["VariableGroup", "SignalGroup"], reader);
    let variables = child(element, "VariableGroup", reader);
    let signals = child(element, "SignalGroup", reader);
    let group = variables.and_then(|end| ends.group(end, reader));
    let signals = signals.and_then(|end| ends.signals(end, reader));
    let (Some((simulator, group)), Some(signals)) = (group, signals) else {
        return;
    };
    // A sum takes no note of the groups in a group.
    let variables = group.all_variables().into_iter();
    let variables: Vec<_> = variables.map(|name| ends.end(&simulator, name)).collect();
    let names = [&group.name, "the group of signals"];
    connect_all(variables, signals, names, element, system, reader);
}

fn ends_of(simulator: &str, group: &Group, ends: &mut Ends<'_>) -> Vec<End> {
    let variables = group.variables.iter();
    variables.map(|name| ends.end(simulator, name)).collect()
}

/// Connects two groups, variable by variable and group by group in their order; a port with a power
/// becomes a bond.
fn groups(
    element: Element<'_>,
    system: &mut SystemFile,
    ends: &mut Ends<'_>,
    reader: &mut Reader<'_>,
) {
    let Some([a, b]) = pair(element, "VariableGroup", reader) else {
        return;
    };
    let (Some(a), Some(b)) = (ends.group(a, reader), ends.group(b, reader)) else {
        return;
    };
    let name = element.text("powerBond").map(|name| name.value);
    let mut pairs = vec![(a.1, b.1)];
    while let Some((of_a, of_b)) = pairs.pop() {
        if of_a.kind == of_b.kind
            && let (Some(power_a), Some(power_b)) = (of_a.power(), of_b.power())
            && let Some(mut bond) = bond((&a.0, power_a), (&b.0, power_b), ends, reader)
        {
            let name = name.clone();
            let name = name.unwrap_or_else(|| format!("{}.{}", a.0, of_a.name));
            bond.name = Spanned::new(name, element.span());
            system.bonds.push(bond);
            continue;
        }
        let names = [&*of_a.name, &*of_b.name];
        if of_a.groups.len() != of_b.groups.len() {
            not_of_one_size(
                [of_a.groups.len(), of_b.groups.len()],
                names,
                element,
                reader,
            );
            continue;
        }
        pairs.extend(of_a.groups.iter().zip(&of_b.groups).rev());
        let (from_a, from_b) = (ends_of(&a.0, of_a, ends), ends_of(&b.0, of_b, ends));
        connect_all(from_a, from_b, names, element, system, reader);
    }
}

fn connect_all(
    a: Vec<End>,
    b: Vec<End>,
    names: [&str; 2],
    element: Element<'_>,
    system: &mut SystemFile,
    reader: &mut Reader<'_>,
) {
    if a.len() != b.len() {
        not_of_one_size([a.len(), b.len()], names, element, reader);
        return;
    }
    for (a, b) in a.into_iter().zip(b) {
        system.connections.extend(connection(a, b, reader));
    }
}

fn not_of_one_size(
    sizes: [usize; 2],
    [a, b]: [&str; 2],
    element: Element<'_>,
    reader: &mut Reader<'_>,
) {
    let message = format!(
        "`{a}` and `{b}` differ in size: {} and {} members",
        sizes[0], sizes[1]
    );
    reader.error("different-sizes", message, &element.span());
}

/// The bond of two ports; `None` if they do not fit, and are connected as any groups are.
fn bond(
    (a, (effort_a, flow_a)): (&str, (&Group, &Group)),
    (b, (effort_b, flow_b)): (&str, (&Group, &Group)),
    ends: &mut Ends<'_>,
    reader: &mut Reader<'_>,
) -> Option<Bond> {
    let sizes = [effort_a, effort_b, flow_a, flow_b].map(|group| group.variables.len());
    if sizes[0] == 0 || sizes.iter().any(|size| *size != sizes[0]) {
        return None;
    }
    let mut bond = Bond::new("");
    for axis in 0..sizes[0] {
        let mut connected = |of_a: &Group, of_b: &Group| {
            let end_a = ends.end(a, &of_a.variables[axis]);
            let end_b = ends.end(b, &of_b.variables[axis]);
            connection(end_a, end_b, reader)
        };
        let effort = connected(effort_a, effort_b)?;
        let flow = connected(flow_a, flow_b)?;
        if effort.from.value.component != flow.to.value.component {
            return None;
        }
        bond.axis(effort, flow);
    }
    Some(bond)
}

/// Makes bonds of the connections that name one. Two connections of one name belong together; effort
/// is the one with mass in its unit. If units do not tell, it is the first one, and a warning says so.
fn add_bonds(system: &mut SystemFile, halves: Vec<Half>, reader: &mut Reader<'_>) {
    let mut rest = halves.into_iter();
    let mut bonds: Vec<(Spanned<String>, Vec<Half>)> = Vec::new();
    for half in &mut rest {
        let mut known = bonds.iter_mut();
        match known.find(|(name, _)| name.value == half.bond.value) {
            Some((_, halves)) => halves.push(half),
            None => bonds.push((half.bond.clone(), vec![half])),
        }
    }
    for (name, halves) in bonds {
        let count = halves.len();
        let Ok([first, second]) = <[Half; 2]>::try_from(halves) else {
            let message = format!(
                "the power bond `{}` has {count} connections, not two",
                name.value
            );
            reader.error("not-a-bond", message, &name.span);
            continue;
        };
        let is_guessed = first.is_effort.or(second.is_effort).is_none();
        let is_swapped = first.is_effort == Some(false) || second.is_effort == Some(true);
        let (effort, flow) = if is_swapped {
            (second.connection, first.connection)
        } else {
            (first.connection, second.connection)
        };
        if effort.from.value.component != flow.to.value.component {
            let message = format!(
                "the connections of the power bond `{}` go the same way; one has to come back",
                name.value
            );
            reader.error("not-a-bond", message, &name.span);
            continue;
        }
        if is_guessed {
            let message = format!(
                "units of measure do not show the effort of the power bond `{}`: `{}` is taken for it; if it is the flow, \
                 all energies of the bond have the other sign",
                name.value, effort.from.value
            );
            let help = "write the connection of the force, torque, voltage or pressure first";
            let problem = Problem::warning("guessed-effort", message);
            reader.problems.push(problem.at(&name.span).help(help));
        }
        let mut bond = Bond::new("");
        bond.name = name;
        bond.axis(effort, flow);
        system.bonds.push(bond);
    }
}
