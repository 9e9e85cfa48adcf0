//! A diagram in the language of Graphviz.

use std::fmt::Write as _;

use crate::graph::diagram::Diagram;
use crate::graph::text::harmless;

/// The diagram as a graph for Graphviz' `dot`, for other layouts and other forms of pictures. Bonds are bold, with a
/// half-arrow and, as a bar, the causal stroke at the end that is given the effort. The half-arrow is below a line from left
/// to right, as in the picture.
#[must_use]
pub fn dot(diagram: &Diagram) -> String {
    let mut text = String::from("digraph system {\n  rankdir=LR\n  node [shape=box]\n");
    for (place, part) in diagram.parts.iter().enumerate() {
        let label = format!("{}\\n{}", quoted(&part.name), quoted(&part.model));
        let _ = writeln!(text, "  c{place} [label=\"{label}\"]");
    }
    for signal in &diagram.signals {
        let (from, to) = (&signal.from, &signal.to);
        let _ = writeln!(
            text,
            "  c{} -> c{} [taillabel=\"{}\", headlabel=\"{}\"]",
            from.part,
            to.part,
            quoted(&from.variable),
            quoted(&to.variable)
        );
    }
    for bond in &diagram.bonds {
        let name = quoted(&bond.name);
        let _ = writeln!(
            text,
            "  c{} -> c{} [style=bold, arrowhead=teernormal, label=\"{name}\"]",
            bond.a, bond.b
        );
    }
    text.push_str("}\n");
    text
}

fn quoted(text: &str) -> String {
    harmless(text).replace('\\', "\\\\").replace('"', "\\\"")
}
