//! Functions: components that are blocks.

use gyrator_system::{Choice, Component, Port, Spanned, Value};

use crate::tree::{Element, Reader};

/// Most inputs that the functions of a system may have together, and most components that a function
/// becomes: a choice, far above any use and far below what the memory holds.
const MOST_INPUTS: usize = 100_000;

/// A function, by the components that it becomes.
pub(super) struct Function {
    pub(super) name: Spanned<String>,
    pub(super) components: Vec<Component>,
    kind: Kind,
}

enum Kind {
    /// One input `in`, one output `out`.
    Linear,
    /// Inputs `in[0]`, …, one output `out`.
    Sum { inputs: usize },
    /// Groups of inputs `in[0]`, …, a group of outputs `out`.
    VectorSum { inputs: usize },
}

impl Function {
    /// The variable of a signal such as `in[0]`, and whether it is an output.
    pub(super) fn signal(&self, signal: &str) -> Option<(Port, bool)> {
        match (self.group(signal)?, &self.kind) {
            ((mut ports, is_output), Kind::Linear | Kind::Sum { .. }) => {
                Some((ports.swap_remove(0), is_output))
            }
            (_, Kind::VectorSum { .. }) => None,
        }
    }

    /// The variables of a group of signals such as `in[0]`, and whether they are outputs.
    pub(super) fn group(&self, signal: &str) -> Option<(Vec<Port>, bool)> {
        let (variable, is_output) = match (&self.kind, signal) {
            (_, "out") => ("y".to_owned(), true),
            (Kind::Linear, "in") => ("u".to_owned(), false),
            (Kind::Linear, _) => return None,
            (Kind::Sum { inputs } | Kind::VectorSum { inputs }, _) => {
                let number = signal.strip_prefix("in[")?.strip_suffix(']')?;
                let number: usize = number.parse().ok().filter(|number| number < inputs)?;
                (format!("u[{}]", number + 1), false)
            }
        };
        let port = |component: &Component| Port::new(&*component.name.value, &*variable);
        Some((self.components.iter().map(port).collect(), is_output))
    }

    /// Names of its signals, for messages.
    pub(super) fn signals(&self) -> String {
        match self.kind {
            Kind::Linear => "`in` and `out`".to_owned(),
            Kind::Sum { inputs } | Kind::VectorSum { inputs } => {
                format!("`in[0]` to `in[{}]` and `out`", inputs - 1)
            }
        }
    }
}

pub(super) fn functions(root: Element<'_>, reader: &mut Reader<'_>) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut left = MOST_INPUTS;
    for list in root.named("Functions") {
        list.expect(&[], &["LinearTransformation", "Sum", "VectorSum"], reader);
        for element in list.children() {
            functions.extend(function(element, &mut left, reader));
        }
    }
    functions
}

fn function(element: Element<'_>, left: &mut usize, reader: &mut Reader<'_>) -> Option<Function> {
    match element.name() {
        "LinearTransformation" => {
            element.expect(&["name", "factor", "offset"], &[], reader);
            let name = element.required("name", reader)?;
            let mut block = Choice::new("gain");
            for (theirs, ours) in [("factor", "gain"), ("offset", "offset")] {
                if let Some(number) = element.number(theirs, reader) {
                    let value = Spanned::new(Value::Real(number.value), number.span);
                    let ours = Spanned::unplaced(ours.to_owned());
                    block.parameters.push((ours, value));
                }
            }
            Some(Function {
                components: vec![component(&name, String::new(), block)],
                name,
                kind: Kind::Linear,
            })
        }
        "Sum" => {
            element.expect(&["name", "inputCount"], &[], reader);
            let name = element.required("name", reader)?;
            let inputs = count(element, "inputCount", *left, reader)?;
            *left -= inputs;
            Some(Function {
                components: vec![component(&name, String::new(), sum(inputs))],
                name,
                kind: Kind::Sum { inputs },
            })
        }
        "VectorSum" => {
            element.expect(&["name", "inputCount", "dimension"], &[], reader);
            let name = element.required("name", reader)?;
            let inputs = count(element, "inputCount", *left, reader)?;
            let dimension = count(element, "dimension", *left / inputs, reader)?;
            *left -= inputs * dimension;
            let of = |index| component(&name, format!("[{index}]"), sum(inputs));
            Some(Function {
                components: (0..dimension).map(of).collect(),
                name,
                kind: Kind::VectorSum { inputs },
            })
        }
        _ => None,
    }
}

/// A positive number that is at most `most`.
fn count(
    element: Element<'_>,
    attribute: &str,
    most: usize,
    reader: &mut Reader<'_>,
) -> Option<usize> {
    element.required(attribute, reader)?;
    let number = element.parsed::<usize>(attribute, "a positive whole number", reader)?;
    if number.value == 0 || number.value > most {
        let message = format!(
            "`{attribute}` is {}; the functions of a system have 1 to {MOST_INPUTS} inputs together",
            number.value
        );
        reader.error("out-of-range", message, &number.span);
        return None;
    }
    Some(number.value)
}

fn component(name: &Spanned<String>, ending: String, block: Choice) -> Component {
    let mut component = Component::of_block("", block);
    component.name = Spanned::new(name.value.clone() + &ending, name.span.clone());
    component
}

fn sum(inputs: usize) -> Choice {
    Choice::new("sum").with("signs", Value::String("+".repeat(inputs)))
}
