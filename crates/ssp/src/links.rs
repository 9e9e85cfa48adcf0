//! Connectors and connections of a description.

use gyrator_system::{Problem, Spanned, did_you_mean};

use crate::structure::{ConnectionNode, ConnectorKind, End};
use crate::transformation;
use crate::tree::{Element, Reader};
use crate::vectors::pairs;

/// The kind of a connector, by its word.
pub(crate) fn connector_kind(kind: &Spanned<String>, reader: &mut Reader<'_>) -> ConnectorKind {
    match &*kind.value {
        "input" | "parameter" | "structuralParameter" => ConnectorKind::Inward,
        "output" | "calculatedParameter" | "constant" | "local" => ConnectorKind::Outward,
        "inout" | "unspecified" => ConnectorKind::Open,
        other => {
            let message = format!("`{other}` is not a kind of connector");
            let known = [
                "input",
                "output",
                "parameter",
                "calculatedParameter",
                "inout",
            ];
            let problem = Problem::error("unknown-kind", message).at(&kind.span);
            let help = did_you_mean(other, known);
            reader.problems.push(problem.advised(help));
            ConnectorKind::Open
        }
    }
}

/// The element `Connections` of a system.
pub(crate) fn connections(system: Element<'_>, reader: &mut Reader<'_>) -> Vec<ConnectionNode> {
    let mut connections = Vec::new();
    for element in system.listed("Connections", "Connection") {
        element.expect(
            &[
                "startElement",
                "startConnector",
                "startIndices",
                "endElement",
                "endConnector",
                "endIndices",
                "suppressUnitConversion",
            ],
            &transformation::ELEMENTS,
            reader,
        );
        let indices = ["startIndices", "endIndices"];
        if let Some(indices) = indices.iter().find_map(|name| element.text(name)) {
            let message = "connections of elements of an array are not supported";
            let problem = Problem::error("not-supported", message).at(&indices.span);
            let help = "connect variables of the FMU, such as `x[1]`";
            reader.problems.push(problem.help(help));
            continue;
        }
        let mut end = |element_name: &str, connector: &str| {
            // Some tools write an empty name for the system itself.
            let named = element.text(element_name);
            Some(End {
                element: named.filter(|name| !name.value.is_empty()),
                connector: element.required(connector, reader)?,
            })
        };
        let start = end("startElement", "startConnector");
        let Some((start, end)) = start.zip(end("endElement", "endConnector")) else {
            continue;
        };
        let transformation = transformation::read(element, reader);
        let keeps_unit = element.flag("suppressUnitConversion", reader);
        let ends = [&*start.connector.value, &*end.connector.value];
        for [from, to] in pairs(element, ends, reader) {
            let named = |end: &End, connector: String| End {
                element: end.element.clone(),
                connector: Spanned::new(connector, end.connector.span.clone()),
            };
            connections.push(ConnectionNode {
                start: named(&start, from),
                end: named(&end, to),
                transformation: transformation.clone(),
                keeps_unit: keeps_unit.unwrap_or(false),
                span: element.span(),
            });
        }
    }
    connections
}
