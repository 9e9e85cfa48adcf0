//! Connections and parameters.

use gyrator_fmu::{ScalarVariable, TypeAttributes};
use gyrator_system::{
    Component, Connection, NumberConversion, Port, Problem, Spanned, SystemFile, TypeConversion,
    Value, did_you_mean,
};

use super::lines::Line;
use crate::models::Models;
use crate::tree::Reader;

/// Ends the name of the component that holds the values of a table between its rows.
const HELD: &str = "_held";

/// `graph <output> <input> [<offset> <factor> [<line width> <colour>]]`. MasterSim converts no units.
pub(super) fn connections<'l, 't: 'l>(
    lines: impl Iterator<Item = &'l Line<'t>>,
    system: &mut SystemFile,
    models: &mut Models,
    reader: &mut Reader<'_>,
) {
    for line in lines {
        let words = line.words();
        if !matches!(words.len(), 2 | 4 | 6) {
            let message =
                "a graph has an output, an input, and both or neither of offset and factor";
            let problem = Problem::error("wrong-line", message).at(&line.span());
            let help = "write it as `graph left.y right.u`, or as `graph left.y right.u 0 -1`";
            reader.problems.push(problem.help(help));
            continue;
        }
        let from = port(&words[0], &system.components, reader);
        let to = port(&words[1], &system.components, reader);
        let numbers = words.iter().skip(2).take(2);
        let numbers: Option<Vec<_>> = numbers.map(|word| number(word, reader)).collect();
        let (Some(from), Some(to), Some(numbers)) = (from, to, numbers) else {
            continue;
        };
        let mut connection = Connection::new(from.value.clone(), to.value.clone());
        connection.from = from;
        connection.to = to;
        if let [offset, gain] = &numbers[..] {
            (connection.offset, connection.gain) = (Some(offset.clone()), Some(gain.clone()));
        }
        let ends = [&connection.from.value, &connection.to.value];
        connection.unit_conversion = models.have_one_unit(ends, &system.components);
        if of_table(&mut connection, system, models, reader) {
            system.connections.push(connection);
        }
    }
}

fn number(word: &Spanned<&str>, reader: &mut Reader<'_>) -> Option<Spanned<f64>> {
    let number = word
        .value
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    if number.is_none() {
        let message = format!("offset and factor must be numbers, not `{}`", word.value);
        reader.error("wrong-type", message, &word.span);
    }
    Some(Spanned::new(number?, word.span.clone()))
}

/// `simulator.variable`, split at the first dot.
fn port(
    word: &Spanned<&str>,
    components: &[Component],
    reader: &mut Reader<'_>,
) -> Option<Spanned<Port>> {
    let Some((name, variable)) = word.value.split_once('.') else {
        let message = format!("`{}` is no `simulator.variable`", word.value);
        reader.error("wrong-line", message, &word.span);
        return None;
    };
    let names = components.iter().map(|component| &*component.name.value);
    if !names.clone().any(|known| known == name) {
        let message = format!("unknown simulator `{name}`");
        let problem = Problem::error("unknown-name", message).at(&word.span);
        reader
            .problems
            .push(problem.advised(did_you_mean(name, names)));
        return None;
    }
    Some(Spanned::new(Port::new(name, variable), word.span.clone()))
}

/// Gives values of a table the type of the input, as MasterSim does. `false` if there is no such value.
fn of_table(
    connection: &mut Connection,
    system: &SystemFile,
    models: &mut Models,
    reader: &mut Reader<'_>,
) -> bool {
    let from = &connection.from.value.component;
    let is_table = |component: &&Component| component.block.is_some();
    let mut tables = system.components.iter().filter(is_table);
    if !tables.any(|component| component.name.value == *from) {
        return true;
    }
    let to = &connection.to;
    let conversion = |input: &ScalarVariable| match input.kind {
        TypeAttributes::Real(_) => Ok(None),
        TypeAttributes::Boolean { .. } => Ok(Some(NumberConversion::Nonzero)),
        TypeAttributes::String { .. } => Err(()),
        _ => Ok(Some(NumberConversion::Truncate)),
    };
    let convert = models
        .ask(&to.value, &system.components, |_, input| {
            input.map(conversion)
        })
        .flatten();
    match convert {
        Some(Err(())) => {
            let message = format!(
                "`{}` takes texts, which a table does not give; the connection is left out",
                to.value
            );
            let problem = Problem::warning("not-supported", message).at(&to.span);
            reader
                .problems
                .push(problem.help("give the text with a `parameter` line"));
            false
        }
        Some(Ok(Some(convert))) => {
            let place = connection.from.span.clone();
            connection.convert = Some(Spanned::new(TypeConversion::Number(convert), place));
            true
        }
        _ => true,
    }
}

/// Reals follow the line between two rows, other types hold the value of the row before. A block has one way for all
/// of its columns: a table that feeds both kinds becomes two components, of which this returns the second ones.
pub(super) fn hold(system: &mut SystemFile, reader: &mut Reader<'_>) -> Vec<Component> {
    let mut added = Vec::new();
    for component in system
        .components
        .iter_mut()
        .filter(|component| component.block.is_some())
    {
        let name = component.name.clone();
        let fed = system
            .connections
            .iter()
            .filter(|c| c.from.value.component == name.value);
        let (held, lines): (Vec<_>, Vec<_>) = fed.partition(|c| c.convert.is_some());
        let word = Spanned::new(Value::String("hold".to_owned()), name.span.clone());
        let parameter = (Spanned::unplaced("interpolation".to_owned()), word);
        let block = component.block.as_mut();
        match (held.is_empty(), lines.is_empty()) {
            (true, _) => {}
            (false, true) => block
                .into_iter()
                .for_each(|block| block.parameters.push(parameter.clone())),
            (false, false) => {
                let mut second = component.clone();
                second.name.value += HELD;
                let block = second.block.as_mut();
                block
                    .into_iter()
                    .for_each(|block| block.parameters.push(parameter.clone()));
                let message = format!(
                    "`{}` becomes two components: `{}` holds the values of inputs that are no Reals",
                    name.value, second.name.value
                );
                reader
                    .problems
                    .push(Problem::warning("table-split", message).at(&name.span));
                for connection in &mut system.connections {
                    let is_held = connection.convert.is_some();
                    if is_held && connection.from.value.component == name.value {
                        connection
                            .from
                            .value
                            .component
                            .clone_from(&second.name.value);
                    }
                }
                added.push(second);
            }
        }
    }
    added
}

/// `parameter <simulator>.<variable> <value>`: the value is the rest of the line.
pub(super) fn parameters<'l, 't: 'l>(
    lines: impl Iterator<Item = &'l Line<'t>>,
    components: &mut [Component],
    models: &mut Models,
    reader: &mut Reader<'_>,
) {
    for line in lines {
        let end = line.rest.value.find([' ', '\t']);
        let (name, value) = line
            .rest
            .value
            .split_at(end.unwrap_or(line.rest.value.len()));
        let begin = line.rest.span.start;
        let name = Spanned::new(name, begin..begin + name.len());
        let text = value.trim();
        if text.is_empty() {
            let message = "a parameter has a name and a value";
            let problem = Problem::error("wrong-line", message).at(&line.span());
            reader
                .problems
                .push(problem.help("write it as `parameter left.m 2.0`"));
            continue;
        }
        let Some(port) = port(&name, components, reader) else {
            continue;
        };
        let value = Spanned::new(
            unescaped(text),
            line.rest.span.end - text.len()..line.rest.span.end,
        );
        let variable = Spanned::new(port.value.variable.clone(), name.span);
        let of_variable = |found: &ScalarVariable| typed(found, &value);
        let typed = models.ask(&port.value, components, |_, found| found.map(of_variable));
        let value = typed
            .flatten()
            .unwrap_or_else(|| Ok(Spanned::new(guessed(&value.value), value.span.clone())));
        let value = match value {
            Ok(value) => value,
            Err(problem) => {
                reader.problems.push(problem);
                continue;
            }
        };
        let mut all = components.iter_mut();
        if let Some(component) = all.find(|known| known.name.value == port.value.component) {
            // The last line counts.
            component
                .start_values
                .retain(|(known, _)| known.value != variable.value);
            component.start_values.push((variable, value));
        }
    }
}

/// `\\` is one backslash and `\n` a new line; quotes around the whole do not belong to it.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\\\", "\\").replace("\\n", "\n");
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.map(str::to_owned).unwrap_or(text)
}

/// A value of the type that the variable has.
fn typed(variable: &ScalarVariable, text: &Spanned<String>) -> Result<Spanned<Value>, Problem> {
    let (value, kind) = match variable.kind {
        TypeAttributes::Real(_) => (text.value.parse().ok().map(Value::Real), "a number"),
        TypeAttributes::Boolean { .. } => (boolean(&text.value), "`true` or `false`"),
        TypeAttributes::String { .. } => (Some(Value::String(text.value.clone())), "text"),
        _ => (
            text.value.parse().ok().map(Value::Integer),
            "a whole number",
        ),
    };
    let value = value.map(|value| Spanned::new(value, text.span.clone()));
    value.ok_or_else(|| {
        let message = format!("`{}` takes {kind}, not `{}`", variable.name, text.value);
        Problem::error("wrong-type", message).at(&text.span)
    })
}

fn boolean(text: &str) -> Option<Value> {
    text.parse().ok().map(Value::Boolean)
}

/// A value of the type that its text seems to have.
fn guessed(text: &str) -> Value {
    let integer = text.parse().ok().map(Value::Integer);
    let real = || text.parse().ok().map(Value::Real);
    let value = integer.or_else(real).or_else(|| boolean(text));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}
